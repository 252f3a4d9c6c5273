"""Traces of calls at an OpenTelemetry collector (OTLP/HTTP, JSON),
docs/how_to/dashboards_and_traces.md: the collector is a double of ours."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import sys
import tempfile
import threading
import time
import unittest.mock
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))

from scripted_model import Answer, Refusal, ScriptedModel, call  # noqa: E402

from support.case import GatewayCase
from support.device import Device, tool
from support.gateway import Gateway
from support.mcp import mcp_config
from support.rtp import call_request
from support.tool_host import ToolHost, host_tool
from support.wait import eventually

TRACE, PARENT = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
HANDED = "tool_call_request.traceparent"
# Answers with the `traceparent` that it was handed.
MCP_SERVER = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    params = asked.get("params", {})
    result = {
        "initialize": {
            "protocolVersion": "2025-06-18",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "tracer", "version": "1"},
        },
        "tools/list": {"tools": [{"name": "trace", "inputSchema": {"type": "object"}}]},
        "tools/call": {
            "content": [{"type": "text", "text": params.get("_meta", {}).get("traceparent", "")}]
        },
    }.get(asked["method"])
    answer = {"result": result} if result else {"error": {"code": -32601, "message": "unknown"}}
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], **answer}), flush=True)
"""
SECRET = "Bearer of-the-collector"


class Collector:
    """Answers with the statuses of `answers` first, then 200; `hold` keeps answers back, `delay`
    makes each wait."""

    def __init__(self, port: int = 0) -> None:
        self.requests: list[tuple[dict[str, str], Any]] = []
        self.times: list[float] = []
        self.links: list[socket.socket] = []
        self.delay = 0.0
        self.answers: list[tuple[int, dict[str, str]]] = []
        self.hold = threading.Event()
        self.hold.set()
        collector = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def setup(self) -> None:
                super().setup()
                collector.links.append(self.connection)

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                collector.times.append(time.monotonic())
                collector.hold.wait(60)
                time.sleep(collector.delay)
                status, headers = collector.answers.pop(0) if collector.answers else (200, {})
                collector.requests.append((dict(self.headers), json.loads(body)))
                collector.paths.append(self.path)
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", "2")
                with contextlib.suppress(OSError):  # who has waited for too long is gone
                    self.end_headers()
                    self.wfile.write(b"{}")

            def log_message(self, *_: Any) -> None:
                pass

        self.paths: list[str] = []
        self.server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self.hold.set()
        self.server.shutdown()
        self.server.server_close()
        for link in self.links:
            with contextlib.suppress(OSError):
                link.shutdown(socket.SHUT_RDWR)

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

    def gateway_with(
        self, config: dict[str, Any] | None = None, **tracing: Any
    ) -> tuple[Gateway, Device]:
        settings = {"otlp": self.collector.url, "sample": 1, **tracing}
        gateway = Gateway({"tracing": settings, **(config or {})})
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

    def spans_of_one_call(self, gateway: Gateway) -> int:
        """Of `list_devices`, once they are counted as sent."""
        self.assertEqual(gateway.call("list_devices").status, "ok")
        eventually(lambda: self.metric(gateway, "sent") > 0, "the spans are taken", limit=20)
        return self.metric(gateway, "sent")

    def call_often(self, gateway: Gateway, times: int) -> None:
        running = [gateway.start_call("list_devices", {}) for _ in range(times)]
        for call in running:
            self.assertEqual(call.result(60).status, "ok")

    def ids(self) -> set[str]:
        return {span["spanId"] for span in self.collector.spans()}

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

    def span(self, name: str) -> dict[str, Any]:
        """The only one of that name."""
        found = eventually(
            lambda: [span for span in self.collector.spans() if span["name"] == name],
            f"a span {name}",
            limit=15,
        )
        self.assertEqual(len(found), 1, found)
        return found[0]

    def assert_handed(self, text: str, span: dict[str, Any], flags: str = "01") -> None:
        self.assertEqual(text, f"00-{span['traceId']}-{span['spanId']}-{flags}")

    def request_to_tracer(self, gateway: Gateway) -> dict[str, Any]:
        """The request of an answered call, as a device that wants `traceparent` gets it."""
        tracer = Device(gateway, gateway.pair("tracer"), capabilities=(HANDED,))
        self.addCleanup(tracer.drop)
        tracer.register(tool("probe"))
        call = gateway.start_call("probe")
        request = tracer.next_call("probe")
        tracer.answer(request, "seen")
        self.assertEqual(call.result(10).status, "ok")
        return request

    def test_devices_that_want_it_are_handed_the_calls_own_span(self) -> None:
        gateway, plain = self.gateway_with()
        request = self.request_to_tracer(gateway)
        self.assert_handed(request["traceparent"], self.span("execute_tool probe"))
        call = gateway.start_call("lamp")
        request = plain.next_call("lamp")
        plain.answer(request, "seen")
        self.assertNotIn("traceparent", request)

    def test_tool_hosts_are_handed_it_with_the_callers_trace_and_flags(self) -> None:
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        host = ToolHost(folder / "shop", host_tool("append")).start()
        self.addCleanup(host.stop)
        gateway, _ = self.gateway_with({"hosts": [{"name": "shop", "unix": str(host.path)}]})
        gateway.wait_listed("append")
        for flags in ("00", "01"):
            gateway.fetch(
                "POST",
                "/v1/tools/call",
                gateway.caller_token(),
                {"traceparent": f"00-{TRACE}-{PARENT}-{flags}"},
                call_request("shop__append", {}),
            )
        roots = eventually(
            lambda: len(found := self.collector.roots()) == 2 and found, "both spans", limit=15
        )
        self.assertEqual({root["parentSpanId"] for root in roots}, {PARENT})
        by_id = {root["spanId"]: root for root in roots}
        self.assertEqual(len(by_id), 2)
        for call, flags in zip(host.calls, ("00", "01"), strict=True):
            handed = call.headers["traceparent"]
            self.assert_handed(handed, by_id[handed.split("-")[2]], flags)

    def test_each_attempt_is_a_span_within_its_stage(self) -> None:
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        host = ToolHost(folder / "shop", host_tool("append")).start()
        self.addCleanup(host.stop)

        def behave(request: Any) -> None:
            if len(host.calls) < 2:
                request.fail("DEPENDENCY_UNAVAILABLE", "retryable_error")
            else:
                request.answer()

        host.behave = behave
        gateway, _ = self.gateway_with({"hosts": [{"name": "shop", "unix": str(host.path)}]})
        gateway.wait_listed("append")
        self.assertEqual(gateway.call("shop__append").status, "ok")
        root = self.span("execute_tool shop__append")
        self.assertEqual(attributes(root)["crab.attempts"], "2")
        handed = {call.headers["traceparent"] for call in host.calls}
        self.assertEqual(len(handed), 1)
        self.assert_handed(handed.pop(), root)
        attempts = [span for span in self.collector.spans() if span["kind"] == 3]
        attempts.sort(key=lambda span: int(span["startTimeUnixNano"]))
        self.assertEqual(
            [attributes(span).get("error.type") for span in attempts],
            ["UNAVAILABLE", None],
        )
        for attempt, name in zip(attempts, ("dispatched", "answered"), strict=True):
            stage = self.span(name)
            self.assertEqual(attempt["parentSpanId"], stage["spanId"])
            self.assertLessEqual(int(stage["startTimeUnixNano"]), int(attempt["startTimeUnixNano"]))
            self.assertLessEqual(int(attempt["endTimeUnixNano"]), int(stage["endTimeUnixNano"]))

    def test_a_share_says_in_the_flags_what_it_leaves_out(self) -> None:
        gateway, _ = self.gateway_with(sample=0, always=[])
        request = self.request_to_tracer(gateway)
        self.assertRegex(request["traceparent"], "^00-[0-9a-f]{32}-[0-9a-f]{16}-00$")

    def test_mcp_servers_are_handed_it_in_the_meta_of_the_request(self) -> None:
        server = {"command": sys.executable, "args": ["-c", MCP_SERVER]}
        gateway, _ = self.gateway_with(mcp_config({"tracer": server}))
        gateway.wait_listed("trace")
        answer = gateway.call("tracer__trace")
        self.assertEqual(answer.status, "ok", answer)
        root = self.span("execute_tool tracer__trace")
        self.assertIn(f"00-{root['traceId']}-{root['spanId']}-01", json.dumps(answer.result))

    def test_without_a_collector_the_callers_is_passed_on(self) -> None:
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        host = ToolHost(folder / "shop", host_tool("append")).start()
        self.addCleanup(host.stop)
        gateway = Gateway({"hosts": [{"name": "shop", "unix": str(host.path)}]})
        self.enterContext(gateway)
        gateway.wait_listed("append")
        callers = f"00-{TRACE}-{PARENT}-01"
        for headers in ({"traceparent": callers}, {}):
            gateway.fetch(
                "POST",
                "/v1/tools/call",
                gateway.caller_token(),
                headers,
                call_request("shop__append", {}),
            )
        handed = [call.headers.get("traceparent") for call in host.calls]
        self.assertEqual(handed, [callers, None])

    def gateway_with_a_model(self) -> tuple[Gateway, Device, ScriptedModel]:
        model = self.enterContext(ScriptedModel())
        entry = {"model": "first", "provider": "scripted", "url": model.url, "max_retries": 0}
        gateway, device = self.gateway_with({"models": [entry]})
        device.serve({"lamp": lambda _: "a secret result"})
        return gateway, device, model

    def test_a_turn_is_a_span_over_its_model_requests_and_its_calls(self) -> None:
        _, device, model = self.gateway_with_a_model()
        model.script(Answer("a secret thought", calls=[call("lamp")]), Answer("a secret answer"))
        device.send("message", content="a secret question")
        turn = self.span("invoke_agent crab")
        self.assertNotIn("parentSpanId", turn)
        self.assertNotIn("status", turn)
        chats = [span for span in self.collector.spans() if span["name"] == "chat first"]
        root = self.span("execute_tool lamp")
        for child in (*chats, root):
            self.assertEqual(
                (child["traceId"], child["parentSpanId"]), (turn["traceId"], turn["spanId"])
            )
        self.assertEqual([chat["kind"] for chat in chats], [3, 3])
        for request, chat in zip(model.requests, chats, strict=True):
            headers = {name.lower(): value for name, value in request.headers.items()}
            self.assert_handed(headers["traceparent"], chat)
            self.assertLessEqual(int(turn["startTimeUnixNano"]), int(chat["startTimeUnixNano"]))
            self.assertLessEqual(int(chat["endTimeUnixNano"]), int(turn["endTimeUnixNano"]))
        told = attributes(chats[0])
        self.assertEqual(
            (
                told["gen_ai.operation.name"],
                told["gen_ai.provider.name"],
                told["gen_ai.request.model"],
                told["gen_ai.response.model"],
            ),
            ("chat", "scripted", "first", "first"),
        )
        self.assertEqual(attributes(turn)["gen_ai.conversation.id"], device.session_id)
        self.assertNotIn("secret", json.dumps(self.collector.requests))

    def test_a_chat_names_the_trace_of_its_turn(self) -> None:
        gateway, device, model = self.gateway_with_a_model()
        callers = f"00-{TRACE}-{PARENT}-01"
        webhook = lambda parent: gateway.fetch(  # noqa: E731
            "POST",
            "/webhook",
            gateway.caller_token(),
            {"traceparent": parent},
            {"message": "hello"},
        )
        for ask in (
            lambda: device.send("message", content="hello", traceparent=callers),
            lambda: self.assertEqual(webhook(callers).status, 200),
        ):
            self.collector.requests.clear()
            model.script(Answer(calls=[call("lamp")]), Answer("it is lit"))
            ask()
            turn = self.span("invoke_agent crab")
            self.assertEqual((turn["traceId"], turn["parentSpanId"]), (TRACE, PARENT))
            called = self.span("execute_tool lamp")
            chats = [span for span in self.collector.spans() if span["name"] == "chat first"]
            self.assertEqual(
                [(span["traceId"], span["parentSpanId"]) for span in (called, *chats)],
                [(TRACE, turn["spanId"])] * 3,
            )
            handed = [
                {name.lower(): value for name, value in request.headers.items()}["traceparent"]
                for request in model.requests[-2:]
            ]
            for each in handed:
                self.assertRegex(each, rf"^00-{TRACE}-[0-9a-f]{{16}}-01$")
        self.collector.requests.clear()
        model.script(Answer("hello"))
        device.send("message", content="hello", traceparent="00-nonsense")
        self.assertNotIn("parentSpanId", self.span("invoke_agent crab"))

    def test_a_turn_that_fails_says_so(self) -> None:
        _, device, model = self.gateway_with_a_model()
        model.script(Refusal(401, "no"))
        device.send("message", content="hello")
        turn, chat = self.span("invoke_agent crab"), self.span("chat first")
        for span in (turn, chat):
            self.assertEqual(span["status"]["code"], 2)
            self.assertEqual(attributes(span)["error.type"], span["status"]["message"])

    def test_without_a_collector_models_are_handed_nothing(self) -> None:
        model = self.enterContext(ScriptedModel())
        entry = {"model": "first", "provider": "scripted", "url": model.url}
        gateway = self.enterContext(Gateway({"models": [entry]}))
        device = Device(gateway, gateway.pair("phone"))
        self.addCleanup(device.drop)
        device.send("message", content="hello")
        eventually(lambda: model.requests, "the model is asked")
        self.assertNotIn("traceparent", {name.lower() for name in model.requests[0].headers})
        callers = f"00-{TRACE}-{PARENT}-01"
        device.send("message", content="hello", traceparent=callers)
        eventually(lambda: len(model.requests) == 2, "the model is asked again")
        headers = {name.lower(): value for name, value in model.requests[1].headers.items()}
        self.assertEqual(headers["traceparent"], callers, "the chat's own, as it came")

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

    def test_header_fields_go_to_no_other_machine_without_tls(self) -> None:
        variables = {
            "OTEL_EXPORTER_OTLP_HEADERS": "Authorization=Bearer%20of-the-collector",
            "OTEL_EXPORTER_OTLP_ENDPOINT": "http://collector.invalid:4318",
        }
        with unittest.mock.patch.dict(os.environ, variables):
            with self.assertRaisesRegex(AssertionError, "tracing.allow_plain"):
                with Gateway({"tracing": {"sample": 1}}):
                    pass
            with Gateway({"tracing": {"sample": 1, "allow_plain": True}}):
                pass

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

    def test_a_collector_that_is_down_gets_the_spans_when_it_is_back(self) -> None:
        gateway, _ = self.gateway_with()
        each = self.spans_of_one_call(gateway)
        port = self.collector.server.server_port
        self.collector.close()
        self.assertEqual(gateway.call("list_devices").status, "ok")
        eventually(lambda: "spans cannot be sent" in gateway.log_tail(), "it is told", limit=20)
        self.collector = Collector(port)
        self.addCleanup(self.collector.close)
        eventually(lambda: self.metric(gateway, "sent") == 2 * each, "they are sent", limit=40)
        self.assertEqual(len(self.ids()), each)
        self.assertEqual(self.metric(gateway, "dropped"), 0)
        eventually(lambda: "takes spans again" in gateway.log_tail(), "that is told too")

    def test_a_slow_collector_gets_all_of_what_it_can_keep_up_with(self) -> None:
        self.collector.delay = 0.5
        gateway, _ = self.gateway_with()
        each = self.spans_of_one_call(gateway)
        self.call_often(gateway, 200)
        sent = 201 * each
        eventually(lambda: self.metric(gateway, "sent") == sent, "all are sent", limit=60)
        self.assertEqual(len(self.ids()), sent)
        self.assertEqual(self.metric(gateway, "dropped"), 0)
        most = max(
            sum(len(scope["spans"]) for it in body["resourceSpans"] for scope in it["scopeSpans"])
            for _, body in self.collector.requests
        )
        self.assertLessEqual(most, 512, "of one request")

    def test_a_huge_backlog_is_bounded_and_every_lost_span_is_counted(self) -> None:
        gateway, _ = self.gateway_with()
        each = self.spans_of_one_call(gateway)
        self.collector.hold.clear()
        calls = 3 * 8192 // each
        self.call_often(gateway, calls)
        total = (calls + 1) * each
        # What may wait, what may be on its way, and what was sent before the backlog
        most = 8192 + 2 * 512 + each
        lost = "spans beyond those that may wait are dropped"
        eventually(lambda: self.metric(gateway, "dropped") >= total - most, lost, limit=30)
        self.collector.hold.set()

        def counted() -> int:
            return self.metric(gateway, "sent") + self.metric(gateway, "dropped")

        eventually(lambda: counted() == total, "all are accounted for", limit=60)
        sent = self.metric(gateway, "sent")
        self.assertLessEqual(sent, most)
        self.assertGreaterEqual(sent, 8192 - each)
        self.assertEqual(self.metric(gateway, "refused"), 0)
        eventually(lambda: len(self.ids()) == sent, "what counts as sent has come", limit=20)

    def test_retry_after_is_waited_for_and_five_tries_are_all(self) -> None:
        self.collector.answers = [(503, {"Retry-After": "2"})]
        gateway, _ = self.gateway_with()
        each = self.spans_of_one_call(gateway)
        first, second = self.collector.times
        self.assertGreaterEqual(second - first, 2)
        self.collector.answers = [(429, {"Retry-After": "0"})] * 5
        self.assertEqual(gateway.call("list_devices").status, "ok")
        eventually(lambda: self.metric(gateway, "dropped") == each, "they are lost", limit=20)
        self.assertEqual(len(self.collector.times), 2 + 5)
        self.assertEqual(gateway.call("list_devices").status, "ok")
        eventually(lambda: self.metric(gateway, "sent") == 2 * each, "the next is sent", limit=20)

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
