"""Somebody who watches the approvals of a gateway on its admin socket, and decides."""

from __future__ import annotations

import contextlib
import http.client
import json
import queue
import socket
import threading
from typing import Any

from .gateway import Gateway
from .http import Response
from .wait import PATIENCE, eventually


class _Admin(http.client.HTTPConnection):
    def __init__(self, path: str) -> None:
        super().__init__("localhost")
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.connect(self._path)


class Approver:
    """Watches from construction on, so that calls wait. A context manager; leaving it ends the
    watch."""

    def __init__(self, gateway: Gateway) -> None:
        self.gateway = gateway
        self._before = self._watchers()
        self._news: queue.Queue[tuple[str, dict[str, Any]]] = queue.Queue()
        self._connection = _Admin(str(gateway.admin))
        self._connection.request("GET", "/v1/admin/approvals/watch")
        self._response = self._connection.getresponse()
        assert self._response.status == 200, self._response.status
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        assert self.next()[0] == "watching"

    def _read(self) -> None:
        kind = ""
        with contextlib.suppress(OSError, ValueError, http.client.HTTPException, AttributeError):
            for line in self._response:
                if line.startswith(b"event: "):
                    kind = line[7:].decode().strip()
                elif line.startswith(b"data: "):
                    self._news.put((kind, json.loads(line[6:])))

    def __enter__(self) -> Approver:
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(OSError):
            self._connection.sock.shutdown(socket.SHUT_RDWR)
        self._reader.join(PATIENCE)
        self._connection.close()
        if self.gateway.process.poll() is None:
            eventually(
                lambda: self._watchers() == self._before,
                "the gateway has noticed that this watch is over",
            )

    def _watchers(self) -> int:
        return self.gateway.admin_request("GET", "/v1/admin/approvals").json()["watchers"]

    def next(self) -> tuple[str, dict[str, Any]]:
        return self._news.get(timeout=PATIENCE)

    def question(self) -> dict[str, Any]:
        """The next news, which has to be a question."""
        kind, news = self.next()
        assert kind == "question", (kind, news)
        return news

    def end(self) -> dict[str, Any]:
        kind, news = self.next()
        assert kind == "end", (kind, news)
        return news

    def decide(self, approval: str, decision: str, scope: str = "once") -> Response:
        return self.gateway.admin_request(
            "POST", f"/v1/admin/approvals/{approval}", {"decision": decision, "scope": scope}
        )
