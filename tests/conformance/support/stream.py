"""A socket with a deadline on every wait and a buffer in front of its reads."""

from __future__ import annotations

import contextlib
import socket
import struct
import time
from pathlib import Path

from .wait import PATIENCE

Address = tuple[str, int] | Path  #: TCP host and port, or the path of a Unix socket


class EndOfStream(Exception):
    """The other side closed; `was_reset` tells a reset from an orderly end, `rest` is what it had
    sent of the thing read."""

    def __init__(self, was_reset: bool, rest: bytes = b"") -> None:
        super().__init__(
            ("connection reset" if was_reset else "end of stream")
            + (f" after {rest[:80]!r}" if rest else "")
        )
        self.was_reset, self.rest = was_reset, rest


class Stream:
    """Bytes to and from one peer. Reads fail with TimeoutError after `timeout` seconds and with
    EndOfStream at the end."""

    def __init__(
        self, address: Address, timeout: float = PATIENCE, receive_buffer: int | None = None
    ) -> None:
        family = socket.AF_UNIX if isinstance(address, Path) else socket.AF_INET
        self.socket = socket.socket(family, socket.SOCK_STREAM)
        if receive_buffer is not None:  # before connect(): it bounds the window that is announced
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.socket.settimeout(timeout)
        self.timeout = timeout
        try:
            self.socket.connect(str(address) if isinstance(address, Path) else address)
        except BaseException:
            self.socket.close()
            raise
        self._buffer = bytearray()

    def send(self, data: bytes) -> None:
        """Sends all of it. Errors: EndOfStream when the peer is gone."""
        try:
            self.socket.settimeout(self.timeout)
            self.socket.sendall(data)
        except (BrokenPipeError, ConnectionResetError):
            raise EndOfStream(True) from None

    def _fill(self, end: float) -> None:
        left = end - time.monotonic()
        if left <= 0:
            raise TimeoutError("nothing came in time")
        self.socket.settimeout(left)
        try:
            data = self.socket.recv(1 << 18)
        except TimeoutError:
            raise TimeoutError(
                f"nothing came in time; read so far: {bytes(self._buffer[:80])!r}"
            ) from None
        except ConnectionResetError:
            raise EndOfStream(True, bytes(self._buffer)) from None
        if not data:
            raise EndOfStream(False, bytes(self._buffer))
        self._buffer += data

    def read(self, count: int, timeout: float | None = None) -> bytes:
        """Exactly `count` bytes."""
        end = time.monotonic() + (self.timeout if timeout is None else timeout)
        while len(self._buffer) < count:
            self._fill(end)
        return self._take(count)

    def read_until(self, mark: bytes, timeout: float | None = None, limit: int = 1 << 20) -> bytes:
        """All up to and with `mark`, at most `limit` bytes."""
        end = time.monotonic() + (self.timeout if timeout is None else timeout)
        while mark not in self._buffer:
            if len(self._buffer) > limit:
                raise AssertionError(f"no {mark!r} within {limit} bytes")
            self._fill(end)
        return self._take(self._buffer.index(mark) + len(mark))

    def read_to_end(self, timeout: float | None = None) -> bytes:
        """All until the peer closes."""
        end = time.monotonic() + (self.timeout if timeout is None else timeout)
        try:
            while True:
                self._fill(end)
        except EndOfStream:
            return self._take(len(self._buffer))

    def _take(self, count: int) -> bytes:
        taken = bytes(self._buffer[:count])
        del self._buffer[:count]
        return taken

    def half_close(self) -> None:
        """No more bytes from us; reading goes on."""
        self.socket.shutdown(socket.SHUT_WR)

    def reset(self) -> None:
        """Ends the connection as a crash does: RST on TCP, nothing said. No other thread may be
        reading."""
        if self.socket.family == socket.AF_INET:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()

    def close(self) -> None:
        """An orderly end, also while another thread reads; nothing if it has ended."""
        with contextlib.suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()
