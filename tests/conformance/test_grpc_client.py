"""docs/protocols/sw4rm.md, section 13: crab::ToolClient over gRPC, against a server of grpcio and
against the gateway."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import tempfile
import threading
import unittest
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
from support.certificates import self_signed
from support.gateway import Gateway
from support.grpc_provider import GrpcProvider, descriptor, frame, refuse
from support.wait import PATIENCE
from test_grpc import Status


class Client:
    """The test program as a process; commands go in, answers come out, one JSON object per line."""

    def __init__(self, address: str, *words: str) -> None:
        program = os.environ["GRPC_TEST_CLIENT"]
        self.process = subprocess.Popen(
            [program, address, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self._lines: queue.Queue[str] = queue.Queue()
        self._reader = threading.Thread(
            target=lambda: [self._lines.put(line) for line in self.process.stdout], daemon=True
        )
        self._reader.start()

    def send(self, do: str, **members: Any) -> None:
        texts = {
            name: value if isinstance(value, (str, bool, int)) else json.dumps(value)
            for name, value in members.items()
        }
        self.process.stdin.write(json.dumps({"do": do, **texts}) + "\n")
        self.process.stdin.flush()

    def answer(self) -> dict[str, Any]:
        return json.loads(self._lines.get(timeout=3 * PATIENCE))

    def ask(self, do: str, **members: Any) -> dict[str, Any]:
        self.send(do, **members)
        return self.answer()

    def close(self) -> int:
        self.process.stdin.close()
        status = self.process.wait(3 * PATIENCE)
        self._reader.join(PATIENCE)
        self.process.stdout.close()
        return status


class ClientCase(unittest.TestCase):
    def setUp(self) -> None:
        self.provider = GrpcProvider([descriptor("echo", idempotent=True), descriptor("once")])
        self.addCleanup(self.provider.stop)
        self.client = Client(f"grpc://{self.provider.address}", "t0ken")
        self.addCleanup(lambda: self.assertEqual(self.client.close(), 0))

    def call(
        self, tool: str = "echo", args: Any = None, do: str = "call", **options: Any
    ) -> dict[str, Any]:
        return self.client.ask(do, tool=tool, args=json.dumps(args or {}), **options)

    def attempts(self) -> list[str]:
        return [metadata["x-attempt"] for metadata in self.provider.metadata]


class CallTest(ClientCase):
    def test_sw4rm_63_every_call_has_an_id_a_deadline_and_a_correlation_id(self) -> None:
        answer = self.call(args={"a": 1})
        self.assertEqual(
            (answer["status"], json.loads(answer["result"]), answer["content_type"]),
            ("ok", {"a": 1}, "application/json"),
        )
        request, metadata = self.provider.requests[-1], self.provider.metadata[-1]
        self.assertRegex(request.call_id, "^[0-9a-f]{8}-[0-9a-f]{4}-7")
        self.assertEqual(answer["call_id"], request.call_id)
        self.assertFalse(request.stream)
        self.assertTrue(30 < self.provider.timeouts[-1] <= 35.1)
        self.assertTrue(metadata["x-correlation-id"])
        self.assertEqual(
            (metadata["authorization"], metadata["x-attempt"], metadata["user-agent"]),
            ("Bearer t0ken", "1", "grpc-test-client/7"),
        )
        self.call(do="stream", timeout_ms=2000, call_id="mine", network="none", provider_id="lab")
        self.client.answer()
        request = self.provider.requests[-1]
        self.assertTrue(request.stream)
        self.assertEqual(
            (
                request.call_id,
                request.provider_id,
                request.policy.network_policy,
                request.policy.timeout.ToMilliseconds(),
            ),
            ("mine", "lab", "none", 2000),
        )
        self.assertTrue(5 < self.provider.timeouts[-1] <= 7.1)

    def test_sw4rm_64_it_repeats_unavailable_for_idempotent_tools_only_under_the_same_id(
        self,
    ) -> None:
        self.provider.call = lambda _, context: refuse(
            context,
            Status.UNAVAILABLE,
            "AGENT_UNAVAILABLE: away",
            retry_able="true",
            error_code="AGENT_UNAVAILABLE",
        )
        answer = self.call("echo")
        self.assertEqual(
            (answer["status"], answer["code"], answer["retryable"]),
            ("retryable_error", "UNAVAILABLE", True),
        )
        self.assertEqual(self.attempts(), ["1", "2", "3"])
        self.assertEqual(len({request.call_id for request in self.provider.requests}), 1)
        self.assertEqual(self.call("once")["status"], "retryable_error")
        self.assertEqual(self.attempts()[3:], ["1"])
        self.call("once", idempotent=True)
        self.assertEqual(self.attempts()[4:], ["1", "2", "3"])

    def test_sw4rm_64_it_repeats_nothing_else(self) -> None:
        refusals = [
            (Status.UNAVAILABLE, "AGENT_UNAVAILABLE: away", "false"),
            (Status.ABORTED, "ALREADY_IN_PROGRESS: wait", "true"),
            (Status.DEADLINE_EXCEEDED, "TOOL_TIMEOUT: late", "false"),
            (Status.RESOURCE_EXHAUSTED, "OVERLOADED: busy", "true"),
        ]
        for status, message, retry_able in refusals:
            before = len(self.provider.requests)
            self.provider.call = lambda _, context, s=status, m=message, r=retry_able: refuse(
                context, s, m, retry_able=r
            )
            self.call("echo")
            self.assertEqual(len(self.provider.requests), before + 1, message)

    def test_the_error_is_read_from_token_trailer_and_status(self) -> None:
        cases = [
            (Status.UNKNOWN, "TOOL_FAILED: exit status 3", {}, "error", "TOOL_FAILED"),
            (
                Status.UNKNOWN,
                "no token here",
                {"error_code": "WALL_TIMEOUT"},
                "error",
                "WALL_TIMEOUT",
            ),
            (
                Status.DEADLINE_EXCEEDED,
                "TOOL_TIMEOUT: late",
                {"retry_able": "false"},
                "timeout",
                "TIMEOUT",
            ),
            (Status.PERMISSION_DENIED, "no", {}, "error", "FORBIDDEN"),
            (Status.INVALID_ARGUMENT, "VALIDATION_ERROR: /n", {}, "error", "INVALID_ARGS"),
        ]
        for status, message, trailers, expected, code in cases:
            self.provider.call = lambda _, context, s=status, m=message, t=trailers: refuse(
                context, s, m, **t
            )
            answer = self.call("once")
            self.assertEqual((answer["status"], answer["code"]), (expected, code), message)

    def test_arguments_that_are_no_object_are_not_sent(self) -> None:
        self.assertEqual(self.client.ask("call", tool="echo", args="[1]")["code"], "INVALID_ARGS")
        self.assertEqual(self.provider.requests, [])

    def test_nobody_there_is_said(self) -> None:
        self.provider.stop()
        answer = self.call("once")
        self.assertEqual((answer["status"], answer["code"]), ("no_answer", "UNAVAILABLE"))

    def test_tools_are_listed_and_calls_cancelled(self) -> None:
        self.assertEqual(self.client.ask("list")["tools"], ["echo", "once"])
        self.assertEqual(
            self.client.ask("cancel", call_id="c1")["status"], "cancelling"
        )  # the server says CANCELED
        self.assertEqual(self.provider.cancelled.get(timeout=PATIENCE), "c1")


class StreamTest(ClientCase):
    def frames(self) -> tuple[list[dict[str, Any]], dict[str, Any]]:
        frames = []
        while "frame" in (answer := self.client.answer()):
            frames.append(answer)
        return frames, answer

    def stream(self, stream: Any, **options: Any) -> tuple[list[dict[str, Any]], dict[str, Any]]:
        self.provider.call_stream = stream
        self.client.send("stream", tool="once", args="{}", **options)
        return self.frames()

    def test_frames_come_while_the_tool_runs_and_add_up(self) -> None:
        seen = threading.Event()
        self.addCleanup(seen.set)

        def slow(request: Any, _: Any) -> Iterator[Any]:
            yield frame(request, b"one ", 1, False, "text/plain")
            assert seen.wait(PATIENCE)
            yield frame(request, b"two", 2, True, "text/plain", b'{"replayed":true}')

        self.provider.call_stream = slow
        self.client.send("stream", tool="once", args="{}")
        self.assertEqual(self.client.answer()["data"], "one ")
        seen.set()
        frames, answer = self.frames()
        self.assertEqual([each["data"] for each in frames], ["two"])
        self.assertEqual(
            (answer["status"], answer["result"], answer["replayed"]), ("ok", "one two", True)
        )

    def test_sw4rm_65_a_stream_without_final_frame_has_failed(self) -> None:
        frames, answer = self.stream(lambda request, _: iter([frame(request, b"x", 1, False)]))
        self.assertEqual(
            (len(frames), answer["status"], answer["code"]), (1, "no_answer", "INTERNAL")
        )
        for broken in ([(1, False), (1, True)], [(2, False), (1, True)], [(1, True), (2, True)]):
            _, answer = self.stream(
                lambda request, _, b=broken: iter(
                    [frame(request, b"x", number, final) for number, final in b]
                )
            )
            self.assertEqual(answer["code"], "INTERNAL", broken)

    def test_a_stream_that_has_begun_is_not_repeated(self) -> None:
        def broken(request: Any, context: grpc.ServicerContext) -> Iterator[Any]:
            yield frame(request, b"x", 1, False)
            refuse(context, Status.UNAVAILABLE, "AGENT_UNAVAILABLE: away", retry_able="true")

        self.stream(broken, idempotent=True)
        self.assertEqual(len(self.provider.requests), 1)

    def test_a_caller_that_has_enough_ends_the_call_there(self) -> None:
        ended = threading.Event()

        def endless(request: Any, context: grpc.ServicerContext) -> Iterator[Any]:
            context.add_callback(ended.set)
            number = 0
            while context.is_active():
                number += 1
                yield frame(request, b"x", number, False)

        frames, answer = self.stream(endless, stop_after=2)
        self.assertEqual((len(frames), answer["code"]), (2, "CANCELLED"))
        self.assertTrue(ended.wait(PATIENCE))


class GatewayTest(unittest.TestCase):
    def test_the_gateway_is_called_over_tcp_and_over_its_unix_socket(self) -> None:
        with Gateway({"grpc": {"listen": "127.0.0.1:0"}}) as gateway:
            self._ask(gateway, f"grpc://{gateway.grpc}", gateway.caller_token())
        socket = "/tmp/crab-grpc-test-%d.sock" % os.getpid()
        with Gateway({"grpc": {"unix": socket}}) as gateway:
            self.assertEqual(gateway.grpc, f"unix:{socket}")
            answer = self._ask(gateway, f"grpc+unix:{socket}")
            self.assertEqual(answer["status"], "ok")
        self.assertFalse(os.path.exists(socket))

    def test_the_gateway_is_called_over_tls(self) -> None:
        folder = Path(self.enterContext(tempfile.TemporaryDirectory(prefix="crab-grpc-")))
        cert, key = self_signed(folder)
        with Gateway(
            {"grpc": {"listen": "127.0.0.1:0", "tls": {"cert": str(cert), "key": str(key)}}}
        ) as gateway:
            self._ask(gateway, f"grpcs://{gateway.grpc}", gateway.caller_token(), str(cert))

    def _ask(self, gateway: Gateway, address: str, *words: str) -> dict[str, Any]:
        client = Client(address, *words)
        tools = client.ask("list")["tools"]
        self.assertIn("list_devices", tools)
        answer = client.ask("call", tool="list_devices", args="{}")
        self.assertEqual(answer["status"], "ok", answer)
        self.assertIn("duration_ms", json.loads(answer["summary"]))
        self.assertEqual(client.ask("cancel", call_id="nothing")["status"], "not_found")
        self.assertEqual(client.close(), 0)
        return answer


if __name__ == "__main__":
    unittest.main()
