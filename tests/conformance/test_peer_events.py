"""docs/protocols/rtp.md, sections 8 and 9, over mutual TLS: what paired peers publish and see.
Numbers are the checklist's."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from support.host import PairedHost
from support.rtp import envelope
from support.websocket import WebSocket
from test_peer_listener import PeerListenerCase

A_MINUTE = 75.0


def event_of(
    event_type: str, component_type: str, component_id: str, **members: Any
) -> dict[str, Any]:
    source = {"component_type": component_type, "component_id": component_id}
    return envelope(event_type, source=source, payload={"call_id": "c", "text": "hello"}, **members)


class PeerEventsCase(PeerListenerCase):
    def publish(self, peer: Any, event: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        return peer.ask("POST", "/v1/events", event)

    def stream(self, peer: Any, query: str = "") -> Any:
        """The answer to a request for a stream; the connection ends with the test."""
        link = peer.connect()
        link.request("GET", "/v1/events" + query, headers={"Accept": "text/event-stream"})
        return link.getresponse()

    @staticmethod
    def events(answer: Any) -> Iterator[tuple[str, dict[str, Any]]]:
        """(cursor, envelope) one after the other."""
        cursor = ""
        while line := answer.readline().decode():
            name, _, value = line.rstrip("\n").partition(": ")
            if name == "id":
                cursor = value
            elif name == "data":
                yield cursor, json.loads(value)


class Peers(PeerEventsCase):
    def test_a_listener_s_message_reaches_a_subscriber_with_the_gateway_s_word_on_who_sent_it(
        self,
    ) -> None:
        mail, log = self.peer("listener"), self.peer("subscriber")
        name = mail.remote.component_id
        answer = self.stream(log)
        self.assertEqual(answer.status, 200)
        event = event_of("channel.message.received", "listener", name)
        event["source"] |= {"peer_id": "forged", "mtls_cert_fingerprint": "sha256:00"}
        self.assertEqual(
            self.publish(mail, event), (202, {"accepted": True, "event_id": event["event_id"]})
        )
        cursor, seen = next(self.events(answer))
        fingerprint = self.gateway.admin_request("GET", mail.path).json()["mtls_cert_fingerprint"]
        self.assertEqual(
            seen["source"],
            {
                "component_type": "listener",
                "component_id": name,
                "peer_id": name,
                "mtls_cert_fingerprint": fingerprint,
                "transport": "mtls_http",
            },
        )
        again = self.stream(log)
        self.assertEqual(next(self.events(again)), (cursor, seen), "it was not acknowledged")  # 82
        self.assertEqual(log.ask("POST", "/v1/events/ack", {"cursor": cursor})[0], 200)
        later = event_of("channel.message.edited", "listener", name)
        self.publish(mail, later)
        self.assertEqual(next(self.events(self.stream(log)))[1]["event_id"], later["event_id"])

    def test_each_role_has_its_own_rights_and_nothing_more(self) -> None:  # 77, 83
        mail, log, host, gin = (
            self.peer("listener"),
            self.peer("subscriber"),
            self.peer("tool_host"),
            self.peer("operator"),
        )
        name = mail.remote.component_id
        self.assertEqual(
            self.publish(mail, event_of("channel.message.received", "listener", "somebody"))[0], 403
        )
        self.assertEqual(
            self.publish(mail, event_of("channel.message.received", "gateway", name))[0], 403
        )
        self.assertEqual(self.publish(mail, event_of("config.applied", "listener", name))[0], 403)
        self.assertEqual(
            self.publish(
                mail, event_of("channel.message.received", "listener", name, tenant_id="harbour")
            )[0],
            403,
        )
        self.assertEqual(
            self.publish(
                log, event_of("channel.message.received", "subscriber", log.remote.component_id)
            )[0],
            403,
        )
        self.assertEqual(
            self.publish(host, event_of("cron.triggered", "cron", host.remote.component_id))[0], 403
        )
        self.assertEqual(
            self.publish(gin, event_of("config.applied", "operator", gin.remote.component_id))[0],
            202,
        )
        self.assertEqual(
            self.publish(
                host, event_of("tool.call.completed", "tool_host", host.remote.component_id)
            )[1]["accepted"],
            False,
        )
        for peer, query, status in (
            (mail, "", 403),
            (log, "?types=tool.call.*", 403),
            (log, "?types=cron.*", 200),
            (host, "?types=channel.*", 403),
            (host, "", 200),
            (gin, "?types=pairing.*", 200),
        ):
            self.assertEqual(self.stream(peer, query).status, status, (peer.path, query))

    def test_a_revoked_subscriber_s_stream_ends_within_a_second(self) -> None:  # 46
        log = self.peer("subscriber")
        answer = self.stream(log)
        self.assertEqual(
            self.gateway.admin_request("POST", log.path + "/revoke", {"reason": "test"}).status, 200
        )
        answer.fp.raw._sock.settimeout(1)  # noqa: SLF001
        try:
            while answer.readline():
                pass
        except ConnectionError:
            pass

    def test_pairings_are_events(self) -> None:
        with WebSocket(self.gateway.admin, "/v1/events?types=pairing.*&remember=false") as stream:
            peer = self.peer("subscriber")
            started, completed = (json.loads(stream.receive_text(10))["event"] for _ in range(2))
        self.assertEqual(
            (started["event_type"], completed["event_type"]),
            ("pairing.started", "pairing.completed"),
        )
        self.assertEqual(started["payload"]["pairing_id"], completed["payload"]["pairing_id"])
        self.assertEqual(
            (completed["tenant_id"], completed["routing"]),
            ("system", {"agent_id": "gateway", "session_id": completed["payload"]["pairing_id"]}),
        )
        self.assertEqual(completed["payload"]["remote_component_id"], peer.remote.component_id)


class CronHost(PeerEventsCase):
    CONFIG = {
        "listen": {"peers": "127.0.0.1:0"},
        "peers": [{"id": "tool_host/clock", "allow": ["events.publish:cron.triggered"]}],
    }

    def test_a_paired_cron_host_publishes_at_the_peer_listener_once_it_is_paired(self) -> None:
        folder = Path(tempfile.mkdtemp(prefix="crab-host-"))
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        key = self.gateway.admin_request("GET", "/v1/identity").json()["public_key_ed25519"]
        address = f"https://{self.gateway.peers[0]}:{self.gateway.peers[1]}"
        host = PairedHost(folder, "cron", key, "clock", "--events-to", address)
        self.addCleanup(lambda: host.process.poll() is None and host.end())
        self.gateway.crab("peers", "pair", "tool", host.endpoint, "clock")
        self.gateway.wait_listed("cron.create")
        with WebSocket(self.gateway.admin, "/v1/events?types=cron.*&remember=false") as stream:
            self.gateway.call("cron.create", {"name": "tick", "schedule": "* * * * *"})
            event = json.loads(stream.receive_text(A_MINUTE))["event"]
        self.assertEqual(event["payload"]["job_name"], "tick")
        self.assertEqual(
            (
                event["source"]["component_type"],
                event["source"]["peer_id"],
                event["source"]["transport"],
            ),
            ("cron", "clock", "mtls_http"),
        )
        self.assertEqual(host.end(), 0, host.log())
