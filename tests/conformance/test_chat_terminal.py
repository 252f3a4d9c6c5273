"""`crab chat` at a terminal (docs/how_to/chat_with_a_model.md): editing, earlier questions,
commands, Ctrl-C."""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
from pathlib import Path

from test_chat import Answer, ChatCase, Hold, call

from support.gateway import program
from support.terminal import Terminal


class TerminalTest(ChatCase):
    def setUp(self) -> None:
        self.home = Path(tempfile.mkdtemp(prefix="crab-home-"))
        self.addCleanup(shutil.rmtree, self.home, ignore_errors=True)

    def chat(self, *words: str) -> Terminal:
        terminal = Terminal(
            [program(), "chat", "--socket", str(self.gateway.admin), *words],
            {"HOME": str(self.home), "PATH": "/usr/bin:/bin"},
        )
        self.enterContext(terminal)
        terminal.wait_for("/help tells")
        self.at_prompt(terminal)
        return terminal

    @staticmethod
    def at_prompt(terminal: Terminal) -> None:
        terminal.wait_for("> ")
        terminal.wait_for_editing()

    def asked(self) -> str:
        return self.model.last_messages()[-1]["content"]

    def test_a_line_is_edited_before_it_is_asked_and_comes_back_with_a_key(self) -> None:
        self.model.script(Answer("one"), Answer("two"), Answer("three"))
        terminal = self.chat()
        terminal.type(
            "worm\x7f\x7f\x7farm is it?\x01How \n"
        )  # three letters back; Ctrl-A: to the beginning
        terminal.wait_for("one")
        self.assertEqual(self.asked(), "How warm is it?")
        self.at_prompt(terminal)
        terminal.type("Grüße, 东京\x7f!\n")
        terminal.wait_for("two")
        self.assertEqual(self.asked(), "Grüße, 东!")
        self.at_prompt(terminal)
        terminal.type("\x1b[A\x1b[A now\n")  # two up
        terminal.wait_for("three")
        self.assertEqual(self.asked(), "How warm is it? now")
        self.at_prompt(terminal)
        terminal.type("\x04")
        self.assertEqual(terminal.ended(), 0)

    def test_questions_of_an_earlier_run_come_back_and_nobody_else_may_read_them(self) -> None:
        self.model.script(Answer("one"), Answer("again"))
        first = self.chat()
        first.type("remember me\n")
        first.wait_for("one")
        self.at_prompt(first)
        first.type("/quit\n")
        self.assertEqual(first.ended(), 0)
        file = self.home / ".local/state/crab/chat_history"
        self.assertEqual(file.stat().st_mode & 0o077, 0)
        second = self.chat()
        second.type("\x1b[A\x1b[A\n")  # /quit, then the question
        second.wait_for("again")
        self.assertEqual(self.asked(), "remember me")

    def test_ctrl_c_drops_a_line_or_cancels_the_turn_and_not_the_program(self) -> None:
        self.model.script(Hold("I am thinking"), Answer("here I am"))
        terminal = self.chat()
        terminal.type("not this\x03")
        terminal.wait_for("^C")
        self.at_prompt(terminal)
        terminal.type("take your time\n")
        terminal.wait_for("I am thinking")
        self.assertEqual(self.asked(), "take your time")
        terminal.type("\x03")
        terminal.wait_for("cancelled")
        self.at_prompt(terminal)
        self.assertTrue(self.model.left.wait(10))
        terminal.type("still there?\n")
        terminal.wait_for("here I am")
        self.assertIsNone(terminal.process.poll())

    def test_commands_are_answered_here_and_paths_are_asked(self) -> None:
        self.model.script(Answer("a file"), Answer("another answer"), Answer("fresh"))
        terminal = self.chat("--session", "terminal-a")
        terminal.type("/help\n")
        terminal.wait_for("/sessions")
        self.at_prompt(terminal)
        terminal.type("/sesions\n")
        terminal.wait_for("is not a command here")
        terminal.type("/etc/passwd is what?\n")
        terminal.wait_for("a file")
        self.assertEqual(self.asked(), "/etc/passwd is what?")
        self.at_prompt(terminal)
        terminal.type("/again\n")
        terminal.wait_for("another answer")
        self.at_prompt(terminal)
        terminal.type("/new\n")
        terminal.wait_for("(0 messages)")
        self.at_prompt(terminal)
        terminal.type("hello\n")
        terminal.wait_for("fresh")
        self.assertEqual(
            len(self.model.last_messages()), 2, "system and question: the session is new"
        )
        self.at_prompt(terminal)
        terminal.type("/sessions\n")
        terminal.wait_for("terminal-a")
        self.at_prompt(terminal)
        terminal.type("/session terminal-a\n")
        terminal.wait_for("(2 messages)")

    def test_tool_calls_are_shown_with_their_place_and_time(self) -> None:
        self.model.script(Answer("Let me see. ", calls=[call("list_devices")]), Answer("Nobody."))
        terminal = self.chat()
        terminal.type("who is there?\n")
        terminal.wait_for("→ list_devices on built_in {}")
        terminal.wait_for("← list_devices after ")
        terminal.wait_for("Nobody.")

    def test_what_an_agent_asks_is_answered_here(self) -> None:
        rooms = [
            {"id": "k", "label": "Kitchen"},
            {"id": "c", "label": "Cellar", "description": "cold"},
        ]
        self.model.script(
            Answer(
                calls=[
                    call("ask_user", type="single_select", question="Which room?", options=rooms)
                ]
            ),
            Answer(calls=[call("ask_user", type="text", question="Why?", placeholder="a reason")]),
            Answer(calls=[call("ask_user", type="confirm", question="Sure?")]),
            Answer("Done."),
        )
        terminal = self.chat()
        terminal.type("light on\n")
        terminal.wait_for("? the agent asks: Which room?")
        terminal.wait_for("2  Cellar: cold")
        terminal.wait_for("its number")
        terminal.type("attic\n")
        terminal.wait_for("its number")
        terminal.type("2\n")
        terminal.wait_for("? the agent asks: Why? (a reason)")
        self.assertEqual(self.told(), {"status": "accepted", "answer": "c"})
        terminal.type("\n")
        terminal.wait_for("[y]es or [n]o?")
        self.assertEqual(self.told(), {"status": "declined"})
        terminal.type("y\n")
        terminal.wait_for("Done.")
        self.assertEqual(self.told(), {"status": "accepted", "answer": True})
        self.at_prompt(terminal)

    def told(self) -> dict:
        """The outcome of the last question, as the model reads it."""
        return json.loads(self.model.last_messages()[-1]["content"])

    def test_a_question_ends_with_ctrl_c_or_the_input(self) -> None:
        ask = Answer(calls=[call("ask_user", type="confirm", question="Sure?")])
        self.model.script(ask, ask, Answer("Never mind."))
        terminal = self.chat()
        terminal.type("go\n")
        terminal.wait_for("[y]es or [n]o?")
        terminal.type("\x03")
        terminal.wait_for("cancelled")
        self.at_prompt(terminal)
        terminal.type("go on\n")
        terminal.wait_for("[y]es or [n]o?")
        terminal.type("\x04")
        terminal.wait_for("Never mind.")
        self.assertEqual(self.told(), {"status": "cancelled"})

    def test_a_script_is_asked_nothing(self) -> None:
        self.model.script(Answer("fine"))
        done = subprocess.run(
            [program(), "chat", "--socket", str(self.gateway.admin), "--once", "go"],
            capture_output=True,
            text=True,
            timeout=30,
        )
        self.assertEqual((done.returncode, done.stdout), (0, "fine\n"), done.stderr)
        self.assertNotIn("ask_user", self.model.offered())

    def test_a_gateway_that_was_restarted_is_found_again(self) -> None:
        self.model.script(Answer("before"), Answer("after"))
        terminal = self.chat()
        terminal.type("one\n")
        terminal.wait_for("before")
        self.at_prompt(terminal)
        self.gateway.stop()
        self.gateway.start()
        terminal.type("two\n")
        terminal.wait_for("ask once more")
        self.at_prompt(terminal)
        terminal.type("two\n")
        terminal.wait_for("after")
        self.assertIn("before", str(self.model.last_messages()))
