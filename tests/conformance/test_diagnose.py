"""What stands between a tool and its caller (docs/reference/http.md, `/v1/admin/diagnose`): each
check fails in turn."""

from __future__ import annotations

import json
import subprocess
import tempfile
import unittest
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from support.case import GatewayCase
from support.device import tool
from support.gateway import program
from support.wait import eventually

ORDER = [
    "paired",
    "connected",
    "role",
    "registered",
    "held_back",
    "limits",
    "ambiguous",
    "policy",
    "host",
]


class DiagnoseTest(GatewayCase):
    @classmethod
    def setUpClass(cls) -> None:
        folder = Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.CONFIG = {
            "policy": [
                {"principal": "caller/*", "call": {"deny": ["secret_*"]}},
                {"principal": "caller/*", "call": {"needs_approval": ["asked_*"]}},
                {"principal": "device/*", "register": {"deny": ["shell_*"]}},
            ],
            "rates": [{"principal": "caller/slow", "per_second": 0.0001, "burst": 1}],
            "limits": {"tools_per_connection": 8, "description_bytes": 1000},
            "approvals": {"new_tools": "ask"},
            "hosts": [{"name": "shop", "unix": str(folder / "shop.sock")}],
        }
        super().setUpClass()

    def diagnose(self, **query: str) -> dict[str, Any]:
        answer = self.gateway.admin_request("GET", f"/v1/admin/diagnose?{urlencode(query)}")
        self.assertEqual(answer.status, 200, answer.body)
        told = answer.json()
        ids = [check["id"] for check in told["checks"]]
        self.assertEqual(ids, sorted(ids, key=ORDER.index), "in the order of the list")
        self.assertEqual(len(ids), len(set(ids)))
        return told

    def first_failure(self, **query: str) -> dict[str, Any]:
        told = self.diagnose(**query)
        failed = next((check for check in told["checks"] if not check["ok"]), None)
        assert failed is not None, told
        self.assertEqual(told["answer"], failed["text"])
        return failed

    def test_a_device_that_nobody_knows_is_to_be_paired(self) -> None:
        failed = self.first_failure(device="nobody", tool="camera")
        self.assertEqual((failed["id"], failed["fix"]["kind"]), ("paired", "pair"))
        self.assertEqual(failed["fix"]["params"]["command"], "crab devices pair --name nobody")

    def test_a_revoked_device_is_to_be_paired_again(self) -> None:
        self.new_token("lost")
        slug = self.slug
        self.gateway.admin_request("POST", "/v1/admin/devices/revoke", {"device": slug})
        failed = self.first_failure(device=slug, tool="camera")
        self.assertEqual((failed["id"], failed["fix"]["kind"]), ("paired", "pair"))
        self.assertIn("was revoked on", failed["text"])

    def test_a_device_that_is_away_says_what_was_refused_when_it_was_here(self) -> None:
        token = self.new_token("away")
        slug = self.slug
        failed = self.first_failure(device=slug, tool="camera")
        self.assertEqual(failed["id"], "connected")
        self.assertIn("never was", failed["text"])
        device = self.open(token)
        device.register(tool("not a name"))
        device.close()
        eventually(
            lambda: self.first_failure(device=slug, tool="not a name")["id"] == "connected",
            "it has left",
        )
        told = self.diagnose(device=slug, tool="not a name")
        kept = next(check for check in told["checks"] if check["id"] == "registered")
        self.assertFalse(kept["ok"])
        self.assertIn("INVALID_ARGS", kept["text"])

    def test_who_has_not_the_role_of_a_device_cannot_offer_tools(self) -> None:
        name = self.gateway.unique("onlycalls")
        self.open(self.gateway.pair(name, ("caller",)))
        failed = self.first_failure(device=name, tool="camera")
        self.assertEqual((failed["id"], failed["fix"]["kind"]), ("role", "pair"))
        self.assertIn("caller", failed["text"])

    def test_a_tool_that_was_not_registered(self) -> None:
        device, name = self.open(), self.unique("camera")
        slug = self.slug
        device.register(tool(name), tool("shell_date"), tool("not a name"))
        self.gateway.wait_listed(name)
        failed = self.first_failure(device=slug, tool=name[:-1] + "x")
        self.assertEqual(failed["id"], "registered")
        self.assertIn(f"did you mean {name}?", failed["text"])
        self.assertNotIn("fix", failed)
        refused = self.first_failure(device=slug, tool="shell_date")
        self.assertEqual((refused["id"], refused["fix"]["kind"]), ("registered", "policy"))
        self.assertIn("policy[2].register.deny: shell_*", refused["text"])
        self.assertEqual(self.first_failure(tool="not a name")["id"], "registered")
        unknown = self.first_failure(tool="nothing_like_it_anywhere")
        self.assertEqual(unknown["id"], "registered")

    def test_a_new_tool_of_a_known_device_is_held_back_until_it_is_approved(self) -> None:
        token = self.new_token("known")
        slug = self.slug
        first = self.open(token)
        first.register(tool(self.unique("old")))
        first.close()
        again, name = self.open(token), self.unique("new")
        again.register(tool(name))
        failed = self.first_failure(device=slug, tool=name)
        self.assertEqual((failed["id"], failed["fix"]["kind"]), ("held_back", "approve"))
        self.assertEqual(
            failed["fix"]["params"],
            {"device": slug, "tool": name, "command": f"crab devices approve {slug} {name}"},
        )
        self.gateway.admin_request(
            "POST", "/v1/admin/devices/approve", {"device": slug, "tools": [name]}
        )
        self.gateway.wait_listed(name)
        told = self.diagnose(device=slug, tool=name)
        self.assertEqual([check["ok"] for check in told["checks"]], [True] * len(ORDER))

    def test_limits_of_registrations_and_of_calls(self) -> None:
        device, name = self.open(), self.unique("many")
        slug = self.slug
        device.register(*(tool(f"{name}_{number}") for number in range(9)))
        self.gateway.wait_listed(f"{name}_0")
        failed = self.first_failure(device=slug, tool=f"{name}_8")
        self.assertEqual((failed["id"], failed["fix"]["kind"]), ("limits", "config"))
        self.assertIn("RATE_LIMITED", failed["text"])
        self.gateway.caller_token("slow")
        self.gateway.call("list_devices", {}, caller="slow")
        slow = self.first_failure(device=slug, tool=f"{name}_0", **{"as": "caller/slow"})
        self.assertEqual((slow["id"], slow["fix"]["params"]["key"]), ("limits", "rates"))

    def test_a_name_that_two_devices_have_is_ambiguous(self) -> None:
        name = self.unique("twin")
        self.open().register(tool(name))
        first = self.slug
        self.open().register(tool(name))
        second = self.slug
        self.gateway.wait_listed(f"{first}__{name}", f"{second}__{name}")
        failed = self.first_failure(device=second, tool=name)
        self.assertEqual((failed["id"], failed["fix"]["kind"]), ("ambiguous", "name"))
        self.assertEqual(failed["fix"]["params"]["tool"], f"{second}__{name}")
        by_its_own_name = self.diagnose(tool=f"{second}__{name}")
        self.assertTrue(all(check["ok"] for check in by_its_own_name["checks"]), by_its_own_name)

    def test_the_policy_may_deny_it(self) -> None:
        mark = self.unique("x")
        self.open().register(tool(f"secret_{mark}"), tool(f"asked_{mark}"))
        self.gateway.wait_listed(f"asked_{mark}")
        failed = self.first_failure(tool=f"secret_{mark}", **{"as": "caller/ci"})
        self.assertEqual((failed["id"], failed["fix"]["kind"]), ("policy", "policy"))
        self.assertIn("policy[0].call.deny: secret_*", failed["text"])
        self.assertEqual(
            failed["fix"]["params"], {"as": "caller/ci", "question": f"call secret_{mark}"}
        )
        asked = self.diagnose(tool=f"asked_{mark}", **{"as": "caller/ci"})
        self.assertIn("approve each call", asked["checks"][-2]["text"])
        self.assertEqual(asked["answer"], f"caller/ci can call asked_{mark}")

    def test_a_host_that_does_not_answer(self) -> None:
        told = self.diagnose(tool="shop__buy")
        self.assertEqual([check["ok"] for check in told["checks"]], [False, False])
        host = told["checks"][-1]
        self.assertEqual((host["id"], host["fix"]["params"]["source"]), ("host", "peer/shop"))

    def test_what_is_no_question_is_refused(self) -> None:
        for query in ("", "as=caller/ci", "tool=x&as=nobody", f"tool={'x' * 300}"):
            answer = self.gateway.admin_request("GET", f"/v1/admin/diagnose?{query}")
            self.assertEqual((answer.status, answer.json()["code"]), (400, "INVALID_ARGS"), query)

    def test_the_command_line_prints_the_same_list(self) -> None:
        words = [program(), "doctor", "--tool", "camera", "--as", "caller/ci"]
        words += ["--device", "nobody", "--socket", str(self.gateway.admin)]
        ran = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)
        self.assertEqual(ran.returncode, 1, ran.stderr)
        lines = ran.stdout.splitlines()
        self.assertRegex(lines[0], "^fail  paired +no device is called nobody$")
        self.assertEqual(lines[1].strip(), "crab devices pair --name nobody")
        self.assertEqual(lines[-1], "no device is called nobody")
        ran = subprocess.run([*words, "-o", "json"], capture_output=True, text=True, timeout=60)
        self.assertEqual(
            json.loads(ran.stdout),
            self.diagnose(device="nobody", tool="camera", **{"as": "caller/ci"}),
        )
        told = self.gateway.crab("doctor", "--tool", "list_devices")
        self.assertIn("host", told)


if __name__ == "__main__":
    unittest.main()
