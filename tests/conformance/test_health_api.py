"""How the gateway is, for operators (docs/reference/http.md, `/v1/admin/health`)."""

from __future__ import annotations

import tempfile
import unittest
from pathlib import Path
from typing import Any

from support.case import GatewayCase
from support.certificates import self_signed
from support.wait import eventually


class HealthApiTest(GatewayCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cert, key = self_signed(cls.folder)
        cls.CONFIG = {
            "grpc": {"listen": "127.0.0.1:0", "tls": {"cert": str(cert), "key": str(key)}},
            "hosts": [{"name": "shop", "unix": str(cls.folder / "shop.sock")}],
            "models": [
                {"model": "away", "url": "http://127.0.0.1:9/v1", "max_retries": 0},
                {"model": "away-too", "name": "second", "url": "http://127.0.0.1:9/v1"},
            ],
        }
        super().setUpClass()

    def health(self) -> dict[str, Any]:
        answer = self.gateway.admin_request("GET", "/v1/admin/health")
        self.assertEqual(answer.status, 200, answer.body)
        return answer.json()

    def test_what_doctor_looks_at_is_looked_at_from_inside(self) -> None:
        checks = {each["id"]: each for each in self.health()["checks"]}
        for name in ("components", "state directory", "disk", "open files", "clock"):
            self.assertIn(name, checks)
        self.assertEqual(checks["components"]["state"], "ok")
        self.assertEqual(checks["state directory"]["text"], str(self.gateway.folder / "state"))
        self.assertTrue(all(each["fix"] for each in checks.values() if each["state"] != "ok"))
        (self.gateway.folder / "state").chmod(0o755)
        self.addCleanup((self.gateway.folder / "state").chmod, 0o700)
        opened = {each["id"]: each for each in self.health()["checks"]}["state directory"]
        self.assertEqual(opened["state"], "fail")
        self.assertIn("chmod 700", opened["fix"])

    def test_a_certificate_is_told_with_its_end_before_it_ends(self) -> None:
        health = self.health()
        (certificate,) = health["certificates"]
        self.assertEqual((certificate["name"], certificate["state"]), ("grpc.tls", "warn"))
        self.assertRegex(certificate["not_after"], r"^\d{4}-\d\d-\d\dT")
        check = next(each for each in health["checks"] if each["id"] == "grpc.tls")
        self.assertIn("crab tls init", check["fix"])

    def test_stores_hosts_and_models_are_listed(self) -> None:
        health = self.health()
        stores = {each["name"]: each for each in health["stores"]}
        self.assertGreater(stores["trust.db"]["bytes"], 0)
        self.assertEqual(stores["audit.db"]["state"], "ok")
        hosts = {each["name"]: each for each in health["hosts"]}
        self.assertEqual((hosts["peer/shop"]["state"], hosts["peer/shop"]["tools"]), ("fail", 0))
        self.assertTrue(hosts["peer/shop"]["problem"])
        self.assertEqual([each["name"] for each in health["models"]], ["away", "second"])

    def test_a_model_that_is_away_rests_until_a_time(self) -> None:
        chat = self.open()
        chat.send("message", content="Is anybody there?")

        def resting() -> bool:
            first = self.health()["models"][0]
            return first["state"] == "resting" and "resting_until" in first

        eventually(resting, "the model that is away rests")


if __name__ == "__main__":
    unittest.main()
