"""An MCP server over HTTP (2025-11-25) that wants access tokens of an Issuer, and remembers all
that reaches it."""

from __future__ import annotations

import json
import secrets
import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from .issuer import Issuer

Message = dict[str, Any]


class GuardedServer:
    """A context manager. `heads` are the headers of all requests, `sessions` who opened which.
    A call of `write` needs the scope `write`; `challenge` replaces that of a 401; `open` lets
    everybody in."""

    def __init__(self, issuer: Issuer | None, metadata: Mapping[str, Any] | None = None) -> None:
        self.issuer, self.more_metadata = issuer, dict(metadata or {})
        self.heads: list[dict[str, str]] = []
        self.bodies: list[bytes] = []
        self.sessions: dict[str, str] = {}
        self.calls: list[tuple[str, str, str]] = []  #: session, who, tool
        self.challenge: str | None = None
        self.well_known = "/.well-known/oauth-protected-resource/mcp"

    def __enter__(self) -> GuardedServer:
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
        self._server.guarded = self  # type: ignore[attr-defined]
        self.origin = f"http://127.0.0.1:{self._server.server_address[1]}"
        self.url = f"{self.origin}/mcp"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def metadata(self) -> Message:
        issuers = [self.issuer.url] if self.issuer else []
        return {"resource": self.url, "authorization_servers": issuers, **self.more_metadata}

    def refusal(self, token: str, needed: str) -> tuple[int, str] | None:
        """Status and challenge, unless the token may do this."""
        if self.issuer is None:
            return None
        place = f'resource_metadata="{self.origin}{self.well_known}"'
        granted = self.issuer.access.get(token)
        if granted is None:
            return 401, f"Bearer {place}" if self.challenge is None else self.challenge
        if needed and needed not in granted["scope"].split():
            return 403, f'Bearer error="insufficient_scope", scope="{needed}", {place}'
        return None

    def who(self, token: str) -> str:
        return self.issuer.access[token]["user"] if self.issuer else "anybody"

    def answer(self, message: Message, session: str, token: str) -> Message:
        method = message["method"]
        if method == "initialize":
            version = message["params"]["protocolVersion"]
            known = version if version < "2026" else "2025-11-25"
            info = {"name": "guarded", "version": "1"}
            return {"protocolVersion": known, "capabilities": {"tools": {}}, "serverInfo": info}
        if method == "tools/list":
            return {"tools": [_tool("who"), _tool("write")]}
        if method == "tools/call":
            name = message["params"]["name"]
            self.calls.append((session, self.who(token), name))
            return {"content": [{"type": "text", "text": self.who(token)}]}
        raise KeyError(method)


def _tool(name: str) -> Message:
    return {"name": name, "description": name, "inputSchema": {"type": "object"}}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        pass

    @property
    def guarded(self) -> GuardedServer:
        return self.server.guarded  # type: ignore[attr-defined]

    def _answer(self, status: int, body: Any = None, **headers: str) -> None:
        data = b"" if body is None else json.dumps(body).encode()
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self) -> None:
        if self.path == self.guarded.well_known and self.guarded.issuer:
            return self._answer(200, self.guarded.metadata())
        self._answer(405 if self.path == "/mcp" else 404, {})

    def do_DELETE(self) -> None:
        self._answer(200)

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        server = self.guarded
        server.heads.append({name.lower(): value for name, value in self.headers.items()})
        server.bodies.append(raw)
        message = json.loads(raw)
        token = self.headers.get("Authorization", "").removeprefix("Bearer ")
        writes = message.get("params", {}).get("name") == "write"
        refused = server.refusal(token, "write" if writes else "")
        if refused:
            status, challenge = refused
            return self._answer(status, {"error": "refused"}, WWW_Authenticate=challenge)
        if "id" not in message:
            return self._answer(202)
        session = self.headers.get("Mcp-Session-Id", "")
        answer: Message = {"jsonrpc": "2.0", "id": message["id"]}
        more = {}
        if message["method"] == "initialize":
            session = secrets.token_hex(8)
            server.sessions[session] = server.who(token)
            more["Mcp_Session_Id"] = session
        try:
            answer["result"] = server.answer(message, session, token)
        except KeyError:
            answer["error"] = {"code": -32601, "message": "unknown method"}
        self._answer(200, answer, **more)
