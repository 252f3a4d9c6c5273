"""The faults of the MCP fixture: that each does what its --help says. And the reader of events."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "harness"))
from mcp_client import LegacyClient, LinkEnded, McpError, ModernClient  # noqa: E402
from mcp_fixture import Fixture, command, stdio  # noqa: E402
from mcp_links import HttpRefusal, StdioLink  # noqa: E402
from sse import EventParser  # noqa: E402
from support.wait import PATIENCE, eventually  # noqa: E402


class FaultCase(unittest.TestCase):
    def on_stdio(
        self,
        *faults: str,
        timeout: float = 20,
        stderr: int | None = None,
        capabilities: dict[str, Any] | None = None,
    ) -> ModernClient:
        words = [word for fault in faults for word in ("--fault", fault)]
        link = stdio(*words, timeout=timeout, stderr=stderr)
        return self.enterContext(ModernClient(link, capabilities))

    def on_http(self, *faults: str) -> ModernClient:
        words = [word for fault in faults for word in ("--fault", fault)]
        return self.enterContext(ModernClient(self.enterContext(Fixture(*words)).link()))


class StdioFaultsTest(FaultCase):
    def test_the_process_ends_or_hangs(self) -> None:
        early = subprocess.run(command("--fault", "exit_at_start"), capture_output=True)
        self.assertEqual(early.returncode, 3)
        silent = self.on_stdio("hang_at_start", timeout=0.5)
        with self.assertRaises(TimeoutError):
            silent.request("server/discover")
        for fault in ("die_mid_call", "die_after_effect"):
            dying = self.on_stdio(fault)
            dying.request("tools/list")
            with self.assertRaises(LinkEnded):
                dying.call("test_count", {"key": "a"})
            assert isinstance(dying.link, StdioLink)
            self.assertEqual(dying.link.process.wait(PATIENCE), 9)
        hanging = self.on_stdio("hang_mid_call", timeout=0.5)
        with self.assertRaises(TimeoutError):
            hanging.call("greet", {"name": "Ada"})

    def test_stdout_has_noise(self) -> None:
        noisy = self.on_stdio("garbage")
        self.assertEqual(noisy.call("test_simple_text")["resultType"], "complete")
        assert isinstance(noisy.link, StdioLink)
        self.assertIn(b"no JSON-RPC", noisy.link.noise[0])
        only = self.on_stdio("only_garbage", timeout=0.5)
        with self.assertRaises(TimeoutError):
            only.request("server/discover")
        noise = only.link.noise if isinstance(only.link, StdioLink) else []
        eventually(lambda: len(noise) > 100, "a hundred lines of noise", 20)

    def test_stderr_is_flooded(self) -> None:
        flooding = self.on_stdio("flood_stderr", stderr=subprocess.PIPE)
        assert isinstance(flooding.link, StdioLink)
        pipe = flooding.link.process.stderr
        self.addCleanup(pipe.close)
        self.assertEqual(len(pipe.read(8 << 20)), 8 << 20)
        self.assertIn("test_echo", flooding.tools())

    def test_answers_are_to_the_wrong_id_or_come_twice(self) -> None:
        stray = self.on_stdio("wrong_id")
        self.assertIn("test_echo", stray.tools())
        self.assertEqual(stray.notifications[0]["id"], "nobody-asked")
        twice = self.on_stdio("twice")
        twice.call("test_simple_text")
        lost = self.on_stdio("only_wrong_id", timeout=0.5)
        with self.assertRaises(TimeoutError):
            lost.request("tools/list")
        eventually(lambda: lost.notifications, "an answer to nobody", 20)

    def test_the_child_stays_when_it_should_go(self) -> None:
        stubborn = self.on_stdio("ignore_eof")
        stubborn.request("tools/list")
        assert isinstance(stubborn.link, StdioLink)
        stubborn.link.process.stdin.close()
        stubborn.link.process.send_signal(signal.SIGTERM)
        with self.assertRaises(subprocess.TimeoutExpired):
            stubborn.link.process.wait(0.3)
        stubborn.link.process.kill()
        parent = self.on_stdio("grandchild", stderr=subprocess.PIPE)
        assert isinstance(parent.link, StdioLink)
        pipe = parent.link.process.stderr
        self.addCleanup(pipe.close)
        child = int(pipe.readline().decode().removeprefix("grandchild="))
        parent.request("tools/list")
        parent.link.timeout = 1  # the pipe stays open, so its reader does not end
        parent.close()
        os.kill(child, 0)  # it is still there
        os.kill(child, signal.SIGKILL)

    def test_a_result_is_too_large(self) -> None:
        large = self.on_stdio("long_line").call("test_simple_text")
        self.assertEqual(len(large["content"][0]["text"]), 9 << 20)


class ListFaultsTest(FaultCase):
    def test_cursors_go_nowhere(self) -> None:
        looping = self.on_stdio("cursor_loop")
        again = looping.request("tools/list", {"cursor": "around"})
        self.assertEqual(again["nextCursor"], "around")
        endless = self.on_stdio("endless_pages")
        first = endless.request("tools/list")["nextCursor"]
        second = endless.request("tools/list", {"cursor": first})["nextCursor"]
        self.assertNotEqual(first, second)
        empty = self.on_stdio("empty_cursor")
        self.assertEqual(sorted(empty.tools()), sorted(self.on_stdio().tools()))

    def test_lists_are_huge_odd_or_never_the_same(self) -> None:
        self.assertEqual(len(self.on_stdio("huge_lists").tools()), 20_000)
        self.assertIn("odd/slash", self.on_stdio("odd_entries").tools())
        restless = self.on_stdio("changing_texts")
        self.assertNotEqual(restless.tools(), restless.tools())

    def test_texts_change_when_told_to_and_tools_are_a_choice(self) -> None:
        client = self.on_stdio()
        before = client.tools()["greet"]["description"]
        client.call("test_trigger_text_change")
        self.assertNotEqual(client.tools()["greet"]["description"], before)
        few = self.enterContext(ModernClient(stdio("--tools", "^(greet|test_echo)$")))
        self.assertEqual(sorted(few.tools()), ["greet", "test_echo"])

    def test_changes_come_a_thousand_times_a_second(self) -> None:
        storm = self.on_stdio("storm")
        messages = storm.listen(toolsListChanged=True).messages()
        for _ in range(300):
            self.assertIn("method", next(messages))


class AnswerFaultsTest(FaultCase):
    def test_questions_have_no_end_or_a_large_state(self) -> None:
        client = self.on_stdio(capabilities={"elicitation": {}})
        accept = {"action": "accept", "content": {"name": "Ada"}}
        client.answers["elicitation/create"] = lambda params: accept
        with self.assertRaisesRegex(AssertionError, "ten rounds"):
            client.call("test_endless_rounds")
        said = client.call("test_large_state", {"bytes": 20_000})
        self.assertEqual(said["content"][0]["text"], "The state came back unchanged")

    def test_progress_falls_and_outlives_its_call(self) -> None:
        client = self.on_stdio()
        client.call("test_progress_odd", progressToken=1)
        last = client.wait_for("notifications/progress", count=6)
        self.assertEqual(last["params"]["progress"], 95)
        steps = [one["params"]["progress"] for one in client.notifications]
        self.assertEqual(steps, [10, 60, 20, 60, 90, 95])

    def test_results_are_not_what_they_should_be(self) -> None:
        bare = self.on_stdio("no_result_type").call("test_simple_text")
        self.assertNotIn("resultType", bare)
        odd = self.on_stdio("odd_result_type").call("test_simple_text")
        self.assertEqual(odd["resultType"], "perhaps")
        legacy = LegacyClient(stdio("--fault", "wrong_version"))
        self.assertEqual(self.enterContext(legacy).opened["protocolVersion"], "1999-01-01")

    def test_the_first_call_of_a_tool_has_wrong_headers(self) -> None:
        client = self.on_http("header_mismatch")
        with self.assertRaises(McpError) as refused:
            client.call("test_simple_text")
        self.assertEqual(refused.exception.code, -32020)
        client.call("test_simple_text")

    def test_http_refuses(self) -> None:
        for fault, status in (("broken", 500), ("redirect", 307)):
            with self.assertRaises(HttpRefusal) as refused:
                self.on_http(fault).request("tools/list")
            self.assertEqual(refused.exception.status, status)
        busy = self.on_http("busy")
        busy.request("tools/list")
        with self.assertRaises(HttpRefusal) as refused:
            busy.request("tools/list")
        self.assertEqual(refused.exception.headers["retry-after"], "1")
        with self.assertRaises(json.JSONDecodeError):
            self.on_http("garbage").request("tools/list")

    def test_http_forgets_sessions_and_drops_calls(self) -> None:
        fixture = self.enterContext(Fixture("--fault", "session_loss"))
        client = self.enterContext(LegacyClient(fixture.link()))
        with self.assertRaises(McpError) as refused:
            for _ in range(6):
                client.request("ping")
        self.assertEqual(refused.exception.status, 404)
        with self.assertRaises(ConnectionError):
            self.on_http("drop_mid_call").call("test_simple_text")

    def test_http_asks_on_the_stream_of_no_call(self) -> None:
        fixture = self.enterContext(Fixture("--fault", "ask_apart"))
        client = self.enterContext(LegacyClient(fixture.link(), {"roots": {}}))
        client.answers["roots/list"] = lambda params: {"roots": []}
        client.stream()
        listed = client.call("test_input_required_result_list_roots")
        self.assertEqual(listed["content"][0]["text"], "Roots: []")

    def test_http_wants_a_token_and_its_own_host(self) -> None:
        fixture = self.enterContext(Fixture("--token", "secret", "--token", "other"))
        link: Any = fixture.link()
        link.headers["Authorization"] = "Bearer other"
        self.assertIn("test_echo", ModernClient(link).tools())
        link.headers.clear()
        refused = link.request("POST", body=b"{}")
        self.assertEqual(refused.status, 401)
        refused.close()
        refused = link.request("POST", {"Host": "evil.example.com"}, b"{}")
        self.assertEqual(refused.status, 403)
        refused.close()

    def test_an_endpoint_is_on_another_host(self) -> None:
        link: Any = self.enterContext(Fixture("--fault", "foreign_endpoint", transport="sse"))
        found = link.link()
        self.assertTrue(found.endpoint.startswith("http://fixture.example/"))
        found.close()

    def test_what_came_in_is_written_down(self) -> None:
        fixture_file = Path(self.enterContext(tempfile.TemporaryDirectory())) / "record"
        client = ModernClient(stdio("--record", str(fixture_file)))
        self.enterContext(client).call("test_simple_text")
        lines = [json.loads(line) for line in fixture_file.read_text().splitlines()]
        self.assertEqual(lines[0]["message"]["method"], "tools/call")


class EventParserTest(unittest.TestCase):
    BYTES = (
        b"\xef\xbb\xbf:hi\rid: 7\r\ndata\n\nevent: x\ndata: one\rdata:two\r\n\r\n"
        b"retry: 5\n\ndata: 3"
    )

    def test_any_cut_gives_the_same_events(self) -> None:
        for size in range(1, len(self.BYTES) + 1):
            parser = EventParser()
            pieces = (self.BYTES[at : at + size] for at in range(0, len(self.BYTES), size))
            found = [event for piece in pieces for event in parser.feed(piece)]
            self.assertEqual(
                [(one.name, one.data, one.id) for one in found], [("x", "one\ntwo", "7")], size
            )
            self.assertEqual((parser.retry, parser.comments), (5, 1))


if __name__ == "__main__":
    unittest.main()
