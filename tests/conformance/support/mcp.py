"""A gateway with MCP servers behind it, and clients of both eras in front."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from .case import GatewayCase
from .gateway import Gateway
from .mcp_shapes import problems
from .wait import eventually

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "harness"))
from mcp_client import Client, LegacyClient, McpError, ModernClient  # noqa: E402,F401
from mcp_fixture import Fixture, command  # noqa: E402
from mcp_links import HttpLink, HttpPending, HttpRefusal, Message, StdioLink  # noqa: E402,F401

ASK = {"elicitation": True, "sampling": True, "roots": True}
CAPABILITIES: Message = {"elicitation": {"form": {}, "url": {}}, "sampling": {}, "roots": {}}
ERAS = ("legacy", "modern")


def child(*options: str, **members: Any) -> dict[str, Any]:
    """The entry of a fixture on stdio."""
    program, *words = command(*options)
    return {"command": program, "args": words, "ask": ASK, **members}


def faulty(*faults: str, **members: Any) -> dict[str, Any]:
    """The same, with these faults."""
    era = members.pop("fixture_era", "both")
    words = [word for fault in faults for word in ("--fault", fault)]
    return child("--era", era, *words, **members)


def mcp_config(servers: Mapping[str, Mapping[str, Any]], **options: Any) -> dict[str, Any]:
    """Options of `mcp` beside its servers."""
    return {
        "listen": {"open_loopback": True},
        "mcp": {"enabled": True, "servers": dict(servers), **options},
    }


def text_of(result: Message) -> str:
    """Of a result's first block."""
    return result["content"][0]["text"]


def servers_of(gateway: Gateway) -> dict[str, dict[str, Any]]:
    """What the gateway says of its MCP servers, by name."""
    answer = gateway.admin_request("GET", "/v1/mcp/servers")
    assert answer.status == 200, answer.body
    return {one["name"]: one for one in answer.json()["servers"]}


def await_state(gateway: Gateway, name: str, state: str, limit: float = 20) -> dict[str, Any]:
    """Waits for a server's state; what is said of it then."""

    def found() -> dict[str, Any] | None:
        server = servers_of(gateway)[name]
        return server if server["state"] == state else None

    return eventually(found, f"{name} is {state}", limit)


class CheckedLink(HttpLink):
    """A legacy client's, whose answers have to be those of its revision; what is not is in
    `problems`, and what came in `kinds`: methods, with a word for results and errors."""

    def __init__(self, gateway: Gateway, version: str) -> None:
        super().__init__(f"http://localhost:{gateway.public[1]}/mcp")
        self.version, self.problems, self.kinds = version, list[str](), set[str]()
        self._asked: dict[Any, str] = {}

    def request(
        self, method: str, headers: Mapping[str, str] | None = None, body: bytes | None = None
    ) -> HttpPending:
        sent = json.loads(body) if body else {}
        for one in sent if isinstance(sent, list) else [sent]:
            if "method" in one and "id" in one:
                self._asked[one["id"]] = one["method"]
        pending = super().request(method, headers, body)
        came = pending.messages

        def checked() -> Iterator[Message]:
            for message in came():
                self._check(message)
                yield message

        pending.messages = checked  # type: ignore[method-assign]
        return pending

    def _check(self, message: Message) -> None:
        for problem in problems(message, self.version, self._asked):
            self.problems.append(f"{problem} of {json.dumps(message)[:2000]}")
        if "method" in message:
            self.kinds.add(message["method"])
        else:
            word = "error" if "error" in message else "result"
            self.kinds.add(f"{word} of {self._asked.get(message.get('id'))}")


def link_to(gateway: Gateway, timeout: float = 20) -> HttpLink:
    return HttpLink(f"http://localhost:{gateway.public[1]}/mcp", timeout=timeout)


class McpCase(GatewayCase):
    """One gateway per class, with the servers that servers() names."""

    OPTIONS: Mapping[str, Any] = {}  #: of `mcp`

    @classmethod
    def servers(cls) -> dict[str, dict[str, Any]]:
        """Starts what has to run, too; cls.enterClassContext() ends it."""
        raise NotImplementedError

    @classmethod
    def on_http(cls, *options: str, transport: str = "http", **members: Any) -> dict[str, Any]:
        """The entry of a fixture over HTTP, started now."""
        fixture = cls.enterClassContext(Fixture(*options, transport=transport))
        return {"url": fixture.url, "ask": ASK, **members}

    @classmethod
    def setUpClass(cls) -> None:
        cls.CONFIG = mcp_config(cls.servers(), **cls.OPTIONS)
        super().setUpClass()

    def client(
        self, era: str, capabilities: Message | None = None, version: str = "2025-11-25"
    ) -> Any:
        """A client of the gateway that can do everything, unless `capabilities` say less. What a
        legacy one gets has to be what its revision has."""
        able = CAPABILITIES if capabilities is None else capabilities
        if era == "modern":
            return self.enterContext(ModernClient(link_to(self.gateway), able))
        link = CheckedLink(self.gateway, version)
        self.addCleanup(lambda: self.assertEqual(link.problems, []))
        return self.enterContext(LegacyClient(link, able, version))
