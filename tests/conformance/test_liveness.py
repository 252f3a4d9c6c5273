"""docs/protocols/clawseed.md, section 7: pings, and close codes (checklist 49)."""

from __future__ import annotations

import json

from support.case import GatewayCase
from support.device import tool
from support.wait import Stopwatch
from support.websocket import BINARY, CLOSE, CONTINUATION, PING, PONG, TEXT, Closed, Frame


class LivenessTest(GatewayCase):
    CONFIG = {"devices": {"ping_after_s": 1, "grace_ms": 300}}

    def test_clawseed_49_silence_is_pinged(self) -> None:
        device = self.open()
        watch = Stopwatch()
        device.socket.wait_ping(timeout=4)
        self.assertGreater(watch.seconds, 0.4)
        device.socket.wait_ping(timeout=4)
        self.assert_alive(device)

    def test_clawseed_49_a_frozen_client_is_dropped_after_two_misses(self) -> None:
        name = self.unique("frozen")
        device = self.open()
        device.register(tool(name))
        device.socket.quiet = True
        watch = Stopwatch()
        closed = device.socket.wait_closed(timeout=12)
        self.assertEqual((closed.code, len(device.socket.pings)), (4408, 2))
        self.assertGreater(watch.seconds, 1.5)
        self.gateway.wait_gone(name)

    def test_every_frame_is_a_sign_of_life(self) -> None:
        device = self.open()
        device.socket.quiet = True  # answers no ping, but speaks
        watch = Stopwatch()
        while watch.seconds < 4:
            device.send("abort")
            try:
                device.expect("abort_ack")
                device.receive(timeout=0.7)
                self.fail("nothing was due")
            except TimeoutError:
                pass
        self.assert_alive(device)


class DefaultsTest(GatewayCase):
    """With nothing configured; takes a minute."""

    def test_clawseed_49_silence_is_pinged_after_20_seconds_and_the_third_of_a_frozen_client_is_its_end(
        self,
    ) -> None:
        awake, frozen = self.open(), self.open()
        frozen.socket.quiet = True
        watch = Stopwatch()
        awake.socket.wait_ping(timeout=25)
        self.assertTrue(15 < watch.seconds < 21, watch.seconds)
        closed = frozen.socket.wait_closed(timeout=50)
        self.assertEqual((closed.code, len(frozen.socket.pings)), (4408, 2))
        self.assertTrue(40 < watch.seconds < 65, watch.seconds)
        self.assert_alive(awake)


class ControlFrameTest(GatewayCase):
    def test_pings_of_the_client_are_answered_with_their_payload(self) -> None:
        device = self.open()
        for payload in (b"", b"x", bytes(range(125))):
            device.socket.ping(payload)
            device.socket.wait_pong(payload)

    def test_a_ping_inside_a_fragmented_message_is_answered_before_it(self) -> None:
        device = self.open()
        text = json.dumps({"type": "abort"}).encode()
        device.socket.send_frame(Frame(TEXT, text[:5], fin=False))
        device.socket.ping(b"between")
        device.socket.wait_pong(b"between")
        device.socket.send_frame(Frame(CONTINUATION, text[5:]))
        device.expect("abort_ack")

    def test_unasked_pongs_do_no_harm(self) -> None:
        device = self.open()
        device.socket.send_frame(Frame(PONG, b"unasked"))
        self.assert_alive(device)

    def test_a_goodbye_is_answered_with_its_code(self) -> None:
        for code in (1000, 1001, 3000, 4999):
            with self.subTest(code):
                self.assertEqual(self.open().close(code).code, code)

    def test_a_close_frame_without_a_code_is_answered(self) -> None:
        device = self.open()
        device.socket.send_frame(Frame(CLOSE))
        self.assertIn(device.socket.wait_closed().code, (1000, 1005))

    def test_broken_framing_is_closed_with_1002(self) -> None:
        text = b'{"type":"abort"}'
        broken = {
            "unmasked": Frame(TEXT, text).to_wire(None),
            "reserved bit": Frame(TEXT, text, rsv=1).to_wire(),
            "reserved opcode": Frame(3, text).to_wire(),
            "reserved control opcode": Frame(11).to_wire(),
            "long ping": Frame(PING, b"x" * 126).to_wire(),
            "fragmented ping": Frame(PING, b"", fin=False).to_wire(),
            "continuation of nothing": Frame(CONTINUATION, text).to_wire(),
            "a message inside a message": Frame(TEXT, text, fin=False).to_wire()
            + Frame(TEXT, text).to_wire(),
            "a close of one byte": Frame(CLOSE, b"\x03").to_wire(),
            "a close code that is not for the wire": Frame(
                CLOSE, (1005).to_bytes(2, "big")
            ).to_wire(),
            "a close code below 1000": Frame(CLOSE, (999).to_bytes(2, "big")).to_wire(),
            "a length in a long form": Frame(TEXT, text).to_wire(length_form=64),
        }
        for what, data in broken.items():
            with self.subTest(what):
                device = self.open()
                device.socket.send_raw(data)
                self.assertEqual(device.socket.wait_closed().code, 1002)

    def test_text_that_is_not_utf_8_is_closed_with_1007(self) -> None:
        for data in (b'{"type":"\xff"}', b"\xed\xa0\x80", b"\xc0\xaf", b'"\xe2\x82'):
            with self.subTest(data):
                device = self.open()
                device.socket.send_frame(Frame(TEXT, data))
                self.assertEqual(device.socket.wait_closed().code, 1007)

    def test_utf_8_may_be_split_between_fragments(self) -> None:
        device = self.open()
        data = json.dumps({"type": "abort", "x": "€"}, ensure_ascii=False).encode()
        at = data.index("€".encode()) + 1
        device.socket.send_raw(
            Frame(TEXT, data[:at], fin=False).to_wire() + Frame(CONTINUATION, data[at:]).to_wire()
        )
        device.expect("abort_ack")

    def test_nothing_is_read_after_a_close_frame(self) -> None:
        name = self.unique("ghost")
        device = self.open()
        device.socket.send_raw(
            Frame(CLOSE, (1000).to_bytes(2, "big")).to_wire()
            + Frame(
                TEXT, json.dumps({"type": "register_tools", "tools": [tool(name)]}).encode()
            ).to_wire()
        )
        with self.assertRaises(Closed):
            device.receive()
        self.assertNotIn(name, self.gateway.tools())

    def test_binary_messages_are_ignored(self) -> None:
        device = self.open()
        device.socket.send_frame(Frame(BINARY, b'{"type":"abort"}'))
        device.socket.send_raw(
            Frame(BINARY, b"\xff", fin=False).to_wire() + Frame(CONTINUATION, b"\xfe").to_wire()
        )
        self.assert_alive(device)
