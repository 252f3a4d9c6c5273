"""A browser without a window, driven by the W3C WebDriver protocol over plain HTTP; Debian's
chromium and chromium-driver."""

from __future__ import annotations

import base64
import json
import os
import re
import shutil
import subprocess
import tempfile
import threading
import unittest
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from .wait import eventually

CHROMIUM = os.environ.get("CRAB_CHROMIUM") or shutil.which("chromium")
DRIVER = os.environ.get("CRAB_CHROMEDRIVER") or shutil.which("chromedriver")
_ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
CONTROL = "\ue009"  #: for `chord`
_KEYS = {
    "Tab": "\ue004",
    "Enter": "\ue007",
    "Escape": "\ue00c",
    "Home": "\ue011",
    "ArrowDown": "\ue015",
}
_REQUEST_SECONDS = 60.0
_PATIENCE = 30.0  # a browser on a loaded machine takes its time

# : Chromium as tests want it: a camera that shows a moving picture, a microphone that beeps, and
# yes to the browser's own questions.
ARGUMENTS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--mute-audio",
    "--no-first-run",
    "--use-fake-device-for-media-stream",
    "--use-fake-ui-for-media-stream",
)


def missing() -> str:
    """What is not installed, as a reason to skip; empty when all is there."""
    absent = [
        name for name, path in (("chromium", CHROMIUM), ("chromium-driver", DRIVER)) if not path
    ]
    return (
        f"not installed: {' and '.join(absent)}; scripts/setup.sh installs the kind test of "
        f"packages.txt"
        if absent
        else ""
    )


class NoSuchElement(Exception):
    """Nothing on the page fits the selector now, or nobody could click it."""


class Browser:
    """One browser with one page and a fresh profile. A context manager; leaving it ends browser and
    driver."""

    def __init__(self, *arguments: str, size: tuple[int, int] = (1200, 900)) -> None:
        self._profile = tempfile.mkdtemp(prefix="crab-browser-")
        # TMPDIR: whatever chromium leaves lying about goes with the profile.
        self._driver = subprocess.Popen(
            [DRIVER, "--port=0"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={**os.environ, "TMPDIR": self._profile},
            start_new_session=True,
        )
        self._session = ""
        try:
            self._base = f"http://127.0.0.1:{self._port()}"
            options = {
                "binary": CHROMIUM,
                "args": [
                    *ARGUMENTS,
                    f"--user-data-dir={self._profile}/profile",
                    f"--window-size={size[0]},{size[1]}",
                    *arguments,
                ],
            }
            wanted = {
                "browserName": "chrome",
                "goog:chromeOptions": options,
                "goog:loggingPrefs": {"browser": "ALL"},
                "unhandledPromptBehavior": "dismiss",
            }
            self._session = self._request(
                "POST", "/session", {"capabilities": {"alwaysMatch": wanted}}
            )["sessionId"]
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        try:
            if self._session:
                self._request("DELETE", "")
        finally:
            self._driver.terminate()
            self._driver.wait()
            self._driver.stdout.close()
            shutil.rmtree(self._profile, ignore_errors=True)

    def add_authenticator(self, case: unittest.TestCase) -> None:
        """One that keeps passkeys and says yes for its person, until the end of the test."""
        options = {"protocol": "ctap2", "transport": "internal"}
        for ability in ("ResidentKey", "UserVerification"):
            options[f"has{ability}"] = True
        options |= {"isUserConsenting": True, "isUserVerified": True}
        made = self._request("POST", "/webauthn/authenticator", options)
        case.addCleanup(self._request, "DELETE", f"/webauthn/authenticator/{made}")

    def _port(self) -> int:
        for line in self._driver.stdout:
            if found := re.search(r"started successfully on port (\d+)", line):
                threading.Thread(
                    target=self._driver.stdout.read, daemon=True
                ).start()  # so that it never blocks on us
                return int(found[1])
        raise AssertionError("chromedriver ended before it told its port")

    def _request(self, method: str, path: str, body: Any = None) -> Any:
        target = f"{self._base}{f'/session/{self._session}' if self._session else ''}{path}"
        data = json.dumps(body if body is not None else {}).encode() if method == "POST" else None
        request = urllib.request.Request(
            target, data, {"Content-Type": "application/json"}, method=method
        )
        try:
            with urllib.request.urlopen(request, timeout=_REQUEST_SECONDS) as response:
                return json.load(response)["value"]
        except urllib.error.HTTPError as failure:
            value = json.load(failure)["value"]
            if value["error"] in (
                "no such element",
                "stale element reference",
                "element not interactable",
            ):
                raise NoSuchElement(value["message"]) from None
            raise AssertionError(f"{method} {path}: {value['error']}: {value['message']}") from None

    # The page

    def open(self, url: str) -> None:
        self._request("POST", "/url", {"url": url})

    def reload(self) -> None:
        self._request("POST", "/refresh")

    def window(self) -> str:
        """The tab that is driven now."""
        return self._request("GET", "/window")

    def new_window(self) -> str:
        """Opens another tab and drives that one."""
        handle = self._request("POST", "/window/new", {"type": "tab"})["handle"]
        self._request("POST", "/window", {"handle": handle})
        return handle

    def close_window(self, then: str) -> None:
        """Closes the tab that is driven now, and drives that one."""
        self._request("DELETE", "/window")
        self._request("POST", "/window", {"handle": then})

    def run(self, script: str, *arguments: Any) -> Any:
        """The value of a JavaScript function's body."""
        return self._request("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def press(self, *keys: str) -> None:
        """Presses keys one after the other, whatever has the focus: `Tab`, `Enter`, `Escape`, a
        letter."""
        actions = [
            {"type": kind, "value": _KEYS.get(key, key)}
            for key in keys
            for kind in ("keyDown", "keyUp")
        ]
        self._request(
            "POST", "/actions", {"actions": [{"type": "key", "id": "keyboard", "actions": actions}]}
        )

    def chord(self, held: str, key: str) -> None:
        """Presses a key while another one is held."""
        steps = (("keyDown", held), ("keyDown", key), ("keyUp", key), ("keyUp", held))
        actions = [{"type": kind, "value": value} for kind, value in steps]
        self._request(
            "POST", "/actions", {"actions": [{"type": "key", "id": "keyboard", "actions": actions}]}
        )

    def devtools(self, command: str, **parameters: Any) -> Any:
        return self._request("POST", "/goog/cdp/execute", {"cmd": command, "params": parameters})

    def find(self, selector: str) -> str:
        return self._request("POST", "/element", {"using": "css selector", "value": selector})[
            _ELEMENT
        ]

    def has(self, selector: str) -> bool:
        return bool(
            self._request("POST", "/elements", {"using": "css selector", "value": selector})
        )

    def text(self, selector: str) -> str:
        """What a person reads there; empty when there is no such element."""
        try:
            return self._request("GET", f"/element/{self.find(selector)}/text")
        except NoSuchElement:
            return ""

    def click(self, selector: str) -> None:
        self._request("POST", f"/element/{self.find(selector)}/click")

    def click_button(self, words: str) -> None:
        """Clicks the button with these words, once there is one that can be pressed."""
        xpath = f'//button[normalize-space()="{words}" and not(@aria-disabled="true")]'

        def clicked() -> bool:
            found = self._request("POST", "/elements", {"using": "xpath", "value": xpath})
            try:
                return (
                    bool(found)
                    and self._request("POST", f"/element/{found[0][_ELEMENT]}/click") is None
                )
            except NoSuchElement:
                return False  # it went between the two requests

        eventually(clicked, f"a button {words!r}", _PATIENCE)

    def click_option(self, label: str, option: str) -> None:
        """Takes an option of the field with this label."""
        field = f'//select[@id=//label[normalize-space()="{label}"]/@for]'
        xpath = f'{field}/option[normalize-space()="{option}"]'

        def taken() -> bool:
            found = self._request("POST", "/elements", {"using": "xpath", "value": xpath})
            try:
                return (
                    bool(found)
                    and self._request("POST", f"/element/{found[0][_ELEMENT]}/click") is None
                )
            except NoSuchElement:
                return False

        eventually(taken, f"an option {option!r} of {label!r}", _PATIENCE)

    def type(self, selector: str, text: str) -> None:
        self._request("POST", f"/element/{self.find(selector)}/value", {"text": text})

    def wait_text(self, selector: str, words: str) -> None:
        eventually(lambda: words in self.text(selector), f"{words!r} in {selector}", _PATIENCE)

    def resize(self, width: int, height: int) -> None:
        self.devtools(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=2 if width < 600 else 1.5,
            mobile=width < 600,
        )

    def screenshot(self, path: Path) -> None:
        path.write_bytes(base64.b64decode(self._request("GET", "/screenshot")))

    def webp(self, path: Path) -> None:
        """A small picture of what is seen."""
        answer = self.devtools("Page.captureScreenshot", format="webp", quality=60)
        path.write_bytes(base64.b64decode(answer["data"]))

    def complaints(self) -> list[str]:
        """What the browser has logged as an error since the last time: uncaught exceptions, refused
        content."""
        entries = self._request("POST", "/se/log", {"type": "browser"})
        return [entry["message"] for entry in entries if entry["level"] == "SEVERE"]
