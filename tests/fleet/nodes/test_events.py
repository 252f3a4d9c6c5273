"""Events, the turns that they start and cron jobs of a fleet: one line, once each, whoever dies."""

from __future__ import annotations

import json
import sys
import threading
import time
import unittest
import uuid
from collections import Counter
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "support"))

from scripted_model import Hold, ScriptedModel

from fleet import SOON, FleetCase, Node
from support.device import tool
from support.http import HttpConnection, fetch
from support.rtp import call_request, envelope
from support.wait import eventually, fastest
from support.websocket import WebSocket

A_MINUTE = 75.0


def publish(node: Node, event: dict[str, Any]) -> dict[str, Any]:
    answer = fetch(node.admin, "POST", "/v1/events", body=event)
    assert answer.status == 202, answer
    return answer.json()


class Stream(WebSocket):
    """A stream of events."""

    def __init__(self, node: Node, **query: Any) -> None:
        super().__init__(node.admin, "/v1/events?" + urlencode(query))

    def next(self, timeout: float = 10.0) -> tuple[int, dict[str, Any]]:
        message = json.loads(self.receive_text(timeout))
        return int(message["cursor"]), message["event"]

    def take(self, count: int) -> list[tuple[int, dict[str, Any]]]:
        return [self.next() for _ in range(count)]


class EventsTest(FleetCase):
    def stream(self, node: Node, **query: Any) -> Stream:
        return self.enterContext(Stream(node, **query))

    def test_events_of_all_nodes_are_one_line_that_every_node_tells_in_one_order(self) -> None:
        session = self.unique("line")
        nodes = (self.north, self.south, self.west)
        streams = [self.stream(node, session_id=session, remember="false") for node in nodes]
        routing = {"agent_id": "a", "session_id": session}

        def publish_some(node: Node) -> None:
            for _ in range(40):
                publish(node, envelope(routing=routing))

        publishers = [threading.Thread(target=publish_some, args=(node,)) for node in nodes]
        for publisher in publishers:
            publisher.start()
        told = [stream.take(120) for stream in streams]
        for publisher in publishers:
            publisher.join()
        lines = [[(cursor, event["event_id"]) for cursor, event in line] for line in told]
        self.assertEqual(lines[0], lines[1])
        self.assertEqual(lines[0], lines[2])
        cursors = [cursor for cursor, _ in lines[0]]
        self.assertEqual(cursors, sorted(set(cursors)))
        self.assertEqual(len({event_id for _, event_id in lines[0]}), 120)
        positions = self.database.ask("SELECT position FROM event ORDER BY position").split()
        first = int(positions[0])
        self.assertEqual([int(one) for one in positions], [*range(first, first + len(positions))])

    def test_a_cursor_of_one_node_is_good_at_another_at_once(self) -> None:
        session = self.unique("move")
        routing = {"agent_id": "a", "session_id": session}
        for _ in range(5):
            ids = [envelope(routing=routing) for _ in range(4)]
            before = self.stream(self.north, session_id=session, remember="false")
            publish(self.north, ids[0])
            publish(self.south, ids[1])
            cursor, event = before.next()
            while event["event_id"] != ids[0]["event_id"]:  # after what was not known there yet
                cursor, event = before.next()
            after = self.stream(self.west, session_id=session, cursor=cursor, remember="false")
            self.assertEqual(after.next()[1]["event_id"], ids[1]["event_id"])

    def test_what_a_stream_acknowledges_at_one_node_is_not_sent_again_at_another(self) -> None:
        session, name = self.unique("acks"), self.unique("reader")
        routing = {"agent_id": "a", "session_id": session}
        with Stream(self.north, session_id=session, subscription=name) as stream:
            ids = [envelope(routing=routing) for _ in range(6)]
            for event in ids:
                publish(self.south, event)
            told = stream.take(6)
            stream.send_text(json.dumps({"ack": str(told[2][0])}))
            eventually(
                lambda: self.database.ask(
                    f"SELECT acknowledged FROM subscription WHERE name = '{name}'"
                ).strip()
                == str(told[2][0]),
                "the acknowledgement is stored",
            )
        with Stream(self.west, session_id=session, subscription=name) as stream:
            rest = [event["event_id"] for _, event in stream.take(3)]
        self.assertEqual(rest, [event["event_id"] for event in ids[3:]])

    def test_an_event_that_is_published_again_at_another_node_is_known(self) -> None:
        event = envelope(idempotency_key=self.unique("once"))
        self.assertNotIn("duplicate", publish(self.north, event))
        again = publish(self.west, event | {"event_id": str(uuid.uuid4())})
        self.assertEqual((again["event_id"], again["duplicate"]), (event["event_id"], True))

    def test_calls_that_die_with_their_node_are_ended_for_subscribers_elsewhere(self) -> None:
        name = self.unique("act")
        device = self.open(self.south, self.token(self.north, "kettle"))
        device.register(tool(name))
        self.north.wait_known(name)
        stream = self.stream(self.west, types="tool.call.*", remember="false")
        self.north.start_call(name, token=self.caller(), call_id=name, timeout_ms=90_000)
        device.next_call(name)
        while (event := stream.next()[1])["payload"]["call_id"] != name:
            pass
        self.assertEqual(event["event_type"], "tool.call.requested")
        self.south.kill()
        while (event := stream.next(40)[1])["payload"]["call_id"] != name:
            pass
        self.assertEqual(event["event_type"], "tool.call.failed")
        self.assertEqual(event["payload"]["error"]["code"], "OUTCOME_UNKNOWN")
        self.south.start()
        self.south.wait_heard(2)
        ends = self.database.ask(
            "SELECT count(*) FROM event WHERE type = 'tool.call.failed' AND envelope LIKE "
            f"'%{name}%'"
        )
        self.assertEqual(ends.strip(), "1")

    def test_events_of_others_come_at_once_and_without_nats_in_two_seconds(self) -> None:
        session = self.unique("bell")
        routing = {"agent_id": "a", "session_id": session}
        stream = self.stream(self.west, session_id=session, remember="false")

        def took(node: Node) -> float:
            event = envelope(routing=routing)
            publish(node, event)
            published = time.monotonic()
            while stream.next()[1]["event_id"] != event["event_id"]:
                pass
            return time.monotonic() - published

        self.assertLess(fastest(lambda: took(self.south), 0.3), 0.3)
        self.nats.kill()
        try:
            self.assertLess(took(self.south), 2.0 + 2.0)  # and a busy machine's
        finally:
            self.nats.start()

    def test_what_ends_while_the_database_is_away_is_told_when_it_is_back(self) -> None:
        name = self.unique("act")
        device = self.open(self.south, self.token(self.north, "kettle"))
        device.register(tool(name))
        self.north.wait_known(name)
        call = self.north.start_call(name, token=self.caller(), timeout_ms=60_000)
        request = device.next_call(name)
        self.database.stop()
        try:
            device.answer(request, "boiled")
            self.assertEqual(call.result(30).result, {"text": "boiled"})
        finally:
            self.database.start()
        stream = self.stream(self.west, types="tool.call.*", remember="false", cursor="earliest")
        told = [stream.next(SOON)[1] for _ in range(2)]
        while told[-1]["payload"]["tool_name"] != name or "status" not in told[-1]["payload"]:
            told.append(stream.next(SOON)[1])
        own = [event for event in told if event["payload"]["tool_name"] == name]
        self.assertEqual(
            [event["event_type"] for event in own], ["tool.call.requested", "tool.call.completed"]
        )


class CronTest(FleetCase):
    JOBS = 1000

    @classmethod
    def config(cls, name: str, **changes: Any) -> dict[str, Any]:
        return super().config(name, built_in_hosts={"cron": True}, **changes)

    def create_some(self, node: Node, first: int, count: int) -> None:
        with HttpConnection(node.admin) as connection:
            for i in range(first, first + count):
                request = call_request(
                    "cron.create", {"name": f"job-{i}", "schedule": "* * * * *"}, call_id=f"job-{i}"
                )
                answer = connection.request("POST", "/v1/tools/call", None, request).json()
                self.assertEqual(answer["status"], "ok", answer)

    def fired(self) -> list[str]:
        """Keys of what has been fired, as the fleet's events have it."""
        rows = self.database.ask(
            "SELECT envelope::json ->> 'idempotency_key' FROM event WHERE type = 'cron.triggered'"
        )
        return rows.split()

    def test_each_due_time_of_a_thousand_jobs_fires_once_also_when_nodes_are_killed(self) -> None:
        while time.time() % 60 > 25:  # all are created before the first is due
            time.sleep(0.5)
        creators = [
            threading.Thread(target=self.create_some, args=(node, 400 * i, count))
            for i, (node, count) in enumerate(
                ((self.north, 400), (self.south, 400), (self.west, self.JOBS - 800))
            )
        ]
        for creator in creators:
            creator.start()
        for creator in creators:
            creator.join()
        stream = self.enterContext(Stream(self.west, types="cron.triggered", remember="false"))
        stream.next(A_MINUTE)  # some have fired, and others not
        self.north.kill()
        self.south.kill()
        eventually(lambda: len(self.fired()) >= self.JOBS, "all have fired", A_MINUTE)
        self.north.start()
        self.south.start()
        first = min(self.minutes())
        self.assertEqual(self.minutes()[first], self.JOBS)
        eventually(
            lambda: len(self.minutes()) == 2 and min(self.minutes().values()) == self.JOBS,
            "all have fired again",
            A_MINUTE,
        )
        keys = self.fired()
        self.assertEqual(len(keys), len(set(keys)))

    def minutes(self) -> Counter[str]:
        """How many jobs have fired, by the time that they were due."""
        return Counter(key.split(":", 2)[2] for key in self.fired())


class TurnsTest(FleetCase):
    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        cls.model = cls.enterClassContext(ScriptedModel())

    @classmethod
    def config(cls, name: str, **changes: Any) -> dict[str, Any]:
        butler = {"name": "butler", "on": [{"event": "channel.message.received"}]}
        return super().config(
            name,
            models=[{"model": "parrot", "url": cls.model.url, "max_retries": 0}],
            agents=[butler],
            **changes,
        )

    def turns(self) -> list[list[str]]:
        rows = self.database.ask("SELECT event_id, outcome FROM event_turn ORDER BY begun_ms")
        return [row.split("|") for row in rows.split()]

    def holder(self) -> Node:
        number = self.database.ask("SELECT node FROM job_lease WHERE job = 'agent butler'").strip()
        name = self.database.ask(f"SELECT name FROM node WHERE number = {number}").strip()
        return next(
            node
            for node in (self.north, self.south, self.west)
            if node.config["fleet"]["node_name"] == name
        )

    def test_an_event_starts_one_turn_in_the_fleet_and_another_node_goes_on_after_a_death(
        self,
    ) -> None:
        published = []
        for node in (self.north, self.south, self.west):
            for _ in range(3):
                event = envelope()
                publish(node, event)
                published.append(event["event_id"])
        eventually(
            lambda: Counter(turn[0] for turn in self.turns() if turn[1] == "answer")
            == Counter(published),
            "each event has had its turn",
            SOON,
        )
        running = envelope()
        self.model.script(Hold("I was about to"))
        publish(self.north, running)
        eventually(
            lambda: running["event_id"] in [turn[0] for turn in self.turns()], "it has begun", SOON
        )
        holder = self.holder()
        holder.kill()
        self.model.script()
        others = [node for node in (self.north, self.south, self.west) if node is not holder]
        event = envelope()
        publish(others[0], event)
        eventually(
            lambda: [event["event_id"], "answer"] in self.turns(),
            "another node has the agent",
            SOON,
        )
        self.assertIsNot(self.holder(), holder)
        # What the death has broken off is not begun again, and has an end.
        eventually(
            lambda: [running["event_id"], "OUTCOME_UNKNOWN"] in self.turns(),
            "the end of the turn that nobody runs",
            2 * SOON,
        )
        holder.start()
        holder.wait_heard(2)
        events = [*published, running["event_id"], event["event_id"]]
        self.assertEqual(Counter(turn[0] for turn in self.turns()), Counter(events))
        self.assertEqual(len(self.model.requests), 1)  # since the script was emptied


if __name__ == "__main__":
    unittest.main()
