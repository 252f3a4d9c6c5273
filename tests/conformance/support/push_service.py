"""A push service on this machine (RFC 8030), and the browser behind it, which reads what was sealed
for it (RFC 8291) and checks who has sent it (RFC 8292)."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import os
import queue
import re
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from .wait import PATIENCE

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "support"))
from libcrypto import aes_128_gcm_open  # noqa: E402

# P-256 (FIPS 186-4, D.1.2.3): slow, plain and only for tests.
_P = 2**256 - 2**224 + 2**192 + 2**96 - 1
_N = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
_B = 0x5AC635D8AA3A93E7B3EBBD55769886BC651D06B0CC53B0F63BCE3C3E27D2604B
_G = (
    0x6B17D1F2E12C4247F8BCE6E563A440F277037D812DEB33A0F4A13945D898C296,
    0x4FE342E2FE1A7F9B8EE7EB4A7C0F9E162BCE33576B315ECECBB6406837BF51F5,
)
_Point = tuple[int, int] | None


def _add(p: _Point, q: _Point) -> _Point:
    if p is None or q is None:
        return p or q
    if p[0] == q[0] and (p[1] + q[1]) % _P == 0:
        return None
    if p == q:
        slope = (3 * p[0] * p[0] - 3) * pow(2 * p[1], -1, _P)
    else:
        slope = (q[1] - p[1]) * pow(q[0] - p[0], -1, _P)
    x = (slope * slope - p[0] - q[0]) % _P
    return x, (slope * (p[0] - x) - p[1]) % _P


def _times(k: int, p: _Point) -> _Point:
    product: _Point = None
    while k:
        if k & 1:
            product = _add(product, p)
        p, k = _add(p, p), k >> 1
    return product


def _bytes_of(p: _Point) -> bytes:
    return b"\x04" + p[0].to_bytes(32, "big") + p[1].to_bytes(32, "big")


def _point_of(data: bytes) -> _Point:
    assert len(data) == 65 and data[0] == 4, data
    x, y = int.from_bytes(data[1:33], "big"), int.from_bytes(data[33:], "big")
    assert (y * y - x * x * x + 3 * x - _B) % _P == 0, "no point of the curve"
    return x, y


def _is_signed(key: bytes, text: bytes, signature: bytes) -> bool:
    r, s = int.from_bytes(signature[:32], "big"), int.from_bytes(signature[32:], "big")
    digest = int.from_bytes(hashlib.sha256(text).digest(), "big")
    inverse = pow(s, -1, _N)
    found = _add(_times(digest * inverse % _N, _G), _times(r * inverse % _N, _point_of(key)))
    return found is not None and found[0] % _N == r


def _from_url64(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def _url64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def _derive(salt: bytes, key: bytes, info: bytes, size: int) -> bytes:
    extracted = hmac.digest(salt, key, "sha256")
    return hmac.digest(extracted, info + b"\x01", "sha256")[:size]


class PushService:
    """A context manager. Browsers subscribe at `origin`; `status` is what messages are answered,
    but for those to the paths in `silent`, which are not before the end."""

    def __init__(self) -> None:
        self.status = 201
        self.silent: set[str] = set()
        self._over = threading.Event()
        self.messages: queue.Queue[tuple[dict[str, str], bytes]] = queue.Queue()
        service = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if self.path in service.silent:
                    service._over.wait()
                    return
                headers = {name.lower(): value for name, value in self.headers.items()}
                service.messages.put(({**headers, ":path": self.path}, body))
                self.send_response(service.status)
                self.send_header("Location", "/elsewhere")
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.origin = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    def __enter__(self) -> PushService:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._server.shutdown()
        self._thread.join(PATIENCE)
        self._server.server_close()


class SubscribedBrowser:
    """One browser at that service."""

    def __init__(self, service: PushService) -> None:
        self.service = service
        self._key = int.from_bytes(os.urandom(32), "big") % (_N - 1) + 1
        self._point = _bytes_of(_times(self._key, _G))
        self._secret = os.urandom(16)
        self.path = f"/push/{_url64(os.urandom(16))}"

    def subscription(self) -> dict[str, Any]:
        """What `PushSubscription.toJSON()` gives."""
        keys = {"p256dh": _url64(self._point), "auth": _url64(self._secret)}
        return {"endpoint": self.service.origin + self.path, "keys": keys}

    def receive(self, server_key: str, seconds: float = PATIENCE) -> dict[str, Any]:
        """The next message, which the holder of `server_key` has sent, as it reads; with its
        header fields in `:headers`."""
        headers, body = self.service.messages.get(timeout=seconds)
        assert headers[":path"] == self.path, headers
        self._check_sender(headers["authorization"], server_key)
        assert headers["content-encoding"] == "aes128gcm", headers
        return {**json.loads(self._open(body)), ":headers": headers}

    def _check_sender(self, authorization: str, server_key: str) -> None:
        found = re.fullmatch(r"vapid t=([\w-]+)\.([\w-]+)\.([\w-]+), k=([\w-]+)", authorization)
        assert found, authorization
        assert found[4] == server_key, "another key than the browser has subscribed with"
        assert _is_signed(
            _from_url64(found[4]), f"{found[1]}.{found[2]}".encode(), _from_url64(found[3])
        )
        assert json.loads(_from_url64(found[1])) == {"typ": "JWT", "alg": "ES256"}
        claims = json.loads(_from_url64(found[2]))
        assert claims["aud"] == self.service.origin, claims
        assert claims["sub"].startswith(("mailto:", "https:")), claims

    def _open(self, body: bytes) -> bytes:
        salt, size, length = body[:16], int.from_bytes(body[16:20], "big"), body[20]
        sender, sealed = body[21 : 21 + length], body[21 + length :]
        assert len(sealed) <= size, "more than one record"
        shared = _times(self._key, _point_of(sender))[0].to_bytes(32, "big")
        info = b"WebPush: info\0" + self._point + sender
        secret = _derive(self._secret, shared, info, 32)
        key = _derive(salt, secret, b"Content-Encoding: aes128gcm\0", 16)
        nonce = _derive(salt, secret, b"Content-Encoding: nonce\0", 12)
        plain = aes_128_gcm_open(key, nonce, sealed)
        assert plain[-1:] == b"\x02", "not the last record"
        return plain[:-1]
