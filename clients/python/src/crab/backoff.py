"""How long to wait before dialling again."""

from __future__ import annotations

from collections.abc import Callable

__all__ = ["Backoff"]

_FIRST, _LONGEST, _STABLE = 1.0, 30.0, 30.0


class Backoff:
    """d = min(1 s * 2^n, 30 s), the wait uniform in [d/2, d], so that devices do not reconnect to
    a restarted gateway all at once. Source: docs/protocols/clawseed.md, section 10."""

    def __init__(self, random: Callable[[], float]) -> None:
        """`random` gives numbers in [0, 1)."""
        self._random, self._failures = random, 0

    def link_lasted(self, seconds: float) -> None:
        if seconds >= _STABLE:
            self._failures = 0

    def next(self) -> float:
        """The next wait in seconds."""
        longest = min(_FIRST * float(2**self._failures), _LONGEST)
        self._failures = min(self._failures + 1, 5)
        return longest / 2 + self._random() * longest / 2
