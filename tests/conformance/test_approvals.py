"""Calls that a person has to approve: docs/how_to/approve_calls.md; docs/protocols/sw4rm.md,
section 9; docs/protocols/clawseed.md, section 9."""

from __future__ import annotations

import json
import subprocess
import unittest
from typing import Any

from test_chat import Answer, ChatCase, call

from support.approver import Approver
from support.case import GatewayCase
from support.device import Device, tool
from support.gateway import Gateway, program
from support.wait import eventually

POLICY = {"policy": [{"principal": "*", "call": {"needs_approval": ["sms*"]}}]}


class ApprovalCase(GatewayCase):
    CONFIG = POLICY

    def setUp(self) -> None:
        self.sms = self.unique("sms")
        self.phone = self.open()
        self.phone.register(tool(self.sms, description="Sends a text message"))

    def watch(self) -> Approver:
        approver = Approver(self.gateway)
        self.addCleanup(approver.__exit__)
        return approver

    def metric(self, name: str) -> float:
        page = self.gateway.admin_request("GET", "/metrics").body.decode()
        return float(
            next(line.split()[-1] for line in page.splitlines() if line.startswith(name + " "))
        )

    def let_run(self, running: Any) -> None:
        self.phone.answer(self.phone.next_call(self.sms), "sent")
        self.assertEqual(running.result(20).result, {"text": "sent"})


class CallTest(ApprovalCase):
    def test_a_call_waits_until_it_is_allowed(self) -> None:
        approver = self.watch()
        running = self.gateway.start_call(self.sms, {"to": "Bob"}, call_id="first")
        question = approver.question()
        self.assertEqual(
            (question["principal"], question["tool"], json.loads(question["args"])),
            ("caller/tester", f"{self.slug}__{self.sms}", {"to": "Bob"}),
        )
        self.assertEqual(
            (question["state"], question["call_id"], question["description"]),
            ("pending", "first", "Sends a text message"),
        )
        self.assertEqual(self.metric("crab_approvals_pending"), 1)
        self.phone.assert_silent()
        self.assertEqual(approver.decide(question["id"], "allow").status, 200)
        self.let_run(running)
        end = approver.end()
        self.assertEqual((end["state"], end["scope"]), ("allowed", "once"))
        told = eventually(
            lambda: "allowed" in (text := self.gateway.crab("calls", "show", "first")) and text,
            "the audit log has the call",
        )
        self.assertIn(f"approval    allowed, by {end['decided_by']}, once, after", told)
        self.assertEqual(approver.decide(question["id"], "deny").status, 409)

    def test_a_denied_call_is_forbidden_and_never_sent(self) -> None:
        approver = self.watch()
        running = self.gateway.start_call(self.sms)
        approver.decide(approver.question()["id"], "deny")
        error = running.result(20).error
        self.assertEqual(error["code"], "FORBIDDEN")
        self.assertIn("has denied this call", error["message"])
        self.phone.assert_silent()

    def test_with_nobody_to_ask_it_is_refused_at_once_and_its_id_lets_one_repeat_through(
        self,
    ) -> None:
        error = self.gateway.call(self.sms, {"n": 1}).error
        self.assertEqual((error["code"], error["details"]["approval"]), ("FORBIDDEN", "unattended"))
        approval = error["details"]["approval_id"]
        self.assertIn(f"crab approvals allow {approval}", error["message"])
        self.assertIn(approval, self.gateway.crab("approvals", "list", "--all"))
        self.assertNotIn(approval, self.gateway.crab("approvals", "list"))
        self.assertIn('{"n":1}', self.gateway.crab("approvals", "show", approval))
        self.assertIn("allowed", self.gateway.crab("approvals", "allow", approval))
        self.assertEqual(
            self.gateway.call(self.sms, {"n": 2}).error["details"]["approval"],
            "unattended",
            "other arguments",
        )
        self.let_run(self.gateway.start_call(self.sms, {"n": 1}))
        self.assertEqual(
            self.gateway.call(self.sms, {"n": 1}).error["details"]["approval"], "unattended", "once"
        )

    def test_it_waits_no_longer_than_its_deadline(self) -> None:
        approver = self.watch()
        error = self.gateway.call(self.sms, timeout_ms=300).error
        self.assertEqual(error["details"]["approval"], "expired")
        approver.question()
        self.assertEqual(approver.end()["state"], "expired")

    def test_a_cancel_takes_the_question_back(self) -> None:
        approver = self.watch()
        running = self.gateway.start_call(self.sms, call_id="regretted")
        approver.question()
        self.gateway.cancel("regretted")
        self.assertEqual(approver.end()["state"], "cancelled")
        self.assertEqual(running.result(20).error["code"], "CANCELLED")

    def test_who_no_longer_watches_is_not_asked(self) -> None:
        with Approver(self.gateway):
            pass
        eventually(
            lambda: self.gateway.call(self.sms).error["details"]["approval"] == "unattended",
            "the watch is over",
        )

    def test_a_session_or_all_calls_can_be_allowed_and_that_can_be_withdrawn(self) -> None:
        approver = self.watch()
        context = {"agent_id": "tests", "session_id": "evening"}
        running = self.gateway.start_call(self.sms, {"n": 1}, context=context)
        first = approver.question()["id"]
        self.assertEqual(approver.decide(first, "allow", "session").status, 200)
        self.let_run(running)
        self.let_run(self.gateway.start_call(self.sms, {"n": 2}, context=context))
        self.assertEqual(approver.end()["id"], first)
        running = self.gateway.start_call(
            self.sms, {"n": 1}, context={**context, "session_id": "morning"}
        )
        other = approver.question()["id"]
        approver.decide(other, "allow", "always")
        self.let_run(running)
        self.let_run(self.gateway.start_call(self.sms, {"n": 1}))
        held = json.loads(self.gateway.crab("approvals", "remembered", "-o", "json"))["remembered"]
        self.assertEqual(
            [(each["id"], each["scope"]) for each in held if each["tool"].endswith(self.sms)],
            [(first, "session"), (other, "always")],
        )
        self.gateway.crab("approvals", "forget", other)
        approver.end()
        running = self.gateway.start_call(self.sms, {"n": 1})
        approver.decide(approver.question()["id"], "deny")
        self.assertEqual(running.result(20).error["code"], "FORBIDDEN")

    def test_who_watches_late_sees_what_waits(self) -> None:
        early = self.watch()
        running = self.gateway.start_call(self.sms)
        question = early.question()
        late = self.watch()
        self.assertEqual(late.question()["id"], question["id"])
        late.decide(question["id"], "allow")
        self.let_run(running)

    def test_it_is_an_event_and_its_end_another(self) -> None:
        approver = self.watch()
        tail = subprocess.Popen(
            [
                program(),
                "events",
                "tail",
                "--types",
                "approval.*",
                "--from",
                "earliest",
                "-o",
                "json",
                "--socket",
                str(self.gateway.admin),
            ],
            stdout=subprocess.PIPE,
            text=True,
        )
        self.addCleanup(tail.wait)
        self.addCleanup(tail.stdout.close)
        self.addCleanup(tail.kill)
        running = self.gateway.start_call(self.sms, call_id=self.unique("heard"))
        question = approver.question()
        approver.decide(question["id"], "deny")
        running.result(20)
        seen: list[dict[str, Any]] = []
        while len(seen) < 2:
            event = json.loads(tail.stdout.readline())["event"]
            if event["payload"]["approval_id"] == question["id"]:
                seen.append(event)
        self.assertEqual(
            [event["event_type"] for event in seen], ["approval.requested", "approval.decided"]
        )
        self.assertEqual(seen[1]["payload"]["state"], "denied")
        self.assertNotIn("args", json.dumps(seen))

    def test_bad_requests_are_refused(self) -> None:
        approver = self.watch()
        self.assertEqual(approver.decide("000000000000", "allow").status, 404)
        running = self.gateway.start_call(self.sms)
        approval = approver.question()["id"]
        for body in ({"decision": "maybe"}, {"decision": "allow", "scope": "weekly"}, []):
            self.assertEqual(
                self.gateway.admin_request("POST", f"/v1/admin/approvals/{approval}", body).status,
                400,
                body,
            )
        self.assertEqual(
            self.gateway.fetch("GET", "/v1/admin/approvals", self.gateway.caller_token()).status,
            404,
            "not on the public listener",
        )
        approver.decide(approval, "deny")
        running.result(20)


class LifeTest(unittest.TestCase):
    def test_what_is_always_allowed_survives_kill_9_and_what_waits_does_not(self) -> None:
        with Gateway(
            {"policy": [{"principal": "*", "call": {"needs_approval": ["list_devices"]}}]}
        ) as gateway:
            approver = Approver(gateway)
            running = gateway.start_call("list_devices")
            self.assertEqual(
                approver.decide(approver.question()["id"], "allow", "always").status, 200
            )
            self.assertEqual(running.result(20).status, "ok")
            waiting = gateway.start_call("list_devices", caller="another")
            approver.end()
            question = approver.question()
            gateway.kill()
            self.assertIsNotNone(waiting.exception(20))
            approver.__exit__()
            gateway.start()
            self.assertEqual(gateway.call("list_devices").status, "ok")
            self.assertEqual(
                gateway.call("list_devices", caller="another").error["details"]["approval"],
                "unattended",
            )
            self.assertEqual(
                gateway.admin_request("GET", f"/v1/admin/approvals/{question['id']}").status, 404
            )

    def test_a_gateway_that_stops_answers_who_waits(self) -> None:
        with Gateway(
            {"policy": [{"principal": "*", "call": {"needs_approval": ["list_devices"]}}]}
        ) as gateway:
            approver = Approver(gateway)
            running = gateway.start_call("list_devices")
            approver.question()
            gateway.stop()
            self.assertEqual(running.result(20).error["code"], "DEPENDENCY_UNAVAILABLE")
            approver.__exit__()


class NewToolsTest(GatewayCase):
    CONFIG = {"approvals": {"new_tools": "ask"}}

    def waiting(self, slug: str) -> list[str]:
        rows = json.loads(self.gateway.crab("devices", "list", "-o", "json"))["devices"]
        return next(row for row in rows if row["device"] == slug).get("waiting_tools", [])

    def test_what_a_known_device_adds_waits_until_it_is_approved(self) -> None:
        camera, sms, shell = self.unique("camera"), self.unique("sms"), self.unique("shell")
        token = self.new_token()
        slug = self.slug
        first = self.open(token)
        self.assertEqual(first.register(tool(camera))["registered"], 1)
        self.assertEqual(
            first.register(tool(camera), tool(sms))["registered"],
            2,
            "its first connection may say all it has",
        )
        first.close()
        self.assertEqual(self.waiting(slug), [])
        again = self.open(token, capabilities=["tools_registered.rejected"])
        told = again.register(tool(camera), tool(sms), tool(shell))
        self.assertEqual((told["count"], told["registered"]), (3, 2))
        self.assertEqual(
            [(each["index"], each["name"], each["code"]) for each in told["rejected"]],
            [(2, shell, "APPROVAL_REQUIRED")],
        )
        self.gateway.wait_listed(camera, sms)
        self.assertNotIn(shell, self.gateway.tools())
        self.assertEqual(self.waiting(slug), [shell])
        self.assertIn(f"to approve: {shell}", self.gateway.crab("devices", "list"))
        self.assertEqual(self.gateway.crab("devices", "approve", slug), f"approved {shell}\n")
        self.gateway.wait_listed(shell)
        running = self.gateway.start_call(shell)
        again.answer(again.next_call(shell), "ran")
        self.assertEqual(running.result(20).result, {"text": "ran"})
        self.assertEqual(self.waiting(slug), [])

    def test_what_waits_and_what_is_known_survive_a_restart(self) -> None:
        with Gateway(self.CONFIG) as gateway:
            token = gateway.pair("phone")
            for names in (["camera"], ["camera", "sms"]):
                with Device(gateway, token) as device:
                    device.register(*map(tool, names))
                    device.close()
            gateway.crab("devices", "approve", "phone")  # durable before the answer
            gateway.kill()
            gateway.start()
            with Device(gateway, token, capabilities=["tools_registered.rejected"]) as device:
                told = device.register(*map(tool, ["camera", "sms", "shell"]))
                self.assertEqual([each["name"] for each in told["rejected"]], ["shell"])

    def test_an_original_client_that_is_told_nothing_works_on(self) -> None:
        token = self.new_token()
        first = self.open(token, connect=False)
        first.register(tool(name := self.unique("camera")))
        first.close()
        again = self.open(token, connect=False)
        self.assertEqual(again.register(tool(name), tool(self.unique("shell")))["registered"], 1)
        running = self.gateway.start_call(name)
        again.answer(again.next_call(name), "click")
        self.assertEqual(running.result(20).result, {"text": "click"})


class ChatTest(ChatCase):
    CONFIG = POLICY

    def words(self, token: str, name: str, **options: Any) -> Any:
        device = self.open(token, capabilities=["approvals"], **options)
        device.register(tool(name))
        self.model.script(Answer(calls=[call(name, to="Bob")]), Answer("ok"))
        device.send("message", content="tell Bob")
        return device

    def operator_token(self) -> str:
        self.slug = self.gateway.unique("chatter")
        return self.gateway.pair(self.slug, ("device", "operator"))

    def test_an_operator_in_a_chat_is_asked_about_its_calls(self) -> None:
        name = self.unique("sms")
        device = self.words(self.operator_token(), name)
        frames = []
        while (frame := device.receive())["type"] != "approval_request":
            frames.append(frame)
        self.assertEqual(
            (frame["tool"], json.loads(frame["args"])), (f"{self.slug}__{name}", {"to": "Bob"})
        )
        self.assertNotIn("tool_call_request", [each["type"] for each in frames])
        device.send("approval_decision", id=frame["id"], decision="allow", scope="session")
        while (frame := device.receive())["type"] != "tool_call_request":
            if frame["type"] == "approval_ended":
                self.assertEqual((frame["state"], frame["scope"]), ("allowed", "session"))
        device.send("tool_result", id=frame["id"], output="sent", success=True)
        self.assertEqual(self.answer_of(self.turn(device, None)), "ok")

    def test_who_may_not_decide_is_not_asked(self) -> None:
        name = self.unique("sms")
        device = self.words(self.new_token(), name)
        frames = self.turn(device, None)
        self.assertIn(
            "Error: APPROVAL_REQUIRED",
            next(frame["output"] for frame in frames if frame["type"] == "tool_result"),
        )
        device.fence()
        device.send("approval_decision", id="000000000000", decision="allow")
        self.assertEqual(device.expect("approval_refused")["code"], "NOT_FOUND")

    def test_a_question_of_another_chat_is_nobodys_business(self) -> None:
        name = self.unique("sms")
        token = self.operator_token()
        device = self.words(token, name)
        while (frame := device.receive())["type"] != "approval_request":
            pass
        other = self.open(token, capabilities=["approvals"])
        other.send("approval_decision", id=frame["id"], decision="allow")
        self.assertEqual(other.expect("approval_refused")["code"], "NOT_FOUND")
        device.send("approval_decision", id=frame["id"], decision="deny")
        frames = self.turn(device, None)
        self.assertIn(
            "has denied this call",
            next(frame["output"] for frame in frames if frame["type"] == "tool_result"),
        )

    def test_a_connection_that_returns_is_asked_again(self) -> None:
        name = self.unique("sms")
        token = self.operator_token()
        device = self.words(token, name, session_id=self.unique("talk"))
        while (frame := device.receive())["type"] != "approval_request":
            pass
        again = self.open(token, capabilities=["approvals"], session_id=device.session_id)
        device.cut()
        self.assertEqual(again.expect("approval_request")["id"], frame["id"])
        again.send("approval_decision", id=frame["id"], decision="deny")
        self.answer_of(self.turn(again, None))

    def test_crab_chat_asks_at_the_terminal_and_a_script_is_refused(self) -> None:
        self.gateway.reload(
            {"policy": [{"principal": "*", "call": {"needs_approval": ["sms*", "list_devices"]}}]}
        )
        words = [program(), "chat", "--socket", str(self.gateway.admin)]
        eventually(lambda: self.gateway.call("list_devices").status != "ok", "the new policy holds")
        self.model.script(Answer(calls=[call("list_devices")]), Answer("Nobody."))
        done = subprocess.run(
            words,
            input="who is there?\nwhat?\nonce\n/quit\n",
            capture_output=True,
            text=True,
            timeout=30,
        )
        self.assertEqual((done.returncode, done.stdout), (0, "Nobody.\n"), done.stderr)
        self.assertIn("? list_devices {}", done.stderr)
        self.assertRegex(done.stderr, r"approval \w+: allowed by local/\d+ \(once\)")
        self.model.script(Answer(calls=[call("list_devices")]), Answer("I may not."))
        done = subprocess.run(
            [*words, "--once", "who is there?"], capture_output=True, text=True, timeout=30
        )
        self.assertEqual((done.returncode, done.stdout), (0, "I may not.\n"))
        self.assertIn("crab approvals allow", done.stderr)


class OwnerTest(ChatCase):
    CONFIG = {**POLICY, "approvals": {"in_chat": "owner"}}

    def test_the_owner_of_a_chat_decides_if_the_operator_lets_him(self) -> None:
        name = self.unique("sms")
        device = self.open(self.new_token(), capabilities=["approvals"])
        device.register(tool(name))
        self.model.script(Answer(calls=[call(name)]), Answer("ok"))
        device.send("message", content="go")
        while (frame := device.receive())["type"] != "approval_request":
            pass
        device.send("approval_decision", id=frame["id"], decision="deny", scope="always")
        frames = self.turn(device, None)
        self.assertIn("approval_ended", [each["type"] for each in frames])
        self.assertEqual(self.answer_of(frames), "ok")


if __name__ == "__main__":
    unittest.main()
