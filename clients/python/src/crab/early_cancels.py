"""Cancels that came before their calls. Source: docs/protocols/rtp.md, section 3, "Cancel"."""

from __future__ import annotations

import time

__all__ = ["EarlyCancels"]

_SECONDS, _MOST = 10.0, 256


class EarlyCancels:
    """They are kept for ten seconds, the newest 256 of each principal."""

    def __init__(self) -> None:
        self._came: dict[tuple[str, str, str], float] = {}  # the oldest first
        self._counts: dict[str, int] = {}  # of principals that have some

    def remember(self, whose: str, tenant: str, call_id: str) -> None:
        now = time.monotonic()
        while self._came and now - next(iter(self._came.values())) >= _SECONDS:
            self._drop(next(iter(self._came)))
        each = (whose, tenant, call_id)
        self._drop(each)  # its time begins anew
        if self._counts.get(whose, 0) >= _MOST:
            self._drop(next(other for other in self._came if other[0] == whose))
        self._came[each] = now
        self._counts[whose] = self._counts.get(whose, 0) + 1

    def take(self, whose: str, tenant: str, call_id: str) -> bool:
        """Whether there was one for this call; it counts once."""
        each = (whose, tenant, call_id)
        came = self._came.get(each)
        self._drop(each)
        return came is not None and time.monotonic() - came < _SECONDS

    def _drop(self, each: tuple[str, str, str]) -> None:
        if self._came.pop(each, None) is None:
            return
        self._counts[each[0]] -= 1
        if not self._counts[each[0]]:
            del self._counts[each[0]]
