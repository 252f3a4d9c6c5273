"""docs/protocols/sw4rm.md, section 12: providers of kind grpc, with a server of grpcio as the
provider and real sockets."""

from __future__ import annotations

import json
import os
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import grpc
from support.certificates import self_signed
from support.gateway import Gateway
from support.grpc_provider import GrpcProvider, descriptor, frame, refuse
from support.tool_service import (
    ToolServiceClient,
    connector_pb,
    summary_of,
    tool_call,
    tool_pb,
)
from support.wait import PATIENCE, eventually
from test_grpc import GrpcCase, Status

_EGRESS = {"ceilings": {"network": "EGRESS_RESTRICTED", "privilege": "DEFAULT", "max_retries": 1}}


class ProviderCase(GrpcCase):
    """Providers `lab` (labels: trust), `shop` (labels: enforce), `den` (labels: advisory), all at
    one server; `bare` declares its tool."""

    provider: GrpcProvider

    @classmethod
    def setUpClass(cls) -> None:
        cls.provider = GrpcProvider(
            [
                descriptor("echo", idempotent=True, default_timeout_s=7),
                descriptor("once", side_effects="network,process"),
                descriptor(
                    "strict",
                    {"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}},
                ),
            ]
        )
        cls.bare = GrpcProvider(None)
        cls.addClassCleanup(cls.provider.stop)
        cls.addClassCleanup(cls.bare.stop)
        cls.folder = cls.enterClassContext(tempfile.TemporaryDirectory(prefix="crab-grpc-"))
        token = Path(cls.folder) / "token"
        token.write_text("s3cret\n")
        base = {"kind": "grpc", "address": cls.provider.address}
        declared = {
            "name": "declared",
            "description": "Said by the operator.",
            "input_schema": {"type": "object"},
            "side_effects": [],
            "timeout_s": 9,
        }
        cls.CONFIG = {
            "grpc": {"listen": "127.0.0.1:0"},
            "providers": [
                {
                    "id": "lab",
                    **base,
                    "labels": "trust",
                    "principal": "caller/lab",
                    "token_file": str(token),
                    "provider_id": "inner",
                    **_EGRESS,
                },
                {"id": "shop", **base},
                {"id": "den", **base, "labels": "advisory"},
                {
                    "id": "bare",
                    "kind": "grpc",
                    "address": cls.bare.address,
                    "descriptors": [declared],
                },
                {
                    "id": "mute",
                    "kind": "grpc",
                    "address": cls.bare.address,
                    "principal": "caller/mute",
                },
            ],
        }
        super().setUpClass()
        cls.gateway.wait_listed("lab__echo", "shop__echo", "den__echo", "declared")

    def setUp(self) -> None:
        self.provider.call = lambda request, _: frame(request, request.args)
        self.provider.call_stream = lambda request, _: iter([frame(request, request.args)])

    def last(self) -> Any:
        return self.provider.requests[-1]


class CallingOutTest(ProviderCase):
    def test_tools_are_those_of_describe_tools_and_called_by_either_name(self) -> None:
        client = self.client()
        names = {tool.tool_name for tool in client.describe("lab").tools}
        self.assertEqual(names, {"echo", "once", "strict"})
        described = {tool.tool_name: tool for tool in client.describe("lab").tools}
        self.assertTrue(described["echo"].idempotent)
        self.assertEqual(
            (described["echo"].default_timeout_s, bool(described["once"].side_effects)), (7, True)
        )
        self.assertEqual(json.loads(client.call(tool_call("lab__echo", {"a": 1})).data), {"a": 1})
        self.assertEqual(
            json.loads(client.call(tool_call("echo", {"a": 2}, provider_id="shop")).data), {"a": 2}
        )
        self.assertEqual(self.gateway.call("lab__echo", {"a": 3}).result, {"a": 3})
        self.refused(
            Status.FAILED_PRECONDITION, "AMBIGUOUS_TOOL", lambda: client.call(tool_call("echo"))
        )

    def test_a_declared_tool_needs_no_connector_service(self) -> None:
        self.assertEqual(self.gateway.call("declared", {"a": 1}).result, {"a": 1})
        self.assertEqual(self.gateway.tools()["declared"]["description"], "Said by the operator.")

    def test_the_call_carries_id_policy_credential_and_correlation(self) -> None:
        policy = tool_pb().ExecutionPolicy(
            max_retries=9,
            backoff="linear",
            network_policy="restricted",
            privilege_level="default",
            budget_cpu_ms=400,
        )
        policy.timeout.FromMilliseconds(5000)
        request = tool_call("lab__echo", {"a": 1}, call_id=self.unique("mine"), policy=policy)
        answer = self.client().call(
            request,
            metadata={
                "x-correlation-id": "corr-1",
                "traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            },
        )
        self.assertEqual(answer.call_id, request.call_id)
        sent, metadata, remaining = (
            self.last(),
            self.provider.metadata[-1],
            self.provider.timeouts[-1],
        )
        self.assertEqual(
            (sent.tool_name, sent.provider_id, sent.content_type),
            ("echo", "inner", "application/json"),
        )
        self.assertNotEqual(sent.call_id, request.call_id)
        self.assertEqual(
            (sent.policy.backoff, sent.policy.network_policy, sent.policy.privilege_level),
            ("none", "EGRESS_RESTRICTED", "DEFAULT"),
        )
        self.assertEqual((sent.policy.max_retries, sent.policy.budget_cpu_ms), (0, 400))
        told = sent.policy.timeout.ToMilliseconds()
        self.assertTrue(0 < told <= 5000, told)
        self.assertTrue(5 < remaining <= 10.1, remaining)
        self.assertEqual(
            (metadata["authorization"], metadata["x-correlation-id"]), ("Bearer s3cret", "corr-1")
        )
        self.assertTrue(metadata["traceparent"].startswith("00-0af7"))
        effective = summary_of(answer)["policy"]
        self.assertEqual(
            (
                effective["max_retries"],
                effective["network_policy"],
                "max_retries" in effective["clamped"],
            ),
            (1, "EGRESS_RESTRICTED", True),
        )

    def test_sw4rm_28_labels_are_refused_told_or_sent_as_the_operator_says(self) -> None:
        policy = tool_pb().ExecutionPolicy(network_policy="none")
        client, before = self.client(), len(self.provider.requests)
        self.refused(
            Status.FAILED_PRECONDITION,
            "POLICY_UNENFORCEABLE",
            lambda: client.call(tool_call("shop__echo", policy=policy)),
        )
        self.assertEqual(len(self.provider.requests), before)
        answer = client.call(tool_call("den__echo", policy=policy))
        self.assertEqual(summary_of(answer)["policy"]["unenforced"], ["DENY_ALL"])
        self.assertEqual(self.last().policy.network_policy, "")
        client.call(tool_call("lab__echo", policy=policy))
        self.assertEqual(self.last().policy.network_policy, "DENY_ALL")

    def test_arguments_are_checked_here(self) -> None:
        before = len(self.provider.requests)
        error = self.refused(
            Status.INVALID_ARGUMENT,
            "VALIDATION_ERROR",
            lambda: self.client().call(tool_call("lab__strict", {"n": "x"})),
        )
        self.assertIn("/n", error.details())
        self.assertEqual(len(self.provider.requests), before)

    def test_results_keep_their_type_and_every_byte(self) -> None:
        self.provider.call = lambda request, _: frame(
            request, b"\x00\xff\x01", content_type="image/x-test"
        )
        answer = self.client().call(tool_call("lab__echo"))
        self.assertEqual((answer.content_type, answer.data), ("image/x-test", b"\x00\xff\x01"))
        self.provider.call = lambda request, _: frame(
            request, "grüß".encode(), content_type="text/plain"
        )
        answer = self.client().call(tool_call("lab__echo"))
        self.assertEqual((answer.content_type, answer.data.decode()), ("text/plain", "grüß"))

    def test_its_errors_come_through_with_token_and_text(self) -> None:
        client = self.client()
        cases = [
            (Status.UNKNOWN, "TOOL_FAILED: exit status 3", "false", Status.UNKNOWN, "TOOL_FAILED"),
            (
                Status.INVALID_ARGUMENT,
                "VALIDATION_ERROR: /n is wrong",
                "false",
                Status.INVALID_ARGUMENT,
                "VALIDATION_ERROR",
            ),
            (
                Status.RESOURCE_EXHAUSTED,
                "OVERSIZE_PAYLOAD: too much",
                "false",
                Status.RESOURCE_EXHAUSTED,
                "OVERSIZE_PAYLOAD",
            ),
            (
                Status.DEADLINE_EXCEEDED,
                "WALL_TIMEOUT: over",
                "false",
                Status.DEADLINE_EXCEEDED,
                "WALL_TIMEOUT",
            ),
            (Status.UNKNOWN, "it broke", None, Status.UNKNOWN, "TOOL_FAILED"),
            (
                Status.UNAUTHENTICATED,
                "who are you",
                None,
                Status.PERMISSION_DENIED,
                "PERMISSION_DENIED",
            ),
            (Status.INTERNAL, "bug", None, Status.INTERNAL, "INTERNAL_ERROR"),
        ]
        for status, message, retry_able, expected, token in cases:
            trailers = {} if retry_able is None else {"retry_able": retry_able}
            self.provider.call = lambda _, context, s=status, m=message, t=trailers: refuse(
                context, s, m, **t
            )
            error = self.refused(expected, token, lambda: client.call(tool_call("lab__once")))
            self.assertIn(message.split(": ")[-1], error.details())

    def test_sw4rm_43_only_idempotent_tools_are_called_again_with_the_same_id(self) -> None:
        def fail_once(request: Any, context: grpc.ServicerContext) -> Any:
            if len(self.provider.calls_of(request.tool_name)) == self.calls + 1:
                refuse(context, Status.UNAVAILABLE, "try again")
            return frame(request, request.args)

        self.provider.call = fail_once
        self.calls = len(self.provider.calls_of("echo"))
        answer = self.client().call(tool_call("lab__echo", {"a": 1}))
        self.assertEqual((json.loads(answer.data), summary_of(answer)["attempts"]), ({"a": 1}, 2))
        ids = {request.call_id for request in self.provider.calls_of("echo")[self.calls :]}
        self.assertEqual(len(ids), 1)
        self.calls = len(self.provider.calls_of("once"))
        self.refused(
            Status.UNKNOWN, "OUTCOME_UNKNOWN", lambda: self.client().call(tool_call("lab__once"))
        )
        self.assertEqual(len(self.provider.calls_of("once")), self.calls + 1)

    def test_a_timeout_ends_the_call_and_cancels_it_there(self) -> None:
        released = threading.Event()
        self.addCleanup(released.set)
        self.provider.call = lambda request, _: (released.wait(PATIENCE), frame(request, b"{}"))[1]
        policy = tool_pb().ExecutionPolicy()
        policy.timeout.FromMilliseconds(200)
        self.refused(
            Status.DEADLINE_EXCEEDED,
            "TOOL_TIMEOUT",
            lambda: self.client().call(tool_call("lab__once", policy=policy)),
        )
        self.assertEqual(
            self.provider.cancelled.get(timeout=PATIENCE),
            self.provider.calls_of("once")[-1].call_id,
        )

    def test_sw4rm_47_two_callers_with_one_call_id_never_meet(self) -> None:
        request = tool_call("lab__echo", {"a": 1}, call_id=self.unique("same"))
        self.client("one").call(request)
        self.client("two").call(request)
        ids = [sent.call_id for sent in self.provider.calls_of("echo")[-2:]]
        self.assertNotEqual(ids[0], ids[1])


class StreamingOutTest(ProviderCase):
    def test_frames_pass_through_while_the_tool_runs(self) -> None:
        seen = threading.Event()
        self.addCleanup(seen.set)

        def stream(request: Any, _: Any) -> Iterator[Any]:
            yield frame(request, b"one ", 1, False, "text/plain")
            assert seen.wait(PATIENCE), "the first frame did not come through while the tool ran"
            yield frame(request, b"two", 5, False, "text/plain")
            yield frame(request, b"", 9, True, "text/plain", b'{"cpu_ms":3}')

        self.provider.call_stream = stream
        got = []
        for each in self.client().call_stream(tool_call("lab__echo")):
            got.append(each)
            seen.set()
        self.assertEqual(b"".join(each.data for each in got), b"one two")
        self.assertEqual([each.frame_no for each in got], list(range(1, len(got) + 1)))
        self.assertEqual([each.final for each in got], [False] * (len(got) - 1) + [True])
        self.assertTrue(self.last().stream)

    def test_a_provider_may_number_its_frames_from_0(self) -> None:
        self.provider.call_stream = lambda request, _: iter(
            [
                frame(request, b"x", 0, False),
                frame(request, b"y", 1, False),
                frame(request, b"z", 2),
            ]
        )
        got = list(self.client().call_stream(tool_call("lab__once")))
        self.assertEqual(
            (b"".join(each.data for each in got), [each.frame_no for each in got]),
            (b"xyz", list(range(1, len(got) + 1))),
        )
        self.provider.call_stream = lambda request, _: iter(
            [frame(request, b"x", 0, False), frame(request, b"y", 0)]
        )
        self.refused(
            Status.INTERNAL,
            "INTERNAL_ERROR",
            lambda: list(self.client().call_stream(tool_call("lab__once"))),
        )

    def test_a_broken_stream_is_a_failure(self) -> None:
        def foreign(request: Any, _: Any) -> Iterator[Any]:
            yield tool_pb().ToolFrame(call_id="another", frame_no=1, final=True)

        streams = {
            "no final frame": lambda request, _: iter([frame(request, b"x", 1, False)]),
            "another call": foreign,
            "out of order": lambda request, _: iter(
                [frame(request, b"x", 2, False), frame(request, b"y", 2)]
            ),
        }
        for what, stream in streams.items():
            self.provider.call_stream = stream
            error = self.refused(
                Status.INTERNAL,
                "INTERNAL_ERROR",
                lambda: list(self.client().call_stream(tool_call("lab__once"))),
            )
            self.assertIn(what, error.details())

    def test_a_reader_that_drops_its_rpc_ends_the_call_there(self) -> None:
        ended = threading.Event()

        def endless(request: Any, context: grpc.ServicerContext) -> Iterator[Any]:
            context.add_callback(ended.set)
            number = 0
            while context.is_active():
                number += 1
                yield frame(request, b"x" * 1000, number, False, "text/plain")

        self.provider.call_stream = endless
        stream = self.client().call_stream(tool_call("lab__echo"))
        next(iter(stream))
        stream.cancel()
        self.assertTrue(ended.wait(PATIENCE), "the provider's call goes on")

    def test_a_reader_that_does_not_read_holds_the_provider_back(self) -> None:
        written, ended = [0], threading.Event()
        noise = os.urandom(262_144)  # packed, a window would hold many frames of one letter

        def much(request: Any, context: grpc.ServicerContext) -> Iterator[Any]:
            context.add_callback(ended.set)
            while context.is_active() and written[0] < 400:
                written[0] += 1
                yield frame(
                    request, noise, written[0], written[0] == 400, "application/octet-stream"
                )

        self.provider.call_stream = much
        patient = tool_pb().ExecutionPolicy()
        patient.timeout.FromSeconds(60)
        resident = self.gateway.forget_peak()
        stream = self.client(options=(("grpc.http2.lookahead_bytes", 65_536),)).call_stream(
            tool_call("lab__once", policy=patient), timeout=12 * PATIENCE
        )
        first = next(iter(stream))
        self.assertEqual(first.frame_no, 1)
        # Not reading: what is written comes to a stop before the hundred megabytes are through.
        last, same = -1, 0

        def stopped() -> bool:
            nonlocal last, same
            same = same + 1 if written[0] == last else 0
            last = written[0]
            return same > 30

        eventually(stopped, "the provider is held back")
        self.assertLess(written[0], 400)
        total = len(first.data) + sum(len(each.data) for each in stream)
        self.assertEqual(total, 400 * 262_144)
        self.assertLess(self.gateway.growth_since(resident), 40 * 1024 * 1024)


class LifeTest(GrpcCase):
    def test_a_provider_that_comes_up_later_is_found_and_one_that_went_fails_at_once(self) -> None:
        provider = GrpcProvider([descriptor("late")])
        self.addCleanup(provider.stop)
        provider.stop()
        with Gateway(
            {
                "grpc": {"listen": "127.0.0.1:0"},
                "providers": [{"id": "far", "kind": "grpc", "address": provider.address}],
            }
        ) as gateway:
            self.assertNotIn("late", gateway.tools())
            provider.start()
            gateway.wait_listed("late")
            self.assertEqual(gateway.call("late", {"a": 1}).result, {"a": 1})
            provider.stop()
            self.assertEqual(gateway.call("late", {"a": 1}).code, "DEPENDENCY_UNAVAILABLE")
            provider.start()
            eventually(lambda: gateway.call("late", {"a": 2}).status == "ok", "it is called again")

    def test_a_call_that_was_sent_and_lost_is_in_doubt(self) -> None:
        provider = GrpcProvider([descriptor("lost")])
        self.addCleanup(provider.stop)
        begun, released = threading.Event(), threading.Event()
        self.addCleanup(released.set)
        provider.call = lambda request, _: (
            begun.set(),
            released.wait(6 * PATIENCE),
            frame(request, b"{}"),
        )[2]
        with Gateway(
            {"providers": [{"id": "far", "kind": "grpc", "address": provider.address}]}
        ) as gateway:
            gateway.wait_listed("lost")
            future = gateway.start_call("lost")
            self.assertTrue(begun.wait(PATIENCE))
            provider.stop()
            self.assertIn(future.result(PATIENCE).code, ("OUTCOME_UNKNOWN", "CANCELLED"))


class TlsTest(GrpcCase):
    """A provider over mutual TLS: it wants the gateway's certificate, and the gateway checks its
    name and chain."""

    CONFIG: ClassVar[dict[str, Any]] = {}

    def test_a_provider_is_called_over_mutual_tls_and_not_under_another_name(self) -> None:
        folder = Path(self.enterContext(tempfile.TemporaryDirectory(prefix="crab-grpc-")))
        (cert, key), (mine, my_key) = self_signed(folder, "provider"), self_signed(
            folder, "gateway"
        )
        other, _ = self_signed(folder, "other", "127.0.0.9")
        credentials = grpc.ssl_server_credentials(
            [(key.read_bytes(), cert.read_bytes())], mine.read_bytes(), True
        )
        provider = GrpcProvider([descriptor("safe")], credentials=credentials)
        self.addCleanup(provider.stop)
        tls = {"ca": str(cert), "cert": str(mine), "key": str(my_key)}
        base = {"kind": "grpc", "address": provider.address}
        with Gateway(
            {
                "providers": [
                    {"id": "far", **base, "tls": tls},
                    {"id": "bare", **base, "tls": {"ca": str(cert)}},
                    {"id": "stranger", **base, "tls": {**tls, "ca": str(other)}},
                ]
            }
        ) as gateway:
            gateway.wait_listed("safe")
            self.assertEqual(gateway.call("safe", {"a": 1}).result, {"a": 1})
            self.assertNotIn("bare__safe", gateway.tools())
            self.assertNotIn("stranger__safe", gateway.tools())


class RegisterTest(ProviderCase):
    def register(self, caller: str, provider: str, *tools: Any) -> Any:
        request = connector_pb().ProviderRegisterRequest(provider_id=provider, tools=tools)
        return self.client(caller).unary(
            "/sw4rm.connector.ConnectorService/RegisterProvider",
            request,
            connector_pb().ProviderRegisterResponse,
        )[0]

    def test_sw4rm_61_registering_replaces_the_tools_all_or_nothing_and_only_by_the_principal(
        self,
    ) -> None:
        self.assertTrue(self.register("mute", "mute", descriptor("first"), descriptor("second")).ok)
        self.gateway.wait_listed("first", "second")
        self.assertEqual(self.gateway.call("first", {"a": 1}).result, {"a": 1})
        self.assertTrue(self.register("mute", "mute", descriptor("second"), descriptor("third")).ok)
        self.gateway.wait_gone("first")
        bad = connector_pb().ToolDescriptor(tool_name="x", input_schema='{"type": 7}')
        url = connector_pb().ToolDescriptor(
            tool_name="y", input_schema="https://example.org/schema.json"
        )
        refusals = [
            ("tester", "mute", [descriptor("x")], "principal"),
            ("mute", "lab", [descriptor("x")], "principal"),
            ("mute", "nobody", [descriptor("x")], "unknown provider"),
            ("mute", "mute", [descriptor("ok"), bad], "schema"),
            ("mute", "mute", [descriptor("ok"), url], "URL"),
            ("mute", "mute", [descriptor("echo_text"), descriptor("no name")], "name"),
            ("mute", "mute", [descriptor("declared")], "reserved"),
        ]
        for caller, provider, tools, reason in refusals:
            answer = self.register(caller, provider, *tools)
            self.assertFalse(answer.ok, reason)
            self.assertIn(reason, answer.reason)
        listed = self.gateway.tools()
        self.assertTrue({"second", "third"} <= listed.keys())
        self.assertFalse({"x", "y", "ok"} & listed.keys())

    def test_a_list_that_was_asked_for_before_does_not_replace_what_is_registered(self) -> None:
        provider = GrpcProvider([])
        self.addCleanup(provider.stop)
        asked, go = threading.Event(), threading.Event()
        self.addCleanup(go.set)
        provider.before_description = lambda: (asked.set(), go.wait(10))
        entry = {
            "id": "late",
            "kind": "grpc",
            "address": provider.address,
            "principal": "caller/late",
        }
        with Gateway({**GrpcCase.CONFIG, "providers": [entry]}) as gateway:
            self.assertTrue(asked.wait(PATIENCE))
            client = ToolServiceClient(gateway.grpc, gateway.caller_token("late"))
            self.addCleanup(client.close)
            answer, _ = client.unary(
                "/sw4rm.connector.ConnectorService/RegisterProvider",
                connector_pb().ProviderRegisterRequest(
                    provider_id="late", tools=[descriptor("newer")]
                ),
                connector_pb().ProviderRegisterResponse,
            )
            self.assertTrue(answer.ok, answer.reason)
            go.set()
            # An unknown tool makes the gateway ask for the list again; the first answer is read.
            provider.call = lambda _, context: refuse(
                context, Status.NOT_FOUND, "TOOL_NOT_FOUND: not yet"
            )
            gateway.call("newer", {"a": 1})
            eventually(lambda: provider.described > 1, "the list is asked for again")
            provider.call = lambda request, _: frame(request, request.args)
            self.assertEqual(gateway.call("newer", {"a": 1}).result, {"a": 1})
