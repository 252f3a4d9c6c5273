"""What people grant and revoke at one gateway of a fleet, and what the others make of it."""

from __future__ import annotations

import time
import unittest
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from fleet import SOON, FleetCase, Node
from support.device import tool
from support.http import Response
from support.rtp import call_request
from support.wait import eventually
from test_device_keys import Key, ed25519_sign, text

CUT_OFF_AFTER = "3s"


class CodesTest(FleetCase):
    """Pairing codes and keys of devices."""

    def open_code(self, node: Node, name: str, **offer: Any) -> dict[str, Any]:
        answer = node.admin_request(
            "POST", "/v1/admin/devices/pair", {"name": self.unique(name), **offer}
        )
        self.assertEqual(answer.status, 200, answer.body)
        return answer.json()

    def redeem(self, node: Node, code: str, body: Any = None) -> Response:
        return node.fetch("POST", "/pair", headers={"X-Pairing-Code": code}, body=body)

    def test_a_code_of_one_node_is_redeemed_at_another_and_its_token_is_good_at_all(self) -> None:
        opened = self.open_code(self.north, "kettle")
        answer = self.redeem(self.south, opened["code"])
        self.assertEqual(answer.status, 200, answer.body)
        for node in (self.north, self.south, self.west):
            node.wait_token(answer.json()["token"])
        self.assertEqual(self.redeem(self.west, opened["code"]).status, 404)
        self.assertIn(self.unique("kettle"), self.west.crab("devices", "list"))
        # The digits are in no column of the database.
        forms = self.database.ask("SELECT * FROM pairing_code")
        self.assertNotIn(opened["code"].replace("-", ""), forms.replace("-", ""))

    def test_a_code_that_is_brought_to_two_nodes_at_once_gives_one_token(self) -> None:
        nodes = (self.north, self.south, self.west)
        with ThreadPoolExecutor(6) as pool:
            for i in range(4):  # ten tries a minute and address
                code = self.open_code(nodes[i % 3], f"phone-{i}")["code"]
                tries = list(pool.map(lambda node, code=code: self.redeem(node, code), nodes * 2))
                paired = [answer for answer in tries if answer.status == 200]
                self.assertEqual(len(paired), 1, [answer.body for answer in tries])
                for node in nodes:
                    node.wait_token(paired[0].json()["token"])

    def test_five_wrong_tries_over_the_nodes_close_all_codes(self) -> None:
        codes = [self.open_code(node, "kettle")["code"] for node in (self.north, self.south)]
        wrong = codes[0][:-1] + ("1" if codes[0][-1] != "1" else "2")
        nodes = (self.north, self.south, self.west, self.north, self.west)
        for node in nodes:
            self.assertEqual(self.redeem(node, wrong).status, 403)
        for node, code in zip((self.west, self.north), codes):
            self.assertEqual(self.redeem(node, code).status, 404)

    def test_a_code_is_ended_at_another_node_and_all_see_what_became_of_it(self) -> None:
        opened = self.open_code(self.north, "kettle")
        ended = self.south.admin_request("DELETE", f"/v1/admin/pairings/{opened['id']}")
        self.assertEqual(ended.status, 200, ended.body)
        self.assertEqual(self.redeem(self.north, opened["code"]).status, 404)

    def sign(self, key: Key, challenge_at: Node, token_at: Node) -> tuple[Response, dict[str, str]]:
        """A challenge of one node, signed for another."""
        nonce = challenge_at.fetch("POST", "/device/challenge").json()["nonce"]
        signature = ed25519_sign(key.seed, f"crab-device-v1\n{key.key_id}\n{nonce}".encode())
        body = {"key_id": key.key_id, "nonce": nonce, "signature": text(signature)}
        return token_at.fetch("POST", "/device/token", body=body), body

    def test_a_key_signs_the_challenge_of_one_node_for_another_once_and_is_known_at_all(
        self,
    ) -> None:
        self.gateway = self.north
        key = Key(self)
        code = self.open_code(self.north, "kettle")["code"]
        paired = self.redeem(self.south, code, {"public_key": key.spki})
        self.assertEqual(paired.status, 200, paired.body)
        key.key_id = paired.json()["key_id"]
        eventually(
            lambda: self.sign(key, self.north, self.west)[0].status == 200, "the key is known"
        )
        answer, body = self.sign(key, self.north, self.west)
        self.assertEqual(answer.status, 200, answer.body)
        # Good once, wherever it is brought.
        for node in (self.north, self.south, self.west):
            self.assertEqual(node.fetch("POST", "/device/token", body=body).status, 401)
        token, name = answer.json()["token"], self.unique("act")
        device = self.open(self.south, token)
        device.register(tool(name))
        self.north.wait_known(name)
        # Sessions outlive the node that has opened them.
        self.west.kill()
        self.north.stop()
        self.north.start()
        self.assertEqual(self.north.fetch("GET", "/v1/tools", token).status, 200)
        # And end with their key.
        self.north.crab("devices", "revoke", self.unique("kettle"), "--yes")
        self.assertEqual(device.socket.wait_closed(5).code, 4401)
        self.assertEqual(self.south.fetch("GET", "/v1/tools", token).status, 401)


class RevocationTest(FleetCase):
    """Who is revoked at one node is revoked at all."""

    def test_without_nats_links_are_closed_all_the_same(self) -> None:
        token, name = self.token(self.north, "kettle"), self.unique("act")
        device = self.open(self.south, token)
        device.register(tool(name))
        self.nats.kill()
        try:
            self.north.crab("devices", "revoke", self.unique("kettle"), "--yes")
            start = time.monotonic()
            self.assertEqual(device.socket.wait_closed(5).code, 4401)
            self.assertLess(time.monotonic() - start, 4)
            self.assertEqual(self.south.fetch("GET", "/v1/tools", token).status, 401)
        finally:
            self.nats.start()

    def test_what_one_node_issues_the_others_know_soon(self) -> None:
        token = self.token(self.north, "ann", "caller")
        start = time.monotonic()
        self.south.wait_token(token)
        self.assertLess(time.monotonic() - start, 2)


class CutOffTest(FleetCase):
    """A node that reaches neither the database nor another node."""

    def config(self, name: str, **changes: Any) -> dict[str, Any]:
        return super().config(name, fleet={"trust_stale": CUT_OFF_AFTER}, **changes)

    def test_a_node_that_is_cut_off_from_both_refuses_until_it_is_not(self) -> None:
        ann, name = self.caller(), self.unique("act")
        device = self.open(self.south, self.token(self.north, "kettle"))
        device.register(tool(name))
        status = lambda: self.south.fetch("GET", "/v1/tools", ann).status  # noqa: E731
        ready = lambda: self.south.fetch("GET", "/readyz").status  # noqa: E731
        self.assertEqual((status(), ready()), (200, 200))
        self.database.stop()
        try:
            # It still hears the others, who would say who was revoked.
            time.sleep(5)
            self.assertEqual((status(), ready()), (200, 200))
            self.nats.kill()
            eventually(lambda: status() == 503, "it refuses", SOON)
            self.assertEqual(ready(), 503)
            self.assertEqual(self.south.fetch("GET", "/healthz").status, 200)
            self.assertEqual(self.south.fleet_metric("crab_fleet_cut_off"), 1)
            status_page = self.south.admin_request("GET", "/v1/admin/status").body.decode()
            self.assertIn("cut off", status_page)
            refused = self.south.fetch("POST", "/v1/tools/call", ann, body=call_request(name))
            self.assertEqual(refused.status, 503, refused.body)
            device.assert_silent()
        finally:
            self.nats.start()
            self.database.start()
        eventually(lambda: status() == 200, "it serves again", SOON)
        self.assertEqual(ready(), 200)


if __name__ == "__main__":
    unittest.main()
