"""docs/protocols/sw4rm.md, section 10, its last sentence: commands where user namespaces are
missing, kept by Landlock and seccomp alone."""

from __future__ import annotations

import os
import subprocess
import unittest
from pathlib import Path

from support.gateway import program
from support.processes import processes_of
from support.wait import eventually
from test_commands import CommandCase, perl, shell

# A user namespace that may have none below it: what a container or a hardened kernel looks like to
# the gateway.
_NO_NAMESPACES = (
    "unshare",
    "-U",
    "-r",
    "sh",
    "-c",
    'echo 0 > /proc/sys/user/max_user_namespaces && exec "$@"',
    "sh",
)


def can_be_bare() -> bool:
    """Whether namespaces can be taken away here, and Landlock is there."""
    abi = subprocess.run(
        ["perl", "-e", "print syscall(444, 0, 0, 1)"], capture_output=True, text=True
    ).stdout
    taken = subprocess.run([*_NO_NAMESPACES, "true"], capture_output=True).returncode == 0
    return taken and abi.isdigit() and int(abi) >= 3


_OPEN = {"defaults": {"privilege": "DEFAULT", "timeout": "20s"}}


@unittest.skipUnless(
    can_be_bare(), "user namespaces cannot be taken away here, or there is no Landlock"
)
class BareTest(CommandCase):
    PREFIX = _NO_NAMESPACES
    TOOLS = [
        shell("minimal"),
        perl("minimal_perl"),
        shell("default", **_OPEN),
        perl("default_perl", **_OPEN),
        shell("short", defaults={"privilege": "DEFAULT", "timeout": "700ms"}),
        shell("metered", defaults={"privilege": "DEFAULT", "timeout": "20s", "cpu": "500ms"}),
        shell(
            "small",
            defaults={"privilege": "DEFAULT", "memory": "96MiB", "timeout": "20s"},
            processes=20,
        ),
        shell("elevated", defaults={"privilege": "ELEVATED"}),
        shell("outside", defaults={"network": "EGRESS_RESTRICTED"}),
        shell("anywhere", defaults={"network": "EGRESS_UNRESTRICTED"}),
        shell("all", defaults={"network": "FULL_ACCESS"}),
        shell("long", defaults={"privilege": "DEFAULT", "timeout": "60s"}),
    ]

    def refused(self, tool: str, script: str) -> None:
        """The script prints `no` when what it tries fails, `yes` when it works."""
        self.assertEqual(self.text(tool, script).strip(), "no", script)

    def test_labels_that_are_not_kept_are_refused(self) -> None:
        for tool in ("outside", "anywhere"):
            error = self.fails(tool, "echo")
            self.assertIn("cannot be enforced", error["message"])
            self.assertIn("bubblewrap", error["message"])
        for tool in ("elevated", "all"):
            self.assertNotEqual(self.gateway.call(tool, {"script": "echo"}).status, "ok")

    def test_doctor_says_which_are_kept(self) -> None:
        done = subprocess.run(
            [*_NO_NAMESPACES, program(), "doctor", "-o", "json"],
            capture_output=True,
            text=True,
            timeout=60,
        )
        self.assertIn("DENY_ALL, MINIMAL, DEFAULT (no namespaces", done.stdout)
        self.assertIn("EGRESS_RESTRICTED: bubblewrap cannot make user namespaces", done.stdout)

    def test_it_runs_in_the_worktree_and_default_writes_there(self) -> None:
        self.assertEqual(
            self.text("minimal", "read line < notes.md; echo $line"), "one two three\n"
        )
        self.refused("minimal_perl", f"print open(F, '>{self.tree}/new') ? 'yes' : 'no'")
        self.assertEqual(
            self.text("default", "echo kept > made && cat made; mkdir -p d && mv made d/ && ls d"),
            "kept\nmade\n",
        )
        self.assertEqual((self.tree / "d" / "made").read_text(), "kept\n")
        self.assertEqual(
            self.gateway.call("read_file", {"path": "notes.md"}).result["text"], "one two three\n"
        )

    def test_nothing_else_is_read_or_written(self) -> None:
        secret = self.folder / "secret"
        for path in (
            "/etc/shadow",
            "/etc/passwd",
            str(secret),
            str(self.gateway.config_file),
            f"/proc/{self.gateway.process.pid}/environ",
            f"/proc/{self.gateway.process.pid}/cmdline",
            f"/proc/{os.getpid()}/cmdline",
            "../secret",
        ):
            self.refused("default", f"cat {path} >/dev/null 2>&1 && echo yes || echo no")
        for path in (str(secret), "/usr/x", "/tmp/crab-bare-x", "/var/tmp/x", "/dev/shm/x", "../x"):
            self.refused("default", f"(echo x >> {path}) 2>/dev/null && echo yes || echo no")
        self.refused("default", "ls /home /root /proc /var >/dev/null 2>&1 && echo yes || echo no")
        self.refused("default", f"ln -s {secret} link; cat link 2>/dev/null && echo yes || echo no")
        self.refused("default", f"ln {secret} hard 2>/dev/null && echo yes || echo no")
        self.refused("default_perl", f"print truncate('{secret}', 0) ? 'yes' : 'no'")
        self.refused("default_perl", f"print chmod(0777, '{secret}') ? 'yes' : 'no'")
        self.refused("default_perl", f"print chown(0, 0, '{secret}') ? 'yes' : 'no'")
        self.refused("default_perl", f"print utime(1, 1, '{secret}') ? 'yes' : 'no'")
        self.refused("default_perl", f"print unlink('{secret}') ? 'yes' : 'no'")
        self.refused("default_perl", f"print rename('{secret}', '{secret}2') ? 'yes' : 'no'")
        self.assertEqual(secret.read_text(), "nobody reads this\n")

    def test_there_are_no_sockets(self) -> None:
        for family in (1, 2, 10, 16, 17, 40):
            self.refused("default_perl", f"print syscall(41, {family}, 1, 0) == -1 ? 'no' : 'yes'")

    def test_the_gateway_is_out_of_reach(self) -> None:
        pid = self.gateway.process.pid
        self.refused("default", f"kill -9 {pid} 2>/dev/null && echo yes || echo no")
        self.refused("default_perl", f"print kill(0, {pid}) ? 'yes' : 'no'")
        self.gateway.call("default", {"script": "kill -9 -1; sleep 1"})
        self.gateway.call("default", {"script": "kill -9 $PPID; sleep 1"})
        for call in (
            f"101, 16, {pid}, 0, 0",
            f"302, {pid}, 7, 0, 0",
            f"141, 0, {pid}, 19",
            f"203, {pid}, 8, 0",
            "72, 0, 8, 1",
            "165, 0, 0, 0, 0, 0",
            "272, 0x10000000",
            "29, 0, 4096, 0",
        ):
            self.refused(
                "default_perl",
                f"my @w = ({call}); print syscall($w[0], @w[1 .. $#w]) == -1 ? 'no' : 'yes'",
            )
        self.assertEqual(self.text("default", "echo alive"), "alive\n")

    def test_minimal_starts_no_process(self) -> None:
        self.refused("minimal_perl", "print defined(fork()) ? 'yes' : 'no'")

    def test_clocks_and_budgets_end_everything(self) -> None:
        marker = self.unique("bare")
        reply = self.gateway.call(
            "short",
            {
                "script": f"trap '' TERM; (setsid sh -c 'trap \"\" TERM; : {marker}; while :; do "
                f"sleep 1; done' &) ; while :; do sleep 1; done"
            },
        )
        self.assertEqual(reply.status, "timeout")
        self.assertEqual(processes_of(marker), [])
        self.assertIn(
            "CPU budget",
            self.fails("metered", "(while :; do :; done) & (while :; do :; done)")["message"],
        )

    def test_a_daemon_ends_with_its_command_and_scratch_is_gone(self) -> None:
        marker = self.unique("daemon")
        self.assertEqual(
            self.text(
                "default", f"(setsid sh -c ': {marker}; sleep 100' >/dev/null 2>&1 &) ; echo done"
            ),
            "done\n",
        )
        self.assertEqual(processes_of(marker), [])
        place = self.text("default", "echo x > $HOME/x && echo $HOME").strip()
        self.assertIn("crab-command-", place)
        self.assertFalse(Path(place).exists())

    def test_a_fork_bomb_ends_and_the_gateway_serves_on(self) -> None:
        marker = self.unique("bomb")
        reply = self.gateway.call(
            "small", {"script": f": {marker}; b() {{ b | b & }}; b; sleep 20"}, timeout=40
        )
        self.assertNotEqual(reply.status, "ok")
        eventually(lambda: not processes_of(marker), "every process of the bomb is gone")
        self.assertEqual(self.text("default", "echo alive"), "alive\n")

    def test_a_gateway_that_is_killed_takes_its_commands_along(self) -> None:
        marker = self.unique("stays")
        self.gateway.start_call(
            "long",
            {
                "script": f"trap '' TERM; (setsid sh -c ': {marker}; while :; do sleep 1; done' "
                f"&) ; while :; do sleep 1; done"
            },
            timeout=60,
        )
        eventually(
            lambda: len(processes_of(marker)) >= 3,
            "its first process, the command and its daemon run",
        )
        self.gateway.kill()
        eventually(lambda: not processes_of(marker), "nothing of the command is left")
        self.gateway.start()
