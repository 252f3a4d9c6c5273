"""`crab host exec`: commands as a tool host of their own, called directly and through a gateway.
docs/protocols/rtp.md, sections 1 to 3."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import tempfile
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from support import rtp
from support.gateway import Gateway, program
from support.host import Host
from support.processes import processes_of
from support.wait import eventually
from test_commands import can_sandbox, shell

_DO = shell(
    "do",
    defaults={"privilege": "DEFAULT", "timeout": "10s"},
    side_effects=["filesystem"],
    idempotent=True,
)
_SHORT = shell("short", defaults={"privilege": "DEFAULT", "timeout": "500ms"})


@unittest.skipUnless(can_sandbox(), "commands cannot be confined here under DEFAULT")
class ExecHostTest(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="crab-exec-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.tree = self.folder / "tree"
        self.tree.mkdir()
        (self.tree / "notes.md").write_text("one two three\n")
        self.config = self.folder / "commands.yaml"
        self.config.write_text(
            json.dumps(
                {
                    "worktrees": [{"id": "garden/main", "path": "tree"}],
                    "providers": [
                        {
                            "id": "workshop",
                            "kind": "command",
                            "worktree": "garden/main",
                            "preset": "worktree",
                            "tools": [_DO, _SHORT],
                        }
                    ],
                }
            )
        )
        self.host = Host(self.folder, "exec", "--config", str(self.config))
        self.addCleanup(self.end)

    def end(self) -> None:
        if self.host.process.poll() is None:
            self.assertEqual(self.host.end(), 0, self.host.log())
        self.assertNotIn("Sanitizer", self.host.log())

    def test_its_tools_are_those_of_the_configuration(self) -> None:
        document = self.host.fetch("GET", "/v1/tools").json()
        rtp.check_discovery(document)
        self.assertEqual(document["service"], "exec")
        self.assertLessEqual(
            {"do", "short", "read_file"}, {tool["name"] for tool in document["tools"]}
        )

    def test_a_call_runs_in_the_sandbox_and_in_the_worktree(self) -> None:
        self.assertEqual(
            self.host.result("read_file", {"path": "notes.md"}), {"text": "one two three\n"}
        )
        self.assertEqual(
            self.host.result(
                "do", {"script": "pwd; test -e /etc/shadow && echo seen; echo kept > made"}
            )["text"],
            "/wt\n",
        )
        self.assertEqual((self.tree / "made").read_text(), "kept\n")
        self.assertEqual(self.host.code("read_file", {"path": "../commands.yaml"}), "INVALID_ARGS")

    def test_the_policy_of_its_configuration_binds(self) -> None:
        marker = f"short-{id(self)}"
        answer = self.host.call("short", {"script": f": {marker}; sleep 60; :"})
        self.assertEqual(answer["status"], "timeout", answer)
        self.assertEqual(processes_of(marker), [])

    def test_a_gateway_calls_it_by_the_hosts_name(self) -> None:
        with Gateway({"hosts": [{"name": "exec", "unix": str(self.host.socket)}]}) as gateway:
            gateway.wait_listed("read_file")
            self.assertEqual(
                gateway.call("exec__read_file", {"path": "notes.md"}).result,
                {"text": "one two three\n"},
            )

    def test_a_host_that_is_killed_takes_its_commands_along(self) -> None:
        marker = f"orphan-{id(self)}"
        with ThreadPoolExecutor(1) as caller:
            call = caller.submit(self.host.call, "do", {"script": f": {marker}; sleep 60; :"})
            eventually(lambda: len(processes_of(marker)) >= 3, "the command runs")
            self.host.end(signal.SIGKILL)
            eventually(lambda: not processes_of(marker), "nothing of the command is left")
            self.assertIsNotNone(call.exception(15))

    def test_a_configuration_without_commands_is_no_host(self) -> None:
        self.config.write_text("{}")
        done = subprocess.run(
            [
                program(),
                "host",
                "exec",
                "--unix",
                str(self.folder / "x.sock"),
                "--config",
                str(self.config),
            ],
            capture_output=True,
            text=True,
            timeout=20,
        )
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("no provider", done.stderr)
