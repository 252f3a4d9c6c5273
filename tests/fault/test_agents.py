"""Turns that events start, while the gateway is killed again and again and publishers repeat
themselves: none begins twice, each has one end, as have those of chats."""

from __future__ import annotations

import json
import re
import sys
import time
import unittest
import uuid
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))

from scripted_model import Hold, ScriptedModel

from support.device import Device
from support.gateway import Gateway
from support.http import fetch
from support.rtp import envelope
from support.wait import eventually
from support.websocket import WebSocket

EVENTS, KILLS, CHATS = 24, 4, 6
ENDS = ("agent.turn.completed", "agent.turn.failed")


class AgentsFaultTest(unittest.TestCase):
    def turns(self, gateway: Gateway) -> list[dict[str, Any]]:
        return fetch(gateway.admin, "GET", "/v1/admin/agents").json()["turns"]

    def told(
        self, gateway: Gateway, is_last: Callable[[dict[str, Any]], bool]
    ) -> dict[str, list[str]]:
        """What the outbox tells of each turn, in its order, up to the last of these events."""
        kinds: dict[str, list[str]] = {}
        with WebSocket(
            gateway.admin, "/v1/events?types=agent.*&cursor=earliest&remember=false"
        ) as stream:
            while True:
                event = json.loads(stream.receive_text(10))["event"]
                kinds.setdefault(event["payload"]["turn_id"], []).append(
                    event["event_type"].rpartition(".")[2]
                )
                if is_last(event):
                    return kinds

    def test_every_turn_of_a_chat_is_told_to_end_once_however_often_the_gateway_is_killed(
        self,
    ) -> None:
        model = self.enterContext(ScriptedModel())
        with Gateway(
            {"models": [{"model": "parrot", "url": model.url, "max_retries": 0}]}
        ) as gateway:
            token = gateway.pair("phone")
            for kill in range(KILLS):
                asked = len(model.requests)
                devices = [Device(gateway, token, session_id=f"s{kill}-{n}") for n in range(CHATS)]
                for device in devices:
                    device.send("message", content="hello")
                eventually(
                    lambda asked=asked: len(model.requests) > asked,
                    "a turn of this round has begun",
                )
                gateway.kill()
                for device in devices:
                    device.drop()
                gateway.start()
            with Device(gateway, token, session_id="last") as device:
                device.send("message", content="hello")
                while device.receive()["type"] != "agent_end":
                    pass
            told = self.told(
                gateway,
                lambda event: event["routing"]["session_id"] == "last"
                and event["event_type"] == "agent.turn.completed",
            )
        self.assertGreater(len(told), 1)
        for kinds in told.values():
            self.assertIn(kinds, (["started", "created", "completed"], ["started", "failed"]))

    def test_a_kill_takes_no_more_than_the_last_half_second_of_what_was_said(self) -> None:
        model = self.enterContext(ScriptedModel())
        with Gateway(
            {"models": [{"model": "parrot", "url": model.url, "max_retries": 0}]}
        ) as gateway:
            token = gateway.pair("phone")
            model.script(Hold("Once upon a time there was"))
            device = Device(gateway, token, session_id="tale")
            device.send("message", content="tell")
            said = ""
            while said != "Once upon a time there was":
                frame = device.receive()
                said += frame["content"] if frame["type"] == "chunk" else ""
            time.sleep(0.5)  # what the contract allows
            gateway.kill()
            device.drop()
            gateway.start()
            stored = gateway.fetch("GET", "/api/sessions/tale/messages", token).json()["messages"]
            self.assertEqual(stored[0], {"role": "user", "content": "tell"})
            self.assertTrue(
                stored[1]["content"].startswith("Once upon a time there was\n["), stored
            )
            listed = gateway.fetch("GET", "/api/sessions", token).json()["sessions"]
            self.assertEqual([each["message_count"] for each in listed], [len(stored)])
            model.release.set()

    def test_no_event_starts_two_turns_however_often_the_gateway_is_killed_and_the_event_repeated(
        self,
    ) -> None:
        model = self.enterContext(ScriptedModel())
        config = {
            "models": [{"model": "parrot", "url": model.url, "max_retries": 0}],
            "agents": [
                {"name": "clerk", "at_once": 4, "on": [{"event": "channel.message.received"}]}
            ],
        }
        ids = [str(uuid.uuid4()) for _ in range(EVENTS)]
        with Gateway(config) as gateway:
            for kill in range(KILLS):
                asked = len(model.requests)
                for event_id in ids[
                    : EVENTS * (kill + 1) // KILLS
                ]:  # those of the rounds before are repeats
                    event = envelope(event_id=event_id, payload={"text": f"number {event_id}"})
                    self.assertEqual(gateway.admin_request("POST", "/v1/events", event).status, 202)
                eventually(
                    lambda asked=asked: len(model.requests) > asked,
                    "a turn of this round has begun",
                )
                gateway.kill()
                gateway.start()
            eventually(
                lambda: len(turns := self.turns(gateway)) == EVENTS
                and all("ended_at" in turn for turn in turns),
                "each event has had its turn",
                30,
            )
            turns = self.turns(gateway)
            left = {turn["turn_id"] for turn in turns}

            def is_last(event: dict[str, Any]) -> bool:
                if event["event_type"] in ENDS:
                    left.discard(event["payload"]["turn_id"])
                return not left

            told = self.told(gateway, is_last)
        self.assertEqual(sorted(turn["event_id"] for turn in turns), sorted(ids))
        self.assertLessEqual({turn["end"] for turn in turns}, {"answer", "OUTCOME_UNKNOWN"})
        asked_for = Counter(
            re.search(r"number ([0-9a-f-]{36})", json.dumps(request.body["messages"])).group(1)
            for request in model.requests
        )
        self.assertEqual([event_id for event_id, times in asked_for.items() if times > 1], [])
        ends = {
            turn["turn_id"]: "completed" if turn["end"] == "answer" else "failed" for turn in turns
        }
        self.assertEqual(
            {turn_id: kinds[-1] for turn_id, kinds in told.items()},
            ends,
            "events and records agree",
        )
        for kinds in told.values():
            self.assertIn(kinds, (["started", "created", "completed"], ["started", "failed"]))
        answered = {turn["event_id"] for turn in turns if turn["end"] == "answer"}
        self.assertLessEqual(answered, set(asked_for))
