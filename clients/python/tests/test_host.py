"""What a host remembers of calls, and what it lets go."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sqlite3
import tempfile
import threading
import time
import unittest
from pathlib import Path
from typing import Any
from unittest import mock

from crab import ToolHost, host
from crab.host_store import HostStore, StoredCall, StoreThread
from crab.server import Request


class Memory(unittest.IsolatedAsyncioTestCase):
    def setUp(self) -> None:
        self.host = ToolHost("test")
        self.runs = 0
        self.host.tool(self.count, name="count", description="Counts its runs.")

    def count(self, text: str = "") -> dict[str, int]:
        self.runs += 1
        return {"runs": self.runs}

    async def ask(self, route: str, body: dict[str, Any], whose: str = "") -> dict[str, Any]:
        data = json.dumps({"version": "v1", "tenant_id": "default", **body}).encode()
        fields = {"crab-principal": whose} if whose else {}
        reply = await self.host._handle(Request("POST", f"/v1/tools/{route}", fields, data))
        answer: dict[str, Any] = json.loads(reply.body)
        return answer

    async def call(self, call_id: str, tool: str = "count", **args: Any) -> dict[str, Any]:
        context = {"agent_id": "a", "session_id": "s"}
        body = {"call_id": call_id, "tool_name": tool, "args": args, "context": context}
        return await self.ask("call", body)

    async def call_of(self, whose: str, call_id: str) -> dict[str, Any]:
        context = {"agent_id": "a", "session_id": "s"}
        body = {"call_id": call_id, "tool_name": "count", "args": {}, "context": context}
        return await self.ask("call", body, whose)

    async def test_callers_of_one_gateway_do_not_meet(self) -> None:
        listed = await self.host._handle(Request("GET", "/v1/tools", {}))
        self.assertIs(json.loads(listed.body)["keeps_callers_apart"], True)
        for _ in range(2):  # a repeat is each one's own
            self.assertEqual((await self.call_of("ann", "c1"))["result"]["runs"], 1)
            self.assertEqual((await self.call_of("bob", "c1"))["result"]["runs"], 2)

    async def test_a_cancel_reaches_calls_of_its_caller_only(self) -> None:
        await self.call_of("ann", "c1")
        self.assertEqual((await self.ask("cancel", {"call_id": "c1"}, "ann"))["status"], "finished")
        self.assertEqual(
            (await self.ask("cancel", {"call_id": "c1"}, "bob"))["status"], "not_found"
        )
        self.assertEqual((await self.call_of("cat", "c1"))["status"], "ok")
        self.assertEqual((await self.call_of("bob", "c1"))["error"]["code"], "CANCELLED")

    async def test_cancels_of_one_caller_push_out_none_of_another(self) -> None:
        for number in range(300):
            await self.ask("cancel", {"call_id": f"c{number}"}, "ann" if number else "bob")
        self.assertEqual((await self.call_of("bob", "c0"))["error"]["code"], "CANCELLED")
        self.assertEqual((await self.call_of("ann", "c1"))["status"], "ok")  # the newest are kept
        self.assertEqual((await self.call_of("ann", "c299"))["error"]["code"], "CANCELLED")

    async def test_the_number_of_calls_that_are_kept_has_a_limit(self) -> None:
        with mock.patch.object(host, "_KEPT_MOST", 10):
            for number in range(30):
                await self.call(f"c{number}")
            self.assertLessEqual(len(self.host._entries), 10)
            again = await self.call("c29")
            self.assertEqual(again["result"]["runs"], 30)  # the latest are those that are kept

    async def test_bytes_of_results_have_a_limit_too(self) -> None:
        with mock.patch.object(host, "_KEPT_BYTES", 10 * host._ENTRY_BYTES):
            for number in range(30):
                await self.call(f"c{number}")
            self.assertLess(len(self.host._entries), 10)

    async def test_arguments_are_not_kept(self) -> None:
        await self.call("c1", text="x" * 100_000)
        (entry,) = self.host._entries.values()
        self.assertEqual(entry.call.args, {})
        self.assertEqual((await self.call("c1", text="x" * 100_000))["result"]["runs"], 1)
        self.assertEqual((await self.call("c1", text="y"))["error"]["code"], "CONFLICT")

    async def test_looking_for_old_calls_does_not_look_at_all(self) -> None:
        for number in range(50):
            await self.call(f"c{number}")
        looked = 0

        class Counting(dict):  # type: ignore[type-arg]
            def __getitem__(self, key: Any) -> Any:
                nonlocal looked
                looked += 1
                return super().__getitem__(key)

        self.host._entries = Counting(self.host._entries)
        self.host._forget_old()
        self.assertEqual(looked, 1)

    async def test_a_call_that_is_cancelled_in_line_runs_when_it_is_repeated(self) -> None:
        gate, inside = threading.Event(), asyncio.Event()
        loop = asyncio.get_running_loop()
        self.addCleanup(gate.set)

        def block() -> None:
            """Blocks."""
            loop.call_soon_threadsafe(inside.set)
            gate.wait(20)

        self.host.tool(block)
        self.host._runner = host.Runner(1)
        first = asyncio.create_task(self.call("b1", "block"))
        await inside.wait()
        second = asyncio.create_task(self.call("c1"))
        while not any(entry.call.id == "c1" for entry in self.host._entries.values()):
            await asyncio.sleep(0)
        self.assertEqual((await self.ask("cancel", {"call_id": "c1"}))["status"], "cancelling")
        self.assertEqual((await second)["error"]["code"], "CANCELLED")
        gate.set()
        await first
        self.assertEqual(self.runs, 0)
        self.assertEqual((await self.call("c1"))["result"]["runs"], 1)


class Disk(Memory):
    """With a state folder, whose disk is slow or fails where a test says so."""

    async def asyncSetUp(self) -> None:
        self.folder = self.enterContext(tempfile.TemporaryDirectory())
        self.host._store = StoreThread(self.folder)
        await self.host._store.open()
        self.addAsyncCleanup(self.host._close_store)

    async def begin_anew(self) -> None:
        """As another process would, on the same folder."""
        await asyncio.gather(*self.host._work)
        await self.host._close_store()
        self.host = ToolHost("test")
        self.host.tool(self.count, name="count", description="Counts its runs.")
        self.host._store = StoreThread(self.folder)
        await self.host._store.open()

    def hold(self, name: str) -> tuple[asyncio.Event, threading.Event]:
        """The store's next `name`: when it is there, and what it waits for."""
        there, go_on = asyncio.Event(), threading.Event()
        loop, real = asyncio.get_running_loop(), getattr(HostStore, name)
        self.addCleanup(go_on.set)

        def held(store: HostStore, *words: Any) -> Any:
            loop.call_soon_threadsafe(there.set)
            self.assertTrue(go_on.wait(5), "the event loop waits for the disk")
            return real(store, *words)

        patch = mock.patch.object(HostStore, name, held)
        patch.start()
        self.addCleanup(patch.stop)
        return there, go_on

    async def test_the_loop_does_not_wait_for_the_disk(self) -> None:
        for name in ("admit", "end"):
            with self.subTest(name):
                there, go_on = self.hold(name)
                calls = [asyncio.create_task(self.call(name)) for _ in range(3)]
                await there.wait()
                health = await self.host._handle(Request("GET", "/healthz", {}))
                self.assertEqual(health.status, 200)
                go_on.set()
                answers = [await call for call in calls]
                self.assertEqual([answer["status"] for answer in answers], ["ok"] * 3)
                mock.patch.stopall()
        self.assertEqual(self.runs, 2)  # once for each key

    async def test_what_the_disk_knows_decides_between_two_that_come_at_once(self) -> None:
        await self.call("k", text="right")
        await self.begin_anew()
        there, go_on = self.hold("admit")
        wrong = asyncio.create_task(self.call("k", text="wrong"))
        await there.wait()
        right = asyncio.create_task(self.call("k", text="right"))
        await asyncio.sleep(0)
        go_on.set()
        self.assertEqual((await wrong)["error"]["code"], "CONFLICT")
        self.assertEqual((await right)["result"]["runs"], 1)
        self.assertEqual(self.runs, 1)

    async def test_a_call_that_is_cancelled_before_its_record_is_there_leaves_none(self) -> None:
        there, go_on = self.hold("admit")
        call = asyncio.create_task(self.call("c1"))
        await there.wait()
        self.assertEqual((await self.ask("cancel", {"call_id": "c1"}))["status"], "cancelling")
        self.assertEqual((await call)["error"]["code"], "CANCELLED")
        go_on.set()
        mock.patch.stopall()
        await self.begin_anew()
        self.assertEqual((await self.call("c1"))["result"]["runs"], 1)

    async def test_a_disk_that_fails_runs_nothing_and_loses_nothing(self) -> None:
        await self.call("c1")
        await self.begin_anew()
        with mock.patch.object(HostStore, "find", side_effect=sqlite3.OperationalError("I/O")):
            with self.assertLogs("crab.host", "ERROR"):
                failed = await self.call("c1")
        self.assertEqual(failed["status"], "retryable_error")
        await self.begin_anew()
        self.assertEqual((await self.call("c1"))["result"]["runs"], 1)
        self.assertEqual(self.runs, 1)

    async def test_a_disk_that_is_too_slow_is_answered_for_in_time(self) -> None:
        there, go_on = self.hold("admit")
        context = {"agent_id": "a", "session_id": "s"}
        body = {"call_id": "c1", "tool_name": "count", "args": {}, "context": context}
        with self.assertLogs("crab.host", "ERROR"):
            late = await self.ask("call", {**body, "timeout_ms": 20})
        self.assertEqual(late["error"]["code"], "DEPENDENCY_UNAVAILABLE")
        self.assertTrue(there.is_set())
        go_on.set()
        mock.patch.stopall()
        await self.begin_anew()
        self.assertEqual((await self.call("c1"))["result"]["runs"], 1)

    async def test_a_cancel_that_comes_early_does_not_hide_that_a_call_ran(self) -> None:
        await self.call("c1")
        await self.begin_anew()
        self.assertEqual((await self.ask("cancel", {"call_id": "c1"}))["status"], "not_found")
        self.assertEqual((await self.call("c1"))["result"]["runs"], 1)
        self.assertEqual((await self.ask("cancel", {"call_id": "c2"}))["status"], "not_found")
        self.assertEqual((await self.call("c2"))["error"]["code"], "CANCELLED")
        self.assertEqual((await self.call("c2"))["result"]["runs"], 2)

    async def test_what_came_before_callers_were_named_does_not_run_again(self) -> None:
        self.assertEqual((await self.call_of("", "old"))["result"]["runs"], 1)
        await self.begin_anew()
        self.assertEqual((await self.call_of("ann", "old"))["result"]["runs"], 1)
        self.assertEqual((await self.call_of("ann", "new"))["result"]["runs"], 2)
        await self.begin_anew()
        self.assertEqual((await self.call_of("ann", "new"))["result"]["runs"], 2)
        self.assertEqual((await self.call_of("bob", "new"))["result"]["runs"], 3)

    async def test_a_disk_that_fails_names_nobody(self) -> None:
        with mock.patch.object(HostStore, "find", side_effect=sqlite3.OperationalError("broken")):
            with self.assertLogs("crab.host", "ERROR"):
                answer = await self.call_of("ann", "c1")
        self.assertEqual(answer["error"]["code"], "DEPENDENCY_UNAVAILABLE")
        self.assertEqual(self.runs, 0)


class Forms(unittest.TestCase):
    """Of the file, that earlier versions wrote and later ones may write."""

    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def test_the_form_without_principals_is_read(self) -> None:
        with contextlib.closing(sqlite3.connect(self.folder / "calls.db")) as old, old:
            old.execute(
                "CREATE TABLE calls (tenant TEXT, key TEXT, content BLOB NOT NULL, "
                "status TEXT NOT NULL, text TEXT NOT NULL, duration_ms INTEGER NOT NULL, "
                "began REAL NOT NULL, PRIMARY KEY (tenant, key)) WITHOUT ROWID"
            )
            row = ("default", "k", b"content", "ok", '"result":{}', 5, time.time())
            old.execute("INSERT INTO calls VALUES (?,?,?,?,?,?,?)", row)
        for _ in range(2):
            store = HostStore(self.folder)
            found = store.find(("default", "k", ""))
            self.assertEqual(found, StoredCall(b"content", "ok", '"result":{}', 5))
            self.assertIsNone(store.find(("default", "k", "ann")))
            store.close()

    def test_a_later_form_is_refused_with_words(self) -> None:
        with contextlib.closing(sqlite3.connect(self.folder / "calls.db")) as later:
            later.execute("PRAGMA user_version=99")
        with self.assertRaisesRegex(sqlite3.DatabaseError, "form 99, of a later version"):
            HostStore(self.folder)


class Listening(unittest.IsolatedAsyncioTestCase):
    async def test_a_host_that_cannot_listen_lets_go_of_its_folder(self) -> None:
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        tool_host = ToolHost("test", state_dir=folder / "state")
        with mock.patch("asyncio.start_unix_server", side_effect=OSError("no")):
            with self.assertRaises(OSError):
                await tool_host.serve_unix(folder / "socket")
        HostStore(folder / "state").close()  # nobody has it

    async def test_a_host_that_stops_reports_no_connection_as_a_failure(self) -> None:
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        reported: list[dict[str, Any]] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, said: reported.append(said))
        tool_host = ToolHost("test")
        serving = asyncio.create_task(tool_host.serve_unix(folder / "socket"))
        while not (folder / "socket").exists():
            await asyncio.sleep(0)
        reader, writer = await asyncio.open_unix_connection(folder / "socket")
        writer.write(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
        self.assertTrue((await reader.readline()).startswith(b"HTTP/1.1 200 "))
        tool_host.stop()
        await serving
        writer.close()
        await asyncio.sleep(0)
        self.assertEqual(reported, [])


if __name__ == "__main__":
    unittest.main()
