"""docs/how_to/run_agents.md: agents as personas of chats, agents that events start, catalogs that are searched; with the scripted model behind them."""

from __future__ import annotations

import json
import sys
import uuid
from pathlib import Path
from typing import Any, ClassVar

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))

from scripted_model import Answer, Hold, Refusal, ScriptedModel, call

from support.case import GatewayCase
from support.device import Device, tool
from support.http import fetch
from support.wait import eventually
from support.websocket import WebSocket


class AgentCase(GatewayCase):
    """Two models, of which agents ask one or both."""

    MORE: ClassVar[dict[str, Any]] = {}
    AGENTS: ClassVar[list[dict[str, Any]]] = [
        {"name": "butler", "instructions": "You are the butler.", "models": ["second"], "max_rounds": 3, "tools": {"allow": ["tray_*", "memory.*"], "deny": ["tray_drop*"]},
         "on": [{"event": "cron.triggered", "where": [{"pointer": "/job_name", "glob": "evening*"}], "prompt": "It is evening."}]},
        {"name": "cook", "models": ["first"], "on": [{"event": "heartbeat.tick", "session": "agent"}]},
    ]
    first: ClassVar[ScriptedModel]
    second: ClassVar[ScriptedModel]

    @classmethod
    def setUpClass(cls) -> None:
        cls.first = cls.enterClassContext(ScriptedModel())
        cls.second = cls.enterClassContext(ScriptedModel())
        models = [{"model": name, "provider": "scripted", "url": model.url, "max_retries": 0} for name, model in (("first", cls.first), ("second", cls.second))]
        cls.CONFIG = {"models": models, "agents": cls.AGENTS, "built_in_hosts": {"memory": True}, **cls.MORE}
        super().setUpClass()

    def setUp(self) -> None:
        self.first.script()
        self.second.script()

    def ask(self, device: Device, content: str) -> dict[str, Any]:
        """The frame that ends the turn."""
        device.send("message", content=content)
        end = {}
        while (frame := device.receive())["type"] != "agent_end":
            end = frame if frame["type"] in ("done", "error", "aborted") else end
        return end


class PersonaTest(AgentCase):
    def test_a_chat_has_the_agent_of_its_persona(self) -> None:
        token = self.new_token()
        helper = self.open(token)
        helper.register(tool("tray_carry"), tool("tray_drop_it"), tool("shell"))
        helper.serve({name: lambda _, name=name: f"{name} ran" for name in ("tray_carry", "tray_drop_it", "shell")})
        self.second.script(Answer(calls=[call("shell"), call("tray_drop_it"), call("tray_carry")]), Answer("Tea is served."))
        device = self.open(token, query={"persona": "butler"})
        self.assertEqual(device.session["persona"], "butler")
        self.assertEqual(self.ask(device, "tea")["full_response"], "Tea is served.")
        self.assertEqual(self.second.requests[0].body["messages"][0], {"role": "system", "content": "You are the butler."})
        self.assertEqual(set(self.second.offered(0)), {"tray_carry", "memory_append", "memory_query", "memory_delete"})
        outputs = [message["content"] for message in self.second.last_messages() if message["role"] == "tool"]
        self.assertTrue(outputs[0].startswith("Error: TOOL_NOT_FOUND"), outputs)
        self.assertTrue(outputs[1].startswith("Error: TOOL_NOT_FOUND"), outputs)
        self.assertEqual(outputs[2], "tray_carry ran")
        self.assertEqual(self.first.requests, [])

    def test_an_unknown_persona_is_the_standard_agent(self) -> None:
        device = self.open(query={"persona": "nobody"})
        self.assertNotIn("persona", device.session)
        self.ask(device, "hi")
        self.assertEqual(len(self.first.requests), 1)

    def test_agents_have_memories_of_their_own(self) -> None:
        token = self.new_token()
        self.second.script(Answer(calls=[call("memory_append", entries=[{"text": "the silver is polished"}])]), Answer("Noted."))
        self.ask(self.open(token, query={"persona": "butler"}), "note it")
        self.first.script(Answer(calls=[call("memory_query", query="silver")]), Answer("Nothing."))
        self.ask(self.open(token), "what of the silver?")
        self.assertNotIn("polished", json.dumps(self.first.last_messages()[-1]))
        self.second.script(Answer(calls=[call("memory_query", query="silver")]), Answer("Polished."))
        self.ask(self.open(token, query={"persona": "butler"}), "what of the silver?")
        self.assertIn("polished", json.dumps(self.second.last_messages()[-1]))


class FallbackTest(AgentCase):
    def test_the_next_model_is_asked_while_the_first_is_away(self) -> None:
        self.first.script(Refusal(503))
        self.second.script(Answer("second"), Answer("second again"))
        device = self.open()
        self.assertEqual(self.ask(device, "hi")["full_response"], "second")
        self.assertEqual(self.ask(device, "and now?")["full_response"], "second again")
        self.assertEqual(len(self.first.requests), 1)


class EventTest(AgentCase):
    def publish(self, kind: str, event_id: str | None = None, **payload: Any) -> str:
        event_id = event_id or str(uuid.uuid4())
        envelope = {"version": "v1", "event_id": event_id, "trace_id": event_id, "tenant_id": "default", "occurred_at": "2026-01-01T00:00:00Z", "event_type": kind,
                    "source": {"component_type": "cron", "component_id": "cron"}, "routing": {"agent_id": "somebody", "session_id": "s"}, "payload": payload}
        response = fetch(self.gateway.admin, "POST", "/v1/events", body=json.dumps(envelope).encode())
        self.assertEqual(response.status, 202, response.body)
        return event_id

    def turn(self, event_id: str) -> dict[str, Any]:
        """The turn of that event, as soon as it has ended."""
        def ended() -> dict[str, Any] | None:
            turns = fetch(self.gateway.admin, "GET", "/v1/admin/agents").json()["turns"]
            return next((turn for turn in turns if turn["event_id"] == event_id and "ended_at" in turn), None)

        return eventually(ended, f"the turn of {event_id} has ended")

    def said(self, turn: dict[str, Any]) -> list[tuple[str, str]]:
        messages = fetch(self.gateway.admin, "GET", f"/v1/admin/agents/turns/{turn['turn_id']}").json()["messages"]
        return [(message["role"], message["content"]) for message in messages]

    def test_a_cron_job_starts_a_turn_whose_result_is_an_event_and_a_session(self) -> None:
        self.second.script(Answer(calls=[call("memory_append", entries=[{"text": "the lamps are lit"}])]), Answer("The lamps are lit."))
        with WebSocket(self.gateway.admin, "/v1/events?types=agent.*&remember=false") as stream:
            event_id = self.publish("cron.triggered", job_name="evening round", job_id="j1")
            turn = self.turn(event_id)
            events = [json.loads(stream.receive_text(10))["event"] for _ in range(3)]
        self.assertEqual((turn["agent"], turn["end"]), ("butler", "answer"))
        asked = self.second.requests[0].body["messages"]
        self.assertEqual(asked[0]["content"], "You are the butler.")
        self.assertTrue(asked[1]["content"].startswith("It is evening."), asked)
        self.assertIn("evening round", asked[1]["content"])
        said = self.said(turn)
        self.assertEqual([role for role, _ in said], ["user", "assistant", "tool", "assistant"])
        self.assertEqual(said[-1], ("assistant", "The lamps are lit."))
        self.assertEqual([event["event_type"] for event in events], ["agent.turn.started", "agent.response.created", "agent.turn.completed"])
        self.assertEqual(events[1]["payload"]["text"], "The lamps are lit.")
        self.assertEqual(events[1]["payload"]["cause"], {"event_id": event_id, "event_type": "cron.triggered"})
        self.assertEqual((events[1]["routing"]["agent_id"], events[1]["routing"]["session_id"]), ("butler", turn["session_id"]))
        recorded = lambda: "agent/butler" in fetch(self.gateway.admin, "GET", "/v1/admin/calls?limit=50").body.decode()  # noqa: E731
        eventually(recorded, "the call of the agent's principal is in the audit log")

    def test_other_events_start_nothing_and_a_repeat_no_second_turn(self) -> None:
        self.publish("cron.triggered", job_name="morning round")
        event_id = self.publish("cron.triggered", job_name="evening round")
        self.turn(event_id)
        self.publish("cron.triggered", event_id, job_name="evening round")
        last = self.publish("cron.triggered", job_name="evening again")
        self.turn(last)
        self.assertEqual(len(self.second.requests), 2)

    def test_a_restart_in_the_middle_of_a_turn_is_told_and_the_turn_not_begun_again(self) -> None:
        self.second.script(Hold("I am lighting"))
        event_id = self.publish("cron.triggered", job_name="evening")
        eventually(lambda: self.second.requests, "the model is asked")
        self.gateway.kill()
        self.second.script(Answer("never asked"))
        self.gateway.start()
        turn = self.turn(event_id)
        self.assertEqual(turn["end"], "OUTCOME_UNKNOWN")
        self.assertIn("the gateway stopped", self.said(turn)[-1][1])
        with WebSocket(self.gateway.admin, f"/v1/events?types=agent.turn.failed&session_id={turn['session_id']}&cursor=earliest&remember=false") as stream:
            failed = json.loads(stream.receive_text(10))["event"]
        self.assertEqual((failed["payload"]["turn_id"], failed["payload"]["error"]["code"]), (turn["turn_id"], "OUTCOME_UNKNOWN"))
        later = self.publish("cron.triggered", job_name="evening")
        self.assertEqual(self.turn(later)["end"], "answer")
        self.assertEqual(len(self.second.requests), 1)

    def test_turns_of_one_session_go_on_with_it(self) -> None:
        self.first.script(Answer("soup"), Answer("more soup"))
        first = self.turn(self.publish("heartbeat.tick"))
        second = self.turn(self.publish("heartbeat.tick"))
        self.assertEqual((first["session_id"], second["session_id"]), ("agent-cook", "agent-cook"))
        self.assertIn("soup", json.dumps(self.first.last_messages()))

    def test_a_model_that_fails_is_a_failed_turn(self) -> None:
        self.second.script(Refusal(401))
        self.assertEqual(self.turn(self.publish("cron.triggered", job_name="evening"))["end"], "UNAUTHENTICATED")


class LargeCatalogTest(AgentCase):
    MORE: ClassVar[dict[str, Any]] = {"agent": {"max_tools": 5, "tools": {"pinned": ["list_devices"]}}}

    def test_a_model_finds_what_it_is_not_shown_and_calls_it(self) -> None:
        token = self.new_token()
        helper = self.open(token)
        helper.register(*(tool(f"valve_{n}", description=f"Opens valve {n}") for n in range(20)), tool("greenhouse_climate", description="Temperature and humidity among the tomatoes"))
        helper.serve({"greenhouse_climate": lambda _: "24 degrees"})
        self.first.script(Answer(calls=[call("find_tools", query="how warm are the tomatoes", limit=2)]), Answer(calls=[call("greenhouse_climate")]), Answer("24 degrees."))
        self.assertEqual(self.ask(self.open(token), "How warm are the tomatoes?")["full_response"], "24 degrees.")
        self.assertEqual(set(self.first.offered(0)), {"list_devices", "find_tools"})
        self.assertIn("greenhouse_climate", self.first.offered(1))
        found = json.loads(self.first.requests[1].body["messages"][-1]["content"])
        self.assertEqual(found["found"][0]["name"], "greenhouse_climate")
        cost = fetch(self.gateway.admin, "GET", "/v1/admin/agents/tools?agent=crab").json()
        self.assertTrue(cost["searched"])
        self.assertEqual([each["name"] for each in cost["tools"] if each["offered"]], ["list_devices"])
        self.assertGreater(cost["visible_tokens"], cost["offered_tokens"])
