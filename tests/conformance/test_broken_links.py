"""docs/protocols/clawseed.md, section 4, items 6 and 7: what a broken link does to calls (checklist
30-34)."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any

from support.case import GatewayCase
from support.device import Device, tool
from support.gateway import Reply
from support.wait import Stopwatch, eventually

GRACE = 0.6


class BrokenLinkTest(GatewayCase):
    CONFIG = {"devices": {"grace_ms": int(GRACE * 1000)}}

    def called(self, **members: Any) -> tuple[str, Device, Future[Reply], dict[str, Any]]:
        """A device's token, its connection, and a call that it has got."""
        token, name = self.new_token(), self.unique("tool")
        device = self.open(token)
        device.register(tool(name))
        call = self.gateway.start_call(name, **members)
        return token, device, call, device.next_call(name)

    def test_clawseed_30_a_result_on_the_new_connection_completes_the_call(self) -> None:
        token, device, call, request = self.called()
        device.cut()
        self.open(token, session_id=device.session_id).answer(request, "after the break")
        self.assertEqual(call.result(10).result, {"text": "after the break"})

    def test_clawseed_30_it_completes_before_the_old_link_is_known_to_be_dead(self) -> None:
        token, device, call, request = self.called()
        self.open(token, session_id=device.session_id).answer(request, "on the other one")
        self.assertEqual(call.result(10).result, {"text": "on the other one"})
        device.assert_silent()

    def test_clawseed_30_an_error_on_the_new_connection_counts_too(self) -> None:
        token, device, call, request = self.called()
        device.cut()
        self.open(token, session_id=device.session_id).fail(request, "it failed meanwhile")
        self.assertEqual(call.result(10).error["message"], "it failed meanwhile")

    def test_clawseed_30_nothing_is_sent_again_on_reconnect(self) -> None:
        token, device, call, request = self.called()
        device.cut()
        back = self.open(token, session_id=device.session_id)
        back.register(tool(request["name"]))
        back.assert_silent()
        back.answer(request, "kept")
        self.assertEqual(call.result(10).status, "ok")

    def test_clawseed_31_a_result_from_another_principal_or_chat_session_is_acknowledged_and_ignored(
        self,
    ) -> None:
        token, device, call, request = self.called()
        device.cut()
        self.open().answer(request, "another principal")
        self.open(token).answer(request, "another chat session")
        self.assertFalse(call.done())
        self.open(token, session_id=device.session_id).answer(request, "the right one")
        self.assertEqual(call.result(10).result, {"text": "the right one"})

    def test_clawseed_32_when_nobody_returns_the_outcome_is_unknown_after_the_grace_time(
        self,
    ) -> None:
        for end in ("reset", "end of stream"):
            with self.subTest(end):
                _, device, call, _ = self.called()
                watch = Stopwatch()
                device.cut() if end == "reset" else device.drop()
                reply = call.result(10)
                self.assertEqual((reply.status, reply.code), ("error", "OUTCOME_UNKNOWN"))
                self.assertGreaterEqual(watch.seconds, GRACE - 0.05)
                self.assertLess(watch.seconds, GRACE + 1.5)

    def test_clawseed_32_the_deadline_ends_the_wait_earlier(self) -> None:
        _, device, call, _ = self.called(timeout_ms=250)
        device.cut()
        reply = call.result(10)
        self.assertIn(reply.code, ("OUTCOME_UNKNOWN", "TIMEOUT"))
        self.assertLess(reply.seconds, GRACE)

    def test_clawseed_33_a_client_that_says_goodbye_ends_its_calls_at_once(self) -> None:
        _, device, call, _ = self.called()
        watch = Stopwatch()
        self.assertEqual(device.close(1000).code, 1000)
        self.assertEqual(call.result(10).code, "OUTCOME_UNKNOWN")
        self.assertLess(watch.seconds, GRACE)

    def test_clawseed_33_a_client_that_goes_away_with_another_code_keeps_its_grace_time(
        self,
    ) -> None:
        token, device, call, request = self.called()
        self.assertEqual(device.close(1001).code, 1001)
        self.open(token, session_id=device.session_id).answer(request, "back")
        self.assertEqual(call.result(10).result, {"text": "back"})

    def test_a_call_of_a_tool_that_left_is_refused_at_once(self) -> None:
        token, device, call, request = self.called()
        device.close()
        call.result(10)
        self.gateway.wait_gone(request["name"])
        watch = Stopwatch()
        self.assertEqual(self.gateway.call(request["name"]).code, "TOOL_NOT_FOUND")
        self.assertLess(watch.seconds, GRACE)

    def test_replies_written_just_before_a_goodbye_are_taken(self) -> None:
        _, device, call, request = self.called()
        device.send("tool_result", id=request["id"], output="last words")
        device.socket.send_close(1000)
        self.assertEqual(call.result(10).result, {"text": "last words"})


GRACE_OF_UNWRITTEN = 3.0


class UnwrittenTest(GatewayCase):
    CONFIG = {"devices": {"grace_ms": int(GRACE_OF_UNWRITTEN * 1000)}}

    def test_clawseed_34_a_request_never_written_fails_as_unavailable_and_retryable(self) -> None:
        name = self.unique("tool")
        device = self.open(receive_buffer=4096)
        device.register(tool(name))
        calls = [
            self.gateway.start_call(name, {"blob": "x" * 900_000}) for _ in range(8)
        ]  # more than the kernel's buffers hold
        eventually(
            lambda: self.gateway.admin_request("GET", "/v1/admin/status").json()["running_calls"]
            == len(calls),
            "all calls are under way",
        )
        device.next_call(name, timeout=10)
        device.cut()
        replies = [call.result(15) for call in calls]
        self.assertLessEqual(
            {reply.code for reply in replies}, {"OUTCOME_UNKNOWN", "DEPENDENCY_UNAVAILABLE"}
        )
        unwritten = [reply for reply in replies if reply.code == "DEPENDENCY_UNAVAILABLE"]
        self.assertTrue(unwritten)
        for reply in unwritten:
            self.assertEqual((reply.status, reply.error["retryable"]), ("retryable_error", True))
            self.assertLess(
                reply.seconds, GRACE_OF_UNWRITTEN
            )  # at once: there is nothing to wait for
