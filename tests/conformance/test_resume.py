"""Calls that survive their link, presence: docs/protocols/clawseed.md, section 9."""

from __future__ import annotations

import json
from concurrent.futures import Future
from datetime import UTC, datetime, timedelta
from typing import Any

from support.case import GatewayCase
from support.device import Device, tool
from support.gateway import Reply
from support.wait import eventually

EXTENSIONS = ("tool_call_resume", "tool_call_cancel")


class ResumeTest(GatewayCase):
    CONFIG = {"devices": {"grace_ms": 5000}}

    def open_instance(
        self,
        token: str,
        instance: str,
        session_id: str | None = None,
        capabilities: tuple[str, ...] = EXTENSIONS,
    ) -> Device:
        device = self.open(token, session_id=session_id, connect=False)
        device.connect(capabilities, instance=instance)
        return device

    def called(
        self, instance: str = "one", **members: Any
    ) -> tuple[str, Device, Future[Reply], dict[str, Any]]:
        token, name = self.new_token(), self.unique("tool")
        device = self.open_instance(token, instance)
        device.register(tool(name))
        call = self.gateway.start_call(name, {"room": "kitchen"}, **members)
        return token, device, call, device.next_call(name)

    def test_an_instance_that_comes_back_is_asked_again_with_the_same_id(self) -> None:
        token, device, call, request = self.called()
        device.cut()
        back = self.open_instance(token, "one", device.session_id)
        again = back.next_call(request["name"])
        self.assertEqual(again, request)
        back.answer(again, "once")
        self.assertEqual(call.result(10).result, {"text": "once"})
        back.assert_silent()

    def test_it_is_asked_before_the_old_link_is_known_to_be_dead_and_that_end_changes_nothing(
        self,
    ) -> None:
        token, device, call, request = self.called()
        back = self.open_instance(token, "one", device.session_id)
        self.assertEqual(back.next_call()["id"], request["id"])
        device.close()
        back.answer(request, "still")
        self.assertEqual(call.result(10).result, {"text": "still"})

    def test_a_link_cut_again_and_again_loses_nothing(self) -> None:
        token, device, call, request = self.called(timeout_ms=20_000)
        for _ in range(5):
            device.cut()
            device = self.open_instance(token, "one", device.session_id)
            self.assertEqual(device.next_call()["id"], request["id"])
        device.answer(request, "at last")
        self.assertEqual(call.result(10).result, {"text": "at last"})

    def test_another_instance_is_asked_nothing_and_may_still_bring_the_result(self) -> None:
        token, device, call, request = self.called()
        device.cut()
        back = self.open_instance(token, "two", device.session_id)
        back.assert_silent()
        back.answer(request, "handed over")
        self.assertEqual(call.result(10).result, {"text": "handed over"})

    def test_a_client_without_the_extension_is_asked_nothing_again(self) -> None:
        token, device, call, request = self.called()
        device.cut()
        back = self.open_instance(token, "one", device.session_id, ("tool_call_cancel",))
        back.assert_silent()
        back.answer(request, "kept")
        self.assertEqual(call.result(10).status, "ok")

    def test_other_devices_of_that_instance_name_get_nothing(self) -> None:
        _, device, call, request = self.called()
        device.cut()
        self.open_instance(self.new_token(), "one").assert_silent()
        self.assertFalse(call.done())

    def test_a_cancel_finds_the_call_where_it_went(self) -> None:
        token, device, call, request = self.called(call_id="moved-1")
        device.cut()
        back = self.open_instance(token, "one", device.session_id)
        back.next_call()
        self.gateway.cancel("moved-1")
        self.assertEqual(back.expect("tool_call_cancel")["id"], request["id"])
        self.assertEqual(call.result(10).code, "CANCELLED")

    def test_a_request_without_acceptance_is_asked_once_more_on_its_link(self) -> None:
        token, name = self.new_token(), self.unique("tool")
        device = self.open_instance(token, "one", capabilities=(*EXTENSIONS, "tool_call_accepted"))
        device.register(tool(name))
        call = self.gateway.start_call(name)
        request = device.next_call(name)
        self.assertEqual(device.next_call(name, timeout=15)["id"], request["id"])
        device.answer(request, "heard you")
        self.assertEqual(call.result(10).result, {"text": "heard you"})

    def test_nobody_back_within_the_grace_time_is_still_an_unknown_outcome(self) -> None:
        _, device, call, _ = self.called()
        device.cut()
        self.assertEqual(call.result(20).code, "OUTCOME_UNKNOWN")


class PresenceTest(GatewayCase):
    def listed(self, slug: str) -> dict[str, Any]:
        listing = json.loads(self.gateway.crab("devices", "list", "-o", "json"))
        return next(device for device in listing["devices"] if device["device"] == slug)

    def test_what_a_device_says_about_itself_is_listed_everywhere(self) -> None:
        device = self.open(self.new_token("phone"), capabilities=("presence",))
        device.register(tool(self.unique("tool")))
        device.send("presence", battery=0.83, charging=False, metered=True, foreground=True)
        device.fence()
        row = self.listed(self.slug)
        self.assertEqual(
            (row["battery"], row["charging"], row["metered"], row["foreground"]),
            (0.83, False, True, True),
        )
        tools = self.gateway.call("list_devices").result["devices"]
        mine = next(each for each in tools if each["device"] == self.slug)
        self.assertEqual((mine["battery"], mine["foreground"]), (0.83, True))
        self.assertIn("83 %", self.gateway.crab("devices", "list"))
        device.send("presence", battery=0.5)
        device.fence()
        self.assertNotIn("metered", self.listed(self.slug))
        device.drop()
        eventually(lambda: "battery" not in self.listed(self.slug), "it left with its connection")
        self.assertIn("last_seen_at", self.listed(self.slug))

    def test_a_device_that_is_away_is_listed_with_when_it_was_last_seen(self) -> None:
        def mine() -> dict[str, Any]:
            return next(
                each
                for each in self.gateway.call("list_devices").result["devices"]
                if each["device"] == slug
            )

        token = self.new_token("phone")
        slug = self.slug
        self.assertEqual(
            (mine()["connected"], mine()["tools"], "last_seen_at" in mine()),
            (False, 0, False),
            "it has never been here",
        )
        device = self.open(token)
        device.register(tool(self.unique("tool")))
        self.assertEqual((mine()["connected"], mine()["tools"]), (True, 1))
        came = datetime.fromisoformat(mine()["connected_at"])
        eventually(
            lambda: datetime.now(UTC) > came + timedelta(milliseconds=50), "some time passes"
        )
        device.close()
        eventually(lambda: not mine()["connected"], "it left")
        self.assertGreaterEqual(
            datetime.fromisoformat(mine()["last_seen_at"]) - came,
            timedelta(milliseconds=50),
            "last seen is when it left, not when it came",
        )
        self.assertEqual(mine()["last_seen_at"], self.listed(slug)["last_seen_at"])

    def test_who_may_not_connect_any_more_is_no_device(self) -> None:
        self.new_token("phone")
        self.gateway.crab("devices", "revoke", self.slug)
        self.gateway.caller_token()
        names = [each["device"] for each in self.gateway.call("list_devices").result["devices"]]
        self.assertNotIn(self.slug, names)
        self.assertNotIn("tester", names)

    def test_nonsense_is_unknown_and_the_link_stays(self) -> None:
        device = self.open(self.new_token("phone"))
        device.send("presence", battery=7, metered="perhaps")
        device.assert_silent()
        self.assertNotIn("battery", self.listed(self.slug))

    def test_callers_without_the_role_tell_nothing(self) -> None:
        device = self.open(self.gateway.caller_token())
        device.send("presence", battery=0.5)
        device.expect_error("FORBIDDEN")
