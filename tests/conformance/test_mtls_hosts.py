"""docs/protocols/rtp.md, sections 4 and 6: tool hosts behind mutual TLS. Numbers are the
checklist's (section 13)."""

import json
import sqlite3
import ssl
import sys
import unittest
from pathlib import Path

from support.case import GatewayCase
from support.gateway import Gateway
from support.tool_host import host_tool
from support.wait import eventually

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from mtls_tool_host import Forger, MtlsToolHost  # noqa: E402
from pairing_remote import fingerprint  # noqa: E402


def pair(gateway, host, **members):
    body = {
        "component_type": host.component_type,
        "component_id": host.component_id,
        "endpoint": host.endpoint,
        **members,
    }
    answer = gateway.admin_request("POST", "/v1/pairings", body, timeout=25)
    assert answer.status == 200, answer.body
    return answer.json()["peer"]


class PairedHostCase(GatewayCase):
    def host(self, *tools, component_id=None, gateway=None, **options):
        key = (
            (gateway or self.gateway)
            .admin_request("GET", "/v1/identity")
            .json()["public_key_ed25519"]
        )
        host = MtlsToolHost(key, component_id or self.gateway.unique("host"), *tools, **options)
        self.addCleanup(host.__exit__)
        return host.__enter__()

    def paired(self, *tools, **options):
        host = self.host(*tools, **options)
        pair(self.gateway, host)
        self.gateway.wait_listed(*(tool["name"] for tool in tools))
        return host

    def peer(self, host):
        return self.gateway.admin_request("GET", self.path(host)).json()

    @staticmethod
    def path(host):
        return f"/v1/peers/tool_host/{host.component_id}"

    def audited(self, event, host):
        """Whether the audit log has such a record of the host."""
        with sqlite3.connect(self.gateway.folder / "state" / "audit.db") as database:
            batches = [row[0] for row in database.execute("SELECT records FROM audit")]
        return any(
            f'"event":"{event}"' in line and host.component_id in line
            for batch in batches
            for line in batch.splitlines()
        )


class Calls(PairedHostCase):
    def test_a_host_is_called_as_soon_as_it_is_paired(self):
        read = self.unique("read")
        host = self.paired(host_tool(read))
        self.assertEqual(self.gateway.call(read, {"n": 1}).result, {"n": 1})
        self.assertEqual(
            self.gateway.call(f"{host.component_id}__{read}", {"n": 2}).result, {"n": 2}
        )
        self.assertEqual(host.calls[-1].headers["host"], f"127.0.0.1:{host.port}")

    def test_the_gateway_shows_its_own_certificate_over_tls_1_3(self):
        read = self.unique("read")
        host = self.paired(host_tool(read))
        self.gateway.call(read)
        last = host.connections[-1]
        self.assertEqual(last.tls, "TLSv1.3")
        self.assertIn(b"crab://gateway/test", last.certificate)

    def test_connections_are_kept(self):
        read = self.unique("read")
        host = self.paired(host_tool(read))
        for n in range(5):
            self.gateway.call(read, {"n": n})
        self.assertLessEqual(
            len(host.connections), 4
        )  # the pairing, the list, and one for calls on each loop

    def test_a_host_that_speaks_tls_1_2_gets_no_request(self):
        read = self.unique("read")
        host = self.paired(host_tool(read))
        host.newest_tls = ssl.TLSVersion.TLSv1_2
        host.drop_connections()
        eventually(
            lambda: all(known.ended for known in host.connections), "its connections have ended"
        )
        before = len(host.connections)
        self.assertEqual(self.gateway.call(read).code, "FORBIDDEN")
        self.assertEqual({known.first for known in host.connections[before:]}, {b""})

    def test_who_is_not_paired_is_never_dialled(self):  # 70
        with Gateway({"hosts": [{"name": "east", "peer": "tool_host/east"}]}) as gateway:
            host = self.host(host_tool("far"), component_id="east", gateway=gateway)
            self.assertNotIn("far", gateway.tools())
            self.assertEqual(host.connections, [])
            pair(gateway, host)
            gateway.wait_listed("far")
            self.assertEqual(gateway.call("east__far", {"n": 1}).result, {"n": 1})

    def test_after_a_restart_the_hosts_are_there_again(self):
        with Gateway() as gateway:
            host = self.host(host_tool("kept"), component_id="kept", gateway=gateway)
            pair(gateway, host)
            gateway.wait_listed("kept")
            gateway.stop()
            gateway.start()
            gateway.wait_listed("kept")
            self.assertEqual(gateway.call("kept", {"n": 1}).result, {"n": 1})

    def test_the_tool_url_is_where_calls_go(self):
        read = self.unique("read")
        host = self.paired(host_tool(read))
        elsewhere = self.gateway.admin_request(
            "PATCH", self.path(host), {"tool_url": "https://127.0.0.1:1/deep"}
        )
        self.assertEqual(elsewhere.status, 200)
        self.gateway.wait_gone(read)
        self.gateway.admin_request(
            "PATCH", self.path(host), {"tool_url": f"https://127.0.0.1:{host.port}/"}
        )
        self.gateway.wait_listed(read)
        self.assertEqual(self.gateway.call(read, {"n": 1}).result, {"n": 1})


class Certificates(PairedHostCase):
    def test_another_certificate_than_the_pinned_one_gets_no_byte(self):  # 23, 71
        mine, other = Forger(self.gateway.folder / "state"), Forger()
        self.addCleanup(mine.close)
        self.addCleanup(other.close)
        tool = self.unique("read")
        host = self.paired(host_tool(tool))
        uri = f"crab://peer/tool_host/{host.component_id}"
        shown = {
            "of the right authority and name, but not the pinned one": mine.make(uri),
            "for another peer": mine.make("crab://peer/tool_host/somebody"),
            "for nobody": mine.make(""),
            "of the gateway": mine.make("crab://gateway/test"),
            "expired": mine.make(uri, "20250101000000Z", "20250201000000Z"),
            "self-signed": mine.make(uri, self_signed=True),
            "of another authority": other.make(uri),
        }
        for what, (certificate, key) in shown.items():
            with self.subTest(what):
                host.show(certificate, key)
                host.drop_connections()
                eventually(
                    lambda: all(known.ended for known in host.connections),
                    "its connections have ended",
                )
                before, calls = len(host.connections), len(host.calls)
                self.assertEqual(self.gateway.call(tool).code, "FORBIDDEN")
                fresh = host.connections[before:]
                self.assertEqual({known.first for known in fresh}, {b""})
                self.assertEqual(len(host.calls), calls)
                self.assertTrue(self.peer(host)["problem"])
        self.assertRegex(
            self.gateway.crab("peers", "list"),
            rf"(?m)^tool_host/{host.component_id} .*does not chain",
        )
        eventually(lambda: self.audited("peer.mismatch", host), "it is in the audit log")
        host.shown, host.key_file = host.folder / "issued.pem", None
        eventually(
            lambda: self.gateway.call(tool, {"n": 1}).body.get("result") == {"n": 1},
            "the right certificate is good again",
            limit=20,
        )
        self.assertNotIn("problem", self.peer(host))

    def test_the_end_of_a_renewal_that_was_lost_is_made_up_for(self):  # 45
        tool = self.unique("read")
        host = self.paired(host_tool(tool))
        old_pin = self.peer(host)["mtls_cert_fingerprint"]
        host.on["pair.csr_issued"] = lambda message: host.answer(message) and [
            "x"
        ]  # installs, and is not heard of any more
        refused = self.gateway.admin_request("POST", self.path(host) + "/renew", timeout=25)
        self.assertEqual(refused.status, 502, refused.body)
        self.assertEqual(self.peer(host)["mtls_cert_fingerprint"], old_pin)
        host.drop_connections()
        eventually(
            lambda: self.gateway.call(tool, {"n": 1}).body.get("result") == {"n": 1},
            "the call is answered",
            limit=20,
        )
        self.assertEqual(
            self.peer(host)["mtls_cert_fingerprint"], fingerprint(host.certificate_pem)
        )

    def test_after_a_renewal_calls_go_on_over_new_connections(self):
        tool = self.unique("read")
        host = self.paired(host_tool(tool))
        self.assertEqual(self.gateway.call(tool, {"n": 1}).result, {"n": 1})
        earlier = [known for known in host.connections if not known.ended]
        renewed = self.gateway.admin_request("POST", self.path(host) + "/renew", timeout=25)
        self.assertEqual(renewed.status, 200, renewed.body)
        self.assertEqual(renewed.json()["mtls_cert_fingerprint"], fingerprint(host.certificate_pem))
        eventually(
            lambda: all(known.ended for known in earlier),
            "what the old certificate proved has ended",
            limit=3,
        )
        eventually(
            lambda: self.gateway.call(tool, {"n": 2}).body.get("result") == {"n": 2},
            "calls go on",
            limit=5,
        )


class Renewal(PairedHostCase):
    def test_a_certificate_that_ends_in_less_than_30_days_is_renewed_by_itself(self):  # 44
        with Gateway() as gateway:
            host = self.host(host_tool("old"), component_id="old", gateway=gateway)
            first = pair(gateway, host)
            gateway.wait_listed("old")
            gateway.stop()
            with sqlite3.connect(gateway.folder / "state" / "trust.db") as database:
                database.execute("UPDATE peer SET not_after_ms = not_after_ms - 340 * 86400000")
            gateway.start()

            def now():
                return gateway.admin_request("GET", "/v1/peers/tool_host/old").json()

            eventually(
                lambda: now()["mtls_cert_fingerprint"] not in (first["mtls_cert_fingerprint"], ""),
                "another certificate is the pin",
            )
            self.assertEqual(now()["mtls_cert_fingerprint"], fingerprint(host.certificate_pem))
            for member in ("public_key_ed25519", "public_key_x25519", "paired_at", "status"):
                self.assertEqual(now()[member], first[member])
            eventually(
                lambda: gateway.call("old", {"n": 1}).body.get("result") == {"n": 1}, "calls go on"
            )


class Revocation(PairedHostCase):
    def end(self, host, how):
        if how == "revoke":
            return self.gateway.admin_request(
                "POST", self.path(host) + "/revoke", {"reason": "lost"}
            )
        return self.gateway.admin_request("PATCH", self.path(host), {"status": "inactive"})

    def test_running_calls_fail_connections_end_and_tools_go_within_a_second(self):  # 46
        for how in ("revoke", "disable"):
            with self.subTest(how):
                tool = self.unique("stay")
                host = self.paired(host_tool(tool, side_effects=True))
                host.behave = lambda request: None
                call = self.gateway.start_call(tool, timeout_ms=30_000)
                eventually(lambda host=host: host.calls, "the call is there")
                self.assertEqual(self.end(host, how).status, 200)
                eventually(
                    lambda host=host: all(known.ended for known in host.connections),
                    "every connection has ended",
                    limit=1,
                )
                self.assertEqual(call.result(1).code, "OUTCOME_UNKNOWN")
                self.gateway.wait_gone(tool)
                before = len(host.connections)
                self.assertEqual(self.gateway.call(tool).code, "TOOL_NOT_FOUND")
                self.assertEqual(len(host.connections), before)

    def test_one_that_is_enabled_again_is_called_again(self):
        tool = self.unique("read")
        host = self.paired(host_tool(tool))
        self.end(host, "disable")
        self.gateway.wait_gone(tool)
        self.gateway.admin_request("PATCH", self.path(host), {"status": "active"})
        self.gateway.wait_listed(tool)
        self.assertEqual(self.gateway.call(tool, {"n": 1}).result, {"n": 1})


class News(PairedHostCase):
    def test_pairings_are_in_the_audit_trail(self):
        host = self.paired(host_tool(self.unique("read")))
        refuses = self.host(component_id=self.gateway.unique("refuses"))
        refuses.on["pair.init"] = lambda _: [
            json.dumps(
                {"type": "pair.error", "version": "v1", "code": "STALE_INIT", "message": "no"}
            )
        ]
        self.gateway.admin_request(
            "POST",
            "/v1/pairings",
            {
                "component_type": "tool",
                "component_id": refuses.component_id,
                "endpoint": refuses.endpoint,
            },
            timeout=25,
        )
        self.gateway.admin_request("POST", self.path(host) + "/renew", timeout=25)
        self.gateway.admin_request("POST", self.path(host) + "/revoke", {"reason": "lost"})
        for event, of in (
            ("pairing.started", host),
            ("pairing.completed", host),
            ("peer.paired", host),
            ("peer.renewed", host),
            ("peer.revoked", host),
            ("pairing.failed", refuses),
        ):
            eventually(lambda event=event, of=of: self.audited(event, of), event)

    def test_pairings_are_events(self):
        host = self.paired(host_tool(self.unique("read")))
        pairing = host.received["pair.complete"]["pairing_id"]
        eventually(lambda: self.audited("pairing.completed", host), "it is in the audit log")
        lines = self.gateway.crab(
            "events",
            "tail",
            "--types",
            "pairing.*",
            "--from",
            "earliest",
            "--count",
            str(self.pairing_events()),
            "-o",
            "json",
        ).splitlines()
        told = [
            event
            for event in (json.loads(line)["event"] for line in lines)
            if event["routing"]["session_id"] == pairing
        ]
        self.assertEqual(
            [event["event_type"] for event in told], ["pairing.started", "pairing.completed"]
        )
        started, completed = (event["payload"] for event in told)
        self.assertEqual(
            started,
            {
                "pairing_id": pairing,
                "remote_uri": host.endpoint,
                "initiated_via": "admin_socket",
                "remote_component_type": "tool_host",
            },
        )
        peer = self.peer(host)
        self.assertEqual(
            completed,
            {
                "pairing_id": pairing,
                "remote_component_id": host.component_id,
                "remote_component_type": "tool_host",
                "remote_public_key_ed25519": host.key,
                "remote_public_key_x25519": peer["public_key_x25519"],
                "mtls_cert_fingerprint": peer["mtls_cert_fingerprint"],
            },
        )
        self.assertEqual(
            {
                (event["tenant_id"], event["routing"]["agent_id"], event["source"]["transport"])
                for event in told
            },
            {("system", "gateway", "unix_socket")},
        )

    def pairing_events(self):
        """How many there are by now, two of each pairing."""
        with sqlite3.connect(self.gateway.folder / "state" / "audit.db") as database:
            return sum(
                row[0].count('"event":"pairing.')
                for row in database.execute("SELECT records FROM audit")
            )


class OperatorMadeCa(unittest.TestCase):
    """Section 5.1: with files `ca`, `cert` and `key`."""

    def setUp(self):
        self.forger = Forger()
        self.addCleanup(self.forger.close)
        certificate, key = self.forger.make("crab://gateway/test")
        self.gateway = self.enterContext(
            Gateway(
                {"pairing": {"ca": str(self.forger.ca), "cert": str(certificate), "key": str(key)}}
            )
        )
        self.host = MtlsToolHost(
            self.gateway.admin_request("GET", "/v1/identity").json()["public_key_ed25519"],
            "east",
            host_tool("far"),
        )
        self.addCleanup(self.host.__exit__)
        self.host.__enter__()

    def shown(self, names, forger=None):
        certificate, key = (forger or self.forger).make(names)
        self.host.show(certificate, key)

    def pair(self):
        body = {
            "component_type": "tool_host",
            "component_id": "east",
            "endpoint": self.host.endpoint,
        }
        return self.gateway.admin_request("POST", "/v1/pairings", body, timeout=25)

    def test_a_remote_of_that_ca_and_the_url_s_name_is_paired_and_called(self):
        certificate, key = self.forger.make("IP:127.0.0.1")
        (self.host.folder / "shown.key").write_text(key.read_text())
        self.host.shown.write_text(certificate.read_text())
        answer = self.pair()
        self.assertEqual(answer.status, 200, answer.body)
        self.gateway.wait_listed("far")
        self.assertEqual(self.gateway.call("far", {"n": 1}).result, {"n": 1})

    def test_any_other_remote_is_not(self):
        other = Forger()
        self.addCleanup(other.close)
        self.assertEqual(self.pair().json()["code"], "UNREACHABLE")  # self-signed
        for names, forger in (("IP:127.0.0.2", self.forger), ("IP:127.0.0.1", other)):
            self.shown(names, forger)
            self.assertEqual(self.pair().json()["code"], "UNREACHABLE", names)
        self.assertEqual(self.host.received, {})


if __name__ == "__main__":
    unittest.main()
