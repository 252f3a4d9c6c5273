"""docs/protocols/sw4rm.md, sections 2 and 7: the correlation id, in every log line about a call and
in the trailers (checklist 58)."""

from __future__ import annotations

import json
import unittest
from collections.abc import Callable
from typing import Any

import grpc
from support.approver import Approver
from support.asked_services import HitlService
from support.tool_service import connector_pb, tool_call, tool_pb, trailers_of
from test_commands import can_sandbox, limits_memory, shell
from test_grpc import _UUID_V7, GrpcCase, Status

_OUT = {
    "defaults": {"privilege": "DEFAULT", "network": "EGRESS_RESTRICTED"},
    "ceilings": {"privilege": "DEFAULT", "network": "EGRESS_RESTRICTED"},
}


class CorrelationCase(GrpcCase):
    CONFIG = {**GrpcCase.CONFIG, "gateway": {"log": {"format": "json"}}}

    def lines(self) -> list[dict[str, Any]]:
        return [
            json.loads(line) for line in (self.gateway.folder / "stderr").read_text().splitlines()
        ]

    def told_of(self, call: Callable[[dict[str, str]], grpc.Call]) -> list[str]:
        """What is logged while `call` runs with an id of the caller's and with none: each line has
        that id, and so have the trailers."""
        events: list[str] = []
        for given in (self.unique("corr"), ""):
            before = len(self.lines())
            made = trailers_of(call({"x-correlation-id": given} if given else {}))["correlation-id"]
            self.assertEqual(made, given) if given else self.assertRegex(made, _UUID_V7)
            fresh = self.lines()[before:]
            self.assertEqual([line for line in fresh if line.get("trace_id") != made], [])
            events = [line["event"] for line in fresh]
        return events

    def fails(
        self, request: Any, token: str, timeout: float = 10
    ) -> Callable[[dict[str, str]], grpc.Call]:
        def call(metadata: dict[str, str]) -> grpc.Call:
            request.call_id = self.unique("id")
            with self.assertRaises(grpc.RpcError) as caught:
                self.client().call(request, metadata=metadata, timeout=timeout)
            self.assertEqual(caught.exception.details().split(":")[0], token)
            return caught.exception

        return call


class TrailersTest(CorrelationCase):
    def test_sw4rm_58_every_rpc_ends_with_the_correlation_id(self) -> None:
        client, name = self.client(), self.echo()
        request, service = tool_call(name), "/sw4rm.tool.ToolService"
        connector, describe = (
            "/sw4rm.connector.ConnectorService",
            connector_pb().DescribeToolsRequest(),
        )

        def stream(metadata: dict[str, str]) -> grpc.Call:
            frames = client.call_stream(request, metadata=metadata)
            self.assertTrue(list(frames)[-1].final)
            return frames

        self.told_of(
            lambda metadata: client.unary(
                f"{service}/Call", request, tool_pb().ToolFrame, metadata
            )[1]
        )
        self.told_of(stream)
        self.told_of(
            lambda metadata: client.unary(
                f"{service}/Cancel", tool_call("", call_id="none"), tool_pb().ToolError, metadata
            )[1]
        )
        self.told_of(
            lambda metadata: client.unary(
                f"{connector}/DescribeTools",
                describe,
                connector_pb().DescribeToolsResponse,
                metadata,
            )[1]
        )
        for broken, token in (
            (tool_call(name, b"{"), "VALIDATION_ERROR"),
            (tool_call("no-such"), "NOT_FOUND"),
            (tool_call(name, provider_id="nobody"), "NO_ROUTE"),
        ):
            self.told_of(self.fails(broken, token))

    def test_sw4rm_58_x_correlation_id_comes_before_x_request_id(self) -> None:
        both = {"x-correlation-id": "the-first", "x-request-id": "the-second"}
        _, call = self.client().unary(
            "/sw4rm.tool.ToolService/Call", tool_call("list_devices"), tool_pb().ToolFrame, both
        )
        self.assertEqual(trailers_of(call)["correlation-id"], "the-first")


class LogTest(CorrelationCase):
    """Whatever there is to say of a call, with nothing else going on."""

    @classmethod
    def setUpClass(cls) -> None:
        cls.hitl = HitlService(lambda *_: "approve")
        cls.addClassCleanup(cls.hitl.close)
        commands = [
            {
                "id": "outward",
                "kind": "command",
                "egress": ["listed.example:80"],
                "tools": [shell("out", **_OUT)],
            },
            {
                "id": "workshop",
                "kind": "command",
                "tools": [
                    shell(
                        "make",
                        defaults={"privilege": "DEFAULT"},
                        ceilings={"privilege": "ELEVATED"},
                    )
                ],
            },
        ]
        cls.CONFIG = {
            **CorrelationCase.CONFIG,
            "hooks": [
                {"name": "broken", "type": "command", "tools": ["hooked*"], "run": ["/bin/false"]}
            ],
            "policy": [{"principal": "*", "call": {"needs_approval": ["asked*"]}}],
            "hitl": {"address": cls.hitl.address},
            "providers": commands if can_sandbox() else [],
        }
        super().setUpClass()

    def setUp(self) -> None:
        super().setUp()
        self.hitl.decide = lambda *_: "approve"
        self.client()  # the caller's token is issued before anything is listened to

    def test_sw4rm_58_a_hook_that_does_not_work(self) -> None:
        name = self.unique("hooked")
        self.device_with(name)
        self.assertEqual(
            self.told_of(self.fails(tool_call(name), "PERMISSION_DENIED")),
            ["a hook does not work, and so calls are denied"],
        )

    def test_sw4rm_58_an_approval_and_its_end(self) -> None:
        name = self.unique("asked")
        self.device_with(name).serve({name: lambda _: "ok"})

        def call(metadata: dict[str, str]) -> grpc.Call:
            return self.client().unary(
                "/sw4rm.tool.ToolService/Call",
                tool_call(name, call_id=self.unique("id")),
                tool_pb().ToolFrame,
                metadata,
            )[1]

        self.assertEqual(self.told_of(call), ["a call waits for an approval", "approval allowed"])

    def test_sw4rm_58_a_service_that_does_not_decide(self) -> None:
        name = self.unique("asked")
        self.device_with(name)
        self.hitl.decide = lambda _, context: context.abort(Status.INTERNAL, "nobody at the desk")
        events = self.told_of(self.fails(tool_call(name), "APPROVAL_REQUIRED"))
        self.assertEqual(
            events,
            [
                "a call waits for an approval",
                "the hitl service did not decide",
                "approval unattended",
            ],
        )

    @unittest.skipUnless(can_sandbox(), "commands cannot be confined here under DEFAULT")
    def test_sw4rm_58_a_command_that_may_not_connect(self) -> None:
        if not limits_memory():
            self.skipTest("no control group limits memory here, so no network is offered")
        dial = (
            "use Socket; socket(S, PF_INET, SOCK_STREAM, 0); connect(S, sockaddr_in(3128, "
            "INADDR_LOOPBACK));"
            "syswrite(S, qq(CONNECT a.example:80 HTTP/1.1\\r\\nHost: a\\r\\n\\r\\n)); read(S, $b, "
            "12); exit 3"
        )
        events = self.told_of(
            self.fails(tool_call("out", {"script": f"perl -e '{dial}'"}), "TOOL_FAILED")
        )
        self.assertEqual(events, ["a command may not connect there"])

    @unittest.skipUnless(can_sandbox(), "commands cannot be confined here under DEFAULT")
    def test_sw4rm_58_an_elevated_command_that_fails_when_somebody_has_allowed_it(self) -> None:
        self.hitl.decide = lambda _, context: context.abort(Status.UNAVAILABLE, "closed")
        request = tool_call(
            "make",
            {"script": "exit 3"},
            policy=tool_pb().ExecutionPolicy(privilege_level="ELEVATED"),
        )
        with Approver(self.gateway) as approver:

            def call(metadata: dict[str, str]) -> grpc.Call:
                request.call_id = self.unique("id")
                running = self.client().start(request, metadata=metadata)
                approver.decide(approver.question()["id"], "allow")
                self.refused(Status.UNKNOWN, "TOOL_FAILED", running.result)
                approver.end()
                return running

            events = self.told_of(call)
        self.assertEqual(
            [event for event in events if "hitl" not in event],
            ["a call waits for an approval", "approval allowed"],
        )


if __name__ == "__main__":
    unittest.main()
