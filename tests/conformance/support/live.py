"""A reader of `/v1/admin/stream`, the operator's stream of what happens now."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

from .gateway import Gateway
from .stream import EndOfStream, Stream
from .wait import PATIENCE

News = tuple[str, dict[str, Any]]


class LiveReader:
    """Reads from construction on; `hello` is its first event. A context manager."""

    def __init__(self, gateway: Gateway, receive_buffer: int | None = None, **query: Any) -> None:
        self.stream = Stream(gateway.admin, receive_buffer=receive_buffer)
        self.stream.send(
            f"GET /v1/admin/stream?{urlencode(query)} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
        )
        head = self.stream.read_until(b"\r\n\r\n").decode()
        self.status = int(head.split()[1])
        self._text = b""
        if self.status == 200:
            assert "text/event-stream" in head, head
            kind, self.hello = self.next()
            assert kind == "hello", kind

    def __enter__(self) -> LiveReader:
        return self

    def __exit__(self, *_: object) -> None:
        self.stream.close()

    def _chunk(self, timeout: float) -> bytes:
        size = int(self.stream.read_until(b"\r\n", timeout), 16)
        data = self.stream.read(size + 2, timeout)[:-2]
        if size == 0:
            raise EndOfStream(False)
        return data

    def next(self, timeout: float = PATIENCE) -> News:
        """The next event."""
        end = time.monotonic() + timeout
        while True:
            while b"\n\n" not in self._text:
                self._text += self._chunk(max(0.01, end - time.monotonic()))
            event, self._text = self._text.split(b"\n\n", 1)
            fields = dict(
                line.split(": ", 1) for line in event.decode().split("\n") if ": " in line
            )
            if "event" in fields:
                return fields["event"], json.loads(fields["data"])

    def wait(self, kind: str, fits: Callable[[dict[str, Any]], Any] = lambda _: True) -> dict:
        """The next event of that type that fits; the others before it are passed over."""
        end = time.monotonic() + PATIENCE
        while True:
            found, data = self.next(end - time.monotonic())
            if found == kind and fits(data):
                return data

    def calls(self, count: int) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        """The sums over the `calls` events in which `count` calls have ended, and their rows."""
        sums: dict[str, Any] = {"total": 0, "unrecorded": 0, "left_out": 0, "by_status": {}}
        rows: list[dict[str, Any]] = []
        while sums["total"] + sums["unrecorded"] < count:
            event = self.wait("calls")
            for name in ("total", "unrecorded", "left_out"):
                sums[name] += event[name]
            for status, number in event["by_status"].items():
                sums["by_status"][status] = sums["by_status"].get(status, 0) + number
            rows += event["rows"]
        return sums, rows

    def ended(self) -> bool:
        """Whether the gateway ends the stream, after what is on its way."""
        with contextlib.suppress(EndOfStream):
            while True:
                self.next()
        return True
