"""`crab host … --listen`: pairing with a real gateway, and what a host behind mutual TLS serves to
whom.

docs/protocols/rtp.md, sections 3 (rows 1 and 2), 5.8 and 6. Numbers are the checklist's.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import unittest
from collections.abc import Callable, Iterator
from pathlib import Path

from support import rtp
from support.gateway import Gateway, program
from support.host import PairedHost
from support.http import request_bytes
from support.wait import eventually

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from pairing_remote import openssl  # noqa: E402


class Certificates:
    """Client certificates as the gateway's authority, or another one, would issue them."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.count = folder, 0

    def authority(self) -> tuple[Path, Path]:
        """A pairing authority that nobody knows."""
        return self.make(
            "/CN=crab-pairing-ca-test", ["-addext", "basicConstraints=critical,CA:TRUE"]
        )

    def make(self, subject: str, extra: list[str]) -> tuple[Path, Path]:
        self.count += 1
        certificate, key = self.folder / f"c{self.count}.pem", self.folder / f"c{self.count}.key"
        openssl(
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:P-256",
            "-nodes",
            "-subj",
            subject,
            "-keyout",
            str(key),
            "-out",
            str(certificate),
            *extra,
        )
        return certificate, key

    def issue(
        self,
        authority: tuple[Path, Path],
        uri: str = "crab://gateway/test",
        days: tuple[str, str] = ("20260101000000Z", "20480101000000Z"),
    ) -> tuple[Path, Path]:
        """A leaf with this SAN, valid between these dates."""
        self.count += 1
        certificate, key, request = (
            self.folder / f"c{self.count}.{end}" for end in ("pem", "key", "csr")
        )
        openssl(
            "req",
            "-new",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:P-256",
            "-nodes",
            "-subj",
            "/CN=test",
            "-keyout",
            str(key),
            "-out",
            str(request),
        )
        work = Path(tempfile.mkdtemp(dir=self.folder))
        (work / "index").touch()
        (work / "ca.conf").write_text(
            f"[ca]\ndefault_ca=d\n[d]\ndatabase={work}/index\nnew_certs_dir={work}\n"
            f"rand_serial=yes\ndefault_md=sha256\npolicy=p\n"
            f"x509_extensions=x\nunique_subject=no\n[p]\ncommonName=supplied\n[x]\n"
            f"subjectAltName=URI:{uri}\n"
            "extendedKeyUsage=clientAuth,serverAuth\nbasicConstraints=CA:FALSE\n"
        )
        openssl(
            "ca",
            "-batch",
            "-config",
            str(work / "ca.conf"),
            "-cert",
            str(authority[0]),
            "-keyfile",
            str(authority[1]),
            "-in",
            str(request),
            "-out",
            str(certificate),
            "-startdate",
            days[0],
            "-enddate",
            days[1],
            "-notext",
        )
        return certificate, key


class PairedHostCase(unittest.TestCase):
    KIND = "memory"

    def setUp(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="crab-paired-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.gateway = self.enterContext(Gateway())
        self.gateway_key = self.gateway.admin_request("GET", "/v1/identity").json()[
            "public_key_ed25519"
        ]
        self.certificates = Certificates(self.folder)
        self.host = self.new_host("memory-east")

    def new_host(self, name: str, key: str | None = None) -> PairedHost:
        folder = self.folder / name
        folder.mkdir()
        host = PairedHost(folder, self.KIND, key or self.gateway_key, name)
        self.addCleanup(self.end, host)
        return host

    def end(self, host: PairedHost) -> None:
        if host.process.poll() is None:
            self.assertEqual(host.end(), 0, host.log())

    def pair(self, *flags: str, host: PairedHost | None = None) -> str:
        host = host or self.host
        with self.pairing(host):
            return self.gateway.crab(
                "peers", "pair", "tool", host.endpoint, host.component_id, *flags
            )

    @contextlib.contextmanager
    def pairing(self, host: PairedHost) -> Iterator[None]:
        """The gateway is done with a pairing a moment before the host is."""
        before = host.pairings()
        yield
        eventually(lambda: host.pairings() > before, "the host has stored the end of the pairing")

    @property
    def authority(self) -> tuple[Path, Path]:
        state = self.gateway.folder / "state"
        return state / "pairing_ca_cert.pem", state / "pairing_ca_key.pem"

    def gateways(self) -> tuple[Path, Path]:
        """A certificate as good as the gateway's own."""
        return self.certificates.issue(self.authority)

    def query(self) -> dict:
        return rtp.call_request("memory.query", {})

    def refused(self, certificate: tuple[Path, Path] | None, status: int, code: str) -> None:
        for method, path, body in (
            ("GET", "/v1/tools", None),
            ("POST", "/v1/tools/call", self.query()),
            ("POST", "/v1/tools/cancel", {}),
        ):
            answer = self.host.fetch(method, path, body, certificate)
            self.assertEqual(answer.status, status, (path, answer.body))
            said = answer.json()
            if path == "/v1/tools/call":
                rtp.check_response(said)
                self.assertEqual(
                    (said["call_id"], said["status"], said["duration_ms"], said["error"]["code"]),
                    ("", "error", 0, code),
                )
            else:
                self.assertEqual(said["code"], code)


class PairingTest(PairedHostCase):
    def test_before_pairing_no_tool_is_listed_or_called_and_health_is_open(self) -> None:  # 55
        self.refused(None, 403, "PAIRING_REQUIRED")
        self.refused(self.gateways(), 403, "PAIRING_REQUIRED")
        self.assertEqual(self.host.fetch("GET", "/healthz").json(), {"ok": True})
        self.assertEqual(self.host.fetch("GET", "/v1/pair").status, 426)
        self.assertEqual(self.host.fetch("GET", "/v1/else").status, 404)

    def test_crab_pair_tool_pairs_it_and_the_gateways_certificate_is_served(self) -> None:  # 36
        bootstrap = self.host.shown()
        printed = self.pair("--remote-key", self.host.key)
        self.assertIn("pairing complete\n", printed)
        shown = self.host.shown()
        self.assertNotEqual(shown, bootstrap)
        self.assertIn(
            f"mtls_cert_fingerprint=sha256:{hashlib.sha256(shown).hexdigest()}\n", printed
        )
        mine = self.gateways()
        document = self.host.fetch("GET", "/v1/tools", None, mine).json()
        self.assertEqual(
            [tool["name"] for tool in document["tools"]],
            ["memory.append", "memory.delete", "memory.query"],
        )
        with self.host.connect(mine) as link:
            for n in range(3):
                request = rtp.call_request("memory.append", {"entries": [{"text": f"kept {n}"}]})
                answer = self.host.ask(link, "POST", "/v1/tools/call", request)
                rtp.check_response(answer.json(), request)
                self.assertEqual((answer.status, answer.json()["status"]), (200, "ok"))

    def test_another_remote_key_or_gateway_key_pairs_nothing_and_tells_nothing(
        self,
    ) -> None:  # 22, 34
        with self.assertRaises(AssertionError) as caught:
            self.pair("--remote-key", "A" * 43 + "=")
        self.assertIn("IDENTITY_MISMATCH", str(caught.exception))
        other = self.new_host("memory-west", "A" * 43 + "=")
        with self.assertRaises(AssertionError) as caught:
            self.pair(host=other)
        self.assertIn("GATEWAY_KEY_MISMATCH", str(caught.exception))
        self.refused(self.gateways(), 403, "PAIRING_REQUIRED")

    def test_a_pairing_survives_kill_9_and_so_does_the_key_of_the_host(self) -> None:  # 40
        self.pair()
        shown, key = self.host.shown(), self.host.key
        self.host.end(signal.SIGKILL)
        self.host.start()
        self.assertEqual((self.host.shown(), self.host.key), (shown, key))
        self.assertEqual(self.host.fetch("GET", "/v1/tools", None, self.gateways()).status, 200)

    def test_pairing_again_and_renewing_change_the_certificate_for_new_connections(self) -> None:
        self.pair()
        first, mine = self.host.shown(), self.gateways()
        with self.host.connect(mine) as kept:
            self.assertEqual(self.host.ask(kept, "GET", "/v1/tools").status, 200)
            with self.pairing(self.host):
                self.gateway.crab("peers", "renew", "tool_host/memory-east")
            second = self.host.shown()
            self.assertNotEqual(first, second)
            self.assertEqual(self.host.ask(kept, "GET", "/v1/tools").status, 200)
        self.pair("--replace")
        self.assertNotIn(self.host.shown(), (first, second))


class CallerTest(PairedHostCase):
    def setUp(self) -> None:
        super().setUp()
        self.pair()

    def test_56_without_a_certificate_or_with_one_that_does_not_hold_it_is_401(self) -> None:
        past = self.certificates.issue(self.authority, days=("20250101000000Z", "20250201000000Z"))
        future = self.certificates.issue(
            self.authority, days=("20470101000000Z", "20480101000000Z")
        )
        selfish = self.certificates.make(
            "/CN=test", ["-addext", "subjectAltName=URI:crab://gateway/test"]
        )
        foreign = self.certificates.issue(self.certificates.authority())
        for certificate in (None, past, future, selfish, foreign):
            self.refused(certificate, 401, "UNAUTHORIZED")
        self.assertEqual(self.host.fetch("GET", "/healthz").status, 200)

    def test_43_another_name_under_the_same_authority_is_403(self) -> None:
        for uri in (
            "crab://gateway/test2",
            "crab://peer/tool_host/memory-east",
            "crab://gateway/test,URI:crab://gateway/other",
        ):
            self.refused(self.certificates.issue(self.authority, uri), 403, "FORBIDDEN")

    def test_56_the_body_of_a_refused_call_is_not_read(self) -> None:
        with self.host.connect() as link:
            link.sendall(
                request_bytes("POST", "/v1/tools/call", {"Content-Length": "1000"})
            )  # and not a byte of it follows
            self.assertIn(b" 401 ", link.recv(4096).split(b"\r\n")[0])
        with self.host.connect(self.gateways()) as link:
            link.sendall(
                request_bytes("POST", "/v1/tools/call", {"Content-Length": str(2 * 1024 * 1024)})
            )
            self.assertIn(b" 413 ", link.recv(4096).split(b"\r\n")[0])

    def test_tls_below_1_3_fails(self) -> None:  # 16, at the host
        with self.assertRaises((ssl.SSLError, ConnectionError)):
            self.host.connect(self.gateways(), ssl.TLSVersion.TLSv1_2)

    def test_a_kept_connection_is_judged_again_for_each_request(self) -> None:
        mine = self.gateways()
        with self.host.connect(mine) as kept:
            self.assertEqual(self.host.ask(kept, "GET", "/v1/tools").status, 200)
            other = self.enterContext(Gateway({"gateway": {"name": "other"}}))
            self.assertNotEqual(
                other.admin_request("GET", "/v1/identity").json()["public_key_ed25519"],
                self.gateway_key,
            )
            # The host's operator gives it to another gateway; the key of the host stays.
            self.assertEqual(self.host.end(), 0)
            self.host.gateway_key = other.admin_request("GET", "/v1/identity").json()[
                "public_key_ed25519"
            ]
            self.host.start()
        with self.host.connect(mine) as kept:
            self.assertEqual(self.host.ask(kept, "GET", "/v1/tools").status, 200)
            other.crab("peers", "pair", "tool", self.host.endpoint, self.host.component_id)
            # The old gateway is let in until the host has stored the end of the new pairing.
            eventually(
                lambda: self.host.ask(kept, "GET", "/v1/tools").status == 401,
                "the kept connection is judged by the new pairing",
            )

    def test_nobody_shares_the_calls_of_another_identity(self) -> None:
        request = rtp.call_request(
            "memory.append", {"entries": [{"text": "mine"}]}, idempotency_key="k"
        )
        first = self.host.fetch("POST", "/v1/tools/call", request, self.gateways())
        again = self.host.fetch("POST", "/v1/tools/call", request, self.gateways())
        self.assertNotIn("crab-replayed", first.headers)
        self.assertEqual(again.headers["crab-replayed"], "true")
        self.assertEqual(again.json(), first.json())


class Wire:
    """Between a gateway and a host: passes everything on until `lost` says that what comes next
    from this side gets lost."""

    def __init__(self, port: int, lost: Callable[[str], bool]) -> None:
        self.port, self.lost = port, lost
        self.links: list[socket.socket] = []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.endpoint = f"wss://127.0.0.1:{self.listener.getsockname()[1]}/v1/pair"
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        for link in [self.listener, *self.links]:
            link.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = self.listener.accept()
                far = socket.create_connection(("127.0.0.1", self.port))
                self.links += [near, far]
                for side, source, target in (("gateway", near, far), ("host", far, near)):
                    threading.Thread(
                        target=self._pass_on, args=(side, source, target), daemon=True
                    ).start()

    def _pass_on(self, side: str, source: socket.socket, target: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while (data := source.recv(65536)) and not self.lost(side):
                target.sendall(data)
        for end in (source, target):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)


class LostEndTest(PairedHostCase):
    """kill -9 and broken wires between messages 6 and 8; the host has stored its certificate when
    message 7 leaves."""

    def installed(self) -> bool:
        file = self.host.folder / self.KIND / "pairing" / "remote_state.json"
        return file.exists() and json.loads(file.read_text()).get("installed") is not None

    def pair_and_lose(self, what: str) -> None:
        wire = Wire(self.host.port, lambda side: side == what and self.installed())
        self.addCleanup(wire.close)
        self.gateway.admin_request(
            "POST",
            "/v1/pairings",
            {
                "component_type": "tool_host",
                "component_id": "memory-east",
                "endpoint": wire.endpoint,
            },
            timeout=25.0,
        )
        eventually(self.installed, "the certificate is stored")
        self.host.end(signal.SIGKILL)
        self.assertTrue(self.installed())
        self.host.start()

    def test_41_a_lost_complete_is_healed_by_the_gateways_certificate_and_nobody_elses(
        self,
    ) -> None:
        bootstrap = self.host.shown()
        self.pair_and_lose("gateway")
        self.assertNotEqual(self.host.shown(), bootstrap)
        self.refused(None, 403, "PAIRING_REQUIRED")
        self.refused(
            self.certificates.issue(self.authority, "crab://gateway/else"), 403, "PAIRING_REQUIRED"
        )
        self.assertEqual(self.host.fetch("GET", "/v1/tools", None, self.gateways()).status, 200)
        self.assertFalse(self.installed())
        self.host.end(signal.SIGKILL)
        self.host.start()
        self.assertEqual(self.host.fetch("GET", "/v1/tools", None, self.gateways()).status, 200)
        self.refused(None, 401, "UNAUTHORIZED")

    def test_after_a_lost_csr_installed_the_pairing_is_made_again(self) -> None:
        self.pair_and_lose("host")
        self.assertIn("pairing complete\n", self.pair())
        self.assertEqual(self.host.fetch("GET", "/v1/tools", None, self.gateways()).status, 200)

    def test_a_first_pairing_whose_end_was_lost_is_made_again(self) -> None:
        self.pair_and_lose("gateway")
        self.assertIn("pairing complete\n", self.pair("--replace"))
        eventually(lambda: not self.installed(), "the host has stored the end")
        self.assertEqual(self.host.fetch("GET", "/v1/tools", None, self.gateways()).status, 200)


class UsageTest(unittest.TestCase):
    def test_wrong_flags_are_exit_2(self) -> None:
        for words in (
            ["memory"],
            ["memory", "--listen", "127.0.0.1:0"],
            ["memory", "--listen", "127.0.0.1:0", "--gateway-key", "x"],
            ["memory", "--unix", "/tmp/x", "--listen", "127.0.0.1:0"],
            ["memory", "--unix", "/tmp/x", "--id", "a"],
            ["memory", "--listen", "nowhere", "--gateway-key", "A" * 43 + "="],
        ):
            done = subprocess.run(
                [program(), "host", *words], capture_output=True, text=True, timeout=20
            )
            self.assertEqual((done.returncode, done.stdout), (2, ""), words)


class OperatorMadeCaTest(PairedHostCase):
    """Sections 5.1 and 6: with an operator-made CA on both sides, which the original gateway needs
    on wss."""

    def setUp(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="crab-paired-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.certificates = Certificates(self.folder)
        self.ca = self.certificates.authority()
        own, self.hosts = self.certificates.issue(self.ca), self.certificates.issue(
            self.ca, "crab://host/east,IP:127.0.0.1"
        )
        self.gateway = self.enterContext(
            Gateway({"pairing": {"ca": str(self.ca[0]), "cert": str(own[0]), "key": str(own[1])}})
        )
        self.gateway_key = self.gateway.admin_request("GET", "/v1/identity").json()[
            "public_key_ed25519"
        ]
        folder = self.folder / "east"
        folder.mkdir()
        self.host = PairedHost(
            folder,
            self.KIND,
            self.gateway_key,
            "east",
            "--tls-ca",
            str(self.ca[0]),
            "--tls-cert",
            str(self.hosts[0]),
            "--tls-key",
            str(self.hosts[1]),
        )
        self.addCleanup(self.end, self.host)

    def upgraded(self, certificate: tuple[Path, Path] | None) -> bytes:
        """The status line that an upgrade on the pairing path gets."""
        with self.host.connect(certificate) as connection:
            connection.sendall(
                b"GET /v1/pair HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
                b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
            )
            return connection.recv(4096).partition(b"\r\n")[0]

    def test_it_shows_that_cas_certificate_pairs_with_its_gateway_and_is_renewed(self) -> None:
        self.assertEqual(self.host.shown(), ssl.PEM_cert_to_DER_cert(self.hosts[0].read_text()))
        self.assertIn("pairing complete\n", self.pair())
        paired = self.host.shown()
        self.assertNotEqual(paired, ssl.PEM_cert_to_DER_cert(self.hosts[0].read_text()))
        self.gateway.wait_listed("memory.query")
        with self.pairing(self.host):
            self.gateway.crab("peers", "renew", "tool_host/east")
        self.assertNotEqual(self.host.shown(), paired)

    def test_only_who_has_a_certificate_of_that_ca_may_try_to_pair(self) -> None:
        stranger = self.certificates.issue(self.certificates.authority())
        for certificate in (None, stranger):
            self.assertTrue(self.upgraded(certificate).startswith(b"HTTP/1.1 401 "), certificate)
        self.assertTrue(
            self.upgraded(self.certificates.issue(self.ca)).startswith(b"HTTP/1.1 101 ")
        )

    def test_files_that_do_not_fit_stop_the_start(self) -> None:
        stranger = self.certificates.issue(self.certificates.authority())
        for ca, pair in ((self.ca[0], stranger), (self.folder / "nowhere", self.hosts)):
            words = [
                "memory",
                "--listen",
                "127.0.0.1:0",
                "--gateway-key",
                self.gateway_key,
                "--state",
                str(self.folder / "s"),
                "--tls-ca",
                str(ca),
                "--tls-cert",
                str(pair[0]),
                "--tls-key",
                str(pair[1]),
            ]
            done = subprocess.run(
                [program(), "host", *words], capture_output=True, text=True, timeout=20
            )
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertIn(str(pair[0] if ca == self.ca[0] else ca), done.stderr)


if __name__ == "__main__":
    unittest.main()
