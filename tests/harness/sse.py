"""Server-sent events, read as the HTML standard says: any line ends, any cuts between pieces."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class Event:
    """One event; `id` is the last one that the stream has named so far."""

    data: str
    name: str = "message"
    id: str | None = None


class EventParser:
    """Bytes in, events out. `last_id` and `retry` (milliseconds) also come from events without
    data."""

    def __init__(self) -> None:
        self.last_id: str | None = None
        self.retry: int | None = None
        self.comments = 0
        self._rest = b""
        self._is_first = True
        self._name = ""
        self._data: list[str] = []

    def feed(self, piece: bytes) -> list[Event]:
        """The events that `piece` completes."""
        self._rest += piece
        if self._is_first and len(self._rest) >= 3:
            self._rest = self._rest.removeprefix(b"\xef\xbb\xbf")
            self._is_first = False
        # A CR at the end may be half of a CRLF.
        held = b"\r" if self._rest.endswith(b"\r") else b""
        text = self._rest[: len(self._rest) - len(held)].replace(b"\r\n", b"\n")
        *lines, rest = text.replace(b"\r", b"\n").split(b"\n")
        self._rest = rest + held
        found = (self._line(line.decode()) for line in lines)
        return [event for event in found if event is not None]

    def _line(self, line: str) -> Event | None:
        if not line:
            return self._dispatch()
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if not field:
            self.comments += 1
        elif field == "event":
            self._name = value
        elif field == "data":
            self._data.append(value)
        elif field == "id" and "\0" not in value:
            self.last_id = value
        elif field == "retry" and value.isdigit():
            self.retry = int(value)
        return None

    def _dispatch(self) -> Event | None:
        data, name = "\n".join(self._data), self._name
        self._name, self._data = "", []
        return Event(data, name or "message", self.last_id) if data else None
