"""Traces of calls at an OpenTelemetry collector (OTLP/HTTP, JSON),
docs/how_to/dashboards_and_traces.md: the collector is a double of ours."""

from __future__ import annotations

import json
import os
import tempfile
import threading
import time
import unittest.mock
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from support.case import GatewayCase
from support.device import Device, tool
from support.gateway import Gateway
from support.rtp import call_request
from support.wait import eventually

TRACE, PARENT = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
SECRET = "Bearer of-the-collector"


class Collector:
    """Answers with the statuses of `answers` first, then 200; `hold` keeps answers back."""

    def __init__(self) -> None:
        self.requests: list[tuple[dict[str, str], Any]] = []
        self.answers: list[tuple[int, dict[str, str]]] = []
        self.hold = threading.Event()
        self.hold.set()
        collector = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                collector.hold.wait(30)
                status, headers = collector.answers.pop(0) if collector.answers else (200, {})
                collector.requests.append((dict(self.headers), json.loads(body)))
                collector.paths.append(self.path)
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", "2")
                self.end_headers()
                self.wfile.write(b"{}")

            def log_message(self, *_: Any) -> None:
                pass

        self.paths: list[str] = []
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self.hold.set()
        self.server.shutdown()
        self.server.server_close()

    def spans(self) -> Iterator[dict[str, Any]]:
        for _, body in list(self.requests):
            for resource in body["resourceSpans"]:
                for scope in resource["scopeSpans"]:
                    yield from scope["spans"]

    def roots(self) -> list[dict[str, Any]]:
        return [span for span in self.spans() if span["name"].startswith("execute_tool ")]


def attributes(span: dict[str, Any]) -> dict[str, str]:
    return {each["key"]: next(iter(each["value"].values())) for each in span.get("attributes", [])}


class TracesTest(GatewayCase):
    def setUp(self) -> None:
        self.collector = Collector()
        self.addCleanup(self.collector.close)

    def gateway_with(self, **tracing: Any) -> tuple[Gateway, Device]:
        settings = {"otlp": self.collector.url, "sample": 1, **tracing}
        gateway = Gateway({"tracing": settings})
        self.enterContext(gateway)
        device = Device(gateway, gateway.pair("phone"))
        self.addCleanup(device.drop)
        device.register(tool("lamp"), tool("door"))
        return gateway, device

    def call(self, gateway: Gateway, device: Device, name: str = "lamp", **headers: str) -> None:
        def answer() -> None:
            device.answer(device.next_call(name), "a secret result")

        thread = threading.Thread(target=answer)
        thread.start()
        response = gateway.fetch(
            "POST",
            "/v1/tools/call",
            gateway.caller_token(),
            headers,
            call_request(name, {"pin": "a secret argument"}),
            timeout=20,
        )
        thread.join()
        self.assertEqual(response.json()["status"], "ok", response.body)

    def metric(self, gateway: Gateway, result: str) -> int:
        page = gateway.admin_request("GET", "/metrics").body.decode()
        row = f'crab_otlp_spans_total{{result="{result}"}} '
        return int(next(line for line in page.splitlines() if line.startswith(row)).split()[1])

    def test_a_call_is_a_span_with_its_stages_in_the_callers_trace(self) -> None:
        gateway, device = self.gateway_with()
        before = time.time_ns()
        self.call(gateway, device, traceparent=f"00-{TRACE}-{PARENT}-01")
        root = eventually(lambda: (self.collector.roots() or [None])[0], "a span", limit=15)
        self.assertEqual(
            (root["traceId"], root["parentSpanId"], root["name"], root["kind"]),
            (TRACE, PARENT, "execute_tool lamp", 2),
        )
        told = attributes(root)
        self.assertEqual(
            (
                told["gen_ai.operation.name"],
                told["gen_ai.tool.name"],
                told["crab.principal"],
                told["crab.source"],
                told["crab.front"],
                told["crab.attempts"],
            ),
            ("execute_tool", "lamp", "caller/tester", "device/phone", "http", "1"),
        )
        self.assertRegex(root["spanId"], "^[0-9a-f]{16}$")
        self.assertLess(abs(int(root["startTimeUnixNano"]) - before), 60 * 10**9)
        children = [
            span for span in self.collector.spans() if span.get("parentSpanId") == root["spanId"]
        ]
        self.assertGreaterEqual(
            {span["name"] for span in children},
            {"authorized", "validated", "dispatched", "answered"},
        )
        ends = [int(span["endTimeUnixNano"]) for span in children]
        self.assertEqual(ends, sorted(ends))
        self.assertEqual(max(ends), int(root["endTimeUnixNano"]))
        [attempt] = [span for span in self.collector.spans() if span["kind"] == 3]
        [answered] = [span for span in children if span["name"] == "answered"]
        self.assertEqual(attempt["parentSpanId"], answered["spanId"])
        self.assertEqual(len({span["traceId"] for span in self.collector.spans()}), 1)
        self.assertNotIn("secret", json.dumps(self.collector.requests))
        self.assertEqual(self.collector.paths[0], "/v1/traces")
        resource = self.collector.requests[0][1]["resourceSpans"][0]["resource"]
        self.assertEqual(attributes(resource)["service.name"], "crab")

    def test_a_malformed_traceparent_is_ignored(self) -> None:
        gateway, device = self.gateway_with()
        self.call(gateway, device, traceparent=f"00-{TRACE}-{'0' * 16}-01")
        root = eventually(lambda: (self.collector.roots() or [None])[0], "a span", limit=15)
        self.assertNotIn("parentSpanId", root)
        self.assertNotEqual(root["traceId"], TRACE)

    def test_errors_are_exported_whatever_the_share(self) -> None:
        gateway, device = self.gateway_with(sample=0)
        self.call(gateway, device)
        self.assertEqual(gateway.call("door", timeout_ms=200).code, "TIMEOUT")
        [root] = eventually(self.collector.roots, "a span", limit=15)
        self.assertEqual(root["name"], "execute_tool door")
        self.assertEqual(root["status"]["code"], 2)
        self.assertEqual(attributes(root)["error.type"], root["status"]["message"])

    def test_a_share_is_a_share_of_traces(self) -> None:
        gateway, device = self.gateway_with(sample=0.5, always=[])
        traces = [f"{i:032x}" for i in (1, (1 << 56) - 1)]
        for trace in traces:
            for _ in range(2):
                self.call(gateway, device, traceparent=f"00-{trace}-{PARENT}-00")
        eventually(lambda: len(self.collector.roots()) == 2, "spans", limit=15)
        gateway.stop()
        self.assertEqual({root["traceId"] for root in self.collector.roots()}, {traces[0]})

    def test_a_busy_collector_is_asked_again_and_nothing_is_lost(self) -> None:
        self.collector.answers = [(503, {"Retry-After": "0"}), (429, {"Retry-After": "0"})]
        gateway, device = self.gateway_with()
        self.call(gateway, device)
        eventually(lambda: self.metric(gateway, "sent") > 0, "the spans are taken", limit=20)
        self.assertEqual(len(self.collector.requests), 3)
        self.assertEqual(self.collector.requests[0][1], self.collector.requests[2][1])
        self.assertEqual((self.metric(gateway, "dropped"), self.metric(gateway, "refused")), (0, 0))

    def test_what_it_refuses_is_counted_and_its_token_stays_secret(self) -> None:
        self.collector.answers = [(401, {})]
        headers = Path(self.enterContext(tempfile.TemporaryDirectory())) / "headers"
        headers.write_text(f"Authorization: {SECRET}\n\nX-Tenant: home\n")
        gateway, device = self.gateway_with(headers_file=str(headers))
        self.call(gateway, device)
        eventually(lambda: self.metric(gateway, "refused") > 0, "they are refused", limit=15)
        sent = self.collector.requests[0][0]
        self.assertEqual((sent["Authorization"], sent["X-Tenant"]), (SECRET, "home"))
        eventually(lambda: "it answers 401" in gateway.log_tail(), "the log says so")
        self.assertNotIn("of-the-collector", gateway.log_tail(100_000))

    def test_headers_of_the_environment_are_for_the_collector_that_it_names(self) -> None:
        variables = {
            "OTEL_EXPORTER_OTLP_HEADERS": "Authorization=Bearer%20of-the-collector",
            "OTEL_EXPORTER_OTLP_ENDPOINT": self.collector.url,
        }
        with unittest.mock.patch.dict(os.environ, variables):
            for settings in ({"sample": 1}, {"sample": 1, "otlp": self.collector.url}):
                self.collector.requests.clear()
                with Gateway({"tracing": settings}) as gateway:
                    device = Device(gateway, gateway.pair("phone"))
                    self.addCleanup(device.drop)
                    device.register(tool("lamp"))
                    self.call(gateway, device)
                    eventually(self.collector.roots, "a span", limit=15)
                sent = self.collector.requests[0][0].get("Authorization")
                self.assertEqual(sent, None if "otlp" in settings else SECRET)

    def test_a_collector_that_hangs_or_is_away_disturbs_nothing(self) -> None:
        self.collector.hold.clear()
        gateway, device = self.gateway_with()
        for _ in range(3):
            self.call(gateway, device)
        began = time.monotonic()
        gateway.stop()
        self.assertLess(time.monotonic() - began, 9)
        self.collector.close()
        gateway.start()
        back = Device(gateway, gateway.pair("tablet"))
        self.addCleanup(back.drop)
        back.register(tool("shutter"))
        self.call(gateway, back, "shutter")

    def test_a_reload_changes_the_share(self) -> None:
        gateway, device = self.gateway_with(sample=0, always=[])
        self.call(gateway, device)
        row = 'crab_call_stage_seconds_count{stage="answered"} 1\n'  # its record has been read
        eventually(
            lambda: row in gateway.admin_request("GET", "/metrics").body.decode(), "it is read"
        )
        gateway.reload({"tracing": {"otlp": self.collector.url, "sample": 1, "always": []}})
        eventually(lambda: "reload" in gateway.log_tail(), "the reload is told")
        self.call(gateway, device, "door")
        roots = eventually(self.collector.roots, "a span", limit=15)
        self.assertEqual([root["name"] for root in roots], ["execute_tool door"])

    def test_without_a_collector_there_is_no_exporter(self) -> None:
        page = self.gateway.admin_request("GET", "/metrics").body.decode()
        self.assertNotIn("crab_otlp_spans_total", page)
