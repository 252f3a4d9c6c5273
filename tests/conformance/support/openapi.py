"""Answers held against an OpenAPI document: which operation was asked, whether its status and media
type are documented, and, with the gateway's own validator, its body."""

from __future__ import annotations

import copy
import json
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .gateway import program
from .http import HttpConnection, Response, fetch
from .websocket import WebSocket

Operation = tuple[str, str]  #: method and path of the document


def _closed(schema: Any) -> Any:
    """The schema with no room for members that it does not name: what is not documented fails."""
    if isinstance(schema, list):
        return [_closed(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {name: _closed(value) for name, value in schema.items()}
    if schema.get("type") == "object" and "properties" in schema:
        closed.setdefault("unevaluatedProperties", False)
    return closed


def _fits(media: str, pattern: str) -> bool:
    return pattern == "*/*" or media == pattern or (media.startswith(pattern.removesuffix("*")))


#: Patterns whose last parameter is the rest of the path.
MANY_SEGMENTS = {"/device/{file}", "/console/{file}", "/console/api/{path}"}


class ApiDocument:
    """One listener's document, and the answers that were held against it."""

    def __init__(self, name: str, document: Mapping[str, Any]) -> None:
        self.name, self.document = name, document
        self.operations: dict[Operation, dict[str, Any]] = {
            (method.upper(), path): operation
            for path, methods in document["paths"].items()
            for method, operation in methods.items()
        }
        self.seen: dict[Operation, set[int]] = {each: set() for each in self.operations}
        self._bodies: dict[str, tuple[str, Any]] = {}  #: by a label: the schema's name, the body

    def find(self, method: str, target: str) -> Operation:
        """The operation that a request means; a literal path goes before a pattern."""
        path = target.partition("?")[0]
        for pattern in sorted(self.document["paths"], key=lambda each: each.count("{")):
            end = ".*" if pattern in MANY_SEGMENTS else "[^/]+"
            if (method, pattern) in self.operations and re.fullmatch(
                re.sub(r"\\{.*?\\}", end, re.escape(pattern)), path
            ):
                return method, pattern
        raise AssertionError(f"{self.name}: {method} {path} is not documented")

    def take(self, method: str, target: str, status: int, media: str, body: Any) -> None:
        """Fails unless the answer is one that the document has; `body` is looked at by check()."""
        operation = self.find(method, target)
        label = f"{self.name}: {method} {operation[1]} {status}"
        responses = self.operations[operation]["responses"]
        assert str(status) in responses, f"{label} is not documented: {body!r}"
        self.seen[operation].add(status)
        content = responses[str(status)].get("content")
        assert bool(content) == bool(media), f"{label}: Content-Type {media!r}"
        if not content:
            return
        fitting = [
            each for each in content if _fits(media.partition(";")[0], each.partition(";")[0])
        ]
        assert fitting, f"{label}: Content-Type {media!r}, not one of {list(content)}"
        if fitting[0] == "application/json":
            name = content[fitting[0]]["schema"]["$ref"].rpartition("/")[2]
            self._bodies[f"{len(self._bodies)} {label}"] = (name, body)

    def check(self, folder: Path) -> list[str]:
        """What `crab schema check` says against the bodies; empty when they are as documented."""
        schema = {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "properties": {
                label: {"$ref": f"#/components/schemas/{name}"}
                for label, (name, _) in self._bodies.items()
            },
            "components": _closed(copy.deepcopy(self.document["components"])),
        }
        schema_file, bodies_file = folder / "schema.json", folder / "bodies.json"
        schema_file.write_text(json.dumps(schema))
        bodies_file.write_text(
            json.dumps({label: body for label, (_, body) in self._bodies.items()})
        )
        done = subprocess.run(
            [program(), "schema", "check", str(schema_file), str(bodies_file)],
            capture_output=True,
            text=True,
            timeout=60,
        )
        return [] if done.returncode == 0 else [done.stdout + done.stderr]

    def missing(self) -> list[str]:
        """Operations without a good answer, or without a refusal although they have some (503
        alone, of one that stops, is not asked for)."""
        lines = []
        for (method, path), statuses in self.seen.items():
            known = {int(status) for status in self.operations[method, path]["responses"]}
            if not any(status < 400 for status in statuses):
                lines.append(f"{self.name}: {method} {path} has no good answer")
            if {status for status in known if status >= 400} - {503} and not any(
                status >= 400 for status in statuses
            ):
                lines.append(f"{self.name}: {method} {path} has no refusal")
        return lines


class Side:
    """A listener as one of its callers uses it; every answer is held against its document."""

    def __init__(self, document: ApiDocument, address: Any, headers: dict[str, str]) -> None:
        self.document, self.address, self.headers = document, address, headers

    def take(self, method: str, target: str, response: Response) -> None:
        media = response.headers.get("content-type", "")
        body = response.body
        if media.partition(";")[0] == "application/json":
            body = response.json()
        self.document.take(method, target, response.status, media, body)

    def ask(self, method: str, target: str, body: Any = None, **headers: str) -> Response:
        sent = {**self.headers, **{name.replace("_", "-"): it for name, it in headers.items()}}
        response = fetch(self.address, method, target, sent, body, timeout=30)
        self.take(method, target, response)
        return response

    def good(self, method: str, target: str, body: Any = None, **headers: str) -> Any:
        """ask(), for an answer that is no refusal; its JSON, if it has some."""
        response = self.ask(method, target, body, **headers)
        assert response.status < 400, f"{method} {target}: {response.status} {response.body!r}"
        return (
            response.json() if response.headers.get("content-type") == "application/json" else None
        )

    def stream(self, target: str, **headers: str) -> None:
        """A stream of events that has begun."""
        sent = {**self.headers, **{name.replace("_", "-"): it for name, it in headers.items()}}
        with HttpConnection(self.address) as connection:
            connection.send("GET", target, {**sent, "Accept": "text/event-stream"})
            head = connection.stream.read_until(b"\r\n\r\n").decode().lower()
        assert " 200 " in head and "content-type: text/event-stream" in head, head
        self.document.take("GET", target, 200, "text/event-stream", None)

    def socket(self, target: str) -> WebSocket:
        opened = WebSocket(self.address, target, self.headers)
        self.document.take("GET", target, 101, "", None)
        return opened


class PeerSide(Side):
    """The peer listener, as one paired peer uses it; `peer.connect()` gives a connection of
    http.client with its certificate."""

    def __init__(self, document: ApiDocument, peer: Any) -> None:
        super().__init__(document, None, {})
        self.peer = peer

    def ask(self, method: str, target: str, body: Any = None, **_: str) -> Response:
        link = self.peer.connect()
        sent = None if body is None else json.dumps(body)
        link.request(method, target, sent, {"Content-Type": "application/json"})
        answer = link.getresponse()
        headers = {name.lower(): value for name, value in answer.getheaders()}
        response = Response(answer.status, answer.reason, headers, answer.read())
        self.take(method, target, response)
        return response

    def stream(self, target: str, **_: str) -> None:
        link = self.peer.connect()
        link.request("GET", target, None, {"Accept": "text/event-stream"})
        answer = link.getresponse()
        self.document.take("GET", target, answer.status, answer.getheader("Content-Type"), None)
