"""`/metrics`, and the dashboard and alerts of deploy/ that are made of it."""

from __future__ import annotations

import json
import re
import time
import unittest
from pathlib import Path

from support import open_metrics, rtp
from support.approver import Approver
from support.case import GatewayCase
from support.device import tool
from support.http import Response, fetch
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


class MetricsRoleTest(GatewayCase):
    """A token that scrapes and does nothing else."""

    def test_the_role_metrics_reads_the_page_and_nothing_else(self) -> None:
        token = self.gateway.pair(self.gateway.unique("scraper"), ("metrics",))
        answer = self.gateway.fetch("GET", "/metrics", token)
        self.assertEqual(answer.status, 200)
        self.assertIn(b"# TYPE crab_calls_total counter", answer.body)
        body = {"tool_name": "list_devices", "args": {}}
        for method, target, sent in (
            ("GET", "/v1/tools", None),
            ("POST", "/v1/tools/call", body),
            ("GET", "/v1/artifacts", None),
            ("GET", "/api/status", None),
            ("GET", "/api/sessions", None),
            ("POST", "/mcp", {"jsonrpc": "2.0", "id": 1, "method": "ping"}),
        ):
            refused = self.gateway.fetch(method, target, token, body=sent)
            self.assertEqual(refused.status, 403, (target, refused.body))
        upgrade = {
            "Connection": "Upgrade",
            "Upgrade": "websocket",
            "Sec-WebSocket-Version": "13",
            "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
        }
        self.assertEqual(self.gateway.fetch("GET", "/ws/chat", token, upgrade).status, 403)

    def test_others_do_not_learn_that_there_is_such_a_page(self) -> None:
        device = self.gateway.pair(self.gateway.unique("phone"))
        for token in (None, self.gateway.caller_token(), device, "ab" * 32):
            self.assertEqual(self.gateway.fetch("GET", "/metrics", token).status, 404)

    def test_it_is_shown_and_survives_a_restart(self) -> None:
        name = self.gateway.unique("scraper")
        token = self.gateway.crab("tokens", "create", "--name", name, "--role", "metrics").strip()
        shown = json.loads(self.gateway.crab("tokens", "list", "-o", "json"))["tokens"]
        roles = [it["roles"] for it in shown if it["principal"] == f"caller/{name}"]
        self.assertEqual(roles, [["metrics"]])
        self.gateway.stop()
        self.gateway.start()
        self.assertEqual(self.gateway.fetch("GET", "/metrics", token).status, 200)

    def test_with_another_role_it_does_what_that_one_may(self) -> None:
        token = self.gateway.pair(self.gateway.unique("both"), ("metrics", "caller"))
        self.assertEqual(self.gateway.fetch("GET", "/metrics", token).status, 200)
        self.assertEqual(self.gateway.fetch("GET", "/v1/tools", token).status, 200)


class OpenMetricsTest(GatewayCase):
    CONFIG = {
        "tracing": {"otlp": "http://127.0.0.1:9", "sample": 0.5, "always": ["errors"]},
        "metrics": {"tools": ["named*"]},
    }
    TRACE, PARENT = "00bf92f3577b34da6a00929d0e0e4736", "00f067aa0ba902b7"  # in the share

    def page(self, accept: str | None) -> Response:
        headers = {"Accept": accept} if accept else {}
        return fetch(self.gateway.admin, "GET", "/metrics", headers)

    def families(self) -> dict[str, open_metrics.Family]:
        return open_metrics.parse(self.page("application/openmetrics-text").body.decode())

    def call(self, name: str, **headers: str) -> None:
        body = rtp.call_request(name, {})
        token = self.gateway.caller_token()
        answer = self.gateway.fetch("POST", "/v1/tools/call", token, headers, body)
        self.assertEqual(answer.status, 200, answer.body)

    def wait_exemplar(self, trace: str) -> float:
        """When the call was of which a bucket names this trace. Of a bucket one call a second is
        taken: there may have to be another."""

        def told() -> float | None:
            self.call("list_devices", traceparent=f"00-{trace}-{self.PARENT}-01")
            return self.exemplars().get(trace)

        return eventually(told, "an exemplar")

    def exemplars(self) -> dict[str, float]:
        durations = self.families()["crab_call_duration_seconds"]
        return {
            it.exemplar.labels["trace_id"]: it.exemplar.time
            for it in durations.samples
            if it.exemplar
        }

    def test_the_form_is_what_the_scraper_asks_for(self) -> None:
        prometheus = "text/plain; version=0.0.4"
        opened = "application/openmetrics-text; version=1.0.0; charset=utf-8"
        sent_by_prometheus = (
            "application/openmetrics-text;version=1.0.0;q=0.5,"
            "application/openmetrics-text;version=0.0.1;q=0.4,"
            "text/plain;version=0.0.4;q=0.3,*/*;q=0.2"
        )
        for accept, expected in (
            (None, prometheus),
            ("*/*", prometheus),
            ("text/plain", prometheus),
            ("text/plain, application/openmetrics-text;q=0.5", prometheus),
            ("application/openmetrics-text;version=0.0.1", prometheus),
            ("application/openmetrics-text", opened),
            (sent_by_prometheus, opened),
        ):
            answer = self.page(accept)
            self.assertEqual(answer.headers["content-type"], expected, accept)
            self.assertEqual(answer.headers["vary"], "Accept")
            self.assertEqual(answer.body.endswith(b"# EOF\n"), expected == opened, accept)

    def test_both_forms_have_the_same_families(self) -> None:
        self.call("no_such_tool")
        plain = re.findall(r"^# TYPE (\S+) (\S+)$", self.page(None).body.decode(), re.M)
        families = self.families()
        self.assertEqual(
            {(name.removesuffix("_total"), kind) for name, kind in plain},
            {(name, family.type) for name, family in families.items()},
        )
        self.assertGreater(len(families), 50)

    def test_a_bucket_names_the_trace_of_a_call_that_is_exported(self) -> None:
        self.assertLess(abs(self.wait_exemplar(self.TRACE) - time.time()), 60)
        self.assertNotIn("trace_id", self.page(None).body.decode())

    def test_a_call_that_is_not_exported_is_no_exemplar(self) -> None:
        out = "ff" * 16
        self.call("list_devices", traceparent=f"00-{out}-{self.PARENT}-01")
        self.wait_exemplar("01" + self.TRACE[2:])  # of a later record
        self.assertNotIn(out, self.exemplars())

    def test_tools_that_are_wanted_are_counted_by_name(self) -> None:
        name, other = self.unique("named"), self.unique("plain")
        device = self.open()
        device.register(tool(name), tool(other))
        for each in (name, other):
            running = self.gateway.start_call(each)
            device.answer(device.next_call(each), "done")
            running.result(20)

        def counted() -> dict[str, float]:
            samples = self.families()["crab_tool_calls"].samples
            return {it.labels["tool"]: it.value for it in samples if it.labels["status"] == "ok"}

        counts = eventually(lambda: (found := counted()).get(name) and found, "it is counted")
        self.assertEqual(counts[name], 1)
        self.assertNotIn(other, counts)
        self.assertGreaterEqual(counts["other"], 1)


if __name__ == "__main__":
    unittest.main()
