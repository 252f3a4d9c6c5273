"""What an operator reads in the log: start, devices, tokens, refused credentials, hooks, reloads,
names that became ambiguous."""

from __future__ import annotations

import subprocess

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
