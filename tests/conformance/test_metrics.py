"""`/metrics`, and the dashboard and alerts of deploy/ that are made of it."""

from __future__ import annotations

import json
import re
import time
import unittest
from pathlib import Path

from support.approver import Approver
from support.case import GatewayCase
from support.device import tool
from support.http import fetch
from support.wait import eventually

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"


class MetricsTest(GatewayCase):
    CONFIG = {
        "policy": [{"principal": "*", "call": {"needs_approval": ["asked*"]}}],
        "tracing": {"otlp": "http://127.0.0.1:9", "sample": 0, "always": []},  # gets nothing
    }

    def page(self) -> str:
        return self.gateway.admin_request("GET", "/metrics").body.decode()

    def value(self, sample: str) -> float | None:
        found = re.search(rf"^{re.escape(sample)} (\S+)$", self.page(), re.M)
        return float(found[1]) if found else None

    def test_what_is_deployed_names_metrics_that_there_are(self) -> None:
        families = dict(re.findall(r"^# TYPE (\S+) (\S+)$", self.page(), re.M))
        names = set(families)
        names |= {
            f"{name}_{part}"
            for name, kind in families.items()
            if kind == "histogram"
            for part in ("bucket", "sum", "count")
        }
        dashboard = json.loads((DEPLOY / "grafana/crab.json").read_text())
        texts = {
            "dashboard": [
                target["expr"]
                for panel in dashboard["panels"]
                for target in panel.get("targets", [])
            ],
            "alerts": re.findall(
                r"expr: (?:>-\n)?(.*?)\n +(?:for|labels):",
                (DEPLOY / "prometheus/alerts.yaml").read_text(),
                re.S,
            ),
        }
        for where, expressions in texts.items():
            self.assertGreater(len(expressions), 10, where)
            used = set(re.findall(r"\b(?:crab|process)_[a-z_]+", " ".join(expressions)))
            self.assertGreater(len(used), 8, where)
            self.assertEqual(used - names, set(), where)

    def test_every_alert_is_explained_to_operators(self) -> None:
        page = (DEPLOY.parent / "docs/operations/alerts.md").read_text()
        rules = (DEPLOY / "prometheus/alerts.yaml").read_text()
        self.assertEqual(
            re.findall(r"^\| `(Crab\w+)` \|", page, re.M), re.findall(r"alert: (\w+)", rules)
        )

    def test_calls_are_counted_by_source_code_and_stage(self) -> None:
        count = 'crab_call_duration_seconds_count{source="device"}'
        errors = 'crab_call_errors_total{code="TOOL_NOT_FOUND"}'
        before = self.value(count) or 0, self.value(errors) or 0
        name = self.unique("measured")
        device = self.open()
        device.register(tool(name))
        running = self.gateway.start_call(name)
        device.answer(device.next_call(name), "done")
        running.result(20)
        self.gateway.call("no_such_tool")
        self.assertEqual(self.value(count), before[0] + 1)
        self.assertEqual(self.value(errors), before[1] + 1)
        eventually(
            lambda: self.value('crab_call_stage_seconds_count{stage="answered"}'),
            "the stages are counted from the audit log",
        )

    def test_a_question_is_timed_and_a_bad_credential_counted(self) -> None:
        asked = self.value("crab_approval_wait_seconds_count")
        name = self.unique("asked")
        self.open().register(tool(name))
        with Approver(self.gateway) as approver:
            running = self.gateway.start_call(name)
            approver.decide(approver.question()["id"], "deny")
            self.assertEqual(running.result(20).error["code"], "FORBIDDEN")
        self.assertEqual(self.value("crab_approval_wait_seconds_count"), asked + 1)
        refused = self.value('crab_auth_failures_total{listener="public"}')
        answer = fetch(
            self.gateway.public, "GET", "/v1/tools", headers={"Authorization": "Bearer wrong"}
        )
        self.assertEqual(answer.status, 401)
        self.assertEqual(self.value('crab_auth_failures_total{listener="public"}'), refused + 1)

    def test_the_process_and_its_reloads(self) -> None:
        version = self.gateway.admin_request("GET", "/v1/admin/status").json()["version"]
        self.assertEqual(self.value(f'crab_build_info{{version="{version}"}}'), 1)
        self.assertLess(
            abs(self.value("process_resident_memory_bytes") - self.gateway.resident_bytes()),
            64 << 20,
        )
        self.assertLess(self.value("process_start_time_seconds"), time.time())
        self.assertGreater(self.value("process_max_fds"), self.value("process_open_fds"))
        self.assertGreater(
            self.value('crab_certificate_expiry_timestamp_seconds{name="pairing_ca"}'), time.time()
        )
        self.assertIsNotNone(self.value('crab_loop_lag_seconds{loop="0"}'))
        self.assertEqual(self.value("crab_config_last_reload_successful"), 1)
        good = self.value("crab_config_last_reload_success_timestamp_seconds")
        config = self.gateway.folder / "gateway.yaml"
        text = config.read_text()
        config.write_text("nonsense: 1\n")
        self.assertEqual(self.gateway.admin_request("POST", "/v1/admin/reload", {}).status, 400)
        self.assertEqual(self.value("crab_config_last_reload_successful"), 0)
        config.write_text(text)
        self.assertEqual(self.gateway.admin_request("POST", "/v1/admin/reload", {}).status, 200)
        self.assertEqual(self.value("crab_config_last_reload_successful"), 1)
        self.assertGreaterEqual(
            self.value("crab_config_last_reload_success_timestamp_seconds"), good
        )


if __name__ == "__main__":
    unittest.main()
