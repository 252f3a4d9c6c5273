"""`crab devices run` as somebody starts it: the gateway that it keeps, commands with schemas,
output as it is printed."""

from __future__ import annotations

import base64
import json
import subprocess
import tempfile
from pathlib import Path

from support.case import GatewayCase
from support.gateway import Gateway, program
from support.wait import eventually


class DeviceProgramTest(GatewayCase):
    def setUp(self) -> None:
        super().setUp()
        self.home = tempfile.TemporaryDirectory(prefix="crab-device-")
        self.addCleanup(self.home.cleanup)
        self.state = Path(self.home.name, "device.json")

    def device(self, *words: str) -> subprocess.Popen:
        process = subprocess.Popen(
            [program(), "devices", "run", "--state", str(self.state), *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=open(f"{self.home.name}/log", "ab"),
        )
        self.addCleanup(self.end, process)
        return process

    @staticmethod
    def end(process: subprocess.Popen) -> None:
        process.terminate()
        process.wait(20)

    def log(self) -> str:
        return Path(self.home.name, "log").read_text()

    def test_it_dials_the_gateway_that_it_was_paired_with(self) -> None:
        name = self.unique("laptop")
        pasted = next(
            line
            for line in self.gateway.crab("devices", "pair", "--name", name).splitlines()
            if line.startswith("  crab devices run ")
        )
        self.assertIn(f"--gateway ws://127.0.0.1:{self.gateway.public[1]} ", pasted)
        tool = self.unique("hello")
        first = self.device(*pasted.split()[3:], "--exec", f"{tool}=echo hello")
        self.gateway.wait_listed(tool)
        self.end(first)
        self.gateway.wait_gone(tool)
        self.device("--name", name, "--exec", f"{tool}=echo hello")  # no address: the one it keeps
        self.gateway.wait_listed(tool)
        self.assertIn(f"using ws://127.0.0.1:{self.gateway.public[1]}", self.log())

    def paired_here(self, *words: str) -> tuple[list[str], dict]:
        """Pairs a device with those further words and returns its roles and its own tool
        `device_info`, as both are listed."""
        name = self.unique("machine")
        code = self.gateway.admin_request("POST", "/v1/admin/devices/pair", {"name": name}).json()[
            "code"
        ]
        self.device("--pair", code, "--gateway", f"ws://127.0.0.1:{self.gateway.public[1]}", *words)

        def own() -> dict | None:
            listed = self.gateway.admin_request("GET", "/v1/admin/tools").json()["tools"]
            return next(
                (each for each in listed if each["qualified_name"] == f"{name}__device_info"), None
            )

        eventually(own, "its own tools are listed")
        return self.roles_of(name), own()

    def roles_of(self, device: str) -> list[str]:
        """Those of the one token that it has."""
        devices = json.loads(self.gateway.crab("devices", "list", "-o", "json"))["devices"]
        (token,) = next(row["tokens"] for row in devices if row["device"] == device)
        return token["roles"]

    def test_the_machines_own_tools_read_where_the_gateway_is_the_same_users(self) -> None:
        roles, tool = self.paired_here("--socket", str(self.gateway.admin))
        self.assertIn("trusted_device", roles)
        self.assertFalse(tool["side_effects"])
        self.assertIn("this gateway is yours", self.log())

    def test_who_cannot_open_the_admin_socket_is_not_believed(self) -> None:
        roles, tool = self.paired_here("--socket", f"{self.home.name}/no.sock")
        self.assertNotIn("trusted_device", roles)
        self.assertTrue(tool["side_effects"])
        self.assertNotIn("yours", self.log())

    def test_the_admin_socket_of_another_gateway_vouches_for_nobody(self) -> None:
        with Gateway() as other:
            roles, tool = self.paired_here("--socket", str(other.admin))
        self.assertNotIn("trusted_device", roles)
        self.assertTrue(tool["side_effects"])

    def test_a_code_that_was_vouched_for_gives_another_key_no_more(self) -> None:
        name = self.unique("machine")
        code = self.gateway.admin_request("POST", "/v1/admin/devices/pair", {"name": name}).json()[
            "code"
        ]
        vouched = self.gateway.admin_request(
            "POST",
            "/v1/admin/devices/vouch",
            {"code": code, "public_key": base64.b64encode(b"a key").decode()},
        )
        self.assertEqual(vouched.status, 200)
        self.assertEqual(
            self.gateway.fetch("POST", "/pair", headers={"X-Pairing-Code": code}).status, 200
        )
        self.assertEqual(self.roles_of(name), ["device"])
        for body in (
            {},
            {"code": code},
            {"code": code, "public_key": "%"},
            {"code": code, "public_key": ""},
        ):
            self.assertEqual(
                self.gateway.admin_request("POST", "/v1/admin/devices/vouch", body).status,
                400,
                body,
            )
        self.assertEqual(
            self.gateway.fetch(
                "POST", "/v1/admin/devices/vouch", self.gateway.caller_token(), body={"code": code}
            ).status,
            404,
        )

    def test_a_commands_schema_is_checked_and_its_lines_come_as_they_are_printed(self) -> None:
        tool = self.unique("count")
        schema = Path(self.home.name, "schema.json")
        schema.write_text(
            json.dumps(
                {"type": "object", "required": ["to"], "properties": {"to": {"type": "integer"}}}
            )
        )
        script = f"{self.home.name}/go"
        self.device(
            "--gateway",
            f"ws://127.0.0.1:{self.gateway.public[1]}",
            "--token",
            self.new_token(),
            "--exec",
            f"{tool}=sh -c 'echo first; while [ ! -e {script} ]; do sleep 0.02; done; echo second'",
            "--schema",
            f"{tool}=@{schema}",
            "--describe",
            f"{tool}=Counts",
        )
        self.gateway.wait_listed(tool)
        listed = next(
            each
            for each in self.gateway.admin_request("GET", "/v1/admin/tools").json()["tools"]
            if each["name"] == tool
        )
        self.assertEqual(
            (listed["description"], listed["input_schema"]["required"]), ("Counts", ["to"])
        )
        wrong = subprocess.run(
            [program(), "--socket", str(self.gateway.admin), "call", tool, "--arg", "to=x"],
            capture_output=True,
            text=True,
            timeout=30,
        )
        self.assertEqual(wrong.returncode, 2, wrong.stderr)
        self.assertIn("/to: must be", wrong.stderr)
        call = [program(), "--socket", str(self.gateway.admin), "call", tool]
        follow = subprocess.Popen(
            [*call, *"--arg to=2 --stream -o json".split()],
            stdout=subprocess.PIPE,
            text=True,
        )
        seen = json.loads(follow.stdout.readline())
        self.assertEqual(
            (seen["event"], seen["data"]["message"]),
            ("progress", "first"),
            "before the command has ended",
        )
        Path(script).touch()
        rest = [json.loads(line) for line in follow.stdout]
        follow.stdout.close()
        self.assertEqual(follow.wait(20), 0)
        self.assertEqual(rest[-1]["data"]["result"], {"text": "first\nsecond"})

    def test_a_schema_that_is_none_is_refused_before_it_dials(self) -> None:
        for words, said in (
            (("--schema", "x={}"), "no --exec has that name"),
            (("--exec", "x=true", "--schema", "x=[1]"), "not a JSON object"),
            (("--exec", "x=true", "--schema", 'x={"type":7}'), "--schema x"),
            (("--exec", "x=true", "--schema", "x"), "write NAME=JSON"),
        ):
            done = subprocess.run(
                [
                    program(),
                    "device",
                    "--gateway",
                    "ws://127.0.0.1:1",
                    "--token",
                    "t",
                    "--once",
                    *words,
                ],
                capture_output=True,
                text=True,
                timeout=30,
            )
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(said, done.stderr)

    def test_it_says_where_it_could_not_connect(self) -> None:
        self.device("--gateway", "ws://127.0.0.1:1", "--token", "t")
        eventually(
            lambda: "is not connected to ws://127.0.0.1:1: " in self.log(),
            "the address in the message",
        )
