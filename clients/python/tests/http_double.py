"""A server of a few lines, whose answers are the test's."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Asked:
    method: str
    path: str
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""


#: Status and body; None: the connection is closed without a word.
Answer = tuple[int, Any] | None


@contextlib.asynccontextmanager
async def serving(answer: Callable[[Asked], Answer]) -> AsyncIterator[str]:
    """The address of a server on loopback."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(EOFError, OSError):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode()
                line, *fields = head.strip().split("\r\n")
                method, path, _ = line.split(" ")
                headers = {}
                for each in fields:
                    name, _, value = each.partition(": ")
                    headers[name.lower()] = value
                body = await reader.readexactly(int(headers.get("content-length", 0)))
                given = answer(Asked(method, path, headers, body))
                if given is None:
                    break
                status, value = given
                data = value if isinstance(value, bytes) else json.dumps(value).encode()
                said = f"HTTP/1.1 {status} Text\r\nContent-Length: {len(data)}\r\n\r\n"
                writer.write(said.encode() + data)
                await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
