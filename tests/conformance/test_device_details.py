"""One device whole, its new name, the end of a pairing, the addresses of the device page with their
QR codes, and who may come in (docs/reference/http.md, `/v1/admin/devices/{device}`,
`/v1/admin/pairings/{id}`, `/v1/admin/principals`)."""

from __future__ import annotations

import json
import tempfile
import unittest
from pathlib import Path
from typing import Any

from support.case import GatewayCase
from support.certificates import self_signed
from support.device import tool
from support.gateway import Gateway
from support.wait import eventually

PATH = {"type": "object", "properties": {"path": {"type": "string"}}}


class DeviceDetailsTest(GatewayCase):
    CONFIG = {
        "approvals": {"new_tools": "ask"},
        "policy": [{"principal": "local/*", "call": {"deny": ["unseen_*"]}}],
        "agents": [{"name": "butler", "tenant": "harbour"}],
        "models": [{"model": "none", "url": "http://127.0.0.1:9"}],
    }

    def admin(self, method: str, path: str, body: Any = None, status: int = 200) -> dict[str, Any]:
        answer = self.gateway.admin_request(method, path, body)
        self.assertEqual(answer.status, status, answer.body)
        return answer.json()

    def details(self, device: str) -> dict[str, Any]:
        return self.admin("GET", f"/v1/admin/devices/{device}")

    def test_a_device_is_shown_whole(self) -> None:
        token = self.new_token("whole")
        slug = self.slug
        first, known = self.open(token), self.unique("unseen_camera")
        first.register(tool(known))
        first.close()
        device, new = self.open(token), self.unique("shell")
        device.register(tool(known), tool(new, parameters=PATH), tool("not a name"))
        shown = self.details(slug)
        self.assertEqual((shown["device"], shown["connected"]), (slug, True))
        self.assertEqual(len(shown["connections"]), 1)
        self.assertEqual(
            [(each["name"], each["qualified_name"]) for each in shown["tools"]],
            [(known, f"{slug}__{known}")],
            "a tool that the operator may not call is shown too",
        )
        self.assertEqual(
            [(each["name"], each["code"]) for each in shown["rejected"]],
            [("not a name", "INVALID_ARGS")],
        )
        (waits,) = shown["waiting"]
        self.assertEqual((waits["name"], waits["schema"]), (new, PATH))
        self.assertNotIn("before", waits)
        self.assertEqual([each["kind"] for each in shown["tokens"]], ["token"])
        self.assertNotIn(token, json.dumps(shown))

    def test_a48_a_tool_that_changes_waits_and_what_it_was_is_shown_beside_it(self) -> None:
        token, name = self.new_token(), self.unique("camera")
        slug = self.slug
        first = self.open(token)
        first.register(tool(name, description="takes a picture"))
        first.close()
        device = self.open(token, capabilities=["tools_registered.rejected"])
        told = device.register(tool(name, PATH, description="takes a picture and sends it"))
        self.assertEqual(
            [(each["name"], each["code"]) for each in told["rejected"]],
            [(name, "APPROVAL_REQUIRED")],
        )
        self.assertIn("has changed", told["rejected"][0]["message"])
        (waits,) = self.details(slug)["waiting"]
        self.assertEqual(waits["before"]["description"], "takes a picture")
        self.assertEqual(waits["description"], "takes a picture and sends it")
        self.assertNotEqual(waits["before"]["schema"], PATH)
        self.assertEqual(waits["schema"], PATH)
        self.assertNotIn(name, self.gateway.tools(), "nor can anybody call the former one")
        self.gateway.crab("devices", "approve", slug, name)
        self.gateway.wait_listed(name)
        self.assertEqual(self.details(slug)["waiting"], [])
        told = device.register(tool(name, PATH, description="takes a picture and sends it"))
        self.assertEqual((told["registered"], told.get("rejected", [])), (1, []))

    def test_a_change_over_one_connection_takes_the_former_tool_away(self) -> None:
        token, name = self.new_token(), self.unique("camera")
        first = self.open(token)
        first.register(tool(name))
        first.close()
        device = self.open(token)
        device.register(tool(name))
        self.gateway.wait_listed(name)
        device.register(tool(name, PATH), replace=False)
        eventually(lambda: name not in self.gateway.tools(), "the former one is gone")

    def test_a_device_that_has_left_keeps_what_was_refused(self) -> None:
        token = self.new_token("left")
        slug = self.slug
        device = self.open(token)
        device.register(tool("not a name"))
        at = self.details(slug)["rejected"][0]["at"]
        device.close()
        eventually(lambda: not self.details(slug)["connected"], "it has left")
        shown = self.details(slug)
        self.assertEqual((shown["connections"], shown["tools"]), ([], []))
        self.assertEqual([each["at"] for each in shown["rejected"]], [at])
        again = self.open(token)
        again.register(tool(self.unique("fine")))
        self.assertEqual(self.details(slug)["rejected"], [])

    def test_a_new_name_stays_and_the_slug_too(self) -> None:
        self.new_token("old-name")
        slug = self.slug
        path = f"/v1/admin/devices/{slug}"
        renamed = self.admin("PATCH", path, {"name": "Ann's phone"})
        self.assertEqual(renamed, {"device": slug, "name": "Ann's phone"})
        self.assertEqual(self.details(slug)["name"], "Ann's phone")
        for name in ("", "x" * 129, "line\nbreak"):
            self.admin("PATCH", path, {"name": name}, status=400)
        self.admin("PATCH", path, {}, status=400)
        self.admin("PATCH", "/v1/admin/devices/nobody", {"name": "x"}, status=404)
        self.admin("GET", "/v1/admin/devices/nobody", status=404)
        self.assertIn("is called", self.gateway.crab("devices", "rename", slug, "Phone"))
        self.assertIn(f"{slug}  Phone", self.gateway.crab("devices", "show", slug))
        self.gateway.stop()
        self.gateway.start()
        self.assertEqual(self.details(slug)["name"], "Phone")

    def test_a_pairing_that_was_ended_gives_nobody_a_token(self) -> None:
        pairing = self.admin("POST", "/v1/admin/devices/pair", {"name": self.unique("unused")})
        path = f"/v1/admin/pairings/{pairing['id']}"
        self.assertEqual(self.admin("DELETE", path), {"ended": True})
        self.admin("DELETE", path, status=404)
        used = self.gateway.fetch("POST", "/pair", headers={"X-Pairing-Code": pairing["code"]})
        self.assertGreaterEqual(used.status, 400)

    def test_no_code_is_drawn_for_an_address_that_only_this_machine_reaches(self) -> None:
        pairing = self.admin("POST", "/v1/admin/devices/pair", {"name": self.unique("here")})
        self.admin("DELETE", f"/v1/admin/pairings/{pairing['id']}")
        for page in pairing["pages"]:
            self.assertEqual((page["reach"], page["tls"], page["qr"]), ("loopback", False, []))
            self.assertIn(pairing["code"], page["url"])

    def test_principals_are_listed_without_a_secret(self) -> None:
        device = self.new_token("listed")
        slug, caller = self.slug, self.gateway.caller_token("lister")
        answer = self.gateway.admin_request("GET", "/v1/admin/principals")
        self.assertNotIn(device.encode(), answer.body)
        self.assertNotIn(caller.encode(), answer.body)
        known = {each["id"]: each for each in answer.json()["principals"]}
        self.assertEqual(
            (known["caller/lister"]["kind"], known["caller/lister"]["roles"]),
            ("caller", ["caller"]),
        )
        self.assertEqual(len(known["caller/lister"]["tokens"]), 1)
        self.assertEqual(known[f"device/{slug}"]["kind"], "device")
        self.assertEqual(
            (known["agent/butler"]["kind"], known["agent/butler"]["tokens"]), ("agent", [])
        )
        self.assertIn("local", {each["kind"] for each in known.values()})


class QrCodeTest(unittest.TestCase):
    def pages(self, config: dict[str, Any]) -> list[dict[str, Any]]:
        with Gateway(config) as gateway:
            answer = gateway.admin_request("POST", "/v1/admin/devices/pair", {"name": "phone"})
            self.assertEqual(answer.status, 200, answer.body)
            told = answer.json()
            if told["pages"]:
                self.assertEqual(told["qr"], told["pages"][0]["qr"])
            return told["pages"]

    def test_a_code_is_drawn_for_names_with_tls_and_for_nothing_else(self) -> None:
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        cert, key = self_signed(folder)
        tls = {"cert": str(cert), "key": str(key)}
        named = {"listen": {"tls": tls, "host_names": ["home.example", "localhost"]}}
        pages = self.pages(named)
        if not pages:
            self.skipTest("a build without the device page")
        self.assertEqual([page["reach"] for page in pages], ["name", "loopback"])
        rows = pages[0]["qr"]
        self.assertGreaterEqual(len(rows), 21)
        self.assertEqual({len(row) for row in rows}, {len(rows)}, "a square")
        self.assertEqual(rows[0][:8], "11111110", "a finder pattern in the corner")
        self.assertEqual(pages[1]["qr"], [])
        everywhere = self.pages({"listen": {"tls": tls, "public": "0.0.0.0:0"}})
        self.assertEqual([page["qr"] for page in everywhere], [[]])


if __name__ == "__main__":
    unittest.main()
