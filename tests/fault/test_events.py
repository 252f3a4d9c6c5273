"""Events while things break: kill -9 of the gateway under publishers, readers that stop reading, a
disk that is full."""

from __future__ import annotations

import contextlib
import json
import resource
import threading
from typing import Any

from support.case import GatewayCase
from support.device import tool
from support.http import HttpConnection
from support.rtp import envelope
from support.stream import EndOfStream
from support.wait import eventually
from support.websocket import Closed, WebSocket


class EventsFaultCase(GatewayCase):
    def publish(self, text: str = "hello", **members: Any) -> int:
        event = envelope(payload={"text": text}, **members)
        return self.gateway.admin_request("POST", "/v1/events", event).status

    def all_ids(self) -> list[str]:
        """The ids of everything in the outbox, up to an event that is published now."""
        last = envelope(payload={"text": "the last"})
        self.assertEqual(self.gateway.admin_request("POST", "/v1/events", last).status, 202)
        ids: list[str] = []
        with WebSocket(self.gateway.admin, "/v1/events?cursor=earliest&remember=false") as stream:
            while not ids or ids[-1] != last["event_id"]:
                ids.append(json.loads(stream.receive_text(10))["event"]["event_id"])
        return ids

    def metrics(self) -> str:
        return self.gateway.admin_request("GET", "/metrics").body.decode()


class KillTest(EventsFaultCase):
    def test_kill_9_under_publishers_loses_nothing_that_was_accepted_and_doubles_nothing(
        self,
    ) -> None:
        accepted: list[str] = []
        sent: list[dict[str, Any]] = []

        def publish_until_it_dies() -> None:
            with contextlib.suppress(OSError, EndOfStream, AssertionError), HttpConnection(
                self.gateway.admin
            ) as connection:
                while True:
                    event = envelope()
                    sent.append(event)
                    if connection.request("POST", "/v1/events", None, event).status == 202:
                        accepted.append(event["event_id"])

        for _ in range(3):
            before = len(accepted)
            publishers = [threading.Thread(target=publish_until_it_dies) for _ in range(8)]
            for publisher in publishers:
                publisher.start()
            eventually(lambda: len(accepted) > before + 100, "events are accepted", 20)
            self.gateway.kill()
            for publisher in publishers:
                publisher.join(20)
            self.gateway.start()
        with HttpConnection(self.gateway.admin) as connection:
            for event in sent:  # whoever heard no answer repeats
                self.assertEqual(connection.request("POST", "/v1/events", None, event).status, 202)
        ids = self.all_ids()
        self.assertEqual(len(ids), len(set(ids)), "an event is there twice")
        self.assertEqual(set(ids[:-1]), {event["event_id"] for event in sent})
        self.assertLessEqual(set(accepted), set(ids))


class SlowReaderTest(EventsFaultCase):
    CONFIG = {"limits": {"slow_reader_s": 1}}

    def test_a_reader_that_stops_holds_up_nobody_and_gets_the_rest_later(self) -> None:
        count = 60
        slow = WebSocket(self.gateway.admin, "/v1/events?subscription=slow", receive_buffer=4096)
        self.addCleanup(slow.stream.close)
        with WebSocket(self.gateway.admin, "/v1/events?subscription=quick") as quick:
            for number in range(count):
                self.assertEqual(self.publish("x" * 200_000, trace_id=str(number)), 202)
                message = json.loads(quick.receive_text(10))
                self.assertEqual(message["event"]["trace_id"], str(number))
                quick.send_text(json.dumps({"ack": message["cursor"]}))
        slow.stream.close()
        with WebSocket(self.gateway.admin, "/v1/events?subscription=slow") as again:
            seen = [json.loads(again.receive_text(10))["event"]["trace_id"] for _ in range(count)]
        self.assertEqual(
            seen,
            [str(number) for number in range(count)],
            "nothing was acknowledged, so all of it comes again",
        )


class FullDiskTest(EventsFaultCase):
    LIMIT = 1 << 20  #: bytes that a file of the gateway may have while its disk is "full"

    def limit_files(self, size: int) -> None:
        resource.prlimit(
            self.gateway.process.pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY)
        )

    def test_publishers_are_refused_and_calls_go_on(self) -> None:
        name = self.unique("read")
        device = self.open()
        device.register(tool(name))
        device.serve({name: lambda _: "read"})
        self.limit_files(self.LIMIT)
        self.addCleanup(self.limit_files, resource.RLIM_INFINITY)
        statuses = [self.publish("x" * 100_000) for _ in range(40)]
        self.assertEqual(set(statuses), {202, 503})
        self.assertIn("crab_events_failing 1\n", self.metrics())
        with WebSocket(self.gateway.admin, "/v1/events?types=tool.call.*&remember=false"):
            self.assertEqual(self.gateway.call(name).result, {"text": "read"})
        self.limit_files(resource.RLIM_INFINITY)
        self.assertEqual(self.publish(), 202)
        self.assertIn("crab_events_failing 0\n", self.metrics())
        kept = self.all_ids()
        self.assertGreaterEqual(len(kept), statuses.count(202) + 2)
        self.assertEqual(len(kept), len(set(kept)))
