"""docs/protocols/clawseed.md, what the newest phone app brings: pictures, files and questions; with
a model that sees, behind both APIs."""

from __future__ import annotations

import base64
import json
import struct
import zlib
from pathlib import Path
from typing import Any

from test_chat import Answer, ChatCase, call
from test_phone_app import Phone

from support.device import Device, tool


def png(width: int = 2, height: int = 3) -> bytes:
    """A picture of one colour."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    rows = b"".join(b"\0" + b"\xff\0\0" * width for _ in range(height))
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
        + chunk(b"IDAT", zlib.compress(rows))
        + chunk(b"IEND", b"")
    )


FILE = {
    "id": "file_" + "a" * 32,
    "name": "中文 notes.md",
    "mime_type": "text/markdown",
    "size_bytes": 9,
    "format": "md",
    "status": "ready",
    "unit": "character",
    "total": 3,
    "excerpt": {
        "attachment_id": "file_" + "a" * 32,
        "unit": "character",
        "start": 0,
        "next": 3,
        "total": 3,
        "eof": True,
        "content": "甲😀乙",
    },
}


class AttachmentCase(ChatCase):
    def phone(self, token: str, **options: Any) -> Phone:
        phone = Phone(self.gateway, token, **options)
        self.addCleanup(phone.drop)
        return phone

    def upload(self, phone: Phone, token: str, content: bytes) -> Any:
        return self.gateway.fetch(
            "POST",
            f"/api/sessions/{phone.session_id}/attachments",
            token,
            {"Content-Type": "image/png"},
            content,
        )

    def picture(self, phone: Phone, token: str, content: bytes) -> str:
        stored = self.upload(phone, token, content)
        self.assertEqual(stored.status, 201, stored.body)
        return stored.json()["id"]


class Seeing:
    """Mixed into a case for each API."""

    def test_a_picture_reaches_the_model_and_the_history(self) -> None:
        token = self.new_token("phone")
        phone = self.phone(token)
        self.assertTrue(
            phone.session["image_attachments_supported"]
            and phone.session["file_attachments_supported"]
        )
        content = png()
        stored = self.upload(phone, token, content)
        meta = stored.json()
        self.assertEqual(
            (stored.status, meta),
            (
                201,
                {
                    "id": meta["id"],
                    "mime_type": "image/png",
                    "size_bytes": len(content),
                    "width": 2,
                    "height": 3,
                },
            ),
        )
        self.model.script(Answer("Red."), Answer("Still red."))
        phone.send(
            "message", content="what colour?", attachments=[{"type": "image", "id": meta["id"]}]
        )
        self.assertEqual(self.answer_of(self.turn(phone, None)), "Red.")
        self.assertEqual(self.shown(), [base64.b64encode(content).decode()])
        messages = self.gateway.fetch(
            "GET", f"/api/sessions/{phone.session_id}/messages", token
        ).json()["messages"]
        self.assertEqual(
            messages[0], {"role": "user", "content": "what colour?", "attachments": [meta]}
        )
        read = self.gateway.fetch(
            "GET", f"/api/sessions/{phone.session_id}/attachments/{meta['id']}", token
        )
        self.assertEqual(
            (read.status, read.body, read.headers["content-type"]), (200, content, "image/png")
        )
        self.turn(phone, "and now?")
        self.assertEqual(len(self.shown()), 1, "the conversation goes on with it")
        phone.send("regenerate")
        self.turn(phone, None)

    def test_a_message_may_be_a_picture_alone(self) -> None:
        token = self.new_token("phone")
        phone = self.phone(token)
        self.model.script(Answer("A square."))
        phone.send(
            "message",
            content="",
            attachments=[{"type": "image", "id": self.picture(phone, token, png())}],
        )
        self.assertEqual(self.answer_of(self.turn(phone, None)), "A square.")
        sessions = self.gateway.fetch("GET", "/api/sessions", token).json()["sessions"]
        self.assertEqual(
            [each["message_count"] for each in sessions if each["session_id"] == phone.session_id],
            [2],
        )

    def test_pictures_of_others_and_bad_ones_are_refused_and_nothing_is_asked(self) -> None:
        token, other = self.new_token("phone"), self.new_token("other")
        phone, stranger = self.phone(token), self.phone(other)
        mine, theirs = self.picture(phone, token, png()), self.picture(stranger, other, png())
        self.model.script()
        for wanted in (
            [{"type": "image", "id": theirs}],
            [{"type": "image", "id": "att_" + "0" * 32}],
            [{"type": "image", "id": "../../etc/passwd"}],
            [{"type": "video", "id": mine}],
            [{"type": "image", "id": mine}] * 5,
            "x",
            [None],
        ):
            phone.send("message", content="look", attachments=wanted)
            self.assertEqual(phone.expect("error")["code"], "INVALID_IMAGE_MESSAGE", wanted)
        self.assertEqual(self.model.requests, [])
        for status, content in (
            (400, b""),
            (400, b"no picture"),
            (400, png()[:20]),
            (400, png(9000, 1)),
            (413, b"\x89PNG\r\n\x1a\n" + b"x" * (5 << 20)),
        ):
            self.assertEqual(self.upload(phone, token, content).status, status)
        for target in (
            f"/api/sessions/{stranger.session_id}/attachments",
            f"/api/sessions/{stranger.session_id}/attachments/{theirs}",
        ):
            method = "GET" if target.endswith(theirs) else "POST"
            self.assertEqual(
                self.gateway.fetch(
                    method, target, token, body=png() if method == "POST" else None
                ).status,
                404,
            )
        self.assertEqual(
            self.gateway.fetch(
                "POST", f"/api/sessions/{phone.session_id}/attachments", "wrong", body=png()
            ).status,
            401,
        )

    def test_a_webhook_refuses_what_it_cannot_pass_on(self) -> None:
        self.model.script(Answer("never said"))
        token = self.new_token()
        for member, value in (
            ("attachments", [{"type": "image", "id": "att_" + "0" * 32}]),
            ("attachments", {}),
            ("files", [{}]),
        ):
            answer = self.gateway.fetch(
                "POST", "/webhook", token, body={"message": "see", member: value}
            )
            self.assertEqual((answer.status, answer.json()["code"]), (400, "INVALID_ARGS"))
            self.assertIn(f"/{member}: a webhook takes text alone", answer.json()["error"])
        self.assertEqual(self.model.requests, [])
        body = {"message": "see", "attachments": [], "files": None}
        self.assertEqual(self.gateway.fetch("POST", "/webhook", token, body=body).status, 200)

    def test_a_photo_that_a_tool_takes_is_seen(self) -> None:
        name, token = self.unique("take_photo"), self.new_token("phone")
        phone = self.phone(token)
        content = base64.b64encode(png(4, 4)).decode()
        camera = self.open(token)
        camera.register(tool(name))
        camera.serve(
            {
                name: lambda _: json.dumps(
                    {"mime_type": "image/png", "width": 4, "height": 4, "data_base64": content}
                )
            }
        )
        self.model.script(Answer(calls=[call(name)]), Answer("I see a red square."))
        frames = self.turn(phone, "look around")
        self.assertEqual(self.answer_of(frames), "I see a red square.")
        self.assertEqual(self.shown(), [content])
        told = next(frame for frame in frames if frame["type"] == "tool_result")
        self.assertNotIn(content, told["output"])

    def test_a_photo_that_is_uploaded_is_seen(self) -> None:
        name, token = self.unique("take_photo"), self.new_token("phone")
        phone = self.phone(token)
        camera = self.open(token, capabilities=["artifacts"])
        camera.register(tool(name))
        self.model.script(Answer(calls=[call(name)]), Answer("I see it."))
        phone.send("message", content="look")
        request = camera.next_call(name)
        stored = camera.upload(request, png(5, 5), content_type="image/png")
        camera.answer_uploaded(request, stored.json()["artifact"])
        self.assertEqual(self.answer_of(self.turn(phone, None)), "I see it.")
        self.assertEqual(self.shown(), [base64.b64encode(png(5, 5)).decode()])

    def test_files_are_read_with_the_question_and_kept(self) -> None:
        token = self.new_token("phone")
        phone = self.phone(token)
        self.model.script(Answer("Noted."))
        phone.send("message", content="", files=[FILE])
        self.assertEqual(self.answer_of(self.turn(phone, None)), "Noted.")
        asked = json.dumps(self.model.last_messages(), ensure_ascii=False)
        self.assertIn("甲😀乙", asked)
        self.assertIn("中文 notes.md", asked)
        messages = self.gateway.fetch(
            "GET", f"/api/sessions/{phone.session_id}/messages", token
        ).json()["messages"]
        self.assertEqual(messages[0]["files"], [FILE])
        for change in (
            {"id": "../x"},
            {"status": "failed"},
            {"format": "exe"},
            {"size_bytes": 30 << 20},
            {"total": 2},
        ):
            phone.send("message", content="look", files=[{**FILE, **change}])
            self.assertEqual(phone.expect("error")["code"], "INVALID_FILE_MESSAGE", change)
        phone.send("message", content="look", files=[FILE, FILE])
        self.assertEqual(phone.expect("error")["code"], "INVALID_FILE_MESSAGE")

    def test_metrics_and_presentations_are_told(self) -> None:
        name, token = self.unique("search"), self.new_token("phone")
        phone = self.phone(token)
        phone.send("register_tools", tools=[tool(name)])
        phone.expect("tools_registered")
        self.model.script(Answer(calls=[call(name)]), Answer("Found it."))
        phone.send("message", content="find")
        while (request := phone.receive())["type"] != "tool_call_request":
            pass
        shown = {"version": 1, "blocks": [{"type": "markdown", "text": "**it**"}]}
        phone.send("tool_result", id=request["id"], output="it", success=True, presentation=shown)
        frames = self.turn(phone, None)
        told = next(frame for frame in frames if frame["type"] == "tool_result")
        self.assertEqual((told["output"], told["presentation"]), ("it", shown))
        metrics = next(frame for frame in frames if frame["type"] == "done")["metrics"]
        self.assertEqual(
            (metrics["input_tokens"], metrics["output_tokens"]),
            (11, 14),
            "input of the last request, output of both",
        )
        self.assertGreaterEqual(metrics["elapsed_ms"], 0)
        self.gateway.stop()
        self.gateway.start()
        messages = self.gateway.fetch(
            "GET", f"/api/sessions/{phone.session_id}/messages", token
        ).json()["messages"]
        self.assertEqual(
            messages[-1],
            {
                "role": "assistant",
                "content": "Found it.",
                "presentation": shown,
                "metrics": metrics,
            },
        )
        self.assertFalse(any("metrics" in each or "presentation" in each for each in messages[:-1]))

    def test_the_agent_asks_and_reads_the_answer(self) -> None:
        phone = self.phone(self.new_token("phone"))
        question = {
            "type": "single_select",
            "question": "Which room?",
            "options": [
                {"id": "k", "label": "Kitchen"},
                {"id": "c", "label": "Cellar", "description": "cold"},
            ],
        }
        self.model.script(
            Answer(calls=[call("ask_user", **question)]), Answer("The kitchen, then.")
        )
        phone.send("message", content="light on")
        asked = self.wait_for(phone, "ask_user_request")
        self.assertEqual(
            (asked["kind"], asked["question"], asked["options"]),
            ("single_select", "Which room?", question["options"]),
        )
        self.assertEqual(asked["session_id"], phone.session_id)
        place = {key: asked[key] for key in ("request_id", "turn_id", "tool_call_id")}
        for wrong in (
            {**place, "status": "accepted", "answer": "attic"},
            {**place, "status": "accepted"},
            {**place, "turn_id": "x", "status": "accepted", "answer": "k"},
            {**place, "status": "answered", "answer": "k"},
        ):
            phone.send("ask_user_response", **wrong)
            self.assertEqual(self.wait_for(phone, "ask_user_ack")["status"], "rejected", wrong)
        stranger = self.phone(self.new_token("stranger"))
        stranger.send("ask_user_response", **place, status="accepted", answer="c")
        self.assertEqual(self.wait_for(stranger, "ask_user_ack")["status"], "not_pending")
        phone.send("ask_user_response", **place, status="accepted", answer="k")
        self.assertEqual(
            self.wait_for(phone, "ask_user_ack"),
            {"type": "ask_user_ack", "request_id": place["request_id"], "status": "accepted"},
        )
        frames = self.turn(phone, None)
        self.assertEqual(self.answer_of(frames), "The kitchen, then.")
        self.assertEqual(
            json.loads(next(frame for frame in frames if frame["type"] == "tool_result")["output"]),
            {"status": "accepted", "answer": "k"},
        )
        phone.send("ask_user_response", **place, status="accepted", answer="k")
        self.assertEqual(self.wait_for(phone, "ask_user_ack")["status"], "not_pending")

    def test_an_open_question_comes_again_on_the_link_that_returns_and_ends_with_an_abort(
        self,
    ) -> None:
        token = self.new_token("phone")
        phone = self.phone(token, session_id=self.unique("asked"))
        self.model.script(
            Answer(calls=[call("ask_user", type="confirm", question="Sure?")]), Answer("never said")
        )
        phone.send("message", content="go")
        asked = self.wait_for(phone, "ask_user_request")
        phone.drop()
        again = Device(
            self.gateway, token, session_id=phone.session_id, connect=False
        )  # it comes before anything is said
        self.addCleanup(again.drop)
        self.assertEqual(
            self.wait_for(again, "ask_user_request")["request_id"], asked["request_id"]
        )
        again.send("abort")
        self.assertEqual(self.turn(again, None)[-2]["type"], "aborted")

    def wait_for(self, phone: Device, kind: str) -> dict[str, Any]:
        while (frame := phone.receive())["type"] != kind:
            pass
        return frame


class SeeingChatCompletionsTest(Seeing, AttachmentCase):
    @classmethod
    def model_config(cls) -> dict[str, Any]:
        return {"url": cls.model.url, "vision": True}

    def shown(self) -> list[str]:
        """The pictures in the last request, base64."""
        found = []
        for message in self.model.last_messages():
            for part in message["content"] if isinstance(message["content"], list) else []:
                if part["type"] == "image_url":
                    found.append(part["image_url"]["url"].partition(";base64,")[2])
        return found


class SeeingAnthropicTest(Seeing, AttachmentCase):
    @classmethod
    def model_config(cls) -> dict[str, Any]:
        key = Path(cls.enterClassContext(__import__("tempfile").TemporaryDirectory())) / "key"
        key.write_text("sk-test\n")
        return {"api": "anthropic", "url": cls.model.origin, "key_file": str(key), "vision": True}

    def shown(self) -> list[str]:
        """The pictures in the last request, base64."""
        found = []
        for message in self.model.last_messages():
            for block in message["content"]:
                for part in [
                    block,
                    *(block["content"] if isinstance(block.get("content"), list) else []),
                ]:
                    if part["type"] == "image":
                        found.append(part["source"]["data"])
        return found


class BlindTest(AttachmentCase):
    def test_a_picture_for_a_model_that_does_not_see_is_an_error_and_never_dropped(self) -> None:
        token = self.new_token("phone")
        phone = self.phone(token)
        self.assertEqual(
            (phone.session["image_attachments_supported"], phone.session["image_model_support"]),
            (False, "unsupported"),
        )
        status = self.gateway.fetch("GET", "/api/status", token).json()
        self.assertEqual(
            status["image_attachments"],
            {
                "supported": False,
                "max_images_per_message": 4,
                "max_image_bytes": 5 << 20,
                "max_dimension": 8192,
            },
        )
        self.model.script(Answer("never said"))
        phone.send(
            "message",
            content="look",
            attachments=[{"type": "image", "id": self.picture(phone, token, png())}],
        )
        self.assertEqual(phone.expect("error")["code"], "IMAGE_MODEL_UNSUPPORTED")
        self.assertEqual(self.model.requests, [])

    def test_clients_that_list_extensions_are_asked_only_if_they_list_that(self) -> None:
        self.model.script(Answer("hi"), Answer("hi"))
        for capabilities, offered in ((["presence"], False), (["ask_user"], True)):
            self.turn(self.open(capabilities=capabilities), "hi")
            self.assertEqual("ask_user" in self.model.offered(), offered, capabilities)
