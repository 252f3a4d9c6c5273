"""A small HTTP/1.1 client over asyncio's streams: strict about what it reads, and bounded.

RFC 9112, without what a gateway does not use: no redirects, proxies, cookies or compression.
"""

from __future__ import annotations

import asyncio
import json
import re
import ssl
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from .address import Address

__all__ = ["Exchange", "HttpClient", "HttpFailure", "Response", "parse_fields", "read_chunks"]

_HEAD_BYTES = 64 << 10
_STATUS = re.compile(rb"HTTP/1\.[01] ([1-9][0-9]{2})(?: [^\r\n]*)?")
_FIELD = re.compile(r"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*(.*?)[ \t]*")
_CHUNK = re.compile(rb"([0-9A-Fa-f]{1,8})(?:;[^\r\n]{0,256})?\r\n")
_PIECE = 64 << 10


class HttpFailure(Exception):
    """No answer, or none that can be read. `sent`: the other side may have got the request.
    `final`: another try would end the same way."""

    def __init__(self, message: str, sent: bool, final: bool = False) -> None:
        super().__init__(message)
        self.sent, self.final = sent, final


@dataclass
class Response:
    """A whole answer; names of headers are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes = b""

    def members(self) -> dict[str, Any]:
        """Of the body, if it is a JSON object; else none."""
        try:
            value = json.loads(self.body)
        except ValueError:
            return {}
        return value if isinstance(value, dict) else {}


@dataclass(eq=False)
class _Connection:
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    @property
    def usable(self) -> bool:
        """Nobody closed it, and no byte came that nobody asked for."""
        stray = getattr(self.reader, "_buffer", b"")  # asyncio has no other way to ask
        return not (stray or self.reader.at_eof() or self.writer.is_closing())

    def close(self) -> None:
        self.writer.transport.abort()  # nothing that matters is on its way


class HttpClient:
    """Connections to one server, kept for later requests; any number of requests at once."""

    def __init__(
        self,
        address: Address,
        tls: ssl.SSLContext | None = None,
        *,
        connect_timeout: float = 5.0,
        max_body: int = 64 << 20,
        kept: int = 8,
    ) -> None:
        self.address, self._tls = address, tls
        self._connect_timeout, self._max_body, self._kept = connect_timeout, max_body, kept
        self._idle: list[_Connection] = []
        self._in_use: set[_Connection] = set()
        self.closes = 0  #: how often it was closed; a request that began before fails for good

    async def close(self) -> None:
        """Requests that run fail; the client may be used again."""
        self.closes += 1
        open_ones = [*self._idle, *self._in_use]
        self._idle = []
        for connection in open_ones:
            connection.close()
        for connection in open_ones:
            try:
                await asyncio.wait_for(connection.writer.wait_closed(), 1)
            except (OSError, asyncio.TimeoutError):
                pass

    async def request(
        self, method: str, path: str, headers: Mapping[str, str] | None = None, body: bytes = b""
    ) -> Response:
        """One request and its whole answer. Errors: HttpFailure; give it a time with
        asyncio.timeout()."""
        async with Exchange(self, method, path, headers or {}, body) as exchange:
            return Response(exchange.status, exchange.headers, await exchange.read())

    def stream(
        self, method: str, path: str, headers: Mapping[str, str] | None = None, body: bytes = b""
    ) -> Exchange:
        """One request whose answer is read as it comes, in an `async with`."""
        return Exchange(self, method, path, headers or {}, body)

    async def _connect(self) -> _Connection:
        while self._idle:
            connection = self._idle.pop()
            if connection.usable:
                self._in_use.add(connection)
                return connection
            connection.close()
        address, closes = self.address, self.closes
        try:
            async with asyncio.timeout(self._connect_timeout):
                if address.socket:
                    pair = await asyncio.open_unix_connection(address.socket, limit=_HEAD_BYTES)
                else:
                    pair = await asyncio.open_connection(
                        address.host,
                        address.port,
                        limit=_HEAD_BYTES,
                        ssl=self._tls,
                        server_hostname=address.host if self._tls else None,
                    )
        except ssl.SSLCertVerificationError as refused:
            raise HttpFailure(
                f"the certificate of {address.authority} is not trusted "
                f"({refused.verify_message}); name its authority with ca_file",
                sent=False,
                final=True,
            ) from None
        except (OSError, asyncio.TimeoutError) as failed:
            why = str(failed) or "no answer in time"
            where = address.socket or address.authority
            raise HttpFailure(f"{where} cannot be reached: {why}", sent=False) from None
        connection = _Connection(*pair)
        if self.closes != closes:
            connection.close()
            raise HttpFailure("the client was closed", sent=False, final=True)
        self._in_use.add(connection)
        return connection

    def _drop(self, connection: _Connection) -> None:
        self._in_use.discard(connection)
        connection.close()

    def _give_back(self, connection: _Connection) -> None:
        self._in_use.discard(connection)
        if len(self._idle) < self._kept and connection.usable:
            self._idle.append(connection)
        else:
            connection.close()


class Exchange:
    """One request and its answer; leaving it before the answer was read closes the connection."""

    def __init__(
        self, client: HttpClient, method: str, path: str, headers: Mapping[str, str], body: bytes
    ) -> None:
        self.status, self.headers = 0, dict[str, str]()
        self._client, self._body = client, body
        fields = {
            "Host": client.address.authority,
            "Accept": "application/json",
            **headers,
            "Content-Length": str(len(body)),
        }
        if method in ("GET", "HEAD") and not body:
            del fields["Content-Length"]
        head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
        if any(bad in f"{method}{path}{''.join(fields.values())}" for bad in "\r\n\0"):
            raise ValueError("a request line or header holds a line end")
        target = f"{client.address.prefix}{path}"
        self._head = f"{method} {target} HTTP/1.1\r\n{head}\r\n".encode("ascii")
        self._connection: _Connection | None = None
        self._finished = False
        self._closes = client.closes

    async def __aenter__(self) -> Exchange:
        self._closes = self._client.closes
        self._connection = await self._client._connect()
        try:
            await self._send_and_read_head()
        except BaseException:
            self._client._drop(self._connection)
            self._connection = None
            raise
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        raised: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        connection, self._connection = self._connection, None
        if connection is None:
            return
        keep = self.headers.get("connection", "").lower() != "close"
        if self._finished and keep:
            self._client._give_back(connection)
        else:
            self._client._drop(connection)

    def _broken(self, message: str) -> HttpFailure:
        if self._client.closes != self._closes:
            return HttpFailure("the client was closed", sent=True, final=True)
        return HttpFailure(message, sent=True)

    async def _send_and_read_head(self) -> None:
        assert self._connection
        reader, writer = self._connection.reader, self._connection.writer
        broken: OSError | None = None
        try:
            writer.write(self._head + self._body)
            await writer.drain()
        except OSError as failed:
            broken = failed  # an answer may have come before, such as 413
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                line, _, rest = head.partition(b"\r\n")
                status = _STATUS.fullmatch(line)
                if not status:
                    raise HttpFailure("the answer is not HTTP/1.1", sent=True, final=True)
                self.status = int(status[1])
                self.headers = parse_fields(rest)
                if self.status == 101:
                    raise HttpFailure("101 was not asked for", sent=True, final=True)
                if self.status >= 200:
                    return
        except asyncio.LimitOverrunError:
            raise HttpFailure("the answer's headers are too long", True, True) from None
        except (OSError, EOFError, ssl.SSLError) as failed:
            why = broken or failed
            raise self._broken(f"the connection ended without an answer ({why})") from None
        except ValueError as bad:
            raise HttpFailure(f"the answer is not HTTP/1.1: {bad}", True, True) from None

    async def read(self) -> bytes:
        """The rest of the body."""
        return b"".join([piece async for piece in self.pieces()])

    async def pieces(self) -> AsyncIterator[bytes]:
        """The body as it comes. Errors: HttpFailure, also for one above the client's limit."""
        assert self._connection
        reader, most = self._connection.reader, self._client._max_body
        try:
            if self.status in (204, 304):
                pass
            elif "transfer-encoding" in self.headers:
                if self.headers["transfer-encoding"].lower() != "chunked":
                    raise ValueError("an unknown transfer coding")
                if "content-length" in self.headers:
                    raise ValueError("two lengths")
                async for piece in read_chunks(reader, most):
                    yield piece
            elif "content-length" in self.headers:
                async for piece in _read_sized(reader, self.headers["content-length"], most):
                    yield piece
            else:
                raise ValueError("an answer without a length")
            self._finished = True
        except (OSError, EOFError, asyncio.LimitOverrunError) as failed:
            raise self._broken(f"the answer ended in its middle ({failed})") from None
        except ValueError as bad:
            raise HttpFailure(f"the answer cannot be read: {bad}", True, True) from None


async def _pieces(reader: asyncio.StreamReader, left: int) -> AsyncIterator[bytes]:
    while left:
        piece = await reader.read(min(left, _PIECE))
        if not piece:
            raise EOFError("closed")
        left -= len(piece)
        yield piece


async def _read_sized(reader: asyncio.StreamReader, length: str, most: int) -> AsyncIterator[bytes]:
    if not re.fullmatch(r"[0-9]{1,15}", length):
        raise ValueError("a bad Content-Length")
    left = int(length)
    if left > most:
        raise ValueError(f"it has {left} bytes, and {most} are allowed")
    async for piece in _pieces(reader, left):
        yield piece


async def read_chunks(reader: asyncio.StreamReader, most: int) -> AsyncIterator[bytes]:
    """A chunked body (RFC 9112, section 7.1). Errors: ValueError, EOFError, OSError."""
    while True:
        size = _CHUNK.fullmatch(await reader.readuntil(b"\r\n"))
        if not size:
            raise ValueError("a bad chunk")
        left = int(size[1], 16)
        most -= left
        if most < 0:
            raise ValueError("more bytes than allowed")
        if left == 0:
            for _ in range(64):  # trailers are read over
                if await reader.readuntil(b"\r\n") == b"\r\n":
                    return
            raise ValueError("too many trailers")
        async for piece in _pieces(reader, left):
            yield piece
        if await reader.readexactly(2) != b"\r\n":
            raise ValueError("a bad chunk")


def parse_fields(block: bytes) -> dict[str, str]:
    """Header fields, up to and with the empty line. Errors: ValueError."""
    fields: dict[str, str] = {}
    lines = block.decode("latin-1").split("\r\n")
    while lines and not lines[-1]:
        lines.pop()
    if len(lines) > 128:
        raise ValueError("too many header fields")
    for line in lines:
        parts = _FIELD.fullmatch(line)
        if not parts or any(ord(char) < 32 and char != "\t" for char in line):
            raise ValueError("a broken header field")
        name = parts[1].lower()
        if name in fields:
            if name in ("content-length", "host", "transfer-encoding"):
                raise ValueError(f"{parts[1]} twice")
            fields[name] += f", {parts[2]}"
        else:
            fields[name] = parts[2]
    return fields
