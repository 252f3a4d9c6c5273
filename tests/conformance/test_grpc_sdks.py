"""What sw4rm's own clients send and expect, call by call, as their sources say it
(docs/protocols/sw4rm.md, section 13)."""

from __future__ import annotations

import json
import time
import unittest
import uuid
from typing import Any

import grpc
from support.grpc_provider import GrpcProvider, descriptor
from support.tool_service import connector_pb, summary_of, tool_call, tool_pb, trailers_of
from support.wait import eventually
from test_commands import can_sandbox, shell
from test_grpc import GrpcCase, Status

_RETRIED_BY_ELIXIR = (Status.UNAVAILABLE, Status.DEADLINE_EXCEEDED)


class SdkCase(GrpcCase):
    """Plain channels without a credential, as all four make them: the listener is open on
    loopback."""

    CONFIG = {"grpc": {"listen": "127.0.0.1:0", "open_loopback": True}}

    def plain(self, **options: Any) -> grpc.Channel:
        channel = grpc.insecure_channel(self.gateway.grpc, tuple(options.items()))
        self.addCleanup(channel.close)
        return channel

    def rpc(self, channel: grpc.Channel, name: str) -> Any:
        make = channel.unary_stream if name == "CallStream" else channel.unary_unary
        answer = tool_pb().ToolError if name == "Cancel" else tool_pb().ToolFrame
        return make(
            f"/sw4rm.tool.ToolService/{name}",
            request_serializer=tool_pb().ToolCall.SerializeToString,
            response_deserializer=answer.FromString,
        )


class PythonTest(SdkCase):
    """A dictionary becomes a ToolCall; no metadata, no deadline, no retry."""

    def test_a_call_by_three_fields_and_a_stream_that_is_left_at_its_final_frame(self) -> None:
        channel, name = self.plain(), self.echo()
        frame = self.rpc(channel, "Call")(
            tool_pb().ToolCall(call_id=self.unique("py"), tool_name=name, args=b'{"a":1}')
        )
        self.assertEqual(json.loads(frame.data), {"a": 1})
        stream = self.rpc(channel, "CallStream")(
            tool_pb().ToolCall(call_id=self.unique("py"), tool_name=name, args=b"{}", stream=True)
        )
        for frame in stream:
            if frame.final:
                break
        self.assertEqual(summary_of(frame)["status"], "ok")
        self.assertEqual(
            self.rpc(channel, "Cancel")(tool_pb().ToolCall(call_id=frame.call_id)).error_code,
            "ALREADY_COMPLETED",
        )

    def test_a_failure_is_one_status_whose_details_begin_with_the_token(self) -> None:
        with self.assertRaises(grpc.RpcError) as caught:
            self.rpc(self.plain(), "Call")(
                tool_pb().ToolCall(call_id=self.unique("py"), tool_name="no_such_tool")
            )
        self.assertEqual(caught.exception.code(), Status.NOT_FOUND)
        self.assertTrue(caught.exception.details().startswith("NOT_FOUND: "))


class JavaScriptTest(SdkCase):
    """grpc-js: a correlation id and a user agent, a deadline of 30 s on unary calls; explicit
    zeros, 64-bit numbers as texts."""

    def metadata(self) -> list[tuple[str, str]]:
        return [("x-correlation-id", str(uuid.uuid4()))]

    def test_a_written_out_policy_with_only_zeros_states_nothing(self) -> None:
        name = self.echo()
        request = tool_pb().ToolCall(
            call_id=self.unique("js"),
            tool_name=name,
            content_type="application/json",
            args=b'{"msg":"hello"}',
            policy=tool_pb().ExecutionPolicy(worktree_required=False),
        )
        metadata = self.metadata()
        frame, call = self.rpc(
            self.plain(**{"grpc.primary_user_agent": "sw4rm-js-sdk/0.1"}), "Call"
        ).with_call(request, metadata=metadata, timeout=30)
        self.assertEqual(json.loads(frame.data), {"msg": "hello"})
        self.assertEqual(dict(call.trailing_metadata())["correlation-id"], metadata[0][1])

    def test_three_attempts_of_older_versions_run_the_tool_once(self) -> None:
        """They repeat after any error, with one deadline and one call_id."""
        name = self.unique("tool")
        device = self.device_with(name)
        send = self.rpc(self.plain(), "Call")
        request = tool_pb().ToolCall(
            call_id=self.unique("js"), tool_name=name, content_type="application/json", args=b"{}"
        )
        deadline, metadata = time.monotonic() + 10, self.metadata()
        first = send.future(request, metadata=metadata, timeout=deadline - time.monotonic())
        device.fail(device.next_call(name), "out of paper")
        errors = [first.exception(timeout=10)]
        for _ in range(2):
            with self.assertRaises(grpc.RpcError) as caught:
                send(request, metadata=metadata, timeout=deadline - time.monotonic())
            errors.append(caught.exception)
        self.assertEqual(
            {(error.code(), error.details()) for error in errors},
            {(Status.UNKNOWN, errors[0].details())},
        )
        self.assert_alive(device)

    def test_every_failure_maps_to_its_number(self) -> None:
        """Their table turns statuses into sw4rm's codes: 3, 9 → 6; 5 → 2; 4 → 3; all others that we
        send → their own."""
        table = {
            Status.INVALID_ARGUMENT: 6,
            Status.FAILED_PRECONDITION: 6,
            Status.NOT_FOUND: 2,
            Status.DEADLINE_EXCEEDED: 3,
        }
        name = self.echo()
        cases = [
            (tool_call("no_such_tool"), 2),
            (tool_call(name, provider_id="nowhere"), 2),
            (tool_call(name, b"[]"), 6),
            (tool_call(name, policy=tool_pb().ExecutionPolicy(network_policy="none")), 6),
        ]
        for request, code in cases:
            with self.assertRaises(grpc.RpcError) as caught:
                self.rpc(self.plain(), "Call")(request, metadata=self.metadata(), timeout=30)
            self.assertEqual(table[caught.exception.code()], code, caught.exception.details())


@unittest.skipUnless(can_sandbox(), "commands cannot be confined here under DEFAULT")
class ExamplesTest(SdkCase):
    """The two examples that call tools, with the configuration of
    docs/how_to/call_tools_over_grpc.md; they use fixed call ids."""

    CONFIG = {
        **SdkCase.CONFIG,
        "providers": [
            {
                "id": "seed",
                "kind": "command",
                "tools": [
                    {
                        "name": "echo",
                        "argv": ["cat"],
                        "stdin": "args",
                        "input_schema": {"type": "object"},
                        "output": {"content_type": "application/json"},
                        "idempotent": True,
                        "side_effects": [],
                    },
                    {
                        "name": "long_task",
                        "argv": [
                            "sh",
                            "-c",
                            "for step in 1 2 3 4 5; do echo $step; sleep 0.2; done",
                        ],
                        "input_schema": {"type": "object"},
                        "output": {"streams": "lines"},
                        "defaults": {"privilege": "DEFAULT"},
                        "idempotent": True,
                        "side_effects": [],
                    },
                ],
            }
        ],
    }

    def test_a_unary_call_and_a_stream_run_and_run_again(self) -> None:
        policy = tool_pb().ExecutionPolicy(worktree_required=False)
        for _ in range(2):
            request = tool_pb().ToolCall(
                call_id="call-1",
                tool_name="echo",
                content_type="application/json",
                args=b'{"msg":"hello"}',
                policy=policy,
            )
            self.assertEqual(
                json.loads(self.rpc(self.plain(), "Call")(request).data), {"msg": "hello"}
            )
            request = tool_pb().ToolCall(
                call_id="call-2",
                tool_name="long_task",
                content_type="application/json",
                args=b'{"duration_ms":1000}',
                policy=policy,
                stream=True,
            )
            frames = list(self.rpc(self.plain(), "CallStream")(request))
            self.assertEqual(b"".join(frame.data for frame in frames), b"1\n2\n3\n4\n5\n")
            self.assertEqual(
                [frame.final for frame in frames], [False] * (len(frames) - 1) + [True]
            )


class RustTest(SdkCase):
    """tonic: its default policy states every field; Cancel sends `{}` and empty names, and any
    ToolError is success to it."""

    CONFIG = {
        **SdkCase.CONFIG,
        "providers": [
            {
                "id": "workshop",
                "kind": "command",
                "tools": [shell("make", defaults={"privilege": "DEFAULT"})],
            }
        ],
    }

    def policy(self) -> Any:
        policy = tool_pb().ExecutionPolicy(
            max_retries=3,
            backoff="exponential",
            network_policy="restricted",
            privilege_level="default",
            budget_cpu_ms=30000,
            budget_wall_ms=30000,
        )
        policy.timeout.seconds = 30
        return policy

    @unittest.skipUnless(can_sandbox(), "commands cannot be confined here under DEFAULT")
    def test_its_default_policy_runs_a_command_and_is_capped(self) -> None:
        request = tool_pb().ToolCall(
            call_id=self.unique("rs"),
            tool_name="make",
            content_type="application/json",
            args=b'{"script":"echo hi"}',
            policy=self.policy(),
        )
        frame = self.rpc(self.plain(), "Call")(request)
        self.assertEqual(frame.data, b"hi\n")
        policy = summary_of(frame)["policy"]
        self.assertEqual(
            (policy["network_policy"], policy["privilege_level"], policy["clamped"]),
            ("DENY_ALL", "DEFAULT", ["network_policy"]),
        )

    def test_a_cancel_with_an_empty_object_and_empty_names_finds_the_call(self) -> None:
        name, call_id = self.unique("slow"), self.unique("rs")
        device = self.device_with(name)
        channel = self.plain()
        stream = self.rpc(channel, "CallStream")(
            tool_pb().ToolCall(
                call_id=call_id,
                tool_name=name,
                content_type="application/json",
                args=b"{}",
                stream=True,
            )
        )
        device.next_call(name)
        answer = self.rpc(channel, "Cancel")(
            tool_pb().ToolCall(call_id=call_id, content_type="application/json", args=b"{}")
        )
        self.assertEqual((answer.call_id, answer.error_code), (call_id, "CANCELLED"))
        self.assertTrue(summary_of(list(stream)[-1])["partial_result"])


class RustDescriptorTest(GrpcCase):
    """Its descriptors have schemas as texts, one call at a time and `none` as side effects where
    nobody says anything."""

    @classmethod
    def setUpClass(cls) -> None:
        cls.provider = GrpcProvider([])
        cls.addClassCleanup(cls.provider.stop)
        cls.CONFIG = {
            **GrpcCase.CONFIG,
            "providers": [
                {
                    "id": "lab",
                    "kind": "grpc",
                    "address": cls.provider.address,
                    "principal": "caller/lab",
                }
            ],
        }
        super().setUpClass()

    def test_side_effects_none_means_that_there_are_none(self) -> None:
        quiet = descriptor(
            "measure", idempotent=True, default_timeout_s=30, max_concurrency=1, side_effects="none"
        )
        loud = descriptor(
            "move", default_timeout_s=30, max_concurrency=1, side_effects="filesystem"
        )
        request = connector_pb().ProviderRegisterRequest(provider_id="lab", tools=[quiet, loud])
        answer, _ = self.client("lab").unary(
            "/sw4rm.connector.ConnectorService/RegisterProvider",
            request,
            connector_pb().ProviderRegisterResponse,
        )
        self.assertTrue(answer.ok, answer.reason)
        eventually(lambda: len(self.client().describe("lab").tools) == 2, "both tools are there")
        effects = {
            tool.tool_name: tool.side_effects for tool in self.client().describe("lab").tools
        }
        self.assertEqual((effects["measure"], bool(effects["move"])), ("", True))


class ElixirTest(SdkCase):
    """grpc for Elixir: 30 s on Call, 10 s on Cancel; up to three attempts after UNAVAILABLE and
    DEADLINE_EXCEEDED."""

    def attempts(self, request: Any) -> list[grpc.RpcError]:
        errors: list[grpc.RpcError] = []
        send = self.rpc(self.plain(), "Call")
        for _ in range(3):
            try:
                send(request, timeout=30)
                break
            except grpc.RpcError as error:
                errors.append(error)
                if error.code() not in _RETRIED_BY_ELIXIR:
                    break
        return errors

    def test_a_timeout_that_it_repeats_twice_runs_the_tool_once(self) -> None:
        name = self.unique("slow")
        device = self.device_with(name)
        request = tool_pb().ToolCall(
            call_id=self.unique("ex"), tool_name=name, content_type="application/json", args=b"{}"
        )
        request.policy.timeout.nanos = 200_000_000
        errors = self.attempts(request)
        self.assertEqual([error.code() for error in errors], [Status.DEADLINE_EXCEEDED] * 3)
        self.assertTrue(all(trailers_of(error)["error-code"] == "TOOL_TIMEOUT" for error in errors))
        device.next_call(name)
        self.assertEqual(
            [each for each in device.fence() if each["type"] == "tool_call_request"], []
        )

    def test_other_failures_are_final_to_it(self) -> None:
        self.assertEqual(
            [error.code() for error in self.attempts(tool_call("no_such_tool"))], [Status.NOT_FOUND]
        )


if __name__ == "__main__":
    unittest.main()
