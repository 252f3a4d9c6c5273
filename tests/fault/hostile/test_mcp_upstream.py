"""An MCP server that the gateway runs: lists, answers and notifications that are endless, slow,
malformed, repeated, or that nobody asked for (mcp_upstream.py)."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from hostile_case import HostileCase

SCRIPT = Path(__file__).resolve().parent / "mcp_upstream.py"


class McpUpstreamTest(HostileCase):
    """Each kind is a server of its own, of which the gateway starts those that are called."""

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        cls.token = cls.gateway.pair("user-of-them", ("caller",))

    def serve(self, mode: str) -> None:
        """Adds the server, as an operator would, and takes it away in the end."""
        server = {"command": sys.executable, "args": [str(SCRIPT), mode], "pin": "off"}
        gone = {**server, "enabled": False}
        self.gateway.reload({"mcp": {"servers": {mode: server}}})
        self.addCleanup(self.gateway.reload, {"mcp": {"servers": {mode: gone}}})

    def call(self, mode: str) -> Any:
        name = f"{mode}__bad"
        return self.gateway.call(name, {}, token=self.token, timeout_ms=1000, timeout=20.0)

    def behave(self, mode: str, listed: bool = True) -> None:
        self.addCleanup(self.gateway.wait_gone, "bad")  # behind the reload that takes it away
        self.serve(mode)
        if listed:
            self.gateway.wait_listed("bad")
        self.attack(lambda: self.call(mode), workers=4)

    def test_lists_without_end(self) -> None:
        self.behave("endless", listed=False)

    def test_lists_that_are_others_each_time(self) -> None:
        self.behave("renaming")

    def test_words_without_end(self) -> None:
        self.behave("wordy", listed=False)

    def test_notifications_without_end(self) -> None:
        self.behave("flood")

    def test_lists_that_change_all_the_time(self) -> None:
        self.behave("changing")

    def test_noise_and_answers_that_nobody_waits_for(self) -> None:
        self.behave("noise")

    def test_answers_that_are_repeated(self) -> None:
        self.behave("twice")

    def test_answers_without_end(self) -> None:
        self.behave("long")

    def test_answers_of_any_depth(self) -> None:
        self.behave("deep")

    def test_a_log_without_end(self) -> None:
        self.behave("stderr")

    def test_programs_that_end(self) -> None:
        self.behave("dying")

    def test_silence(self) -> None:
        self.behave("silent")

    def test_answers_that_drip(self) -> None:
        self.behave("dripping")
