"""Who the device page is and what it sends: keys, presence, uploads, and all of it over TLS; in a
real browser."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import shutil
import subprocess
import tempfile
import unittest
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

from support import browser, rtp
from support.browser import Browser
from support.gateway import Gateway, program
from support.page_case import PATIENCE, PLACE, DevicePageCase
from support.wait import eventually

READ_KEY = """
  const opening = indexedDB.open("crab.device");
  return new Promise((done) => { opening.onsuccess = () => {
    const asked = opening.result.transaction("keys").objectStore("keys").get("device");
    asked.onsuccess = () => crypto.subtle.exportKey("pkcs8", asked.result.pair.privateKey)
      .then(() => done("read"), (no) => done(no.name));
  }; });"""
NO_DATABASE = (
    "Object.defineProperty(window, 'indexedDB', { value: { open() { throw new "
    "DOMException('', 'InvalidStateError'); } } });"
)


class IdentityTest(DevicePageCase):
    def settings(self) -> dict[str, Any]:
        return json.loads(self.page.run("return localStorage.getItem('crab.device')"))

    def record(self) -> dict[str, Any]:
        """What the gateway tells of this device."""
        devices = self.gateway.admin_request("GET", "/v1/admin/devices").json()["devices"]
        return next(device for device in devices if device["device"] == self.slug)

    def test_the_browser_is_known_by_a_key_that_nobody_can_read(self) -> None:
        self.pair()
        self.assertEqual((self.settings()["key"], "token" in self.settings()), (True, False))
        self.assertEqual(self.page.run(READ_KEY), "InvalidAccessError")

    def test_unpairing_forgets_the_key(self) -> None:
        self.pair()
        self.tab("about")
        self.page.click_button("Unpair this device")
        self.page.click_button("Unpair")
        self.page.wait_text("h1", "Lend a hand")
        self.gone("get_location")
        self.page.run(
            "localStorage.setItem('crab.device', JSON.stringify({name: 'x', switched: {}, key: "
            "true}))"
        )
        self.page.reload()
        self.page.wait_text(".notice", "no longer knows this device")

    def test_a_browser_that_keeps_no_keys_gets_a_token(self) -> None:
        added = self.page.devtools("Page.addScriptToEvaluateOnNewDocument", source=NO_DATABASE)[
            "identifier"
        ]
        self.addCleanup(
            self.page.devtools, "Page.removeScriptToEvaluateOnNewDocument", identifier=added
        )
        self.page.open("about:blank")
        self.pair()
        self.assertRegex(self.settings()["token"], "^[0-9a-f]{64}$")
        self.page.reload()
        self.page.wait_text(".link", "Connected")

    def test_the_gateway_hears_how_the_device_is(self) -> None:
        self.pair()
        eventually(lambda: self.record().get("foreground") is True, "it is in front", PATIENCE)
        first = self.page.window()
        self.page.new_window()
        eventually(
            lambda: self.record().get("foreground") is False, "another tab is in front", PATIENCE
        )
        self.assertIn("battery", self.record())
        self.page.close_window(first)


class ArtifactsTest(DevicePageCase):
    """The camera's pictures are noise, so that a JPEG of one is large."""

    @classmethod
    def setUpClass(cls) -> None:
        width, height = 1280, 720
        film = Path(cls.enterClassContext(tempfile.TemporaryDirectory())) / "noise.y4m"
        film.write_bytes(
            f"YUV4MPEG2 W{width} H{height} F10:1 Ip A1:1 C420\nFRAME\n".encode()
            + os.urandom(width * height * 3 // 2)
        )
        cls.ARGUMENTS = (f"--use-file-for-fake-video-capture={film}",)
        super().setUpClass()

    def photo(self, max_side: int) -> dict[str, Any]:
        call = self.start("take_photo", {"max_side": max_side})
        self.answer("Allow once")
        return call.result(60).result

    def test_a_large_photo_is_uploaded_and_fetched_whole(self) -> None:
        self.pair()
        artifact = self.photo(4096)["artifact"]
        self.assertEqual(artifact["content_type"], "image/jpeg")
        self.assertGreater(artifact["bytes"], 256 << 10)
        fetched = self.gateway.fetch("GET", artifact["href"], self.gateway.caller_token("ci"))
        self.assertEqual(
            (fetched.status, len(fetched.body), fetched.body[:3]),
            (200, artifact["bytes"], b"\xff\xd8\xff"),
        )
        self.assertEqual(hashlib.sha256(fetched.body).hexdigest(), artifact["sha256"])
        self.page.wait_text(".call.ok .given", "MB" if artifact["bytes"] >= 1_000_000 else "KB")

    def test_a_small_photo_comes_in_the_message(self) -> None:
        self.pair()
        photo = self.photo(200)
        self.assertEqual(len(base64.b64decode(photo["data_base64"])), photo["bytes"])


@unittest.skipIf(browser.missing(), browser.missing())
@unittest.skipUnless(shutil.which("openssl"), "openssl is not installed")
class TlsTest(unittest.TestCase):
    """As a phone meets the gateway: over https, with what `crab tls init` made, trusting that
    certificate alone."""

    def setUp(self) -> None:
        folder = Path(self.enterContext(tempfile.TemporaryDirectory())) / "tls"
        made = json.loads(
            self.run_program(
                program(),
                "tls",
                "init",
                "-o",
                "json",
                "--dir",
                str(folder),
                "--name",
                "crab.example",
            )
        )
        self.gateway = self.enterContext(
            Gateway(
                {
                    "listen": {
                        "host_names": ["crab.example"],
                        "tls": {"cert": made["cert"], "key": made["key"]},
                    }
                }
            )
        )
        public_key = self.run_program("openssl", "x509", "-in", made["cert"], "-noout", "-pubkey")
        pin = base64.b64encode(
            hashlib.sha256(
                self.run_program("openssl", "pkey", "-pubin", "-outform", "DER", given=public_key)
            ).digest()
        ).decode()
        self.page = self.enterContext(
            Browser(
                f"--ignore-certificate-errors-spki-list={pin}",
                "--host-resolver-rules=MAP crab.example 127.0.0.1",
            )
        )
        self.callers = self.enterContext(ThreadPoolExecutor(1))

    @staticmethod
    def run_program(*words: str, given: bytes | None = None) -> bytes:
        return subprocess.run(
            words, input=given, capture_output=True, check=True, timeout=20
        ).stdout

    def start(self, tool: str) -> Future[dict[str, Any]]:
        """A call of the operator, who needs no network."""
        request = rtp.call_request(tool, {}, context={"agent_id": "planner", "session_id": "s"})
        return self.callers.submit(
            lambda: self.gateway.admin_request("POST", "/v1/tools/call", request, timeout=60).json()
        )

    def test_a_phone_follows_the_code_and_gives_place_and_photo(self) -> None:
        answer = self.gateway.admin_request(
            "POST", "/v1/admin/devices/pair", {"name": "phone"}
        ).json()
        origin = f"https://crab.example:{self.gateway.public[1]}"
        self.assertTrue(answer["page"].startswith(f"{origin}/device/#pair="), answer["page"])
        self.page.devtools(
            "Browser.grantPermissions", origin=origin, permissions=["geolocation", "videoCapture"]
        )
        self.page.devtools("Emulation.setGeolocationOverride", **PLACE)
        self.page.open(answer["page"])
        self.page.click_button("Pair this device")
        self.page.wait_text(".link", "Connected")
        self.assertTrue(
            self.page.run(
                "return isSecureContext && navigator.serviceWorker.ready.then(() => true)"
            )
        )
        for tool, member in (("get_location", "latitude"), ("take_photo", "data_base64")):
            call = self.start(f"phone__{tool}")
            self.page.click_button("Allow once")
            body = call.result(60)
            self.assertEqual(body["status"], "ok", body)
            self.assertIn(member, body["result"])
        self.assertEqual(self.page.complaints(), [])


if __name__ == "__main__":
    unittest.main()
