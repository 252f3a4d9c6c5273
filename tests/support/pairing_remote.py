"""A remote of docs/protocols/rtp.md, section 5, written from the page: the second opinion on the
C++ one.

    with PairingRemote(gateway_key, "memory") as remote:
        ...  # pair the gateway with remote.endpoint
        remote.received   # what came, by type
        remote.certificate_pem, remote.chain_pem

`on[type]` is called with the message that this remote is about to answer and may return what to
send instead: a list of dicts (signed here), texts (sent as they are), or STALL.
"""
import base64
import contextlib
import hashlib
import json
import os
import socket
import ssl
import struct
import subprocess
import tempfile
import threading
from pathlib import Path

import libcrypto

STALL = object()
_GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


def b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def canonical(message: dict) -> bytes:
    """The bytes that are signed: the members in their order without the signature (5.4)."""
    body = {
        name: value
        for name, value in message.items()
        if name != "sig_ed25519" and not (name == "certificate_chain_pem" and not value)
    }
    text = json.dumps(body, separators=(",", ":"), ensure_ascii=False)
    for char in "<>&\u2028\u2029":
        text = text.replace(char, f"\\u{ord(char):04x}")
    return text.encode()


def openssl(*words: str, stdin: str = "") -> str:
    done = subprocess.run(
        ["openssl", *words], input=stdin, capture_output=True, text=True, timeout=20
    )
    assert done.returncode == 0, f"openssl {words}: {done.stderr}"
    return done.stdout


def fingerprint(pem: str) -> str:
    return "sha256:" + hashlib.sha256(ssl.PEM_cert_to_DER_cert(pem)).hexdigest()


class _WebSocket:
    """The server's end of one WebSocket connection, frames and nothing more."""

    def __init__(self, connection, paths, refuse_path=None, on_path=None):
        """`on_path` is told what was asked for before it is answered; OSError for a path that is
        refused."""
        self.connection = connection
        head = b""
        while b"\r\n\r\n" not in head:
            part = connection.recv(4096)
            if not part:
                raise ConnectionError
            head += part
        lines = head.decode().split("\r\n")
        self.path = lines[0].split()[1]
        self.headers = {
            name.lower(): value
            for name, value in (line.split(": ", 1) for line in lines[1:] if ": " in line)
        }
        if on_path:
            on_path(self.path)
        if self.path == refuse_path or self.path not in paths:
            connection.sendall(
                b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
            )
            raise FileNotFoundError(self.path)
        key = b64(hashlib.sha1(self.headers["sec-websocket-key"].encode() + _GUID).digest())
        connection.sendall(
            f"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: "
            f"Upgrade\r\nSec-WebSocket-Accept: {key}\r\n\r\n".encode()
        )

    def _exactly(self, count):
        data = b""
        while len(data) < count:
            part = self.connection.recv(count - len(data))
            if not part:
                raise ConnectionError
            data += part
        return data

    def receive(self):
        """(opcode, payload) of the next frame."""
        first, second = self._exactly(2)
        size = second & 127
        if size == 126:
            size = struct.unpack("!H", self._exactly(2))[0]
        elif size == 127:
            size = struct.unpack("!Q", self._exactly(8))[0]
        assert second & 128, "a client masks its frames"
        mask = self._exactly(4)
        return first & 15, bytes(byte ^ mask[i % 4] for i, byte in enumerate(self._exactly(size)))

    def send(self, text, opcode=1):
        data = text.encode() if isinstance(text, str) else text
        size = (
            bytes([len(data)])
            if len(data) < 126
            else b"\x7e" + struct.pack("!H", len(data))
            if len(data) < 65536
            else b"\x7f" + struct.pack("!Q", len(data))
        )
        self.connection.sendall(bytes([128 | opcode]) + size + data)


class PairingRemote:
    def __init__(
        self,
        gateway_key: str,
        component_id="memory",
        component_type="tool_host",
        tls=False,
        paths=("/v1/pair", "/"),
        refuse_path=None,
    ):
        self.gateway_key = base64.b64decode(gateway_key)
        self.component_id, self.component_type, self.tls, self.paths, self.refuse_path = (
            component_id,
            component_type,
            tls,
            paths,
            refuse_path,
        )
        self.seed, self.agreement_seed = os.urandom(32), os.urandom(32)
        self.key = b64(libcrypto.ed25519_public(self.seed))
        self.on, self.received, self.asked_paths, self.headers, self.close_codes, self.failures = (
            {},
            {},
            [],
            {},
            [],
            [],
        )
        self.opcode = 1
        self.certificate_pem = self.chain_pem = None
        self.client_certificate_required = False
        self.newest_tls = ssl.TLSVersion.TLSv1_3
        self.completed = threading.Event()
        self.ended = threading.Semaphore(0)

    def __enter__(self):
        self._folder = tempfile.TemporaryDirectory(prefix="crab-remote-")
        self.folder = Path(self._folder.name)
        self.shown = self.folder / "bootstrap.pem"
        if self.tls:
            openssl(
                "req",
                "-x509",
                "-newkey",
                "ec",
                "-pkeyopt",
                "ec_paramgen_curve:prime256v1",
                "-nodes",
                "-keyout",
                str(self.folder / "shown.key"),
                "-out",
                str(self.shown),
                "-subj",
                f"/CN={self.component_id}",
                "-days",
                "30",
            )
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.endpoint = f"{'wss' if self.tls else 'ws'}://127.0.0.1:{self.port}/v1/pair"
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_):
        # A thread in accept() outlives the descriptor and may take connections of whoever gets its
        # number next.
        self._listener.shutdown(socket.SHUT_RDWR)
        self._thread.join(20)
        self._listener.close()
        self._folder.cleanup()

    def show_issued(self):
        """Shows the issued certificate from now on, and lets in only the gateway of its CA, as a
        paired remote does."""
        self.shown = self.folder / "issued.pem"
        self.shown.write_text(self.certificate_pem)
        os.replace(self.folder / "csr.key", self.folder / "shown.key")
        self.client_certificate_required = True

    def _accept(self):
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection):
        connection.settimeout(20)
        with contextlib.ExitStack() as closing:
            closing.callback(connection.close)
            try:
                web, names = self._open(connection, closing)
            except OSError:
                # not a pairing: the gateway also dials an active tool host for its tools, and hangs
                # up when it is not the right one
                return
            try:
                self.client_names = names
                self._talk(web)
            except Exception as error:  # noqa: BLE001: a test looks at it
                self.failures.append(error)
            finally:
                self.ended.release()

    def _open(self, connection, closing):
        """The WebSocket a client asked for and the names in the client's certificate; OSError for
        whoever does not get that far."""
        names = None
        if self.tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.maximum_version = self.newest_tls
            context.load_cert_chain(self.shown, self.folder / "shown.key")
            demands = (
                self.client_certificate_required
            )  # which may change while this connection is made
            if demands:
                context.verify_mode = ssl.CERT_REQUIRED
                context.load_verify_locations(cadata=self.chain_pem)
            connection = context.wrap_socket(connection, server_side=True)
            closing.callback(connection.close)
            names = connection.getpeercert().get("subjectAltName") if demands else None
        web = _WebSocket(connection, self.paths, self.refuse_path, self.asked_paths.append)
        self.headers = web.headers
        return web, names

    def _talk(self, web):
        while True:
            opcode, payload = web.receive()
            if opcode == 8:
                self.close_codes.append(struct.unpack("!H", payload[:2])[0] if payload else 1005)
                web.send(payload, 8)
                return
            assert opcode == 1, "the gateway sends texts"
            message = json.loads(payload)
            self.received[message["type"]] = message
            if message["type"] == "pair.complete":
                self.completed.set()
            override = self.on.get(message["type"])
            answers = override(message) if override else None
            if answers is STALL:
                while web.connection.recv(4096):
                    pass
                return
            if answers is None:
                answers = self.answer(message)
            for answer in answers:
                if isinstance(answer, dict):
                    answer = json.dumps(self.signed(answer))
                web.send(answer, self.opcode)

    def signed(self, message: dict) -> dict:
        return {
            **message,
            "sig_ed25519": b64(libcrypto.ed25519_sign(self.seed, canonical(message))),
        }

    def _check_gateway(self, message):
        signature = base64.b64decode(message["sig_ed25519"])
        assert libcrypto.ed25519_verify(
            self.gateway_key, canonical(message), signature
        ), f"{message['type']}: the gateway's signature"

    def answer(self, message: dict) -> list:
        begin = {"version": "v1", "pairing_id": message.get("pairing_id", "")}
        if message["type"] == "pair.init":
            self._check_gateway(message)
            assert (
                len(base64.b64decode(message["gateway"]["nonce"])) == 24
                and len(message["pairing_id"]) == 32
            )
            return [
                {
                    "type": "pair.identity",
                    **begin,
                    "remote": {
                        "component_type": self.component_type,
                        "component_id": self.component_id,
                        "public_key_ed25519": self.key,
                        "public_key_x25519": b64(libcrypto.x25519_public(self.agreement_seed)),
                        "mtls_cert_fingerprint": fingerprint(self.shown.read_text())
                        if self.tls
                        else "",
                    },
                }
            ]
        if message["type"] == "pair.challenge":
            aad = base64.b64decode(message["aad"])
            ephemeral = base64.b64decode(json.loads(aad)["ephemeral_public_key_x25519"])
            sealed = base64.b64decode(message["ciphertext"])
            assert len(sealed) == 72
            key = hashlib.sha256(libcrypto.x25519(self.agreement_seed, ephemeral) + aad).digest()
            plaintext = libcrypto.aes_256_gcm_open(key, sealed[:12], sealed[12:], aad).decode()
            return [
                {
                    "type": "pair.challenge_response",
                    **begin,
                    "challenge_id": message["challenge_id"],
                    "challenge_plaintext": plaintext,
                },
                {"type": "pair.csr_request", **begin, "csr_pem": self.make_csr()},
            ]
        if message["type"] == "pair.csr_issued":
            self._check_gateway(message)
            assert message["mtls_cert_fingerprint"] == fingerprint(message["certificate_pem"])
            self.certificate_pem, self.chain_pem = (
                message["certificate_pem"],
                message["certificate_chain_pem"][0],
            )
            return [
                {
                    "type": "pair.csr_installed",
                    **begin,
                    "mtls_cert_fingerprint": message["mtls_cert_fingerprint"],
                }
            ]
        return []

    def make_csr(self) -> str:
        """A new P-256 key each time; the request asks for a name that is not this remote's to
        have."""
        return openssl(
            "req",
            "-new",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:prime256v1",
            "-nodes",
            "-keyout",
            str(self.folder / "csr.key"),
            "-subj",
            f"/CN={self.component_id}",
            "-addext",
            f"subjectAltName=URI:crab://peer/{self.component_type}/{self.component_id},"
            f"DNS:evil.example",
        )
