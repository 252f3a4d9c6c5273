"""A strict RFC 6455 client: it refuses every server frame that breaks a rule, and it can break
every rule itself."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import os
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .http import Response, read_head, request_bytes
from .stream import Address, EndOfStream, Stream
from .wait import PATIENCE

CONTINUATION, TEXT, BINARY, CLOSE, PING, PONG = 0, 1, 2, 8, 9, 10
_KEY_SUFFIX = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
_DEFLATE_TAIL = b"\x00\x00\xff\xff"


class ProtocolViolation(AssertionError):
    """The server broke RFC 6455 or 7692."""


class Refused(Exception):
    """The upgrade was answered with something else than 101."""

    def __init__(self, response: Response) -> None:
        super().__init__(f"{response.status}: {response.body[:200]!r}")
        self.response = response


class Closed(Exception):
    """The connection is over. `code` is the server's close code, 1005 for a close frame without
    one, 1006 for none at all."""

    def __init__(self, code: int, reason: str = "") -> None:
        super().__init__(f"closed with {code} {reason}".rstrip())
        self.code, self.reason = code, reason


@dataclass(frozen=True)
class Frame:
    """One frame; `rsv` holds the three reserved bits, RSV1 being 4."""

    opcode: int
    payload: bytes = b""
    fin: bool = True
    rsv: int = 0

    def to_wire(
        self, mask: bytes | None = b"\x37\xfa\x21\x3d", length_form: int | None = None
    ) -> bytes:
        """The bytes of the frame. `mask` None leaves it unmasked; `length_form` 7, 16 or 64 forces
        a form of the length."""
        first = (0x80 if self.fin else 0) | self.rsv << 4 | self.opcode
        size, masked = len(self.payload), 0x80 if mask else 0
        form = length_form or (7 if size < 126 else 16 if size < 65536 else 64)
        head = bytes([first, masked | (size if form == 7 else 126 if form == 16 else 127)])
        head += b"" if form == 7 else size.to_bytes(form // 8, "big")
        return head + (mask + apply_mask(self.payload, mask) if mask else self.payload)


def apply_mask(payload: bytes, mask: bytes) -> bytes:
    repeated = (mask * (len(payload) // 4 + 1))[: len(payload)]
    return (int.from_bytes(payload, "big") ^ int.from_bytes(repeated, "big")).to_bytes(
        len(payload), "big"
    )


def accept_key(key: str) -> str:
    """What `Sec-WebSocket-Accept` has to be."""
    return base64.b64encode(hashlib.sha1(key.encode() + _KEY_SUFFIX).digest()).decode()


def upgrade_headers(key: str, extra: Mapping[str, str] | None = None) -> dict[str, str]:
    headers = {
        "Upgrade": "websocket",
        "Connection": "Upgrade",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": key,
    }
    return {**headers, **(extra or {})}


class WebSocket:
    """An open WebSocket. Pings are answered and the server's close is echoed, unless `quiet`.

    Every wait ends after `timeout` seconds. Errors: Refused, Closed, ProtocolViolation,
    TimeoutError.
    """

    def __init__(
        self,
        address: Address,
        target: str,
        headers: Mapping[str, str] | None = None,
        subprotocols: Sequence[str] = (),
        offer_deflate: bool = False,
        host: str = "localhost",
        quiet: bool = False,
        timeout: float = PATIENCE,
        receive_buffer: int | None = None,
    ) -> None:
        self.stream = Stream(address, timeout, receive_buffer)
        self.quiet = quiet
        self.pings: list[bytes] = []  #: payloads of the pings that came so far
        self.closed: Closed | None = None
        self._fragments: list[Frame] = []
        extra = dict(headers or {})
        if subprotocols:
            extra["Sec-WebSocket-Protocol"] = ", ".join(subprotocols)
        if offer_deflate:
            extra[
                "Sec-WebSocket-Extensions"
            ] = "permessage-deflate; client_no_context_takeover; server_no_context_takeover"
        key = base64.b64encode(os.urandom(16)).decode()
        try:
            self.stream.send(request_bytes("GET", target, upgrade_headers(key, extra), None, host))
            self.response = read_head(self.stream)
            if self.response.status != 101:
                length = int(self.response.headers.get("content-length", 0))
                self.response.body = self.stream.read(length)
                raise Refused(self.response)
            self._check_upgrade(key, subprotocols, offer_deflate)
        except BaseException:
            self.stream.close()
            raise

    def _check_upgrade(self, key: str, subprotocols: Sequence[str], offer_deflate: bool) -> None:
        headers = self.response.headers
        if (
            headers.get("upgrade", "").lower() != "websocket"
            or "upgrade" not in headers.get("connection", "").lower()
        ):
            raise ProtocolViolation(f"101 without Upgrade and Connection: {headers}")
        if headers.get("sec-websocket-accept") != accept_key(key):
            raise ProtocolViolation(f"wrong accept key: {headers}")
        self.subprotocol = headers.get("sec-websocket-protocol")
        if self.subprotocol is not None and self.subprotocol not in subprotocols:
            raise ProtocolViolation(f"subprotocol {self.subprotocol!r} was not offered")
        extensions = headers.get("sec-websocket-extensions")
        self.deflate = extensions is not None
        if self.deflate:
            parameters = [word.strip() for word in extensions.split(";")]
            if not offer_deflate or parameters[0] != "permessage-deflate":
                raise ProtocolViolation(f"extension {extensions!r} was not offered")
            if "server_no_context_takeover" not in parameters:
                raise ProtocolViolation("server_no_context_takeover was asked for and not granted")

    def __enter__(self) -> WebSocket:
        return self

    def __exit__(self, *_: object) -> None:
        self.stream.close()

    # Sending

    def send_raw(self, data: bytes) -> None:
        try:
            self.stream.send(data)
        except EndOfStream:
            raise self.closed or Closed(1006) from None

    def send_frame(self, frame: Frame) -> None:
        self.send_raw(frame.to_wire(os.urandom(4)))

    def send_text(self, text: str | bytes, compress: bool = False, fragments: int = 1) -> None:
        """One text message, compressed only if that was negotiated, in that many frames."""
        payload = text.encode() if isinstance(text, str) else text
        if compress and self.deflate:
            packer = zlib.compressobj(wbits=-15)
            payload = (packer.compress(payload) + packer.flush(zlib.Z_SYNC_FLUSH)).removesuffix(
                _DEFLATE_TAIL
            )
        step = max(1, -(-len(payload) // fragments))
        pieces = [payload[at : at + step] for at in range(0, len(payload), step)] or [b""]
        wire = b""
        for number, piece in enumerate(pieces):
            opcode, rsv = (
                (TEXT, 4 if compress and self.deflate else 0) if number == 0 else (CONTINUATION, 0)
            )
            wire += Frame(opcode, piece, number == len(pieces) - 1, rsv).to_wire(os.urandom(4))
        self.send_raw(wire)

    def ping(self, payload: bytes = b"") -> None:
        self.send_frame(Frame(PING, payload))

    def send_close(self, code: int = 1000, reason: str = "") -> None:
        self.send_frame(Frame(CLOSE, code.to_bytes(2, "big") + reason.encode()))

    # Receiving

    def receive_frame(self, timeout: float | None = None) -> Frame:
        """The next frame as it came, checked by itself. Errors: Closed(1006) when the stream
        ends."""
        try:
            first, second = self.stream.read(2, timeout)
            size = second & 0x7F
            if second & 0x80:
                raise ProtocolViolation("a server must not mask")
            if size > 125:
                form = 2 if size == 126 else 8
                size = int.from_bytes(self.stream.read(form, timeout), "big")
                if size < (126 if form == 2 else 65536) or size >> 63:
                    raise ProtocolViolation("length not in its shortest form")
            frame = Frame(
                first & 15, self.stream.read(size, timeout), bool(first & 0x80), first >> 4 & 7
            )
        except EndOfStream:
            raise self.closed or Closed(1006) from None
        if frame.opcode not in (CONTINUATION, TEXT, BINARY, CLOSE, PING, PONG):
            raise ProtocolViolation(f"opcode {frame.opcode}")
        if frame.opcode >= CLOSE and (not frame.fin or size > 125 or frame.rsv):
            raise ProtocolViolation(f"broken control frame {frame}")
        if frame.rsv and not (frame.rsv == 4 and self.deflate and frame.opcode in (TEXT, BINARY)):
            raise ProtocolViolation(f"reserved bits {frame.rsv}")
        if self.closed:
            raise ProtocolViolation(f"a frame after the close frame: {frame}")
        return frame

    def receive_text(self, timeout: float | None = None) -> str:
        """The next text message; control frames on the way are answered. Errors: Closed."""
        while True:
            frame = self.receive_frame(timeout)
            if frame.opcode >= CLOSE:
                self._on_control(frame)
                continue
            if (frame.opcode == CONTINUATION) != bool(self._fragments):
                raise ProtocolViolation("fragments out of order")
            self._fragments.append(frame)
            if frame.fin:
                return self._take_message()

    def _take_message(self) -> str:
        frames, self._fragments = self._fragments, []
        payload = b"".join(frame.payload for frame in frames)
        if frames[0].opcode != TEXT:
            raise ProtocolViolation("a binary message; ClawSeed sends none")
        if frames[0].rsv:
            payload = zlib.decompressobj(wbits=-15).decompress(payload + _DEFLATE_TAIL)
        return payload.decode("utf-8")

    def _on_control(self, frame: Frame) -> None:
        if frame.opcode == PING:
            self.pings.append(frame.payload)
            if not self.quiet:
                self.send_frame(Frame(PONG, frame.payload))
        elif frame.opcode == CLOSE:
            if len(frame.payload) == 1:
                raise ProtocolViolation("a close frame of one byte")
            code = int.from_bytes(frame.payload[:2], "big") if frame.payload else 1005
            if frame.payload and (code < 1000 or code in (1004, 1005, 1006) or 1015 <= code < 3000):
                raise ProtocolViolation(f"close code {code}")
            try:
                self.closed = Closed(code, frame.payload[2:].decode("utf-8"))
            except UnicodeDecodeError:
                raise ProtocolViolation(
                    f"a close reason that is not UTF-8: {frame.payload!r}"
                ) from None
            if not self.quiet:
                with contextlib.suppress(EndOfStream):  # it may not wait for the answer
                    self.stream.send(Frame(CLOSE, frame.payload[:2]).to_wire(os.urandom(4)))
            raise self.closed

    def wait_pong(self, payload: bytes, timeout: float | None = None) -> None:
        """Reads on until the pong with that payload; no message may come before."""
        while True:
            frame = self.receive_frame(timeout)
            if frame == Frame(PONG, payload):
                return
            if frame.opcode < CLOSE:
                raise AssertionError(f"a message where a pong was due: {frame.payload[:200]!r}")
            self._on_control(frame)

    def wait_ping(self, timeout: float | None = None) -> bytes:
        """Reads on until a ping, which is answered unless `quiet`; no message may come before."""
        while True:
            frame = self.receive_frame(timeout)
            if frame.opcode < CLOSE:
                raise AssertionError(f"a message where a ping was due: {frame.payload[:200]!r}")
            self._on_control(frame)
            if frame.opcode == PING:
                return frame.payload

    def wait_closed(self, timeout: float | None = None) -> Closed:
        """Reads and drops messages until the connection is over, ends ours too, and says how."""
        try:
            while True:
                self.receive_text(timeout)
        except Closed as closed:
            self.stream.close()
            return closed

    def close(self, code: int = 1000) -> Closed:
        """The closing handshake from our side, to its end."""
        self.send_close(code)
        return self.wait_closed()

    def half_close(self) -> None:
        self.stream.half_close()

    def reset(self) -> None:
        """As a crashed process or a pulled cable with a stateful firewall: RST, no close frame."""
        self.stream.reset()
