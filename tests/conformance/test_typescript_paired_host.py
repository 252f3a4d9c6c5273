"""The TypeScript package as a tool host behind mutual TLS: it pairs with a real gateway, which
calls it then, and it lets nobody else in. The cases of test_paired_hosts, with Node."""

from __future__ import annotations

import os
import signal
import socket
import ssl
import subprocess
import unittest
from pathlib import Path

import test_paired_hosts
from support.host import PairedHost
from support.node_device import MISSING, NODE, PACKAGE
from support.wait import Stopwatch, eventually

_PROGRAM = Path(__file__).resolve().parents[1] / "support/node_paired_host.mjs"


class NodePairedHost(PairedHost):
    def start(self) -> None:
        state = self.folder / self.kind
        words = [f"127.0.0.1:{self.port}", self.component_id, self.gateway_key, str(state)]
        with open(self.folder / f"{self.kind}.log", "ab") as errors:
            self.process = subprocess.Popen(
                [NODE, str(_PROGRAM), *words],
                env={**os.environ, "CRAB_DEVICE_PACKAGE": PACKAGE},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            )
        key, ready = self.process.stdout.readline(), self.process.stdout.readline()
        assert key.startswith("remote_key="), f"{key!r}\n{self.log()}"
        self.key, self.port = key.strip().partition("=")[2], int(ready.strip().rpartition(":")[2])


class NodePairedHostCase(test_paired_hosts.PairedHostCase):
    def new_host(self, name: str, key: str | None = None) -> NodePairedHost:
        folder = self.folder / name
        folder.mkdir()
        host = NodePairedHost(folder, self.KIND, key or self.gateway_key, name)
        self.addCleanup(self.end, host)
        return host


@unittest.skipIf(MISSING, MISSING)
class PairingTest(NodePairedHostCase, test_paired_hosts.PairingTest):
    pass


@unittest.skipIf(MISSING, MISSING)
class CallerTest(NodePairedHostCase, test_paired_hosts.CallerTest):
    pass


@unittest.skipIf(MISSING, MISSING)
class CalledTest(NodePairedHostCase):
    """By the gateway that has paired it."""

    def setUp(self) -> None:
        super().setUp()
        self.pair("--remote-key", self.host.key)
        self.gateway.wait_listed("memory.query")

    def test_its_tools_are_called_over_mutual_tls(self) -> None:
        result = self.gateway.call("memory.append", {"n": 1}).result
        self.assertEqual(result["n"], 1)
        self.assertIn("operation_id", result)
        self.assertEqual(
            self.gateway.call("memory.query", {"wait": 1}, timeout_ms=400).status, "timeout"
        )

    def test_a_revoked_host_is_called_no_more(self) -> None:
        call = self.gateway.start_call("memory.query", {"wait": 1}, timeout_ms=20_000)
        self.gateway.crab("peers", "revoke", "tool_host/memory-east")
        self.assertNotEqual(call.result(20).status, "ok")
        self.gateway.wait_gone("memory.query")

    def test_it_is_found_again_after_a_crash(self) -> None:
        first = self.gateway.call("memory.append", {"n": 1}, idempotency_key="k").result
        self.host.end(signal.SIGKILL)
        self.host.start()
        eventually(
            lambda: self.gateway.call("memory.append", {"n": 2}).status == "ok",
            "the host is called again",
            30,
        )
        again = self.gateway.call("memory.append", {"n": 1}, idempotency_key="k").result
        self.assertEqual(again, first)

    def test_its_keys_are_its_owners_alone(self) -> None:
        folder = self.host.folder / "memory/pairing"
        self.assertEqual(folder.stat().st_mode & 0o777, 0o700)
        for file in folder.iterdir():
            self.assertEqual(file.stat().st_mode & 0o777, 0o600, file)
        self.assertNotIn("PRIVATE", self.host.log())
        (folder / "keys.json").chmod(0o644)
        self.assertEqual(self.host.end(), 0)
        with self.assertRaises(AssertionError):
            self.host.start()
        self.assertIn("chmod 600", self.host.log())
        self.assertEqual(self.host.process.wait(20), 1)


@unittest.skipIf(MISSING, MISSING)
class HostileTest(NodePairedHostCase):
    """Of who pairs: nothing but a signed, fresh pair.init gets an answer."""

    def upgraded(self) -> ssl.SSLSocket:
        link = self.host.connect()
        link.settimeout(20)
        link.sendall(
            b"GET /v1/pair HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAECAwQFBgcICQoLDA0ODw==\r\n\r\n"
        )
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            head += link.recv(1)
        self.assertTrue(head.startswith(b"HTTP/1.1 101"), head)
        return link

    def received(self, link: ssl.SSLSocket) -> bytes:
        data = b""
        try:
            while part := link.recv(65536):
                data += part
        except (ssl.SSLError, ConnectionError):
            pass
        return data

    @staticmethod
    def frame(first: int, content: bytes, length: bytes | None = None) -> bytes:
        size = (
            bytes([0x80 | len(content)])
            if len(content) < 126
            else (b"\xfe" + len(content).to_bytes(2, "big"))
        )
        return bytes([first]) + (length or size) + bytes(4) + content

    def test_what_is_no_message_ends_with_an_error_or_a_close(self) -> None:
        for data, answer in (
            (self.frame(0x81, b"{}"), b"PROTOCOL_VIOLATION"),
            (self.frame(0x82, b"not json"), b"PROTOCOL_VIOLATION"),
            (self.frame(0x81, b'{"type":"pair.init","version":"v2"}'), b"UNSUPPORTED_VERSION"),
            (self.frame(0x81, b'{"a":1,"a":2}'), b"PROTOCOL_VIOLATION"),
            (
                self.frame(0x81, b"", b"\xff" + (1 << 40).to_bytes(8, "big")),
                (1009).to_bytes(2, "big"),
            ),
            (self.frame(0x81, b"\xff\xff"), (1007).to_bytes(2, "big")),
            (b"\x81\x02{}", (1002).to_bytes(2, "big")),
            (self.frame(0xF1, b"{}"), (1002).to_bytes(2, "big")),
            (self.frame(0x09, b"{}"), (1002).to_bytes(2, "big")),
            (self.frame(0x80, b"{}"), (1002).to_bytes(2, "big")),
        ):
            with self.upgraded() as link:
                link.sendall(data)
                self.assertIn(answer, self.received(link), data)
        self.pair()

    def test_who_says_nothing_is_told_so_after_five_seconds_and_holds_nobody_up(self) -> None:
        with self.upgraded() as silent:
            watch = Stopwatch()
            self.pair()
            self.assertLess(watch.seconds, 5)
            self.assertIn(b"TIMEOUT", self.received(silent))

    def test_plain_bytes_and_origins_get_nowhere(self) -> None:
        with socket.create_connection(("127.0.0.1", self.host.port), 20) as link:
            link.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
            try:
                self.assertNotIn(b"HTTP/1.1 200", link.recv(4096))
            except ConnectionError:
                pass
        with self.host.connect() as link:
            link.settimeout(20)
            link.sendall(
                b"GET /v1/pair HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\n"
                b"Connection: Upgrade\r\nOrigin: https://evil.example\r\n"
                b"Sec-WebSocket-Version: 13\r\n"
                b"Sec-WebSocket-Key: AAECAwQFBgcICQoLDA0ODw==\r\n\r\n"
            )
            self.assertTrue(link.recv(4096).startswith(b"HTTP/1.1 403"))


if __name__ == "__main__":
    unittest.main()
