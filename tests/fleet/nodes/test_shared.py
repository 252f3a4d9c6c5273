"""What operators decide, peers, leases and chats: those of all gateways of a fleet."""

from __future__ import annotations

import shutil
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any

from fleet import SOON, FleetCase, Node
from support.approver import Approver
from support.device import Device, tool
from support.host import PairedHost
from support.wait import eventually

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "support"))
from scripted_model import Answer, Hold, ScriptedModel  # noqa: E402


class DecisionsTest(FleetCase):
    """What somebody has decided for good at one node."""

    @classmethod
    def config(cls, name: str, **changes: Any) -> dict[str, Any]:
        return super().config(
            name,
            policy=[{"principal": "*", "call": {"needs_approval": ["sms*"]}}],
            approvals={"new_tools": "ask"},
            **changes,
        )

    def test_what_is_always_allowed_at_one_node_is_at_all_until_it_is_withdrawn(self) -> None:
        ann, name = self.caller(), self.unique("sms")[:40]
        token = self.token(self.north, "phone")
        device = self.open(self.south, token)
        device.register(tool(name))
        self.north.wait_known(name)
        with Approver(self.south) as approver:
            call = self.north.start_call(name, token=ann)
            question = approver.question()
            self.assertEqual(approver.decide(question["id"], "allow", "always").status, 200)
        device.answer(device.next_call(name), "sent")
        self.assertEqual(call.result(20).result, {"text": "sent"})
        for node in (self.north, self.west):
            eventually(
                lambda node=node: name in node.crab("approvals", "remembered"),
                "the decision is known",
                5,
            )
        # The device comes to another node, which never asked.
        device.drop()
        moved = self.open(self.north, token)
        moved.register(tool(name))
        call = self.north.start_call(name, token=ann)
        moved.answer(moved.next_call(name), "sent again")
        self.assertEqual(call.result(20).result, {"text": "sent again"})
        self.west.crab("approvals", "forget", question["id"])
        eventually(
            lambda: name not in self.north.crab("approvals", "remembered"), "it is withdrawn", 5
        )
        self.assertEqual(self.north.call(name, token=ann).code, "FORBIDDEN")
        moved.assert_silent()

    def test_a_devices_new_tool_is_let_in_from_any_node(self) -> None:
        token, slug = self.token(self.north, "phone"), self.unique("phone")
        first, later = self.unique("act"), self.unique("more")
        device = self.open(self.south, token)
        device.register(tool(first))
        self.north.wait_known(first)
        device.drop()
        # It is known at the other node too, so what it adds there waits.
        eventually(
            lambda: self.database.ask(f"SELECT count(*) FROM device_tool WHERE tool = '{first}'")
            == "1",
            "what it has is stored",
        )
        again = self.open(self.north, token)
        again.register(tool(first), tool(later))
        eventually(lambda: later in self.west.crab("devices", "show", slug), "it waits", SOON)
        self.assertFalse(self.north.knows(later))
        self.west.crab("devices", "approve", slug)
        eventually(lambda: self.north.knows(later), "it is let in where the device is", 5)
        self.west.wait_known(later)


class PeersTest(FleetCase):
    """Peers and leases."""

    def setUp(self) -> None:
        super().setUp()
        self.folder = Path(tempfile.mkdtemp(prefix="crab-paired-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def identity(self, node: Node) -> dict[str, Any]:
        return node.admin_request("GET", "/v1/identity").json()

    def test_a_host_that_is_paired_at_one_node_serves_all_until_one_revokes_it(self) -> None:
        nodes = (self.north, self.south, self.west)
        key = self.identity(self.north)["public_key_ed25519"]
        for node in nodes:
            self.assertEqual(self.identity(node), self.identity(self.north))
        host = PairedHost(self.folder, "memory", key, "memory-east")
        self.addCleanup(host.end)
        self.south.crab("peers", "pair", "tool", host.endpoint, host.component_id)
        name = "tool_host/memory-east"
        for node in nodes:
            eventually(lambda node=node: name in node.crab("peers", "list"), "it is known", 5)
            eventually(
                lambda node=node: any("memory" in name for name in node.tools()),
                "its tools are offered",
                SOON,
            )
        # No private key is to be read in the database.
        secret = self.database.ask("SELECT encode(sealed, 'escape') FROM fleet_secret")
        self.assertNotIn("PRIVATE KEY", secret)
        self.north.crab("peers", "revoke", name, "--yes")
        for node in nodes:
            eventually(
                lambda node=node: "revoked" in node.crab("peers", "list"), "it is revoked", 5
            )

    def test_a_lease_of_one_node_is_ended_at_another(self) -> None:
        made = self.north.admin_request(
            "POST",
            "/v1/leases",
            {
                "tenant_id": "default",
                "agent_id": "a",
                "session_id": "s",
                "capabilities": ["events.subscribe:cron.*"],
            },
        )
        self.assertEqual(made.status, 201, made.body)
        lease = made.json()["lease_id"]

        def has(node: Node) -> bool:
            known = node.admin_request("GET", "/v1/leases").json()["leases"]
            return any(each["lease_id"] == lease for each in known)

        for node in (self.south, self.west):
            eventually(lambda node=node: has(node), "the lease is known", 5)
        ended = self.west.admin_request("DELETE", f"/v1/leases/{lease}")
        self.assertIn(ended.status, (200, 204), ended.body)
        for node in (self.north, self.south):
            eventually(lambda node=node: not has(node), "it has ended", 5)


class ChatsTest(FleetCase):
    """A chat goes on at any node, at one at a time."""

    @classmethod
    def setUpClass(cls) -> None:
        cls.model = cls.enterClassContext(ScriptedModel())
        super().setUpClass()

    @classmethod
    def config(cls, name: str, **changes: Any) -> dict[str, Any]:
        models = [{"model": "parrot", "provider": "scripted", "url": cls.model.url}]
        return super().config(name, models=models, **changes)

    def turn(self, device: Device, content: str) -> list[dict[str, Any]]:
        device.send("message", content=content)
        frames = [device.receive(20)]
        while frames[-1]["type"] not in ("agent_end", "error"):
            frames.append(device.receive(20))
        return frames

    def stored(self, node: Node, session: str, token: str) -> list[str]:
        answer = node.fetch("GET", f"/api/sessions/{session}/messages", token)
        self.assertEqual(answer.status, 200, answer.body)
        return [message["content"] for message in answer.json()["messages"]]

    def answered(self, session: str, token: str) -> list[str]:
        """What a node that had no part in it has of the chat, once the turn's answer is stored: the
        client is told of its end a moment before."""

        def ends_with_it() -> list[str] | None:
            said = self.stored(self.west, session, token)
            return said if said[-1] == "Here I am." else None

        return eventually(ends_with_it, "the answer is stored")

    def test_a_chat_is_at_one_node_at_a_time_and_the_next_sees_the_rest(self) -> None:
        token, session = self.token(self.north, "phone"), self.unique("chat")
        phone = self.open(self.south, token, session_id=session)
        tablet = self.open(self.north, token, session_id=session)
        self.model.script(Hold("Let me "))
        phone.send("message", content="first")
        eventually(lambda: self.model.left is not None, "the model is asked")
        while phone.receive(20)["type"] != "chunk":
            pass
        busy = self.turn(tablet, "second")
        self.assertEqual(busy[-1].get("code"), "SESSION_BUSY", busy)
        self.model.release.set()
        while phone.receive(20)["type"] != "agent_end":
            pass
        self.model.script(Answer("Here I am."))
        eventually(lambda: self.turn(tablet, "third")[-1]["type"] == "agent_end", "it is free")
        said = self.answered(session, token)
        self.assertEqual([said[0], *said[-2:]], ["first", "third", "Here I am."])
        self.assertIn("first", str(self.model.last_messages()))

    def test_a_turn_whose_node_is_killed_is_closed_by_the_next_one(self) -> None:
        token, session = self.token(self.north, "phone"), self.unique("chat")
        phone = self.open(self.south, token, session_id=session)
        self.model.script(Hold("Let me "))
        phone.send("message", content="first")
        while phone.receive(20)["type"] != "chunk":
            pass
        self.south.kill()
        tablet = self.open(self.north, token, session_id=session)
        self.model.script(Answer("Here I am."))
        eventually(
            lambda: self.turn(tablet, "second")[-1]["type"] == "agent_end", "it goes on", SOON
        )
        said = self.answered(session, token)
        self.assertEqual(said[0], "first")
        self.assertIn("[no answer", said[1])
        self.assertEqual(said[2:], ["second", "Here I am."])


if __name__ == "__main__":
    unittest.main()
