"""Calls whose owner is killed and whose device comes back at another node: the device says what has
become of them."""

from __future__ import annotations

import signal
import unittest
from typing import Any

from fleet import FleetCase, Node
from support.device import Device, tool

RESUME = ("tool_call_resume",)
FENCED = 40.0  #: seconds; a fence, the silence after it, and a loaded machine


class AdoptionTest(FleetCase):
    """The call comes in at north and waits at south, which is killed; the device goes to west."""

    def link(self, node: Node, token: str, chat: str, instance: str = "one") -> Device:
        device = self.open(node, token, connect=False, session_id=chat)
        device.connect(RESUME, instance=instance)
        return device

    def call(self, node: Node, name: str, token: str, key: str | None = None) -> Any:
        return node.start_call(
            name,
            {"a": 1},
            token=token,
            idempotency_key=key or "out-" + name,
            timeout_ms=90_000,
            timeout=100,
        )

    def orphan(self, kind: str) -> tuple[Any, dict[str, Any], str, str, str, str]:
        """A call at north that its device at south has got when south is killed."""
        ann, name, token = self.caller(), self.unique(kind), self.token(self.north, "kettle")
        chat = "chat-" + name
        device = self.link(self.south, token, chat)
        device.register(tool(name))
        self.north.wait_known(name)
        call = self.call(self.north, name, ann)
        request = device.next_call(name)
        self.south.kill()
        device.drop()
        return call, request, ann, name, token, chat

    def replayed(self, name: str, ann: str, output: str) -> None:
        for node in (self.north, self.west):
            reply = node.call(name, {"a": 1}, token=ann, idempotency_key="out-" + name)
            self.assertEqual(reply.result, {"text": output})
            self.assertEqual(reply.http.headers["crab-replayed"], "true")

    def test_a_device_that_still_works_is_asked_by_another_node(self) -> None:
        call, request, ann, name, token, chat = self.orphan("act")
        back = self.link(self.west, token, chat)
        back.register(tool(name))
        again = back.next_call(name, timeout=FENCED)
        self.assertEqual((again["id"], again["args"]), (request["id"], {"a": 1}))
        back.answer(again, "boiled")
        self.assertEqual(call.result(10).result, {"text": "boiled"})
        self.replayed(name, ann, "boiled")
        back.assert_silent()

    def test_an_answer_that_comes_before_the_call_is_adopted_is_kept_by_the_device(self) -> None:
        call, request, ann, name, token, chat = self.orphan("act")
        back = self.link(self.west, token, chat)
        back.register(tool(name))
        back.send("tool_result", id=request["id"], output="boiled", success=True)
        again = back.next_call(name, timeout=FENCED)  # not acknowledged before
        self.assertEqual(again["id"], request["id"])
        back.answer(again, "boiled")
        self.assertEqual(call.result(10).result, {"text": "boiled"})
        self.replayed(name, ann, "boiled")

    def test_another_process_of_the_device_knows_nothing_and_is_not_asked(self) -> None:
        call, _, ann, name, token, chat = self.orphan("act")
        back = self.link(self.west, token, chat, "two")
        back.register(tool(name))
        self.assertEqual(call.result(FENCED).code, "OUTCOME_UNKNOWN")
        back.assert_silent()
        reply = self.west.call(name, {"a": 1}, token=ann, idempotency_key="out-" + name)
        self.assertEqual(reply.code, "OUTCOME_UNKNOWN")

    def test_without_its_home_either_a_repeat_elsewhere_gets_the_outcome(self) -> None:
        _, request, ann, name, token, chat = self.orphan("act")
        self.north.kill()
        back = self.link(self.west, token, chat)
        back.register(tool(name))
        repeat = self.call(self.west, name, ann)
        again = back.next_call(name, timeout=FENCED)
        self.assertEqual(again["id"], request["id"])
        back.answer(again, "boiled")
        self.assertEqual(repeat.result(10).result, {"text": "boiled"})
        back.assert_silent()

    def test_of_many_repeats_at_two_nodes_one_asks_the_device(self) -> None:
        call, request, ann, name, token, chat = self.orphan("act")
        back = self.link(self.west, token, chat)
        back.register(tool(name))
        repeats = [self.call(self.west, name, ann) for _ in range(6)]
        again = back.next_call(name, timeout=FENCED)
        self.assertEqual(again["id"], request["id"])
        back.answer(again, "boiled")
        for one in [call, *repeats]:
            self.assertEqual(one.result(20).result, {"text": "boiled"})
        back.assert_silent()

    def test_an_idempotent_call_is_not_run_again_when_its_device_can_be_asked(self) -> None:
        call, request, ann, name, token, chat = self.orphan("again")
        back = self.link(self.west, token, chat)
        back.register(tool(name))
        again = back.next_call(name, timeout=FENCED)
        self.assertEqual(again["id"], request["id"])
        back.answer(again, "boiled")
        self.assertEqual(call.result(10).result, {"text": "boiled"})
        self.replayed(name, ann, "boiled")

    def test_a_device_that_moves_on_takes_the_adopted_call_along(self) -> None:
        call, request, ann, name, token, chat = self.orphan("act")
        back = self.link(self.west, token, chat)
        back.register(tool(name))
        back.next_call(name, timeout=FENCED)
        back.drop()
        third = self.link(self.north, token, chat)
        again = third.next_call(name, timeout=FENCED)
        self.assertEqual(again["id"], request["id"])
        third.register(tool(name))
        third.answer(again, "boiled")
        self.assertEqual(call.result(20).result, {"text": "boiled"})
        self.replayed(name, ann, "boiled")

    def test_the_next_life_of_its_node_asks_as_well(self) -> None:
        call, request, ann, name, token, chat = self.orphan("act")
        self.south.start()
        back = self.link(self.south, token, chat)
        back.register(tool(name))
        again = back.next_call(name, timeout=FENCED)
        self.assertEqual(again["id"], request["id"])
        back.answer(again, "boiled")
        self.assertEqual(call.result(20).result, {"text": "boiled"})
        self.replayed(name, ann, "boiled")

    def test_a_node_that_stood_still_tells_what_the_adopted_call_came_to(self) -> None:
        ann, name, token = self.caller(), self.unique("act"), self.token(self.north, "kettle")
        chat = "chat-" + name
        device = self.link(self.south, token, chat)
        device.register(tool(name))
        self.north.wait_known(name)
        calls = [self.call(node, name, ann) for node in (self.south, self.north)]
        request = device.next_call(name)
        self.south.process.send_signal(signal.SIGSTOP)
        try:
            device.drop()
            back = self.link(self.west, token, chat)
            back.register(tool(name))
            again = back.next_call(name, timeout=FENCED)
            self.assertEqual(again["id"], request["id"])
            back.answer(again, "boiled")
            self.assertEqual(calls[1].result(20).result, {"text": "boiled"})
        finally:
            self.south.process.send_signal(signal.SIGCONT)
        self.assertEqual(calls[0].result(60).result, {"text": "boiled"})
        self.replayed(name, ann, "boiled")
        back.assert_silent()


if __name__ == "__main__":
    unittest.main()
