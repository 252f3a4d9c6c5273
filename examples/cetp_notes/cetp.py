"""A provider of read-only tools behind a Unix socket (docs/protocols/cetp.md, section 3): the whole
kit for Python, standard library only."""

from __future__ import annotations

import json
import os
import socketserver
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

MAX_CALL = MAX_DATA = 1 << 20  #: bytes


class CetpError(Exception):
    """An error for the caller; `hint` is what the person can do."""

    def __init__(self, code: str, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.code, self.message, self.hint = code, message, hint


class Provider:
    """`@provider.tool(description, schema)` makes a function of the arguments a tool; what it
    returns is the data, as JSON unless it is text."""

    def __init__(self, name: str, description: str = "") -> None:
        self.info = {"provider_name": name, "description": description, "scopes": []}
        self.tools: dict[str, tuple[dict[str, Any], Callable[[dict[str, Any]], Any]]] = {}

    def tool(
        self, description: str, schema: dict[str, Any] | None = None
    ) -> Callable[[Callable], Callable]:
        def add(function: Callable[[dict[str, Any]], Any]) -> Callable:
            element = {
                "name": function.__name__,
                "description": description,
                "parameters": schema or {"type": "object"},
            }
            self.tools[function.__name__] = (element, function)
            return function

        return add

    def answer(self, method: str, extras: dict[str, str]) -> dict[str, Any]:
        """The envelope for one call; never raises."""
        try:
            data = self._data(method, extras)
            text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)
            if (size := len(text.encode())) > MAX_DATA:
                raise CetpError("INTERNAL_ERROR", f"result too large ({size} > {MAX_DATA})")
            return {"status": "success", "data": text}
        except CetpError as error:
            envelope = {"status": "error", "error_code": error.code, "error_message": error.message}
            return {**envelope, "resolution_hint": error.hint} if error.hint else envelope
        except Exception as error:  # noqa: BLE001: what exactly broke is for this machine's log
            print(f"{extras.get('tool_name')}: {error!r}", file=sys.stderr)
            return {
                "status": "error",
                "error_code": "INTERNAL_ERROR",
                "error_message": "the tool broke",
            }

    def _data(self, method: str, extras: dict[str, str]) -> Any:
        if method == "list_tools":
            return {"tools": [element for element, _ in self.tools.values()]}
        if method == "get_provider_info":
            return self.info
        if method != "execute_tool":
            raise CetpError("TOOL_NOT_FOUND", f"Unknown method: {method}")
        if not (name := extras.get("tool_name")):
            raise CetpError("INVALID_ARGS", "tool_name is missing")
        if name not in self.tools:
            raise CetpError("TOOL_NOT_FOUND", f"Unknown tool: {name}")
        try:
            args = json.loads(extras.get("args") or "{}")
        except ValueError:
            args = None
        if not isinstance(args, dict):
            raise CetpError("INVALID_ARGS", "/: the arguments are no JSON object")
        schema = self.tools[name][0]["parameters"]
        for required in schema.get(
            "required", []
        ):  # the part of JSON Schema that the standard library can do
            if required not in args:
                raise CetpError("INVALID_ARGS", f"/{required}: it is missing")
        return self.tools[name][1](args)

    def serve(self, path: str) -> None:
        """Listens at `path`, mode 0600, until the process ends."""
        provider = self

        class Handler(socketserver.StreamRequestHandler):
            timeout = 10

            def handle(self) -> None:
                try:
                    call = json.loads(self.rfile.read(MAX_CALL))
                    reply = provider.answer(call["method"], call.get("extras", {}))
                except (ValueError, KeyError, TypeError, AttributeError):
                    reply = {
                        "status": "error",
                        "error_code": "INVALID_ARGS",
                        "error_message": "a call is a JSON object with its `method`",
                    }
                self.wfile.write(json.dumps(reply, ensure_ascii=False).encode())

        class Server(socketserver.ThreadingUnixStreamServer):
            daemon_threads = True

        Path(path).unlink(missing_ok=True)
        os.umask(0o177)
        with Server(path, Handler) as server:
            server.serve_forever()
