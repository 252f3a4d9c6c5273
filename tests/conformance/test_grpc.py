"""docs/protocols/sw4rm.md on the gRPC listener, with grpcio as the client: calls, streams, cancels, errors, repeats.

`test_sw4rm_NN_...` is number NN of section 14 of that page.
"""

from __future__ import annotations

import json
import re
from typing import Any

import grpc
from support.case import GatewayCase
from support.device import Device, tool
from support.tool_service import ToolServiceClient, summary_of, tool_call, tool_pb, trailers_of
from support.wait import eventually

_UUID_V7 = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")


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
        self.assertEqual((error.code(), error.details().split(":")[0]), (status, token), error.details())
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
        for path in ("/sw4rm.tool.ToolService/Nope", "/agentos.tool.ToolService/Call", "/sigagent.tool.ToolService/Call"):
            with self.assertRaises(grpc.RpcError) as caught:
                client.unary(path, tool_call(name), tool_pb().ToolFrame)
            self.assertEqual(caught.exception.code(), grpc.StatusCode.UNIMPLEMENTED)

    def test_sw4rm_11_a_good_call_is_one_frame_with_everything(self) -> None:
        frame = self.client().call(tool_call(self.echo(), {"n": 1}, call_id="wc-7"))
        self.assertEqual((frame.call_id, frame.frame_no, frame.final, frame.content_type), ("wc-7", 1, True, "application/json"))
        self.assertEqual(json.loads(frame.data), {"n": 1})
        summary = summary_of(frame)
        self.assertEqual((summary["status"], summary["frames"], summary["bytes"]), ("ok", 1, len(frame.data)))

    def test_sw4rm_08_an_empty_id_becomes_a_uuid_and_a_long_one_is_refused(self) -> None:
        client, name = self.client(), self.echo()
        self.assertRegex(client.call(tool_call(name)).call_id, _UUID_V7)
        frames = list(client.call_stream(tool_call(name)))
        self.assertEqual(len({frame.call_id for frame in frames}), 1)
        self.assertRegex(frames[0].call_id, _UUID_V7)
        self.assertTrue(client.call(tool_call(name, call_id="x" * 256)).final)
        self.refused(grpc.StatusCode.INVALID_ARGUMENT, "VALIDATION_ERROR", lambda: client.call(tool_call(name, call_id="x" * 257)))
