"""docs/protocols/sw4rm.md, sections 8 and 9: services that the gateway asks, hitl and
worktree_service (checklist 29, 36-38)."""

from __future__ import annotations

import shutil
import tempfile
import threading
import unittest
from pathlib import Path
from typing import Any

import grpc
from support.approver import Approver
from support.asked_services import HitlService, WorktreeService
from support.tool_service import tool_call, tool_pb, trailers_of
from support.wait import PATIENCE, Stopwatch
from test_commands import can_sandbox, limits_memory, shell
from test_grpc import GrpcCase, Status

_NEEDS_APPROVAL = [{"principal": "*", "call": {"needs_approval": ["list_devices"]}}]


def elevated() -> Any:
    return tool_pb().ExecutionPolicy(privilege_level="ELEVATED")


class HitlCase(GrpcCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.hitl = HitlService(lambda *_: "approve")
        cls.addClassCleanup(cls.hitl.close)
        cls.CONFIG = {
            **GrpcCase.CONFIG,
            "policy": _NEEDS_APPROVAL,
            "hitl": {"address": cls.hitl.address},
            "providers": [
                {
                    "id": "workshop",
                    "kind": "command",
                    "tools": [
                        shell(
                            "make",
                            defaults={"privilege": "DEFAULT"},
                            ceilings={"privilege": "PRIVILEGED"},
                        )
                    ],
                }
            ],
        }
        super().setUpClass()

    def setUp(self) -> None:
        super().setUp()
        self.hitl.asked.clear()

    def answers(self, decide: Any) -> None:
        self.hitl.decide = decide if callable(decide) else lambda *_: decide


class DecideTest(HitlCase):
    def test_sw4rm_38_approve_in_any_case_runs_the_call_once(self) -> None:
        for action in ("approve", "APPROVE", "Approve"):
            self.answers(action)
            self.assertIn(b"devices", self.client().call(tool_call("list_devices")).data)
        self.assertEqual(len(self.hitl.asked), 3)
        invocation, context = self.hitl.asked[-1]
        self.assertEqual(
            (invocation.reason_type, list(invocation.proposed_actions)), (2, ["approve", "deny"])
        )
        self.assertEqual((context["principal"], context["tool"]), ("caller/tester", "list_devices"))

    def test_sw4rm_38_every_other_answer_refuses(self) -> None:
        for action in ("deny", "modify", "", "approved", " approve"):
            self.answers(action)
            self.refused(
                Status.PERMISSION_DENIED,
                "PERMISSION_DENIED",
                lambda: self.client().call(tool_call("list_devices")),
            )

    def test_sw4rm_38_an_error_is_as_if_nobody_had_been_there(self) -> None:
        self.answers(
            lambda _, context: context.abort(grpc.StatusCode.INTERNAL, "nobody at the desk")
        )
        error = self.refused(
            Status.PERMISSION_DENIED,
            "APPROVAL_REQUIRED",
            lambda: self.client().call(tool_call("list_devices")),
        )
        self.gateway.crab("approvals", "allow", trailers_of(error)["resource-id"])
        self.assertIn(b"devices", self.client().call(tool_call("list_devices")).data)

    def test_an_operator_who_watches_decides_where_the_service_does_not(self) -> None:
        self.answers(lambda _, context: context.abort(grpc.StatusCode.UNAVAILABLE, "closed"))
        with Approver(self.gateway) as approver:
            running = self.client().start(tool_call("list_devices"))
            approver.decide(approver.question()["id"], "allow")
            self.assertIn(b"devices", running.result().data)

    def test_the_first_word_counts_and_the_service_is_told_that_it_need_not_decide(self) -> None:
        begun, told = threading.Event(), threading.Event()

        def wait_for_the_end(_: Any, context: grpc.ServicerContext) -> str:
            over = threading.Event()
            if not context.add_callback(over.set):
                over.set()
            begun.set()
            over.wait(2 * PATIENCE)
            if not context.is_active():
                told.set()
            return "approve"  # too late

        self.answers(wait_for_the_end)
        with Approver(self.gateway) as approver:
            running = self.client().start(
                tool_call("list_devices", call_id=self.unique("id")), timeout=2 * PATIENCE
            )
            question = approver.question()
            # grpcio calls no handler for what was cancelled before a thread took it up
            self.assertTrue(begun.wait(PATIENCE), "the service is asked as well")
            approver.decide(question["id"], "deny")
            self.refused(Status.PERMISSION_DENIED, "PERMISSION_DENIED", running.result)
        self.assertTrue(told.wait(PATIENCE))
        self.answers("deny")
        self.refused(
            Status.PERMISSION_DENIED,
            "PERMISSION_DENIED",
            lambda: self.client().call(tool_call("list_devices")),
        )

    @unittest.skipUnless(can_sandbox(), "commands cannot be confined here under DEFAULT")
    def test_sw4rm_37_levels_are_asked_about_as_escalations_each_time(self) -> None:
        self.answers("approve")
        for _ in range(2):
            self.assertEqual(
                self.client()
                .call(tool_call("make", {"script": "echo up"}, policy=elevated()))
                .data,
                b"up\n",
            )
        self.assertEqual([invocation.reason_type for invocation, _ in self.hitl.asked], [7, 7])
        self.assertEqual(self.hitl.asked[0][1]["privilege_level"], "ELEVATED")

    @unittest.skipUnless(can_sandbox(), "commands cannot be confined here under DEFAULT")
    def test_sw4rm_38_privileged_is_logged_as_a_warning_with_who_allowed_it(self) -> None:
        if not limits_memory():
            self.skipTest("no control group limits memory here, so PRIVILEGED is not offered")
        self.answers("approve")
        self.client().call(
            tool_call(
                "make",
                {"script": "true"},
                policy=tool_pb().ExecutionPolicy(privilege_level="PRIVILEGED"),
            )
        )
        lines = [
            line
            for line in self.gateway.log_tail(8000).splitlines()
            if "approval allowed" in line and "PRIVILEGED" in line
        ]
        self.assertTrue(
            lines and "warn" in lines[-1].lower() and "service/hitl" in lines[-1],
            self.gateway.log_tail(),
        )


@unittest.skipUnless(can_sandbox(), "commands cannot be confined here under DEFAULT")
class WorktreeTest(GrpcCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = Path(tempfile.mkdtemp(prefix="crab-worktrees-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        for name in ("main", "side"):
            (cls.folder / name).mkdir()
            (cls.folder / name / "which").write_text(name)
        cls.service = WorktreeService({})
        cls.addClassCleanup(cls.service.close)
        cls.CONFIG = {
            **GrpcCase.CONFIG,
            "worktree_service": {"address": cls.service.address},
            "policy": [{"principal": "caller/tester", "act_for": ["planner"]}],
            "worktrees": [
                {"id": f"garden/{name}", "path": str(cls.folder / name)}
                for name in ("main", "side")
            ],
            "providers": [
                {"id": "files", "kind": "command", "preset": "worktree"},
                {
                    "id": "homely",
                    "kind": "command",
                    "worktree": "garden/main",
                    "tools": [
                        shell(
                            "here",
                            needs_worktree=True,
                            defaults={"privilege": "DEFAULT"},
                            ceilings={"privilege": "ELEVATED"},
                        )
                    ],
                },
            ],
        }
        super().setUpClass()

    def setUp(self) -> None:
        super().setUp()
        self.service.bound, self.service.mute = {}, False

    def read(self, **options: Any) -> bytes:
        return self.client().call(tool_call("read_file", {"path": "which"}), **options).data

    def test_sw4rm_29_the_service_says_where_a_principal_works(self) -> None:
        for state, worktree in (
            ("BOUND_HOME", "main"),
            ("BOUND_NON_HOME", "side"),
            ("SWITCH_PENDING", "main"),
        ):
            self.service.bound = {"caller/tester": ("garden", worktree, state)}
            self.assertEqual(self.read(), worktree.encode())

    def test_sw4rm_29_unbound_and_bind_failed_are_unbound(self) -> None:
        self.gateway.crab(
            "worktrees", "bind", "caller/tester", "garden/main"
        )  # counts only without the service
        for state in ("UNBOUND", "BIND_FAILED", ""):
            self.service.bound = {"caller/tester": ("garden", "main", state)}
            self.refused(Status.FAILED_PRECONDITION, "worktree_not_bound", self.read)
        self.assertEqual(
            self.client().call(tool_call("here", {"script": "cat which"})).data,
            b"main",
            "the provider's own is left",
        )

    def test_a_worktree_that_the_gateway_does_not_know_is_none(self) -> None:
        self.service.bound = {"caller/tester": ("garden", "elsewhere", "BOUND_HOME")}
        self.refused(Status.FAILED_PRECONDITION, "worktree_not_bound", self.read)

    def test_the_agent_that_a_call_is_for_is_asked_about(self) -> None:
        self.service.bound = {
            "planner": ("garden", "side", "BOUND_HOME"),
            "caller/tester": ("garden", "main", "BOUND_HOME"),
        }
        self.assertEqual(self.read(metadata={"x-agent-id": "planner"}), b"side")
        self.assertEqual(
            self.read(metadata={"x-agent-id": "caller/tester"}), b"main", "its own id is no agent's"
        )

    def test_an_agent_that_is_only_named_over_http_is_not_asked_about(self) -> None:
        self.service.bound = {
            "planner": ("garden", "side", "BOUND_HOME"),
            "caller/eve": ("garden", "main", "BOUND_HOME"),
        }
        for agent in ("planner", "caller/tester"):
            reply = self.gateway.call(
                "read_file",
                {"path": "which"},
                caller="eve",
                context={"agent_id": agent, "session_id": "s"},
            )
            self.assertEqual(reply.result["text"], "main")

    def test_no_answer_within_two_seconds_is_agent_unavailable(self) -> None:
        self.service.mute = True
        error = self.refused(
            Status.UNAVAILABLE,
            "AGENT_UNAVAILABLE",
            lambda: self.client().call(
                tool_call(
                    "here", {"script": "true"}, policy=tool_pb().ExecutionPolicy(backoff="none")
                ),
                timeout=15,
            ),
        )
        self.assertEqual(trailers_of(error)["retry-able"], "true")

    def test_a_silent_service_costs_a_call_two_seconds_however_often_it_is_tried(self) -> None:
        self.service.mute = True
        watch = Stopwatch()
        self.refused(
            Status.UNAVAILABLE,
            "AGENT_UNAVAILABLE",
            lambda: self.client().call(tool_call("here", {"script": "true"}), timeout=15),
        )
        self.assertLess(watch.seconds, 5.9, "three tries of two seconds would take six")
        self.service.mute = False
        self.service.bound = {"caller/tester": ("garden", "side", "BOUND_HOME")}
        self.assertEqual(self.read(), b"side")

    def test_sw4rm_37_an_approval_holds_for_the_worktree_it_was_given_for(self) -> None:
        self.service.bound = {"caller/tester": ("garden", "main", "BOUND_HOME")}
        with Approver(self.gateway) as approver:
            running = self.client().start(
                tool_call("here", {"script": "cat which"}, policy=elevated()), timeout=15
            )
            question = approver.question()
            self.assertEqual(question["worktree"], "garden/main")
            self.service.bound = {"caller/tester": ("garden", "side", "BOUND_HOME")}
            approver.decide(question["id"], "allow")
            self.refused(Status.UNAVAILABLE, "AGENT_UNAVAILABLE", running.result)


if __name__ == "__main__":
    unittest.main()
