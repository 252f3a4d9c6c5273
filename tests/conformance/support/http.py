"""A thin HTTP/1.1 client that shows what is on the wire: it follows nothing, repeats nothing and
guesses nothing."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from .stream import Address, Stream
from .wait import PATIENCE


@dataclass
class Response:
    """One response. `headers` has lower-case names; a repeated header keeps all its values, joined
    by a comma."""

    status: int
    reason: str
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""

    def json(self) -> Any:
        """The body as JSON; its media type has to say so."""
        media = self.headers.get("content-type", "")
        if media.split(";")[0].strip() != "application/json":
            raise AssertionError(
                f"{self.status} has Content-Type {media!r}, not application/json: "
                f"{self.body[:200]!r}"
            )
        return json.loads(self.body.decode("utf-8"))


def request_bytes(
    method: str,
    target: str,
    headers: Mapping[str, str] | None = None,
    body: bytes | None = None,
    host: str | None = "localhost",
) -> bytes:
    """A request head and body. Host and Content-Length are added unless `headers` has them or
    `host` is None."""
    lines = dict(headers or {})
    given = {name.lower() for name in lines}
    if host is not None and "host" not in given:
        lines = {"Host": host, **lines}
    if body is not None and not given & {"content-length", "transfer-encoding"}:
        lines["Content-Length"] = str(len(body))
    head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
    return f"{method} {target} HTTP/1.1\r\n{head}\r\n".encode("latin-1") + (body or b"")


def read_head(stream: Stream, timeout: float | None = None) -> Response:
    """The status line and headers of the next response, strictly read."""
    text = stream.read_until(b"\r\n\r\n", timeout).decode("latin-1")
    status_line, *lines = text[:-4].split("\r\n")
    version, _, rest = status_line.partition(" ")
    code, _, reason = rest.partition(" ")
    if version != "HTTP/1.1" or not (code.isdigit() and len(code) == 3):
        raise AssertionError(f"not an HTTP/1.1 status line: {status_line!r}")
    response = Response(int(code), reason)
    for line in lines:
        name, colon, value = line.partition(":")
        if not colon or not name or name != name.strip():
            raise AssertionError(f"not a header line: {line!r}")
        name = name.lower()
        if (
            name in ("content-length", "transfer-encoding", "content-type")
            and name in response.headers
        ):
            raise AssertionError(f"header {name} twice")
        earlier = response.headers.get(name)
        response.headers[name] = value.strip() if earlier is None else f"{earlier}, {value.strip()}"
    return response


class HttpConnection:
    """One keep-alive connection. Use as a context manager."""

    def __init__(self, address: Address, timeout: float = PATIENCE) -> None:
        self.stream = Stream(address, timeout)

    def __enter__(self) -> HttpConnection:
        return self

    def __exit__(self, *_: object) -> None:
        self.stream.close()

    def send(
        self,
        method: str,
        target: str,
        headers: Mapping[str, str] | None = None,
        body: Any = None,
        host: str | None = "localhost",
    ) -> None:
        """Writes one request. A body that is no `bytes` goes out as compact JSON."""
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body, separators=(",", ":"), ensure_ascii=False).encode()
            headers = {"Content-Type": "application/json", **(headers or {})}
        self.stream.send(request_bytes(method, target, headers, body, host))

    def send_raw(self, data: bytes) -> None:
        self.stream.send(data)

    def receive(self, head_only: bool = False, timeout: float | None = None) -> Response:
        """The next final response; `head_only` for an answer to HEAD."""
        response = read_head(self.stream, timeout)
        while response.status == 100:
            response = read_head(self.stream, timeout)
        if head_only or response.status in (101, 204, 304):
            return response
        if response.headers.get("transfer-encoding", "").lower() == "chunked":
            response.body = b"".join(self._chunks(timeout))
        elif "content-length" in response.headers:
            response.body = self.stream.read(int(response.headers["content-length"]), timeout)
        else:
            response.body = self.stream.read_to_end(timeout)
        return response

    def request(
        self,
        method: str,
        target: str,
        headers: Mapping[str, str] | None = None,
        body: Any = None,
        host: str | None = "localhost",
        timeout: float | None = None,
    ) -> Response:
        self.send(method, target, headers, body, host)
        return self.receive(head_only=method == "HEAD", timeout=timeout)

    def _chunks(self, timeout: float | None) -> Iterator[bytes]:
        while True:
            size = int(self.stream.read_until(b"\r\n", timeout).split(b";")[0], 16)
            data = self.stream.read(size + 2, timeout)
            if data[-2:] != b"\r\n":
                raise AssertionError("chunk without its line end")
            if size == 0:
                return
            yield data[:-2]

    def events(self, head: Response, timeout: float | None = None) -> Iterator[tuple[str, str]]:
        """(event, data) of a server-sent event stream whose head was read; ends with the
        response."""
        if head.headers.get("content-type", "").split(";")[0] != "text/event-stream":
            raise AssertionError(f"not an event stream: {head}")
        buffer = b""
        for piece in self._pieces(head, timeout):
            buffer += piece
            while b"\n\n" in buffer:
                block, buffer = buffer.split(b"\n\n", 1)
                event = _parse_event(block.decode("utf-8"))
                if event:
                    yield event
        if buffer.strip():
            raise AssertionError(f"the stream ends inside an event: {buffer!r}")

    def _pieces(self, head: Response, timeout: float | None) -> Iterator[bytes]:
        if head.headers.get("transfer-encoding", "").lower() == "chunked":
            yield from self._chunks(timeout)
        else:
            yield self.stream.read_to_end(timeout)


def _parse_event(block: str) -> tuple[str, str] | None:
    name, data = "message", []
    for line in block.replace("\r\n", "\n").split("\n"):
        key, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if key == "event":
            name = value
        elif key == "data":
            data.append(value)
    return (name, "\n".join(data)) if data else None  # a block of comments is no event


def fetch(
    address: Address,
    method: str,
    target: str,
    headers: Mapping[str, str] | None = None,
    body: Any = None,
    host: str | None = "localhost",
    timeout: float = PATIENCE,
) -> Response:
    """One request on a connection of its own."""
    with HttpConnection(address, timeout) as connection:
        return connection.request(method, target, headers, body, host)
