"""docs/protocols/sw4rm.md on the gRPC listener, with grpcio as the client: calls, arguments,
errors, who may.

`test_sw4rm_NN_...` is number NN of section 14 of that page.
"""

from __future__ import annotations

import json
import re
import socket
import ssl
import struct
import tempfile
from pathlib import Path
from typing import Any

import grpc
from support.case import GatewayCase
from support.certificates import self_signed
from support.device import Device, tool
from support.gateway import Gateway
from support.tool_service import (
    ToolServiceClient,
    connector_pb,
    summary_of,
    tool_call,
    tool_pb,
    trailers_of,
)
from support.wait import eventually

_UUID_V7 = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
_MOST = 4 * 1024 * 1024
Status = grpc.StatusCode


class GrpcCase(GatewayCase):
    CONFIG = {"grpc": {"listen": "127.0.0.1:0"}}

    def client(self, caller: str = "tester", **options: Any) -> ToolServiceClient:
        """A channel of its own for a caller with a token; it ends with the test."""
        client = ToolServiceClient(self.gateway.grpc, self.gateway.caller_token(caller), **options)
        self.addCleanup(client.close)
        return client

    def device_with(self, name: str, **claims: Any) -> Device:
        device = self.open()
        device.register(tool(name, **claims))
        return device

    def echo(self, **claims: Any) -> str:
        """The name of a tool that gives back its arguments."""
        name = self.unique("echo")
        self.device_with(name, **claims).serve({name: lambda args: args})
        return name

    def refused(self, status: grpc.StatusCode, token: str, call: Any) -> grpc.RpcError:
        """The error of `call()`, with this status and token; its trailers are checked."""
        with self.assertRaises(grpc.RpcError) as caught:
            call()
        error = caught.exception
        self.assertEqual(
            (error.code(), error.details().split(":")[0]), (status, token), error.details()
        )
        trailers = trailers_of(error)
        self.assertEqual(trailers["error-code"], token)
        self.assertIn(trailers["retry-able"], ("true", "false"))
        self.assertEqual("grpc-retry-pushback-ms" in trailers, trailers["retry-able"] == "false")
        self.assertTrue(trailers["correlation-id"])
        self.assertTrue(trailers["operation"])
        return error


class CallTest(GrpcCase):
    def test_sw4rm_01_the_three_paths_answer_and_others_are_unimplemented(self) -> None:
        client, name = self.client(), self.echo()
        self.assertTrue(client.call(tool_call(name)).final)
        self.assertTrue(list(client.call_stream(tool_call(name)))[-1].final)
        self.assertEqual(client.cancel("nothing").error_code, "NOT_FOUND")
        for path in (
            "/sw4rm.tool.ToolService/Nope",
            "/agentos.tool.ToolService/Call",
            "/sigagent.tool.ToolService/Call",
        ):
            with self.assertRaises(grpc.RpcError) as caught:
                client.unary(path, tool_call(name), tool_pb().ToolFrame)
            self.assertEqual(caught.exception.code(), Status.UNIMPLEMENTED)

    def test_sw4rm_03_unknown_fields_and_an_explicit_zero_change_nothing_for_the_ledger_either(
        self,
    ) -> None:
        client, name = self.client(), self.echo()
        request = tool_call(name, {"n": 1}, call_id=self.unique("id"))
        first = client.call(request)
        for extra in (b"\x38\x00", b"\xfa\x01\x03abc", b"\xa0\x06\x01"):
            again, _ = client.unary(
                "/sw4rm.tool.ToolService/Call",
                request.SerializeToString() + extra,
                tool_pb().ToolFrame,
            )
            self.assertEqual(again.data, first.data)
            self.assertTrue(summary_of(again)["replayed"])

    def test_sw4rm_04_id_name_and_arguments_alone_are_enough(self) -> None:
        name = self.echo()
        request = tool_pb().ToolCall(call_id=self.unique("id"), tool_name=name, args=b'{"a":1}')
        frame = self.client().call(request, timeout=None)
        self.assertEqual(json.loads(frame.data), {"a": 1})

    def test_sw4rm_06_a_request_over_4_mib_is_refused_and_the_server_serves_on(self) -> None:
        client = self.client(options=(("grpc.max_send_message_length", -1),))
        name = self.unique("measure")
        self.device_with(name).serve({name: lambda args: {"bytes": len(args["pad"])}})
        request = tool_call(name, {"pad": ""}, call_id=self.unique("id"))
        # what the message has beside the pad once its length takes four bytes of a varint
        request.args = b'{"pad": "%s"}' % (b"x" * (3 << 20))
        room = _MOST - (request.ByteSize() - (3 << 20))
        request.args = b'{"pad": "%s"}' % (b"x" * room)
        self.assertEqual(request.ByteSize(), _MOST)
        self.assertEqual(json.loads(client.call(request).data), {"bytes": room})
        request.args += b" "
        with self.assertRaises(grpc.RpcError) as caught:
            client.call(request)
        self.assertEqual(caught.exception.code(), Status.RESOURCE_EXHAUSTED)
        self.assertTrue(client.call(tool_call(name, {"pad": ""})).final)

    def test_sw4rm_06_no_frame_that_it_sends_is_larger(self) -> None:
        client = self.client(options=(("grpc.max_receive_message_length", -1),))
        name = self.unique("large")
        self.device_with(name).serve({name: lambda args: "x" * args["bytes"]})
        sizes: list[int] = []
        for less in (1 << 19, 1 << 18, 1 << 16, 1 << 14, 1 << 12, 1 << 10, 1 << 8, 1, 0):
            request = tool_call(name, {"bytes": _MOST - less})
            try:
                sizes.append(client.call(request).ByteSize())
            except grpc.RpcError as error:
                self.assertEqual(error.code(), Status.RESOURCE_EXHAUSTED)
                self.assertTrue(error.details().startswith("OVERSIZE_PAYLOAD"), error.details())
        self.assertTrue(sizes, "the smallest fits")
        self.assertLess(len(sizes), 9, "the largest do not")
        self.assertLessEqual(max(sizes), _MOST)
        frames = list(client.call_stream(tool_call(name, {"bytes": _MOST + 1})))
        self.assertLessEqual(max(frame.ByteSize() for frame in frames), _MOST)

    def test_sw4rm_08_an_empty_id_becomes_a_uuid_and_a_long_one_is_refused(self) -> None:
        client, name = self.client(), self.echo()
        self.assertRegex(client.call(tool_call(name)).call_id, _UUID_V7)
        frames = list(client.call_stream(tool_call(name)))
        self.assertEqual(len({frame.call_id for frame in frames}), 1)
        self.assertRegex(frames[0].call_id, _UUID_V7)
        self.assertTrue(client.call(tool_call(name, call_id="x" * 256)).final)
        for bad in ("x" * 257, "line\nend"):
            self.refused(
                Status.INVALID_ARGUMENT,
                "VALIDATION_ERROR",
                lambda bad=bad: client.call(tool_call(name, call_id=bad)),
            )

    def test_sw4rm_09_content_types_are_compared_without_parameters_and_case(self) -> None:
        client, name = self.client(), self.echo()
        for content_type in ("application/json; charset=utf-8", "Application/JSON"):
            frame = client.call(tool_call(name, {"a": 1}, content_type=content_type))
            self.assertEqual(json.loads(frame.data), {"a": 1})
        # google.protobuf.Struct {"n": 7}: fields {key, Value {number_value}}
        value = b"\x11" + struct.pack("<d", 7.0)
        pair = b"\x0a\x01n\x12" + bytes([len(value)]) + value
        frame = client.call(
            tool_call(
                name, b"\x0a" + bytes([len(pair)]) + pair, content_type="application/protobuf"
            )
        )
        self.assertEqual(json.loads(frame.data), {"n": 7})
        for content_type, args in (("text/csv", b"a,b"), ("application/protobuf", b"\x0a\x05")):
            self.refused(
                Status.INVALID_ARGUMENT,
                "VALIDATION_ERROR",
                lambda c=content_type, a=args: client.call(tool_call(name, a, content_type=c)),
            )

    def test_sw4rm_10_arguments_that_break_the_schema_are_named_and_nothing_runs(self) -> None:
        client, name = self.client(), self.unique("tool")
        device = self.device_with(
            name,
            parameters={"type": "object", "properties": {"n": {"type": "integer", "maximum": 5}}},
        )
        error = self.refused(
            Status.INVALID_ARGUMENT,
            "VALIDATION_ERROR",
            lambda: client.call(tool_call(name, {"n": 9})),
        )
        self.assertIn("/n", error.details())
        for args in (b"[1]", b"null", b"{", b"\xff\xfe"):
            self.refused(
                Status.INVALID_ARGUMENT,
                "VALIDATION_ERROR",
                lambda a=args: client.call(tool_call(name, a)),
            )
        self.assert_alive(device)

    def test_sw4rm_11_a_good_call_is_one_frame_with_everything(self) -> None:
        request = tool_call(self.echo(), {"n": 1}, call_id=self.unique("wc"))
        frame = self.client().call(request)
        self.assertEqual(
            (frame.call_id, frame.frame_no, frame.final, frame.content_type),
            (request.call_id, 1, True, "application/json"),
        )
        self.assertEqual(json.loads(frame.data), {"n": 1})
        summary = summary_of(frame)
        self.assertEqual(
            (summary["status"], summary["frames"], summary["bytes"]), ("ok", 1, len(frame.data))
        )

    def test_sw4rm_12_a_failed_tool_never_has_an_ok_status(self) -> None:
        client, name = self.client(), self.unique("tool")
        device = self.device_with(name)
        for send in (
            lambda: client.call(tool_call(name)),
            lambda: list(client.call_stream(tool_call(name))),
        ):
            future = self.gateway._pool.submit(
                send
            )  # noqa: SLF001: the gateway's threads end with it
            device.fail(device.next_call(name), "no such note")
            error = self.refused(
                Status.UNKNOWN, "TOOL_FAILED", lambda future=future: future.result(10)
            )
            self.assertIn("no such note", error.details())

    def test_sw4rm_22_a_deadline_of_the_client_before_the_policys_ends_the_tool(self) -> None:
        client, name = self.client(), self.unique("slow")
        device = self.open(capabilities=("tool_call_cancel",))
        device.register(tool(name))
        policy = tool_pb().ExecutionPolicy()
        policy.timeout.seconds = 60
        with self.assertRaises(grpc.RpcError) as caught:
            client.call(tool_call(name, policy=policy), timeout=0.5)
        self.assertEqual(caught.exception.code(), Status.DEADLINE_EXCEEDED)
        request = device.next_call(name)
        self.assertEqual(device.expect("tool_call_cancel")["id"], request["id"])

    def test_sw4rm_22_without_deadline_and_policy_the_tools_default_ends_it(self) -> None:
        client, name = self.client(), self.unique("slow")
        device = self.open(capabilities=("tool_call_cancel",))
        device.register(tool(name, timeout_ms=300))
        error = self.refused(
            Status.DEADLINE_EXCEEDED,
            "TOOL_TIMEOUT",
            lambda: client.call(tool_call(name), timeout=None),
        )
        self.assertEqual(trailers_of(error)["configured-timeout-ms"], "300")
        request = device.next_call(name)
        self.assertEqual(device.expect("tool_call_cancel")["id"], request["id"])

    def test_sw4rm_25_a_malformed_duration_is_refused_and_zero_is_not_stated(self) -> None:
        client, name = self.client(), self.echo()
        for seconds, nanos in ((-5, 0), (0, 2_000_000_000), (1, -1)):
            policy = tool_pb().ExecutionPolicy()
            policy.timeout.seconds, policy.timeout.nanos = seconds, nanos
            self.refused(
                Status.INVALID_ARGUMENT,
                "VALIDATION_ERROR",
                lambda p=policy: client.call(tool_call(name, policy=p)),
            )
        zero = tool_pb().ExecutionPolicy()
        zero.timeout.seconds = 0
        self.assertTrue(client.call(tool_call(name, policy=zero)).final)

    def test_a_timeout_of_the_policy_is_a_tool_timeout_with_limit_and_elapsed_time(self) -> None:
        client, name = self.client(), self.unique("slow")
        self.device_with(name)
        policy = tool_pb().ExecutionPolicy()
        policy.timeout.nanos = 200_000_000
        error = self.refused(
            Status.DEADLINE_EXCEEDED,
            "TOOL_TIMEOUT",
            lambda: client.call(tool_call(name, policy=policy)),
        )
        self.assertEqual(trailers_of(error)["configured-timeout-ms"], "200")
        self.assertGreaterEqual(int(trailers_of(error)["elapsed-ms"]), 200)

    def test_sw4rm_27_an_unknown_label_is_refused(self) -> None:
        client, name = self.client(), self.echo()
        for member in ("backoff", "network_policy", "privilege_level"):
            policy = tool_pb().ExecutionPolicy(**{member: "sideways"})
            error = self.refused(
                Status.INVALID_ARGUMENT,
                "VALIDATION_ERROR",
                lambda p=policy: client.call(tool_call(name, policy=p)),
            )
            self.assertIn(member, error.details())

    def test_sw4rm_28_no_label_can_be_kept_on_a_device(self) -> None:
        client, name = self.client(), self.echo()
        for policy in (
            tool_pb().ExecutionPolicy(network_policy="none"),
            tool_pb().ExecutionPolicy(privilege_level="Minimal"),
        ):
            self.refused(
                Status.FAILED_PRECONDITION,
                "POLICY_UNENFORCEABLE",
                lambda p=policy: client.call(tool_call(name, policy=p)),
            )
            self.refused(
                Status.FAILED_PRECONDITION,
                "POLICY_UNENFORCEABLE",
                lambda p=policy: client.call(tool_call(name, policy=p, provider_id=self.slug)),
            )
        self.assertTrue(
            client.call(
                tool_call(name, policy=tool_pb().ExecutionPolicy(backoff="linear", max_retries=1))
            ).final
        )

    def test_many_calls_on_one_channel_are_in_flight_together(self) -> None:
        client, name = self.client(), self.unique("tool")
        device = self.device_with(name)
        calls = [client.start(tool_call(name, {"n": n})) for n in range(32)]
        for request in reversed([device.next_call(name) for _ in calls]):
            device.answer(request, str(request["args"]["n"]))
        self.assertEqual(
            [call.result(10).data for call in calls], [str(n).encode() for n in range(32)]
        )


class WhoTest(GrpcCase):
    def test_sw4rm_57_no_credential_or_a_bad_one_is_unauthenticated(self) -> None:
        name = self.echo()
        for metadata in (
            {},
            {"authorization": "Bearer " + "0" * 64},
            {"authorization": "Basic abc"},
        ):
            client = ToolServiceClient(self.gateway.grpc)
            self.addCleanup(client.close)
            self.refused(
                Status.UNAUTHENTICATED,
                "UNAUTHENTICATED",
                lambda c=client, m=metadata: c.call(tool_call(name), metadata=m),
            )
        self.refused(
            Status.PERMISSION_DENIED,
            "PERMISSION_DENIED",
            lambda: self.client().call(tool_call(name), metadata={"x-agent-id": "somebody"}),
        )
        self.refused(
            Status.PERMISSION_DENIED,
            "PERMISSION_DENIED",
            lambda: self.client().call(tool_call(name), metadata={"x-agent-id": "tester"}),
        )

    def test_a_token_that_reads_metrics_calls_nothing(self) -> None:
        token = self.gateway.pair(self.gateway.unique("scraper"), ("metrics",))
        client = ToolServiceClient(self.gateway.grpc, token)
        self.addCleanup(client.close)
        error = self.refused(
            Status.PERMISSION_DENIED,
            "PERMISSION_DENIED",
            lambda: client.call(tool_call("list_devices")),
        )
        self.assertIn("reads /metrics", error.details())

    def test_sw4rm_58_the_correlation_id_is_in_the_trailers(self) -> None:
        client, name = self.client(), self.echo()
        for given, metadata in (
            ("abc-1", {"x-correlation-id": "abc-1"}),
            ("req-2", {"x-request-id": "req-2"}),
            (None, {}),
        ):
            _, call = client.unary(
                "/sw4rm.tool.ToolService/Call",
                tool_call(name),
                tool_pb().ToolFrame,
                metadata=metadata,
            )
            made = trailers_of(call)["correlation-id"]
            self.assertEqual(made, given) if given else self.assertRegex(made, _UUID_V7)

    def test_sw4rm_58_the_audit_record_has_the_correlation_id(self) -> None:
        name, call_id = self.echo(), self.unique("id")
        self.client().call(
            tool_call(name, call_id=call_id), metadata={"x-correlation-id": "find-me"}
        )
        self.assertIn(
            "find-me",
            eventually(
                lambda: self.gateway.crab("calls", "show", call_id, "-o", "json"),
                "the record is there",
            ),
        )

    def test_on_open_loopback_nobody_needs_a_token_but_a_bad_one_counts(self) -> None:
        with Gateway({"grpc": {"listen": "127.0.0.1:0", "open_loopback": True}}) as gateway:
            client = ToolServiceClient(gateway.grpc)
            self.addCleanup(client.close)
            self.assertTrue(client.call(tool_call("list_devices")).final)
            bad = {"authorization": "Bearer " + "0" * 64}
            self.refused(
                Status.UNAUTHENTICATED,
                "UNAUTHENTICATED",
                lambda: client.call(tool_call("list_devices"), metadata=bad),
            )

    def test_tls_speaks_h2_by_alpn(self) -> None:
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        cert, key = self_signed(folder)
        with Gateway(
            {"grpc": {"listen": "127.0.0.1:0", "tls": {"cert": str(cert), "key": str(key)}}}
        ) as gateway:
            trusted = grpc.ssl_channel_credentials(cert.read_bytes())
            client = ToolServiceClient(gateway.grpc, gateway.caller_token(), credentials=trusted)
            self.addCleanup(client.close)
            self.assertTrue(client.call(tool_call("list_devices")).final)
            plain = ssl.create_default_context(cafile=str(cert))
            plain.set_alpn_protocols(["http/1.1"])
            host, port = gateway.grpc.split(":")
            with socket.create_connection((host, int(port)), timeout=10) as raw, self.assertRaises(
                ssl.SSLError
            ):
                plain.wrap_socket(raw, server_hostname="127.0.0.1")

    def test_sw4rm_60_descriptions_are_exactly_what_the_caller_may_call(self) -> None:
        client, name = self.client(), self.echo()
        tools = {each.tool_name: each for each in client.describe().tools}
        self.assertEqual(set(tools), set(self.gateway.tools()))
        self.assertEqual(list(tools), sorted(tools))
        self.assertEqual(json.loads(tools[name].input_schema)["type"], "object")
        self.assertEqual(tools[name].default_timeout_s, 30)
        self.assertIn("list_devices", [each.tool_name for each in client.describe("builtin").tools])
        self.assertEqual([each.tool_name for each in client.describe(self.slug).tools], [name])
        self.refused(Status.NOT_FOUND, "NO_ROUTE", lambda: client.describe("nobody"))

    def test_sw4rm_60_a_stated_provider_is_the_only_place_looked_at(self) -> None:
        client, name = self.client(), self.echo()
        self.assertTrue(client.call(tool_call(name, provider_id=self.slug)).final)
        self.assertTrue(client.call(tool_call("list_devices", provider_id="builtin")).final)
        for tool_name, provider in (
            (name, "nobody"),
            ("list_devices", self.slug),
            (name, "builtin"),
        ):
            self.refused(
                Status.NOT_FOUND,
                "NO_ROUTE",
                lambda t=tool_name, p=provider: client.call(tool_call(t, provider_id=p)),
            )
        self.refused(
            Status.NOT_FOUND, "NOT_FOUND", lambda: client.call(tool_call(self.unique("nobody")))
        )

    def test_sw4rm_61_nobody_registers_an_unknown_provider(self) -> None:
        request = connector_pb().ProviderRegisterRequest(provider_id="lab")
        answer, _ = self.client().unary(
            "/sw4rm.connector.ConnectorService/RegisterProvider",
            request,
            connector_pb().ProviderRegisterResponse,
        )
        self.assertFalse(answer.ok)
        self.assertIn("unknown provider", answer.reason)
