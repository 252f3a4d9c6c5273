"""docs/protocols/sw4rm.md, section 9, over gRPC: calls that wait for an approval (checklist 23, 36,
37)."""

from __future__ import annotations

import tempfile
import time
import unittest
from pathlib import Path
from typing import Any

from support.approver import Approver
from support.tool_service import summary_of, tool_call, tool_pb, trailers_of
from support.wait import Stopwatch, eventually
from test_commands import can_sandbox, limits_memory, shell
from test_grpc import GrpcCase, Status


_LABELS: tuple[dict[str, str], ...] = (
    {"privilege_level": "ELEVATED"},
    {"privilege_level": "PRIVILEGED"},
    {"network_policy": "FULL_ACCESS"},
    {"privilege_level": "PRIVILEGED", "network_policy": "FULL_ACCESS"},
)


class ApprovalCase(GrpcCase):
    CONFIG = {
        **GrpcCase.CONFIG,
        "policy": [{"principal": "*", "call": {"needs_approval": ["list_devices"]}}],
        "providers": [
            {
                "id": "workshop",
                "kind": "command",
                "tools": [
                    shell(
                        "make",
                        defaults={"privilege": "DEFAULT", "timeout": "20s"},
                        ceilings={"privilege": "ELEVATED", "timeout": "20s"},
                    )
                ],
            }
        ],
    }

    def watch(self) -> Approver:
        approver = Approver(self.gateway)
        self.addCleanup(approver.__exit__)
        return approver


class CallTest(ApprovalCase):
    def test_sw4rm_36_with_nobody_to_ask_it_is_refused_at_once_with_an_id(self) -> None:
        error = self.refused(
            Status.PERMISSION_DENIED,
            "APPROVAL_REQUIRED",
            lambda: self.client().call(tool_call("list_devices")),
        )
        trailers = trailers_of(error)
        self.assertEqual(trailers["resource-type"], "approval")
        self.gateway.crab("approvals", "allow", trailers["resource-id"])
        self.assertIn(b"devices", self.client().call(tool_call("list_devices")).data)
        self.refused(
            Status.PERMISSION_DENIED,
            "APPROVAL_REQUIRED",
            lambda: self.client().call(tool_call("list_devices")),
        )

    def test_sw4rm_23_waiting_for_an_approval_leaves_the_timeout_untouched(self) -> None:
        approver = self.watch()
        policy = tool_pb().ExecutionPolicy()
        policy.timeout.nanos = 200_000_000
        began = time.monotonic()
        running = self.client().start(tool_call("list_devices", policy=policy))
        question = approver.question()
        eventually(lambda: time.monotonic() > began + 0.3, "the timeout has passed")
        approver.decide(question["id"], "allow")
        self.assertIn(b"devices", running.result().data)

    def test_sw4rm_37_a_stream_waits_too_and_a_denial_is_told(self) -> None:
        approver = self.watch()
        stream = self.client().call_stream(tool_call("list_devices", call_id=self.unique("denied")))
        approver.decide(approver.question()["id"], "deny")
        self.refused(Status.PERMISSION_DENIED, "PERMISSION_DENIED", lambda: list(stream))

    def test_who_drops_the_rpc_takes_the_question_back(self) -> None:
        approver = self.watch()
        running = self.client().start(tool_call("list_devices"))
        approver.question()
        running.cancel()
        self.assertEqual(approver.end()["state"], "cancelled")


@unittest.skipUnless(can_sandbox(), "commands cannot be confined here under DEFAULT")
class LabelTest(ApprovalCase):
    def test_sw4rm_37_elevated_is_asked_for_and_covers_nothing_looser_or_other(self) -> None:
        elevated = tool_pb().ExecutionPolicy(privilege_level="ELEVATED")
        self.assertEqual(
            self.client().call(tool_call("make", {"script": "echo hi"})).data,
            b"hi\n",
            "its default needs nobody",
        )
        approver = self.watch()
        running = self.client().start(tool_call("make", {"script": "echo hi"}, policy=elevated))
        question = approver.question()
        self.assertEqual(question["privilege_level"], "ELEVATED")
        approver.decide(question["id"], "allow")
        self.assertEqual(running.result().data, b"hi\n")
        approver.end()
        again = self.client().start(tool_call("make", {"script": "echo hi"}, policy=elevated))
        approver.decide(approver.question()["id"], "deny")
        self.refused(Status.PERMISSION_DENIED, "PERMISSION_DENIED", again.result)


@unittest.skipUnless(can_sandbox(), "commands cannot be confined here under DEFAULT")
class GrantTest(ApprovalCase):
    """`crab approvals allow --scope once|--session|--always`, from the first refusal to the run."""

    @classmethod
    def setUpClass(cls) -> None:
        cls.tree = Path(cls.enterClassContext(tempfile.TemporaryDirectory(prefix="crab-worktree-")))
        loose = {"privilege": "PRIVILEGED", "network": "FULL_ACCESS"}
        make, other = (
            shell(name, defaults={"privilege": "DEFAULT", "timeout": "20s"}, ceilings=loose)
            for name in ("make", "other")
        )
        cls.CONFIG = {
            **GrpcCase.CONFIG,
            "worktrees": [{"id": "garden/main", "path": str(cls.tree)}],
            "providers": [
                {
                    "id": "workshop",
                    "kind": "command",
                    "worktree": "garden/main",
                    "tools": [
                        make,
                        other,
                        shell("raised", defaults={"privilege": "ELEVATED"}, ceilings=loose),
                    ],
                },
                {"id": "second", "kind": "command", "worktree": "garden/main", "tools": [make]},
            ],
        }
        super().setUpClass()

    def request(self, script: str, name: str = "workshop__make", **labels: str) -> Any:
        return tool_call(name, {"script": script}, policy=tool_pb().ExecutionPolicy(**labels))

    def refused_with_id(self, request: Any, caller: str = "tester") -> str:
        error = self.refused(
            Status.PERMISSION_DENIED, "APPROVAL_REQUIRED", lambda: self.client(caller).call(request)
        )
        return trailers_of(error)["resource-id"]

    def can_be_kept(self, labels: dict[str, str]) -> None:
        if labels.get("privilege_level") != "ELEVATED" and not limits_memory():
            self.skipTest("no control group limits memory here")

    def refused_at_once(self, request: Any) -> None:
        """Over both RPCs, from a caller who would wait for ever; nothing of the call runs."""
        for send in (
            lambda client: client.call(request, timeout=None),
            lambda client: list(client.call_stream(request, timeout=None)),
        ):
            watch = Stopwatch()
            error = self.refused(
                Status.PERMISSION_DENIED, "APPROVAL_REQUIRED", lambda send=send: send(self.client())
            )
            self.assertLess(watch.seconds, 2)
            trailers = trailers_of(error)
            self.assertEqual(
                (trailers["resource-type"], trailers["retry-able"]), ("approval", "false")
            )
            self.assertIn(trailers["resource-id"], error.details())
        self.assertFalse((self.tree / "ran").exists())

    def test_sw4rm_36_each_label_is_refused_at_once_where_nobody_can_be_asked(self) -> None:
        for labels in _LABELS:
            with self.subTest(**labels):
                self.can_be_kept(labels)
                self.refused_at_once(self.request("echo > ran", **labels))
        self.refused_at_once(
            self.request("echo > ran", "raised")
        )  # its default, with nothing stated

    def test_sw4rm_36_an_operator_who_has_left_is_nobody_to_ask(self) -> None:
        request = self.request("echo > ran", privilege_level="ELEVATED")
        with Approver(self.gateway) as approver:
            waiting = self.client().start(request)
            approver.decide(approver.question()["id"], "deny")
            self.refused(Status.PERMISSION_DENIED, "PERMISSION_DENIED", waiting.result)
        self.refused_at_once(request)

    def test_sw4rm_37_once_lets_that_call_through_and_no_other(self) -> None:
        for labels in _LABELS:
            with self.subTest(**labels):
                self.can_be_kept(labels)
                request = self.request("echo granted", **labels)
                self.gateway.crab("approvals", "grant", self.refused_with_id(request), "--once")
                self.refused_with_id(self.request("echo other", **labels))
                for name in ("workshop__other", "second__make"):
                    self.refused_with_id(self.request("echo granted", name, **labels))
                self.refused_with_id(request, caller="another")
                for others in _LABELS:
                    if others != labels and (
                        limits_memory() or others == {"privilege_level": "ELEVATED"}
                    ):
                        self.refused_with_id(self.request("echo granted", **others))
                frame = self.client().call(request)
                self.assertEqual(frame.data, b"granted\n")
                self.assertEqual(
                    {name: summary_of(frame)["policy"][name] for name in labels}, labels
                )
                self.assertEqual(
                    self.level_told(frame.call_id),
                    "info" if labels == {"privilege_level": "ELEVATED"} else "warn",
                )
                self.refused_with_id(request)

    def level_told(self, call_id: str) -> str:
        """The level at which the log says of this call who had allowed it."""
        line = next(
            line
            for line in self.gateway.log_tail(1 << 20).splitlines()
            if "a call runs by an approval given before" in line and call_id in line
        )
        self.assertIn("by=local/", line)
        return line.split()[1]

    def test_sw4rm_37_one_word_lets_one_of_many_through(self) -> None:
        request = self.request("echo x >> runs", privilege_level="ELEVATED")
        self.gateway.crab("approvals", "grant", self.refused_with_id(request), "--once")
        client = self.client()
        calls = [client.start(request, timeout=20) for _ in range(16)]
        codes = sorted(
            call.exception().details().split(":")[0] if call.exception() else "" for call in calls
        )
        self.assertEqual(codes, [""] + ["APPROVAL_REQUIRED"] * 15)
        self.assertEqual((self.tree / "runs").read_text(), "x\n")

    def test_sw4rm_37_always_covers_such_calls_until_it_is_withdrawn(self) -> None:
        given = self.refused_with_id(self.request("echo 1", privilege_level="ELEVATED"))
        self.gateway.crab("approvals", "allow", given, "--always")
        for script in ("echo 2", "echo 3"):
            self.assertEqual(
                self.client().call(self.request(script, privilege_level="ELEVATED")).data,
                script[5:].encode() + b"\n",
            )
        self.refused_with_id(self.request("echo 4", privilege_level="PRIVILEGED"))
        self.gateway.crab("approvals", "forget", given)
        self.refused_with_id(self.request("echo 5", privilege_level="ELEVATED"))

    def test_a_session_is_nothing_that_a_call_over_grpc_has(self) -> None:
        given = self.refused_with_id(self.request("echo 1", privilege_level="ELEVATED"))
        with self.assertRaises(AssertionError) as caught:
            self.gateway.crab("approvals", "allow", given, "--session")
        self.assertIn("session", str(caught.exception))


if __name__ == "__main__":
    unittest.main()
