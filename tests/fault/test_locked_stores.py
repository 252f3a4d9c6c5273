"""A database that another process holds: no call waits for it beyond its deadline, and what it had
to say is stored once it is free."""

from __future__ import annotations

import contextlib
import sqlite3
import unittest
from collections.abc import Iterator

from support.case import GatewayCase
from support.device import tool
from support.gateway import Reply
from support.wait import eventually

PATIENT = 2.5  #: seconds; SQLite alone would wait for five


class LockedStoresTest(GatewayCase):
    CONFIG = {
        "built_in_hosts": {"memory": True, "cron": True},
        "tools": [{"match": "act*", "side_effects": True}],
    }

    def lock(self, store: str) -> sqlite3.Connection:
        """Nobody else writes to this file until it is closed."""
        file = self.gateway.folder / "state" / f"{store}.db"
        link = sqlite3.connect(file, isolation_level=None, timeout=PATIENT, check_same_thread=False)
        link.execute("BEGIN IMMEDIATE")
        return link

    @contextlib.contextmanager
    def locked(self, store: str) -> Iterator[None]:
        with contextlib.closing(self.lock(store)):
            yield

    def assert_in_time(self, reply: Reply) -> None:
        self.assertEqual((reply.status, reply.code), ("timeout", "TIMEOUT"), reply.body)
        self.assertLess(reply.seconds, PATIENT)

    def test_memories(self) -> None:
        self.gateway.call("memory.append", {"entries": [{"text": "before"}]})
        append = {"entries": [{"text": "meanwhile"}]}
        with self.locked("memory"):
            self.assert_in_time(
                self.gateway.call("memory.append", append, idempotency_key="m", timeout_ms=500)
            )
            self.assert_in_time(self.gateway.call("memory.delete", {"all": True}, timeout_ms=500))
            self.assertEqual(self.gateway.fetch("GET", "/readyz").status, 200)
        again = self.gateway.call("memory.append", append, idempotency_key="m")
        self.assertEqual(len(again.result["entries"]), 1, "one entry, now or then")
        found = self.gateway.call("memory.query", {"query": "meanwhile"}).result["entries"]
        self.assertEqual(len(found), 1, "it was not stored twice")

    def test_jobs(self) -> None:
        job = {"name": "j", "schedule": "0 0 1 1 *"}
        with self.locked("cron"):
            self.assert_in_time(self.gateway.call("cron.create", job, timeout_ms=500))
        self.assertEqual(self.gateway.call("cron.create", job).status, "ok")

    def test_the_end_of_a_call(self) -> None:
        act = self.unique("act")
        locks: list[sqlite3.Connection] = []
        device = self.open()
        device.register(tool(act))
        device.serve({act: lambda _: locks.append(self.lock("ledger")) or "done"})
        reply = self.gateway.call(act, {}, idempotency_key="end", timeout_ms=800)
        self.assertEqual(reply.result, {"text": "done"}, "as the tool said")
        self.assertLess(reply.seconds, PATIENT)
        again = self.gateway.call(act, {}, idempotency_key="end")
        self.assertEqual(again.http.headers.get("crab-replayed"), "true", "from memory")
        locks[0].close()
        eventually(
            lambda: self.gateway.admin_request("GET", "/metrics").body.count(
                b"crab_ledger_failing 0"
            ),
            "the ledger is written",
        )
        self.gateway.stop()
        self.gateway.start()
        later = self.gateway.call(act, {}, idempotency_key="end")
        self.assertEqual(later.result, {"text": "done"}, "from disk")
        self.assertEqual(len(locks), 1, "it ran once")

    def test_the_beginning_of_a_call(self) -> None:
        act, read = self.unique("act"), self.unique("read")
        device = self.open()
        device.register(tool(act), tool(read))
        device.serve({act: lambda _: "acted", read: lambda _: "read"})
        with self.locked("ledger"):
            self.assert_in_time(self.gateway.call(act, {}, timeout_ms=500))
            self.assertEqual(self.gateway.call(read, {}).status, "ok", "needs no record")
        self.assertEqual(self.gateway.call(act, {}).status, "ok")


if __name__ == "__main__":
    unittest.main()
