"""Somebody without a credential: every way of not finishing, floods, bodies that nobody asked for,
and garbage."""

from __future__ import annotations

import os
import ssl
import struct
import tempfile
from pathlib import Path
from typing import Any

from hostile_case import HostileCase
from support.certificates import self_signed
from support.http import request_bytes
from support.stream import Stream
from support.websocket import upgrade_headers

MIB = 1 << 20


class PlainTest(HostileCase):
    def one(self, data: bytes, answer: bool = False, reset: bool = False) -> None:
        stream = Stream(self.gateway.public, 5.0)
        try:
            stream.send(data)
            if answer:
                stream.socket.settimeout(2)
                stream.socket.recv(4096)
        finally:
            stream.reset() if reset else stream.close()

    def test_connections_that_say_nothing(self) -> None:
        self.attack(self.connect)

    def test_requests_that_do_not_end(self) -> None:
        heads = [
            b"",
            b"GET",
            b"GET /health HTTP/1.1\r\nHost: loc",
            b"GET /health HTTP/1.1\r\nHost: localhost\r\n",
            b"PRI * HTTP/2.0\r\n\r\nSM\r\n",
        ]
        self.attack(*(lambda head=head: self.connect().send(head) for head in heads), workers=1)

    def test_heads_beyond_every_size(self) -> None:
        fields = {f"X-{n}": "x" * 1000 for n in range(200)}
        self.attack(
            lambda: self.one(request_bytes("GET", "/health", fields)),
            lambda: self.one(b"GET /" + b"x" * 200_000),
            lambda: self.one(b"\r\n" * 50_000),
        )

    def test_bodies_without_a_credential(self) -> None:
        def counted() -> None:
            stream = self.connect()
            stream.send(
                request_bytes(
                    "POST",
                    "/v1/tools/call",
                    {"Content-Length": str(MIB), "Content-Type": "application/json"},
                )
            )
            stream.send(b"x" * (MIB - 1))

        def chunked() -> None:
            stream = self.connect()
            stream.send(
                request_bytes(
                    "POST",
                    "/webhook",
                    {"Transfer-Encoding": "chunked", "Content-Type": "application/json"},
                )
            )
            stream.send((b"10000\r\n" + b"x" * 65536 + b"\r\n") * 15)

        def upload() -> None:
            stream = self.connect()
            stream.send(
                request_bytes(
                    "POST",
                    "/api/artifacts?call_id=x",
                    {"Content-Length": str(16 * MIB), "Authorization": "Bearer " + "0" * 64},
                )
            )
            stream.send(b"x" * MIB)

        self.attack(counted, chunked, upload)

    def test_wrong_tokens_and_codes(self) -> None:
        wrong = {"Authorization": "Bearer " + "f" * 64}
        upgrade = upgrade_headers("dGhlIHNhbXBsZSBub25jZQ==")
        self.attack(
            lambda: self.one(request_bytes("GET", "/v1/tools", wrong), answer=True),
            lambda: self.one(request_bytes("GET", "/ws/chat", {**upgrade, **wrong}), answer=True),
            lambda: self.one(
                request_bytes(
                    "POST",
                    "/pair",
                    {"X-Pairing-Code": "000000", "Content-Type": "application/json"},
                    b"{}",
                ),
                answer=True,
            ),
        )

    def test_resets_in_the_middle_of_everything(self) -> None:
        request = request_bytes(
            "POST", "/v1/tools/call", {"Content-Type": "application/json"}, b"{" * 2000
        )
        self.attack(
            *(
                lambda end=end: self.one(request[:end], reset=True)
                for end in (0, 10, 60, len(request))
            )
        )

    def test_garbage(self) -> None:
        hello = b"\x16\x03\x01" + struct.pack(">H", 512) + os.urandom(512)
        self.attack(
            lambda: self.one(os.urandom(4000)),
            lambda: self.one(hello),
            lambda: self.one(
                b"GET / HTTP/1.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n"
            ),
            lambda: self.one(b"GET /%00" + b"%ff" * 3000 + b" HTTP/1.1\r\nHost: a\r\n\r\n"),
        )


class TlsTest(HostileCase):
    """The strangers are at a listener with TLS, the bystander at the one beside it."""

    @classmethod
    def setUpClass(cls) -> None:
        certificate, key = self_signed(
            Path(cls.enterClassContext(tempfile.TemporaryDirectory(prefix="crab-hostile-")))
        )
        cls.CONFIG = {
            "grpc": {"listen": "127.0.0.1:0", "tls": {"cert": str(certificate), "key": str(key)}}
        }
        super().setUpClass()
        host, _, port = cls.gateway.grpc.rpartition(":")
        cls.tls = (host, int(port))

    def shake(self) -> Any:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        context.set_alpn_protocols(["h2"])
        stream = Stream(self.tls, 5.0)
        stream.socket = context.wrap_socket(stream.socket)
        return self.hold(stream)

    def test_handshakes_that_do_not_end(self) -> None:
        hello = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + os.urandom(32)
        self.attack(
            lambda: self.connect(self.tls),
            lambda: self.connect(self.tls).send(hello),
            lambda: self.connect(self.tls).send(b"GET / HTTP/1.1\r\n\r\n"),
        )

    def test_handshakes_that_end_and_nothing_after(self) -> None:
        preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0\4\0\0\0\0\0"
        self.attack(self.shake, lambda: self.shake().send(preface), lambda: self.shake().send(b"x"))

    def test_floods_of_frames_without_a_credential(self) -> None:
        preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0\4\0\0\0\0\0"
        ping, settings = b"\0\0\x08\6\0\0\0\0\0" + b"x" * 8, b"\0\0\0\4\0\0\0\0\0"
        headers = b"\0\0\4\1\0\0\0\0\1\x82\x87\x84\x41"
        reset = b"\0\0\4\3\0\0\0\0\1\0\0\0\x08"
        self.attack(
            *(
                lambda frame=frame: self.shake().send(preface + frame * 3000)
                for frame in (
                    ping,
                    settings,
                    headers + reset,
                    b"\0\x40\0\x09\0\0\0\0\1" + b"x" * 16384,
                )
            ),
            workers=1,
        )
