"""examples/mcp_server, started as its README says (ctest: examples.mcp_server)."""

from __future__ import annotations

import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "harness"))
from mcp_client import Client, LegacyClient, McpError, ModernClient  # noqa: E402
from mcp_links import StdioLink  # noqa: E402

WORDS = [sys.executable, str(ROOT / "examples" / "mcp_server" / "server.py")]


class McpServerTest(unittest.TestCase):
    def clients(self) -> list[Client]:
        """One of each revision."""
        revisions = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
        found: list[Client] = [ModernClient(StdioLink(WORDS))]
        found += [LegacyClient(StdioLink(WORDS), version=revision) for revision in revisions]
        return [self.enterContext(client) for client in found]

    def test_every_revision_lists_and_calls_the_tools(self) -> None:
        for client in self.clients():
            self.assertEqual(sorted(client.tools()), ["days_between", "unit_convert", "word_count"])
            counted = client.call("word_count", {"text": "eins zwei\nvier"})
            self.assertEqual(
                counted["structuredContent"], {"words": 3, "characters": 14, "lines": 2}
            )
            miles = {"value": 26.2, "from_unit": "mi", "to_unit": "km"}
            converted = client.call("unit_convert", miles)["structuredContent"]
            self.assertEqual(converted, {"value": 42.1648128, "unit": "km"})
            span = {"start": "2026-07-28", "end": "2027-01-01"}
            self.assertEqual(client.call("days_between", span)["structuredContent"], {"days": 157})

    def test_what_the_model_can_mend_is_a_result(self) -> None:
        for client in self.clients():
            mixed = {"value": 1, "from_unit": "kg", "to_unit": "km"}
            for name, arguments in (
                ("unit_convert", mixed),
                ("unit_convert", {**mixed, "to_unit": "stone"}),
                ("days_between", {"start": "today", "end": "2027-01-01"}),
                ("word_count", {}),
                ("word_count", {"text": "a", "language": "en"}),
            ):
                self.assertTrue(client.call(name, arguments)["isError"], (name, arguments))

    def test_what_it_cannot_is_an_error(self) -> None:
        for client in self.clients():
            for method, params, code in (
                ("tools/call", {"name": "nothing"}, -32602),
                ("resources/list", {}, -32601),
            ):
                with self.assertRaises(McpError) as refused:
                    client.request(method, params)
                self.assertEqual(refused.exception.code, code)

    def test_another_version_is_told_which_ones_there_are(self) -> None:
        client = self.enterContext(ModernClient(StdioLink(WORDS)))
        version = {"io.modelcontextprotocol/protocolVersion": "2999-01-01"}
        with self.assertRaises(McpError) as refused:
            client.request("server/discover", {}, version)
        self.assertEqual(refused.exception.code, -32022)
        self.assertIn("2026-07-28", refused.exception.data["supported"])


if __name__ == "__main__":
    unittest.main()
