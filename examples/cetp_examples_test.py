"""Runs the providers of examples/cetp_*, each with its manifest, behind a real bridge and gateway
(ctest: examples.cetp)."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

from support.bridge import BridgeHome
from support.bus import SessionBus
from support.case import GatewayCase
from support.wait import eventually

HERE = Path(__file__).resolve().parent


class Examples(GatewayCase):
    def setUp(self) -> None:
        self.home = BridgeHome()
        self.addCleanup(self.home.close)

    def install(self, example: str, name: str, **replaced: str) -> None:
        """Puts the example's manifest in its place, with other paths."""
        text = (HERE / example / f"{name}.ini").read_text()
        for old, new in replaced.items():
            assert f"{old}=" in text
            text = "".join(
                f"{old}={new}\n" if line.startswith(f"{old}=") else line
                for line in text.splitlines(keepends=True)
            )
        self.home.write(self.home.manifests / f"{name}.ini", text)

    def connect(self, *tools: str) -> None:
        self.home.start(self.gateway, self.new_token("desk"))
        self.gateway.wait_listed(*tools)

    def test_the_ledger_is_started_by_the_bus_and_asks_for_consent(self) -> None:
        consent = self.home.folder / "consent"
        bus = SessionBus(
            self.home.folder, {**self.home.environment, "LEDGER_CONSENT": str(consent)}
        )
        bus.start()
        self.addCleanup(bus.stop)
        self.home.environment["DBUS_SESSION_BUS_ADDRESS"] = bus.address
        bus.service("org.example.Ledger", os.environ["CETP_LEDGER"], "--idle", "2")
        self.install("cetp_ledger", "org.example.Ledger")
        self.assertEqual(self.home.crab("list").returncode, 0)
        self.connect("ledger__balance", "ledger__list_accounts")
        self.assertEqual(
            json.loads(self.gateway.call("ledger__list_accounts", {}).result["text"]),
            ["bank", "cash"],
        )
        refused = self.gateway.call("ledger__balance", {"account": "cash"})
        self.assertEqual(
            refused.error["message"],
            "[AUTH_REQUIRED] no consent for balances — Open Ledger and allow it",
        )
        consent.write_text("")
        self.assertEqual(
            json.loads(self.gateway.call("ledger__balance", {"account": "cash"}).result["text"]),
            {"balance": 12.5},
        )
        self.assertIn(
            "[INVALID_ARGS]",
            self.gateway.call("ledger__balance", {"account": "car"}).error["message"],
        )

    def test_the_ledger_answers_over_a_socket_and_as_a_command_too(self) -> None:
        path = self.home.folder / "ledger.sock"
        ledger = subprocess.Popen([os.environ["CETP_LEDGER"], "--socket", str(path)])
        try:
            self.home.declare("org.example.Ledger", Transport="unix", Socket=str(path))
            eventually(path.exists, "it listens")
            self.assertEqual(
                json.loads(
                    self.home.crab(
                        "call", "org.example.Ledger", "balance", '{"account":"bank"}'
                    ).stdout
                ),
                {"balance": 340},
            )
        finally:
            ledger.terminate()
            self.assertEqual(ledger.wait(10), 0)
        self.assertFalse(path.exists())
        done = subprocess.run(
            [os.environ["CETP_LEDGER"], "execute_tool"],
            input='{"account":"cash"}',
            env={"CETP_TOOL_NAME": "balance"},
            capture_output=True,
            text=True,
        )
        self.assertEqual(
            json.loads(done.stdout), {"status": "success", "data": '{"balance":12.50}'}
        )

    def test_the_notes_are_read_over_their_socket(self) -> None:
        notes = self.home.folder / "notes"
        notes.mkdir()
        (notes / "shopping.txt").write_text("Käse\n")
        socket = self.home.folder / "run" / "cetp-notes.sock"
        provider = subprocess.Popen(
            [sys.executable, HERE / "cetp_notes" / "notes.py", socket, notes],
            stderr=subprocess.DEVNULL,
        )
        try:
            eventually(socket.exists, "it listens")
            self.install("cetp_notes", "org.example.Notes")
            self.connect("notes__read_note")
            self.assertEqual(
                self.gateway.call("notes__read_note", {"name": "shopping"}).result,
                {"text": "Käse\n"},
            )
            self.assertIn(
                "[INVALID_ARGS]",
                self.gateway.call("notes__read_note", {"name": "../x"}).error["message"],
            )
            self.assertEqual(
                json.loads(self.gateway.call("notes__list_notes", {}).result["text"]), ["shopping"]
            )
        finally:
            provider.kill()
            provider.wait(10)

    @unittest.skipUnless(shutil.which("bwrap"), "no bubblewrap")
    def test_the_disk_script_runs_in_its_sandbox(self) -> None:
        script = self.home.folder / "libexec" / "disk-tools"
        script.parent.mkdir()
        shutil.copy(HERE / "cetp_disk" / "disk-tools", script)
        self.install("cetp_disk", "org.example.Disk", Exec=str(script))
        self.connect("disk__disk_usage", "disk__kernel")
        usage = json.loads(self.gateway.call("disk__disk_usage", {}).result["text"])
        self.assertGreater(usage["size_kib"], usage["used_kib"])
        self.assertEqual(
            json.loads(self.gateway.call("disk__kernel", {}).result["text"]),
            {"release": os.uname().release},
        )


if __name__ == "__main__":
    unittest.main()
