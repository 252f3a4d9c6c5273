"""docs/protocols/sw4rm.md, sections 4, 8, 10 and 11: commands as tools, called over HTTP, their
sandbox tried from inside."""

from __future__ import annotations

import functools
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any, ClassVar

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))

from scripted_model import ScriptedModel

from support.case import GatewayCase
from support.device import tool
from support.gateway import program
from support.processes import processes_of
from support.wait import eventually

TEXT = {"type": "string"}
SCRIPT = {
    "type": "object",
    "required": ["script"],
    "additionalProperties": False,
    "properties": {"script": TEXT},
}


@functools.cache
def limits_memory() -> bool:
    """Whether a control group limits the memory of commands: without one, only MINIMAL
    is kept."""
    checks = json.loads(
        subprocess.run([program(), "doctor", "-o", "json"], capture_output=True, text=True).stdout
    )["checks"]
    return any(
        check["check"] == "sandbox memory" and "limited by the kernel" in check["message"]
        for check in checks
    )


@functools.cache
def can_sandbox() -> bool:
    """Whether bubblewrap can make its namespaces on this machine, and memory can be limited: else
    commands do not run under DEFAULT."""
    bwrap = shutil.which("bwrap")
    return (
        bool(bwrap)
        and subprocess.run(
            [bwrap, "--unshare-all", "--ro-bind", "/", "/", "/bin/true"], capture_output=True
        ).returncode
        == 0
        and limits_memory()
    )


def shell(name: str, **members: Any) -> dict[str, Any]:
    """A tool that runs its argument `script`: what a test wants to try from inside."""
    return {
        "name": name,
        "argv": ["sh", "-c", "{script}"],
        "input_schema": SCRIPT,
        "side_effects": [],
        **members,
    }


def perl(name: str, **members: Any) -> dict[str, Any]:
    return {**shell(name, **members), "argv": ["perl", "-e", "{script}"]}


@unittest.skipUnless(can_sandbox(), "commands cannot be confined here under DEFAULT")
class CommandCase(GatewayCase):
    TOOLS: list[dict[str, Any]] = []

    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = Path(tempfile.mkdtemp(prefix="crab-worktree-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        cls.tree = cls.folder / "tree"
        cls.tree.mkdir()
        (cls.tree / "notes.md").write_text("one two three\n")
        (cls.folder / "secret").write_text("nobody reads this\n")
        (cls.folder / "filed").write_text("s3cret-file\n")
        cls.ENVIRONMENT = {"CRAB_TEST_TOKEN": "s3cret-token"}
        cls.CONFIG = {
            "worktrees": [{"id": "garden/main", "path": str(cls.tree)}],
            "secrets": [
                {"name": "token", "env": "CRAB_TEST_TOKEN"},
                {"name": "filed", "file": str(cls.folder / "filed")},
            ],
            "providers": [
                {
                    "id": "workshop",
                    "kind": "command",
                    "worktree": "garden/main",
                    "tools": cls.TOOLS,
                },
                {
                    "id": "files",
                    "kind": "command",
                    "worktree": "garden/main",
                    "preset": "worktree",
                    "run": True,
                },
                {
                    "id": "nowhere",
                    "kind": "command",
                    "tools": [
                        shell("homeless", needs_worktree=True, defaults={"privilege": "DEFAULT"})
                    ],
                },
            ],
        }
        super().setUpClass()

    def text(self, tool: str, script: str, **members: Any) -> str:
        return self.gateway.call(tool, {"script": script}, **members).result["text"]

    def fails(self, tool: str, script: str, **members: Any) -> dict[str, Any]:
        return self.gateway.call(tool, {"script": script}, **members).error


class CallTest(CommandCase):
    TOOLS = [
        {
            "name": "count_words",
            "argv": ["wc", "-w", "--", "{path}"],
            "needs_worktree": True,
            "side_effects": [],
            "idempotent": True,
            "input_schema": {
                "type": "object",
                "required": ["path"],
                "properties": {"path": {**TEXT, "format": "worktree-path"}},
            },
        },
        {
            "name": "as_json",
            "argv": ["cat"],
            "stdin": "args",
            "side_effects": [],
            "output": {"content_type": "application/json"},
            "input_schema": {"type": "object", "properties": {"n": {"type": "integer"}}},
        },
        {
            "name": "one_argument",
            "argv": ["cat"],
            "stdin": "body",
            "side_effects": [],
            "input_schema": {"type": "object", "properties": {"body": TEXT}},
        },
        shell(
            "do",
            defaults={"privilege": "DEFAULT", "timeout": "10s"},
            env={"GREETING": "hello"},
            idempotent=True,
        ),
        shell("short", defaults={"privilege": "DEFAULT", "timeout": "700ms"}),
        shell("walled", defaults={"privilege": "DEFAULT", "timeout": "10s", "wall": "600ms"}),
        shell("metered", defaults={"privilege": "DEFAULT", "timeout": "20s", "cpu": "500ms"}),
        shell("merged", defaults={"privilege": "DEFAULT"}, output={"stderr": "merge"}),
        shell("little", defaults={"privilege": "DEFAULT"}, output={"max_bytes": "64KiB"}),
        shell("elevated", defaults={"privilege": "ELEVATED"}),
        shell(
            "secretive",
            defaults={"privilege": "DEFAULT", "timeout": "10s"},
            env={"TOKEN": {"secret": "token"}, "FROM_FILE": {"secret": "filed"}},
        ),
        {
            "name": "variables",
            "argv": ["sh", "-c", "echo \"$WORD\"; echo $${NUMBER:-unset}"],
            "side_effects": [],
            "env": {"WORD": {"argument": "word"}, "NUMBER": {"argument": "number"}},
            "input_schema": {
                "type": "object",
                "properties": {"word": TEXT, "number": {"type": "integer"}},
            },
        },
        shell("odd", defaults={"privilege": "DEFAULT"}, ok_exit=[0, 1]),
    ]

    def test_a_command_answers_by_its_plain_and_its_full_name(self) -> None:
        self.assertEqual(
            self.gateway.call("count_words", {"path": "notes.md"}).result["text"].split()[0], "3"
        )
        self.assertEqual(
            self.gateway.call("workshop__count_words", {"path": "notes.md"}).status, "ok"
        )

    def test_arguments_come_on_standard_input_when_the_tool_wants_them_there(self) -> None:
        self.assertEqual(self.gateway.call("as_json", {"n": 3}).result, {"n": 3})
        self.assertEqual(
            self.gateway.call("one_argument", {"body": "a\nb"}).result, {"text": "a\nb"}
        )

    def test_a_failing_command_tells_its_exit_status_and_the_end_of_its_errors(self) -> None:
        error = self.fails("do", "echo out; echo broken >&2; exit 3")
        self.assertEqual(error["code"], "TOOL_FAILED")
        self.assertIn("exit status 3", error["message"])
        self.assertIn("broken", error["message"])
        self.assertEqual(self.text("odd", "echo none; exit 1"), "none\n")

    def test_errors_can_be_part_of_the_output(self) -> None:
        self.assertEqual(self.text("merged", "echo a; echo b >&2"), "a\nb\n")

    def test_paths_that_leave_the_worktree_are_refused_before_anything_runs(self) -> None:
        (self.tree / "out").symlink_to("../secret")
        for path in ("../secret", "/etc/passwd", "out", "a/../../secret"):
            self.assertEqual(
                self.gateway.call("count_words", {"path": path}).code, "INVALID_ARGS", path
            )

    def test_a_tool_that_needs_a_worktree_does_not_run_without(self) -> None:
        error = self.fails("homeless", "pwd")
        self.assertIn("worktree", error["message"])

    def test_the_clocks_are_told_apart(self) -> None:
        self.assertEqual(
            self.gateway.call("short", {"script": "sleep 60 & sleep 60"}).status, "timeout"
        )
        walled = self.gateway.call("walled", {"script": "sleep 60"})
        self.assertEqual(walled.status, "timeout")
        self.assertIn("wall budget", walled.error["message"])
        self.assertLess(walled.seconds, 4)
        metered = self.gateway.call(
            "metered", {"script": "(while :; do :; done) & (while :; do :; done)"}
        )
        self.assertIn("CPU budget", metered.error["message"])
        budget, used = (int(number) for number in re.findall(r"(\d+) ms", metered.error["message"]))
        self.assertLessEqual(used, budget * 1.1, "counted once, and ended in time")
        self.assertEqual(self.text("metered", "sleep 1; echo slept"), "slept\n")

    def test_a_command_that_ignores_sigterm_is_dead_with_its_grandchildren_when_the_call_ends(
        self,
    ) -> None:
        marker = self.unique("stubborn")
        reply = self.gateway.call(
            "short",
            {
                "script": f"trap '' TERM; (setsid sh -c 'trap \"\" TERM; : {marker}; while :; do "
                f"sleep 1; done' &) ; while :; do sleep 1; done"
            },
        )
        self.assertEqual(reply.status, "timeout")
        self.assertLess(reply.seconds, 5)
        self.assertEqual(processes_of(marker), [])

    def test_a_daemon_that_a_command_leaves_behind_ends_with_it(self) -> None:
        marker = self.unique("daemon")
        self.assertEqual(
            self.text(
                "do", f"(setsid sh -c ': {marker}; sleep 100' >/dev/null 2>&1 &) ; echo done"
            ),
            "done\n",
        )
        self.assertEqual(processes_of(marker), [])

    def test_cancelling_ends_the_command(self) -> None:
        marker, name = self.unique("cancelled"), self.unique("call")
        call = self.gateway.start_call("do", {"script": f": {marker}; sleep 100"}, call_id=name)
        eventually(lambda: processes_of(marker), "the command runs")
        self.gateway.cancel(name)
        self.assertEqual(call.result(10).code, "CANCELLED")
        self.assertEqual(processes_of(marker), [])

    def test_output_beyond_the_limit_ends_the_command(self) -> None:
        self.assertIn(
            "more than 65536 bytes",
            self.fails("little", "while :; do echo yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy; done")[
                "message"
            ],
        )

    def test_labels_that_need_a_person_or_cannot_be_kept_are_refused_at_once(self) -> None:
        self.assertIn("approval", self.fails("elevated", "echo")["message"])

    def test_arguments_can_be_variables_and_are_never_read_by_a_shell(self) -> None:
        word = "a b; $(touch /tmp/x) `id` 'q\""
        self.assertEqual(
            self.gateway.call("variables", {"word": word}).result["text"], word + "\nunset\n"
        )
        self.assertEqual(
            self.gateway.call("variables", {"word": "w", "number": 7}).result["text"], "w\n7\n"
        )
        self.assertEqual(self.gateway.call("variables", {"word": "nul\0"}).code, "INVALID_ARGS")

    def test_a_secret_reaches_the_command_and_nobody_else(self) -> None:
        marker, name = self.unique("secretive"), self.unique("call")
        call = self.gateway.start_call(
            "secretive",
            {"script": f": {marker}; sleep 5; echo $(echo $TOKEN | rev) $(echo $FROM_FILE | rev)"},
            call_id=name,
        )
        eventually(lambda: len(processes_of(marker)) >= 3, "the command runs")
        self.assertEqual(processes_of("s3cret-token") + processes_of("s3cret-file"), [])
        self.assertEqual(call.result(15).result["text"], "nekot-terc3s elif-terc3s\n")
        self.assertNotIn("s3cret", self.gateway.log_tail(1 << 20))
        self.assertNotIn("s3cret", self.gateway.crab("calls", "show", name))

    def test_the_environment_is_that_of_the_sandbox(self) -> None:
        lines = dict(
            line.split("=", 1)
            for line in self.text("do", "env", call_id="environment-1").splitlines()
        )
        self.assertEqual(
            set(lines) - {"_", "PWD", "SHLVL", "OLDPWD"},
            {"PATH", "HOME", "TMPDIR", "LANG", "CRAB_CALL_ID", "GREETING"},
        )
        self.assertEqual((lines["GREETING"], lines["CRAB_CALL_ID"]), ("hello", "environment-1"))

    def test_nothing_but_the_three_descriptors_is_open(self) -> None:
        self.assertEqual(
            self.text("do", "exec ls /proc/self/fd").split(), ["0", "1", "2", "3"]
        )  # 3 is the folder that ls reads

    def test_binary_output_keeps_every_byte(self) -> None:
        self.assertEqual(
            self.gateway.call("do", {"script": r"printf '\000\001\377'"}).result["data_base64"],
            "AAH/",
        )


class WorktreeTest(CommandCase):
    """The tools of every worktree, and which worktree a caller has."""

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        (cls.tree / "docs").mkdir()
        (cls.tree / "docs" / "a b.md").write_text("alpha\nbeta\ngamma\n")

    def content(self, tool: str, **args: Any) -> str:
        return self.gateway.call(tool, args).result["text"]

    def test_a_file_is_read_as_it_is_and_in_any_range_of_lines(self) -> None:
        for text in ("no line end", "one\r\n\ntwo", "\n", ""):
            (self.tree / "exact").write_text(text, newline="")
            self.assertEqual(self.content("read_file", path="exact"), text)
        (self.tree / "exact").write_text("".join(f"{n}\n" for n in range(1, 8)) + "8")
        lines = [f"{n}\n" for n in range(1, 8)] + ["8"]
        for first, last in ((1, 1), (1, 8), (3, 5), (8, 8), (8, 20), (9, 9), (5, 3)):
            self.assertEqual(
                self.content("read_file", path="exact", first_line=first, last_line=last),
                "".join(lines[first - 1 : last]),
                (first, last),
            )
        self.assertEqual(self.content("read_file", path="exact", first_line=7), "7\n8")
        self.assertEqual(self.content("read_file", path="exact", last_line=2), "1\n2\n")
        self.assertEqual(
            self.content("read_file", path="exact", first_line=7.0),
            "7\n8",
            "7.0 is an integer to JSON Schema",
        )
        (self.tree / "exact").write_bytes(b"\x00\xff\n\x80")
        self.assertEqual(
            self.gateway.call("read_file", {"path": "exact"}).result["data_base64"], "AP8KgA=="
        )

    def test_files_are_read_listed_found_and_searched(self) -> None:
        self.assertEqual(self.content("read_file", path="docs/a b.md"), "alpha\nbeta\ngamma\n")
        self.assertEqual(
            self.content("read_file", path="docs/a b.md", first_line=2, last_line=2), "beta\n"
        )
        self.assertEqual(self.content("list_dir", path="docs"), "f\t17\ta b.md\n")
        self.assertEqual(
            sorted(self.content("find_files", pattern="*.md").splitlines()),
            ["./docs/a b.md", "./notes.md"],
        )
        self.assertEqual(self.content("search_text", pattern="^be"), "docs/a b.md:2:beta\n")
        self.assertEqual(self.content("search_text", pattern="nothing like it"), "")
        self.assertEqual(self.gateway.call("read_file", {"path": "no/such"}).code, "TOOL_FAILED")
        self.assertEqual(self.gateway.call("read_file", {"path": "../secret"}).code, "INVALID_ARGS")
        os.mkfifo(self.tree / "pipe")
        self.assertEqual(
            self.gateway.call("read_file", {"path": "pipe"}).code,
            "INVALID_ARGS",
            "nobody would ever write to it",
        )

    @unittest.skipUnless(
        shutil.which("git", path="/usr/bin:/bin"), "git is not installed where the sandbox looks"
    )
    def test_git_tells_status_changes_and_history(self) -> None:
        def git(*words: str) -> None:
            subprocess.run(
                [
                    "git",
                    "-C",
                    str(self.tree),
                    "-c",
                    "user.name=T",
                    "-c",
                    "user.email=t@example.org",
                    *words,
                ],
                check=True,
                capture_output=True,
            )

        git("init", "-b", "main")
        self.addCleanup(shutil.rmtree, self.tree / ".git")
        git("add", "notes.md")
        git("commit", "-m", "begin")
        (self.tree / "notes.md").write_text("one two three four\n")
        self.addCleanup((self.tree / "notes.md").write_text, "one two three\n")
        self.assertIn("# branch.head main", self.content("git_status"))
        self.assertIn("+one two three four", self.content("git_diff"))
        self.assertTrue(self.content("git_log", count=3).rstrip().endswith("\tT\tbegin"))

    def test_run_takes_a_shell_line_and_writes(self) -> None:
        self.assertEqual(
            self.content("run", command="echo hi > new && cat new | wc -c").strip(), "3"
        )

    def test_a_binding_counts_and_survives_a_restart(self) -> None:
        call = lambda: self.gateway.call(
            "homeless", {"script": "echo $(pwd)"}, caller="bound"
        )  # noqa: E731
        who = "caller/bound"
        self.assertIn("worktree", call().error["message"])
        self.assertIn(who, self.gateway.crab("worktrees", "bind", who, "garden/main"))
        self.gateway.stop()
        self.gateway.start()
        self.assertNotIn("worktree", call().body.get("error", {}).get("message", ""))
        self.assertIn(who, self.gateway.crab("worktrees", "list"))
        self.gateway.crab("worktrees", "unbind", who)
        self.assertIn("worktree", call().error["message"])


class EscapeTest(CommandCase):
    """Attempts from inside; each has to fail for the right reason, and the gateway serves on."""

    TOOLS = [
        shell("minimal"),
        perl("minimal_perl"),
        shell("default", defaults={"privilege": "DEFAULT", "timeout": "20s"}),
        perl("default_perl", defaults={"privilege": "DEFAULT", "timeout": "20s"}),
        shell(
            "small",
            defaults={"privilege": "DEFAULT", "memory": "96MiB", "timeout": "20s"},
            processes=20,
        ),
    ]

    def refused(self, tool: str, script: str) -> None:
        """The script prints `no` when what it tries fails, `yes` when it works."""
        self.assertEqual(self.text(tool, script).strip(), "no", script)

    def syscall(self, call: str) -> None:
        """Perl's syscall() with these words: it has to fail."""
        self.refused(
            "default_perl",
            f"my @w = ({call}); print syscall($w[0], @w[1 .. $#w]) == -1 ? 'no' : 'yes'",
        )

    def test_files_of_the_host_are_out_of_sight(self) -> None:
        for path in (
            "/etc/shadow",
            "/etc/passwd",
            "/root",
            "/home",
            str(self.folder / "secret"),
            str(self.gateway.folder),
            "/wt/../secret",
        ):
            self.refused("default", f"test -e {path} && echo yes || echo no")

    def test_minimal_reads_the_worktree_and_default_writes_it(self) -> None:
        self.refused("minimal_perl", "print open(F, '>/wt/new') ? 'yes' : 'no'")
        self.assertEqual(
            self.text("minimal", "read line < notes.md; echo $line"), "one two three\n"
        )
        self.assertEqual(self.text("default", "echo kept > made && cat made"), "kept\n")
        self.assertEqual((self.tree / "made").read_text(), "kept\n")
        for path in ("/usr/x", "/x", "/etc/x", "/run/x", "/run/crab/x"):
            self.refused("default", f"(: > {path}) 2>/dev/null && echo yes || echo no")

    def test_minimal_starts_no_process_but_threads(self) -> None:
        self.refused("minimal_perl", "print defined(fork()) ? 'yes' : 'no'")
        self.assertIn("exit status", self.fails("minimal", "ls / | wc")["message"])

    def test_the_network_is_shut(self) -> None:
        host, port = self.gateway.public
        self.refused(
            "default_perl",
            "use Socket; socket(S, PF_INET, SOCK_STREAM, 0) or print('no'), exit; "
            f"print connect(S, sockaddr_in({port}, inet_aton('{host}'))) ? 'yes' : 'no'",
        )
        for family in (17, 40, 38, 15):  # packet, vsock, alg, key
            self.refused("default_perl", f"print syscall(41, {family}, 1, 0) == -1 ? 'no' : 'yes'")

    def test_privileged_system_calls_are_refused(self) -> None:
        self.syscall("101, 0, 0, 0, 0")  # ptrace TRACEME
        self.syscall("165, 'none', '/tmp', 'tmpfs', 0, 0")  # mount
        self.syscall("272, 0x10000000")  # unshare CLONE_NEWUSER
        self.syscall("56, 0x10000011, 0, 0, 0, 0")  # clone CLONE_NEWUSER
        self.syscall("435, 0, 0")  # clone3
        self.syscall("425, 1, 0")  # io_uring_setup
        self.syscall("321, 0, 0, 0")  # bpf
        self.syscall("323, 0")  # userfaultfd
        self.syscall("250, 0, 0, 0, 0, 0")  # keyctl
        self.syscall("105, 0")  # setuid
        self.syscall("161, '/tmp'")  # chroot

    def test_setuid_programs_gain_nothing(self) -> None:
        self.assertIn("NoNewPrivs:\t1", self.text("default", "cat /proc/self/status"))
        self.assertIn("CapEff:\t0000000000000000", self.text("default", "cat /proc/self/status"))

    def test_proc_shows_the_sandbox_only(self) -> None:
        names = self.text("default", "cat /proc/[0-9]*/comm").split()
        self.assertEqual(set(names), {"crab-sandbox-in", "sandbox-init", "cat", "sh"} & set(names))
        self.refused("default", "cat /proc/1/environ >/dev/null 2>&1 && echo yes || echo no")
        self.refused("default", "readlink /proc/1/fd/3 >/dev/null 2>&1 && echo yes || echo no")
        self.refused(
            "default", "(echo 1 > /proc/sys/kernel/core_pattern) 2>/dev/null && echo yes || echo no"
        )
        self.refused("default", "(echo b > /proc/sysrq-trigger) 2>/dev/null && echo yes || echo no")
        self.refused(
            "default",
            "kill -9 1 2>/dev/null; kill -0 %d 2>/dev/null && echo yes || echo no"
            % self.gateway.process.pid,
        )

    def test_a_fork_bomb_ends_and_the_gateway_serves_on(self) -> None:
        marker = self.unique("bomb")
        reply = self.gateway.call(
            "small", {"script": f": {marker}; b() {{ b | b & }}; b; sleep 20"}, timeout=30
        )
        self.assertNotEqual(reply.status, "ok")
        self.assertLess(reply.seconds, 28)
        eventually(lambda: not processes_of(marker), "every process of the bomb is gone")
        self.assertEqual(self.text("default", "echo alive"), "alive\n")

    def test_all_memory_is_not_to_be_had(self) -> None:
        self.assertIn(
            "exit status",
            self.fails("small", "exec perl -e '$x = \"x\" x (1 << 28); print length $x'")[
                "message"
            ],
        )
        reply = self.gateway.call(
            "small",
            {
                "script": "for i in 1 2 3 4; do perl -e '$x = \"x\" x (30 << 20); sleep 8' & "
                "done; wait"
            },
            timeout=30,
        )
        self.assertIn("memory", reply.error["message"])

    def test_symbolic_links_in_the_worktree_lead_nowhere(self) -> None:
        self.refused(
            "default",
            f"ln -s {self.folder}/secret link; cat link 2>/dev/null && echo yes || echo no",
        )

    def test_no_core_file_is_written(self) -> None:
        self.assertEqual(self.text("default", "ulimit -c"), "0\n")


class CrashTest(CommandCase):
    TOOLS = [shell("stay", defaults={"privilege": "DEFAULT", "timeout": "60s"})]

    def run_one(self) -> tuple[str, Any]:
        marker = self.unique("stays")
        call = self.gateway.start_call(
            "stay",
            {
                "script": f"trap '' TERM; (setsid sh -c ': {marker}; while :; do sleep 1; done' "
                f"&) ; while :; do sleep 1; done"
            },
            timeout=60,
        )
        eventually(
            lambda: len(processes_of(marker)) >= 4,
            "bubblewrap, its first process, the command and its daemon run",
        )
        return marker, call

    def test_a_gateway_that_is_killed_takes_its_commands_along(self) -> None:
        marker, _ = self.run_one()
        self.gateway.kill()
        eventually(lambda: not processes_of(marker), "nothing of the command is left")
        self.gateway.start()

    def test_an_operator_ends_a_command_by_the_id_of_its_call(self) -> None:
        marker, name = self.unique("stream"), self.unique("call")
        call = self.gateway.start_call(
            "stay", {"script": f": {marker}; sleep 50"}, call_id=name, timeout=60
        )
        eventually(lambda: len(processes_of(marker)) >= 3, "the command runs")
        self.gateway.crab("calls", "cancel", name)
        self.assertEqual(call.result(15).code, "CANCELLED")
        self.assertEqual(processes_of(marker), [])


@unittest.skipUnless(can_sandbox(), "commands cannot be confined here under DEFAULT")
class FullTest(GatewayCase):
    """Commands that hang on every thread that commands have hold up commands, and nothing else."""

    model: ClassVar[ScriptedModel]

    @classmethod
    def setUpClass(cls) -> None:
        if not can_sandbox():
            raise unittest.SkipTest("commands cannot be confined here under DEFAULT")
        cls.model = cls.enterClassContext(ScriptedModel())
        own = {"defaults": {"privilege": "DEFAULT", "timeout": "60s"}}
        cls.CONFIG = {
            "providers": [
                {
                    "id": "slow",
                    "kind": "command",
                    "tools": [
                        shell("two", max_concurrency=2, **own),
                        shell("one", max_concurrency=1, **own),
                    ],
                }
            ],
            "tools": [{"match": "write*", "side_effects": True}],
            "hooks": [
                {
                    "name": "nods",
                    "type": "command",
                    "tools": ["write*"],
                    "run": ["/bin/echo", '{"decision":"proceed"}'],
                }
            ],
            "models": [
                {
                    "model": "named",
                    "provider": "scripted",
                    "url": cls.model.url.replace("127.0.0.1", "localhost"),
                    "max_retries": 0,
                }
            ],
        }
        super().setUpClass()

    def test_hooks_audit_names_and_other_tools_go_on_and_waiting_commands_keep_their_deadlines(
        self,
    ) -> None:
        marker = f"48{os.getpid()}"
        ids = [f"hang-{n}" for n in range(3)]
        hung = [
            self.gateway.start_call(name, {"script": f"sleep {marker}"}, call_id=call_id)
            for name, call_id in zip(("two", "two", "one"), ids, strict=True)
        ]
        eventually(lambda: len(processes_of(f"sleep\0{marker}")) == 3, "all threads are taken", 20)

        late = [
            self.gateway.call(name, {"script": "true"}, timeout_ms=1000) for name in ("one", "two")
        ]
        for reply in late:
            self.assertEqual(
                (reply.code, reply.error["retryable"]), ("RATE_LIMITED", True), reply.error
            )
            self.assertGreater(reply.seconds, 0.9)
            self.assertLess(reply.seconds, 10)

        write, key = self.unique("write"), self.unique("key")
        device = self.open()
        device.register(tool(write))
        device.serve({write: lambda _: "written"})
        reply = self.gateway.call(write, idempotency_key=key, call_id=key, timeout_ms=10_000)
        self.assertEqual(
            reply.result, {"text": "written"}, "its hook was asked, and its record is on the disk"
        )
        self.assertIn("nods", self.gateway.crab("calls", "show", key))

        chat = self.open()
        chat.send("message", content="hello")
        while (frame := chat.receive())[
            "type"
        ] != "done":  # the model's server is found by its name
            self.assertNotEqual(frame["type"], "error", frame)
        self.assertEqual(len(self.model.requests), 1)

        for call_id in ids:
            self.gateway.cancel(call_id)
        for call in hung:
            self.assertEqual(call.result(20).code, "CANCELLED")
        eventually(lambda: not processes_of(f"sleep\0{marker}"), "they are dead", 20)
        self.assertEqual(
            self.gateway.call("one", {"script": "echo again"}).result, {"text": "again\n"}
        )


class StartTest(unittest.TestCase):
    """What the configuration says wrong stops the start and is named."""

    def check(self, tool: dict[str, Any], *words: str) -> None:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "gateway.yaml"
            file.write_text(
                json.dumps({"providers": [{"id": "p", "kind": "command", "tools": [tool]}]})
            )
            done = subprocess.run(
                [program(), "gateway", "check", "--config", str(file)],
                capture_output=True,
                text=True,
                timeout=20,
            )
        self.assertNotEqual(done.returncode, 0, done.stdout)
        for word in words:
            self.assertIn(word, done.stdout + done.stderr)

    def test_unknown_keys_labels_and_broken_schemas_are_named(self) -> None:
        self.check(shell("x", argvv=[]), "argvv")
        self.check(shell("x", defaults={"network": "SOME"}), "network")
        self.check(shell("x", input_schema={"type": "objekt"}), "tool x", "schema")
        self.check(shell("x", argv=["sh", "{other}"]), "tool x", "other")
        self.check(shell("x", argv=["{script}"]), "tool x", "argv")
        self.check(shell("x", argv=["no-such-program"]), "tool x", "no-such-program")
        self.check(shell("bad name"), "name")
        self.check(shell("x", env={"A": {"secret": "nowhere"}}), "tool x", "nowhere")
        self.check(shell("x", env={"A": {"argument": "other"}}), "tool x", "other")
        self.check(shell("x", accepts=["image/png"]), "tool x", "accepts", "stdin")
        self.check(shell("x", accepts=["Image/PNG"], stdin="args"), "accepts")
