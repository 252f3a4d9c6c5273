"""Garbage in every state: whoever sends it is answered or closed, and everybody else is served
on."""

from __future__ import annotations

import json
import random
from typing import Any

from support.case import GatewayCase
from support.device import Device, tool
from support.http import HttpConnection, request_bytes
from support.rtp import call_request
from support.stream import EndOfStream, Stream
from support.websocket import TEXT, Closed, Frame, upgrade_headers

SEED = 20240711
ROUNDS = 60


class GarbageTest(GatewayCase):
    def setUp(self) -> None:
        self.random = random.Random(SEED)
        self.name = self.unique("witness")
        self.witness = self.open()
        self.witness.register(tool(self.name))
        self.addCleanup(self.assert_served_on)

    def assert_served_on(self) -> None:
        """A call goes through, on a connection that was there before."""
        call = self.gateway.start_call(self.name)
        self.witness.answer(self.witness.next_call(self.name), "served")
        self.assertEqual(call.result(10).result, {"text": "served"})
        self.assertIsNone(self.gateway.process.poll())

    def bytes(self, most: int = 400) -> bytes:
        return self.random.randbytes(self.random.randint(1, most))

    def mutated(self, data: bytes) -> bytes:
        """`data` with a few bytes changed, dropped or repeated."""
        result = bytearray(data)
        for _ in range(self.random.randint(1, 4)):
            at = self.random.randrange(len(result))
            match self.random.randrange(3):
                case 0:
                    result[at] = self.random.randrange(256)
                case 1:
                    del result[at : at + self.random.randint(1, 8)]
                case 2:
                    result[at:at] = result[at : at + self.random.randint(1, 8)]
            if not result:
                result += b"\0"
        return bytes(result)

    def end_of(self, stream: Stream) -> bytes:
        """What is answered until the connection ends; we end it first, so the other side has
        nothing to wait for."""
        try:
            stream.half_close()
        except OSError:
            pass  # it was closed on us
        return stream.read_to_end(timeout=8)

    def test_bytes_that_are_no_http(self) -> None:
        for number in range(ROUNDS):
            with self.subTest(seed=SEED, number=number):
                stream = Stream(self.gateway.public)
                try:
                    stream.send(self.bytes())
                    answer = self.end_of(stream)
                except EndOfStream:
                    answer = b""
                self.assertTrue(
                    answer == b""
                    or answer.startswith(b"HTTP/1.1 4")
                    or answer.startswith(b"HTTP/1.1 5"),
                    answer[:80],
                )
                stream.close()

    def test_requests_with_bytes_changed(self) -> None:
        good = request_bytes(
            "POST",
            "/v1/tools/call",
            {"Authorization": f"Bearer {self.gateway.caller_token()}"},
            json.dumps(call_request("nobody", timeout_ms=100)).encode(),
        )
        for number in range(ROUNDS):
            with self.subTest(seed=SEED, number=number):
                stream = Stream(self.gateway.public)
                try:
                    stream.send(self.mutated(good))
                    answer = self.end_of(stream)
                except EndOfStream:
                    answer = b""
                self.assertTrue(answer == b"" or answer.startswith(b"HTTP/1.1 "), answer[:80])
                stream.close()

    def test_upgrades_with_bytes_changed(self) -> None:
        headers = upgrade_headers(
            "dGhlIHNhbXBsZSBub25jZQ==", {"Authorization": f"Bearer {self.new_token()}"}
        )
        good = request_bytes("GET", "/ws/chat", headers)
        for number in range(ROUNDS):
            with self.subTest(seed=SEED, number=number):
                stream = Stream(self.gateway.public)
                try:
                    stream.send(self.mutated(good))
                    answer = self.end_of(stream)
                except EndOfStream:
                    answer = b""
                self.assertTrue(answer == b"" or answer.startswith(b"HTTP/1.1 "), answer[:80])
                stream.close()

    def test_bytes_that_are_no_frames(self) -> None:
        token = self.new_token()
        for number in range(ROUNDS):
            with self.subTest(seed=SEED, number=number):
                device = self.open(token, connect=number % 2 == 0)
                device.socket.send_raw(self.bytes())
                try:
                    device.socket.half_close()
                except OSError:
                    pass  # it was closed on us
                self.assertIn(
                    device.socket.wait_closed(timeout=8).code, (1000, 1002, 1005, 1006, 1007, 1009)
                )
                device.drop()

    def test_frames_whose_json_has_bytes_changed(self) -> None:
        device = self.open()
        frames: list[dict[str, Any]] = [
            {
                "type": "register_tools",
                "tools": [
                    tool("a", {"type": "object", "properties": {"x": {"enum": [1, "zwei", None]}}})
                ],
            },
            {
                "type": "tool_result",
                "id": "0192f6c1-7a10-7c3e-9b1d-5f2a8c0e4d77",
                "output": "x",
                "success": True,
            },
            {"type": "tool_call_progress", "id": "x", "progress": 2, "total": 5},
            {"type": "unregister_tools", "names": ["a"]},
        ]
        for number in range(ROUNDS * 3):
            with self.subTest(seed=SEED, number=number):
                data = self.mutated(json.dumps(frames[number % len(frames)]).encode())
                device.socket.send_frame(Frame(TEXT, data.decode("utf-8", "replace").encode()))
        self.drain(device)

    def drain(self, device: Device) -> None:
        """The link lives: whatever was answered, the fence is too."""
        device.fence()

    def test_numbers_and_depths_at_the_edge(self) -> None:
        device = self.open()
        for text in (
            '{"type":"tool_result","id":' + "9" * 400 + "}",
            '{"type":"message","content":5e99999}',
            '{"type":"tool_call_progress","id":"x","progress":1e309}',
            '{"type":"register_tools","tools":[' + "{}," * 5000 + "{}]}",
            '{"type":"register_tools","tools":' + "[" * 50 + "]" * 50 + "}",
            '{"type":"register_tools","tools":[{"name":"\\u0000","description":"",'
            '"parameters":{}}]}',
            '{"type":"abort","type":"message"}',
        ):
            device.socket.send_text(text)
        self.drain(device)

    def test_a_device_that_is_cut_inside_a_frame_or_message_leaves_nothing(self) -> None:
        token = self.new_token()
        name = self.unique("partial")
        whole = Frame(
            TEXT, json.dumps({"type": "register_tools", "tools": [tool(name)]}).encode()
        ).to_wire()
        for at in (1, 2, 5, len(whole) // 2, len(whole) - 1):
            device = self.open(token)
            device.socket.send_raw(whole[:at])
            device.cut()
        self.assertNotIn(name, self.gateway.tools())

    def test_a_caller_that_is_cut_inside_its_request_reaches_no_device(self) -> None:
        request = request_bytes(
            "POST",
            "/v1/tools/call",
            {"Authorization": f"Bearer {self.gateway.caller_token()}"},
            json.dumps(call_request(self.name)).encode(),
        )
        for at in (1, 40, len(request) // 2, len(request) - 1):
            with HttpConnection(self.gateway.public) as connection:
                connection.send_raw(request[:at])
                connection.stream.reset()
        self.witness.assert_silent()

    def test_closing_handshakes_at_odd_moments(self) -> None:
        token = self.new_token()
        for prepare in (
            lambda d: d.socket.send_frame(Frame(TEXT, b"{", fin=False)),
            lambda d: d.socket.ping(b"x"),
            lambda d: d.send("get_registered_tools"),
        ):
            device = self.open(token, connect=False)
            prepare(device)
            device.socket.send_close(1000)
            device.socket.send_raw(b"\0" * 64)
            self.assertIsInstance(device.socket.wait_closed(), Closed)
