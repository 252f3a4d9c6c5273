#!/usr/bin/env python3
"""A small MCP client for tests and for ./run: both eras, over HTTP and stdio, standard library
only. It shares no code with the gateway.

usage: mcp_client.py [--legacy] URL|-- list | call NAME [ARGUMENTS] | read URI | prompt NAME [ARGS]
  Instead of a URL: `mcp_client.py [--legacy] list -- COMMAND...` starts a server on stdio.
"""

from __future__ import annotations

import argparse
import json
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from mcp_headers import has_valid_headers, header_value, parameter_headers
from mcp_links import PATIENCE, HttpLink, HttpPending, Link, Message, Pending, SharedLink, StdioLink

MODERN = "2026-07-28"
META = "io.modelcontextprotocol/"
INFO = {"name": "crab-tests", "version": "1.0.0"}
Answerer = Callable[[Message], Message]  #: the params of a request to the client → its result
_NAMED = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
_NAMED |= {f"tasks/{verb}": "taskId" for verb in ("get", "update", "cancel")}


class McpError(Exception):
    """A JSON-RPC error; `status` is that of HTTP."""

    def __init__(self, error: Message, status: int) -> None:
        super().__init__(f"{error.get('code')}: {error.get('message')}")
        self.code, self.data, self.status = error.get("code"), error.get("data"), status


class LinkEnded(Exception):
    """The link or stream ended without an answer."""


class Client:
    """What both eras share. `answers` maps methods that the server may ask to what answers them;
    `notifications` are all that came, in order."""

    def __init__(self, link: Link, capabilities: Message | None = None) -> None:
        self.link, self.capabilities = link, capabilities or {}
        self.answers: dict[str, Answerer] = {}
        self.notifications: list[Message] = []
        self._came = threading.Condition()
        self._last_id = 0
        if isinstance(link, SharedLink):
            link.on_message = self._take

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self.link.close()

    def new_id(self) -> int:
        self._last_id += 1
        return self._last_id

    def _take(self, message: Message) -> None:
        """A message that answers nothing."""
        with self._came:
            self.notifications.append(message)
            self._came.notify_all()

    def wait_for(self, method: str, count: int = 1, timeout: float = PATIENCE) -> Message:
        """The `count`th notification of this method, waiting for it if need be."""
        end = time.monotonic() + timeout
        with self._came:
            while True:
                found = [one for one in self.notifications if one.get("method") == method]
                if len(found) >= count:
                    return found[count - 1]
                if not self._came.wait(end - time.monotonic()):
                    raise TimeoutError(f"{len(found)} of {count} {method} within {timeout:g} s")

    def finish(self, pending: Pending) -> Message:
        """The result that `pending` ends with. Errors: McpError, LinkEnded, HttpRefusal."""
        for message in pending.messages():
            if "method" in message:
                self._take(message)
            elif "error" in message:
                raise McpError(message["error"], pending.status)
            else:
                return message["result"]
        raise LinkEnded("the stream ended without an answer")

    def request(self, method: str, params: Message | None = None) -> Message:
        raise NotImplementedError

    def pages(self, method: str, key: str) -> Iterator[Message]:
        """All entries of a list; an empty cursor is one."""
        cursor: Message = {}
        while True:
            page = self.request(method, dict(cursor))
            yield from page[key]
            if "nextCursor" not in page:
                return
            cursor = {"cursor": page["nextCursor"]}

    def tools(self) -> dict[str, Message]:
        return {tool["name"]: tool for tool in self.pages("tools/list", "tools")}


class ModernClient(Client):
    """2026-07-28. `schemas` of tools, if filled, give the Mcp-Param-* headers."""

    def __init__(self, link: Link, capabilities: Message | None = None) -> None:
        super().__init__(link, capabilities)
        self.schemas: dict[str, Any] = {}

    def params(self, params: Message | None, meta: Message | None = None) -> Message:
        """`params` with the `_meta` that every request has."""
        whole = dict(params or {})
        whole["_meta"] = {
            META + "protocolVersion": MODERN,
            META + "clientInfo": INFO,
            META + "clientCapabilities": self.capabilities,
            **whole.get("_meta", {}),
            **(meta or {}),
        }
        return whole

    def headers(self, method: str, params: Message) -> dict[str, str]:
        found = {"MCP-Protocol-Version": MODERN, "Mcp-Method": method}
        if method in _NAMED and _NAMED[method] in params:
            found["Mcp-Name"] = header_value(params[_NAMED[method]])
        if method == "tools/call":
            schema = self.schemas.get(str(params.get("name")))
            found |= parameter_headers(schema, params.get("arguments"))
        return found

    def start(
        self,
        method: str,
        params: Message | None = None,
        meta: Message | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Pending:
        """Sends a request; `headers` replace those made here. Closing the result cancels it over
        HTTP."""
        whole = self.params(params, meta)
        message = {"jsonrpc": "2.0", "id": self.new_id(), "method": method, "params": whole}
        return self.link.send(message, {**self.headers(method, whole), **(headers or {})})

    def request(
        self, method: str, params: Message | None = None, meta: Message | None = None
    ) -> Message:
        return self.finish(self.start(method, params, meta))

    def tools(self) -> dict[str, Message]:
        """All but, over HTTP, those whose x-mcp-header break the rules."""
        found = super().tools()
        self.schemas = {name: tool.get("inputSchema") for name, tool in found.items()}
        if not self.link.is_http:
            return found
        return {name: tool for name, tool in found.items() if has_valid_headers(self.schemas[name])}

    def ask(self, method: str, params: Message, meta: Message | None = None) -> Message:
        """As request(), with rounds of input answered from `answers`."""
        result = self.request(method, params, meta)
        for _ in range(10):
            if result.get("resultType") != "input_required":
                return result
            again = {**params, "inputResponses": self.responses(result["inputRequests"])}
            if "requestState" in result:
                again["requestState"] = result["requestState"]
            result = self.request(method, again, meta)
        raise AssertionError("more than ten rounds")

    def responses(self, requests: Mapping[str, Message]) -> Message:
        return {key: self.answers[one["method"]](one["params"]) for key, one in requests.items()}

    def call(self, name: str, arguments: Message | None = None, **meta: Any) -> Message:
        """A tool's result, rounds and tasks included."""
        params = {"name": name, "arguments": arguments or {}}
        result = self.ask("tools/call", params, meta)
        return self.settle(result) if result.get("resultType") == "task" else result

    def settle(self, task: Message) -> Message:
        """A task's result; its questions are answered from `answers`."""
        task_id = {"taskId": task["taskId"]}
        while True:
            state = self.request("tasks/get", task_id)
            if state["status"] == "input_required":
                given = self.responses(state["inputRequests"])
                self.request("tasks/update", {**task_id, "inputResponses": given})
            elif state["status"] == "completed":
                return state["result"]
            elif state["status"] != "working":
                raise McpError(state.get("error", {"message": state["status"]}), 200)
            time.sleep(min(state.get("pollIntervalMs", 500), 500) / 1000)

    def listen(self, **wanted: Any) -> Pending:
        """A subscription; its first message is the acknowledgement."""
        return self.start("subscriptions/listen", {"notifications": wanted})


class LegacyClient(Client):
    """2024-11-05 to 2025-11-25. `opened` is the result of initialize."""

    def __init__(
        self, link: Link, capabilities: Message | None = None, version: str = "2025-11-25"
    ) -> None:
        super().__init__(link, capabilities)
        self.session: dict[str, str] = {}  #: headers of this session
        self.opened: Message = {}
        self._streams: list[HttpPending] = []
        self._wanted = version

    def __enter__(self) -> LegacyClient:
        self.open()
        return self

    def open(self) -> Message:
        """initialize and notifications/initialized."""
        params = {"protocolVersion": self._wanted, "capabilities": self.capabilities}
        pending = self.start("initialize", {**params, "clientInfo": INFO})
        self.opened = self.finish(pending)
        if self.link.is_http:
            if "mcp-session-id" in pending.headers:
                self.session["Mcp-Session-Id"] = pending.headers["mcp-session-id"]
            if self.opened["protocolVersion"] >= "2025-06-18":
                self.session["MCP-Protocol-Version"] = self.opened["protocolVersion"]
        self.notify("notifications/initialized")
        return self.opened

    def start(
        self,
        method: str,
        params: Message | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Pending:
        message: Message = {"jsonrpc": "2.0", "id": self.new_id(), "method": method}
        if params is not None:
            message["params"] = params
        return self.link.send(message, {**self.session, **(headers or {})})

    def request(self, method: str, params: Message | None = None) -> Message:
        """A result; a stream that breaks after an event with an id is taken up again."""
        pending: Pending = self.start(method, params)
        for _ in range(5):
            try:
                return self.finish(pending)
            except LinkEnded:
                if pending.last_id is None:
                    raise
                time.sleep((pending.retry or 1000) / 1000)
                pending = self.resume(pending.last_id)
        raise LinkEnded("five times resumed, and no answer")

    def resume(self, last_id: str) -> HttpPending:
        return self._link().request("GET", {**self.session, "Last-Event-ID": last_id})

    def _link(self) -> HttpLink:
        assert isinstance(self.link, HttpLink), "only HTTP has streams"
        return self.link

    def call(self, name: str, arguments: Message | None = None, **meta: Any) -> Message:
        params: Message = {"name": name, "arguments": arguments or {}}
        return self.request("tools/call", {**params, "_meta": meta} if meta else params)

    def notify(self, method: str, params: Message | None = None) -> None:
        message: Message = {"jsonrpc": "2.0", "method": method}
        self._post(message if params is None else {**message, "params": params})

    def _post(self, message: Message) -> None:
        for answer in self.link.send(message, self.session).messages():
            raise AssertionError(f"an answer to a notification: {answer}")

    def _take(self, message: Message) -> None:
        """Notifications are kept, requests answered."""
        if "id" not in message:
            super()._take(message)
            return
        answer: Message = {"jsonrpc": "2.0", "id": message["id"]}
        answerer = self.answers.get(message["method"])
        if message["method"] == "ping":
            answer["result"] = {}
        elif answerer is None:
            answer["error"] = {"code": -32601, "message": "not here"}
        else:
            answer["result"] = answerer(message.get("params", {}))
        self._post(answer)

    def stream(self) -> HttpPending:
        """Opens the GET stream; its messages are taken in by a thread."""
        pending = self._link().request("GET", self.session)
        assert pending.status == 200, pending.status

        def read() -> None:
            for message in pending.messages():
                self._take(message)

        threading.Thread(target=read, daemon=True).start()
        self._streams.append(pending)
        return pending

    def end(self) -> int:
        """DELETE; its status."""
        pending = self._link().request("DELETE", self.session)
        status = pending.status
        pending.close()
        return status

    def close(self) -> None:
        for stream in self._streams:
            stream.close()
        super().close()


def _run(client: Client, words: list[str]) -> Any:
    verb, *rest = words
    if verb == "list":
        return [
            {"name": name, "description": tool.get("description")}
            for name, tool in client.tools().items()
        ]
    arguments = json.loads(rest[1]) if len(rest) > 1 else {}
    if verb == "call":
        return client.call(rest[0], arguments)
    if verb == "read":
        return client.request("resources/read", {"uri": rest[0]})
    if verb == "prompt":
        return client.request("prompts/get", {"name": rest[0], "arguments": arguments})
    raise SystemExit(f"mcp_client.py: no verb {verb}")


def main(words: list[str]) -> int:
    cut = words.index("--") if "--" in words else len(words)
    parser = argparse.ArgumentParser(usage=(__doc__ or "").partition("usage: ")[2])
    parser.add_argument("--legacy", action="store_true")
    parser.add_argument("--token")
    parser.add_argument("words", nargs="+")
    given = parser.parse_args(words[:cut])
    command, rest = words[cut + 1 :], given.words
    headers = {"Authorization": f"Bearer {given.token}"} if given.token else {}
    link: Link = StdioLink(command) if command else HttpLink(rest.pop(0), headers)
    client: Client = LegacyClient(link) if given.legacy else ModernClient(link)
    try:
        with client:
            result = _run(client, rest)
    except McpError as error:
        print(error, file=sys.stderr)
        return 1
    print(json.dumps(result, indent=1, ensure_ascii=False))
    return 1 if isinstance(result, dict) and result.get("isError") else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
