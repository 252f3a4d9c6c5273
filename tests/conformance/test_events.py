"""docs/protocols/rtp.md, section 9: events, over the admin socket. Numbers are those of the
checklist (section 13)."""

from __future__ import annotations

import contextlib
import json
import select
import signal
import subprocess
import uuid
from typing import Any
from urllib.parse import urlencode

from support.case import GatewayCase
from support.device import tool
from support.gateway import Gateway, program
from support.http import HttpConnection, read_head
from support.rtp import call_request, envelope
from support.wait import eventually
from support.websocket import Closed, Refused, WebSocket

MOST_OPEN = 256


class Stream(WebSocket):
    """A stream of events."""

    def __init__(self, gateway: Gateway, **query: Any) -> None:
        super().__init__(gateway.admin, "/v1/events" + ("?" + urlencode(query) if query else ""))

    def next(self, timeout: float = 10.0) -> tuple[str, dict[str, Any]]:
        message = json.loads(self.receive_text(timeout))
        assert message.keys() == {"cursor", "event"}, message
        return message["cursor"], message["event"]

    def take(self, count: int) -> list[tuple[str, dict[str, Any]]]:
        return [self.next() for _ in range(count)]

    def until(self, event_id: str) -> list[dict[str, Any]]:
        """All events up to that one."""
        events = [self.next()[1]]
        while events[-1]["event_id"] != event_id:
            events.append(self.next()[1])
        return events

    def acknowledge(self, cursor: str) -> None:
        self.send_text(json.dumps({"ack": cursor}))


class EventsCase(GatewayCase):
    CONFIG = {"built_in_hosts": {"memory": True, "cron": True}}

    def stream(self, **query: Any) -> Stream:
        return self.enterContext(Stream(self.gateway, **query))

    def publish(
        self, event: Any, headers: dict[str, str] | None = None
    ) -> tuple[int, dict[str, Any]]:
        with HttpConnection(self.gateway.admin) as connection:
            answer = connection.request("POST", "/v1/events", headers, event)
            return answer.status, answer.json()

    def published(self, *types: str, **members: Any) -> list[str]:
        """Publishes events; their ids."""
        ids = []
        for each in types or ("channel.message.received",):
            event = envelope(each, **members)
            self.assertEqual(
                self.publish(event), (202, {"accepted": True, "event_id": event["event_id"]})
            )
            ids.append(event["event_id"])
        return ids

    def acknowledged(self, peer_lag: int, subscription: str) -> None:
        """Waits until the metrics say that so many events came after the last acknowledgement."""

        def lag() -> bool:
            page = self.gateway.admin_request("GET", "/metrics").body.decode()
            return f'subscription="{subscription}"}} {peer_lag}\n' in page

        eventually(lag, f"{subscription} lags by {peer_lag}")

    def append_memory(self, **members: Any) -> dict[str, Any]:
        request = call_request("memory.append", {"entries": [{"text": "an event"}]}, **members)
        with HttpConnection(self.gateway.admin) as connection:
            answer = connection.request("POST", "/v1/tools/call", None, request)
            self.assertEqual(answer.status, 200)
        return {**request, "answer": answer.json()}


class Publishing(EventsCase):
    def test_an_event_comes_out_as_it_went_in_with_the_gateway_s_word_in_its_source(self) -> None:
        stream = self.stream(remember="false")
        event = envelope(meta={"a": [1, {"b": None}]}, idempotency_key=str(uuid.uuid4()))
        event["source"] |= {
            "peer_id": "forged",
            "transport": "mtls_ws",
            "mtls_cert_fingerprint": "sha256:00",
            "actor_id": "ann",
        }
        event["routing"] |= {
            "isolation_key": "k",
            "policy_tags": ["x"],
            "target": {"platform": "p", "thread_id": "7"},
        }
        self.assertEqual(self.publish(event)[0], 202)
        source = {
            "component_type": "operator",
            "component_id": "tests",
            "actor_id": "ann",
            "transport": "unix_socket",
        }
        self.assertEqual(stream.next()[1], {**event, "source": source})

    def test_a_repeat_is_a_duplicate_and_other_content_is_a_conflict(self) -> None:
        first = envelope(idempotency_key=str(uuid.uuid4()))
        stream = self.stream(remember="false")
        self.assertEqual(
            self.publish(first), (202, {"accepted": True, "event_id": first["event_id"]})
        )
        again = {"accepted": True, "event_id": first["event_id"], "duplicate": True}
        self.assertEqual(self.publish(first), (202, again))
        self.assertEqual(self.publish({**first, "event_id": str(uuid.uuid4())}), (202, again))
        for other in (
            {**first, "payload": {"text": "bye"}},
            {**first, "event_id": "new", "payload": {}},
        ):
            status, body = self.publish(other)
            self.assertEqual((status, body["code"]), (409, "CONFLICT"))
        [last] = self.published()
        self.assertEqual(
            [event["event_id"] for event in stream.until(last)], [first["event_id"], last]
        )

    def test_a_forged_source_is_refused(self) -> None:  # 83
        for source in (
            {"component_type": "gateway", "component_id": "test"},
            {"component_type": "tool_host", "component_id": "memory"},
            {"component_type": "provider", "component_id": "tests"},
        ):
            status, body = self.publish(envelope(source=source))
            self.assertEqual((status, body["code"]), (403, "FORBIDDEN"), source)
        self.assertEqual(
            self.publish(
                envelope("cron.triggered", source={"component_type": "cron", "component_id": "c"})
            )[0],
            202,
        )
        listener = {"component_type": "listener", "component_id": "chat"}
        self.assertEqual(self.publish(envelope("channel.message.edited", source=listener))[0], 202)
        for kind in ("cron.triggered", "agent.response.created", "config.applied"):
            status, body = self.publish(envelope(kind, source=listener))
            self.assertEqual((status, body["code"]), (403, "FORBIDDEN"), kind)

    def test_what_breaks_the_schema_is_refused_and_named(self) -> None:
        good = envelope()
        for change, named in (
            ({"version": "v2"}, "/version"),
            ({"event_id": ...}, "/event_id"),
            ({"event_id": " "}, "/event_id"),
            ({"tenant_id": 7}, "/tenant_id"),
            ({"occurred_at": "today"}, "/occurred_at"),
            ({"event_type": "tool.call"}, "/event_type"),
            ({"extra": 1}, "/extra"),
            ({"payload": []}, "/payload"),
            ({"meta": 1}, "/meta"),
            ({"source": {"component_type": "operator"}}, "/source/component_id"),
            ({"source": {**good["source"], "component_type": "phone"}}, "/source/component_type"),
            ({"source": {**good["source"], "x": ""}}, "/source/x"),
            ({"routing": {"agent_id": "a"}}, "/routing/session_id"),
            ({"routing": {**good["routing"], "target": {"to": "x"}}}, "/routing/target/to"),
            ({"idempotency_key": "k" * 257}, "/idempotency_key"),
            ({"trace_id": None}, "/trace_id"),
        ):
            status, body = self.publish(envelope(**change))
            self.assertEqual((status, body["code"]), (400, "INVALID_ARGS"), change)
            self.assertIn(named, body["error"])
        for text in (
            b"",
            b"[]",
            b"{",
            json.dumps(good).encode() + b"x",
            json.dumps(good)[:-1].encode() + b',"version":"v1"}',
        ):
            self.assertEqual(self.publish(text)[0], 400, text)

    def test_a_body_of_two_mebibytes_passes_and_one_byte_more_does_not(self) -> None:
        event = envelope(payload={"text": ""})
        room = (2 << 20) - len(json.dumps(event, separators=(",", ":")))
        event["payload"]["text"] = "x" * room
        self.assertEqual(self.publish(event)[0], 202)
        event["payload"]["text"] += "x"
        status, body = self.publish(event)
        self.assertEqual((status, body["code"]), (413, "INVALID_ARGS"))


class Receiving(EventsCase):
    def test_a_stream_begins_with_what_comes_next_and_is_in_order(self) -> None:
        self.published()
        stream = self.stream(subscription=self.unique("s"))
        ids = self.published(*["channel.message.edited"] * 20)
        taken = stream.take(20)
        self.assertEqual([event["event_id"] for _, event in taken], ids)
        cursors = [int(cursor) for cursor, _ in taken]
        self.assertEqual(cursors, sorted(set(cursors)))

    def test_unacknowledged_events_come_again_on_the_next_stream(self) -> None:  # 82
        name = self.unique("s")
        with Stream(self.gateway, subscription=name) as stream:
            ids = self.published(*["heartbeat.tick"] * 5)
            taken = stream.take(5)
            stream.acknowledge(taken[1][0])
            self.acknowledged(3, name)
        with Stream(self.gateway, subscription=name) as stream:
            self.assertEqual([event["event_id"] for _, event in stream.take(3)], ids[2:])

    def test_a_cursor_decides_where_a_stream_begins(self) -> None:
        first = self.stream(subscription=self.unique("s"))
        ids = self.published(*["agent.turn.started"] * 3)
        cursors = [cursor for cursor, _ in first.take(3)]
        after = self.stream(subscription=self.unique("s"), cursor=cursors[0])
        self.assertEqual([event["event_id"] for _, event in after.take(2)], ids[1:])
        oldest = self.stream(
            subscription=self.unique("s"), cursor="earliest", types="agent.turn.started"
        )
        seen = oldest.until(ids[-1])
        self.assertEqual([event["event_id"] for event in seen][-3:], ids)

    def test_filters(self) -> None:
        marker = self.unique("agent")
        by_type = self.stream(
            subscription=self.unique("s"), types="channel.message.edited,cron.*", agent_id=marker
        )
        by_session = self.stream(subscription=self.unique("s"), agent_id=marker, session_id="two")
        by_tenant = self.stream(subscription=self.unique("s"), agent_id=marker, tenant_id="harbour")
        one, two = {"agent_id": marker, "session_id": "one"}, {
            "agent_id": marker,
            "session_id": "two",
        }
        [_, edited, cron] = self.published(
            "channel.message.received", "channel.message.edited", "cron.triggered", routing=one
        )
        [later] = self.published("agent.turn.failed", routing=two)
        [there] = self.published("agent.turn.failed", routing=one, tenant_id="harbour")
        self.assertEqual([event["event_id"] for _, event in by_type.take(2)], [edited, cron])
        self.assertEqual(by_session.next()[1]["event_id"], later)
        self.assertEqual(by_tenant.next()[1]["event_id"], there)

    def test_a_newer_stream_closes_the_older(self) -> None:
        name = self.unique("s")
        older = self.stream(subscription=name)
        newer = self.stream(subscription=name)
        with self.assertRaises(Closed) as closed:
            older.next()
        self.assertEqual(closed.exception.code, 4409)
        [event_id] = self.published()
        self.assertEqual(newer.next()[1]["event_id"], event_id)

    def test_a_stream_that_is_not_remembered_disturbs_no_other(self) -> None:
        streams = [self.stream(remember="false"), self.stream(remember="false")]
        [event_id] = self.published()
        for stream in streams:
            self.assertEqual(stream.next()[1]["event_id"], event_id)

    def test_it_pauses_with_256_unacknowledged_and_goes_on_after_an_acknowledgement(self) -> None:
        name = self.unique("s")
        stream = self.stream(subscription=name, types="config.*")
        with HttpConnection(self.gateway.admin) as connection:
            for _ in range(MOST_OPEN + 10):
                self.assertEqual(
                    connection.request(
                        "POST", "/v1/events", None, envelope("config.applied")
                    ).status,
                    202,
                )
        taken = stream.take(MOST_OPEN)
        self.published("config.reverted")
        with self.assertRaises(TimeoutError):
            stream.next(timeout=0.3)
        stream.acknowledge(taken[9][0])
        self.assertEqual(len(stream.take(10)), 10)
        with self.assertRaises(TimeoutError):
            stream.next(timeout=0.3)
        stream.acknowledge(taken[-1][0])
        self.assertEqual(stream.next()[1]["event_type"], "config.reverted")

    def test_an_acknowledgement_of_nothing_that_was_sent_closes_the_stream(self) -> None:
        for text in ('{"ack":"99999999"}', '{"ack":7}', "[]", "ack"):
            stream = self.stream(subscription=self.unique("s"))
            stream.send_text(text)
            with self.assertRaises(Closed) as closed:
                stream.next()
            self.assertEqual(closed.exception.code, 1008, text)

    def test_bad_queries(self) -> None:
        for query, status, code in (
            ("types=tool.cal", 400, "INVALID_ARGS"),
            ("cursor=now", 400, "INVALID_ARGS"),
            ("cursor=-1", 400, "INVALID_ARGS"),
            ("subscription=a&subscription=b", 400, "INVALID_ARGS"),
            ("topic=a", 400, "INVALID_ARGS"),
            ("cursor=99999999", 410, "CURSOR_GONE"),
        ):
            with self.assertRaises(Refused) as refused:
                WebSocket(self.gateway.admin, "/v1/events?" + query)
            self.assertEqual(
                (refused.exception.response.status, refused.exception.response.json()["code"]),
                (status, code),
                query,
            )
        self.assertEqual(self.gateway.admin_request("GET", "/v1/events").status, 426)
        self.assertEqual(
            self.gateway.admin_request("PUT", "/v1/events").headers["allow"], "GET, POST"
        )

    def test_server_sent_events_are_acknowledged_by_a_request(self) -> None:
        name = self.unique("s")
        with HttpConnection(self.gateway.admin) as connection:
            connection.send(
                "GET", f"/v1/events?subscription={name}", {"Accept": "text/event-stream"}
            )
            head = read_head(connection.stream)
            events = connection.events(head)
            ids = self.published("heartbeat.tick", "heartbeat.tick")
            seen = [next(events) for _ in ids]
            self.assertEqual(
                [(kind, json.loads(data)["event_id"]) for kind, data in seen],
                [("heartbeat.tick", event_id) for event_id in ids],
            )
        answer = self.gateway.admin_request(
            "POST", "/v1/events/ack", {"subscription": name, "cursor": "0"}
        )
        self.assertEqual(answer.status, 200)
        stream = self.stream(subscription=name)
        cursor, event = stream.next()
        self.assertEqual(event["event_id"], ids[0])
        self.assertEqual(
            self.gateway.admin_request(
                "POST", "/v1/events/ack", {"subscription": name, "cursor": cursor}
            ).status,
            200,
        )
        self.acknowledged(1, name)
        for body, status in (
            ({"cursor": "x"}, 400),
            ({"subscription": "nobody", "cursor": cursor}, 404),
            ({"cursor": "99999999", "subscription": name}, 400),
            ({}, 400),
        ):
            self.assertEqual(
                self.gateway.admin_request("POST", "/v1/events/ack", body).status, status, body
            )


class Calls(EventsCase):
    def test_a_call_has_one_requested_and_one_end_and_a_replay_has_none(self) -> None:  # 81
        stream = self.stream(subscription=self.unique("s"), types="tool.call.*")
        call = self.append_memory(idempotency_key=str(uuid.uuid4()), timeout_ms=20000)
        self.append_memory(idempotency_key=call["idempotency_key"])
        last = self.append_memory()
        events = [event for _, event in stream.take(4)]
        self.assertEqual(
            [event["event_type"] for event in events],
            ["tool.call.requested", "tool.call.completed"] * 2,
        )
        requested, completed = events[0], events[1]
        self.assertEqual(
            [event["payload"]["call_id"] for event in events],
            [call["call_id"]] * 2 + [last["call_id"]] * 2,
        )
        self.assertEqual(
            requested["payload"].keys(), {"call_id", "tool_name", "args", "timeout_ms"}
        )
        self.assertEqual(
            (requested["payload"]["tool_name"], requested["payload"]["args"]),
            ("memory.append", call["args"]),
        )
        self.assertTrue(0 < requested["payload"]["timeout_ms"] <= 20000)
        self.assertEqual(
            completed["payload"].keys(), {"call_id", "tool_name", "status", "result", "duration_ms"}
        )
        self.assertEqual(completed["payload"]["result"], call["answer"]["result"])
        self.assertEqual(
            requested["source"],
            {"component_type": "gateway", "component_id": "test", "transport": "internal"},
        )
        self.assertEqual(requested["routing"], {"agent_id": "tests", "session_id": "tests"})

    def test_a_failed_call_ends_with_failed_and_a_refused_one_tells_nothing(self) -> None:
        stream = self.stream(subscription=self.unique("s"), types="tool.call.*")
        with HttpConnection(self.gateway.admin) as connection:
            for args in ({"entries": []}, {"job_id": "nobody's"}):
                name = "memory.append" if "entries" in args else "cron.remove"
                self.assertEqual(
                    connection.request(
                        "POST", "/v1/tools/call", None, call_request(name, args)
                    ).json()["status"],
                    "error",
                )
        requested, failed = (event["payload"] for _, event in stream.take(2))
        self.assertEqual(requested["tool_name"], "cron.remove")
        self.assertEqual(failed.keys(), {"call_id", "tool_name", "status", "error", "duration_ms"})
        self.assertEqual(
            (failed["status"], failed["error"]["code"], failed["error"]["retryable"]),
            ("error", "INVALID_ARGS", False),
        )

    def test_calls_without_side_effects_have_events_while_somebody_wants_them(self) -> None:
        def query() -> str:
            request = call_request("memory.query", {})
            with HttpConnection(self.gateway.admin) as connection:
                self.assertEqual(
                    connection.request("POST", "/v1/tools/call", None, request).json()["status"],
                    "ok",
                )
            return request["call_id"]

        query()  # perhaps heard of, perhaps not: others of this class subscribe too
        with Stream(self.gateway, remember="false", types="tool.call.*") as stream:
            call_id = query()
            heard = stream.next()[1]
            while heard["payload"]["call_id"] != call_id:
                heard = stream.next()[1]
            self.assertEqual(
                (heard["event_type"], heard["payload"]["tool_name"]),
                ("tool.call.requested", "memory.query"),
            )
            self.assertEqual((stream.next()[1]["payload"]["call_id"]), call_id)


class Crash(EventsCase):
    def test_after_kill_9_unacknowledged_events_come_again_and_a_call_in_the_air_has_failed(
        self,
    ) -> None:  # 82
        device = self.open()
        name = self.unique("tool")
        device.register(tool(name))
        stream = Stream(self.gateway, subscription="crash", types="tool.call.*,channel.*")
        with stream:
            ids = self.published(*["channel.message.received"] * 3)
            taken = stream.take(3)
            stream.acknowledge(taken[0][0])
            self.acknowledged(2, "crash")
            with contextlib.suppress(Exception):
                self.gateway.start_call(name)
            cursor, requested = stream.next()
            self.assertEqual(requested["event_type"], "tool.call.requested")
            device.next_call()
            self.gateway.kill()
        self.gateway.start()
        with Stream(self.gateway, subscription="crash", types="tool.call.*,channel.*") as again:
            events = [event for _, event in again.take(4)]
            self.assertEqual(
                [event["event_id"] for event in events[:3]], [*ids[1:], requested["event_id"]]
            )
            failed = events[3]
            self.assertEqual(
                (failed["event_type"], failed["payload"]["call_id"]),
                ("tool.call.failed", requested["payload"]["call_id"]),
            )
            self.assertEqual(
                (failed["payload"]["status"], failed["payload"]["error"]["code"]),
                ("error", "OUTCOME_UNKNOWN"),
            )
            [last] = self.published()
            self.assertEqual(again.until(last)[-1]["event_id"], last)
        self.gateway.kill()
        self.gateway.start()
        with Stream(
            self.gateway, subscription="once", cursor="earliest", types="tool.call.failed"
        ) as more:
            self.assertEqual(more.next()[1]["event_id"], failed["event_id"])
            with self.assertRaises(TimeoutError):
                more.next(timeout=0.3)


class Stop(EventsCase):
    def test_a_gateway_that_stops_ends_its_streams_in_good_order(self) -> None:
        stream = self.stream(subscription="web")
        with HttpConnection(self.gateway.admin) as connection:
            connection.send("GET", "/v1/events?subscription=sse", {"Accept": "text/event-stream"})
            head = read_head(connection.stream)
            self.published()
            self.assertEqual(stream.next()[1]["event_type"], "channel.message.received")
            self.gateway.stop()
            [_, (kind, data)] = list(connection.events(head))
            self.assertEqual((kind, json.loads(data)["code"]), ("stream.closed", 1001))
        with self.assertRaises(Closed) as closed:
            stream.next()
        self.assertEqual(closed.exception.code, 1001)
        self.gateway.start()


class Tail(EventsCase):
    def test_it_shows_events_as_lines_and_ends_after_as_many_as_were_asked(self) -> None:
        ids = self.published("agent.response.created", "agent.turn.started")
        shown = self.gateway.crab(
            "events",
            "tail",
            "--from",
            "earliest",
            "--types",
            "agent.*",
            "--count",
            "2",
            "-o",
            "json",
        )
        self.assertEqual(
            [json.loads(line)["event"]["event_id"] for line in shown.splitlines()], ids
        )
        text = self.gateway.crab("events", "tail", "--from", "earliest", "--count", "1")
        self.assertRegex(text, "^2026-02-13T16:00:00Z +[a-z.]+ +a/s ")

    def test_ctrl_c_ends_it_in_good_order(self) -> None:
        tail = subprocess.Popen(
            [program(), "events", "tail", "--socket", str(self.gateway.admin), "-o", "json"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.addCleanup(tail.stdout.close)
        self.addCleanup(tail.stderr.close)
        self.addCleanup(tail.kill)
        eventually(
            lambda: self.published() and self.tail_heard(tail),
            "the tail hears of an event",
            limit=10,
        )
        tail.send_signal(signal.SIGINT)
        self.assertEqual((tail.wait(10), tail.stderr.read()), (-signal.SIGINT, ""))

    def tail_heard(self, tail: subprocess.Popen[str]) -> bool:
        return bool(select.select([tail.stdout], [], [], 0.2)[0])
