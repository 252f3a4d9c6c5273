"""docs/protocols/sw4rm.md over gRPC with commands as tools: output while it runs, slow readers,
clocks, policies in summaries."""

from __future__ import annotations

import re
import tempfile
import time
import unittest
from pathlib import Path
from typing import Any

from support.tool_service import summary_of, tool_call, tool_pb, trailers_of
from support.wait import PATIENCE, Stopwatch, eventually
from test_commands import can_sandbox, processes_of, shell
from test_grpc import GrpcCase, Status

_STREAM = {
    "output": {"content_type": "application/octet-stream", "streams": "bytes", "max_bytes": "1GiB"}
}


@unittest.skipUnless(can_sandbox(), "commands cannot be confined here under DEFAULT")
class CommandCase(GrpcCase):
    CONFIG = {
        **GrpcCase.CONFIG,
        "providers": [
            {
                "id": "workshop",
                "kind": "command",
                "tools": [
                    shell(
                        "run_shell",
                        defaults={"privilege": "DEFAULT"},
                        ceilings={"privilege": "DEFAULT", "timeout": "60s"},
                    ),
                    shell(
                        "try_shell",
                        idempotent=True,
                        defaults={"privilege": "DEFAULT"},
                        ceilings={"privilege": "DEFAULT", "timeout": "60s"},
                    ),
                    shell(
                        "stream_shell",
                        ceilings={"privilege": "DEFAULT", "timeout": "600s"},
                        defaults={"privilege": "DEFAULT", "timeout": "300s"},
                        **_STREAM,
                    ),
                ],
            }
        ],
    }

    def policy(self, seconds: float = 0, **members: Any) -> Any:
        policy = tool_pb().ExecutionPolicy(**members)
        if seconds:
            policy.timeout.seconds, policy.timeout.nanos = int(seconds), int(seconds % 1 * 1e9)
        return policy


class UnseenArgumentsTest(CommandCase):
    """Rules on arguments hold for bodies into which nobody can look."""

    CONFIG = {
        **GrpcCase.CONFIG,
        "policy": [
            {
                "principal": "*",
                "call": {"deny": ["digest"]},
                "where": [{"pointer": "/path", "glob": "/etc/*"}],
            },
            {
                "principal": "*",
                "call": {"needs_approval": ["ask"]},
                "where": [{"pointer": "/path", "glob": "/etc/*"}],
            },
        ],
        "providers": [
            {
                "id": "workshop",
                "kind": "command",
                "tools": [
                    {
                        "name": name,
                        "argv": ["cat"],
                        "stdin": "args",
                        "accepts": ["text/csv"],
                        "side_effects": [],
                        "idempotent": True,
                        "input_schema": {
                            "type": "object",
                            "properties": {"path": {"type": "string"}},
                        },
                    }
                    for name in ("digest", "ask", "free")
                ],
            }
        ],
    }

    def test_a_content_type_is_no_way_round_a_rule_on_arguments(self) -> None:
        client = self.client()
        self.assertEqual(
            client.call(tool_call("digest", {"path": "/home"})).data, b'{"path": "/home"}'
        )
        self.refused(
            Status.PERMISSION_DENIED,
            "PERMISSION_DENIED",
            lambda: client.call(tool_call("digest", {"path": "/etc/passwd"})),
        )
        self.refused(
            Status.PERMISSION_DENIED,
            "PERMISSION_DENIED",
            lambda: client.call(
                tool_call("digest", b'{"path":"/etc/passwd"}', content_type="text/csv")
            ),
        )
        self.refused(
            Status.PERMISSION_DENIED,
            "APPROVAL_REQUIRED",
            lambda: client.call(
                tool_call("ask", b'{"path":"/etc/passwd"}', content_type="text/csv")
            ),
        )
        self.assertEqual(
            client.call(tool_call("free", b"a,b", content_type="text/csv")).data,
            b"a,b",
            "no rule speaks of it",
        )


class AcceptsTest(CommandCase):
    """Arguments of a type that the tool lists, section 3."""

    CONFIG = {
        **GrpcCase.CONFIG,
        "providers": [
            {
                "id": "workshop",
                "kind": "command",
                "tools": [
                    {
                        "name": "digest",
                        "argv": ["sha256sum"],
                        "stdin": "args",
                        "accepts": ["image/png", "text/csv"],
                        "side_effects": [],
                        "idempotent": True,
                    },
                    {
                        "name": "copy",
                        "argv": ["cat"],
                        "stdin": "args",
                        "accepts": ["image/png"],
                        "side_effects": [],
                        "idempotent": True,
                        "input_schema": {"type": "object", "required": ["n"]},
                        "output": {"content_type": "image/png", "streams": "bytes"},
                    },
                ],
            }
        ],
    }
    BYTES = bytes(range(256)) * 40

    def test_sw4rm_09_bytes_of_a_listed_type_come_to_the_tool_as_they_are(self) -> None:
        for content_type in ("image/png", "Image/PNG; q=1"):
            frame = self.client().call(tool_call("copy", self.BYTES, content_type=content_type))
            self.assertEqual((frame.data, frame.content_type), (self.BYTES, "image/png"))
        self.assertEqual(
            b"".join(
                part.data
                for part in self.client().call_stream(
                    tool_call("copy", self.BYTES, content_type="image/png")
                )
            ),
            self.BYTES,
        )
        self.assertEqual(
            self.client().call(tool_call("copy", {"n": 1})).data,
            b'{"n": 1}',
            "JSON goes on as it did",
        )

    def test_sw4rm_09_other_types_and_tools_that_list_none_are_refused(self) -> None:
        error = self.refused(
            Status.INVALID_ARGUMENT,
            "VALIDATION_ERROR",
            lambda: self.client().call(tool_call("digest", b"x", content_type="image/gif")),
        )
        self.assertIn("image/png", error.details())
        self.refused(
            Status.INVALID_ARGUMENT,
            "VALIDATION_ERROR",
            lambda: self.client().call(tool_call("list_devices", b"x", content_type="image/png")),
        )
        self.refused(
            Status.INVALID_ARGUMENT,
            "VALIDATION_ERROR",
            lambda: self.client().call(tool_call("copy", {"m": 1})),
        )

    def test_sw4rm_46_other_bytes_or_another_type_under_an_id_are_a_duplicate(self) -> None:
        client, call_id = self.client(), self.unique("id")
        first = client.call(tool_call("digest", b"a,b", content_type="text/csv", call_id=call_id))
        again = client.call(
            tool_call("digest", b"a,b", content_type="text/csv; header=absent", call_id=call_id)
        )
        self.assertEqual((again.data, summary_of(again)["replayed"]), (first.data, True))
        for data, content_type in ((b"a,c", "text/csv"), (b"a,b", "image/png")):
            other = tool_call("digest", data, content_type=content_type, call_id=call_id)
            self.refused(
                Status.ALREADY_EXISTS, "DUPLICATE_DETECTED", lambda other=other: client.call(other)
            )


class OutputTest(CommandCase):
    def test_sw4rm_05_rusts_default_policy_is_accepted_and_capped(self) -> None:
        policy = self.policy(
            30,
            max_retries=3,
            backoff="exponential",
            network_policy="restricted",
            privilege_level="default",
            budget_cpu_ms=30_000,
            budget_wall_ms=30_000,
        )
        frame = self.client().call(tool_call("run_shell", {"script": "echo hello"}, policy=policy))
        self.assertEqual(frame.data, b"hello\n")
        effective = summary_of(frame)["policy"]
        self.assertEqual(
            (effective["timeout_ms"], effective["privilege_level"], effective["network_policy"]),
            (30_000, "DEFAULT", "DENY_ALL"),
        )
        self.assertIn("network_policy", effective["clamped"])

    def test_sw4rm_07_bytes_that_are_no_text_pass_as_they_are(self) -> None:
        script = r"printf '\000\001\377\376'"
        frames = list(self.client().call_stream(tool_call("stream_shell", {"script": script})))
        self.assertEqual(b"".join(frame.data for frame in frames), b"\x00\x01\xff\xfe")
        self.assertEqual(
            self.client().call(tool_call("stream_shell", {"script": script})).data,
            b"\x00\x01\xff\xfe",
        )

    def test_sw4rm_12_an_exit_status_is_a_failed_tool_with_the_end_of_stderr(self) -> None:
        error = self.refused(
            Status.UNKNOWN,
            "TOOL_FAILED",
            lambda: self.client().call(
                tool_call("run_shell", {"script": "echo oh no >&2; exit 3"})
            ),
        )
        self.assertIn("3", error.details())
        self.assertIn("oh no", error.details())

    def test_sw4rm_15_output_is_seen_while_the_tool_runs(self) -> None:
        script = "echo one; sleep 1; echo two; sleep 1; echo three"
        seen = []
        for frame in self.client().call_stream(tool_call("stream_shell", {"script": script})):
            seen.append((time.monotonic(), frame))
        self.assertEqual(b"".join(frame.data for _, frame in seen), b"one\ntwo\nthree\n")
        self.assertEqual([frame.frame_no for _, frame in seen], list(range(1, len(seen) + 1)))
        first = next(at for at, frame in seen if b"one" in frame.data)
        last = next(at for at, frame in seen if b"three" in frame.data)
        self.assertGreater(last - first, 1.5)
        self.assertEqual(summary_of(seen[-1][1])["exit_status"], 0)

    def test_sw4rm_17_a_reader_that_leaves_leaves_no_process(self) -> None:
        marker = self.unique("marker")
        stream = self.client().call_stream(
            tool_call("stream_shell", {"script": f"echo go; : {marker}; sleep 300; :"})
        )
        next(stream)
        self.assertTrue(processes_of(marker))
        stream.cancel()
        eventually(lambda: not processes_of(marker), "its processes are gone")

    def test_sw4rm_51_a_cancelled_command_gives_its_part_and_is_gone(self) -> None:
        client, marker, call_id = self.client(), self.unique("marker"), self.unique("id")
        stream = client.call_stream(
            tool_call(
                "stream_shell", {"script": f"echo part; : {marker}; sleep 300; :"}, call_id=call_id
            )
        )
        self.assertEqual(next(stream).data, b"part\n")
        self.assertEqual(client.cancel(call_id).error_code, "CANCELLED")
        final = list(stream)[-1]
        self.assertTrue(summary_of(final)["partial_result"])
        self.assertFalse(processes_of(marker))

    def test_sw4rm_54_a_second_cancel_while_the_first_is_at_work_does_no_harm(self) -> None:
        client, marker, call_id = self.client(), self.unique("marker"), self.unique("id")
        call = client.start(
            tool_call(
                "run_shell",
                {"script": f"trap '' TERM; : {marker}; sleep 60; sleep 60; :"},
                call_id=call_id,
            ),
            timeout=20,
        )
        eventually(lambda: len(processes_of(marker)) >= 3, "the command runs")
        self.assertEqual(
            [client.cancel(call_id).error_code for _ in range(2)],
            ["CANCELLED", "CANCELLED"],
            "SIGKILL comes after 2 s",
        )
        self.refused(Status.CANCELLED, "CANCELLED", lambda: call.result(10))
        self.assertEqual(processes_of(marker), [])
        self.assertEqual(client.cancel(call_id).error_code, "ALREADY_COMPLETED")

    def test_sw4rm_44_a_repeated_stream_whose_output_was_not_kept_says_so(self) -> None:
        client, call_id = self.client(), self.unique("id")
        call = tool_call("stream_shell", {"script": "head -c 3000000 /dev/zero"}, call_id=call_id)
        self.assertEqual(sum(len(frame.data) for frame in client.call_stream(call)), 3_000_000)
        self.refused(
            Status.ALREADY_EXISTS, "DUPLICATE_DETECTED", lambda: list(client.call_stream(call))
        )
        self.refused(Status.ALREADY_EXISTS, "DUPLICATE_DETECTED", lambda: client.call(call))


class NoiseCase(CommandCase):
    """`noise` writes more than its readers take."""

    ROUNDS, PART = 300, 65_536  # what the tool would write, and how much of it at a time
    # It counts in its worktree what it has written: noise, for packed bytes of one letter would all
    # fit into the reader's window.
    SCRIPT = (
        f"i=0; while [ $i -lt {ROUNDS} ]; do head -c {PART} /dev/urandom; i=$((i+1)); echo "
        f"$i > new; mv new written; done"
    )

    @classmethod
    def setUpClass(cls) -> None:
        cls.tree = Path(cls.enterClassContext(tempfile.TemporaryDirectory(prefix="crab-worktree-")))
        tools = [
            shell(
                "noise",
                needs_worktree=True,
                defaults={"privilege": "DEFAULT", "timeout": "300s"},
                ceilings={"privilege": "DEFAULT", "timeout": "600s"},
                **_STREAM,
            )
        ]
        cls.CONFIG = {
            **GrpcCase.CONFIG,
            "worktrees": [{"id": "garden/main", "path": str(cls.tree)}],
            "providers": [
                {"id": "workshop", "kind": "command", "worktree": "garden/main", "tools": tools}
            ],
        }
        super().setUpClass()

    def written(self) -> int:
        """The parts that the tool has got rid of."""
        file = self.tree / "written"
        return int(file.read_text()) if file.exists() else 0

    def stream(self, call_id: str = "") -> Any:
        """One whose frames wait at the gateway: the client takes no more than 64 KiB beyond what is
        asked of it."""
        (self.tree / "written").unlink(missing_ok=True)
        client = self.client(
            options=(("grpc.http2.lookahead_bytes", 65_536), ("grpc.http2.bdp_probe", 0))
        )
        return client.call_stream(
            tool_call("noise", {"script": self.SCRIPT}, call_id=call_id), timeout=600
        )

    def blocked(self) -> int:
        """How far the tool had come when it came no further; fails if it does not stop."""
        seen: list[int] = []

        def stands() -> bool:
            seen.append(self.written())
            return seen[-1] > 0 and len(seen) > 50 and len(set(seen[-50:])) == 1

        eventually(stands, "the tool is held back", limit=2 * PATIENCE)
        return seen[-1]


class SlowReaderTest(NoiseCase):
    def test_sw4rm_18_a_reader_that_does_not_read_blocks_the_tool_while_memory_stays_bounded(
        self,
    ) -> None:
        before = self.gateway.forget_peak()
        stream = self.stream()
        total = len(next(stream).data)
        for _ in range(2):  # it goes on when it is read, and stops again
            held = self.blocked()
            self.assertLess(held * self.PART - total, 4 << 20, "what it wrote and nobody has read")
            while total < held * self.PART:
                total += len(next(stream).data)
        self.assertTrue(
            self.client().call(tool_call("list_devices")).final, "others are served meanwhile"
        )
        self.assertLess(self.gateway.growth_since(before), 16 << 20)
        total += sum(len(frame.data) for frame in stream)
        self.assertEqual((total, self.written()), (self.ROUNDS * self.PART, self.ROUNDS))
        self.assertLess(self.gateway.growth_since(before), 48 << 20)


class ClockTest(CommandCase):
    def test_sw4rm_19_no_process_of_a_tool_outlives_its_timeout_by_three_seconds(self) -> None:
        for nature in ("", 'trap "" TERM; '):  # one that ends when it is asked, one that does not
            for streams in (False, True):
                with self.subTest(nature=nature, streams=streams):
                    client, marker = self.client(), self.unique("sleeper")
                    asleep = f"{nature}: {marker}; sleep 60; sleep 60; :"
                    script = (
                        f"(setsid sh -c '{asleep}' >/dev/null 2>&1 &) ; sh -c '{asleep}' & {asleep}"
                    )
                    request = tool_call(
                        "stream_shell" if streams else "run_shell",
                        {"script": script},
                        policy=self.policy(1),
                    )
                    watch = Stopwatch()
                    ending = self.gateway._pool.submit(
                        lambda c=client, r=request, s=streams: list(c.call_stream(r))
                        if s
                        else c.call(r)
                    )  # noqa: SLF001
                    eventually(
                        lambda m=marker: len(processes_of(m)) >= 5,
                        "bubblewrap, its first process, the command, its child and its daemon run",
                    )
                    error = self.refused(
                        Status.DEADLINE_EXCEEDED, "TOOL_TIMEOUT", lambda e=ending: e.result(20)
                    )
                    self.assertEqual(processes_of(marker), [])
                    self.assertLess(watch.seconds, 4)
                    self.assertEqual(trailers_of(error)["configured-timeout-ms"], "1000")
                    self.assertGreaterEqual(int(trailers_of(error)["elapsed-ms"]), 1000)

    def test_sw4rm_20_the_earliest_clock_names_the_code_and_timeout_comes_first_at_a_tie(
        self,
    ) -> None:
        client, slow = self.client(), {"script": "sleep 60"}
        for seconds, wall_ms, code in (
            (30, 500, "WALL_TIMEOUT"),
            (0.5, 30_000, "TOOL_TIMEOUT"),
            (0.5, 500, "TOOL_TIMEOUT"),
        ):
            request = tool_call(
                "run_shell", slow, policy=self.policy(seconds, budget_wall_ms=wall_ms)
            )
            self.refused(Status.DEADLINE_EXCEEDED, code, lambda r=request: client.call(r))

    def exhausted(self, script: str, tool: str = "run_shell") -> None:
        """The script has used up 500 ms of CPU time, and not much more, when it is ended."""
        watch = Stopwatch()
        request = tool_call(tool, {"script": script}, policy=self.policy(60, budget_cpu_ms=500))
        error = self.refused(
            Status.RESOURCE_EXHAUSTED,
            "CPU_BUDGET_EXCEEDED",
            lambda: self.client().call(request, timeout=60),
        )
        self.assertEqual(trailers_of(error)["retry-able"], "false")
        budget, used = (int(number) for number in re.findall(r"(\d+) ms", error.details()))
        self.assertEqual(budget, 500)
        self.assertLessEqual(used, 550)
        self.assertLess(watch.seconds, 30)

    def test_sw4rm_21_a_cpu_budget_ends_what_spins(self) -> None:
        self.exhausted("while :; do :; done")

    def test_sw4rm_21_the_time_of_children_counts(self) -> None:
        spin = "while :; do :; done"
        brief = "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done"  # far from the budget each
        for script in (
            f"({spin}) & ({spin}) & wait",
            f"while :; do sh -c '{brief}'; done",
            f"(setsid sh -c '{spin}' >/dev/null 2>&1 &) ; sleep 60; :",
        ):
            with self.subTest(script):
                self.exhausted(script)

    def test_sw4rm_21_attempts_are_added_up(self) -> None:
        self.exhausted(
            "perl -e 'do { ($u, $s) = times } while $u + $s < 0.3; exit 75'", "try_shell"
        )

    def test_sw4rm_21_what_sleeps_survives_its_budget(self) -> None:
        frame = self.client().call(
            tool_call(
                "run_shell",
                {"script": "sleep 1; echo slept"},
                policy=self.policy(30, budget_cpu_ms=500),
            )
        )
        summary = summary_of(frame)
        self.assertEqual((frame.data, summary["policy"]["budget_cpu_ms"]), (b"slept\n", 500))
        self.assertLess(summary["cpu_ms"], 500)
        self.assertGreaterEqual(summary["wall_ms"], 1000)

    def test_sw4rm_26_what_was_capped_is_listed_and_what_is_lower_holds(self) -> None:
        frame = self.client().call(
            tool_call("run_shell", {"script": ":"}, policy=self.policy(10_000))
        )
        effective = summary_of(frame)["policy"]
        self.assertEqual(
            (effective["timeout_ms"], "timeout" in effective["clamped"]), (60_000, True)
        )
        frame = self.client().call(tool_call("run_shell", {"script": ":"}, policy=self.policy(5)))
        self.assertEqual(
            (summary_of(frame)["policy"]["timeout_ms"], summary_of(frame)["policy"]["clamped"]),
            (5_000, []),
        )
