"""docs/protocols/clawseed.md, section 10, and cetp.md, section 4: what the original Android app and
its bridge of apps send and read, played frame by frame."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote_plus

from test_chat import Answer, ChatCase, Hold, call

from support.device import Device, tool
from support.http import Response
from support.wait import eventually
from support.websocket import Closed, WebSocket

JSON = {"Content-Type": "application/json; charset=utf-8"}


class Phone(Device):
    """The app's connection: it writes `connect`, its tools and what was typed meanwhile before it
    reads anything, and leaves out what it does not know."""

    def __init__(
        self,
        gateway: Any,
        token: str,
        session_id: str | None = None,
        tools: list[dict[str, Any]] | None = None,
        typed: tuple[str, ...] = (),
    ) -> None:
        self._gateway, self._token, self.capabilities = gateway, token, ()
        target = "/ws/chat" + (f"?session_id={quote_plus(session_id)}" if session_id else "")
        self.socket = WebSocket(
            gateway.public,
            target,
            {"Authorization": f"Bearer {token}", "Sec-WebSocket-Extensions": "permessage-deflate"},
        )
        self.send("connect", v=1, **({"session_id": session_id} if session_id else {}))
        if tools:
            self.send("register_tools", tools=tools)
        for content in typed:
            self.send("message", content=content)
        self.session = self.expect("session_start")
        self.session_id = self.session["session_id"]
        self.expect("connected")
        if tools:
            self.expect("tools_registered")


class PhoneCase(ChatCase):
    def phone(self, token: str | None = None, **options: Any) -> Phone:
        phone = Phone(self.gateway, token or self.new_token("phone"), **options)
        self.addCleanup(phone.drop)
        return phone

    def rest(
        self,
        method: str,
        target: str,
        token: str,
        body: bytes | None = None,
        headers: dict[str, str] | None = None,
    ) -> Response:
        return self.gateway.fetch(
            method,
            target,
            token,
            headers if headers is not None else JSON if body is not None else {},
            body,
        )


class ChatsTest(PhoneCase):
    def test_what_was_typed_while_the_link_was_down_is_answered_with_the_tools_of_the_same_burst(
        self,
    ) -> None:
        name = self.unique("echo_words")
        self.model.script(Answer(calls=[call(name, words="€ 𝄞")]), Answer("There."))
        phone = self.phone(tools=[tool(name)], typed=("say it",))
        while (frame := phone.receive())["type"] != "tool_call_request":
            pass
        self.assertEqual((frame["name"], frame["args"]), (name, {"words": "€ 𝄞"}))
        phone.send("tool_result", id=frame["id"], output="€ 𝄞", success=True)
        kinds = [frame["type"] for frame in self.turn(phone, None)]
        self.assertLess(kinds.index("result_acknowledged"), kinds.index("tool_result"))
        self.assertEqual(kinds[-3:], ["chunk_reset", "done", "agent_end"])

    def test_paired_as_a_device_it_chats_with_the_tools_that_it_offers(self) -> None:
        code = self.gateway.admin_request(
            "POST", "/v1/admin/devices/pair", {"name": self.unique("phone")}
        ).json()
        self.assertEqual(code["roles"], ["device"])
        token = self.gateway.fetch(
            "POST", "/pair", headers={"X-Pairing-Code": code["code"]}, body=b""
        ).json()["token"]
        name = self.unique("take_photo")
        self.model.script(Answer(calls=[call(name)]), Answer("A tree."))
        phone = self.phone(token, tools=[tool(name)], typed=("what do you see?",))
        while (frame := phone.receive())["type"] != "tool_call_request":
            pass
        phone.send("tool_result", id=frame["id"], output="a tree", success=True)
        self.assertEqual(self.answer_of(self.turn(phone, None)), "A tree.")
        listed = self.rest("GET", "/api/sessions", token)
        self.assertEqual(listed.status, 200)
        self.assertIn(phone.session_id, listed.body.decode())

    def test_its_stop_button_aborts_by_frame_and_by_rest_and_the_turn_ends_once(self) -> None:
        token = self.new_token("phone")
        phone = self.phone(token, session_id=self.unique("kitchen"))
        self.model.script(Hold("I am thi"), Answer("Again."))
        phone.send("message", content="think")
        while phone.receive()["type"] != "chunk":
            pass
        phone.send("abort")
        self.assertEqual(
            self.rest("POST", f"/api/sessions/{phone.session_id}/abort", token, b"{}").status, 200
        )
        kinds = [frame["type"] for frame in self.turn(phone, None)]
        self.assertEqual(
            [kind for kind in kinds if kind in ("abort_ack", "aborted", "done")], ["aborted"]
        )
        phone.send("regenerate")
        self.assertEqual(self.answer_of(self.turn(phone, None)), "Again.")

    def test_its_stop_button_is_told_once_though_the_frame_comes_last(self) -> None:
        token = self.new_token("phone")
        phone = self.phone(token, session_id=self.unique("kitchen"))
        self.model.script(Hold("I am thi"))
        phone.send("message", content="think")
        while phone.receive()["type"] != "chunk":
            pass
        path = f"/api/sessions/{phone.session_id}/abort"
        self.assertEqual(self.rest("POST", path, token, b"{}").json()["status"], "aborted")
        kinds = [frame["type"] for frame in self.turn(phone, None)]
        phone.send("abort")
        kinds += [frame["type"] for frame in phone.fence()]
        self.assertEqual([kind for kind in kinds if kind.startswith("abort")], ["aborted"])

    def test_what_newer_apps_send_unasked_is_refused_and_never_dropped(self) -> None:
        phone = self.phone()
        for fields, code in (
            ({"attachments": [{"type": "image", "id": "a1"}]}, "INVALID_IMAGE_MESSAGE"),
            (
                {"files": [{"id": "f1", "name": "a.txt", "excerpt": {"content": "x"}}]},
                "INVALID_FILE_MESSAGE",
            ),
        ):
            phone.send("message", content="look", **fields)
            self.assertEqual(phone.expect("error")["code"], code)
        phone.send(
            "ask_user_response",
            request_id="r",
            turn_id="t",
            tool_call_id="c",
            status="answered",
            answer="yes",
        )
        self.assertEqual(phone.expect("ask_user_ack")["status"], "not_pending")
        self.assert_alive(phone)

    def test_a_gateway_that_stops_lets_the_app_come_back_to_its_chat(self) -> None:
        token = self.new_token("phone")
        phone = self.phone(token, session_id="kitchen-7")
        self.model.script(Answer("Hello."))
        self.answer_of(self.turn(phone, "hi"))
        self.gateway.stop()
        with self.assertRaises(Closed) as closed:
            while True:
                phone.receive()
        self.assertIn(closed.exception.code, (1001, 1012), "1000 would keep the app away for good")
        self.gateway.start()
        again = self.phone(token, session_id="kitchen-7")
        self.assertEqual(
            (again.session["session_id"], again.session["resumed"], again.session["message_count"]),
            ("kitchen-7", True, 2),
        )


class BridgeTest(PhoneCase):
    """The bridge registers its apps' tools one by one, and after each the app sends all it has by
    then."""

    LEDGER = ("ledger__balance", "ledger__slow", "ledger_2__note")

    def grow(self, phone: Phone, names: list[str]) -> None:
        for count in range(1, len(names) + 1):
            phone.send(
                "register_tools", tools=[tool(name, {}) for name in names[:count]]
            )  # an app without parameters: {}
        for count in range(1, len(names) + 1):
            self.assertEqual(phone.expect("tools_registered")["count"], count)

    def test_apps_are_registered_one_tool_at_a_time_and_called(self) -> None:
        phone = self.phone()
        self.grow(phone, list(self.LEDGER))
        self.gateway.wait_listed(*self.LEDGER)
        running = self.gateway.start_call("ledger__balance", {"account": "giro"})
        phone.answer(phone.next_call("ledger__balance"), '{"balance":"12,50 €"}')
        self.assertEqual(running.result(20).result, {"text": '{"balance":"12,50 €"}'})

    def test_a_refusal_keeps_its_code_and_its_hint(self) -> None:
        phone = self.phone()
        self.grow(phone, ["vault__balance"])
        for text, code in (
            ("[AUTH_REQUIRED] no consent — Open Ledger and allow it", "FORBIDDEN"),
            ("[INVALID_ARGS] no such account", "INVALID_ARGS"),
            ("[INTERNAL_ERROR] Provider call failed for org.example.ledger.tools", "INTERNAL"),
        ):
            running = self.gateway.start_call("vault__balance")
            phone.fail(phone.next_call("vault__balance"), text)
            reply = running.result(20)
            self.assertEqual((reply.code, reply.error["message"]), (code, text))

    def test_an_app_that_was_removed_stays_listed_and_its_calls_fail(self) -> None:
        phone = self.phone()
        self.grow(phone, ["notes__hello", "clock__now"])
        self.grow(phone, ["clock__now"])  # it tells nobody of the removal
        running = self.gateway.start_call("notes__hello")
        phone.fail(phone.next_call("notes__hello"), "Unknown tool: notes__hello")
        self.assertEqual(running.result(20).error["message"], "Unknown tool: notes__hello")
        self.assertEqual(phone.registered_names(), ["clock__now", "notes__hello"])
        phone.close()
        self.gateway.wait_gone("notes__hello", "clock__now")


class RestTest(PhoneCase):
    def test_its_settings_read_what_they_need(self) -> None:
        token = self.new_token("phone")
        status = self.rest("GET", "/api/status", token).json()
        for member, kind in (
            ("provider", str),
            ("model", str),
            ("temperature", int | float),
            ("paired", bool),
            ("gateway_port", int),
            ("memory", dict),
        ):
            self.assertIsInstance(status[member], kind, member)
        for listed in self.rest("GET", "/api/tools", token).json()["tools"]:
            self.assertEqual(
                [
                    type(listed[member])
                    for member in ("name", "description", "enabled", "source_type", "source")
                ],
                [str, str, bool, str, str],
            )

    def test_what_it_asks_for_and_is_not_here_is_a_404_that_it_can_show(self) -> None:
        token = self.new_token("phone")
        toml = {"Content-Type": "text/plain; charset=utf-8"}
        asked = [
            ("GET", "/api/config", None, None),
            ("PUT", "/api/config", b"a = 1\n", toml),
            ("GET", "/api/personality", None, None),
            ("PUT", "/api/personality", b"{}", None),
            ("GET", "/api/personas", None, None),
            ("GET", "/api/personas/a+b", None, None),
            ("PUT", "/api/personas/p", b"{}", None),
            ("DELETE", "/api/personas/p", None, None),
            ("GET", "/api/skills", None, None),
            ("POST", "/api/skills/reload", b"{}", None),
            ("PUT", "/api/skills/s", b"{}", None),
            ("GET", "/api/provider/models", None, None),
            ("POST", "/api/provider/balance", b"{}", None),
            ("GET", "/api/users/me/profile", None, None),
            ("POST", "/api/users/me/profile", b"{}", None),
            ("PATCH", "/api/users/me/profile/items/a+b", b"{}", None),
            ("DELETE", "/api/users/me/profile", None, None),
            ("PUT", "/api/users/me/profile/import", b"{}", None),
            ("POST", "/api/users/me/profile/change-plans/p/apply", b"", {}),
            ("GET", "/api/memory?query=a&category=b", None, None),
            (
                "POST",
                "/api/sessions/kitchen/attachments",
                b"\x89PNG",
                {"Content-Type": "application/octet-stream"},
            ),
            ("GET", "/api/sessions/kitchen/attachments/a", None, None),
        ]
        for method, target, body, headers in asked:
            with self.subTest(f"{method} {target}"):
                response = self.rest(method, target, token, body, headers)
                self.assertEqual(
                    (response.status, response.json().keys()), (404, {"error", "code"})
                )

    def test_its_drawer_lists_renames_and_deletes_chats(self) -> None:
        token = self.new_token("phone")
        phone = self.phone(token)
        self.model.script(Answer(calls=[call("list_devices")]), Answer("Two."))
        self.answer_of(self.turn(phone, "how many?"))
        session = phone.session_id
        messages = self.rest("GET", f"/api/sessions/{session}/messages", token).json()["messages"]
        self.assertEqual(
            [message["role"] for message in messages],
            ["user", "tool", "assistant"],
            "no empty bubble for an assistant that only called tools",
        )
        name = 'Küche "neu"'
        self.assertEqual(
            self.rest(
                "PUT",
                f"/api/sessions/{session}",
                token,
                json.dumps({"name": name}, ensure_ascii=False).encode(),
            ).status,
            200,
        )
        listed = eventually(
            lambda: self.rest("GET", "/api/sessions", token).json()["sessions"],
            "the chat is listed",
        )
        self.assertEqual(
            [(each["session_id"], each["name"], each["message_count"] > 0) for each in listed],
            [(session, name, True)],
        )
        self.assertEqual(self.rest("DELETE", f"/api/sessions/{session}", token).status, 200)
        self.assertEqual(self.rest("DELETE", f"/api/sessions/{session}", token).status, 404)
