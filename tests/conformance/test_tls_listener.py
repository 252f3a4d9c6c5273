"""`crab tls init`, and the public listener over TLS with what it made."""

from __future__ import annotations

import json
import os
import signal
import socket
import ssl
import stat
import subprocess
import tempfile
import unittest
from pathlib import Path
from typing import Any

from support.gateway import Gateway, program
from support.wait import PATIENCE, eventually


def tls_init(*words: str, status: int = 0) -> Any:
    done = subprocess.run(
        [program(), "tls", "init", "-o", "json", *words], capture_output=True, text=True, timeout=20
    )
    assert done.returncode == status, f"status {done.returncode}\n{done.stdout}{done.stderr}"
    return json.loads(done.stdout) if status == 0 else done.stderr


class TlsInitTest(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory())) / "tls"

    def test_files_are_private_and_the_certificate_has_the_names(self) -> None:
        made = tls_init("--dir", str(self.folder), "--name", "Crab.Example", "--name", "127.0.0.1")
        self.assertEqual(made["names"], ["crab.example", "127.0.0.1"])
        self.assertTrue(made["ca_is_new"])
        modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in self.folder.iterdir()}
        self.assertEqual(
            modes, {"ca.pem": 0o644, "ca.key": 0o600, "cert.pem": 0o644, "key.pem": 0o600}
        )
        self.assertEqual(stat.S_IMODE(self.folder.stat().st_mode), 0o700)

    def test_a_repeat_keeps_the_authority_and_makes_another_certificate(self) -> None:
        first = tls_init("--dir", str(self.folder), "--name", "a.example")
        leaf = (self.folder / "cert.pem").read_text()
        second = tls_init("--dir", str(self.folder), "--name", "a.example")
        self.assertEqual(
            (second["ca_fingerprint"], second["ca_is_new"]), (first["ca_fingerprint"], False)
        )
        self.assertNotEqual((self.folder / "cert.pem").read_text(), leaf)

    def test_names_that_are_none_and_files_that_do_not_fit_are_refused(self) -> None:
        self.assertIn(
            "neither a host name nor an IP address",
            tls_init("--dir", str(self.folder), "--name", "not a name", status=2),
        )
        self.assertFalse(self.folder.exists())
        one, other = self.folder / "one", self.folder / "other"
        for folder in (one, other):
            folder.parent.mkdir(exist_ok=True)
            tls_init("--dir", str(folder), "--name", "a.example")
        given = tls_init("--cert", str(one / "cert.pem"), "--key", str(one / "key.pem"))
        self.assertEqual((given["names"], given["cert"]), (["a.example"], str(one / "cert.pem")))
        self.assertIn(
            "INVALID_ARGS",
            tls_init("--cert", str(one / "cert.pem"), "--key", str(other / "key.pem"), status=2),
        )
        tls_init("--cert", str(one / "cert.pem"), status=2)


class TlsListenerTest(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory())) / "tls"
        self.made = tls_init(
            "--dir", str(self.folder), "--name", "localhost", "--name", "127.0.0.1"
        )
        self.gateway = self.enterContext(
            Gateway(
                {
                    "listen": {
                        "host_names": ["crab.example"],
                        "tls": {"cert": self.made["cert"], "key": self.made["key"]},
                    }
                }
            )
        )

    def connect(self) -> ssl.SSLSocket:
        context = ssl.create_default_context(cafile=self.made["ca"])
        return context.wrap_socket(
            socket.create_connection(self.gateway.public, PATIENCE), server_hostname="localhost"
        )

    def get(self, path: str) -> str:
        with self.connect() as link:
            link.sendall(
                f"GET {path} HTTP/1.1\r\nHost: localhost:{self.gateway.public[1]}\r\nConnection: "
                f"close\r\n\r\n".encode()
            )
            data = b""
            while part := link.recv(65536):
                data += part
        return data.decode(errors="replace")

    def test_who_trusts_the_authority_gets_the_page_and_nobody_else(self) -> None:
        page = self.get("/device/")
        if "without the device page" not in page:
            self.assertIn("200 OK", page)
            self.assertIn(f"connect-src 'self' wss://localhost:{self.gateway.public[1]};", page)
        with self.assertRaises(ssl.SSLCertVerificationError):
            ssl.create_default_context().wrap_socket(
                socket.create_connection(self.gateway.public, PATIENCE), server_hostname="localhost"
            )

    def test_a_pairing_code_comes_with_the_address_of_the_page(self) -> None:
        answer = self.gateway.admin_request(
            "POST", "/v1/admin/devices/pair", {"name": "phone"}
        ).json()
        if "page" in answer:
            self.assertEqual(
                answer["page"],
                f"https://crab.example:{self.gateway.public[1]}/device/#pair={answer['code']}",
            )

    def test_a_device_and_a_caller_are_told_whom_to_trust(self) -> None:
        url = f"//localhost:{self.gateway.public[1]}"
        token = self.gateway.folder / "token"
        token.write_text(self.gateway.pair("laptop"))
        token.chmod(0o600)
        device = [
            program(),
            "device",
            "--gateway",
            f"wss:{url}",
            "--token-file",
            str(token),
            "--name",
            "laptop",
            "--state",
            str(self.gateway.folder / "device.json"),
            "--exec",
            "greet=echo hello",
        ]
        refused = subprocess.run([*device, "--once"], capture_output=True, text=True, timeout=20)
        self.assertNotEqual(refused.returncode, 0)
        self.assertIn("certificate", refused.stderr)
        trusting = subprocess.Popen(
            [*device, "--ca-file", self.made["ca"]],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            eventually(lambda: "greet" in self.gateway.crab("tools", "list"), "the device is there")
            call = [
                program(),
                "call",
                "greet",
                "--url",
                f"https:{url}",
                "--token",
                self.gateway.pair("ci", ("caller",)),
            ]
            self.assertNotEqual(subprocess.run(call, capture_output=True, timeout=20).returncode, 0)
            done = subprocess.run(
                call,
                capture_output=True,
                text=True,
                timeout=20,
                env={**os.environ, "CRAB_CA_FILE": self.made["ca"]},
            )
            self.assertEqual((done.returncode, done.stdout.strip()), (0, "hello"), done.stderr)
        finally:
            trusting.terminate()
            trusting.wait(20)

    def test_a_new_certificate_is_shown_after_a_reload(self) -> None:
        def serial() -> str:
            with self.connect() as link:
                return link.getpeercert()["serialNumber"]

        before = serial()
        tls_init("--dir", str(self.folder), "--name", "localhost", "--name", "127.0.0.1")
        self.assertEqual(serial(), before)
        os.kill(self.gateway.process.pid, signal.SIGHUP)
        eventually(lambda: serial() != before, "another certificate")


if __name__ == "__main__":
    unittest.main()
