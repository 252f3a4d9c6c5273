"""The files of the device page as any HTTP client gets them."""

from __future__ import annotations

import json
import re
import unittest

from support.case import GatewayCase
from support.gateway import Gateway


class DevicePageFilesTest(GatewayCase):
    CONFIG = {"listen": {"path_prefix": "/lab"}}

    def setUp(self) -> None:
        self.page = self.gateway.fetch("GET", "/lab/device/")
        if self.page.status == 404 and b"without the device page" in self.page.body:
            self.skipTest("built with CRAB_WEB=OFF")

    def assets(self) -> list[str]:
        return re.findall(r'"\./(assets/[^"]+)"', self.page.body.decode())

    def test_the_page_needs_no_token_and_lies_below_the_prefix(self) -> None:
        self.assertEqual(
            (self.page.status, self.page.headers["content-type"]), (200, "text/html; charset=utf-8")
        )
        moved = self.gateway.fetch("GET", "/lab/device")
        self.assertEqual((moved.status, moved.headers["location"]), (308, "/lab/device/"))
        for path in ("/device/", "/lab/devices", "/lab/device/nothing", "/lab/device/../health"):
            self.assertEqual(self.gateway.fetch("GET", path).status, 404, path)

    def test_it_allows_nothing_from_elsewhere_and_no_inline_script(self) -> None:
        policy = self.page.headers["content-security-policy"]
        self.assertIn("default-src 'none'; script-src 'self'; style-src 'self';", policy)
        self.assertIn("connect-src 'self' ws://localhost;", policy)
        self.assertIn("require-trusted-types-for 'script'; trusted-types crab-worker", policy)
        self.assertNotIn("unsafe", policy)
        self.assertEqual(self.page.headers["x-content-type-options"], "nosniff")
        text = self.page.body.decode()
        self.assertNotRegex(text, r"<script(?![^>]*\bsrc=)")
        self.assertNotRegex(text, r"\bstyle=|\bon[a-z]+=\"|https?://")

    def test_files_have_their_types_and_are_asked_for_once(self) -> None:
        assets = self.assets()
        self.assertEqual({name.rpartition(".")[2] for name in assets}, {"js", "css"})
        for name, kind, caching in [
            *((name, "text/", "immutable") for name in assets),
            ("sw.js", "text/javascript", "no-cache"),
            ("crab.webmanifest", "application/manifest+json", "no-cache"),
            ("icon.svg", "image/svg+xml", "no-cache"),
            ("icon-192.png", "image/png", "no-cache"),
        ]:
            got = self.gateway.fetch("GET", f"/lab/device/{name}")
            self.assertEqual(got.status, 200, name)
            self.assertTrue(got.headers["content-type"].startswith(kind), name)
            self.assertIn(caching, got.headers["cache-control"])
            etag = got.headers["etag"]
            self.assertRegex(etag, r'^"[0-9a-f]{32}"$')
            again = self.gateway.fetch(
                "GET", f"/lab/device/{name}", headers={"If-None-Match": f'"other", {etag}'}
            )
            self.assertEqual((again.status, again.body, again.headers["etag"]), (304, b"", etag))

    def test_the_manifest_names_icons_that_are_there(self) -> None:
        manifest = json.loads(self.gateway.fetch("GET", "/lab/device/crab.webmanifest").body)
        for icon in manifest["icons"]:
            self.assertEqual(
                self.gateway.fetch("GET", f"/lab/device/{icon['src']}").status, 200, icon
            )

    def test_head_has_no_body_and_other_methods_are_refused(self) -> None:
        head = self.gateway.fetch("HEAD", "/lab/device/")
        self.assertEqual(
            (head.status, head.body, head.headers["etag"]), (200, b"", self.page.headers["etag"])
        )
        refused = self.gateway.fetch("POST", "/lab/device/", body={})
        self.assertEqual((refused.status, refused.headers["allow"]), (405, "GET, HEAD"))

    def test_a_foreign_host_or_origin_gets_nothing(self) -> None:
        for name, value in (("Host", "evil.example"), ("Origin", "https://evil.example")):
            self.assertEqual(
                self.gateway.fetch("GET", "/lab/device/", headers={name: value}).status, 403, name
            )


class NoDevicePageTest(unittest.TestCase):
    def test_the_configuration_can_leave_it_out(self) -> None:
        with Gateway({"listen": {"device_page": False}}) as gateway:
            self.assertEqual(gateway.fetch("GET", "/device/").status, 404)


if __name__ == "__main__":
    unittest.main()
