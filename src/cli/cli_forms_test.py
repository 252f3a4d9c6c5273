#!/usr/bin/env python3
"""What all commands have in common: forms of output, named gateways, questions before what cannot
be undone, spellings of before.

usage: cli_forms_test.py CRAB [unittest arguments]
"""

import json
import os
import pty
import re
import signal
import socket
import stat
import subprocess
import sys
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import cli_test  # noqa: E402
from cli_test import CRAB, TOOLS, CliTest  # noqa: E402

REFERENCE = Path(__file__).resolve().parents[2] / "docs/reference/cli.md"
CALL = {"call_id": "c-1", "tool": "sms.send", "principal": "caller/ci", "duration_us": 1500}


def sections():
    """Each command's section of the reference."""
    for section in re.split(r"(?m)^## crab ", REFERENCE.read_text())[1:]:
        yield section.partition("\n")[0], section


class Forms(CliTest):
    def setUp(self):
        super().setUp()
        self.gateway.answer("GET", "/v1/admin/tools", TOOLS)

    def out(self, *words):
        done = self.crab(*words)
        self.assertEqual((done.returncode, done.stderr), (0, ""), words)
        return done.stdout

    def test_a_list_has_every_form(self):
        tools = ("tools", "list")
        self.assertEqual(self.out(*tools, "-o", "name"), "sms.send\ndice.roll\n")
        self.assertEqual(self.out(*tools, "-q"), "sms.send\ndice.roll\n")
        self.assertEqual(json.loads(self.out(*tools, "-o", "json")), TOOLS)
        yaml = self.out(*tools, "-o", "yaml")
        self.assertTrue(yaml.startswith("tools:\n  - name: sms.send\n"), yaml)
        self.assertIn('description: "Send a text message.\\nNow."\n', yaml)
        self.assertNotIn("\x1b", yaml)
        self.assertEqual(
            self.out(*tools, "-o", "jsonpath={.tools[*].name}"), "sms.send dice.roll\n"
        )
        self.assertEqual(
            self.out(
                *tools, "-o", 'jsonpath={range .tools[?(@.idempotent==true)]}{.name}{"\\n"}{end}'
            ),
            "dice.roll\n",
        )
        self.assertIn("phone__sms.send", self.out(*tools, "-o", "wide"))
        self.assertNotIn("phone__sms.send", self.out(*tools))
        self.assertEqual(self.out(*tools, "--no-headers").split()[0], "sms.send")

    def test_a_list_is_sorted_in_every_form_numbers_by_value(self):
        self.assertEqual(
            self.out("tools", "list", "--sort-by", ".name", "-q"), "dice.roll\nsms.send\n"
        )
        told = json.loads(
            self.out("tools", "list", "--sort-by", "timeout_ms_default", "-o", "json")
        )
        self.assertEqual([tool["name"] for tool in told["tools"]], ["dice.roll", "sms.send"])
        rows = self.out("tools", "list", "--sort-by", "{.timeout_ms_max}").splitlines()
        self.assertTrue(rows[1].startswith("dice.roll"))
        done = self.crab("tools", "list", "--sort-by", ".nothing", "-q")
        self.assertEqual((done.returncode, done.stdout), (0, "sms.send\ndice.roll\n"))
        self.assertIn("no row has `.nothing`", done.stderr)  # it may be misspelt

    def test_a_form_that_is_wrong_is_refused_before_anything_is_asked(self):
        for words, expected in (
            (["-o", "jsonpath={.tools["], "at character"),
            (["-o", "yamll"], "did you mean yaml?"),
            (["-o", "jsonpath="], "jsonpath"),
        ):
            done = self.crab("tools", "list", *words)
            self.assertEqual((done.returncode, done.stdout), (2, ""), words)
            self.assertIn(expected, done.stderr)
        self.assertEqual(self.gateway.requests, [])

    def test_every_command_that_asks_a_gateway_takes_the_same_options(self):
        without_answer = {"console", "devices run", "events forward", "logs", "mcp export"}
        without_answer |= {"mcp import", "mcp stdio"}
        for name, section in sections():
            shared = re.search(r"(?m)^\[Shared options\].*", section)
            taken = set(re.findall(r"--[\w-]+", shared[0] if shared else ""))
            if "--socket" in taken:
                self.assertLessEqual({"--context", "--config"}, taken, name)
                if name not in without_answer:
                    self.assertIn("--output", taken, name)
            if "--url" in taken:
                self.assertLessEqual({"--token", "--ca-file"}, taken, name)
            if "--sort-by" in taken:
                self.assertLessEqual({"--no-headers", "--quiet"}, taken, name)

    def test_every_option_with_a_value_tells_its_default(self):
        needed = set()
        for name, section in sections():
            for option, meaning in re.findall(
                r"(?m)^\| `(-[^`]+ [A-Z][^`]*)` \| (.*) \|$", section
            ):
                if "default" not in meaning:
                    needed.add(f"{name} {option}")
        # these have to be given
        self.assertEqual(
            {it for it in needed if "--as PRINCIPAL" not in it},
            {"mcp export --for CLIENT", "tokens create --name NAME", "context set --url URL"}
            | {"context set --socket PATH", "host exec --config FILE"}
            | {f"host {host} --unix PATH" for host in ("memory", "cron", "exec")}
            | {f"host {host} --listen HOST" for host in ("memory", "cron", "exec")}
            | {f"host {host} --gateway-key B64" for host in ("memory", "cron", "exec")}
            | {
                f"host {host} --tls-{it} FILE"
                for host in ("memory", "cron", "exec")
                for it in ("ca", "cert", "key")
            },
        )

    def test_what_may_be_left_out_is_shown_so(self):
        usage = {name: section for name, section in sections()}
        self.assertIn("crab call TOOL [JSON] [OPTIONS]", usage["call"])
        self.assertIn("crab tools list [GLOB] [OPTIONS]", usage["tools list"])
        self.assertIn("crab tokens revoke TOKEN_ID... [OPTIONS]", usage["tokens revoke"])
        self.assertIn("crab devices approve DEVICE [TOOL...]", usage["devices approve"])
        self.assertIn("crab schema check SCHEMA_FILE JSON_FILE", usage["schema check"])

    def test_watch_tells_what_is_new_or_has_changed(self):
        self.gateway.answer("GET", "/v1/admin/tools", lambda _: {"tools": TOOLS["tools"][:1]})
        process = subprocess.Popen(
            [CRAB, "tools", "list", "-w"],
            env=self.environment,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait, 60)
        self.addCleanup(process.kill)
        self.assertTrue(process.stdout.readline().startswith("TOOL "))
        self.assertTrue(process.stdout.readline().startswith("sms.send "))
        self.gateway.answer("GET", "/v1/admin/tools", lambda _: TOOLS)
        self.assertTrue(process.stdout.readline().startswith("dice.roll "))
        changed = {**TOOLS["tools"][1], "description": "Roll two"}
        self.gateway.answer(
            "GET", "/v1/admin/tools", lambda _: {"tools": [TOOLS["tools"][0], changed]}
        )
        self.assertRegex(process.stdout.readline(), r"^dice.roll .*Roll two$")

    def test_tools_and_calls_are_filtered(self):
        self.assertEqual(self.out("tools", "list", "sms.*", "-q"), "sms.send\n")
        self.assertEqual(self.out("tools", "list", "--source", "built_in*", "-q"), "dice.roll\n")
        self.assertEqual(self.out("tools", "list", "phone__*", "-q"), "sms.send\n")
        self.assertEqual(self.out("tools", "list", "nothing*"), "No such tools.\n")
        running = {"call_id": "c-9", "tool": "dice.roll", "principal": "a", "stage": "resolved"}
        self.gateway.answer(
            "GET", "/v1/admin/calls?limit=1", {"running": [running], "recent": [CALL]}
        )
        begun = {"call_id": "c-0", "tool": "sms.send"}
        self.gateway.answer(
            "GET",
            "/v1/admin/audit?limit=200&tool=sms.%2A",
            {"records": [begun, CALL, {**CALL, "call_id": "c-2"}], "complete": True},
        )
        self.assertEqual(
            self.out("calls", "list", "--tool", "sms.*", "--limit", "1", "-q"), "c-1\n"
        )
        self.gateway.answer(
            "GET", "/v1/admin/audit?limit=200&status=running", {"records": [], "complete": True}
        )
        self.assertEqual(
            self.out("calls", "list", "--status", "running", "--limit", "1", "-q"), "c-9\n"
        )

    def test_a_change_is_said_in_words_or_as_the_gateway_answers_or_not_at_all(self):
        lease = {"lease_id": "l1", "owner_component_type": "subscriber", "owner_component_id": "x"}
        self.gateway.answer("DELETE", "/v1/leases/l1", lease)
        words = ("leases", "revoke", "l1")
        self.assertEqual(self.out(*words), "revoked l1 of subscriber/x\n")
        self.assertEqual(json.loads(self.out(*words, "-o", "json")), lease)
        self.assertEqual(self.out(*words, "-o", "name"), "l1\n")
        self.assertEqual(self.out(*words, "-q"), "")

    def test_a_hostile_answer_cannot_control_a_terminal_in_any_form(self):
        for form in ("text", "wide", "name", "json", "yaml", "jsonpath={..description}"):
            shown = self.on_terminal("tools", "list", "-o", form, environment={"NO_COLOR": "1"})
            self.assertNotIn("\x1b", shown, form)


class Spellings(CliTest):
    def test_old_spellings_do_the_same_and_say_once_what_is_new(self):
        self.gateway.answer("GET", "/v1/admin/calls/c-1", cli_test.RECORD)
        self.gateway.answer("GET", "/v1/admin/worktrees", {"worktrees": [], "bindings": []})
        self.gateway.answer("GET", "/v1/admin/tools", TOOLS)
        self.gateway.answer("POST", "/v1/admin/devices/revoke", {"revoked": 1})
        allowed = {"state": "allowed", "tool": "t", "principal": "p", "scope": "session"}
        self.gateway.answer("POST", "/v1/admin/approvals/a1", allowed)
        for old, new in (
            ("explain c-1", "calls show c-1"),
            ("-o json explain c-1", "calls show c-1 -o json"),
            ("explain nothing", "calls show nothing"),
            ("worktree status", "worktrees list"),
            ("tools list -o names", "tools list -o name"),
            ("devices revoke --token-id t1", "tokens revoke t1"),
            ("approvals allow a1 --session", "approvals allow a1 --scope session"),
            ("device --exec x", "devices run --exec x"),
        ):
            before, after = self.crab(*old.split()), self.crab(*new.split())
            self.assertEqual(before.returncode, after.returncode, old)
            self.assertEqual(before.stdout, after.stdout, old)
            self.assertEqual(before.stderr.count("is written"), 1, before.stderr)
            self.assertNotIn("is written", after.stderr)
        self.assertIn("Usage: crab devices run", self.crab("help", "device").stdout)
        self.assertNotIn("explain", self.crab("--help").stdout)

    def test_the_command_line_of_the_original_stays_without_a_word(self):
        for words in (
            ("pair", "tool", "ws://127.0.0.1:1/", "x", "-admin-socket", self.gateway.socket),
            ("-admin-socket", self.gateway.socket, "pair", "-replace", "tool", "ws://h/", "x"),
            ("peers", "pair", "tool", "ws://h/", "x", "--socket", self.gateway.socket),
        ):
            done = self.crab(*words, environment={"CRAB_SOCKET": "/nonexistent"})
            self.assertIn("crab pair failed: gateway pairing failed", done.stderr)
            self.assertNotIn("is written", done.stderr)


class Questions(CliTest):
    CASES = (
        ("devices revoke phone", "POST", "/v1/admin/devices/revoke", {"revoked": 1}),
        ("tokens revoke t1", "POST", "/v1/admin/devices/revoke", {"revoked": 1}),
        ("peers revoke tool_host/m", "POST", "/v1/peers/tool_host/m/revoke", {}),
        ("leases revoke l1", "DELETE", "/v1/leases/l1", {}),
        ("artifacts delete a1", "DELETE", "/v1/artifacts/a1", {}),
        ("sessions delete s1", "DELETE", "/api/sessions/s1", {}),
        ("mcp remove hub", "DELETE", "/v1/mcp/servers/hub", {}),
    )

    def answered(self, words, typed):
        """The exit code, when this is typed at a terminal, and what was shown there."""
        ours, theirs = pty.openpty()
        process = subprocess.Popen(
            [CRAB, *words], env=self.environment, stdin=theirs, stdout=theirs, stderr=theirs
        )
        os.close(theirs)
        os.write(ours, typed)
        shown = b""
        try:
            while part := os.read(ours, 4096):
                shown += part
        except OSError:
            pass  # it has ended
        os.close(ours)
        return process.wait(60), shown.decode()

    def test_a_terminal_is_asked_before_what_cannot_be_undone(self):
        for words, method, path, answer in self.CASES:
            self.gateway.answer(method, path, answer)
            for typed, asked_for in (
                (b"n\n", 0),
                (b"\n", 0),
                (b"\x04", 0),
                (b"y\n", 1),
                (b"YES\n", 1),
            ):
                self.gateway.requests.clear()
                code, shown = self.answered(words.split(), typed)
                self.assertIn("[y/N]", shown, words)
                self.assertEqual(len(self.gateway.requests), asked_for, (words, typed))
                self.assertEqual(code, 0 if asked_for else 1, (words, typed, shown))
            code, shown = self.answered([*words.split(), "--yes"], b"")
            self.assertEqual((code, "[y/N]" in shown), (0, False), shown)

    def test_without_a_terminal_nothing_is_asked_so_that_scripts_go_on(self):
        for words, method, path, answer in self.CASES:
            self.gateway.answer(method, path, answer)
            done = self.crab(*words.split())
            if words.startswith("sessions"):  # it has always wanted --yes
                self.assertEqual((done.returncode, done.stdout), (1, ""))
                done = self.crab(*words.split(), "--yes")
            self.assertEqual((done.returncode, done.stderr), (0, ""), words)


class ContextsTest(CliTest):
    def setUp(self):
        super().setUp()
        del self.environment["CRAB_SOCKET"]
        self.file = Path(self.folder, ".config/crab/contexts.yaml")
        self.gateway.answer("GET", "/v1/tools", TOOLS)
        self.gateway.answer("GET", "/v1/admin/tools", {"tools": []})
        self.gateway.answer("GET", "/v1/admin/devices", {"devices": []})

    def good(self, *words, **environment):
        done = self.crab(*words, environment=environment)
        self.assertEqual((done.returncode, done.stderr), (0, ""), words)
        return done.stdout

    def sent_token(self):
        return self.gateway.headers[-1].get("Authorization")

    def office(self):
        token = self.write("office.token", "secret-of-office\n")
        self.good("context", "set", "office", "--url", self.gateway.url, "--token-file", token)

    def test_a_gateway_with_a_name_is_asked_with_the_token_of_its_file(self):
        self.office()
        self.assertEqual(stat.S_IMODE(self.file.stat().st_mode), 0o600)
        self.assertNotIn("secret-of-office", self.file.read_text())
        self.assertIn("sms.send", self.good("tools", "list", "--context", "office", "-q"))
        self.assertEqual(self.sent_token(), "Bearer secret-of-office")
        self.assertIn("sms.send", self.good("--context=office", "tools", "list"))
        self.assertNotEqual(self.crab("tools", "list").returncode, 0, "it is not in use")
        self.good("context", "use", "office")
        self.assertIn("sms.send", self.good("tools", "list"))
        rows = self.good("context", "list").splitlines()
        self.assertRegex(rows[2], rf"^\* +office +{self.gateway.url} +.*office.token$")
        self.assertNotIn("secret-of-office", self.good("context", "list", "-o", "json"))
        self.good("tools", "list", CRAB_TOKEN="any")
        self.assertEqual(self.sent_token(), "Bearer secret-of-office", "the context knows better")
        self.good("tools", "list", "--token", "given", CRAB_TOKEN="any")
        self.assertEqual(self.sent_token(), "Bearer given", "what was said knows best")
        self.good("context", "remove", "office")
        self.assertRegex(self.good("context", "list").splitlines()[1], r"^\* +local ")

    def test_what_is_said_comes_before_what_is_set(self):
        self.office()
        self.good("context", "set", "here", "--socket", self.gateway.socket)
        self.assertIn("No devices", self.good("devices", "list", "--context", "here"))
        self.good("context", "use", "here")
        self.assertIn("No tools", self.good("tools", "list"))
        self.assertIn("sms.send", self.good("tools", "list", CRAB_URL=self.gateway.url))
        self.assertIn("sms.send", self.good("tools", "list", CRAB_CONTEXT="office"))
        self.assertIn(
            "No tools",
            self.good("tools", "list", "--socket", self.gateway.socket, CRAB_URL="http://nowhere"),
        )
        self.assertIn(
            "No devices",
            self.good("devices", "list", CRAB_SOCKET=self.gateway.socket, CRAB_URL="http://h"),
            "this one asks admin sockets only",
        )
        both = self.crab("tools", "list", "--context", "here", "--url", "http://h")
        self.assertEqual(both.returncode, 2)

    def test_a_command_for_the_admin_socket_does_not_go_elsewhere_instead(self):
        self.office()
        for words, environment in (
            (["devices", "revoke", "phone", "--context", "office"], {}),
            (["devices", "revoke", "phone"], {"CRAB_URL": self.gateway.url}),
            (["devices", "revoke", "phone"], {"CRAB_CONTEXT": "office"}),
        ):
            done = self.crab(*words, environment=environment)
            self.assertEqual((done.returncode, done.stdout), (2, ""), words)
            self.assertIn("ssh -L", done.stderr)
        self.assertEqual(self.gateway.requests, [])

    def test_what_is_about_this_machine_does_not_mind_which_gateway_is_in_use(self):
        self.office()
        self.good("context", "use", "office")
        for words, expected in (
            (["devices", "run", "--exec", "x"], "--exec"),
            (["mcp", "export", "--for", "zed"], ""),
            (["doctor"], ""),
            (["policy", "test", "--file", "--as", "caller/ci", "call", "x"], ""),
        ):
            done = self.crab(*words)
            self.assertIn(expected, done.stderr)
            self.assertNotIn("office", done.stderr, words)

    def test_a_file_that_others_may_write_and_one_that_is_wrong_are_refused(self):
        self.office()
        for mode in (0o620, 0o602):
            self.file.chmod(mode)
            done = self.crab("tools", "list", "--context", "office")
            self.assertEqual(done.returncode, 4, done.stderr)
            self.assertIn("chmod 600", done.stderr)
        self.file.chmod(0o600)
        for text in (
            "contexts: [1]",
            "contexts: {x: {}}",
            "contexts: {x: {url: a, socket: b}}",
            "contexts: {x: {url: [a]}}",
            "contexts: {x: {url: a, token: secret}}",
            "contexts: {'../x': {url: a}}",
            "}{",
        ):
            self.file.write_text(text)
            done = self.crab("tools", "list")
            self.assertEqual(done.returncode, 2, (text, done.stderr))
            self.assertIn("contexts.yaml", done.stderr)
        self.assertEqual(self.crab("tools", "list", "--context", "local").returncode, 3)

    def test_no_token_goes_unencrypted_to_another_machine_unless_that_is_allowed(self):
        far = "http://gateway.invalid:1"
        for words, environment in (
            (["tools", "list", "--url", far, "--token", "t"], {}),
            (["tools", "list"], {"CRAB_URL": far, "CRAB_TOKEN": "t"}),
            (["call", "x", "--url", far.replace("http", "grpc"), "--token", "t"], {}),
            (["chat", "--url", far, "--token", "t", "--once", "hello"], {}),
            (["devices", "run", "--once", "--gateway", "ws://10.0.0.1:1", "--token", "t"], {}),
            (["bridge", "run", "--gateway", "ws://10.0.0.1:1", "--token", "t"], {}),
            (["events", "forward", far + "/hook"], {}),
            (["context", "set", "far", "--url", far], {}),
        ):
            done = self.crab(*words, environment=environment)
            self.assertEqual((done.returncode, done.stdout), (2, ""), (words, done.stderr))
            self.assertIn("could be read on the way", done.stderr)
        done = self.crab("tools", "list", "--url", far, "--token", "t", "--allow-plain")
        self.assertEqual(done.returncode, 3, done.stderr)  # tried, and nobody is there
        self.good("context", "set", "far", "--url", far, "--allow-plain")
        self.assertEqual(self.crab("tools", "list", "--context", "far").returncode, 3)
        self.assertIn("allow_plain: true", self.file.read_text())

    def test_names_and_places_that_are_wrong_are_refused(self):
        for words in (
            ["local", "--url", "http://h"],
            ["a b", "--url", "http://h"],
            ["x"],
            ["x", "--url", "ftp://h"],
            ["x", "--url", "http://me:password@h"],
            ["x", "--url", "http://h", "--socket", "/s"],
        ):
            self.assertEqual(self.crab("context", "set", *words).returncode, 2, words)
        self.assertFalse(self.file.exists())
        self.assertEqual(self.crab("context", "use", "nobody").returncode, 5)
        self.assertEqual(self.crab("context", "remove", "nobody").returncode, 5)
        self.assertEqual(self.crab("tools", "list", "--context", "nobody").returncode, 5)


class Completion(CliTest):
    def names(self, kind):
        begun = time.monotonic()
        done = self.crab("completion-names", kind)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertLess(time.monotonic() - begun, 5)
        return done.stdout.split("\n")[:-1]

    def test_live_names_are_offered_and_nothing_that_a_shell_could_run(self):
        hostile = ["$(reboot)", "a b", "-rf", "a;b", "`x`", "good-1"]
        rows = [{"device": name, "tokens": [{"id": f"t-{at}"}]} for at, name in enumerate(hostile)]
        self.gateway.answer("GET", "/v1/admin/devices", {"devices": rows, "callers": []})
        self.assertEqual(self.names("devices"), ["good-1"])
        self.assertEqual(self.names("tokens"), [f"t-{at}" for at in range(len(hostile))])
        approvals = [{"id": "a1", "state": "pending"}, {"id": "a2", "state": "denied"}]
        self.gateway.answer("GET", "/v1/admin/approvals", {"approvals": approvals})
        self.assertEqual(self.names("approvals"), ["a1"])
        calls = {"running": [{"call_id": "c1"}], "recent": [{"call_id": "c2"}]}
        self.gateway.answer("GET", "/v1/admin/calls?limit=50", calls)
        self.assertEqual(self.names("calls"), ["c1", "c2"])
        self.assertEqual(self.names("contexts"), ["local"])

    def test_it_is_silent_and_soon_over_without_a_gateway_that_answers(self):
        self.assertEqual(self.names("nonsense"), [])
        self.environment["CRAB_SOCKET"] = self.folder + "/none.sock"
        self.assertEqual(self.names("devices"), [])
        with socket.socket(socket.AF_UNIX) as mute:
            mute.bind(self.folder + "/mute.sock")
            mute.listen(8)
            self.environment["CRAB_SOCKET"] = self.folder + "/mute.sock"
            self.assertEqual(self.names("devices"), [])
        self.environment["CRAB_CONTEXT"] = "nobody"
        del self.environment["CRAB_SOCKET"]
        self.assertEqual(self.names("devices"), [])


class WithAGateway(CliTest):
    def start(self, stderr):
        config = self.write(
            "gateway.yaml",
            f"gateway: {{state_dir: {self.folder}/state, runtime_dir: {self.folder}/run}}\n"
            "listen: {public: '127.0.0.1:0'}\n",
        )
        self.environment["CRAB_SOCKET"] = f"{self.folder}/run/admin.sock"
        process = subprocess.Popen(
            [CRAB, "gateway", "run", "--config", config],
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
        )
        self.addCleanup(process.wait, 60)
        self.addCleanup(process.kill)
        self.addCleanup(process.stdout.close)
        ready = process.stdout.readline()
        self.assertIn("ready", ready)
        return process, ready

    def good(self, *words):
        done = self.crab(*words)
        self.assertEqual((done.returncode, done.stderr), (0, ""), words)
        return done.stdout

    def follow(self, *words):
        process = subprocess.Popen(
            [CRAB, *words], env=self.environment, stdout=subprocess.PIPE, text=True
        )
        self.addCleanup(process.wait, 60)
        self.addCleanup(process.kill)
        self.addCleanup(process.stdout.close)
        return process.stdout

    def test_it_is_looked_at_reloaded_followed_and_stopped(self):
        with open(f"{self.folder}/gateway.log", "a", encoding="utf-8") as log:
            process, ready = self.start(log)
        version = self.crab("--version").stdout.split()[1]
        status = json.loads(self.good("gateway", "status", "-o", "json"))
        self.assertEqual((status["pid"], status["version"]), (process.pid, version))
        self.assertIn(f"process       {process.pid}\n", self.good("gateway", "status"))
        self.assertEqual(self.good("gateway", "status", "-q"), "")
        self.assertEqual(
            json.loads(self.good("version", "-o", "json")),
            {"client": {"version": version}, "gateway": {"version": version}},
        )
        url = "http://" + re.search(r"127\.0\.0\.1:\d+", ready)[0]
        self.assertEqual(
            json.loads(self.good("version", "--url", url, "-o", "json"))["gateway"], {"api": "v1"}
        )
        self.assertIn("runs", self.good("gateway", "status", "--url", url))
        self.assertEqual(len(self.good("logs", "-n", "1").splitlines()), 1)
        followed = self.follow("logs", "-f", "-n", "1")
        self.assertNotEqual(followed.readline(), "")  # it follows from here on
        self.good("gateway", "reload")
        self.assertNotEqual(followed.readline(), "")
        Path(self.folder, "gateway.yaml").write_text("nonsense: 1\n")
        self.assertEqual(self.crab("gateway", "reload").returncode, 2)
        self.assertEqual(self.good("gateway", "stop"), "the gateway has stopped\n")
        self.assertEqual(process.wait(60), 0)
        self.assertEqual(self.crab("gateway", "stop").returncode, 3)
        self.assertEqual(self.crab("gateway", "status").returncode, 3)
        done = self.crab("version")
        self.assertEqual((done.returncode, done.stdout), (3, f"client   {version}\n"))
        self.assertEqual(self.good("version", "--client"), f"client   {version}\n")

    def test_a_log_that_nobody_keeps_is_said_so(self):
        process, _ = self.start(subprocess.DEVNULL)
        done = self.crab("logs")
        self.assertEqual((done.returncode, done.stdout), (5, ""))
        self.assertIn("/dev/null", done.stderr)
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(60), 0)

    def test_tokens_are_made_listed_and_revoked(self):
        self.start(subprocess.DEVNULL)
        path = Path(self.folder, "ci.token")
        self.good("tokens", "create", "--name", "ci", "--out", str(path), "--expires", "30d")
        self.assertEqual(stat.S_IMODE(path.stat().st_mode), 0o600)
        rows = json.loads(self.good("tokens", "list", "-o", "json"))["tokens"]
        self.assertEqual(
            [(it["principal"], it["roles"]) for it in rows], [("caller/ci", ["caller"])]
        )
        self.assertNotIn(path.read_text().strip(), self.good("tokens", "list", "-o", "yaml"))
        printed = self.good("tokens", "create", "--name", "other").strip()
        self.assertRegex(printed, r"^\S{20,}$")
        self.assertEqual(self.good("tokens", "revoke", rows[0]["id"]), "revoked 1 token\n")
        left = self.good("tokens", "list", "-o", "jsonpath={.tokens[*].principal}")
        self.assertEqual(left, "caller/other\n")
        self.assertIn("revoked", self.good("tokens", "list", "--all"))
        self.assertEqual(self.crab("tokens", "revoke", "nothing").returncode, 5)

    def test_records_are_followed_and_calls_found_among_them(self):
        self.start(subprocess.DEVNULL)
        tool = self.good("tools", "list", "-q").split()[0]
        self.crab("call", tool, "--call-id", "c-before")
        config = f"{self.folder}/gateway.yaml"
        followed = self.follow("audit", "export", "--follow", "--config", config, "--tool", tool)
        while json.loads(followed.readline())["call_id"] != "c-before":
            pass
        self.crab("call", tool, "--call-id", "c-later")
        while json.loads(followed.readline())["call_id"] != "c-later":
            pass
        found = self.good("calls", "list", "--tool", tool, "--since", "1h", "-q").split()
        self.assertEqual(sorted(found), ["c-before", "c-later"])
        self.assertEqual(self.good("calls", "list", "--principal", "nobody", "-q"), "")
        self.assertEqual(
            self.good("calls", "list", "--sort-by", ".call_id", "--status", "ok,error", "-q"),
            "c-before\nc-later\n",
        )


class ManPages(CliTest):
    def test_every_command_has_one(self):
        folder = Path(self.folder, "man")
        self.assertEqual(self.crab("help", "--man", str(folder)).returncode, 0)
        pages = {path.name for path in folder.iterdir()}
        for name, _ in sections():
            if name != "shared":
                self.assertIn(f"crab-{name.replace(' ', '-')}.1", pages)
        self.assertIn("crab.1", pages)
        self.assertIn("crab-devices.1", pages)
        text = (folder / "crab-call.1").read_text()
        self.assertIn(r"\fB\-\-idempotency\-key\fR \fIKEY\fR", text)


if __name__ == "__main__":
    unittest.main()
