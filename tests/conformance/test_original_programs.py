"""docs/protocols/rtp.md, section 12: what the programs of the protocol's origin send and expect, to
the letter, in both directions."""

from __future__ import annotations

import base64
import contextlib
import http.server
import json
import socketserver
import ssl
import subprocess
import sys
import tempfile
import threading
import unittest
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from support.case import GatewayCase
from support.gateway import program
from support.host import PairedHost
from support.http import fetch
from support.tool_host import Request, ToolHost, host_tool
from support.wait import eventually
from support.websocket import Refused, WebSocket

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from pairing_gateway import NEW_KEY, OriginalGateway, RemoteError  # noqa: E402
from pairing_remote import PairingRemote, openssl  # noqa: E402
from scripted_model import Answer, ScriptedModel  # noqa: E402


class OriginalGatewayTest(unittest.TestCase):
    """It pairs `crab host` over `wss`, with a CA of the operator's."""

    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory(prefix="crab-original-")))
        self.ca = (self.folder / "ca.pem", self.folder / "ca.key")
        openssl(
            *"req -x509 -nodes -subj /CN=operator".split(),
            *NEW_KEY,
            "-keyout",
            str(self.ca[1]),
            "-out",
            str(self.ca[0]),
            *"-addext basicConstraints=critical,CA:TRUE".split(),
        )
        certificate, key, request, names = (
            self.folder / f"host.{end}" for end in ("pem", "key", "csr", "names")
        )
        names.write_text("subjectAltName=IP:127.0.0.1\n")
        openssl(
            *"req -new -nodes -subj /CN=host".split(),
            *NEW_KEY,
            "-keyout",
            str(key),
            "-out",
            str(request),
        )
        openssl(
            *"x509 -req -in".split(),
            str(request),
            "-CA",
            str(self.ca[0]),
            "-CAkey",
            str(self.ca[1]),
            *"-days 30 -extfile".split(),
            str(names),
            "-out",
            str(certificate),
        )
        self.gateway = OriginalGateway(self.folder, self.ca)
        self.host = PairedHost(
            self.folder,
            "memory",
            self.gateway.key,
            "memory-east",
            "--tls-ca",
            str(self.ca[0]),
            "--tls-cert",
            str(certificate),
            "--tls-key",
            str(key),
        )
        self.addCleanup(self.host.end)

    def pair(self, path: str = "/v1/pair") -> str:
        return self.gateway.pair("127.0.0.1", self.host.port, path, "tool_host", "memory-east")

    def test_it_pairs_a_host_on_either_path_and_again_without_a_pause(self) -> None:  # 36, 42
        for path in ("/v1/pair", "/", "/v1/pair"):
            issued = self.pair(path)
            self.assertEqual(self.host.shown(), ssl.PEM_cert_to_DER_cert(issued))
        eventually(lambda: self.host.pairings() == 3, "the host has seen all three to their end")

    def test_another_gateway_of_the_same_operator_is_refused(self) -> None:  # 34
        folder = self.folder / "other"
        folder.mkdir()
        with self.assertRaises(RemoteError) as refused:
            OriginalGateway(folder, self.ca).pair(
                "127.0.0.1", self.host.port, "/v1/pair", "tool_host", "memory-east"
            )
        self.assertEqual(refused.exception.code, "GATEWAY_KEY_MISMATCH")


class _Refuse(http.server.BaseHTTPRequestHandler):
    """The original's admin socket: errors are text."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:  # noqa: N802
        self.rfile.read(int(self.headers["content-length"]))
        body = b"dial remote endpoint: dial tcp 127.0.0.1:1: connect: connection refused\n"
        self.send_response(502)
        self.send_header("Content-Type", "text/plain; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self) -> None:  # noqa: N802
        self.send_error(404)

    def log_message(self, *_: Any) -> None:
        pass


class _Original(_Refuse):
    """The original's admin socket: it has no `/v1/identity`, and refuses members that it does not
    know."""

    KEY = base64.b64encode(bytes(32)).decode()

    def do_POST(self) -> None:  # noqa: N802
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        known = asked.keys() <= {"component_type", "component_id", "endpoint"}
        peer = {
            **{name: asked[name] for name in ("component_type", "component_id", "endpoint")},
            "public_key_ed25519": self.KEY,
            "status": "active",
        }
        body = (
            json.dumps(
                {"pairing_id": "ab" * 16, "endpoint": asked["endpoint"], "peer": peer}
            ).encode()
            if known
            else b"json: unknown field\n"
        )
        self.send_response(200 if known else 400)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@contextlib.contextmanager
def refusing_admin(handler: type[http.server.BaseHTTPRequestHandler] = _Refuse) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="crab-original-") as folder:
        path = Path(folder) / "admin.sock"
        with socketserver.ThreadingUnixStreamServer(str(path), handler) as server:
            thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
            thread.start()
            try:
                yield path
            finally:
                server.shutdown()
                thread.join()


class CommandLineTest(GatewayCase):
    """Its commands at this gateway, and this gateway's commands at its."""

    def trigger(self, **members: Any) -> tuple[int, dict[str, Any]]:
        """What its `pair` sends: three members, no more."""
        answer = self.gateway.admin_request("POST", "/v1/pairings", members, timeout=25)
        return answer.status, answer.json()

    def remote(self, **options: Any) -> PairingRemote:
        key = self.gateway.admin_request("GET", "/v1/identity").json()["public_key_ed25519"]
        remote = PairingRemote(key, **options).__enter__()
        self.addCleanup(remote.__exit__)
        return remote

    def test_its_pairing_test_passes_twice_for_every_type_with_new_keys_port_and_path(
        self,
    ) -> None:  # 42, 54
        for kind in ("tool_host", "listener", "subscriber", "operator"):
            for path in ("/v1/pair", "/elsewhere"):
                remote = self.remote(component_id="probe", component_type=kind, paths=(path,))
                endpoint = f"ws://127.0.0.1:{remote.port}{path}"
                status, answer = self.trigger(
                    component_type=kind, component_id="probe", endpoint=endpoint
                )
                self.assertEqual((status, remote.failures), (200, []), answer)
                peer = answer["peer"]
                self.assertEqual(
                    (answer["endpoint"], peer["component_type"], peer["component_id"]),
                    (endpoint, kind, "probe"),
                )
                self.assertEqual(answer["pairing_id"], remote.received["pair.init"]["pairing_id"])

    def test_types_ids_and_endpoints_are_trimmed(self) -> None:
        remote = self.remote(component_id="trimmed")
        status, answer = self.trigger(
            component_type=" Tool-Host ", component_id=" trimmed ", endpoint=f" {remote.endpoint} "
        )
        self.assertEqual((status, answer.get("endpoint")), (200, remote.endpoint), answer)

    def test_web_pages_of_others_do_not_reach_the_admin_socket(self) -> None:
        for origin, host in (
            ("http://evil.example", "localhost"),
            ("null", "localhost"),
            ("http://evil.example", "evil.example"),
            ("http://localhost:1", "localhost:2"),
        ):
            with self.assertRaises(Refused) as refused:
                WebSocket(self.gateway.admin, "/v1/pairings/ws", {"Origin": origin}, host=host)
            self.assertEqual(refused.exception.response.status, 403)
            answer = fetch(
                self.gateway.admin, "POST", "/v1/pairings", {"Origin": origin, "Host": host}, {}
            )
            self.assertEqual(answer.status, 403, answer.body)
        with WebSocket(
            self.gateway.admin,
            "/v1/pairings/ws",
            {"Origin": "http://localhost:8080"},
            host="localhost:8080",
        ) as own:
            own.send_text("{}")
            self.assertEqual(json.loads(own.receive_text())["code"], "INVALID_ARGS")

    def test_its_remote_says_what_failed_without_a_pairing_id(self) -> None:
        remote = self.remote(component_id="wrong-key")
        remote.on["pair.init"] = lambda _: [
            '{"type":"pair.error","version":"v1","pairing_id":"","code":"HANDSHAKE_FAILED",'
            '"message":"gateway public key mismatch"}\n'
        ]
        status, answer = self.trigger(
            component_type="tool_host", component_id="wrong-key", endpoint=remote.endpoint
        )
        self.assertEqual((status, answer["code"]), (502, "REMOTE_REFUSED"))
        self.assertIn("gateway public key mismatch", answer["error"])

    def test_the_words_of_its_gateway_reach_the_terminal(self) -> None:
        with refusing_admin() as admin:
            done = subprocess.run(
                [
                    program(),
                    "pair",
                    "tool",
                    "ws://127.0.0.1:1/v1/pair",
                    "memory",
                    "--admin-socket",
                    str(admin),
                ],
                capture_output=True,
                text=True,
                timeout=20,
            )
            self.assertEqual(done.returncode, 1)
            self.assertIn(
                "crab pair failed: gateway pairing failed: HTTP 502: dial remote endpoint: dial "
                "tcp 127.0.0.1:1: connect: connection refused\n",
                done.stderr,
            )

    def test_its_gateway_is_sent_only_what_it_knows_and_the_key_is_compared_here(self) -> None:
        def pair(*words: str) -> subprocess.CompletedProcess[str]:
            return subprocess.run(
                [
                    program(),
                    "pair",
                    "tool",
                    "ws://127.0.0.1:1/v1/pair",
                    "memory",
                    "--admin-socket",
                    str(admin),
                    *words,
                ],
                capture_output=True,
                text=True,
                timeout=20,
            )

        with refusing_admin(_Original) as admin:
            for words in ((), ("--remote-key", _Original.KEY), ("--replace",)):
                done = pair(*words)
                self.assertEqual(done.returncode, 0, (words, done.stderr))
                self.assertTrue(done.stdout.startswith("pairing complete\n"), done.stdout)
            other = pair("--remote-key", base64.b64encode(b"1" * 32).decode())
            self.assertEqual((other.returncode, other.stdout), (1, ""))
            self.assertIn("remote-key", other.stderr)
            tested = subprocess.run(
                [
                    program(),
                    "pair",
                    "test",
                    "--admin-socket",
                    str(admin),
                    "--gateway-public-key",
                    _Original.KEY,
                    "--timeout",
                    "2s",
                ],
                capture_output=True,
                text=True,
                timeout=20,
            )
            self.assertNotIn("unknown field", tested.stderr)

    def test_a_pairing_that_fails_names_the_step_that_helps(self) -> None:
        done = subprocess.run(
            [
                program(),
                "pair",
                "tool",
                "ws://127.0.0.1:1/v1/pair",
                "memory",
                "--admin-socket",
                str(self.gateway.admin),
            ],
            capture_output=True,
            text=True,
            timeout=20,
        )
        self.assertEqual(done.returncode, 1)
        self.assertIn("UNREACHABLE", done.stderr)
        self.assertIn("start the remote", done.stderr)

    def test_the_flags_of_its_pairing_test_are_known(self) -> None:
        done = subprocess.run(
            [
                program(),
                "pair",
                "test",
                "-admin-socket",
                str(self.gateway.admin),
                "-component-id",
                "flags",
                "-listen-addr",
                "127.0.0.1:0",
                "-listen-path",
                "/elsewhere",
                "-timeout",
                "20s",
            ],
            capture_output=True,
            text=True,
            timeout=30,
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"(?m)^endpoint=ws://127\.0\.0\.1:\d+/elsewhere$")
        for words in (("--listen-path", "elsewhere"), ("--listen-addr", "0.0.0.0:0")):
            wrong = subprocess.run(
                [program(), "pair", "test", "--admin-socket", str(self.gateway.admin), *words],
                capture_output=True,
                text=True,
                timeout=30,
            )
            self.assertEqual(wrong.returncode, 2, wrong.stderr)

    def test_its_event_send_is_taken_on_the_admin_socket_and_nowhere_else(self) -> None:
        event = {
            "version": "v1",
            "event_id": "45e4660c92e51e7d76c4e14abf5dd656",
            "trace_id": "f31e08246feb0ac495415ebc02c9faff",
            "occurred_at": "2026-02-13T16:00:00.880174473Z",
            "event_type": "channel.message.received",
            "tenant_id": "local",
            "source": {
                "component_type": "operator",
                "component_id": "desk",
                "platform": "cli",
                "channel_id": "cli",
                "actor_id": "operator",
                "transport": "http",
            },
            "routing": {
                "agent_id": "assistant",
                "session_id": "cli-b3403e7fc615dfa03a1167af221ea743",
            },
            "payload": {"text": "hello"},
        }
        answer = self.gateway.admin_request("POST", "/v1/events", event)
        self.assertEqual(
            (answer.status, answer.json()), (202, {"accepted": True, "event_id": event["event_id"]})
        )
        self.assertEqual(self.gateway.fetch("POST", "/v1/events", body=event).status, 404)


class CronHostTest(GatewayCase):
    """Its cron host behind a forwarder to a Unix socket."""

    JOB = {
        "ID": "4861eb888634949cbc37db32154260a0",
        "Name": "tick",
        "Schedule": "* * * * *",
        "EventType": "cron.triggered",
        "TenantID": "default",
        "AgentID": "a",
        "SessionID": "s",
        "Input": None,
        "Enabled": True,
        "CreatedAt": "2026-02-13T16:00:00.812174084Z",
        "UpdatedAt": "2026-02-13T16:00:00.812174084Z",
    }

    @classmethod
    def setUpClass(cls) -> None:
        folder = Path(cls.enterClassContext(tempfile.TemporaryDirectory(prefix="crab-original-")))
        cls.CONFIG = {"hosts": [{"name": "old", "unix": str(folder / "cron")}]}
        cls.host = ToolHost(
            folder / "cron",
            host_tool("cron.create", side_effects=True, timeout_ms_max=10000),
            host_tool("cron.list", timeout_ms_max=10000),
        ).start()
        cls.addClassCleanup(cls.host.stop)
        super().setUpClass()
        cls.gateway.wait_listed("cron.create", "cron.list")

    def answers(self, **members: Any) -> None:
        """It answers calls with these members, a line feed at the end, and with chunks when it is
        much."""

        def behave(request: Request) -> None:
            body = (
                json.dumps(
                    {
                        "version": "v1",
                        "call_id": request.body["call_id"],
                        "tool_name": request.body["tool_name"],
                        **members,
                        "duration_ms": 0,
                    }
                ).encode()
                + b"\n"
            )
            head = (
                b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nDate: Fri, 13 Feb 2026 "
                b"16:00:00 GMT\r\n"
            )
            if len(body) <= 2048:
                request.send(head + b"Content-Length: %d\r\n\r\n" % len(body) + body)
                return
            pieces = [body[at : at + 2048] for at in range(0, len(body), 2048)]
            request.send(
                head
                + b"Transfer-Encoding: chunked\r\n\r\n"
                + b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces)
                + b"0\r\n\r\n"
            )

        self.host.behave = behave

    def test_its_request_has_no_member_that_it_does_not_know(self) -> None:
        self.answers(status="ok", result=self.JOB)
        self.assertEqual(
            self.gateway.call("cron.create", {"name": "tick", "schedule": "* * * * *"}).result,
            self.JOB,
        )
        known = {
            "version",
            "call_id",
            "idempotency_key",
            "tool_name",
            "tenant_id",
            "args",
            "timeout_ms",
            "context",
        }
        context = {
            "agent_id",
            "session_id",
            "platform",
            "channel_id",
            "actor_id",
            "isolation_key",
            "trace_id",
            "request_origin",
        }
        body = self.host.calls[-1].body
        self.assertLessEqual(body.keys(), known)
        self.assertLessEqual(body["context"].keys(), context)

    def test_long_lists_come_in_chunks(self) -> None:
        self.answers(status="ok", result={"jobs": [self.JOB] * 60})
        self.assertEqual(len(self.gateway.call("cron.list").result["jobs"]), 60)

    def test_its_errors_leave_retryable_out_and_its_timeouts_keep_theirs(self) -> None:
        self.answers(status="error", error={"code": "INVALID_ARGS", "message": "job not found"})
        error = self.gateway.call("cron.list").error
        self.assertEqual(
            (error["code"], error["message"], error["retryable"]),
            ("INVALID_ARGS", "job not found", False),
        )
        self.answers(
            status="timeout",
            error={"code": "TIMEOUT", "message": "tool execution timed out", "retryable": True},
        )
        self.assertEqual(self.gateway.call("cron.list").status, "timeout")

    def test_bad_json_is_400_with_text(self) -> None:
        self.host.behave = lambda request: request.send(
            b"HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; "
            b"charset=utf-8\r\nX-Content-Type-Options: nosniff\r\n"
            b"Content-Length: 13\r\n\r\ninvalid json\n"
        )
        self.assertEqual(self.gateway.call("cron.list").code, "INTERNAL")

    def test_its_events_pass_with_nanoseconds_and_ids_of_its_own(self) -> None:
        for kind, reason, name in (
            ("cron.triggered", "scheduled_task", "1"),
            ("heartbeat.tick", "heartbeat", "2"),
        ):
            event = {
                "version": "v1",
                "event_id": "9ab2331637e83b59ea46851f9924b73" + name,
                "trace_id": "b47e1baed2b1e63d2f7591d020203dce",
                "occurred_at": "2026-02-13T16:00:01.798867254Z",
                "event_type": kind,
                "tenant_id": "default",
                "source": {
                    "component_type": "cron",
                    "component_id": "crab-cron",
                    "transport": "http",
                },
                "routing": {"agent_id": "a", "session_id": "s"},
                "payload": {
                    "job_id": self.JOB["ID"],
                    "job_name": "tick",
                    "scheduled_for": "2026-02-13T16:00:00Z",
                    "triggered_at": "2026-02-13T16:00:01.798867254Z",
                    "reason": reason,
                },
            }
            answer = self.gateway.admin_request("POST", "/v1/events", event)
            self.assertEqual(answer.status, 202, answer.body)


class DiscordTest(GatewayCase):
    """Its chat bridge: messages as its listener posts them, answers as its consumer reads them."""

    @classmethod
    def setUpClass(cls) -> None:
        cls.model = cls.enterClassContext(ScriptedModel())
        cls.CONFIG = {
            "models": [
                {"model": "first", "provider": "scripted", "url": cls.model.url, "max_retries": 0}
            ],
            "agents": [
                {
                    "name": "assistant",
                    "models": ["first"],
                    "on": [{"event": "channel.message.received"}],
                }
            ],
        }
        super().setUpClass()

    def post(self, number: int, **routing: Any) -> None:
        event = {
            "version": "v1",
            "event_id": f"{number:032x}",
            "trace_id": f"{number + 1000:032x}",
            "occurred_at": "2026-02-13T16:00:00.12Z",
            "event_type": "channel.message.received",
            "tenant_id": "default",
            "source": {
                "component_type": "listener",
                "component_id": "discord-listener",
                "platform": "discord",
                "channel_id": "1189",
                "actor_id": "77",
                "message_id": "1190",
                "transport": "http",
            },
            "routing": {"agent_id": "assistant", "session_id": "discord:0f" * 3, **routing},
            "payload": {
                "text": "is it raining?",
                "attachments": [
                    {
                        "type": "image",
                        "url": "https://example.org/sky.png",
                        "mime_type": "image/png",
                        "name": "sky.png",
                    }
                ],
                "reply_to_message_id": "1180",
            },
        }
        answer = self.gateway.admin_request("POST", "/v1/events", event)
        self.assertEqual(answer.status, 202, answer.body)

    def test_a_message_is_answered_in_its_channel_with_content_that_the_consumer_sends(
        self,
    ) -> None:
        self.model.script(Answer("It is."), Answer("Still."))
        with WebSocket(
            self.gateway.admin, "/v1/events?types=agent.response.created&remember=false"
        ) as stream:
            self.post(1)
            first = json.loads(stream.receive_text(20))["event"]
            self.post(2, target={"platform": "discord", "channel_id": "42", "thread_id": "7"})
            second = json.loads(stream.receive_text(20))["event"]
        self.assertEqual(first["routing"]["target"], {"platform": "discord", "channel_id": "1189"})
        self.assertEqual(
            second["routing"]["target"],
            {"platform": "discord", "channel_id": "42", "thread_id": "7"},
        )
        self.assertEqual(first["payload"]["content"], [{"type": "text", "text": "It is."}])
        self.assertEqual(first["payload"]["response_id"], first["payload"]["turn_id"])
        self.assertIn("is it raining?", self.model.requests[0].body["messages"][-1]["content"])


class _Hook(http.server.BaseHTTPRequestHandler):
    """A consumer of events: answers as `server.answers` say, 200 when they are used up."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:  # noqa: N802
        body = self.rfile.read(int(self.headers["content-length"]))
        status = self.server.answers.pop(0) if self.server.answers else 200
        self.server.posts.append(
            (status, self.path, self.headers["content-type"], json.loads(body))
        )
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        pass


class WebhookTest(GatewayCase):
    """`crab events forward`: what its gateway's webhooks get, and nothing is lost on the way."""

    def setUp(self) -> None:
        self.hook = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Hook)
        self.hook.posts, self.hook.answers, self.hook.daemon_threads = [], [], True
        thread = threading.Thread(target=self.hook.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(self.hook.server_close)
        self.addCleanup(self.hook.shutdown)
        self.name = self.gateway.unique("hook")

    def publish(self, *texts: str) -> None:
        for text in texts:
            event = {
                "version": "v1",
                "event_id": self.gateway.unique("event"),
                "trace_id": "t",
                "occurred_at": "2026-02-13T16:00:00Z",
                "event_type": "channel.message.received",
                "tenant_id": "default",
                "source": {"component_type": "operator", "component_id": "desk"},
                "routing": {"agent_id": "a", "session_id": "s"},
                "payload": {"text": text},
            }
            self.assertEqual(self.gateway.admin_request("POST", "/v1/events", event).status, 202)

    def forward(self, *words: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [
                program(),
                "events",
                "forward",
                f"http://127.0.0.1:{self.hook.server_port}/v1/events",
                "--subscription",
                self.name,
                "--types",
                "channel.message.*",
                "--socket",
                str(self.gateway.admin),
                *words,
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def begin(self) -> None:
        """The position from which the webhook's events count."""
        with WebSocket(
            self.gateway.admin, f"/v1/events?subscription={self.name}&types=channel.message.*"
        ):
            pass

    def taken(self) -> list[str]:
        return [
            event["payload"]["text"] for status, _, _, event in self.hook.posts if status == 200
        ]

    def test_events_are_posted_as_they_are_in_order(self) -> None:
        self.begin()
        self.publish("one", "two")
        process = self.forward("--count", "2")
        self.assertEqual(process.wait(20), 0)
        self.assertEqual(self.taken(), ["one", "two"])
        _, path, kind, event = self.hook.posts[0]
        self.assertEqual(
            (path, kind, event["version"], event["event_type"]),
            ("/v1/events", "application/json", "v1", "channel.message.received"),
        )

    def test_one_that_is_not_taken_is_posted_again_and_one_that_is_refused_is_left_out(
        self,
    ) -> None:
        self.begin()
        self.hook.answers = [503, 200, 400]
        self.publish("later", "never", "last")
        process = self.forward("--count", "3")
        self.assertEqual(process.wait(20), 0)
        self.assertEqual(self.taken(), ["later", "last"])
        self.assertEqual([status for status, *_ in self.hook.posts], [503, 200, 400, 200])
        self.assertIn("HTTP 503", process.stderr.read())

    def test_it_goes_on_where_it_was_killed(self) -> None:
        self.begin()
        first = self.forward()
        self.publish("one")
        eventually(lambda: self.taken() == ["one"], "the first is taken")
        self.publish("two")
        eventually(
            lambda: self.taken() == ["one", "two"],
            "the second is taken, so the first was acknowledged",
        )
        first.kill()
        first.wait()
        self.publish("three")
        self.assertEqual(self.forward("--count", "1").wait(20), 0)
        self.assertIn(
            self.taken()[2:], (["three"], ["two"])
        )  # the second may not have been acknowledged before the kill

    def test_a_second_one_of_the_same_name_takes_its_place(self) -> None:
        self.publish("old")
        first = self.forward("--from", "earliest")
        eventually(lambda: "old" in self.taken(), "the first has begun with the oldest")
        second = self.forward()
        self.assertEqual(first.wait(20), 1)
        self.assertIn("give each its own", first.stderr.read())
        self.publish("new")
        eventually(lambda: self.taken()[-1] == "new", "the second takes them")
        self.assertIsNone(second.poll())

    def test_what_is_no_address_is_wrong_usage(self) -> None:
        for url in ("ftp://a/b", "http://", "hook"):
            done = subprocess.run(
                [program(), "events", "forward", url, "--socket", str(self.gateway.admin)],
                capture_output=True,
                text=True,
                timeout=20,
            )
            self.assertEqual(done.returncode, 2, done.stderr)


if __name__ == "__main__":
    unittest.main()
