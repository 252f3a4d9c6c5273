"""docs/how_to/photos_for_a_model.md: its configuration, its steps and its table, with a camera that
is this test; a real browser takes the same way in tests/integration/photos_for_a_model_test.py."""

from __future__ import annotations

import base64
import json
import re
import tempfile
from pathlib import Path
from typing import Any

from test_chat import Answer, ChatCase, call
from test_phone_attachments import png

from support.device import ToolFailure, tool
from support.gateway import program
from support.terminal import Terminal

PAGE = (Path(__file__).resolve().parents[2] / "docs/how_to/photos_for_a_model.md").read_text(
    encoding="utf-8"
)
#: What the page types at the terminal.
QUESTION = re.search(r"^ *> (.*)$", PAGE, re.MULTILINE)[1]


def model_of_the_page(url: str) -> dict[str, Any]:
    """The model that the page configures, at another address."""
    entry = re.search(r"^ *- \{(model: .*)\}$", PAGE, re.MULTILINE)[1]
    return {
        **{
            name: json.loads(value)
            for name, value in re.findall(r'(\w+): ("[^"]*"|true|false)', entry)
        },
        "url": url,
    }


def pictures_in(messages: list[dict[str, Any]]) -> list[bytes]:
    """Those of a request to a model that takes `image_url`."""
    parts = [
        part
        for message in messages
        if isinstance(message["content"], list)
        for part in message["content"]
    ]
    return [
        base64.b64decode(part["image_url"]["url"].partition(";base64,")[2])
        for part in parts
        if part["type"] == "image_url"
    ]


class PhotoCase(ChatCase):
    @classmethod
    def model_config(cls) -> dict[str, Any]:
        return model_of_the_page(cls.model.url)

    def setUp(self) -> None:
        self.home = self.enterContext(tempfile.TemporaryDirectory(prefix="crab-home-"))
        self.photo = png(1280, 960)

    def phone(self, answer: Any) -> str:
        """Steps 1 and 2, as the page's tool says it of itself; the name of the device."""
        name = self.gateway.unique("phone")
        code = self.gateway.crab("devices", "pair", "--name", name).splitlines()[0]
        token = self.gateway.fetch("POST", "/pair", headers={"X-Pairing-Code": code}).json()[
            "token"
        ]
        camera = self.open(token)
        camera.register(tool("take_photo", interactive=True, annotations={"read_only": True}))
        camera.serve({"take_photo": answer})
        return name

    def inline(self, _: Any) -> str:
        return json.dumps(
            {
                "mime_type": "image/png",
                "width": 1280,
                "height": 960,
                "data_base64": base64.b64encode(self.photo).decode(),
            }
        )

    def chat(self) -> Terminal:
        """Step 3, with its question."""
        terminal = self.enterContext(
            Terminal(
                [program(), "chat", "--socket", str(self.gateway.admin)],
                {"HOME": self.home, "PATH": "/usr/bin:/bin"},
            )
        )
        terminal.wait_for("/help tells")
        terminal.wait_for("> ")
        terminal.wait_for_editing()
        terminal.type(QUESTION + "\n")
        return terminal


class PhotosForAModelTest(PhotoCase):
    def test_the_model_asks_the_phone_and_sees_what_it_took(self) -> None:
        name = self.phone(self.inline)
        self.assertIn(name, self.gateway.crab("devices", "list"))
        self.assertRegex(self.gateway.crab("tools", "list"), rf"take_photo.*{name}")
        self.model.script(Answer(calls=[call("take_photo")]), Answer("It is on."))
        terminal = self.chat()
        terminal.wait_for(f"→ take_photo on device/{name} {{}}")
        note = "[a picture, image/png, 1280 x 960 pixels, "
        self.assertIn(note.replace("image/png", "image/jpeg"), PAGE)
        terminal.wait_for(note)
        terminal.wait_for("it is shown to you]")
        terminal.wait_for("It is on.")
        self.assertIn(QUESTION, str(self.model.last_messages()))
        self.assertEqual(pictures_in(self.model.last_messages()), [self.photo])

    def test_the_owner_of_the_phone_may_say_no(self) -> None:
        self.assertIn("| `Error: FORBIDDEN` |", PAGE)

        def refuse(_: Any) -> str:
            raise ToolFailure("FORBIDDEN: the person said no")

        self.phone(refuse)
        self.model.script(Answer(calls=[call("take_photo")]), Answer("They said no."))
        terminal = self.chat()
        terminal.wait_for("Error: FORBIDDEN")
        terminal.wait_for("They said no.")
        self.assertEqual(pictures_in(self.model.last_messages()), [])


class WithoutVisionTest(PhotoCase):
    @classmethod
    def model_config(cls) -> dict[str, Any]:
        config = super().model_config()
        assert config.pop("vision") is True
        return config

    def test_a_model_without_vision_says_that_it_cannot_see(self) -> None:
        self.assertIn("`vision` is missing", PAGE)
        self.phone(self.inline)
        self.model.script(Answer(calls=[call("take_photo")]), Answer("I cannot see it."))
        self.chat().wait_for("I cannot see it.")
        self.assertEqual(pictures_in(self.model.last_messages()), [])
        self.assertEqual(
            self.model.last_messages()[-1]["content"],
            f"[a picture, image/png, 1280 x 960 pixels, {len(self.photo)} bytes; you cannot see "
            f"pictures]",
        )
