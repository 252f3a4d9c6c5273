"""`crab call --url grpc://…`: the call as a person makes it, with an execution policy, a stream, a
cancel (docs/protocols/sw4rm.md, section 13)."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import tempfile
import unittest
from pathlib import Path

from support.gateway import program
from support.wait import PATIENCE
from test_commands import can_sandbox, shell
from test_grpc import GrpcCase


@unittest.skipUnless(can_sandbox(), "commands cannot be confined here under DEFAULT")
class CallTest(GrpcCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.tree = Path(tempfile.mkdtemp(prefix="crab-worktree-"))
        cls.addClassCleanup(shutil.rmtree, cls.tree, ignore_errors=True)
        (cls.tree / "notes.md").write_text("one two three\n")
        cls.CONFIG = {
            **GrpcCase.CONFIG,
            "policy": [{"principal": "caller/tester", "act_for": ["planner"]}],
            "worktrees": [{"id": "garden/main", "path": str(cls.tree)}],
            "providers": [
                {"id": "files", "kind": "command", "preset": "worktree"},
                {
                    "id": "workshop",
                    "kind": "command",
                    "tools": [
                        shell(
                            "count", output={"streams": "lines"}, defaults={"privilege": "DEFAULT"}
                        ),
                        {
                            "name": "spin",
                            "argv": ["awk", "BEGIN { while (1) n++ }"],
                            "side_effects": [],
                            "idempotent": True,
                        },
                    ],
                },
            ],
        }
        super().setUpClass()

    def command(self, *words: str) -> list[str]:
        return [program(), "call", "--url", f"grpc://{self.gateway.grpc}", *words]

    def crab(self, *words: str, token: str | None = None) -> subprocess.CompletedProcess[str]:
        environment = {
            **os.environ,
            "CRAB_TOKEN": self.gateway.caller_token() if token is None else token,
        }
        return subprocess.run(
            self.command(*words),
            capture_output=True,
            text=True,
            env=environment,
            timeout=3 * PATIENCE,
        )

    def test_a_file_of_the_bound_worktree_under_a_policy(self) -> None:
        self.gateway.crab("worktrees", "bind", "caller/tester", "garden/main")
        done = self.crab(
            "read_file",
            "--arg",
            "path=notes.md",
            "--policy",
            "network=DENY_ALL",
            "--policy",
            "wall=5s",
            "--summary",
        )
        self.assertEqual((done.returncode, done.stdout), (0, "one two three\n"), done.stderr)
        self.assertIn("DENY_ALL, MINIMAL", done.stderr)
        told = json.loads(
            self.crab(
                "read_file", "--arg", "path=notes.md", "--policy", "wall=5s", "-o", "json"
            ).stdout
        )
        self.assertEqual(
            (told["result"]["text"], told["summary"]["policy"]["budget_wall_ms"]),
            ("one two three\n", 5000),
        )

    def test_the_agent_that_it_is_for_decides_about_the_worktree(self) -> None:
        self.gateway.crab("worktrees", "bind", "planner", "garden/main")
        self.assertEqual(
            self.crab("read_file", "--arg", "path=notes.md", "--agent", "planner").stdout,
            "one two three\n",
        )
        for other in ("somebody-else", "tester"):
            self.assertEqual(
                self.crab("read_file", "--arg", "path=notes.md", "--agent", other).returncode,
                4,
                other,
            )

    def test_a_stream_that_is_interrupted_is_cancelled_by_its_id(self) -> None:
        environment = {**os.environ, "CRAB_TOKEN": self.gateway.caller_token()}
        words = self.command(
            "count",
            "--stream",
            "--summary",
            "--arg",
            "script=n=0; while n=$((n + 1)); do echo $n; sleep 0.05; done",
        )
        with subprocess.Popen(
            words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
        ) as running:
            self.assertEqual([running.stdout.readline() for _ in range(3)], ["1\n", "2\n", "3\n"])
            running.send_signal(signal.SIGINT)
            _, told = running.communicate(timeout=3 * PATIENCE)
        self.assertEqual(running.returncode, 130)
        self.assertIn("cancelled · ", told)

    def test_a_budget_that_fires_is_told_with_its_limit(self) -> None:
        done = self.crab("spin", "--policy", "cpu=200ms")
        self.assertIn("CPU_BUDGET_EXCEEDED", done.stderr)
        self.assertIn("200 ms", done.stderr)
        self.assertNotEqual(done.returncode, 0)

    def test_what_goes_wrong_before_the_tool_has_its_own_exit_status(self) -> None:
        self.assertEqual(self.crab("no_such_tool").returncode, 5)
        self.assertEqual(self.crab("spin", token="0" * 64).returncode, 4)
        self.assertEqual(self.crab("spin", "--policy", "colour=blue").returncode, 2)
        self.assertEqual(
            subprocess.run(
                [program(), "call", "spin", "--policy", "cpu=1s"], capture_output=True
            ).returncode,
            2,
        )
        self.assertEqual(self.crab("spin", "--policy", "network=sideways").returncode, 2)


if __name__ == "__main__":
    unittest.main()
