"""A small OAuth issuer on a loopback port: metadata, keys, introspection, and an authorization
server that lets everybody in. It shares no code with the gateway."""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlencode, urlsplit

Form = dict[str, str]


def text64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _openssl(*words: str, data: bytes = b"") -> bytes:
    done = subprocess.run(
        ["openssl", *words], input=data, capture_output=True, check=True, timeout=60
    )
    return done.stdout


class RsaKey:
    """An RSA key in a file, and its JWK."""

    def __init__(self, folder: Path, kid: str) -> None:
        self.kid, self.file = kid, folder / f"{kid}.key"
        self.file.write_bytes(_openssl("genrsa", "2048"))
        line = _openssl("rsa", "-in", str(self.file), "-noout", "-modulus").decode()
        self.modulus = bytes.fromhex(line.strip().partition("=")[2])

    def jwk(self) -> dict[str, str]:
        numbers = {"n": text64(self.modulus), "e": "AQAB"}
        return {"kty": "RSA", "use": "sig", "alg": "RS256", "kid": self.kid, **numbers}

    def sign(self, header: Mapping[str, Any], claims: Mapping[str, Any]) -> str:
        parts = [text64(json.dumps(part).encode()) for part in (header, claims)]
        signed = ".".join(parts).encode()
        signature = _openssl("dgst", "-sha256", "-sign", str(self.file), data=signed)
        return f"{signed.decode()}.{text64(signature)}"


class Issuer:
    """A context manager. `asked` counts requests by path, `forms` are those to /token. `refuse`
    names paths that answer 500, `hang` those that answer only when `go_on` is set; `metadata` is on
    top of what it says of itself."""

    def __init__(self, folder: Path, metadata: Mapping[str, Any] | None = None) -> None:
        self.folder, self.more_metadata = folder, dict(metadata or {})
        self.asked: Counter[str] = Counter()
        self.forms: list[Form] = []
        self.refuse: set[str] = set()
        self.hang: set[str] = set()
        self.go_on = threading.Event()
        self.keys = [RsaKey(folder, f"key-{secrets.token_hex(4)}")]
        self.introspected: dict[str, dict[str, Any]] = {}
        self.introspection_client = ("gateway", "s3cret")
        self.clients: dict[str, str] = {"robot": "robot-secret"}  #: id → secret
        self.access: dict[str, Form] = {}  #: token → who, scope, resource
        self.lifetime = 3600
        self.logged_in = "ann"  #: who the next login is
        self._codes: dict[str, Form] = {}
        self._refresh: dict[str, Form] = {}

    def __enter__(self) -> Issuer:
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
        self._server.issuer = self  # type: ignore[attr-defined]
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.go_on.set()
        self._server.shutdown()
        self._server.server_close()

    # What it says of itself

    def metadata(self) -> dict[str, Any]:
        places = {
            "authorization_endpoint": "authorize",
            "token_endpoint": "token",
            "registration_endpoint": "register",
            "jwks_uri": "jwks",
            "introspection_endpoint": "introspect",
        }
        return {
            "issuer": self.url,
            **{name: f"{self.url}/{path}" for name, path in places.items()},
            "code_challenge_methods_supported": ["S256"],
            "authorization_response_iss_parameter_supported": True,
            **self.more_metadata,
        }

    def rotate(self) -> None:
        """Another key; the old one no longer counts."""
        self.keys = [RsaKey(self.folder, f"key-{secrets.token_hex(4)}")]

    # Tokens

    def claims(self, audience: Any, **claims: Any) -> dict[str, Any]:
        now = int(time.time())
        whole = {"iss": self.url, "aud": audience, "sub": "ann", "iat": now, "exp": now + 300}
        return {name: it for name, it in {**whole, **claims}.items() if it is not None}

    def token(self, audience: Any, header: Mapping[str, Any] | None = None, **claims: Any) -> str:
        """Signed by the first key; a claim that is None is left out."""
        key = self.keys[0]
        whole = {"alg": "RS256", "typ": "at+jwt", "kid": key.kid, **(header or {})}
        return key.sign(whole, self.claims(audience, **claims))

    # Endpoints

    def authorize(self, query: Form) -> str:
        """Where the browser is sent back to."""
        code = secrets.token_hex(8)
        self._codes[code] = {**query, "user": self.logged_in}
        back = {"code": code, "state": query.get("state", ""), "iss": self.url}
        return f"{query['redirect_uri']}?{urlencode(back)}"

    def register(self, body: dict[str, Any]) -> tuple[int, Any]:
        client = f"client-{secrets.token_hex(4)}"
        self.clients[client] = ""
        return 201, {**body, "client_id": client, "token_endpoint_auth_method": "none"}

    def give(self, form: Form) -> tuple[int, Any]:
        """The token endpoint."""
        kind = form.get("grant_type")
        if kind == "authorization_code":
            asked = self._codes.pop(form.get("code", ""), None)
            if asked is None or not self._proves(asked, form):
                return 400, {"error": "invalid_grant"}
            return self._grant(asked["user"], asked.get("scope", ""), form)
        if kind == "refresh_token":
            old = self._refresh.pop(form.get("refresh_token", ""), None)
            if old is None:
                return 400, {"error": "invalid_grant"}
            return self._grant(old["user"], old["scope"], form)
        if kind == "client_credentials" and form["client_id"] in self.clients:
            return self._grant(form["client_id"], form.get("scope", ""), form, again=False)
        return 400, {"error": "unsupported_grant_type"}

    @staticmethod
    def _proves(asked: Form, form: Form) -> bool:
        verifier = form.get("code_verifier", "").encode()
        return (
            text64(hashlib.sha256(verifier).digest()) == asked.get("code_challenge")
            and form.get("redirect_uri") == asked["redirect_uri"]
            and form.get("resource") == asked.get("resource")
        )

    def _grant(
        self, user: str, scope: str, form: Form, again: bool = True
    ) -> tuple[int, dict[str, Any]]:
        token, refresh = f"at-{secrets.token_hex(8)}", f"rt-{secrets.token_hex(8)}"
        self.access[token] = {"user": user, "scope": scope, "resource": form.get("resource", "")}
        answer = {"access_token": token, "token_type": "Bearer", "expires_in": self.lifetime}
        if again:
            self._refresh[refresh] = {"user": user, "scope": scope}
            answer["refresh_token"] = refresh
        return 200, {**answer, "scope": scope} if scope else answer

    def forget_refresh_tokens(self) -> None:
        self._refresh.clear()

    def introspect(self, authorization: str, form: Form) -> tuple[int, Any]:
        pair = ":".join(self.introspection_client).encode()
        if authorization != f"Basic {base64.b64encode(pair).decode()}":
            return 401, {"error": "invalid_client"}
        return 200, self.introspected.get(form.get("token", ""), {"active": False})


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        pass

    @property
    def issuer(self) -> Issuer:
        return self.server.issuer  # type: ignore[attr-defined]

    def _answer(self, status: int, body: Any, headers: Mapping[str, str] | None = None) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self) -> None:
        place = urlsplit(self.path)
        query = {name: values[0] for name, values in parse_qs(place.query).items()}
        self.issuer.asked[place.path] += 1
        if place.path in self.issuer.refuse:
            self._answer(500, {})
        elif place.path == "/.well-known/oauth-authorization-server":
            self._answer(200, self.issuer.metadata())
        elif place.path == "/jwks":
            self._answer(200, {"keys": [key.jwk() for key in self.issuer.keys]})
        elif place.path == "/authorize":
            self._answer(302, {}, {"Location": self.issuer.authorize(query)})
        else:
            self._answer(404, {"error": "not_found"})

    def do_POST(self) -> None:
        path = urlsplit(self.path).path
        body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        self.issuer.asked[path] += 1
        if path in self.issuer.hang:
            self.issuer.go_on.wait(60)
        if path in self.issuer.refuse:
            return self._answer(500, {})
        if path == "/register":
            return self._answer(*self.issuer.register(json.loads(body)))
        form = {name: values[0] for name, values in parse_qs(body).items()}
        authorization = self.headers.get("Authorization", "")
        if path == "/introspect":
            return self._answer(*self.issuer.introspect(authorization, form))
        if path != "/token":
            return self._answer(404, {"error": "not_found"})
        if authorization.startswith("Basic "):
            client, _, secret = base64.b64decode(authorization[6:]).decode().partition(":")
            form |= {"client_id": unquote(client), "client_secret": unquote(secret)}
        self.issuer.forms.append(form)
        wanted = self.issuer.clients.get(form.get("client_id", ""))
        is_proven = "client_assertion" in form or form.get("client_secret", "") == wanted
        if wanted is None or not is_proven:
            return self._answer(401, {"error": "invalid_client"})
        self._answer(*self.issuer.give(form))
