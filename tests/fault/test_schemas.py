"""Schemas, lists and replies that cost as much as their author can make them: others notice
nothing, and memory comes back."""

from __future__ import annotations

import contextlib
import json
import sqlite3
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from support.case import GatewayCase
from support.device import tool
from support.gateway import Reply
from support.wait import eventually

MIB = 1 << 20
DELAY = 0.02  # seconds by which four calls that are costly to check may delay others
# seconds that a probe may take on a machine that is busy with other tests; each of these attacks
# once took 5 to 200
SLOWEST = 1.0


def heavy(salt: str, patterns: int = 100) -> dict[str, Any]:
    """A schema of a few kilobytes that would be gigabytes of automata."""
    return {
        "type": "object",
        "properties": {
            f"p{n}": {"type": "string", "pattern": f"[\\p{{L}}]{{1,200}}{salt}{n}"}
            for n in range(patterns)
        },
    }


def doubling(levels: int, leaf: dict[str, Any]) -> dict[str, Any]:
    """Two ways at each level, all of which end at the same leaf."""
    nodes = {
        str(n): {"anyOf": [{"$ref": f"#/$defs/{n + 1}"}, {"$ref": f"#/$defs/{n + 1}"}]}
        for n in range(levels)
    }
    return {"type": "object", "$ref": "#/$defs/0", "$defs": {**nodes, str(levels): leaf}}


class Probe:
    """Asks for something small again and again, each time over a connection of its own; how long
    the answers took."""

    def __init__(self, gateway: Any) -> None:
        self.gateway = gateway
        self.seconds: list[float] = []
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def _run(self) -> None:
        while not self._over.wait(0.005):
            began = time.monotonic()
            self.gateway.fetch("GET", "/health")
            self.seconds.append(time.monotonic() - began)

    @property
    def count(self) -> int:
        return len(self.seconds)

    @property
    def slowest(self) -> float:
        return max(self.seconds)

    @property
    def p99(self) -> float:
        return sorted(self.seconds)[self.count * 99 // 100]

    def __enter__(self) -> Probe:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()


class SchemaFaults(GatewayCase):
    CONFIG = {"devices": {"grace_ms": 200}}

    def delay_of_others(self, attack: Callable[[], object], probes: int = 200) -> float:
        """By how many seconds `attack`, again and again, moves the 99th percentile of what others
        wait, against the same without it right before: the best of three rounds, since other work
        of the machine only ever adds to it.
        """
        rounds = []
        interval = sys.getswitchinterval()
        self.addCleanup(sys.setswitchinterval, interval)
        # Threads of this process take turns; what they wait for each other is not the gateway's.
        sys.setswitchinterval(interval / 10)
        while len(rounds) < 3 and not (rounds and min(rounds) <= DELAY):
            with Probe(self.gateway) as quiet:
                eventually(lambda: quiet.count >= probes, "enough probes", 60)
            with Probe(self.gateway) as attacked:
                while attacked.count < probes:
                    attack()
            rounds.append(attacked.p99 - quiet.p99)
        return min(rounds)

    def test_one_list_of_heavy_patterns_delays_nobody_says_why_and_gives_its_memory_back(
        self,
    ) -> None:
        other = self.open()
        other.register(tool("calm"))
        memory = self.gateway.resident_bytes()
        attacker = self.open(capabilities=["tools_registered.rejected"])
        frame = [tool(f"heavy{n}", heavy(f"x{n}y")) for n in range(20)]
        self.assertLess(len(json.dumps(frame[:1])), 17_000)
        with Probe(self.gateway) as probe:
            attacker.send("register_tools", tools=[*frame, tool("small")])
            attacker.send("get_registered_tools")
            answer = attacker.expect("tools_registered", 60)
            self.assertEqual(
                [each["name"] for each in attacker.expect("registered_tools")["tools"]][-1], "small"
            )
        self.assertEqual(answer["count"], 21)
        self.assertTrue(answer["rejected"])
        for element in answer["rejected"]:
            self.assertEqual(element["code"], "OVERSIZE")
            self.assertRegex(element["message"], "memory|KiB")
        self.assertLess(probe.slowest, SLOWEST)
        self.assertGreater(probe.count, 3)
        listed = json.loads(self.gateway.crab("devices", "list", "-o", "json"))["devices"]
        refused = next(device for device in listed if device["device"] == self.slug)[
            "refused_tools"
        ]
        self.assertEqual(refused[0]["code"], "OVERSIZE")
        self.assertIn("is refused: OVERSIZE", self.gateway.crab("devices", "list"))
        attacker.drop()
        eventually(
            lambda: self.gateway.resident_bytes() < memory + 64 * MIB,
            "the memory is given back",
            10,
        )
        eventually(lambda: self.slug not in json.dumps(self.gateway.tools()), "its tools are gone")

    def test_replies_do_not_wait_behind_a_list_that_is_read(self) -> None:
        device = self.open()
        device.register(tool("read"))
        call = self.gateway.start_call("read")
        request = device.next_call("read")
        device.send("register_tools", tools=[tool(f"heavy{n}", heavy(f"r{n}s")) for n in range(10)])
        device.answer(request, "done")
        self.assertEqual(call.result(20).status, "ok")
        device.expect("tools_registered", 60)

    def test_calls_that_cost_too_much_to_check_are_refused_and_delay_nobody(self) -> None:
        device = self.open()
        spread = {
            "type": "object",
            "properties": {
                "a": {"$id": "urn:crab:a", **doubling(30, {"required": ["x"]})},
                "b": {"type": "string", "pattern": "(?=(a+)+$)b"},
            },
            "patternProperties": {"(?=x)(y|x)+z": False},
        }
        for schema in (doubling(40, {"required": ["x"]}), spread):
            name = self.unique("costly")
            device.register(tool(name, schema))
            args = {"a": {}, "b": "a" * 5_000, "xxxx": 1}
            replies: list[Reply] = []
            with ThreadPoolExecutor(4) as pool:
                delay = self.delay_of_others(
                    lambda: replies.extend(
                        pool.map(lambda _: self.gateway.call(name, args), range(4))
                    )
                )
            self.assertEqual({reply.code for reply in replies}, {"INVALID_ARGS"})
            self.assertTrue(
                any("too many steps" in reply.error["message"] for reply in replies),
                replies[0].error,
            )
            self.assertLessEqual(delay, DELAY)
        device.assert_silent()

    def test_results_that_cost_too_much_to_check_are_refused(self) -> None:
        device = self.open()
        name = self.unique("result")
        device.register(tool(name, output_schema=doubling(40, {"required": ["x"]})))
        replies: list[Reply] = []

        def four_calls() -> None:
            calls = [self.gateway.start_call(name) for _ in range(4)]
            for request in [device.next_call(name) for _ in calls]:
                device.answer(request, {"y": 1})
            replies.extend(call.result(20) for call in calls)

        self.assertLessEqual(self.delay_of_others(four_calls), DELAY)
        self.assertEqual({reply.code for reply in replies}, {"INTERNAL"})
        self.assertIn("too many steps", replies[0].error["message"])

    def test_a_flood_of_refused_lists_leaves_few_records_and_refuses_nobody_else(self) -> None:
        attacker = self.open()
        slug = self.slug
        bad = [{"name": "bad", "description": "x" * 100, "parameters": []} for _ in range(300)]
        memory = self.gateway.resident_bytes()
        for _ in range(300):
            attacker.send("register_tools", tools=bad)
        for _ in range(300):
            self.assertEqual(attacker.expect("tools_registered", 30)["count"], 300)
        device = self.open()
        name = self.unique("calm")
        device.register(tool(name))
        call = self.gateway.start_call(name)
        device.answer(device.next_call(name), "ok")
        self.assertEqual(call.result(10).status, "ok")
        self.assertLess(self.gateway.resident_bytes(), memory + 64 * MIB)
        records = eventually(lambda: self.audited(slug), "the refusals are in the audit log", 10)
        self.assertLess(len(records), 60)
        self.assertEqual((records[0]["refused"], len(records[0]["tools"])), (300, 8))

    def audited(self, slug: str) -> list[dict[str, Any]]:
        """The records about refused tools of that device."""
        with contextlib.closing(
            sqlite3.connect(f"file:{self.gateway.folder}/state/audit.db?mode=ro", uri=True)
        ) as database:
            tables = [
                name
                for (name,) in database.execute(
                    "select name from sqlite_master where type = 'table'"
                )
            ]
            texts = [
                value
                for table in tables
                for row in database.execute(f"select * from {table}")
                for value in row
            ]
        lines = [
            line
            for text in texts
            if isinstance(text, (str, bytes))
            for line in (
                text if isinstance(text, str) else text.decode(errors="replace")
            ).splitlines()
        ]
        return [
            record
            for line in lines
            if line.startswith("{")
            and "registration.refused" in line
            and (record := json.loads(line))["principal"] == f"device/{slug}"
        ]

    def test_an_endless_list_of_names_to_unregister_is_looked_at_in_part(self) -> None:
        device = self.open()
        device.register(tool("a"), tool("b"))
        with Probe(self.gateway) as probe:
            device.send("unregister_tools", names=["a", *("nobody" for _ in range(500_000))])
            answer = device.expect("tools_registered", 30)
        self.assertEqual((answer["count"], answer["registered"]), (500_001, 1))
        self.assertLess(probe.slowest, SLOWEST)


class UnreadableReplies(GatewayCase):
    def test_a_reply_that_cannot_be_read_is_told_the_caller_at_once(self) -> None:
        device = self.open()
        name = self.unique("broken")
        device.register(tool(name))
        for output in ("1e999", '"\\ud800"', "[" * 100 + "]" * 100, "[1,2,,]"):
            with self.subTest(output[:20]):
                call = self.gateway.start_call(name, timeout_ms=20_000)
                request = device.next_call(name)
                device.socket.send_text(
                    f'{{"type":"tool_result","id":"{request["id"]}","output":{output},'
                    f'"success":true}}'
                )
                device.acknowledged(request["id"])
                device.expect_error("INVALID_JSON")
                reply = call.result(5)
                self.assertIn("cannot be read", reply.error["message"])
                self.assertLess(reply.seconds, 5)


class WaitingCalls(GatewayCase):
    def test_calls_beyond_64_wait_for_their_turn(self) -> None:
        device = self.open()
        name = self.unique("busy")
        device.register(tool(name))
        calls = [self.gateway.start_call(name) for _ in range(80)]
        first = [device.next_call(name) for _ in range(64)]
        device.assert_silent()
        for request in first:
            device.send("tool_result", id=request["id"], output="ok", success=True)
        frames = [device.receive() for _ in range(64 + 16)]
        rest = [frame for frame in frames if frame["type"] == "tool_call_request"]
        self.assertEqual(len(rest), 16)
        for request in rest:
            device.answer(request, "ok")
        self.assertEqual([call.result(10).status for call in calls], ["ok"] * 80)
