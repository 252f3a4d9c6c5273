#!/usr/bin/env python3
"""The command line as a person and a script meet it: real processes against a scripted gateway.

usage: cli_test.py CRAB [unittest arguments]
"""
import json
import os
import pty
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests/support"))
from scripted_gateway import ScriptedGateway  # noqa: E402

CRAB = os.path.abspath(sys.argv.pop(1)) if len(sys.argv) > 1 else "crab"
TOOLS = {
    "tools": [
        {
            "name": "sms.send",
            "qualified_name": "phone__sms.send",
            "description": "Send a text message.\nNow.",
            "source_kind": "device",
            "source": "phone",
            "input_schema": {
                "type": "object",
                "required": ["to"],
                "properties": {
                    "to": {"type": "string", "description": "Number"},
                    "urgent": {"type": "boolean"},
                },
            },
            "timeout_ms_default": 30000,
            "timeout_ms_max": 120000,
            "idempotent": False,
            "side_effects": True,
        },
        {
            "name": "dice.roll",
            "qualified_name": "dice.roll",
            "description": "Roll \x1b[31mdice",
            "source_kind": "built_in",
            "source": "",
            "input_schema": {},
            "timeout_ms_default": 1000,
            "timeout_ms_max": 1000,
            "idempotent": True,
            "side_effects": False,
        },
    ]
}


def response(**members):
    return {
        "version": "v1",
        "call_id": "c",
        "tool_name": "t",
        "status": "ok",
        "duration_ms": 3,
        **members,
    }


def failure(code, message="no", status="error", details=None):
    error = {"code": code, "message": message, "retryable": False}
    return response(
        status=status, error=error if details is None else {**error, "details": details}
    )


COMMANDS = (
    "gateway run",
    "gateway check",
    "host memory",
    "host cron",
    "tools list",
    "tools show",
    "call",
    "chat",
    "calls list",
    "calls show",
    "calls cancel",
    "top",
    "events tail",
    "devices list",
    "devices pair",
    "devices approve",
    "devices revoke",
    "peers pair test",
    "peers pair tool",
    "peers pair subscriber",
    "peers pair cli",
    "peers list",
    "peers show",
    "peers renew",
    "peers revoke",
    "peers enable",
    "peers disable",
    "peers identity",
    "leases list",
    "leases revoke",
    "artifacts list",
    "artifacts get",
    "artifacts delete",
    "devices show",
    "devices rename",
    "approvals list",
    "approvals show",
    "approvals allow",
    "approvals deny",
    "approvals watch",
    "approvals remembered",
    "approvals forget",
    "policy test",
    "config show",
    "config path",
    "tls init",
    "worktrees bind",
    "worktrees unbind",
    "worktrees list",
    "devices run",
    "tokens create",
    "tokens list",
    "tokens revoke",
    "gateway status",
    "gateway stop",
    "gateway reload",
    "gateway log-levels",
    "gateway log-level",
    "logs",
    "version",
    "context list",
    "context use",
    "context set",
    "context remove",
    "sessions list",
    "sessions show",
    "sessions delete",
    "audit search",
    "audit verify",
    "audit export",
    "console",
    "policy matrix",
    "tools check",
    "agents list",
    "agents turns",
    "agents show",
    "tools cost",
    "bridge run",
    "bridge list",
    "bridge status",
    "bridge enable",
    "bridge disable",
    "bridge call",
    "mcp list",
    "mcp status",
    "mcp add",
    "mcp remove",
    "mcp diff",
    "mcp approve",
    "mcp login",
    "mcp logout",
    "mcp import",
    "mcp export",
    "mcp stdio",
    "doctor",
    "completion",
    "schema check",
    "schema suite",
    "help",
)

POLICY = """
policy:
  - {principal: "caller/*", call: {deny: [disk_usage]}, where: [{pointer: /path, glob: "/root*"}]}
  - {principal: caller/ci, call: {needs_approval: [reboot]}}
  - {principal: "device/*", register: {deny: ["shell*"]}}
  - {principal: "*", sources: ["device/old"], call: {deny: ["*"]}}
  - {principal: agent/reporter, effects: none, call: {allow: ["*"]}}
  - {principal: agent/sms, call: {allow: [sms]}, where: [{pointer: /to, glob: "+49*"}]}
peers:
  - {id: subscriber/log, tenants: [harbour], allow: ["events.publish:cron.*"],
     deny: ["events.subscribe:cron.*"]}
"""
# Words of `crab policy test --as`, its exit code, and how its line begins.
POLICY_ANSWERS = (
    (["oauth/login/ann", "call", "disk_usage"], 0, "allow"),
    (
        ["subscriber/log", "events.publish:cron.triggered"],
        0,
        "allow, by rule peers[0].allow: events.publish:cron.*",
    ),
    (
        ["subscriber/log", "events.subscribe:cron.triggered"],
        4,
        "deny, by rule peers[0].deny: events.subscribe:cron.*",
    ),
    (
        ["subscriber/log", "events.publish:cron.triggered", "--tenant", "default"],
        4,
        "deny, by rule peers[0].tenants: none of them",
    ),
    (
        ["subscriber/log", "events.publish:cron.triggered", "--tenant", "harbour"],
        0,
        "allow, by rule peers[0].allow: events.publish:cron.*",
    ),
    (
        ["listener/chat", "events.subscribe:cron.triggered"],
        4,
        "deny, by rule default deny: neither its role nor a rule allows it",
    ),
    (
        ["listener/chat", "events.subscribe:cron.triggered", "--role", "subscriber"],
        0,
        "allow, by rule role default: subscriber may events.subscribe:cron.*",
    ),
    (["operator/desk", "pairing:start"], 4, "deny, by rule no such action"),
    (["caller/ci", "call", "disk_usage"], 0, "allow, by rule role default"),
    (
        ["caller/ci", "call", "disk_usage", "--args", '{"path":"/root/x"}'],
        4,
        "deny, by rule policy[0].call.deny: disk_usage",
    ),
    (
        ["caller/ci", "call", "disk_usage", "--source", "device/old"],
        4,
        "deny, by rule policy[3].call.deny: *",
    ),
    (
        ["caller/ci", "call", "reboot"],
        4,
        "needs_approval, by rule policy[1].call.needs_approval: reboot",
    ),
    (
        ["caller/ci", "call", "disk_usage", "--bytes"],
        4,
        "deny, by rule policy[0].call.deny: disk_usage, whose conditions cannot be checked",
    ),
    (["caller/ci", "call", "other", "--bytes"], 0, "allow, by rule role default"),
    (
        ["caller/ci", "call", "disk_usage"],
        0,
        "allow, by rule role default: callers and operators may call (other arguments may "
        "change that; name some with --args)",
    ),
    (
        ["agent/reporter", "call", "disk_usage", "--effects", "none"],
        0,
        "allow, by rule policy[4].call.allow: *",
    ),
    (
        ["agent/reporter", "call", "reboot"],
        4,
        "deny, by rule policy[4].call.allow: an allow list speaks of this principal",
    ),
    (["agent/butler", "call", "reboot"], 0, "allow, by rule role default"),
    (
        ["agent/sms", "call", "sms", "--args", '{"to":"+4912"}'],
        0,
        "allow, by rule policy[5].call.allow: sms",
    ),
    (["agent/sms", "call", "sms", "--bytes"], 4, "deny, by rule"),
    (
        ["device/phone", "register", "shell_date"],
        4,
        "deny, by rule policy[2].register.deny: shell*",
    ),
    (["device/phone", "register", "date"], 0, "allow, by rule role default"),
)


class CliTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="crab-cli-")
        self.addCleanup(shutil.rmtree, self.folder)
        self.gateway = ScriptedGateway(self.folder)
        self.gateway.__enter__()
        self.addCleanup(self.gateway.__exit__)
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": self.folder,
            "CRAB_SOCKET": self.gateway.socket,
            "TERM": "xterm",
            "XDG_RUNTIME_DIR": self.folder,
        }

    def crab(self, *arguments, stdin="", environment=None):
        return subprocess.run(
            [CRAB, *arguments],
            input=stdin,
            capture_output=True,
            text=True,
            timeout=60,
            env={**self.environment, **(environment or {})},
            cwd=self.folder,
        )

    def on_terminal(self, *arguments, environment=None):
        """Standard output as a terminal shows it."""
        ours, theirs = pty.openpty()
        process = subprocess.Popen(
            [CRAB, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=theirs,
            stderr=subprocess.PIPE,
            env={**self.environment, **(environment or {})},
        )
        os.close(theirs)
        text = b""
        try:
            while part := os.read(ours, 65536):
                text += part
        except OSError:
            pass  # the other end is closed
        os.close(ours)
        process.stderr.close()
        process.wait(60)
        return text.decode()

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        Path(path).write_text(text)
        return path


class Help(CliTest):
    def commands(self, *path):
        """Every command, found by reading help as a person would."""
        text = self.crab(*path, "--help").stdout
        yield path, text
        if "Subcommands:" in text:
            for line in text.split("Subcommands:")[1].split("\n\n")[0].splitlines():
                if line.startswith("  ") and line[2] != " ":
                    yield from self.commands(
                        *path, line.split()[0].rstrip(",")
                    )  # `allow, grant`: the first name

    def test_every_command_has_help_with_an_example_and_its_own_name(self):
        seen = []
        for path, text in self.commands():
            seen.append(" ".join(path))
            self.assertIn("Usage: crab" + "".join(" " + word for word in path), text)
            if "Subcommands:" not in text and path:
                self.assertIn("Examples:\n  ", text, path)
            self.assertTrue(text.endswith("\n"))
            self.assertNotIn("\0", text)
        for name in COMMANDS:
            self.assertIn(name, seen)

    def test_alone_it_prints_its_commands_under_what_they_are_for(self):
        done = self.crab()
        self.assertEqual((done.returncode, done.stderr), (2, ""))
        self.assertEqual(done.stdout, self.crab("--help").stdout)
        self.assertLess(done.stdout.index("Call and chat:"), done.stdout.index("  call "))

    def test_common_options_stand_anywhere(self):
        self.gateway.answer("GET", "/v1/admin/devices", {"devices": []})
        environment = {"CRAB_SOCKET": "/nonexistent"}
        for words in (
            ("--socket", self.gateway.socket, "devices", "list"),
            ("devices", f"--socket={self.gateway.socket}", "list"),
            ("devices", "list", "--socket", self.gateway.socket),
            ("-o", "json", "--socket", self.gateway.socket, "devices", "list"),
        ):
            done = self.crab(*words, environment=environment)
            self.assertEqual(done.returncode, 0, (words, done.stderr))

    def test_version_and_exit_codes_are_printed(self):
        self.assertRegex(self.crab("--version").stdout, r"^crab \d+\.\d+\.\d+\n$")
        codes = self.crab("help", "exit-codes").stdout
        for code in (0, 1, 2, 3, 4, 5, 6, 7, 130):
            self.assertRegex(codes, rf"(?m)^ *{code}  ")

    def test_the_reference_page_is_current(self):
        page = Path(__file__).resolve().parents[2] / "docs/reference/cli.md"
        self.assertEqual(
            self.crab("help", "--markdown").stdout,
            page.read_text(),
            "run: crab help --markdown > docs/reference/cli.md",
        )

    def test_mistyped_words_come_with_the_word_that_was_meant(self):
        for arguments, expected in (
            (["gatway"], "unknown command gatway; did you mean gateway?"),
            (["gateway", "chekc"], "unknown command chekc; did you mean check?"),
            (["call", "x", "--timeuot", "1"], "unknown option --timeuot; did you mean --timeout?"),
            (["tools", "list", "-o", "jsno"], "did you mean json?"),
            (["tools"], "crab tools needs a command: list, show"),
            (["call"], "tool is required"),
            (["call", "x", "--timeout", "soon"], "has to be a duration"),
            (["help", "cal"], "did you mean call?"),
        ):
            done = self.crab(*arguments)
            self.assertEqual((done.returncode, done.stdout), (2, ""), arguments)
            self.assertIn(expected, done.stderr)

    def test_completion_scripts_are_valid_and_know_tools(self):
        bash = self.crab("completion", "bash").stdout
        script = self.write("crab.bash", bash)
        self.assertEqual(subprocess.run(["bash", "-n", script]).returncode, 0)
        self.gateway.answer("GET", "/v1/admin/tools?view=brief&limit=1000", TOOLS)
        self.gateway.answer(
            "GET",
            "/v1/admin/devices",
            {"devices": [{"device": "phone"}, {"device": "bad`name"}], "callers": []},
        )

        def complete(*words):
            line = " ".join(f"'{word}'" for word in words)
            program = (
                f"crab() {{ '{CRAB}' \"$@\"; }}; source '{script}'; COMP_WORDS=({line}); "
                f"COMP_CWORD={len(words) - 1}; _crab; echo \"${{COMPREPLY[@]}}\""
            )
            return subprocess.run(
                ["bash", "-c", program],
                env=self.environment,
                capture_output=True,
                text=True,
                timeout=60,
            ).stdout.split()

        self.assertEqual(complete("crab", "cal"), ["call", "calls"])
        self.assertEqual(complete("crab", "devices", "re"), ["rename", "revoke"])
        self.assertEqual(complete("crab", "call", "sm"), ["sms.send"])
        self.assertEqual(complete("crab", "tools", "show", "d"), ["dice.roll"])
        self.assertEqual(complete("crab", "devices", "revoke", "p"), ["phone"])
        self.assertEqual(complete("crab", "doctor", "--device", ""), ["phone"])
        self.assertEqual(
            complete("crab", "doctor", "-o", ""), ["text", "json", "yaml", "jsonpath="]
        )
        self.assertEqual(complete("crab", "approvals", "deny", "--scope", "s"), ["session"])
        self.assertEqual(complete("crab", "peers", "pair", "t"), ["test", "tool"])
        self.assertIn("--idempotency-key", complete("crab", "call", "sms.send", "--"))
        self.assertIn("#compdef crab", self.crab("completion", "zsh").stdout)
        self.assertIn("complete -c crab", self.crab("completion", "fish").stdout)


class Tools(CliTest):
    def test_list_is_a_table_names_or_json(self):
        self.gateway.answer("GET", "/v1/admin/tools", TOOLS)
        table = self.crab("tools", "list").stdout
        self.assertRegex(
            table,
            r"TOOL +SOURCE +EFFECTS +DESCRIPTION\nsms.send +device/phone +yes +Send a text "
            r"message. Now.\n",
        )
        self.assertNotIn("\x1b", table)
        self.assertEqual(self.crab("tools", "list", "-o", "name").stdout, "sms.send\ndice.roll\n")
        self.assertEqual(json.loads(self.crab("tools", "list", "-o", "json").stdout), TOOLS)

    def test_colour_is_for_terminals_without_no_color_and_a_tool_cannot_colour_anything(self):
        self.gateway.answer("GET", "/v1/admin/tools", TOOLS)
        self.assertIn("\x1b[1m", self.on_terminal("tools", "list"))
        self.assertNotIn("\x1b[31m", self.on_terminal("tools", "list"))
        self.assertNotIn("\x1b", self.on_terminal("tools", "list", environment={"NO_COLOR": "1"}))
        self.assertNotIn("\x1b", self.on_terminal("tools", "list", environment={"TERM": "dumb"}))

    def test_show_tells_the_arguments(self):
        self.gateway.answer("GET", "/v1/admin/tools", TOOLS)
        text = self.crab("tools", "show", "phone__sms.send").stdout
        self.assertRegex(text, r"to +string +yes +Number")
        self.assertRegex(text, r"side effects +yes")
        done = self.crab("tools", "show", "sms.sned")
        self.assertEqual(done.returncode, 5)
        self.assertIn("did you mean sms.send?", done.stderr)

    def test_no_gateway_is_exit_code_3_with_what_to_do(self):
        done = self.crab("tools", "list", "--socket", self.folder + "/none.sock")
        self.assertEqual((done.returncode, done.stdout), (3, ""))
        self.assertIn("crab gateway run", done.stderr)


class Call(CliTest):
    def answer(self, answer, status=200):
        self.gateway.answer("POST", "/v1/tools/call", answer, status)

    def sent(self):
        return next(body for _, path, body in self.gateway.requests if path == "/v1/tools/call")

    def test_the_request_has_the_members_of_the_protocol(self):
        self.answer(response(result={}))
        self.assertEqual(
            self.crab(
                "call",
                "sms.send",
                '{"to":"1"}',
                "--arg",
                "n=3",
                "--arg",
                "text=hi",
                "--arg",
                "id:=\"7\"",
                "--arg",
                "to=+49",
                "--timeout",
                "1.5s",
                "--idempotency-key",
                "k",
            ).returncode,
            0,
        )
        body = self.sent()
        self.assertRegex(body.pop("call_id"), r"^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-")
        self.assertEqual(
            body,
            {
                "version": "v1",
                "tool_name": "sms.send",
                "tenant_id": "default",
                "timeout_ms": 1500,
                "idempotency_key": "k",
                "args": {"to": "+49", "n": 3, "text": "hi", "id": "7"},
                "context": {"agent_id": "cli", "session_id": "cli", "request_origin": "operator"},
            },
        )

    def test_arguments_come_from_files_and_standard_input(self):
        self.answer(response(result={}))
        path = self.write("args.json", '{"a": [1]}')
        for arguments, stdin in ((["@" + path], ""), (["-"], '{"a": [1]}')):
            self.gateway.requests.clear()
            self.assertEqual(self.crab("call", "t", *arguments, stdin=stdin).returncode, 0)
            self.assertEqual(self.sent()["args"], {"a": [1]})

    def test_bad_arguments_are_refused_before_anything_is_sent(self):
        for arguments in (["[1]"], ["{"], ["--arg", "novalue"], ["--arg", "a:={"], ["--arg", "=1"]):
            done = self.crab("call", "t", *arguments)
            self.assertEqual(done.returncode, 2, arguments)
        self.assertEqual(self.crab("call", "t", "@/nowhere").returncode, 5)
        self.assertEqual(self.gateway.requests, [])

    def test_text_is_printed_as_text_and_json_compact_in_a_pipe_and_pretty_on_a_terminal(self):
        self.answer(response(result={"text": "hello\n"}))
        self.assertEqual(self.crab("call", "t").stdout, "hello\n")
        self.answer(response(result={"n": [1, 2], "e": {}}))
        self.assertEqual(self.crab("call", "t").stdout, '{"n":[1,2],"e":{}}\n')
        self.assertEqual(
            self.on_terminal("call", "t").replace("\r", ""),
            '{\n  "n": [\n    1,\n    2\n  ],\n  "e": {}\n}\n',
        )
        self.answer(response(result={"text": "a\x1b]0;title\x07b"}))
        self.assertEqual(self.on_terminal("call", "t").strip(), "a\\x1b]0;title\\x07b")

    def test_json_output_is_the_whole_response_whatever_its_status(self):
        for answer, code in ((response(result={"a": 1}), 0), (failure("FORBIDDEN"), 4)):
            self.answer(answer)
            done = self.crab("call", "t", "-o", "json")
            self.assertEqual((json.loads(done.stdout), done.returncode), (answer, code))

    def test_every_failure_has_its_exit_code_and_says_what_to_do(self):
        for code, exit_code in (
            ("TOOL_FAILED", 1),
            ("INTERNAL", 1),
            ("RATE_LIMITED", 1),
            ("WHATEVER", 1),
            ("INVALID_ARGS", 2),
            ("DEPENDENCY_UNAVAILABLE", 3),
            ("UNAVAILABLE", 3),
            ("FORBIDDEN", 4),
            ("UNAUTHORIZED", 4),
            ("PAIRING_REQUIRED", 4),
            ("APPROVAL_REQUIRED", 4),
            ("TIMEOUT", 6),
            ("OUTCOME_UNKNOWN", 7),
        ):
            self.answer(failure(code, "the reason"))
            done = self.crab("call", "t")
            self.assertEqual((done.returncode, done.stdout), (exit_code, ""), code)
            self.assertIn(f"{code}: the reason", done.stderr)

    def test_validation_failures_list_pointer_rule_and_sentence(self):
        self.answer(
            failure(
                "INVALID_ARGS",
                "/limit: at most 100",
                details={
                    "errors": [
                        {"pointer": "/limit", "rule": "maximum", "message": "at most 100"},
                        {"pointer": "", "rule": "required", "message": "needs to"},
                    ]
                },
            )
        )
        done = self.crab("call", "t", "--arg", "limit=500")
        self.assertEqual(done.returncode, 2)
        self.assertIn("/limit  maximum  at most 100", done.stderr)
        self.assertIn("(arguments)  required  needs to", done.stderr)

    def test_no_sentence_is_said_twice_and_a_refusal_names_its_call(self):
        wrong = "/path: must be a string, not the number 7"
        self.answer(
            failure(
                "INVALID_ARGS",
                wrong,
                details={"errors": [{"pointer": "/path", "rule": "type", "message": wrong}]},
            )
        )
        done = self.crab("call", "t")
        self.assertEqual(done.stderr.count(wrong), 1, done.stderr)
        self.assertIn("crab: call c; crab calls show c tells more", done.stderr)
        self.answer(failure("INVALID_ARGS", "INVALID_ARGS: no such room"))
        done = self.crab("call", "t").stderr
        self.assertIn("crab: INVALID_ARGS: no such room\n", done)
        self.assertEqual(done.count("INVALID_ARGS"), 1)
        self.assertNotIn("JSON pointer", done)  # it named none
        self.answer(failure("FORBIDDEN", ""))
        self.assertIn("crab: FORBIDDEN\n", self.crab("call", "t").stderr)

    def test_hints_follow_the_cause_not_the_code(self):
        done = self.crab("call", "t", "@/nowhere").stderr
        self.assertIn("/nowhere", done)
        self.assertNotIn("others answer", done)
        self.assertNotIn("JSON pointer", self.crab("call", "t", "[1]").stderr)
        self.answer(failure("UNAVAILABLE", "device/phone is away"))
        self.assertNotIn("crab gateway run", self.crab("call", "t").stderr)

    def test_every_connection_error_names_the_address(self):
        for url in ("http://127.0.0.1:1", "https://127.0.0.1:1"):
            self.assertIn("127.0.0.1:1", self.crab("tools", "list", "--url", url).stderr)
        done = self.crab("device", "--gateway", "ws://127.0.0.1:1", "--token", "t", "--once")
        self.assertEqual(done.returncode, 3)
        self.assertIn("127.0.0.1:1", done.stderr)
        self.assertIn("127.0.0.1:1", self.crab("call", "t", "--url", "grpc://127.0.0.1:1").stderr)

    def test_an_unknown_tool_comes_with_the_name_that_was_meant(self):
        self.gateway.answer("GET", "/v1/admin/tools", TOOLS)
        self.answer(failure("TOOL_NOT_FOUND"))
        done = self.crab("call", "dice.rol")
        self.assertEqual(done.returncode, 5)
        self.assertIn("no tool named dice.rol; did you mean dice.roll?", done.stderr)

    def test_errors_below_the_call_are_told_by_their_own_code(self):
        self.answer({"error": "no token", "code": "UNAUTHENTICATED"}, 401)
        self.assertEqual(self.crab("call", "t").returncode, 4)
        self.answer(b"<html>", 200)
        self.assertEqual(self.crab("call", "t").returncode, 1)
        self.answer(failure("INVALID_ARGS", "too large"), 413)
        self.assertIn("too large", self.crab("call", "t").stderr)

    def test_a_stream_prints_its_frames_and_ends_with_the_result(self):
        self.answer(
            [
                ("progress", {"message": "half", "progress": 1, "total": 2}),
                (
                    "frame",
                    {"frame_no": 1, "final": False, "content_type": "text/plain", "data": "one "},
                ),
                (
                    "frame",
                    {
                        "frame_no": 2,
                        "final": True,
                        "content_type": "text/plain",
                        "data_base64": "dHdvCg==",
                    },
                ),
                ("result", response(result={"text": "one two\n"})),
            ]
        )
        done = self.crab("call", "t", "--stream")
        self.assertEqual((done.stdout, done.returncode), ("one two\n", 0))
        self.assertEqual(self.gateway.headers[-1]["Accept"], "text/event-stream")
        lines = [
            json.loads(line)
            for line in self.crab("call", "t", "--stream", "-o", "json").stdout.splitlines()
        ]
        self.assertEqual(
            [line["event"] for line in lines], ["progress", "frame", "frame", "result"]
        )

    def test_a_stream_that_ends_in_an_error_has_its_exit_code(self):
        self.answer(
            [
                (
                    "frame",
                    {"frame_no": 1, "final": False, "content_type": "text/plain", "data": "part"},
                ),
                ("result", failure("TIMEOUT", status="timeout")),
            ]
        )
        done = self.crab("call", "t", "--stream")
        self.assertEqual((done.stdout, done.returncode), ("part", 6))

    def test_a_refusal_instead_of_a_stream_is_told(self):
        self.answer({"error": "no token", "code": "UNAUTHENTICATED"}, 401)
        done = self.crab("call", "t", "--stream")
        self.assertEqual(done.returncode, 4)
        self.assertIn("no token", done.stderr)

    def test_a_url_reaches_a_public_listener_with_a_token_below_its_prefix(self):
        self.gateway.answer("POST", "/crab/v1/tools/call", response(result={"text": "far"}))
        self.gateway.answer(
            "GET", "/crab/v1/tools", {"version": "v1", "service": "crab", "tools": TOOLS["tools"]}
        )
        for arguments, environment in ((["--token", "secret"], {}), ([], {"CRAB_TOKEN": "secret"})):
            done = self.crab(
                "call",
                "t",
                "--url",
                self.gateway.url + "/crab/",
                *arguments,
                environment=environment,
            )
            self.assertEqual((done.stdout, done.returncode), ("far", 0), done.stderr)
            self.assertEqual(self.gateway.headers[-1]["Authorization"], "Bearer secret")
        self.assertEqual(
            self.crab("tools", "list", "--url", self.gateway.url + "/crab", "-o", "name").stdout,
            "sms.send\ndice.roll\n",
        )
        for url in ("ftp://x", "http://", "127.0.0.1:1", "http://a b"):
            self.assertEqual(self.crab("tools", "list", "--url", url).returncode, 2, url)

    def test_the_token_is_not_sent_to_the_admin_socket_and_never_shown(self):
        self.answer(response(result={}))
        self.crab("call", "t", environment={"CRAB_TOKEN": "secret"})
        self.assertNotIn("Authorization", self.gateway.headers[-1])
        self.assertNotIn(
            "secret", self.crab("call", "--help", environment={"CRAB_TOKEN": "secret"}).stdout
        )

    def test_ctrl_c_cancels_the_call_at_the_gateway(self):
        self.gateway.answer(
            "POST", "/v1/tools/cancel", {"version": "v1", "call_id": "c", "status": "cancelling"}
        )

        def hang(_):
            self.gateway.wait_for("/v1/tools/cancel")
            return failure("CANCELLED")

        self.answer(hang)
        process = subprocess.Popen(
            [CRAB, "call", "t", "--call-id", "c-9"],
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self.gateway.wait_for("/v1/tools/call")
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130)
        self.assertEqual(
            self.gateway.wait_for("/v1/tools/cancel"),
            {"version": "v1", "tenant_id": "default", "call_id": "c-9", "reason": "cancelled"},
        )


RECORD = {
    "call_id": "c-1",
    "time": "2026-11-21T09:30:00.250Z",
    "front": "http",
    "principal": "caller/ci",
    "proof": "bearer_token",
    "tenant": "harbour",
    "tool": "sms.send",
    "source": "device/phone",
    "rule": "policy[2]",
    "decision": "allow",
    "hooks": [{"hook": "ask", "answer": "proceed", "us": 12000}],
    "attempts": [
        {"us": 50000, "status": "retryable_error", "code": "UNAVAILABLE"},
        {"us": 20500, "status": "ok"},
    ],
    "status": "ok",
    "replayed": False,
    "args_bytes": 180,
    "result_bytes": 2500,
    "duration_us": 90123,
    "timeline": {"resolved_us": 10, "authorized_us": 25, "finished_us": 90123},
}


class Calls(CliTest):
    def test_explain_tells_who_which_rule_hooks_attempts_and_times(self):
        self.gateway.answer("GET", "/v1/admin/calls/c-1", RECORD)
        text = self.crab("calls", "show", "c-1").stdout
        for expected in (
            "caller/ci, proven by bearer_token, through http, tenant harbour",
            "allow, by rule policy[2]",
            "ask answered proceed after 12.0 ms",
            "1: retryable_error UNAVAILABLE after 50.0 ms",
            "2: ok after 20.5 ms",
            "90.1 ms",
            "arguments 180 B, result 2.5 kB",
            "resolved",
            "+15 µs",
        ):
            self.assertIn(expected, text)
        for absent in ("client", "upstream", "asked"):
            self.assertNotIn(absent, text)
        self.assertEqual(json.loads(self.crab("calls", "show", "c-1", "-o", "json").stdout), RECORD)
        done = self.crab("calls", "show", "other")
        self.assertEqual((done.returncode, done.stdout), (5, ""))

    def test_explain_tells_the_programs_at_both_ends(self):
        hostile = "dash\x1b[2Jboard"
        record = RECORD | {
            "client": {
                "name": hostile,
                "version": "1.2",
                "revision": "2025-11-25",
                "era": "legacy",
            },
            "upstream": {"tool": "read_file", "revision": "2026-07-28", "era": "modern"},
            "input_rounds": 2,
        }
        self.gateway.answer("GET", "/v1/admin/calls/c-1", record)
        text = self.crab("calls", "show", "c-1").stdout
        self.assertRegex(
            text, r"client +dash.*board, version 1\.2, protocol 2025-11-25 \(legacy\), by its own"
        )
        self.assertRegex(text, r"upstream +read_file, protocol 2026-07-28 \(modern\)\n")
        self.assertRegex(text, r"asked +its caller, 2 times\n")
        self.assertNotIn("\x1b", text)
        record["upstream"] = {"tool": "read_file"}
        record["client"] = {"name": "", "revision": "2026-07-28", "era": "modern"}
        self.gateway.answer("GET", "/v1/admin/calls/c-1", record)
        text = self.crab("calls", "show", "c-1").stdout
        self.assertRegex(text, r"client +without a name, protocol 2026-07-28 \(modern\)")
        self.assertRegex(text, r"upstream +read_file, not reached\n")

    def test_list_shows_running_and_recent_calls(self):
        self.gateway.answer(
            "GET",
            "/v1/admin/calls?limit=5",
            {
                "recent": [RECORD],
                "running": [
                    {
                        "call_id": "c-2",
                        "tool": "dice.roll",
                        "principal": "local/0",
                        "stage": "dispatched",
                        "started_at": "2026-11-21T09:30:00Z",
                        "elapsed_ms": 1500,
                    }
                ],
            },
        )
        text = self.crab("calls", "list", "--limit", "5").stdout
        self.assertRegex(
            text,
            r"c-2 +dice.roll +local/0 +1.5 s +running: dispatched\nc-1 +sms.send +caller/ci +90.1 "
            r"ms +ok\n",
        )

    def test_top_is_one_table_without_a_terminal(self):
        row = {
            "key": "sms.send",
            "calls": 200,
            "errors": 3,
            "p50_us": 1500,
            "p95_us": 20000,
            "p99_us": 90100,
            "stage_us": {"authorized": 10, "answered": 1400},
            "slowest": "c-7",
            "slowest_us": 99000,
        }
        path = "/v1/admin/stats?by=principal&window=60s&limit=1000"
        answer = {"window_minutes": 1, "rows": [row, {**row, "key": "b"}], "left_out": 0}
        self.gateway.answer("GET", path, answer)
        self.gateway.answer("GET", "/v1/admin/status", {"running_calls": 4})
        words = ("top", "--by", "principal", "--window", "1m")
        self.assertRegex(
            self.crab(*words, "--rows", "1").stdout,
            r"\Alast 1m 0s: 400 calls, 6.7/s, failed 1.5 %; running now: 4\n\n"
            r"PRINCIPAL .*\nsms.send +200 +1.5 % +1.5 ms +20.0 ms +90.1 ms +answered +c-7\n"
            r"and 1 more\n\Z",
        )
        self.assertEqual(json.loads(self.crab(*words, "-o", "json").stdout), answer)

    def test_cancel_says_what_it_did(self):
        self.gateway.answer("POST", "/v1/admin/calls/a%2Fb/cancel", {"status": "cancelling"})
        self.gateway.answer("POST", "/v1/admin/calls/c-2/cancel", {"status": "not_found"})
        self.assertEqual(self.crab("calls", "cancel", "a/b").stdout, "cancelling a/b\n")
        self.assertEqual(self.crab("calls", "cancel", "c-2").returncode, 5)


class Devices(CliTest):
    def test_pair_prints_the_code_and_how_to_use_it(self):
        self.gateway.answer(
            "POST",
            "/v1/admin/devices/pair",
            {
                "code": "482913",
                "expires_at": "2026-11-21T10:00:00Z",
                "roles": ["device"],
                "gateway": "wss://crab.local:8443/home",
                "only_here": False,
                "ca_file": "/var/lib/my crab/ca.pem",
            },
        )
        text = self.crab("devices", "pair", "--name", "Ann's phone").stdout
        self.assertIn(
            "  crab devices run --pair 482913 --gateway wss://crab.local:8443/home --ca-file "
            "'/var/lib/my crab/ca.pem' --name 'Ann'\\''s phone'\n",
            text,
        )
        self.assertIn("--role device,caller", text)  # what the role gives is said where it is given
        self.assertEqual(self.gateway.wait_for("/v1/admin/devices/pair"), {"name": "Ann's phone"})

    def test_a_token_goes_into_a_new_file_of_ones_own(self):
        self.gateway.answer(
            "POST",
            "/v1/admin/devices/pair",
            {
                "token": "ab" * 32,
                "device": "ci",
                "token_id": "t1",
                "roles": ["caller"],
                "gateway": "wss://crab.local:8443",
                "only_here": False,
                "ca_file": "/ca.pem",
            },
        )
        done = self.crab("devices", "pair", "--out", "ci.token", "--name", "ci", "--role", "caller")
        path = Path(self.folder) / "ci.token"
        self.assertEqual(
            (done.returncode, path.read_text(), path.stat().st_mode & 0o777),
            (0, "ab" * 32 + "\n", 0o600),
            done.stderr,
        )
        self.assertNotIn("ab" * 32, done.stdout + done.stderr)
        self.assertIn(
            'curl --cacert /ca.pem -H "Authorization: Bearer $(cat ci.token)" '
            'https://crab.local:8443/v1/tools',
            done.stdout,
        )
        self.assertTrue(self.gateway.wait_for("/v1/admin/devices/pair")["token"])
        for name in (
            "ci.token",
            "link",
        ):  # neither what is there nor what a link points to is written
            if name == "link":
                os.symlink(os.path.join(self.folder, "elsewhere"), os.path.join(self.folder, name))
            again = self.crab("devices", "pair", "--out", name, "--name", "ci")
            self.assertNotEqual(again.returncode, 0)
            self.assertIn("is there already", again.stderr)
        self.assertFalse(os.path.exists(os.path.join(self.folder, "elsewhere")))
        self.gateway.answer(
            "POST", "/v1/admin/devices/pair", {"error": "no", "code": "INVALID_ARGS"}, 400
        )
        self.assertEqual(
            self.crab("devices", "pair", "--out", "other", "--name", "ci").returncode, 2
        )
        self.assertFalse(os.path.exists(os.path.join(self.folder, "other")))

    def test_callers_are_listed_as_tokens_not_as_devices(self):
        token = {
            "id": "t7",
            "roles": ["caller"],
            "created_at": "2026-01-01T00:00:00Z",
            "revoked": False,
        }
        self.gateway.answer(
            "GET",
            "/v1/admin/devices",
            {
                "devices": [],
                "callers": [
                    {"caller": "ci", "name": "ci", "principal": "caller/ci", "tokens": [token]}
                ],
            },
        )
        text = self.crab("devices", "list").stdout
        self.assertIn("No devices yet", text)
        self.assertIn("crab tokens list", text)
        self.assertRegex(self.crab("tokens", "list").stdout, r"(?m)^t7 +caller/ci +caller +2026")

    def test_pair_shows_the_page_as_a_qr_code(self):
        self.gateway.answer(
            "POST",
            "/v1/admin/devices/pair",
            {
                "code": "1234-5678-9012",
                "expires_at": "2026-11-21T10:00:00Z",
                "page": "https://crab.local:42617/device/#pair=1234-5678-9012",
            },
        )
        text = self.crab("devices", "pair", "--qr").stdout
        self.assertIn(
            "or open https://crab.local:42617/device/#pair=1234-5678-9012 in its browser", text
        )
        picture = [line for line in text.splitlines() if set(line) <= set("█▀▄ ") and line]
        self.assertEqual({len(line) for line in picture}, {33 + 8})  # version 4 with its quiet zone
        other = self.crab(
            "devices", "pair", "--qr", "--page", "https://home.example/device/"
        ).stdout
        self.assertIn("https://home.example/device/#pair=1234-5678-9012", other)

    def test_config_show_tells_keys_and_no_secret(self):
        entries = [
            {
                "key": "listen.public",
                "value": "127.0.0.1:42617",
                "default": "127.0.0.1:42617",
                "restart": True,
                "secret": False,
            },
            {
                "key": "calls.max_retries",
                "value": 5,
                "default": 2,
                "line": 9,
                "restart": False,
                "secret": False,
            },
            {"key": "mcp.servers.x.args", "line": 12, "restart": False, "secret": True},
        ]
        path = "/etc/crab/gateway.yaml"
        config = {"path": path, "loaded_at": "2026-11-21T10:00:00Z", "entries": entries}
        self.gateway.answer("GET", "/v1/admin/config", config)
        lines = self.crab("config", "show").stdout.splitlines()
        self.assertRegex(lines[1], r"^listen\.public +127\.0\.0\.1:42617 +restart$")
        self.assertRegex(lines[2], r"^calls\.max_retries +5 +2 +9")
        self.assertRegex(lines[3], r"^mcp\.servers\.x\.args +\(a secret\) +12")
        changed = self.crab("config", "show", "--changed").stdout
        self.assertNotIn("listen.public", changed)
        self.assertIn("calls.max_retries", changed)
        self.assertEqual(self.crab("config", "path").stdout, path + "\n")

    def test_pair_draws_no_code_for_an_address_that_nobody_else_reaches(self):
        page = "http://127.0.0.1:42617/device/#pair=1234-5678-9012"
        self.gateway.answer(
            "POST",
            "/v1/admin/devices/pair",
            {
                "id": "5c",
                "code": "1234-5678-9012",
                "expires_at": "2026-11-21T10:00:00Z",
                "page": page,
                "pages": [{"url": page, "reach": "loopback", "tls": False, "qr": []}],
            },
        )
        done = self.crab("devices", "pair", "--qr")
        self.assertEqual(done.returncode, 0)
        self.assertIn("crab tls init", done.stderr)
        self.assertIn("1234-5678-9012", done.stdout)
        self.assertNotIn("█", done.stdout)

    def test_pair_with_token_prints_the_token_and_nothing_else(self):
        self.gateway.answer(
            "POST",
            "/v1/admin/devices/pair",
            {
                "token": "crab_t",
                "device": "x",
                "token_id": "t1",
                "expires_at": "2026-12-21T10:00:00Z",
            },
        )
        done = self.crab(
            "devices",
            "pair",
            "--token",
            "--name",
            "X",
            "--role",
            "device,caller",
            "--expires",
            "30d",
        )
        self.assertEqual((done.stdout, done.stderr), ("crab_t\n", ""))
        self.assertEqual(
            self.gateway.wait_for("/v1/admin/devices/pair"),
            {"name": "X", "roles": ["device", "caller"], "expires_in_s": 2592000, "token": True},
        )

    def test_list_and_revoke(self):
        self.gateway.answer(
            "GET",
            "/v1/admin/devices",
            {
                "devices": [
                    {
                        "device": "phone",
                        "name": "My phone",
                        "principal": "device/phone",
                        "connected": True,
                        "connections": 1,
                        "tools": 4,
                        "tokens": [
                            {
                                "id": "t1",
                                "roles": ["device"],
                                "created_at": "2026-01-01T00:00:00Z",
                                "expires_at": "2027-01-01T00:00:00Z",
                                "revoked": False,
                            }
                        ],
                    }
                ]
            },
        )
        self.assertRegex(
            self.crab("devices", "list").stdout,
            r"phone +My phone +connected +4 +t1 \(device, until 2027-01-01\)",
        )
        self.gateway.answer(
            "POST",
            "/v1/admin/devices/revoke",
            lambda body: {"revoked": 2 if body == {"device": "phone"} else 0},
        )
        self.assertEqual(self.crab("devices", "revoke", "phone").stdout, "revoked 2 tokens\n")
        self.assertEqual(self.crab("tokens", "revoke", "t9").returncode, 5)
        self.assertEqual(self.crab("devices", "revoke").returncode, 2)


class Approvals(CliTest):
    QUESTION = {
        "id": "5f0c9a3be214",
        "state": "pending",
        "principal": "caller/ci",
        "tool": "phone__sms",
        "rule": "policy[0]",
        "privilege_level": "MINIMAL",
        "network_policy": "DENY_ALL",
        "args": "{\"to\":\"Bob\"}",
    }

    def test_those_that_wait_are_listed_and_with_all_the_others(self):
        over = {
            **self.QUESTION,
            "id": "aaaaaaaaaaaa",
            "state": "denied",
            "decided_by": "local/0",
            "scope": "always",
        }
        self.gateway.answer(
            "GET", "/v1/admin/approvals", {"watchers": 0, "approvals": [over, self.QUESTION]}
        )
        rows = self.crab("approvals", "list").stdout.splitlines()
        self.assertEqual([row.split()[0] for row in rows], ["APPROVAL", "5f0c9a3be214"])
        self.assertIn("denied by local/0 (always)", self.crab("approvals", "list", "--all").stdout)

    def test_the_list_and_its_json_say_the_same(self):
        over = {
            **self.QUESTION,
            "id": "aaaaaaaaaaaa",
            "state": "denied",
            "decided_by": "local/0",
            "scope": "always",
        }
        waits = {
            **self.QUESTION,
            "until": "2026-11-22T10:00:00Z",
            "worktree": "garden/main",
            "session": "s-7",
        }
        self.gateway.answer(
            "GET", "/v1/admin/approvals", {"watchers": 0, "approvals": [over, waits]}
        )
        row = self.crab("approvals", "list").stdout.splitlines()[1]
        for value in (
            waits[key]
            for key in (
                "id",
                "state",
                "until",
                "principal",
                "tool",
                "rule",
                "privilege_level",
                "network_policy",
                "worktree",
                "session",
            )
        ):
            self.assertIn(value, row)
        self.assertEqual(
            json.loads(self.crab("approvals", "list", "-o", "json").stdout),
            {"watchers": 0, "approvals": [waits]},
        )
        self.assertEqual(
            json.loads(self.crab("approvals", "list", "--all", "-o", "json").stdout)["approvals"],
            [over, waits],
        )

    def test_a_decision_is_sent_with_its_scope(self):
        for words, sent in (
            (["allow"], ("allow", "once")),
            (["allow", "--scope", "session"], ("allow", "session")),
            (["deny", "--scope=always"], ("deny", "always")),
        ):
            self.gateway.answer(
                "POST",
                "/v1/admin/approvals/5f0c9a3be214",
                {**self.QUESTION, "state": "allowed", "scope": sent[1]},
            )
            done = self.crab("approvals", words[0], "5f0c9a3be214", *words[1:])
            self.assertEqual(
                (done.returncode, done.stdout), (0, f"allowed phone__sms of caller/ci, {sent[1]}\n")
            )
        self.assertNotEqual(
            self.crab("approvals", "allow", "5f0c9a3be214", "--once", "--always").returncode, 0
        )

    def test_remembered_decisions_are_listed_and_forgotten(self):
        held = {**self.QUESTION, "decision": "allow", "scope": "always", "decided_by": "local/0"}
        self.gateway.answer("GET", "/v1/admin/approvals/remembered", {"remembered": [held]})
        self.assertIn("allow", self.crab("approvals", "remembered").stdout)
        self.gateway.answer("DELETE", "/v1/admin/approvals/remembered/5f0c9a3be214", held)
        self.assertEqual(
            self.crab("approvals", "forget", "5f0c9a3be214").stdout,
            "forgot: allow phone__sms for caller/ci\n",
        )


class Leases(CliTest):
    LEASE = {
        "lease_id": "l1",
        "owner_component_type": "subscriber",
        "owner_component_id": "log",
        "tenant_id": "harbour",
        "agent_id": "a",
        "session_id": "s",
        "capabilities_json": ["events.subscribe:cron.*"],
        "disconnect_bound": True,
        "issued_at": "2026-11-21T09:30:00.250Z",
        "expires_at": "2026-11-21T10:30:00.250Z",
    }

    def test_list_and_revoke(self):
        self.gateway.answer("GET", "/v1/leases", {"leases": [self.LEASE]})
        row = self.crab("leases", "list").stdout.splitlines()[1].split()
        self.assertEqual(
            row,
            [
                "l1",
                "subscriber/log",
                "harbour",
                "a",
                "s",
                "2026-11-21T10:30:00.250Z",
                "yes",
                "events.subscribe:cron.*",
            ],
        )
        self.assertEqual(
            json.loads(self.crab("leases", "list", "-o", "json").stdout)["leases"], [self.LEASE]
        )
        self.gateway.answer("DELETE", "/v1/leases/l1", self.LEASE)
        self.assertEqual(
            self.crab("leases", "revoke", "l1").stdout, "revoked l1 of subscriber/log\n"
        )

    def test_worktrees_are_bound_listed_and_unbound(self):
        self.gateway.answer(
            "POST",
            "/v1/admin/worktrees/bind?who=caller%2Fci&worktree=garden%2Fmain",
            {"who": "caller/ci", "worktree": "garden/main"},
        )
        self.assertIn(
            "caller/ci works in garden/main",
            self.crab("worktrees", "bind", "caller/ci", "garden/main").stdout,
        )
        self.gateway.answer(
            "GET",
            "/v1/admin/worktrees",
            {
                "worktrees": [{"id": "garden/main", "path": "/srv/garden", "read_only": True}],
                "bindings": [{"who": "caller/ci", "worktree": "garden/main"}],
            },
        )
        done = self.crab("worktrees", "list")
        self.assertRegex(done.stdout, r"garden/main +/srv/garden +caller/ci")
        self.gateway.answer(
            "POST",
            "/v1/admin/worktrees/unbind?who=caller%2Fci",
            {"who": "caller/ci", "worktree": ""},
        )
        self.assertIn("bound no longer", self.crab("worktrees", "unbind", "caller/ci").stdout)

    def test_agents_and_the_turns_that_events_started_are_listed_and_shown(self):
        turn = {
            "turn_id": "t1",
            "agent": "butler",
            "event_id": "e1",
            "event_type": "cron.triggered",
            "session_id": "agent-butler-t1",
            "begun_at": "2026-11-21T18:00:00Z",
            "end": "answer",
        }
        self.gateway.answer(
            "GET",
            "/v1/admin/agents",
            {
                "turns": [turn],
                "agents": [
                    {
                        "name": "crab",
                        "tenant": "default",
                        "models": ["local"],
                        "events": [],
                        "tools": {"allow": [], "deny": []},
                    },
                    {
                        "name": "butler",
                        "tenant": "home",
                        "models": ["local", "far"],
                        "events": ["cron.triggered"],
                        "tools": {"allow": ["lights_*"], "deny": ["lights_disco"]},
                    },
                ],
            },
        )
        listed = self.crab("agents", "list").stdout
        self.assertRegex(listed, r"crab +default +local +all")
        self.assertRegex(
            listed, r"butler +home +local far +cron.triggered +lights_\* but lights_disco"
        )
        self.assertRegex(
            self.crab("agents", "turns").stdout,
            r"t1 +butler +cron.triggered +2026-11-21T18:00:00Z +answer +agent-butler-t1",
        )
        self.gateway.answer(
            "GET",
            "/v1/admin/agents/turns/t1",
            {
                "turn": turn,
                "messages": [
                    {"role": "user", "content": "It is evening."},
                    {"role": "assistant", "content": "Lit.\x1b[31m"},
                ],
            },
        )
        shown = self.crab("agents", "show", "t1").stdout
        self.assertIn("user\nIt is evening.\n", shown)
        self.assertNotIn("\x1b", shown)

    def test_the_cost_of_tools_is_told_with_what_a_model_would_be_given(self):
        cost = {
            "agent": "butler",
            "searched": True,
            "visible": 2,
            "visible_tokens": 900,
            "offered_tokens": 150,
            "max_tools": 128,
            "max_tokens": 500,
            "tools": [
                {"name": "small", "tokens": 100, "offered": True},
                {"name": "large", "tokens": 800, "offered": False},
            ],
        }
        self.gateway.answer("GET", "/v1/admin/agents/tools?agent=butler", cost)
        lines = self.crab("tools", "cost", "--agent", "butler").stdout.splitlines()
        self.assertEqual(
            [line.split() for line in lines[1:3]], [["800", "large"], ["100", "yes", "small"]]
        )
        self.assertIn("may call 2 tools, about 900 tokens", lines[-2])
        self.assertIn("find_tools", lines[-1])
        self.gateway.answer(
            "GET", "/v1/admin/agents/tools?agent=crab", {**cost, "agent": "crab", "searched": False}
        )
        self.assertIn("The model gets all of them.", self.crab("tools", "cost").stdout)

    def test_policy_test_asks_the_gateway_and_shows_what_each_rule_says(self):
        steps = [
            {
                "rule": "policy[0].call.deny",
                "line": 4,
                "effect": "deny",
                "matched": False,
                "because": "it does not name camera",
            },
            {
                "rule": "policy[1].call.needs_approval: cam*",
                "line": 7,
                "effect": "needs_approval",
                "matched": True,
                "because": "it names camera",
            },
        ]
        self.gateway.answer(
            "POST",
            "/v1/admin/policy/explain",
            {
                "verdict": "needs_approval",
                "rule": "policy[1].call.needs_approval: cam*",
                "steps": steps,
                "then": [{"check": "rate", "ok": True, "text": "12 calls are left at once"}],
            },
        )
        words = ["--as", "caller/ci", "call", "camera", "--args", '{"zoom":2}', "--role", "caller"]
        done = self.crab("policy", "test", "--trace", *words)
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertEqual(
            self.gateway.requests[-1][2],
            {
                "as": "caller/ci",
                "question": "call camera",
                "roles": ["caller"],
                "args": {"zoom": 2},
            },
        )
        lines = done.stdout.splitlines()
        self.assertEqual(
            lines[0], "needs_approval, by rule policy[1].call.needs_approval: cam*", done.stdout
        )
        self.assertRegex(lines[3], r"^\* +policy\[1\]\.call\.needs_approval: cam\* +7 ")
        self.assertEqual(lines[-1], "then rate: 12 calls are left at once")

    def test_policy_test_under_a_lease_asks_the_gateway(self):
        self.gateway.answer(
            "GET",
            "/v1/admin/policy?as=subscriber%2Flog&action=events.subscribe%3Acron.triggered"
            "&tenant=other&lease=l1",
            {"verdict": "deny", "rule": "lease l1: it is for tenant harbour"},
        )
        done = self.crab(
            "policy",
            "test",
            "--as",
            "subscriber/log",
            "events.subscribe:cron.triggered",
            "--tenant",
            "other",
            "--lease",
            "l1",
        )
        self.assertEqual(
            (done.returncode, done.stdout),
            (4, "deny, by rule lease l1: it is for tenant harbour\n"),
        )


class Checks(CliTest):
    def test_gateway_check_reports_every_problem_with_its_line(self):
        path = self.write("gateway.yaml", "gateway:\n  nam: x\n  threads: many\n")
        done = self.crab("gateway", "check", "--config", path)
        self.assertEqual(done.returncode, 1)
        self.assertEqual(
            done.stderr,
            f"{path}:2: gateway.nam: unknown key; did you mean name?\n{path}:3: gateway.threads: "
            f"has to be a whole number\n",
        )
        answer = json.loads(self.crab("gateway", "check", "--config", path, "-o", "json").stdout)
        self.assertEqual(
            [error["key"] for error in answer["errors"]], ["gateway.nam", "gateway.threads"]
        )
        good = self.write("good.yaml", "gateway: {name: x}\n")
        self.assertEqual(
            self.crab("gateway", "check", "--config", good).stdout,
            f"{good}: valid\na restart is needed for: gateway.name\n",
        )
        self.assertEqual(
            json.loads(self.crab("gateway", "check", "--schema").stdout)["title"],
            "crab gateway configuration",
        )

    def test_a_missing_configuration_file_is_a_usage_error_that_names_it(self):
        for command in (
            ("gateway", "run"),
            ("gateway", "check"),
            ("gateway", "check", "-o", "json"),
            ("doctor",),
            ("devices", "list"),
            ("audit", "verify"),
            ("policy", "test", "--as", "caller/ci", "call", "x"),
        ):
            done = self.crab(*command, "--config", "/nonexistent/gateway.yaml")
            self.assertEqual(done.returncode, 2, (command, done.stderr))
            self.assertEqual(
                (done.stdout + done.stderr).count("/nonexistent/gateway.yaml"),
                1,
                (command, done.stdout, done.stderr),
            )

    def test_configuration_errors_speak_in_examples(self):
        path = self.write(
            "gateway.yaml",
            "leases: {ttl: soon}\nlisten: {public: here}\nagents: [{name: a, models: []}]\n",
        )
        errors = self.crab("gateway", "check", "--config", path).stderr
        self.assertIn("leases.ttl: has to be a duration such as 500ms", errors)
        self.assertIn(
            "listen.public: has to be an address with a port such as 127.0.0.1:42617", errors
        )
        self.assertNotIn("^", errors)

    def assert_found(self, text, said):
        """`gateway check` refuses this configuration, and says each of these words."""
        path = self.write("around.yaml", text + "\n")
        done = self.crab("gateway", "check", "--config", path)
        self.assertEqual(done.returncode, 1, (text, done.stderr))
        for word in said:
            self.assertIn(word, done.stderr, text)
        as_json = self.crab("gateway", "check", "--config", path, "-o", "json").stdout
        self.assertFalse(json.loads(as_json)["valid"])

    def test_gateway_check_opens_what_the_gateway_opens(self):
        plain = self.write("no-socket", "")
        key = self.write("key.pem", "")
        for text, said in (
            (
                "listen: {tls: {cert: /nonexistent/cert.pem, key: /nonexistent/key.pem}}",
                ["listen.tls", "/nonexistent/cert.pem"],
            ),
            (f"listen: {{tls: {{cert: {key}, key: {key}}}}}", ["listen.tls", key]),
            (
                "grpc: {listen: '127.0.0.1:0', tls: {cert: /nonexistent/c, key: /nonexistent/k}}",
                ["grpc.tls", "/nonexistent/c"],
            ),
            (
                "mcp:\n  servers:\n    a:\n      url: https://x.example\n"
                "      tls: {ca: /nonexistent/ca}\n      auth: {client_credentials: "
                "{issuer: 'https://i', client_id: c,\n          key_file: /nonexistent/key}}",
                [
                    ":5: mcp.servers.a.tls.ca: /nonexistent/ca cannot",
                    ":7: mcp.servers.a.auth.client_credentials.key_file: /nonexistent/key cannot",
                ],
            ),
            (
                "hooks: [{name: night, type: command, run: [/nonexistent/hook]}]",
                ["hooks: night: /nonexistent/hook is not a program"],
            ),
            (
                "hooks: [{name: night, type: command, run: [no-such-program-here]}]",
                ["hooks[0].run[0]: has to be the absolute path of a program"],
            ),
            (f"hosts: [{{name: dice, unix: {plain}}}]", [f"hosts: dice: {plain} is not a socket"]),
            ("worktrees: [{id: a/b, path: /nonexistent/tree}]", ["a/b", "/nonexistent/tree"]),
            (
                f"gateway: {{state_dir: {plain}}}",
                [f"the state directory {plain} is not a directory"],
            ),
        ):
            self.assert_found(text, said)

    def test_gateway_check_names_principals_that_cannot_be(self):
        for text, said in (
            (
                "policy: [{principal: 'caler/*', call: {deny: ['*']}}]",
                ["policy[0].principal", "did you mean caller/*?"],
            ),
            (
                "policy: [{principal: ci, call: {deny: ['*']}}]",
                ["no principal is called ci; write caller/ci"],
            ),
            (
                "policy: [{principal: 'caler*', call: {deny: ['*']}}]",
                ["no principal is called caler*; ids begin with caller/"],
            ),
            (
                "policy: [{principal: caller/CI, call: {deny: ['*']}}]",
                ["no principal is called caller/CI", "a token named CI is caller/ci"],
            ),
            (
                "policy: [{principal: 'device/Kitchen *', call: {deny: ['*']}}]",
                ["no principal is called device/Kitchen *"],
            ),
            ("policy: [{principal: device/}]", ["no principal is called device/; ids begin with"]),
            (
                "rates: [{principal: 'devise/*', per_second: 1}]",
                ["rates[0].principal", "did you mean device/*?"],
            ),
        ):
            self.assert_found(text, said)

    def test_gateway_check_tells_of_everything_around_the_file_at_once(self):
        several = self.write(
            "several.yaml",
            "policy: [{principal: 'caler/*'}]\nhooks: [{name: night, type: command, run: "
            "[/nonexistent/hook]}]\n",
        )
        self.assertEqual(
            len(self.crab("gateway", "check", "--config", several).stderr.splitlines()),
            2,
            "all at once",
        )

    def test_without_a_file_there_is_nothing_wrong_and_servers_get_their_sandbox(self):
        done = self.crab("gateway", "check")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("the defaults", done.stdout)
        process = subprocess.Popen(
            [CRAB, "gateway", "run"],
            env={**self.environment, "XDG_RUNTIME_DIR": tempfile.mkdtemp(dir=self.folder)},
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.addCleanup(process.wait, 60)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.terminate)
        socket = process.stdout.readline().strip().partition(" admin=")[2]
        words = ["mcp", "add", "box", "--socket", socket, "--sandbox", "--", "/bin/cat"]
        done = self.crab(*words)
        self.assertNotIn("INTERNAL", done.stderr)
        if done.returncode != 0:  # this machine has no sandbox
            self.assertIn("mcp.servers.box.sandbox", done.stderr)

    def test_gateway_check_takes_what_is_good_and_warns_of_what_may_come(self):
        good = self.write(
            "good.yaml",
            "policy: [{principal: '*'}, {principal: 'c*'}, {principal: 'agent/butler'}, "
            "{principal: 'tool_*/x'}, {principal: 'local/1000'}, {principal: 'oauth/login/*'}]\n"
            f"hosts: [{{name: dice, unix: {self.folder}/not-yet.sock}}]\n",
        )
        done = self.crab("gateway", "check", "--config", good)
        self.assertEqual(
            (done.returncode, done.stdout),
            (
                0,
                f"{good}: valid\na reload applies: policy\na restart is needed for: hosts\n",
            ),
            done.stderr,
        )
        self.assertIn("warning: hosts: dice: nothing is at", done.stderr)
        self.assertIn("warning: policy[2].principal: no agent is called butler", done.stderr)

    def test_gateway_check_says_when_a_helper_is_missing(self):
        alone = os.path.join(self.folder, "bin/crab")
        os.mkdir(os.path.dirname(alone))
        shutil.copy(CRAB, alone)  # without crab-sandbox-init beside it
        path = self.write(
            "commands.yaml",
            "providers: [{id: shell, kind: command, tools: [{name: date, argv: [/bin/date]}]}]\n",
        )
        if os.path.exists("/usr/libexec/crab/crab-sandbox-init"):
            self.skipTest("it is installed")
        done = subprocess.run(
            [alone, "gateway", "check", "--config", path],
            capture_output=True,
            text=True,
            timeout=60,
            env=self.environment,
        )
        self.assertIn("crab-sandbox-init was not found next to crab", done.stderr)
        self.assertIn("shell: date is not offered", done.stderr)

    def test_gateway_check_compiles_what_the_rules_hold(self):
        bad = self.write(
            "bad.yaml",
            'policy:\n  - principal: "*"\n    call: {allow: ["*"]}\n    where: [{pointer: /room, '
            'matches: "(unclosed"}]\n',
        )
        done = self.crab("gateway", "check", "--config", bad)
        self.assertEqual(done.returncode, 1)
        self.assertTrue(done.stderr.startswith(f"{bad}:2: "), done.stderr)
        self.assertIn("(unclosed", done.stderr)
        answer = json.loads(self.crab("gateway", "check", "--config", bad, "-o", "json").stdout)
        self.assertFalse(answer["valid"])
        self.assertIn("(unclosed", answer["errors"][0]["message"])

        bad = self.write(
            "bad.yaml",
            "peers: [{id: subscriber/log}, {id: listener/chat, deny: ['events.publsh:*']}]\n",
        )
        done = self.crab("gateway", "check", "--config", bad)
        self.assertEqual(done.returncode, 1)
        self.assertIn("peers[1].deny: events.publsh:* names no action; actions are", done.stderr)

    def test_policy_test_answers_from_the_configuration_with_the_rule_and_an_exit_code(self):
        path = self.write("gateway.yaml", POLICY)
        for words, code, line in POLICY_ANSWERS:
            done = self.crab("policy", "test", "--file", "--config", path, "--as", *words)
            self.assertEqual(
                (done.returncode, done.stdout[: len(line)], done.stderr), (code, line, ""), words
            )
        asked = ["policy", "test", "--file", "--config", path, "--as", "subscriber/log"]
        done = self.crab(*asked, "events.publish:cron.triggered", "-o", "json")
        answer = json.loads(done.stdout)
        self.assertEqual(
            answer, {"verdict": "allow", "rule": "peers[0].allow: events.publish:cron.*"}
        )
        for words in (
            ["nobody", "events.publish:cron.triggered"],
            ["caller/ci", "calls", "x"],
            ["caller/ci", "call", "x", "--role", "king"],
            ["caller/ci", "call", "x", "--args", "[1]"],
            ["caller/ci", "call", "x", "--lease", "l"],
        ):
            self.assertEqual(
                self.crab("policy", "test", "--file", "--config", path, "--as", *words).returncode,
                2,
                words,
            )

    def test_a_client_finds_the_socket_in_the_configuration(self):
        self.gateway.answer("GET", "/v1/admin/tools", TOOLS)
        path = self.write(
            "gateway.yaml", f"listen: {{admin: {{socket: '{self.gateway.socket}'}}}}\n"
        )
        self.assertEqual(
            self.crab(
                "tools", "list", "--config", path, environment={"CRAB_SOCKET": ""}
            ).returncode,
            0,
        )

    def test_doctor_has_one_line_per_check_and_fails_without_a_gateway(self):
        config = self.write("gateway.yaml", "listen: {public: off}\n")
        self.gateway.answer("GET", "/v1/admin/status", {"version": "9.9.9", "storage": "ok"})
        os.chmod(self.gateway.socket, 0o600)
        done = self.crab("doctor", "--config", config, "-o", "json")
        checks = {check["check"]: check["result"] for check in json.loads(done.stdout)["checks"]}
        self.assertEqual(
            (checks["configuration"], checks["admin socket"], checks["storage"], done.returncode),
            ("ok", "ok", "ok", 0),
        )
        done = self.crab("doctor", "--config", config, "--socket", self.folder + "/none")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stdout, r"fail +admin socket .*crab gateway run")

    def test_doctor_tells_what_a_component_of_the_gateway_says_of_itself(self):
        config = self.write("gateway.yaml", "listen: {public: off}\n")
        status = {"version": "9.9.9", "storage": "failing"}
        status["unhealthy"] = [{"component": "events", "reason": "events cannot be written"}]
        self.gateway.answer("GET", "/v1/admin/status", status)
        os.chmod(self.gateway.socket, 0o600)
        done = self.crab("doctor", "--config", config)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stdout, r"fail +events +events cannot be written")
        self.assertRegex(done.stdout, r"fail +storage ")

    def test_schema_check_prints_the_errors_as_json(self):
        schema, good, bad = (
            self.write("s.json", '{"type":"object","required":["a"]}'),
            self.write("g.json", '{"a":1}'),
            self.write("b.json", "{}"),
        )
        done = self.crab("schema", "check", schema, good)
        self.assertEqual((done.stdout, done.returncode), ("[]\n", 0))
        done = self.crab("schema", "check", schema, bad)
        self.assertEqual((json.loads(done.stdout)[0]["rule"], done.returncode), ("required", 1))

    def test_schema_suite_counts_and_names_what_failed(self):
        os.mkdir(os.path.join(self.folder, "suite"))
        case = {
            "description": "d",
            "schema": {"type": "integer"},
            "tests": [
                {"description": "ok", "data": 1, "valid": True},
                {"description": "wrong on purpose", "data": "x", "valid": True},
            ],
        }
        self.write("suite/a.json", json.dumps([case]))
        done = self.crab("schema", "suite", os.path.join(self.folder, "suite"))
        self.assertEqual(
            (done.stdout, done.returncode),
            ("FAIL a.json: d: wrong on purpose\npassed 1\nfailed 1\n", 1),
        )


CLIENTS = Path(__file__).resolve().parents[2] / "tests/support/mcp_clients"


# A server of MCP whose tools are the lines of a file, `name: description`.
DESCRIBED_SERVER = """
import json, sys, threading, time

def words():
    with open(sys.argv[1]) as file:
        return file.read()

def say(message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)

def watch(before):
    while True:
        time.sleep(0.05)
        if words() != before:
            before = words()
            say({"method": "notifications/tools/list_changed"})

threading.Thread(target=watch, args=(words(),), daemon=True).start()
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    answers = {
        "initialize": {
            "protocolVersion": "2025-11-25",
            "capabilities": {"tools": {"listChanged": True}},
            "serverInfo": {"name": "described", "version": "1"},
        },
        "tools/list": {
            "tools": [
                dict(zip(("name", "description"), one.split(": ")), inputSchema={"type": "object"})
                for one in words().splitlines()
            ]
        },
    }
    result = answers.get(message["method"])
    outcome = {"result": result} if result else {"error": {"code": -32601, "message": "no"}}
    say({"id": message["id"], **outcome})
"""


def mcp_request(number, method, params=None):
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params or {}}


def modern(params=None):
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    return {**(params or {}), "_meta": meta}


class Mcp(CliTest):
    """Against a gateway of its own."""

    def setUp(self):
        super().setUp()
        self.config = self.write(
            "gateway.yaml",
            f"gateway: {{state_dir: {self.folder}/state, runtime_dir: {self.folder}/run}}\n"
            "listen: {public: '127.0.0.1:0'}\n"
            "mcp:\n  servers: {fixed: {command: /bin/false, enabled: false}}\n"
            "  scopes:\n    few: {tools: {allow: ['list_*']}, names: {prefix: never}}\n"
            "    tight: {budget: {tools: 1}}\n",
        )
        self.environment["CRAB_SOCKET"] = f"{self.folder}/run/admin.sock"
        self.process = self.start_gateway()

    def start_gateway(self):
        process = subprocess.Popen(
            [CRAB, "gateway", "run", "--config", self.config],
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.addCleanup(process.wait, 60)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.terminate)
        process.ready = process.stdout.readline()
        self.assertIn("ready", process.ready)
        return process

    def names(self):
        listed = json.loads(self.crab("mcp", "list", "-o", "json").stdout)
        return [server["name"] for server in listed["servers"]]

    def stored(self):
        return Path(self.folder, "state/mcp_servers.json").read_text()

    def good(self, *arguments, stdin=""):
        done = self.crab(*arguments, stdin=stdin)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def test_servers_are_added_shown_and_removed_while_the_gateway_runs(self):
        self.good("mcp", "add", "files", "--env", "API_KEY=s3cret", "--", "/bin/false", "-y", "a b")
        self.good("mcp", "add", "hub", "https://mcp.example/mcp", "--header", "X-Key: s3cret")
        self.assertEqual(self.names(), ["fixed", "files", "hub"])
        self.assertNotIn("s3cret", self.stored())
        self.assertIn("/bin/false -y a b", self.good("mcp", "list"))
        self.assertRegex(self.good("mcp", "status", "files"), r"from +crab mcp add")
        self.assertEqual(self.crab("mcp", "status", "none").returncode, 5)
        self.assertEqual(self.crab("mcp", "add", "hub", "https://other.example").returncode, 1)
        self.good("mcp", "add", "hub", "https://other.example", "--replace")
        self.assertIn("other.example", self.good("mcp", "list"))
        self.good("mcp", "add", "hub", "HTTPS://Upper.example/mcp", "--replace")
        self.assertIn("Upper.example", self.good("mcp", "list"))
        for wrong in (("A", "https://x"), ("x", "npx -y thing"), ("x", "--env", "NONE_SET", "y")):
            self.assertEqual(self.crab("mcp", "add", *wrong).returncode, 2, wrong)
        for wrong in ("javascript:alert(1)", "FTP://h/mcp", "/bin/sh;x"):
            refused = self.crab("mcp", "add", "x", wrong)
            self.assertEqual(refused.returncode, 2, wrong)
            self.assertRegex(refused.stderr, "https://|use args")
        unseen = self.crab("mcp", "approve", "hub")
        self.assertEqual(unseen.returncode, 1, unseen.stderr)
        self.assertIn("crab mcp diff hub", unseen.stderr)
        self.good("mcp", "diff", "hub")
        self.assertIn("Nothing waits", self.good("mcp", "approve", "hub"))
        self.assertEqual(self.crab("mcp", "login", "none").returncode, 5)
        self.assertIn("it is a program", self.crab("mcp", "login", "files").stderr)
        self.assertEqual(self.crab("mcp", "login", "hub", "--for", "ann").returncode, 2)
        self.assertEqual(self.crab("mcp", "logout", "hub").returncode, 5)
        self.good("mcp", "remove", "files")
        self.assertEqual(self.crab("mcp", "remove", "files").returncode, 5)
        fixed = self.crab("mcp", "remove", "fixed")
        self.assertIn("is in the configuration", fixed.stderr)
        self.assertEqual(self.names(), ["fixed", "hub"])

    def test_only_what_was_shown_is_approved(self):
        words = self.write("words", "read: reads files\n")
        script = self.write("server.py", DESCRIBED_SERVER)
        server = f"box: {{command: {sys.executable}, args: [{script}, {words}], pin: ask}}"
        self.process.terminate()
        self.process.wait(60)
        config = Path(self.config)
        config.write_text(config.read_text().replace("{fixed:", f"{{{server}, fixed:"))
        self.process = self.start_gateway()

        def until(text):
            limit = time.monotonic() + 30
            while text not in (shown := self.crab("mcp", "status", "box").stdout):
                self.assertLess(time.monotonic(), limit, shown)
                time.sleep(0.05)

        until("1 for approval")
        unseen = self.crab("mcp", "approve", "box")
        self.assertEqual(unseen.returncode, 1, unseen.stderr)
        self.assertIn("crab mcp diff box", unseen.stderr)
        self.assertIn("reads files", self.good("mcp", "diff", "box"))
        Path(words).write_text("read: sends them away\nmore: also\n")
        until("2 for approval")
        changed = self.crab("mcp", "approve", "box")
        self.assertEqual(changed.returncode, 1, changed.stderr)
        self.assertIn("is not what was shown", changed.stderr)
        self.assertIn("sends them away", self.good("mcp", "diff", "box"))
        self.assertEqual(self.crab("mcp", "approve", "box", "other").returncode, 5)
        self.assertIn("1 approved", self.good("mcp", "approve", "box", "read"))
        until("1 for approval")
        self.assertIn("1 approved", self.good("mcp", "approve", "box"))
        self.assertIn("Nothing waits", self.good("mcp", "approve", "box"))

    def test_an_import_shows_its_plan_asks_and_can_be_undone(self):
        file = str(CLIENTS / "vscode.mcp.json")
        refused = self.crab("mcp", "import", file, stdin="pplx-1\nn\n")
        self.assertEqual(refused.returncode, 4)
        self.assertIn('npx "-y" "server-perplexity-ask"', refused.stdout)
        self.assertIn("Perplexity API Key", refused.stderr)
        self.assertEqual(self.names(), ["fixed"])
        done = self.crab("mcp", "import", file, stdin="pplx-s3cret\ny\n")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("pplx-s3cret", done.stdout + self.stored())
        desktop = str(CLIENTS / "claude_desktop_config.json")
        self.good("mcp", "import", "--yes", desktop)
        self.good("mcp", "import", "--yes", desktop)
        self.assertEqual(
            self.names(),
            ["fixed", "brave-search", "brave-search-2", "fetch", "filesystem", "filesystem-2"]
            + ["github", "perplexity"],
        )
        self.good("mcp", "import", "--undo")
        self.good("mcp", "import", "--undo")
        self.assertEqual(self.names(), ["fixed", "fetch", "github", "perplexity"])
        self.good("mcp", "import", "--undo")
        self.assertEqual(self.names(), ["fixed"])
        self.assertIn("No import", self.good("mcp", "import", "--undo"))

    def test_an_import_finds_the_file_of_a_client(self):
        os.makedirs(f"{self.folder}/.codex")
        shutil.copy(CLIENTS / "codex.config.toml", f"{self.folder}/.codex/config.toml")
        self.good("mcp", "import", "--from", "codex", "--yes")
        self.assertEqual(self.names(), ["fixed", "context7", "figma"])
        self.assertEqual(self.crab("mcp", "import", "--from", "cursor", "--yes").returncode, 5)

    def test_an_import_leaves_out_what_an_export_has_written(self):
        file = f"{self.folder}/exported.json"
        for more in ((), ("--at", "http://127.0.0.1:1")):
            self.good("mcp", "export", "--for", "cursor", "--file", file, *more)
            done = self.crab("mcp", "import", "--from", "cursor", file, "--yes")
            self.assertEqual(done.returncode, 2, done.stdout)
            self.assertIn("left out: it is what crab mcp export writes", done.stdout)
        self.assertEqual(self.names(), ["fixed"])

    def test_an_entry_is_printed_or_put_into_the_clients_file(self):
        entry = json.loads(self.good("mcp", "export", "--for", "claude-desktop"))
        socket = self.environment["CRAB_SOCKET"]
        self.assertEqual(entry["mcpServers"]["crab"]["args"], ["mcp", "stdio", "--socket", socket])
        file = self.write("mcp.json", (CLIENTS / "cursor.mcp.json").read_text())
        self.good("mcp", "export", "--for", "cursor", "--at", "http://h:1/", "--file", file)
        servers = json.loads(Path(file).read_text())["mcpServers"]
        self.assertEqual(servers["crab"]["url"], "http://h:1/mcp")
        self.assertEqual(set(servers), {"local", "remote", "crab"})
        self.assertTrue(Path(file + ".before-crab").exists())
        link = Path(self.folder, "link.json")
        link.symlink_to(file)
        self.good("mcp", "export", "--for", "cursor", "--at", "http://h:2", "--file", str(link))
        self.assertTrue(link.is_symlink())
        self.assertIn("http://h:2/mcp", Path(file).read_text())
        new = f"{self.folder}/.vscode/mcp.json"
        self.good("mcp", "export", "--for", "vscode", "--file", new)
        self.assertIn("crab", json.loads(Path(new).read_text())["servers"])

    def stdio(self, *messages):
        lines = "".join(json.dumps(message) + "\n" for message in messages)
        answers = self.good("mcp", "stdio", stdin=lines)
        return {
            answer.get("id", answer.get("method")): answer
            for answer in map(json.loads, answers.splitlines())
        }

    def test_stdio_serves_modern_clients_without_header_fields(self):
        answers = self.stdio(
            mcp_request("a", "server/discover", modern()),
            mcp_request(2, "tools/list", modern()),
            mcp_request(3, "tools/call", modern({"name": "no_such_tool", "arguments": {}})),
            mcp_request(4, "no/such", modern()),
        )
        self.assertIn("2026-07-28", answers["a"]["result"]["supportedVersions"])
        self.assertTrue(answers[2]["result"]["tools"])
        self.assertEqual(answers[3]["error"]["code"], -32602)
        self.assertEqual(answers[4]["error"]["code"], -32601)

    def test_stdio_answers_what_has_no_id_that_can_be_repeated(self):
        process, send = self.legacy_client()
        read = lambda: json.loads(process.stdout.readline())
        for odd in (None, 1.5, 10**30, [1]):
            send(mcp_request(odd, "tools/list", modern()))
            refused = read()
            self.assertEqual((refused.get("id"), refused["error"]["code"]), (None, -32600), odd)
        send(mcp_request("x" * 300, "tools/list", modern()))
        self.assertEqual(read()["error"]["code"], -32600)
        send(
            mcp_request(
                1, "tools/call", modern({"name": "x", "arguments": {"x": "y" * (20 << 20)}})
            )
        )
        refused = read()
        self.assertEqual((refused["id"], refused["error"]["code"]), (None, -32600))
        send(mcp_request(2, "tools/list", modern()))
        self.assertIn("result", read())
        process.stdin.close()
        self.assertEqual(process.wait(60), 0)

    def test_stdio_takes_no_id_of_a_request_that_runs(self):
        process, send = self.legacy_client()
        read = lambda: json.loads(process.stdout.readline())
        send(mcp_request(5, "subscriptions/listen", modern({"notifications": {}})))
        self.assertEqual(read()["method"], "notifications/subscriptions/acknowledged")
        send(mcp_request(5, "tools/list", modern()), mcp_request("5", "tools/list", modern()))
        answers = {type(each["id"]): each for each in (read(), read())}
        self.assertEqual(answers[int]["error"]["code"], -32600)
        self.assertIn("result", answers[str])
        cancelled = {"jsonrpc": "2.0", "method": "notifications/cancelled"}
        send(cancelled | {"params": {"requestId": 5}}, mcp_request(5, "tools/list", modern()))
        self.assertIn("result", read())
        process.stdin.close()
        self.assertEqual(process.wait(60), 0)

    def test_stdio_serves_legacy_clients_in_a_session(self):
        process, send = self.legacy_client(line_end="\r\n")
        client = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {}}
        send(mcp_request(0, "initialize", client))
        opened = json.loads(process.stdout.readline())
        self.assertEqual(opened["result"]["protocolVersion"], "2025-06-18")
        send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        send(mcp_request(1, "tools/list"))
        send(mcp_request(2, "ping"))
        answers = [json.loads(process.stdout.readline()) for _ in range(2)]
        self.assertEqual({answer["id"] for answer in answers}, {1, 2})
        process.stdin.close()
        self.assertEqual(process.wait(60), 0)

    def legacy_client(self, line_end="\n"):
        """A process of crab mcp stdio, and how to send it lines."""
        process = subprocess.Popen(
            [CRAB, "mcp", "stdio"],
            env=self.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.addCleanup(process.kill)
        self.addCleanup(process.stdout.close)

        def send(*messages):
            process.stdin.write("".join(json.dumps(message) + line_end for message in messages))
            process.stdin.flush()

        return process, send

    def test_stdio_serves_what_follows_initialize_at_once(self):
        process, send = self.legacy_client()
        client = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {}}
        send(
            mcp_request(0, "initialize", client),
            {"jsonrpc": "2.0", "method": "notifications/initialized"},
            mcp_request(1, "tools/list"),
        )
        self.assertIn("result", json.loads(process.stdout.readline()))
        self.assertTrue(json.loads(process.stdout.readline())["result"]["tools"])
        process.stdin.close()
        self.assertEqual(process.wait(60), 0)

    def test_stdio_outlives_a_gateway(self):
        process, send = self.legacy_client()
        client = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {}}
        send(
            mcp_request(0, "initialize", client),
            {"jsonrpc": "2.0", "method": "notifications/initialized"},
        )
        self.assertIn("result", json.loads(process.stdout.readline()))
        self.process.terminate()
        self.process.wait(60)
        send(mcp_request(1, "tools/list"))
        self.assertIn("crab gateway run", json.loads(process.stdout.readline())["error"]["message"])
        self.start_gateway()
        send(mcp_request(2, "tools/list"), mcp_request(3, "ping"))
        came = {}
        while not {2, 3, "notifications/tools/list_changed"} <= came.keys():
            message = json.loads(process.stdout.readline())
            came[message.get("id", message.get("method"))] = message
        self.assertTrue(came[2]["result"]["tools"])
        self.assertEqual(came[3]["result"], {})
        process.stdin.close()
        self.assertEqual(process.wait(60), 0)

    def test_scopes_have_tools_and_costs_of_their_own(self):
        lines = json.dumps(mcp_request(1, "tools/list", modern())) + "\n"
        few = json.loads(self.good("mcp", "stdio", "--scope", "few", stdin=lines))
        names = [tool["name"] for tool in few["result"]["tools"]]
        self.assertTrue(names)
        self.assertTrue(all(name.startswith("list_") for name in names), names)
        cost = json.loads(self.good("tools", "cost", "--front", "mcp", "-o", "json"))
        self.assertNotIn("search", cost)
        tight = json.loads(
            self.good("tools", "cost", "--front", "mcp", "--scope", "tight", "-o", "json")
        )
        # A search would cost more than these few tools, however small the budget.
        self.assertEqual(tight["tokens"], cost["tokens"])
        self.assertNotIn("search", tight)
        self.assertIn("/mcp lists", self.good("tools", "cost", "--front", "mcp"))
        self.assertEqual(self.crab("tools", "cost", "--front", "mcp", "--scope", "x").returncode, 5)

    def test_the_tool_of_a_phone_is_called_by_what_an_assistants_file_names(self):
        """docs/how_to/use_from_mcp_clients.md; here a file stands for the camera."""
        code = self.good("devices", "pair", "--name", "phone").splitlines()[0]
        listeners = self.process.ready
        public = re.search(r"public=(\S+)", listeners).group(1)
        picture = '{"mime_type": "image/jpeg", "width": 2, "data_base64": "aGk="}'
        self.write("picture.txt", picture)
        phone = subprocess.Popen(
            [CRAB, "device", "--gateway", f"ws://{public}", "--pair", code, "--name", "phone"]
            + ["--state", f"{self.folder}/phone.json"]
            + ["--exec", f"take_photo=cat {self.folder}/picture.txt"],
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.addCleanup(phone.wait, 60)
        self.addCleanup(phone.stdout.close)
        self.addCleanup(phone.terminate)
        while "registered" not in phone.stdout.readline():
            self.assertIsNone(phone.poll())
        file = f"{self.folder}/claude_desktop_config.json"
        self.good("mcp", "export", "--for", "claude-desktop", "--file", file)
        entry = json.loads(Path(file).read_text())["mcpServers"]["crab"]
        done = subprocess.run(
            [entry["command"], *entry["args"]],
            input="".join(
                json.dumps(message) + "\n"
                for message in (
                    mcp_request(1, "tools/list", modern()),
                    mcp_request(2, "tools/call", modern({"name": "take_photo", "arguments": {}})),
                )
            ),
            # what the SDKs hand on to the programs that they start
            env={name: self.environment[name] for name in ("HOME", "PATH", "TERM")},
            capture_output=True,
            text=True,
            timeout=60,
        )
        answers = {one["id"]: one["result"] for one in map(json.loads, done.stdout.splitlines())}
        self.assertIn("take_photo", [tool["name"] for tool in answers[1]["tools"]])
        self.assertFalse(answers[2].get("isError"), answers[2])
        self.assertIn("aGk=", json.dumps(answers[2]["content"]))

    def test_stdio_answers_requests_although_there_is_no_gateway(self):
        self.environment["CRAB_SOCKET"] = f"{self.folder}/none.sock"
        answer = self.stdio(mcp_request(7, "tools/list", modern()))[7]
        self.assertEqual(answer["error"]["code"], -32603)
        self.assertIn("crab gateway run", answer["error"]["message"])


class WithTheGateway(CliTest):
    def test_a_call_can_be_listed_and_explained_and_the_gateway_ends_on_sigterm(self):
        config = self.write(
            "gateway.yaml",
            f"gateway: {{state_dir: {self.folder}/state, runtime_dir: "
            f"{self.folder}/run}}\nlisten: {{public: '127.0.0.1:0'}}\n",
        )
        self.environment["CRAB_SOCKET"] = f"{self.folder}/run/admin.sock"
        process = subprocess.Popen(
            [CRAB, "gateway", "run", "--config", config],
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.kill)
        self.assertIn("ready", process.stdout.readline())
        tool = self.crab("tools", "list", "-o", "name").stdout.split()[0]
        called = self.crab("call", tool, "--call-id", "c-1")
        self.assertEqual((called.returncode, called.stderr), (0, ""))
        json.loads(called.stdout)
        self.assertIn(tool, self.crab("calls", "list").stdout)
        self.assertRegex(
            self.crab("calls", "show", "c-1").stdout, rf"tool +{tool}(.|\n)*outcome +ok"
        )
        self.assertEqual(self.crab("call", tool + "x").returncode, 5)
        self.assertEqual(self.crab("calls", "cancel", "other").returncode, 5)
        self.assertEqual(self.crab("doctor", "--config", config).returncode, 0)
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(60), 0)


if __name__ == "__main__":
    unittest.main()
