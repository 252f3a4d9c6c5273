"""docs/protocols/rtp.md, section 3, on the public listener: calls, repeats, cancel, streams."""

from __future__ import annotations

import json
from typing import Any

from support.case import GatewayCase
from support.device import Device, tool
from support.http import HttpConnection, read_head
from support.rtp import call_request, check_response
from support.wait import eventually


class HttpCallCase(GatewayCase):
    def device_with(self, name: str, **claims: Any) -> Device:
        device = self.open()
        device.register(tool(name, **claims))
        return device

    def bearer(self, caller: str = "tester", **headers: str) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.gateway.caller_token(caller)}", **headers}


class CallTest(HttpCallCase):
    def test_parallel_calls_of_one_tool_are_in_flight_together(self) -> None:
        name = self.unique("tool")
        device = self.device_with(name)
        calls = [self.gateway.start_call(name, {"n": n}) for n in range(32)]
        requests = [device.next_call(name) for _ in calls]
        for request in reversed(requests):
            device.answer(request, str(request["args"]["n"]))
        for number, call in enumerate(calls):
            self.assertEqual(call.result(10).result, {"text": str(number)})

    def test_one_connection_carries_call_after_call(self) -> None:
        name = self.unique("tool")
        self.device_with(name).serve({name: lambda args: args})
        with HttpConnection(self.gateway.public) as connection:
            for number in range(20):
                request = call_request(name, {"n": number})
                body = connection.request("POST", "/v1/tools/call", self.bearer(), request).json()
                check_response(body, request)
                self.assertEqual(body["result"], {"n": number})

    def test_pipelined_requests_are_answered_in_their_order(self) -> None:
        name = self.unique("tool")
        self.device_with(name).serve({name: lambda args: args})
        with HttpConnection(self.gateway.public) as connection:
            requests = [call_request(name, {"n": number}) for number in range(5)]
            for request in requests:
                connection.send("POST", "/v1/tools/call", self.bearer(), request)
            for request in requests:
                check_response(connection.receive().json(), request)

    def test_a_chunked_request_is_taken(self) -> None:
        name = self.unique("tool")
        self.device_with(name).serve({name: lambda args: "ok"})
        body = json.dumps(call_request(name)).encode()
        chunks = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in (body[:7], body[7:]))
        with HttpConnection(self.gateway.public) as connection:
            response = connection.request(
                "POST",
                "/v1/tools/call",
                self.bearer(**{"Transfer-Encoding": "chunked"}),
                chunks + b"0\r\n\r\n",
            )
        self.assertEqual(response.json()["status"], "ok")

    def test_the_admin_socket_calls_without_a_token(self) -> None:
        name = self.unique("tool")
        self.device_with(name).serve({name: lambda args: "ok"})
        request = call_request(name)
        response = self.gateway.admin_request("POST", "/v1/tools/call", request)
        check_response(response.json(), request)
        self.assertEqual(response.json()["result"], {"text": "ok"})

    def test_a_call_with_effects_is_listed_once(self) -> None:
        name = self.unique("effects")
        device = self.open()
        device.register(tool(name))
        device.serve({name: lambda _: {}})
        self.gateway.wait_listed(name)
        self.gateway.call(name)

        def ended() -> list[str]:
            recent = self.gateway.admin_request("GET", "/v1/admin/calls").json()["recent"]
            return [call["status"] for call in recent if call["tool"].endswith(name)]

        eventually(lambda: "ok" in ended(), "the end is recorded")
        self.assertEqual(ended(), ["ok"], "its record from before it ran says less")

    def test_an_unknown_tool_is_200_and_not_found(self) -> None:
        reply = self.gateway.call(self.unique("nobody"))
        self.assertEqual(
            (reply.http.status, reply.status, reply.code), (200, "error", "TOOL_NOT_FOUND")
        )

    def test_a_caller_that_leaves_cancels_nothing_so_that_a_repeat_may_join(self) -> None:
        name = self.unique("tool")
        device = self.device_with(name)
        request = call_request(name)
        connection = HttpConnection(self.gateway.public)
        connection.send("POST", "/v1/tools/call", self.bearer(), request)
        call = device.next_call(name)
        connection.stream.reset()
        repeat = self.gateway.start_call(name, call_id=request["call_id"])
        device.assert_silent()
        device.answer(call, "for whoever is there")
        self.assertEqual(repeat.result(10).result, {"text": "for whoever is there"})
        device.assert_silent()


class RepeatTest(HttpCallCase):
    def test_a_repeat_of_a_finished_call_is_replayed_and_not_sent_again(self) -> None:
        name = self.unique("tool")
        device = self.device_with(name)
        request = call_request(name, {"a": 1})
        call = self.gateway.start_call(name, {"a": 1}, call_id=request["call_id"])
        device.answer(device.next_call(name), "once")
        first = call.result(10)
        self.assertNotIn("crab-replayed", first.http.headers)
        repeat = self.gateway.send_call(request)
        self.assertEqual(repeat.http.headers["crab-replayed"], "true")
        self.assertEqual(repeat.body, first.body)
        self.assertEqual(
            self.gateway.send_call({**request, "args": json.loads('{ "a" : 1 }')}).http.headers[
                "crab-replayed"
            ],
            "true",
        )
        device.assert_silent()

    def test_a_failure_of_the_tool_is_replayed_too(self) -> None:
        name = self.unique("tool")
        device = self.device_with(name)
        call = self.gateway.start_call(name, call_id="failing-" + name)
        device.fail(device.next_call(name), "it is broken")
        first = call.result(10)
        repeat = self.gateway.call(name, call_id="failing-" + name)
        self.assertEqual((repeat.http.headers["crab-replayed"], repeat.body), ("true", first.body))

    def test_a_repeat_of_a_running_call_joins_it(self) -> None:
        name = self.unique("tool")
        device = self.device_with(name)
        calls = [self.gateway.start_call(name, call_id="joined-" + name) for _ in range(3)]
        request = device.next_call(name)
        device.assert_silent()
        device.answer(request, "for all")
        self.assertEqual([call.result(10).result for call in calls], [{"text": "for all"}] * 3)
        device.assert_silent()

    def test_an_idempotency_key_counts_instead_of_the_call_id(self) -> None:
        name = self.unique("tool")
        device = self.device_with(name)
        call = self.gateway.start_call(name, idempotency_key="key-" + name)
        device.answer(device.next_call(name), "once")
        call.result(10)
        repeat = self.gateway.call(name, idempotency_key="key-" + name, call_id="another")
        self.assertEqual(
            (repeat.body["call_id"], repeat.http.headers["crab-replayed"], repeat.result),
            ("another", "true", {"text": "once"}),
        )
        device.assert_silent()

    def test_the_same_key_with_other_content_is_a_conflict(self) -> None:
        name, other = self.unique("tool"), self.unique("tool")
        device = self.open()
        device.register(tool(name), tool(other))
        key = "key-" + name
        call = self.gateway.start_call(name, {"a": 1}, idempotency_key=key)
        device.answer(device.next_call(name), "once")
        call.result(10)
        for tool_name, args, members in (
            (name, {"a": 2}, {}),
            (other, {"a": 1}, {}),
            (name, {"a": 1}, {"context": {"agent_id": "another", "session_id": "tests"}}),
        ):
            with self.subTest(tool_name=tool_name, args=args):
                reply = self.gateway.call(tool_name, args, idempotency_key=key, **members)
                self.assertEqual((reply.status, reply.code), ("error", "CONFLICT"))
        device.assert_silent()

    def test_keys_of_another_caller_or_tenant_are_other_keys(self) -> None:
        name, both = self.unique("tool"), ["default", "another"]
        device = self.open(self.gateway.pair(self.unique("device"), tenants=both))
        device.register(tool(name))
        token = self.gateway.pair(self.unique("caller"), ("caller",), tenants=both)
        for members in (
            {"token": token},
            {"caller": "another"},
            {"token": token, "tenant_id": "another"},
        ):
            call = self.gateway.start_call(name, call_id="shared-" + name, **members)
            device.answer(device.next_call(name), "own")
            self.assertNotIn("crab-replayed", call.result(10).http.headers)

    def test_a_call_that_was_never_sent_runs_when_it_is_repeated(self) -> None:
        name = self.unique("tool")
        self.assertEqual(self.gateway.call(name, call_id="early-" + name).code, "TOOL_NOT_FOUND")
        device = self.device_with(name)
        call = self.gateway.start_call(name, call_id="early-" + name)
        device.answer(device.next_call(name), "now")
        self.assertEqual(call.result(10).result, {"text": "now"})


class CancelTest(HttpCallCase):
    def test_a_cancel_ends_the_call(self) -> None:
        name = self.unique("tool")
        device = self.device_with(name)
        call = self.gateway.start_call(name, call_id="cancel-" + name)
        device.next_call(name)
        for reason in ("caller_gone",):
            answer = self.gateway.cancel("cancel-" + name, reason=reason)
            self.assertEqual(
                (answer.status, answer.json()),
                (200, {"version": "v1", "call_id": "cancel-" + name, "status": "cancelling"}),
            )
        reply = call.result(10)
        self.assertEqual(
            (reply.status, reply.code, reply.error["retryable"]), ("error", "CANCELLED", False)
        )

    def test_a_cancel_reaches_only_calls_of_the_same_caller_and_tenant(self) -> None:
        name = self.unique("tool")
        device = self.device_with(name)
        call = self.gateway.start_call(name, call_id="mine-" + name)
        request = device.next_call(name)
        self.assertEqual(
            self.gateway.cancel("mine-" + name, caller="another").json()["status"], "not_found"
        )
        self.assertEqual(
            self.gateway.cancel("mine-" + name, tenant_id="another").json()["status"], "not_found"
        )
        device.answer(request, "untouched")
        self.assertEqual(call.result(10).result, {"text": "untouched"})

    def test_an_unknown_call_is_not_found_and_a_finished_one_is_said_to_be(self) -> None:
        self.assertEqual(self.gateway.cancel("no-such-call").json()["status"], "not_found")
        name = self.unique("tool")
        self.device_with(name).serve({name: lambda args: "ok"})
        self.gateway.call(name, call_id="done-" + name)
        self.assertEqual(self.gateway.cancel("done-" + name).json()["status"], "finished")

    def test_a_cancel_that_comes_first_is_remembered(self) -> None:
        name = self.unique("tool")
        device = self.device_with(name)
        self.gateway.cancel("early-" + name)
        self.assertEqual(self.gateway.call(name, call_id="early-" + name).code, "CANCELLED")
        device.assert_silent()

    def test_a_broken_cancel_is_400(self) -> None:
        good = {"version": "v1", "tenant_id": "default", "call_id": "x"}
        for body in (
            {},
            {**good, "version": "v2"},
            {**good, "call_id": 5},
            {**good, "reason": "mood"},
            {**good, "extra": 1},
            [],
            b"{",
            {"version": "v1", "tenant_id": "default"},
            {"version": "v1", "call_id": "x"},
        ):
            with self.subTest(body=body):
                response = self.gateway.fetch(
                    "POST", "/v1/tools/cancel", self.gateway.caller_token(), body=body
                )
                self.assertEqual(response.status, 400)
                self.assertEqual(response.json()["code"], "INVALID_ARGS")


class StreamTest(HttpCallCase):
    def events(
        self, name: str, accept: str = "text/event-stream", **members: Any
    ) -> list[tuple[str, str]]:
        request = call_request(name, **members)
        with HttpConnection(self.gateway.public) as connection:
            connection.send("POST", "/v1/tools/call", self.bearer(Accept=accept), request)
            head = read_head(connection.stream)
            self.assertEqual(head.status, 200)
            events = list(connection.events(head))
        check_response(json.loads(events[-1][1]), request)
        return events

    def test_the_last_event_is_the_result_with_the_response_object(self) -> None:
        name = self.unique("tool")
        self.device_with(name).serve({name: lambda args: "line one\nline two\r\n— ü"})
        for accept in ("text/event-stream", "application/json;q=0.1, text/event-stream"):
            events = self.events(name, accept)
            self.assertEqual([kind for kind, _ in events], ["result"])
            self.assertEqual(
                json.loads(events[0][1])["result"], {"text": "line one\nline two\r\n— ü"}
            )

    def test_failures_are_results_too(self) -> None:
        kind, data = self.events(self.unique("nobody"))[-1]
        self.assertEqual((kind, json.loads(data)["error"]["code"]), ("result", "TOOL_NOT_FOUND"))

    def test_a_broken_request_is_answered_without_a_stream(self) -> None:
        response = self.gateway.fetch(
            "POST", "/v1/tools/call", headers=self.bearer(Accept="text/event-stream"), body=b"{"
        )
        self.assertEqual(response.status, 400)
        check_response(response.json())


class JoinedStreamTest(HttpCallCase):
    def stream(self, request: dict[str, Any]) -> HttpConnection:
        """A call whose caller wants events, begun."""
        connection = HttpConnection(self.gateway.public)
        connection.send("POST", "/v1/tools/call", self.bearer(Accept="text/event-stream"), request)
        self.addCleanup(connection.stream.close)
        return connection

    def both_wait(self, call_id: str) -> None:
        def waiting() -> bool:
            running = self.gateway.admin_request("GET", "/v1/admin/calls").json()["running"]
            return [call["call_id"] for call in running].count(call_id) == 2

        eventually(waiting, "both wait")

    def begun(self) -> tuple[Device, dict[str, Any], dict[str, Any], HttpConnection]:
        """A device that has been asked, the call, what the device saw of it, and the stream of its
        caller."""
        name = self.unique("tool")
        device = self.open(capabilities=("tool_call_cancel",))
        device.register(tool(name))
        request = call_request(name, call_id=self.unique("id"))
        first = self.stream(request)
        return device, request, device.next_call(name), first

    def test_a_stream_that_others_have_joined_outlives_the_caller_who_began_it(self) -> None:
        device, request, asked, first = self.begun()
        joined = self.gateway.start_call(request["tool_name"], call_id=request["call_id"])
        self.both_wait(request["call_id"])
        first.stream.close()
        self.assert_alive(device)  # it was told nothing
        device.answer(asked, "for the other")
        self.assertEqual(joined.result(10).result, {"text": "for the other"})

    def test_a_stream_ends_with_the_last_caller_who_waits_for_it(self) -> None:
        for order in ((0, 1), (1, 0)):
            device, request, _, first = self.begun()
            streams = (first, self.stream(request))
            self.both_wait(request["call_id"])
            streams[order[0]].stream.close()
            self.assert_alive(device)
            streams[order[1]].stream.close()
            device.expect("tool_call_cancel")
            self.assertEqual(
                self.gateway.call(request["tool_name"], call_id=request["call_id"]).code,
                "OUTCOME_UNKNOWN",
            )

    def test_a_stream_nobody_has_joined_ends_with_its_caller(self) -> None:
        device, request, _, first = self.begun()
        first.stream.close()
        device.expect("tool_call_cancel")
        self.assertEqual(
            self.gateway.call(request["tool_name"], call_id=request["call_id"]).code,
            "OUTCOME_UNKNOWN",
        )
