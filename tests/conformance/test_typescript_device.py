"""The TypeScript package as a device in Node, at a real gateway (docs/protocols/clawseed.md,
sections 3, 4, 9 and 10)."""

from __future__ import annotations

import tempfile
import unittest
from pathlib import Path
from typing import Any

from support.case import GatewayCase
from support.node_device import MISSING, NodeDevice
from support.wait import eventually


@unittest.skipIf(MISSING, MISSING)
class TypescriptDeviceTest(GatewayCase):
    def node(self) -> NodeDevice:
        token = self.new_token("node")
        device = NodeDevice(self.gateway.public[1], self.slug, token)
        self.addCleanup(device.close)
        device.wait_event("connected")
        return device

    def call(self, name: str, args: Any = None, agent: str = "tests", **members: Any) -> Any:
        return self.gateway.call(
            f"{self.slug}__{name}", args, context={"agent_id": agent, "session_id": "s"}, **members
        )

    def test_its_tools_are_listed_and_answer(self) -> None:
        device = self.node()
        self.assertEqual(
            device.events("connected"), [{"kind": "connected", "tools": 7, "rejected": []}]
        )
        self.assertEqual(
            self.call("echo", {"text": "grüß — 🦀" * 10_000}).result["text"], "grüß — 🦀" * 10_000
        )
        self.assertEqual(
            self.call("whole", {"a": [1, None, {"b": 1.5}]}).result, {"a": [1, None, {"b": 1.5}]}
        )
        self.assertEqual(self.call("echo", {}).code, "INVALID_ARGS")  # the gateway knows the schema

    def test_a_key_in_a_file_takes_the_place_of_a_token(self) -> None:
        name = self.unique("node")
        code = self.gateway.admin_request("POST", "/v1/admin/devices/pair", {"name": name}).json()
        with tempfile.TemporaryDirectory() as folder:
            key = Path(folder, "key")
            for environment in ({"CRAB_CODE": code["code"]}, {}):  # paired, then found again
                environment = {**environment, "CRAB_KEY": str(key)}
                device = NodeDevice(self.gateway.public[1], name, "", environment)
                self.addCleanup(device.close)
                device.wait_event("connected")
                device.order("stop")
                device.wait_event("ended")
            self.assertEqual(key.stat().st_mode & 0o777, 0o600)

    def test_large_results_and_bytes_are_uploaded(self) -> None:
        self.node()
        for tool, args, kind, content in (
            (
                "echo",
                {"text": "grüß — 🦀" * 20_000},
                "text/plain;charset=utf-8",
                ("grüß — 🦀" * 20_000).encode(),
            ),
            ("picture", {"bytes": 3_000_000}, "image/jpeg", bytes(range(250)) * 12_000),
            ("picture", {"bytes": 0}, "image/jpeg", b""),
        ):
            artifact = self.call(tool, args).result["artifact"]
            self.assertEqual((artifact["content_type"], artifact["bytes"]), (kind, len(content)))
            self.assertEqual(
                self.gateway.fetch("GET", artifact["href"], self.gateway.caller_token()).body,
                content,
            )

    def test_failures_keep_their_codes(self) -> None:
        self.node()
        failure = self.call("asleep").error
        self.assertEqual(
            (failure["code"], failure["message"]),
            ("DEPENDENCY_UNAVAILABLE", "UNAVAILABLE: the sensor is asleep"),
        )

    def test_it_is_told_who_asks_and_its_no_is_final(self) -> None:
        self.node()
        self.assertEqual(
            self.call("who", agent="planner").result,
            {"principal": "caller/tester", "agent": "planner"},
        )
        self.assertEqual(self.call("who", agent="stranger").code, "FORBIDDEN")

    def test_a_timeout_and_a_cancel_reach_the_handler(self) -> None:
        device = self.node()
        self.assertEqual(self.call("slow", timeout_ms=300).status, "timeout")
        eventually(
            lambda: sum("aborted" in line for line in list(device.lines)) == 1,
            "the handler was stopped",
        )
        call = self.gateway.start_call(f"{self.slug}__slow", {}, call_id="node-cancel")
        eventually(
            lambda: sum(
                line.get("call", {}).get("phase") == "running" for line in list(device.lines)
            )
            == 2,
            "the second call runs",
        )
        self.gateway.cancel("node-cancel")
        self.assertNotEqual(call.result(20).status, "ok")
        eventually(
            lambda: sum("aborted" in line for line in list(device.lines)) == 2,
            "the handler was stopped again",
        )

    def test_tools_come_and_go_while_it_runs(self) -> None:
        device = self.node()
        device.order("add")
        device.order("remove")
        self.gateway.wait_listed("added")  # one device has it, so its plain name is listed
        self.gateway.wait_gone("echo")
        self.assertEqual(self.call("added").result["text"], "new")

    def test_a_revoked_token_ends_it_and_a_stop_says_goodbye(self) -> None:
        revoked = self.node()
        self.gateway.crab("devices", "revoke", self.slug)
        self.assertEqual(revoked.wait_event("ended")["end"]["reason"], "refused")
        stopped = self.node()
        stopped.order("stop")
        self.assertEqual(stopped.wait_event("ended")["end"]["reason"], "stopped")
        self.gateway.wait_gone("echo")

    def test_a_token_that_was_never_good_ends_it(self) -> None:
        device = NodeDevice(self.gateway.public[1], "nobody", "0" * 64)
        self.addCleanup(device.close)
        self.assertEqual(device.wait_event("ended")["end"]["reason"], "refused")


@unittest.skipIf(MISSING, MISSING)
class TypescriptDeviceReconnectTest(GatewayCase):
    def test_it_comes_back_to_a_gateway_that_was_restarted(self) -> None:
        token = self.new_token("node")
        self.gateway.config["listen"]["public"] = f"127.0.0.1:{self.gateway.public[1]}"
        device = NodeDevice(self.gateway.public[1], self.slug, token)
        self.addCleanup(device.close)
        device.wait_event("connected")
        self.gateway.kill()
        device.wait_event("lost")
        self.gateway.start()
        device.wait_event("connected", 2)
        self.assertEqual(
            self.gateway.call(f"{self.slug}__echo", {"text": "back"}).result["text"], "back"
        )


if __name__ == "__main__":
    unittest.main()
