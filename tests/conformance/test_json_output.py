"""What every command prints as `-o json`, by a gateway that has something of everything, against
spec/stable/output.txt (docs/reference/stability.md), and `/metrics` against its own list.

    CRAB_RECORD_OUTPUT=1 CRAB_BIN=… python3 -m unittest test_json_output    # records what is new
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

from test_artifacts import EXTENSIONS
from test_events import envelope
from test_peer_listener import PeerListenerCase

from support.device import tool
from support.gateway import program
from support.http import HttpConnection
from support.rtp import call_request
from support.wait import eventually
from support.websocket import WebSocket

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
sys.path.insert(0, str(ROOT / "tests/support"))
import stable_api  # noqa: E402
from pairing_remote import PairingRemote  # noqa: E402
from scripted_model import ScriptedModel  # noqa: E402

RECORD = "CRAB_RECORD_OUTPUT" in os.environ
#: Whose members are not ours to promise: schemas, arguments, results, names as keys.
OPEN = {"args", "details", "error", "input_schema", "output_schema", "parameters", "result"}
OPEN |= {"schema", "by_status", "default", "value", "payload", "annotations", "data", "traits"}


def shape(value: Any, where: str) -> Iterator[str]:
    """`.tools[].name string` for each member; of numbers only that they are, null says nothing."""
    if isinstance(value, dict):
        yield f"{where or '.'} object"
        for name, part in value.items():
            if name not in OPEN:
                yield from shape(part, f"{where}.{name}")
            else:
                yield f"{where}.{name}"
    elif isinstance(value, list):
        yield f"{where or '.'} array"
        for part in value:
            yield from shape(part, f"{where}[]")
    elif value is not None:
        kinds = {bool: "boolean", int: "number", float: "number", str: "string"}
        yield f"{where} {kinds[type(value)]}"


class JsonOutputTest(PeerListenerCase):
    model: ClassVar[ScriptedModel]
    folder: ClassVar[str]

    @classmethod
    def setUpClass(cls) -> None:
        cls.model = cls.enterClassContext(ScriptedModel())
        cls.folder = cls.enterClassContext(tempfile.TemporaryDirectory())
        server = str(ROOT / "examples/mcp_server/server.py")
        cls.CONFIG = {
            **PeerListenerCase.CONFIG,
            "models": [{"model": "parrot", "provider": "scripted", "url": cls.model.url}],
            "agents": [{"name": "cook", "on": [{"event": "heartbeat.tick", "session": "agent"}]}],
            "worktrees": [{"id": "garden/main", "path": cls.folder}],
            "approvals": {"new_tools": "ask"},
            "mcp": {
                "servers": {"desk": {"command": sys.executable, "args": [server], "pin": "ask"}}
            },
            "policy": [{"principal": "caller/*", "call": {"needs_approval": ["list_devices"]}}],
        }
        super().setUpClass()

    def setUp(self) -> None:
        self.facts: set[str] = set()

    def shown(self, command: str, *words: str, code: int = 0) -> Any:
        """What that command prints; its facts are kept."""
        done = subprocess.run(
            [program(), "-o", "json", *command.split(), *words],
            capture_output=True,
            text=True,
            timeout=30,
            env={**os.environ, "CRAB_SOCKET": str(self.gateway.admin), "HOME": self.folder},
        )
        self.assertEqual((done.returncode, done.stderr), (code, ""), (command, words, done.stdout))
        told = json.loads(done.stdout)
        self.facts |= {f"crab {command} {fact}" for fact in shape(told, "")}
        return told

    def without_gateway(self, command: str, *words: str) -> Any:
        """The same of commands that read files."""
        return self.shown(command, *words, "--config", str(self.gateway.config_file))

    def test_every_command_prints_what_is_recorded(self) -> None:
        for part in (
            self.show_devices_and_tools,
            self.show_calls_and_approvals,
            self.show_artifacts_and_chats,
            self.show_agents_and_events,
            self.show_mcp_servers,
            self.show_peers_and_leases,
            self.show_the_gateway,
        ):
            with self.subTest(part.__name__):
                part()
        recorded = stable_api.recorded("output")
        commands = {fact.partition(" .")[0] for fact in recorded}
        self.assertTrue(RECORD or len(commands) > 45, commands)
        if RECORD:
            stable_api.record("output", self.facts)
            return
        self.assertEqual(stable_api.breaks(recorded, self.facts), [])

    def show_devices_and_tools(self) -> None:
        token = self.new_token("phone")
        first = self.open(token)
        first.register(tool("camera"))
        first.close()
        device = self.open(token)
        device.register(tool("camera"), tool("shell"), tool("not a name"))
        slug = self.slug
        self.shown("devices list")
        self.shown("devices show", slug)
        self.shown("devices pair", "--name", "tablet")
        self.shown("devices rename", slug, "Walker")
        self.shown("devices approve", slug)
        self.shown("tokens create", "--name", "ci")
        tokens = self.shown("tokens list")["tokens"]
        [mine] = [one["id"] for one in tokens if one["principal"] == "caller/ci"]
        self.shown("tokens revoke", mine)
        self.shown("tools list")
        self.shown("tools show", "list_devices")
        self.shown("tools check", "list_devices", '{"x":1}', code=2)
        self.shown("tools cost", "--agent", "cook")
        self.shown("devices revoke", slug)

    def show_calls_and_approvals(self) -> None:
        self.shown("call", "list_devices", "--call-id", "c-1")
        eventually(
            lambda: self.gateway.admin_request("GET", "/v1/admin/calls/c-1").status == 200,
            "its record is there",
        )
        watch = HttpConnection(self.gateway.admin)
        watch.send("GET", "/v1/admin/approvals/watch")
        watch.stream.read_until(b"watching")
        running = self.gateway.send_call
        asked = self.gateway._pool.submit(running, call_request("list_devices", call_id="c-2"))
        waiting = eventually(
            lambda: self.gateway.admin_request("GET", "/v1/admin/approvals").json()["approvals"],
            "the question is open",
        )
        self.shown("approvals list")
        self.shown("approvals show", waiting[0]["id"])
        self.shown("calls list")
        self.shown("approvals allow", waiting[0]["id"], "--scope", "always")
        self.assertEqual(asked.result(20).status, "ok")
        watch.stream.close()
        remembered = self.shown("approvals remembered")["remembered"]
        self.shown("approvals forget", remembered[0]["id"])
        eventually(
            lambda: self.gateway.admin_request("GET", "/v1/admin/calls/c-2").status == 200,
            "its record is there",
        )
        self.shown("calls show", "c-2")
        self.shown("policy test", "--as", "caller/ci", "call", "device_info", "--effects", "none")
        self.shown("policy matrix", "--as", "caller/ci")
        self.without_gateway("audit search", "--tool", "list_devices")
        self.without_gateway("audit verify")
        self.shown("top", "--once")

    def show_artifacts_and_chats(self) -> None:
        name = self.gateway.unique("camera")
        token = self.new_token("viewer")
        first = self.open(token, capabilities=EXTENSIONS)
        first.register(tool(name))
        call = self.gateway.start_call(name)
        request = first.next_call(name)
        stored = first.upload(request, b"a picture", "image/jpeg").json()["artifact"]
        first.answer_uploaded(request, stored)
        artifact = call.result(20).result["artifact"]["id"]
        self.shown("artifacts list")
        self.shown("artifacts get", artifact, "--to", f"{self.folder}/picture")
        self.shown("artifacts delete", artifact)
        chat = WebSocket(self.gateway.admin, "/ws/chat")
        session = json.loads(chat.receive_text())["session_id"]
        chat.send_text(json.dumps({"type": "message", "content": "hello"}))
        while json.loads(chat.receive_text())["type"] != "done":
            pass
        chat.stream.close()
        self.shown("sessions list")
        self.shown("sessions show", session)

    def show_agents_and_events(self) -> None:
        answer = self.gateway.admin_request("POST", "/v1/events", envelope("heartbeat.tick"))
        self.assertIn(answer.status, (200, 202), answer.body)

        def turns() -> list[dict[str, Any]]:
            listed = self.gateway.admin_request("GET", "/v1/admin/agents").json()["turns"]
            return [turn for turn in listed if "ended_at" in turn]

        eventually(turns, "the turn of an event has ended")
        self.shown("agents list")
        self.shown("agents turns")
        self.shown("agents show", turns()[0]["turn_id"])
        self.shown("events tail", "--from", "earliest", "--count", "1")

    def show_mcp_servers(self) -> None:
        eventually(
            lambda: self.gateway.admin_request("GET", "/v1/mcp/servers/desk/diff").json()[
                "changes"
            ],
            "its tools wait for an approval",
        )
        self.shown("mcp list")
        self.shown("mcp status")
        self.shown("mcp diff", "desk")
        self.shown("mcp approve", "desk")
        self.shown("mcp add", "notes", "--", "/bin/false")
        self.shown("mcp remove", "notes")

    def show_peers_and_leases(self) -> None:
        key = self.shown("peers identity")["public_key_ed25519"]
        remote = PairingRemote(key, "probe", "tool_host")
        self.addCleanup(remote.__exit__)
        remote.__enter__()
        self.pair(remote)
        self.shown("peers list")
        self.shown("peers show", "tool_host/probe")
        self.shown("peers disable", "tool_host/probe")
        self.shown("peers enable", "tool_host/probe")
        scope = {"tenant_id": "default", "agent_id": "a", "session_id": "s"}
        wanted = {**scope, "capabilities": ["events.subscribe:cron.*"]}
        self.gateway.admin_request("POST", "/v1/leases", wanted)
        leases = self.shown("leases list")["leases"]
        self.shown("leases revoke", leases[0]["lease_id"])
        self.shown("peers revoke", "tool_host/probe")

    def show_the_gateway(self) -> None:
        self.shown("worktrees bind", "caller/ci", "garden/main")
        self.shown("worktrees list")
        self.shown("worktrees unbind", "caller/ci")
        self.shown("gateway status")
        self.shown("gateway reload")
        self.shown("gateway log-levels")
        self.shown("gateway log-level", "debug", "--part", "trust")
        self.without_gateway("gateway check")
        self.shown("version")
        self.shown("config show")
        self.shown("config path")
        self.without_gateway("backup", f"{self.folder}/backup")
        self.without_gateway("restore", f"{self.folder}/backup", "--to", f"{self.folder}/restored")

    def test_the_metrics_are_those_that_the_page_names(self) -> None:
        page = self.gateway.admin_request("GET", "/metrics").body.decode()
        served = {
            line[len("# TYPE ") :] for line in page.splitlines() if line.startswith("# TYPE ")
        }
        named = {fact for fact in stable_api.metrics(Path()) if " label " not in fact}
        self.assertEqual(served - named, set())
        only_sometimes = {
            "crab_allocations_total counter",  # with CRAB_COUNT_ALLOCATIONS
            "crab_event_subscription_lag gauge",  # with a subscription
            *{  # in a fleet
                "crab_fleet_bus_connected gauge",
                "crab_fleet_calls_for_others_total counter",
                "crab_fleet_calls_in_doubt_total counter",
                "crab_fleet_cut_off gauge",
                "crab_fleet_forged_messages_total counter",
                "crab_fleet_forwarded_calls_total counter",
                "crab_fleet_lease_holds gauge",
                "crab_fleet_moved_calls_answered_total counter",
                "crab_fleet_nodes_heard gauge",
            },
            "crab_otlp_spans_total counter",  # with a collector
            "crab_tool_calls_total counter",  # with metrics.tools
            "crab_tool_call_duration_seconds histogram",  # the same
        }
        self.assertLessEqual(named - served - only_sometimes, set())
