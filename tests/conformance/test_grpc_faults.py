"""The gRPC listener under bad input: garbage, floods, callers that vanish in every state. Raw bytes
where grpcio is too polite."""

from __future__ import annotations

import json
import random
import socket
import struct
import threading

import grpc
from support.flood import call_fields
from support.tool_service import ToolServiceClient, tool_call, tool_pb
from support.wait import eventually
from test_grpc import GrpcCase, Status

_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
_SETTINGS, _PING = 4, 6


def frame(kind: int, payload: bytes = b"", stream: int = 0, flags: int = 0) -> bytes:
    return (
        struct.pack("!I", len(payload))[1:]
        + bytes([kind, flags])
        + struct.pack("!I", stream)
        + payload
    )


class RawCase(GrpcCase):
    def connect(self) -> socket.socket:
        host, port = self.gateway.grpc.split(":")
        raw = socket.create_connection((host, int(port)), timeout=20)
        self.addCleanup(raw.close)
        return raw

    def read_all(self, raw: socket.socket) -> bytes:
        """Everything until the gateway ends the connection."""
        data = b""
        try:
            while part := raw.recv(65536):
                data += part
        except ConnectionResetError:
            pass
        return data

    def assert_serves(self) -> None:
        self.assertTrue(self.client().call(tool_call("list_devices")).final)


class BadBytesTest(RawCase):
    def test_garbage_ends_its_connection_only(self) -> None:
        seed = random.randrange(1 << 32)
        noise = random.Random(seed)
        for _ in range(20):
            raw = self.connect()
            with self.subTest(seed=seed):
                try:
                    raw.sendall(
                        _PREFACE * noise.randrange(2) + noise.randbytes(noise.randrange(1, 4000))
                    )
                    raw.shutdown(socket.SHUT_WR)
                except OSError:
                    pass
                self.read_all(raw)
        self.assert_serves()

    def test_a_flood_of_pings_or_settings_ends_its_connection(self) -> None:
        for flood in (frame(_PING, b"12345678"), frame(_SETTINGS)):
            raw = self.connect()
            try:
                raw.sendall(_PREFACE + frame(_SETTINGS) + flood * 5000)
            except OSError:
                pass
            self.read_all(raw)  # its connection ends
        self.assert_serves()

    def test_another_protocol_is_not_served(self) -> None:
        raw = self.connect()
        raw.sendall(
            b"POST /sw4rm.tool.ToolService/Call HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n"
        )
        self.assertNotIn(b"200", self.read_all(raw))
        self.assert_serves()

    def test_what_is_no_message_is_refused(self) -> None:
        client = self.client()
        for body in (b"\xff", b"\x0a\x05abc", b"\x0b", b"\x00"):
            self.refused(
                Status.INVALID_ARGUMENT,
                "VALIDATION_ERROR",
                lambda b=body: client.unary("/sw4rm.tool.ToolService/Call", b, tool_pb().ToolFrame),
            )

    def test_gzip_is_spoken_both_ways_and_deflate_is_not(self) -> None:
        name = self.echo()
        for algorithm, spoken in ((1, False), (2, True)):  # deflate, gzip
            client = ToolServiceClient(
                self.gateway.grpc,
                self.gateway.caller_token(),
                options=(("grpc.default_compression_algorithm", algorithm),),
            )
            self.addCleanup(client.close)
            if spoken:
                for size in (0, 10, 10_000, 3_000_000):
                    self.assertEqual(
                        json.loads(
                            client.call(tool_call(name, {"text": "a" * size}), timeout=20).data
                        ),
                        {"text": "a" * size},
                    )
                with self.assertRaises(grpc.RpcError) as caught:  # 4 kB on the wire
                    client.call(tool_call(name, {"text": "a" * 4_200_000}), timeout=20)
                self.assertEqual(caught.exception.code(), Status.RESOURCE_EXHAUSTED)
            else:
                with self.assertRaises(grpc.RpcError) as caught:
                    client.call(tool_call(name, {"text": "a" * 10_000}))
                self.assertEqual(caught.exception.code(), Status.UNIMPLEMENTED)
        self.assert_serves()

    def test_a_call_id_that_is_no_utf_8_is_refused(self) -> None:
        client = self.client()
        request = b"\x0a\x02\xff\xfe" + tool_call("list_devices").SerializeToString()
        for path in ("Call", "CallStream", "Cancel"):
            self.refused(
                Status.INVALID_ARGUMENT,
                "VALIDATION_ERROR",
                lambda path=path: client.unary(
                    f"/sw4rm.tool.ToolService/{path}", request, tool_pb().ToolFrame
                ),
            )

    def test_unfinished_messages_of_one_connection_cost_a_bounded_part_of_memory(self) -> None:
        self.assert_serves()
        before = self.gateway.forget_peak()
        block = call_fields(self.gateway.caller_token())
        raw = self.connect()
        raw.sendall(_PREFACE + frame(_SETTINGS))
        reader = threading.Thread(target=self.read_all, args=(raw,), daemon=True)
        reader.start()
        try:
            for number in range(400):
                stream = 2 * number + 1
                raw.sendall(
                    frame(1, block, stream, 4)
                    + frame(0, b"\x00" + (4 << 20).to_bytes(4, "big"), stream)
                )
                for _ in range(15):
                    raw.sendall(frame(0, b"x" * 16384, stream))
        except OSError:
            pass  # it may have had enough
        self.assert_serves()
        raw.close()
        self.assertLess(self.gateway.growth_since(before), 96 << 20)
        eventually(
            lambda: self.gateway.resident_bytes() < before + (64 << 20),
            "memory is given back",
            limit=20,
        )


class StormTest(RawCase):
    def test_callers_that_vanish_in_every_state_leave_nothing(self) -> None:
        name = self.echo()
        slow = self.unique("slow")
        self.device_with(slow)
        big = "x" * 200_000

        def storm(number: int) -> None:
            noise = random.Random(number)
            for _ in range(15):
                client = ToolServiceClient(
                    self.gateway.grpc,
                    self.gateway.caller_token(),
                    options=(("grpc.use_local_subchannel_pool", 1),),
                )
                calls = [
                    client.start(tool_call(noise.choice((name, slow)), {"big": big}))
                    for _ in range(4)
                ]
                streams = [
                    client.call_stream(tool_call(noise.choice((name, slow)), {"big": big}))
                    for _ in range(4)
                ]
                for each in noise.sample(calls + streams, 4):
                    each.cancel()
                client.close()

        self.gateway.caller_token()
        self.assert_serves()
        files = self.gateway.open_files()
        before = self.gateway.forget_peak()
        threads = [threading.Thread(target=storm, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(120)
        self.assert_serves()
        # grpcio keeps some sockets open without a word; a connection that asks nothing is closed
        # after 10 s.
        eventually(lambda: self.gateway.open_files() <= files + 4, "the connections are gone", 30)
        self.assertLess(self.gateway.growth_since(before), 128 << 20)
