"""A paired component at the peer listener (docs/protocols/rtp.md, sections 1, 6 and 8), behind
mutual TLS: connections that are idle or stay busy, requests that do not end, events without end or
malformed, streams that nobody reads. Another peer is served all the same."""

from __future__ import annotations

import itertools
import json
import socket
import ssl
import sys
import unittest
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "support"))

from hostile_case import SHUT, HostileCase
from pairing_remote import PairingRemote

from support.gateway import Gateway
from support.http import request_bytes
from support.rtp import envelope
from support.stream import Stream

MIB = 1 << 20
LIMIT = 256  # connections of the peer listener
JSON = {"Content-Type": "application/json"}


class Peer:
    """A paired component with a certificate. A context manager."""

    def __init__(self, gateway: Gateway, component_id: str, component_type: str) -> None:
        key = gateway.admin_request("GET", "/v1/identity").json()["public_key_ed25519"]
        self.remote = PairingRemote(key, component_id, component_type)
        self.gateway = gateway

    def __enter__(self) -> Peer:
        self.remote.__enter__()
        body = {
            "component_type": self.remote.component_type,
            "component_id": self.remote.component_id,
            "endpoint": self.remote.endpoint,
        }
        answer = self.gateway.admin_request("POST", "/v1/pairings", body, timeout=25)
        assert answer.status == 200, answer.body
        certificate = self.remote.folder / "mine.pem"
        certificate.write_text(self.remote.certificate_pem)
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        self.context.check_hostname = False
        self.context.load_verify_locations(self.gateway.folder / "state" / "pairing_ca_cert.pem")
        self.context.load_cert_chain(certificate, self.remote.folder / "csr.key")
        return self

    def __exit__(self, *_: object) -> None:
        self.remote.__exit__()

    def connect(self) -> Stream:
        stream = Stream(self.gateway.peers, 5.0)
        try:
            stream.socket = self.context.wrap_socket(stream.socket)
        except BaseException:
            stream.close()
            raise
        return stream

    def begin(self, request: bytes) -> tuple[Stream, int]:
        """A connection on which this was asked, and the status of the answer."""
        stream = self.connect()
        try:
            stream.send(request)
            line = stream.read_until(b"\r\n").decode()
            assert line.startswith("HTTP/1.1 "), line
            return stream, int(line.split(" ")[1])
        except BaseException:
            stream.close()
            raise

    def ask(self, request: bytes) -> int:
        stream, status = self.begin(request)
        stream.close()
        return status


def event(component_id: str, **members: Any) -> bytes:
    source = {"component_type": "listener", "component_id": component_id}
    return json.dumps(envelope(source=source, **members)).encode()


class PeerTest(HostileCase):
    CONFIG = {"listen": {"peers": "127.0.0.1:0"}}

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        cls.mail = cls.enterClassContext(Peer(cls.gateway, "mail", "listener"))
        cls.log = cls.enterClassContext(Peer(cls.gateway, "log", "subscriber"))
        cls.good = cls.enterClassContext(Peer(cls.gateway, "good", "subscriber"))
        cls.resting = cls.gateway.resident_bytes()

    def neighbour(self) -> None:
        """A request of another peer; its connection may be closed for another while it shakes
        hands."""
        for _ in range(3):
            try:
                status = self.good.ask(request_bytes("GET", "/healthz"))
            except SHUT:
                continue
            self.assertEqual(status, 200)
            return
        raise AssertionError("another peer was not served")

    def test_a_full_listener_admits_others(self) -> None:
        request = request_bytes("GET", "/healthz")
        statuses = []
        for _ in range(LIMIT):
            stream, status = self.mail.begin(request)
            self.hold(stream, most=2 * LIMIT + 100)
            statuses.append(status)
        self.assertEqual(set(statuses), {200})
        slow = self.hold(Stream(self.gateway.peers, 5.0), most=2 * LIMIT + 100)
        for _ in range(20):  # while another shakes hands
            self.assertEqual(self.mail.ask(request), 503)
        slow.socket = self.good.context.wrap_socket(slow.socket)
        slow.send(request)
        self.assertIn(b" 200 ", slow.read_until(b"\r\n"))
        for _ in range(LIMIT + 100):  # refusals that stay open
            stream, status = self.mail.begin(request)
            self.hold(stream, most=2 * LIMIT + 100)
            self.assertEqual(status, 503)
        self.assertEqual(self.good.ask(request), 200)

    def test_strangers_at_a_full_listener_end_no_handshake_of_others(self) -> None:
        request = request_bytes("GET", "/healthz")
        for _ in range(LIMIT):
            stream, status = self.mail.begin(request)
            self.hold(stream, most=4 * LIMIT)
            self.assertEqual(status, 200)
        slow = self.hold(Stream(self.gateway.peers, 5.0), most=4 * LIMIT)
        for _ in range(LIMIT):
            stranger = socket.create_connection(
                self.gateway.peers, 5.0, source_address=("127.0.0.2", 0)
            )
            self.hold(stranger, most=4 * LIMIT)
        slow.socket = self.good.context.wrap_socket(slow.socket)
        slow.send(request)
        self.assertIn(b" 200 ", slow.read_until(b"\r\n"))

    def test_idle_connections(self) -> None:
        def idle() -> None:
            stream, status = self.mail.begin(request_bytes("GET", "/healthz"))
            self.hold(stream, most=400)
            self.assertIn(status, (200, 503))

        self.attack(idle, self.neighbour, workers=4)

    def test_streams_that_are_not_read(self) -> None:
        watch = request_bytes("GET", "/v1/events", {"Accept": "text/event-stream"})
        post = event("mail", payload={"text": "x" * 10_000})

        def stream() -> None:
            opened, status = self.log.begin(watch)
            self.hold(opened, most=400)
            self.assertIn(status, (200, 429))

        self.attack(
            stream,
            lambda: self.mail.ask(request_bytes("POST", "/v1/events", JSON, post)),
            self.neighbour,
        )

    def test_requests_that_do_not_end(self) -> None:
        body = {**JSON, "Content-Length": str(2 * MIB)}

        def head() -> None:
            self.hold(self.mail.connect(), most=400).send(b"POST /v1/events HTTP/1.1\r\nHost: loc")

        def part() -> None:
            stream = self.hold(self.mail.connect(), most=400)
            stream.send(request_bytes("POST", "/v1/events", body) + b"{" * MIB)

        self.attack(head, part, lambda: self.hold(self.mail.connect(), most=400), self.neighbour)

    def test_events_without_end(self) -> None:
        numbers = itertools.count()
        big = {"text": "x" * MIB}

        def publish(**members: Any) -> None:
            post = event("mail", trace_id=f"t{next(numbers)}", **members)
            self.mail.ask(request_bytes("POST", "/v1/events", JSON, post))

        self.attack(publish, lambda: publish(payload=big), self.neighbour)

    def test_malformed_events(self) -> None:
        bodies = [
            b"",
            b"[]",
            b"{",
            b"[" * 100_000,
            b'{"version":"v1","version":"v1"}',
            event("somebody"),
            event("mail", event_type="x" * 100_000),
            event("mail", occurred_at="never"),
        ]

        def post(body: bytes) -> None:
            status = self.mail.ask(request_bytes("POST", "/v1/events", JSON, body))
            self.assertIn(status // 100, (4,))

        self.attack(*(lambda body=body: post(body) for body in bodies), self.neighbour, workers=1)


if __name__ == "__main__":
    unittest.main()
