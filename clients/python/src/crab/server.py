"""A small HTTP/1.1 server over asyncio's streams, with the limits of docs/protocols/rtp.md."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field

from .http import parse_fields, read_chunks

__all__ = ["HttpServer", "Reply", "Request"]

_HEAD_BYTES = 16 << 10
_BODY_BYTES = 1 << 20
_HEAD_SECONDS, _BODY_SECONDS, _IDLE_SECONDS, _WRITE_SECONDS = 5.0, 10.0, 600.0, 30.0
_LINGER_SECONDS = 2.0
_MOST_CONNECTIONS = 256
_REQUEST_LINE = re.compile(rb"([A-Z]{1,16}) (/[!-~]{0,2000}) HTTP/1\.1")
_PHRASES = {200: "OK", 204: "No Content", 400: "Bad Request", 403: "Forbidden", 404: "Not Found"}


@dataclass
class Request:
    method: str
    path: str
    headers: dict[str, str]
    body: bytes = b""


@dataclass
class Reply:
    """`events`: a stream in place of the body, closed when the client has left."""

    status: int
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    events: AsyncIterator[bytes] | None = None


class _Refused(Exception):
    """A request that is not read to its end; the connection closes."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


Refuse = Callable[[str, int, str], Reply]
Admit = Callable[[str, asyncio.StreamWriter], Awaitable[Reply | None]]
Upgrade = Callable[[dict[str, str], asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


class HttpServer:
    """Serves connections with `handle`; `refuse` words what HTTP itself refuses, by path, status
    and message. Neither may raise."""

    def __init__(
        self,
        handle: Callable[[Request], Awaitable[Reply]],
        refuse: Refuse,
        admit: Admit | None = None,
        upgrade: Upgrade | None = None,
    ) -> None:
        """`admit` refuses requests before their body is read; `upgrade` serves WebSockets."""
        self._handle, self._refuse = handle, refuse
        self._admit, self._upgrade = admit, upgrade
        self._connections: set[asyncio.Task[None]] = set()
        self._ending = False

    async def end(self) -> None:
        self._ending = True
        for task in self._connections:
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, from asyncio.start_server()."""
        task = asyncio.current_task()
        assert task
        self._connections.add(task)
        path = ["/"]
        try:
            if len(self._connections) > _MOST_CONNECTIONS:
                raise _Refused(503, "too many connections")
            while await self._serve_one(reader, writer, path):
                pass
        except _Refused as refused:
            with contextlib.suppress(OSError, asyncio.TimeoutError):
                await _write(writer, self._refuse(path[0], refused.status, str(refused)), False)
                await _linger(reader, writer)
        except (OSError, EOFError, asyncio.TimeoutError):
            pass
        except asyncio.CancelledError:
            if not self._ending:  # asyncio's streams would log a cancelled task as a failure
                raise
        finally:
            self._connections.discard(task)
            writer.close()

    async def _serve_one(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, path: list[str]
    ) -> bool:
        """Whether the connection goes on."""
        async with asyncio.timeout(_IDLE_SECONDS):
            first = await reader.readexactly(1)
        try:
            async with asyncio.timeout(_HEAD_SECONDS):
                head = first + await reader.readuntil(b"\r\n\r\n")
        except asyncio.LimitOverrunError:
            raise _Refused(431, "the headers are too long") from None
        except asyncio.TimeoutError:
            raise _Refused(408, "the headers did not come in time") from None
        if len(head) > _HEAD_BYTES:
            raise _Refused(431, "the headers are too long")
        line, _, rest = head.partition(b"\r\n")
        parts = _REQUEST_LINE.fullmatch(line)
        if not parts:
            raise _Refused(400, "this is no request of HTTP/1.1")
        path[0] = parts[2].decode()
        try:
            headers = parse_fields(rest)
        except ValueError as bad:
            raise _Refused(400, str(bad)) from None
        if "origin" in headers:
            raise _Refused(403, "web pages are not served")
        if self._upgrade and headers.get("upgrade", "").lower() == "websocket":
            if path[0] not in ("/v1/pair", "/"):
                raise _Refused(404, "there is no such route")
            await self._upgrade(headers, reader, writer)
            await writer.drain()
            return False
        denied = await self._admit(path[0], writer) if self._admit else None
        if denied:
            await _write(writer, denied, False)
            return False
        body = await _body(reader, headers)
        reply = await self._handle(Request(parts[1].decode(), path[0], headers, body))
        keep = headers.get("connection", "").lower() != "close" and reply.events is None
        await _write(writer, reply, keep)
        if reply.events is not None:
            await _stream(reader, writer, reply.events)
        return keep


async def _body(reader: asyncio.StreamReader, headers: dict[str, str]) -> bytes:
    length = headers.get("content-length", "0")
    try:
        async with asyncio.timeout(_BODY_SECONDS):
            if "transfer-encoding" in headers:
                if headers["transfer-encoding"].lower() != "chunked" or "content-length" in headers:
                    raise _Refused(400, "the length of the body is not clear")
                pieces = [piece async for piece in read_chunks(reader, _BODY_BYTES)]
                return b"".join(pieces)
            if not re.fullmatch("[0-9]{1,12}", length):
                raise _Refused(400, "a bad Content-Length")
            if int(length) > _BODY_BYTES:
                raise _Refused(413, f"a body has at most {_BODY_BYTES} bytes")
            return await reader.readexactly(int(length))
    except asyncio.TimeoutError:
        raise _Refused(408, "the body did not come in time") from None
    except asyncio.LimitOverrunError:
        raise _Refused(400, "a bad chunk") from None
    except ValueError as bad:
        status = 413 if "more bytes" in str(bad) else 400
        raise _Refused(status, str(bad)) from None


async def _write(writer: asyncio.StreamWriter, reply: Reply, keep: bool) -> None:
    fields = {"Content-Type": "application/json", **reply.headers}
    if reply.events is None:
        fields["Content-Length"] = str(len(reply.body))
    else:
        fields["Transfer-Encoding"] = "chunked"
    if not keep:
        fields["Connection"] = "close"
    lines = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    phrase = _PHRASES.get(reply.status, "Status")
    writer.write(f"HTTP/1.1 {reply.status} {phrase}\r\n{lines}\r\n".encode() + reply.body)
    async with asyncio.timeout(_WRITE_SECONDS):
        await writer.drain()


async def _linger(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Reads over a little of what still comes: closing at once would cost the client the answer."""
    writer.write_eof()
    left = 8 << 20
    async with asyncio.timeout(_LINGER_SECONDS):
        while left > 0 and (piece := await reader.read(64 << 10)):
            left -= len(piece)


async def _stream(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, events: AsyncIterator[bytes]
) -> None:
    """Until the events end or the client leaves, whichever is first."""

    async def write() -> None:
        async with contextlib.aclosing(events) as each:  # type: ignore[type-var]
            async for event in each:
                writer.write(b"%x\r\n%s\r\n" % (len(event), event))
                async with asyncio.timeout(_WRITE_SECONDS):
                    await writer.drain()
        writer.write(b"0\r\n\r\n")

    writing, leaving = asyncio.ensure_future(write()), asyncio.ensure_future(reader.read())
    try:
        await asyncio.wait({writing, leaving}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in (writing, leaving):
            task.cancel()
        await asyncio.gather(writing, leaving, return_exceptions=True)


def strict_json(data: bytes, depth: int = 64) -> object:
    """JSON without duplicate names. Errors: ValueError."""

    def members(pairs: list[tuple[str, object]]) -> dict[str, object]:
        found = dict(pairs)
        if len(found) != len(pairs):
            raise ValueError("a name stands twice in an object")
        return found

    def no_constant(text: str) -> object:
        raise ValueError(f"{text} is no JSON")

    try:
        value = json.loads(
            data.decode("utf-8"), object_pairs_hook=members, parse_constant=no_constant
        )
    except RecursionError:
        raise ValueError("nested too deep") from None
    level: list[object] = [value]
    for _ in range(depth + 1):
        if not level:
            return value
        inner: list[object] = []
        for each in level:
            if isinstance(each, dict):
                inner += each.values()
            elif isinstance(each, list):
                inner += each
        level = inner
    raise ValueError("nested too deep")
