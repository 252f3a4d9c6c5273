"""A device: every frame that it may send, maximal, repeated, unfinished, slow and malformed."""

from __future__ import annotations

import json
import os
from typing import Any

from hostile_case import HostileCase
from support.device import Device, tool
from support.http import HttpConnection, request_bytes
from support.stream import Stream
from support.wait import Stopwatch
from support.websocket import CONTINUATION, PING, TEXT, Frame
from test_phone_attachments import png

MIB = 1 << 20
PATTERN = r"^[\p{L}]{1,200}[\p{N}]{1,200}$"


class DeviceTest(HostileCase):
    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        cls.token = cls.gateway.pair("attacker", ("device",))

    def link(self, **options: Any) -> Device:
        """A connection of the attacking device, held."""
        return self.hold(Device(self.gateway, self.token, **options), most=64)

    def flood(self, *messages: Any, times: int = 50, **options: Any) -> None:
        """Sends them again and again on one link, and reads what comes until the last was
        answered."""
        device = self.link(**options)
        for _ in range(times):
            for message in messages:
                device.socket.send_text(
                    message if isinstance(message, (str, bytes)) else json.dumps(message)
                )
        device.socket.send_text('{"type":"get_registered_tools"}')
        while json.loads(device.socket.receive_text(10))["type"] != "registered_tools":
            pass
        device.drop()

    def test_pictures_that_are_fetched_and_not_taken(self) -> None:
        session = self.link().session_id
        head = {"Authorization": f"Bearer {self.token}", "Content-Type": "image/png"}
        target = f"/api/sessions/{session}/attachments"
        with HttpConnection(self.gateway.public, 20.0) as connection:
            stored = connection.request("POST", target, head, png() + bytes(5 * MIB - 1000))
        self.assertEqual(stored.status, 201, stored.body)
        ask = request_bytes("GET", f"{target}/{stored.json()['id']}", head)

        def fetch() -> None:
            stream = Stream(self.gateway.public, 5.0, receive_buffer=4096)
            self.hold(stream, most=1024).send(ask)

        other = {"Authorization": f"Bearer {self.new_token('patient')}"}
        waits: list[float] = []

        def look() -> None:  # at what the same thread reads
            watch = Stopwatch()
            with HttpConnection(self.gateway.public, 30.0) as connection:
                status = connection.request("GET", "/api/sessions", other).status
            self.assertEqual(status, 200)
            waits.append(watch.seconds)

        before = self.gateway.resident_bytes()
        self.attack(*[fetch] * 8, look, workers=1)
        self.assertLess(max(waits), 2.0, "another's request waited")
        if before:
            self.assertLess(self.gateway.growth_since(before), 384 * MIB)

    def test_schemas_that_are_expensive_to_compile(self) -> None:
        patterns = {
            "type": "object",
            "properties": {
                f"p{n}": {"type": "string", "pattern": PATTERN[:-1] + f"{n}$"} for n in range(100)
            },
        }
        one = {"type": "register_tools", "tools": [tool("costly", patterns)]}
        many = {
            "type": "register_tools",
            "tools": [
                tool(
                    f"costly{n}",
                    {
                        "type": "object",
                        "properties": {"p": {"type": "string", "pattern": PATTERN[:-1] + f"x{n}$"}},
                    },
                )
                for n in range(256)
            ],
        }
        self.attack(lambda: self.flood(one, times=1), lambda: self.flood(many, times=1))

    def test_lists_of_tools_that_are_refused(self) -> None:
        bad = {
            "type": "register_tools",
            "tools": [tool("not a name!" + "x" * 100, {"type": 7}) for _ in range(256)],
        }
        self.attack(lambda: self.flood(bad, times=40))

    def test_lists_that_come_and_go(self) -> None:
        full = {
            "type": "register_tools",
            "tools": [
                tool(f"t{n}", {"type": "object", "description": "d" * 500}) for n in range(256)
            ],
            "replace": True,
        }
        names = {"type": "unregister_tools", "names": [f"t{n}" for n in range(256)] * 200}
        empty = {"type": "register_tools", "tools": [], "replace": True}
        self.attack(
            lambda: self.flood(
                full,
                names,
                empty,
                times=10,
                capabilities=("register_tools.replace", "unregister_tools"),
            )
        )

    def test_small_frames_without_end(self) -> None:
        frames = [
            {"type": "get_registered_tools"},
            {"type": "tool_result", "id": "x" * 64, "output": "y"},
            {"type": "tool_error", "id": "n", "error": "e"},
            {"type": "abort"},
            {"type": "tool_call_progress", "id": "n", "progress": 1},
            {"type": "tool_call_accepted", "id": "n"},
            {"type": "no_such_type"},
            {"type": "regenerate"},
        ]
        self.attack(lambda: self.flood(*frames, times=200))

    def test_malformed_frames(self) -> None:
        bad = [
            "",
            "{",
            "[]",
            "null",
            '{"type":5}',
            '{"type":"register_tools","tools":5}',
            '{"type":"tool_result","id":5,"output":1e999}',
            "[" * 5000,
            '{"type":"connect","v":"x"}',
        ]
        self.attack(lambda: self.flood(*bad, times=40))

    def test_messages_that_do_not_end(self) -> None:
        def fragments() -> None:
            device = self.link()
            device.socket.send_frame(Frame(TEXT, b"x" * MIB, fin=False))
            for _ in range(6):
                device.socket.send_frame(Frame(CONTINUATION, b"x" * MIB, fin=False))

        def long() -> None:
            device = self.link()
            device.socket.send_raw(Frame(TEXT, b"x" * (7 * MIB)).to_wire(os.urandom(4))[:-1])

        self.attack(fragments, long, workers=1)

    def test_many_fragments_of_nothing(self) -> None:
        def empty() -> None:
            device = self.link()
            device.socket.send_frame(Frame(TEXT, b"", fin=False))
            device.socket.send_raw(Frame(CONTINUATION, b"", fin=False).to_wire(b"abcd") * 20_000)

        self.attack(
            empty,
            lambda: self.link().socket.send_raw(Frame(PING, b"x" * 125).to_wire(b"abcd") * 20_000),
        )

    def test_a_link_whose_answers_are_not_read(self) -> None:
        def deaf() -> None:
            device = self.link(receive_buffer=4096)
            device.socket.send_raw(
                Frame(TEXT, b'{"type":"get_registered_tools"}').to_wire(b"abcd") * 20_000
            )

        self.attack(deaf)

    def test_largest_results_for_calls_that_nobody_made(self) -> None:
        result = json.dumps(
            {"type": "tool_result", "id": "n", "output": "x" * (4 * MIB), "success": True}
        )
        self.attack(lambda: self.flood(result, times=3))

    def test_uploads_that_do_not_end(self) -> None:
        def upload() -> None:
            stream = self.connect()
            stream.send(
                request_bytes(
                    "POST",
                    "/api/artifacts?call_id=none",
                    {
                        "Authorization": f"Bearer {self.token}",
                        "Content-Type": "image/jpeg",
                        "Content-Length": str(64 * MIB),
                        "Content-Digest": "sha-256=:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=:",
                    },
                )
            )
            stream.send(b"x" * 4 * MIB)

        self.attack(upload)

    def test_links_that_come_and_go(self) -> None:
        def come_and_go() -> None:
            device = self.link(connect=False)
            device.send("register_tools", tools=[tool(f"gone{n}") for n in range(100)])
            device.cut()

        self.attack(come_and_go, lambda: self.link().drop())
