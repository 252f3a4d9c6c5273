"""docs/how_to/photos_for_a_model.md with its own parts: the device page in a real browser with a
camera, `crab chat`, and a model server that is a script. The owner of the phone is this test."""

from __future__ import annotations

import tempfile
from typing import ClassVar

from test_chat import Answer, ScriptedModel, call
from test_photo_docs import QUESTION, model_of_the_page, pictures_in

from support.gateway import program
from support.page_case import DevicePageCase
from support.terminal import Terminal


class PhotosForAModelTest(DevicePageCase):
    model: ClassVar[ScriptedModel]

    @classmethod
    def setUpClass(cls) -> None:
        cls.model = cls.enterClassContext(ScriptedModel())
        cls.CONFIG = {"models": [model_of_the_page(cls.model.url)]}
        super().setUpClass()

    def chat(self) -> Terminal:
        home = self.enterContext(tempfile.TemporaryDirectory(prefix="crab-home-"))
        terminal = self.enterContext(
            Terminal(
                [program(), "chat", "--socket", str(self.gateway.admin)],
                {"HOME": home, "PATH": "/usr/bin:/bin"},
            )
        )
        terminal.wait_for("/help tells")
        terminal.wait_for("> ")
        terminal.wait_for_editing()
        return terminal

    def test_a_model_asks_for_a_photo_and_sees_it(self) -> None:
        name = self.gateway.unique("phone")
        self.page.open(self.address)
        self.page.type(
            "#code",
            self.gateway.crab("devices", "pair", "--name", name).splitlines()[0].replace("-", ""),
        )
        self.page.click_button("Pair this device")
        self.listed("take_photo")
        self.model.script(Answer(calls=[call("take_photo")]), Answer("It is on."))
        terminal = self.chat()
        terminal.type(QUESTION + "\n")
        self.page.wait_text(".ask h2", "wants to take a photo")
        self.page.click_button("Allow once")
        terminal.wait_for("[a picture, image/jpeg, ")
        terminal.wait_for("It is on.")
        (photo,) = pictures_in(self.model.last_messages())
        self.assertEqual((photo[:3], photo[-2:]), (b"\xff\xd8\xff", b"\xff\xd9"))

    def test_the_owner_says_no(self) -> None:
        self.pair()
        self.listed("take_photo")
        self.model.script(Answer(calls=[call("take_photo")]), Answer("They said no."))
        terminal = self.chat()
        terminal.type(QUESTION + "\n")
        self.page.click_button("Not now")
        terminal.wait_for("Error: FORBIDDEN")
        terminal.wait_for("They said no.")
        self.assertEqual(pictures_in(self.model.last_messages()), [])
