"""docs/protocols/rtp.md, sections 9 and 11: what cron jobs fire reaches a subscriber, from a host
in the gateway and from one beside it, and starts a turn of an agent.
Jobs fire with the minute, so this takes one."""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))

from scripted_model import Answer, ScriptedModel

from support.gateway import Gateway
from support.host import Host
from support.http import fetch
from support.wait import eventually
from support.websocket import WebSocket

A_MINUTE = 75.0


class CronEventsTest(unittest.TestCase):
    def check_events(self, inside: dict, beside: dict) -> None:
        """What the job of the gateway's own host fired, and that of the host beside it."""
        self.assertEqual(
            (inside["event_type"], beside["event_type"]), ("cron.triggered", "heartbeat.tick")
        )
        self.assertEqual(
            inside["source"],
            {"component_type": "cron", "component_id": "cron", "transport": "internal"},
        )
        self.assertEqual(
            beside["source"],
            {"component_type": "cron", "component_id": "cron", "transport": "unix_socket"},
        )
        self.assertEqual(
            inside["routing"],
            {"agent_id": "butler", "session_id": "kitchen", "isolation_key": "k"},
        )
        self.assertEqual(
            (
                inside["payload"]["input"],
                inside["payload"]["reason"],
                beside["payload"]["reason"],
            ),
            ({"n": 1}, "scheduled_task", "heartbeat"),
        )
        self.assertEqual(
            inside["idempotency_key"],
            f"cron:{inside['payload']['job_id']}:{inside['payload']['scheduled_for']}",
        )

    def test_jobs_of_both_hosts_fire_into_the_outbox_and_come_again_until_they_are_acknowledged(
        self,
    ) -> None:
        folder = Path(tempfile.mkdtemp(prefix="crab-host-"))
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        model = self.enterContext(ScriptedModel())
        model.script(Answer("The house is quiet."))
        butler = {"name": "butler", "on": [{"event": "cron.triggered", "agent_id": "butler"}]}
        with Gateway(
            {
                "built_in_hosts": {"cron": True},
                "models": [{"model": "parrot", "url": model.url}],
                "agents": [butler],
                "policy": [{"principal": "caller/tester", "act_for": ["butler"]}],
            }
        ) as gateway:
            host = Host(folder, "cron", "--events-to", f"unix:{gateway.admin}")
            self.addCleanup(lambda: host.process.poll() is None and host.end())
            gateway.call(
                "cron.create",
                {"name": "inside", "schedule": "* * * * *", "input": {"n": 1}},
                context={"agent_id": "butler", "session_id": "kitchen", "isolation_key": "k"},
            )
            host.result(
                "cron.create",
                {"name": "beside", "schedule": "* * * * *", "event_type": "heartbeat.tick"},
            )
            with WebSocket(
                gateway.admin, "/v1/events?subscription=ticks&types=cron.triggered,heartbeat.tick"
            ) as stream:
                messages = [json.loads(stream.receive_text(A_MINUTE)) for _ in range(2)]
            events = {
                message["event"]["payload"]["job_name"]: message["event"] for message in messages
            }
            self.assertEqual(events.keys(), {"inside", "beside"})
            turns = eventually(
                lambda: [
                    turn
                    for turn in fetch(gateway.admin, "GET", "/v1/admin/agents").json()["turns"]
                    if "ended_at" in turn
                ],
                "the job has started a turn",
            )
            self.assertIn(
                (events["inside"]["event_id"], "answer"),
                [(turn["event_id"], turn["end"]) for turn in turns],
            )
            self.assertIn('"job_name":"inside"', model.requests[0].body["messages"][-1]["content"])
            self.check_events(events["inside"], events["beside"])
            gateway.kill()  # nothing was acknowledged
            gateway.start()
            with WebSocket(
                gateway.admin, "/v1/events?subscription=ticks&types=cron.triggered,heartbeat.tick"
            ) as again:
                repeated = [json.loads(again.receive_text(10)) for _ in range(2)]
            self.assertEqual(repeated, messages)
            self.assertEqual(host.end(), 0, host.log())
