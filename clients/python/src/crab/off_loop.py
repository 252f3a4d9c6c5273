"""Work that waits for a disk or another program, away from the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

__all__ = ["to_its_end"]

_T = TypeVar("_T")


async def to_its_end(work: Callable[[], _T]) -> _T:
    """On a thread. A cancellation takes effect when it is done: what is stored is known to whoever
    asked, and nobody else writes the same file meanwhile."""
    running = asyncio.ensure_future(asyncio.to_thread(work))
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        await asyncio.wait({running})
        raise
