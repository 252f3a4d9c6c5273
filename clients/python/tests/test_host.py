"""What a host remembers of calls, and what it lets go."""

from __future__ import annotations

import asyncio
import json
import tempfile
import threading
import unittest
from pathlib import Path
from typing import Any
from unittest import mock

from crab import ToolHost, host
from crab.host_store import HostStore
from crab.server import Request


class Memory(unittest.IsolatedAsyncioTestCase):
    def setUp(self) -> None:
        self.host = ToolHost("test")
        self.runs = 0
        self.host.tool(self.count, name="count", description="Counts its runs.")

    def count(self, text: str = "") -> dict[str, int]:
        self.runs += 1
        return {"runs": self.runs}

    async def ask(self, route: str, body: dict[str, Any]) -> dict[str, Any]:
        data = json.dumps({"version": "v1", "tenant_id": "default", **body}).encode()
        reply = await self.host._handle(Request("POST", f"/v1/tools/{route}", {}, data))
        answer: dict[str, Any] = json.loads(reply.body)
        return answer

    async def call(self, call_id: str, tool: str = "count", **args: Any) -> dict[str, Any]:
        context = {"agent_id": "a", "session_id": "s"}
        body = {"call_id": call_id, "tool_name": tool, "args": args, "context": context}
        return await self.ask("call", body)

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


class Listening(unittest.IsolatedAsyncioTestCase):
    async def test_a_host_that_cannot_listen_lets_go_of_its_folder(self) -> None:
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        tool_host = ToolHost("test", state_dir=folder / "state")
        with mock.patch("asyncio.start_unix_server", side_effect=OSError("no")):
            with self.assertRaises(OSError):
                await tool_host.serve_unix(folder / "socket")
        HostStore(folder / "state").close()  # nobody has it


if __name__ == "__main__":
    unittest.main()
