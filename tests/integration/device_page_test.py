"""The page that makes a browser a device, in a real browser, at a real gateway; the person is this
test."""

from __future__ import annotations

import base64
import os
import unittest
from pathlib import Path

from support.browser import Browser
from support.case import GatewayCase
from support.page_case import LASTING, PATIENCE, PLACE, DevicePageCase
from support.wait import eventually

#: Where to leave pictures of the page for the documentation; unset: nowhere.
PICTURES = os.environ.get("CRAB_SCREENSHOTS")


class PairingTest(DevicePageCase):
    def test_a_typed_code_makes_the_browser_a_device(self) -> None:
        name = self.gateway.unique("typed")
        self.page.open(self.address)
        self.page.type("#code", self.code(name).replace("-", ""))
        self.assertRegex(
            self.page.run("return document.getElementById('code').value"), r"^\d{4}-\d{4}-\d{4}$"
        )
        self.page.click_button("Pair this device")
        self.page.wait_text(".link", "Connected")
        self.listed("get_location", "take_photo")
        self.assertNotIn(
            "read_clipboard", self.gateway.tools()
        )  # off until the person switches it on

    def test_a_wrong_code_says_what_to_do(self) -> None:
        self.code("nobody")
        self.page.open(self.address)
        self.page.type("#code", "000000000000")
        self.page.click_button("Pair this device")
        self.page.wait_text("[role=alert]", "That is not the code")
        self.page.complaints()  # the browser logs the 403

    def test_the_code_of_a_link_is_filled_in_and_leaves_the_address(self) -> None:
        self.page.open("about:blank")
        self.page.open(f"{self.address}#pair=1234-5678-9012")
        self.page.wait_text("h1", "Lend a hand")
        self.assertEqual(
            self.page.run("return [document.getElementById('code').value, location.hash]"),
            ["1234-5678-9012", ""],
        )

    def test_a_revoked_device_is_asked_to_pair_again(self) -> None:
        self.pair()
        self.gateway.crab("devices", "revoke", self.slug)
        self.page.wait_text(".notice", "no longer knows this device")
        self.page.complaints()


class ConsentTest(DevicePageCase):
    def test_a_place_is_told_after_the_person_said_yes_to_this_agent(self) -> None:
        self.pair()
        call = self.start("get_location")
        self.page.wait_text(".ask h2", "planner wants to know where you are")
        self.assertIn("through caller/ci", self.page.text(".ask"))
        self.assertFalse(call.done())
        self.answer("Allow once")
        place = call.result(60).result
        self.assertEqual(
            (place["latitude"], place["longitude"], place["accuracy_m"]), (53.5461, 9.9661, 12)
        )
        self.page.wait_text(".call.ok", "Location")
        again = self.start("get_location")
        self.page.wait_text(".ask h2", "planner wants")  # once was once
        self.answer("Not now")
        self.assertEqual(again.result(60).code, "FORBIDDEN")

    def test_always_is_for_one_tool_and_one_agent_and_outlives_the_page(self) -> None:
        self.pair()
        call = self.start("take_photo", {"max_side": 640})
        self.answer("Always allow")
        photo = call.result(60).result
        self.assertEqual(base64.b64decode(photo["data_base64"])[:3], b"\xff\xd8\xff")
        self.assertEqual(
            (photo["mime_type"], max(photo["width"], photo["height"])), ("image/jpeg", 640)
        )
        self.assertEqual(len(base64.b64decode(photo["data_base64"])), photo["bytes"])
        self.page.reload()
        self.page.wait_text(".link", "Connected")
        self.listed("take_photo")
        self.assertEqual(self.start("take_photo").result(60).status, "ok")  # nobody is asked
        other = self.start("take_photo", agent="stranger")
        self.page.wait_text(".ask h2", "stranger wants to take a photo")
        self.answer("Not now")
        self.assertEqual(other.result(60).code, "FORBIDDEN")

    def test_never_is_final_until_the_person_forgets_it(self) -> None:
        self.pair()
        call = self.start("get_location")
        self.answer("Never")
        self.assertEqual(call.result(60).code, "FORBIDDEN")
        self.assertEqual(self.start("get_location").result(60).code, "FORBIDDEN")
        self.assertFalse(self.page.has("dialog[open]"))
        self.tab("answers")
        self.page.click_button("Forget")
        call = self.start("get_location")
        self.answer("Allow once")
        self.assertEqual(call.result(60).status, "ok")

    def test_questions_come_one_after_the_other_and_each_waits_for_its_answer(self) -> None:
        self.pair()
        calls = [self.start("get_location", agent=agent) for agent in ("first", "second", "third")]
        for answer in ("Allow once", "Not now", "Allow once"):
            self.answer(answer)
        outcomes = [call.result(60) for call in calls]
        self.assertEqual(sorted(outcome.status for outcome in outcomes), ["error", "ok", "ok"])

    def test_a_call_that_is_taken_back_takes_its_question_with_it(self) -> None:
        self.pair()
        call = self.start("get_location")
        self.page.wait_text(".ask h2", "planner wants")
        running = self.gateway.admin_request("GET", "/v1/admin/calls").json()["running"]
        self.gateway.crab("calls", "cancel", running[0]["call_id"])
        self.assertNotEqual(call.result(60).status, "ok")
        eventually(lambda: not self.page.has("dialog[open]"), "the question is gone", PATIENCE)
        self.page.wait_text(".call.cancelled", "cancelled")

    def test_what_is_asked_and_what_was_given_are_told_in_words(self) -> None:
        self.pair()
        call = self.start("take_photo", {"camera": "front", "max_side": 320})
        self.page.wait_text(".consent-args", "max side")
        self.assertIn("front", self.page.text(".consent-args"))
        self.answer("Allow once")
        call.result(60)
        self.page.wait_text(".call.ok .given", "320 ×")
        self.assertTrue(
            self.page.run("return document.querySelector('.call.ok img').naturalWidth > 0")
        )

    def test_a_switch_takes_a_tool_away_and_gives_it_back(self) -> None:
        self.pair()
        self.tab("tools")
        self.page.click("#tool-get_location")
        self.gone("get_location")
        self.page.click("#tool-get_location")
        self.listed("get_location")
        self.page.click("#tool-record_audio")
        self.listed("record_audio")
        call = self.start("record_audio", {"seconds": 0.5})
        self.answer("Allow once")
        clip = call.result(60).result
        self.assertTrue(clip["mime_type"].startswith("audio/"), clip["mime_type"])
        self.assertGreater(clip["bytes"], 0)


class LifeTest(DevicePageCase):
    def test_a_pause_outlives_the_page(self) -> None:
        self.pair()
        self.page.click_button("Pause")
        self.page.wait_text(".link", "Paused")
        self.gone("get_location")
        self.page.reload()
        self.page.wait_text(".link", "Paused")
        self.page.click_button("Go on")
        self.page.wait_text(".link", "Connected")
        self.listed("get_location")

    def test_a_second_tab_takes_over_and_the_first_one_says_so(self) -> None:
        self.pair()
        first = self.page.window()
        second = self.page.new_window()
        self.page.open(self.address)
        self.page.wait_text(".link", "Connected")
        self.page.close_window(first)
        self.page.wait_text(".link", "Open elsewhere")
        self.assertNotEqual(first, second)

    def test_the_page_is_there_without_the_gateway_and_comes_back_with_it(self) -> None:
        self.pair()
        self.page.run("return navigator.serviceWorker.ready.then(() => true)")
        self.page.reload()  # now the worker keeps what is loaded
        self.page.wait_text(".link", "Connected")
        self.gateway.kill()
        self.page.wait_text(".link", "Reconnecting")
        self.page.reload()
        self.page.wait_text(".link", "econnecting")
        self.gateway.config["listen"]["public"] = f"127.0.0.1:{self.gateway.public[1]}"
        self.gateway.start()
        self.page.wait_text(".link", "Connected")
        self.listed("get_location")
        self.page.complaints()  # the browser logs every connection that failed


@unittest.skipUnless(PICTURES, "CRAB_SCREENSHOTS names no folder")
class PicturesTest(GatewayCase):
    """Pictures for the documentation, at the widths of a phone and of a desk."""

    def call(self, tool: str, args: dict) -> object:
        context = {"agent_id": "planner", "session_id": "s"}
        return self.gateway.start_call(tool, args, caller="ci", context=context, timeout=60.0)

    def test_pictures(self) -> None:
        folder = Path(PICTURES)
        folder.mkdir(parents=True, exist_ok=True)
        with Browser() as page:
            address = f"http://127.0.0.1:{self.gateway.public[1]}/device/"
            page.devtools(
                "Browser.grantPermissions",
                origin=address,
                permissions=[
                    "geolocation",
                    "videoCapture",
                    "audioCapture",
                    "notifications",
                    "clipboardReadWrite",
                ],
            )
            page.devtools("Emulation.setGeolocationOverride", **PLACE)
            for scheme in ("light", "dark"):
                page.devtools(
                    "Emulation.setEmulatedMedia",
                    features=[{"name": "prefers-color-scheme", "value": scheme}],
                )
                page.open(address)
                page.run("localStorage.clear()")
                page.reload()
                code = self.gateway.admin_request(
                    "POST", "/v1/admin/devices/pair", {"name": f"phone-{scheme}"}
                ).json()["code"]
                page.resize(390, 844)
                page.screenshot(folder / f"device-pairing-phone-{scheme}.png")
                page.type("#code", code)
                page.run("document.querySelector('.name').value = 'Kitchen phone'")
                page.click_button("Pair this device")
                page.wait_text(".link", "Connected")
                self.gateway.wait_listed("take_photo")
                for tool, answer in (
                    ("get_location", "Always allow"),
                    ("read_network", "Never"),
                    ("take_photo", "Allow once"),
                ):
                    call = self.call(f"phone-{scheme}__{tool}", {})
                    if answer in LASTING:
                        page.click_button("More")
                    page.click_button(answer)
                    call.result(60)
                page.wait_text(".call.ok", "Camera")
                page.screenshot(folder / f"device-phone-{scheme}.png")
                call = self.call(
                    f"phone-{scheme}__take_photo", {"camera": "back", "max_side": 1280}
                )
                page.wait_text(".ask h2", "planner")
                page.screenshot(folder / f"device-consent-phone-{scheme}.png")
                page.resize(1280, 860)
                page.screenshot(folder / f"device-consent-desktop-{scheme}.png")
                page.click_button("Not now")
                call.result(60)
                page.screenshot(folder / f"device-desktop-{scheme}.png")


if __name__ == "__main__":
    unittest.main()
