"""A host made with include/crab/tool_host.hpp that is killed, overrun or deaf:
docs/protocols/rtp.md, section 3. Numbers are the checklist's."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from support import rtp
from support.http import Response, fetch
from support.stream import EndOfStream
from support.wait import Stopwatch, eventually


class HostLibraryCase(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="crab-counting-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.socket, self.runs_file = self.folder / "host.sock", self.folder / "runs"
        self.start()
        self.addCleanup(self.kill)

    def start(self) -> None:
        self.process = subprocess.Popen(
            [
                os.environ["COUNTING_HOST"],
                str(self.socket),
                str(self.folder / "state"),
                str(self.runs_file),
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.assertEqual(
            self.process.stdout.readline(), f"crab host ready name=counting unix={self.socket}\n"
        )

    def kill(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(15)
        self.process.stdout.close()

    def runs(self) -> list[str]:
        return self.runs_file.read_text().split() if self.runs_file.exists() else []

    def send(self, tool: str, args: Any = None, **members: Any) -> Response:
        request = rtp.call_request(tool, args or {}, **members)
        answer = fetch(self.socket, "POST", "/v1/tools/call", None, request, timeout=30)
        rtp.check_response(answer.json(), request)
        return answer

    def call(self, tool: str, args: Any = None, **members: Any) -> dict[str, Any]:
        return self.send(tool, args, **members).json()

    def code(self, tool: str, args: Any = None, **members: Any) -> str:
        return self.call(tool, args, **members)["error"]["code"]


class CrashTest(HostLibraryCase):
    def die_during(self, tool: str) -> None:
        """kill -9 while a call of `tool` with the key `k` runs, and a new process."""

        def lost() -> None:
            with self.assertRaises((OSError, EndOfStream)):
                self.call(tool, {"hold": True}, call_id="c", idempotency_key="k")

        caller = threading.Thread(target=lost)
        caller.start()
        eventually(lambda: self.runs() == ["c"], "the handler runs")
        self.kill()
        caller.join(15)
        self.start()

    def test_64_what_ran_when_the_host_was_killed_is_unknown(self) -> None:
        self.die_during("write")
        for _ in range(2):
            self.assertEqual(
                self.code("write", {"hold": True}, idempotency_key="k"), "OUTCOME_UNKNOWN"
            )
        self.assertEqual(self.code("write", {}, idempotency_key="k"), "CONFLICT")
        self.assertEqual(self.runs(), ["c"])

    def test_64_an_idempotent_tool_runs_again(self) -> None:
        self.die_during("put")
        self.assertEqual(
            self.code("put", {"hold": True}, call_id="d", idempotency_key="k", timeout_ms=100),
            "TIMEOUT",
        )
        self.assertEqual(self.runs(), ["c", "d"])

    def test_63_a_key_runs_once_across_crashes(self) -> None:
        first = self.call("write", {"n": 1}, call_id="a", idempotency_key="k")
        for n in range(3):
            self.kill()
            self.start()
            again = self.send("write", {"n": 1}, call_id=f"r{n}", idempotency_key="k")
            self.assertEqual(again.headers["crab-replayed"], "true")
            self.assertEqual(
                again.json(), {**first, "call_id": f"r{n}"}
            )  # the operation id and the first duration too
            self.assertEqual(self.code("write", {"n": 2}, idempotency_key="k"), "CONFLICT")
        self.assertEqual(self.runs(), ["a"])

    def test_an_orderly_end_takes_the_socket_along(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        self.assertEqual(self.process.wait(15), 0)
        self.assertFalse(self.socket.exists())


class DeafTest(HostLibraryCase):
    def test_61_a_deaf_handler_is_cut_at_the_deadline(self) -> None:
        watch = Stopwatch()
        answer = self.call("write", {"hold": True}, timeout_ms=200)
        self.assertEqual((answer["status"], answer["error"]["code"]), ("timeout", "TIMEOUT"))
        self.assertGreaterEqual(answer["duration_ms"], 200)
        self.assertLess(watch.seconds, 1.0)
        self.assertEqual(self.call("write")["status"], "ok")

    def test_a_timeout_is_retryable_where_a_repeat_is_safe(self) -> None:
        for tool, safe in (("write", False), ("put", True)):
            self.assertIs(
                self.call(tool, {"hold": True}, timeout_ms=50)["error"]["retryable"], safe
            )

    def test_67_a_place_that_stays_taken_is_rate_limited(self) -> None:
        self.assertEqual(self.code("narrow", {"hold": True}, timeout_ms=50), "TIMEOUT")
        refused = self.call("narrow", timeout_ms=50)
        self.assertEqual(
            (refused["status"], refused["error"]["code"]), ("retryable_error", "RATE_LIMITED")
        )
        self.assertGreaterEqual(refused["error"]["details"]["retry_after_ms"], 1)

    def test_67_sixty_four_deaf_calls_take_all_places_and_256_wait(self) -> None:
        with ThreadPoolExecutor(64) as callers:
            cut = list(
                callers.map(
                    lambda n: self.code("write", {"hold": True, "n": n}, timeout_ms=500), range(64)
                )
            )
        self.assertEqual(set(cut), {"TIMEOUT"})
        with ThreadPoolExecutor(8) as callers:
            refused = list(
                callers.map(lambda n: self.code("write", {"n": n}, timeout_ms=50), range(8))
            )
        self.assertEqual(set(refused), {"RATE_LIMITED"})
        self.assertEqual(fetch(self.socket, "GET", "/healthz").json(), {"ok": True})

    def test_68_a_cancel_ends_a_deaf_call_at_once(self) -> None:
        with ThreadPoolExecutor(1) as callers:
            call = callers.submit(self.code, "write", {"hold": True}, call_id="c")
            eventually(lambda: self.runs() == ["c"], "the handler runs")
            answer = fetch(
                self.socket,
                "POST",
                "/v1/tools/cancel",
                None,
                {"version": "v1", "tenant_id": "default", "call_id": "c"},
            )
            self.assertEqual(answer.json()["status"], "cancelling")
            self.assertEqual(call.result(10), "CANCELLED")


class LimitsTest(HostLibraryCase):
    def test_66_a_body_of_a_mebibyte_passes_and_one_byte_more_is_413(self) -> None:
        request = rtp.call_request("write", {"pad": ""})
        size = len(rtp_bytes(request))
        for extra, status in ((0, 200), (1, 413)):
            request["args"]["pad"] = "x" * (1024 * 1024 - size + extra)
            answer = fetch(self.socket, "POST", "/v1/tools/call", None, rtp_bytes(request))
            self.assertEqual(answer.status, status)
            rtp.check_response(answer.json())

    def test_the_257th_connection_is_503(self) -> None:
        links = []
        try:
            for _ in range(256):
                link = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
                link.connect(str(self.socket))
                links.append(link)
            eventually(
                lambda: fetch(self.socket, "GET", "/healthz").status == 503, "the listener is full"
            )
        finally:
            for link in links:
                link.close()
        eventually(
            lambda: fetch(self.socket, "GET", "/healthz").status == 200, "there is room again"
        )

    def test_69_a_local_host_opens_no_tcp_port(self) -> None:
        inodes = {
            os.readlink(f"/proc/{self.process.pid}/fd/{fd}")
            for fd in os.listdir(f"/proc/{self.process.pid}/fd")
        }
        for table in ("tcp", "tcp6"):
            for line in Path(f"/proc/{self.process.pid}/net/{table}").read_text().splitlines()[1:]:
                self.assertNotIn(f"socket:[{line.split()[9]}]", inodes)


def rtp_bytes(request: dict[str, Any]) -> bytes:
    return json.dumps(request, separators=(",", ":")).encode()


if __name__ == "__main__":
    unittest.main()
