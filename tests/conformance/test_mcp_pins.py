"""What an MCP server changes after it was trusted: docs/protocols/mcp.md, section 8, Pins."""

from __future__ import annotations

import unittest
from typing import Any

from support.mcp import ERAS, McpCase, await_state, servers_of, text_of
from support.wait import eventually


class PinsTest(McpCase):
    @classmethod
    def servers(cls) -> dict[str, dict[str, Any]]:
        return {era: cls.on_http("--era", era) for era in ERAS}

    def test_a_changed_description_is_held_back_and_its_call_does_not_run(self) -> None:
        """114."""
        for source in ERAS:
            with self.subTest(source):
                await_state(self.gateway, source, "ready")
                clients = [self.client(era) for era in ERAS]
                name = f"{source}__greet"
                for client in clients:
                    self.assertEqual(text_of(client.call(name, {"name": "Ada"})), "Hello, Ada!")
                clients[0].call(f"{source}__test_trigger_text_change")
                eventually(lambda: name not in clients[0].tools(), "it is held back")
                for client in clients:
                    self.assertNotIn(name, client.tools())
                    refused = client.call(name, {"name": "Ada"})
                    self.assertEqual(refused["_meta"]["crab/error"]["code"], "APPROVAL_REQUIRED")
                    self.assertNotIn("Hello", text_of(refused))
                self.assertEqual(servers_of(self.gateway)[source]["held"], 1)
                self.assertIn("version 1", self.gateway.crab("mcp", "diff", source))
                self.gateway.crab("mcp", "approve", source, "greet")
                for client in clients:
                    self.assertIn("version 1", client.tools()[name]["description"])
                    self.assertEqual(text_of(client.call(name, {"name": "Ada"})), "Hello, Ada!")


if __name__ == "__main__":
    unittest.main()
