"""The console in a real browser, by the link that `crab console` prints; the person is the
test."""

from __future__ import annotations

import os
import unittest
from pathlib import Path

from support import axe
from support.console_case import SIZES, ConsoleCase
from support.wait import eventually


def words(us: int) -> str:
    """A time as the page writes it."""
    if us < 1_000:
        return f"{us} µs"
    value, unit = (us / 1_000, "ms") if us < 1_000_000 else (us / 1_000_000, "s")
    return f"{value:.1f} {unit}" if value < 10 else f"{value:.0f} {unit}"


class ConsolePageTest(ConsoleCase):
    def test_a1_a3_the_link_signs_in_and_the_code_leaves_the_address_before_anything_is_sent(
        self,
    ) -> None:
        self.assertEqual(self.page.run("return location.href"), self.console.page)
        sent = self.page.run("return performance.getEntriesByType('resource').map(e => e.name)")
        self.assertFalse([name for name in sent if self.console.code in name])
        self.page.wait_text("h1", "Overview")

    def test_a2_a_link_is_good_once(self) -> None:
        used = f"{self.console.page}#in={self.console.code}"
        self.page.click_button("Sign out")
        self.page.wait_text("h1", "Sign in")
        self.page.open("about:blank")
        self.page.open(used)
        self.page.wait_text("[role=alert]", "used or too old")
        # the browser's own line about the 401 that the page shows in words
        others = [line for line in self.page.complaints() if "401" not in line]
        self.assertEqual([line for line in others if not self.lacks(line)], [])

    def test_a_reload_goes_on_signed_in(self) -> None:
        self.page.reload()
        self.page.wait_text("h1", "Overview")

    def test_tools_and_calls_of_a_real_gateway_are_shown(self) -> None:
        name = self.unique("seen_tool")
        self.serving(name, lambda _: {})
        self.gateway.call(name)
        self.open_page("tools")
        self.page.wait_text("main", name)
        self.open_page("calls")
        self.page.wait_text("main", name)

    def test_a40_a_tool_with_effects_is_called_by_a_second_press_that_names_it(self) -> None:
        name = self.unique("door")
        self.serving(name, lambda _: "it is open")
        self.open_page(f"tools&tool={name}")
        self.page.click_button("Call")
        self.page.wait_text("main [role=alert]", "A second press calls it.")
        recent = self.gateway.admin_request("GET", "/v1/admin/calls").body.decode()
        self.assertNotIn(name, recent, "one press calls nothing")
        sure = "main [role=alert] button.danger"
        self.page.wait_text(sure, name)
        self.page.wait_text(sure, self.slug)
        alive = f"return document.querySelector('{sure}:not([aria-disabled=true])') !== null"
        eventually(lambda: self.page.run(alive), "it is not dead any more")
        self.page.click(sure)
        self.page.wait_text("main", "it is open")

    def test_a44_a_filter_survives_a_reload(self) -> None:
        self.open_page("calls&filter=status:error")
        shown = "return [...document.querySelectorAll('main input')].map(each => each.value)"
        self.assertIn("status:error", self.page.run(shown))
        self.page.reload()
        self.page.wait_text("h1", "Calls")
        self.assertIn("status:error", self.page.run(shown))

    def test_a41_the_waterfall_of_a_call_is_its_duration_and_its_table(self) -> None:
        name = self.unique("measured")
        self.serving(name, lambda _: {})
        self.gateway.call(name)
        find = lambda: [  # noqa: E731
            call
            for call in self.gateway.admin_request("GET", "/v1/admin/calls").json()["recent"]
            if call["tool"] == name and "timeline" in call
        ]
        (call,) = eventually(find, "the call is recorded")
        self.page.open(f"{self.console.page}?page=calls&call={call['call_id']}")
        self.page.wait_text("main .waterfall", "answered")
        shown = self.page.run(
            """return [...document.querySelectorAll('main .waterfall tr')].map(row => {
                const bar = row.querySelector('rect');
                return [row.querySelector('th').innerText.trim(),
                        row.querySelector('.number').innerText.trim(),
                        parseFloat(bar.getAttribute('x')), parseFloat(bar.getAttribute('width'))];
            });"""
        )
        ends = {**call["timeline"], "ended": call["duration_us"]}
        stages = sorted(ends.items(), key=lambda stage: stage[1])
        self.assertEqual([row[0] for row in shown], [key.removesuffix("_us") for key, _ in stages])
        self.assertEqual(stages[-1], ("ended", call["duration_us"]), "no stage is after the end")
        before = [0, *(at for _, at in stages)]
        self.assertEqual(
            [row[1] for row in shown],
            [words(at - begun) for (_, at), begun in zip(stages, before, strict=False)],
        )
        for (_, _, left, width), (_, at), begun in zip(shown, stages, before, strict=False):
            whole = call["duration_us"]
            self.assertAlmostEqual(left + width, max(at / whole * 100, width), delta=1)
            self.assertAlmostEqual(width, max(0.5, (at - begun) / whole * 100), delta=0.01)

    def test_every_page_is_shown_without_a_complaint_at_every_width(self) -> None:
        folder = os.environ.get("CRAB_SCREENSHOTS")
        for size, (width, height) in SIZES.items():
            self.page.resize(width, height)
            for address in self.every_page():
                name = self.show_page(address)
                # a phone makes its window as wide as what is in it
                wide = self.page.run(
                    "return Math.max(document.documentElement.scrollWidth, innerWidth)"
                )
                self.assertLessEqual(wide, width, f"{name} scrolls sideways")
                if folder:
                    self.page.screenshot(Path(folder) / f"console-{name}-{size}.png")
        self.page.resize(*SIZES["desktop"])

    @unittest.skipIf(axe.missing(), axe.missing())
    def test_a57_axe_finds_nothing_on_any_page(self) -> None:
        for theme in ("light", "dark"):
            self.page.run("localStorage.setItem('crab-theme', arguments[0])", theme)
            for address in self.every_page():
                name = self.show_page(address)
                self.assertEqual(axe.violations(self.page), [], f"{name}, {theme}")
        self.page.run("localStorage.removeItem('crab-theme')")

    def test_a62_no_page_has_a_raw_text_or_cuts_a_long_one(self) -> None:
        self.page.run("localStorage.setItem('crab-language', 'pseudo')")
        self.addCleanup(self.page.run, "localStorage.removeItem('crab-language')")
        raw = """
            const texts = [...document.querySelectorAll(
                '#main :is(h1, h2, h3, label, legend, caption, summary, thead th, .button)'
            )];
            return texts.filter(found => !found.querySelector('.safe'))  // names are not translated
                .map(found => found.textContent.trim()).filter(text => /[a-z]{2}/i.test(text))
                .filter(text => !text.includes('['));
        """
        cut = """
            const hides = style => ['hidden', 'clip'].includes(style.overflowX);
            return [...document.querySelectorAll('body *')].filter(each =>
                each.clientWidth > 1 && each.scrollWidth > each.clientWidth + 1 &&
                hides(getComputedStyle(each)) && each.textContent.trim() !== '' &&
                !each.querySelector('.safe'))
                .map(each => each.outerHTML.slice(0, 200));
        """
        for address in self.every_page():
            name = self.show_page(address)
            self.assertEqual(self.page.run(raw), [], f"{name} has texts without a translation")
            self.assertEqual(self.page.run(cut), [], f"{name} cuts longer texts")
            overflow = self.page.run("return document.documentElement.scrollWidth > innerWidth")
            self.assertFalse(overflow, f"{name} scrolls sideways with longer texts")
