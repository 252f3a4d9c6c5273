"""Connections, sessions and streams of /mcp, and what is left of them at the end. Numbers are those
of docs/protocols/mcp.md, section 12."""

from __future__ import annotations

import http.client
import json
import threading
import unittest
from pathlib import Path
from typing import Any

from support.gateway import Gateway, program
from support.mcp import (
    LegacyClient,
    McpCase,
    McpError,
    Message,
    ModernClient,
    StdioLink,
    await_state,
    child,
    link_to,
    mcp_config,
    text_of,
)
from support.wait import eventually

LISTS = ("tools", "resources", "prompts")


class StreamsCase(McpCase):
    @classmethod
    def servers(cls) -> dict[str, dict[str, Any]]:
        return {"legacy": cls.on_http("--era", "legacy"), "modern": cls.on_http("--era", "modern")}

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        for source in ("legacy", "modern"):
            await_state(cls.gateway, source, "ready")


class RequestTest(StreamsCase):
    def test_without_accept_both_forms_are_taken(self) -> None:
        """10."""
        client = self.client("modern")
        for accept in (None, "*/*", "application/json", "text/event-stream"):
            with self.subTest(accept):
                params = client.params({})
                body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": params}
                headers = client.headers("tools/list", params)
                connection = http.client.HTTPConnection(*self.gateway.public, timeout=20)
                connection.putrequest("POST", "/mcp", skip_accept_encoding=True)
                raw = json.dumps(body).encode()
                for name, value in {
                    **headers,
                    **({"Accept": accept} if accept else {}),
                    "Content-Type": "application/json",
                    "Content-Length": str(len(raw)),
                }.items():
                    connection.putheader(name, value)
                connection.endheaders(raw)
                answer = connection.getresponse()
                self.assertEqual(answer.status, 200)
                wanted = (
                    "text/event-stream" if accept == "text/event-stream" else "application/json"
                )
                self.assertTrue(answer.headers["Content-Type"].startswith(wanted))
                self.assertIn(b"greet", answer.read())
                connection.close()

    def test_every_result_has_what_modern_ones_have(self) -> None:
        """28, 29."""
        client = self.client("modern")
        hinted: dict[str, Message] = {
            "server/discover": {},
            "tools/list": {},
            "resources/list": {},
            "resources/templates/list": {},
            "prompts/list": {},
            "resources/read": {"uri": "crab://modern/test://static-text"},
        }
        prompt = {"name": "modern__test_prompt_with_arguments"}
        others: dict[str, Message] = {
            "tools/call": {"name": "modern__greet", "arguments": {"name": "Ada"}},
            "prompts/get": {**prompt, "arguments": {"arg1": "a", "arg2": "b"}},
            "completion/complete": {
                "ref": {"type": "ref/prompt", **prompt},
                "argument": {"name": "arg1", "value": "a"},
            },
        }
        for method, params in {**hinted, **others}.items():
            with self.subTest(method):
                result = client.request(method, params)
                self.assertEqual(result["resultType"], "complete")
                server = result["_meta"]["io.modelcontextprotocol/serverInfo"]
                self.assertEqual(server["name"], "crab")
                if method in hinted:
                    self.assertIsInstance(result["ttlMs"], int)
                    self.assertEqual(result["cacheScope"], "private")
                else:
                    self.assertFalse({"ttlMs", "cacheScope"} & result.keys())

    def test_a_missing_capability_keeps_its_status(self) -> None:
        """26."""
        client = self.client("modern", {})
        for source in ("legacy", "modern"):
            with self.subTest(source), self.assertRaises(McpError) as refused:
                client.call(f"{source}__test_missing_capability")
            self.assertEqual((refused.exception.status, refused.exception.code), (400, -32021))
            self.assertEqual(refused.exception.data["requiredCapabilities"], {"sampling": {}})

    def test_lists_do_not_depend_on_the_connection(self) -> None:
        """32."""

        def all_of(client: Any) -> list[Any]:
            return [
                sorted(one["name"] for one in client.pages(f"{kind}/list", kind)) for kind in LISTS
            ]

        first = all_of(self.client("modern"))
        self.assertEqual(all_of(self.client("modern", {})), first)
        other = self.client("modern")
        other.call("modern__greet", {"name": "Ada"})
        self.assertEqual(all_of(other), first)
        self.assertEqual(all_of(self.client("legacy")), all_of(self.client("legacy", {})))


class SessionStreamsTest(StreamsCase):
    def test_two_calls_stream_at_once_each_its_own(self) -> None:
        """41, 42."""
        for source in ("legacy", "modern"):
            with self.subTest(source):
                client = self.client("legacy")
                client.stream()
                pending = []
                for token in ("one", "two"):
                    params = {
                        "name": f"{source}__test_sleep",
                        "arguments": {"seconds": 1},
                        "_meta": {"progressToken": token},
                    }
                    pending.append((token, client.start("tools/call", params)))
                got: dict[str, list[Message]] = {}

                def read(token: str, answer: Any, got: dict[str, Any] = got) -> None:
                    got[token] = list(answer.messages())

                readers = [threading.Thread(target=read, args=each) for each in pending]
                for reader in readers:
                    reader.start()
                for reader in readers:
                    reader.join(20)
                for token, messages in got.items():
                    told = [one for one in messages if "method" in one]
                    self.assertGreater(len(told), 1)
                    self.assertEqual({one["params"]["progressToken"] for one in told}, {token})
                    self.assertEqual(text_of(messages[-1]["result"]), "Slept 1.0 seconds")
                self.assertEqual(client.notifications, [], "nothing of them on the other stream")

    def test_a_change_is_told_on_one_stream(self) -> None:
        """42."""
        client = self.client("legacy")
        client.stream()
        params = {"name": "legacy__test_sleep", "arguments": {"seconds": 2}}
        slow = client.start("tools/call", {**params, "_meta": {"progressToken": 1}})
        client.call("legacy__test_trigger_tool_change")
        client.wait_for("notifications/tools/list_changed", timeout=10)
        methods = [one["method"] for one in slow.messages() if "method" in one]
        self.assertEqual(set(methods), {"notifications/progress"})


class LifeTest(unittest.TestCase):
    def gateway(self) -> Gateway:
        config = mcp_config({"files": child("--era", "legacy")})
        gateway = self.enterContext(Gateway(config))
        await_state(gateway, "files", "ready")
        return gateway

    def test_a_restart_ends_sessions(self) -> None:
        """36."""
        gateway = self.gateway()
        client = LegacyClient(link_to(gateway))
        client.open()
        gateway.stop()
        gateway.start()
        client.link = link_to(gateway)
        with self.assertRaises(McpError) as refused:
            client.request("tools/list")
        self.assertEqual((refused.exception.status, refused.exception.code), (404, -32600))
        client.session.clear()
        client.open()
        eventually(lambda: "greet" in client.tools(), "its tools are listed")

    def test_no_child_is_left_when_the_gateway_is_killed(self) -> None:
        """50."""
        gateway = self.gateway()
        client = self.enterContext(ModernClient(link_to(gateway)))
        pid = client.call("test_process")["structuredContent"]["pid"]
        self.assertTrue(Path(f"/proc/{pid}").exists())
        gateway.process.kill()
        gateway.kill()
        eventually(lambda: not Path(f"/proc/{pid}").exists(), "the child is gone")

    def test_a_listen_stream_on_stdio_ends_with_a_word_and_its_result(self) -> None:
        """55."""
        gateway = self.gateway()
        words = [program(), "mcp", "stdio", "--socket", str(gateway.admin)]
        client = self.enterContext(ModernClient(StdioLink(words)))
        pending = client.listen(toolsListChanged=True)
        messages = pending.messages()
        first = next(messages)
        self.assertEqual(first["method"], "notifications/subscriptions/acknowledged")
        gateway.stop()
        *before, last = messages
        self.assertIn("result", last)
        key = "io.modelcontextprotocol/subscriptionId"
        self.assertEqual(last["result"]["_meta"][key], last["id"])
        cancelled = [
            one
            for one in [*before, *client.notifications]
            if one["method"] == "notifications/cancelled"
        ]
        self.assertEqual([one["params"]["requestId"] for one in cancelled], [last["id"]])

    def test_no_listener_takes_commands(self) -> None:
        """117."""
        gateway = self.gateway()
        operator = gateway.pair("operator", ("caller", "operator"))
        evil = {"name": "evil", "server": {"command": "/bin/true"}}
        for token in (None, gateway.caller_token(), operator):
            for method, path in (
                ("POST", "/v1/mcp/servers"),
                ("PUT", "/v1/mcp/servers/evil"),
                ("POST", "/v1/mcp/servers/evil"),
            ):
                with self.subTest(f"{method} {path}, {'a token' if token else 'none'}"):
                    answer = gateway.fetch(method, path, token, body=evil)
                    self.assertIn(answer.status, (401, 403, 404, 405))
        servers = gateway.admin_request("GET", "/v1/mcp/servers").json()["servers"]
        self.assertEqual([one["name"] for one in servers], ["files"])


if __name__ == "__main__":
    unittest.main()
