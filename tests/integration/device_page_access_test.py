"""Whether everybody can use the device page: by keyboard, by ear, on narrow screens, in the dark,
without motion; in a real browser."""

from __future__ import annotations

import unittest
from collections.abc import Iterator

from support import axe
from support.page_case import PATIENCE, TABS, DevicePageCase
from support.wait import eventually

#: What is hard to read: text whose contrast to what is behind it is below 4.5 (WCAG 2.2, 1.4.3).
FAINT_TEXT = """
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgba = (colour) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    return canvas.getImageData(0, 0, 1, 1).data;
  };
  const over = (top, below) =>
    [0, 1, 2].map((i) => (top[i] * top[3] + below[i] * (255 - top[3])) / 255);
  const linear = (part) =>
    part <= 10.3 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4;
  const luminance = ([red, green, blue]) =>
    0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue);
  const behind = (element) => {
    if (!element) return [255, 255, 255];
    return over(rgba(getComputedStyle(element).backgroundColor), behind(element.parentElement));
  };
  const faint = [];
  for (const element of document.querySelectorAll("body *")) {
    const text = [...element.childNodes]
      .filter((node) => node.nodeType === Node.TEXT_NODE).map((node) => node.data.trim()).join("");
    if (!text || !element.checkVisibility()) continue;
    const back = behind(element);
    const both = [luminance(over(rgba(getComputedStyle(element).color), back)), luminance(back)];
    const contrast = (Math.max(...both) + 0.05) / (Math.min(...both) + 0.05);
    if (contrast < 4.5) faint.push(`${text}: ${contrast.toFixed(2)}`);
  }
  return faint;"""
TOO_SMALL = """
  return [...document.querySelectorAll("button, input")].filter((each) => each.checkVisibility())
    .filter((each) => {
      const { width, height } = each.getBoundingClientRect();
      return height < 24 || width < 24;
    })
    .map((each) => each.outerHTML);"""
MOVING = (
    "return document.getAnimations().filter((each) => "
    "each.effect.getComputedTiming().duration > 0).length"
)
CONTROLS = ("button", "switch", "checkbox", "textbox", "dialog", "image", "link")


class AccessTest(DevicePageCase):
    def media(self, **features: str) -> None:
        wanted = [
            {"name": name.replace("_", "-"), "value": value} for name, value in features.items()
        ]
        self.page.devtools("Emulation.setEmulatedMedia", features=wanted)
        self.addCleanup(self.page.devtools, "Emulation.setEmulatedMedia", features=[])

    def views(self) -> Iterator[str]:
        """Shows one view after the other: pairing, the device with calls and answers, a
        question."""
        yield "pairing"
        self.pair()
        for tool, answer in (("get_location", "Always allow"), ("read_network", "Never")):
            call = self.start(tool)
            self.answer(answer)
            call.result(60)
        self.page.wait_text(".call.failed", "refused")
        eventually(lambda: not self.page.has(".toast"), "toasts are gone", PATIENCE)
        for tab in TABS:
            self.tab(tab)
            yield tab
        call = self.start("take_photo", {"camera": "back"})
        self.page.wait_text(".ask h2", "planner wants")
        yield "question"
        self.answer("Not now")
        call.result(60)

    def test_text_stands_out_in_light_and_dark(self) -> None:
        for view in self.views():
            for scheme in ("light", "dark"):
                self.media(prefers_color_scheme=scheme, prefers_reduced_motion="reduce")
                with self.subTest(view=view, scheme=scheme):
                    self.assertEqual(self.page.run(FAINT_TEXT), [])

    @unittest.skipIf(axe.missing(), axe.missing())
    def test_a57_axe_finds_nothing_in_any_view(self) -> None:
        for view in self.views():
            for theme in ("light", "dark"):
                self.page.run("document.documentElement.dataset.theme = arguments[0]", theme)
                with self.subTest(view=view, theme=theme):
                    self.assertEqual(axe.violations(self.page), [])

    def test_every_control_has_a_name(self) -> None:
        for view in self.views():
            nodes = self.page.devtools("Accessibility.getFullAXTree")["nodes"]
            controls = [
                node for node in nodes if not node["ignored"] and node["role"]["value"] in CONTROLS
            ]
            with self.subTest(view=view):
                self.assertGreater(len(controls), 1)
                self.assertEqual(
                    [node for node in controls if not node.get("name", {}).get("value")], []
                )

    def test_nothing_is_cut_off_or_too_small_on_the_narrowest_phones(self) -> None:
        self.page.resize(320, 640)
        self.addCleanup(self.page.devtools, "Emulation.clearDeviceMetricsOverride")
        for view in self.views():
            with self.subTest(view=view):
                self.assertLessEqual(
                    self.page.run("return document.scrollingElement.scrollWidth"), 320
                )
                self.assertEqual(self.page.run(TOO_SMALL), [])

    def test_who_wants_no_motion_sees_none(self) -> None:
        self.media(prefers_reduced_motion="reduce")
        for view in self.views():
            with self.subTest(view=view):
                self.assertEqual(self.page.run(MOVING), 0)

    def test_the_keyboard_is_enough(self) -> None:
        self.slug = self.gateway.unique("page")
        self.page.open(f"{self.address}#pair={self.code(self.slug)}")
        self.page.press("Enter")  # the button has the focus
        self.page.wait_text(".link", "Connected")
        self.listed("get_location")
        call = self.start("get_location", {"high_accuracy": True})
        self.settled()
        self.page.press("Tab", "Tab", "Enter")  # what it asks for, then the first answer
        self.assertEqual(call.result(60).status, "ok")
        call = self.start("get_location")
        self.settled()
        self.page.press("Escape")
        self.assertEqual(call.result(60).code, "FORBIDDEN")
        call = self.start("get_location")  # Escape was no lasting answer
        self.settled()
        self.page.press("Tab", "Tab", "Tab", "Enter")  # the third one is More
        self.page.wait_text(".consent-more", "Always allow")
        self.page.press("Tab")

        def pressed() -> bool:  # the card has moved: for half a second a press does nothing
            self.page.press("Enter")
            return not self.page.has(".ask")

        eventually(pressed, "the answer counts", PATIENCE)
        self.assertEqual(call.result(60).status, "ok")
        self.tab("answers")
        self.page.wait_text(".decision", "always")

    def settled(self) -> None:
        """Waits until a question is open whose buttons can be pressed."""
        self.page.wait_text(".ask h2", "planner wants")
        dead = ".ask .button[aria-disabled=true]"
        eventually(lambda: not self.page.has(dead), "the buttons are alive", PATIENCE)

    def test_browsers_can_install_it(self) -> None:
        self.page.run("return navigator.serviceWorker.ready.then(() => true)")
        self.assertEqual(
            self.page.devtools("Page.getInstallabilityErrors")["installabilityErrors"], []
        )

    def test_the_page_offers_what_the_browser_offers_to_install(self) -> None:
        self.pair()
        self.tab("about")
        self.page.run(
            "window.asked = 0; dispatchEvent(Object.assign(new Event('beforeinstallprompt', { "
            "cancelable: true }), { prompt: async () => ++window.asked }))"
        )
        self.page.click_button("Put it on the home screen")
        self.assertEqual(self.page.run("return window.asked"), 1)
        self.assertNotIn("Home screen", self.page.text("main"))  # an offer is good once


if __name__ == "__main__":
    unittest.main()
