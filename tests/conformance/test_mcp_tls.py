"""MCP servers behind TLS: whom the gateway trusts, and what it shows of itself.
docs/protocols/mcp.md, section 7.6."""

from __future__ import annotations

import tempfile
import unittest
from pathlib import Path
from typing import Any

from support.certificates import Authority
from support.mcp import ASK, ERAS, Fixture, McpCase, await_state, servers_of

HERE = "IP:127.0.0.1"


class TlsTest(McpCase):
    @classmethod
    def behind_tls(
        cls, shown: tuple[Path, Path], /, *options: str, host: str = "127.0.0.1", **tls: Path
    ) -> dict[str, Any]:
        """The entry of a fixture that shows that certificate; `tls` is what the gateway is told."""
        words = ("--tls", str(shown[0]), str(shown[1]), *options)
        fixture = cls.enterClassContext(Fixture(*words))
        entry = {"url": f"https://{host}:{fixture.port}/mcp", "ask": ASK}
        return {**entry, **({"tls": {key: str(file) for key, file in tls.items()}} if tls else {})}

    @classmethod
    def servers(cls) -> dict[str, dict[str, Any]]:
        folder = Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        ours, theirs = Authority(folder / "ours"), Authority(folder / "theirs")
        good, mine = ours.issue("server", HERE), ours.issue("gateway", "DNS:gateway")
        stranger = theirs.issue("stranger", "DNS:gateway")
        named = ours.issue("named", "DNS:localhost")
        known, clients = {"ca": ours.cert}, ("--tls-client-ca", str(ours.cert))
        return {
            "legacy": cls.behind_tls(good, "--era", "legacy", **known),
            "modern": cls.behind_tls(good, "--era", "modern", **known),
            "named": cls.behind_tls(named, host="localhost", **known),
            "mutual": cls.behind_tls(good, *clients, **known, cert=mine[0], key=mine[1]),
            # refused, by one side or the other
            "unknown": cls.behind_tls(good),
            "foreign": cls.behind_tls(theirs.issue("foreign", HERE), **known),
            "misnamed": cls.behind_tls(ours.issue("misnamed", "IP:127.0.0.2"), **known),
            "expired": cls.behind_tls(ours.issue("expired", HERE, days=-1), **known),
            "silent": cls.behind_tls(good, *clients, **known),
            "stranger": cls.behind_tls(good, *clients, **known, cert=stranger[0], key=stranger[1]),
            # what cannot be used at all, beside the others
            "fileless": cls.behind_tls(good, ca=folder / "nothing.pem"),
        }

    def test_servers_that_prove_who_they_are_are_used(self) -> None:
        for name in ("legacy", "modern", "named", "mutual"):
            await_state(self.gateway, name, "ready")
            for era in ERAS:
                with self.subTest(f"{era}, {name}"):
                    said = self.client(era).call(f"{name}__greet", {"name": "Ada"})
                    self.assertEqual(said["content"][0]["text"], "Hello, Ada!")

    def test_others_get_nothing_and_the_operator_is_told_why(self) -> None:
        for name, why in (
            ("unknown", "certificate"),
            ("foreign", "certificate"),
            ("misnamed", "mismatch"),
            ("expired", "expired"),
            ("silent", ""),
            ("stranger", ""),
        ):
            with self.subTest(name):
                said = await_state(self.gateway, name, "failing")
                self.assertEqual(said["tools"], 0)
                self.assertTrue(said["error"])
                self.assertIn(why, said["error"])

    def test_one_whose_files_cannot_be_read_is_left_out_alone(self) -> None:
        self.assertIn("mcp.servers.fileless.tls", self.gateway.log_tail(1 << 20))
        self.assertNotEqual(servers_of(self.gateway)["fileless"]["state"], "ready")
        await_state(self.gateway, "modern", "ready")


if __name__ == "__main__":
    unittest.main()
