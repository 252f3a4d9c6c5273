"""Commands that do what they should not: output without end, races of links, signals, early ends;
and a gateway that ends while they run."""

from __future__ import annotations

import signal
import unittest
from pathlib import Path

from support.processes import processes_of
from support.wait import eventually
from test_commands import CommandCase, perl, shell

_OPEN = {"defaults": {"privilege": "DEFAULT", "timeout": "60s"}}


class SandboxFaultTest(CommandCase):
    TOOLS = [
        shell("do", **_OPEN),
        perl("do_perl", **_OPEN),
        shell(
            "endless",
            defaults={"privilege": "DEFAULT", "timeout": "1s"},
            output={"max_bytes": "64GiB", "stderr": "discard"},
            max_concurrency=1,
        ),
        shell("noisy", **_OPEN, output={"max_bytes": "8MiB"}),
        {
            "name": "show",
            "argv": ["cat", "--", "{path}"],
            "needs_worktree": True,
            "side_effects": [],
            "input_schema": {
                "type": "object",
                "required": ["path"],
                "properties": {"path": {"type": "string", "format": "worktree-path"}},
            },
        },
    ]

    def alive(self) -> None:
        self.assertEqual(self.text("do", "echo alive"), "alive\n")

    def test_a_gibibyte_of_output_ends_at_the_limit_with_flat_memory(self) -> None:
        before = self.gateway.forget_peak()
        reply = self.gateway.call("noisy", {"script": "head -c 1073741824 /dev/zero"}, timeout=90)
        self.assertIn("more than 8388608 bytes", reply.error["message"])
        self.assertLess(self.gateway.growth_since(before), 96 << 20)
        self.alive()

    def test_a_gibibyte_of_errors_is_read_and_only_its_end_is_kept(self) -> None:
        before = self.gateway.forget_peak()
        error = self.fails(
            "do",
            "head -c 1073741824 /dev/zero | tr '\\0' x >&2; echo the end >&2; exit 1",
            timeout=90,
        )
        self.assertIn("the end", error["message"])
        self.assertLess(self.gateway.growth_since(before), 96 << 20)

    def test_output_without_end_ends_at_the_deadline(self) -> None:
        marker = self.unique("endless")
        reply = self.gateway.call(
            "endless",
            {
                "script": f": {marker}; trap '' TERM PIPE; while :; do echo more >&2; sleep 0.01; "
                f"done"
            },
            timeout=60,
        )
        self.assertEqual(reply.status, "timeout")
        self.assertEqual(processes_of(marker), [])

    def test_closing_every_descriptor_early_is_no_end(self) -> None:
        self.assertIn(
            "exit status 7", self.fails("do", "exec <&- >&- 2>&-; sleep 0.5; exit 7")["message"]
        )
        self.assertEqual(
            self.text("do", "(sleep 0.5; echo late) & exec >&-; wait; exit 0"), "late\n"
        )

    def test_a_link_that_changes_all_the_time_never_leads_outside(self) -> None:
        """The check opens the path, the command opens it again: in between it may have become
        another, but inside there is no outside."""
        (self.tree / "inner").mkdir()
        (self.tree / "inner" / "secret").write_text("inside\n")
        marker = self.unique("flip")
        swap = (
            f": {marker}; while :; do ln -sfn inner flip; ln -sfn {self.folder} flip; ln -sfn "
            f"../ flip; done"
        )
        flipping = self.gateway.start_call("do", {"script": swap}, call_id=marker, timeout=90)
        eventually(lambda: (self.tree / "flip").is_symlink(), "the link changes")
        seen = [self.gateway.call("show", {"path": "flip/secret"}) for _ in range(40)]
        self.gateway.cancel(marker)
        flipping.result(20)
        for reply in seen:
            self.assertNotIn("nobody reads this", str(reply.body))
            self.assertIn(
                reply.body["result"]["text"] if reply.status == "ok" else reply.code,
                ("inside\n", "INVALID_ARGS", "TOOL_FAILED"),
            )

    def test_signals_reach_nobody_outside(self) -> None:
        for script in (
            "kill -9 -1",
            "kill -9 $PPID",
            f"kill -9 {self.gateway.process.pid}",
            "kill -9 0",
            "kill -STOP $$",
            "kill -STOP 1; exit 0",
        ):
            reply = self.gateway.call("endless", {"script": f"{script}; sleep 0.2"}, timeout=30)
            self.assertIn(reply.status, ("ok", "error", "timeout"), script)
        self.alive()

    def test_proc_shows_no_way_out(self) -> None:
        for path in (
            "/proc/1/root/etc/shadow",
            "/proc/self/root/../etc/shadow",
            "/proc/1/cwd/../etc/shadow",
            "/proc/self/cwd/../../secret",
            "/proc/kcore",
            "/proc/1/mem",
            "/proc/1/maps",
            "/proc/1/exe",
            "/proc/sys/kernel/modprobe",
        ):
            self.assertEqual(
                self.text(
                    "do",
                    f"(cat {path} || : > {path}) >/dev/null 2>&1 && test ! -r {path} && echo yes "
                    f"|| echo no",
                ).strip(),
                "no",
                path,
            )
        self.assertEqual(
            self.text("do_perl", "print open(F, '+<', '/proc/self/exe') ? 'yes' : 'no'"), "no"
        )
        for path in (
            "/proc/sys/kernel/modprobe",
            "/proc/sys/vm/overcommit_memory",
            "/proc/self/oom_score_adj_x",
        ):
            self.assertEqual(
                self.text("do_perl", f"print open(F, '>', '{path}') ? 'yes' : 'no'"), "no", path
            )

    def test_many_commands_leave_nothing_behind(self) -> None:
        self.alive()
        before = self.gateway.open_files()
        for code in range(30):
            self.gateway.call("do", {"script": f"exit {code % 3}"})
        eventually(lambda: self.gateway.open_files() <= before + 2, "descriptors are closed")
        left = [
            line
            for line in Path(
                f"/proc/{self.gateway.process.pid}/task/{self.gateway.process.pid}/children"
            )
            .read_text()
            .split()
        ]
        self.assertEqual(left, [])

    def test_sigterm_lets_a_command_end_and_answers_its_call(self) -> None:
        marker = self.unique("drain")
        call = self.gateway.start_call(
            "do", {"script": f": {marker}; sleep 2; echo finished"}, timeout=60
        )
        eventually(lambda: len(processes_of(marker)) >= 3, "the command runs")
        self.gateway.process.send_signal(signal.SIGTERM)
        self.assertEqual(call.result(20).result["text"], "finished\n")
        self.gateway.wait_stopped()
        self.assertEqual(processes_of(marker), [])
        self.gateway.start()

    def test_sigterm_ends_a_command_that_does_not_end(self) -> None:
        marker = self.unique("stubborn")
        self.gateway.start_call(
            "do",
            {
                "script": f": {marker}; trap '' TERM; (setsid sh -c ': {marker}; sleep 300' &) ; "
                f"while :; do sleep 1; done"
            },
            timeout=60,
        )
        eventually(lambda: len(processes_of(marker)) >= 3, "the command runs")
        self.gateway.stop()
        self.assertEqual(processes_of(marker), [])
        self.gateway.start()
