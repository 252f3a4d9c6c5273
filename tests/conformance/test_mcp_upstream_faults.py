"""MCP servers that misbehave: each costs its own entries and calls only. Sections 2.6, 7.4 and 8 of
docs/protocols/mcp.md; what the fixture does wrong is in its `--help`."""

from __future__ import annotations

import contextlib
import socket
import sys
import threading
import time
import unittest
from pathlib import Path
from typing import Any

from support.mcp import (
    ASK,
    Fixture,
    McpCase,
    McpError,
    Message,
    await_state,
    child,
    faulty,
    servers_of,
    text_of,
)
from support.wait import eventually

MIB = 1 << 20


def code_of(result: Message) -> str:
    """The token of a failed call."""
    assert result.get("isError"), result
    return result["_meta"]["crab/error"]["code"]


class FaultCase(McpCase):
    """With a server that is well, whose calls and lists go on."""

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        await_state(cls.gateway, "well", "ready")

    def assert_others_are_well(self, client: Any) -> None:
        began = time.monotonic()
        self.assertEqual(text_of(client.call("well__greet", {"name": "Ada"})), "Hello, Ada!")
        self.assertTrue(client.request("tools/list")["tools"])
        self.assertLess(time.monotonic() - began, 3)


def well() -> dict[str, Any]:
    return child("--tools", "^greet$")


class StartTest(FaultCase):
    @classmethod
    def servers(cls) -> dict[str, dict[str, Any]]:
        quick = {"start_timeout": "1s", "probe_timeout": "300ms", "start": "eager"}
        return {
            "well": well(),
            "hangs": faulty("hang_at_start", **quick),
            "exits": faulty("exit_at_start", start="eager"),
            "noise": faulty("only_garbage", start="eager"),
            "wrong": faulty("wrong_version", fixture_era="legacy", start="eager"),
            "missing": {"command": "/nowhere/at/all", "start": "eager"},
            "slow": faulty("slow_start", "twice", start="eager", probe_timeout="10s"),
        }

    def test_servers_that_never_begin_say_why_and_hold_up_nobody(self) -> None:
        client = self.client("modern")
        self.assert_others_are_well(client)
        for name, reason in (
            ("hangs", ""),
            ("exits", "has closed its output"),
            ("noise", "100 lines in a row that are no messages"),
            ("wrong", "1999-01-01"),
            ("missing", "could not be started"),
        ):
            with self.subTest(name):
                said = await_state(self.gateway, name, "failing")
                self.assertIn(reason, said["error"])
                self.assertTrue(said["error"])
                if name == "exits":  # what it wrote is for the operator, and in no caller's error
                    self.assertIn("exits as it was told to", said["stderr"])
        self.assert_others_are_well(client)
        await_state(self.gateway, "slow", "ready")
        self.assertEqual(text_of(client.call("slow__greet", {"name": "Ada"})), "Hello, Ada!")


class CallTest(FaultCase):
    @classmethod
    def servers(cls) -> dict[str, dict[str, Any]]:
        return {
            "well": well(),
            "dies": faulty("die_mid_call"),
            "dies-late": faulty("die_after_effect"),
            "hangs": faulty("hang_mid_call"),
            "hangs-legacy": faulty("hang_mid_call", fixture_era="legacy"),
            "floods": faulty("flood_stderr"),
            "noisy": faulty("garbage"),
            "stray": faulty("wrong_id"),
            "lost": faulty("only_wrong_id", start_timeout="1s"),
            "twice": faulty("twice"),
            "long": faulty("long_line"),
            "bare": faulty("no_result_type", fixture_era="modern"),
            "odd": faulty("odd_result_type", fixture_era="modern"),
        }

    def test_one_that_dies_while_it_runs_leaves_the_outcome_open_and_comes_back(self) -> None:
        client = self.client("modern")
        for name in ("dies", "dies-late"):
            with self.subTest(name):
                await_state(self.gateway, name, "ready")
                began = time.monotonic()
                result = client.call(f"{name}__test_count", {"key": "a"})
                self.assertEqual(code_of(result), "OUTCOME_UNKNOWN")
                self.assertLess(time.monotonic() - began, 5, "at once, not at its deadline")
                self.assert_others_are_well(client)
                await_state(self.gateway, name, "ready")

    def test_one_that_hangs_is_left_at_the_deadline(self) -> None:
        client = self.client("modern")
        for name in ("hangs", "hangs-legacy"):
            with self.subTest(name):
                await_state(self.gateway, name, "ready")
                began = time.monotonic()
                result = client.call(f"{name}__greet", {"name": "Ada"}, **{"crab/timeoutMs": 500})
                self.assertEqual(code_of(result), "TIMEOUT")
                self.assertLess(time.monotonic() - began, 5)
        self.assert_others_are_well(client)

    def test_noise_is_skipped(self) -> None:
        client = self.client("modern")
        before = self.gateway.forget_peak()
        for name in ("floods", "noisy", "stray", "twice", "bare"):
            with self.subTest(name):
                await_state(self.gateway, name, "ready")
                for _ in range(3):
                    said = client.call(f"{name}__greet", {"name": "Ada"})
                    self.assertEqual(text_of(said), "Hello, Ada!")
        self.assertLess(len(servers_of(self.gateway)["floods"].get("stderr", "")), 70_000)
        self.assertLess(self.gateway.growth_since(before), 64 * MIB)

    def test_answers_to_other_ids_are_no_answers(self) -> None:
        said = await_state(self.gateway, "lost", "failing")
        self.assertTrue(said["error"])
        self.assert_others_are_well(self.client("modern"))

    def test_a_result_above_the_limit_ends_its_call(self) -> None:
        client = self.client("modern")
        await_state(self.gateway, "long", "ready")
        before = self.gateway.forget_peak()
        self.assertIn(code_of(client.call("long__greet", {"name": "Ada"})), _LARGE)
        self.assertLess(self.gateway.growth_since(before), 64 * MIB)
        self.assert_others_are_well(client)

    def test_a_result_of_an_unknown_type_is_a_failure(self) -> None:
        await_state(self.gateway, "odd", "failing")
        self.assert_others_are_well(self.client("modern"))


_LARGE = ("OVERSIZE", "OUTCOME_UNKNOWN")


class ListTest(FaultCase):
    @classmethod
    def servers(cls) -> dict[str, dict[str, Any]]:
        return {
            "well": well(),
            "loops": faulty("cursor_loop"),
            "endless": faulty("endless_pages"),
            "empty": faulty("empty_cursor"),
            "huge": faulty("huge_lists"),
            "storm": faulty("storm"),
            "odd": faulty("odd_entries", env={"FIXTURE_ELSEWHERE": cls.elsewhere()}),
        }

    @classmethod
    def elsewhere(cls) -> str:
        """An address that somebody listens at."""
        cls.listener = cls.enterClassContext(socket.create_server(("127.0.0.1", 0)))
        cls.listener.setblocking(False)
        return f"http://127.0.0.1:{cls.listener.getsockname()[1]}/schema.json"

    def test_cursors_that_go_nowhere_end_the_reading(self) -> None:
        for name in ("loops", "endless"):
            with self.subTest(name):
                self.assertTrue(await_state(self.gateway, name, "failing", 40)["error"])
        self.assertGreater(await_state(self.gateway, "empty", "ready")["tools"], 40)
        self.assert_others_are_well(self.client("modern"))

    def test_of_huge_lists_a_part_is_offered_and_the_rest_is_said(self) -> None:
        said = await_state(self.gateway, "huge", "ready", 60)
        self.assertEqual((said["tools"], said["prompts"]), (10_000, 1_000))
        self.assertLess(self.gateway.resident_bytes(), 700 * MIB)
        self.assert_others_are_well(self.client("modern"))

    def test_a_storm_of_changes_reaches_nobody_when_nothing_has_changed(self) -> None:
        await_state(self.gateway, "storm", "ready")
        await_state(self.gateway, "huge", "ready", 60)
        client = self.client("modern")
        pending = client.listen(toolsListChanged=True, promptsListChanged=True)
        self.addCleanup(pending.close)
        came: list[Message] = []
        reader = threading.Thread(target=lambda: came.extend(pending.messages()), daemon=True)
        reader.start()
        for _ in range(5):
            time.sleep(0.3)
            self.assert_others_are_well(client)
        pending.close()
        reader.join(10)
        self.assertLessEqual(len([one for one in came if "list_changed" in one["method"]]), 1)

    def test_odd_entries_cost_only_themselves(self) -> None:
        said = await_state(self.gateway, "odd", "ready")
        self.assertIn("odd_remote_ref", {one["name"] for one in said["left_out"]})
        with self.assertRaises(BlockingIOError):  # 67
            self.listener.accept()
        self.assertEqual(
            text_of(self.client("modern").call("odd__greet", {"name": "Ada"})), "Hello, Ada!"
        )


class HttpTest(FaultCase):
    @classmethod
    def servers(cls) -> dict[str, dict[str, Any]]:
        def fault(name: str, speaks: str, **members: Any) -> dict[str, Any]:
            return cls.on_http("--fault", name, "--era", speaks, **members)

        return {
            "well": well(),
            "broken": fault("broken", "modern"),
            "redirects": fault("redirect", "modern"),
            "garbage": fault("garbage", "modern"),
            "busy": fault("busy", "modern", era="modern"),
            "busy-calls": fault("busy_calls", "modern", era="modern"),
            "drops": fault("drop_mid_call", "modern"),
            "drops-legacy": fault("drop_mid_call", "legacy"),
            "mismatch": fault("header_mismatch", "modern"),
            "asks-apart": fault("ask_apart", "legacy"),
            "foreign": cls.on_http("--fault", "foreign_endpoint", transport="sse", era="sse"),
        }

    def test_servers_that_refuse_everything_say_so(self) -> None:
        for name in ("broken", "redirects", "garbage", "foreign"):
            with self.subTest(name):
                self.assertTrue(await_state(self.gateway, name, "failing")["error"])
        self.assert_others_are_well(self.client("modern"))

    def test_a_busy_server_is_waited_for(self) -> None:
        await_state(self.gateway, "busy", "ready", 40)
        client = self.client("modern")
        for _ in range(4):
            said = client.call("busy__greet", {"name": "Ada"})
            if said.get("isError"):
                self.assertEqual(code_of(said), "RATE_LIMITED")
                self.assertEqual(said["_meta"]["crab/error"]["retry_after_ms"], 1000)
            else:
                self.assertEqual(text_of(said), "Hello, Ada!")

    def test_a_call_that_was_told_to_wait_is_made_again_when_it_may(self) -> None:
        """85: 429 says that nothing ran, so a tool with effects is called again, too."""
        await_state(self.gateway, "busy-calls", "ready")
        client = self.client("modern")
        for count in (1, 2):
            began = time.monotonic()
            said = client.call("busy-calls__test_count", {"key": "a"})
            self.assertEqual(said["structuredContent"], {"count": count})
            self.assertGreaterEqual(time.monotonic() - began, 1, "as long as it was told to")
        began = time.monotonic()
        said = client.call("busy-calls__test_count", {"key": "a"}, **{"crab/timeoutMs": 500})
        self.assertEqual(code_of(said), "RATE_LIMITED", "it has not the time")
        self.assertEqual(said["_meta"]["crab/error"]["retry_after_ms"], 1000)
        self.assertLess(time.monotonic() - began, 1)

    def test_a_broken_connection_leaves_the_outcome_open(self) -> None:
        client = self.client("modern")
        for name in ("drops", "drops-legacy"):
            with self.subTest(name):
                await_state(self.gateway, name, "ready")
                began = time.monotonic()
                result = client.call(f"{name}__test_count", {"key": "a"})
                self.assertEqual(code_of(result), "OUTCOME_UNKNOWN")
                self.assertLess(time.monotonic() - began, 10)

    def test_headers_that_are_refused_are_made_anew(self) -> None:
        await_state(self.gateway, "mismatch", "ready")
        said = self.client("modern").call("mismatch__greet", {"name": "Ada"})
        self.assertEqual(text_of(said), "Hello, Ada!")

    def test_a_question_on_the_stream_of_the_session(self) -> None:
        await_state(self.gateway, "asks-apart", "ready")
        for era in ("legacy", "modern"):
            with self.subTest(era):
                client = self.client(era)
                client.answers["roots/list"] = lambda _: {"roots": []}
                said = client.call("asks-apart__test_input_required_result_list_roots")
                self.assertEqual(text_of(said), "Roots: []")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class OtherEraTest(FaultCase):
    """Servers that speak another era after they were started again."""

    @classmethod
    def servers(cls) -> dict[str, dict[str, Any]]:
        cls.port, cls.keeps = free_port(), free_port()
        return {
            "well": well(),
            "turns": {"url": f"http://127.0.0.1:{cls.port}/mcp", "ask": ASK},
            "keeps": {"url": f"http://127.0.0.1:{cls.keeps}/mcp", "ask": ASK},
        }

    def test_the_era_is_asked_anew(self) -> None:
        client = self.client("modern")
        for era, version in (
            ("modern", "2026-07-28"),
            ("legacy", "2025-11-25"),
            ("modern", "2026-07-28"),
        ):
            with self.subTest(era), Fixture("--era", era, "--port", str(self.port)):

                def speaks(wanted: str = version) -> bool:
                    with contextlib.suppress(McpError):
                        client.call("turns__greet", {"name": "Ada"})
                    said = servers_of(self.gateway)["turns"]
                    return said["state"] == "ready" and said["version"] == wanted

                eventually(speaks, f"it speaks {version}", 20)
                said = client.call("turns__greet", {"name": "Ada"})
                self.assertEqual(text_of(said), "Hello, Ada!")
            self.assert_others_are_well(client)

    def test_a_session_that_was_lost_with_its_server_is_replaced(self) -> None:
        client = self.client("modern")
        for number in range(2):
            with Fixture("--era", "legacy", "--port", str(self.keeps)):
                await_state(self.gateway, "keeps", "ready", 40)
                for _ in range(2):
                    said = client.call("keeps__greet", {"name": str(number)})
                    self.assertEqual(text_of(said), f"Hello, {number}!")


class DeadlineTest(FaultCase):
    """A person may take longer than a tool."""

    @classmethod
    def servers(cls) -> dict[str, dict[str, Any]]:
        return {
            "well": well(),
            "http": cls.on_http("--era", "legacy", timeout="3s"),
            "stdio": child("--era", "legacy", interactive=True, timeout="3s"),
            "modern": child("--era", "modern", timeout="3s"),
        }

    def test_the_deadline_stands_still_while_somebody_is_asked(self) -> None:
        for era in ("legacy", "modern"):
            for name in ("http", "stdio", "modern"):
                with self.subTest(f"{era}, {name}"):
                    await_state(self.gateway, name, "ready")
                    client = self.client(era)

                    def slowly(_: Message) -> Message:
                        time.sleep(4)
                        return {"action": "accept", "content": {"name": "Ada"}}

                    client.answers["elicitation/create"] = slowly
                    said = client.call(f"{name}__test_input_required_result_elicitation")
                    self.assertEqual(text_of(said), "Hello, Ada!")


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent))
    unittest.main()
