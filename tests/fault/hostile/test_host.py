"""A tool host that the gateway calls, over a Unix socket and, paired, over mutual TLS: lists and
answers that are endless, slow, malformed or expensive, and words that nobody asked for."""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
import threading
import unittest
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "support"))

from hostile_case import HostileCase
from mtls_tool_host import MtlsToolHost
from test_caller import TWINS

from support.tool_host import Request, ToolHost, host_tool, http

MIB = 1 << 20


def good_tools() -> list[dict[str, Any]]:
    return [host_tool("read"), host_tool("twins", output_schema=TWINS)]


class HostCase(HostileCase):
    bad: Any

    def setUp(self) -> None:
        super().setUp()
        self.released = threading.Event()
        self.addCleanup(self.released.set)

    def call(self, tool: str = "read") -> Any:
        return self.gateway.call(tool, {"n": 1}, token=self.token, timeout_ms=1000, timeout=20.0)

    def behave(self, behaviour: Any) -> None:
        self.bad.behave = behaviour
        self.attack(self.call, workers=4)

    def test_answers_without_end(self) -> None:
        def endless(request: Request) -> None:
            request.send(
                b"HTTP/1.1 200 Text\r\nContent-Type: application/json\r\nTransfer-Encoding: "
                b"chunked\r\n\r\n"
            )
            while not self.released.is_set():
                request.send(b"10000\r\n" + b"x" * 65536 + b"\r\n")

        self.behave(endless)

    def test_heads_without_end(self) -> None:
        def endless(request: Request) -> None:
            request.send(b"HTTP/1.1 200 Text\r\n")
            while not self.released.is_set():
                request.send(b"X-More: " + b"x" * 1000 + b"\r\n")

        self.behave(endless)

    def test_answers_that_only_say_wait(self) -> None:
        def waiting(request: Request) -> None:
            while not self.released.is_set():
                request.send(b"HTTP/1.1 102 Processing\r\n\r\n" * 100)

        self.behave(waiting)

    def test_answers_that_drip_or_never_come(self) -> None:
        def drip(request: Request) -> None:
            request.send(b"HTTP/1.1 200 Text\r\nContent-Length: 100000\r\n\r\n")
            while not self.released.wait(0.05):
                request.send(b" ")

        self.behave(drip)

    def test_the_largest_answers(self) -> None:
        body = "x" * (7 * MIB)
        self.behave(lambda request: request.answer(result={"text": body}))

    def test_answers_that_are_expensive_to_check(self) -> None:
        value: dict[str, Any] = {"b": 2}
        for _ in range(60):
            value = {"a": value}
        self.bad.behave = lambda request: request.answer(result=value)
        self.attack(lambda: self.call("twins"), workers=4)

    def test_answers_that_are_none(self) -> None:
        words = [
            b"",
            b"x" * 100_000,
            http(200, b"{"),
            http(200, b"[" * 200_000),
            http(200, b'{"version":"v1","version":"v1"}'),
            b"HTTP/1.1 999 x\r\n\r\n",
        ]
        turn = iter(range(1 << 30))

        def broken(request: Request) -> None:
            request.send(words[next(turn) % len(words)])
            request.die()

        self.behave(broken)

    def test_lists_that_are_expensive(self) -> None:
        properties = {
            f"p{n}": {"type": "string", "pattern": r"^[\p{L}]{1,200}" + f"{n}$"} for n in range(100)
        }
        self.bad.tools = [
            host_tool("read"),
            *(
                host_tool(f"costly{n}", input_schema={"type": "object", "properties": properties})
                for n in range(200)
            ),
        ]
        self.addCleanup(setattr, self.bad, "tools", good_tools())
        self.bad.behave = lambda request: request.fail(
            "TOOL_NOT_FOUND"
        )  # has the list fetched again
        self.attack(self.call)
        self.assertLess(len(json.dumps(self.bad.tools)), 4 * MIB)


class UnixHostTest(HostCase):
    @classmethod
    def setUpClass(cls) -> None:
        folder = Path(tempfile.mkdtemp(prefix="crab-hosts-"))
        cls.addClassCleanup(shutil.rmtree, folder, ignore_errors=True)
        cls.CONFIG = {"hosts": [{"name": "bad", "unix": str(folder / "bad")}]}
        cls.bad = ToolHost(folder / "bad", *good_tools()).start()
        cls.addClassCleanup(cls.bad.stop)
        super().setUpClass()
        cls.gateway.wait_listed("read", "twins")
        cls.token = cls.gateway.pair("user-of-it", ("caller",))


class PairedHostTest(HostCase):
    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        key = cls.gateway.admin_request("GET", "/v1/identity").json()["public_key_ed25519"]
        cls.bad = cls.enterClassContext(MtlsToolHost(key, "bad", *good_tools()))
        body = {
            "component_type": "tool_host",
            "component_id": "bad",
            "endpoint": cls.bad.endpoint,
        }
        answer = cls.gateway.admin_request("POST", "/v1/pairings", body, timeout=25)
        assert answer.status == 200, answer.body
        cls.gateway.wait_listed("read", "twins")
        cls.token = cls.gateway.pair("user-of-it", ("caller",))


del HostCase  # its tests are those of the two

if __name__ == "__main__":
    unittest.main()
