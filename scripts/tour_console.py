#!/usr/bin/env python3
"""Uses the console of a running gateway as a person does, in a browser without a window: tries a
tool, allows a call that waits, pairs the browser as a device, opens every page at two widths, in
light and dark, and leaves pictures.

usage: scripts/tour_console.py ADMIN_SOCKET PUBLIC_URL FOLDER [IMAGES]
  IMAGES  another folder, where small pictures of the pages go; it fails if one of them shows a
          path of this machine. scripts/console_pictures.py makes those of docs/images.
  CRAB_BIN names the crab executable. Exit 3: no Chromium is installed.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests/conformance"))

from support import browser  # noqa: E402
from support.browser import Browser  # noqa: E402
from support.console import Console  # noqa: E402
from support.gateway import program  # noqa: E402
from support.wait import eventually  # noqa: E402

SIZES = {"desktop": (1280, 900), "phone": (390, 844)}
THEMES = ("light", "dark")
#: Whether a page has read what it shows, and something of that has been painted.
SHOWN = """
    const main = document.querySelector("#main");
    return main.querySelector("h1") !== null && main.innerText.length > 40 &&
        main.querySelector("[aria-busy=true], .skeleton, progress") === null;
"""


class Tour:
    def __init__(self, admin: str, public: str, folder: Path, images: Path | None = None) -> None:
        self.admin, self.public, self.folder, self.images = admin, public, folder, images
        folder.mkdir(parents=True, exist_ok=True)

    def run(self) -> None:
        with Console(self.admin) as self.console, Browser(size=SIZES["desktop"]) as self.page:
            self.page.open(f"{self.console.page}#in={self.console.code}")
            self.page.wait_text("header.top", "local/")
            self.try_a_tool()
            self.allow_a_call()
            self.pair_this_browser()
            count = self.see_all_pages()
            complaints = self.page.complaints()
            if complaints:
                raise AssertionError(f"the browser complains: {complaints}")
            print(f"{count} pages at two widths, light and dark: pictures in {self.folder}/")

    def open(self, query: str) -> None:
        self.page.open(f"{self.console.page}?{query}")
        self.page.wait_text("header.top", "local/")

    def picture(self, name: str) -> None:
        self.page.screenshot(self.folder / f"{name}.png")

    def try_a_tool(self) -> None:
        self.open("page=tools&tool=device_info")
        self.page.click_button("Call")
        self.page.wait_text("main", "hostname")
        self.picture("tool-tried")
        print("a tool was tried by its form")

    def allow_a_call(self) -> None:
        self.open("page=approvals")
        self.page.wait_text("h1", "Approvals")
        call = subprocess.Popen(
            [program(), "--socket", self.admin, "call", "open_gate"], stdout=subprocess.PIPE
        )
        try:
            self.page.wait_text("main", "open_gate")
            # dead for half a second: a press meant for what was there before allows nothing
            alive = "button:not([disabled]):not([aria-disabled=true])"
            eventually(
                lambda: self.page.run(
                    "return [...document.querySelectorAll(arguments[0])]"
                    ".some(each => each.innerText.trim() === 'Allow once')",
                    f"main {alive}",
                ),
                "a button that allows",
                30,
            )
            self.picture("approval-waiting")
            self.page.click_button("Allow once")
            said, _ = call.communicate(timeout=60)
        finally:
            call.kill()
            call.wait()
        if call.returncode != 0 or b"gate" not in said:
            raise AssertionError(
                f"the call that was allowed ended with {call.returncode}: {said!r}"
            )
        print("a call waited, was allowed on the page, and ran")

    def pair_this_browser(self) -> None:
        self.open("page=devices")
        self.page.click_button("Pair")
        eventually(lambda: self.page.text(".pair-code") != "", "a pairing code", 30)
        code = self.page.text(".pair-code")
        self.picture("device-pairing")
        first = self.page.window()
        self.page.new_window()
        self.page.open(f"{self.public}/device/")
        self.page.type("#code", code)
        self.page.click_button("Pair this device")
        self.page.wait_text(".link", "Connected")
        self.page.close_window(first)
        self.page.wait_text("dialog", "is paired")
        self.picture("device-paired")
        print("the browser was paired as a device by its page")

    def show(self, address: str) -> None:
        """Opens a page and waits until it has read what it shows."""
        self.page.open(address)
        self.page.wait_text("header.top", "local/")
        eventually(lambda: self.page.run(SHOWN), f"{address} is shown", 30)
        text = self.page.text("main")
        for path in (str(ROOT), str(Path.home())):
            if self.images and path in text:
                raise AssertionError(f"{address} shows a path of this machine: {path}")

    def see_all_pages(self, more: tuple[str, ...] = ()) -> int:
        """Pictures of the pages of the rail, and of those with these queries."""
        self.open("page=settings")
        pages = self.page.run(
            "return [...document.querySelectorAll('nav.rail a')].map(a => a.href)"
        )
        pages += [f"{self.console.page}?page={query}" for query in ("performance", *more)]
        for theme in THEMES:
            self.page.run("localStorage.setItem('crab-theme', arguments[0])", theme)
            for size, (width, height) in SIZES.items():
                self.page.resize(width, height)
                for address in pages:
                    self.show(address)
                    query = address.partition("page=")[2].partition("=")[0] or "overview"
                    name = query.replace("&", "-")
                    self.picture(f"{name}-{size}-{theme}")
                    if self.images:
                        self.page.webp(self.images / f"console-{name}-{size}-{theme}.webp")
        return len(pages)


def main() -> int:
    if sys.argv[1:] in (["--help"], ["-h"]):
        print(__doc__)
        return 0
    if len(sys.argv) not in (4, 5):
        print(__doc__, file=sys.stderr)
        return 2
    if absent := browser.missing():
        print(absent)
        return 3
    Tour(sys.argv[1], sys.argv[2], *map(Path, sys.argv[3:])).run()
    return 0


if __name__ == "__main__":
    sys.exit(main())
