"""A device that is known by a key in place of a token: nothing that could be copied on the way is
good for longer than a day. Source: docs/protocols/clawseed.md, section 9, "Device keys"."""

from __future__ import annotations

import asyncio
import base64
import json
import os
from pathlib import Path

from . import libcrypto
from .address import TokenRefused
from .http import HttpClient, HttpFailure

__all__ = ["KeyToken", "NewKey"]

_PKCS8 = bytes.fromhex("302e020100300506032b657004220420")  # before the seed of an Ed25519 key
_SPKI = bytes.fromhex("302a300506032b6570032100")  # before its public key
_SECONDS = 15.0


class NewKey:
    """A key that no gateway knows yet."""

    def __init__(self) -> None:
        self._seed = os.urandom(32)

    @property
    def public_key(self) -> str:
        """For `POST /pair`."""
        return _b64(_SPKI + libcrypto.ed25519_public(self._seed))

    def text(self, key_id: str) -> str:
        """What its file holds."""
        return json.dumps({"key_id": key_id, "private_key": _b64(_PKCS8 + self._seed)})


class KeyToken:
    """The tokens that a key signs for, in place of an `address.Token`."""

    def __init__(self, file: str | os.PathLike[str]) -> None:
        """Errors: OSError; ValueError for a file without a key."""
        path = Path(file)
        try:
            stored = json.loads(path.read_text(encoding="utf-8"))
            self._key_id = str(stored["key_id"])
            whole = base64.b64decode(stored["private_key"], validate=True)
        except (KeyError, TypeError, ValueError):
            raise ValueError(f"{path} holds no device key; see pair_key()") from None
        self._seed = whole.removeprefix(_PKCS8)
        if len(self._seed) != 32 or len(whole) == 32:
            raise ValueError(f"{path} holds no device key; see pair_key()")
        if path.stat().st_mode & 0o077:
            raise PermissionError(f"{path} can be read by others; chmod 600")
        self._value, self._is_known = "", True
        self.number = 0  #: of the token, which is counted when another one is asked for

    def __repr__(self) -> str:
        return "KeyToken(…)"

    async def ready(self, http: HttpClient) -> None:
        """Gets a token if there is none. Errors: HttpFailure; TokenRefused by a gateway that does
        not know the key any more."""
        if self._value:
            return
        try:
            async with asyncio.timeout(_SECONDS):
                nonce = await self._ask(http, "/device/challenge", {}, "nonce")
                said = f"crab-device-v1\n{self._key_id}\n{nonce}".encode()
                signature = _b64(libcrypto.ed25519_sign(self._seed, said))
                proof = {"key_id": self._key_id, "nonce": nonce, "signature": signature}
                self._value = await self._ask(http, "/device/token", proof, "token")
        except asyncio.TimeoutError:
            raise HttpFailure("the gateway does not answer", sent=True) from None

    def renew(self, refused: int) -> bool:
        """As Token.renew(): another one is asked for, unless the key was refused too."""
        if self.number == refused:
            self._value = ""
            self.number += 1
        return self._is_known

    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self._value}"}

    async def _ask(self, http: HttpClient, path: str, body: dict[str, str], member: str) -> str:
        headers = {"Content-Type": "application/json"}
        response = await http.request("POST", path, headers, json.dumps(body).encode())
        answer = response.members()
        value = answer.get(member)
        if response.status == 200 and isinstance(value, str):
            return value
        why = str(answer.get("error", f"the gateway answers {response.status}"))
        if response.status in (401, 403):
            self._is_known = False
            raise TokenRefused(why)
        raise HttpFailure(why, sent=True)


def _b64(data: bytes) -> str:
    return base64.b64encode(data).decode()
