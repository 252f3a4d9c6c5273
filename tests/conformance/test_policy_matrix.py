"""What a principal may call, by the policy of the running gateway (docs/reference/http.md,
`/v1/admin/policy/matrix`)."""

from __future__ import annotations

import json
import unittest
from typing import Any
from urllib.parse import urlencode

from support.case import GatewayCase
from support.device import tool


class PolicyMatrixTest(GatewayCase):
    CONFIG = {
        "policy": [
            {"principal": "caller/*", "call": {"deny": ["denied_*"]}},
            {"principal": "local/*", "call": {"deny": ["unseen_*"]}},
            {"principal": "caller/*", "call": {"needs_approval": ["asked_*"]}},
            {
                "principal": "caller/*",
                "call": {"deny": ["looked_*"]},
                "where": [{"pointer": "/path", "glob": "/etc/*"}],
            },
        ]
    }

    def matrix(self, **query: Any) -> dict[str, Any]:
        answer = self.gateway.admin_request("GET", f"/v1/admin/policy/matrix?{urlencode(query)}")
        self.assertEqual(answer.status, 200, answer.body)
        return answer.json()

    def rows(self, mark: str, **query: Any) -> dict[str, dict[str, Any]]:
        return {
            row["name"]: row
            for row in self.matrix(limit=1000, **query)["tools"]
            if row["name"].endswith(mark)
        }

    def register(self, mark: str) -> list[str]:
        names = [f"{kind}_{mark}" for kind in ("allowed", "asked", "denied", "looked", "unseen")]
        self.open().register(*(tool(name) for name in names))
        self.gateway.wait_listed(names[0])  # one frame registers all
        return names

    def test_each_tool_has_the_verdict_of_its_rule(self) -> None:
        mark = self.unique("matrix")
        self.register(mark)
        self.gateway.caller_token()
        rows = self.rows(mark, **{"as": "caller/tester"})
        verdicts = {name.split("_")[0]: row["verdict"] for name, row in rows.items()}
        self.assertEqual(
            verdicts,
            {
                "allowed": "allow",
                "asked": "needs_approval",
                "denied": "deny",
                "looked": "allow",
                "unseen": "allow",
            },
        )
        self.assertEqual(rows[f"denied_{mark}"]["rule"], "policy[0].call.deny: denied_*")
        self.assertEqual(
            [name for name, row in rows.items() if row.get("depends_on_arguments")],
            [f"looked_{mark}"],
        )

    def test_a_denied_row_is_a_call_that_ends_so(self) -> None:
        mark = self.unique("ends")
        names = self.register(mark)
        self.gateway.caller_token()
        rows = self.rows(mark, **{"as": "caller/tester"})
        for name in names:
            asked = self.gateway.admin_request(
                "POST", "/v1/admin/tools/check", {"tool": name, "as": "caller/tester"}
            ).json()
            if rows[name]["verdict"] == "deny":
                self.assertIn(asked["refusal"]["code"], ("FORBIDDEN", "TOOL_NOT_FOUND"), name)
            else:
                self.assertEqual(
                    (asked["verdict"], asked["rule"]), (rows[name]["verdict"], rows[name]["rule"])
                )

    def test_pages_together_are_all_tools(self) -> None:
        mark = self.unique("pages")
        names = self.register(mark)
        whole = self.matrix(**{"as": "caller/ci", "limit": 1000})
        self.assertNotIn("cursor", whole)
        rows, cursor = [], ""
        while True:
            page = self.matrix(**{"as": "caller/ci", "limit": 2, "cursor": cursor})
            self.assertLessEqual(len(page["tools"]), 2)
            rows += page["tools"]
            if "cursor" not in page:
                break
            cursor = page["cursor"]
        self.assertEqual([row["name"] for row in rows if row["name"].endswith(mark)], names)
        self.assertEqual(
            [row for row in rows if row["name"].endswith(mark)],
            [row for row in whole["tools"] if row["name"].endswith(mark)],
        )

    def test_a_principal_without_a_right_to_call_may_call_nothing(self) -> None:
        rows = self.matrix(**{"as": "subscriber/log", "limit": 1000})["tools"]
        self.assertEqual({row["verdict"] for row in rows}, {"deny"})

    def test_what_is_no_question_is_refused(self) -> None:
        for query in ("", "as=nobody", "as=caller/ci&limit=x", "as=caller/ci&limit=0"):
            answer = self.gateway.admin_request("GET", f"/v1/admin/policy/matrix?{query}")
            self.assertEqual((answer.status, answer.json()["code"]), (400, "INVALID_ARGS"), query)

    def test_the_command_line_shows_the_same(self) -> None:
        mark = self.unique("shown")
        self.register(mark)
        told = self.gateway.crab("policy", "matrix", "--as", "caller/ci", "-o", "json")
        rows = {row["name"]: row for row in json.loads(told)["tools"] if mark in row["name"]}
        self.assertEqual(rows, self.rows(mark, **{"as": "caller/ci"}))
        self.assertEqual(len(rows), 5)
        self.assertIn("VERDICT", self.gateway.crab("policy", "matrix", "--as", "caller/ci"))


if __name__ == "__main__":
    unittest.main()
