"""Half-open connections, drips, and readers that do not read: each is bounded in time and
memory."""

from __future__ import annotations

import json
import select
import threading
from typing import Any

from support.case import GatewayCase
from support.device import Device, tool
from support.http import HttpConnection, request_bytes
from support.rtp import call_request
from support.stream import EndOfStream, Stream
from support.wait import Stopwatch
from support.websocket import Frame, upgrade_headers


def drip(stream: Stream, data: bytes, seconds_each: float, give_up: float) -> float:
    """Sends one byte at a time until the other side closes; seconds until then. Fails after
    `give_up`."""
    watch = Stopwatch()
    for byte in data:
        if watch.seconds > give_up:
            raise AssertionError(f"still open after {give_up} s of dripping")
        try:
            stream.send(bytes([byte]))
            readable, _, _ = select.select([stream.socket], [], [], seconds_each)
            if readable:
                return watch.seconds  # an answer such as 408, or the end
        except EndOfStream:
            return watch.seconds
    raise AssertionError("all bytes were taken")


class PatienceTest(GatewayCase):
    """Documented: 5 s for headers, 10 s for the body (rtp.md, section 1), 10 s for TLS and upgrade
    (clawseed.md, section 1)."""

    def in_parallel(self, *jobs: Any) -> None:
        failures: list[BaseException] = []

        def run(job: Any) -> None:
            try:
                job()
            except BaseException as failure:  # noqa: BLE001: shown by the test
                failures.append(failure)

        threads = [threading.Thread(target=run, args=(job,), daemon=True) for job in jobs]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
        if failures:
            raise failures[0]

    def test_half_open_and_dripping_connections_are_closed_in_time(self) -> None:
        token = self.gateway.caller_token()

        def silent() -> None:
            stream = Stream(self.gateway.public)
            watch = Stopwatch()
            stream.read_to_end(timeout=14)  # a 408 or nothing, then the end
            self.assertLess(watch.seconds, 13)

        def dripping_head() -> None:
            head = request_bytes("GET", "/ws/chat", upgrade_headers("dGhlIHNhbXBsZSBub25jZQ=="))
            self.assertLess(drip(Stream(self.gateway.public), head, 0.1, 14), 13)

        def dripping_body() -> None:
            request = request_bytes(
                "POST",
                "/v1/tools/call",
                {"Authorization": f"Bearer {token}"},
                json.dumps(call_request("x", {"a": "x" * 500})).encode(),
            )
            at = request.index(b"\r\n\r\n") + 4
            stream = Stream(self.gateway.public)
            stream.send(request[:at])
            self.assertLess(drip(stream, request[at:], 0.1, 16), 15)
            self.assertIn(stream.read_to_end(timeout=5)[:12], (b"HTTP/1.1 408", b""))

        def idle_keep_alive() -> None:
            with HttpConnection(self.gateway.public) as connection:
                self.assertEqual(connection.request("GET", "/health").status, 200)
                self.assertEqual(connection.request("GET", "/health").status, 200)

        self.in_parallel(silent, dripping_head, dripping_body, idle_keep_alive)

    def test_a_device_that_drips_its_frames_is_served(self) -> None:
        name = self.unique("drip")
        device = self.open()
        for byte in Frame(
            1, json.dumps({"type": "register_tools", "tools": [tool(name)]}).encode()
        ).to_wire():
            device.socket.send_raw(bytes([byte]))
        self.assertEqual(device.expect("tools_registered")["registered"], 1)


class SlowReaderTest(GatewayCase):
    CONFIG = {
        "limits": {"outgoing_queue_bytes": 1 << 20, "slow_reader_s": 2, "calls_per_connection": 64},
        "devices": {"grace_ms": 300},
    }
    ALLOWANCE = 32 << 20  #: of growth, with room for what an allocator keeps

    def test_a_device_that_stops_reading_fails_its_calls_and_costs_no_memory(self) -> None:
        name = self.unique("deaf")
        device = self.open(receive_buffer=4096)
        device.register(tool(name))
        before = self.gateway.forget_peak()
        calls = [
            self.gateway.start_call(name, {"blob": "x" * 500_000}, timeout_ms=12_000, timeout=20.0)
            for _ in range(40)
        ]
        codes = {call.result(20).code for call in calls}
        self.assertLessEqual(
            codes,
            {
                "RATE_LIMITED",
                "DEPENDENCY_UNAVAILABLE",
                "OUTCOME_UNKNOWN",
                "TIMEOUT",
                "TOOL_NOT_FOUND",
            },
        )
        self.assertLess(
            self.gateway.growth_since(before), self.ALLOWANCE + 40 * 1_000_000
        )  # 40 request bodies are held for their callers
        self.assertEqual(device.socket.wait_closed(timeout=15).code, 1008)
        self.gateway.wait_gone(name)

    def test_a_caller_that_stops_reading_costs_no_memory_and_blocks_nobody(self) -> None:
        device = self.open()
        device.register(
            *(tool(f"wide-{n}", description="x" * 8000) for n in range(60))
        )  # discovery has half a megabyte
        before = self.gateway.forget_peak()
        stream = Stream(self.gateway.public, receive_buffer=4096)
        ask = request_bytes(
            "GET", "/v1/tools", {"Authorization": f"Bearer {self.gateway.caller_token()}"}
        )
        stream.send(ask * 100)
        watch = Stopwatch()
        while watch.seconds < 2:
            self.assertGreaterEqual(len(self.gateway.tools()), 60)  # others are answered
        self.assertLess(self.gateway.growth_since(before), self.ALLOWANCE)
        stream.close()


class HalfOpenDeviceTest(GatewayCase):
    CONFIG = {"devices": {"ping_after_s": 1, "grace_ms": 300}}

    def test_a_device_that_vanishes_without_a_word_is_found_out_by_pings(self) -> None:
        name = self.unique("vanished")
        device: Device = self.open()
        device.register(tool(name))
        call = self.gateway.start_call(name, timeout_ms=12_000, timeout=20.0)
        device.next_call(name)
        device.socket.quiet = True  # its kernel still acknowledges bytes, nobody answers
        self.assertIn(call.result(15).code, ("OUTCOME_UNKNOWN",))
        self.gateway.wait_gone(name)
