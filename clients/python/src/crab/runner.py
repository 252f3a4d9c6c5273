"""Runs the functions of tools, some at a time."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from typing import Any

from .tools import Tool, ToolCall

__all__ = ["LoopWatch", "Runner"]

_log = logging.getLogger("crab")


class Runner:
    """Places for `parallel` functions; further calls wait for one."""

    def __init__(self, parallel: int) -> None:
        self._places = asyncio.Semaphore(parallel)
        self._of_tools: dict[str, tuple[int, asyncio.Semaphore]] = {}
        self.running: Counter[str] = Counter()  #: functions that have not ended, by tool

    async def run(self, tool: Tool, call: ToolCall) -> Any:
        """What the function returns; what it raises. Cancelling this cancels the function, but its
        place stays taken until it has ended."""
        own = self._places_of(tool)
        if own:
            await own.acquire()
        try:
            await self._places.acquire()
        except BaseException:
            if own:
                own.release()
            raise

        def leave(_: object = None) -> None:
            self.running[tool.name] -= 1
            self._places.release()
            if own:
                own.release()

        self.running[tool.name] += 1
        try:
            work = tool.begin(call)
        except BaseException:
            leave()
            raise
        work.add_done_callback(leave)
        work.add_done_callback(_look_at)
        try:
            return await asyncio.shield(work)
        finally:
            if not work.done():
                call.cancel()

    def _places_of(self, tool: Tool) -> asyncio.Semaphore | None:
        most = tool.max_concurrency
        if most is None:
            return None
        if self._of_tools.get(tool.name, (0, None))[0] != most:
            self._of_tools[tool.name] = (most, asyncio.Semaphore(most))
        return self._of_tools[tool.name][1]


def _look_at(work: asyncio.Future[Any]) -> None:
    """A failure of a function that nobody waits for any more is not reported as forgotten."""
    if not work.cancelled():
        work.exception()


class LoopWatch:
    """Reports in the log that something has blocked the event loop, on which nothing else runs
    then: neither other calls nor the answers to the gateway's pings."""

    def __init__(self, runner: Runner, interval: float = 0.5, allowed: float = 2.0) -> None:
        self._runner, self._interval, self._allowed = runner, interval, allowed

    async def watch(self) -> None:
        while True:
            before = time.monotonic()
            await asyncio.sleep(self._interval)
            blocked = time.monotonic() - before - self._interval
            if blocked > self._allowed:
                running = sorted(name for name, count in self._runner.running.items() if count)
                _log.warning(
                    "the event loop was blocked for %.1f s; a tool that waits without `await` has "
                    "to be a plain function, which gets a thread of its own (running: %s)",
                    blocked,
                    ", ".join(running) or "none",
                )
