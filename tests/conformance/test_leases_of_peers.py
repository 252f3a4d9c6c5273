"""docs/protocols/rtp.md, section 8, over mutual TLS: what paired peers may do, and their leases.
Numbers are the checklist's."""

from __future__ import annotations

from support.gateway import merged
from support.wait import eventually
from test_peer_listener import PeerListenerCase

SCOPE = {"tenant_id": "default", "agent_id": "a", "session_id": "s"}
ACTIONS = [
    "events.publish:tool.call.completed",
    "events.publish:channel.message.edited",
    "events.publish:cron.triggered",
    "events.subscribe:tool.call.requested",
    "events.subscribe:channel.message.received",
    "events.subscribe:cron.triggered",
    "events.subscribe:agent.turn.failed",
    "events.subscribe:pairing.completed",
    "control.config:reload",
    "control.sessions:list",
    "control.peers:revoke",
    "control.subscriptions:list",
    "control.peers:pair",
]
TABLE = {
    "tool_host": {"events.publish:tool.call.completed", "events.subscribe:tool.call.requested"},
    "subscriber": {
        "events.subscribe:channel.message.received",
        "events.subscribe:cron.triggered",
        "events.subscribe:agent.turn.failed",
    },
    "listener": {"events.publish:channel.message.edited"},
    "operator": set(ACTIONS) - {"control.peers:pair"},
}


class PeersLeases(PeerListenerCase):
    def lease(self, peer, *capabilities, **members):
        return peer.ask(
            "POST", "/v1/leases", {**SCOPE, "capabilities": list(capabilities), **members}
        )

    def ids(self):
        return [
            lease["lease_id"]
            for lease in self.gateway.admin_request("GET", "/v1/leases").json()["leases"]
        ]

    def test_each_role_has_its_table_and_nothing_more(self):  # 77, 80
        for kind, allowed in TABLE.items():
            peer = self.peer(kind)
            granted = set()
            for action in ACTIONS:
                status, body = self.lease(peer, action)
                self.assertIn(
                    (status, body.get("code")), ((201, None), (403, "FORBIDDEN")), (kind, action)
                )
                if status == 201:
                    granted.add(action)
                    self.assertEqual(peer.ask("DELETE", f"/v1/leases/{body['lease_id']}")[0], 200)
            self.assertEqual(granted, allowed, kind)

    def test_a_peer_sees_and_ends_its_own_leases_only(self):
        one, other = self.peer(), self.peer()
        mine = self.lease(one, "events.subscribe:cron.*")[1]
        self.assertEqual(
            (mine["owner_component_type"], mine["owner_component_id"]),
            ("subscriber", one.remote.component_id),
        )
        self.assertEqual(
            [lease["lease_id"] for lease in one.ask("GET", "/v1/leases")[1]["leases"]],
            [mine["lease_id"]],
        )
        self.assertEqual(other.ask("GET", "/v1/leases"), (200, {"leases": []}))
        self.assertEqual(other.ask("DELETE", f"/v1/leases/{mine['lease_id']}")[0], 404)
        self.assertEqual(other.ask("POST", f"/v1/leases/{mine['lease_id']}/renew")[0], 404)
        stream = other.connect()
        self.addCleanup(stream.close)
        stream.request(
            "GET", f"/v1/events?lease={mine['lease_id']}", headers={"Accept": "text/event-stream"}
        )
        self.assertEqual(stream.getresponse().status, 403)
        self.assertIn(mine["lease_id"], self.ids())
        self.assertEqual(
            self.gateway.admin_request("DELETE", f"/v1/leases/{mine['lease_id']}").status, 200
        )
        self.assertEqual(one.ask("GET", "/v1/leases"), (200, {"leases": []}))

    def test_revoking_a_peer_ends_its_leases(self):  # 79
        peer, other = self.peer(), self.peer()
        lease, others = (
            self.lease(peer, "events.subscribe:cron.*")[1],
            self.lease(other, "events.subscribe:cron.*")[1],
        )
        self.assertEqual(
            self.gateway.admin_request("POST", peer.path + "/revoke", {"reason": "lost"}).status,
            200,
        )
        eventually(lambda: lease["lease_id"] not in self.ids(), "its leases have ended", limit=1)
        self.assertIn(others["lease_id"], self.ids())

    def test_the_configuration_widens_narrows_and_names_tenants(self):  # 78
        peer = self.peer()
        wish = {"capabilities": ["events.publish:cron.triggered"], "tenant_id": "harbour"}
        self.assertEqual(peer.ask("POST", "/v1/leases", {**SCOPE, **wish})[0], 403)
        entry = {
            "id": f"subscriber/{peer.remote.component_id}",
            "tenants": ["harbour"],
            "allow": ["events.publish:cron.*"],
            "deny": ["events.subscribe:*"],
        }
        before = self.gateway.config
        self.addCleanup(
            lambda: (
                self.gateway.write_config(before),
                self.gateway.admin_request("POST", "/v1/admin/reload"),
            )
        )
        self.gateway.write_config(merged(before, {"peers": [entry]}))
        self.assertEqual(self.gateway.admin_request("POST", "/v1/admin/reload").status, 200)
        self.assertEqual(peer.ask("POST", "/v1/leases", {**SCOPE, **wish})[0], 201)
        self.assertEqual(
            peer.ask("POST", "/v1/leases", {**SCOPE, **wish, "tenant_id": "default"})[0], 403
        )
        self.assertEqual(
            self.lease(peer, "events.subscribe:cron.triggered", tenant_id="harbour")[0], 403
        )
