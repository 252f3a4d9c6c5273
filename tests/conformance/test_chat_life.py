"""Chats beyond one turn, docs/protocols/clawseed.md, sections 6 and 8, and
docs/how_to/chat_with_a_model.md: titles, deadlines, restarts, TLS to the model, `crab chat`."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
import threading
import unittest
from pathlib import Path
from typing import Any, ClassVar

from test_chat import Answer, ChatCase, Hold, Refusal, ScriptedModel, call

from support.device import Device, tool
from support.gateway import Gateway, program
from support.wait import eventually

QUICK = {"agent": {"turn_timeout_s": 1}}


class DetachedTurnsTest(ChatCase):
    """The extension `detached_turns`: who closes a page does not end what was asked there."""

    CONFIG: ClassVar[dict[str, Any]] = {"devices": {"grace_ms": 100}}

    def begun(
        self, capabilities: tuple[str, ...] = ("detached_turns",)
    ) -> tuple[str, Device, Device, dict[str, Any]]:
        """A turn whose tool call waits for its answer: the asker's token, asker, device, call."""
        lamp = self.unique("lamp")
        helper = self.open()
        helper.register(tool(lamp))
        self.model.script(Answer(calls=[call(lamp)]), Answer("The lamp is lit."))
        token = self.new_token()
        asker = self.open(token, capabilities=capabilities)
        asker.send("message", content="light the lamp")
        return token, asker, helper, helper.next_call(lamp)

    def said(self, asker: Device, token: str) -> list[str]:
        return [text for role, text in self.stored(asker, token) if role == "assistant" and text]

    def test_a_turn_goes_on_when_its_client_has_left(self) -> None:
        for leave in (Device.close, Device.cut):
            with self.subTest(leave=leave.__name__):
                token, asker, helper, request = self.begun()
                leave(asker)
                threading.Event().wait(0.3)  # longer than the grace period
                helper.answer(request, "lit")
                eventually(
                    lambda: self.said(asker, token) == ["The lamp is lit."], "the answer is kept"
                )

    def test_a_client_that_comes_back_gets_what_was_missed(self) -> None:
        token, asker, helper, request = self.begun()
        asker.close()
        back = self.open(token, session_id=asker.session_id, capabilities=("detached_turns",))
        helper.answer(request, "lit")
        self.assertEqual(self.frame(back, "done")["full_response"], "The lamp is lit.")

    def test_it_can_be_aborted_by_another_client_of_the_session(self) -> None:
        token, asker, helper, request = self.begun()
        asker.close()
        path = f"/api/sessions/{asker.session_id}/abort"
        self.assertEqual(self.gateway.fetch("POST", path, token).status, 200)
        self.assertEqual(self.state(asker, token), "idle")
        helper.answer(request, "lit")
        self.assertEqual(self.said(asker, token), ["[interrupted by user]"])

    def test_the_revocation_of_its_token_ends_it(self) -> None:
        token, asker, helper, request = self.begun()
        slug = self.slug
        asker.cut()
        self.gateway.crab("devices", "revoke", slug)
        helper.answer(request, "lit")
        helper.assert_silent()
        eventually(
            lambda: f"{asker.session_id} turn_id" in self.gateway.log_tail()
            and "end=CANCELLED" in self.gateway.log_tail(),
            "its turn has ended",
        )
        self.assertEqual(len(self.model.requests), 1, "the model was not asked again")

    def test_without_the_extension_it_ends_as_ever(self) -> None:
        token, asker, helper, request = self.begun(("ask_user",))
        asker.close()
        eventually(lambda: self.state(asker, token) == "idle", "the turn has ended")
        helper.answer(request, "lit")
        self.assertEqual(self.said(asker, token), ["[interrupted by user]"])

    def test_of_many_at_once_eight_go_on(self) -> None:
        lamp, token = self.unique("lamp"), self.new_token()
        helper = self.open()
        helper.register(tool(lamp))
        self.model.script(*[Answer(calls=[call(lamp)]) for _ in range(9)])
        askers = []
        for _ in range(9):
            asker = self.open(token, capabilities=("detached_turns",))
            asker.send("message", content="light the lamp")
            helper.next_call(lamp)
            askers.append(asker)
        for asker in askers:
            asker.close()
        eventually(
            lambda: sum(self.state(asker, token) == "running" for asker in askers) == 8,
            "one of them has ended",
        )
        for asker in askers:  # or they would ask the model again while the next test counts
            self.gateway.fetch("POST", f"/api/sessions/{asker.session_id}/abort", token)
            self.assertEqual(self.state(asker, token), "idle")

    def frame(self, device: Device, kind: str) -> dict[str, Any]:
        while (frame := device.receive())["type"] != kind:
            pass
        return frame

    def state(self, asker: Device, token: str) -> str:
        answer = self.gateway.fetch("GET", f"/api/sessions/{asker.session_id}/state", token)
        return answer.json()["state"]


class SessionsTest(ChatCase):
    def test_a_session_is_named_after_its_first_answered_question(self) -> None:
        self.model.script(Refusal(400), Answer("one"), Answer("two"))
        token = self.new_token()
        device = self.open(token)
        self.turn(device, "fails")
        device.assert_silent()
        self.turn(
            device,
            "  \nWhat is the weather in the harbour town of Bremerhaven going to be like "
            "tomorrow?\nThanks",
        )
        title = device.expect("title_updated")["title"]
        self.assertEqual(title, "What is the weather in the harbour town of Bremerhaven…")
        self.turn(device, "and then?")
        device.assert_silent()
        listed = self.gateway.fetch("GET", "/api/sessions", token).json()["sessions"]
        self.assertEqual([session["name"] for session in listed], [title])
        device.close()
        self.assertEqual(self.open(token, session_id=device.session_id).session["name"], title)

    def test_a_session_that_has_a_name_keeps_it(self) -> None:
        self.model.script(Answer("one"))
        token = self.new_token()
        device = self.open(token, query={"name": "Kitchen"})
        self.turn(device, "hello")
        device.assert_silent()

    def test_a_session_deleted_during_its_turn_stays_deleted(self) -> None:
        self.model.script(Hold("I am"))
        token = self.new_token()
        device = self.open(token)
        device.send("message", content="hi")
        while device.receive()["type"] != "chunk":
            pass
        self.assertEqual(
            self.gateway.fetch("DELETE", f"/api/sessions/{device.session_id}", token).status, 200
        )
        self.assertEqual(self.turn(device, None)[-2]["type"], "aborted")
        device.close()
        eventually(
            lambda: self.gateway.fetch(
                "GET", f"/api/sessions/{device.session_id}/messages", token
            ).status
            == 404,
            "the session is gone",
        )

    def test_two_turns_on_one_session_run_one_after_the_other(self) -> None:
        self.model.script(Answer("first"), Answer("second"))
        token = self.new_token()
        one = self.open(token, session_id=self.unique("both"))
        two = self.open(token, session_id=one.session_id)
        one.send("message", content="a")
        two.send("message", content="b")
        self.assertEqual(
            {self.answer_of(self.turn(one, None)), self.answer_of(self.turn(two, None))},
            {"first", "second"},
        )
        self.assertEqual(
            [role for role, _ in self.stored(one, token)],
            ["user", "assistant", "user", "assistant"],
        )
        self.assertEqual(len(self.model.last_messages()), 4, "system, question, answer, question")

    def test_a_long_talk_is_trimmed_and_the_store_keeps_it(self) -> None:
        self.model.script(*[Answer("yes")] * 40)
        token = self.new_token()
        device = self.open(token)
        self.turn(device, "x" * 60_000)
        self.assertEqual(device.expect("title_updated")["title"][:3], "xxx")
        for _ in range(2):
            self.turn(device, "y" * 60_000)
        texts = [message["content"][:1] for message in self.model.last_messages()[1:]]
        self.assertEqual(
            texts,
            ["y", "y", "y"],
            "the first turn is left out; the second, its answer and the question stay",
        )
        self.assertEqual(len(self.stored(device, token)), 6)


class DeadlineTest(ChatCase):
    CONFIG = QUICK

    def test_a_turn_ends_at_its_deadline_whether_the_model_or_a_tool_is_slow(self) -> None:
        token = self.new_token()
        device = self.open(token, capabilities=["tool_call_cancel"])
        self.model.script(Hold("thinking"))
        self.assertEqual(self.code_of(self.turn(device, "hi")), "AGENT_ERROR")
        self.assertTrue(self.model.left.wait(10))
        name = self.unique("stuck")
        device.register(tool(name))
        self.model.script(Answer(calls=[call(name)]), Answer("too late"))
        frames = self.turn(device, "go")
        self.assertIn(
            "TIMEOUT", next(frame for frame in frames if frame["type"] == "tool_result")["output"]
        )
        self.assertEqual(self.code_of(frames), "AGENT_ERROR")


class RestartTest(unittest.TestCase):
    def test_what_a_crash_cut_off_is_said_afterwards_and_talked_on_from(self) -> None:
        with ScriptedModel() as model, Gateway(
            {"models": [{"model": "parrot", "url": model.url}]}
        ) as gateway:
            token = gateway.pair("phone")
            device = Device(gateway, token, session_id="talk")
            device.register(tool("stuck"))
            model.script(Answer("I look. ", calls=[call("stuck")]))
            device.send("message", content="go")
            while device.receive()["type"] != "tool_call_request":
                pass
            eventually(
                lambda: len(
                    gateway.fetch("GET", "/api/sessions/talk/messages", token).json()["messages"]
                )
                == 2,
                "the call is stored",
            )
            gateway.kill()
            device.drop()
            gateway.start()
            said = [
                (message["role"], message["content"])
                for message in gateway.fetch("GET", "/api/sessions/talk/messages", token).json()[
                    "messages"
                ]
            ]
            self.assertEqual(said[:2], [("user", "go"), ("assistant", "I look. ")])
            self.assertEqual(said[2][0], "assistant")
            self.assertIn("no answer", said[2][1])
            model.script(Answer("Where were we."))
            again = Device(gateway, token, session_id="talk")
            self.assertTrue(again.session["resumed"])
            again.send("message", content="well?")
            while again.receive()["type"] != "done":
                pass
            again.drop()
            tools = [message for message in model.last_messages() if message["role"] == "tool"]
            self.assertEqual(len(tools), 1)
            self.assertTrue(tools[0]["content"].startswith("Error: OUTCOME_UNKNOWN: "))


class TlsTest(unittest.TestCase):
    def test_a_model_behind_tls_is_asked_only_if_its_certificate_is_good(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            key, cert = f"{folder}/key.pem", f"{folder}/cert.pem"
            subprocess.run(
                [
                    "openssl",
                    "req",
                    "-x509",
                    "-newkey",
                    "ec",
                    "-pkeyopt",
                    "ec_paramgen_curve:prime256v1",
                    "-nodes",
                    "-keyout",
                    key,
                    "-out",
                    cert,
                    "-days",
                    "1",
                    "-subj",
                    "/CN=model",
                    "-addext",
                    "subjectAltName=IP:127.0.0.1",
                ],
                check=True,
                capture_output=True,
            )
            os.environ["CRAB_TEST_KEY"] = "sk-of-the-test"
            self.addCleanup(os.environ.pop, "CRAB_TEST_KEY")
            with ScriptedModel(tls=(cert, key)) as model:
                for ca, kind in (({"ca": cert}, "done"), ({}, "error")):
                    model.script()
                    entry = {
                        "model": "parrot",
                        "url": model.url,
                        "key_env": "CRAB_TEST_KEY",
                        "max_retries": 0,
                        **ca,
                    }
                    with self.subTest(ca=ca), Gateway({"models": [entry]}) as gateway:
                        token = gateway.pair("phone")
                        answer = gateway.fetch(
                            "POST", "/webhook", token, body={"message": "hi"}, timeout=30
                        )
                        self.assertEqual(answer.status, 200 if kind == "done" else 503, answer.body)
                        self.assertEqual(
                            [request.headers["authorization"] for request in model.requests],
                            ["Bearer sk-of-the-test"] if ca else [],
                        )
                        self.assertNotIn("sk-of-the-test", gateway.log_tail(100_000))

    def test_a_key_that_is_not_there_stops_the_start(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            config = Path(folder) / "gateway.yaml"
            config.write_text(
                json.dumps(
                    {
                        "gateway": {"state_dir": folder, "runtime_dir": folder},
                        "listen": {"public": "off"},
                        "models": [{"model": "m", "key_env": "CRAB_NO_SUCH_VARIABLE"}],
                    }
                )
            )
            done = subprocess.run(
                [program(), "gateway", "run", "--config", str(config)],
                capture_output=True,
                text=True,
                timeout=20,
            )
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(
                "models[0].key_env: the environment variable CRAB_NO_SUCH_VARIABLE is not set",
                done.stderr,
            )


class CommandTest(ChatCase):
    """`crab chat`."""

    def chat(
        self, *words: str, given: str = "", **options: Any
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [program(), "chat", *words, "--socket", str(self.gateway.admin)],
            input=given,
            capture_output=True,
            text=True,
            timeout=30,
            **options,
        )

    def test_once_prints_the_answer_and_nothing_else(self) -> None:
        self.model.script(Answer("It is\nwarm.", thinking="hm"))
        done = self.chat("--once", "How is it?")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "It is\nwarm.\n", ""))
        self.assertEqual(self.model.last_messages()[-1], {"role": "user", "content": "How is it?"})

    def test_once_reads_the_question_from_standard_input(self) -> None:
        self.model.script(Answer("ok"))
        self.chat("--once", "-", given="two\nlines")
        self.assertEqual(self.model.last_messages()[-1]["content"], "two\nlines")

    def test_a_conversation_shows_answers_and_tool_calls(self) -> None:
        self.model.script(
            Answer("Let me see.", calls=[call("list_devices")]),
            Answer("Nobody is here."),
            Answer("Bye."),
        )
        session = self.unique("terminal")
        done = self.chat(
            "--session", session, given="who is there?\n\nthanks\n/quit\nnever asked\n"
        )
        self.assertEqual(
            (done.returncode, done.stdout), (0, "Let me see.\nNobody is here.\nBye.\n")
        )
        self.assertRegex(
            done.stderr,
            r"→ list_devices on built_in \{\}\n← list_devices after \S+ (µs|ms|s): "
            r"\{\"devices\":.*\}\n",
        )
        self.assertIn(f"chat {session} (0 messages)", done.stderr)
        self.assertEqual(len(self.model.requests), 3)
        self.model.script(Answer("I remember."))
        again = self.chat("--session", session, "--once", "still there?")
        self.assertEqual(again.stdout, "I remember.\n")
        self.assertIn("Nobody is here.", json.dumps(self.model.last_messages()))

    def test_an_answer_cannot_steer_the_terminal(self) -> None:
        self.model.script(Answer("red \x1b[31m\x07"))
        self.assertNotIn("\x1b", self.chat("--once", "x").stdout)

    def test_a_failed_turn_is_an_exit_status_and_a_sentence(self) -> None:
        self.model.script(Refusal(401))
        done = self.chat("--once", "x")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("AUTH_ERROR", done.stderr)

    def test_json_output_is_the_frames(self) -> None:
        self.model.script(Answer("ok"))
        frames = [
            json.loads(line) for line in self.chat("--once", "x", "-o", "json").stdout.splitlines()
        ]
        self.assertEqual(frames[0]["type"], "agent_start")
        self.assertEqual(frames[-1]["type"], "agent_end")

    def test_ctrl_c_cancels_the_answer_and_not_the_program(self) -> None:
        self.model.script(Hold("I am thinking"), Answer("Now it works."))
        process = subprocess.Popen(
            [program(), "chat", "--socket", str(self.gateway.admin)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.addCleanup(process.kill)
        process.stdin.write("first\n")
        process.stdin.flush()
        said = ""
        while "thinking" not in said:
            said += process.stdout.read(1)
        process.send_signal(signal.SIGINT)
        self.assertTrue(self.model.left.wait(10))
        out, err = process.communicate("second\n", timeout=20)
        self.assertEqual((process.returncode, said + out), (0, "I am thinking\nNow it works.\n"))
        self.assertIn("cancelled", err)

    def test_it_works_over_the_public_listener_with_a_token(self) -> None:
        self.model.script(Answer("hello"))
        host, port = self.gateway.public
        done = subprocess.run(
            [
                program(),
                "chat",
                "--once",
                "x",
                "--url",
                f"http://{host}:{port}",
                "--token",
                self.new_token(),
            ],
            capture_output=True,
            text=True,
            timeout=30,
        )
        self.assertEqual((done.returncode, done.stdout), (0, "hello\n"), done.stderr)
        refused = subprocess.run(
            [
                program(),
                "chat",
                "--once",
                "x",
                "--url",
                f"http://{host}:{port}",
                "--token",
                "0" * 64,
            ],
            capture_output=True,
            text=True,
            timeout=30,
        )
        self.assertEqual(refused.returncode, 4, refused.stderr)

    def test_without_a_gateway_it_says_so(self) -> None:
        done = subprocess.run(
            [program(), "chat", "--once", "x", "--socket", "/nonexistent/socket"],
            capture_output=True,
            text=True,
            timeout=30,
        )
        self.assertEqual(done.returncode, 3)
        self.assertIn("cannot reach the gateway", done.stderr)
