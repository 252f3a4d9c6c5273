"""docs/protocols/clawseed.md, section 11: what the operator forbids and changes (checklist
53-56)."""

from __future__ import annotations

import contextlib
import io
import json
import shutil
import unittest

from support import rtp
from support.case import GatewayCase
from support.device import tool
from support.gateway import Gateway
from support.wait import eventually

CONFIG = {
    "policy": [
        {"principal": "device/camera-only*", "register": {"allow": ["camera"]}},
        {
            "principal": "device/kitchen*",
            "register": {"allow": ["read_*"], "deny": ["read_contacts"]},
        },
        {"principal": "caller/limited", "call": {"allow": ["read_*"], "deny": ["read_secret"]}},
        {
            "principal": "caller/argued",
            "call": {"deny": ["read_*"]},
            "where": [{"pointer": "/room", "equals": "cellar"}],
        },
    ],
    "hooks": [
        {"name": "guard", "type": "deny", "tools": ["forbidden_*"], "reason": "not on Sundays"},
        {"name": "fixer", "type": "replace", "tools": ["fix_*"], "args": {"x": 1, "y": None}},
        {"name": "breaker", "type": "replace", "tools": ["break_*"], "args": {"x": "no number"}},
        {"name": "cellar", "type": "replace", "tools": ["read_moved*"], "args": {"room": "cellar"}},
    ],
}
NUMBER_X = {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]}


class RegisterPolicyTest(GatewayCase):
    CONFIG = CONFIG

    def test_clawseed_54_a_device_allowed_one_name_can_register_nothing_else(self) -> None:
        device = self.open(self.new_token("camera-only"))
        answer = device.register(
            tool("camera"), tool("microphone"), tool("Camera"), tool("camera2")
        )
        self.assertEqual((answer["count"], answer["registered"]), (4, 1))
        self.assertEqual(device.registered_names(), ["camera"])

    def test_clawseed_53_a_refused_name_counts_in_count_only_and_deny_wins(self) -> None:
        device = self.open(self.new_token("kitchen"), capabilities=("tools_registered.rejected",))
        answer = device.register(
            tool("read_contacts"), tool("read_thermometer"), tool("write_file")
        )
        self.assertEqual((answer["count"], answer["registered"]), (3, 1))
        self.assertEqual(
            [
                (element["index"], element["name"], element["code"])
                for element in answer["rejected"]
            ],
            [(0, "read_contacts", "FORBIDDEN"), (2, "write_file", "FORBIDDEN")],
        )
        self.assertEqual(device.registered_names(), ["read_thermometer"])

    def test_others_are_not_touched_by_the_rule(self) -> None:
        self.assertEqual(
            self.open().register(tool("read_contacts"), tool("microphone"))["registered"], 2
        )


class CallPolicyTest(GatewayCase):
    CONFIG = CONFIG

    def test_what_may_not_be_called_is_not_listed_and_not_found(self) -> None:
        device = self.open()
        device.register(tool("read_a"), tool("read_secret"), tool("write_a"))
        self.assertEqual(self.gateway.tools("limited").keys(), {"read_a"})
        for name in ("read_secret", "write_a", f"{self.slug}__write_a"):
            with self.subTest(name):
                self.assertIn(
                    self.gateway.call(name, caller="limited").code, ("TOOL_NOT_FOUND", "FORBIDDEN")
                )
        device.assert_silent()
        call = self.gateway.start_call("read_a", caller="limited")
        device.answer(device.next_call("read_a"), "ok")
        self.assertEqual(call.result(10).status, "ok")

    def test_a_rule_on_arguments_decides_by_them(self) -> None:
        device = self.open()
        device.register(tool("read_room"))
        reply = self.gateway.call("read_room", {"room": "cellar"}, caller="argued")
        self.assertEqual(reply.code, "FORBIDDEN")
        device.assert_silent()
        call = self.gateway.start_call("read_room", {"room": "kitchen"}, caller="argued")
        device.answer(device.next_call("read_room"), "ok")
        self.assertEqual(call.result(10).status, "ok")


class MayOnlyReadTest(GatewayCase):
    CONFIG = {
        "policy": [{"principal": "caller/reader", "effects": "none", "call": {"allow": ["*"]}}],
        "tools": [
            {"match": "look_*", "side_effects": False},
            {"match": "act_*", "side_effects": True},
        ],
    }

    def test_one_rule_lets_a_caller_only_read(self) -> None:
        device = self.open()
        device.register(
            tool("look_room"), tool("act_door"), tool("claims", annotations={"read_only": True})
        )
        self.assertIn("look_room", self.gateway.tools("reader").keys())
        self.assertTrue(
            {"act_door", "claims"}.isdisjoint(self.gateway.tools("reader").keys()),
            "what nobody who is trusted said is not believed",
        )
        for name in ("act_door", "claims"):
            self.assertIn(
                self.gateway.call(name, caller="reader").code, ("TOOL_NOT_FOUND", "FORBIDDEN")
            )
        device.assert_silent()
        call = self.gateway.start_call("look_room", caller="reader")
        device.answer(device.next_call("look_room"), "ok")
        self.assertEqual(call.result(10).status, "ok")
        listed = {
            each["name"]: each["effects"]
            for each in json.loads(self.gateway.crab("tools", "list", "-o", "json"))["tools"]
        }
        self.assertEqual(
            [listed[name] for name in ("look_room", "act_door", "claims")],
            ["none", "declared", "unknown"],
        )


class RatesTest(GatewayCase):
    CONFIG = {
        "rates": [{"principal": "caller/slow", "tool": "*", "per_second": 0.001, "burst": 1}],
        "policy": [],
    }

    def test_a_reload_gives_nobody_a_new_count(self) -> None:
        device = self.open()
        device.register(tool("look"))
        call = self.gateway.start_call("look", caller="slow")
        device.answer(device.next_call("look"), "ok")
        self.assertEqual(call.result(10).status, "ok")
        self.assertEqual(self.gateway.call("look", caller="slow").code, "RATE_LIMITED")
        self.gateway.reload({"policy": [{"principal": "caller/other", "call": {"deny": ["look"]}}]})
        eventually(lambda: "look" not in self.gateway.tools("other"), "the reload counts")
        self.assertEqual(self.gateway.call("look", caller="slow").code, "RATE_LIMITED")
        device.assert_silent()


class HookTest(GatewayCase):
    CONFIG = CONFIG

    def test_clawseed_55_a_denial_reaches_the_caller_with_its_reason_and_nothing_is_sent(
        self,
    ) -> None:
        device = self.open()
        device.register(tool("forbidden_door"))
        error = self.gateway.call("forbidden_door").error
        self.assertEqual(error["code"], "FORBIDDEN")
        self.assertIn("not on Sundays", error["message"])
        device.assert_silent()

    def test_clawseed_56_replaced_arguments_are_what_the_device_gets(self) -> None:
        device = self.open()
        device.register(tool("fix_it", NUMBER_X))
        call = self.gateway.start_call("fix_it", {"x": 7, "y": 2, "z": 3})
        request = device.next_call("fix_it")
        self.assertEqual(request["args"], {"x": 1, "z": 3})
        device.answer(request, "ok")
        self.assertEqual(call.result(10).status, "ok")

    def test_clawseed_56_replaced_arguments_are_validated_before_the_device_sees_them(self) -> None:
        device = self.open()
        device.register(tool("break_it", NUMBER_X))
        error = self.gateway.call("break_it", {"x": 7}).error
        self.assertEqual(error["code"], "INVALID_ARGS")
        violation = error["details"]["errors"][0]
        self.assertEqual((violation["pointer"], violation["rule"]), ("/x", "type"))
        self.assertTrue(violation["message"])
        device.assert_silent()

    def test_clawseed_56_replaced_arguments_are_authorized_again(self) -> None:
        device = self.open()
        device.register(tool("read_moved"))
        self.assertEqual(
            self.gateway.call("read_moved", {"room": "kitchen"}, caller="argued").code, "FORBIDDEN"
        )
        device.assert_silent()


class RepeatedNameTest(GatewayCase):
    """Arguments with two members of one name: a rule judges one of them, and the device might use
    the other."""

    CONFIG = CONFIG

    def test_no_front_lets_them_through(self) -> None:
        device = self.open()
        device.register(tool("read_room"))
        token = self.gateway.caller_token("argued")
        body = (
            json.dumps(rtp.call_request("read_room", {"room": "TWICE"}))
            .replace('"TWICE"', '"kitchen", "room": "cellar"')
            .encode()
        )
        answer = self.gateway.fetch("POST", "/v1/tools/call", token, body=body)
        self.assertEqual(
            (answer.status, answer.json()["error"]["code"]), (400, "INVALID_ARGS"), answer.body
        )
        self.assertIn("/args/room", answer.json()["error"]["message"])
        device.assert_silent()


class HangingHookTest(GatewayCase):
    """A program that hangs holds up the calls that it is asked about, and nobody else's."""

    CONFIG = {
        "tools": [{"match": "write*", "side_effects": True}],
        "hooks": [
            {
                "name": "hangs",
                "type": "command",
                "tools": ["stuck*"],
                "run": ["/bin/sleep", "30"],
                "timeout_ms": 20000,
            },
            {
                "name": "nods",
                "type": "command",
                "tools": ["write*"],
                "run": ["/bin/echo", '{"decision":"proceed"}'],
            },
        ],
    }

    def test_others_go_on_and_the_calls_deadline_holds(self) -> None:
        stuck, write = self.unique("stuck"), self.unique("write")
        device = self.open()
        device.register(tool(stuck), tool(write))
        device.serve({write: lambda _: "written"})
        hung = [
            self.gateway.start_call(stuck, timeout_ms=3000) for _ in range(12)
        ]  # more than one hook may run at once
        eventually(
            lambda: sum(call["call_id"] != "" for call in self.running()) >= 12,
            "all of them are in the gateway",
        )
        for n in range(5):
            reply = self.gateway.call(
                write, {"n": n}, idempotency_key=self.unique("key"), timeout_ms=2500
            )
            self.assertEqual(reply.result, {"text": "written"})
            self.assertLess(reply.seconds, 2.0)
        self.gateway.admin_request("POST", "/v1/admin/reload")
        for call in hung:
            reply = call.result(10)
            self.assertIn(reply.code, ("TIMEOUT", "RATE_LIMITED"))
            self.assertLess(reply.seconds, 6)

    def running(self) -> list[dict[str, str]]:
        return self.gateway.admin_request("GET", "/v1/admin/calls").json()["running"]


class BrokenHookTest(unittest.TestCase):
    def test_an_unknown_hook_stops_the_start_up(self) -> None:
        gateway = Gateway({"hooks": [{"name": "x", "type": "surprise"}]})
        self.addCleanup(shutil.rmtree, gateway.folder)
        with contextlib.redirect_stderr(io.StringIO()), self.assertRaisesRegex(
            AssertionError, "not a ready line"
        ):
            gateway.__enter__()
        self.assertGreater(gateway.process.wait(10), 0)
        self.assertIn("hooks[0].type", gateway.log_tail())
