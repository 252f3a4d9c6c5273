"""What is recorded of calls that come or go over MCP: docs/protocols/mcp.md, section 8, "Audit"."""

from __future__ import annotations

import json
import unittest
from typing import Any

from support.gateway import program
from support.mcp import (
    ERAS,
    LegacyClient,
    McpCase,
    Message,
    ModernClient,
    StdioLink,
    await_state,
    child,
)
from support.rtp import call_request

REVISIONS = {"legacy": "2025-11-25", "modern": "2026-07-28"}
CLIENT_INFO = "io.modelcontextprotocol/clientInfo"
SECRET = "not-for-records"


class RecordsTest(McpCase):
    @classmethod
    def servers(cls) -> dict[str, dict[str, Any]]:
        return {
            "legacy": child("--era", "legacy", interactive=True),
            "modern": cls.on_http("--era", "modern"),
        }

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        for source in ERAS:
            await_state(cls.gateway, source, "ready")

    def record(self, result: Message) -> Message:
        """That of the call with this result."""
        call_id = result["_meta"]["crab/call"]["id"]
        return json.loads(self.gateway.crab("calls", "show", call_id, "-o", "json"))

    def assert_ends(self, record: Message, era: str, source: str, tool: str) -> None:
        client = {"name": "crab-tests", "version": "1.0.0", "revision": REVISIONS[era], "era": era}
        self.assertEqual(record["client"], client)
        upstream = {"tool": tool, "revision": REVISIONS[source], "era": source}
        self.assertEqual(record["upstream"], upstream)
        self.assertEqual((record["front"], record["source"]), ("mcp", f"mcp/{source}"))

    def test_both_programs_and_what_they_speak(self) -> None:
        for era in ERAS:
            for source in ERAS:
                with self.subTest(f"{era}, {source}"):
                    said = self.client(era).call(f"{source}__test_echo", {"word": SECRET})
                    record = self.record(said)
                    self.assert_ends(record, era, source, "test_echo")
                    self.assertNotIn("input_rounds", record)
                    self.assertNotIn(SECRET, json.dumps(record))
                    text = self.gateway.crab("calls", "show", record["call_id"])
                    self.assertRegex(text, rf"client +crab-tests, .*{REVISIONS[era]} \({era}\)")
                    self.assertRegex(text, rf"upstream +test_echo, .*{REVISIONS[source]}")

    def test_a_client_on_stdio(self) -> None:
        for era, kind in (("legacy", LegacyClient), ("modern", ModernClient)):
            with self.subTest(era):
                words = [program(), "mcp", "stdio", "--socket", str(self.gateway.admin)]
                with kind(StdioLink(words)) as client:
                    record = self.record(client.call("modern__test_echo", {}))
                self.assert_ends(record, era, "modern", "test_echo")
                self.assertRegex(record["principal"], "^local/")

    def test_how_often_a_client_was_asked(self) -> None:
        def answer(params: Message) -> Message:
            word = "name" if "name" in params["requestedSchema"]["properties"] else "color"
            return {"action": "accept", "content": {word: SECRET}}

        for era in ERAS:
            for source in ERAS:
                with self.subTest(f"{era}, {source}"):
                    client = self.client(era)
                    client.answers["elicitation/create"] = answer
                    said = client.call(f"{source}__test_input_required_result_multi_round")
                    record = self.record(said)
                    self.assertEqual(record["input_rounds"], 2)
                    self.assertNotIn(SECRET, json.dumps(record))

    def test_a_caller_of_another_front_and_a_name_that_hides_something(self) -> None:
        request = call_request("modern__test_echo", {})
        answer = self.gateway.admin_request("POST", "/v1/tools/call", request)
        self.assertEqual(answer.status, 200, answer.body)
        record = json.loads(self.gateway.crab("calls", "show", request["call_id"], "-o", "json"))
        self.assertNotIn("client", record)
        self.assertEqual(record["upstream"]["era"], "modern")
        hostile = {"name": "ed\u202eit\u001b[2J\n", "version": "9" * 65}
        said = self.client("modern").call("legacy__test_echo", {}, **{CLIENT_INFO: hostile})
        record = self.record(said)
        self.assertEqual(record["client"]["name"], "edit[2J")
        self.assertNotIn("version", record["client"])


if __name__ == "__main__":
    unittest.main()
