"""An MCP server on stdin and stdout, in one file and without dependencies: copy it.

It answers clients of 2026-07-28, which say with each request who they are, and of the revisions
before it, which open a session first. One request runs at a time.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

MODERN = "2026-07-28"
LEGACY = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"]
META = "io.modelcontextprotocol/"

Json = dict[str, Any]


class ToolError(Exception):
    """What the model should read, and may mend: a wrong argument, something not found."""


class RpcError(Exception):
    """An error of the protocol, which the model does not see."""

    def __init__(self, code: int, message: str, data: Json | None = None) -> None:
        super().__init__(message)
        self.error: Json = {"code": code, "message": message}
        if data is not None:
            self.error["data"] = data


class Server:
    """`@server.tool(...)` makes a function of the arguments a tool. What it returns, a JSON object,
    is the structured result, and as text the readable one."""

    def __init__(self, name: str, version: str) -> None:
        self.info = {"name": name, "version": version}
        self.tools: dict[str, tuple[Json, Callable[..., Json]]] = {}

    def tool(
        self, description: str, properties: Json, required: list[str]
    ) -> Callable[[Callable[..., Json]], Callable[..., Json]]:
        """`properties` is the JSON Schema of each argument. Tools made here only compute, so they
        are declared as read-only; a tool that changes something must not be."""

        def add(function: Callable[..., Json]) -> Callable[..., Json]:
            schema = {"type": "object", "properties": properties, "required": required}
            entry = {
                "name": function.__name__,
                "description": description,
                "inputSchema": {**schema, "additionalProperties": False},
                "annotations": {"readOnlyHint": True, "openWorldHint": False},
            }
            self.tools[function.__name__] = (entry, function)
            return function

        return add

    def serve(self) -> None:
        """Answers one line at a time until stdin ends, which is how a client says goodbye."""
        for line in sys.stdin:
            answer = self.answer(line)
            if answer is not None:
                print(json.dumps(answer, ensure_ascii=False, separators=(",", ":")), flush=True)

    def answer(self, line: str) -> Json | None:
        """The answer to one message; None for what wants none."""
        try:
            message = json.loads(line)
        except ValueError:
            error = {"code": -32700, "message": "not JSON"}
            return {"jsonrpc": "2.0", "id": None, "error": error}
        if not isinstance(message, dict) or "id" not in message or "method" not in message:
            return None  # a notification
        head = {"jsonrpc": "2.0", "id": message["id"]}
        try:
            return {**head, "result": self.result(message["method"], message.get("params") or {})}
        except RpcError as error:
            return {**head, "error": error.error}

    def result(self, method: str, params: Json) -> Json:
        """The result in the form of the client's era."""
        meta = params.get("_meta") or {}
        version = meta.get(META + "protocolVersion")
        if version is None:
            return self.legacy(method, params)
        if version != MODERN:
            data = {"supported": [MODERN, *LEGACY], "requested": version}
            raise RpcError(-32022, "unsupported protocol version", data)
        result = self.modern(method, params)
        return {"resultType": "complete", **result, "_meta": {META + "serverInfo": self.info}}

    def modern(self, method: str, params: Json) -> Json:
        if method == "server/discover":
            versions = [MODERN, *LEGACY]
            hints = {"ttlMs": 3_600_000, "cacheScope": "public"}
            return {"supportedVersions": versions, "capabilities": {"tools": {}}, **hints}
        if method == "tools/list":
            return {**self.listed(), "ttlMs": 3_600_000, "cacheScope": "public"}
        if method == "tools/call":
            return self.call(params)
        raise RpcError(-32601, f"unknown method: {method}")

    def legacy(self, method: str, params: Json) -> Json:
        if method == "initialize":
            wanted = params.get("protocolVersion")
            version = wanted if wanted in LEGACY else LEGACY[0]
            return {
                "protocolVersion": version,
                "capabilities": {"tools": {}},
                "serverInfo": self.info,
            }
        if method == "ping":
            return {}
        if method == "tools/list":
            return self.listed()
        if method == "tools/call":
            return self.call(params)
        raise RpcError(-32601, f"unknown method: {method}")

    def listed(self) -> Json:
        return {"tools": [entry for entry, _ in self.tools.values()]}

    def call(self, params: Json) -> Json:
        name, arguments = params.get("name"), params.get("arguments") or {}
        if name not in self.tools:
            raise RpcError(-32602, f"unknown tool: {name}")
        entry, function = self.tools[name]
        try:
            known = entry["inputSchema"]["properties"]
            for required in entry["inputSchema"]["required"]:
                if required not in arguments:
                    raise ToolError(f"/{required}: is required")
            for given in arguments:
                if given not in known:
                    raise ToolError(f"/{given}: is unknown")
            result = function(**arguments)
        except (ToolError, TypeError, ValueError) as error:
            return {"content": [{"type": "text", "text": str(error)}], "isError": True}
        text = json.dumps(result, ensure_ascii=False)
        return {"content": [{"type": "text", "text": text}], "structuredContent": result}
