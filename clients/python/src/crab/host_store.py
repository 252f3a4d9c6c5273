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

__all__ = ["CallKey", "HostStore", "StoreThread", "StoredCall"]

_T = TypeVar("_T")

CallKey = tuple[str, str, str]
"""Tenant, key, and the principal that the gateway calls for; "" where it does not say."""

_KEPT_SECONDS = 24 * 3600
_PRUNE_EVERY = 256
_VERSION = 1  # of the form, in user_version
_CREATE = (
    "CREATE TABLE calls_1 (tenant TEXT, key TEXT, whose TEXT, content BLOB NOT NULL, "
    "status TEXT NOT NULL, text TEXT NOT NULL, duration_ms INTEGER NOT NULL, "
    "began REAL NOT NULL, PRIMARY KEY (tenant, key, whose)) WITHOUT ROWID"
)
_OF = "tenant=? AND key=? AND whose=?"


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
            self._migrate()
            self._prune()
        except BaseException:
            os.close(self._lock)
            raise
        self._begun = 0

    def close(self) -> None:
        self._database.close()
        os.close(self._lock)

    def find(self, key: CallKey) -> StoredCall | None:
        row = self._database.execute(
            f"SELECT content, status, text, duration_ms FROM calls WHERE {_OF}", key
        ).fetchone()
        return StoredCall(*row) if row else None

    def admit(
        self, key: CallKey, content: bytes, began: float, repeatable: bool
    ) -> StoredCall | None:
        """Nothing: the call may run, and that it began is on disk; else what is known of it. Of one
        that is `repeatable` it does not count that it began before."""
        found = self.find(key)
        if found and not (repeatable and not found.text and found.content == content):
            return found
        self._begun += 1
        if self._begun % _PRUNE_EVERY == 0:
            self._prune()
        self._database.execute(
            "INSERT OR REPLACE INTO calls VALUES (?,?,?,?,'','',0,?)", (*key, content, began)
        )
        return None

    def end(self, key: CallKey, status: str, text: str, duration_ms: int) -> None:
        self._database.execute(
            f"UPDATE calls SET status=?, text=?, duration_ms=? WHERE {_OF}",
            (status, text, duration_ms, *key),
        )

    def drop(self, key: CallKey, began: float) -> None:
        """The call that was admitted with `began` had no effect; a record of another one stays."""
        self._database.execute(f"DELETE FROM calls WHERE {_OF} AND began=?", (*key, began))

    def _migrate(self) -> None:
        """From the form without principals, whose calls have none. Errors: sqlite3.Error, also for
        a form that a later version wrote."""
        database = self._database
        (version,) = database.execute("PRAGMA user_version").fetchone()
        if version > _VERSION:
            raise sqlite3.DatabaseError(
                f"calls.db has form {version}, of a later version; this one knows {_VERSION}"
            )
        if version == _VERSION:
            return
        database.execute("BEGIN IMMEDIATE")
        try:
            database.execute(_CREATE)
            if database.execute("SELECT 1 FROM sqlite_master WHERE name='calls'").fetchone():
                database.execute(
                    "INSERT INTO calls_1 SELECT tenant, key, '', content, status, text, "
                    "duration_ms, began FROM calls"
                )
                database.execute("DROP TABLE calls")
            database.execute("ALTER TABLE calls_1 RENAME TO calls")
            database.execute(f"PRAGMA user_version={_VERSION}")
            database.execute("COMMIT")
        except BaseException:
            database.execute("ROLLBACK")
            raise

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

    async def find(self, key: CallKey) -> StoredCall | None:
        return await self._do(lambda: self._opened[0].find(key))

    async def admit(
        self, key: CallKey, content: bytes, began: float, repeatable: bool
    ) -> StoredCall | None:
        return await self._do(lambda: self._opened[0].admit(key, content, began, repeatable))

    async def end(self, key: CallKey, status: str, text: str, duration_ms: int) -> None:
        await self._do(lambda: self._opened[0].end(key, status, text, duration_ms))

    async def drop(self, key: CallKey, began: float) -> None:
        await self._do(lambda: self._opened[0].drop(key, began))

    def _close(self) -> None:
        while self._opened:
            self._opened.pop().close()

    async def _do(self, work: Callable[[], _T]) -> _T:
        return await asyncio.shield(asyncio.get_running_loop().run_in_executor(self._thread, work))
