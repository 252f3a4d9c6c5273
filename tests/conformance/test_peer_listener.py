"""docs/protocols/rtp.md, sections 1, 6 and 8: the peer listener. Numbers are the checklist's
(section 13)."""

import http.client
import json
import ssl
import sys
import unittest
from pathlib import Path

from support.case import GatewayCase
from support.gateway import Gateway
from support.wait import eventually

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from mtls_tool_host import Forger  # noqa: E402
from pairing_remote import PairingRemote  # noqa: E402


class Peer:
    """Somebody with a certificate who calls the gateway."""

    def __init__(self, case, certificate=None, key=None):
        gateway = case.gateway
        self.case, self.address = case, gateway.peers
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        self.context.check_hostname = False
        self.context.load_verify_locations(gateway.folder / "state" / "pairing_ca_cert.pem")
        if certificate:
            self.context.load_cert_chain(certificate, key)

    def connect(self, timeout=10):
        connection = http.client.HTTPSConnection(
            *self.address, context=self.context, timeout=timeout
        )
        connection.connect()
        self.case.addCleanup(connection.close)
        return connection

    def ask(self, method, path, body=None, connection=None):
        """(status, body) of one answer."""
        link = connection or self.connect()
        link.request(
            method,
            path,
            None if body is None else json.dumps(body),
            {"Content-Type": "application/json"},
        )
        answer = link.getresponse()
        text = answer.read().decode()
        return answer.status, json.loads(text) if text else None


class PeerListenerCase(GatewayCase):
    CONFIG = {"listen": {"peers": "127.0.0.1:0"}}

    def peer(self, component_type="subscriber"):
        key = self.gateway.admin_request("GET", "/v1/identity").json()["public_key_ed25519"]
        remote = PairingRemote(key, self.gateway.unique("peer"), component_type)
        self.addCleanup(remote.__exit__)
        remote.__enter__()
        self.pair(remote)
        return self.peer_of(remote)

    def pair(self, remote, **members):
        body = {
            "component_type": remote.component_type,
            "component_id": remote.component_id,
            "endpoint": remote.endpoint,
            **members,
        }
        answer = self.gateway.admin_request("POST", "/v1/pairings", body, timeout=25)
        self.assertEqual(answer.status, 200, answer.body)

    def peer_of(self, remote):
        certificate = remote.folder / "mine.pem"
        certificate.write_text(remote.certificate_pem)
        peer = Peer(self, certificate, remote.folder / "csr.key")
        peer.remote, peer.path = remote, f"/v1/peers/{remote.component_type}/{remote.component_id}"
        return peer

    def forger(self, state=None):
        forger = Forger(state)
        self.addCleanup(forger.close)
        return forger


class Door(PeerListenerCase):
    def test_a_paired_peer_comes_in_over_tls_1_3(self):
        peer = self.peer()
        self.assertEqual(peer.ask("GET", "/healthz"), (200, {"ok": True}))
        connection = peer.connect()
        self.assertEqual(connection.sock.version(), "TLSv1.3")
        for _ in range(3):
            self.assertEqual(peer.ask("GET", "/healthz", connection=connection)[0], 200)
        self.assertIn("last_seen_at", self.gateway.admin_request("GET", peer.path).json())

    def test_tls_1_2_is_refused(self):
        peer = self.peer()
        peer.context.maximum_version = ssl.TLSVersion.TLSv1_2
        with self.assertRaises((ssl.SSLError, ConnectionError)):
            peer.connect()

    def test_wrong_certificates_are_401_or_403_before_a_body_is_read(self):  # 43
        mine, other = self.forger(self.gateway.folder / "state"), self.forger()
        uri = f"crab://peer/subscriber/{self.peer().remote.component_id}"
        cases = {
            "none": (None, None, 401),
            "expired": (*mine.make(uri, "20250101000000Z", "20250201000000Z"), 401),
            "self-signed": (*mine.make(uri, self_signed=True), 401),
            "of another authority": (*other.make(uri), 401),
            "for nobody": (*mine.make(""), 403),
            "for one who is not paired": (*mine.make("crab://peer/subscriber/somebody"), 403),
            "of the gateway": (*mine.make("crab://gateway/test"), 403),
            "not the pinned one": (*mine.make(uri), 403),
        }
        for what, (certificate, key, status) in cases.items():
            with self.subTest(what):
                link = Peer(self, certificate, key).connect()
                link.sock.sendall(
                    b"POST /v1/events HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n"
                )  # and no byte of the body
                answer = link.sock.recv(4096).decode()
                self.assertIn(f"HTTP/1.1 {status} ", answer)
                self.assertIn(
                    '"code":"UNAUTHORIZED"' if status == 401 else '"code":"FORBIDDEN"', answer
                )
                rest = link.sock.recv(4096)
                self.assertTrue(rest == b"" or b"HTTP" not in rest)

    def test_one_that_is_put_aside_is_refused_until_it_is_used_again(self):
        peer = self.peer()
        self.gateway.admin_request("PATCH", peer.path, {"status": "inactive"})
        self.assertEqual(peer.ask("GET", "/healthz")[0], 403)
        self.gateway.admin_request("PATCH", peer.path, {"status": "active"})
        self.assertEqual(peer.ask("GET", "/healthz")[0], 200)

    def test_a_renewed_peer_uses_its_new_certificate_and_only_that(self):
        peer = self.peer()
        kept = peer.connect()
        self.assertEqual(peer.ask("GET", "/healthz", connection=kept)[0], 200)
        earlier = peer.remote.certificate_pem
        old_key = (peer.remote.folder / "csr.key").read_bytes()
        (peer.remote.folder / "old.key").write_bytes(old_key)
        (peer.remote.folder / "old.pem").write_text(earlier)
        self.assertEqual(
            self.gateway.admin_request("POST", peer.path + "/renew", timeout=25).status, 200
        )
        eventually(
            lambda: self.has_ended(kept),
            "the connection that the old certificate proved has ended",
            limit=1,
        )
        self.assertEqual(
            Peer(self, peer.remote.folder / "old.pem", peer.remote.folder / "old.key").ask(
                "GET", "/healthz"
            )[0],
            403,
        )
        self.assertEqual(self.peer_of(peer.remote).ask("GET", "/healthz")[0], 200)

    @staticmethod
    def has_ended(connection):
        connection.sock.settimeout(0.05)
        try:
            return connection.sock.recv(1) == b""
        except TimeoutError:
            return False
        except OSError:
            return True

    def test_a_revoked_peer_is_cut_off_within_a_second_and_for_good(self):  # 46, 47
        peer = self.peer("operator")
        idle = peer.connect()
        self.assertEqual(peer.ask("GET", "/healthz", connection=idle)[0], 200)
        web = peer.connect()
        web.sock.sendall(
            b"GET /v1/events?types=pairing.* HTTP/1.1\r\nHost: a\r\nConnection: "
            b"Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
            b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
        )
        self.assertIn(b" 101 ", web.sock.recv(4096))
        stream = peer.connect()
        stream.sock.sendall(
            b"GET /v1/events?types=pairing.*&subscription=other HTTP/1.1\r\nHost: a\r\nAccept: "
            b"text/event-stream\r\n\r\n"
        )
        self.assertIn(b" 200 ", stream.sock.recv(4096))
        self.assertEqual(
            self.gateway.admin_request("POST", peer.path + "/revoke", {"reason": "lost"}).status,
            200,
        )
        reason = b"the peer is revoked"
        self.assertEqual(
            web.sock.recv(4096), bytes([0x88, 2 + len(reason)]) + (4403).to_bytes(2, "big") + reason
        )
        for connection in (idle, stream, web):
            eventually(
                lambda connection=connection: self.has_ended(connection), "it has ended", limit=1
            )
        self.assertEqual(peer.ask("GET", "/healthz")[0], 403)

    def test_more_than_256_connections_are_503(self):
        peer = self.peer()
        for _ in range(256):
            peer.connect()
        status = peer.connect().sock.recv(4096).decode().split(" ")[1]
        self.assertEqual(status, "503")
        self.assertEqual(self.peer().ask("GET", "/healthz")[0], 200, "there is room for others")


class Routes(PeerListenerCase):
    CONFIG = {
        **PeerListenerCase.CONFIG,
        "policy": [{"principal": "caller/*", "call": {"needs_approval": ["list_devices"]}}],
    }
    RECORDS = (("GET", "/v1/identity"), ("GET", "/v1/peers"))

    def test_the_operator_s_routes_are_for_cli_admin_only(self):  # 80
        admin, other = self.peer("operator"), self.peer()
        for method, path in (*self.RECORDS, ("GET", other.path)):
            self.assertEqual(admin.ask(method, path)[0], 200, path)
            for kind in ("subscriber", "listener", "tool_host"):
                status, body = self.peer(kind).ask(method, path)
                self.assertEqual((status, body["code"]), (403, "FORBIDDEN"), (kind, path))
        self.assertEqual(admin.ask("PATCH", other.path, {"status": "inactive"})[0], 200)
        self.assertEqual(other.ask("POST", admin.path + "/revoke", {})[0], 403)
        self.assertEqual(
            admin.ask("POST", other.path + "/revoke", {"reason": "lost"})[1]["status"], "revoked"
        )

    def test_an_operator_decides_about_calls_and_nobody_else(self):
        admin, call_id = self.peer("operator"), self.gateway.unique("call")
        for kind in ("subscriber", "listener", "tool_host"):
            other = self.peer(kind)
            for method, path in (
                ("GET", "/v1/admin/approvals"),
                ("GET", "/v1/admin/approvals/watch"),
                ("POST", "/v1/admin/approvals/0123456789ab"),
            ):
                self.assertEqual(
                    other.ask(method, path, {} if method == "POST" else None)[0], 403, (kind, path)
                )
        watch = admin.connect()
        watch.request("GET", "/v1/admin/approvals/watch")
        events = watch.getresponse()
        self.assertEqual(events.status, 200)
        self.assertEqual(self.next_event(events)[0], "watching")
        running = self.gateway.start_call("list_devices", call_id=call_id)
        kind, question = self.next_event(events)
        self.assertEqual((kind, question["call_id"]), ("question", call_id))
        status, decided = admin.ask(
            "POST", f"/v1/admin/approvals/{question['id']}", {"decision": "allow"}
        )
        self.assertEqual(
            (status, decided["decided_by"]), (200, f"operator/{admin.remote.component_id}")
        )
        self.assertEqual(running.result(10).status, "ok")

    @staticmethod
    def next_event(events):
        """(type, data) of the next server-sent event."""
        kind = ""
        for line in events:
            if line.startswith(b"event: "):
                kind = line[7:].decode().strip()
            elif line.startswith(b"data: "):
                return kind, json.loads(line[6:])
        raise AssertionError("the stream has ended")

    def test_nobody_pairs_or_renews_here(self):  # 49, 80
        admin, other = self.peer("operator"), self.peer()
        for method, path in (
            ("POST", "/v1/pairings"),
            ("GET", "/v1/pairings"),
            ("GET", "/v1/pairings/ws"),
            ("POST", other.path + "/renew"),
            ("GET", "/v1/tools"),
            ("POST", "/v1/tools/call"),
            ("GET", "/v1/admin/status"),
            ("GET", "/metrics"),
        ):
            self.assertEqual(
                admin.ask(method, path, {} if method == "POST" else None)[0], 404, path
            )

    def test_without_the_key_there_is_no_listener(self):
        with Gateway() as gateway:
            self.assertIsNone(gateway.peers)


if __name__ == "__main__":
    unittest.main()
