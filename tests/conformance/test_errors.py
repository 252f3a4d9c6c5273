"""docs/protocols/clawseed.md, sections 5 and 6 without a model: error frames (checklist 35, 36, 42,
44)."""

from __future__ import annotations

from support.case import GatewayCase
from support.device import Device, tool


class ErrorFrameTest(GatewayCase):
    def turn(self, device: Device, kind: str = "message", **fields: object) -> list[str]:
        """Starts a turn without a model; the types of its frames, up to its error and agent_end."""
        device.send(kind, **fields)
        frames = [device.receive()]
        while frames[-1]["type"] != "error":
            frames.append(device.receive())
        self.assertEqual(frames[-1]["code"], "PROVIDER_ERROR")
        return [frame["type"] for frame in frames + device.fence()]

    def test_clawseed_35_what_is_not_json_or_too_deep_is_invalid_json(self) -> None:
        device = self.open()
        for text in (
            "",
            "{",
            "{}x",
            '{"type":"abort",}',
            "{'type':'abort'}",
            '{"type":"abort"}{"type":"abort"}',
            "[" * 65 + "1" + "]" * 65,
            '{"type":"abort","x":' + "[" * 70 + "]" * 70 + "}",
            '{"type":"ab\nort"}',
            "nul",
            '{"type":"\\ud800"',
        ):
            with self.subTest(text[:30]):
                device.socket.send_text(text)
                device.expect_error("INVALID_JSON")
        self.assert_alive(device)

    def test_clawseed_35_depth_64_is_not_too_deep(self) -> None:
        device = self.open()
        device.socket.send_text('{"type":"abort","x":' + "[" * 60 + "1" + "]" * 60 + "}")
        device.expect("abort_ack")

    def test_clawseed_35_what_is_no_typed_object_is_an_unknown_message_type(self) -> None:
        device = self.open()
        for text in (
            "[]",
            "5",
            '"connect"',
            "null",
            "{}",
            '{"type":5}',
            '{"type":null}',
            '{"type":"surprise"}',
            '{"type":"Abort"}',
            '{"type":""}',
            '{"type":"tools_registered","count":1,"registered":1}',
            '[{"type":"abort"}]',
        ):
            with self.subTest(text):
                device.socket.send_text(text)
                device.expect_error("UNKNOWN_MESSAGE_TYPE")
        self.assert_alive(device)

    def test_clawseed_35_a_late_connect_is_an_unknown_message_type(self) -> None:
        device = self.open()
        device.send("connect", v=1)
        device.expect_error("UNKNOWN_MESSAGE_TYPE")
        late = self.open(connect=False)
        late.register(tool("a"))
        late.send("connect", v=1)
        late.expect_error("UNKNOWN_MESSAGE_TYPE")
        self.assert_alive(late)

    def test_clawseed_35_a_first_frame_that_is_broken_takes_the_place_of_connect(self) -> None:
        device = self.open(connect=False)
        device.socket.send_text("{")
        device.expect_error("INVALID_JSON")
        device.send("connect", v=1)
        device.expect_error("UNKNOWN_MESSAGE_TYPE")

    def test_clawseed_35_a_message_without_content_is_empty_content(self) -> None:
        device = self.open()
        for fields in (
            {},
            {"content": ""},
            {"content": None},
            {"content": 5},
            {"content": ["hello"]},
        ):
            with self.subTest(fields):
                device.send("message", **fields)
                device.expect_error("EMPTY_CONTENT")
        self.assert_alive(device)

    def test_clawseed_36_errors_name_no_path_and_no_token(self) -> None:
        token = self.new_token()
        device = self.open(token)
        for text in ("{", "[]", '{"type":"message"}'):
            device.socket.send_text(text)
            message = device.expect("error")["message"]
            self.assertNotIn(token, message)
            self.assertNotIn(str(self.gateway.folder), message)

    def test_clawseed_36_no_frame_of_a_turn_reaches_another_connection(self) -> None:
        token = self.new_token()
        asking, same_session, same_principal, stranger = (
            self.open(token),
            None,
            self.open(token),
            self.open(),
        )
        same_session = self.open(token, session_id=asking.session_id)
        self.turn(asking, content="hello")
        for other in (same_session, same_principal, stranger):
            other.assert_silent()

    def test_a_turn_without_a_model_is_a_provider_error_between_its_agent_frames(self) -> None:
        for debug in (False, True):
            kinds = self.turn(self.open(), content="hello", debug=debug)
            self.assertEqual([kind for kind in kinds if not kind.startswith("agent_")], ["error"])
            self.assertIn(kinds, (["error"], ["agent_start", "error", "agent_end"]))

    def test_clawseed_42_abort_without_a_turn_says_so(self) -> None:
        device = self.open()
        for fields in ({}, {"reason": "ignored"}):
            device.send("abort", **fields)
            self.assertEqual(device.expect("abort_ack")["status"], "no_active_response")
        device.assert_silent()

    def test_clawseed_44_regenerate_of_nothing_is_no_user_message(self) -> None:
        device = self.open()
        device.send("regenerate")
        device.expect_error("NO_USER_MESSAGE")
        self.assert_alive(device)

    def test_unknown_fields_are_ignored_and_wrong_types_count_as_absent(self) -> None:
        device = self.open()
        device.send("get_registered_tools", v="x", extra={"a": [1]})
        self.assertEqual(device.expect("registered_tools")["tools"], [])
        device.send("abort", v=99)
        device.expect("abort_ack")


class RoleTest(GatewayCase):
    def test_registering_without_the_role_is_forbidden_and_the_link_stays(self) -> None:
        device = self.open(self.gateway.pair("talker", ("caller",)))
        device.send("register_tools", tools=[tool("a")])
        frame = device.receive()
        if frame["type"] == "error":
            self.assertEqual(frame["code"], "FORBIDDEN")
        else:
            self.assertEqual(frame["registered"], 0)
        self.assertEqual(device.registered(), [])

    def test_chatting_without_the_role_is_forbidden_and_the_link_stays(self) -> None:
        device = self.open(self.gateway.pair("worker", ("device",)))
        device.send("message", content="hello")
        device.expect_error("FORBIDDEN")
        self.assertEqual(device.register(tool(self.unique("a")))["registered"], 1)
