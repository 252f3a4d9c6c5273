"""Connections that begin and never get on, more of them than a listener has places: it serves
others meanwhile and afterwards."""

from __future__ import annotations

import contextlib
import json
import socket
import ssl
import tempfile
import unittest
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from support import flood, rtp
from support.case import GatewayCase
from support.certificates import self_signed
from support.device import Device, tool
from support.gateway import Gateway
from support.host import PairedHost
from support.http import HttpConnection, fetch, request_bytes
from support.wait import PATIENCE, Stopwatch, eventually

PLACES = 32


def is_served(ask: Callable[[], Any]) -> bool:
    """Whether one attempt got its answer; a connection that was cut for another may be tried
    again."""
    with contextlib.suppress(OSError, AssertionError, EOFError, ValueError):
        return bool(ask())
    return False


class FloodCase(unittest.TestCase):
    def survive(
        self,
        address: flood.Address,
        ways: Iterable[Callable[[flood.Address], socket.socket]],
        ask: Callable[[], Any],
        count: int = 4 * PLACES,
    ) -> None:
        for way in ways:
            with self.subTest(way=way.__name__):
                with flood.flood(address, way, count):
                    eventually(lambda: is_served(ask), "served while the flood stands")
                self.assertTrue(is_served(ask), "served after the flood")


class GatewayFloodTest(FloodCase):
    def test_the_plain_listeners(self) -> None:
        with tempfile.TemporaryDirectory(prefix="crab-flood-") as folder:
            unix = Path(folder) / "grpc.sock"
            config = {
                "listen": {"max_connections": PLACES},
                "grpc": {"listen": "127.0.0.1:0", "unix": str(unix), "max_connections": PLACES},
            }
            with Gateway(config) as gateway:
                before = gateway.open_files()
                token = gateway.caller_token()

                def call() -> bool:
                    return (
                        gateway.fetch(
                            "POST", "/v1/tools/call", token, body=rtp.call_request("list_devices")
                        ).status
                        == 200
                    )

                self.survive(gateway.public, flood.PLAIN, call)
                self.survive(
                    gateway.admin,
                    flood.PLAIN,
                    lambda: gateway.admin_request("GET", "/healthz").status == 200,
                )
                host, port = gateway.grpc.rsplit(":", 1)
                for address in ((host, int(port)), unix):
                    self.survive(
                        address, flood.HTTP2, lambda address=address: self.settings_of(address)
                    )
                eventually(
                    lambda: gateway.open_files() <= before + 8,
                    "no descriptor is left of the floods",
                    limit=20,
                )

    @staticmethod
    def settings_of(address: flood.Address) -> bool:
        """Whether an HTTP/2 server is there that answers."""
        with flood.connect(address) as link:
            link.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes(3) + b"\x04\x00" + bytes(4))
            return link.recv(9)[3:4] == b"\x04"

    def test_the_tls_listeners(self) -> None:
        with tempfile.TemporaryDirectory(prefix="crab-flood-") as folder:
            cert, key = self_signed(Path(folder))
            tls = {"cert": str(cert), "key": str(key)}
            config = {
                "listen": {"max_connections": PLACES, "tls": tls, "peers": "127.0.0.1:0"},
                "grpc": {"listen": "127.0.0.1:0", "tls": tls, "max_connections": PLACES},
            }
            with Gateway(config) as gateway:
                token = gateway.caller_token()
                context = ssl.create_default_context(cafile=str(cert))
                context.check_hostname = False

                def list_tools() -> bool:
                    with context.wrap_socket(
                        socket.create_connection(gateway.public, PATIENCE)
                    ) as link:
                        link.sendall(
                            f"GET /v1/tools HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer "
                            f"{token}\r\n\r\n".encode()
                        )
                        return link.recv(64).startswith(b"HTTP/1.1 200")

                self.survive(gateway.public, flood.TLS, list_tools)
                self.survive(
                    gateway.peers, flood.TLS, lambda: self.handshake(gateway.peers, "http/1.1"), 600
                )
                host, port = gateway.grpc.rsplit(":", 1)
                self.survive(
                    (host, int(port)),
                    flood.HTTP2_TLS,
                    lambda: self.handshake((host, int(port)), "h2"),
                )

    @staticmethod
    def handshake(address: tuple[str, int], protocol: str) -> bool:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        context.set_alpn_protocols([protocol])
        with context.wrap_socket(socket.create_connection(address, PATIENCE)) as link:
            link.sendall(
                b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
                if protocol == "http/1.1"
                else b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes(3) + b"\x04\x00" + bytes(4)
            )
            answer = link.recv(64)
            return (
                answer.startswith(b"HTTP/1.1 401")
                if protocol == "http/1.1"
                else answer[3:4] == b"\x04"
            )

    def test_health_checks_that_only_connect(self) -> None:
        """A load balancer's: thousands of them leave nothing behind."""
        with tempfile.TemporaryDirectory(prefix="crab-flood-") as folder:
            cert, key = self_signed(Path(folder))
            with Gateway(
                {"listen": {"max_connections": 8, "tls": {"cert": str(cert), "key": str(key)}}}
            ) as gateway:
                for _ in range(1000):
                    flood.nothing(gateway.public).close()
                context = ssl.create_default_context(cafile=str(cert))
                context.check_hostname = False

                def healthy() -> bool:
                    # Those that came before may not have been looked at yet, and this one is told
                    # 503 then.
                    with context.wrap_socket(
                        socket.create_connection(gateway.public, PATIENCE)
                    ) as link:
                        link.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
                        return link.recv(64).startswith(b"HTTP/1.1 200")

                eventually(healthy, "a place is free for whoever wants one")


class ProvenFloodTest(FloodCase):
    """One caller's connections, twice as many as there are places: another caller comes in all the
    same, and as long as there are idle ones of the first, those of others are not the ones that
    go."""

    def crowd_out(
        self,
        address: flood.Address,
        way: Callable[[flood.Address], socket.socket],
        protocol: str,
        tls: bool = False,
        stays: bool = True,
    ) -> None:
        other = flood.idle(self.gateway.caller_token("other"), protocol, tls)

        def comes_in() -> bool:
            other(address).close()
            return True

        with self.subTest(way=way.__name__), other(address) as kept:
            with flood.flood(address, way, 2 * PLACES) as links:
                self.assertGreater(len(links), PLACES, "the flood was let in")
                for _ in range(4):
                    eventually(lambda: is_served(comes_in), "another comes in")
                if not stays:
                    return
                kept.settimeout(0.2)
                with self.assertRaises(TimeoutError, msg="the first one is still there"):
                    while kept.recv(65536):
                        pass

    def both(self, tls: dict[str, str] | None) -> dict[str, tuple[str, int]]:
        """A gateway with few places; the address for each protocol."""
        more = {"tls": tls} if tls else {}
        self.gateway = self.enterContext(
            Gateway(
                {
                    "listen": {"max_connections": PLACES, **more},
                    "grpc": {"listen": "127.0.0.1:0", "max_connections": PLACES, **more},
                }
            )
        )
        host, port = self.gateway.grpc.rsplit(":", 1)
        return {"http/1.1": self.gateway.public, "h2": (host, int(port))}

    def test_idle_ones(self) -> None:
        for protocol, address in self.both(None).items():
            way = flood.idle(self.gateway.caller_token("greedy"), protocol)
            self.crowd_out(address, way, protocol)

    def test_idle_ones_over_tls(self) -> None:
        folder = Path(self.enterContext(tempfile.TemporaryDirectory(prefix="crab-flood-")))
        cert, key = self_signed(folder)
        for protocol, address in self.both({"cert": str(cert), "key": str(key)}).items():
            way = flood.idle(self.gateway.caller_token("greedy"), protocol, tls=True)
            self.crowd_out(address, way, protocol, tls=True)

    def test_busy_ones(self) -> None:
        """Requests that nobody answers, half of a body, calls whose caller leaves at once, and
        calls over gRPC whose message does not come."""
        addresses = self.both(None)
        token = self.gateway.caller_token("greedy")
        device = Device(self.gateway, self.gateway.pair("phone", ("device",)))
        self.addCleanup(device.drop)
        device.register(tool("never", timeout_ms=60_000))
        self.gateway.wait_listed("never")
        head = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        part = request_bytes("POST", "/v1/tools/call", {**head, "Content-Length": "100"}) + b"{"
        get = request_bytes("GET", "/v1/tools", head)

        def call() -> bytes:
            body = json.dumps(rtp.call_request("never", {}, timeout_ms=60_000)).encode()
            return request_bytes("POST", "/v1/tools/call", head, body)

        def left(address: flood.Address) -> socket.socket:
            link = flood.busy("call", call)(address)
            link.shutdown(socket.SHUT_WR)
            return link

        for way in (
            flood.busy("call", call),
            flood.busy("body", lambda: part),
            flood.busy("body after a request", lambda: get + part),
            left,
        ):
            self.crowd_out(addresses["http/1.1"], way, "http/1.1", stays=False)
        grpc = flood.busy("grpc", lambda: flood.unfinished_call(token))
        self.crowd_out(addresses["h2"], grpc, "h2", stays=False)


class HostFloodTest(FloodCase):
    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory(prefix="crab-flood-")))
        self.gateway = self.enterContext(Gateway())
        key = self.gateway.admin_request("GET", "/v1/identity").json()["public_key_ed25519"]
        self.host = PairedHost(self.folder, "memory", key, "memory-east")
        self.addCleanup(self.host.end)

    def pair(self) -> int:
        return self.gateway.admin_request(
            "POST",
            "/v1/pairings",
            {
                "component_type": "tool_host",
                "component_id": "memory-east",
                "endpoint": self.host.endpoint,
            },
            timeout=25,
        ).status

    def test_a_paired_host_is_called_through_every_flood(self) -> None:
        self.assertEqual(self.pair(), 200)
        self.gateway.wait_listed("memory.query")
        self.survive(
            ("127.0.0.1", self.host.port),
            flood.TLS,
            lambda: self.gateway.call("memory.query", {"query": "x"}).status == "ok",
            600,
        )


class PairingFloodTest(FloodCase):
    """Silent connections on the pairing path, which anybody may open, hold neither a pairing nor a
    renewal up."""

    def test_silent_pairings_hold_nobody_up(self) -> None:
        folder = Path(self.enterContext(tempfile.TemporaryDirectory(prefix="crab-flood-")))
        gateway = self.enterContext(Gateway())
        key = gateway.admin_request("GET", "/v1/identity").json()["public_key_ed25519"]
        host = PairedHost(folder, "memory", key, "memory-east")
        self.addCleanup(host.end)
        upgrade = (
            b"GET /v1/pair HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: "
            b"websocket\r\nSec-WebSocket-Version: 13\r\n"
            b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
        )
        liar = b"\x81\xa4\0\0\0\0" + b'{"type":"pair.init","version":"v1" }'
        self.assertEqual(len(liar), 6 + 0x24)
        for way in (flood.over_tls(upgrade), flood.over_tls(upgrade + liar)):
            with flood.flood(("127.0.0.1", host.port), way, 20):
                body = {
                    "component_type": "tool_host",
                    "component_id": "memory-east",
                    "endpoint": host.endpoint,
                }
                if "tool_host/memory-east" in gateway.crab("peers", "list"):
                    self.assertEqual(
                        gateway.admin_request(
                            "POST", "/v1/peers/tool_host/memory-east/renew", timeout=25
                        ).status,
                        200,
                    )
                else:
                    self.assertEqual(
                        gateway.admin_request("POST", "/v1/pairings", body, timeout=25).status, 200
                    )
                self.assertEqual(
                    gateway.admin_request(
                        "POST", "/v1/peers/tool_host/memory-east/renew", timeout=25
                    ).status,
                    200,
                )


class MemoryTest(GatewayCase):
    def test_bodies_of_strangers_are_answered_by_their_heads_and_not_kept(self) -> None:
        """900 connections, each with a body of a mebibyte that lacks its last byte."""
        self.gateway.fetch("GET", "/health")
        before = self.gateway.forget_peak()
        body = b"x" * (1 << 20)
        head = (
            f"POST /v1/tools/call HTTP/1.1\r\nHost: localhost\r\nContent-Length: "
            f"{len(body)}\r\n\r\n"
        ).encode()
        links = []
        try:
            for _ in range(300):
                link = flood.connect(self.gateway.public)
                links.append(link)
                with contextlib.suppress(OSError):
                    link.sendall(head + body[:-1])
        finally:
            for link in links:
                link.close()
        self.assertLess(self.gateway.growth_since(before), 64 << 20)

    def test_the_answer_to_a_stranger_comes_before_the_body(self) -> None:
        for method, path in (
            ("POST", "/v1/tools/call"),
            ("POST", "/v1/tools/cancel"),
            ("POST", "/webhook"),
            ("PUT", "/api/sessions/x"),
            ("POST", "/api/artifacts"),
        ):
            with self.subTest(path=path), HttpConnection(self.gateway.public) as link:
                link.stream.send(
                    f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: "
                    f"1000000\r\n\r\n".encode()
                )
                watch = Stopwatch()
                answer = link.receive()
                self.assertEqual(answer.status, 401, answer.body)
                self.assertEqual(answer.headers.get("connection"), "close")
                self.assertLess(watch.seconds, 5)

    def test_nobody_waits_for_the_body_of_an_unknown_path(self) -> None:
        with HttpConnection(self.gateway.public) as link:
            link.stream.send(
                b"POST /nowhere HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n"
            )
            self.assertEqual(link.receive().status, 404)

    def test_a_pairing_takes_a_small_body_only(self) -> None:
        self.assertEqual(fetch(self.gateway.public, "POST", "/pair", None, b"x" * 5000).status, 413)

    def test_one_principal_holds_a_bounded_part_of_memory_and_it_is_given_back(self) -> None:
        token = self.gateway.caller_token("greedy")
        other = self.gateway.caller_token("other")
        body = b"x" * (1 << 20)
        head = (
            f"POST /v1/tools/call HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer "
            f"{token}\r\nContent-Length: {len(body)}\r\n\r\n"
        ).encode()
        before = self.gateway.forget_peak()
        links = []
        try:
            for _ in range(200):
                link = flood.connect(self.gateway.public)
                links.append(link)
                with contextlib.suppress(OSError):
                    link.sendall(head + body[:-1])
            link = links[-1]
            self.assertIn(b" 429 ", link.recv(64))
            answer = self.gateway.fetch(
                "POST",
                "/v1/tools/call",
                other,
                body=rtp.call_request("list_devices", {"pad": "x" * 500_000}),
            )
            self.assertNotEqual(answer.status, 429)
        finally:
            for link in links:
                link.close()
        self.assertLess(self.gateway.growth_since(before), 128 << 20)
        eventually(
            lambda: self.gateway.resident_bytes() < before + (64 << 20),
            "memory is given back",
            limit=20,
        )


if __name__ == "__main__":
    unittest.main()
