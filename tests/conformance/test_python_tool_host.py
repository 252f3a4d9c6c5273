"""The Python package as a tool host on a Unix socket: called by a gateway, and directly
(docs/protocols/rtp.md, sections 1 to 3)."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import http.client
import json
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Annotated, Any

from crab import Progress, ToolCall, ToolClient, ToolError, ToolHost
from support import rtp
from support.certificates import self_signed
from support.gateway import Gateway
from support.http import fetch
from support.stream import EndOfStream
from support.wait import Stopwatch, eventually


class HostCase(unittest.TestCase):
    """`self.host` has no tools until the test adds them; start() serves it."""

    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory(prefix="crab-host-")))
        self.path = self.folder / "host.sock"
        self.host = ToolHost("python")
        self.pool = self.enterContext(ThreadPoolExecutor(80))
        self.thread = threading.Thread(target=self.host.run_unix, args=(self.path,), daemon=True)

    def start(self) -> None:
        self.thread.start()
        self.addCleanup(self.stop)
        eventually(self.listens, "the host listens")

    def listens(self) -> bool:
        with socket.socket(socket.AF_UNIX) as link:
            return link.connect_ex(str(self.path)) == 0

    def stop(self) -> None:
        self.host.stop()
        self.thread.join(15)
        self.assertFalse(self.thread.is_alive())
        self.assertFalse(self.path.exists())

    def post(self, body: Any, route: str = "call", timeout: float = 20) -> Any:
        return fetch(self.path, "POST", f"/v1/tools/{route}", None, body, timeout=timeout)

    def call(self, tool: str, args: Any = None, **members: Any) -> dict[str, Any]:
        request = rtp.call_request(tool, args, **members)
        response = self.post(request)
        self.assertEqual(response.status, 200)
        body = response.json()
        rtp.check_response(body, request)
        return body

    def later(self, tool: str, args: Any = None, **members: Any) -> Future[dict[str, Any]]:
        return self.pool.submit(self.call, tool, args, **members)

    def cancel(self, call_id: str) -> str:
        body = {"version": "v1", "tenant_id": "default", "call_id": call_id}
        return self.post(body, "cancel").json()["status"]


class Behind(HostCase):
    def test_a_gateway_lists_calls_and_cancels(self) -> None:
        stopped = threading.Event()

        @self.host.tool(read_only=True)
        def roll(sides: Annotated[int, {"minimum": 2}]) -> dict[str, int]:
            """Rolls a die."""
            return {"number": sides}

        @self.host.tool(read_only=True)
        def trace(call: ToolCall) -> dict[str, str]:
            """The span that asks for it."""
            return {"parent": call.traceparent}

        @self.host.tool
        def slow(call: ToolCall) -> None:
            """Waits until it is stopped."""
            if call.wait(30):
                stopped.set()

        self.start()
        with Gateway({"hosts": [{"name": "py", "unix": str(self.path)}]}) as gateway:
            gateway.wait_listed("roll", "slow")
            self.assertFalse(gateway.tools()["roll"]["side_effects"])
            self.assertEqual(gateway.call("roll", {"sides": 6}).result, {"number": 6})
            self.assertEqual(gateway.call("roll", {"sides": 1}).code, "INVALID_ARGS")
            parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
            traced = gateway.call("trace", {}, headers={"traceparent": parent})
            self.assertEqual(traced.result, {"parent": parent})
            self.assertEqual(gateway.call("slow", timeout_ms=300).status, "timeout")
            self.assertTrue(stopped.wait(10))
            gateway.kill()  # its cleaning up says nothing to the host

    def test_callers_with_one_key_get_their_own_outcomes(self) -> None:
        runs: list[str] = []

        @self.host.tool
        def count() -> dict[str, int]:
            """Counts its runs."""
            runs.append("run")
            return {"runs": len(runs)}

        self.start()
        with Gateway({"hosts": [{"name": "py", "unix": str(self.path)}]}) as gateway:
            gateway.wait_listed("count")
            for who, number in (("ann", 1), ("bob", 2), ("ann", 1), ("bob", 2)):
                said = {"call_id": "same", "idempotency_key": "same"}
                answer = gateway.call("count", caller=who, **said)
                self.assertEqual(answer.result["runs"], number, who)


class Direct(HostCase):
    def test_the_socket_is_its_owners_and_no_other_takes_it(self) -> None:
        self.start()
        self.assertEqual(self.path.stat().st_mode & 0o777, 0o600)
        with self.assertRaises(FileExistsError):
            ToolHost("second").run_unix(self.path)
        (self.folder / "file").write_text("kept")
        with self.assertRaises(FileExistsError):
            ToolHost("second").run_unix(self.folder / "file")
        self.assertEqual(fetch(self.path, "GET", "/healthz").json(), {"ok": True})

    def test_the_list_has_the_form_of_the_protocol(self) -> None:
        for name in ("b", "a"):
            self.host.tool(name=name, description="Does it.", max_timeout=600)(lambda: None)
        self.start()
        listed = fetch(self.path, "GET", "/v1/tools").json()
        rtp.check_discovery(listed)
        self.assertEqual([tool["name"] for tool in listed["tools"]], ["a", "b"])

    def test_a_key_runs_once_and_other_content_is_a_conflict(self) -> None:
        runs: list[int] = []

        @self.host.tool
        def count(step: int = 1) -> dict[str, int]:
            """Counts."""
            time.sleep(0.2)
            runs.append(step)
            return {"count": len(runs)}

        self.start()
        repeats = [self.later("count", idempotency_key="k") for _ in range(10)]
        results = [repeat.result(10)["result"] for repeat in repeats]
        self.assertEqual(len(runs), 1)
        self.assertEqual(results, [results[0]] * 10)
        self.assertRegex(results[0]["operation_id"], "^[0-9a-f]{8}-[0-9a-f]{4}-7")
        again = self.post(rtp.call_request("count", idempotency_key="k"))
        self.assertEqual(again.headers["crab-replayed"], "true")
        other = self.call("count", {"step": 2}, idempotency_key="k")
        self.assertEqual(other["error"]["code"], "CONFLICT")

    def test_a_deaf_function_is_cut_off_and_its_late_result_serves_repeats(self) -> None:
        gate = threading.Event()
        self.addCleanup(gate.set)

        @self.host.tool
        def deaf() -> str:
            """Does not look."""
            gate.wait(20)
            return "late"

        self.start()
        watch = Stopwatch()
        cut = self.call("deaf", idempotency_key="k", timeout_ms=300)
        self.assertEqual((cut["status"], cut["error"]["code"]), ("timeout", "TIMEOUT"))
        self.assertLess(watch.seconds, 3)
        unknown = self.call("deaf", idempotency_key="k")
        self.assertEqual(unknown["error"]["code"], "OUTCOME_UNKNOWN")
        gate.set()
        eventually(lambda: self.call("deaf", idempotency_key="k")["status"] == "ok", "it is late")

    def test_a_cancel_ends_a_call_at_once_early_too(self) -> None:
        inside = threading.Semaphore(0)

        @self.host.tool
        async def wait() -> None:
            """Waits."""
            inside.release()
            await asyncio.sleep(30)

        self.start()
        call = self.later("wait", call_id="c1")
        self.assertTrue(inside.acquire(timeout=5))
        self.assertEqual(self.cancel("c1"), "cancelling")
        self.assertEqual(call.result(5)["error"]["code"], "CANCELLED")
        self.assertEqual(self.cancel("c1"), "finished")
        self.assertEqual(self.cancel("c2"), "not_found")
        self.assertEqual(self.call("wait", call_id="c2")["error"]["code"], "CANCELLED")
        self.assertFalse(inside.acquire(blocking=False))

    def test_progress_is_streamed_and_leaving_the_stream_cancels(self) -> None:
        stopped = threading.Event()

        @self.host.tool
        def steps(call: ToolCall, last: bool) -> str:
            """Says how far it is."""
            call.progress("half", 1, 2)
            if not last and call.wait(20):
                stopped.set()
            return "döne"

        self.start()

        async def work() -> list[Any]:
            async with ToolClient(f"unix:{self.path}") as client:
                async with contextlib.aclosing(client.stream("steps", {"last": False})) as left:
                    async for _ in left:
                        break
                return [event async for event in client.stream("steps", {"last": True})]

        *news, result = asyncio.run(work())
        self.assertEqual(news, [Progress("half", 1, 2)])
        self.assertEqual(result.result["text"], "döne")
        self.assertTrue(stopped.wait(5))

    def test_failures_keep_their_codes(self) -> None:
        @self.host.tool
        def fail(how: str) -> Any:
            """Fails."""
            if how == "busy":
                raise ToolError("UNAVAILABLE", "not now")
            if how == "huge":
                return "x" * (9 << 20)
            if how == "nan":
                return float("nan")
            raise RuntimeError("secret")

        self.start()
        busy = self.call("fail", {"how": "busy"})
        self.assertEqual(
            (busy["status"], busy["error"]["code"]), ("retryable_error", "DEPENDENCY_UNAVAILABLE")
        )
        for how in ("huge", "nan", "raise"):
            error = self.call("fail", {"how": how})["error"]
            self.assertEqual(error["code"], "OVERSIZE" if how == "huge" else "INTERNAL", how)
            self.assertNotIn("secret", error["message"])
        place = self.call("fail", {"how": 7})["error"]["details"]["errors"][0]
        self.assertEqual((place["pointer"], place["rule"]), ("/how", "type"))
        self.assertEqual(self.call("gone")["error"]["code"], "TOOL_NOT_FOUND")

    def test_requests_that_break_the_form_or_a_value_are_refused(self) -> None:
        @self.host.tool
        def fine() -> str:
            """Fine."""
            return "fine"

        self.start()
        good = rtp.call_request("fine")
        deep: Any = []
        for _ in range(80):
            deep = [deep]
        for body in (
            b"",
            b"[]",
            b"{} {}",
            b'{"a":1,"a":2}',
            b"\xff",
            b'{"a":NaN}',
            b"[" * 100_000,
            {**good, "more": 1},
            {**good, "args": []},
            {**good, "timeout_ms": "1"},
            {**good, "args": {"deep": deep}},
            {**good, "call_id": None},
            {**good, "context": {"agent_id": "a", "session_id": "s", "x": "y"}},
        ):
            response = self.post(body)
            self.assertEqual(response.status, 400, body)
            rtp.check_response(response.json())
        for change in (
            {"version": "v2"},
            {"call_id": " "},
            {"timeout_ms": 0},
            {"tenant_id": "t" * 257},
            {"context": {"agent_id": "a"}},
            {"context": {"agent_id": "a", "session_id": "s", "request_origin": "x"}},
        ):
            response = self.post({**good, **change})
            self.assertEqual(response.status, 200, change)
            self.assertEqual(response.json()["error"]["code"], "INVALID_ARGS")
        self.assertEqual(self.post(b"x" * ((1 << 20) + 1)).status, 413)
        self.assertEqual(fetch(self.path, "GET", "/v1/tools/call").status, 405)
        self.assertEqual(fetch(self.path, "GET", "/elsewhere").status, 404)
        origin = fetch(self.path, "GET", "/healthz", {"Origin": "https://x"})
        self.assertEqual(origin.status, 403)
        self.assertEqual(self.call("fine")["status"], "ok")

    def test_a_flood_of_deaf_calls_is_answered_and_health_stays(self) -> None:
        gate = threading.Event()
        self.addCleanup(gate.set)

        @self.host.tool(read_only=True)
        def deaf() -> None:
            """Does not look."""
            gate.wait(20)

        self.start()
        calls = [self.later("deaf", timeout_ms=1_500) for _ in range(70)]
        self.assertTrue(fetch(self.path, "GET", "/healthz").json()["ok"])
        codes = [call.result(15)["error"]["code"] for call in calls]
        self.assertEqual((codes.count("TIMEOUT"), codes.count("RATE_LIMITED")), (64, 6))
        gate.set()
        eventually(
            lambda: self.call("deaf")["status"] == "ok", "the places are free again", limit=10
        )


CRASHING = """
import os, sys, time
from pathlib import Path
from crab import ToolHost

folder = Path(sys.argv[1])
host = ToolHost("crashing", state_dir=folder / "state")

def runs(name):
    with open(folder / name, "a") as file:
        file.write("x")

@host.tool
def write(crash: bool) -> str:
    \"\"\"Writes, and may die.\"\"\"
    runs("write")
    if crash:
        os.kill(os.getpid(), 9)
    return "written"

@host.tool(idempotent=True)
def put() -> str:
    \"\"\"Writes once more without harm.\"\"\"
    runs("put")
    if not (folder / "died").exists():
        (folder / "died").touch()
        os.kill(os.getpid(), 9)
    return "put"

host.run_unix(folder / "host.sock")
"""


class Crash(HostCase):
    def launch(self) -> None:
        process = subprocess.Popen([sys.executable, "-c", CRASHING, str(self.folder)])
        self.process = process
        self.addCleanup(lambda: (process.kill(), process.wait()))
        eventually(self.listens, "the host listens", 10)

    def runs(self, name: str) -> int:
        return len((self.folder / name).read_text())

    def dies(self, tool: str, args: Any, key: str) -> None:
        with self.assertRaises(EndOfStream):
            self.post(rtp.call_request(tool, args, idempotency_key=key))
        self.process.wait(10)  # a connection of it may end before its listener does

    def test_keys_survive_kill_9(self) -> None:
        self.launch()
        listed = fetch(self.path, "GET", "/v1/tools").json()["tools"]
        self.assertTrue(all(tool["accepts_idempotency_key"] for tool in listed))
        first = self.call("write", {"crash": False}, idempotency_key="good")
        self.dies("write", {"crash": True}, "bad")
        self.launch()
        again = self.call("write", {"crash": False}, idempotency_key="good")
        self.assertEqual(again["result"], first["result"])
        other = self.call("write", {"crash": True}, idempotency_key="good")
        self.assertEqual(other["error"]["code"], "CONFLICT")
        unknown = self.call("write", {"crash": True}, idempotency_key="bad")
        self.assertEqual(unknown["error"]["code"], "OUTCOME_UNKNOWN")
        self.assertEqual(self.runs("write"), 2)
        self.dies("put", {}, "again")
        self.launch()
        self.assertEqual(self.call("put", idempotency_key="again")["status"], "ok")
        self.assertEqual(self.runs("put"), 2)
        second = ToolHost("second", state_dir=self.folder / "state")
        with self.assertRaises(BlockingIOError):
            second.run_unix(self.folder / "second.sock")
        self.assertEqual((self.folder / "state/calls.db").stat().st_mode & 0o777, 0o600)


class MutualTls(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory(prefix="crab-host-")))
        self.gateway = self.enterContext(Gateway())
        identity = self.gateway.admin_request("GET", "/v1/identity").json()
        self.key = identity["public_key_ed25519"]
        self.host = ToolHost("tls")

        @self.host.tool
        def double(n: int) -> dict[str, int]:
            """Doubles."""
            return {"n": 2 * n}

        self.serve()

    def serve(self, key: str = "") -> None:
        def run() -> None:
            self.host.run_tls(
                "127.0.0.1",
                getattr(self.host, "port", 0),
                component_id="double-east",
                gateway_key=key or self.key,
                state_dir=str(self.folder),
            )

        self.thread = threading.Thread(target=run, daemon=True)
        self.thread.start()
        self.addCleanup(self.stop)
        eventually(self.listens, "the host listens", 15)
        self.endpoint = f"wss://127.0.0.1:{self.host.port}/v1/pair"

    def listens(self) -> bool:
        if not self.host.port:
            return False
        with socket.socket() as link:
            return link.connect_ex(("127.0.0.1", self.host.port)) == 0

    def stop(self) -> None:
        self.host.stop()
        self.thread.join(15)
        self.assertFalse(self.thread.is_alive())

    def pair(self, **members: Any) -> Any:
        body = {
            "component_type": "tool_host",
            "component_id": "double-east",
            "endpoint": self.endpoint,
            **members,
        }
        return self.gateway.admin_request("POST", "/v1/pairings", body, timeout=25)

    def ask(self, path: str, cert: tuple[Path, Path] | None = None) -> int:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        if cert:
            context.load_cert_chain(*cert)
        link = http.client.HTTPSConnection("127.0.0.1", self.host.port, context=context, timeout=5)
        with contextlib.closing(link):
            link.request("GET", path)
            return link.getresponse().status

    def test_it_pairs_serves_its_gateway_alone_renews_and_outlives_a_restart(self) -> None:
        self.assertEqual(self.ask("/healthz"), 200)
        self.assertEqual(self.ask("/v1/tools"), 403)  # PAIRING_REQUIRED
        paired = self.pair()
        self.assertEqual(paired.status, 200, paired.body)
        self.gateway.wait_listed("double")
        self.assertEqual(self.gateway.call("double", {"n": 21}).result["n"], 42)
        self.assertEqual(self.ask("/v1/tools"), 401)
        self.assertEqual(self.ask("/healthz"), 200)
        with self.assertRaises((ssl.SSLError, OSError)):
            self.ask("/v1/tools", self_signed(self.folder, "stranger"))
        self.gateway.crab("peers", "renew", "tool_host/double-east")
        self.assertEqual(self.gateway.call("double", {"n": 1}).result["n"], 2)
        own = [file.suffix for file in (self.folder / "pairing").glob("host-*")]
        self.assertEqual(sorted(own), [".ca", ".csr", ".key", ".pem"], "the earlier ones are gone")
        self.stop()
        self.serve()
        self.assertEqual(self.ask("/v1/tools"), 401)  # still paired
        eventually(
            lambda: self.gateway.call("double", {"n": 4}).body.get("result", {}).get("n") == 8,
            "the gateway calls it again",
            20,
        )
        for file in (self.folder / "pairing").iterdir():
            self.assertEqual(file.stat().st_mode & 0o077, 0, file)

    def test_another_gateway_is_told_nothing(self) -> None:
        self.stop()
        self.serve(key=base64.b64encode(bytes(range(32))).decode())
        refused = self.pair()
        self.assertNotEqual(refused.status, 200)
        self.assertEqual(self.ask("/v1/tools"), 403)

    def test_another_remote_key_than_expected_is_not_paired(self) -> None:
        refused = self.pair(remote_key=base64.b64encode(bytes(range(32))).decode())
        self.assertEqual(refused.json()["code"], "IDENTITY_MISMATCH")
        self.assertEqual(self.ask("/v1/tools"), 403)
        self.assertEqual(self.pair().status, 200)


class Raw(HostCase):
    def say(self, data: bytes) -> bytes:
        with socket.socket(socket.AF_UNIX) as link:
            link.settimeout(10)
            link.connect(str(self.path))
            link.sendall(data)
            return link.recv(4096)

    def test_what_is_no_http_is_refused(self) -> None:
        self.start()
        for data in (
            b"SSH-2.0\r\n\r\n",
            b"GET /healthz HTTP/1.1\r\nX Y: z\r\n\r\n",
            b"POST /v1/tools HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
            b"POST /v1/tools HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
            b"POST /v1/tools HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\n",
            b"POST /v1/tools HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        ):
            self.assertTrue(self.say(data).startswith(b"HTTP/1.1 400 "), data)
        long = b"GET /healthz HTTP/1.1\r\n" + b"X: y\r\n" * 4_000 + b"\r\n"
        self.assertTrue(self.say(long).startswith(b"HTTP/1.1 431 "))
        both = self.say(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n" * 2)
        self.assertIn(json.dumps({"ok": True}, separators=(",", ":")).encode(), both)


if __name__ == "__main__":
    unittest.main()
