"""What happens now, for operators: the stream, and statistics of the last hour
(docs/operations/running_the_gateway.md)."""

from __future__ import annotations

import contextlib
import re
import time
import unittest
from typing import Any
from urllib.parse import urlencode

from test_events import envelope

from support.case import GatewayCase
from support.device import tool
from support.http import fetch
from support.live import LiveReader
from support.wait import eventually


class LiveCase(GatewayCase):
    CONFIG = {"policy": [{"principal": "*", "call": {"needs_approval": ["asked*"]}}]}

    def live(self, **query: Any) -> LiveReader:
        reader = LiveReader(self.gateway, **query)
        self.addCleanup(reader.__exit__)
        self.assertEqual(reader.status, 200)
        return reader

    def metric_sum(self, name: str) -> float:
        page = self.gateway.admin_request("GET", "/metrics").body.decode()
        return sum(float(value) for value in re.findall(rf"^{name}(?:{{.*}})? (\S+)$", page, re.M))

    def settled(self) -> None:
        """Until no record of an earlier call is on its way to streams."""
        before = self.metric_sum("crab_calls_total")
        with LiveReader(self.gateway, topics="calls") as reader:
            self.gateway.call("list_devices")
            reader.wait("calls", lambda it: it["total"] == 0)
            while self.metric_sum("crab_calls_total") == before:
                time.sleep(0.01)
            reader.wait("calls", lambda it: it["total"] > 0)
            reader.wait("calls", lambda it: it["total"] == 0)

    def get(self, path: str, **query: Any) -> dict[str, Any]:
        answer = self.gateway.admin_request("GET", f"{path}?{urlencode(query)}")
        self.assertEqual(answer.status, 200, answer.body)
        return answer.json()


class CallsTest(LiveCase):
    def test_the_sums_are_those_of_the_metrics(self) -> None:
        self.settled()
        before = self.metric_sum("crab_calls_total"), self.metric_sum("crab_calls_refused_total")
        reader = self.live(topics="calls", rate=4)
        for i in range(120):
            self.gateway.call("list_devices" if i % 3 else "no_such_tool", {})
        ended = self.metric_sum("crab_calls_total") - before[0]
        self.assertEqual(ended, 120)
        self.assertEqual(self.metric_sum("crab_calls_refused_total") - before[1], 40)
        sums, rows = reader.calls(120)
        self.assertEqual(sums["total"] + sums["unrecorded"], ended)
        self.assertEqual(sum(sums["by_status"].values()), sums["total"])
        self.assertEqual(sums["by_status"]["ok"], 80)
        self.assertEqual(sums["left_out"], sums["total"] - len(rows))
        self.assertGreater(sums["left_out"], 0)
        failures = [row for row in rows if row["status"] != "ok"]
        self.assertEqual(len(failures), 40, "no failure is left out")
        self.assertEqual({row["code"] for row in failures}, {"TOOL_NOT_FOUND"})

    def test_a_filter_holds_before_the_sample(self) -> None:
        self.settled()
        reader = self.live(topics="calls", rate=200, filter="tool:list* status:ok")
        counts = self.live(topics="calls", rate=0, filter='"no_such"')
        for _ in range(10):
            self.gateway.call("no_such_tool")
            self.gateway.call("list_devices", {})
        sums, rows = reader.calls(10)
        self.assertEqual((sums["total"], len(rows)), (10, 10))
        self.assertEqual({row["tool"] for row in rows}, {"list_devices"})
        self.assertLessEqual({"call_id", "duration_us", "timeline", "rule"}, rows[0].keys())
        sums, rows = counts.calls(10)
        self.assertEqual((sums["total"], sums["left_out"], rows), (10, 10, []))

    def test_what_cannot_be_read_is_refused_and_so_is_one_stream_too_many(self) -> None:
        for query in ("rate=x", "rate=201", "topics=all", "filter=min:fast", "attend=1"):
            with self.subTest(query):
                answer = self.gateway.admin_request("GET", f"/v1/admin/stream?{query}")
                self.assertEqual((answer.status, answer.json()["code"]), (400, "INVALID_ARGS"))
        with contextlib.ExitStack() as streams:
            for _ in range(8):
                reader = streams.enter_context(LiveReader(self.gateway, topics="status"))
                self.assertEqual(reader.status, 200)
            answer = self.gateway.admin_request("GET", "/v1/admin/stream")
            self.assertEqual((answer.status, answer.json()["code"]), (429, "RATE_LIMITED"))
        eventually(self.opens, "closed streams leave their places")

    def opens(self) -> bool:
        with LiveReader(self.gateway, topics="status") as reader:
            return reader.status == 200

    def test_a_reader_that_does_not_read_costs_little(self) -> None:
        self.settled()
        with LiveReader(self.gateway, receive_buffer=4096, rate=200) as sleeper:
            resident = self.gateway.resident_bytes()
            reader = self.live(topics="calls", rate=0)
            for _ in range(1_500):
                self.gateway.call("list_devices", {})
            reader.calls(1_500)
            self.assertLess(self.gateway.growth_since(resident), 24 << 20)
            sums, _ = sleeper.calls(1_500)
            self.assertEqual(sums["total"], 1_500, "nothing is forgotten in the counts")


class TopicsTest(LiveCase):
    def test_status_comes_every_second_and_hello_first(self) -> None:
        reader = self.live(topics="status")
        self.assertEqual(reader.hello.keys(), {"version", "now"})
        status = self.get("/v1/admin/status")
        told = reader.wait("status")
        self.assertEqual(told.keys(), status.keys())
        self.assertEqual(reader.next()[0], "status", "and nothing else")

    def test_running_calls_are_counted_and_the_oldest_come_first(self) -> None:
        name = self.unique("slow")
        device = self.open()
        device.register(tool(name))
        reader = self.live(topics="running")
        self.assertEqual(reader.wait("running"), {"count": 0, "oldest": []})
        first = self.gateway.start_call(name, call_id="oldest")
        waiting = [device.next_call(name)]
        second = self.gateway.start_call(name, call_id="newest")
        waiting.append(device.next_call(name))
        told = reader.wait("running", lambda it: it["count"] == 2)
        self.assertEqual([row["call_id"] for row in told["oldest"]], ["oldest", "newest"])
        self.assertEqual(told["oldest"][0]["stage"], "dispatched")
        for call in waiting:
            device.answer(call, "done")
        first.result(20), second.result(20)
        reader.wait("running", lambda it: it["count"] == 0)

    def test_devices_and_tools_that_come_and_go(self) -> None:
        reader = self.live(topics="device,tools")
        name = self.unique("seen")
        device = self.open()
        device.register(tool(name))
        told = reader.wait("device", lambda it: it.get("tools") == 1)
        self.assertTrue(told["connected"])
        device.close()
        reader.wait(
            "device", lambda it: it["principal"] == told["principal"] and not it["connected"]
        )
        again = self.live(topics="tools")
        other = self.open()
        other.register(tool(self.unique("new")))
        self.assertGreater(again.wait("tools")["generation"], 0)

    def test_a_pairing_goes_on_until_its_code_is_used_or_ended(self) -> None:
        reader = self.live(topics="pairing")
        pair = "/v1/admin/devices/pair"
        made = self.gateway.admin_request("POST", pair, {"name": self.unique("phone")}).json()
        self.assertEqual(reader.wait("pairing"), {"id": made["id"], "state": "open"})
        paired = fetch(self.gateway.public, "POST", "/pair", {"X-Pairing-Code": made["code"]})
        self.assertEqual(paired.status, 200)
        told = reader.wait("pairing")
        self.assertEqual((told["id"], told["state"]), (made["id"], "paired"))
        self.assertTrue(told["device"])

    def test_questions_are_told_and_asked_only_where_somebody_attends(self) -> None:
        name = self.unique("asked")
        device = self.open()
        device.register(tool(name))
        reader = self.live(topics="question")
        error = self.gateway.call(name).error
        self.assertEqual(error["details"]["approval"], "unattended")
        with LiveReader(self.gateway, topics="question", attend="true") as attending:
            running = self.gateway.start_call(name)
            question = attending.wait("question")
            self.assertEqual(question, reader.wait("question", lambda it: it == question))
            late = self.live(topics="question")
            self.assertEqual(late.wait("question")["id"], question["id"], "those that are open")
            path = f"/v1/admin/approvals/{question['id']}"
            self.gateway.admin_request("POST", path, {"decision": "deny"})
            self.assertEqual(running.result(20).error["code"], "FORBIDDEN")
            self.assertEqual(reader.wait("end")["id"], question["id"])

    def test_events_of_the_gateway(self) -> None:
        reader = self.live(topics="event")
        event = envelope("heartbeat.tick")
        published = self.gateway.admin_request("POST", "/v1/events", event)
        self.assertEqual(published.status, 202, published.body)
        told = reader.wait("event", lambda it: it["event"]["event_id"] == event["event_id"])
        self.assertEqual(told["event"]["event_type"], "heartbeat.tick")
        self.assertGreater(int(told["cursor"]), 0)

    def test_streams_end_when_the_gateway_stops(self) -> None:
        reader = self.live()
        self.gateway.stop()
        self.assertTrue(reader.ended())
        self.gateway.start()


class StatsTest(LiveCase):
    def test_sums_are_by_tool_principal_and_source(self) -> None:
        name = self.unique("counted")
        device = self.open()
        device.register(tool(name))
        self.settled()
        for i in range(4):
            running = self.gateway.start_call(name, call_id=f"{name}{i}")
            call = device.next_call(name)
            device.answer(call, "done")
            running.result(20)
        self.gateway.call(self.unique("nobody"))

        def row(by: str, key: str) -> dict[str, Any] | None:
            rows = self.get("/v1/admin/stats", by=by, window="1h", limit=1000)["rows"]
            return next((row for row in rows if row["key"].endswith(key)), None)

        found = eventually(
            lambda: (it := row("tool", name)) and it["calls"] == 4 and it, "the calls are counted"
        )
        self.assertEqual(found["errors"], 0)
        self.assertLessEqual(found["p50_us"], found["p99_us"])
        self.assertIn("answered", found["stage_us"])
        self.assertTrue(found["slowest"].startswith(name))
        self.assertGreaterEqual(row("principal", "caller/tester")["calls"], 5)
        self.assertGreaterEqual(row("source", f"device/{self.slug}")["calls"], 4)
        eventually(lambda: row("tool", "(no such tool)"), "made-up names are one row")
        told = self.gateway.crab("top", "--once", "--window", "1h", "--rows", "1000")
        self.assertRegex(told, rf"{name} +4 +- ")
        self.assertRegex(told, r"^last 1h 0m: \d+ calls, .*; running now: 0\n")
        self.assertIn('"rows"', self.gateway.crab("top", "-o", "json"))
        for query in ("window=2h", "window=x", "by=colour", "limit=-1"):
            answer = self.gateway.admin_request("GET", f"/v1/admin/stats?{query}")
            self.assertEqual(answer.status, 400, query)

    def test_series_have_a_value_for_each_minute(self) -> None:
        self.gateway.call("list_devices", {})
        calls = eventually(
            lambda: sum((it := self.get("/v1/admin/series", window="10m"))["series"]["calls"])
            and it,
            "the call is in the series",
        )
        self.assertEqual(len(calls["t"]), 10)
        self.assertEqual({b - a for a, b in zip(calls["t"], calls["t"][1:])}, {60})
        for name in ("errors", "p50_us", "p95_us", "p99_us"):
            self.assertEqual(len(calls["series"][name]), 10)
        some = self.get("/v1/admin/series", names="errors", window="1m")
        self.assertEqual(list(some["series"]), ["errors"])
        answer = self.gateway.admin_request("GET", "/v1/admin/series?names=calls,x")
        self.assertEqual(answer.status, 400)


if __name__ == "__main__":
    unittest.main()
