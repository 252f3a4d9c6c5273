"""An app behind the bridge: envelopes that are endless, huge, slow or malformed. Another app's tool
answers all the same."""

from __future__ import annotations

import json
import time
from typing import Any

from hostile_case import MORE_SECONDS, HostileCase, p99
from support.bridge import BridgeHome, success, tool
from support.wait import Stopwatch

MIB = 1 << 20


class AppTest(HostileCase):
    def setUp(self) -> None:
        super().setUp()
        self.home = BridgeHome()
        self.addCleanup(self.home.close)
        self.good = self.home.provider("com.example.good", tool("fine"))
        self.bad = self.home.provider("com.example.bad", tool("odd"))
        self.home.start(self.gateway, self.new_token("desk"))
        self.gateway.wait_listed("good__fine", "bad__odd")
        self.slow: list[float] = []

    def call(self, name: str, **members: Any) -> Any:
        return self.gateway.call(
            f"{self.slug}__{name}", {}, timeout_ms=1000, timeout=20.0, **members
        )

    def good_neighbour(self) -> None:
        watch = Stopwatch()
        self.assertEqual(self.call("good__fine").status, "ok")
        self.slow.append(watch.seconds)
        time.sleep(0.01)

    def behave(self, answer: Any) -> None:
        for _ in range(50):
            self.good_neighbour()
        quiet, self.slow = p99(sorted(self.slow)), []
        self.bad.on_execute = answer
        self.attack(lambda: self.call("bad__odd"), self.good_neighbour)
        self.assertLessEqual(
            p99(sorted(self.slow)), quiet + 2 * MORE_SECONDS, "the other app of the same bridge"
        )

    def test_answers_that_never_come(self) -> None:
        self.behave(self.bad.hang)

    def test_answers_beyond_every_size(self) -> None:
        self.behave(lambda _: b"x" * (8 * MIB))

    def test_answers_that_are_none(self) -> None:
        words = [
            b"",
            b"{",
            b"[" * 100_000,
            b"\xff" * 1000,
            b'{"status":5}',
            b'{"status":"success"}',
            json.dumps({"status": "error"}).encode(),
            None,
        ]
        turn = iter(range(1 << 30))
        self.behave(lambda _: words[next(turn) % len(words)])

    def test_lists_that_are_expensive(self) -> None:
        properties = {
            f"p{n}": {"type": "string", "pattern": r"^[\p{L}]{1,200}" + f"{n}$"} for n in range(100)
        }
        costly = [
            tool(f"costly{n}", parameters={"type": "object", "properties": properties})
            for n in range(64)
        ]
        self.bad.on_list = lambda _: success({"tools": [tool("odd"), *costly]})
        self.home.undeclare("com.example.bad")
        self.home.declare("com.example.bad", Transport="unix", Socket=str(self.bad.path))
        self.behave(lambda extras: success(extras["args"]))
