"""`crab bridge` with providers on a private session bus and as sandboxed commands: docs/protocols/cetp.md, sections 2 and 3."""

from __future__ import annotations

import json
import os
import shutil
import unittest
from pathlib import Path

from support.bridge import BridgeHome, success, tool
from support.bus import SessionBus
from support.case import GatewayCase
from support.wait import Stopwatch, eventually

LEDGER = os.environ.get("CETP_LEDGER", "")
ENTRY = "[Desktop Entry]\nType=Application\nName=Ledger\nExec=ledger\nImplements=com.clawseed.Cetp.Provider1;\n"


class BusCase(GatewayCase):
    def setUp(self) -> None:
        self.home = BridgeHome()
        self.addCleanup(self.home.close)
        self.bus = SessionBus(self.home.folder, self.home.environment)
        self.home.environment["DBUS_SESSION_BUS_ADDRESS"] = self.bus.address
        self.bus.start()
        self.addCleanup(self.bus.stop)

    def connect(self) -> None:
        self.home.start(self.gateway, self.new_token("desk"))

    def wait_tools(self, *names: str, limit: float = 8.0) -> None:
        eventually(lambda: {name for name in self.gateway.tools() if "__" in name} == set(names), f"the tools are {names}", limit)

    def call(self, name: str, args: object = None, **members: object) -> object:
        return self.gateway.call(f"{self.slug}__{name}", args or {}, **members)

    def stamp(self, name: str, *rest: str) -> Path:
        """A service command that leaves a line in a file each time it is started, and then becomes `rest`."""
        mark = self.home.folder / f"{name}.started"
        script = self.home.folder / f"{name}.sh"
        script.write_text(f"#!/bin/sh\necho started >> {mark}\n{' '.join(rest)}\n")
        script.chmod(0o755)
        self.bus.service(name, script)
        return mark

    @staticmethod
    def starts(mark: Path) -> int:
        return len(mark.read_text().splitlines()) if mark.exists() else 0


@unittest.skipUnless(shutil.which("dbus-daemon") and LEDGER, "no dbus-daemon, or no provider was built")
class OnTheBus(BusCase):
    LEDGER_TOOLS = ("ledger__balance", "ledger__list_accounts")

    def test_cetp_04_49_all_kinds_of_records_are_found_and_finding_starts_nothing(self) -> None:
        mark = self.stamp("org.example.Ledger", "exec", LEDGER)
        self.home.declare("org.example.Ledger")
        self.home.write(self.home.applications / "org.example.Desk.desktop", ENTRY)
        self.bus.service("org.example.Snap.Cetp1", "/bin/false")
        self.home.crab("list")
        self.assertEqual(self.starts(mark), 0)
        self.connect()
        self.wait_tools(*self.LEDGER_TOOLS)
        self.assertEqual(self.starts(mark), 1)
        self.home.wait_state("org.example.Snap", "off")
        self.assertEqual({entry["id"] for entry in self.home.status()["providers"]}, {"org.example.Ledger", "org.example.Desk", "org.example.Snap"})

    def test_a_call_goes_over_the_bus_and_an_idle_provider_is_started_again(self) -> None:
        mark = self.stamp("org.example.Ledger", "exec", LEDGER, "--idle", "1")
        self.home.declare("org.example.Ledger")
        self.connect()
        self.wait_tools(*self.LEDGER_TOOLS)
        self.assertEqual(json.loads(self.call("ledger__balance", {"account": "cash"}).result["text"]), {"balance": 12.5})
        eventually(lambda: not self._is_running("cetp_ledger"), "the provider has left", 10)
        self.assertEqual(json.loads(self.call("ledger__balance", {"account": "bank"}).result["text"]), {"balance": 340})
        self.assertGreaterEqual(self.starts(mark), 2)

    def _is_running(self, name: str) -> bool:
        """Whether a process of this bus has that name."""
        for folder in Path("/proc").iterdir():
            if folder.name.isdigit():
                try:
                    if (folder / "comm").read_text().strip() == name and self.bus.address.encode() in (folder / "environ").read_bytes():
                        return True
                except OSError:
                    continue
        return False

    def test_cetp_70_a_provider_is_listed_once_its_service_file_appears(self) -> None:
        self.home.declare("org.example.Ledger")
        self.connect()
        self.home.wait_state("org.example.Ledger", "left out")
        self.assertIn("provider did not answer", self.home.provider_status("org.example.Ledger")["problem"])
        self.bus.service("org.example.Ledger", LEDGER)
        self.wait_tools(*self.LEDGER_TOOLS)

    def test_cetp_71_a_service_that_exits_at_once_is_left_out_after_one_repeat(self) -> None:
        mark = self.stamp("org.example.Ledger", "exit 1")
        self.home.declare("org.example.Ledger")
        self.connect()
        self.home.wait_state("org.example.Ledger", "left out")
        self.assertLessEqual(self.starts(mark), 3)

    def test_cetp_72_a_service_that_never_takes_its_name_times_out_and_is_started_once(self) -> None:
        mark = self.stamp("org.example.Ledger", "exec sleep 20")
        self.home.declare("org.example.Ledger")
        self.connect()
        self.home.wait_state("org.example.Ledger", "left out", 10)
        self.assertIn("no answer within 5000 ms", self.home.provider_status("org.example.Ledger")["problem"])
        self.assertEqual(self.starts(mark), 1)

    def test_cetp_76_a_refusal_by_the_bus_is_permission_denied(self) -> None:
        self.home.declare("org.example.Denied")
        self.bus.service("org.example.Denied", LEDGER)
        self.connect()
        self.home.wait_state("org.example.Denied", "left out")
        self.assertIn("[PERMISSION_DENIED]", self.home.provider_status("org.example.Denied")["problem"])

    def test_cetp_63_when_the_bus_goes_the_tools_go_and_come_back_with_it(self) -> None:
        self.bus.service("org.example.Ledger", LEDGER)
        self.home.declare("org.example.Ledger")
        self.connect()
        self.wait_tools(*self.LEDGER_TOOLS)
        self.bus.stop()
        self.wait_tools()
        eventually(lambda: not self._is_running("cetp_ledger"), "the provider has left with its bus")
        self.bus.start()
        self.wait_tools(*self.LEDGER_TOOLS)


@unittest.skipUnless(shutil.which("bwrap"), "no bubblewrap")
class Commands(BusCase):
    def script(self, name: str, body: str, **keys: str) -> None:
        """A provider in shell with the tool `run`; `body` is what execute_tool does."""
        path = self.home.folder / "libexec" / name
        path.parent.mkdir(exist_ok=True)
        listing = json.dumps(success({"tools": [tool("run")]}))
        path.write_text(f"#!/bin/sh\nif [ \"$1\" = list_tools ]; then echo '{listing}'; exit; fi\n{body}\n")
        path.chmod(0o755)
        self.home.declare(f"org.example.{name}", Transport="exec", Exec=str(path), **keys)

    def run_tool(self, name: str, **members: object) -> object:
        self.gateway.wait_listed(f"{name}__run")
        return self.call(f"{name}__run", **members)

    def test_cetp_58_a_command_can_write_nowhere_reach_nobody_and_read_no_home(self) -> None:
        secret = self.home.folder / "secret"
        secret.write_text("x")
        checks = {"write": f"touch {self.home.folder}/libexec/x", "etc": "touch /etc/x", "tmp": "touch /tmp/x", "home": f"cat {secret}",
                  "bus": f"test -e {self.home.folder}/bus", "network": "grep -q . /proc/net/route && test $(wc -l < /proc/net/route) -gt 1"}
        body = "out=''\n" + "".join(f"if {command} >/dev/null 2>&1; then out=\"$out {name}\"; fi\n" for name, command in checks.items())
        self.script("tester", body + "printf '{\"status\":\"success\",\"data\":\"%s\"}' \"$out\"")
        self.connect()
        self.assertEqual(self.run_tool("tester").result, {"text": " tmp"})

    def test_cetp_59_a_command_past_its_deadline_is_gone_with_all_it_started(self) -> None:
        marker = f"31{os.getpid()}"
        self.script("slow", f"sleep {marker} & sleep {marker}")
        self.connect()
        watch = Stopwatch()
        self.assertIn("no answer within", self.run_tool("slow", timeout_ms=2000).error["message"])
        self.assertLess(watch.seconds, 5)
        eventually(lambda: not any(self._runs(folder, marker) for folder in Path("/proc").iterdir()), "the whole group is gone", 1.5)

    @staticmethod
    def _runs(folder: Path, word: str) -> bool:
        try:
            return folder.name.isdigit() and word.encode() in (folder / "cmdline").read_bytes().split(b"\0")
        except OSError:
            return False

    def test_a_command_that_wishes_for_more_is_off_until_the_user_agrees(self) -> None:
        (self.home.folder / "secret").write_text("of mine")
        self.script("reader", f"printf '{{\"status\":\"success\",\"data\":\"%s\"}}' \"$(cat {self.home.folder}/secret)\"", Home="read")
        self.connect()
        self.assertEqual(self.home.provider_status("org.example.reader")["state"], "off")
        self.assertIn("home", self.home.crab("list").stdout)
        self.home.crab("enable", "org.example.reader")
        self.assertEqual(self.run_tool("reader").result, {"text": "of mine"})


if __name__ == "__main__":
    unittest.main()
