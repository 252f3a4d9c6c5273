"""The clients of the tests, against a server of a few lines: so that a failure elsewhere points at
the gateway."""

from __future__ import annotations

import re
import socket
import tempfile
import threading
import unittest
import zlib
from collections.abc import Callable
from pathlib import Path

from support.frames import check_frame
from support.http import HttpConnection, fetch, read_head
from support.rtp import call_request, check_discovery, check_response
from support.stream import Address, EndOfStream, Stream
from support.wait import Stopwatch, eventually
from support.websocket import (
    BINARY,
    CLOSE,
    CONTINUATION,
    PING,
    PONG,
    TEXT,
    Closed,
    Frame,
    ProtocolViolation,
    Refused,
    WebSocket,
    accept_key,
    apply_mask,
)

Script = Callable[["Peer"], None]


class Peer:
    """The server's end of one connection, which a test scripts."""

    def __init__(self, connection: socket.socket) -> None:
        connection.settimeout(5)
        self.stream = Stream.__new__(Stream)
        self.stream.socket, self.stream.timeout, self.stream._buffer = connection, 5.0, bytearray()

    def read_head(self) -> str:
        return self.stream.read_until(b"\r\n\r\n").decode()

    def send(self, data: bytes) -> None:
        self.stream.send(data)

    def upgrade(self, extra: str = "", accept: str | None = None) -> str:
        head = self.read_head()
        key = re.search(r"Sec-WebSocket-Key: (\S+)", head)[1]
        self.send(
            f"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            f"Sec-WebSocket-Accept: {accept or accept_key(key)}\r\n{extra}\r\n".encode()
        )
        return head

    def read_frame(self) -> Frame:
        """A client's frame, which has to be masked."""
        first, second = self.stream.read(2)
        assert second & 0x80, "a client masks"
        size = second & 0x7F
        if size > 125:
            size = int.from_bytes(self.stream.read(2 if size == 126 else 8), "big")
        mask = self.stream.read(4)
        return Frame(
            first & 15, apply_mask(self.stream.read(size), mask), bool(first & 0x80), first >> 4 & 7
        )

    def write_frame(self, frame: Frame) -> None:
        self.send(frame.to_wire(mask=None))


class SupportCase(unittest.TestCase):
    def serve(self, script: Script, unix: bool = False) -> Address:
        """A server that plays `script` with its first connection; what it throws fails the test."""
        if unix:
            address: Address = Path(self.enterContext(tempfile.TemporaryDirectory())) / "socket"
            listener = socket.socket(socket.AF_UNIX)
            listener.bind(str(address))
            listener.listen()
        else:
            listener = socket.create_server(("127.0.0.1", 0))
            address = listener.getsockname()
        failures: list[BaseException] = []

        def run() -> None:
            connection, _ = listener.accept()
            with connection:
                try:
                    script(Peer(connection))
                except BaseException as failure:  # noqa: BLE001: shown by the test
                    failures.append(failure)

        thread = threading.Thread(target=run, daemon=True)
        thread.start()

        def end() -> None:
            listener.close()
            thread.join(5)
            if failures:
                raise failures[0]

        self.addCleanup(end)
        return address

    def dial(self, script: Script, **options: object) -> WebSocket:
        """A client of a server that upgrades and then plays `script`."""

        def upgraded(peer: Peer) -> None:
            peer.upgrade()
            script(peer)

        client = WebSocket(self.serve(upgraded), "/", **options)
        self.addCleanup(client.stream.close)
        return client


class HttpClientTest(SupportCase):
    def test_keep_alive_carries_two_requests_over_tcp_and_unix_sockets(self) -> None:
        def script(peer: Peer) -> None:
            for _ in range(2):
                head = peer.read_head()
                length = int(re.search(r"Content-Length: (\d+)", head)[1])
                body = peer.stream.read(length)
                peer.send(
                    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: "
                    b"%d\r\n\r\n" % len(body) + body
                )

        for unix in (False, True):
            with self.subTest(unix=unix), HttpConnection(self.serve(script, unix)) as connection:
                for value in ({"a": "ä"}, [1]):
                    self.assertEqual(connection.request("POST", "/", body=value).json(), value)

    def test_chunks_and_events_are_put_together(self) -> None:
        def script(peer: Peer) -> None:
            peer.read_head()
            peer.send(
                b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: "
                b"chunked\r\n\r\n"
                b"a\r\nevent: x\nd\r\n9\r\nata: 1\n\n:\r\n10\r\n ping\n\ndata: 2\n\n\r\n0\r\n\r\n"
            )

        with HttpConnection(self.serve(script)) as connection:
            connection.send("GET", "/")
            self.assertEqual(
                list(connection.events(read_head(connection.stream))),
                [("x", "1"), ("message", "2")],
            )

    def test_an_answer_that_does_not_come_is_a_timeout(self) -> None:
        with self.assertRaises(TimeoutError):
            fetch(self.serve(lambda peer: peer.stream.read_to_end()), "GET", "/", timeout=0.1)

    def test_two_content_lengths_and_foreign_status_lines_are_refused(self) -> None:
        for answer in (
            b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nContent-Length: 0\r\n\r\n",
            b"HTTP/1.0 200 OK\r\n\r\n",
        ):
            with self.subTest(answer=answer), self.assertRaises(AssertionError):
                fetch(
                    self.serve(lambda peer, answer=answer: (peer.read_head(), peer.send(answer))),
                    "GET",
                    "/",
                )

    def test_a_stream_tells_an_orderly_end_from_a_reset(self) -> None:
        with self.assertRaises(EndOfStream) as orderly:
            Stream(self.serve(lambda peer: peer.send(b"ab"))).read(3)
        self.assertEqual((orderly.exception.was_reset, orderly.exception.rest), (False, b"ab"))
        client = Stream(self.serve(lambda peer: (peer.stream.read(1), peer.stream.reset())))
        client.send(b"x")
        with self.assertRaises(EndOfStream) as reset:
            client.read(1)
        self.assertTrue(reset.exception.was_reset)


class WebSocketClientTest(SupportCase):
    def test_text_is_masked_and_echoed_whole_at_every_form_of_length(self) -> None:
        def echo(peer: Peer) -> None:
            for _ in range(4):
                peer.write_frame(peer.read_frame())

        client = self.dial(echo)
        for size in (0, 125, 126, 65536):
            client.send_text("x" * size)
            self.assertEqual(client.receive_text(), "x" * size)

    def test_fragments_with_a_ping_between_them_are_one_message(self) -> None:
        def script(peer: Peer) -> None:
            frames = [peer.read_frame() for _ in range(3)]
            self.assertEqual(
                [(f.opcode, f.fin) for f in frames],
                [(TEXT, False), (CONTINUATION, False), (CONTINUATION, True)],
            )
            peer.write_frame(frames[0])
            peer.write_frame(Frame(PING, b"p"))
            peer.write_frame(frames[1])
            peer.write_frame(frames[2])
            self.assertEqual(peer.read_frame(), Frame(PONG, b"p"))

        client = self.dial(script)
        client.send_text("äbcdefg", fragments=3)
        self.assertEqual(client.receive_text(), "äbcdefg")
        self.assertEqual(client.pings, [b"p"])

    def test_deflate_works_both_ways_without_context(self) -> None:
        def script(peer: Peer) -> None:
            head = peer.upgrade(
                "Sec-WebSocket-Extensions: permessage-deflate; server_no_context_takeover; "
                "client_no_context_takeover\r\n"
            )
            self.assertIn("permessage-deflate", head)
            for _ in range(2):
                frame = peer.read_frame()
                self.assertEqual(frame.rsv, 4)
                self.assertEqual(
                    zlib.decompressobj(wbits=-15).decompress(frame.payload + b"\0\0\xff\xff"),
                    b"ab" * 500,
                )
                peer.write_frame(frame)

        client = WebSocket(self.serve(script), "/", offer_deflate=True)
        self.addCleanup(client.stream.close)
        for _ in range(2):
            client.send_text("ab" * 500, compress=True)
            self.assertEqual(client.receive_text(), "ab" * 500)

    def test_a_close_is_echoed_and_told(self) -> None:
        def script(peer: Peer) -> None:
            peer.write_frame(Frame(CLOSE, (1008).to_bytes(2, "big") + b"slow reader"))
            self.assertEqual(peer.read_frame(), Frame(CLOSE, (1008).to_bytes(2, "big")))

        closed = self.dial(script).wait_closed()
        self.assertEqual((closed.code, closed.reason), (1008, "slow reader"))

    def test_an_end_without_a_close_frame_is_1006(self) -> None:
        self.assertEqual(self.dial(lambda peer: None).wait_closed().code, 1006)

    def test_a_half_closed_client_still_reads(self) -> None:
        def script(peer: Peer) -> None:
            self.assertEqual(peer.stream.read_to_end(), b"")
            peer.write_frame(Frame(TEXT, b"still here"))

        client = self.dial(script)
        client.half_close()
        self.assertEqual(client.receive_text(), "still here")

    def test_what_a_server_must_not_send_is_refused(self) -> None:
        broken = {
            "masked": Frame(TEXT, b"x").to_wire(),
            "reserved bit": Frame(TEXT, b"x", rsv=4).to_wire(None),
            "reserved opcode": Frame(3, b"x").to_wire(None),
            "long length form": Frame(TEXT, b"x", rsv=0).to_wire(None, length_form=16),
            "fragmented ping": Frame(PING, b"", fin=False).to_wire(None),
            "long ping": Frame(PING, b"x" * 126).to_wire(None),
            "continuation of nothing": Frame(CONTINUATION, b"x").to_wire(None),
            "text inside a message": Frame(TEXT, b"x", fin=False).to_wire(None)
            + Frame(TEXT, b"y").to_wire(None),
            "close of one byte": Frame(CLOSE, b"x").to_wire(None),
            "close 1005": Frame(CLOSE, (1005).to_bytes(2, "big")).to_wire(None),
            "binary": Frame(BINARY, b"x").to_wire(None),
        }
        for what, data in broken.items():
            with self.subTest(what), self.assertRaises(ProtocolViolation):
                self.dial(lambda peer, data=data: peer.send(data)).receive_text()

    def test_a_refusal_a_wrong_accept_key_and_an_unasked_extension_are_told_apart(self) -> None:
        def refuse(peer: Peer) -> None:
            peer.read_head()
            peer.send(b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 2\r\n\r\n{}")

        with self.assertRaises(Refused) as refused:
            WebSocket(self.serve(refuse), "/")
        self.assertEqual(
            (refused.exception.response.status, refused.exception.response.body), (401, b"{}")
        )
        for options in (
            {"accept": "x"},
            {"extra": "Sec-WebSocket-Extensions: permessage-deflate\r\n"},
            {"extra": "Sec-WebSocket-Protocol: clawseed.v1\r\n"},
        ):
            with self.subTest(options), self.assertRaises(ProtocolViolation):
                WebSocket(self.serve(lambda peer, options=options: peer.upgrade(**options)), "/")

    def test_a_silent_server_is_a_timeout_and_a_quiet_client_answers_nothing(self) -> None:
        def script(peer: Peer) -> None:
            peer.write_frame(Frame(PING))
            self.assertEqual(peer.stream.read_to_end(), b"")

        client = self.dial(script, quiet=True)
        with self.assertRaises(TimeoutError):
            client.receive_text(timeout=0.1)
        self.assertEqual(client.pings, [b""])
        client.stream.close()


class ChecksTest(unittest.TestCase):
    def assert_refused(self, check: Callable[..., None], *arguments: object) -> None:
        with self.assertRaises(AssertionError):
            check(*arguments)

    def test_frames_are_held_to_the_table(self) -> None:
        good = {"type": "tools_registered", "count": 1, "registered": 1}
        check_frame(good)
        for bad in (
            {**good, "count": True},
            {**good, "rejected": []},
            {"type": "tools_registered", "count": 1},
            {"type": "surprise"},
            [],
            {"type": "error", "message": "m"},
            {"type": "error", "message": "m", "code": None},
            {"type": "tool_call_request", "id": 1, "name": "n", "args": {}},
            {"type": "connected", "v": 2, "message": "m"},
        ):
            with self.subTest(bad=bad):
                self.assert_refused(check_frame, bad)
        check_frame({**good, "rejected": []}, ["tools_registered.rejected"])
        self.assert_refused(
            check_frame, {"type": "tool_call_cancel", "id": "1", "reason": "timeout"}
        )
        check_frame(
            {"type": "tool_call_cancel", "id": "1", "reason": "timeout"}, ["tool_call_cancel"]
        )

    def test_responses_are_held_to_the_schema(self) -> None:
        request = call_request("t", call_id="c")
        good = {
            "version": "v1",
            "call_id": "c",
            "tool_name": "t",
            "status": "ok",
            "duration_ms": 0,
            "result": {},
        }
        check_response(good, request)
        error = {"code": "INTERNAL", "message": "m", "retryable": False}
        for change in (
            {"result": []},
            {"error": error},
            {"status": "error"},
            {"x": 1},
            {"duration_ms": 1.5},
            {"call_id": "d"},
        ):
            with self.subTest(change=change):
                self.assert_refused(check_response, {**good, **change}, request)
        self.assertNotIn("context", call_request("t", context=...))

    def test_discovery_is_sorted_and_complete(self) -> None:
        one = {
            "name": "b",
            "description": "",
            "input_schema": {},
            "output_schema": {},
            "timeout_ms_default": 1,
            "timeout_ms_max": 1,
            "idempotent": False,
            "side_effects": True,
        }
        head = {"version": "v1", "service": "crab"}
        check_discovery({**head, "tools": [{**one, "name": "a"}, one]})
        self.assert_refused(check_discovery, {**head, "tools": [one, {**one, "name": "a"}]})
        self.assert_refused(check_discovery, {**head, "tools": [{**one, "timeout_ms_default": 2}]})

    def test_waiting_ends_with_the_answer_or_at_the_limit(self) -> None:
        answers = iter([0, 0, 7])
        self.assertEqual(eventually(lambda: next(answers), "seven"), 7)
        watch = Stopwatch()
        with self.assertRaisesRegex(AssertionError, "never"):
            eventually(lambda: 0, "never", limit=0.05)
        self.assertGreaterEqual(watch.seconds, 0.05)


class ChecklistTest(unittest.TestCase):
    """The table at the end of docs/protocols/clawseed.md."""

    def test_every_number_has_a_row_and_every_test_that_a_row_names_exists(self) -> None:
        tests = Path(__file__).resolve().parents[1]
        text = (tests.parent / "docs/protocols/clawseed.md").read_text()
        rows = dict(
            re.findall(
                r"^\| (\d+) \| (.+) \|$", text.partition("## Conformance tests")[2], re.MULTILINE
            )
        )
        self.assertEqual(list(rows), [str(number) for number in range(1, 71)])
        for number, row in rows.items():
            for module, name in re.findall(r"`(test_\w+)\.(test_\w+)`", row):
                with self.subTest(number=number, name=name):
                    files = [tests / folder / f"{module}.py" for folder in ("conformance", "fault")]
                    self.assertIn(
                        f"def {name}(", "".join(path.read_text() for path in files if path.exists())
                    )
                    self.assertTrue(name.startswith(f"test_clawseed_{int(number):02}_"))
