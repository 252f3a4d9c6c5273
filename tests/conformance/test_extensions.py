"""docs/protocols/clawseed.md, section 9: extensions (checklist 59-62)."""

from __future__ import annotations

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from support.case import GatewayCase
from support.device import ALL_CAPABILITIES, Device, tool
from support.http import HttpConnection, read_head
from support.rtp import call_request, check_response


class ReplaceTest(GatewayCase):
    def test_clawseed_59_replace_drops_other_names_in_one_step(self) -> None:
        a, b, c = (self.unique(name) for name in "abc")
        device = self.open()
        device.register(tool(a), tool(b))
        answer = device.register(tool(b, description="new"), tool(c), replace=True)
        self.assertEqual((answer["count"], answer["registered"]), (2, 2))
        self.assertEqual(device.registered_names(), [b, c])
        self.assertNotIn(a, self.gateway.tools())
        self.assertLessEqual({b, c}, self.gateway.tools().keys())

    def test_clawseed_59_nobody_sees_a_list_that_is_half_replaced(self) -> None:
        a, b, c = (self.unique(name) for name in "abc")
        stays = [
            tool(b, {"type": "object", "required": ["n"]}),
            *(tool(self.unique("more")) for _ in range(200)),
        ]  # many, so that it takes its time
        device = self.open()
        device.register(tool(a), *stays)
        over, listed, codes = threading.Event(), set(), set()
        credential = {"Authorization": f"Bearer {self.gateway.caller_token()}"}

        def look() -> None:
            with HttpConnection(self.gateway.public) as connection:
                while not over.is_set():
                    tools = connection.request("GET", "/v1/tools", credential).json()["tools"]
                    listed.add(frozenset({a, b, c} & {each["name"] for each in tools}))

        def call() -> None:
            with HttpConnection(self.gateway.public) as connection:
                while not over.is_set():
                    codes.add(
                        connection.request(
                            "POST", "/v1/tools/call", credential, call_request(b)
                        ).json()["error"]["code"]
                    )

        with ThreadPoolExecutor(5) as pool:
            lookers = [pool.submit(look), *(pool.submit(call) for _ in range(4))]
            for number in range(200):
                device.register(*stays, tool(a if number % 2 else c), replace=True)
            over.set()
            for each in lookers:
                each.result(10)
        self.assertEqual(listed, {frozenset({a, b}), frozenset({b, c})})
        self.assertEqual(codes, {"INVALID_ARGS"}, "it was there for every caller")

    def test_clawseed_59_replace_with_an_empty_list_drops_all(self) -> None:
        a, b = self.unique("a"), self.unique("b")
        token = self.new_token()
        device, other = self.open(token), self.open(token)
        device.register(tool(a), tool(b))
        other.register(tool(b))
        self.assertEqual(device.register(replace=True)["registered"], 0)
        self.assertEqual(
            (device.registered_names(), other.registered_names()),
            ([], [b]),
            "another connection keeps its own",
        )
        self.assertEqual({a, b} & self.gateway.tools().keys(), {b})

    def test_clawseed_59_replace_needs_a_list(self) -> None:
        device = self.open()
        device.register(tool("a"))
        device.send("register_tools", replace=True)
        device.fence()
        self.assertEqual(device.registered_names(), ["a"])

    def test_clawseed_59_replace_that_is_not_true_merges(self) -> None:
        device = self.open()
        device.register(tool("a"))
        for value in (False, None, "true", 1):
            device.register(tool("b"), replace=value)
        self.assertEqual(device.registered_names(), ["a", "b"])

    def test_clawseed_59_unregister_removes_known_names_and_counts_what_it_got(self) -> None:
        a, b = self.unique("a"), self.unique("b")
        device = self.open()
        device.register(tool(a), tool(b))
        device.send("unregister_tools", names=[a, "unknown", 5])
        answer = device.expect("tools_registered")
        self.assertEqual((answer["count"], answer["registered"]), (3, 1))
        self.assertEqual(
            (device.registered_names(), {a, b} & self.gateway.tools().keys()), ([b], {b})
        )
        self.assertEqual(self.gateway.call(a).code, "TOOL_NOT_FOUND")

    def test_clawseed_59_calls_that_are_out_finish(self) -> None:
        for gone in (
            lambda device, _: device.register(replace=True),
            lambda device, _: device.register(tool("other"), replace=True),
            self.unregister,
        ):
            name = self.unique("tool")
            device = self.open()
            device.register(tool(name))
            call = self.gateway.start_call(name)
            request = device.next_call(name)
            gone(device, name)
            self.gateway.wait_gone(name)
            device.answer(request, "done all the same")
            self.assertEqual(call.result(10).result, {"text": "done all the same"})

    @staticmethod
    def unregister(device: Device, name: str) -> None:
        device.send("unregister_tools", names=[name])
        device.expect("tools_registered")


class CapabilitiesTest(GatewayCase):
    def test_clawseed_60_a_client_without_capabilities_sees_none(self) -> None:
        name = self.unique("tool")
        device = self.open()  # every frame that comes is checked against section 2
        self.assertEqual(device.connected.keys(), {"type", "v", "message"})
        self.assertEqual(
            device.register(tool(name), {"name": "broken"}).keys(), {"type", "count", "registered"}
        )
        call = self.gateway.start_call(name, timeout_ms=150)
        self.assertEqual(device.next_call(name).keys(), {"type", "id", "name", "args"})
        self.assertEqual(call.result(10).status, "timeout")
        device.assert_silent()

    def test_clawseed_60_only_what_was_listed_is_used(self) -> None:
        name = self.unique("tool")
        device = self.open(capabilities=("tool_call_cancel",))
        self.assertEqual(
            device.register(tool(name), {"name": "broken"}).keys(), {"type", "count", "registered"}
        )
        self.gateway.start_call(name)
        self.assertEqual(device.next_call(name).keys(), {"type", "id", "name", "args"})

    def test_connected_tells_the_limits_to_a_client_that_lists_capabilities(self) -> None:
        device = self.open(capabilities=(*ALL_CAPABILITIES, "from_the_future"))
        self.assertEqual(
            (device.connected["max_message_bytes"], device.connected["grace_ms"]),
            (16 << 20, 15_000),
        )
        self.assertLessEqual(set(ALL_CAPABILITIES), set(device.connected["capabilities"]))

    def test_rejected_elements_are_named_with_index_code_and_reason(self) -> None:
        device = self.open(capabilities=("tools_registered.rejected",))
        self.assertNotIn("rejected", device.register(tool("good")))
        rejected = device.register(tool("good"), tool("a b"), {"name": "half"}, 5)["rejected"]
        self.assertEqual([element["index"] for element in rejected], [1, 2, 3])
        for element in rejected:
            self.assertEqual(element["code"], "INVALID_ARGS")
            self.assertTrue(element["message"])
        self.assertEqual([element.get("name") for element in rejected[:2]], ["a b", "half"])


class CallerTest(GatewayCase):
    def test_a_request_names_its_caller_to_a_device_that_asks_for_it(self) -> None:
        for capabilities, told in (
            (("tool_call_request.caller",), {"principal": "caller/ci", "agent": "planner"}),
            ((), None),
        ):
            name = self.unique("tool")
            device = self.open(capabilities=capabilities)
            device.register(tool(name))
            call = self.gateway.start_call(
                name, caller="ci", context={"agent_id": "planner", "session_id": "s"}
            )
            request = device.next_call(name)
            self.assertEqual(request.get("caller"), told)
            device.answer(request, "ok")
            call.result(10)


class CancelTest(GatewayCase):
    def called(self, **members: Any) -> tuple[Device, Any, dict[str, Any]]:
        name = self.unique("tool")
        device = self.open(capabilities=("tool_call_cancel", "tool_call_request.deadline_ms"))
        device.register(tool(name))
        call = self.gateway.start_call(name, **members)
        return device, call, device.next_call(name)

    def test_clawseed_61_the_deadline_is_told_and_never_exceeds_the_time_left(self) -> None:
        for timeout_ms in (300, 5000):
            device, call, request = self.called(timeout_ms=timeout_ms)
            self.assertLessEqual(request["deadline_ms"], timeout_ms)
            self.assertGreater(request["deadline_ms"], timeout_ms - 250)
            device.answer(request, "ok")
            call.result(10)

    def test_clawseed_61_a_timeout_is_told(self) -> None:
        device, call, request = self.called(timeout_ms=200)
        cancel = device.expect("tool_call_cancel")
        self.assertEqual((cancel["id"], cancel["reason"]), (request["id"], "timeout"))
        self.assertEqual(call.result(10).status, "timeout")

    def test_clawseed_61_a_cancel_is_told_and_ends_the_call(self) -> None:
        device, call, request = self.called(call_id="cancel-me")
        answer = self.gateway.cancel("cancel-me").json()
        self.assertEqual(answer, {"version": "v1", "call_id": "cancel-me", "status": "cancelling"})
        cancel = device.expect("tool_call_cancel")
        self.assertEqual((cancel["id"], cancel["reason"]), (request["id"], "cancelled"))
        self.assertEqual(call.result(10).code, "CANCELLED")
        device.answer(request, "late")

    def test_a_finished_call_is_not_cancelled(self) -> None:
        device, call, request = self.called(timeout_ms=300)
        device.answer(request, "ok")
        call.result(10)
        device.assert_silent()


class ProgressTest(GatewayCase):
    def test_clawseed_62_progress_reaches_a_caller_that_asked(self) -> None:
        name = self.unique("tool")
        device = self.open(capabilities=("tool_call_progress",))
        device.register(tool(name))
        request = call_request(name)
        with HttpConnection(self.gateway.public) as connection:
            connection.send(
                "POST",
                "/v1/tools/call",
                {
                    "Authorization": f"Bearer {self.gateway.caller_token()}",
                    "Accept": "text/event-stream",
                },
                request,
            )
            call = device.next_call(name)
            device.send(
                "tool_call_progress", id=call["id"], message="warming up", progress=2, total=5
            )
            events = connection.events(read_head(connection.stream))
            kind, data = next(events)
            self.assertEqual(
                (kind, json.loads(data)),
                ("progress", {"message": "warming up", "progress": 2, "total": 5}),
            )
            device.answer(call, "ok")
            rest = list(events)
        self.assertEqual([kind for kind, _ in rest], ["result"])
        check_response(json.loads(rest[0][1]), request)

    def test_clawseed_62_progress_moves_no_deadline(self) -> None:
        name = self.unique("tool")
        device = self.open(capabilities=("tool_call_progress",))
        device.register(tool(name))
        call = self.gateway.start_call(name, timeout_ms=400)
        request = device.next_call(name)
        while not call.done():
            device.send("tool_call_progress", id=request["id"], message="still at it")
            device.assert_silent()
        reply = call.result(10)
        self.assertEqual(reply.status, "timeout")
        self.assertLess(reply.seconds, 1.4)

    def test_progress_of_no_call_and_of_broken_fields_is_ignored(self) -> None:
        device = self.open(capabilities=("tool_call_progress",))
        for fields in (
            {},
            {"id": 5},
            {"id": "unknown"},
            {"id": "unknown", "progress": "two", "message": 5},
        ):
            device.send("tool_call_progress", **fields)
        device.assert_silent()


class AcceptedTest(GatewayCase):
    def called(self) -> tuple[Device, dict[str, Any]]:
        name = self.unique("tool")
        device = self.open(capabilities=("tool_call_accepted",))
        device.register(tool(name))
        self.gateway.start_call(name)
        return device, device.next_call(name)

    def test_clawseed_62_a_missing_accept_leads_to_a_ping(self) -> None:
        device, _ = self.called()
        device.socket.wait_ping(timeout=6)  # after 3 s; silence alone would take 20 s
        self.assert_alive(device)

    def test_an_accepted_call_is_not_asked_about(self) -> None:
        device, request = self.called()
        device.send("tool_call_accepted", id=request["id"])
        with self.assertRaises(TimeoutError):
            device.receive(timeout=4)
        self.assertEqual(device.socket.pings, [])
