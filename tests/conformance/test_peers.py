"""docs/protocols/rtp.md, sections 5 to 7: pairing and peers, over real connections and the admin
socket. Numbers are the checklist's."""

import json
import os
import socket
import ssl
import subprocess
import sys
import threading
import unittest
from pathlib import Path

from support.case import GatewayCase
from support.gateway import Gateway, program
from support.http import fetch
from support.wait import eventually
from support.websocket import WebSocket

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from pairing_remote import STALL, PairingRemote, fingerprint, openssl  # noqa: E402


class PeersCase(GatewayCase):
    def identity(self):
        return self.gateway.admin_request("GET", "/v1/identity").json()

    def remote(self, component_id=None, **options):
        remote = PairingRemote(
            self.identity()["public_key_ed25519"],
            component_id or self.gateway.unique("peer"),
            **options,
        )
        self.addCleanup(remote.__exit__)
        return remote.__enter__()

    def pair(self, remote, timeout=25.0, **members):
        body = {
            "component_type": remote.component_type,
            "component_id": remote.component_id,
            "endpoint": remote.endpoint,
            **members,
        }
        return self.gateway.admin_request("POST", "/v1/pairings", body, timeout=timeout)

    def peer(self, remote):
        return self.gateway.admin_request(
            "GET", f"/v1/peers/{remote.component_type}/{remote.component_id}"
        )

    def refused(self, response, status, code):
        self.assertEqual(
            (response.status, response.json().get("code")), (status, code), response.body
        )
        return response.json()["error"]

    def crab(self, *words):
        return subprocess.run(
            [program(), *words],
            capture_output=True,
            text=True,
            timeout=40,
            env={**os.environ, "CRAB_SOCKET": str(self.gateway.admin)},
        )


class Pairing(PeersCase):
    def test_over_loopback_ws(self):
        remote = self.remote()
        paired = self.pair(remote)
        self.assertEqual((paired.status, remote.failures), (200, []), paired.body)
        answer = paired.json()
        peer = answer["peer"]
        self.assertEqual(peer, self.peer(remote).json())
        self.assertEqual(
            (peer["status"], peer["endpoint"], peer["public_key_ed25519"]),
            ("active", remote.endpoint, remote.key),
        )
        self.assertEqual(peer["mtls_cert_fingerprint"], fingerprint(remote.certificate_pem))
        self.assertRegex(answer["pairing_id"], "^[0-9a-f]{32}$")  # 18
        self.assertTrue(remote.ended.acquire(timeout=10))
        self.assertEqual(remote.close_codes, [1000])
        self.assertNotIn("origin", remote.headers)
        self.assertNotIn("sec-websocket-extensions", remote.headers)

    def test_the_certificate_has_the_page_s_profile_and_no_name_of_the_request(self):  # 27, 28
        remote = self.remote()
        self.assertEqual(self.pair(remote).status, 200)
        leaf, ca = remote.folder / "leaf.pem", remote.folder / "ca.pem"
        leaf.write_text(remote.certificate_pem)
        ca.write_text(remote.chain_pem)
        self.assertIn("leaf.pem: OK", openssl("verify", "-CAfile", str(ca), str(leaf)))
        self.assertEqual(fingerprint(remote.chain_pem), self.identity()["ca_fingerprint"])
        text = openssl("x509", "-in", str(leaf), "-noout", "-text")
        self.assertIn(f"URI:crab://peer/tool_host/{remote.component_id}", text)
        self.assertIn("IP Address:127.0.0.1", text)
        self.assertNotIn("evil.example", text)
        self.assertIn("CA:FALSE", text)
        self.assertIn("TLS Web Client Authentication, TLS Web Server Authentication", text)

    def test_binary_messages_count_too(self):  # 1
        remote = self.remote()
        remote.opcode = 2
        self.assertEqual(self.pair(remote).status, 200)

    def test_without_a_path_it_dials_v1_pair_and_after_a_404_the_root(self):  # 14
        remote = self.remote(refuse_path="/v1/pair")
        remote.endpoint = f"ws://LOCALHOST:{remote.port}"
        paired = self.pair(remote)
        self.assertEqual(paired.status, 200, paired.body)
        self.assertEqual(remote.asked_paths, ["/v1/pair", "/"])
        self.assertEqual(paired.json()["endpoint"], f"ws://localhost:{remote.port}")

    def test_over_wss_then_renewed_with_both_certificates(self):  # 23, 44
        remote = self.remote(tls=True)
        first = self.pair(remote, remote_key=remote.key)
        self.assertEqual((first.status, remote.failures), (200, []), first.body)
        remote.show_issued()
        renewed = self.gateway.admin_request(
            "POST", f"/v1/peers/tool_host/{remote.component_id}/renew", timeout=25
        )
        self.assertEqual((renewed.status, remote.failures), (200, []), renewed.body)
        self.assertEqual(
            remote.client_names, (("URI", f"crab://gateway/{self.identity()['gateway_id']}"),)
        )
        self.assertNotEqual(
            renewed.json()["mtls_cert_fingerprint"], first.json()["peer"]["mtls_cert_fingerprint"]
        )
        self.assertEqual(renewed.json()["status"], "active")

    def test_an_active_peer_that_shows_another_certificate_hears_no_pair_init(self):  # 24
        remote = self.remote(tls=True)
        before = self.pair(remote)
        self.assertEqual(before.status, 200, before.body)
        self.assertTrue(remote.ended.acquire(timeout=10))
        remote.received.clear()
        self.refused(
            self.pair(remote), 502, "IDENTITY_MISMATCH"
        )  # it shows its bootstrap certificate again
        self.assertEqual(remote.received, {})
        unchanged = self.peer(remote).json()
        unchanged.pop("problem", None)  # the gateway has looked for its tools there, too
        self.assertEqual(unchanged, before.json()["peer"])  # 30
        self.assertEqual(self.pair(remote, replace=True).status, 200)

    def test_kill_9_right_after_pair_complete_keeps_the_peer(self):  # 31
        with Gateway() as gateway:
            key = gateway.admin_request("GET", "/v1/identity").json()["public_key_ed25519"]
            with PairingRemote(key, "memory") as remote:
                remote.on["pair.complete"] = lambda _: gateway.kill() or []
                body = {
                    "component_type": "tool_host",
                    "component_id": "memory",
                    "endpoint": remote.endpoint,
                }
                asking = threading.Thread(target=lambda: self._ask_for_nothing(gateway, body))
                asking.start()
                self.assertTrue(remote.completed.wait(25))
                asking.join(25)
                gateway.process.wait(20)
                gateway.start()
                peer = gateway.admin_request("GET", "/v1/peers/tool_host/memory").json()
                self.assertEqual(
                    (peer["status"], peer["mtls_cert_fingerprint"]),
                    ("active", fingerprint(remote.certificate_pem)),
                )
                self.assertEqual(
                    gateway.admin_request("GET", "/v1/identity").json()["public_key_ed25519"], key
                )

    @staticmethod
    def _ask_for_nothing(gateway, body):
        try:
            gateway.admin_request("POST", "/v1/pairings", body, timeout=20)
        except (OSError, AssertionError, EOFError, ValueError):
            pass  # it was killed

    def test_an_admin_client_that_hangs_up_stops_nothing(self):
        remote = self.remote()
        body = json.dumps(
            {
                "component_type": "tool_host",
                "component_id": remote.component_id,
                "endpoint": remote.endpoint,
            }
        ).encode()
        gone = threading.Event()
        remote.on["pair.init"] = lambda _: gone.wait(10) and None
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(self.gateway.admin))
            client.sendall(
                b"POST /v1/pairings HTTP/1.1\r\nHost: localhost\r\nContent-Type: "
                b"application/json\r\nContent-Length: %d\r\n\r\n" % len(body) + body
            )
            eventually(lambda: "pair.init" in remote.received, "the gateway dials")
        gone.set()
        self.assertTrue(remote.completed.wait(20))


class Refusals(PeersCase):
    def test_ws_beyond_loopback_is_not_dialled(self):  # 15
        for endpoint in ("ws://192.0.2.1:7443/v1/pair", "ws://remote.example/"):
            body = {"component_type": "tool", "component_id": "far", "endpoint": endpoint}
            self.refused(
                self.gateway.admin_request("POST", "/v1/pairings", body), 400, "MTLS_REQUIRED"
            )

    def test_what_is_asked_wrongly_is_400(self):  # 50
        good = {
            "component_type": "tool_host",
            "component_id": "a",
            "endpoint": "wss://127.0.0.1:1/",
        }
        for change in (
            {"surprise": 1},
            {"component_type": "device"},
            {"component_id": "-a"},
            {"component_id": 7},
            {"endpoint": "http://a"},
            {"endpoint": ""},
            {"remote_key": "AAAA"},
            {"replace": "yes"},
            {"test": None},
        ):
            self.refused(
                self.gateway.admin_request("POST", "/v1/pairings", {**good, **change}),
                400,
                "INVALID_ARGS",
            )
        for body in ([], "x", {}):
            self.refused(
                self.gateway.admin_request("POST", "/v1/pairings", body), 400, "INVALID_ARGS"
            )

    def test_nobody_there_is_502_unreachable(self):  # 51
        with socket.create_server(("127.0.0.1", 0)) as listener:
            port = listener.getsockname()[1]
        for scheme in ("ws", "wss"):
            body = {
                "component_type": "tool",
                "component_id": "none",
                "endpoint": f"{scheme}://127.0.0.1:{port}/v1/pair",
            }
            self.refused(
                self.gateway.admin_request("POST", "/v1/pairings", body), 502, "UNREACHABLE"
            )
        self.assertEqual(self.gateway.admin_request("GET", "/v1/peers/tool_host/none").status, 404)

    def test_tls_below_1_3_is_unreachable(self):  # 16
        remote = self.remote(tls=True)
        remote.newest_tls = ssl.TLSVersion.TLSv1_2
        self.refused(self.pair(remote), 502, "UNREACHABLE")
        self.assertEqual(remote.received, {})

    def test_a_path_that_answers_404_twice_is_unreachable(self):
        remote = self.remote(paths=())
        remote.endpoint = f"ws://127.0.0.1:{remote.port}"
        self.refused(self.pair(remote), 502, "UNREACHABLE")

    def test_a_peer_that_stalls_is_504_after_15_seconds(self):  # 17
        remote = self.remote()
        remote.on["pair.challenge"] = lambda _: STALL
        self.refused(self.pair(remote, timeout=30), 504, "TIMEOUT")

    def test_one_handshake_per_endpoint_and_per_id_at_a_time(self):
        remote = self.remote()
        release = threading.Event()
        remote.on["pair.init"] = lambda _: release.wait(10) and None
        first = []
        asking = threading.Thread(target=lambda: first.append(self.pair(remote)))
        asking.start()
        eventually(lambda: "pair.init" in remote.received, "the gateway dials")
        self.refused(self.pair(remote), 409, "BUSY")
        release.set()
        asking.join(25)
        self.assertEqual(first[0].status, 200, first[0].body)

    def test_another_remote_key_ends_before_the_challenge(self):  # 22
        remote = self.remote()
        self.refused(self.pair(remote, remote_key="A" * 43 + "="), 502, "IDENTITY_MISMATCH")
        self.assertTrue(remote.ended.acquire(timeout=10))
        self.assertEqual(list(remote.received), ["pair.init", "pair.error"])

    def test_an_id_that_is_active_elsewhere_is_409_and_replace_moves_it(self):  # 33
        remote, other = self.remote(tls=True), self.remote(tls=True)
        self.assertEqual(self.pair(remote).status, 200)
        other.component_id = remote.component_id
        self.refused(self.pair(other), 409, "PEER_EXISTS")
        self.assertEqual(other.received, {})
        self.assertEqual(self.pair(other, replace=True).json()["peer"]["endpoint"], other.endpoint)

    def test_what_the_remote_says_is_told(self):
        for code, told, status in (
            ("GATEWAY_KEY_MISMATCH", "GATEWAY_KEY_MISMATCH", 502),
            ("HANDSHAKE_FAILED", "REMOTE_REFUSED", 502),
            ("BUSY", "BUSY", 409),
        ):
            remote = self.remote()
            remote.on["pair.init"] = lambda _, code=code: [
                json.dumps(
                    {"type": "pair.error", "version": "v1", "code": code, "message": "not\nyou"}
                )
            ]
            self.assertIn("not", self.refused(self.pair(remote), status, told))

    def test_a_wrong_message_ends_with_pair_error_and_changes_nothing(self):  # 19-21, 25, 29
        def changed(remote, kind, **members):
            def answer(message):
                answers = remote.answer(message)
                return [{**one, **members} if one["type"] == kind else one for one in answers]

            return answer

        cases = (
            (("pair.init"), "pair.identity", {"version": "v2"}, "UNSUPPORTED_VERSION"),
            (("pair.init"), "pair.identity", {"pairing_id": "0" * 32}, "PROTOCOL_VIOLATION"),
            (("pair.init"), "pair.identity", {"type": "pair.csr_request"}, "PROTOCOL_VIOLATION"),
            (
                ("pair.challenge"),
                "pair.challenge_response",
                {"challenge_plaintext": "A" * 44},
                "CHALLENGE_FAILED",
            ),
            (("pair.challenge"), "pair.csr_request", {"csr_pem": "no"}, "CSR_REJECTED"),
            (
                ("pair.csr_issued"),
                "pair.csr_installed",
                {"mtls_cert_fingerprint": "sha256:" + "0" * 64},
                "CERTIFICATE_REJECTED",
            ),
        )
        for trigger, kind, members, code in cases:
            with self.subTest(kind=kind, members=members):
                remote = self.remote()
                remote.on[trigger] = changed(remote, kind, **members)
                self.refused(self.pair(remote), 502, code)
                self.assertTrue(remote.ended.acquire(timeout=10))
                self.assertEqual(remote.received["pair.error"]["code"], code)
                self.assertNotEqual(self.peer(remote).json().get("status"), "active")

    def test_a_message_above_65536_bytes_closes_with_1009(self):  # 2
        for size in (65_537, 400_000):
            remote = self.remote()
            remote.on["pair.init"] = lambda _, size=size: ["x" * size]
            self.assertEqual(self.pair(remote).status, 502)
            self.assertTrue(remote.ended.acquire(timeout=10))
            self.assertEqual((remote.close_codes, remote.failures), ([1009], []))


class OverAWebSocket(PeersCase):
    def ask(self, message):
        with WebSocket(self.gateway.admin, "/v1/pairings/ws") as web:
            web.send_text(json.dumps(message))
            answer = json.loads(web.receive_text(25))
            self.assertEqual(web.wait_closed(10).code, 1000)
            return answer

    def test_one_question_one_answer(self):
        remote = self.remote()
        question = {
            "action": "pair.start",
            "component_type": "tool",
            "component_id": remote.component_id,
            "endpoint": remote.endpoint,
        }
        answer = self.ask(question)
        self.assertEqual(
            (answer["action"], answer["ok"], answer["result"]["peer"]),
            ("pair.result", True, self.peer(remote).json()),
        )
        refused = self.ask({**question, "action": "pair.stop"})
        self.assertEqual((refused["ok"], refused["code"]), (False, "INVALID_ARGS"))
        self.assertEqual(
            self.ask({**question, "endpoint": "ws://192.0.2.1/"})["code"], "MTLS_REQUIRED"
        )

    def test_a_client_that_hangs_up_stops_nothing(self):
        remote = self.remote()
        gone = threading.Event()
        remote.on["pair.init"] = lambda _: gone.wait(10) and None
        with WebSocket(self.gateway.admin, "/v1/pairings/ws") as web:
            web.send_text(
                json.dumps(
                    {
                        "action": "pair.start",
                        "component_type": "tool",
                        "component_id": remote.component_id,
                        "endpoint": remote.endpoint,
                    }
                )
            )
            eventually(lambda: "pair.init" in remote.received, "the gateway dials")
        gone.set()
        self.assertTrue(remote.completed.wait(20))


class CommandLine(PeersCase):
    def lines(self, headline, remote_type, remote_id, endpoint, pairing_id, pin):
        return (
            f"{headline}\npairing_id={pairing_id}\ncomponent_type={remote_type}\n"
            f"component_id={remote_id}\nendpoint={endpoint}\n"
            f"mtls_cert_fingerprint={pin}\n"
        )

    def test_pair_test_prints_its_marker_and_five_lines(self):  # 53
        done = self.crab("pair", "test", "--component-id", "probe")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        peer = self.gateway.admin_request("GET", "/v1/peers/tool_host/probe").json()
        self.assertEqual(peer["status"], "inactive")
        pairing_id = done.stdout.split("pairing_id=")[1][:32]
        self.assertEqual(
            done.stdout,
            self.lines(
                "pairing test complete",
                "tool_host",
                "probe",
                peer["endpoint"],
                pairing_id,
                peer["mtls_cert_fingerprint"],
            ),
        )

    def test_pair_test_twice_and_with_the_host_s_name(self):  # 54
        for _ in range(2):
            done = self.crab("pair", "test")
            self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertRegex(done.stdout, r"(?m)^component_id=[A-Za-z0-9][A-Za-z0-9._-]*$")

    def test_pair_prints_five_lines_and_on_first_use_the_key_to_compare(self):
        for word, kind in (
            ("tool", "tool_host"),
            ("subscriber", "subscriber"),
            ("cli", "operator"),
        ):
            remote = self.remote(component_type=kind)
            first = self.crab("pair", word, remote.endpoint, remote.component_id)
            self.assertEqual(first.returncode, 0, first.stderr)
            self.assertTrue(remote.completed.wait(10))
            peer = self.peer(remote).json()
            wanted = self.lines(
                "pairing complete",
                kind,
                remote.component_id,
                remote.endpoint,
                remote.received["pair.complete"]["pairing_id"],
                peer["mtls_cert_fingerprint"],
            )
            self.assertEqual(first.stdout, wanted)
            self.assertEqual(
                first.stderr,
                f"first use: compare with the line that the remote printed: "
                f"remote_key={remote.key}\n",
            )
            again = self.crab("pair", word, remote.endpoint, remote.component_id)
            self.assertEqual((again.returncode, again.stderr), (0, ""))
            self.assertEqual(
                self.crab(
                    "pair",
                    word,
                    remote.endpoint,
                    remote.component_id,
                    "--replace",
                    "--remote-key",
                    remote.key,
                ).stderr,
                "",
            )

    def test_flags_stand_anywhere_with_one_or_two_dashes(self):  # 52
        remote = self.remote()
        socket_path = str(self.gateway.admin)
        for words in (
            [
                "--admin-socket",
                socket_path,
                "pair",
                "tool",
                remote.endpoint,
                remote.component_id,
                "-timeout=15s",
            ],
            [
                "pair",
                "-admin-socket",
                socket_path,
                "tool",
                "-replace",
                remote.endpoint,
                "--timeout",
                "15s",
                remote.component_id,
            ],
            [
                "pair",
                "tool",
                remote.endpoint,
                "-remote-key",
                remote.key,
                remote.component_id,
                "-admin-socket=" + socket_path,
            ],
        ):
            done = subprocess.run(
                [program(), *words],
                capture_output=True,
                text=True,
                timeout=40,
                env={"PATH": os.environ["PATH"]},
            )
            self.assertEqual(done.returncode, 0, done.stderr)

    def test_refusals_and_failures_are_one_line_and_the_step_that_helps_and_exit_1(self):
        other_key = "A" * 43 + "="
        for words, line in (
            (
                ["pair", "tool", "ws://192.0.2.1/", "far"],
                "crab pair failed: gateway pairing failed: MTLS_REQUIRED: plain ws:// goes to "
                "this machine only; use wss://\n",
            ),
            (
                ["pair", "test", "--gateway-public-key", other_key],
                "crab pair failed: gateway pairing failed: GATEWAY_KEY_MISMATCH: the remote says: "
                "this remote is configured for another gateway's key\n"
                "crab: the remote trusts another gateway: start it with the key that `crab peers "
                "identity` prints here\n",
            ),
        ):
            done = self.crab(*words)
            self.assertEqual((done.returncode, done.stdout, done.stderr), (1, "", line))
        nobody = self.crab("pair", "test", "--admin-socket", str(self.gateway.folder / "none.sock"))
        self.assertEqual((nobody.returncode, nobody.stdout), (1, ""))
        self.assertRegex(nobody.stderr, r"\Acrab pair failed: cannot reach the gateway at .*\n\Z")

    def test_the_timeout_of_the_command_is_its_own(self):
        remote = self.remote()
        remote.on["pair.init"] = lambda _: STALL
        done = self.crab("pair", "tool", remote.endpoint, remote.component_id, "--timeout", "300ms")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertRegex(done.stderr, r"\Acrab pair failed: .+\n\Z")

    def test_wrong_usage_is_exit_2_and_help_is_0(self):
        for words in (
            ["pair"],
            ["pair", "phone", "ws://a", "b"],
            ["pair", "tool", "ws://a"],
            ["pair", "tool", "ws://a", "-b"],
            ["pair", "tool", "ws://a", "b", "c"],
            ["pair", "tool", "ws://a", "b", "--remote-key", "AAAA"],
            ["pair", "test", "--timeout", "soon"],
            ["pair", "test", "--listen-addr", "ws://0.0.0.0:0/"],
            ["pair", "test", "--gateway-public-key", "x"],
            ["peers", "show", "memory"],
            ["peers"],
        ):
            done = self.crab(*words)
            self.assertEqual((done.returncode, done.stdout), (2, ""), words)
        for words in (
            ["pair", "--help"],
            ["pair", "test", "-help"],
            ["pair", "tool", "--help"],
            ["peers", "--help"],
        ):
            self.assertEqual(self.crab(*words).returncode, 0, words)

    def test_peers_are_listed_shown_put_aside_renewed_and_revoked(self):
        remote = self.remote()
        name = f"tool_host/{remote.component_id}"
        self.assertEqual(self.pair(remote).status, 200)
        self.assertRegex(
            self.crab("peers", "list").stdout, rf"(?m)^{name} +active +{remote.endpoint} "
        )
        self.assertEqual(
            json.loads(self.crab("peers", "show", name, "-o", "json").stdout),
            self.peer(remote).json(),
        )
        self.assertIn(
            f"endpoint               {remote.endpoint}\n", self.crab("peers", "show", name).stdout
        )
        self.assertEqual(self.crab("peers", "disable", name).stdout, f"{name} is inactive\n")
        self.assertEqual(self.crab("peers", "enable", name).stdout, f"{name} is active\n")
        self.assertRegex(
            self.crab("peers", "renew", name).stdout, rf"\Arenewed {name} until 20\d\d-.*Z\n\Z"
        )
        self.assertEqual(
            self.crab("peers", "revoke", name, "--reason", "lost").stdout, f"revoked {name}\n"
        )
        again = self.crab("peers", "enable", name)
        self.assertEqual((again.returncode, again.stdout), (1, ""))
        self.assertTrue(again.stderr.startswith("crab: CONFLICT: "), again.stderr)
        self.assertEqual(self.crab("peers", "show", "tool_host/nobody").returncode, 5)

    def test_identity_prints_what_remotes_need(self):
        known = self.identity()
        self.assertEqual(
            self.crab("peers", "identity").stdout,
            f"gateway_id={known['gateway_id']}\npublic_key_ed25519={known['public_key_ed25519']}\n"
            f"ca_fingerprint={known['ca_fingerprint']}\n",
        )


class Peers(PeersCase):
    def test_the_life_of_a_peer(self):
        remote = self.remote()
        self.assertEqual(self.pair(remote).status, 200)
        path = f"/v1/peers/tool_host/{remote.component_id}"
        ask = self.gateway.admin_request
        self.assertIn(
            remote.component_id,
            [peer["component_id"] for peer in ask("GET", "/v1/peers").json()["peers"]],
        )
        self.assertEqual(ask("PATCH", path, {"status": "inactive"}).json()["status"], "inactive")
        self.refused(ask("POST", path + "/renew"), 400, "INVALID_ARGS")
        self.assertEqual(
            ask("PATCH", path, {"status": "active", "tool_url": "https://a.example:1/x"}).json()[
                "tool_url"
            ],
            "https://a.example:1/x",
        )
        for body in ({}, {"status": "revoked"}, {"tool_url": "http://a"}, {"x": 1}, {"status": 1}):
            self.refused(ask("PATCH", path, body), 400, "INVALID_ARGS")
        self.refused(ask("POST", path + "/revoke", {"why": "x"}), 400, "INVALID_ARGS")
        self.assertEqual(
            ask("POST", path + "/revoke", {"reason": "lost"}).json()["status"], "revoked"
        )
        self.refused(ask("PATCH", path, {"status": "active"}), 409, "CONFLICT")
        self.refused(self.pair(remote), 409, "PEER_EXISTS")
        self.assertEqual(self.pair(remote, replace=True).json()["peer"]["status"], "active")

    def test_unknown_peers_paths_and_methods(self):
        ask = self.gateway.admin_request
        for path in (
            "/v1/peers/tool_host/nobody",
            "/v1/peers/device/a",
            "/v1/peers/tool_host",
            "/v1/peers/",
            "/v1/peers/tool_host/a/b",
            "/v1/peers/tool_host/-",
        ):
            self.assertEqual(ask("GET", path).status, 404, path)
        for verb in ("renew", "revoke"):
            self.assertEqual(ask("POST", f"/v1/peers/tool_host/nobody/{verb}").status, 404)
        for method, path in (
            ("GET", "/v1/pairings"),
            ("POST", "/v1/identity"),
            ("DELETE", "/v1/peers/tool_host/a"),
            ("GET", "/v1/peers/tool_host/a/renew"),
        ):
            answer = ask(method, path)
            self.assertEqual(answer.status, 405, path)

    def test_no_tcp_listener_knows_any_of_these_routes(self):  # 49
        token = self.gateway.pair("operator", ("operator", "caller", "cli_admin"))
        upgrade = {
            "Connection": "Upgrade",
            "Upgrade": "websocket",
            "Sec-WebSocket-Version": "13",
            "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==",
        }
        for method, path, headers in (
            ("POST", "/v1/pairings", {}),
            ("GET", "/v1/pairings", {}),
            ("GET", "/v1/pairings/ws", upgrade),
            ("GET", "/v1/identity", {}),
            ("GET", "/v1/peers", {}),
            ("GET", "/v1/peers/tool_host/a", {}),
            ("POST", "/v1/peers/tool_host/a/renew", {}),
            ("POST", "/v1/peers/tool_host/a/revoke", {}),
        ):
            answer = fetch(
                self.gateway.public,
                method,
                path,
                {"Authorization": f"Bearer {token}", **headers},
                {} if method == "POST" else None,
            )
            self.assertEqual(answer.status, 404, path)

    def test_keys_lie_in_private_files(self):
        state = self.gateway.folder / "state"
        modes = {
            name: oct((state / name).stat().st_mode & 0o777)
            for name in (
                "gateway_identity.json",
                "pairing_ca_key.pem",
                "pairing_ca_cert.pem",
                "trust.db",
            )
        }
        self.assertEqual(
            modes,
            {
                "gateway_identity.json": "0o600",
                "pairing_ca_key.pem": "0o600",
                "pairing_ca_cert.pem": "0o644",
                "trust.db": "0o600",
            },
        )


if __name__ == "__main__":
    unittest.main()
