"""Turns that events start, while the gateway is killed again and again and publishers repeat themselves: none begins twice, each has an end."""

from __future__ import annotations

import json
import re
import sys
import unittest
import uuid
from collections import Counter
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))

from scripted_model import ScriptedModel

from support.gateway import Gateway
from support.http import fetch
from support.wait import eventually

EVENTS, KILLS = 24, 4


def envelope(event_id: str) -> dict[str, Any]:
    return {"version": "v1", "event_id": event_id, "trace_id": "t", "tenant_id": "default", "occurred_at": "2026-02-13T16:00:00Z", "event_type": "channel.message.received",
            "source": {"component_type": "operator", "component_id": "tests"}, "routing": {"agent_id": "a", "session_id": "s"}, "payload": {"text": f"number {event_id}"}}


class AgentsFaultTest(unittest.TestCase):
    def turns(self, gateway: Gateway) -> list[dict[str, Any]]:
        return fetch(gateway.admin, "GET", "/v1/admin/agents").json()["turns"]

    def test_no_event_starts_two_turns_however_often_the_gateway_is_killed_and_the_event_repeated(self) -> None:
        model = self.enterContext(ScriptedModel())
        config = {"models": [{"model": "parrot", "url": model.url, "max_retries": 0}],
                  "agents": [{"name": "clerk", "at_once": 4, "on": [{"event": "channel.message.received"}]}]}
        ids = [str(uuid.uuid4()) for _ in range(EVENTS)]
        with Gateway(config) as gateway:
            for kill in range(KILLS):
                asked = len(model.requests)
                for event_id in ids[:EVENTS * (kill + 1) // KILLS]:  # those of the rounds before are repeats
                    self.assertEqual(gateway.admin_request("POST", "/v1/events", envelope(event_id)).status, 202)
                eventually(lambda asked=asked: len(model.requests) > asked, "a turn of this round has begun")
                gateway.kill()
                gateway.start()
            eventually(lambda: len(turns := self.turns(gateway)) == EVENTS and all("ended_at" in turn for turn in turns), "each event has had its turn", 30)
            turns = self.turns(gateway)
        self.assertEqual(sorted(turn["event_id"] for turn in turns), sorted(ids))
        self.assertLessEqual({turn["end"] for turn in turns}, {"answer", "OUTCOME_UNKNOWN"})
        asked_for = Counter(re.search(r"number ([0-9a-f-]{36})", json.dumps(request.body["messages"])).group(1) for request in model.requests)
        self.assertEqual([event_id for event_id, times in asked_for.items() if times > 1], [])
        answered = {turn["event_id"] for turn in turns if turn["end"] == "answer"}
        self.assertLessEqual(answered, set(asked_for))
