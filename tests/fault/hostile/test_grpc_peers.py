"""gRPC: a caller whose messages do not end and whose streams are not read; a provider that answers
without end, wrongly, late or too much."""

from __future__ import annotations

import json
import struct
import threading
from typing import Any

import grpc
from hostile_case import HostileCase, Refused
from support.device import tool
from support.grpc_provider import GrpcProvider, descriptor, frame
from support.stream import Stream
from support.tool_service import tool_call, tool_pb

MIB = 1 << 20
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0\4\0\0\0\0\0"


def h2_frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    return (
        struct.pack(">I", len(payload))[1:]
        + bytes([kind, flags])
        + struct.pack(">I", stream)
        + payload
    )


def fields(**values: str) -> bytes:
    """A block of literal fields, not indexed (RFC 7541, section 6.2.2)."""
    block = b""
    for name, value in values.items():
        word, text = name.replace("__", ":").replace("_", "-").encode(), value.encode()
        block += b"\0" + bytes([len(word)]) + word + bytes([len(text)]) + text
    return block


class CallerTest(HostileCase):
    CONFIG = {"grpc": {"listen": "127.0.0.1:0"}}

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        host, _, port = cls.gateway.grpc.rpartition(":")
        cls.address = (host, int(port))
        cls.token = cls.gateway.pair("attacker", ("caller",))

    def setUp(self) -> None:
        super().setUp()
        self.tool = self.unique("slow")
        self.device = self.open()
        self.device.register(tool(self.tool))

    def head(self, method: str = "Call") -> bytes:
        return fields(
            __method="POST",
            __scheme="http",
            __path=f"/sw4rm.tool.ToolService/{method}",
            __authority="localhost",
            content_type="application/grpc",
            te="trailers",
            authorization=f"Bearer {self.token}",
        )

    def test_messages_that_do_not_end(self) -> None:
        """Each stream has announced 4 MiB and sent all but a byte of what the window lets
        through."""

        def unfinished() -> None:
            stream = self.hold(Stream(self.address, 5.0), most=8)
            stream.send(PREFACE)
            part = b"\0" + struct.pack(">I", 4 * MIB - 1) + b"x" * 16379
            for number in range(1, 128, 2):
                stream.send(
                    h2_frame(1, 4, number, self.head())
                    + h2_frame(0, 0, number, part)
                    + h2_frame(0, 0, number, b"x" * 16384) * 2
                )

        self.attack(unfinished)

    def test_streams_that_are_begun_and_reset(self) -> None:
        def rapid() -> None:
            stream = self.hold(Stream(self.address, 5.0), most=8)
            stream.send(PREFACE)
            block = self.head()
            stream.send(
                b"".join(
                    h2_frame(1, 4, number, block) + h2_frame(3, 0, number, struct.pack(">I", 8))
                    for number in range(1, 4000, 2)
                )
            )

        self.attack(rapid)

    def test_fields_without_end(self) -> None:
        def continued() -> None:
            stream = self.hold(Stream(self.address, 5.0), most=8)
            stream.send(
                PREFACE
                + h2_frame(1, 0, 1, self.head())
                + h2_frame(9, 0, 1, fields(x_more="y" * 120) * 100) * 500
            )

        self.attack(Refused(continued))

    def test_calls_that_nobody_answers(self) -> None:
        channel = self.hold(grpc.insecure_channel(self.gateway.grpc))
        call = channel.unary_unary(
            "/sw4rm.tool.ToolService/Call",
            tool_pb().ToolCall.SerializeToString,
            tool_pb().ToolFrame.FromString,
        )
        body = json.dumps({"text": "x" * MIB}).encode()

        def ask() -> None:
            call.future(
                tool_call(self.tool, body),
                timeout=1.0,
                metadata=[("authorization", f"Bearer {self.token}")],
            )
            threading.Event().wait(0.005)

        self.attack(ask)


class ProviderTest(HostileCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.provider = GrpcProvider([descriptor("read", idempotent=True)])
        cls.addClassCleanup(cls.provider.stop)
        cls.CONFIG = {"providers": [{"id": "bad", "kind": "grpc", "address": cls.provider.address}]}
        super().setUpClass()
        cls.gateway.wait_listed("read")
        cls.token = cls.gateway.pair("user-of-it", ("caller",))

    def behave(self, call: Any) -> None:
        self.provider.call = call
        self.attack(
            lambda: self.gateway.call(
                "bad__read", {"n": 1}, token=self.token, timeout_ms=1000, timeout=20.0
            ),
            workers=4,
        )

    def test_answers_that_come_late(self) -> None:
        released = threading.Event()
        self.addCleanup(released.set)
        self.behave(lambda request, context: (released.wait(3), frame(request, b"{}"))[1])

    def test_answers_that_are_too_large(self) -> None:
        self.behave(lambda request, _: frame(request, b"x" * (3 * MIB)))

    def test_answers_that_are_wrong(self) -> None:
        turn = iter(range(1 << 30))

        def wrong(request: Any, _: Any) -> Any:
            number = next(turn) % 4
            if number == 0:
                return frame(request, b"{}", number=7)
            if number == 1:
                return frame(request, b"\xff" * 100)
            if number == 2:
                return frame(request, b"{}", final=False)
            return tool_pb().ToolFrame(call_id="another", frame_no=1, final=True, data=b"{}")

        self.behave(wrong)
