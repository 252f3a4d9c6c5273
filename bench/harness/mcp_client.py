"""As much of an MCP client as set-up needs; the load itself is C++."""

import http.client
import json

LEGACY, MODERN = "2025-11-25", "2026-07-28"
ACCEPT = "application/json, text/event-stream"


class McpConnection:
    """One keep-alive connection to `/mcp` of `address` (HOST:PORT). `last_fields` are the header
    fields of the last answer."""

    def __init__(self, address, token="", timeout=30):
        self.connection = http.client.HTTPConnection(address, timeout=timeout)
        self.fields = {"Content-Type": "application/json", "Accept": ACCEPT}
        if token:
            self.fields["Authorization"] = f"Bearer {token}"
        self.last_fields = {}

    def close(self):
        self.connection.close()

    def post(self, message, **fields):
        """The bytes of the answer's body. Raises RuntimeError unless the status is a success."""
        headers = {name.replace("_", "-"): value for name, value in fields.items()}
        self.connection.request("POST", "/mcp", json.dumps(message), {**self.fields, **headers})
        answer = self.connection.getresponse()
        body = answer.read()
        self.last_fields = answer.headers
        if answer.status not in (200, 202):
            raise RuntimeError(f"status {answer.status}: {body[:200]}")
        return body

    def open(self):
        """Opens a legacy session and returns its id."""
        opening = {
            "protocolVersion": LEGACY,
            "capabilities": {},
            "clientInfo": {"name": "bench", "version": "1"},
        }
        self.post({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": opening})
        session = self.last_fields["Mcp-Session-Id"]
        if not session:
            raise RuntimeError("initialize was answered without a session")
        self.post(
            {"jsonrpc": "2.0", "method": "notifications/initialized"},
            Mcp_Session_Id=session,
            MCP_Protocol_Version=LEGACY,
        )
        return session

    def modern(self, method, **params):
        """The result object of a request of the modern era that needs no name."""
        params["_meta"] = {
            "io.modelcontextprotocol/protocolVersion": MODERN,
            "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
        }
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        body = self.post(message, MCP_Protocol_Version=MODERN, Mcp_Method=method)
        return body


def open_session(address, token=""):
    """Opens a legacy session on a connection of its own; returns the session's id."""
    connection = McpConnection(address, token)
    try:
        return connection.open()
    finally:
        connection.close()


def end_session(address, token, session):
    connection = McpConnection(address, token)
    try:
        fields = {**connection.fields, "Mcp-Session-Id": session, "MCP-Protocol-Version": LEGACY}
        connection.connection.request("DELETE", "/mcp", headers=fields)
        connection.connection.getresponse().read()
    finally:
        connection.close()


def load_options(gateway, version):
    """Options of `bench_load calls` for calls through `/mcp`, in a new session where the revision
    has sessions."""
    words = ["--target", "mcp", "--version", version]
    if version == LEGACY:
        words += ["--session", open_session(gateway.public.removeprefix("tcp:"), gateway.token)]
    return words
