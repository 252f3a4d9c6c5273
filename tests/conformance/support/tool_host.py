"""A tool host on a Unix socket (docs/protocols/rtp.md, sections 2 and 3) whose every answer the
test decides."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .wait import eventually


def host_tool(
    name: str, *, side_effects: bool = False, idempotent: bool | None = None, **members: Any
) -> dict[str, Any]:
    """An element of the list of tools; `members` replace or add."""
    return {
        "name": name,
        "description": f"{name} of a test",
        "input_schema": {"type": "object"},
        "output_schema": {"type": "object"},
        "timeout_ms_default": 5000,
        "timeout_ms_max": 60000,
        "idempotent": not side_effects if idempotent is None else idempotent,
        "side_effects": side_effects,
        **members,
    }


class Request:
    """One call as it came, and the means to answer it, well or badly."""

    def __init__(self, link: socket.socket, headers: dict[str, str], body: dict[str, Any]) -> None:
        self.link, self.headers, self.body = link, headers, body

    def response(self, **members: Any) -> dict[str, Any]:
        """A good response; `members` replace or add, one given as `...` is left out."""
        good = {
            "version": "v1",
            "call_id": self.body["call_id"],
            "tool_name": self.body["tool_name"],
            "status": "ok",
            "duration_ms": 1,
            "result": self.body["args"],
            **members,
        }
        return {name: value for name, value in good.items() if value is not ...}

    def answer(self, http_status: int = 200, **members: Any) -> None:
        self.send(http(http_status, json.dumps(self.response(**members)).encode()))

    def fail(self, code: str, status: str = "error", **error: Any) -> None:
        self.answer(
            **{
                "status": status,
                "result": ...,
                "error": {"code": code, "message": "as the test wants it", **error},
            }
        )

    def send(self, data: bytes) -> None:
        """Raw bytes. Errors: OSError when the gateway has closed."""
        self.link.sendall(data)

    def die(self) -> None:
        """Ends the connection now."""
        with contextlib.suppress(OSError):
            self.link.shutdown(socket.SHUT_RDWR)


def http(status: int, body: bytes, headers: dict[str, str] | None = None) -> bytes:
    lines = {
        "Content-Type": "application/json",
        "Content-Length": str(len(body)),
        **(headers or {}),
    }
    fields = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
    return f"HTTP/1.1 {status} Text\r\n{fields}\r\n".encode() + body


class ToolHost:
    """Listens at `path` from start() to stop(). `behave` answers calls, each on its connection's
    thread; by default it echoes."""

    def __init__(self, path: Path, *tools: dict[str, Any]) -> None:
        self.path, self.tools = path, list(tools)
        self.behave: Callable[[Request], None] = lambda request: request.answer()
        self.calls: list[Request] = []
        self.cancels: list[dict[str, Any]] = []
        self.cancel_headers: list[dict[str, str]] = []
        self.says: dict[str, Any] = {}  # in the list, beside the tools
        self.lists = 0
        self._links: set[socket.socket] = set()
        self._listener: socket.socket | None = None

    def start(self) -> ToolHost:
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(str(self.path))
        self._listener.listen(64)
        threading.Thread(target=self._accept, args=(self._listener,), daemon=True).start()
        return self

    def stop(self) -> None:
        """Closes everything, as a process that ends."""
        if self._listener:
            with contextlib.suppress(OSError):
                self._listener.shutdown(socket.SHUT_RDWR)
            self._listener.close()
            self._listener = None
            os.unlink(self.path)
        for link in list(self._links):
            with contextlib.suppress(OSError):
                link.shutdown(socket.SHUT_RDWR)

    def wait_calls(self, count: int) -> list[Request]:
        eventually(lambda: len(self.calls) >= count, f"{count} calls at {self.path.name}")
        return self.calls

    def wait_cancel(self) -> dict[str, Any]:
        eventually(lambda: self.cancels, f"a cancel at {self.path.name}")
        return self.cancels[-1]

    def calls_of(self, call_id: str) -> list[Request]:
        return [call for call in self.calls if call.body["call_id"] == call_id]

    def _accept(self, listener: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while True:
                link, _ = listener.accept()
                self._links.add(link)
                threading.Thread(target=self._serve, args=(link,), daemon=True).start()

    def _serve(self, link: socket.socket) -> None:
        with contextlib.suppress(OSError, ValueError), link, link.makefile("rb") as stream:
            while line := stream.readline():
                method, target, _ = line.decode().split(" ")
                headers: dict[str, str] = {}
                while (field := stream.readline().strip()) and b":" in field:
                    name, _, value = field.decode().partition(":")
                    headers[name.lower()] = value.strip()
                body = stream.read(int(headers.get("content-length", "0")))
                self._dispatch(link, method, target, headers, body)
        self._links.discard(link)

    def _dispatch(
        self, link: socket.socket, method: str, target: str, headers: dict[str, str], body: bytes
    ) -> None:
        if (method, target) == ("GET", "/v1/tools"):
            self.lists += 1
            said = {"version": "v1", "service": "test", **self.says, "tools": self.tools}
            link.sendall(http(200, json.dumps(said).encode()))
        elif (method, target) == ("POST", "/v1/tools/call"):
            request = Request(link, headers, json.loads(body))
            self.calls.append(request)
            self.behave(request)
        elif (method, target) == ("POST", "/v1/tools/cancel"):
            self.cancel_headers.append(headers)
            self.cancels.append(json.loads(body))
            link.sendall(
                http(
                    200,
                    json.dumps(
                        {
                            "version": "v1",
                            "call_id": self.cancels[-1]["call_id"],
                            "status": "cancelling",
                        }
                    ).encode(),
                )
            )
        else:
            link.sendall(http(404, b"{}"))
