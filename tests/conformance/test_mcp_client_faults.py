"""Clients of /mcp that misbehave: what they get is what docs/protocols/mcp.md says, and nobody else
notices. Sections 2.2 to 2.4, 4.8."""

from __future__ import annotations

import json
import socket
import threading
import unittest
from typing import Any

from support.mcp import McpCase, McpError, Message, await_state, link_to, text_of
from support.wait import eventually

MODERN = "2026-07-28"


class ClientCase(McpCase):
    @classmethod
    def servers(cls) -> dict[str, dict[str, Any]]:
        return {"files": cls.on_http()}

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        await_state(cls.gateway, "files", "ready")

    def post(self, body: Any, headers: dict[str, str]) -> tuple[int, Message]:
        """One POST of anything: status, and the message that came."""
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        link = link_to(self.gateway)
        pending = link.request("POST", {"Content-Type": "application/json", **headers}, raw)
        try:
            return pending.status, next(iter(pending.messages()), {})
        finally:
            pending.close()

    def modern_call(self, tool: str, arguments: Message, **changes: Any) -> tuple[Any, Any]:
        """A request as a modern client makes it, and its headers."""
        client = self.client("modern")
        params = client.params({"name": tool, "arguments": arguments})
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params, **changes}
        return body, client.headers("tools/call", params)

    def assert_well(self) -> None:
        said = self.client("modern").call("greet", {"name": "Ada"})
        self.assertEqual(text_of(said), "Hello, Ada!")


class HeaderTest(ClientCase):
    def test_headers_that_say_other_than_the_body(self) -> None:
        for changes in (
            {"MCP-Protocol-Version": "2025-11-25"},
            {"Mcp-Method": "tools/list"},
            {"Mcp-Method": "Tools/Call"},
            {"Mcp-Name": "test_echo"},
            {"Mcp-Name": "=?base64?Z3JlZXQ?="},  # without padding
            {"Mcp-Name": "=?base64?gr$$?="},
            {"Mcp-Name": "=?base64?Z3JlZXQ="},  # half a marker is literal
        ):
            with self.subTest(changes):
                body, headers = self.modern_call("greet", {"name": "Ada"})
                status, answer = self.post(body, {**headers, **changes})
                self.assertEqual((status, answer["error"]["code"]), (400, -32020))
        for gone in ("MCP-Protocol-Version", "Mcp-Method", "Mcp-Name"):
            with self.subTest(f"without {gone}"):
                body, headers = self.modern_call("greet", {"name": "Ada"})
                del headers[gone]
                status, answer = self.post(body, headers)
                self.assertEqual((status, answer["error"]["code"]), (400, -32020))
        for fine in ({"mcp-name": " greet\t"}, {"mcp-name": "=?base64?Z3JlZXQ=?="}):
            with self.subTest(fine):
                body, headers = self.modern_call("greet", {"name": "Ada"})
                del headers["Mcp-Name"]
                status, answer = self.post(body, {**headers, **fine})
                self.assertEqual(status, 200, answer)
                self.assertEqual(text_of(answer["result"]), "Hello, Ada!")

    def test_other_hosts_and_origins_are_refused_for_every_method(self) -> None:
        for method in ("POST", "GET", "DELETE"):
            for headers in (
                {"Host": "evil.example.com"},
                {"Host": "evil.example.com", "Origin": "http://evil.example.com"},
                {"Origin": "http://evil.example.com"},
                {"Origin": "null"},
            ):
                with self.subTest(f"{method} {headers}"):
                    pending = link_to(self.gateway).request(method, headers, b"{}")
                    self.assertEqual(pending.status, 403)
                    pending.close()
                with self.subTest(f"{method} {headers}, before the token"):
                    wrong = {"Authorization": "Bearer wrong"}
                    pending = link_to(self.gateway).request(method, {**headers, **wrong}, b"{}")
                    self.assertEqual(pending.status, 403)
                    pending.close()
            refused = link_to(self.gateway).request(method, wrong, b"{}")
            self.assertEqual(refused.status, 401, "a wrong token on the right host")
            refused.close()
        self.assert_well()

    def test_wrong_messages(self) -> None:
        version = {"MCP-Protocol-Version": MODERN}
        for raw, code in (
            (b"{", -32700),
            (b"\xff\xfe", -32700),
            (b"[]", -32600),
            (b"[" * 70 + b"]" * 70, -32600),
            (b'{"jsonrpc":"1.0","id":1,"method":"ping"}', -32600),
            (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600),
            (b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', -32600),
            (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}', -32600),
            (b'{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}', -32600),
            (b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}', -32602),
        ):
            with self.subTest(raw[:60]):
                status, answer = self.post(raw, version)
                self.assertEqual(status, 400)
                self.assertIn(answer["error"]["code"], (code, -32700))
        with socket.create_connection(self.gateway.public, timeout=20) as unread:
            head = ("POST /mcp HTTP/1.1", f"Host: localhost:{self.gateway.public[1]}")
            length = (f"Content-Length: {(4 << 20) + 1}", "Content-Type: application/json", "", "")
            unread.sendall("\r\n".join((*head, *length)).encode())
            self.assertTrue(unread.recv(100).startswith(b"HTTP/1.1 413 "), "of none of its bytes")
        before = self.gateway.resident_bytes()
        for _ in range(8):
            link = link_to(self.gateway)
            body = b"x" * ((4 << 20) + 1)
            try:
                pending = link.request("POST", {"Content-Type": "application/json"}, body)
            except ConnectionError:
                continue  # it is closed unread
            self.assertEqual(pending.status, 413)
            pending.close()
        self.assertLess(self.gateway.resident_bytes() - before, 32 << 20)
        self.assert_well()


class NameTest(ClientCase):
    def test_a_name_of_one_source_is_plain_and_called_in_both_forms(self) -> None:
        """62."""
        for era in ("legacy", "modern"):
            client = self.client(era)
            listed = client.tools()
            self.assertIn("greet", listed)
            self.assertNotIn("files__greet", listed)
            for name in ("greet", "files__greet"):
                self.assertEqual(text_of(client.call(name, {"name": "Ada"})), "Hello, Ada!")


class SessionTest(ClientCase):
    def test_a_session_of_another_principal_is_unknown(self) -> None:
        mine = self.client("legacy")
        session = mine.session["Mcp-Session-Id"]
        token = self.gateway.caller_token("mallory")
        for method in ("POST", "GET", "DELETE"):
            with self.subTest(method):
                headers = {
                    "Authorization": f"Bearer {token}",
                    "Mcp-Session-Id": session,
                    "Content-Type": "application/json",
                }
                body = (
                    b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}' if method == "POST" else None
                )
                pending = link_to(self.gateway).request(method, headers, body)
                self.assertEqual(pending.status, 404)
                pending.close()
        self.assertEqual(text_of(mine.call("greet", {"name": "Ada"})), "Hello, Ada!")

    def test_an_id_that_still_runs_is_not_taken_twice(self) -> None:
        client = self.client("legacy")
        call: Message = {
            "jsonrpc": "2.0",
            "id": 77,
            "method": "tools/call",
            "params": {"name": "test_sleep", "arguments": {"seconds": 1}},
        }
        first = client.link.send(call, client.session)
        answer = next(client.link.send(call, client.session).messages())
        self.assertEqual(answer["error"]["code"], -32600)
        done = [one for one in first.messages() if "result" in one]
        self.assertEqual(text_of(done[0]["result"]), "Slept 1.0 seconds")

    def test_a_stream_that_is_dropped_is_resumed_and_nothing_comes_twice(self) -> None:
        client = self.client("legacy")
        params = {
            "name": "test_sleep",
            "arguments": {"seconds": 2},
            "_meta": {"progressToken": "p"},
        }
        pending = client.start("tools/call", params)
        got: list[Message] = []
        for message in pending.messages():
            got.append(message)
            if len(got) == 4:
                break
        last = pending.last_id
        pending.close()
        got += client.resume(last).messages()
        steps = [one["params"]["progress"] for one in got if "method" in one]
        self.assertEqual(steps, sorted(set(steps)), "each once, in order")
        self.assertEqual(text_of(got[-1]["result"]), "Slept 2.0 seconds")
        again = client.link.request("GET", {**client.session, "Last-Event-ID": "nothing-1"})
        self.assertEqual(again.status, 400)
        again.close()

    def test_streams_that_are_dropped_by_the_hundred_leave_nothing(self) -> None:
        client = self.client("modern")

        def count() -> int:
            return client.call("test_cancelled")["structuredContent"]["count"]

        before, files = count(), self.gateway.open_files()
        for _ in range(100):
            params = {"name": "test_sleep", "arguments": {"seconds": 30}}
            body = client.params(params)
            message = {"jsonrpc": "2.0", "id": client.new_id(), "method": "tools/call"}
            self._fire(client, {**message, "params": body})
        eventually(lambda: self.gateway.open_files() <= files + 20, "connections are closed", 20)
        self.assertGreaterEqual(count(), before)
        self.assert_well()

    def _fire(self, client: Any, message: Message) -> None:
        """Sends a request and goes away without reading."""
        body = json.dumps(message).encode()
        head = "".join(
            f"{name}: {value}\r\n"
            for name, value in {
                "Host": f"localhost:{self.gateway.public[1]}",
                "Content-Type": "application/json",
                "Accept": "application/json, text/event-stream",
                "Content-Length": str(len(body)),
                **client.headers(message["method"], message["params"]),
            }.items()
        )
        with socket.create_connection(self.gateway.public) as plug:
            plug.sendall(f"POST /mcp HTTP/1.1\r\n{head}\r\n".encode() + body)

    def test_ended_sessions_are_unknown(self) -> None:
        client = self.client("legacy")
        self.assertEqual(client.end(), 204)
        with self.assertRaises(McpError) as refused:
            client.request("tools/list")
        self.assertEqual((refused.exception.status, refused.exception.code), (404, -32600))


class StateTest(ClientCase):
    TOOL = "test_input_required_result_elicitation"

    def begun(self, client: Any) -> tuple[Message, Message, Message]:
        """Params of a call, its first result, and answers to what that asks."""
        params = {"name": self.TOOL, "arguments": {}}
        first = client.request("tools/call", params)
        self.assertEqual(first["resultType"], "input_required")
        given = {
            key: {"action": "accept", "content": {"name": "Ada"}} for key in first["inputRequests"]
        }
        return params, first, given

    def test_states_that_were_not_given_are_refused(self) -> None:
        client = self.client("modern")
        params, first, given = self.begun(client)
        state = first["requestState"]
        middle = len(state) // 2
        flipped = state[:middle] + ("A" if state[middle] != "A" else "B") + state[middle + 1 :]
        for forged in ("", "x", state + "-TAMPERED", flipped, state[:-4], "A" * len(state)):
            with self.subTest(forged[:12]), self.assertRaises(McpError) as refused:
                client.request(
                    "tools/call", {**params, "inputResponses": given, "requestState": forged}
                )
            self.assertEqual(refused.exception.code, -32602)
        for other in ({"name": "test_echo"}, {"arguments": {"x": 1}}):
            with self.subTest(other), self.assertRaises(McpError) as refused:
                client.request(
                    "tools/call",
                    {**params, **other, "inputResponses": given, "requestState": state},
                )
            self.assertEqual(refused.exception.code, -32602)
        mallory = self.client("modern")
        mallory.link.headers["Authorization"] = "Bearer " + self.gateway.caller_token("mallory")
        with self.assertRaises(McpError) as refused:
            mallory.request(
                "tools/call", {**params, "inputResponses": given, "requestState": state}
            )
        self.assertEqual(refused.exception.code, -32602)
        done = client.request(
            "tools/call", {**params, "inputResponses": given, "requestState": state}
        )
        self.assertEqual(text_of(done), "Hello, Ada!")

    def test_answers_that_are_missing_are_asked_for_again_and_others_are_ignored(self) -> None:
        """90."""
        client = self.client("modern")
        params, first, given = self.begun(client)
        (key,) = first["inputRequests"]
        nobodys = {"nobodys": {"action": "accept", "content": {"name": "Eve"}}}
        state = first["requestState"]
        for lacking in ({}, nobodys):
            with self.subTest(lacking):
                again = client.request(
                    "tools/call", {**params, "inputResponses": lacking, "requestState": state}
                )
                self.assertEqual(again["resultType"], "input_required")
                self.assertEqual(list(again["inputRequests"]), [key])
                state = again["requestState"]
        done = client.request(
            "tools/call",
            {**params, "inputResponses": {**nobodys, **given}, "requestState": state},
        )
        self.assertEqual(text_of(done), "Hello, Ada!")

    def test_a_state_that_is_sent_twice_runs_once(self) -> None:
        client = self.client("modern")
        params, first, given = self.begun(client)
        again = {**params, "inputResponses": given, "requestState": first["requestState"]}
        results: list[Message] = []
        threads = [
            threading.Thread(target=lambda: results.append(client.request("tools/call", again)))
            for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(20)
        self.assertEqual([text_of(one) for one in results], ["Hello, Ada!"] * 4)


if __name__ == "__main__":
    unittest.main()
