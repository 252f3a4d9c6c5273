"""Where a gateway is, and who vouches for it."""

from __future__ import annotations

import ipaddress
import os
import ssl
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

__all__ = ["Address", "Token", "TokenRefused"]

_SCHEMES = {"http": False, "ws": False, "https": True, "wss": True}


@dataclass(frozen=True)
class Address:
    """`https://host:42617`, `http` for one on loopback, or `unix:/path`; wss and ws mean the same.
    A path prefix may follow the host."""

    host: str
    port: int
    tls: bool
    prefix: str
    socket: str = ""  #: of a Unix socket

    @staticmethod
    def parse(text: str, *, allow_plain: bool = False) -> Address:
        """Errors: ValueError. Beyond loopback a token would travel in the clear over http, so
        that is refused unless `allow_plain`."""
        if text.startswith("unix:"):
            path = text.removeprefix("unix:")
            if not path.startswith("/"):
                raise ValueError(f"a Unix socket is named as unix:/path, not {text!r}")
            return Address("crab", 0, False, "", path)
        parts = urlsplit(text)
        if parts.scheme not in _SCHEMES or not parts.hostname:
            raise ValueError(
                f"a gateway's address is https://host, http://127.0.0.1:port or unix:/path, not "
                f"{text!r}"
            )
        if parts.username or parts.query or parts.fragment:
            raise ValueError(f"a gateway's address has no user, query or fragment: {text!r}")
        tls = _SCHEMES[parts.scheme]
        if not tls and not allow_plain and not _is_loopback(parts.hostname):
            raise ValueError(
                f"{text!r}: beyond this machine use https://, or the token could be read on the "
                "way; allow_plain=True where something else encrypts"
            )
        port = parts.port or (443 if tls else 80)
        return Address(parts.hostname, port, tls, parts.path.rstrip("/"))

    @property
    def authority(self) -> str:
        """For the header Host."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.socket else f"{host}:{self.port}"

    def websocket(self, path: str) -> str:
        return f"{'wss' if self.tls else 'ws'}://{self.authority}{self.prefix}{path}"

    def context(self, ca_file: str | os.PathLike[str] | None) -> ssl.SSLContext | None:
        """TLS that trusts the authorities of `ca_file`, else the system's; None without TLS.
        Errors: OSError for a file that cannot be read."""
        if not self.tls:
            return None
        context = ssl.create_default_context(cafile=ca_file)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        return context


def _is_loopback(host: str) -> bool:
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class TokenRefused(Exception):
    """The gateway does not take this token, and there is no other one."""


class Token:
    """A bearer token: given, or in a file, which is read again when the token was refused."""

    def __init__(self, token: str | None, file: str | os.PathLike[str] | None) -> None:
        if token is not None and file is not None:
            raise ValueError("either token or token_file")
        self._file = None if file is None else Path(file)
        self._value = token or ""
        self.number = 0  #: of the token, which is counted when another one is read

    def __repr__(self) -> str:
        return "Token(…)"

    def value(self) -> str:
        """Empty without one. Errors: OSError, ValueError for a file without a token."""
        if self._file is not None and not self._value:
            self._value = self._file.read_text(encoding="utf-8").strip()
            if not self._value:
                raise ValueError(f"{self._file} holds no token")
        if not self._value.isascii() or any(c.isspace() for c in self._value):
            raise ValueError("a token is one word of ASCII characters")
        return self._value

    async def ready(self, http: object) -> None:
        """It is there already; a KeyToken asks for one."""

    def renew(self, refused: int) -> bool:
        """Whether there is another token by now than the one of that `number`, which was refused:
        of several requests that were refused together the first reads the file, and the others use
        what it found."""
        if self._file is None:
            return False
        if self.number != refused:
            return True
        before, self._value = self._value, ""
        try:
            is_new = self.value() != before
        except (OSError, ValueError):
            self._value = before
            return False
        self.number += is_new
        return is_new

    def headers(self) -> dict[str, str]:
        value = self.value()
        return {"Authorization": f"Bearer {value}"} if value else {}
