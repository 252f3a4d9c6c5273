"""Tasks of MCP over kill -9 and restarts of the gateway: docs/protocols/mcp.md, section 4.7."""

from __future__ import annotations

import sys
import unittest
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "harness"))
from mcp_client import McpError, ModernClient  # noqa: E402
from mcp_fixture import Fixture  # noqa: E402
from mcp_links import HttpLink  # noqa: E402
from support.approver import Approver  # noqa: E402
from support.device import Device, tool  # noqa: E402
from support.gateway import Gateway  # noqa: E402
from support.wait import eventually  # noqa: E402

TASKS = {"extensions": {"io.modelcontextprotocol/tasks": {}}}
FORMS = {"elicitation": {}}
PATIENCE = 30.0


class TaskCase(unittest.TestCase):
    """A gateway of its own for each test, with the fixture behind it, which outlives it."""

    #: less than any tool that has to become a task takes
    task_after = "100ms"

    def open(self, era: str, capabilities: Any = None, **more: Any) -> ModernClient:
        upstream = self.enterContext(Fixture("--era", era))
        servers = {"fixture": {"url": upstream.url, "era": era}}
        config = {"listen": {"open_loopback": True}, **more}
        config["mcp"] = {"task_after": self.task_after, "servers": servers}
        self.gateway = self.enterContext(Gateway(config))
        self.capabilities = {**TASKS, **(capabilities or {})}
        client = self.client()
        eventually(lambda: "slow_compute" in client.tools(), "the tools are there", PATIENCE)
        return client

    def client(self) -> ModernClient:
        host, port = self.gateway.public
        return ModernClient(HttpLink(f"http://{host}:{port}/mcp"), self.capabilities)

    def restart(self, kill: bool = True) -> ModernClient:
        self.gateway.kill() if kill else self.gateway.stop()
        self.gateway.start()
        return self.client()

    def begin(self, client: ModernClient, name: str, **arguments: Any) -> dict[str, str]:
        made = client.request("tools/call", {"name": name, "arguments": arguments})
        self.assertEqual(made["resultType"], "task", made)
        return {"taskId": made["taskId"]}

    def end_of(self, client: ModernClient, task: dict[str, str]) -> dict[str, Any]:
        def ended() -> dict[str, Any] | None:
            state = client.request("tasks/get", task)
            return state if state["status"] not in ("working", "input_required") else None

        return eventually(ended, "the task ends", PATIENCE)


class RestartTest(TaskCase):
    def test_a_task_that_has_ended_keeps_its_result(self) -> None:
        client = self.open("modern")
        task = self.begin(client, "slow_compute", seconds=0.5, label="kept")
        before = self.end_of(client, task)
        self.assertEqual(before["status"], "completed")
        client = self.restart()
        self.assertEqual(client.request("tasks/get", task), before)
        client.request("tasks/cancel", task)
        self.assertEqual(client.request("tasks/get", task)["status"], "completed")

    def test_a_task_of_the_upstream_is_taken_up_again(self) -> None:
        for kill in (True, False):
            with self.subTest(kill=kill):
                client = self.open("modern")
                task = self.begin(client, "slow_compute", seconds=6, label="both")
                client = self.restart(kill)
                self.assertEqual(client.request("tasks/get", task)["status"], "working")
                state = self.end_of(client, task)
                text = state["result"]["content"][0]["text"]
                self.assertEqual(text, "Computed both in 6 seconds")

    def test_a_question_of_the_upstream_is_asked_again_after_a_restart(self) -> None:
        for era in ("modern", "legacy"):
            with self.subTest(era=era):
                self.question_over_a_restart(era)

    def question_over_a_restart(self, era: str) -> None:
        client = self.open(era, FORMS)
        task = self.begin(client, "confirm_delete", filename="x")
        state = lambda: client.request("tasks/get", task)  # noqa: E731
        eventually(lambda: state()["status"] == "input_required", "it asks", PATIENCE)
        client = self.restart()
        eventually(lambda: state()["status"] == "input_required", "it asks again", PATIENCE)
        answers = {
            key: {"action": "accept", "content": {"confirm": True}}
            for key in state()["inputRequests"]
        }
        client.request("tasks/update", {**task, "inputResponses": answers})
        self.assertIn("Deleted x", str(self.end_of(client, task)["result"]))

    def test_what_a_task_of_a_legacy_server_asks_is_in_the_task(self) -> None:
        client = self.open("legacy", FORMS)
        task = self.begin(client, "multi_input")
        asked = lambda: client.request("tasks/get", task).get("inputRequests", {})  # noqa: E731
        eventually(lambda: len(asked()) == 2, "it asks both", PATIENCE)
        for key in list(asked()):
            answer = {"action": "accept", "content": {"name": key.partition("-")[0]}}
            client.request("tasks/update", {**task, "inputResponses": {key: answer}})
        self.assertIn("first and second", str(self.end_of(client, task)["result"]))

    def test_a_call_that_was_out_when_it_was_killed_is_of_unknown_outcome(self) -> None:
        client = self.open("legacy")
        task = self.begin(
            client, "test_reconnection"
        )  # no task of the server's: it is a call there
        client = self.restart()
        state = self.end_of(client, task)
        self.assertEqual(state["status"], "completed")
        self.assertTrue(state["result"]["isError"])
        self.assertIn("OUTCOME_UNKNOWN", str(state["result"]["_meta"]))

    def test_a_task_that_was_cancelled_does_not_run_again(self) -> None:
        client = self.open("legacy")
        task = self.begin(client, "slow_compute", seconds=60)
        client.request("tasks/cancel", task)
        client = self.restart()
        self.assertEqual(self.end_of(client, task)["status"], "cancelled")

    def test_a_call_that_waited_for_its_approval_asks_for_it_again(self) -> None:
        rules = [{"principal": "*", "call": {"needs_approval": ["*slow_compute"]}}]
        client = self.open("modern", policy=rules)
        with Approver(self.gateway) as approver:
            task = self.begin(client, "slow_compute", seconds=0)
            first = approver.question()["id"]
            state = client.request("tasks/get", task)
            self.assertEqual(state["statusMessage"], f"waits for the approval {first}")
        client = self.restart()
        with Approver(self.gateway) as approver:
            self.assertEqual(client.request("tasks/get", task)["status"], "working")
            second = approver.question()["id"]
            self.assertEqual(approver.decide(second, "allow").status, 200)
            self.assertIn("Computed", str(self.end_of(client, task)["result"]))

    def test_the_answer_to_a_question_from_before_a_restart_is_an_unknown_outcome(self) -> None:
        self.task_after = "1m"  # the question comes first, however slow this machine is
        client = self.open("legacy", FORMS)
        first = {"name": "test_elicitation", "arguments": {"message": "x"}}
        asked = client.request("tools/call", first)
        self.assertEqual(asked["resultType"], "input_required")
        client = self.restart()
        given = {key: {"action": "decline"} for key in asked["inputRequests"]}
        again = {**first, "requestState": asked["requestState"], "inputResponses": given}
        self.assertIn("OUTCOME_UNKNOWN", str(client.request("tools/call", again)))


class AwayTest(TaskCase):
    READS = {"annotations": {"read_only": True}}

    def register(self, token: str) -> Device:
        device = Device(self.gateway, token)
        self.addCleanup(device.drop)
        device.register(tool("look", **self.READS))
        return device

    def test_a_call_waits_as_a_task_for_a_device_that_is_away_over_a_restart_too(self) -> None:
        for restarts in (False, True):
            with self.subTest(restarts=restarts):
                client = self.open("modern", devices={"grace_ms": 100})
                token = self.gateway.pair("phone")
                self.register(token).close()
                self.gateway.wait_gone("look")
                task = self.begin(client, "look")
                state = client.request("tasks/get", task)
                self.assertEqual(state["status"], "working")
                self.assertIn("away", state["statusMessage"])
                if restarts:
                    client = self.restart()
                    self.assertEqual(client.request("tasks/get", task)["status"], "working")
                device = self.register(token)
                device.answer(device.next_call("look"), "a tree")
                self.assertIn("a tree", str(self.end_of(client, task)["result"]))


class LegacyTasksTest(TaskCase):
    def test_a_tool_that_is_a_task_only_runs_as_one_for_those_who_take_tasks(self) -> None:
        for era in ("legacy", "modern"):
            with self.subTest(era=era):
                client = self.open(era)
                state = self.end_of(client, self.begin(client, "failing_job"))
                self.assertEqual(state["status"], "completed")
                self.assertTrue(state["result"]["isError"])
                self.assertIn("The job failed", str(state["result"]))
                client.capabilities = {}
                with self.assertRaises(McpError) as refused:
                    client.request("tools/call", {"name": "failing_job", "arguments": {}})
                self.assertEqual(refused.exception.code, -32021)
                self.assertEqual(refused.exception.data["requiredCapabilities"], TASKS)


if __name__ == "__main__":
    unittest.main()
