"""docs/protocols/clawseed.md, section 3, "Names for callers" (checklist 57, 58)."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from support.case import GatewayCase
from support.device import Device, tool
from support.tool_host import ToolHost, host_tool


class NamesTest(GatewayCase):
    def device_with(self, *names: str, slug: str = "device") -> tuple[Device, str]:
        device = self.open(self.new_token(slug))
        device.register(*(tool(name) for name in names))
        return device, self.slug

    def reaches(self, name: str, device: Device, tool_name: str) -> None:
        """Fails unless a call of `name` comes to `device` as `tool_name`."""
        call = self.gateway.start_call(name)
        device.answer(device.next_call(tool_name), "here")
        self.assertEqual(call.result(10).result, {"text": "here"})

    def test_a_qualified_name_always_works_and_the_device_sees_the_plain_one(self) -> None:
        name = self.unique("tool")
        device, slug = self.device_with(name)
        self.reaches(f"{slug}__{name}", device, name)
        self.reaches(name, device, name)

    def test_clawseed_57_two_devices_with_one_name_are_ambiguous_and_both_choices_work(
        self,
    ) -> None:
        name = self.unique("tool")
        (first, first_slug), (second, second_slug) = self.device_with(name), self.device_with(name)
        error = self.gateway.call(name).error
        self.assertEqual(error["code"], "AMBIGUOUS_TOOL")
        for slug, device in ((first_slug, first), (second_slug, second)):
            self.assertIn(f"{slug}__{name}", error["message"])
            self.reaches(f"{slug}__{name}", device, name)
        first.assert_silent()
        second.assert_silent()

    def test_clawseed_57_discovery_lists_ambiguous_tools_by_the_names_that_work(self) -> None:
        name = self.unique("tool")
        (_, first), (second, second_slug) = self.device_with(name), self.device_with(name)
        listed = self.gateway.tools()
        self.assertNotIn(name, listed)
        self.assertLessEqual({f"{first}__{name}", f"{second_slug}__{name}"}, listed.keys())
        second.close()
        self.gateway.wait_listed(name)

    def test_clawseed_57_the_plain_name_works_again_when_one_device_is_left(self) -> None:
        name = self.unique("tool")
        (first, _), (second, slug) = self.device_with(name), self.device_with(name)
        second.close()
        self.gateway.wait_gone(f"{slug}__{name}")
        self.reaches(name, first, name)

    def test_clawseed_57_of_two_connections_of_one_device_the_latest_registration_wins(
        self,
    ) -> None:
        name, token = self.unique("tool"), self.new_token()
        slug = self.slug
        first, second = self.open(token), self.open(token)
        first.register(tool(name))
        second.register(tool(name))
        self.reaches(name, second, name)
        first.register(tool(name))
        self.reaches(f"{slug}__{name}", first, name)
        first.close()
        self.assertTrue(first.socket.closed)
        self.gateway.wait_listed(name)
        self.reaches(name, second, name)

    def test_clawseed_58_no_device_can_shadow_a_qualified_name(self) -> None:
        name = self.unique("camera")
        phone, slug = self.device_with(name, slug="phone")
        thief, thief_slug = self.device_with(f"{slug}__{name}", slug="thief")
        self.reaches(f"{slug}__{name}", phone, name)
        self.reaches(name, phone, name)
        self.reaches(f"{thief_slug}__{slug}__{name}", thief, f"{slug}__{name}")
        thief.assert_silent()

    def test_an_unknown_name_is_not_found_and_says_what_is_near(self) -> None:
        name = self.unique("thermometer")
        self.device_with(name)
        error = self.gateway.call(name.replace("mom", "mmo")).error
        self.assertEqual(error["code"], "TOOL_NOT_FOUND")
        self.assertEqual(self.gateway.call("nobody__" + name).code, "TOOL_NOT_FOUND")


class SourceNamesTest(GatewayCase):
    @classmethod
    def setUpClass(cls) -> None:
        folder = Path(tempfile.mkdtemp(prefix="crab-names-"))
        cls.addClassCleanup(shutil.rmtree, folder, ignore_errors=True)
        cls.host = ToolHost(folder / "shop", host_tool("append"))  # not there at first
        cls.CONFIG = {"hosts": [{"name": "shop", "unix": str(cls.host.path)}]}
        super().setUpClass()

    def test_clawseed_58_no_device_gets_a_name_of_a_tool_host_not_even_while_it_is_away(
        self,
    ) -> None:
        device = self.open(self.gateway.pair("shop"))
        device.register(*(tool(name) for name in ("append", "shop__append", "Shop__x")))
        self.assertEqual(self.gateway.call("shop__append").code, "DEPENDENCY_UNAVAILABLE")
        self.host.start()
        self.addCleanup(self.host.stop)
        self.gateway.wait_listed("shop__append", "shop-2__append")
        self.assertNotIn("shop-2__shop__append", self.gateway.tools())
        self.assertEqual(self.gateway.call("shop__append", {"n": 1}).result, {"n": 1})
        call = self.gateway.start_call("shop-2__append")
        device.answer(device.next_call("append"), "here")
        self.assertEqual(call.result(10).result, {"text": "here"})
