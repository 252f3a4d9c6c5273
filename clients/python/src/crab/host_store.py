"""The calls of a host on disk: what began, and how it ended, for a day."""

from __future__ import annotations

import asyncio
import fcntl
import os
import sqlite3
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

__all__ = ["HostStore", "StoreThread", "StoredCall"]

_T = TypeVar("_T")

_KEPT_SECONDS = 24 * 3600
_PRUNE_EVERY = 256


@dataclass(frozen=True)
class StoredCall:
    """`text` is empty for one that began and whose end is not known."""

    content: bytes
    status: str
    text: str
    duration_ms: int


class HostStore:
    """A folder that belongs to one host at a time. Errors of all functions: sqlite3.Error."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        """Errors: OSError; BlockingIOError if another process has the folder."""
        path = Path(folder)
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._lock = os.open(path / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.close(os.open(path / "calls.db", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
            self._database = sqlite3.connect(
                path / "calls.db", isolation_level=None, check_same_thread=False
            )
            self._database.execute("PRAGMA journal_mode=WAL")
            self._database.execute("PRAGMA synchronous=FULL")
            self._database.execute(
                "CREATE TABLE IF NOT EXISTS calls (tenant TEXT, key TEXT, content BLOB NOT NULL, "
                "status TEXT NOT NULL, text TEXT NOT NULL, duration_ms INTEGER NOT NULL, "
                "began REAL NOT NULL, PRIMARY KEY (tenant, key)) WITHOUT ROWID"
            )
            self._prune()
        except BaseException:
            os.close(self._lock)
            raise
        self._begun = 0

    def close(self) -> None:
        self._database.close()
        os.close(self._lock)

    def find(self, tenant: str, key: str) -> StoredCall | None:
        row = self._database.execute(
            "SELECT content, status, text, duration_ms FROM calls WHERE tenant=? AND key=?",
            (tenant, key),
        ).fetchone()
        return StoredCall(*row) if row else None

    def admit(
        self, tenant: str, key: str, content: bytes, began: float, repeatable: bool
    ) -> StoredCall | None:
        """Nothing: the call may run, and that it began is on disk; else what is known of it. Of one
        that is `repeatable` it does not count that it began before."""
        found = self.find(tenant, key)
        if found and not (repeatable and not found.text and found.content == content):
            return found
        self._begun += 1
        if self._begun % _PRUNE_EVERY == 0:
            self._prune()
        self._database.execute(
            "INSERT OR REPLACE INTO calls VALUES (?,?,?,'','',0,?)", (tenant, key, content, began)
        )
        return None

    def end(self, tenant: str, key: str, status: str, text: str, duration_ms: int) -> None:
        self._database.execute(
            "UPDATE calls SET status=?, text=?, duration_ms=? WHERE tenant=? AND key=?",
            (status, text, duration_ms, tenant, key),
        )

    def drop(self, tenant: str, key: str, began: float) -> None:
        """The call that was admitted with `began` had no effect; a record of another one stays."""
        self._database.execute(
            "DELETE FROM calls WHERE tenant=? AND key=? AND began=?", (tenant, key, began)
        )

    def _prune(self) -> None:
        self._database.execute("DELETE FROM calls WHERE began < ?", (time.time() - _KEPT_SECONDS,))


class StoreThread:
    """A HostStore on a thread of its own, since a disk may be slow and an event loop may not wait
    for it. All that is asked for is done, in that order, also if the asking task is cancelled."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self._folder = folder
        self._thread = ThreadPoolExecutor(1, "crab host store")
        self._opened: list[HostStore] = []

    async def open(self) -> None:
        """Errors: those of HostStore()."""
        try:
            await self._do(lambda: self._opened.append(HostStore(self._folder)))
        except BaseException:
            self._thread.submit(self._close)
            self._thread.shutdown(wait=False)
            raise

    async def close(self) -> None:
        try:
            await self._do(self._close)
        finally:
            self._thread.shutdown(wait=False)

    async def find(self, key: tuple[str, str]) -> StoredCall | None:
        return await self._do(lambda: self._opened[0].find(*key))

    async def admit(
        self, key: tuple[str, str], content: bytes, began: float, repeatable: bool
    ) -> StoredCall | None:
        return await self._do(lambda: self._opened[0].admit(*key, content, began, repeatable))

    async def end(self, key: tuple[str, str], status: str, text: str, duration_ms: int) -> None:
        await self._do(lambda: self._opened[0].end(*key, status, text, duration_ms))

    async def drop(self, key: tuple[str, str], began: float) -> None:
        await self._do(lambda: self._opened[0].drop(*key, began))

    def _close(self) -> None:
        while self._opened:
            self._opened.pop().close()

    async def _do(self, work: Callable[[], _T]) -> _T:
        return await asyncio.shield(asyncio.get_running_loop().run_in_executor(self._thread, work))
