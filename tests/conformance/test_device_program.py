"""`crab device` as somebody starts it: the gateway that it keeps, commands with schemas, output as it is printed."""

from __future__ import annotations

import json
import subprocess
import tempfile
from pathlib import Path

from support.case import GatewayCase
from support.gateway import program
from support.wait import eventually


class DeviceProgramTest(GatewayCase):
    def setUp(self) -> None:
        super().setUp()
        self.home = tempfile.TemporaryDirectory(prefix="crab-device-")
        self.addCleanup(self.home.cleanup)
        self.state = Path(self.home.name, "device.json")

    def device(self, *words: str) -> subprocess.Popen:
        process = subprocess.Popen([program(), "device", "--state", str(self.state), *words], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   stderr=open(f"{self.home.name}/log", "ab"))
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
        pasted = next(line for line in self.gateway.crab("devices", "pair", "--name", name).splitlines() if line.startswith("  crab device "))
        self.assertIn(f"--gateway ws://127.0.0.1:{self.gateway.public[1]} ", pasted)
        tool = self.unique("hello")
        first = self.device(*pasted.split()[2:], "--exec", f"{tool}=echo hello")
        self.gateway.wait_listed(tool)
        self.end(first)
        self.gateway.wait_gone(tool)
        self.device("--name", name, "--exec", f"{tool}=echo hello")  # no address: the one it keeps
        self.gateway.wait_listed(tool)
        self.assertIn(f"using ws://127.0.0.1:{self.gateway.public[1]}", self.log())

    def test_a_commands_schema_is_checked_and_its_lines_come_as_they_are_printed(self) -> None:
        tool = self.unique("count")
        schema = Path(self.home.name, "schema.json")
        schema.write_text(json.dumps({"type": "object", "required": ["to"], "properties": {"to": {"type": "integer"}}}))
        script = f"{self.home.name}/go"
        self.device("--gateway", f"ws://127.0.0.1:{self.gateway.public[1]}", "--token", self.new_token(), "--exec",
                    f"{tool}=sh -c 'echo first; while [ ! -e {script} ]; do sleep 0.02; done; echo second'", "--schema", f"{tool}=@{schema}", "--describe", f"{tool}=Counts")
        self.gateway.wait_listed(tool)
        listed = next(each for each in self.gateway.admin_request("GET", "/v1/admin/tools").json()["tools"] if each["name"] == tool)
        self.assertEqual((listed["description"], listed["input_schema"]["required"]), ("Counts", ["to"]))
        wrong = subprocess.run([program(), "--socket", str(self.gateway.admin), "call", tool, "--arg", "to=x"], capture_output=True, text=True, timeout=30)
        self.assertEqual(wrong.returncode, 2, wrong.stderr)
        self.assertIn("/to: must be", wrong.stderr)
        follow = subprocess.Popen([program(), "--socket", str(self.gateway.admin), "call", tool, "--arg", "to=2", "--stream", "-o", "json"], stdout=subprocess.PIPE, text=True)
        seen = json.loads(follow.stdout.readline())
        self.assertEqual((seen["event"], seen["data"]["message"]), ("progress", "first"), "before the command has ended")
        Path(script).touch()
        rest = [json.loads(line) for line in follow.stdout]
        follow.stdout.close()
        self.assertEqual(follow.wait(20), 0)
        self.assertEqual(rest[-1]["data"]["result"], {"text": "first\nsecond"})

    def test_a_schema_that_is_none_is_refused_before_it_dials(self) -> None:
        for words, said in ((("--schema", "x={}"), "no --exec has that name"), (("--exec", "x=true", "--schema", "x=[1]"), "not a JSON object"),
                            (("--exec", "x=true", "--schema", 'x={"type":7}'), "--schema x"), (("--exec", "x=true", "--schema", "x"), "write NAME=JSON")):
            done = subprocess.run([program(), "device", "--gateway", "ws://127.0.0.1:1", "--token", "t", "--once", *words], capture_output=True, text=True, timeout=30)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(said, done.stderr)

    def test_it_says_where_it_could_not_connect(self) -> None:
        self.device("--gateway", "ws://127.0.0.1:1", "--token", "t")
        eventually(lambda: "is not connected to ws://127.0.0.1:1: " in self.log(), "the address in the message")
