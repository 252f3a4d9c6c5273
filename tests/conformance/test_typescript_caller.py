"""The TypeScript package as a caller in Node, at a real gateway (docs/protocols/rtp.md, sections 2
and 3)."""

from __future__ import annotations

import os
import tempfile
import unittest
from pathlib import Path
from typing import Any

from support.case import GatewayCase
from support.device import tool
from support.gateway import Gateway
from support.node_device import MISSING
from support.node_program import NodeProgram
from support.tool_host import ToolHost, host_tool
from test_tls_listener import tls_init


@unittest.skipIf(MISSING, MISSING)
class TypescriptCallerTest(GatewayCase):
    def caller(self, **options: Any) -> NodeProgram:
        url = f"http://127.0.0.1:{self.gateway.public[1]}"
        given = {"gateway": url, "token": self.gateway.caller_token(), **options}
        caller = NodeProgram("node_caller.mjs", given)
        self.addCleanup(caller.close)
        return caller

    def test_tools_are_listed_and_called(self) -> None:
        name = self.unique("tool")
        device = self.open()
        device.register(tool(name))
        device.serve({name: lambda args: args})
        caller = self.caller()
        listed = {each["name"]: each for each in caller.ask("list")["tools"]}
        self.assertEqual(
            listed[name]["inputSchema"]["type"], "object", "the schema is given as it is"
        )
        answer = caller.ask(
            "call", tool=name, args={"text": "grüß — 🦀"}, options={"callId": "ts-1"}
        )
        self.assertEqual(answer["answer"]["result"], {"text": "grüß — 🦀"})
        self.assertEqual(answer["answer"]["callId"], "ts-1")
        self.assertFalse(answer["answer"]["replayed"])

    def test_a_repeat_of_an_id_is_replayed_and_other_content_is_a_conflict(self) -> None:
        name = self.unique("tool")
        device = self.open()
        device.register(tool(name))
        device.serve({name: lambda args: args})
        caller = self.caller()
        options = {"idempotencyKey": self.unique("key")}
        first = caller.ask("call", tool=name, args={"n": 1}, options=options)
        again = caller.ask("call", tool=name, args={"n": 1}, options=options)
        self.assertEqual(first["answer"]["result"], again["answer"]["result"])
        self.assertTrue(again["answer"]["replayed"])
        other = caller.ask("call", tool=name, args={"n": 2}, options=options)
        self.assertEqual(
            (other["error"]["name"], other["error"]["code"]), ("CallError", "CONFLICT")
        )

    def test_failures_keep_code_and_details_and_are_not_repeated(self) -> None:
        name = self.unique("tool")
        self.open().register(
            tool(name, parameters={"type": "object", "properties": {"n": {"type": "integer"}}})
        )
        caller = self.caller()
        error = caller.ask("call", tool=name, args={"n": "x"})["error"]
        self.assertEqual(
            (error["code"], error["status"], error["attempts"], error["retryable"]),
            ("INVALID_ARGS", "error", 1, False),
        )
        self.assertEqual(error["details"]["errors"][0]["pointer"], "/n")
        self.assertEqual(
            caller.ask("call", tool="no.such", args={})["error"]["code"], "TOOL_NOT_FOUND"
        )
        self.assertEqual(
            caller.ask("call", tool=name, args={}, options={"timeoutMs": 0})["error"]["status"],
            "no_answer",
        )

    def test_progress_and_the_result_come_as_a_stream(self) -> None:
        name = self.unique("tool")
        device = self.open(capabilities=("tool_call_progress",))
        device.register(tool(name))
        caller = self.caller()
        order = caller.send("stream", tool=name, args={})
        call = device.next_call(name)
        device.send("tool_call_progress", id=call["id"], message="half\nway", progress=1, total=2)
        device.answer(call, "done")
        parts = [line["part"] for line in caller.wait(order)]
        self.assertEqual(
            parts[0], {"kind": "progress", "message": "half\nway", "progress": 1, "total": 2}
        )
        self.assertEqual(parts[1]["answer"]["result"], {"text": "done"})

    def test_leaving_a_stream_and_aborting_a_call_cancel_it(self) -> None:
        name = self.unique("tool")
        device = self.open(capabilities=("tool_call_progress", "tool_call_cancel"))
        device.register(tool(name))
        caller = self.caller()
        left = caller.send("stream", tool=name, args={}, enough=True)
        call = device.next_call(name)
        device.send("tool_call_progress", id=call["id"], message="enough")
        self.assertEqual(device.expect("tool_call_cancel")["id"], call["id"])
        self.assertEqual(len(caller.wait(left)), 1)
        aborted = caller.send("call", tool=name, args={})
        call = device.next_call(name)
        caller.write({"id": aborted, "do": "abort"})
        self.assertEqual(device.expect("tool_call_cancel")["id"], call["id"])
        self.assertEqual(caller.wait(aborted)[0]["error"]["code"], "CANCELLED")

    def test_a_call_is_cancelled_by_its_id(self) -> None:
        name = self.unique("tool")
        device = self.open(capabilities=("tool_call_cancel",))
        device.register(tool(name))
        caller = self.caller()
        call = caller.send("call", tool=name, args={}, options={"callId": "ts-cancel"})
        device.next_call(name)
        self.assertEqual(
            caller.ask("cancel", options={"callId": "ts-cancel"})["status"], "cancelling"
        )
        self.assertEqual(caller.wait(call)[0]["error"]["code"], "CANCELLED")
        self.assertEqual(
            caller.ask("cancel", options={"callId": "ts-never"})["status"], "not_found"
        )

    def test_large_results_are_fetched_within_a_limit(self) -> None:
        name = self.unique("tool")
        device = self.open(capabilities=("artifacts",))
        device.register(tool(name))
        caller = self.caller(maxReplyBytes=2_000_000)
        for size, fits in ((1_500_000, True), (2_500_000, False)):
            order = caller.send("call", tool=name, args={"size": size})
            call = device.next_call(name)
            device.answer_uploaded(call, device.upload(call, b"x" * size).json()["artifact"])
            href = caller.wait(order)[0]["answer"]["result"]["artifact"]["href"]
            line = caller.ask("artifact", options={"href": href})
            self.assertEqual(line.get("bytes") == size, fits, line)
        self.assertIn("error", caller.ask("artifact", options={"href": "//evil.example/v1"}))

    def test_the_admin_socket_needs_no_token_and_explains_calls(self) -> None:
        name = self.unique("tool")
        device = self.open()
        device.register(tool(name))
        device.serve({name: lambda args: args})
        caller = NodeProgram("node_caller.mjs", {"gateway": f"unix:{self.gateway.admin}"})
        self.addCleanup(caller.close)
        self.assertIn(name, [each["name"] for each in caller.ask("list")["tools"]])
        called = caller.ask("call", tool=name, args={}, options={"callId": "ts-explained"})
        self.assertIn("answer", called)
        record = caller.ask("explain", options={"callId": "ts-explained"})["record"]
        self.assertEqual((record["call_id"], record["status"]), ("ts-explained", "ok"))
        self.assertEqual(
            caller.ask("explain", options={"callId": "no/such?call"})["error"]["httpStatus"], 404
        )
        policy = caller.ask("policy", tool=name, args={}, options={"as": "caller/ci"})["policy"]
        self.assertEqual(policy["verdict"], "allow")
        self.assertIn("role default", policy["rule"])
        self.assertTrue(policy["then"], "the steps after the rules")
        over_http = self.caller().ask("policy", tool=name, options={"as": "caller/ci"})
        self.assertIn("unix:", over_http["error"]["message"])

    def test_a_wrong_token_is_refused_and_a_new_one_in_its_file_is_taken(self) -> None:
        wrong = self.caller(token="0" * 64)
        error = wrong.ask("call", tool="any", args={})["error"]
        self.assertEqual((error["httpStatus"], error["attempts"]), (401, 1))
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "token")
            path.touch(0o600)
            path.write_text("0" * 64 + "\n")
            url = f"http://127.0.0.1:{self.gateway.public[1]}"
            caller = NodeProgram("node_caller.mjs", {"gateway": url, "tokenFile": str(path)})
            self.addCleanup(caller.close)
            self.assertEqual(caller.ask("list")["error"]["httpStatus"], 401)
            path.write_text(self.gateway.caller_token() + "\n")
            self.assertIn("tools", caller.ask("list"))
            os.chmod(path, 0o644)
            open_to_all = NodeProgram("node_caller.mjs", {"gateway": url, "tokenFile": str(path)})
            self.assertNotEqual(open_to_all.process.wait(20), 0)
            self.assertIn("chmod 600", open_to_all.errors())
            self.assertNotIn(self.gateway.caller_token(), open_to_all.errors())
            open_to_all.close()

    def test_a_token_that_would_add_a_header_is_refused_and_not_shown(self) -> None:
        token = "abc\r\nX-Evil: 1"
        caller = NodeProgram("node_caller.mjs", {"gateway": "http://127.0.0.1:1", "token": token})
        self.assertNotEqual(caller.process.wait(20), 0)
        self.assertNotIn("X-Evil", caller.errors())
        caller.close()


@unittest.skipIf(MISSING, MISSING)
class TypescriptCallerTlsTest(unittest.TestCase):
    def test_the_authority_of_the_file_is_trusted_and_no_other(self) -> None:
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        for name in ("tls", "other"):
            tls_init("--dir", str(folder / name), "--name", "127.0.0.1")
        files = {"cert": str(folder / "tls/cert.pem"), "key": str(folder / "tls/key.pem")}
        with Gateway({"listen": {"tls": files}}) as gateway:
            token = gateway.caller_token()
            for authority, works in (("tls", True), ("other", False)):
                caller = NodeProgram(
                    "node_caller.mjs",
                    {
                        "gateway": f"https://127.0.0.1:{gateway.public[1]}",
                        "token": token,
                        "caFile": str(folder / authority / "ca.pem"),
                    },
                )
                line = caller.ask("list")
                caller.close()
                self.assertEqual("tools" in line, works, line)
                if not works:
                    self.assertEqual(line["error"]["code"], "UNAVAILABLE")


@unittest.skipIf(MISSING, MISSING)
class TypescriptCallerRestartTest(unittest.TestCase):
    """The gateway dies with a call under way, and comes back on its port."""

    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.gateway = self.enterContext(
            Gateway({"hosts": [{"name": "h", "unix": str(self.folder / "h.sock")}]})
        )
        self.host = ToolHost(
            self.folder / "h.sock",
            host_tool("safe", side_effects=False),
            host_tool("unsafe", side_effects=True),
        )
        self.host.behave = lambda request: None  # the test answers
        self.host.start()
        self.addCleanup(self.host.stop)
        self.gateway.wait_listed("unsafe")
        self.caller = NodeProgram(
            "node_caller.mjs",
            {
                "gateway": f"http://127.0.0.1:{self.gateway.public[1]}",
                "token": self.gateway.caller_token(),
                "retries": 12,
            },
        )
        self.addCleanup(self.caller.close)
        self.gateway.config["listen"]["public"] = f"127.0.0.1:{self.gateway.public[1]}"

    def restart_within(self, name: str) -> dict[str, Any]:
        order = self.caller.send("call", tool=name, args={"n": 1})
        [asked] = self.host.wait_calls(1)
        self.gateway.kill()
        asked.die()
        self.gateway.start()
        self.order = order
        return asked.body

    def test_a_tool_without_effects_is_called_again_under_its_id(self) -> None:
        first = self.restart_within("safe")
        again = self.host.wait_calls(2)[1]
        self.assertEqual(again.body["call_id"], first["call_id"])
        again.answer()
        [line] = self.caller.wait(self.order, 40)
        self.assertEqual(line["answer"]["result"], {"n": 1})

    def test_a_tool_with_effects_ends_with_an_unknown_outcome_and_runs_once(self) -> None:
        self.restart_within("unsafe")
        [line] = self.caller.wait(self.order, 40)
        self.assertEqual(line["error"]["code"], "OUTCOME_UNKNOWN", line)
        self.assertFalse(line["error"]["retryable"])
        self.assertGreater(line["error"]["attempts"], 1)
        self.assertEqual(len(self.host.wait_calls(1)), 1)


if __name__ == "__main__":
    unittest.main()
