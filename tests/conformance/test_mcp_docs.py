"""docs/how_to/oauth_for_mcp.md and use_from_mcp_clients.md: their configurations are ones that a
gateway takes, and their commands, in the order of the page, do what it says of them; the servers
are here, and the browser agrees to everything."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import tempfile
import textwrap
import unittest
from pathlib import Path

from support.browser_login import log_in
from support.gateway import Gateway, program
from support.guarded_server import GuardedServer
from support.issuer import Issuer
from support.wait import eventually

ROOT = Path(__file__).resolve().parents[2]
PAGES = ("oauth_for_mcp.md", "use_from_mcp_clients.md")


def blocks(page: str, language: str) -> list[str]:
    """The code of a page; that inside a list is moved to the left."""
    text = (ROOT / "docs" / "how_to" / page).read_text(encoding="utf-8")
    found = re.findall(rf"^ *```{language}\n(.*?)^ *```$", text, re.DOTALL | re.MULTILINE)
    return [textwrap.dedent(block) for block in found]


def commands(page: str, marked: str) -> list[list[str]]:
    """The words of each line of the block that has `marked` in it; comments are none."""
    block = next(block for block in blocks(page, "sh") if marked in block)
    return [shlex.split(line, comments=True) for line in block.splitlines() if line.strip()]


class ConfigurationsTest(unittest.TestCase):
    def test_every_one_is_valid(self) -> None:
        folder = Path(self.enterContext(tempfile.TemporaryDirectory(prefix="crab-docs-")))
        shown_to_programs = self.enterContext(tempfile.TemporaryDirectory(prefix="crab-docs-"))
        for name in ("gw.pem", "ca.pem", "gateway.pem", "gateway.key", "notes"):
            (folder / name).write_text("there\n", encoding="utf-8")
        for page in PAGES:
            shown = blocks(page, "yaml")
            self.assertGreater(len(shown), 1, page)
            for text in shown:
                text = text.replace("/etc/crab", str(folder))
                text = re.sub("/home/ann/.nvm|/srv/files", shown_to_programs, text)
                (folder / "gateway.yaml").write_text(text, encoding="utf-8")
                words = [program(), "gateway", "check", "--config", str(folder / "gateway.yaml")]
                checked = subprocess.run(
                    words, capture_output=True, text=True, timeout=30, check=False
                )
                with self.subTest(page=page, text=text):
                    self.assertEqual(checked.returncode, 0, checked.stderr)

    def test_the_policy_for_tokens_of_an_issuer_names_somebody(self) -> None:
        page = (ROOT / "docs" / "how_to" / PAGES[0]).read_text(encoding="utf-8")
        principal = re.search(r'principal: "(oauth/[^"]*)"', page)
        assert principal is not None
        config = {"policy": [{"principal": principal[1], "call": {"deny": ["reboot"]}}]}
        with Gateway(config) as gateway:
            words = ["policy", "test", "--as"]
            with self.assertRaisesRegex(AssertionError, "deny, by rule policy"):
                gateway.crab(*words, "oauth/login/ann", "call", "reboot")
            self.assertNotIn("no principal is called", gateway.log_tail())


class LoginTest(unittest.TestCase):
    def test_the_steps_of_the_page(self) -> None:
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        issuer = self.enterContext(Issuer(folder))
        server = self.enterContext(GuardedServer(issuer))
        gateway = self.enterContext(Gateway({}))
        add, status, login, login_of_ann, logout = commands(PAGES[0], "crab mcp login notes")
        self.assertEqual(add[:4], ["crab", "mcp", "add", "notes"])
        gateway.crab(*add[1:4], server.url)
        said = re.search(r"^crab mcp status.*# error: (.*)$", blocks(PAGES[0], "sh")[0], re.M)
        assert said is not None
        eventually(lambda: said[1] in gateway.crab(*status[1:]), "it asks for the login")
        self.assertEqual(login[:3], ["crab", "mcp", "login"])
        self.assertIn("notes is logged in", log_in(gateway, *login[3:]))
        eventually(lambda: "who" in gateway.crab("tools", "list"), "its tools are there")
        self.assertEqual(gateway.crab("call", "who").strip(), "ann")
        issuer.logged_in = "second"
        self.assertIn("for caller/ann", log_in(gateway, *login_of_ann[3:]))
        gateway.crab(*logout[1:])
        with self.assertRaisesRegex(AssertionError, "crab mcp login notes"):
            gateway.crab("call", "who")


class CameraTest(unittest.TestCase):
    def test_the_steps_without_a_phone_or_an_assistant(self) -> None:
        folder = Path(self.enterContext(tempfile.TemporaryDirectory(prefix="crab-docs-")))
        (folder / "picture.txt").write_text("a picture\n", encoding="utf-8")
        gateway = self.enterContext(Gateway({}))
        pair, device, *calls = commands(PAGES[1], "crab devices run --pair CODE")
        code = gateway.crab(*pair[1:]).splitlines()[0]
        at = f"ws://127.0.0.1:{gateway.public[1]}"
        words = [code if word == "CODE" else word for word in device[1:]]
        environment = {"HOME": str(folder), "PATH": "/usr/bin:/bin"}
        process = subprocess.Popen(
            [program(), *words, "--gateway", at],
            cwd=folder,
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self.addCleanup(process.wait, 10)
        self.addCleanup(process.terminate)
        eventually(lambda: "take_photo" in gateway.crab("tools", "list"), "the device is there")
        self.assertEqual(len(calls), 2)
        for call in calls:
            self.assertEqual(call[0], "python3")
            cut = call.index("--")
            client = [str(ROOT / call[1]), *call[2:cut], "--", program(), *call[cut + 2 :]]
            done = subprocess.run(
                [sys.executable, *client, "--socket", str(gateway.admin)],
                capture_output=True,
                text=True,
                timeout=30,
                check=True,
            )
            self.assertIn("a picture", done.stdout)
        shown = gateway.crab("calls", "list")
        call_id = next(line for line in shown.splitlines() if "take_photo" in line).split()[0]
        self.assertIn("mcp", gateway.crab("calls", "show", call_id))


if __name__ == "__main__":
    unittest.main()
