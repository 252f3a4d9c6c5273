"""Calls between gateways of a fleet, and what becomes of them when one dies."""

from __future__ import annotations

import json
import shutil
import signal
import time
import unittest
from concurrent.futures import Future

from fleet import SOON, FleetCase, Node
from support.device import Device, tool
from support.gateway import Reply
from support.http import HttpConnection, read_head
from support.rtp import call_request
from support.wait import eventually


class CallsTest(FleetCase):
    """All nodes live."""

    def test_a_call_at_one_node_runs_once_at_the_device_of_another_and_comes_back(self) -> None:
        ann, name = self.caller(), self.unique("act")
        device = self.open(self.south, self.token(self.north, "kettle"))
        device.register(tool(name, description="boils"))
        for node in (self.north, self.west):
            node.wait_known(name)
        self.assertEqual(self.north.tools()[name]["description"], "boils")
        call = self.north.start_call(name, {"a": 1}, token=ann, idempotency_key="one-" + name)
        request = device.next_call(name)
        self.assertEqual(request["args"], {"a": 1})
        device.answer(request, "boiled")
        self.assertEqual(call.result(10).result, {"text": "boiled"})
        # Repeats on any node replay it.
        for node in (self.north, self.south, self.west):
            reply = node.call(name, {"a": 1}, token=ann, idempotency_key="one-" + name)
            self.assertEqual(reply.result, {"text": "boiled"})
            self.assertEqual(reply.http.headers["crab-replayed"], "true")
            other = node.call(name, {"a": 2}, token=ann, idempotency_key="one-" + name)
            self.assertEqual(other.code, "CONFLICT")
        device.assert_silent()
        self.assertGreaterEqual(self.north.fleet_metric("crab_fleet_forwarded_calls_total"), 1)
        self.assertGreaterEqual(self.south.fleet_metric("crab_fleet_calls_for_others_total"), 2)

    def test_errors_and_long_texts_pass_and_what_is_too_long_is_refused(self) -> None:
        ann, name = self.caller(), self.unique("act")
        device = self.open(self.south, self.token(self.north, "kettle"))
        device.register(tool(name))
        self.north.wait_known(name)
        call = self.north.start_call(name, token=ann)
        device.fail(device.next_call(name), "no water")
        self.assertIn("no water", call.result(10).error["message"])
        text = "x" * 400_000
        call = self.north.start_call(name, {"text": text}, token=ann)
        request = device.next_call(name)
        self.assertEqual(request["args"]["text"], text)
        device.answer(request, text)
        self.assertEqual(call.result(10).result, {"text": text})
        reply = self.north.call(name, {"text": "x" * 600_000}, token=ann)
        self.assertEqual(reply.status, "error")
        self.assertIn("longer than one gateway hands to another", reply.error["message"])
        longer = "y" * 3_000_000
        call = self.north.start_call(name, token=ann)
        device.answer(device.next_call(name), longer)
        self.assertEqual(call.result(20).result, {"text": longer})
        device.assert_silent()

    def test_progress_passes_to_the_caller_who_asked_for_it(self) -> None:
        name = self.unique("act")
        device = self.open(
            self.south, self.token(self.north, "kettle"), capabilities=["tool_call_progress"]
        )
        device.register(tool(name))
        self.north.wait_known(name)
        with HttpConnection(self.north.public) as connection:
            connection.send(
                "POST",
                "/v1/tools/call",
                {
                    "Authorization": f"Bearer {self.north.caller_token()}",
                    "Accept": "text/event-stream",
                },
                call_request(name),
            )
            request = device.next_call(name)
            device.send(
                "tool_call_progress", id=request["id"], message="warming up", progress=2, total=5
            )
            events = connection.events(read_head(connection.stream))
            kind, data = next(events)
            self.assertEqual(
                (kind, json.loads(data)),
                ("progress", {"message": "warming up", "progress": 2, "total": 5}),
            )
            device.answer(request, "ok")
            self.assertEqual([kind for kind, _ in events], ["result"])

    def test_a_device_that_moves_is_called_where_it_is_now(self) -> None:
        ann, name = self.caller(), self.unique("act")
        token = self.token(self.north, "kettle")
        before = self.open(self.south, token)
        before.register(tool(name))
        self.west.wait_known(name)
        after = self.open(self.north, token)  # and the former link is not closed yet
        after.register(tool(name))
        eventually(
            lambda: self.ran_at(after, self.west.start_call(name, token=ann), name),
            "the newest link has the device's calls",
            SOON,
        )
        self.assertEqual(len(self.west.tools()), len(self.north.tools()))

    @staticmethod
    def ran_at(device: Device, call: object, name: str) -> bool:
        try:
            device.answer(device.next_call(name, timeout=1.0), "here")
        except (TimeoutError, AssertionError):
            return False
        return call.result(10).result == {"text": "here"}

    def test_a_token_that_is_revoked_at_one_node_ends_its_links_at_another(self) -> None:
        token, name = self.token(self.north, "kettle"), self.unique("act")
        device = self.open(self.south, token)
        device.register(tool(name))
        self.north.wait_known(name)
        self.north.crab("devices", "revoke", self.unique("kettle"), "--yes")
        start = time.monotonic()
        self.assertEqual(device.socket.wait_closed(5).code, 4401)
        self.assertLess(time.monotonic() - start, 4)
        self.assertEqual(self.south.fetch("GET", "/v1/tools", token).status, 401)
        self.north.wait_unknown(name)

    def test_a_node_that_stops_leaves_and_its_devices_are_not_offered_any_more(self) -> None:
        name = self.unique("act")
        device = self.open(self.south, self.token(self.north, "kettle"))
        device.register(tool(name))
        self.north.wait_known(name)
        self.south.stop()
        eventually(lambda: not self.north.knows(name), "it is gone without a fence", 5)
        self.assertIn("|left|", self.database.ask("SELECT name, state, '' FROM node"))

    def test_a_forwarded_call_is_cancelled_by_its_id_at_home_and_where_it_runs(self) -> None:
        name = self.unique("act")
        device = self.open(
            self.south, self.token(self.north, "kettle"), capabilities=["tool_call_cancel"]
        )
        device.register(tool(name))
        self.north.wait_known(name)
        for asked in (self.north, self.south):
            self.south.wait_token(self.north.caller_token())
            call_id = "stop-" + asked.config["fleet"]["node_name"] + name
            call = self.north.start_call(name, call_id=call_id, timeout=40)
            request = device.next_call(name)
            body = {"version": "v1", "tenant_id": "default", "call_id": call_id}
            reply = asked.fetch("POST", "/v1/tools/cancel", self.north.caller_token(), body=body)
            self.assertEqual(reply.json()["status"], "cancelling")
            frame = device.expect("tool_call_cancel")
            self.assertEqual(frame["id"], request["id"])
            device.send("tool_error", id=request["id"], error="stopped", success=False)
            self.assertEqual(call.result(20).code, "CANCELLED")
            device.fence()

    def test_without_nats_what_is_here_runs_and_what_is_elsewhere_is_refused(self) -> None:
        ann, here, there = self.caller(), self.unique("here"), self.unique("there")
        near = self.open(self.north, self.token(self.north, "near"))
        near.register(tool(here))
        far = self.open(self.south, self.token(self.north, "far"))
        far.register(tool(there))
        self.north.wait_known(there)
        self.nats.kill()
        try:
            call = self.north.start_call(here, token=ann)
            near.answer(near.next_call(here), "ran")
            self.assertEqual(call.result(10).result, {"text": "ran"})
            reply = self.north.call(there, token=ann)
            self.assertEqual(reply.code, "DEPENDENCY_UNAVAILABLE")
            far.assert_silent()
        finally:
            self.nats.start()
        far.serve({there: lambda args: "ran"})
        eventually(
            lambda: self.north.call(there, token=ann).status == "ok",
            "calls pass again",
            SOON,
        )


class DeathsTest(FleetCase):
    """Nodes that die, or stand still."""

    def call_whose_owner_is_killed(
        self, caller: str, name: str, key: str
    ) -> tuple[Future[Reply], Device]:
        """The call, which waits in the north, and the device, which is in the west now."""
        token = self.token(self.north, "kettle")
        device = self.open(self.south, token)
        device.register(tool(name))
        self.north.wait_known(name)
        call = self.north.start_call(
            name, {"a": 1}, token=caller, idempotency_key=key, timeout_ms=60_000, timeout=80
        )
        device.next_call(name)
        self.south.kill()
        device.drop()
        back = self.open(self.west, token)
        back.register(tool(name))
        return call, back

    def test_a_call_whose_owner_is_killed_is_unknown_everywhere_and_runs_never_again(self) -> None:
        ann, name = self.caller(), self.unique("act")
        key = "out-" + name
        call, back = self.call_whose_owner_is_killed(ann, name, key)
        # Whoever waited hears it from the ledger, through the node where the device is now.
        self.assertEqual(call.result(70).code, "OUTCOME_UNKNOWN")
        for node in (self.north, self.west):
            reply = node.call(name, {"a": 1}, token=ann, idempotency_key=key, timeout=40)
            self.assertEqual(reply.code, "OUTCOME_UNKNOWN")
        back.assert_silent()
        self.south.start()
        self.south.wait_heard(2)
        self.south.wait_known(name)
        reply = self.south.call(name, {"a": 1}, token=ann, idempotency_key=key, timeout=40)
        self.assertEqual(reply.code, "OUTCOME_UNKNOWN")
        back.assert_silent()
        other = self.north.start_call(name, {"a": 1}, token=ann, idempotency_key="new-" + key)
        back.answer(back.next_call(name), "ran")
        self.assertEqual(other.result(10).result, {"text": "ran"})

    def test_an_idempotent_call_whose_owner_is_killed_runs_again_where_the_device_is(self) -> None:
        ann, name = self.caller(), self.unique("again")
        key = "out-" + name
        call, back = self.call_whose_owner_is_killed(ann, name, key)
        back.answer(back.next_call(name, timeout=60), "ran again")
        self.assertEqual(call.result(70).result, {"text": "ran again"})
        reply = self.north.call(name, {"a": 1}, token=ann, idempotency_key=key)
        self.assertEqual(reply.result, {"text": "ran again"})
        back.assert_silent()

    def test_a_call_whose_home_is_killed_ends_and_another_node_replays_it(self) -> None:
        ann, name = self.caller(), self.unique("act")
        device = self.open(self.south, self.token(self.west, "kettle"))
        device.register(tool(name))
        self.north.wait_known(name)
        self.west.wait_known(name)
        key = "out-" + name
        self.north.start_call(name, {"a": 1}, token=ann, idempotency_key=key)
        request = device.next_call(name)
        self.north.kill()
        device.answer(request, "done")
        reply = self.west.call(name, {"a": 1}, token=ann, idempotency_key=key)
        self.assertEqual(reply.result, {"text": "done"})
        self.assertEqual(reply.http.headers["crab-replayed"], "true")
        device.assert_silent()

    def test_a_node_that_stood_still_is_fenced_off_and_what_it_ran_runs_nowhere_else(self) -> None:
        ann, name = self.caller(), self.unique("act")
        device = self.open(self.south, self.token(self.north, "kettle"))
        device.register(tool(name))
        self.north.wait_known(name)
        key = "out-" + name
        call = self.south.start_call(name, {"a": 1}, token=ann, idempotency_key=key, timeout=80)
        request = device.next_call(name)
        self.south.process.send_signal(signal.SIGSTOP)
        try:
            fenced = "SELECT count(*) FROM node WHERE name = 'south' AND state = 'fenced'"
            eventually(lambda: self.database.ask(fenced) == "1", "it is fenced off", SOON)
            eventually(lambda: not self.north.knows(name), "its devices are gone", SOON)
        finally:
            self.south.process.send_signal(signal.SIGCONT)
        device.answer(request, "late")
        # It ends under the next incarnation, for nobody has taken it over.
        self.assertEqual(call.result(30).result, {"text": "late"})
        self.north.wait_known(name)
        reply = self.north.call(name, {"a": 1}, token=ann, idempotency_key=key)
        self.assertEqual(reply.result, {"text": "late"})
        device.assert_silent()


class StartTest(FleetCase):
    """Who may not be a node."""

    def test_what_cannot_be_a_node_says_why(self) -> None:
        self.assertIn("a node of the name north runs in this fleet", self.refused("north"))
        self.assertIn("fleet.key_file", self.refused("east", key_file="/nowhere"))
        tls = self.refused("east", nats={"urls": ["tls://127.0.0.1:4222"]})
        self.assertIn("without TLS", tls)
        user = self.refused("east", nats={"user_file": str(self.key_file)})
        self.assertIn("name:password", user)
        alone = Node(self.config("east"))
        del alone.config["fleet"]["nats"]
        self.assertIn("another gateway uses the database", self.refusal(alone))
        nameless = Node(self.config("east"))
        del nameless.config["fleet"]["node_name"]
        self.assertIn("needs fleet.node_name", self.refusal(nameless))

    def test_a_copy_of_another_nodes_state_folder_does_not_start(self) -> None:
        copy = Node(self.config("east"))
        (copy.folder / "state").mkdir(mode=0o700)
        shutil.copy(self.south.folder / "state" / "fleet_node", copy.folder / "state")
        said = self.refusal(copy)
        self.assertIn("is that of the node south of home, not of east", said)


def identity(node: Node) -> object:
    """What the node is to its peers."""
    return node.admin_request("GET", "/v1/identity").json()


class KeysTest(FleetCase):
    """Nodes that have one key, and what it has sealed."""

    def tearDown(self) -> None:
        # As an operator does who has neither the key nor a state folder left.
        self.database.ask("DELETE FROM fleet_secret")
        super().tearDown()

    def test_a_node_with_another_key_does_not_start_until_no_other_runs(self) -> None:
        of_fleet = identity(self.south)
        foreign = self.database.folder / "foreign"
        foreign.write_text("6b" * 32 + "\n")
        said = self.refused("east", key_file=str(foreign))
        self.assertIn("fleet.key_file: the node ", said)
        self.assertIn("of this fleet has another key", said)
        both = self.database.folder / "both"
        both.write_text("6b" * 32 + "\n" + "5a" * 32 + "\n")
        # The others would not accept what it signs with the first.
        self.assertIn("has another key", self.refused("east", key_file=str(both)))
        for node in (self.north, self.south):
            node.stop()
        self.west.kill()  # its row says that it lives
        # What the lost key has sealed is known to a node of before, not to a new one.
        said = self.refused("east", key_file=str(foreign))
        self.assertIn("the fleet's identity was sealed by a key that is not in it", said)
        self.assertIn("first start a node that was in the fleet before", said)
        self.south.config["fleet"]["key_file"] = str(foreign)
        self.south.start()
        east = self.node("east", fleet={"key_file": str(foreign)})
        for node in (self.south, east):
            self.assertEqual(identity(node), of_fleet)

    def test_an_identity_that_nobody_can_open_is_made_anew_once_it_is_removed(self) -> None:
        former = identity(self.south)
        for node in (self.north, self.south, self.west):
            node.stop()
        foreign = self.database.folder / "another"
        foreign.write_text("7c" * 32 + "\n")
        fresh = {"fleet": {"key_file": str(foreign)}}
        self.assertIn("add the former key", self.refused("east", **fresh["fleet"]))
        self.database.ask("DELETE FROM fleet_secret")
        east = self.node("east", **fresh)
        self.assertNotEqual(identity(east), former)
        self.south.config["fleet"]["key_file"] = str(foreign)
        self.south.start()
        self.assertEqual(identity(self.south), identity(east))
        kept = self.south.folder / "state" / "gateway_identity.json.before_fleet"
        self.assertTrue(kept.exists())


if __name__ == "__main__":
    unittest.main()
