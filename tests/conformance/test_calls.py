"""docs/protocols/clawseed.md, section 4: calls and their replies (checklist 17-27, 63)."""

from __future__ import annotations

import json
import uuid
from concurrent.futures import Future
from typing import Any

from support.case import GatewayCase
from support.device import Device, tool
from support.gateway import Reply
from support.wait import Stopwatch


class CallCase(GatewayCase):
    def device_with(self, *names: str, **claims: Any) -> Device:
        device = self.open()
        device.register(*(tool(name, **claims) for name in names))
        return device

    def called(self, **claims: Any) -> tuple[Device, str, Future[Reply], dict[str, Any]]:
        """A device with one tool, and a call of it that has arrived."""
        name = self.unique("tool")
        device = self.device_with(name, **claims)
        call = self.gateway.start_call(name)
        return device, name, call, device.next_call(name)


class RequestTest(CallCase):
    def test_clawseed_17_a_request_has_a_fresh_uuid_a_name_and_args(self) -> None:
        name = self.unique("tool")
        device = self.device_with(name)
        ids = set()
        for number in range(3):
            call = self.gateway.start_call(name, {"n": number})
            request = device.next_call(name)
            self.assertEqual(request["args"], {"n": number})
            self.assertEqual(uuid.UUID(request["id"]).version, 7)
            ids.add(request["id"])
            device.answer(request, "ok")
            call.result(10)
        self.assertEqual(len(ids), 3)

    def test_clawseed_17_the_wire_id_is_not_the_callers_call_id(self) -> None:
        name = self.unique("tool")
        device = self.device_with(name)
        self.gateway.start_call(name, call_id="chosen-by-the-caller")
        self.assertNotEqual(device.next_call(name)["id"], "chosen-by-the-caller")

    def test_clawseed_18_no_arguments_arrive_as_an_empty_object(self) -> None:
        name = self.unique("tool")
        device = self.device_with(name)
        call = self.gateway.start_call(name, {})
        request = device.next_call(name)
        self.assertEqual(request["args"], {})
        device.answer(request, "ok")
        call.result(10)

    def test_clawseed_18_arguments_that_are_no_object_fail_unsent(self) -> None:
        name = self.unique("tool")
        device = self.device_with(name)
        for args in ([1], "text", 5, None):
            with self.subTest(args=args):
                request = {
                    **{
                        "version": "v1",
                        "call_id": str(uuid.uuid4()),
                        "tool_name": name,
                        "tenant_id": "t",
                        "args": args,
                    },
                    "context": {"agent_id": "a", "session_id": "s"},
                }
                response = self.gateway.fetch(
                    "POST", "/v1/tools/call", self.gateway.caller_token(), body=request
                )
                self.assertEqual(response.json()["error"]["code"], "INVALID_ARGS")
        device.assert_silent()

    def test_arguments_that_break_the_schema_fail_unsent_and_name_pointer_and_rule(self) -> None:
        name = self.unique("tool")
        device = self.open()
        device.register(
            tool(
                name,
                {
                    "type": "object",
                    "properties": {"room": {"type": "string"}},
                    "required": ["room"],
                },
            )
        )
        reply = self.gateway.call(name, {"room": 5})
        self.assertEqual(reply.code, "INVALID_ARGS")
        violation = reply.error["details"]["errors"][0]
        self.assertEqual((violation["pointer"], violation["rule"]), ("/room", "type"))
        self.assertEqual(
            self.gateway.call(name, {}).error["details"]["errors"][0]["rule"], "required"
        )
        device.assert_silent()

    def test_arguments_keep_every_character_and_number(self) -> None:
        name = self.unique("tool")
        device = self.device_with(name)
        args = {
            "text": "grün — \u2028 \U0001f980 \"\\\n\0",
            "big": 12345678901234567890,
            "float": 1e-7,
            "deep": [[{"a": None}]],
            "": True,
        }
        call = self.gateway.start_call(name, args)
        request = device.next_call(name)
        self.assertEqual(request["args"], args)
        device.answer(request, "ok")
        call.result(10)


class ReplyTest(CallCase):
    def test_clawseed_19_the_output_arrives_exactly(self) -> None:
        for output in ("21.5", "", " \n", "grün — \u2028 \U0001f980\0", "ü€\U0001f980" * 22_000):
            with self.subTest(size=len(output.encode())):
                device, _, call, request = self.called()
                device.answer(request, output, error="ignored")
                self.assertEqual(call.result(10).result, {"text": output})

    def test_clawseed_19_fragments_and_escapes_of_the_device_make_no_difference(self) -> None:
        device, _, call, request = self.called()
        device.socket.send_text(
            json.dumps({"type": "tool_result", "id": request["id"], "output": "ü" * 70_000}),
            fragments=7,
        )
        device.acknowledged(request["id"])
        self.assertEqual(call.result(10).result, {"text": "ü" * 70_000})

    def test_clawseed_20_a_tool_error_fails_the_call_with_exactly_that_text(self) -> None:
        for text in ("no — not now", "Unknown tool: x", "NO_SUCH_CODE: x", "ü" * 5000):
            with self.subTest(text[:20]):
                device, _, call, request = self.called()
                device.fail(request, text)
                reply = call.result(10)
                self.assertEqual((reply.status, reply.error["message"]), ("error", text))

    def test_a_leading_code_of_a_tool_error_counts_if_a_tool_may_claim_it(self) -> None:
        codes = {
            "INVALID_ARGS: x": "INVALID_ARGS",
            "[RATE_LIMITED] x": "RATE_LIMITED",
            "FORBIDDEN: x": "FORBIDDEN",
            "PERMISSION_DENIED: x": "FORBIDDEN",
            "AUTH_REQUIRED: x": "FORBIDDEN",
            "TIMEOUT: x": "TIMEOUT",
            "CANCELLED: x": "CANCELLED",
            "INTERNAL_ERROR: x": "INTERNAL",
            "TOOL_NOT_FOUND: x": "TOOL_NOT_FOUND",
            "OUTCOME_UNKNOWN: x": "TOOL_FAILED",
            "CONFLICT: x": "TOOL_FAILED",
            "x INVALID_ARGS: y": "TOOL_FAILED",
        }
        for text, code in codes.items():
            with self.subTest(text):
                device, _, call, request = self.called()
                device.fail(request, text)
                reply = call.result(10)
                error = reply.error
                self.assertEqual((error["code"], error["message"]), (code, text))
                # it may have run before it failed, whatever the device calls that
                self.assertFalse(error["retryable"])
                self.assertNotEqual(reply.status, "retryable_error")
                device.fence()

    def test_clawseed_21_success_is_the_default_and_its_absence_of_output_is_empty_text(
        self,
    ) -> None:
        for frame, expected in (
            ({"output": "a"}, "a"),
            ({}, ""),
            ({"output": None}, ""),
            ({"success": None, "output": "b"}, "b"),
            ({"success": True, "output": "c", "error": "ignored"}, "c"),
        ):
            with self.subTest(frame=frame):
                device, _, call, request = self.called()
                device.send("tool_result", id=request["id"], **frame)
                device.acknowledged(request["id"])
                self.assertEqual(call.result(10).result, {"text": expected})

    def test_clawseed_21_success_false_gives_the_error_else_the_output(self) -> None:
        for kind, frame, expected in (
            ("tool_result", {"success": False, "error": "e", "output": "o"}, "e"),
            ("tool_result", {"success": False, "output": "o"}, "o"),
            ("tool_result", {"success": False}, "Unknown error"),
            ("tool_error", {}, "Unknown error"),
            ("tool_error", {"error": None}, "Unknown error"),
            ("tool_error", {"error": "e", "success": True}, "e"),
        ):
            with self.subTest(kind=kind, frame=frame):
                device, _, call, request = self.called()
                device.send(kind, id=request["id"], **frame)
                device.acknowledged(request["id"])
                self.assertEqual(call.result(10).error["message"], expected)

    def test_clawseed_22_each_reply_is_acknowledged_with_its_id(self) -> None:
        device, name, call, request = self.called()
        device.answer(request, "ok")
        call.result(10)
        call = self.gateway.start_call(name)
        device.fail(device.next_call(name), "no")
        call.result(10)
        device.assert_silent()

    def test_clawseed_23_unknown_and_repeated_replies_are_acknowledged_without_effect(self) -> None:
        device, name, call, request = self.called()
        device.answer({"id": str(uuid.uuid4())}, "unknown")
        device.answer({"id": "x"}, "unknown")
        self.assertFalse(call.done())
        device.answer(request, "first")
        device.answer(request, "second")
        device.fail(request, "third")
        self.assertEqual(call.result(10).result, {"text": "first"})
        call = self.gateway.start_call(name)
        device.answer(device.next_call(name), "next")
        self.assertEqual(call.result(10).result, {"text": "next"})

    def test_clawseed_23_a_late_reply_is_acknowledged_and_the_next_call_works(self) -> None:
        name = self.unique("tool")
        device = self.device_with(name)
        late = self.gateway.start_call(name, timeout_ms=100)
        request = device.next_call(name)
        self.assertEqual(late.result(10).status, "timeout")
        device.answer(request, "late")
        call = self.gateway.start_call(name)
        device.answer(device.next_call(name), "in time")
        self.assertEqual(call.result(10).result, {"text": "in time"})

    def test_clawseed_24_replies_without_a_usable_id_get_no_answer_and_the_link_stays(self) -> None:
        device, _, call, request = self.called()
        for kind in ("tool_result", "tool_error"):
            device.send(kind, output="x")
            for bad in ("", 5, None, [request["id"]], {"id": request["id"]}, "x" * 129):
                device.send(kind, id=bad, output="x")
        device.assert_silent()
        device.answer({"id": "x" * 128}, "longest")
        device.answer(request, "ok")
        self.assertEqual(call.result(10).result, {"text": "ok"})

    def test_clawseed_25_calls_of_one_device_are_out_together_and_answers_find_their_callers(
        self,
    ) -> None:
        name = self.unique("tool")
        device = self.device_with(name)
        calls = {n: self.gateway.start_call(name, {"n": n}) for n in range(3)}
        requests = {(request := device.next_call(name))["args"]["n"]: request for _ in calls}
        for number in (2, 1, 0):
            device.answer(requests[number], f"answer {number}")
        for number, call in calls.items():
            self.assertEqual(call.result(10).result, {"text": f"answer {number}"})

    def test_a_device_cannot_answer_the_calls_of_another(self) -> None:
        device, _, call, request = self.called()
        self.open().answer(request, "stolen")
        self.assertFalse(call.done())
        device.answer(request, "own")
        self.assertEqual(call.result(10).result, {"text": "own"})

    def test_clawseed_63_output_that_is_no_string_is_kept_as_json(self) -> None:
        for output, expected in (
            ({"celsius": 21.5, "a": [None]}, {"celsius": 21.5, "a": [None]}),
            ({}, {}),
            (7, {"value": 7}),
            ([1, {"a": "ü"}], {"value": [1, {"a": "ü"}]}),
            (False, {"value": False}),
        ):
            with self.subTest(output=output):
                device, _, call, request = self.called()
                device.answer(request, output)
                self.assertEqual(call.result(10).result, expected)

    def test_clawseed_63_output_is_checked_against_the_output_schema(self) -> None:
        schema = {"type": "object", "required": ["celsius"]}
        device, name, call, request = self.called(output_schema=schema)
        device.answer(request, {"celsius": 1})
        self.assertEqual(call.result(10).result, {"celsius": 1})
        call = self.gateway.start_call(name)
        device.answer(device.next_call(name), {"fahrenheit": 1})
        reply = call.result(10)
        self.assertEqual((reply.status, reply.code), ("error", "INTERNAL"))


class DeadlineTest(CallCase):
    CONFIG = {
        "calls": {"default_timeout_ms": 400, "max_timeout_ms": 800},
        "tools": [{"match": "quick-*", "max_timeout_ms": 150}],
    }

    def timed_out(
        self, name: str, device: Device, at_least: float, at_most: float, **members: Any
    ) -> None:
        call = self.gateway.start_call(name, **members)
        request = device.next_call(name)
        watch = Stopwatch()
        reply = call.result(10)
        self.assertEqual((reply.status, reply.code), ("timeout", "TIMEOUT"))
        self.assertGreaterEqual(reply.seconds, at_least)
        self.assertLess(watch.seconds, at_most)
        self.assertGreaterEqual(reply.body["duration_ms"], int(at_least * 1000) - 5)
        device.answer(request, "late")

    def test_clawseed_26_a_silent_device_times_out_after_the_default_and_stays_usable(self) -> None:
        name = self.unique("tool")
        device = self.device_with(name)
        self.timed_out(name, device, 0.4, 1.4)
        call = self.gateway.start_call(name)
        device.answer(device.next_call(name), "ok")
        self.assertEqual(call.result(10).result, {"text": "ok"})

    def test_clawseed_27_the_smallest_of_the_timeouts_of_caller_tool_and_operator_wins(
        self,
    ) -> None:
        slow, fast, quick = self.unique("slow"), self.unique("fast"), self.unique("quick")
        device = self.open()
        device.register(tool(slow, timeout_ms=600), tool(fast, timeout_ms=100), tool(quick))
        self.timed_out(slow, device, 0.2, 0.59, timeout_ms=200)
        self.timed_out(fast, device, 0.1, 0.39)
        self.timed_out(quick, device, 0.15, 0.6, timeout_ms=700)
        self.timed_out(slow, device, 0.8, 1.8, timeout_ms=5000)


class LargeResultTest(CallCase):
    def test_a_result_that_no_message_may_have_costs_its_own_call_at_once(self) -> None:
        name = self.unique("large")
        device = self.device_with(name)
        calls = [self.gateway.start_call(name, {"n": n}, timeout_ms=60_000) for n in range(2)]
        large, other = (device.next_call(name) for _ in calls)
        before = self.gateway.forget_peak()
        for behind in (False, True):
            call = (
                calls[large["args"]["n"]]
                if not behind
                else self.gateway.start_call(name, {"n": 9}, timeout_ms=60_000)
            )
            request = large if not behind else device.next_call(name)
            head, output = {"type": "tool_result", "id": request["id"]}, {
                "output": "x" * (20 << 20)
            }
            watch = Stopwatch()
            device.socket.send_text(
                json.dumps({**output, **head} if behind else {**head, **output})
            )
            reply = call.result(10)
            device.acknowledged(request["id"])
            self.assertEqual(
                (reply.status, reply.code, reply.error["retryable"]), ("error", "OVERSIZE", False)
            )
            self.assertIn("larger than the 16777216 bytes", reply.error["message"])
            self.assertLess(watch.seconds, 8)
        self.assertLess(self.gateway.growth_since(before), 16 << 20, "nothing of it is kept")
        device.answer(other, "small")
        self.assertEqual(calls[other["args"]["n"]].result(10).result, {"text": "small"})
        self.assert_alive(device)

    def test_a_result_of_12_mib_passes(self) -> None:
        device, name, call, request = self.called(timeout_ms=60_000)
        device.answer(request, "x" * (12 << 20))
        self.assertEqual(len(call.result(20).result["text"]), 12 << 20)
        self.assert_alive(device)

    def test_any_other_frame_of_that_size_ends_the_link(self) -> None:
        device = self.open()
        device.socket.send_text(json.dumps({"type": "message", "content": "x" * (17 << 20)}))
        self.assertEqual(device.socket.wait_closed(10).code, 1009)


class CallLimitsTest(CallCase):
    CONFIG = {"limits": {"calls_per_connection": 2, "result_bytes": 300_000}}

    def test_more_calls_than_one_connection_carries_are_rate_limited_unsent(self) -> None:
        name = self.unique("tool")
        device = self.device_with(name)
        calls = [self.gateway.start_call(name, {"n": n}) for n in range(2)]
        requests = [device.next_call(name) for _ in calls]
        reply = self.gateway.call(name, timeout_ms=400)
        self.assertEqual((reply.status, reply.code), ("retryable_error", "RATE_LIMITED"))
        device.assert_silent()
        for request in requests:
            device.answer(request, "ok")
        self.assertEqual([call.result(10).status for call in calls], ["ok", "ok"])

    def test_a_result_at_the_limit_passes_and_one_beyond_it_fails_the_call_only(self) -> None:
        device, name, call, request = self.called()
        device.answer(request, "x" * 290_000)
        self.assertEqual(len(call.result(10).result["text"]), 290_000)
        call = self.gateway.start_call(name)
        device.answer(device.next_call(name), "x" * 310_000)
        self.assertEqual(call.result(10).status, "error")
        self.assert_alive(device)
