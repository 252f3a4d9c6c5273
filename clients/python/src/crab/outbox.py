"""What a device remembers of calls: replies that are not acknowledged, and ids that have run."""

from __future__ import annotations

import time
from dataclasses import dataclass

__all__ = ["Outbox", "SeenCalls"]

_MOST_REPLIES = 1_024
_MOST_BYTES = 64 << 20
_MOST_IDS = 16_384


@dataclass
class _Reply:
    frame: str
    sent: float
    keep_until: float | None  # None while the link is up


class Outbox:
    """Replies without an acknowledgement: they are sent again on the next link, unless the grace
    period is over by then. A gateway that acknowledges nothing costs bounded memory."""

    def __init__(self) -> None:
        self._replies: dict[str, _Reply] = {}
        self._size = 0

    def add(self, call_id: str, frame: str, keep_until: float | None) -> None:
        self.acknowledge(call_id)
        self._replies[call_id] = _Reply(frame, time.monotonic(), keep_until)
        self._size += len(frame)
        while len(self._replies) > _MOST_REPLIES or (
            self._size > _MOST_BYTES and len(self._replies) > 1
        ):
            self.acknowledge(next(iter(self._replies)))

    def find(self, call_id: str) -> str | None:
        """The reply to that call, if it still waits for its acknowledgement."""
        reply = self._replies.get(call_id)
        return reply.frame if reply else None

    def sent_before(self, moment: float) -> list[str]:
        """Those that wait since then, oldest first."""
        return [reply.frame for reply in self._replies.values() if reply.sent <= moment]

    def acknowledge(self, call_id: str) -> None:
        reply = self._replies.pop(call_id, None)
        if reply:
            self._size -= len(reply.frame)

    def link_broke(self, keep_until: float) -> None:
        for reply in self._replies.values():
            if reply.keep_until is None:
                reply.keep_until = keep_until

    def link_opened(self, now: float) -> list[str]:
        """The frames to send again, oldest first; expired ones are dropped."""
        for call_id, reply in list(self._replies.items()):
            if reply.keep_until is not None and now > reply.keep_until:
                self.acknowledge(call_id)
            reply.keep_until, reply.sent = None, now
        return [reply.frame for reply in self._replies.values()]


class SeenCalls:
    """The ids of the calls that a device has begun, so that none runs twice although the gateway
    may send it again. The oldest is forgotten."""

    def __init__(self) -> None:
        self._ids: dict[str, None] = {}

    def add(self, call_id: str) -> None:
        self._ids[call_id] = None
        if len(self._ids) > _MOST_IDS:
            del self._ids[next(iter(self._ids))]

    def __contains__(self, call_id: str) -> bool:
        return call_id in self._ids
