"""The configuration that counts, and the file on disk against it (docs/reference/http.md,
`/v1/admin/config`): no secret is ever shown."""

from __future__ import annotations

import json
import os
import unittest
from pathlib import Path
from typing import Any

from support.case import GatewayCase
from support.gateway import Gateway

SECRET = "the-secret-that-nobody-may-see"
SERVER = {
    "command": "/bin/false",
    "args": ["--token", SECRET],
    "env": {"API_KEY": SECRET, "FROM_OUTSIDE": "${CRAB_TEST_TOKEN}"},
    "enabled": False,
}
REMOTE = {
    "url": "https://notes.example/mcp",
    "auth": {"headers": {"Authorization": f"Bearer {SECRET}"}},
    "enabled": False,
}


class ConfigApiTest(GatewayCase):
    CONFIG = {
        "calls": {"max_retries": 5},
        "policy": [{"principal": "caller/*", "call": {"deny": ["door"]}}],
        "mcp": {"servers": {"code": SERVER, "notes": REMOTE}},
    }
    ENVIRONMENT = {"CRAB_TEST_TOKEN": SECRET}

    def config(self) -> dict[str, Any]:
        answer = self.gateway.admin_request("GET", "/v1/admin/config")
        self.assertEqual(answer.status, 200, answer.body)
        self.assertNotIn(SECRET.encode(), answer.body)
        return answer.json()

    def check(self) -> dict[str, Any]:
        answer = self.gateway.admin_request("POST", "/v1/admin/config/check")
        self.assertEqual(answer.status, 200, answer.body)
        self.assertNotIn(SECRET.encode(), answer.body)
        return answer.json()

    def line_with(self, text: str) -> int:
        lines = self.gateway.config_file.read_text().splitlines()
        return next(number for number, line in enumerate(lines, 1) if text in line)

    def test_every_key_has_its_value_its_default_and_its_line(self) -> None:
        config = self.config()
        self.assertEqual(config["path"], str(self.gateway.config_file))
        entries = {each["key"]: each for each in config["entries"]}
        self.assertEqual(
            entries["calls.max_retries"],
            {
                "key": "calls.max_retries",
                "value": 5,
                "default": 2,
                "line": self.line_with('"max_retries"'),
                "restart": False,
                "secret": False,
            },
        )
        usual = entries["limits.json_depth"]
        self.assertEqual((usual["value"], usual["default"]), (64, 64))
        self.assertNotIn("line", usual)
        self.assertTrue(entries["listen.public"]["restart"])
        self.assertEqual(entries["policy[0].call.deny"]["value"], ["door"])

    def test_what_may_be_a_secret_is_marked_and_not_shown(self) -> None:
        entries = {each["key"]: each for each in self.config()["entries"]}
        for key in (
            "mcp.servers.code.args",
            "mcp.servers.code.env.API_KEY",
            "mcp.servers.code.env.FROM_OUTSIDE",
            "mcp.servers.notes.auth.headers.Authorization",
        ):
            self.assertTrue(entries[key]["secret"], key)
            self.assertNotIn("value", entries[key])
        for words in (("config", "show"), ("config", "show", "-o", "json")):
            self.assertNotIn(SECRET, self.gateway.crab(*words))

    def test_the_file_on_disk_is_compared_with_what_counts(self) -> None:
        running = json.loads(self.gateway.config_file.read_text())
        self.addCleanup(self.gateway.write_config, running)
        self.assertEqual(self.check(), {"problems": [], "changes": []})
        changed = json.loads(json.dumps(running))
        changed["calls"]["max_retries"] = 1
        changed["mcp"]["servers"]["code"]["env"]["API_KEY"] = SECRET + "-of-today"
        changed["limits"] = {"json_depth": 32}
        self.gateway.write_config(changed)
        checked = self.check()
        self.assertEqual(checked["problems"], [])
        changes = {each["key"]: each for each in checked["changes"]}
        retries = changes["calls.max_retries"]
        self.assertEqual((retries["before"], retries["after"], retries["restart"]), (5, 1, False))
        secret = changes["mcp.servers.code.env.API_KEY"]
        self.assertEqual((secret.get("before"), secret.get("after")), (None, None))
        self.assertEqual(set(changes), {"calls.max_retries", "limits.json_depth", secret["key"]})
        self.assertEqual(self.config()["entries"], self.config()["entries"])
        values = {each["key"]: each.get("value") for each in self.config()["entries"]}
        self.assertEqual(values["calls.max_retries"], 5, "a check changes nothing")

    def test_a_broken_file_is_shown_with_its_lines(self) -> None:
        running = json.loads(self.gateway.config_file.read_text())
        self.addCleanup(self.gateway.write_config, running)
        self.gateway.write_config({**running, "policy": [{"principal": "caller/*", "rolse": []}]})
        checked = self.check()
        (problem,) = checked["problems"]
        self.assertEqual(problem["line"], self.line_with("rolse"))
        self.assertIn("policy[0]", problem["pointer"])
        self.assertEqual(checked["changes"], [])

    def test_the_command_line_prints_the_path(self) -> None:
        self.assertEqual(self.gateway.crab("config", "path"), f"{self.gateway.config_file}\n")


class RelativePathTest(unittest.TestCase):
    def test_a_path_that_is_relative_to_the_gateways_folder_is_told_whole(self) -> None:
        gateway = Gateway()
        whole = gateway.config_file
        gateway.config_file = Path(os.path.relpath(whole))
        with gateway:
            self.assertEqual(gateway.crab("config", "path"), f"{whole}\n")


if __name__ == "__main__":
    unittest.main()
