"""What the policy says and what each of its rules says (docs/reference/http.md,
`/v1/admin/policy/explain`)."""

from __future__ import annotations

import itertools
import json
import subprocess
import unittest
from typing import Any

from support.case import GatewayCase
from support.device import tool
from support.gateway import program

POLICY = [
    {"principal": "device/*", "call": {"deny": ["*"]}},
    {"principal": "caller/*", "call": {"deny": ["door_*"]}},
    {"principal": "caller/*", "tenant": "default", "call": {"needs_approval": ["sms_*"]}},
    {
        "principal": "caller/*",
        "call": {"deny": ["disk_*"]},
        "where": [{"pointer": "/path", "glob": "/etc/*"}],
    },
    {"principal": "agent/butler", "tenant": "harbour", "call": {"deny": ["sms_*"]}},
]
PATH = {
    "type": "object",
    "properties": {"path": {"type": "string", "minLength": 1}},
    "required": ["path"],
}


class PolicyExplainTest(GatewayCase):
    CONFIG = {
        "policy": POLICY,
        "rates": [{"principal": "caller/slow", "tool": "*", "per_second": 0.001, "burst": 3}],
        "agents": [{"name": "butler", "tenant": "harbour"}],
        "models": [{"model": "none", "url": "http://127.0.0.1:9"}],
    }

    def explain(self, who: str, question: str, **members: Any) -> dict[str, Any]:
        answer = self.gateway.admin_request(
            "POST", "/v1/admin/policy/explain", {"as": who, "question": question, **members}
        )
        self.assertEqual(answer.status, 200, answer.body)
        return answer.json()

    def register(self, mark: str) -> None:
        kinds = ("camera", "door", "sms", "disk")
        self.open().register(*(tool(f"{kind}_{mark}", parameters=PATH) for kind in kinds))
        self.gateway.wait_listed(f"camera_{mark}")

    def line_of(self, entry: int) -> int:
        """The line where that entry of `policy` begins in the file."""
        lines = self.gateway.config_file.read_text().splitlines()
        begin = lines.index(' "policy": [')
        opened = [n for n, line in enumerate(lines, 1) if n > begin and line == "  {"]
        return opened[entry]

    def test_the_last_step_that_matches_is_the_rule_that_decides(self) -> None:
        mark = self.unique("steps")
        self.register(mark)
        self.gateway.caller_token()
        told = self.explain("caller/tester", f"call sms_{mark}", args={"path": "/x"})
        self.assertEqual(
            (told["verdict"], told["rule"], told["tenant"]),
            ("needs_approval", "policy[2].call.needs_approval: sms_*", "default"),
        )
        last = told["steps"][-1]
        self.assertEqual(
            (last["rule"], last["effect"], last["matched"], last["line"]),
            (told["rule"], "needs_approval", True, self.line_of(2)),
        )
        first = told["steps"][0]
        self.assertEqual((first["effect"], first["matched"]), ("allow", True))
        self.assertNotIn("line", first)
        because = {step["rule"]: step["because"] for step in told["steps"]}
        self.assertEqual(because["policy[0].call.deny"], "it is about device/*, not caller/tester")
        self.assertEqual(because["policy[1].call.deny"], f"it does not name sms_{mark}")
        then = {each["check"]: each for each in told["then"]}
        self.assertEqual(set(then), {"tool", "arguments", "approval"})
        self.assertTrue(then["arguments"]["ok"])
        self.assertFalse(then["approval"]["ok"], then["approval"]["text"])

    def test_it_says_what_the_checks_of_calls_say(self) -> None:
        mark = self.unique("same")
        self.register(mark)
        self.gateway.caller_token()
        whom = ("caller/tester", "caller/unknown", "agent/butler", "local/1000", "device/nobody")
        args = ({"path": "/etc/passwd"}, {"path": "/home"}, {})
        verdicts = set()
        for who, kind, given in itertools.product(whom, ("camera", "door", "sms", "disk"), args):
            told = self.explain(who, f"call {kind}_{mark}", args=given)
            asked = {"tool": f"{kind}_{mark}", "args": given, "as": who}
            checked = self.gateway.admin_request("POST", "/v1/admin/tools/check", asked).json()
            verdicts.add(told["verdict"])
            with self.subTest(who=who, kind=kind, args=given):
                if "verdict" in checked:
                    self.assertEqual(
                        (told["verdict"], told["rule"]), (checked["verdict"], checked["rule"])
                    )
                else:  # what no arguments make callable, or is of another tenant, is not found
                    self.assertEqual(
                        (told["verdict"], checked["refusal"]["code"]), ("deny", "TOOL_NOT_FOUND")
                    )
        self.assertEqual(verdicts, {"allow", "deny", "needs_approval"})

    def test_an_agent_calls_for_its_own_tenant(self) -> None:
        mark = self.unique("home")
        self.register(mark)
        told = self.explain("agent/butler", "call sms_x")
        self.assertEqual(
            (told["verdict"], told["rule"], told["tenant"]),
            ("deny", "policy[4].call.deny: sms_*", "harbour"),
        )
        other = self.explain("agent/butler", "call sms_x", tenant="default")
        self.assertEqual(other["verdict"], "deny")
        self.assertIn("tenant", other["rule"])

    def test_without_arguments_it_says_what_depends_on_them(self) -> None:
        told = self.explain("caller/ci", "call disk_usage")
        self.assertEqual((told["verdict"], told["depends_on_arguments"]), ("allow", True))
        because = {step["rule"]: step["because"] for step in told["steps"]}
        self.assertEqual(because["policy[3].call.deny"], "it depends on /path")
        bytes_only = self.explain("caller/ci", "call disk_usage", bytes=True)
        self.assertEqual(bytes_only["verdict"], "deny")
        self.assertIn("no JSON", bytes_only["rule"])

    def test_limits_and_wrong_arguments_are_met_next(self) -> None:
        mark = self.unique("next")
        self.register(mark)
        told = self.explain("caller/slow", f"call camera_{mark}", args={"path": ""})
        then = {each["check"]: each for each in told["then"]}
        self.assertFalse(then["arguments"]["ok"])
        self.assertEqual(then["rate"]["text"], "3 calls are left at once")
        self.assertNotIn("approval", then)
        unknown = self.explain("caller/slow", "call nothing_like_it")
        self.assertEqual(unknown["verdict"], "allow")
        self.assertEqual([each["ok"] for each in unknown["then"]], [False])

    def test_the_file_on_disk_says_what_a_reload_would_change(self) -> None:
        running = dict(self.gateway.config)
        self.addCleanup(self.gateway.write_config, running)
        deny = {"principal": "*", "call": {"deny": ["list_devices"]}}
        self.gateway.write_config({**running, "policy": [*POLICY, deny]})
        self.assertEqual(self.explain("caller/ci", "call list_devices")["verdict"], "allow")
        on_disk = self.explain("caller/ci", "call list_devices", file=True)
        self.assertEqual(
            (on_disk["verdict"], on_disk["rule"]), ("deny", "policy[5].call.deny: list_devices")
        )
        self.assertEqual(on_disk["steps"][-1]["line"], self.line_of(5))
        self.gateway.write_config({**running, "policy": [{"principal": 1}]})
        broken = self.gateway.admin_request(
            "POST",
            "/v1/admin/policy/explain",
            {"as": "caller/ci", "question": "call x", "file": True},
        )
        self.assertEqual((broken.status, broken.json()["code"]), (400, "INVALID_ARGS"))

    def test_actions_and_registrations_are_decided_as_they_are(self) -> None:
        told = self.explain("device/phone", "register camera")
        self.assertEqual((told["verdict"], len(told["steps"])), ("allow", 1))
        action = self.explain("caller/ci", "events.subscribe:cron.triggered")
        self.assertEqual((action["verdict"], action["steps"][0]["effect"]), ("deny", "deny"))

    def test_what_is_no_question_is_refused(self) -> None:
        for body in (
            {},
            {"as": "caller/ci"},
            {"as": "nobody", "question": "call x"},
            {"as": "caller/ci", "question": "sing song"},
            {"as": "caller/ci", "question": "call x", "roles": ["king"]},
            {"as": "caller/ci", "question": "call x", "args": []},
        ):
            answer = self.gateway.admin_request("POST", "/v1/admin/policy/explain", body)
            self.assertEqual((answer.status, answer.json()["code"]), (400, "INVALID_ARGS"), body)

    def test_the_command_line_shows_the_steps(self) -> None:
        words = [program(), "policy", "test", "--as", "caller/ci", "call", "door_x", "--trace"]
        words += ["--socket", str(self.gateway.admin)]
        ran = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)
        self.assertEqual(ran.returncode, 4, ran.stderr)
        lines = ran.stdout.splitlines()
        self.assertEqual(lines[0], "deny, by rule policy[1].call.deny: door_*")
        self.assertIn("a denial wins over all else", lines[-2])
        self.assertIn("no tool", lines[-1])
        ran = subprocess.run([*words, "-o", "json"], capture_output=True, text=True, timeout=60)
        self.assertEqual(json.loads(ran.stdout)["steps"][-1]["line"], self.line_of(1))


if __name__ == "__main__":
    unittest.main()
