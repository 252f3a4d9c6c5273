"""A relay between a device and the gateway that writes down what both say, and that a test cuts and
opens again."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from typing import Any, BinaryIO

from .wait import PATIENCE
from .websocket import TEXT, apply_mask


class Connection:
    """One WebSocket through the relay. `sent` and `received` are the text frames of the device and
    of the gateway, in order; each stands there before it is passed on, so whoever has seen what it
    does finds it."""

    def __init__(self, device: socket.socket, gateway: socket.socket) -> None:
        self.sent: list[dict[str, Any]] = []
        self.received: list[dict[str, Any]] = []
        self.ends = (device, gateway)
        pairs = ((device, gateway, self.sent), (gateway, device, self.received))
        self._threads = [
            threading.Thread(target=self._pump, args=each, daemon=True) for each in pairs
        ]
        for thread in self._threads:
            thread.start()

    def sent_of(self, *kinds: str, id: str | None = None) -> list[dict[str, Any]]:
        """What the device has sent of these types, and about that call."""
        return [
            frame
            for frame in list(self.sent)
            if frame["type"] in kinds and (id is None or frame.get("id") == id)
        ]

    def cut(self) -> None:
        for end in self.ends:
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self.cut()
        for thread in self._threads:
            thread.join(PATIENCE)
        for end in self.ends:
            end.close()

    def _pump(
        self, source: socket.socket, sink: socket.socket, frames: list[dict[str, Any]]
    ) -> None:
        with contextlib.suppress(OSError, EOFError), source.makefile("rb") as stream:
            head = b""
            while not head.endswith(b"\r\n\r\n"):
                head += take_line(stream)
            sink.sendall(head)
            text = b""
            while True:
                raw, opcode, payload = take_frame(stream)
                if opcode in (0, TEXT):
                    text += payload
                    if raw[0] & 0x80:
                        frames.append(json.loads(text))
                        text = b""
                sink.sendall(raw)
        self.cut()


class Relay:
    """Listens at `address` and relays to `target`, which may move while the link is broken."""

    def __init__(self, target: tuple[str, int]) -> None:
        self.connections: list[Connection] = []
        self.target = target
        self._open, self._lock = True, threading.Lock()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address: tuple[str, int] = self._listener.getsockname()
        self._accepting = threading.Thread(target=self._accept, daemon=True)
        self._accepting.start()

    def break_down(self) -> None:
        """Cuts what there is, and whoever comes, until mend()."""
        with self._lock:
            self._open = False
            for connection in self.connections:
                connection.cut()

    def mend(self) -> None:
        with self._lock:
            self._open = True

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._accepting.join(PATIENCE)
        for connection in self.connections:
            connection.close()

    def _accept(self) -> None:
        while True:
            try:
                device, _ = self._listener.accept()
            except OSError:
                return
            with self._lock:
                if self._open:
                    self.connections.append(
                        Connection(device, socket.create_connection(self.target))
                    )
                else:
                    device.close()


def take_line(stream: BinaryIO) -> bytes:
    line = stream.readline()
    if not line.endswith(b"\n"):
        raise EOFError
    return line


def take_frame(stream: BinaryIO) -> tuple[bytes, int, bytes]:
    """The bytes of a frame, its opcode, its payload."""

    def take(count: int) -> bytes:
        data = stream.read(count)
        if len(data) != count:
            raise EOFError
        return data

    raw = take(2)
    size, masked = raw[1] & 0x7F, raw[1] & 0x80
    if size >= 126:
        extended = take(2 if size == 126 else 8)
        raw, size = raw + extended, int.from_bytes(extended, "big")
    mask = take(4) if masked else b""
    payload = take(size)
    return raw + mask + payload, raw[0] & 0x0F, apply_mask(payload, mask) if masked else payload
