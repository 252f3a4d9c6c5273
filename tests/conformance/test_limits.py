"""docs/protocols/clawseed.md, section 1, limits: sizes, connections, readers that do not read
(checklist 50, 51)."""

from __future__ import annotations

import json
import threading

from support.case import GatewayCase
from support.device import Device, tool
from support.stream import EndOfStream
from support.wait import eventually
from support.websocket import CONTINUATION, TEXT, Closed, Frame, Refused

MESSAGE_BYTES = 262_144


def padded(size: int) -> str:
    """A `get_registered_tools` of exactly `size` bytes."""
    empty = json.dumps({"type": "get_registered_tools", "pad": ""})
    return json.dumps({"type": "get_registered_tools", "pad": "x" * (size - len(empty))})


class MessageSizeTest(GatewayCase):
    CONFIG = {"limits": {"message_bytes": MESSAGE_BYTES}, "devices": {"permessage_deflate": True}}

    def test_clawseed_50_a_message_at_the_limit_passes(self) -> None:
        for fragments in (1, 5):
            device = self.open()
            device.socket.send_text(padded(MESSAGE_BYTES), fragments=fragments)
            device.expect("registered_tools")

    def test_clawseed_50_a_message_beyond_it_is_closed_with_1009_and_others_are_served_on(
        self,
    ) -> None:
        other = self.open()
        for fragments in (1, 5):
            with self.subTest(fragments=fragments):
                device = self.open()
                with self.assertRaises(Closed):  # the gateway may close before it has read all
                    device.socket.send_text(padded(MESSAGE_BYTES + 1), fragments=fragments)
                    device.receive()
                self.assertEqual(device.socket.wait_closed().code, 1009)
                self.assert_alive(other)

    def test_clawseed_50_the_length_alone_is_enough(self) -> None:
        device = self.open()
        device.socket.send_raw(
            Frame(TEXT, b"").to_wire()[:1] + b"\xff" + (1 << 62).to_bytes(8, "big") + b"mask"
        )
        self.assertEqual(device.socket.wait_closed().code, 1009)

    def test_clawseed_50_many_small_fragments_count_together(self) -> None:
        device = self.open()
        with self.assertRaises(Closed):
            device.socket.send_frame(Frame(TEXT, b" " * 1024, fin=False))
            for _ in range(400):
                device.socket.send_frame(Frame(CONTINUATION, b" " * 1024, fin=False))
            device.receive()
        self.assertEqual(device.socket.wait_closed().code, 1009)

    def test_clawseed_50_a_message_that_is_small_before_inflation_counts_inflated(self) -> None:
        device = self.open(offer_deflate=True)
        if (
            not device.socket.deflate
        ):  # declined on this listener: nothing can be inflated, see checklist 2
            device.socket.send_frame(Frame(TEXT, b"\x00", rsv=4))
            self.assertEqual(device.socket.wait_closed().code, 1002)
            return
        device.socket.send_text(padded(MESSAGE_BYTES), compress=True)
        device.expect("registered_tools")
        device.socket.send_text(padded(64 * MESSAGE_BYTES), compress=True)
        self.assertEqual(device.socket.wait_closed().code, 1009)


class SlowReaderTest(GatewayCase):
    QUEUE_BYTES = 1 << 20
    CONFIG = {"limits": {"outgoing_queue_bytes": QUEUE_BYTES, "slow_reader_s": 2}}

    def flood(self, device: Device, frames: int) -> None:
        """Asks for more than the queue holds, reading nothing."""

        def ask() -> None:
            try:
                device.socket.send_raw(
                    Frame(TEXT, b'{"type":"get_registered_tools"}').to_wire() * frames
                )
            except (Closed, EndOfStream, OSError):
                pass  # closed while we asked

        threading.Thread(target=ask, daemon=True).start()

    def test_clawseed_51_a_client_that_stops_reading_is_closed_with_1008_and_memory_stays_bounded(
        self,
    ) -> None:
        name = self.unique("slow")
        other = self.open()
        device = self.open(receive_buffer=4096)
        device.register(
            tool(name, description="x" * 8000),
            *(tool(f"fill-{n}", description="x" * 8000) for n in range(30)),
        )
        before = self.gateway.forget_peak()
        self.flood(device, 500)  # each answer has 240 kB
        eventually(lambda: name not in self.gateway.tools(), "the slow reader is closed", 15)
        self.assert_alive(other)
        closed = device.socket.wait_closed(timeout=15)
        self.assertEqual((closed.code, closed.reason), (1008, "slow reader"))
        self.assertLess(self.gateway.growth_since(before), 16 << 20)

    def test_a_client_that_reads_all_is_not_closed_however_much_it_asks_for(self) -> None:
        device = self.open()
        device.register(*(tool(f"fill-{n}", description="x" * 8000) for n in range(20)))
        self.flood(device, 60)
        for _ in range(60):
            device.expect("registered_tools")


class ConnectionLimitTest(GatewayCase):
    CONFIG = {"listen": {"max_connections_per_principal": 2, "max_connections": 8}}

    def test_connections_beyond_a_principals_limit_are_429_and_others_come_in(self) -> None:
        token = self.new_token()
        first, _ = self.open(token), self.open(token)
        with self.assertRaises(Refused) as caught:
            self.open(token)
        self.assertEqual(caught.exception.response.status, 429)
        self.assertEqual(caught.exception.response.json()["code"], "RATE_LIMITED")
        self.open()
        first.close()

        def comes_in() -> bool:
            try:
                self.open(token)
                return True
            except Refused:
                return False

        eventually(comes_in, "the place of a closed connection is free again")

    def test_connections_beyond_the_listeners_limit_are_503(self) -> None:
        refused: list[int] = []
        tokens = [self.new_token() for _ in range(10)]
        for token in tokens:
            try:
                self.open(token)
            except Refused as refusal:
                refused.append(refusal.response.status)
            except (Closed, EndOfStream):
                refused.append(0)
        self.assertTrue(refused)
        self.assertEqual(set(refused), {503})
