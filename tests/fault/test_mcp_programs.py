"""Programs of MCP servers: none of what they have started outlives them or the gateway, however it
ends, and in a sandbox they have no more than it says. docs/protocols/mcp.md, sections 2.6 and 8."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import unittest
from pathlib import Path
from typing import Any

from support.gateway import Gateway, program
from support.wait import eventually
from test_commands import can_sandbox

SCRIPT = Path(__file__).resolve().parent / "mcp_program.py"
PYTHON = "/usr/bin/python3"  # that every sandbox shows
MIB = 1 << 20


def processes_of(mark: str) -> list[int]:
    """Those with this word in their command line, wherever they are; not zombies, which have
    none."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if mark.encode() in words and b"gateway" not in words:
            found.append(int(entry.name))
    return found


def text_of(result: Any) -> str:
    """Of the blocks of a result, wherever they are in it."""
    if isinstance(result, dict):
        if isinstance(result.get("text"), str):
            return result["text"]
        result = list(result.values())
    texts = [text_of(each) for each in result] if isinstance(result, list) else []
    return next((text for text in texts if text), "")


class ProgramCase(unittest.TestCase):
    def setUp(self) -> None:
        if not os.access(PYTHON, os.X_OK):
            self.skipTest(f"no {PYTHON}")
        self.mark = f"crab-program-{os.getpid()}-{self._testMethodName}"

    def server(self, *modes: str, **more: Any) -> dict[str, Any]:
        return {"command": PYTHON, "args": [str(SCRIPT), self.mark, *modes], "pin": "off", **more}

    def open(self, server: dict[str, Any], **more: Any) -> Gateway:
        config = {"mcp": {"servers": {"program": server}}, **more}
        self.gateway = self.enterContext(Gateway(config))
        self.gateway.wait_listed("run")
        return self.gateway

    def call(self, name: str, **arguments: Any) -> str:
        result = self.gateway.call(f"program__{name}", arguments, timeout=30.0).result
        return text_of(result)

    def tried(self, name: str, **arguments: Any) -> str:
        """The same while the server may be away; nothing then."""
        reply = self.gateway.call(f"program__{name}", arguments, timeout=30.0)
        return text_of(reply.result) if reply.status == "ok" else ""

    def gone(self) -> None:
        eventually(lambda: not processes_of(self.mark), "all its processes have ended", 20.0)


class OrphanTest(ProgramCase):
    def begin(self, *modes: str) -> None:
        self.open(self.server(*modes))
        self.assertEqual(self.call("daemon").strip().isdigit(), True)
        self.assertGreaterEqual(len(processes_of(self.mark)), 2)

    def test_nothing_outlives_a_gateway_that_is_killed(self) -> None:
        for mode in ("", "stubborn"):
            with self.subTest(mode=mode):
                self.begin(mode)
                os.kill(self.gateway.process.pid, signal.SIGKILL)
                self.gateway.kill()
                self.gone()

    def test_nothing_outlives_a_gateway_that_stops(self) -> None:
        self.begin("stubborn")
        self.gateway.stop()
        self.gone()

    def test_nothing_outlives_a_server_that_is_taken_away(self) -> None:
        self.begin("stubborn")
        self.gateway.reload({"mcp": {"servers": {"program": {"enabled": False}}}})
        self.gone()

    def test_nothing_outlives_a_server_that_is_killed(self) -> None:
        self.begin()
        daemon = int(self.call("daemon"))
        os.kill(int(self.call("pid")), signal.SIGKILL)
        eventually(lambda: daemon not in processes_of(self.mark), "its daemon has ended", 20.0)
        eventually(lambda: self.tried("daemon") not in ("", str(daemon)), "another one runs", 20.0)

    def test_a_program_that_is_none_is_told(self) -> None:
        self.open(self.server())
        wrong = {"command": "/no/such/program", "pin": "off"}
        self.gateway.reload({"mcp": {"servers": {"wrong": wrong}}})

        def told() -> bool:
            return "No such file" in self.gateway.crab("mcp", "status", "wrong")

        eventually(told, "it says why", 20.0)


@unittest.skipUnless(can_sandbox(), "no sandbox with a limit of memory on this machine")
class SandboxTest(ProgramCase):
    def confined(self, *modes: str, **rules: Any) -> dict[str, Any]:
        rules["read"] = [str(SCRIPT.parent), *rules.get("read", [])]
        return self.server(*modes, sandbox=rules)

    def test_it_reads_and_changes_what_it_was_given_only(self) -> None:
        folder = Path(self.enterContext(Gateway()).folder)  # any folder of an operator
        for name in ("shown", "mine", "hidden"):
            (folder / name).mkdir()
            (folder / name / "file").write_text(name)
        rules = {"read": [str(folder / "shown")], "write": [str(folder / "mine")]}
        gateway = self.open(self.confined(**rules))
        own = gateway.folder
        script = (
            f"cat {folder}/*/file; ls {own} {own}/state {own}/run /root /home; env;"
            f"cat {gateway.config_file} /etc/shadow /proc/{gateway.process.pid}/environ;"
            f"for f in shown mine hidden; do echo new > {folder}/$f/file; done"
        )
        said = self.call("run", script=script)
        self.assertTrue(said.startswith("mineshown"), said)
        self.assertNotIn("state_dir", said)
        self.assertNotIn("root:", said)
        self.assertNotIn("audit", said)
        for secret in ("CRAB_BIN", "CETP_LEDGER"):
            self.assertNotIn(secret, said)
        self.assertEqual((folder / "shown" / "file").read_text(), "shown")
        self.assertEqual((folder / "hidden" / "file").read_text(), "hidden")
        self.assertEqual((folder / "mine" / "file").read_text(), "new\n")

    def connects(self) -> str:
        host, port = self.gateway.public
        words = f"import socket; socket.create_connection(('{host}', {port}), 3); print('reached')"
        return self.tried("run", script=f'{PYTHON} -c "{words}"')

    def test_it_has_the_network_that_it_was_given(self) -> None:
        self.open(self.confined())
        self.assertNotIn("reached", self.connects())
        self.gateway.reload({"mcp": {"servers": {"program": self.confined(network="host")}}})
        eventually(lambda: "reached" in self.connects(), "the new rule counts", 20.0)
        bus = "import socket; socket.socket(socket.AF_UNIX)"
        self.assertIn("not supported", self.call("run", script=f'{PYTHON} -c "{bus}"'))

    def test_it_reaches_no_process_but_its_own(self) -> None:
        gateway = self.open(self.confined())
        said = self.call("run", script=f"kill -9 {gateway.process.pid}; ls -d /proc/[0-9]* | wc -l")
        self.assertIn("No such process", said)
        self.assertLess(
            int(said.split()[-1] if said.split()[-1].isdigit() else said.split()[0]), 20
        )
        gateway.call("program__run", {"script": "kill -9 -1"}, timeout=30.0)
        eventually(lambda: self.tried("run", script="echo again") == "again\n", "it is back", 20.0)
        self.assertIsNone(gateway.process.poll())

    def test_processes_are_bounded_and_end(self) -> None:
        """They do nothing but be there: what is tried is not how busy this machine can be."""
        gateway = self.open(self.confined())
        code = """import os, time
for n in range(3000):
    try:
        if os.fork() == 0: time.sleep(600)
    except OSError: break
print(n)"""
        made = self.call(
            "run", script=f"{PYTHON} -c '{code}' {self.mark} >/tmp/n 2>/dev/null; cat /tmp/n"
        )
        self.assertLess(int(made.split()[-1]), 1100)
        self.assertGreater(int(made.split()[-1]), 100)
        gateway.reload({"mcp": {"servers": {"program": {"enabled": False}}}})
        self.gone()

    def test_memory_has_a_limit(self) -> None:
        gateway = self.open(self.confined(memory_bytes=256 * MIB))
        code = "x = [bytearray(16 << 20) for n in range(64)]; print(len(x) * \"eaten\")"
        eat = f"{PYTHON} -c '{code}'"
        reply = gateway.call("program__run", {"script": eat}, timeout=60.0)
        self.assertNotIn("eaten", json.dumps(reply.body))
        eventually(lambda: self.tried("run", script="echo again") == "again\n", "it is back", 20.0)

    def test_all_of_it_ends_with_a_gateway_that_is_killed(self) -> None:
        self.open(self.confined("stubborn"))
        self.assertTrue(self.call("daemon").strip().isdigit())
        self.gateway.kill()
        self.gone()

    def test_the_minimal_level_starts_nothing(self) -> None:
        self.open(self.confined("minimal", privilege="minimal"))
        reply = self.gateway.call("program__run", {"script": "true"}, timeout=30.0)
        self.assertNotEqual(reply.status, "ok")

    def test_what_cannot_be_kept_is_refused_before_anything_runs(self) -> None:
        gateway = self.open(self.confined())
        state = str(gateway.folder / "state")
        adding = [program(), "mcp", "add", "other", "--sandbox", "--socket", str(gateway.admin)]
        for rules, why in (
            (["--read", state, "--", PYTHON], "crab's own"),
            (["--read", "/no/such/folder", "--", PYTHON], "/no/such/folder"),
            (["--", str(SCRIPT)], "mcp_program.py"),
        ):
            done = subprocess.run([*adding, *rules], capture_output=True, text=True, timeout=20)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(why, done.stderr)
            self.assertIn("mcp.servers.other.sandbox", done.stderr)
        other = {**self.confined(), "sandbox": {"write": [state]}}
        file = gateway.folder / "other.yaml"
        file.write_text(json.dumps({**gateway.config, "mcp": {"servers": {"other": other}}}))
        words = [program(), "gateway", "check", "--config", str(file)]
        done = subprocess.run(words, capture_output=True, text=True, timeout=20)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("mcp.servers.other.sandbox: write:", done.stdout + done.stderr)
        self.assertNotIn("other", gateway.crab("mcp", "list"))

    def test_one_that_is_added_while_the_gateway_runs(self) -> None:
        gateway = self.open(self.confined())
        words = ["mcp", "add", "added", "--sandbox", "--read", str(SCRIPT.parent)]
        words = [program(), *words, "--socket", str(gateway.admin), "--", PYTHON, str(SCRIPT)]
        subprocess.run([*words, self.mark], check=True, capture_output=True, timeout=20)
        gateway.wait_listed("added__run")
        said = gateway.call("added__run", {"script": "ls /root /proc/1/cwd"}, timeout=30.0)
        self.assertIn("/root", json.dumps(said.result))


if __name__ == "__main__":
    unittest.main()
