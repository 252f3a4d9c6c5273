"""An MCP client with a good token: messages that are maximal, repeated, unfinished, slow or
malformed, in both eras; streams that nobody reads; names, ids and URIs as long as they may come."""

from __future__ import annotations

import itertools
import json
import sys
import time
from collections import deque
from pathlib import Path
from typing import Any

from hostile_case import MORE_BYTES, HostileCase
from support.device import tool
from support.http import HttpConnection, request_bytes
from support.stream import Stream

MIB = 1 << 20
VERSION = "2026-07-28"
SCRIPT = Path(__file__).resolve().parent / "mcp_upstream.py"


def modern(method: str, params: dict[str, Any], capabilities: Any = None, **meta: Any) -> Any:
    prefix = "io.modelcontextprotocol/"
    all_meta = {
        f"{prefix}protocolVersion": VERSION,
        f"{prefix}clientCapabilities": capabilities or {},
        **meta,
    }
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": {"_meta": all_meta, **params}}


def legacy(method: str, params: Any = None, number: Any = 1) -> Any:
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params or {}}


class McpClientTest(HostileCase):
    #: also what may be kept for one principal by docs/protocols/mcp.md, 3.5, until it is swept:
    #: replies for resuming, parked calls, watches, links
    more_bytes = MORE_BYTES + ((16 + 16 + 4 + 1) << 20)

    @classmethod
    def setUpClass(cls) -> None:
        command = {"command": sys.executable, "args": [str(SCRIPT), "good"], "pin": "off"}
        cls.CONFIG = {
            "mcp": {"servers": {"good": command}, "legacy_sse": True, "task_after": "50ms"}
        }
        super().setUpClass()
        cls.token = cls.gateway.pair("mcp-attacker", ("caller",))
        cls.gateway.wait_listed("big", "many_links")
        cls.numbers = itertools.count()

    def head(self, **fields: str) -> dict[str, str]:
        return {
            "Authorization": f"Bearer {self.token}",
            "Content-Type": "application/json",
            **{name.replace("_", "-"): value for name, value in fields.items()},
        }

    def post(self, body: Any, **fields: str) -> Any:
        with HttpConnection(self.gateway.public, 20.0) as connection:
            return connection.request("POST", "/mcp", self.head(**fields), body)

    def ask(self, method: str, params: dict[str, Any], name: str = "", **meta: Any) -> Any:
        fields = {"MCP-Protocol-Version": VERSION, "Mcp-Method": method}
        if name:
            fields["Mcp-Name"] = name
        return self.post(modern(method, params, **meta), **fields)

    def open(self, client: str = "hostile") -> str:
        """A session; its id."""
        answer = self.post(
            legacy(
                "initialize",
                {
                    "protocolVersion": "2025-11-25",
                    "capabilities": {},
                    "clientInfo": {"name": client, "version": "1"},
                },
            )
        )
        return answer.headers["mcp-session-id"]

    def of(self, session: str, method: str, params: Any, **fields: str) -> Any:
        body = legacy(method, params, next(self.numbers))
        return self.post(body, Mcp_Session_Id=session, **fields)

    def leave(self, body: Any, **fields: str) -> Stream:
        """A request whose answer is not read."""
        stream = self.hold(Stream(self.gateway.public, 5.0, receive_buffer=4096))
        text = json.dumps(body).encode()
        stream.send(request_bytes("POST", "/mcp", self.head(**fields), text))
        return stream

    def test_uris_and_names_as_long_as_a_message(self) -> None:
        session = self.open()
        uri = "t://a/" + "a" * (4 * MIB - 4096)
        fits = "t://a/" + "a" * 8000
        ref = {"type": "ref/resource", "uri": uri}
        argument = {"name": "a", "value": "v"}
        self.attack(
            lambda: self.of(session, "resources/read", {"uri": uri}),
            lambda: self.of(session, "resources/subscribe", {"uri": uri}),
            lambda: self.of(session, "completion/complete", {"ref": ref, "argument": argument}),
            lambda: self.of(session, "resources/read", {"uri": fits}),
            lambda: self.of(session, "tools/list", {"cursor": uri}),
            lambda: self.of(session, "tools/call", {"name": uri}),
            workers=1,
        )

    def test_sessions_that_are_opened_and_left(self) -> None:
        name = "n" * (3 * MIB)
        self.attack(lambda: self.open(name), lambda: self.open())

    def test_watches_of_long_uris(self) -> None:
        session = self.open()

        def watch() -> None:
            uri = f"t://a/{next(self.numbers):08000}"
            self.of(session, "resources/subscribe", {"uri": uri})

        def listen() -> None:
            uris = [f"t://a/{next(self.numbers):08000}" for _ in range(256)]
            fields = {"MCP-Protocol-Version": VERSION, "Mcp-Method": "subscriptions/listen"}
            body = modern(
                "subscriptions/listen", {"notifications": {"resourceSubscriptions": uris}}
            )
            self.leave(body, **fields)

        self.attack(watch, listen)

    def test_large_replies_that_are_kept_for_resuming(self) -> None:
        def call() -> None:
            self.of(self.open(), "tools/call", {"name": "big"}, Accept="text/event-stream")

        self.attack(call, workers=1)  # with more, upstream and attackers take all of two cores

    def test_replies_that_nobody_reads(self) -> None:
        fields = {
            "MCP-Protocol-Version": VERSION,
            "Mcp-Method": "tools/call",
            "Mcp-Name": "big",
            "Accept": "text/event-stream",
        }
        self.attack(lambda: self.leave(modern("tools/call", {"name": "big"}), **fields))

    def test_results_full_of_links(self) -> None:
        self.attack(lambda: self.ask("tools/call", {"name": "many_links"}, "many_links"))

    def test_streams_of_changes_that_are_opened_and_left(self) -> None:
        session = self.open()
        wants = {"toolsListChanged": True, "promptsListChanged": True}
        fields = {"MCP-Protocol-Version": VERSION, "Mcp-Method": "subscriptions/listen"}

        def get() -> None:
            stream = self.connect()
            head = self.head(Mcp_Session_Id=session, Accept="text/event-stream")
            stream.send(request_bytes("GET", "/mcp", head))

        self.attack(
            get,
            lambda: self.leave(modern("subscriptions/listen", {"notifications": wants}), **fields),
        )

    def stream_of_sse(self) -> tuple[Stream, str]:
        """A stream of HTTP+SSE, held and read no further, and where its messages go."""
        stream = self.hold(Stream(self.gateway.public, 5.0, receive_buffer=4096))
        head = self.head(Accept="text/event-stream")
        stream.send(request_bytes("GET", "/mcp/sse", head))
        stream.read_until(b"event: endpoint\ndata: ")
        return stream, stream.read_until(b"\n").decode().strip()

    def session_of_sse(self) -> tuple[Stream, str]:
        stream, endpoint = self.stream_of_sse()
        self.say(endpoint, legacy("initialize", {"protocolVersion": "2024-11-05"}))
        return stream, endpoint

    def say(self, endpoint: str, body: Any, token: str | None = None) -> int:
        head = self.head(**({"Authorization": f"Bearer {token}"} if token else {}))
        with HttpConnection(self.gateway.public, 20.0) as connection:
            return connection.request("POST", endpoint, head, body).status

    def test_streams_of_the_oldest_clients_without_number(self) -> None:
        def leave() -> None:
            stream, endpoint = self.session_of_sse()
            self.say(endpoint, legacy("tools/call", {"name": "big"}, 2))
            stream.reset()

        self.attack(self.session_of_sse, self.stream_of_sse, leave, workers=1)

    def test_streams_of_the_oldest_clients_that_nobody_reads(self) -> None:
        def fill() -> None:
            _, endpoint = self.session_of_sse()
            for number in range(2, 10):
                self.say(endpoint, legacy("tools/call", {"name": "big"}, number))

        self.attack(fill, workers=1)

    def test_large_messages_of_the_oldest_clients_that_wait(self) -> None:
        """A POST has its answer before the call has, and its connection ends: what bounds them is
        the bytes of their bodies."""
        _, endpoint = self.session_of_sse()
        call = {"name": "wait", "arguments": {"pad": "p" * (3 * MIB)}}

        def wait() -> int:
            return self.say(endpoint, legacy("tools/call", call, next(self.numbers)))

        for _ in range(32):  # more than a principal may have here, unless the server gives up first
            wait()
        self.attack(wait, workers=1)

    def test_endpoints_of_others(self) -> None:
        _, endpoint = self.session_of_sse()
        other = self.gateway.pair("mcp-thief", ("caller",))
        answers: set[int] = set()
        call = legacy("tools/call", {"name": "big"}, 2)
        self.attack(lambda: answers.add(self.say(endpoint, call, other)))
        self.assertEqual(answers, {404})

    def test_malformed_messages_of_the_oldest_clients(self) -> None:
        bodies: list[Any] = [
            b"",
            b"[" + b"1," * 100_000 + b"1]",
            b'{"jsonrpc":"2.0","id":1,"method":"ping","params":' + b"[" * 100_000,
            {"jsonrpc": "2.0", "id": 1, "method": "m" * MIB},
            {"jsonrpc": "2.0", "id": 1, "result": {"pad": "p" * MIB}},
            legacy("initialize", {"protocolVersion": "9" * MIB}),
        ]

        def speak(body: Any) -> None:
            self.say(self.stream_of_sse()[1], body)

        self.attack(*(lambda body=body: speak(body) for body in bodies), workers=1)

    def test_lists_and_discoveries_again_and_again(self) -> None:
        session = self.open()
        self.attack(
            lambda: self.of(session, "tools/list", {}),
            lambda: self.of(session, "resources/list", {}),
            lambda: self.ask("server/discover", {}),
            lambda: self.ask("prompts/get", {"name": "none"}, "none"),
            workers=1,
        )

    def test_calls_that_wait_for_answers_that_do_not_come(self) -> None:
        params = {"name": "ask", "arguments": {"pad": "p" * MIB}}
        fields = {"MCP-Protocol-Version": VERSION, "Mcp-Method": "tools/call", "Mcp-Name": "ask"}
        more = {"crab/timeoutMs": 300}
        body = modern("tools/call", params, {"elicitation": {}}, **more)
        self.attack(lambda: self.post(body, **fields))

    def test_messages_that_do_not_end(self) -> None:
        def part() -> None:
            stream = self.connect()
            head = self.head(Content_Length=str(4 * MIB))
            stream.send(request_bytes("POST", "/mcp", head) + b'{"jsonrpc":' + b" " * MIB)

        self.attack(part)

    def test_batches_of_as_many_requests_as_one_may_have(self) -> None:
        version = {"protocolVersion": "2025-03-26", "capabilities": {}}
        session = self.post(legacy("initialize", version)).headers["mcp-session-id"]
        uri = "u://repos/" + "/".join("a" * 100 for _ in range(70)) + "/none"
        asked = [
            ("tools/list", {}),
            ("resources/read", {"uri": uri}),
            ("resources/templates/list", {}),
            ("tools/call", {"name": "none"}),
        ]

        def batch(method: str, params: Any) -> int:
            all_of_it = [legacy(method, params, next(self.numbers)) for _ in range(32)]
            return self.post(all_of_it, Mcp_Session_Id=session).status

        self.assertEqual([batch(*each) for each in asked], [200] * len(asked))
        self.attack(*(lambda each=each: batch(*each) for each in asked), workers=1)

    def test_tasks_that_are_begun_asked_for_and_left(self) -> None:
        takes = {"extensions": {"io.modelcontextprotocol/tasks": {}}}
        made: deque[str] = deque(maxlen=100)

        def ask(method: str, params: Any, name: str) -> Any:
            fields = {"MCP-Protocol-Version": VERSION, "Mcp-Method": method, "Mcp-Name": name}
            return self.post(modern(method, params, takes), **fields).json()

        def begin() -> None:
            pad = {"pad": "p" * (MIB // 4)}
            answer = ask("tools/call", {"name": "wait", "arguments": pad}, "wait")
            if task := answer.get("result", {}).get("taskId"):
                made.append(task)

        def of_one(method: str) -> None:
            task = made[-1] if made else "0" * 32
            ask(method, {"taskId": task}, task)

        self.attack(
            begin,
            lambda: of_one("tasks/get"),
            lambda: ask("tasks/get", {"taskId": "f" * 32}, "f" * 32),
            lambda: of_one("tasks/cancel"),
        )
        self.assertGreater(len(made), 0, "no call became a task")

    def test_malformed_messages(self) -> None:
        deep = b'{"jsonrpc":"2.0","id":1,"method":"ping","params":' + b"[" * 100_000
        digits = b'{"jsonrpc":"2.0","id":1.' + b"0" * MIB + b',"method":"tools/list"}'
        token = modern("tools/list", {}, progressToken="t" * MIB)
        bodies: list[Any] = [
            b"",
            b"[]",
            b"[" + b"1," * 100_000 + b"1]",
            b'{"jsonrpc":"2.0"',
            deep,
            digits,
            token,
            {"jsonrpc": "2.0", "id": None, "method": "ping"},
            {"jsonrpc": "2.0", "id": "i" * MIB, "method": "ping"},
            {"jsonrpc": "2.0", "id": 1, "method": "m" * MIB},
            {"jsonrpc": "2.0", "id": 1, "result": {"pad": "p" * MIB}},
        ]
        session = self.open()
        self.attack(
            *(lambda body=body: self.post(body) for body in bodies),
            *(lambda body=body: self.post(body, Mcp_Session_Id=session) for body in bodies),
            workers=1,
        )


class SearchTest(HostileCase):
    """Of so many tools that they are searched for: the bystander here searches too."""

    CONFIG = {"mcp": {"budget": {"tools": 8}}}

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        cls.attacker = cls.gateway.pair("searcher", ("caller",))
        cls.other = cls.gateway.pair("other-searcher", ("caller",))

    def setUp(self) -> None:
        super().setUp()
        words = "words and more aaa bbb ccc " * 40
        for number in range(4):
            device = self.open()
            device.register(*(tool(f"alpha_{number}_{n}", description=words) for n in range(250)))

    def find(self, token: str, words: str) -> Any:
        head = {
            "Authorization": f"Bearer {token}",
            "Content-Type": "application/json",
            "MCP-Protocol-Version": VERSION,
            "Mcp-Method": "tools/call",
            "Mcp-Name": "find_tools",
        }
        params = {"name": "find_tools", "arguments": {"query": words, "limit": 20}}
        with HttpConnection(self.gateway.public, 20.0) as connection:
            return connection.request("POST", "/mcp", head, modern("tools/call", params))

    def test_searches_for_words_that_all_have(self) -> None:
        words = " ".join(letter * 3 for letter in "abcdefgh" * 4)
        waited: list[float] = []
        refused = itertools.count()

        def search() -> None:
            if b"RATE_LIMITED" in self.find(self.attacker, words).body:
                next(refused)

        def other() -> None:
            began = time.monotonic()
            self.assertIn(b"alpha_", self.find(self.other, "alpha_1_7").body)
            waited.append(time.monotonic() - began)

        steps = [search] * 16
        self.attack(*steps, other, workers=1)
        self.assertGreater(next(refused), 0, "one had all the searches that it asked for")
        # for one search of the attacker, each of which may take as long as it takes
        alone = time.monotonic()
        self.find(self.attacker, words)
        alone = time.monotonic() - alone
        self.assertLess(sorted(waited)[len(waited) // 2], 5 * alone + 1.0)
