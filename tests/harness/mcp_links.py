"""The ways to an MCP server: Streamable HTTP, stdio, HTTP with SSE; they know no era."""

from __future__ import annotations

import contextlib
import http.client
import json
import queue
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol
from urllib.parse import urljoin, urlsplit

from sse import Event, EventParser

Message = dict[str, Any]
PATIENCE = 20.0  #: seconds that anything may take which should come soon
SUBSCRIPTION_ID = "io.modelcontextprotocol/subscriptionId"


class HttpRefusal(Exception):
    """An HTTP answer without a JSON-RPC message."""

    def __init__(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        super().__init__(f"HTTP {status}: {body[:200]!r}")
        self.status, self.headers, self.body = status, headers, body


class Pending(Protocol):
    """A message that was sent, and what comes back for it. `status` and `headers` are those of
    HTTP; `last_id` and `retry` those of its event stream."""

    status: int
    headers: Mapping[str, str]
    last_id: str | None
    retry: int | None

    def messages(self) -> Iterator[Message]:
        """What comes, until the answer has come or the stream has ended."""

    def close(self) -> None:
        """Wants no more; over HTTP this closes the connection."""


class Link(Protocol):
    """A way to a server."""

    is_http: bool

    def send(self, message: Any, headers: Mapping[str, str] | None = None) -> Pending:
        """Sends a message, or a batch."""

    def close(self) -> None:
        """Ends it."""


class HttpPending:
    """One HTTP request and its answer, on a connection of its own."""

    def __init__(self, connection: http.client.HTTPConnection) -> None:
        self._connection = connection
        self._plug = connection.sock  # http.client forgets it at `Connection: close`
        self._response = connection.getresponse()
        self._parser = EventParser()
        self.status = self._response.status
        self.headers = {name.lower(): value for name, value in self._response.getheaders()}

    @property
    def last_id(self) -> str | None:
        return self._parser.last_id

    @property
    def retry(self) -> int | None:
        return self._parser.retry

    @property
    def comments(self) -> int:
        return self._parser.comments

    @property
    def is_stream(self) -> bool:
        return self.headers.get("content-type", "").startswith("text/event-stream")

    def messages(self) -> Iterator[Message]:
        try:
            if self.is_stream:
                for event in self.events():
                    if event.name == "message":
                        yield json.loads(event.data)
                return
            body = self._response.read()
            if self.headers.get("content-type", "").startswith("application/json"):
                found = json.loads(body)
                yield from found if isinstance(found, list) else [found]
            elif self.status != 202 and self.status != 204:
                raise HttpRefusal(self.status, self.headers, body)
        finally:
            self.close()

    def events(self) -> Iterator[Event]:
        """All events of an event stream."""
        while piece := self._read():
            yield from self._parser.feed(piece)

    def _read(self) -> bytes:
        try:
            return self._response.read1(1 << 16)
        except (http.client.IncompleteRead, ConnectionError, ValueError, AttributeError):
            return b""  # cut by the other side, or closed by this one in another thread

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._plug.shutdown(socket.SHUT_RDWR)
        self._response.close()
        self._connection.close()
        self._plug.close()


class HttpLink:
    """`headers` go with every request."""

    is_http = True

    def __init__(
        self, url: str, headers: Mapping[str, str] | None = None, timeout: float = PATIENCE
    ) -> None:
        place = urlsplit(url)
        self.host, self.port = place.hostname or "localhost", place.port or 80
        self.path = place.path + (f"?{place.query}" if place.query else "")
        self.headers, self.timeout = dict(headers or {}), timeout

    def request(
        self, method: str, headers: Mapping[str, str] | None = None, body: bytes | None = None
    ) -> HttpPending:
        """Any HTTP request to the endpoint."""
        connection = http.client.HTTPConnection(self.host, self.port, timeout=self.timeout)
        whole = {"Accept": "application/json, text/event-stream", **self.headers}
        connection.request(method, self.path, body, {**whole, **(headers or {})})
        return HttpPending(connection)

    def send(self, message: Any, headers: Mapping[str, str] | None = None) -> HttpPending:
        body = json.dumps(message, separators=(",", ":"), ensure_ascii=False).encode()
        return self.request("POST", {"Content-Type": "application/json", **(headers or {})}, body)

    def close(self) -> None:
        """Nothing: each request has its own connection."""


class Waiting:
    """A message on a link with one channel back. Notifications that name no subscription go to
    `on_message` of the link, for the channel does not say to which request they belong."""

    status, retry = 200, None
    last_id: str | None = None
    headers: Mapping[str, str] = {}

    def __init__(self, link: SharedLink, request_id: Any) -> None:
        self._link, self._id = link, request_id
        self.arrived: queue.Queue[Message | None] = queue.Queue()

    def messages(self) -> Iterator[Message]:
        if self._id is None:
            return
        while True:
            try:
                message = self.arrived.get(timeout=self._link.timeout)
            except queue.Empty:
                raise TimeoutError(f"no answer to {self._id!r}") from None
            if message is None:
                return
            yield message
            if "method" not in message:
                return

    def close(self) -> None:
        self._link.waiting.pop(self._id, None)


class SharedLink:
    """What links with one channel back have in common."""

    is_http = False

    def __init__(self, timeout: float) -> None:
        self.timeout = timeout
        self.on_message: Callable[[Message], None] = lambda message: None
        self.waiting: dict[Any, Waiting] = {}
        self.ended = threading.Event()

    def await_answer(self, message: Any) -> Waiting:
        """To be called before `message` is sent."""
        is_request = isinstance(message, dict) and "method" in message and "id" in message
        waiting = Waiting(self, message["id"] if is_request else None)
        if is_request:
            self.waiting[message["id"]] = waiting
        if self.ended.is_set():
            waiting.arrived.put(None)
        return waiting

    def take(self, message: Message) -> None:
        """A message that came in."""
        meta = (message.get("params") or {}).get("_meta") or {}
        request_id = message.get("id") if "method" not in message else meta.get(SUBSCRIPTION_ID)
        waiting = self.waiting.get(request_id) if request_id is not None else None
        if waiting is not None:
            waiting.arrived.put(message)
        else:
            self.on_message(message)

    def end(self) -> None:
        """Nothing more comes in."""
        self.ended.set()
        for waiting in list(self.waiting.values()):
            waiting.arrived.put(None)


class StdioLink(SharedLink):
    """A child process; leaving closes its stdin and waits, at most `timeout`, for its end."""

    def __init__(
        self,
        words: Sequence[str],
        timeout: float = PATIENCE,
        environment: Mapping[str, str] | None = None,
        stderr: Any = None,
    ) -> None:
        super().__init__(timeout)
        self.noise: list[bytes] = []  #: lines of the child that are no messages
        self.process = subprocess.Popen(
            list(words),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stderr,
            env=dict(environment) if environment is not None else None,
        )
        self._lock = threading.Lock()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        for line in self.process.stdout or []:
            try:
                message = json.loads(line)
            except ValueError:
                self.noise.append(line)
                continue
            self.take(message)
        self.end()

    def send(self, message: Any, headers: Mapping[str, str] | None = None) -> Waiting:
        waiting = self.await_answer(message)
        line = json.dumps(message, separators=(",", ":"), ensure_ascii=False) + "\n"
        with self._lock, contextlib.suppress(BrokenPipeError):
            self.process.stdin.write(line.encode())
            self.process.stdin.flush()
        return waiting

    def close(self) -> None:
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        try:
            self.process.wait(self.timeout)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self._reader.join(self.timeout)
        if (
            not self._reader.is_alive()
        ):  # else a grandchild holds the pipe; close() would wait for it
            self.process.stdout.close()


class SseLink(SharedLink):
    """HTTP with SSE, the transport of 2024-11-05: answers come on the stream of a GET."""

    def __init__(
        self, url: str, headers: Mapping[str, str] | None = None, timeout: float = PATIENCE
    ) -> None:
        super().__init__(timeout)
        self._url, self._headers = url, dict(headers or {})
        self._endpoint: queue.Queue[str] = queue.Queue()
        get = {"Accept": "text/event-stream"}
        self.stream = HttpLink(url, self._headers, timeout).request("GET", get)
        threading.Thread(target=self._read, daemon=True).start()
        self.endpoint = urljoin(url, self._endpoint.get(timeout=timeout))

    def _read(self) -> None:
        for event in self.stream.events():
            if event.name == "endpoint":
                self._endpoint.put(event.data)
            elif event.name == "message":
                self.take(json.loads(event.data))
        self.end()

    def send(self, message: Any, headers: Mapping[str, str] | None = None) -> Waiting:
        waiting = self.await_answer(message)
        posted = HttpLink(self.endpoint, self._headers, self.timeout).send(message)
        posted.close()
        if not 200 <= posted.status < 300:
            raise HttpRefusal(posted.status, posted.headers, b"")
        return waiting

    def close(self) -> None:
        self.stream.close()
