"""A model server: answers without end, slow, malformed, and with more tool calls than anybody runs.
The turn is another's than the bystander."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, ClassVar

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "support"))

from hostile_case import HostileCase
from scripted_model import Answer, Endless, Hold, Raw, ScriptedModel, call

from support.device import Device, tool


class ModelTest(HostileCase):
    model: ClassVar[ScriptedModel]

    @classmethod
    def setUpClass(cls) -> None:
        cls.model = cls.enterClassContext(ScriptedModel())
        cls.CONFIG = {"models": [{"model": "parrot", "provider": "scripted", "url": cls.model.url}]}
        super().setUpClass()
        cls.token = cls.gateway.pair("talker", ("device", "caller"))

    def turn(self, *answers: Any, tools: int = 0) -> None:
        """One turn on a link of its own, aborted after a second."""
        self.model.script(*answers)
        device: Device = self.hold(Device(self.gateway, self.token))
        if tools:
            device.register(*(tool(f"tool{n}") for n in range(tools)))
            device.serve({f"tool{n}": lambda _: "x" * 1000 for n in range(tools)})
        device.send("message", content="go")
        if not tools:
            with_end = ("done", "aborted", "error")
            try:
                while device.receive(1.0)["type"] not in with_end:
                    pass
            except TimeoutError:
                device.send("abort")
        device.drop()

    def test_text_without_end(self) -> None:
        self.attack(lambda: self.turn(Endless()), workers=4)

    def test_silence(self) -> None:
        self.attack(lambda: self.turn(Hold()), workers=4)

    def test_one_endless_line(self) -> None:
        self.attack(
            lambda: self.turn(Raw(b"data: " + b"x" * (4 << 20))),
            lambda: self.turn(Raw(b"\xff" * 100_000)),
            lambda: self.turn(Raw(b"data: " + b"[" * 100_000 + b"\n\n")),
        )

    def test_more_tool_calls_than_anybody_runs(self) -> None:
        self.attack(
            lambda: self.turn(
                Answer(calls=[call(f"tool{n % 8}", n=n) for n in range(1000)]), Answer("x"), tools=8
            )
        )

    def test_a_long_answer(self) -> None:
        self.attack(lambda: self.turn(Answer("word " * 100_000)))
