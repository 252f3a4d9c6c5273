"""The host's side of pairing, and the TLS that follows from it. Keys and requests of certificates
are made by the command `openssl`. Source: docs/protocols/rtp.md, sections 5 and 6."""

from __future__ import annotations

import asyncio
import base64
import datetime
import hashlib
import hmac
import json
import os
import re
import ssl
import struct
import subprocess
import time
from pathlib import Path
from typing import Any

from . import libcrypto
from .off_loop import to_its_end
from .server import strict_json

__all__ = ["Remote"]

_SECONDS, _INIT_SECONDS = 15.0, 5.0
_MESSAGE_BYTES = 65_536
_GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
_FRESH, _NONCES = 300.0, 900.0
_ISSUED = (
    "certificate_pem",
    "certificate_chain_pem",
    "serial_number",
    "mtls_cert_fingerprint",
    "not_before",
    "not_after",
)
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


class _Failed(Exception):
    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class Remote:
    """Identity, certificates and pairing of one host, in a folder of its own. Once it is made, it
    writes files on other threads than the event loop's."""

    def __init__(self, folder: Path, component_id: str, gateway_key: str) -> None:
        """Errors: ValueError, OSError, subprocess.CalledProcessError."""
        if not _ID.fullmatch(component_id):
            raise ValueError("a component id is 1 to 64 of A-Z a-z 0-9 . _ -")
        self.component_id = component_id
        self._folder = folder
        self._gateway_key = base64.b64decode(gateway_key, validate=True)
        if len(self._gateway_key) != 32:
            raise ValueError("gateway_key is the public_key_ed25519 of `crab peers identity`")
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        seeds = self._read("identity.json")
        if not seeds:
            seeds = {name: _b64(os.urandom(32)) for name in ("ed25519", "x25519")}
            self._write("identity.json", json.dumps(seeds))
        self._seed, self._agreement = (base64.b64decode(seeds[x]) for x in ("ed25519", "x25519"))
        if not (folder / "bootstrap.pem").exists():
            self._openssl("req", "-x509", *self._new_key("bootstrap"), "-days", "3650")
        self._trust: dict[str, Any] = self._read("trust.json") or {"state": "new"}
        self._busy, self._storing = asyncio.Lock(), asyncio.Lock()
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.minimum_version = ssl.TLSVersion.TLSv1_3
        setattr(self.context, "num_tickets", 0)  # noqa: B010: unknown to the type checker
        self._apply()

    @property
    def key(self) -> str:
        """For `crab peers pair tool … --remote-key`."""
        return _b64(libcrypto.ed25519_public(self._seed))

    async def admit(
        self, path: str, certificate: dict[str, Any] | None
    ) -> tuple[int, str, str] | None:
        """Status, code and words for who may not; None: go on. Errors: OSError."""
        if path == "/healthz":
            return None
        if self._trust["state"] == "new":
            return 403, "PAIRING_REQUIRED", "this host is not paired: crab peers pair tool"
        if not certificate:
            return 401, "UNAUTHENTICATED", "show the certificate of the gateway"
        names = [name for name in certificate.get("subjectAltName", ()) if name[0] == "URI"]
        if names != [("URI", self._trust["gateway"])]:
            return 403, "FORBIDDEN", "this host is paired with another gateway"
        trust = self._trust
        if trust["state"] == "installed":  # the last message was lost, and this proves it
            await self._set_trust({**trust, "state": "paired"}, trust)
        return None

    # Files

    def _read(self, name: str) -> dict[str, Any] | None:
        path = self._folder / name
        if not path.exists():
            return None
        if path.stat().st_mode & 0o077:
            raise PermissionError(f"{path} can be read by others; chmod 600")
        found = json.loads(path.read_text())
        return found if isinstance(found, dict) else None

    def _write(self, name: str, text: str) -> None:
        scratch = self._folder / f".{name}"
        descriptor = os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(scratch, self._folder / name)
        directory = os.open(self._folder, os.O_RDONLY)
        os.fsync(directory)
        os.close(directory)

    def _openssl(self, *words: str) -> str:
        done = subprocess.run(
            ["openssl", *words],
            cwd=self._folder,
            check=True,
            capture_output=True,
            text=True,
            timeout=10,
            umask=0o077,
        )
        return done.stdout

    def _new_key(self, name: str) -> list[str]:
        uri = f"URI:crab://peer/tool_host/{self.component_id}"
        kind = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
        names = ["-subj", f"/CN={self.component_id}", "-addext", f"subjectAltName={uri}"]
        return [*kind, *names, "-keyout", f"{name}.key", "-out", f"{name}.pem"]

    async def _set_trust(self, trust: dict[str, Any], before: dict[str, Any] | None = None) -> None:
        """With `before` only if that is what it is still."""
        async with self._storing:
            if before is None or self._trust is before:
                await to_its_end(lambda: self._store_trust(trust))

    def _store_trust(self, trust: dict[str, Any]) -> None:
        self._write("trust.json", json.dumps(trust))
        self._trust = trust
        if trust["state"] == "paired":
            self._remove_earlier(trust["name"])

    def _remove_earlier(self, kept: str) -> None:
        """Keys and certificates of earlier pairings, once nothing goes back to them; those of a
        pairing that runs have a later name."""
        for path in self._folder.glob("host-*"):
            if path.stem < kept:
                path.unlink(missing_ok=True)

    def _apply(self) -> None:
        """What the next connections are shown, and whom they have to prove to be."""
        name = self._trust.get("name", "bootstrap")
        self.context.load_cert_chain(self._folder / f"{name}.pem", self._folder / f"{name}.key")
        self.shown = _fingerprint((self._folder / f"{name}.pem").read_text())
        if self._trust["state"] != "new":
            self.context.load_verify_locations(cadata=self._trust["chain"])
            self.context.verify_mode = ssl.CERT_OPTIONAL

    # The handshake

    async def pair(
        self, headers: dict[str, str], reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        """Serves the WebSocket of one pairing."""
        key = headers.get("sec-websocket-key", "").encode()
        accept = _b64(hashlib.sha1(key + _GUID).digest())
        writer.write(
            b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            b"Sec-WebSocket-Accept: " + accept.encode() + b"\r\n\r\n"
        )
        shown, before = self.shown, self._trust
        pairing_id = ""
        try:
            async with asyncio.timeout(_SECONDS):
                async with asyncio.timeout(_INIT_SECONDS):
                    init = await _receive(reader, "pair.init", "")
                pairing_id = init["pairing_id"]
                if self._busy.locked():
                    raise _Failed("BUSY", "another pairing runs")
                async with self._busy:
                    await self._handshake(init, shown, reader, writer)
        except (_Failed, asyncio.TimeoutError, KeyError, TypeError, ValueError) as failed:
            if str(failed) == "pair.error" and self._trust is not before:
                await self._set_trust(before)
                self._apply()
            code = failed.code if isinstance(failed, _Failed) else "PROTOCOL_VIOLATION"
            code = "TIMEOUT" if isinstance(failed, asyncio.TimeoutError) else code
            said = {"type": "pair.error", "version": "v1", "pairing_id": pairing_id}
            _send(writer, {**said, "code": code, "message": str(failed) or code})
        except (OSError, subprocess.SubprocessError):
            said = {"type": "pair.error", "version": "v1", "pairing_id": pairing_id}
            _send(writer, {**said, "code": "INTERNAL", "message": "this host cannot go on"})

    async def _handshake(
        self,
        init: dict[str, Any],
        shown: str,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        head = {"version": "v1", "pairing_id": init["pairing_id"]}

        def send(kind: str, members: dict[str, Any]) -> None:
            message = {"type": kind, **head, **members}
            signature = libcrypto.ed25519_sign(self._seed, canonical(message))
            _send(writer, {**message, "sig_ed25519": _b64(signature)})

        gateway = init["gateway"]
        await to_its_end(lambda: self._check_init(init, gateway))
        about = {
            "component_type": "tool_host",
            "component_id": self.component_id,
            "public_key_ed25519": self.key,
            "public_key_x25519": _b64(libcrypto.x25519_public(self._agreement)),
            "mtls_cert_fingerprint": shown,
        }
        send("pair.identity", {"remote": about})
        challenge = await _receive(reader, "pair.challenge", init["pairing_id"])
        plain = self._open(challenge)
        answer = {"challenge_id": challenge["challenge_id"], "challenge_plaintext": plain}
        send("pair.challenge_response", answer)
        name = f"host-{time.time_ns():x}"
        request = self._new_key(name)
        request[-1] = f"{name}.csr"
        await to_its_end(lambda: self._openssl("req", "-new", *request))
        send("pair.csr_request", {"csr_pem": (self._folder / f"{name}.csr").read_text()})
        issued = await _receive(reader, "pair.csr_issued", init["pairing_id"])
        self._verify(issued, _ISSUED)
        chain = "".join(issued["certificate_chain_pem"])
        await to_its_end(lambda: self._check_issued(name, issued, chain))
        trust = {"name": name, "chain": chain, "gateway": f"crab://gateway/{gateway['gateway_id']}"}
        await self._set_trust({**trust, "state": "installed"})
        self._apply()
        send("pair.csr_installed", {"mtls_cert_fingerprint": issued["mtls_cert_fingerprint"]})
        complete = await _receive(reader, "pair.complete", init["pairing_id"])
        if complete["status"] != "ok":
            raise _Failed("PROTOCOL_VIOLATION", "status is not ok")
        await self._set_trust({**trust, "state": "paired"})

    def _verify(self, message: dict[str, Any], members: tuple[str, ...]) -> None:
        signed = {name: message[name] for name in ("type", "version", "pairing_id", *members)}
        signature = base64.b64decode(message["sig_ed25519"], validate=True)
        if not libcrypto.ed25519_verify(self._gateway_key, canonical(signed), signature):
            raise _Failed("SIGNATURE_INVALID", "the gateway's signature is wrong")

    def _check_init(self, init: dict[str, Any], gateway: dict[str, Any]) -> None:
        key = base64.b64decode(gateway["public_key_ed25519"], validate=True)
        if not hmac.compare_digest(key, self._gateway_key):
            raise _Failed("GATEWAY_KEY_MISMATCH", "another gateway than the configured one")
        names = ("gateway_id", "public_key_ed25519", "nonce", "issued_at")
        self._verify({**init, "gateway": {name: gateway[name] for name in names}}, ("gateway",))
        stamp = re.sub(r"(\.\d{1,6})\d*", r"\1", gateway["issued_at"])
        issued = datetime.datetime.fromisoformat(stamp)
        now = time.time()
        nonces = {each: at for each, at in (self._read("nonces.json") or {}).items() if at > now}
        if abs(issued.timestamp() - now) > _FRESH or gateway["nonce"] in nonces:
            raise _Failed("STALE_INIT", "this pair.init is old or was seen before")
        self._write("nonces.json", json.dumps({**nonces, gateway["nonce"]: now + _NONCES}))

    def _open(self, challenge: dict[str, Any]) -> str:
        aad = base64.b64decode(challenge["aad"], validate=True)
        sealed = base64.b64decode(challenge["ciphertext"], validate=True)
        said = strict_json(aad)
        if not isinstance(said, dict) or len(sealed) < 28:
            raise _Failed("CHALLENGE_FAILED", "the challenge cannot be read")
        for name in ("pairing_id", "challenge_id"):
            if said.get(name) != challenge[name]:
                raise _Failed("CHALLENGE_FAILED", "the challenge is for another pairing")
        try:
            ephemeral = base64.b64decode(said["ephemeral_public_key_x25519"], validate=True)
            secret = libcrypto.x25519(self._agreement, ephemeral)
            key = hashlib.sha256(secret + aad).digest()
            return libcrypto.gcm_open(key, sealed[:12], sealed[12:], aad).decode("ascii")
        except ValueError:
            raise _Failed("CHALLENGE_FAILED", "the challenge does not open") from None

    def _check_issued(self, name: str, issued: dict[str, Any], chain: str) -> None:
        """Stores it if it is what was asked for."""
        pem = issued["certificate_pem"]
        if pem.count("BEGIN CERTIFICATE") != 1:
            raise _Failed("CERTIFICATE_REJECTED", "one certificate is needed")
        if _fingerprint(pem) != issued["mtls_cert_fingerprint"].lower():
            raise _Failed("CERTIFICATE_REJECTED", "the fingerprint is that of another certificate")
        self._write(f"{name}.pem", pem)
        self._write(f"{name}.ca", chain)
        try:
            self._openssl("verify", "-CAfile", f"{name}.ca", f"{name}.pem")
            trial = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)  # key and certificate fit
            trial.load_cert_chain(self._folder / f"{name}.pem", self._folder / f"{name}.key")
            said = self._openssl("x509", "-in", f"{name}.pem", "-noout", "-ext", "subjectAltName")
        except (ssl.SSLError, subprocess.CalledProcessError):
            raise _Failed("CERTIFICATE_REJECTED", "chain, time or key do not fit") from None
        uris = re.findall(r"URI:([^,\s]+)", said)
        if uris != [f"crab://peer/tool_host/{self.component_id}"]:
            raise _Failed("CERTIFICATE_REJECTED", "it is for another name")


def canonical(message: dict[str, Any]) -> bytes:
    """The bytes that are signed (5.4)."""
    body = {
        name: value
        for name, value in message.items()
        if not (name == "certificate_chain_pem" and not value)
    }
    text = json.dumps(body, separators=(",", ":"), ensure_ascii=False)
    for char in "<>&\u2028\u2029":
        text = text.replace(char, f"\\u{ord(char):04x}")
    return text.encode()


def _b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _fingerprint(pem: str) -> str:
    return "sha256:" + hashlib.sha256(ssl.PEM_cert_to_DER_cert(pem.strip() + "\n")).hexdigest()


def _send(writer: asyncio.StreamWriter, message: dict[str, Any]) -> None:
    _frame(writer, 1, json.dumps(message, ensure_ascii=False).encode())


def _frame(writer: asyncio.StreamWriter, opcode: int, data: bytes) -> None:
    size = bytes([len(data)]) if len(data) < 126 else b"\x7e" + struct.pack("!H", len(data))
    writer.write(bytes([0x80 | opcode]) + size + data)


async def _receive(reader: asyncio.StreamReader, kind: str, pairing_id: str) -> dict[str, Any]:
    """Errors: _Failed, and those of the stream."""
    while True:
        first, second = await reader.readexactly(2)
        size = second & 0x7F
        if size == 126:
            (size,) = struct.unpack("!H", await reader.readexactly(2))
        elif size == 127:
            (size,) = struct.unpack("!Q", await reader.readexactly(8))
        if size > _MESSAGE_BYTES or not first & 0x80 or not second & 0x80 or first & 0x70:
            raise _Failed("PROTOCOL_VIOLATION", "a frame is too large, in parts or not masked")
        mask = await reader.readexactly(4)
        data = await reader.readexactly(size)
        data = bytes(each ^ mask[i % 4] for i, each in enumerate(data))
        if first & 0x0F == 8:
            raise EOFError("closed")
        if first & 0x0F in (1, 2):
            break
    message = strict_json(data)
    if not isinstance(message, dict):
        raise _Failed("PROTOCOL_VIOLATION", "a message is one JSON object")
    if message.get("type") == "pair.error":
        raise _Failed("PROTOCOL_VIOLATION", "pair.error")
    if message.get("version") != "v1":
        raise _Failed("UNSUPPORTED_VERSION", "version is v1")
    found = message.get("pairing_id")
    if message.get("type") != kind or not isinstance(found, str) or not 0 < len(found) <= 128:
        raise _Failed("PROTOCOL_VIOLATION", f"{kind} was expected")
    if pairing_id and found != pairing_id:
        raise _Failed("PROTOCOL_VIOLATION", "pairing_id is another")
    return message
