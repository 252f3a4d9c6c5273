"""docs/protocols/rtp.md, section 8: leases and who may do what, over the admin socket. Numbers are
the checklist's of section 13."""

from __future__ import annotations

import json
import os
import subprocess

from support.case import GatewayCase
from support.gateway import Gateway, program
from support.http import HttpConnection, read_head
from support.wait import eventually
from test_events import EventsCase

SCOPE = {"tenant_id": "default", "agent_id": "a", "session_id": "s"}
CONFIG = {
    "peers": [
        {
            "id": "subscriber/log",
            "tenants": ["harbour"],
            "allow": ["events.subscribe:tool.call.failed"],
            "deny": ["events.subscribe:cron.*"],
        }
    ],
    "leases": {"ttl": "1h", "max_ttl": "2h", "renewal_window": "2h", "max_per_peer": 8},
}


class LeasesCase(GatewayCase):
    CONFIG = CONFIG

    def ask(self, method, path, body=None, gateway=None):
        return (gateway or self.gateway).admin_request(method, path, body)

    def make(self, gateway=None, **changes):
        made = self.ask(
            "POST",
            "/v1/leases",
            {**SCOPE, "capabilities": ["events.subscribe:cron.*"], **changes},
            gateway,
        )
        self.assertEqual(made.status, 201, made.body)
        return made.json()

    def ids(self, gateway=None):
        return [
            lease["lease_id"]
            for lease in self.ask("GET", "/v1/leases", gateway=gateway).json()["leases"]
        ]

    def refused(self, response, status, code):
        self.assertEqual(
            (response.status, response.json().get("code")), (status, code), response.body
        )
        return response.json()["error"]

    def verdict(self, **question):
        query = "&".join(f"{name}={value}" for name, value in question.items())
        return self.ask("GET", f"/v1/admin/policy?{query}").json()

    def crab(self, *words):
        return subprocess.run(
            [program(), *words],
            capture_output=True,
            text=True,
            timeout=40,
            env={**os.environ, "CRAB_SOCKET": str(self.gateway.admin)},
        )


class Leases(LeasesCase):
    def tearDown(self):
        for lease_id in self.ids():
            self.ask("DELETE", f"/v1/leases/{lease_id}")

    def test_a_lease_has_the_page_s_members_and_is_listed_until_it_is_deleted(self):
        lease = self.make(ttl_ms=60_000)
        self.assertEqual(
            set(lease),
            {
                "lease_id",
                "owner_component_type",
                "owner_component_id",
                "tenant_id",
                "agent_id",
                "session_id",
                "capabilities_json",
                "disconnect_bound",
                "issued_at",
                "expires_at",
            },
        )
        self.assertEqual(
            (lease["owner_component_type"], lease["owner_component_id"]),
            ("local", str(os.getuid())),
        )
        self.assertEqual(
            (lease["capabilities_json"], lease["disconnect_bound"]),
            (["events.subscribe:cron.*"], False),
        )
        self.assertEqual(self.ids(), [lease["lease_id"]])
        ended = self.ask("DELETE", f"/v1/leases/{lease['lease_id']}")
        self.assertEqual(
            (ended.status, ended.json()["revoke_reason"]), (200, "deleted by its owner")
        )
        self.assertIn("revoked_at", ended.json())
        self.assertEqual(self.ids(), [])
        self.refused(self.ask("DELETE", f"/v1/leases/{lease['lease_id']}"), 404, "NOT_FOUND")

    def test_it_ends_by_time(self):  # 79
        lease = self.make(ttl_ms=50)
        eventually(lambda: lease["lease_id"] not in self.ids(), "the lease has ended")
        self.refused(self.ask("POST", f"/v1/leases/{lease['lease_id']}/renew"), 404, "NOT_FOUND")

    def test_renewing_gives_its_life_again(self):
        lease = self.make(ttl_ms=3_600_000)

        def renewed():
            answer = self.ask("POST", f"/v1/leases/{lease['lease_id']}/renew")
            self.assertEqual(answer.status, 200, answer.body)
            return answer.json()

        last = eventually(
            lambda: (now := renewed())["expires_at"] > lease["expires_at"] and now, "a later end"
        )
        self.assertEqual(last["issued_at"], lease["issued_at"])

    def test_what_is_asked_wrongly_is_invalid_and_says_where(self):
        good = {**SCOPE, "capabilities": ["events.subscribe:cron.*"]}
        for changes, where in [
            ({"ttl_ms": 0}, "/ttl_ms"),
            ({"ttl_ms": "1h"}, "/ttl_ms"),
            ({"ttl_ms": 7_200_001}, "/ttl_ms"),
            ({"capabilities": []}, "/capabilities"),
            ({"capabilities": [1]}, "/capabilities/0"),
            ({"tenant_id": " "}, "/tenant_id"),
            ({"agent_id": 7}, "/agent_id"),
            ({"disconnect_bound": 1}, "/disconnect_bound"),
            ({"extra": 1}, "extra"),
        ]:
            with self.subTest(changes):
                self.assertIn(
                    where,
                    self.refused(
                        self.ask("POST", "/v1/leases", {**good, **changes}), 400, "INVALID_ARGS"
                    ),
                )
        for member in good:
            with self.subTest(member):
                self.refused(
                    self.ask(
                        "POST",
                        "/v1/leases",
                        {name: value for name, value in good.items() if name != member},
                    ),
                    400,
                    "INVALID_ARGS",
                )

    def test_nobody_gets_a_lease_to_pair(self):  # 80
        for wish in ["pairing:start", "control.peers:pair", "*"]:
            self.refused(
                self.ask("POST", "/v1/leases", {**SCOPE, "capabilities": [wish]}), 403, "FORBIDDEN"
            )

    def test_so_many_at_once(self):
        for _ in range(8):
            self.make()
        self.refused(
            self.ask("POST", "/v1/leases", {**SCOPE, "capabilities": ["events.subscribe:cron.*"]}),
            429,
            "RATE_LIMITED",
        )

    def test_other_methods_are_405_and_other_paths_404(self):
        for method, path, allow in [
            ("PUT", "/v1/leases", "GET, POST"),
            ("GET", "/v1/leases/x", "DELETE"),
            ("GET", "/v1/leases/x/renew", "POST"),
        ]:
            answer = self.ask(method, path)
            self.assertEqual((answer.status, answer.headers["allow"]), (405, allow))
        self.assertEqual(self.ask("GET", "/v1/leasesx").status, 404)

    def test_it_ends_when_its_session_is_deleted(self):  # 79
        token = self.new_token()
        session = self.open(token).session_id
        of_it, other = self.make(session_id=session), self.make()
        self.assertEqual(
            self.gateway.fetch("DELETE", f"/api/sessions/{session}", token=token).status, 200
        )
        self.assertNotIn(of_it["lease_id"], self.ids())
        self.assertIn(other["lease_id"], self.ids())

    def test_they_outlive_kill_9_unless_they_are_bound_to_a_connection(self):
        with Gateway(CONFIG) as gateway:
            lasting, bound = self.make(gateway), self.make(gateway, disconnect_bound=True)
            self.assertEqual(self.ids(gateway), [lasting["lease_id"], bound["lease_id"]])
            gateway.kill()
            gateway.start()
            self.assertEqual(self.ids(gateway), [lasting["lease_id"]])

    def test_the_public_listener_has_no_such_route(self):
        for path in ["/v1/leases", "/v1/leases/x", "/v1/admin/policy"]:
            self.assertEqual(
                self.gateway.fetch("GET", path, token=self.gateway.caller_token()).status, 404
            )


class Rights(LeasesCase):
    def test_the_verdict_names_its_rule(self):  # 77, 78
        def asked(action, tenant="harbour", **more):
            answer = self.verdict(
                **{"as": "subscriber/log", "action": action, "tenant": tenant, **more}
            )
            return answer["verdict"], answer["rule"]

        self.assertEqual(
            asked("events.subscribe:agent.turn.failed"),
            ("allow", "role default: subscriber may events.subscribe:agent.*"),
        )
        self.assertEqual(
            asked("events.subscribe:tool.call.failed"),
            ("allow", "peers[0].allow: events.subscribe:tool.call.failed"),
        )
        self.assertEqual(
            asked("events.subscribe:cron.triggered"),
            ("deny", "peers[0].deny: events.subscribe:cron.*"),
        )
        self.assertEqual(asked("events.subscribe:agent.turn.failed", tenant="default")[0], "deny")
        self.assertEqual(asked("control.config:reload")[0], "deny")
        self.assertEqual(asked("pairing:start")[0], "deny")

    def test_a_lease_narrows(self):  # 78
        lease = self.make(capabilities=["events.subscribe:cron.triggered"])
        who = {"as": f"local/{os.getuid()}", "tenant": "default", "lease": lease["lease_id"]}
        self.assertEqual(
            self.verdict(action="events.subscribe:cron.triggered", **who)["verdict"], "allow"
        )
        self.assertEqual(
            self.verdict(action="events.subscribe:heartbeat.tick", **who)["verdict"], "deny"
        )
        self.assertEqual(
            self.verdict(action="events.subscribe:cron.triggered", session="t", **who)["verdict"],
            "deny",
        )
        self.assertEqual(
            self.verdict(
                action="events.subscribe:cron.triggered", **{**who, "as": "operator/desk"}
            )["verdict"],
            "deny",
        )

    def test_a_reload_changes_the_answer(self):
        with Gateway() as gateway:
            question = (
                "/v1/admin/policy?as=listener/chat&action=events.publish:cron.triggered"
                "&tenant=default"
            )
            self.assertEqual(self.ask("GET", question, gateway=gateway).json()["verdict"], "deny")
            gateway.write_config(
                {
                    **gateway.config,
                    "peers": [{"id": "listener/chat", "allow": ["events.publish:cron.triggered"]}],
                }
            )
            self.assertEqual(self.ask("POST", "/v1/admin/reload", gateway=gateway).status, 200)
            self.assertEqual(self.ask("GET", question, gateway=gateway).json()["verdict"], "allow")
            gateway.write_config(
                {**gateway.config, "peers": [{"id": "listener/chat", "allow": ["pairing:*"]}]}
            )
            refused = self.ask("POST", "/v1/admin/reload", gateway=gateway)
            self.assertIn(
                "peers[0].allow: pairing:* names no action",
                self.refused(refused, 400, "INVALID_ARGS"),
            )
            self.assertEqual(self.ask("GET", question, gateway=gateway).json()["verdict"], "allow")


class Streams(LeasesCase, EventsCase):
    CONFIG = {}

    def stream(self, **query):
        """A stream of its own, which begins now."""
        return super().stream(subscription=self.unique("stream"), **query)

    def test_a_stream_under_a_lease_sees_its_session_and_types_only(self):  # 78
        lease = self.make(capabilities=["events.subscribe:channel.*"])
        stream = self.stream(lease=lease["lease_id"])
        here, there = {"agent_id": "a", "session_id": "s"}, {"agent_id": "a", "session_id": "t"}
        self.published("channel.message.received", routing=there)
        self.published("heartbeat.tick", routing=here)
        self.published("channel.message.received", routing=here, tenant_id="other")
        [wanted] = self.published("channel.message.received", routing=here)
        self.assertEqual(stream.next()[1]["event_id"], wanted)

    def test_publishing_under_a_lease_is_held_to_it_by_header_and_by_query(self):  # 78
        lease = self.make(capabilities=["events.publish:heartbeat.tick"])
        event = {
            "version": "v1",
            "event_id": self.unique("event"),
            "trace_id": "t",
            "tenant_id": "default",
            "occurred_at": "2026-02-13T16:00:00Z",
            "event_type": "heartbeat.tick",
            "source": {"component_type": "operator", "component_id": "tests"},
            "routing": {"agent_id": "a", "session_id": "s"},
            "payload": {},
        }
        header = {"Crab-Lease": lease["lease_id"]}
        for changes in [
            {"event_type": "channel.message.received"},
            {"tenant_id": "other"},
            {"routing": {"agent_id": "b", "session_id": "s"}},
        ]:
            self.assertEqual(self.publish({**event, **changes}, header)[0], 403, changes)
        self.assertEqual(self.publish(event, header)[0], 202)
        self.assertEqual(self.ask("POST", "/v1/events?lease=unknown", event).status, 403)

    def test_a_disconnect_bound_lease_ends_with_its_stream(self):  # 79
        lease = self.make(capabilities=["events.subscribe:*"], disconnect_bound=True)
        stream = self.stream(lease=lease["lease_id"])
        [event] = self.published("heartbeat.tick")
        self.assertEqual(stream.next()[1]["event_id"], event)
        self.assertIn(lease["lease_id"], self.ids())
        stream.close()
        eventually(lambda: lease["lease_id"] not in self.ids(), "the lease has ended")

    def test_a_stream_ends_and_says_so_when_its_lease_does(self):  # 79
        lease, watch = self.make(capabilities=["events.subscribe:*"]), self.stream()
        stream = self.stream(lease=lease["lease_id"])
        [first] = self.published("heartbeat.tick")
        self.assertEqual(
            (stream.next()[1]["event_id"], watch.next()[1]["event_id"]), (first, first)
        )
        revoked = self.crab("leases", "revoke", lease["lease_id"])
        self.assertEqual(
            (revoked.returncode, revoked.stdout),
            (0, f"revoked {lease['lease_id']} of local/{os.getuid()}\n"),
        )
        [second] = self.published("heartbeat.tick")
        self.assertEqual(watch.next()[1]["event_id"], second)
        closed = stream.wait_closed()  # no message comes before
        self.assertEqual(closed.code, 1008)
        self.assertIn("lease", closed.reason)

    def test_a_server_sent_stream_says_that_its_lease_has_expired(self):  # 79
        lease = self.make(capabilities=["events.subscribe:*"], ttl_ms=1500)
        with HttpConnection(self.gateway.admin) as connection:
            connection.send(
                "GET",
                f"/v1/events?subscription={self.unique('s')}&lease={lease['lease_id']}",
                {"Accept": "text/event-stream"},
            )
            events = connection.events(read_head(connection.stream))
            [first] = self.published("heartbeat.tick")
            told = list(events)
        self.assertEqual(
            (told[0][0], json.loads(told[0][1])["event_id"]), ("heartbeat.tick", first)
        )
        self.assertEqual([kind for kind, _ in told[1:]], ["stream.closed"])
        end = json.loads(told[1][1])
        self.assertEqual(end["code"], 1008)
        self.assertIn("lease", end["reason"])
