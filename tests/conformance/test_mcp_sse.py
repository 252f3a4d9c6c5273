"""HTTP+SSE for clients of 2024-11-05, off unless mcp.legacy_sse: docs/protocols/mcp.md, section
2.7."""

from __future__ import annotations

import unittest
from typing import Any

from support.gateway import Gateway
from support.mcp import CAPABILITIES, LegacyClient, McpCase, await_state, text_of
from support.wait import eventually

from mcp_links import HttpLink, SseLink  # isort: skip  # found through support.mcp


def sse_link(gateway: Gateway, headers: dict[str, str] | None = None) -> SseLink:
    return SseLink(f"http://localhost:{gateway.public[1]}/mcp/sse", headers, timeout=20)


class SseTest(McpCase):
    OPTIONS = {"legacy_sse": True}

    @classmethod
    def servers(cls) -> dict[str, dict[str, Any]]:
        return {"files": cls.on_http()}

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        await_state(cls.gateway, "files", "ready")

    def open(self, version: str = "2024-11-05", capabilities: Any = None) -> LegacyClient:
        link = sse_link(self.gateway)
        return self.enterContext(LegacyClient(link, capabilities, version))

    def test_a_client_of_the_oldest_revision_lists_and_calls(self) -> None:
        client = self.open()
        self.assertEqual(client.opened["protocolVersion"], "2024-11-05")
        self.assertIn("greet", client.tools())
        self.assertNotIn("annotations", client.tools()["greet"])
        said = client.request("tools/call", {"name": "greet", "arguments": {"name": "Ada"}})
        self.assertEqual(text_of(said), "Hello, Ada!")
        self.assertEqual(client.request("ping"), {})

    def test_questions_come_on_the_stream(self) -> None:
        client = self.open("2025-06-18", CAPABILITIES)
        answer = {"action": "accept", "content": {"username": "ada", "email": "a@example.org"}}
        client.answers["elicitation/create"] = lambda _: answer
        call = {"name": "test_elicitation", "arguments": {"message": "Who?"}}
        self.assertIn("accept", text_of(client.request("tools/call", call)))

    def test_an_endpoint_is_of_its_principal(self) -> None:
        client = self.open()
        endpoint = client.link.endpoint
        token = self.gateway.pair("thief", ("caller",))
        link = HttpLink(endpoint, {"Authorization": f"Bearer {token}"}, 20)
        message = {"jsonrpc": "2.0", "id": 9, "method": "tools/list"}
        self.assertEqual(link.send(message).status, 404)
        self.assertIn("greet", client.tools())

    def test_a_session_ends_with_its_stream(self) -> None:
        client = self.open()
        endpoint = client.link.endpoint
        client.link.stream.close()
        message = {"jsonrpc": "2.0", "id": 9, "method": "ping"}

        def gone() -> bool:
            return HttpLink(endpoint, {}, 20).send(message).status == 404

        eventually(gone, "the session is over")

    def test_two_clients_have_their_own_answers(self) -> None:
        clients = [self.open() for _ in range(8)]
        for number, client in enumerate(clients):
            name = f"n{number}"
            said = client.request("tools/call", {"name": "greet", "arguments": {"name": name}})
            self.assertEqual(text_of(said), f"Hello, {name}!")


class OffTest(McpCase):
    @classmethod
    def servers(cls) -> dict[str, dict[str, Any]]:
        return {}

    def test_it_is_not_there(self) -> None:
        answer = self.gateway.fetch("GET", "/mcp/sse", headers={"Accept": "text/event-stream"})
        self.assertEqual(answer.status, 404)
        answer = self.gateway.fetch("POST", "/mcp/messages?session=" + "0" * 64, body={})
        self.assertEqual(answer.status, 404)


if __name__ == "__main__":
    unittest.main()
