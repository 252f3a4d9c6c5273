"""`crab bridge` between a gateway and providers behind Unix sockets: docs/protocols/cetp.md.
Numbers are those of its rules."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import unittest
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

from support.bridge import BridgeHome, UnixProvider, error, success, tool
from support.case import GatewayCase
from support.relay import Relay
from support.wait import PATIENCE, Stopwatch, eventually, fastest


#: A server of another user, which says what a caller has sent.
FOREIGN = """
import socket, sys
listener = socket.socket(socket.AF_UNIX)
listener.bind(sys.argv[1])
__import__("os").chmod(sys.argv[1], 0o777)
listener.listen()
print("listening", flush=True)
link, _ = listener.accept()
text = b""
while part := link.recv(65536):
    text += part
print(f"got {len(text)} bytes", flush=True)
"""


class BridgeCase(GatewayCase):
    """A user's home with a bridge to the gateway once `connect()` was called."""

    def setUp(self) -> None:
        self.home = BridgeHome()
        self.addCleanup(self.home.close)

    def connect(self) -> None:
        self.home.start(self.gateway, self.new_token("desk"))

    def connect_through_a_relay(self) -> Relay:
        """The same over a relay, which the test can cut."""
        relay = Relay(self.gateway.public)
        self.addCleanup(relay.close)
        self.home.start(self.gateway, self.new_token("desk"), relay.address)
        return relay

    def tools(self) -> set[str]:
        """What bridges have registered, as a caller sees it: plain names where one device has
        them."""
        return {name for name in self.gateway.tools() if "__" in name}

    def call(self, name: str, args: Any = None, **members: Any) -> Any:
        return self.gateway.call(
            f"{self.slug}__{name}", args if args is not None else {}, **members
        )

    def wait_tools(self, *names: str, limit: float = 5.0) -> None:
        eventually(lambda: self.tools() == set(names), f"the tools are {names}", limit)


class Calls(BridgeCase):
    def test_cetp_33_a_tool_is_registered_under_its_label_and_the_provider_gets_its_bare_name(
        self,
    ) -> None:
        ledger = self.home.provider("org.example.Ledger", tool("balance"), Label="Money")
        self.connect()
        self.wait_tools("money__balance")
        self.assertEqual(
            json.loads(self.call("money__balance", {"account": "cash"}).result["text"]),
            {"account": "cash"},
        )
        [extras] = ledger.named("execute_tool")
        self.assertEqual(
            (extras["tool_name"], json.loads(extras["args"])), ("balance", {"account": "cash"})
        )

    def test_cetp_1_the_bridge_is_all_that_connects_to_the_gateway(self) -> None:
        for name in ("Ledger", "Other"):
            self.home.provider(f"org.example.{name}", tool("balance"))
        self.connect()
        self.wait_tools("ledger__balance", "other__balance")
        devices = self.gateway.admin_request("GET", "/v1/admin/devices").json()["devices"]
        connected = [device for device in devices if device["connected"]]
        self.assertEqual([device["device"] for device in connected], [self.slug])
        self.assertEqual(
            {name for name in self.gateway.tools() if name.endswith("__balance")},
            {"ledger__balance", "other__balance"},
        )

    def test_cetp_48_64_the_request_id_is_the_gateways_and_stands_in_the_bridges_log(self) -> None:
        ledger = self.home.provider("org.example.Ledger", tool("balance"))
        self.connect()
        self.call("ledger__balance")
        [extras] = ledger.named("execute_tool")
        self.assertRegex(extras["request_id"], "^[0-9a-f-]{36}$")
        eventually(lambda: extras["request_id"] in self.home.log(), "the id is in the log")

    def test_cetp_65_the_data_arrives_byte_for_byte(self) -> None:
        text = '{ "größe" : "' + "ü€𝄞 " * 20_000 + '"}'
        self.home.provider("org.example.Ledger", tool("balance")).on_execute = lambda _: success(
            text
        )
        self.connect()
        self.assertTrue(
            self.call("ledger__balance").result == {"text": text}
        )  # no comparison of that size by lines

    def test_cetp_26_an_error_reaches_the_caller_with_code_message_and_hint(self) -> None:
        ledger = self.home.provider("org.example.Ledger", tool("balance"))
        ledger.on_execute = lambda _: error(
            "INVALID_ARGS", "no such account", resolution_hint="ask for `cash`"
        )
        self.connect()
        reply = self.call("ledger__balance")
        self.assertEqual(reply.error["message"], "[INVALID_ARGS] no such account — ask for `cash`")
        self.assertEqual(len(ledger.named("execute_tool")), 1, "an envelope is never repeated")

    def test_cetp_27_56_auth_required_is_shown_until_a_call_succeeds(self) -> None:
        ledger = self.home.provider("org.example.Ledger", tool("balance"))
        ledger.on_execute = lambda _: error(
            "AUTH_REQUIRED", "no consent", resolution_hint="Open Ledger and allow it"
        )
        self.connect()
        self.assertEqual(
            self.call("ledger__balance").error["message"],
            "[AUTH_REQUIRED] no consent — Open Ledger and allow it",
        )
        wish = eventually(
            lambda: self.home.provider_status("org.example.Ledger").get("auth_required"),
            "the wish is shown",
        )
        self.assertEqual(
            (wish["tool"], wish["hint"]), ("ledger__balance", "Open Ledger and allow it")
        )
        self.assertIn("Open Ledger and allow it", self.home.crab("status").stdout)
        ledger.on_execute = lambda _: success("12")
        self.assertEqual(self.call("ledger__balance").status, "ok")
        eventually(
            lambda: "auth_required" not in self.home.provider_status("org.example.Ledger"),
            "the wish is gone",
        )

    def test_cetp_15_an_unknown_tool_has_that_providers_list_read_again_and_no_others(self) -> None:
        ledger = self.home.provider("org.example.Ledger", tool("balance"))
        other = self.home.provider("org.example.Other", tool("x"))
        self.connect()
        self.wait_tools("ledger__balance", "other__x")
        ledger.on_list = lambda _: success({"tools": [tool("saldo")]})
        ledger.on_execute = lambda _: error("TOOL_NOT_FOUND")
        self.assertIn("[TOOL_NOT_FOUND]", self.call("ledger__balance").error["message"])
        self.wait_tools("ledger__saldo", "other__x")
        self.assertEqual(len(other.named("list_tools")), 1)

    def test_cetp_54_odd_names_get_legal_ones_and_are_callable(self) -> None:
        names = ["a b", "a_b", "t" * 300, "größe"]
        ledger = self.home.provider("org.example.Ledger", *[tool(name) for name in names])
        self.connect()
        registered = eventually(self.tools, "they are listed")
        self.assertEqual(len(registered), 4)
        for name in registered:
            self.assertRegex(name, "^[A-Za-z0-9_-]{1,64}$")
            self.assertEqual(self.call(name).status, "ok")
        self.assertEqual(
            {extras["tool_name"] for extras in ledger.named("execute_tool")}, set(names)
        )

    def test_cetp_62_a_cancel_ends_the_wait_at_once_and_no_reply_is_sent_then_or_later(
        self,
    ) -> None:
        ledger = self.home.provider("org.example.Ledger", tool("balance"), tool("rates"))
        ledger.on_execute = (
            lambda extras: ledger.hang(extras) or success("late")
            if extras["tool_name"] == "balance"
            else success("1")
        )
        relay = self.connect_through_a_relay()
        calls = [f"{uuid.uuid4()}" for _ in range(8)]
        running = [
            self.gateway.start_call(f"{self.slug}__ledger__balance", {}, call_id=call)
            for call in calls
        ]
        ids = eventually(
            lambda: len(ledger.named("execute_tool")) == 8
            and [extras["request_id"] for extras in ledger.named("execute_tool")],
            "all are out",
        )
        for call in calls:
            self.gateway.cancel(call)
        eventually(
            lambda: all(f"call_id={each} tool=ledger__balance" in self.home.log() for each in ids),
            "no wait goes on, 25 s before the deadline",
        )
        self.assertEqual(self.call("ledger__rates").status, "ok", "their places are free")
        for call in running:
            self.assertEqual(call.result(5).code, "CANCELLED")
        ledger.released.set()  # the answers come all the same
        self.assertEqual(self.call("ledger__rates").status, "ok")
        [connection] = relay.connections
        for each in ids:
            self.assertEqual(connection.sent_of("tool_result", "tool_error", id=each), [])

    def test_cetp_62_a_cancel_that_meets_the_answer_makes_no_second_reply(self) -> None:
        ledger = self.home.provider("org.example.Ledger", tool("balance"))
        doors = [threading.Event() for _ in range(20)]
        ledger.on_execute = (
            lambda extras: success("now")
            if doors[int(json.loads(extras["args"])["door"])].wait(10)
            else None
        )
        relay = self.connect_through_a_relay()
        for number, door in enumerate(doors):
            call = f"{uuid.uuid4()}"
            running = self.gateway.start_call(
                f"{self.slug}__ledger__balance", {"door": number}, call_id=call
            )
            eventually(lambda: len(ledger.named("execute_tool")) == number + 1, "the call is out")
            door.set()
            self.gateway.cancel(call)
            self.assertIn(running.result(5).body["status"], ("ok", "cancelled", "error"))
            eventually(
                lambda: self.home.log().count(" tool=ledger__balance ") == number + 1,
                "the bridge has done with it",
            )
        self.call("ledger__balance", {"door": 0})
        [connection] = relay.connections
        replies = [frame["id"] for frame in connection.sent_of("tool_result", "tool_error")]
        self.assertEqual(len(replies), len(set(replies)), "two replies to one call")


class Failures(BridgeCase):
    def test_cetp_67_a_provider_that_goes_away_is_called_once_more_with_the_same_id(self) -> None:
        ledger = self.home.provider("org.example.Ledger", tool("balance"))
        answers = iter([None, success("back")])
        ledger.on_execute = lambda _: next(answers)
        self.connect()
        watch = Stopwatch()
        self.assertEqual(self.call("ledger__balance").result, {"text": "back"})
        self.assertGreaterEqual(watch.seconds, 0.3)
        self.assertEqual(len({extras["request_id"] for extras in ledger.named("execute_tool")}), 1)

    def test_cetp_43_a_provider_that_never_answers_is_told_as_such_after_two_sends(self) -> None:
        ledger = self.home.provider("org.example.Ledger", tool("balance"))
        ledger.on_execute = lambda _: None
        self.connect()
        self.assertIn(
            "[INTERNAL_ERROR] provider did not answer",
            self.call("ledger__balance").error["message"],
        )
        self.assertEqual(len(ledger.named("execute_tool")), 2)

    def test_cetp_68_a_hanging_call_is_sent_once_fails_before_the_deadline_and_delays_nobody(
        self,
    ) -> None:
        ledger = self.home.provider("org.example.Ledger", tool("balance"))
        self.home.provider("org.example.Other", tool("x"))
        ledger.on_execute = ledger.hang
        self.connect()
        hanging = [
            self.gateway.start_call(f"{self.slug}__ledger__balance", {}, timeout_ms=3000)
            for _ in range(8)
        ]
        eventually(lambda: len(ledger.named("execute_tool")) == 8, "all are out")
        watch = Stopwatch()
        self.assertEqual(self.call("other__x").status, "ok")
        self.assertLess(watch.seconds, 1.0)
        self.assertIn("[RATE_LIMITED]", self.call("ledger__balance").error["message"])
        for call in hanging:
            self.assertRegex(
                call.result(10).error["message"], r"\[INTERNAL_ERROR\] no answer within 2\d{3} ms"
            )
        self.assertEqual(len(ledger.named("execute_tool")), 8)

    def test_a_bridge_that_is_stopped_gives_up_the_calls_that_are_out(self) -> None:
        ledger = self.home.provider("org.example.Ledger", tool("balance"))
        ledger.on_execute = ledger.hang
        self.connect()
        hanging = [self.gateway.start_call(f"{self.slug}__ledger__balance", {}) for _ in range(3)]
        eventually(lambda: len(ledger.named("execute_tool")) == 3, "all are out")
        watch = Stopwatch()
        self.assertEqual(self.home.end(), 0)
        self.assertLess(watch.seconds, 3.0)
        for call in hanging:
            self.assertNotEqual(call.result(10).status, "ok")

    def test_cetp_69_a_hanging_list_is_left_out_after_5_s_and_the_others_do_not_wait(self) -> None:
        stuck = self.home.provider("org.example.Stuck", tool("never"))
        stuck.on_list = stuck.hang
        for i in range(12):
            self.home.provider(f"org.example.P{i}", tool("x"))
        watch = Stopwatch()
        self.connect()
        self.wait_tools(*[f"p{i}__x" for i in range(12)])
        self.assertLess(watch.seconds, 4.0)
        self.home.wait_state("org.example.Stuck", "left out", 10)
        self.assertIn(
            "no answer within 5000 ms", self.home.provider_status("org.example.Stuck")["problem"]
        )
        self.assertEqual(len(stuck.named("list_tools")), 1)

    def test_cetp_73_tools_of_a_removed_manifest_leave_a_call_in_flight_finishes_and_later_ones_find_none(
        self,
    ) -> None:
        ledger = self.home.provider("org.example.Ledger", tool("balance"))
        door = threading.Event()
        self.addCleanup(door.set)
        ledger.on_execute = lambda _: success("late") if door.wait(20) else None
        relay = self.connect_through_a_relay()
        self.wait_tools("ledger__balance")
        running = self.gateway.start_call(f"{self.slug}__ledger__balance", {})
        eventually(lambda: ledger.named("execute_tool"), "the call is out")
        self.home.undeclare("org.example.Ledger")
        self.wait_tools()
        self.assertEqual(self.call("ledger__balance").code, "TOOL_NOT_FOUND")
        self.assertFalse(running.done(), "the tools have gone, and the call has not")
        door.set()
        self.assertEqual(running.result(10).result, {"text": "late"})
        self.assertEqual(len(ledger.named("execute_tool")), 1, "a later call reaches nobody")
        [connection] = relay.connections
        frame = connection.sent_of("register_tools")[-1]
        self.assertEqual((frame["tools"], frame["replace"]), ([], True))

    def test_cetp_73_tools_of_a_removed_manifest_leave_within_two_seconds(self) -> None:
        ledger = self.home.provider("org.example.Ledger", tool("balance"))
        self.connect()

        def leave() -> float:
            self.home.declare("org.example.Ledger", Transport="unix", Socket=str(ledger.path))
            self.wait_tools("ledger__balance")
            watch = Stopwatch()
            self.home.undeclare("org.example.Ledger")
            self.wait_tools()
            return watch.seconds

        self.assertLessEqual(fastest(leave, 2.0), 2.0)

    def test_cetp_74_versions_that_are_not_spoken_are_skipped_and_never_called(self) -> None:
        two = self.home.provider("org.example.Two", tool("x"), ProtocolVersion="2")
        word = self.home.provider("org.example.Word", tool("x"), ProtocolVersion="two")
        self.home.provider("org.example.One", tool("x"))
        self.connect()
        self.wait_tools("one__x")
        self.assertEqual((two.calls, word.calls), ([], []))
        self.assertEqual(len(self.home.status()["diagnostics"]), 2)

    def test_cetp_75_a_reply_over_a_mebibyte_is_too_large_and_not_repeated(self) -> None:
        ledger = self.home.provider("org.example.Ledger", tool("balance"))
        ledger.on_execute = lambda _: success("x" * ((1 << 20) + 1))
        self.connect()
        self.assertIn("result too large", self.call("ledger__balance").error["message"])
        self.assertEqual(len(ledger.named("execute_tool")), 1)

    def test_a_reply_that_is_no_envelope_counts_as_none(self) -> None:
        ledger = self.home.provider("org.example.Ledger", tool("balance"))
        ledger.on_execute = lambda _: b"oops"
        self.connect()
        self.assertIn("provider did not answer", self.call("ledger__balance").error["message"])

    def test_cetp_10_11_what_is_wrong_with_an_element_does_not_end_the_scan(self) -> None:
        elements = [
            tool("good"),
            tool("good", description="twice"),
            tool("bad", parameters={"type": 7}),
            tool("worse", parameters="x"),
            tool("double", parameters={"type": "object"}),
            {"description": "nameless"},
        ]
        self.home.provider("org.example.Ledger", *elements)
        self.connect()
        self.wait_tools("ledger__good", "ledger__double")
        self.assertEqual(len(self.home.provider_status("org.example.Ledger")["diagnostics"]), 4)

    def test_a_list_that_takes_long_to_read_delays_no_call_of_another_app(self) -> None:
        self.home.provider("org.example.Good", tool("x"))
        bad = self.home.provider("org.example.Bad", tool("odd"))
        self.connect()
        self.wait_tools("good__x", "bad__odd")
        heavy = [
            {
                f"p{i}": {"type": "string", "pattern": f"[\\p{{L}}]{{1,200}}{n}x{i}"}
                for i in range(100)
            }
            for n in range(100)
        ]
        elements = [
            tool("odd"),
            *[
                tool(f"heavy{n}", parameters={"type": "object", "properties": each})
                for n, each in enumerate(heavy)
            ],
        ]
        asked = threading.Event()
        bad.on_list = lambda _: asked.set() or success({"tools": elements})
        bad.on_execute = lambda _: error("TOOL_NOT_FOUND")

        def calls_while_it_is_read() -> int:
            listed = "provider listed provider=org.example.Bad"
            count, before = 0, self.home.log().count(listed)
            asked.clear()
            self.call("bad__odd")
            self.assertTrue(asked.wait(PATIENCE))
            while self.home.log().count(listed) == before:
                self.assertEqual(self.call("good__x").status, "ok")
                count += 1
            return count - 1  # the last one may have waited for it

        self.assertTrue(any(calls_while_it_is_read() >= 5 for _ in range(3)))
        told = self.home.provider_status("org.example.Bad")["diagnostics"]
        self.assertEqual(len(told), 65)
        self.assertEqual(told[-1], "36 tools behind 64 that are left out are not looked at")
        self.assertEqual(self.tools(), {"good__x", "bad__odd"})

    @unittest.skipUnless(
        os.geteuid() == 0 and shutil.which("setpriv"), "needs root, to be another user"
    )
    def test_cetp_60_a_socket_served_by_another_user_is_not_called(self) -> None:
        folder = Path(tempfile.mkdtemp(prefix="crab-foreign-"))
        self.addCleanup(shutil.rmtree, folder)
        folder.chmod(0o777)
        words = [
            "setpriv",
            "--reuid=65534",
            "--regid=65534",
            "--clear-groups",
            sys.executable,
            "-c",
            FOREIGN,
            str(folder / "sock"),
        ]
        server = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        try:
            self.assertEqual(server.stdout.readline(), "listening\n")
            self.home.declare("org.example.Foreign", Transport="unix", Socket=str(folder / "sock"))
            self.connect()
            self.home.wait_state("org.example.Foreign", "left out")
            self.assertIn(
                "[PERMISSION_DENIED] the provider's socket is served by another user",
                self.home.provider_status("org.example.Foreign")["problem"],
            )
            self.assertEqual(server.stdout.readline(), "got 0 bytes\n")
        finally:
            server.kill()
            server.wait(10)
            server.stdout.close()

    def test_a_manifest_that_comes_and_goes_ten_times_a_second_costs_few_scans(self) -> None:
        steady = self.home.provider("org.example.Steady", tool("x"))
        self.connect()
        self.wait_tools("steady__x")
        pace = threading.Event()
        for _ in range(20):
            self.home.declare("org.example.Flap", Transport="unix", Socket="/nowhere")
            pace.wait(0.05)
            self.home.undeclare("org.example.Flap")
            pace.wait(0.05)
            self.assertEqual(self.call("steady__x").status, "ok")
        ledger = self.home.provider("org.example.Ledger", tool("balance"))
        self.wait_tools("steady__x", "ledger__balance", limit=10)
        self.assertTrue(ledger.calls)
        self.assertLessEqual(len(steady.named("list_tools")), 8, "forty changes are a few bursts")

    def test_a_second_bridge_of_a_user_is_refused(self) -> None:
        self.connect()
        second = self.home.crab("run", "--token", "x")
        self.assertNotEqual(second.returncode, 0)
        self.assertIn("runs already", second.stderr)

    def test_cetp_2_two_bridges_of_two_users_share_a_provider(self) -> None:
        ledger = self.home.provider("org.example.Ledger", tool("balance"))
        self.connect()
        first = self.slug
        other = BridgeHome()
        self.addCleanup(other.close)
        other.declare("org.example.Ledger", Transport="unix", Socket=str(ledger.path))
        other.start(self.gateway, self.new_token("desk"))
        self.wait_tools(*[f"{slug}__ledger__balance" for slug in (first, self.slug)])
        for slug in (first, self.slug):
            self.assertEqual(self.gateway.call(f"{slug}__ledger__balance", {}).status, "ok")


class Records(BridgeCase):
    def test_cetp_50_the_users_folder_comes_first_hidden_masks_and_so_does_a_broken_file(
        self,
    ) -> None:
        for name in ("org.example.A", "org.example.B", "org.example.C"):
            self.home.declare(name, self.home.system_manifests, Transport="unix", Socket="/nowhere")
        mine = self.home.provider("org.example.A", tool("x"))
        self.home.declare("org.example.B", Hidden="true")
        broken = self.home.write(self.home.manifests / "org.example.C.ini", "no group\n")
        self.connect()
        self.wait_tools("a__x")
        self.assertEqual([entry["id"] for entry in self.home.apps()], ["org.example.A"])
        [diagnostic] = self.home.status()["diagnostics"]
        self.assertIn(str(broken), diagnostic)
        self.assertTrue(mine.calls)

    def test_cetp_51_manifests_are_seen_within_a_second_however_they_come_and_what_is_none_is_not(
        self,
    ) -> None:
        ledger, stray = self.home.provider(
            "org.example.Ledger", tool("balance")
        ), self.home.provider("org.example.Stray", tool("x"))
        manifest = self.home.manifests / "org.example.Ledger.ini"
        text, stray_text = (
            manifest.read_text(),
            (self.home.manifests / "org.example.Stray.ini").read_text(),
        )
        shutil.rmtree(self.home.manifests.parent)
        self.connect()
        ways = {
            "in a folder that did not exist": (
                lambda: shutil.rmtree(self.home.manifests.parent, ignore_errors=True),
                lambda: self.home.write(manifest, text),
            ),
            "rewritten": (
                lambda: manifest.write_text("[CETP Provider]\nHidden=true\n"),
                lambda: manifest.write_text(text),
            ),
            "renamed into place": (manifest.unlink, lambda: self.home.write(manifest, text)),
        }
        for way, (prepare, make) in ways.items():
            with self.subTest(way):
                self.assertLessEqual(
                    fastest(lambda: self.seen_after(prepare, make, ledger, stray_text), 1.0), 1.0
                )
        self.assertEqual(stray.calls, [])
        self.assertEqual([entry["id"] for entry in self.home.apps()], ["org.example.Ledger"])
        self.assertEqual(self.home.status()["diagnostics"], [])

    def seen_after(
        self,
        prepare: Callable[[], Any],
        make: Callable[[], Any],
        provider: UnixProvider,
        stray: str,
    ) -> float:
        """Seconds from `make` until the bridge asks the provider, while files that are no manifests
        change all the time: if they counted, the scan would wait for them to end."""
        prepare()
        self.wait_tools()
        asked, watch, pace = len(provider.named("list_tools")), Stopwatch(), threading.Event()
        make()
        while len(provider.named("list_tools")) == asked and watch.seconds < PATIENCE:
            for name in (".x.ini.swp", ".y.ini", "z.ini~", "z.txt"):
                (self.home.manifests / name).write_text(stray)
            pace.wait(0.02)
        took = watch.seconds
        self.wait_tools("ledger__balance")
        return took

    def test_cetp_52_ten_changes_in_a_burst_give_one_scan(self) -> None:
        ledger = self.home.provider("org.example.Ledger", tool("balance"))
        self.connect()
        self.wait_tools("ledger__balance")
        for i in range(10):
            self.home.provider(f"org.example.P{i}", tool("x"))
        self.wait_tools("ledger__balance", *[f"p{i}__x" for i in range(10)])
        self.assertEqual(len(ledger.named("list_tools")), 2)
        self.assertEqual(self.home.log().count("tools registered"), 2)

    def test_cetp_53_labels_stay_over_removals_and_restarts(self) -> None:
        a = self.home.provider("a.finance", tool("x"))
        self.home.provider("b.finance", tool("x"))
        self.connect()
        self.wait_tools("finance__x", "finance_2__x")
        self.home.undeclare("a.finance")
        self.wait_tools("finance_2__x")
        eventually(lambda: "finance_2" in self.home.choices.read_text(), "labels are kept")
        self.assertEqual(self.home.end(), 0)
        self.home.declare("a.finance", Transport="unix", Socket=str(a.path))
        self.connect()
        self.wait_tools("finance__x", "finance_2__x")
        self.call("finance__x")
        self.assertEqual(len(a.named("execute_tool")), 1)

    def test_what_is_off_by_default_waits_for_the_user_and_can_be_switched_off_again(self) -> None:
        shy = self.home.provider("org.example.Shy", tool("x"), DefaultDisabled="true")
        self.connect()
        self.assertEqual(
            (self.home.provider_status("org.example.Shy")["state"], shy.calls), ("off", [])
        )
        self.assertIn("off", self.home.crab("list").stdout)
        self.assertEqual(self.home.crab("enable", "org.example.Shy").returncode, 0)
        self.wait_tools("shy__x")
        self.assertEqual(self.home.choices.stat().st_mode & 0o777, 0o600)
        self.assertEqual(self.home.crab("disable", "org.example.Shy").returncode, 0)
        self.wait_tools()


class Link(BridgeCase):
    def test_cetp_66_tools_leave_with_the_bridge(self) -> None:
        self.home.provider("org.example.Ledger", tool("balance"))
        self.connect()
        self.wait_tools("ledger__balance")
        self.assertEqual(self.home.end(signal.SIGTERM), 0)
        self.wait_tools()
        self.assertFalse((self.home.folder / "run" / "crab" / "bridge.json").exists())

    def test_cetp_66_tools_leave_with_the_connection_and_one_frame_brings_them_back(self) -> None:
        self.home.provider("org.example.Ledger", tool("balance"), tool("rates"))
        other = self.home.provider("org.example.Other", tool("x"))
        names = {"ledger__balance", "ledger__rates", "other__x"}
        relay = self.connect_through_a_relay()
        self.wait_tools(*names)
        relay.break_down()
        self.wait_tools()
        self.assertEqual(self.call("other__x").status, "error")
        relay.mend()
        self.wait_tools(*names, limit=15)
        [_, back] = relay.connections
        [frame] = back.sent_of("register_tools")
        self.assertEqual({element["name"] for element in frame["tools"]}, names)
        self.assertEqual(self.call("other__x").status, "ok")
        other.on_list = lambda _: success({"tools": [tool("x"), tool("y")]})
        self.home.undeclare("org.example.Ledger")
        self.wait_tools("other__x", "other__y")
        self.assertEqual(
            len(back.sent_of("register_tools")),
            2,
            "no frame between the return and what has changed since",
        )

    def test_cetp_77_a_result_that_is_ready_while_the_gateway_is_away_goes_out_when_it_is_back(
        self,
    ) -> None:
        self.cut_during_a_call(answer_at="away")

    def test_cetp_77_a_result_that_is_ready_after_the_return_goes_out_on_the_new_connection(
        self,
    ) -> None:
        self.cut_during_a_call(answer_at="back")

    def test_cetp_77_a_gateway_that_was_killed_gets_the_result_when_it_runs_again(self) -> None:
        ledger = self.home.provider("org.example.Ledger", tool("balance"))
        door = threading.Event()
        self.addCleanup(door.set)
        ledger.on_execute = lambda _: success("late") if door.wait(25) else None
        relay = self.connect_through_a_relay()
        self.gateway.start_call(f"{self.slug}__ledger__balance", {}, timeout_ms=20_000)
        [call_id] = eventually(
            lambda: [extras["request_id"] for extras in ledger.named("execute_tool")],
            "the call is out",
        )
        relay.break_down()
        self.gateway.kill()
        door.set()
        eventually(lambda: f"call_id={call_id}" in self.home.log(), "the bridge has the answer")
        self.gateway.start()
        relay.target = self.gateway.public
        relay.mend()
        self.wait_tools("ledger__balance", limit=15)
        [_, after] = relay.connections
        [reply] = eventually(lambda: after.sent_of("tool_result", id=call_id), "the result is sent")
        self.assertEqual(reply["output"], "late")
        self.assertEqual(len(after.sent_of("register_tools")), 1)

    def cut_during_a_call(self, answer_at: str) -> None:
        ledger = self.home.provider("org.example.Ledger", tool("balance"))
        other = self.home.provider("org.example.Other", tool("x"))
        door = threading.Event()
        self.addCleanup(door.set)
        ledger.on_execute = lambda _: success("late") if door.wait(25) else None
        relay = self.connect_through_a_relay()
        self.wait_tools("ledger__balance", "other__x")
        running = self.gateway.start_call(
            f"{self.slug}__ledger__balance", {}, timeout_ms=20_000, timeout=30
        )
        [call_id] = eventually(
            lambda: [extras["request_id"] for extras in ledger.named("execute_tool")],
            "the call is out",
        )
        relay.break_down()
        self.wait_tools()
        if answer_at == "away":
            door.set()
            eventually(lambda: f"call_id={call_id}" in self.home.log(), "the bridge has the answer")
        relay.mend()
        self.wait_tools("ledger__balance", "other__x", limit=15)
        door.set()
        self.assertEqual(running.result(20).result, {"text": "late"})
        [before, after] = relay.connections
        self.assertEqual(before.sent_of("tool_result", "tool_error", id=call_id), [])
        self.assertEqual(
            {frame["output"] for frame in after.sent_of("tool_result", id=call_id)}, {"late"}
        )
        self.assertEqual(len(ledger.named("execute_tool")), 1, "the provider is asked once")
        other.on_list = lambda _: success({"tools": [tool("y")]})
        other.on_execute = lambda _: error("TOOL_NOT_FOUND")
        self.call("other__x")
        self.wait_tools("ledger__balance", "other__y")
        self.assertEqual(
            len(after.sent_of("register_tools")),
            2,
            "one for the return, one for what has changed since",
        )

    def test_without_a_bridge_status_says_so_and_providers_can_be_called_directly(self) -> None:
        self.home.provider("org.example.Ledger", tool("balance"))
        self.assertEqual(self.home.crab("status").returncode, 3)
        listed = self.home.crab("call", "org.example.Ledger")
        self.assertEqual(json.loads(listed.stdout)["tools"][0]["name"], "balance")
        called = self.home.crab("call", "org.example.Ledger", "balance", '{"a":1}')
        self.assertEqual((called.returncode, called.stdout), (0, '{"a":1}\n'))
        self.assertEqual(self.home.crab("call", "org.example.Nobody", "x").returncode, 5)


if __name__ == "__main__":
    unittest.main()
