"""docs/protocols/clawseed.md, section 6, with a model behind it: the scripted one of
tests/support/scripted_model.py (checklist 16, 37 to 48, 68)."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, ClassVar

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))

from scripted_model import Answer, BreakOff, Call, Endless, Hold, Raw, Refusal, ScriptedModel, call

from support.case import GatewayCase
from support.device import Device, ToolFailure, tool
from support.http import HttpConnection
from support.wait import eventually

ENDS = ("done", "aborted", "error")


class ChatCase(GatewayCase):
    MODEL: ClassVar[dict[str, Any]] = {}
    model: ClassVar[ScriptedModel]

    @classmethod
    def setUpClass(cls) -> None:
        cls.model = cls.enterClassContext(ScriptedModel())
        cls.CONFIG = {
            **cls.CONFIG,
            "models": [{"model": "parrot", "provider": "scripted", **cls.model_config()}],
        }
        super().setUpClass()

    @classmethod
    def model_config(cls) -> dict[str, Any]:
        return {"url": cls.model.url}

    def turn(self, device: Device, content: str | None, **fields: Any) -> list[dict[str, Any]]:
        """Asks, and returns the frames of the turn, `agent_end` included."""
        if content is not None:
            device.send("message", content=content, **fields)
        frames = []
        while not frames or frames[-1]["type"] != "agent_end":
            frames.append(device.receive())
        kinds = [frame["type"] for frame in frames]
        self.assertEqual(sum(kind in ENDS for kind in kinds), 1, kinds)
        return frames

    def answer_of(self, frames: list[dict[str, Any]]) -> str:
        by_kind = {frame["type"]: frame for frame in frames}
        self.assertIn("done", by_kind, frames)
        self.assertEqual(
            by_kind["done"]["full_response"],
            "".join(frame["content"] for frame in frames if frame["type"] == "chunk"),
        )
        return by_kind["done"]["full_response"]

    def code_of(self, frames: list[dict[str, Any]]) -> str:
        return next(frame["code"] for frame in frames if frame["type"] == "error")

    def stored(self, device: Device, token: str) -> list[tuple[str, str]]:
        response = self.gateway.fetch("GET", f"/api/sessions/{device.session_id}/messages", token)
        self.assertEqual(response.status, 200)
        return [(message["role"], message["content"]) for message in response.json()["messages"]]


class Turns:
    """What holds for every kind of model; mixed into a case for each."""

    def helper(self, handlers: dict[str, Any]) -> tuple[str, str]:
        """A second connection of a device that answers calls; its token, and the name of its first
        tool."""
        token = self.new_token()
        device = self.open(token)
        device.register(*(tool(name) for name in handlers))
        device.serve(handlers)
        return token

    def test_an_answer_is_streamed_and_done(self) -> None:
        self.model.script(Answer("Hello there.", thinking="They greet."))
        device = self.open()
        frames = self.turn(device, "hi")
        kinds = [frame["type"] for frame in frames]
        self.assertEqual(kinds[0], "agent_start")
        self.assertEqual(
            frames[0], {"type": "agent_start", "provider": "scripted", "model": "parrot"}
        )
        self.assertEqual(kinds[-3:], ["chunk_reset", "done", "agent_end"])
        self.assertEqual(self.answer_of(frames), "Hello there.")
        self.assertEqual(
            "".join(frame["content"] for frame in frames if frame["type"] == "thinking"),
            "They greet.",
        )
        self.assertGreater(kinds.count("chunk"), 1)

    def test_clawseed_16_a_device_tool_is_called_like_a_local_one(self) -> None:
        name = self.unique("thermometer")
        token = self.helper(
            {name: lambda args: json.dumps({"celsius": 21.5, "room": args["room"]})}
        )
        self.model.script(
            Answer("Let me see. ", calls=[call(name, room="kitchen")]),
            Answer("It is 21.5 degrees."),
        )
        device = self.open(token)
        frames = self.turn(device, "How warm is the kitchen?")
        self.assertEqual(self.answer_of(frames), "Let me see. It is 21.5 degrees.")
        wanted = next(frame for frame in frames if frame["type"] == "tool_call")
        told = next(frame for frame in frames if frame["type"] == "tool_result")
        self.assertEqual((wanted["name"], wanted["args"]), (name, {"room": "kitchen"}))
        self.assertEqual((told["id"], told["name"]), (wanted["id"], name))
        self.assertEqual(json.loads(told["output"]), {"celsius": 21.5, "room": "kitchen"})
        self.assertIn("21.5", json.dumps(self.model.last_messages()[-1]))
        self.assertEqual(
            self.stored(device, token),
            [
                ("user", "How warm is the kitchen?"),
                ("assistant", "Let me see. "),
                ("tool", told["output"]),
                ("assistant", "It is 21.5 degrees."),
            ],
        )

    def test_clawseed_40_a_batch_is_out_together_and_told_in_the_models_order(self) -> None:
        device = self.open()
        names = [self.unique("slow") for _ in range(3)]
        device.register(*(tool(name) for name in names))
        self.model.script(Answer(calls=[call(name) for name in names]), Answer("all done"))
        device.send("message", content="go")
        requests, before = {}, []
        while len(requests) < 3:
            frame = device.receive()
            if frame["type"] == "tool_call_request":
                requests[frame["name"]] = frame
            else:
                before.append(frame)
        self.assertEqual([frame["name"] for frame in before if frame["type"] == "tool_call"], names)
        for name in reversed(names):
            device.send(
                "tool_result", id=requests[name]["id"], output=f"output of {name}", success=True
            )
        frames = self.turn(device, None)
        self.assertEqual(
            [frame["output"] for frame in frames if frame["type"] == "tool_result"],
            [f"output of {name}" for name in names],
        )
        self.assertEqual(self.answer_of(frames), "all done")

    def test_clawseed_41_the_model_reads_why_a_tool_failed(self) -> None:
        name = self.unique("broken")

        def broken(_: Any) -> Any:
            raise ToolFailure("UNAVAILABLE: the sensor is asleep")

        token = self.helper({name: broken})
        self.model.script(Answer(calls=[call(name)]), Answer("It sleeps."))
        frames = self.turn(self.open(token), "go")
        told = next(frame for frame in frames if frame["type"] == "tool_result")
        self.assertEqual(told["output"], "Error: UNAVAILABLE: the sensor is asleep")
        self.assertIn(
            "Error: UNAVAILABLE: the sensor is asleep", json.dumps(self.model.last_messages())
        )
        self.assertEqual(self.answer_of(frames), "It sleeps.")

    def test_clawseed_42_abort_ends_a_turn_that_the_model_keeps_waiting(self) -> None:
        self.model.script(Hold("I am thi"))
        token = self.new_token()
        device = self.open(token)
        device.send("message", content="hi")
        while device.receive()["type"] != "chunk":
            pass
        device.send("abort")
        frames = self.turn(device, None)
        self.assertEqual([frame["type"] for frame in frames], ["aborted", "agent_end"])
        self.assertTrue(self.model.left.wait(10), "the request to the model was not ended")
        self.assertEqual(
            self.stored(device, token),
            [("user", "hi"), ("assistant", "I am thi\n[interrupted by user]")],
        )

    def test_clawseed_42_abort_ends_the_tools_too(self) -> None:
        token = self.new_token()
        device = self.open(token, capabilities=["tool_call_cancel"])
        name = self.unique("stuck")
        device.register(tool(name))
        self.model.script(Answer(calls=[call(name)]), Answer("never said"))
        device.send("message", content="go")
        while (frame := device.receive())["type"] != "tool_call_request":
            pass
        device.send("abort")
        kinds = [device.receive() for _ in range(3)]
        self.assertEqual(
            {frame["type"] for frame in kinds}, {"tool_call_cancel", "aborted", "agent_end"}
        )
        self.assertEqual(len(self.model.requests), 1)
        self.model.script(Answer("fine"))
        self.assertEqual(self.answer_of(self.turn(device, "and now?")), "fine")
        self.assertIn("CANCELLED", json.dumps(self.model.last_messages()))

    def test_clawseed_45_tools_that_come_and_go_hold_at_the_next_request(self) -> None:
        token = self.new_token()
        device = self.open(token)
        first, second = self.unique("first"), self.unique("second")
        device.register(tool(first))
        self.model.script(Answer(calls=[call(first)]), Answer("ok"))
        device.send("message", content="go")
        while (frame := device.receive())["type"] != "tool_call_request":
            pass
        device.send("register_tools", tools=[tool(second)], replace=True)
        self.assertEqual(device.receive()["type"], "tools_registered")
        device.send("tool_result", id=frame["id"], output="done", success=True)
        self.turn(device, None)
        self.assertIn(first, self.model.offered(0))
        self.assertIn(second, self.model.offered(1))
        self.assertNotIn(first, self.model.offered(1))

    def test_names_that_vendors_refuse_are_adapted_and_mapped_back(self) -> None:
        dotted = self.unique("room") + ".read." + "x" * 80
        token = self.helper({dotted: lambda _: "warm"})
        self.model.script(Answer("ok"))
        device = self.open(token)
        self.turn(device, "what is there?")
        told = next(
            name for name in self.model.offered() if name.startswith(dotted[:4]) and "read" in name
        )
        self.assertRegex(told, "^[A-Za-z0-9_-]{1,64}$")
        self.model.script(Answer(calls=[call(told)]), Answer("It is warm."))
        frames = self.turn(device, "read it")
        self.assertEqual(
            next(frame for frame in frames if frame["type"] == "tool_result"),
            {
                "type": "tool_result",
                "id": next(frame["id"] for frame in frames if frame["type"] == "tool_call"),
                "name": dotted,
                "output": "warm",
            },
        )

    def test_arguments_that_break_the_schema_go_back_with_pointer_and_rule(self) -> None:
        name = self.unique("typed")
        token = self.new_token()
        helper = self.open(token)
        helper.register(
            tool(
                name,
                {
                    "type": "object",
                    "properties": {"room": {"type": "string"}},
                    "required": ["room"],
                },
            )
        )
        self.model.script(
            Answer(
                calls=[
                    Call(name, {"room": 7}),
                    Call(name, "{\"room\": "),
                    Call(name, "[1]"),
                    Call("nobody_has_this", {}),
                ]
            ),
            Answer("sorry"),
        )
        frames = self.turn(self.open(token), "go")
        outputs = [frame["output"] for frame in frames if frame["type"] == "tool_result"]
        self.assertRegex(outputs[0], r"^Error: INVALID_ARGS: .*/room.*string")
        self.assertTrue(outputs[1].startswith("Error: INVALID_ARGS: "), outputs[1])
        self.assertTrue(outputs[2].startswith("Error: INVALID_ARGS: "), outputs[2])
        self.assertTrue(outputs[3].startswith("Error: TOOL_NOT_FOUND: "), outputs[3])
        self.assertEqual(
            [frame["args"] for frame in frames if frame["type"] == "tool_call"][1:3], [{}, {}]
        )
        helper.assert_silent()

    def test_ids_that_are_missing_or_used_twice_are_replaced(self) -> None:
        name = self.unique("echo")
        token = self.helper({name: lambda args: args["n"]})
        self.model.script(
            Answer(calls=[Call(name, {"n": "a"}, "same"), Call(name, {"n": "b"}, "same")]),
            Answer("ok"),
        )
        frames = self.turn(self.open(token), "go")
        ids = [frame["id"] for frame in frames if frame["type"] == "tool_call"]
        outputs = {
            frame["id"]: frame["output"] for frame in frames if frame["type"] == "tool_result"
        }
        self.assertEqual(len(set(ids)), len(ids), ids)
        self.assertEqual(sorted(outputs), sorted(ids))
        self.assertEqual(ids[0], "same")

    def test_a_call_that_fails_again_and_again_is_not_made_for_ever(self) -> None:
        name, made = self.unique("wall"), []

        def wall(_: Any) -> Any:
            made.append(1)
            raise ToolFailure("no")

        token = self.helper({name: wall})
        self.model.script(*[Answer(calls=[call(name, way="same")])] * 5, Answer("I give up."))
        frames = self.turn(self.open(token), "go")
        self.assertEqual(self.answer_of(frames), "I give up.")
        self.assertEqual(len(made), 3)
        self.assertIn(
            "was not made again",
            [frame["output"] for frame in frames if frame["type"] == "tool_result"][-1],
        )

    def test_a_turn_ends_after_its_rounds_and_the_last_is_asked_without_calls(self) -> None:
        name = self.unique("again")
        token = self.helper({name: lambda _: "more"})
        self.model.script(*[Answer(calls=[call(name, n=n)]) for n in range(30)])
        frames = self.turn(self.open(token), "go")
        self.assertEqual(self.code_of(frames), "AGENT_ERROR")
        self.assertEqual(len(self.model.requests), 25)
        choice = self.model.requests[-1].body["tool_choice"]
        self.assertIn(choice, ("none", {"type": "none"}))

    def test_a_busy_model_is_asked_again_as_it_wishes(self) -> None:
        self.model.script(
            Refusal(429, headers={"Retry-After": "0"}),
            Refusal(503, headers={"Retry-After": "0"}),
            Answer("at last"),
        )
        self.assertEqual(self.answer_of(self.turn(self.open(), "hi")), "at last")
        self.assertEqual(len(self.model.requests), 3)

    def test_a_stream_that_breaks_off_before_a_word_is_asked_again(self) -> None:
        self.model.script(BreakOff(), Answer("second try"))
        self.assertEqual(self.answer_of(self.turn(self.open(), "hi")), "second try")

    def test_a_stream_that_breaks_off_after_a_word_ends_the_turn(self) -> None:
        self.model.script(BreakOff("I was say"))
        self.assertEqual(self.code_of(self.turn(self.open(), "hi")), "PROVIDER_ERROR")
        self.assertEqual(len(self.model.requests), 1)

    def test_an_answer_that_is_whole_counts_although_its_stream_breaks_off(self) -> None:
        self.model.script(BreakOff("That is all.", ended=True))
        self.assertEqual(self.answer_of(self.turn(self.open(), "hi")), "That is all.")
        self.assertEqual(len(self.model.requests), 1)

    def test_refused_credentials_are_an_auth_error_and_not_repeated(self) -> None:
        self.model.script(Refusal(401, "Incorrect key: sk-secret"))
        frames = self.turn(self.open(), "hi")
        self.assertEqual(self.code_of(frames), "AUTH_ERROR")
        self.assertNotIn("sk-secret", json.dumps(frames))
        self.assertEqual(len(self.model.requests), 1)

    def test_bad_streams_end_the_turn_and_nothing_else(self) -> None:
        device = self.open()
        for step, code in (
            (Raw(b"data: {\"choices\": [\n\n"), "AGENT_ERROR"),
            (Raw(b"hello", "text/plain"), "AGENT_ERROR"),
            (Raw(b""), "PROVIDER_ERROR"),
            (Refusal(400, "context too long"), "AGENT_ERROR"),
            (Refusal(404), "PROVIDER_ERROR"),
            (Endless("x" * 20_000), "AGENT_ERROR"),
            (Raw(b"data: " + b"y" * 10_000_000 + b"\n\n"), "AGENT_ERROR"),
        ):
            with self.subTest(step=str(step)[:80]):
                self.model.script(*[step] * 4)
                self.assertEqual(self.code_of(self.turn(device, "hi")), code)
        self.model.script(Answer("still here"))
        self.assertEqual(self.answer_of(self.turn(device, "hi")), "still here")

    def test_an_output_of_five_megabytes_is_cut_for_the_model(self) -> None:
        name = self.unique("huge")
        token = self.helper({name: lambda _: "ä" * 2_500_000})
        self.model.script(Answer(calls=[call(name)]), Answer("a lot"))
        frames = self.turn(self.open(token), "go")
        output = next(frame["output"] for frame in frames if frame["type"] == "tool_result")
        self.assertLess(len(output.encode()), 70_000)
        self.assertIn("cut here", output)
        self.assertEqual(self.answer_of(frames), "a lot")

    def test_a_device_that_leaves_in_the_middle_of_a_batch_fails_its_calls_only(self) -> None:
        token = self.new_token()
        leaving, staying = self.open(token), self.open(token)
        gone, there = self.unique("gone"), self.unique("there")
        leaving.register(tool(gone))
        staying.register(tool(there))
        staying.serve({there: lambda _: "here"})
        self.model.script(Answer(calls=[call(gone), call(there)]), Answer("half of it"))
        device = self.open(token)
        device.send("message", content="go")
        leaving.next_call(gone)
        leaving.close()
        frames = self.turn(device, None)
        outputs = [frame["output"] for frame in frames if frame["type"] == "tool_result"]
        self.assertTrue(outputs[0].startswith("Error: OUTCOME_UNKNOWN: "), outputs)
        self.assertEqual(outputs[1], "here")
        self.assertEqual(self.answer_of(frames), "half of it")

    def test_a_hundred_calls_in_one_answer_are_made(self) -> None:
        name = self.unique("count")
        token = self.helper({name: lambda args: str(args["n"])})
        self.model.script(Answer(calls=[call(name, n=n) for n in range(100)]), Answer("counted"))
        frames = self.turn(self.open(token), "count")
        self.assertEqual(
            [frame["output"] for frame in frames if frame["type"] == "tool_result"],
            [str(n) for n in range(100)],
        )
        self.assertEqual(self.answer_of(frames), "counted")

    def test_more_calls_than_an_answer_may_have_end_the_turn(self) -> None:
        self.model.script(Answer(calls=[call("nothing") for _ in range(257)]))
        self.assertEqual(self.code_of(self.turn(self.open(), "count")), "AGENT_ERROR")

    def test_an_answer_that_is_not_streamed_is_read(self) -> None:
        name = self.unique("look")
        token = self.helper({name: lambda args: f"saw {args['at']}"})
        self.model.script(
            self.whole(calls=[("c1", name, {"at": "it"})]),
            self.whole("<think>hm</think>\n\nI saw it."),
        )
        device = self.open(token)
        frames = self.turn(device, "look")
        self.assertEqual(
            [frame["output"] for frame in frames if frame["type"] == "tool_result"], ["saw it"]
        )
        self.assertEqual(self.answer_of(frames), "I saw it.")
        self.assertEqual(self.stored(device, token)[-1], ("assistant", "I saw it."))

    def test_think_at_the_beginning_is_reasoning_wherever_it_is_cut(self) -> None:
        for piece in (1, 4, 100):
            self.model.script(
                Answer("<think>They greet; I <3 that.</think>\n\nHello <think>.", piece=piece)
            )
            frames = self.turn(self.open(), "hi")
            self.assertEqual(
                "".join(frame["content"] for frame in frames if frame["type"] == "thinking"),
                "They greet; I <3 that.",
            )
            self.assertEqual(self.answer_of(frames), "Hello <think>.")

    def test_the_count_of_messages_is_that_of_the_list(self) -> None:
        name = self.unique("look")
        token = self.helper({name: lambda _: "seen"})
        self.model.script(Answer(calls=[call(name)]), Answer("Done."))
        device = self.open(token, session_id=self.unique("counted"))
        self.turn(device, "go")
        listed = len(self.stored(device, token))
        self.assertEqual(listed, 3)
        sessions = self.gateway.fetch("GET", "/api/sessions", token).json()["sessions"]
        self.assertEqual(
            [each["message_count"] for each in sessions if each["session_id"] == device.session_id],
            [listed],
        )
        self.assertEqual(
            self.open(token, session_id=device.session_id).session["message_count"], listed
        )

    def test_clawseed_44_regenerate_asks_the_last_question_again(self) -> None:
        name = self.unique("look")
        token = self.helper({name: lambda _: "seen"})
        self.model.script(Answer(calls=[call(name)]), Answer("first"), Answer("second"))
        device = self.open(token)
        self.turn(device, "question")
        device.send("regenerate")
        self.assertEqual(self.answer_of(self.turn(device, None)), "second")
        self.assertEqual(
            self.stored(device, token), [("user", "question"), ("assistant", "second")]
        )
        self.assertNotIn("seen", json.dumps(self.model.last_messages()))

    def test_clawseed_48_debug_shows_the_prompt_once(self) -> None:
        name = self.unique("look")
        token = self.helper({name: lambda _: "seen"})
        self.model.script(Answer(calls=[call(name)]), Answer("yes"))
        frames = self.turn(self.open(token), "a question", debug=True)
        prompts = [frame for frame in frames if frame["type"] == "debug_prompt"]
        self.assertEqual(len(prompts), 1)
        self.assertEqual(frames[1]["type"], "debug_prompt")
        self.assertEqual(
            json.loads(prompts[0]["messages"])[-1], {"role": "user", "content": "a question"}
        )
        self.assertGreater(prompts[0]["estimated_tokens"], 0)

    def test_a_conversation_goes_on_over_connections(self) -> None:
        token = self.new_token()
        self.model.script(Answer("Hello Ada."), Answer("Ada."))
        device = self.open(token, session_id=self.unique("talk"))
        self.turn(device, "I am Ada.")
        device.close()
        again = self.open(token, session_id=device.session_id)
        self.assertTrue(again.session["resumed"])
        self.assertEqual(self.answer_of(self.turn(again, "Who am I?")), "Ada.")
        self.assertIn("Hello Ada.", json.dumps(self.model.last_messages()))

    def test_clawseed_68_a_webhook_turn_calls_device_tools_once_per_key(self) -> None:
        name = self.unique("lamp")
        token = self.helper({name: lambda _: "lit"})
        self.model.script(Answer(calls=[call(name)]), Answer("The lamp is lit."))
        key = {"X-Idempotency-Key": self.unique("key")}
        first = self.gateway.fetch(
            "POST", "/webhook", token, key, {"message": "light the lamp"}, timeout=30
        )
        self.assertEqual(
            (first.status, first.json()["response"], first.json()["model"]),
            (200, "The lamp is lit.", "parrot"),
        )
        again = self.gateway.fetch("POST", "/webhook", token, key, {"message": "light the lamp"})
        self.assertEqual(again.json(), {**first.json(), "replayed": True})
        self.assertEqual(
            self.gateway.fetch("POST", "/webhook", token, key, {"message": "other"}).status, 409
        )
        elsewhere = {**key, "X-Session-Id": "another-chat"}
        self.assertEqual(
            self.gateway.fetch(
                "POST", "/webhook", token, elsewhere, {"message": "light the lamp"}
            ).status,
            409,
            "the key is good for one chat",
        )
        self.assertEqual(len(self.model.requests), 2)


class WebhookRepeatsTest(ChatCase):
    """Whatever happens to caller and gateway, a key has one effect, and who repeats it learns what
    came of it or that this is unknown."""

    def setUp(self) -> None:
        self.runs = 0
        self.running, self.go_on = threading.Event(), threading.Event()
        self.addCleanup(self.go_on.set)
        name = self.unique("lamp")
        self.token = Turns.helper(self, {name: self.light})
        self.key = {"X-Idempotency-Key": self.unique("key")}
        self.model.script(Answer(calls=[call(name)]), Answer("The lamp is lit."))

    def light(self, _: Any) -> str:
        self.runs += 1
        self.running.set()
        self.go_on.wait(20)
        return "lit"

    def post(self, token: str | None = None, message: str = "light the lamp") -> Any:
        return self.gateway.fetch(
            "POST", "/webhook", token or self.token, self.key, {"message": message}, timeout=30
        )

    def another_body_is_a_conflict(self) -> None:
        answer = self.post(message="put it out")
        self.assertEqual((answer.status, answer.json()["code"]), (409, "CONFLICT"))

    def leave(self) -> None:
        connection = HttpConnection(self.gateway.public)
        connection.send(
            "POST",
            "/webhook",
            {"Authorization": f"Bearer {self.token}", **self.key},
            {"message": "light the lamp"},
        )
        self.assertTrue(self.running.wait(10))
        connection.stream.reset()

    def test_clawseed_68_a_caller_that_leaves_and_repeats_gets_the_answer_and_the_effect_is_there_once(
        self,
    ) -> None:
        self.leave()
        self.another_body_is_a_conflict()
        with ThreadPoolExecutor(2) as pool:
            repeats = [pool.submit(self.post) for _ in range(2)]
            self.go_on.set()
            answers = [repeat.result(30) for repeat in repeats]
        for answer in answers:
            self.assertEqual(
                (answer.status, answer.json()["response"], answer.json()["replayed"]),
                (200, "The lamp is lit.", True),
            )
        self.another_body_is_a_conflict()
        self.assertEqual(self.runs, 1)

    def test_clawseed_68_after_kill_9_the_answer_is_replayed_to_its_principal_alone(self) -> None:
        self.go_on.set()
        first = self.post()
        self.assertEqual(first.status, 200)
        self.gateway.kill()
        self.gateway.start()
        self.assertEqual(self.post().json(), {**first.json(), "replayed": True})
        self.another_body_is_a_conflict()
        self.model.script(Answer("Which lamp?"))
        self.assertEqual(self.post(self.gateway.caller_token()).json()["response"], "Which lamp?")
        self.assertEqual(self.runs, 1)

    def test_clawseed_68_a_turn_that_kill_9_broke_off_is_unknown_and_not_begun_again(self) -> None:
        self.leave()
        self.gateway.kill()
        self.gateway.start()
        requests = len(self.model.requests)
        for _ in range(2):
            answer = self.post()
            self.assertEqual((answer.status, answer.json()["code"]), (409, "OUTCOME_UNKNOWN"))
        self.another_body_is_a_conflict()
        self.assertEqual((self.runs, len(self.model.requests)), (1, requests))


class ChatCompletionsTest(Turns, ChatCase):
    @staticmethod
    def whole(text: str = "", calls: Sequence[tuple[str, str, dict[str, Any]]] = ()) -> Raw:
        """An answer in one piece of JSON."""
        wanted = [
            {
                "id": id,
                "type": "function",
                "function": {"name": name, "arguments": json.dumps(args)},
            }
            for id, name, args in calls
        ]
        message = {
            "role": "assistant",
            "content": text or None,
            **({"tool_calls": wanted} if wanted else {}),
        }
        answer = {
            "object": "chat.completion",
            "choices": [
                {
                    "index": 0,
                    "message": message,
                    "finish_reason": "tool_calls" if wanted else "stop",
                }
            ],
            "usage": {"prompt_tokens": 3, "completion_tokens": 2},
        }
        return Raw(json.dumps(answer).encode(), "application/json")

    def test_reasoning_and_usage_do_no_harm_in_their_other_forms(self) -> None:
        events = [
            {"choices": [{"delta": {"reasoning": "hm"}}]},
            {
                "choices": [
                    {"delta": {"content": "yes", "tool_calls": None}, "finish_reason": None}
                ],
                "usage": None,
            },
            {"choices": [{"delta": {}, "finish_reason": "stop"}]},
        ]
        self.model.script(
            Raw(b"".join(b"data:" + json.dumps(event).encode() + b"\r\n\r\n" for event in events))
        )
        frames = self.turn(self.open(), "hi")
        self.assertEqual(
            [frame["content"] for frame in frames if frame["type"] == "thinking"], ["hm"]
        )
        self.assertEqual(self.answer_of(frames), "yes")

    def test_comments_carriage_returns_and_a_missing_done_do_no_harm(self) -> None:
        said = {"choices": [{"index": 0, "delta": {"content": "fine"}}]}
        end = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
        stream = b"\xef\xbb\xbf: PROCESSING\r\n\r\n" + b"".join(
            b": keep-alive\r\n\r\nid: 7\r\nretry: 1\r\ndata: "
            + json.dumps(event).encode()
            + b"\r\n\r\n"
            for event in (said, end)
        )
        self.model.script(Raw(stream, "text/event-stream; charset=utf-8"))
        self.assertEqual(self.answer_of(self.turn(self.open(), "hi")), "fine")

    def test_an_answer_that_is_withheld_or_has_no_room_says_so(self) -> None:
        for reason, words in (("content_filter", "withheld"), ("length", "max_output_tokens")):
            end = {"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}
            self.model.script(Raw(b"data: " + json.dumps(end).encode() + b"\n\n"))
            error = next(
                frame for frame in self.turn(self.open(), "hi") if frame["type"] == "error"
            )
            self.assertIn(words, error["message"])

    def test_calls_that_come_whole_and_all_in_place_0_are_told_apart(self) -> None:
        name = self.unique("echo")
        token = self.helper({name: lambda args: args["n"]})
        calls = [
            {
                "index": 0,
                "id": f"c{n}",
                "function": {"name": name, "arguments": json.dumps({"n": str(n)})},
            }
            for n in range(2)
        ]
        event = {"choices": [{"delta": {"tool_calls": calls}, "finish_reason": "tool_calls"}]}
        self.model.script(
            Raw(b"data: " + json.dumps(event).encode() + b"\n\ndata: [DONE]\n\n"), Answer("ok")
        )
        frames = self.turn(self.open(token), "go")
        self.assertEqual(
            [frame["output"] for frame in frames if frame["type"] == "tool_result"], ["0", "1"]
        )

    def test_the_status_names_the_model(self) -> None:
        status = self.gateway.fetch(
            "GET", "/api/status", self.gateway.pair(self.unique("asker"))
        ).json()
        self.assertEqual((status["provider"], status["model"]), ("scripted", "parrot"))


class AnthropicMessagesTest(Turns, ChatCase):
    @classmethod
    def model_config(cls) -> dict[str, Any]:
        key = Path(cls.enterClassContext(__import__("tempfile").TemporaryDirectory())) / "key"
        key.write_text("sk-test\n")
        return {"api": "anthropic", "url": cls.model.origin, "key_file": str(key)}

    @staticmethod
    def whole(text: str = "", calls: Sequence[tuple[str, str, dict[str, Any]]] = ()) -> Raw:
        """An answer in one piece of JSON."""
        content = [{"type": "text", "text": text}] * bool(text) + [
            {"type": "tool_use", "id": id, "name": name, "input": args} for id, name, args in calls
        ]
        answer = {
            "type": "message",
            "role": "assistant",
            "content": content,
            "stop_reason": "tool_use" if calls else "end_turn",
            "usage": {"input_tokens": 3, "output_tokens": 2},
        }
        return Raw(json.dumps(answer).encode(), "application/json")

    def test_the_request_has_the_form_that_the_api_wants(self) -> None:
        name = self.unique("look")
        token = self.helper({name: lambda _: "seen"})
        self.model.script(
            Answer("One moment. ", calls=[call(name, a=1), call(name, a=2)]), Answer("yes")
        )
        self.turn(self.open(token), "look")
        first, second = self.model.requests
        self.assertEqual(
            (first.path, first.headers["x-api-key"], first.headers["anthropic-version"]),
            ("/v1/messages", "sk-test", "2023-06-01"),
        )
        self.assertIsInstance(first.body["system"], str)
        self.assertGreater(first.body["max_tokens"], 0)
        self.assertEqual(
            [message["role"] for message in second.body["messages"]], ["user", "assistant", "user"]
        )
        self.assertEqual(
            [block["type"] for block in second.body["messages"][1]["content"]],
            ["text", "tool_use", "tool_use"],
        )
        self.assertEqual(
            [block["type"] for block in second.body["messages"][2]["content"]],
            ["tool_result", "tool_result"],
        )
        self.assertNotIn("sk-test", self.gateway.log_tail(100_000))

    def test_an_overloaded_model_is_asked_again_also_when_it_says_so_in_the_stream(self) -> None:
        overloaded = json.dumps(
            {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
        ).encode()
        self.model.script(
            Refusal(529, headers={"Retry-After": "0"}),
            Raw(b"event: error\ndata: " + overloaded + b"\n\n"),
            Answer("at last"),
        )
        self.assertEqual(self.answer_of(self.turn(self.open(), "hi")), "at last")
        said = (
            b'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,'
            b'"delta":{"type":"text_delta","text":"I was say"}}\n\n'
        )
        self.model.script(Raw(said + b"event: error\ndata: " + overloaded + b"\n\n"))
        self.assertEqual(self.code_of(self.turn(self.open(), "hi")), "PROVIDER_ERROR")
        self.assertEqual(len(self.model.requests), 1)

    def test_arguments_that_come_with_their_block_are_taken(self) -> None:
        name = self.unique("look")
        token = self.helper({name: lambda args: str(args.get("n"))})
        events = [
            {"type": "message_start", "message": {"usage": {"input_tokens": 3}}},
            {
                "type": "content_block_start",
                "index": 0,
                "content_block": {
                    "type": "tool_use",
                    "id": "toolu_1",
                    "name": name,
                    "input": {"n": 7},
                },
            },
            {"type": "content_block_stop", "index": 0},
            {
                "type": "message_delta",
                "delta": {"stop_reason": "tool_use"},
                "usage": {"output_tokens": 2},
            },
            {"type": "message_stop"},
        ]
        self.model.script(
            Raw(
                b"".join(
                    b"event: "
                    + event["type"].encode()
                    + b"\ndata: "
                    + json.dumps(event).encode()
                    + b"\n\n"
                    for event in events
                )
            ),
            Answer("seven"),
        )
        frames = self.turn(self.open(token), "look")
        self.assertEqual(
            next(frame["output"] for frame in frames if frame["type"] == "tool_result"), "7"
        )
        self.assertEqual(self.answer_of(frames), "seven")


class ThinkingTest(ChatCase):
    """Anthropic's signed thinking goes back within the turn and not beyond it."""

    @classmethod
    def model_config(cls) -> dict[str, Any]:
        return {
            "api": "anthropic",
            "url": cls.model.origin,
            "thinking_tokens": 2048,
            "max_output_tokens": 500,
        }

    def test_signed_thoughts_go_back_to_the_model_while_the_turn_goes_on(self) -> None:
        self.model.script(
            Answer(thinking="I should look.", signature="c2lnbmVk", calls=[call("list_devices")]),
            Answer("Nobody."),
            Answer("Still nobody."),
        )
        device = self.open()
        frames = self.turn(device, "who is there?")
        self.assertEqual(
            "".join(frame["content"] for frame in frames if frame["type"] == "thinking"),
            "I should look.",
        )
        first, second = self.model.requests
        self.assertEqual(first.body["thinking"], {"type": "enabled", "budget_tokens": 2048})
        self.assertEqual(first.body["max_tokens"], 2548)
        self.assertEqual(
            second.body["messages"][1]["content"][0],
            {"type": "thinking", "thinking": "I should look.", "signature": "c2lnbmVk"},
        )
        self.assertEqual(second.body["thinking"], first.body["thinking"])
        self.turn(device, "and now?")
        self.assertNotIn("c2lnbmVk", json.dumps(self.model.requests[-1].body))
        self.assertIn("thinking", self.model.requests[-1].body)

    def test_a_turn_whose_thoughts_are_not_signed_goes_on_without_thinking(self) -> None:
        self.model.script(Answer(thinking="hm", calls=[call("list_devices")]), Answer("Nobody."))
        self.turn(self.open(), "who is there?")
        self.assertIn("thinking", self.model.requests[0].body)
        self.assertNotIn("thinking", self.model.requests[1].body)


class OfflineTest(GatewayCase):
    """Without a model."""

    def answer(self, device: Device, content: str) -> dict[str, Any]:
        device.send("message", content=content)
        while (frame := device.receive())["type"] not in ENDS:
            pass
        self.assertEqual(device.receive()["type"], "agent_end")
        return frame

    def test_it_says_so_lists_tools_and_calls_them(self) -> None:
        token = self.new_token()
        helper = self.open(token)
        name = self.unique("echo")
        helper.register(tool(name, description="Says it again"))
        helper.serve({name: lambda args: args["text"]})
        device = self.open(token)
        refused = self.answer(device, "hello")
        self.assertEqual(refused["code"], "PROVIDER_ERROR")
        self.assertIn("no model is configured", refused["message"])
        self.assertIn(f"{name}: Says it again", self.answer(device, "/tools")["full_response"])
        self.assertEqual(
            self.answer(device, f"/tool {name} {{\"text\": \"again\"}}")["full_response"], "again"
        )
        self.assertIn("TOOL_NOT_FOUND", self.answer(device, "/tool nowhere")["full_response"])
        self.assertEqual(self.answer(device, "/tool")["code"], "AGENT_ERROR")
