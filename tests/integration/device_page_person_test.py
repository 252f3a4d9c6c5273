"""What the owner of a phone meets at the device page: questions that cannot be answered by chance,
reasons in words, and nothing that is lost; in a real browser."""

from __future__ import annotations

import unittest

from support.page_case import PATIENCE, DevicePageCase
from support.wait import eventually

ALLOW = (
    "[...document.querySelectorAll('.ask .button')].find(each => each.innerText === 'Allow once')"
)


class PersonTest(DevicePageCase):
    def test_a65_2_a_code_is_found_in_what_is_pasted(self) -> None:
        self.page.open(self.address)
        self.page.wait_text("h1", "Lend a hand")
        self.page.run("document.getElementById('code').focus()")
        self.page.devtools("Input.insertText", text="Code: 5809-8061-5827")
        self.assertEqual(
            self.page.run("return document.getElementById('code').value"), "5809-8061-5827"
        )

    def test_a65_3_a_tool_that_cannot_be_offered_says_why(self) -> None:
        self.pair()
        self.tab("tools")
        self.page.wait_text("main", "Not here")
        self.page.wait_text("#tool-vibrate-hint", "Only for phones and tablets")
        self.page.click("#tool-vibrate")
        self.assertEqual(
            self.page.run("return document.getElementById('tool-vibrate').ariaChecked"), "false"
        )

    def test_a65_4_8_9_a_row_opens_and_stays_open_while_the_list_changes(self) -> None:
        self.pair()
        call = self.start("get_location")
        self.answer("Not now")
        call.result(60)
        self.page.wait_text(".call.failed", "refused")
        self.page.click(".call.failed summary")
        self.page.wait_text(".call.failed .facts", "the person at the device said no")
        again = self.start("read_network")
        self.answer("Allow once")
        again.result(60)
        self.page.wait_text(".call.ok", "Network")
        self.assertTrue(self.page.has(".call.failed details[open]"))
        self.tab("tools")
        self.assertFalse(self.page.has(".call"))

    def test_a65_5_6_7_a_question_is_dead_at_first_and_says_its_time_place_and_reach(self) -> None:
        self.pair()
        first = self.start("get_location", agent="first")
        self.page.wait_text(".ask h2", "first wants")
        second = self.start("read_network", agent="second")
        self.page.wait_text(".ask .countdown", "left")
        self.page.wait_text(".ask .consent-place", "1 of 2")
        names = "return [...document.querySelectorAll('.ask .button')].map(each => each.innerText)"
        self.assertEqual(self.page.run(names), ["Allow once", "Not now", "More"])
        self.answer("Not now")
        first.result(60)
        self.page.run(
            "window.early = new Promise(done => { const look = () => { const found = "
            + ALLOW
            + "; if (!found) return requestAnimationFrame(look); found.click();"
            " done(document.querySelector('.ask') !== null); }; look(); })"
        )
        self.page.wait_text(".ask h2", "second wants")
        self.assertTrue(self.page.run("return window.early"))
        self.assertFalse(second.done())
        self.page.click_button("More")
        self.page.wait_text(".consent-more", "Every Network for second, with any details")
        self.answer_undone()
        self.answer("Not now")
        self.assertEqual(second.result(60).code, "FORBIDDEN")

    def answer_undone(self) -> None:
        """Allows, and takes it back before it counts."""
        self.page.click_button("Allow once")
        self.page.click_button("Undo")
        self.page.wait_text(".ask h2", "second wants")

    def test_a65_10_a_remembered_answer_is_told_and_the_list_outlives_the_tab(self) -> None:
        self.pair()
        call = self.start("read_network")
        self.answer("Always allow")
        call.result(60)
        self.assertEqual(self.start("read_network").result(60).status, "ok")
        self.page.wait_text(".toasts", "as you always allow")
        self.page.reload()
        self.page.wait_text(".link", "Connected")
        self.page.wait_text(".call.ok", "Network")

    def test_a65_11_what_would_forge_a_question_is_shown(self) -> None:
        self.pair()
        call = self.start("take_photo", {"camera": "back"}, agent="pla\u202enner")
        self.page.wait_text(".ask h2", "pla\\u202enner wants to take a photo")
        self.answer("Not now")
        call.result(60)

    def test_a65_12_a_lost_link_is_told_in_words_and_can_be_tried_now(self) -> None:
        self.pair()
        self.gateway.kill()
        self.page.wait_text(".hero", "The gateway does not answer since")
        self.gateway.config["listen"]["public"] = f"127.0.0.1:{self.gateway.public[1]}"
        self.gateway.start()
        self.page.run(
            "[...document.querySelectorAll('.hero .button')]"
            ".find(each => each.innerText === 'Try now')?.click()"
        )
        self.page.wait_text(".link", "Connected")
        self.listed("get_location")
        self.page.complaints()  # the browser logs every connection that failed

    def test_a65_13_old_files_go_and_the_page_is_kept_whole(self) -> None:
        self.page.run("return caches.open('crab-device-1').then(() => true)")
        self.pair()
        self.page.run(
            "return navigator.serviceWorker.getRegistration().then(found => found.unregister())"
        )
        self.page.reload()
        self.page.run("return navigator.serviceWorker.ready.then(() => true)")
        names = "return caches.keys().then(all => all.filter(name => name.startsWith('crab-d')))"
        eventually(
            lambda: self.page.run(names) == ["crab-device-2"], "the old cache is gone", PATIENCE
        )
        whole = (
            "return caches.open('crab-device-2').then(cache => cache.keys())"
            ".then(all => all.filter(each => each.url.endsWith('.js')).length)"
        )
        named = self.page.run(
            "return document.querySelectorAll('script[src], link[href*=assets][href$=js]').length"
        )
        self.assertGreater(named, 4)
        eventually(lambda: self.page.run(whole) >= named, "all its scripts are kept", PATIENCE)
        self.page.wait_text(".link", "Connected")
        self.assertNotIn("new version", self.page.text("main"))

    def test_a_part_of_the_page_that_cannot_be_read_is_told_and_read_again(self) -> None:
        self.pair()
        self.page.devtools("Network.enable")
        self.page.devtools("Network.setBypassServiceWorker", bypass=True)
        self.page.devtools("Network.setBlockedURLs", urls=["*/assets/answering-*"])
        self.page.reload()
        self.page.wait_text(".error-card", "could not be loaded")
        self.page.wait_text(".tabs", "Tools")
        self.page.devtools("Network.setBlockedURLs", urls=[])
        self.page.click_button("Try again")
        self.page.wait_text(".link", "Connected")
        self.listed("get_location")
        self.page.devtools("Network.setBypassServiceWorker", bypass=False)
        self.page.devtools("Network.disable")
        self.page.complaints()  # the browser logs the part that was not read

    def test_a65_15_name_theme_and_language_can_be_changed(self) -> None:
        self.pair()
        self.tab("about")
        self.page.type(".name-form input", " 2")
        self.page.click_button("Rename")
        self.page.wait_text("h1", " 2")
        self.page.wait_text(".link", "Connected")
        choose = (
            "const found = [...document.querySelectorAll('select')][arguments[0]]; "
            "found.value = arguments[1]; found.dispatchEvent(new Event('change'))"
        )
        self.page.run(choose, 0, "dark")
        self.assertEqual(self.page.run("return document.documentElement.dataset.theme"), "dark")
        self.page.run(choose, 1, "de")
        self.page.wait_text(".link", "Verbunden")


if __name__ == "__main__":
    unittest.main()
