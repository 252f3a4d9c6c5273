"""The calls of a host on disk: what began, and how it ended, for a day."""

from __future__ import annotations

import fcntl
import os
import sqlite3
import time
from dataclasses import dataclass
from pathlib import Path

__all__ = ["HostStore", "StoredCall"]

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

    def begin(self, tenant: str, key: str, content: bytes) -> None:
        """On disk when this returns: the call may run."""
        self._begun += 1
        if self._begun % _PRUNE_EVERY == 0:
            self._prune()
        self._database.execute(
            "INSERT OR REPLACE INTO calls VALUES (?,?,?,'','',0,?)",
            (tenant, key, content, time.time()),
        )

    def end(self, tenant: str, key: str, status: str, text: str, duration_ms: int) -> None:
        self._database.execute(
            "UPDATE calls SET status=?, text=?, duration_ms=? WHERE tenant=? AND key=?",
            (status, text, duration_ms, tenant, key),
        )

    def drop(self, tenant: str, key: str) -> None:
        """It had no effect."""
        self._database.execute("DELETE FROM calls WHERE tenant=? AND key=?", (tenant, key))

    def _prune(self) -> None:
        self._database.execute("DELETE FROM calls WHERE began < ?", (time.time() - _KEPT_SECONDS,))
