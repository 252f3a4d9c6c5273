"""Calls whose device comes back at another node while its first one lives."""

from __future__ import annotations

import unittest
from typing import Any

from fleet import SOON, FleetCase, Node
from support.device import Device, tool

RESUME = ("tool_call_resume",)


class MovesTest(FleetCase):
    """The call waits at south, the device comes back at west."""

    def link(
        self,
        node: Node,
        token: str,
        chat: str,
        instance: str = "one",
        capabilities: tuple[str, ...] = RESUME,
    ) -> Device:
        device = self.open(node, token, connect=False, session_id=chat)
        device.connect(capabilities, instance=instance)
        return device

    def away(self, kind: str) -> tuple[Any, dict[str, Any], str, str, str, str]:
        """A call at north for a device whose link to south has just broken."""
        ann, name, token = self.caller(), self.unique(kind), self.token(self.north, "kettle")
        chat, key = "chat-" + name, "out-" + name
        device = self.link(self.south, token, chat)
        device.register(tool(name))
        self.north.wait_known(name)
        call = self.north.start_call(
            name,
            {"a": 1},
            token=ann,
            call_id="call-" + name,
            idempotency_key=key,
            timeout_ms=60_000,
            timeout=80,
        )
        request = device.next_call(name)
        device.drop()
        return call, request, ann, name, token, chat

    def test_a_call_goes_on_where_its_device_is_now(self) -> None:
        call, request, ann, name, token, chat = self.away("act")
        back = self.link(self.west, token, chat)
        again = back.next_call(name, timeout=SOON)
        back.register(tool(name))
        self.assertEqual((again["id"], again["args"]), (request["id"], {"a": 1}))
        # It takes longer than a broken link is waited for.
        with self.assertRaises(TimeoutError):
            call.result(20)
        back.answer(again, "boiled")
        self.assertEqual(call.result(10).result, {"text": "boiled"})
        for node in (self.north, self.south, self.west):
            reply = node.call(name, {"a": 1}, token=ann, idempotency_key="out-" + name)
            self.assertEqual(reply.result, {"text": "boiled"})
            self.assertEqual(reply.http.headers["crab-replayed"], "true")
        back.answer(again, "boiled")  # as if the acknowledgement had been lost
        back.assert_silent()
        self.assertEqual(self.south.fleet_metric("crab_fleet_moved_calls_answered_total"), 1)

    def test_an_answer_that_comes_first_is_acknowledged_when_its_call_has_it(self) -> None:
        call, request, _, name, token, chat = self.away("act")
        back = self.open(self.west, token, connect=False, session_id=chat)
        back.capabilities = RESUME
        back.send("connect", v=1, capabilities=list(RESUME), instance="one")
        back.send("tool_result", id=request["id"], output="boiled", success=True)
        back.expect("connected")
        self.assertEqual(back.next_call(name, timeout=SOON)["id"], request["id"])
        back.answer(request, "boiled")
        self.assertEqual(call.result(10).result, {"text": "boiled"})

    def test_a_cancel_reaches_the_device_where_it_is_now(self) -> None:
        call, request, ann, name, token, chat = self.away("act")
        back = self.link(self.west, token, chat, capabilities=(*RESUME, "tool_call_cancel"))
        back.next_call(name, timeout=SOON)
        body = {"version": "v1", "tenant_id": "default", "call_id": "call-" + name}
        reply = self.north.fetch("POST", "/v1/tools/cancel", ann, body=body)
        self.assertEqual(reply.json()["status"], "cancelling")
        self.assertEqual(back.expect("tool_call_cancel", SOON)["id"], request["id"])
        self.assertEqual(call.result(20).code, "CANCELLED")

    def test_another_process_another_chat_and_another_device_get_nothing(self) -> None:
        call, request, _, name, token, chat = self.away("act")
        other = self.token(self.north, "pot")
        links = [
            self.link(self.west, token, chat, "two"),
            self.link(self.west, token, "other-" + chat, "one"),
            self.link(self.west, other, "pots-" + chat, "one"),
        ]
        for link in links:
            link.send("tool_result", id=request["id"], output="forged", success=True)
        self.assertEqual(call.result(40).code, "OUTCOME_UNKNOWN")
        for link in links:
            link.assert_silent()

    def test_a_device_that_moves_on_and_is_lost_leaves_the_outcome_unknown(self) -> None:
        call, request, ann, name, token, chat = self.away("act")
        back = self.link(self.west, token, chat)
        back.next_call(name, timeout=SOON)
        back.drop()
        third = self.link(self.north, token, chat)
        self.assertEqual(third.next_call(name, timeout=SOON)["id"], request["id"])
        third.drop()
        self.assertEqual(call.result(50).code, "OUTCOME_UNKNOWN")
        reply = self.west.call(name, {"a": 1}, token=ann, idempotency_key="out-" + name)
        self.assertIn(reply.code, ("OUTCOME_UNKNOWN", "NOT_FOUND", "TOOL_NOT_FOUND"))


if __name__ == "__main__":
    unittest.main()
