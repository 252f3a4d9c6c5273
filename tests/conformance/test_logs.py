"""What an operator reads in the log: start, devices, tokens, refused credentials, hooks, reloads,
names that became ambiguous."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import tempfile
import unittest
from pathlib import Path

from support.case import GatewayCase
from support.device import tool
from support.gateway import program
from support.wait import eventually


class LogCase(GatewayCase):
    def lines(self, event: str) -> list[str]:
        return [
            line
            for line in (self.gateway.folder / "stderr").read_text().splitlines()
            if event in line
        ]

    def wait_line(self, event: str, *words: str) -> str:
        def found() -> str:
            return next(
                (line for line in self.lines(event) if all(word in line for word in words)), ""
            )

        return eventually(found, f"a line «{event}» with {words}")


class LogTest(LogCase):
    def test_the_start_names_version_and_configuration(self) -> None:
        version = subprocess.run(
            [program(), "--version"], capture_output=True, text=True, timeout=20
        ).stdout.split()[1]
        self.wait_line("started", f"version={version}", str(self.gateway.config_file))

    def test_devices_come_and_go(self) -> None:
        device = self.open(self.new_token())
        self.wait_line("device connected", f"device/{self.slug}")
        device.drop()
        self.wait_line("device gone", f"device/{self.slug}")

    def test_tokens_are_issued_and_revoked_and_never_shown(self) -> None:
        name = self.unique("job")
        answer = self.gateway.admin_request(
            "POST", "/v1/admin/devices/pair", {"name": name, "roles": ["caller"], "token": True}
        ).json()
        self.wait_line("token issued", answer["token_id"], "caller")
        self.gateway.crab("tokens", "revoke", answer["token_id"])
        self.wait_line("token revoked", answer["token_id"])
        self.assertEqual(self.lines(answer["token"]), [])

    def test_refused_credentials_are_told_with_a_bound(self) -> None:
        told = len(self.lines("credential refused"))
        self.assertEqual(
            self.gateway.fetch("POST", "/v1/tools/call", "ab" * 32, body=b'{"tool":"x"}').status,
            401,
        )
        self.wait_line("credential refused", "127.0.0.1")
        self.assertEqual(
            len(self.lines("credential refused")) - told,
            1,
            "once for a request, whether it has a body or not",
        )
        for _ in range(100):
            self.assertEqual(self.gateway.fetch("GET", "/v1/tools", "ab" * 32).status, 401)
        self.wait_line("credential refused", "127.0.0.1")
        self.assertLessEqual(len(self.lines("credential refused")), 60, "at most 30 a minute")
        self.assertEqual(self.lines("ab" * 32), [])

    def test_a_name_that_a_second_device_takes_from_callers_is_told(self) -> None:
        name = self.unique("camera")
        first, second = self.open(self.new_token()), self.open(self.new_token())
        first.register(tool(name))
        second.register(tool(name))
        second.register(tool(name))
        self.wait_line("a plain name is ambiguous now", name)
        self.assertEqual(len(self.lines(f"ambiguous now tool={name}")), 1)


class ReloadTest(LogCase):
    def test_a_reload_lists_what_has_changed_and_nothing_else(self) -> None:
        self.gateway.reload({"limits": {"waiting_turns": 3}})
        line = self.wait_line("configuration reloaded")
        self.assertIn('changed=limits', line.replace('"', ""))
        self.assertEqual(self.lines("take effect with the next start"), [])
        self.gateway.reload({"limits": {"waiting_turns": 3}, "built_in_hosts": {"memory": True}})
        self.assertIn("built_in_hosts", self.wait_line("take effect with the next start"))
        self.assertNotIn("providers", self.lines("take effect with the next start")[0])


class HookTest(LogCase):
    CONFIG = {
        "hooks": [
            {"name": "broken", "type": "command", "tools": ["list_devices"], "run": ["/bin/false"]}
        ]
    }

    def test_a_hook_that_does_not_work_is_told(self) -> None:
        self.assertEqual(self.gateway.start_call("list_devices", {}).result(10).code, "FORBIDDEN")
        self.wait_line("a hook does not work", "broken", "exit status 1")


class LevelsTest(LogCase):
    """Which parts log how much: of the configuration, and as an operator says meanwhile."""

    CONFIG = {"gateway": {"log": {"levels": {"trust": "error"}}}}
    SENT = "call sent to a device"  # of level debug, in adapters/clawseed

    def setUp(self) -> None:
        self.name = self.unique("lamp")
        self.device = self.open()
        self.device.register(tool(self.name))

    def call(self) -> str:
        """The id of a call that was sent to the device, whose line would be there by now."""
        running = self.gateway.start_call(self.name)
        request = self.device.next_call(self.name)
        self.device.answer(request, "done")
        running.result(20)
        return request["id"]

    def is_told(self) -> bool:
        call_id = self.call()
        return any(call_id in line for line in self.lines(self.SENT))

    def set_level(self, level: str, part: str) -> None:
        self.gateway.crab("gateway", "log-level", level, "--part", part)

    def test_a_part_logs_more_at_run_time_and_the_change_is_recorded(self) -> None:
        self.assertFalse(self.is_told())
        self.set_level("debug", "adapters")
        self.assertTrue(self.is_told())
        self.set_level("info", "adapters/clawseed")  # what is said of less counts
        self.assertFalse(self.is_told())
        self.set_level("configured", "adapters/clawseed")
        self.assertTrue(self.is_told())
        self.set_level("configured", "adapters")
        self.assertFalse(self.is_told())
        found = self.gateway.admin_request("GET", "/v1/admin/audit?event=admin.change").json()
        about = [it["about"] for it in found["records"] if it["path"] == "/v1/admin/log"]
        self.assertIn({"part": "adapters", "level": "debug"}, about)
        self.assertTrue(all(it["principal"].startswith("local/") for it in found["records"]))

    def test_a_reload_sets_what_the_configuration_says(self) -> None:
        self.set_level("debug", "adapters/clawseed")
        before = dict(self.gateway.config)
        levels = {"gateway": {"log": {"levels": {"adapters/clawseed": "debug"}}}}
        self.gateway.reload({})
        eventually(lambda: not self.is_told(), "the operator's level is gone")
        self.gateway.reload(levels)
        eventually(self.is_told, "the file's level counts")
        self.gateway.write_config(before)
        self.gateway.reload({})
        eventually(lambda: not self.is_told(), "and is gone with it")

    def test_the_configuration_quietens_a_part(self) -> None:
        shown = json.loads(self.gateway.crab("gateway", "log-levels", "-o", "json"))
        self.assertIn({"part": "trust", "level": "error", "from": "configuration"}, shown["levels"])
        self.assertIn("core/pipeline", shown["parts"])
        self.new_token()
        self.assertEqual(self.lines("token issued"), [], "a line of trust, of level info")

    def test_what_is_no_part_or_level_is_refused_and_the_file_is_checked(self) -> None:
        for body, words in (
            ({"level": "debug", "part": "trusst"}, "did you mean trust?"),
            ({"level": "debug", "part": "nothing/like/it"}, "no part has that name"),
            ({"level": "loud"}, "one of debug"),
            ({}, "one of debug"),
        ):
            answer = self.gateway.admin_request("PATCH", "/v1/admin/log", body)
            self.assertEqual(answer.status, 400)
            self.assertIn(words, answer.json()["error"])
        file = self.gateway.folder / "bad.yaml"
        file.write_text("gateway: {log: {levels: {trusst: debug}}}\n")
        done = subprocess.run(
            [program(), "gateway", "check", "--config", str(file)], capture_output=True, text=True
        )
        self.assertEqual(done.returncode, 1)
        self.assertIn("is no part of crab", done.stdout + done.stderr)


# As systemd starts a service: its standard error is the journal's stream, and the journal's socket
# is where it always is, here in a file system of the gateway's own.
AS_SERVICE = """
mount -t tmpfs tmpfs /run && mkdir -p /run/systemd/journal &&
mount --bind "$0" /run/systemd/journal &&
export JOURNAL_STREAM=$(stat -L -c %d:%i /proc/self/fd/2) && exec "$@"
"""


def may_mount() -> bool:
    if not shutil.which("unshare"):
        return False
    tried = ["unshare", "-rm", "sh", "-c", "mount -t tmpfs tmpfs /run"]
    return subprocess.run(tried, capture_output=True, timeout=20).returncode == 0


@unittest.skipUnless(may_mount(), "needs user namespaces")
class JournalTest(LogCase):
    """Under systemd lines go to the journal with their fields."""

    @classmethod
    def setUpClass(cls) -> None:
        folder = cls.enterClassContext(tempfile.TemporaryDirectory())
        cls.journal = cls.enterClassContext(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM))
        cls.journal.bind(f"{folder}/socket")
        cls.journal.settimeout(15)
        Path(folder, "socket").chmod(0o666)
        cls.PREFIX = ("unshare", "-rm", "sh", "-c", AS_SERVICE, folder)
        super().setUpClass()

    def entry(self, event: str) -> dict[str, str]:
        while True:
            lines = self.journal.recv(1 << 16).decode().splitlines()
            fields = dict(line.split("=", 1) for line in lines)
            if fields["CRAB_EVENT"] == event:
                return fields

    def test_an_entry_has_a_field_for_each_of_the_line(self) -> None:
        started = self.entry("started")
        self.assertEqual((started["SYSLOG_IDENTIFIER"], started["PRIORITY"]), ("crab", "6"))
        self.gateway.crab("gateway", "log-level", "debug", "--part", "adapters/clawseed")
        name = self.unique("lamp")
        device = self.open()
        device.register(tool(name))
        running = self.gateway.start_call(name)
        request = device.next_call(name)
        device.answer(request, "done")
        running.result(20)
        sent = self.entry("call sent to a device")
        self.assertEqual(sent["CRAB_REQUEST_ID"], request["id"])
        self.assertEqual((sent["CRAB_PART"], sent["PRIORITY"]), ("adapters/clawseed", "7"))
        self.assertIn(f"request_id={request['id']}", sent["MESSAGE"])
        self.assertEqual(self.lines("device connected"), [], "nothing comes twice")
