"""The stories of docs/how_to/cookbook, and docs/operations/people_and_tokens.md, as they stand
there (support/story.py)."""

from __future__ import annotations

import base64
import json
import re
import shutil
import sys
import unittest
from pathlib import Path

from test_commands import can_sandbox
from test_phone_attachments import png

from support.device import Device, tool
from support.gateway import Gateway
from support.http import fetch
from support.story import COOKBOOK, Story
from support.wait import eventually

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from scripted_model import Answer, ScriptedModel, call  # noqa: E402

MODEL = "http://127.0.0.1:11434/v1"
ID = r"[0-9a-f]{12}"


class CookbookTest(unittest.TestCase):
    def story(self, page: str) -> Story:
        return self.enterContext(Story(page))

    def with_model(self, page: str) -> tuple[Story, ScriptedModel]:
        model = self.enterContext(ScriptedModel())
        story = self.story(page)
        story.words[MODEL] = model.url
        story.configure()
        story.gateway()
        return story, model

    def test_every_story_is_one_of_these(self) -> None:
        index = (COOKBOOK / "README.md").read_text(encoding="utf-8")
        pages = {page.name for page in COOKBOOK.glob("*.md")} - {"README.md"}
        source = Path(__file__).read_text(encoding="utf-8")
        self.assertEqual(len(pages), 8)
        for page in pages:
            self.assertIn(f"({page})", index)
            self.assertIn(f'"{page}"', source)

    def test_the_camera_of_a_phone(self) -> None:
        story, model = self.with_model("phone_camera.md")
        story.run(learn={"5809-8061-5827": r"[0-9-]+"})
        phone = self.phone(story)
        story.run(until=True)
        model.script(Answer(calls=[call("take_photo")]), Answer("It is on."))
        story.run()
        story.run(until=True)
        story.run()
        phone.drop()

    def phone(self, story: Story) -> Device:
        """The page of a browser: redeems the code, offers a camera and answers its calls."""
        host, _, port = story.words["127.0.0.1:42617"].partition(":")
        code = {"X-Pairing-Code": story.words["5809-8061-5827"]}
        token = fetch((host, int(port)), "POST", "/pair", code).json()["token"]
        gateway = Gateway.__new__(Gateway)  # only its address is used
        gateway.public = (host, int(port))
        phone = Device(gateway, token)
        self.addCleanup(phone.drop)
        phone.register(tool("take_photo", interactive=True, annotations={"read_only": True}))
        photo = {
            "mime_type": "image/png",
            "width": 1280,
            "height": 960,
            "data_base64": base64.b64encode(png(1280, 960)).decode(),
        }
        phone.serve({"take_photo": lambda _: json.dumps(photo)})
        return phone

    def test_a_nightly_report(self) -> None:
        story, model = self.with_model("nightly_report.md")
        story.run()
        story.run()
        report = "Report: pump 2 was loud and is repaired."
        model.script(
            Answer(calls=[call("memory_query", query="pump")]),
            Answer(calls=[call("memory_append", entries=[{"text": report}])]),
            Answer(report),
        )
        story.run()
        story.run(until=True)
        story.run(until=True)

    def test_a_deploy_script_that_asks_first(self) -> None:
        story = self.story("deploy_approval.md")
        story.configure()
        story.gateway()
        story.start()
        story.run()
        story.run(status=4, learn={"5f0c9a3be214": ID})
        story.run()
        story.run()
        story.run(until=True)

    def test_a_host_in_another_building(self) -> None:
        story = self.story("paired_host.md")
        story.configure()
        story.gateway()
        story.run(learn={"Q2F0Y2ggbWUgaWYgeW91IGNhbg": r"\S+"})
        story.words["127.0.0.1:7443"] = "127.0.0.1:0"
        key = "UmVtb3RlIGtleSBvZiB0aGUgaG9zdA"
        story.start({key: r"\S+", "127.0.0.1:7443": r"\S+"})
        story.run()
        story.run(until=True)
        story.run()
        story.run(status=5)

    @unittest.skipUnless(shutil.which("bwrap"), "no bubblewrap")
    def test_the_apps_of_a_desktop(self) -> None:
        story = self.story("desktop_apps.md")
        story.configure()
        story.gateway()
        story.run()
        story.run()
        story.start()
        story.run(until=True)
        story.run()

    def test_git_for_an_agent(self) -> None:
        if not can_sandbox():
            self.skipTest("no sandbox on this machine")
        model = self.enterContext(ScriptedModel())
        story = self.story("sandboxed_git.md")
        story.words[MODEL] = model.url
        story.run()
        story.configure()
        story.run()
        story.gateway()
        story.run(until=True)
        story.run(status=2)
        model.script(Answer(calls=[call("git_diff")]), Answer("A line about beans."))
        story.run()

    def test_webhooks(self) -> None:
        story, model = self.with_model("webhooks.md")
        model.script(Answer("It is."))
        story.run()
        program = story.write("work/receiver.py", "python", **{"8090": "0"})
        self.assertTrue(program.exists())
        receiver = story.start({"8090": r"\d+"})
        story.start()
        got = eventually(
            lambda: re.search(r"\{.*agent.response.created.*", receiver.read_text()),
            "the receiver has the answer",
        )
        self.assertEqual(json.loads(got[0])["event_type"], "agent.response.created")
        story.run()

    def test_two_gateways(self) -> None:
        story = self.story("two_gateways.md")
        lab = "127.0.0.1:42618"
        (story.folder / ".config/crab").mkdir(parents=True)
        story.configure(listen=lab, path="work/lab.yaml")
        story.gateway(listen=lab)
        story.start()
        story.run()
        story.configure()
        story.gateway()
        story.run(until=True)
        story.run()
        story.run(until=True)
        story.run(status=4)

    def test_people_and_tokens(self) -> None:
        story = self.story("../../operations/people_and_tokens.md")
        story.configure()
        story.gateway()
        for _ in range(4):
            story.run()


if __name__ == "__main__":
    unittest.main()
