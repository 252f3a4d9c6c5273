"""One WebSocket to a gateway, with the library `websockets`, 10.4 (Debian 12) and newer."""

from __future__ import annotations

import importlib
import ssl
from collections.abc import AsyncIterator
from typing import Any

from .address import Address

__all__ = ["DialFailed", "DialRefused", "Link"]

_OPEN_SECONDS = 15.0
_PING_SECONDS = 20.0  # a link whose pong is missing as long again is dead
_CLOSE_SECONDS = 2.0


class DialFailed(Exception):
    """The gateway does not answer."""


class DialRefused(Exception):
    """The gateway answered the upgrade with this HTTP status."""

    def __init__(self, status: int, retry_after: float) -> None:
        super().__init__(f"the gateway answers {status}")
        self.status, self.retry_after = status, retry_after


class Link:
    """An open connection; frames are text."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    @staticmethod
    async def dial(
        address: Address,
        path: str,
        headers: dict[str, str],
        tls: ssl.SSLContext | None,
        max_bytes: int,
    ) -> Link:
        """Errors: DialFailed, DialRefused."""
        options: dict[str, Any] = {
            "subprotocols": ["clawseed.v1"],
            "compression": None,
            "open_timeout": _OPEN_SECONDS,
            "ping_interval": _PING_SECONDS,
            "ping_timeout": _PING_SECONDS,
            "close_timeout": _CLOSE_SECONDS,
            "max_size": max_bytes,
        }
        if tls:
            options["ssl"] = tls
        module, header_option = _library()
        options[header_option] = headers
        url = address.websocket(path)
        try:
            if address.socket:
                connection = await module.unix_connect(address.socket, url, **options)
            else:
                connection = await module.connect(url, **options)
        except ssl.SSLCertVerificationError as refused:
            raise DialFailed(
                f"the gateway's certificate is not trusted ({refused.verify_message}); name its "
                "authority with ca_file"
            ) from None
        except Exception as failed:
            raise _dial_failure(failed) from None
        return Link(connection)

    async def send(self, text: str) -> None:
        """Errors: ConnectionError when the link is gone."""
        try:
            await self._connection.send(text)
        except _exceptions().ConnectionClosed:
            raise ConnectionError("the link is gone") from None

    async def texts(self) -> AsyncIterator[str]:
        """Text messages until the link ends."""
        try:
            async for message in self._connection:
                if isinstance(message, str):
                    yield message
        except _exceptions().ConnectionClosed:
            return

    async def close(self, code: int, reason: str) -> None:
        await self._connection.close(code, reason)

    @property
    def end(self) -> tuple[int, str]:
        """Code and reason of the close; 1006 for a link that broke."""
        code, reason = self._connection.close_code, self._connection.close_reason
        return (1006 if code is None else int(code), reason or "")


def _exceptions() -> Any:
    return importlib.import_module("websockets.exceptions")


def _library() -> tuple[Any, str]:
    """The client of this version, and what it calls the headers of a request."""
    try:  # 13 and newer
        return importlib.import_module("websockets.asyncio.client"), "additional_headers"
    except ModuleNotFoundError:
        return importlib.import_module("websockets.legacy.client"), "extra_headers"


def _dial_failure(failed: Exception) -> Exception:
    """Foreign exceptions as ours; those of programming are passed on."""
    response: Any = getattr(failed, "response", None)
    status = getattr(failed, "status_code", None) or getattr(response, "status_code", None)
    if isinstance(status, int):
        headers = getattr(failed, "headers", None) or getattr(response, "headers", {})
        asked = str(headers.get("Retry-After", ""))
        wait = min(int(asked), 3600) if asked.isascii() and asked.isdigit() else 0
        return DialRefused(status, wait)
    library = _exceptions()
    if isinstance(failed, (OSError, TimeoutError, EOFError, library.WebSocketException)):
        return DialFailed(str(failed) or "the gateway does not answer")
    return failed
