"""The runner of the official MCP suite, without the suite: how results are read and judged. And
the headers that the MCP client makes."""

from __future__ import annotations

import contextlib
import io
import json
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent / "mcp"))
from runner.suite import Outcome, Requirements, Suite, read_outcomes  # noqa: E402
from runner.verdict import Verdict, expected_failures  # noqa: E402

# `subjects` puts tests/harness on the path.
from runner import subjects  # noqa: E402, I001
from mcp_headers import has_valid_headers, header_value, parameter_headers  # noqa: E402

SET = """# comment
server:
  - tools-list
  - ping

client:
  - initialize

not_scored:
  - scenario: tasks-lifecycle
    leg: server
    reason: extension
    note: >-
      text
  - scenario: auth/dpop
    leg: client
    reason: extension
"""


class RunnerTest(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def results(self, folder: str, *statuses: str) -> None:
        place = self.folder / folder
        place.mkdir(parents=True)
        checks = [{"id": "a", "status": status, "description": "b"} for status in statuses]
        (place / "checks.json").write_text(json.dumps(checks))

    def test_the_lists_of_a_set_are_read(self) -> None:
        suite = Suite(self.folder)
        package = self.folder / "node_modules/@modelcontextprotocol/conformance/requirements"
        package.mkdir(parents=True)
        (package / "2026-07-28.yaml").write_text(SET)
        found = suite.requirements("2026-07-28", "server")
        self.assertEqual(found, Requirements(["tools-list", "ping"], ["tasks-lifecycle"]))
        found = suite.requirements("2026-07-28", "client")
        self.assertEqual(found, Requirements(["initialize"], ["auth/dpop"]))

    def test_every_scenario_of_a_set_has_an_outcome(self) -> None:
        self.results("server-ping-2026-11-23T07-07-30-982Z", "SUCCESS", "INFO", "SUCCESS")
        self.results("server-tools-list-2026-11-23T07-07-30-982Z", "SUCCESS", "FAILURE", "WARNING")
        self.results("auth/dpop-2026-11-23T07-07-30-982Z", "SKIPPED")
        wanted = Requirements(["ping", "tools-list", "lost"], ["auth/dpop"])
        ping, tools, lost, dpop = read_outcomes(self.folder, "server", wanted)
        self.assertEqual((ping.passed, ping.failed, ping.is_good), (2, 0, True))
        self.assertEqual((tools.passed, tools.failed, tools.warnings), (1, 1, 1))
        self.assertEqual(tools.problems, ["failure a: b", "warning a: b"])
        self.assertFalse(tools.is_good)
        self.assertFalse(lost.is_good)
        self.assertFalse(dpop.is_good or dpop.scored)

    def test_a_scenario_that_checked_nothing_has_not_passed(self) -> None:
        self.results("server-ping-2026-11-23T07-07-30-982Z", "INFO", "SKIPPED")
        self.results("tasks-status-notifications-2026-11-23T07-07-30-982Z", "SKIPPED")
        wanted = Requirements(["ping"], ["tasks-status-notifications"])
        ping, notifications = read_outcomes(self.folder, "server", wanted)
        self.assertFalse(ping.is_good)
        self.assertTrue(notifications.is_good, "the suite has no check for these yet")

    def test_what_is_not_as_the_baseline_says_is_a_surprise(self) -> None:
        file = self.folder / "baseline.yml"
        file.write_text("# why\nserver:\n  - ping  # one\n  - 'tools-list:check'\nclient: []\n")
        expected = expected_failures(file, "server")
        self.assertEqual(expected, {"ping", "tools-list"})
        self.assertEqual(expected_failures(file, "client"), set())
        outcomes = [
            Outcome("ping", True, passed=1),
            Outcome("tools-list", True, failed=1),
            Outcome("caching", True, failed=1),
        ]
        verdict = Verdict("title", outcomes, expected)
        self.assertEqual(len(verdict.surprises), 2)
        self.assertIn("caching failed", verdict.surprises)
        shown = io.StringIO()
        with contextlib.redirect_stdout(shown):
            verdict.show()
        self.assertIn("title: 1 of 3 scored scenarios pass", shown.getvalue())
        self.assertIn("UNEXPECTED: caching failed", shown.getvalue())

    def test_the_baselines_that_are_here_can_be_read(self) -> None:
        names = {subjects.baseline_of(way) for way in [*subjects.WAYS, *subjects.HOSTS]}
        for name in names | {"baseline.direct.yml"}:
            file = subjects.FOLDER / name
            self.assertNotIn(
                "[]", expected_failures(file, "server") | expected_failures(file, "client")
            )
        self.assertIn("auth/dpop", expected_failures(subjects.FOLDER / "baseline.yml", "client"))


class HeadersTest(unittest.TestCase):
    def test_values_that_a_header_cannot_carry_are_encoded(self) -> None:
        for value, expected in (
            ("plain", "plain"),
            (42, "42"),
            (True, "true"),
            (" padded", "=?base64?IHBhZGRlZA==?="),
            ("é", "=?base64?w6k=?="),
            ("a\nb", "=?base64?YQpi?="),
            ("=?base64?YQ==?=", "=?base64?PT9iYXNlNjQ/WVE9PT89?="),
            ("=?base64?half", "=?base64?half"),
        ):
            self.assertEqual(header_value(value), expected)

    def test_arguments_become_headers_where_the_schema_says_so(self) -> None:
        city = {
            "type": "object",
            "properties": {"city": {"type": "string", "x-mcp-header": "City"}},
        }
        number = {"type": "integer", "x-mcp-header": "N"}
        schema = {"type": "object", "properties": {"n": number, "place": city}}
        arguments = {"n": None, "place": {"city": "Bonn"}}
        self.assertEqual(parameter_headers(schema, arguments), {"Mcp-Param-City": "Bonn"})
        self.assertTrue(has_valid_headers(schema))

    def test_headers_that_break_the_rules_are_found(self) -> None:
        def schema(**properties: object) -> dict[str, object]:
            return {"type": "object", "properties": properties}

        fine = {"type": "string", "x-mcp-header": "A"}
        for bad in (
            schema(a={"type": "string", "x-mcp-header": ""}),
            schema(a={"type": "string", "x-mcp-header": "A B"}),
            schema(a={"type": "number", "x-mcp-header": "A"}),
            schema(a=fine, b={"type": "string", "x-mcp-header": "a"}),
            schema(a={"type": "array", "items": fine}),
            schema(a={"anyOf": [fine]}),
        ):
            self.assertFalse(has_valid_headers(bad), bad)


if __name__ == "__main__":
    unittest.main()
