"""Waiting for something that another process does, never longer than said."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
PATIENCE = 5.0  #: seconds; how long anything that should happen soon may take on a loaded machine


def eventually(question: Callable[[], T], what: str, limit: float = PATIENCE) -> T:
    """Asks until the answer is true and returns it. Fails with `what` and the last answer after
    `limit` seconds."""
    end = time.monotonic() + limit
    while True:
        answer = question()
        if answer:
            return answer
        if time.monotonic() > end:
            raise AssertionError(f"not within {limit:g} s: {what}; last answer: {answer!r}")
        time.sleep(0.01)  # between two questions, not instead of one


class Stopwatch:
    """Seconds since its making, on the steady clock."""

    def __init__(self) -> None:
        self._start = time.monotonic()

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._start


def fastest(attempt: Callable[[], float], limit: float) -> float:
    """The least of at most three attempts, which end with the first that took no longer than
    `limit`: a machine that is busy with other tests may need more than one, and what always takes
    longer does not pass."""
    took: list[float] = []
    while not took or (min(took) > limit and len(took) < 3):
        took.append(attempt())
    return min(took)
