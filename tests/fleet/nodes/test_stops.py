"""Nodes of a fleet that are told to end, and a database that goes and comes back."""

from __future__ import annotations

import signal
import threading
import time
import unittest

from fleet import SOON, FleetCase, Node
from support.device import tool
from support.gateway import Reply
from support.stream import EndOfStream
from support.wait import eventually


class StopsTest(FleetCase):
    """Nodes that are told to end, and a database that goes and comes back."""

    def ending(self, node: Node) -> None:
        node._may_end = True
        node.process.send_signal(signal.SIGTERM)

    def test_a_node_that_stops_ends_what_it_runs_for_another_and_takes_no_more(self) -> None:
        ann, name = self.caller(), self.unique("act")
        device = self.open(self.south, self.token(self.north, "kettle"))
        device.register(tool(name))
        self.north.wait_known(name)
        call = self.north.start_call(name, token=ann, idempotency_key="k-" + name, timeout=40)
        request = device.next_call(name)
        self.ending(self.south)
        eventually(lambda: not self.north.knows(name), "its devices are not offered", 5)
        device.answer(request, "done")
        self.assertEqual(call.result(10).result, {"text": "done"})
        self.south.wait_stopped()

    def test_a_node_that_stops_waits_for_calls_that_others_run_for_it(self) -> None:
        ann, name = self.caller(), self.unique("act")
        device = self.open(self.south, self.token(self.west, "kettle"))
        device.register(tool(name))
        self.north.wait_known(name)
        call = self.north.start_call(name, token=ann, timeout=40)
        request = device.next_call(name)
        self.ending(self.north)
        self.assertFalse(call.done())
        device.answer(request, "done")
        self.assertEqual(call.result(10).result, {"text": "done"})
        self.north.wait_stopped()

    def test_a_call_that_outlasts_its_home_is_unknown_there_and_goes_on(self) -> None:
        ann, name = self.caller(), self.unique("act")
        device = self.open(self.south, self.token(self.west, "kettle"))
        device.register(tool(name))
        self.north.wait_known(name)
        self.west.wait_known(name)
        key = "out-" + name
        call = self.north.start_call(
            name, {"a": 1}, token=ann, idempotency_key=key, timeout_ms=60_000, timeout=40
        )
        request = device.next_call(name)
        self.ending(self.north)
        self.assertEqual(call.result(20).code, "OUTCOME_UNKNOWN")
        self.north.wait_stopped()
        device.answer(request, "done")
        reply = self.west.call(name, {"a": 1}, token=ann, idempotency_key=key)
        self.assertEqual(reply.result, {"text": "done"})
        device.assert_silent()

    def test_nodes_that_start_anew_one_by_one_under_load_lose_no_call_and_run_none_twice(
        self,
    ) -> None:
        ann, name = self.caller(), self.unique("act")
        ran: list[int] = []
        token = self.token(self.north, "kettle")
        device = self.open(self.south, token)
        device.register(tool(name))
        device.serve({name: lambda args: ran.append(args["n"]) or f"ran {args['n']}"})
        for node in (self.north, self.west):
            node.wait_known(name)
        codes: list[str] = []
        wrong: list[str] = []
        over = threading.Event()

        def calls(node: Node, first: int) -> None:
            for n in range(first, first + 100_000):
                if over.is_set():
                    return
                key = f"{name}-{n}"
                try:
                    reply = node.call(name, {"n": n}, token=ann, idempotency_key=key, timeout=30)
                except (OSError, AssertionError, EndOfStream):  # it is starting anew
                    codes.append("away")
                    time.sleep(0.05)
                    continue
                codes.append(reply.status if reply.status == "ok" else reply.code)
                told = (reply.result, ran.count(n))
                if reply.status == "ok" and told != ({"text": f"ran {n}"}, 1):
                    wrong.append(f"{n}: {told}")

        threads = [
            threading.Thread(target=calls, args=(node, 100_000 * i))
            for i, node in enumerate((self.north, self.west, self.north, self.west))
        ]
        for thread in threads:
            thread.start()
        try:
            for node in (self.north, self.west):
                time.sleep(1)  # of load
                node.stop()
                node.start()
                node.wait_heard(2)
                node.wait_known(name)
        finally:
            over.set()
            for thread in threads:
                thread.join(40)
        self.assertEqual(wrong, [])
        self.assertEqual(len(ran), len(set(ran)), "none runs twice")
        self.assertGreater(codes.count("ok"), 100)
        # Whoever is answered is told what happened, or that nothing did; a node that has just
        # begun does not know the tool yet.
        self.assertLessEqual(
            set(codes),
            {"ok", "away", "UNAVAILABLE", "DEPENDENCY_UNAVAILABLE", "TOOL_NOT_FOUND"},
        )

    def test_an_end_that_the_database_did_not_take_is_written_when_it_is_back(self) -> None:
        ann, name = self.caller(), self.unique("act")
        device = self.open(self.south, self.token(self.north, "kettle"))
        device.register(tool(name))
        self.north.wait_known(name)
        key = "out-" + name
        call = self.north.start_call(name, {"a": 1}, token=ann, idempotency_key=key, timeout=60)
        request = device.next_call(name)
        self.database.stop()
        device.answer(request, "done")
        try:
            self.assertEqual(call.result(40).result, {"text": "done"})
        finally:
            self.database.start()
        eventually(
            lambda: self.south.fleet_metric("crab_ledger_owed") == 0, "its end is stored", SOON
        )
        self.south.kill()  # who knew it in memory
        device.drop()
        back = self.open(self.west, device._token)
        back.register(tool(name))
        for node in (self.north, self.west):
            reply = self.answer_of(node, name, ann, key)
            self.assertEqual(reply.result, {"text": "done"})
        back.assert_silent()

    @staticmethod
    def answer_of(node: Node, name: str, token: str, key: str) -> Reply:
        """Of a repeat, as soon as the node knows where the device is."""
        known: list[Reply] = []

        def is_known() -> bool:
            reply = node.call(name, {"a": 1}, token=token, idempotency_key=key, timeout=60)
            if reply.status == "retryable_error":
                return False
            known.append(reply)
            return True

        eventually(is_known, "a repeat is answered", SOON * 2)
        return known[0]

    def test_an_end_that_goes_with_its_node_is_unknown_and_runs_never_again(self) -> None:
        ann, name = self.caller(), self.unique("act")
        device = self.open(self.south, self.token(self.north, "kettle"))
        device.register(tool(name))
        self.north.wait_known(name)
        key = "out-" + name
        call = self.north.start_call(name, {"a": 1}, token=ann, idempotency_key=key, timeout=60)
        request = device.next_call(name)
        self.database.stop()
        device.answer(request, "done")
        try:
            self.assertEqual(call.result(40).result, {"text": "done"})
            self.south.kill()
        finally:
            self.database.start()
        device.drop()
        back = self.open(self.west, device._token)
        back.register(tool(name))
        self.assertEqual(self.answer_of(self.west, name, ann, key).code, "OUTCOME_UNKNOWN")
        back.assert_silent()


if __name__ == "__main__":
    unittest.main()
