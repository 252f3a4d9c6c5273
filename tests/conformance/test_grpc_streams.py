"""docs/protocols/sw4rm.md on the gRPC listener: streams, cancels, repeats, health, the end.
`test_sw4rm_NN_...` as in test_grpc."""

from __future__ import annotations

import contextlib
import json
import signal
from typing import Any

import grpc
from support.approver import Approver
from support.device import Device, tool
from support.gateway import Gateway
from support.grpc_provider import GrpcProvider, descriptor, refuse
from support.tool_service import ToolServiceClient, summary_of, tool_call, trailers_of
from support.wait import Stopwatch, eventually
from test_grpc import GrpcCase, Status

_SERVING, _NOT_SERVING = 1, 2
_SERVICES = ("", "sw4rm.tool.ToolService", "sw4rm.connector.ConnectorService")
_QUEUE = 256  # calls that wait for one tool


def health(client: ToolServiceClient, service: str = "") -> int:
    """The status by grpc.health.v1, written by hand: one text in, one number out."""
    send = client.channel.unary_unary(
        "/grpc.health.v1.Health/Check",
        request_serializer=lambda name: b"\x0a" + bytes([len(name)]) + name.encode()
        if name
        else b"",
        response_deserializer=lambda data: data[1],
    )
    return send(service, timeout=10)


class StreamTest(GrpcCase):
    def test_sw4rm_14_frames_count_up_and_the_last_one_alone_is_final(self) -> None:
        client, name = self.client(), self.unique("big")
        text = "0123456789abcdef" * 50_000  # 800 kB: four frames and the final one
        self.device_with(name).serve({name: lambda args: text})
        frames = list(client.call_stream(tool_call(name, call_id=self.unique("id"))))
        self.assertEqual([frame.frame_no for frame in frames], list(range(1, len(frames) + 1)))
        self.assertEqual([frame.final for frame in frames], [False] * (len(frames) - 1) + [True])
        self.assertEqual(b"".join(frame.data for frame in frames), text.encode())
        self.assertTrue(
            all(
                len(frame.data) <= 256 * 1024 and frame.content_type == "text/plain"
                for frame in frames
            )
        )
        self.assertTrue(all(not frame.summary for frame in frames[:-1]))
        self.assertEqual(
            (summary_of(frames[-1])["frames"], summary_of(frames[-1])["bytes"]),
            (len(frames), len(text)),
        )

    def test_sw4rm_13_what_one_frame_cannot_hold_arrives_whole_by_stream(self) -> None:
        client, name = self.client(), self.unique("huge")
        text = "x" * (4 * 1024 * 1024 + 1)
        self.device_with(name).serve({name: lambda args: text})
        error = self.refused(
            Status.RESOURCE_EXHAUSTED, "OVERSIZE_PAYLOAD", lambda: client.call(tool_call(name))
        )
        self.assertIn("CallStream", error.details())
        self.assertEqual(
            sum(len(frame.data) for frame in client.call_stream(tool_call(name))), len(text)
        )

    def test_sw4rm_15_no_output_is_one_empty_final_frame(self) -> None:
        client, name = self.client(), self.unique("silent")
        self.device_with(name).serve({name: lambda args: ""})
        frames = list(client.call_stream(tool_call(name)))
        self.assertEqual(
            [(frame.frame_no, frame.final, frame.data) for frame in frames], [(1, True, b"")]
        )

    def test_sw4rm_16_the_rpc_decides_about_streaming(self) -> None:
        client, name = self.client(), self.echo()
        self.assertTrue(client.call(tool_call(name, stream=True)).final)
        self.assertTrue(list(client.call_stream(tool_call(name, stream=False)))[-1].final)

    def test_sw4rm_17_a_caller_that_leaves_cancels_its_call(self) -> None:
        client, name = self.client(), self.unique("slow")
        device = self.open(capabilities=("tool_call_cancel",))
        device.register(tool(name))
        for leave in ("cancel", "close"):
            stream = client.call_stream(tool_call(name))
            request = device.next_call(name)
            stream.cancel() if leave == "cancel" else client.close()
            self.assertEqual(device.expect("tool_call_cancel")["id"], request["id"])

    def test_sw4rm_18_a_reader_that_does_not_read_costs_bounded_memory(self) -> None:
        name = self.unique("big")
        text = "x" * (4 * 1024 * 1024)
        self.device_with(name).serve({name: lambda args: text})
        client = self.client(
            options=(("grpc.http2.lookahead_bytes", 65_536), ("grpc.http2.bdp_probe", 0))
        )
        stream = client.call_stream(tool_call(name))
        next(stream)
        self.assertTrue(
            self.client().call(tool_call("list_devices")).final
        )  # others are served meanwhile
        self.assertEqual(sum(len(frame.data) for frame in stream), len(text) - 256 * 1024)


class AuditTest(GrpcCase):
    def record(self, call_id: str) -> dict[str, object]:
        """The audit record of a call that has ended."""
        found: dict[str, object] = {}

        def ended() -> bool:
            answer = self.gateway.admin_request("GET", f"/v1/admin/calls/{call_id}")
            found.update(answer.json() if answer.status == 200 else {})
            return "duration_us" in found

        eventually(ended, f"the record of {call_id} is there")
        return found

    def test_sw4rm_58_frames_and_bytes_of_a_stream_are_in_its_record(self) -> None:
        client, name, call_id = self.client(), self.unique("big"), self.unique("id")
        self.device_with(name).serve({name: lambda args: "x" * 600_000})
        frames = list(client.call_stream(tool_call(name, call_id=call_id)))
        record = self.record(call_id)
        self.assertEqual((record["frames"], record["stream_bytes"]), (len(frames), 600_000))

    def test_sw4rm_58_so_are_those_of_a_stream_that_is_empty_failed_or_cancelled(self) -> None:
        client, name = self.client(), self.unique("tool")
        device = self.device_with(name)
        # The frame that only says that a call was cancelled does not count.
        endings = (
            (1, lambda request, _: device.answer(request, "")),
            (0, lambda request, _: device.fail(request, "no such note")),
            (0, lambda _, call_id: client.cancel(call_id)),
        )
        for frames, end in endings:
            call_id = self.unique("id")
            stream = client.call_stream(tool_call(name, call_id=call_id))
            end(device.next_call(name), call_id)
            with contextlib.suppress(grpc.RpcError):
                self.assertEqual([frame.data for frame in stream], [b""])
            record = self.record(call_id)
            self.assertEqual((record["frames"], record["stream_bytes"]), (frames, 0))

    def test_who_cancelled_a_call_is_in_its_record(self) -> None:
        client, name, call_id = self.client(), self.unique("slow"), self.unique("id")
        device = self.device_with(name)
        stream = client.call_stream(tool_call(name, call_id=call_id))
        device.next_call(name)
        client.cancel(call_id)
        list(stream)
        self.assertEqual(
            (self.record(call_id)["status"], self.record(call_id)["cancelled_by"]),
            ("cancelled", "caller/tester"),
        )

    def test_the_callers_own_deadline_is_told_as_such(self) -> None:
        name, call_id = self.unique("slow"), self.unique("id")
        device = self.device_with(name)
        with self.assertRaises(grpc.RpcError):
            self.client().call(tool_call(name, call_id=call_id), timeout=0.3)
        device.next_call(name)
        self.assertEqual(self.record(call_id)["cause"], "CLIENT_DEADLINE")


class CancelTest(GrpcCase):
    def test_sw4rm_51_a_cancelled_stream_ends_with_a_partial_result_and_ok(self) -> None:
        client, name, call_id = self.client(), self.unique("slow"), self.unique("id")
        device = self.device_with(name)
        stream = client.call_stream(tool_call(name, call_id=call_id))
        device.next_call(name)
        answer = client.cancel(call_id)
        self.assertEqual((answer.call_id, answer.error_code), (call_id, "CANCELLED"))
        frames = list(stream)  # no error: the status is OK
        summary = summary_of(frames[-1])
        self.assertEqual(
            (frames[-1].final, summary["status"], summary["partial_result"]),
            (True, "cancelled", True),
        )

    def test_sw4rm_55_an_operators_cancel_ends_a_stream_with_cancelled(self) -> None:
        client, name, call_id = self.client(), self.unique("slow"), self.unique("id")
        device = self.device_with(name)
        stream = client.call_stream(tool_call(name, call_id=call_id))
        device.next_call(name)
        self.gateway.crab("calls", "cancel", call_id)
        self.assertEqual(summary_of(next(stream))["partial_result"], True)
        self.refused(Status.CANCELLED, "CANCELLED", lambda: next(stream))

    def test_sw4rm_52_unknown_and_finished_ids_are_told_apart(self) -> None:
        client, name = self.client(), self.echo()
        request = tool_call(name, call_id=self.unique("id"))
        client.call(request)
        answer = client.cancel(request.call_id)
        self.assertEqual(
            (answer.call_id, answer.error_code), (request.call_id, "ALREADY_COMPLETED")
        )
        unknown = self.unique("id")
        answer = client.cancel(unknown)
        self.assertEqual((answer.call_id, answer.error_code), (unknown, "NOT_FOUND"))
        self.assertTrue(
            client.call(tool_call(name, call_id=unknown)).final
        )  # too early changes nothing either

    def test_sw4rm_53_only_the_id_counts_and_it_may_not_be_empty(self) -> None:
        client = self.client()
        self.assertEqual(
            client.cancel(tool_call("", {}, call_id="no-such")).error_code, "NOT_FOUND"
        )
        self.refused(Status.INVALID_ARGUMENT, "VALIDATION_ERROR", lambda: client.cancel(""))

    def test_sw4rm_55_another_principals_cancel_finds_nothing(self) -> None:
        name, call_id = self.unique("slow"), self.unique("id")
        device = self.device_with(name)
        call = self.client().start(tool_call(name, call_id=call_id))
        request = device.next_call(name)
        self.assertEqual(self.client("other").cancel(call_id).error_code, "NOT_FOUND")
        device.answer(request, "done")
        self.assertEqual(call.result(10).data, b"done")


class CancelAnywhereTest(GrpcCase):
    """Wherever a unary call is, a Cancel ends it at once; `narrow*` runs one at a time, `asked*`
    waits for a person, `lab` fails and is tried again."""

    @classmethod
    def setUpClass(cls) -> None:
        cls.provider = GrpcProvider([descriptor("flaky", idempotent=True)])
        cls.provider.call = lambda _, context: refuse(
            context,
            Status.UNAVAILABLE,
            "AGENT_UNAVAILABLE: later",
            retry_able="true",
            retry_after_ms="8000",
        )
        cls.addClassCleanup(cls.provider.stop)
        cls.CONFIG = {
            **GrpcCase.CONFIG,
            "tools": [{"match": "narrow*", "max_concurrency": 1}],
            "policy": [{"principal": "*", "call": {"needs_approval": ["asked*"]}}],
            "providers": [
                {
                    "id": "lab",
                    "kind": "grpc",
                    "address": cls.provider.address,
                    "ceilings": {"max_retries": 5},
                }
            ],
        }
        super().setUpClass()
        cls.gateway.wait_listed("flaky")

    def start(self, name: str) -> tuple[Any, str]:
        call_id = self.unique("id")
        return self.client().start(tool_call(name, call_id=call_id), timeout=20), call_id

    def cancel(self, call: Any, call_id: str) -> None:
        """Ends it with CANCELLED, at once; a second Cancel finds nothing to do."""
        watch = Stopwatch()
        answer = self.client().cancel(call_id)
        self.assertEqual((answer.call_id, answer.error_code), (call_id, "CANCELLED"))
        error = self.refused(Status.CANCELLED, "CANCELLED", lambda: call.result(10))
        self.assertEqual(trailers_of(error)["resource-id"], call_id)
        self.assertLess(watch.seconds, 2)
        self.assertIn(self.client().cancel(call_id).error_code, ("NOT_FOUND", "ALREADY_COMPLETED"))

    def waits(self, call_id: str) -> bool:
        return any(
            call["call_id"] == call_id
            for call in self.gateway.admin_request("GET", "/v1/admin/calls").json()["running"]
        )

    def test_sw4rm_54_a_running_call(self) -> None:
        name = self.unique("slow")
        device = self.open(capabilities=("tool_call_cancel",))
        device.register(tool(name))
        call, call_id = self.start(name)
        request = device.next_call(name)
        self.cancel(call, call_id)
        self.assertEqual(device.expect("tool_call_cancel")["id"], request["id"])
        device.answer(request, "too late")
        self.refused(
            Status.CANCELLED,
            "CANCELLED",
            lambda: self.client().call(tool_call(name, call_id=call_id)),
        )
        self.assert_alive(device)  # and was not asked again

    def test_sw4rm_54_a_queued_call_never_runs_and_the_others_do(self) -> None:
        name = self.unique("narrow")
        device = self.device_with(name)
        first, _ = self.start(name)
        request = device.next_call(name)
        second, second_id = self.start(name)
        eventually(lambda: self.waits(second_id), "the second waits")
        third, third_id = self.start(name)
        eventually(lambda: self.waits(third_id), "the third waits")
        self.cancel(second, second_id)
        self.assert_alive(device)
        device.answer(request, "first")
        device.answer(device.next_call(name), "third")
        self.assertEqual((first.result(10).data, third.result(10).data), (b"first", b"third"))
        self.assert_alive(device)

    def test_sw4rm_54_a_call_that_waits_for_an_approval(self) -> None:
        name = self.unique("asked")
        device = self.device_with(name)
        with Approver(self.gateway) as approver:
            call, call_id = self.start(name)
            question = approver.question()
            self.cancel(call, call_id)
            self.assertEqual((approver.end()["state"], question["call_id"]), ("cancelled", call_id))
        self.assert_alive(device)

    def test_sw4rm_54_a_call_that_waits_to_be_tried_again(self) -> None:
        sent = len(self.provider.calls_of("flaky"))
        call, call_id = self.start("flaky")
        eventually(lambda: len(self.provider.calls_of("flaky")) == sent + 1, "it was tried once")
        self.cancel(call, call_id)
        self.assertEqual(len(self.provider.calls_of("flaky")), sent + 1)

    def test_sw4rm_54_too_late_it_changes_nothing(self) -> None:
        name = self.echo()
        request = tool_call(name, {"n": 1}, call_id=self.unique("id"))
        client = self.client()
        first = client.call(request)
        for _ in range(2):
            self.assertEqual(client.cancel(request.call_id).error_code, "ALREADY_COMPLETED")
        again = client.call(request)
        self.assertEqual(
            (again.data, summary_of(again)["status"], summary_of(again)["replayed"]),
            (first.data, "ok", True),
        )


class RepeatTest(GrpcCase):
    def test_sw4rm_44_a_finished_id_gives_the_stored_outcome(self) -> None:
        client, name = self.client(), self.unique("tool")
        device = self.device_with(name)
        request = tool_call(name, {"a": 1}, call_id=self.unique("id"))
        call = client.start(request)
        device.answer(device.next_call(name), "first")
        self.assertEqual(call.result(10).data, b"first")
        again = client.call(request)
        self.assertEqual((again.data, summary_of(again)["replayed"]), (b"first", True))
        frames = list(client.call_stream(request))
        self.assertEqual(b"".join(frame.data for frame in frames), b"first")
        self.assertTrue(summary_of(frames[-1])["replayed"])
        self.assert_alive(device)

    def test_sw4rm_45_a_repeat_during_the_run_joins_it(self) -> None:
        client, name = self.client(), self.unique("tool")
        device = self.device_with(name)
        request = tool_call(name, call_id=self.unique("id"))
        calls = [client.start(request), client.start(request)]
        device.answer(device.next_call(name), "once")
        self.assertEqual([call.result(10).data for call in calls], [b"once", b"once"])
        self.assert_alive(device)

    def test_sw4rm_45_a_running_stream_cannot_be_joined(self) -> None:
        client, name = self.client(), self.unique("tool")
        device = self.device_with(name)
        request = tool_call(name, call_id=self.unique("id"))
        stream = client.call_stream(request)
        running = device.next_call(name)
        error = self.refused(Status.ABORTED, "ALREADY_IN_PROGRESS", lambda: client.call(request))
        self.assertEqual(trailers_of(error)["retry-able"], "true")
        device.answer(running, "done")
        self.assertEqual(b"".join(frame.data for frame in stream), b"done")

    def test_sw4rm_48_three_attempts_after_a_timeout_run_the_tool_once(self) -> None:
        client, name = self.client(), self.unique("slow")
        device = self.device_with(name)
        request = tool_call(name, call_id=self.unique("id"))
        request.policy.timeout.nanos = 300_000_000
        for _ in range(3):
            self.refused(Status.DEADLINE_EXCEEDED, "TOOL_TIMEOUT", lambda: client.call(request))
        device.next_call(name)
        self.assertEqual(
            [each for each in device.fence() if each["type"] == "tool_call_request"], []
        )

    def test_sw4rm_49_a_repeat_of_a_call_that_its_caller_left_is_of_unknown_outcome(self) -> None:
        client, name = self.client(), self.unique("tool")
        device = self.open(capabilities=("tool_call_cancel",))
        device.register(tool(name))
        request = tool_call(name, call_id=self.unique("id"))
        call = client.start(request)
        device.next_call(name)
        call.cancel()
        device.expect("tool_call_cancel")
        self.refused(Status.UNKNOWN, "OUTCOME_UNKNOWN", lambda: client.call(request))

    def joined(self, first_timeout: float = 20) -> tuple[Any, Any, list[Any], Any]:
        """A call that two RPCs wait for: device, what it was asked, the RPCs, and the request. The
        first has `first_timeout`."""
        client, name = self.client(), self.unique("tool")
        device = self.open(capabilities=("tool_call_cancel",))
        device.register(tool(name))
        request = tool_call(name, call_id=self.unique("id"))
        first = client.start(request, timeout=first_timeout)
        asked = device.next_call(name)
        calls = [first, client.start(request)]
        eventually(
            lambda: [
                call["call_id"]
                for call in self.gateway.admin_request("GET", "/v1/admin/calls").json()["running"]
            ].count(request.call_id)
            == 2,
            "both wait",
        )
        return device, asked, calls, request

    def test_sw4rm_49_a_joined_call_goes_on_when_the_rpc_that_began_it_is_dropped(self) -> None:
        device, asked, calls, _ = self.joined()
        calls[0].cancel()
        self.assert_alive(device)  # it was told nothing
        device.answer(asked, "for the other")
        self.assertEqual(calls[1].result(10).data, b"for the other")

    def test_sw4rm_49_a_joined_call_ends_with_the_last_rpc_that_waits_for_it(self) -> None:
        for order in ((0, 1), (1, 0)):
            device, _, calls, request = self.joined()
            calls[order[0]].cancel()
            self.assert_alive(device)
            calls[order[1]].cancel()
            device.expect("tool_call_cancel")
            self.refused(
                Status.UNKNOWN,
                "OUTCOME_UNKNOWN",
                lambda request=request: self.client().call(request),
            )

    def test_sw4rm_49_each_rpc_has_its_own_deadline(self) -> None:
        device, asked, calls, request = self.joined(first_timeout=2)
        self.assertEqual(calls[0].exception(10).code(), Status.DEADLINE_EXCEEDED)
        self.assert_alive(device)  # it was told nothing
        device.answer(asked, "for the other")
        self.assertEqual(calls[1].result(10).data, b"for the other")
        self.assertTrue(summary_of(self.client().call(request))["replayed"])

    def test_sw4rm_49_a_call_ends_at_its_rpcs_deadline_if_nobody_else_waits(self) -> None:
        client, name = self.client(), self.unique("tool")
        device = self.open(capabilities=("tool_call_cancel",))
        device.register(tool(name))
        request = tool_call(name, call_id=self.unique("id"))
        call = client.start(request, timeout=1)
        device.next_call(name)
        device.expect("tool_call_cancel")
        self.assertEqual(call.exception(10).code(), Status.DEADLINE_EXCEEDED)
        self.refused(Status.UNKNOWN, "OUTCOME_UNKNOWN", lambda: client.call(request))

    def test_sw4rm_46_other_content_under_an_id_is_a_duplicate_other_order_is_a_repeat(
        self,
    ) -> None:
        client, name = self.client(), self.echo()
        request = tool_call(name, b'{"a":1,"b":2}', call_id=self.unique("id"))
        client.call(request)
        again = client.call(
            tool_call(name, b'{ "b" : 2, "a" : 1 }', call_id=request.call_id, stream=True)
        )
        self.assertTrue(summary_of(again)["replayed"])
        error = self.refused(
            Status.ALREADY_EXISTS,
            "DUPLICATE_DETECTED",
            lambda: client.call(tool_call(name, {"a": 2}, call_id=request.call_id)),
        )
        self.assertEqual(trailers_of(error)["resource-id"], request.call_id)

    def test_sw4rm_47_two_principals_may_use_one_id(self) -> None:
        name, call_id = self.echo(), self.unique("id")
        for number, caller in enumerate(("one", "two")):
            frame = self.client(caller).call(tool_call(name, {"n": number}, call_id=call_id))
            self.assertEqual(json.loads(frame.data), {"n": number})


class LimitTest(GrpcCase):
    CONFIG = {
        **GrpcCase.CONFIG,
        "tools": [
            {"match": "narrow*", "max_concurrency": 1},
            {"match": "effect*", "side_effects": True},
        ],
    }

    def test_sw4rm_62_what_neither_runs_nor_waits_is_overloaded(self) -> None:
        client, name = self.client(), self.unique("narrow")
        device = self.device_with(name)
        running = client.start(tool_call(name))
        request = device.next_call(name)
        more = [client.start(tool_call(name), timeout=20) for _ in range(_QUEUE + 8)]
        refused = eventually(lambda: [call for call in more if call.done()], "the queue is full")
        error = refused[0].exception()
        self.assertEqual(
            (error.code(), error.details().split(":")[0]), (Status.RESOURCE_EXHAUSTED, "OVERLOADED")
        )
        trailers = trailers_of(error)
        self.assertEqual(trailers["retry-able"], "true")
        self.assertGreater(int(trailers["retry-after-ms"]), 0)
        device.answer(request, "done")
        self.assertEqual(running.result(10).data, b"done")
        device.next_call(name)  # the first that waited
        for call in more:
            call.cancel()

    def test_sw4rm_50_an_outcome_with_side_effects_survives_a_restart(self) -> None:
        name, token = self.unique("effect"), self.new_token()
        device = self.open(token)
        device.register(tool(name))
        request = tool_call(name, {"n": 1}, call_id=self.unique("id"))
        client = self.client()
        call = client.start(request)
        device.answer(device.next_call(name), "stored")
        self.assertEqual(call.result(10).data, b"stored")
        self.gateway.stop()
        self.gateway.start()
        device = self.open(token)
        device.register(tool(name))
        again = self.client().call(request)
        self.assertEqual((again.data, summary_of(again)["replayed"]), (b"stored", True))
        self.assert_alive(device)


class LifeTest(GrpcCase):
    def test_sw4rm_59_health_is_open_and_knows_both_services(self) -> None:
        client = ToolServiceClient(self.gateway.grpc)
        self.addCleanup(client.close)
        self.assertEqual([health(client, service) for service in _SERVICES], [_SERVING] * 3)
        with self.assertRaises(grpc.RpcError) as caught:
            health(client, "nobody")
        self.assertEqual(caught.exception.code(), Status.NOT_FOUND)

    def test_reflection_lists_the_services_to_this_machine(self) -> None:
        client = ToolServiceClient(self.gateway.grpc)
        self.addCleanup(client.close)
        list_services, by_symbol = b"\x3a\x01*", b"\x22\x16sw4rm.tool.ToolService"
        for version in ("v1alpha", "v1"):
            ask = client.channel.stream_stream(
                f"/grpc.reflection.{version}.ServerReflection/ServerReflectionInfo"
            )
            answers = list(ask(iter([list_services, by_symbol]), timeout=10))
            self.assertIn(b"sw4rm.tool.ToolService", answers[0])
            self.assertIn(b"grpc.health.v1.Health", answers[0])
            self.assertIn(b"google/protobuf/duration.proto", answers[1])

    def test_sw4rm_59_a_stopping_gateway_is_not_serving_and_lets_running_calls_end(self) -> None:
        with Gateway({"grpc": {"listen": "127.0.0.1:0"}}) as gateway:
            client = ToolServiceClient(gateway.grpc, gateway.caller_token())
            device = Device(gateway, gateway.pair("last"))
            device.register(tool("slow"))
            call = client.start(tool_call("slow"))
            request = device.next_call("slow")
            gateway.process.send_signal(signal.SIGTERM)
            eventually(lambda: health(client) == _NOT_SERVING, "health says NOT_SERVING")
            self.assertEqual([health(client, service) for service in _SERVICES], [_NOT_SERVING] * 3)
            error = self.refused(
                Status.UNAVAILABLE, "AGENT_SHUTDOWN", lambda: client.call(tool_call("slow"))
            )
            self.assertEqual(trailers_of(error)["retry-able"], "true")
            device.answer(request, "in time")
            self.assertEqual(call.result(10).data, b"in time")
            gateway.wait_stopped()
            client.close()
            device.drop()

    def test_sw4rm_59_running_calls_get_thirty_seconds(self) -> None:
        with Gateway(
            {"grpc": {"listen": "127.0.0.1:0"}, "tools": [{"match": "again", "idempotent": True}]}
        ) as gateway:
            client = ToolServiceClient(gateway.grpc, gateway.caller_token())
            self.addCleanup(client.close)
            device = Device(gateway, gateway.pair("last"))
            self.addCleanup(device.drop)
            device.register(
                tool("again", timeout_ms=60_000, max_timeout_ms=60_000),
                tool("effect", timeout_ms=60_000, max_timeout_ms=60_000),
            )
            calls, asked = [], []
            for name in ("again", "effect", "effect"):
                calls.append(client.start(tool_call(name), timeout=60))
                asked.append(device.next_call(name))
            stream = client.call_stream(tool_call("effect"), timeout=60)
            device.next_call("effect")
            gateway.process.send_signal(signal.SIGTERM)
            watch = Stopwatch()
            eventually(lambda: health(client) == _NOT_SERVING, "health says NOT_SERVING")

            def nearly_over() -> bool:
                self.assertEqual(
                    [health(client, service) for service in _SERVICES], [_NOT_SERVING] * 3
                )
                self.assertEqual([call.done() for call in calls], [False] * 3)
                return watch.seconds > 27

            eventually(nearly_over, "27 s have passed", limit=30)
            device.answer(asked[2], "in time")
            self.assertEqual(calls[2].result(5).data, b"in time")
            self.refused(Status.UNAVAILABLE, "AGENT_SHUTDOWN", lambda: calls[0].result(10))
            self.refused(Status.UNKNOWN, "OUTCOME_UNKNOWN", lambda: calls[1].result(10))
            self.refused(Status.UNKNOWN, "OUTCOME_UNKNOWN", lambda: list(stream))
            self.assertTrue(29 < watch.seconds < 34, watch.seconds)
            gateway.wait_stopped()
