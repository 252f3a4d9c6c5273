"""The operator's pages of tools, one tool whole, and checks of calls that do not run
(docs/reference/http.md, `/v1/admin/tools`)."""

from __future__ import annotations

import json
import subprocess
import unittest
from typing import Any
from urllib.parse import urlencode

from support.case import GatewayCase
from support.device import tool
from support.gateway import program
from support.rtp import call_request

PATH = {
    "type": "object",
    "properties": {"path": {"type": "string", "minLength": 1}},
    "required": ["path"],
}


class AdminToolsTest(GatewayCase):
    CONFIG = {
        "policy": [
            {
                "principal": "caller/*",
                "call": {"deny": ["*"]},
                "where": [{"pointer": "/path", "glob": "/etc/*"}],
            }
        ]
    }

    def page(self, **query: Any) -> dict[str, Any]:
        answer = self.gateway.admin_request(
            "GET", f"/v1/admin/tools?{urlencode({'view': 'brief', **query})}"
        )
        self.assertEqual(answer.status, 200, answer.body)
        return answer.json()

    def check(self, **members: Any) -> dict[str, Any]:
        answer = self.gateway.admin_request("POST", "/v1/admin/tools/check", members)
        self.assertEqual(answer.status, 200, answer.body)
        return answer.json()

    def test_pages_are_brief_and_in_order(self) -> None:
        device, mark = self.open(), self.unique("page")
        names = [f"{mark}_{number}" for number in range(7)]
        device.register(*(tool(name) for name in names))
        self.gateway.wait_listed(*names)
        whole = self.page(q=f"{mark}*")
        self.assertEqual((whole["total"], [row["name"] for row in whole["tools"]]), (7, names))
        self.assertEqual({row["state"] for row in whole["tools"]}, {"offered"})
        self.assertFalse([row for row in whole["tools"] if "input_schema" in row])
        part = self.page(q=f"{mark}*", offset=2, limit=3)
        self.assertEqual((part["total"], part["tools"]), (7, whole["tools"][2:5]))
        self.assertEqual(part["generation"], whole["generation"])
        self.assertEqual(self.page(q=mark, offset=99)["tools"], [])
        self.assertEqual(self.page(q=mark, source=f"device/{self.slug}")["total"], 7)
        self.assertEqual(self.page(q=mark, source="device/other")["total"], 0)

    def test_a_tool_that_is_refused_is_a_row_with_the_reason(self) -> None:
        device, good = self.open(), self.unique("good")
        device.register(tool(good), tool("not a name"))
        self.gateway.wait_listed(good)
        (row,) = self.page(state="rejected", source=f"device/{self.slug}")["tools"]
        self.assertEqual((row["name"], row["state"]), ("not a name", "rejected"))
        self.assertTrue(row["reason"])

    def test_one_tool_is_shown_whole(self) -> None:
        device, name = self.open(), self.unique("whole")
        device.register(tool(name, parameters=PATH))
        self.gateway.wait_listed(name)
        shown = self.gateway.admin_request("GET", f"/v1/admin/tools/{name}").json()
        self.assertEqual((shown["name"], shown["state"]), (name, "offered"))
        self.assertEqual(shown["input_schema"], PATH)
        missing = self.gateway.admin_request("GET", "/v1/admin/tools/nothing_like_it")
        self.assertEqual((missing.status, missing.json()["code"]), (404, "TOOL_NOT_FOUND"))

    def test_what_is_no_question_is_refused(self) -> None:
        long = "x" * 300
        for query in ("all", "brief&limit=x", "brief&offset=-1", f"brief&q={long}"):
            answer = self.gateway.admin_request("GET", f"/v1/admin/tools?view={query}")
            self.assertEqual(answer.status, 400, query)
        for body in ({}, {"tool": 1}, {"tool": "x", "as": "nobody"}):
            answer = self.gateway.admin_request("POST", "/v1/admin/tools/check", body)
            self.assertEqual(answer.status, 400, body)

    def test_a_check_says_what_the_call_does_and_leaves_no_trace(self) -> None:
        device, name = self.open(), self.unique("checked")
        device.register(tool(name, parameters=PATH))
        self.gateway.wait_listed(name)
        good = self.check(tool=name, args={"path": "/home"})
        self.assertEqual((good["valid"], good["verdict"], good["approval"]), (True, "allow", False))
        bad = self.check(tool=name, args={"path": ""})
        self.assertFalse(bad["valid"])
        self.assertEqual(
            [(error["pointer"], error["keyword"]) for error in bad["errors"]],
            [("/path", "minLength")],
        )
        call = call_request(name, {"path": ""})
        told = self.gateway.admin_request("POST", "/v1/tools/call", call).json()["error"]
        self.assertEqual(bad["refusal"]["message"], told["message"])
        self.gateway.caller_token()
        denied = self.check(**{"tool": name, "args": {"path": "/etc/x"}, "as": "caller/tester"})
        self.assertEqual((denied["verdict"], denied["refusal"]["code"]), ("deny", "FORBIDDEN"))
        self.assertTrue(denied["rule"])
        device.assert_silent()

    def test_the_command_line_asks_the_same(self) -> None:
        device, name = self.open(), self.unique("asked")
        device.register(tool(name, parameters=PATH))
        self.gateway.wait_listed(name)
        self.assertIn("valid", self.gateway.crab("tools", "check", name, '{"path":"/home"}'))
        words = [program(), "tools", "check", name, '{"path":3}', "-o", "json"]
        words += ["--socket", str(self.gateway.admin)]
        ran = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)
        self.assertNotEqual(ran.returncode, 0)
        self.assertEqual(json.loads(ran.stdout)["errors"][0]["pointer"], "/path")


if __name__ == "__main__":
    unittest.main()
