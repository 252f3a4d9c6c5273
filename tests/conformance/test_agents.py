"""docs/how_to/run_agents.md: agents as personas of chats, agents that events start, catalogs that
are searched; with the scripted model behind them."""

from __future__ import annotations

import json
import subprocess
import sys
import uuid
from pathlib import Path
from typing import Any, ClassVar

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))

from scripted_model import Answer, Hold, Refusal, ScriptedModel, call

from support.case import GatewayCase
from support.gateway import program
from support.device import Device, tool
from support.http import fetch
from support.wait import eventually
from support.websocket import WebSocket


class AgentCase(GatewayCase):
    """Two models, of which agents ask one or both."""

    MORE: ClassVar[dict[str, Any]] = {}
    AGENTS: ClassVar[list[dict[str, Any]]] = [
        {
            "name": "butler",
            "instructions": "You are the butler.",
            "models": ["second"],
            "max_rounds": 3,
            "tools": {"allow": ["tray_*", "memory.*"], "deny": ["tray_drop*"]},
            "on": [
                {
                    "event": "cron.triggered",
                    "where": [{"pointer": "/job_name", "glob": "evening*"}],
                    "prompt": "It is evening.",
                }
            ],
        },
        {"name": "分身", "models": ["second"]},
        {
            "name": "cook",
            "models": ["first"],
            "on": [{"event": "heartbeat.tick", "session": "agent"}],
        },
    ]
    first: ClassVar[ScriptedModel]
    second: ClassVar[ScriptedModel]

    @classmethod
    def setUpClass(cls) -> None:
        cls.first = cls.enterClassContext(ScriptedModel())
        cls.second = cls.enterClassContext(ScriptedModel())
        models = [
            {"model": name, "provider": "scripted", "url": model.url, "max_retries": 0}
            for name, model in (("first", cls.first), ("second", cls.second))
        ]
        cls.CONFIG = {
            "models": models,
            "agents": cls.AGENTS,
            "built_in_hosts": {"memory": True},
            **cls.MORE,
        }
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
        helper.serve(
            {
                name: lambda _, name=name: f"{name} ran"
                for name in ("tray_carry", "tray_drop_it", "shell")
            }
        )
        self.second.script(
            Answer(calls=[call("shell"), call("tray_drop_it"), call("tray_carry")]),
            Answer("Tea is served."),
        )
        device = self.open(token, query={"persona": "butler"})
        self.assertEqual(device.session["persona"], "butler")
        self.assertEqual(self.ask(device, "tea")["full_response"], "Tea is served.")
        self.assertEqual(
            self.second.requests[0].body["messages"][0],
            {"role": "system", "content": "You are the butler."},
        )
        self.assertEqual(
            set(self.second.offered(0)),
            {"tray_carry", "memory_append", "memory_query", "memory_delete"},
        )
        outputs = [
            message["content"]
            for message in self.second.last_messages()
            if message["role"] == "tool"
        ]
        self.assertTrue(outputs[0].startswith("Error: TOOL_NOT_FOUND"), outputs)
        self.assertTrue(outputs[1].startswith("Error: TOOL_NOT_FOUND"), outputs)
        self.assertEqual(outputs[2], "tray_carry ran")
        self.assertEqual(self.first.requests, [])

    def test_an_unknown_agent_is_refused_with_a_suggestion_and_no_other_answers(self) -> None:
        token = self.new_token()
        refused = self.gateway.fetch(
            "POST", "/webhook", token, body={"message": "hi", "persona": "buttler"}
        )
        self.assertEqual(
            (refused.status, refused.json()),
            (
                404,
                {
                    "code": "NOT_FOUND",
                    "error": "no agent buttler is configured; did you mean butler?",
                },
            ),
        )
        with self.assertRaises(Exception) as raised:
            self.open(token, query={"persona": "buttler"})
        self.assertIn("404", str(raised.exception))
        spoken = subprocess.run(
            [
                program(),
                "chat",
                "--agent",
                "buttler",
                "--once",
                "hi",
                "--socket",
                str(self.gateway.admin),
            ],
            capture_output=True,
            text=True,
            timeout=20,
        )
        self.assertNotEqual(spoken.returncode, 0)
        self.assertIn("did you mean butler?", spoken.stderr)
        self.assertEqual(self.first.requests + self.second.requests, [])
        self.ask(self.open(token, query={"persona": "crab"}), "hi")
        self.assertEqual(len(self.first.requests), 1, "the standard agent by its name")

    def test_a_chat_that_goes_on_keeps_its_agent_whatever_is_asked_for(self) -> None:
        token = self.new_token()
        session = self.open(token, query={"persona": "butler"}).session_id
        self.assertEqual(
            self.open(token, session_id=session, query={"persona": "nobody"}).session["persona"],
            "butler",
        )

    def test_an_agent_has_a_name_in_any_script(self) -> None:
        device = self.open(query={"persona": "分身"})
        self.assertEqual(device.session["persona"], "分身")
        self.ask(device, "hi")
        self.assertEqual(len(self.second.requests), 1)

    def test_agents_have_memories_of_their_own(self) -> None:
        token = self.new_token()
        self.second.script(
            Answer(calls=[call("memory_append", entries=[{"text": "the silver is polished"}])]),
            Answer("Noted."),
        )
        self.ask(self.open(token, query={"persona": "butler"}), "note it")
        self.first.script(Answer(calls=[call("memory_query", query="silver")]), Answer("Nothing."))
        self.ask(self.open(token), "what of the silver?")
        self.assertNotIn("polished", json.dumps(self.first.last_messages()[-1]))
        self.second.script(
            Answer(calls=[call("memory_query", query="silver")]), Answer("Polished.")
        )
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
        envelope = {
            "version": "v1",
            "event_id": event_id,
            "trace_id": event_id,
            "tenant_id": "default",
            "occurred_at": "2026-01-01T00:00:00Z",
            "event_type": kind,
            "source": {"component_type": "cron", "component_id": "cron"},
            "routing": {"agent_id": "somebody", "session_id": "s"},
            "payload": payload,
        }
        response = fetch(
            self.gateway.admin, "POST", "/v1/events", body=json.dumps(envelope).encode()
        )
        self.assertEqual(response.status, 202, response.body)
        return event_id

    def turn(self, event_id: str) -> dict[str, Any]:
        """The turn of that event, as soon as it has ended."""

        def ended() -> dict[str, Any] | None:
            turns = fetch(self.gateway.admin, "GET", "/v1/admin/agents").json()["turns"]
            return next(
                (turn for turn in turns if turn["event_id"] == event_id and "ended_at" in turn),
                None,
            )

        return eventually(ended, f"the turn of {event_id} has ended")

    def said(self, turn: dict[str, Any]) -> list[tuple[str, str]]:
        messages = fetch(
            self.gateway.admin, "GET", f"/v1/admin/agents/turns/{turn['turn_id']}"
        ).json()["messages"]
        return [(message["role"], message["content"]) for message in messages]

    def test_a_cron_job_starts_a_turn_whose_result_is_an_event_and_a_session(self) -> None:
        self.second.script(
            Answer(calls=[call("memory_append", entries=[{"text": "the lamps are lit"}])]),
            Answer("The lamps are lit."),
        )
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
        self.assertEqual(
            [event["event_type"] for event in events],
            ["agent.turn.started", "agent.response.created", "agent.turn.completed"],
        )
        self.assertEqual(events[1]["payload"]["text"], "The lamps are lit.")
        self.assertEqual(
            events[1]["payload"]["cause"],
            {"principal": "agent/butler", "event_id": event_id, "event_type": "cron.triggered"},
        )
        self.assertEqual(
            (events[1]["routing"]["agent_id"], events[1]["routing"]["session_id"]),
            ("butler", turn["session_id"]),
        )
        recorded = (
            lambda: "agent/butler"
            in fetch(self.gateway.admin, "GET", "/v1/admin/calls?limit=50").body.decode()
        )  # noqa: E731
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
        with WebSocket(
            self.gateway.admin,
            f"/v1/events?types=agent.turn.failed&session_id={turn['session_id']}&cursor=earliest"
            f"&remember=false",
        ) as stream:
            failed = json.loads(stream.receive_text(10))["event"]
        self.assertEqual(
            (failed["payload"]["turn_id"], failed["payload"]["error"]["code"]),
            (turn["turn_id"], "OUTCOME_UNKNOWN"),
        )
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
        self.assertEqual(
            self.turn(self.publish("cron.triggered", job_name="evening"))["end"], "UNAUTHENTICATED"
        )


class ChatEventTest(AgentCase):
    """Turns of chats are told as events, too."""

    def told(self, device: Device) -> list[dict[str, Any]]:
        """The events of the device's chat session up to the end of its turn."""
        events: list[dict[str, Any]] = []
        with WebSocket(
            self.gateway.admin,
            f"/v1/events?types=agent.*&session_id={device.session_id}&cursor=earliest"
            f"&remember=false",
        ) as stream:
            while not events or events[-1]["event_type"] not in (
                "agent.turn.completed",
                "agent.turn.failed",
            ):
                events.append(json.loads(stream.receive_text(10))["event"])
        return events

    def test_an_answered_turn_is_told_with_its_agent_session_and_answer(self) -> None:
        token = self.new_token()
        self.second.script(
            Answer("Let me see. ", calls=[call("memory_query", query="silver")]),
            Answer("It shines."),
        )
        device = self.open(token, query={"persona": "butler"})
        self.ask(device, "the silver?")
        events = self.told(device)
        self.assertEqual(
            [event["event_type"] for event in events],
            ["agent.turn.started", "agent.response.created", "agent.turn.completed"],
        )
        self.assertEqual({event["routing"]["agent_id"] for event in events}, {"butler"})
        self.assertEqual(events[1]["payload"]["text"], "Let me see. It shines.")
        self.assertEqual(events[1]["payload"]["cause"], {"principal": f"device/{self.slug}"})
        turn_id = events[0]["payload"]["turn_id"]
        self.assertEqual({event["trace_id"] for event in events}, {turn_id})
        self.assertGreaterEqual(events[2]["payload"]["duration_ms"], 0)

    def test_the_calls_of_a_turn_have_its_trace(self) -> None:
        self.second.script(
            Answer(calls=[call("memory_append", entries=[{"text": "x"}])]), Answer("Noted.")
        )
        device = self.open(query={"persona": "butler"})
        self.ask(device, "note it")
        turn_id = self.told(device)[0]["trace_id"]
        with WebSocket(
            self.gateway.admin,
            f"/v1/events?types=tool.call.*&session_id={device.session_id}&cursor=earliest"
            f"&remember=false",
        ) as stream:
            self.assertEqual(json.loads(stream.receive_text(10))["event"]["trace_id"], turn_id)

    def test_a_failed_and_a_cancelled_turn_say_why(self) -> None:
        self.first.script(Refusal(401))
        failed = self.open()
        self.ask(failed, "hi")
        self.assertEqual(self.told(failed)[-1]["payload"]["error"]["code"], "UNAUTHENTICATED")
        self.first.script(Hold("wait"))
        cancelled = self.open()
        cancelled.send("message", content="hi")
        while cancelled.receive()["type"] != "chunk":
            pass
        cancelled.send("abort")
        events = self.told(cancelled)
        self.assertEqual(
            [event["event_type"] for event in events], ["agent.turn.started", "agent.turn.failed"]
        )
        self.assertEqual(events[-1]["payload"]["error"]["code"], "CANCELLED")

    def test_a_turn_that_a_crash_cut_off_is_told_as_failed_once(self) -> None:
        self.first.script(Hold("wait"))
        token = self.new_token()
        device = self.open(token)
        device.send("message", content="hi")
        while device.receive()["type"] != "chunk":
            pass
        eventually(lambda: self.started(device), "the start of the turn is in the outbox")
        for _ in range(2):
            self.gateway.kill()
            self.gateway.start()
        with WebSocket(
            self.gateway.admin,
            f"/v1/events?types=agent.*&session_id={device.session_id}&cursor=earliest"
            f"&remember=false",
        ) as stream:
            events = [json.loads(stream.receive_text(10))["event"] for _ in range(2)]
            self.assertEqual(
                [event["event_type"] for event in events],
                ["agent.turn.started", "agent.turn.failed"],
            )
            self.assertEqual(events[1]["payload"]["error"]["code"], "OUTCOME_UNKNOWN")
            again = self.open(token, query={"session_id": device.session_id})
            self.ask(again, "still there?")
            self.assertEqual(
                json.loads(stream.receive_text(10))["event"]["event_type"],
                "agent.turn.started",
                "there was one end",
            )

    def started(self, device: Device) -> bool:
        with WebSocket(
            self.gateway.admin,
            f"/v1/events?types=agent.turn.started&session_id={device.session_id}&cursor=earliest"
            f"&remember=false",
        ) as stream:
            try:
                return bool(stream.receive_text(1))
            except TimeoutError:
                return False


class ReloadTest(AgentCase):
    """SIGHUP: another word on models and agents holds for the next turn."""

    def setUp(self) -> None:
        super().setUp()
        self.addCleanup(self.restart_as_it_was, dict(self.gateway.config))

    def restart_as_it_was(self, config: dict[str, Any]) -> None:
        self.gateway.stop()
        self.gateway.write_config(config)
        self.gateway.start()

    def personas(self) -> list[str]:
        return [
            agent["name"]
            for agent in fetch(self.gateway.admin, "GET", "/v1/admin/agents").json()["agents"]
        ]

    def test_models_and_agents_change_without_a_restart_and_turns_that_run_go_on(self) -> None:
        token = self.new_token()
        self.first.script(Hold("I hold on"))
        device = self.open(token)
        device.send("message", content="hi")
        while device.receive()["type"] != "chunk":
            pass
        models = [
            {"model": "second", "provider": "reloaded", "url": self.second.url, "max_retries": 0}
        ]
        maid = {
            "name": "maid",
            "instructions": "You are the maid.",
            "on": [{"event": "heartbeat.tick"}],
        }
        self.gateway.reload({"models": models, "agents": [maid]})
        eventually(lambda: "maid" in self.personas(), "the new agent is there")
        self.assertNotIn("cook", self.personas())
        self.assertEqual(
            self.gateway.fetch("GET", "/api/status", token).json()["provider"], "reloaded"
        )
        self.first.release.set()
        self.assertEqual(device.expect("chunk_reset"), {"type": "chunk_reset"})
        self.assertEqual(
            device.expect("done")["full_response"],
            "I hold on",
            "the turn ended with the model it began with",
        )
        device.expect("agent_end")
        self.second.script(Answer("second speaks"))
        self.assertEqual(self.ask(device, "and now?")["full_response"], "second speaks")
        maid_chat = self.open(token, query={"persona": "maid"})
        self.second.script(Answer("at your service"))
        self.assertEqual(self.ask(maid_chat, "tea")["full_response"], "at your service")
        self.assertEqual(self.second.last_messages()[0]["content"], "You are the maid.")

        # Events: the new agent is started by them, the one that is gone no more.
        self.second.script()
        event_id = EventTest.publish(self, "heartbeat.tick")
        turn = EventTest.turn(self, event_id)
        self.assertEqual(turn["agent"], "maid")
        self.assertEqual(
            len(
                [
                    each
                    for each in fetch(self.gateway.admin, "GET", "/v1/admin/agents").json()["turns"]
                    if each["event_id"] == event_id
                ]
            ),
            1,
        )

    def test_a_configuration_that_cannot_be_used_changes_nothing(self) -> None:
        self.gateway.reload(
            {
                "models": [
                    {**model, "key_env": "NOT_SET_ANYWHERE"}
                    for model in self.gateway.config["models"]
                ]
            }
        )
        eventually(
            lambda: "models[0].key_env: the environment variable NOT_SET_ANYWHERE is not set"
            in self.gateway.log_tail(),
            "the gateway has refused it",
        )
        self.first.script(Answer("as before"))
        self.second.script(Answer("as before"))
        self.assertEqual(self.ask(self.open(), "hi")["full_response"], "as before")

    def test_a_key_file_is_read_again(self) -> None:
        key = self.gateway.folder / "key"
        key.write_text("one\n")
        models = [
            {"model": "keyed", "provider": "keyed", "url": self.first.url, "key_file": str(key)}
        ]
        self.gateway.reload({"models": models, "agents": []})
        token = self.new_token()
        provider = lambda: self.gateway.fetch("GET", "/api/status", token).json()[
            "provider"
        ]  # noqa: E731
        eventually(lambda: provider() == "keyed", "the new model is there")
        self.ask(self.open(token), "hi")
        self.assertEqual(self.first.requests[-1].headers["authorization"], "Bearer one")
        key.write_text("two\n")
        self.gateway.reload({"models": [{**models[0], "provider": "again"}]})
        eventually(lambda: provider() == "again", "the key was read again")
        self.ask(self.open(token), "hi")
        self.assertEqual(self.first.requests[-1].headers["authorization"], "Bearer two")


class LargeCatalogTest(AgentCase):
    MORE: ClassVar[dict[str, Any]] = {
        "agent": {"max_tools": 5, "tools": {"pinned": ["list_devices"]}}
    }

    def test_a_model_finds_what_it_is_not_shown_and_calls_it(self) -> None:
        token = self.new_token()
        helper = self.open(token)
        helper.register(
            *(tool(f"valve_{n}", description=f"Opens valve {n}") for n in range(20)),
            tool("greenhouse_climate", description="Temperature and humidity among the tomatoes"),
        )
        helper.serve({"greenhouse_climate": lambda _: "24 degrees"})
        self.first.script(
            Answer(calls=[call("find_tools", query="how warm are the tomatoes", limit=2)]),
            Answer(calls=[call("greenhouse_climate")]),
            Answer("24 degrees."),
        )
        self.assertEqual(
            self.ask(self.open(token), "How warm are the tomatoes?")["full_response"], "24 degrees."
        )
        self.assertEqual(set(self.first.offered(0)), {"list_devices", "find_tools", "ask_user"})
        self.assertIn("greenhouse_climate", self.first.offered(1))
        found = json.loads(self.first.requests[1].body["messages"][-1]["content"])
        self.assertEqual(found["found"][0]["name"], "greenhouse_climate")
        cost = fetch(self.gateway.admin, "GET", "/v1/admin/agents/tools?agent=crab").json()
        self.assertTrue(cost["searched"])
        self.assertEqual(
            [each["name"] for each in cost["tools"] if each["offered"]], ["list_devices"]
        )
        self.assertGreater(cost["visible_tokens"], cost["offered_tokens"])
