"""The TypeScript package as a tool host in Node, by itself and below a real gateway
(docs/protocols/rtp.md, section 3)."""

from __future__ import annotations

import json
import os
import shutil
import socket
import stat
import tempfile
import threading
import unittest
from pathlib import Path
from typing import Any

from support import rtp
from support.gateway import Gateway
from support.http import Response, fetch, request_bytes
from support.node_device import MISSING
from support.node_program import NodeProgram
from support.wait import Stopwatch, eventually


class HostCase(unittest.TestCase):
    """A host of tests/support/node_host.mjs on `self.socket`."""

    def setUp(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="crab-node-host-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.socket, self.count = self.folder / "node.sock", self.folder / "count"
        self.count.touch()
        self.start()

    def start(self) -> None:
        listen = {"unix": str(self.socket), "stateDir": str(self.folder / "state")}
        self.host = NodeProgram("node_host.mjs", {"listen": listen, "count": str(self.count)})
        self.addCleanup(self.host.close)
        self.line("ready")

    def line(self, member: str, number: int = 1) -> Any:
        def lines() -> list[Any]:
            return [line[member] for line in list(self.host.lines) if member in line]

        eventually(lambda: len(lines()) >= number, f"line {number} with {member}", 20)
        return lines()[number - 1]

    def kill(self) -> None:
        self.host.process.kill()
        self.host.process.wait()

    def ran(self) -> list[str]:
        return self.count.read_text().splitlines()

    def fetch(self, method: str, target: str, body: Any = None, **headers: str) -> Response:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return fetch(self.socket, method, target, named, body, timeout=20)

    def call(self, tool: str, args: Any = None, **members: Any) -> dict[str, Any]:
        return self.send(rtp.call_request(tool, args, **members)).json()

    def send(self, request: dict[str, Any]) -> Response:
        response = self.fetch("POST", "/v1/tools/call", request)
        self.assertEqual(response.status, 200, response.body)
        rtp.check_response(response.json(), request)
        return response

    def background(self, tool: str, args: Any = None, **members: Any) -> threading.Thread:
        """A call whose answer is `answer` of the thread that it returns."""

        def run() -> None:
            thread.answer = self.call(tool, args, **members)

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        return thread

    def answer(self, thread: threading.Thread) -> dict[str, Any]:
        thread.join(20)
        return thread.answer


@unittest.skipIf(MISSING, MISSING)
class TypescriptHostTest(HostCase):
    def test_the_socket_and_the_folder_are_its_owners_alone(self) -> None:
        self.assertEqual(stat.S_IMODE(self.socket.stat().st_mode), 0o600)
        self.assertEqual(stat.S_IMODE((self.folder / "state").stat().st_mode), 0o700)
        self.assertEqual(stat.S_IMODE((self.folder / "state/calls.jsonl").stat().st_mode), 0o600)

    def test_discovery_health_and_routes(self) -> None:
        self.assertEqual(self.fetch("GET", "/healthz").json(), {"ok": True})
        body = self.fetch("GET", "/v1/tools").json()
        names = [tool["name"] for tool in body["tools"]]
        self.assertEqual((body["version"], body["service"]), ("v1", "node"))
        self.assertEqual(names, sorted(names))
        self.assertTrue(all(tool["accepts_idempotency_key"] for tool in body["tools"]))
        for method, target, status in (
            ("GET", "/nothing", 404),
            ("GET", "/v1/tools?x=1", 404),
            ("POST", "/v1/tools", 405),
            ("HEAD", "/healthz", 405),
            ("OPTIONS", "/v1/tools/call", 204),
        ):
            response = self.fetch(method, target)
            self.assertEqual(response.status, status, (method, target))
            self.assertEqual("allow" in response.headers, status in (405, 204))
        refused = self.fetch("GET", "/v1/tools/call")
        self.assertEqual((refused.status, refused.json()["status"]), (405, "error"))
        self.assertEqual(self.fetch("GET", "/v1/tools", Origin="https://evil.example").status, 403)

    def test_57_what_breaks_the_form_is_400(self) -> None:
        good = rtp.call_request("echo", {"text": "x"})
        text = json.dumps(good)
        for body in (
            b"",
            b"{",
            b"[]",
            b"null",
            text.encode() + b"x",
            b"\xff" + text.encode(),
            text.replace('"echo"', '"\\ud800"').encode().replace(b"\\ud800", b"\xed\xa0\x80"),
            json.dumps({**good, "extra": 1}).encode(),
            json.dumps({**good, "args": []}).encode(),
            json.dumps({**good, "args": None}).encode(),
            json.dumps({**good, "timeout_ms": 1.5}).encode(),
            json.dumps({**good, "context": {**good["context"], "who": "me"}}).encode(),
            json.dumps({**good, "context": {**good["context"], "trace_id": 7}}).encode(),
            text.replace('{"text": "x"}', '{"text": "x", "te\\u0078t": "y"}').encode(),
            text.replace('{"text": "x"}', '{"text": ' + "[" * 70 + "]" * 70 + "}").encode(),
        ):
            response = self.fetch("POST", "/v1/tools/call", body)
            self.assertEqual(response.status, 400, body)
            self.assertEqual(response.json()["error"]["code"], "INVALID_ARGS", body)
        self.assertEqual(self.call("echo", {"text": "still"})["result"], {"text": "still"})

    def test_58_what_breaks_a_value_is_200_and_names_it(self) -> None:
        good = rtp.call_request("echo", {"text": "x"})
        context = good["context"]
        for change, pointer in (
            ({"version": "v2"}, "/version"),
            ({"call_id": " "}, "/call_id"),
            ({"tenant_id": ""}, "/tenant_id"),
            ({"timeout_ms": 0}, "/timeout_ms"),
            ({"timeout_ms": 120_001}, "/timeout_ms"),
            ({"idempotency_key": "k" * 257}, "/idempotency_key"),
            ({"context": {**context, "agent_id": ""}}, "/context/agent_id"),
            ({"context": {**context, "request_origin": "me"}}, "/context/request_origin"),
        ):
            response = self.fetch("POST", "/v1/tools/call", {**good, **change})
            self.assertEqual(response.status, 200)
            error = response.json()["error"]
            self.assertEqual(error["code"], "INVALID_ARGS")
            self.assertTrue(error["message"].startswith(pointer + ":"), error)
        for missing in ("version", "call_id", "tool_name", "tenant_id", "args", "context"):
            body = {name: value for name, value in good.items() if name != missing}
            answer = self.fetch("POST", "/v1/tools/call", body).json()
            self.assertIn(missing, answer["error"]["message"])

    def test_59_60_unknown_tools_and_bad_arguments(self) -> None:
        self.assertEqual(self.call("no.such")["error"]["code"], "TOOL_NOT_FOUND")
        error = self.call("echo", {"text": 7, "__proto__": {}})["error"]
        self.assertEqual(error["code"], "INVALID_ARGS")
        self.assertEqual(
            [(each["pointer"], each["rule"]) for each in error["details"]["errors"]],
            [("/text", "type"), ("/__proto__", "additionalProperties")],
        )

    def test_61_a_deaf_handler_is_cut_at_the_deadline_and_its_late_result_serves_repeats(
        self,
    ) -> None:
        watch = Stopwatch()
        answer = self.call("deaf", {"ms": 1500}, timeout_ms=300, idempotency_key="deaf")
        self.assertLess(watch.seconds, 1.2)
        self.assertEqual((answer["status"], answer["error"]["code"]), ("timeout", "TIMEOUT"))
        self.assertFalse(answer["error"]["retryable"])
        repeat = self.call("deaf", {"ms": 1500}, timeout_ms=10_000, idempotency_key="deaf")
        self.assertEqual(repeat["status"], "ok")
        self.assertEqual(len(self.ran()), 1)

    def test_62_the_largest_timeout_is_the_tools(self) -> None:
        listed = {each["name"]: each for each in self.fetch("GET", "/v1/tools").json()["tools"]}
        self.assertEqual(
            (listed["echo"]["timeout_ms_default"], listed["echo"]["timeout_ms_max"]),
            (30_000, 120_000),
        )

    def test_63_a_key_runs_once_also_across_a_crash(self) -> None:
        request = rtp.call_request("count", {"n": 1}, idempotency_key="k1")
        first = self.send(request)
        again = self.send({**request, "call_id": "another", "args": {"n": 1.0}})
        self.assertEqual(again.headers.get("crab-replayed"), "true")
        self.assertNotIn("crab-replayed", first.headers)
        self.assertEqual(again.json()["result"], first.json()["result"])
        self.assertRegex(first.json()["result"]["operation_id"], "^[0-9a-f]{8}-[0-9a-f]{4}-7")
        self.assertEqual(first.json()["logs"], ["counted"])
        self.assertEqual(
            self.call("count", {"n": 2}, idempotency_key="k1")["error"]["code"], "CONFLICT"
        )
        self.kill()
        self.start()
        last = self.send({**request, "call_id": "third"})
        self.assertEqual(
            (last.headers.get("crab-replayed"), last.json()["result"]),
            ("true", first.json()["result"]),
        )
        self.assertEqual(len(self.ran()), 1)

    def test_63_repeats_at_the_same_time_wait_for_one_run(self) -> None:
        calls = [
            self.background(
                "count", {"n": 1, "ms": 500}, idempotency_key="same", call_id=f"same-{i}"
            )
            for i in range(20)
        ]
        results = [self.answer(call)["result"] for call in calls]
        self.assertEqual(len({json.dumps(result) for result in results}), 1)
        self.assertEqual(len(self.ran()), 1)

    def test_64_what_ran_when_the_host_was_killed_is_unknown_or_runs_again(self) -> None:
        for tool in ("count", "count_safe"):
            body = rtp.call_request(tool, {"n": 1, "ms": 60_000}, idempotency_key=tool)
            link = socket.socket(socket.AF_UNIX)
            link.connect(str(self.socket))
            self.addCleanup(link.close)
            link.sendall(request_bytes("POST", "/v1/tools/call", None, json.dumps(body).encode()))
        eventually(lambda: len(self.ran()) == 2, "both run", 20)
        self.kill()
        with open(self.folder / "state/calls.jsonl", "a") as journal:
            journal.write('{"end":"half a li')
        self.start()
        answer = self.call("count", {"n": 1, "ms": 60_000}, idempotency_key="count")
        self.assertEqual(answer["error"]["code"], "OUTCOME_UNKNOWN")
        again = self.call(
            "count_safe", {"n": 1, "ms": 60_000}, idempotency_key="count_safe", timeout_ms=500
        )
        self.assertEqual(again["status"], "timeout")
        self.assertEqual(len(self.ran()), 3)

    def test_65_what_a_handler_throws_is_internal_and_told_to_the_operator_alone(self) -> None:
        answer = self.call("fail")
        self.assertEqual((answer["status"], answer["error"]["code"]), ("error", "INTERNAL"))
        self.assertNotIn("secret", json.dumps(answer))
        self.assertIn("secret of the host", self.line("log"))
        busy = self.call("fail", {"code": "UNAVAILABLE"})
        self.assertEqual(
            (busy["status"], busy["error"]["code"], busy["error"]["retryable"]),
            ("retryable_error", "DEPENDENCY_UNAVAILABLE", True),
        )
        self.assertEqual(self.call("fail", {"code": "NOT_FOUND"})["error"]["code"], "INVALID_ARGS")
        wrong = self.call("wrong")["error"]
        self.assertEqual(wrong["code"], "INTERNAL")
        self.assertIn("/n", wrong["message"])

    def test_66_bodies_and_results_have_limits(self) -> None:
        fits = rtp.call_request("echo", {"text": ""})
        room = (1 << 20) - len(json.dumps(fits))
        fits["args"]["text"] = "x" * room
        answer = self.fetch("POST", "/v1/tools/call", json.dumps(fits).encode())
        self.assertEqual(len(answer.json()["result"]["text"]), room)
        fits["args"]["text"] += "x"
        large = self.fetch("POST", "/v1/tools/call", json.dumps(fits).encode())
        self.assertEqual((large.status, large.json()["error"]["code"]), (413, "INVALID_ARGS"))
        head = {"Transfer-Encoding": "chunked"}
        chunk = b"10000\r\n" + b"x" * 0x10000 + b"\r\n"
        with socket.socket(socket.AF_UNIX) as link:
            link.connect(str(self.socket))
            link.settimeout(20)
            link.sendall(request_bytes("POST", "/v1/tools/call", head))
            try:
                for _ in range(40):
                    link.sendall(chunk)
            except OSError:
                pass  # it does not read on
            self.assertTrue(link.recv(100).startswith(b"HTTP/1.1 413"))
        self.assertEqual(len(self.call("big", {"bytes": 4_000_000})["result"]["text"]), 4_000_000)
        self.assertEqual(self.call("big", {"bytes": 8 << 20})["error"]["code"], "OVERSIZE")
        header = self.fetch("GET", "/v1/tools", X="x" * (17 << 10))
        self.assertEqual(header.status, 431)

    def test_67_a_place_that_stays_taken_is_rate_limited(self) -> None:
        waits = [self.background("wait", {}, timeout_ms=20_000, call_id=f"w{i}") for i in (1, 2)]
        self.line("waits", 2)
        answer = self.call("wait", {}, timeout_ms=200)
        self.assertEqual(
            (answer["status"], answer["error"]["code"]), ("retryable_error", "RATE_LIMITED")
        )
        self.assertEqual(answer["error"]["details"], {"retry_after_ms": 1000})
        for i in (1, 2):
            self.cancel(f"w{i}", "cancelling")
        self.assertEqual([self.answer(w)["error"]["code"] for w in waits], ["CANCELLED"] * 2)

    def cancel(self, call_id: str, status: str) -> None:
        body = {"version": "v1", "tenant_id": "default", "call_id": call_id}
        answer = self.fetch("POST", "/v1/tools/cancel", body)
        self.assertEqual(
            answer.json(), {"version": "v1", "call_id": call_id, "status": status}, answer.status
        )

    def test_68_a_cancel_ends_a_call_also_one_that_comes_later(self) -> None:
        running = self.background("deaf", {"ms": 3000}, call_id="c1")
        eventually(lambda: self.ran(), "it runs", 20)
        watch = Stopwatch()
        self.cancel("c1", "cancelling")
        self.assertEqual(self.answer(running)["error"]["code"], "CANCELLED")
        self.assertLess(watch.seconds, 2)
        self.cancel("c2", "not_found")
        early = self.call("echo", {"text": "x"}, call_id="c2")
        self.assertEqual(early["error"]["code"], "CANCELLED")
        self.assertEqual(self.call("echo", {"text": "x"}, call_id="c2")["status"], "ok")
        self.cancel("c2", "finished")
        for bad in ({}, {"version": "v1", "tenant_id": "t", "call_id": 7}, [], {"x": 1}):
            self.assertEqual(self.fetch("POST", "/v1/tools/cancel", bad).status, 400)

    def test_69_a_local_host_opens_no_tcp_port(self) -> None:
        pid = self.host.process.pid
        inodes = {os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd")}
        for table in ("tcp", "tcp6"):
            for line in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]:
                self.assertNotIn(f"socket:[{line.split()[9]}]", inodes)

    def test_streams_tell_progress_and_end_the_call_when_they_are_left(self) -> None:
        request = json.dumps(rtp.call_request("steps")).encode()
        head = {"Accept": "text/event-stream"}
        with socket.socket(socket.AF_UNIX) as link:
            link.settimeout(20)
            link.connect(str(self.socket))
            link.sendall(request_bytes("POST", "/v1/tools/call", head, request))
            text = b""
            while b"event: result" not in text or not text.endswith(b"0\r\n\r\n"):
                part = link.recv(65536)
                self.assertTrue(part)
                text += part
        self.assertEqual(text.count(b"event: progress"), 3)
        self.assertIn(b'"text":"done"', text)
        request = json.dumps(rtp.call_request("wait", call_id="left")).encode()
        with socket.socket(socket.AF_UNIX) as link:
            link.connect(str(self.socket))
            link.sendall(request_bytes("POST", "/v1/tools/call", head, request))
            self.line("waits")
        self.assertEqual(self.line("stopped"), "left")

    def test_garbage_ends_no_more_than_its_connection(self) -> None:
        for data in (
            b"\x16\x03\x01\x02\x00\x01",
            b"GET / HTTP/9.9\r\n\r\n",
            b"POST /v1/tools/call HTTP/1.1\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n",
            b"POST /v1/tools/call HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
            b"POST /v1/tools/call HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n"
            b"Content-Length: 3\r\n\r\n0\r\n\r\n",
            b"GET /v1/pair HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\n"
            b"Connection: Upgrade\r\n\r\n",
        ):
            with socket.socket(socket.AF_UNIX) as link:
                link.settimeout(20)
                link.connect(str(self.socket))
                link.sendall(data)
                link.shutdown(socket.SHUT_WR)
                answer = link.recv(4096)
                self.assertTrue(answer.startswith(b"HTTP/1.1 4") or answer == b"", answer)
        self.assertEqual(self.call("echo", {"text": "x"})["status"], "ok")

    def test_the_socket_has_the_mode_that_is_asked_for(self) -> None:
        path = self.folder / "shared.sock"
        listen = {"unix": str(path), "mode": 0o660}
        shared = NodeProgram("node_host.mjs", {"listen": listen, "count": str(self.count)})
        self.addCleanup(shared.close)
        eventually(lambda: any("ready" in line for line in list(shared.lines)), "it is ready", 20)
        self.assertEqual(stat.S_IMODE(path.stat().st_mode), 0o660)

    def test_a_second_host_gets_neither_the_socket_nor_the_folder(self) -> None:
        for listen in (
            {"unix": str(self.socket)},
            {"unix": str(self.folder / "b.sock"), "stateDir": str(self.folder / "state")},
        ):
            other = NodeProgram("node_host.mjs", {"listen": listen, "count": str(self.count)})
            self.assertNotEqual(other.process.wait(20), 0)
            self.assertIn("another process listens", other.errors())
            other.close()
        self.assertEqual(self.call("echo", {"text": "x"})["status"], "ok")

    def test_a_stop_lets_running_calls_end(self) -> None:
        call = self.background("count", {"n": 1, "ms": 700})
        eventually(lambda: self.ran(), "it runs", 20)
        self.host.close()
        self.assertEqual(self.answer(call)["result"]["n"], 1)
        self.assertFalse(self.socket.exists())
        self.assertEqual(self.host.process.returncode, 0)


@unittest.skipIf(MISSING, MISSING)
class TypescriptHostBelowAGatewayTest(HostCase):
    def setUp(self) -> None:
        super().setUp()
        hosts = {"hosts": [{"name": "node", "unix": str(self.socket)}]}
        self.gateway = self.enterContext(Gateway(hosts))
        self.gateway.wait_listed("echo")

    def test_calls_arguments_failures_and_large_results(self) -> None:
        self.assertEqual(self.gateway.call("echo", {"text": "grüß 🦀"}).result, {"text": "grüß 🦀"})
        self.assertEqual(self.gateway.call("echo", {"text": 1}).code, "INVALID_ARGS")
        self.assertEqual(self.gateway.call("fail", {}).code, "INTERNAL")
        self.assertEqual(
            len(self.gateway.call("big", {"bytes": 3_000_000}).result["text"]), 3_000_000
        )
        seen = self.gateway.call("seen", {"a": {"b": [1, None]}}).result
        self.assertEqual(seen["args"], {"a": {"b": [1, None]}})
        self.assertEqual((seen["tenantId"], seen["traceparent"]), ("default", ""))
        parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
        traced = self.gateway.call("seen", {}, headers={"traceparent": parent}).result
        self.assertEqual(traced["traceparent"], parent)

    def test_a_timeout_and_a_cancel_reach_the_handler(self) -> None:
        self.assertEqual(self.gateway.call("wait", timeout_ms=400).status, "timeout")
        self.line("stopped")
        call = self.gateway.start_call("wait", {}, call_id="ts-host-cancel")
        self.line("waits", 2)
        self.gateway.cancel("ts-host-cancel")
        self.assertEqual(call.result(20).code, "CANCELLED")
        self.line("stopped", 2)

    def test_a_host_that_is_killed_within_a_call_runs_it_no_second_time(self) -> None:
        options = {"idempotency_key": "killed", "timeout_ms": 20_000}
        call = self.gateway.start_call("count", {"n": 1, "ms": 60_000}, **options)
        eventually(lambda: self.ran(), "it runs", 20)
        self.kill()
        self.start()
        self.assertIn(call.result(30).code, ("DEPENDENCY_UNAVAILABLE", "OUTCOME_UNKNOWN"))

        def told() -> bool:
            again = self.gateway.call("count", {"n": 1, "ms": 60_000}, **options)
            return again.code == "OUTCOME_UNKNOWN"

        eventually(told, "the host says that it may have run", 20)
        self.assertEqual(len(self.ran()), 1)

    def test_a_gateway_that_is_killed_within_a_call_gets_its_result_by_the_key(self) -> None:
        options = {"idempotency_key": "across", "timeout_ms": 20_000}
        self.gateway.start_call("count_safe", {"n": 1, "ms": 1500}, **options)
        eventually(lambda: self.ran(), "it runs", 20)
        self.gateway.kill()
        self.gateway.start()
        self.gateway.wait_listed("count_safe")
        again = self.gateway.call("count_safe", {"n": 1, "ms": 1500}, **options)
        self.assertEqual(again.result["n"], 1)
        self.assertEqual(len(self.ran()), 1)


if __name__ == "__main__":
    unittest.main()
