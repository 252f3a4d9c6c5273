"""An authenticator with one passkey (Web Authentication), and the browser before it; tests bend
what they say."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "support"))
from libcrypto import ed25519_public, ed25519_sign  # noqa: E402

_SPKI_ED25519 = bytes.fromhex("302a300506032b6570032100")
_PRESENT, _VERIFIED, _HAS_CREDENTIAL = 0x01, 0x04, 0x40


def url64(data: bytes) -> str:
    """Base64url without padding."""
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


class Passkey:
    """For pages at `origin`; `count` is that of its next use."""

    def __init__(self, origin: str) -> None:
        self.seed = os.urandom(32)
        self.id = os.urandom(16)
        self.origin = origin
        self.rp_id = origin.split("://")[1].split(":")[0]
        self.flags = _PRESENT | _VERIFIED
        self.count = 0
        self.user = ""  # whose it is, as the page has said when it was made

    def _client_data(self, kind: str, challenge: str) -> bytes:
        said = {"type": kind, "challenge": url64(challenge.encode()), "origin": self.origin}
        return json.dumps({**said, "crossOrigin": False}).encode()

    def _data(self, more_flags: int = 0) -> bytes:
        site = hashlib.sha256(self.rp_id.encode()).digest()
        return site + bytes([self.flags | more_flags]) + self.count.to_bytes(4, "big")

    def create(self, challenge: str, label: str = "test") -> dict[str, Any]:
        """What a page sends of a new one."""
        known = bytes(16) + len(self.id).to_bytes(2, "big") + self.id
        return {
            "id": url64(self.id),
            "client_data": url64(self._client_data("webauthn.create", challenge)),
            "authenticator_data": url64(self._data(_HAS_CREDENTIAL) + known + b"\xa0"),
            "public_key": url64(_SPKI_ED25519 + ed25519_public(self.seed)),
            "label": label,
        }

    def answer(self, challenge: str) -> dict[str, Any]:
        """What a page sends to sign in, or to prove it again."""
        client_data, data = self._client_data("webauthn.get", challenge), self._data()
        signature = ed25519_sign(self.seed, data + hashlib.sha256(client_data).digest())
        return {
            "passkey": {
                "id": url64(self.id),
                "client_data": url64(client_data),
                "authenticator_data": url64(data),
                "signature": url64(signature),
                **({"user_handle": url64(self.user.encode())} if self.user else {}),
            }
        }
