"""A ToolService that the gateway calls: grpcio's server in this process, its tools and its
ConnectorService set by the test."""

from __future__ import annotations

import json
import queue
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc

from .tool_service import connector_pb, tool_pb
from .wait import PATIENCE

Handler = Callable[[Any, grpc.ServicerContext], Any]


def descriptor(name: str, schema: dict[str, Any] | None = None, **members: Any) -> Any:
    return connector_pb().ToolDescriptor(
        tool_name=name, input_schema=json.dumps(schema or {"type": "object"}), **members
    )


def frame(
    request: Any,
    data: bytes,
    number: int = 1,
    final: bool = True,
    content_type: str = "application/json",
    summary: bytes = b"",
) -> Any:
    """One ToolFrame in answer to `request`."""
    return tool_pb().ToolFrame(
        call_id=request.call_id,
        frame_no=number,
        final=final,
        content_type=content_type,
        data=data,
        summary=summary,
    )


def refuse(
    context: grpc.ServicerContext, status: grpc.StatusCode, message: str, **trailers: str
) -> None:
    """Ends the RPC with this status; raises."""
    context.set_trailing_metadata(
        [(name.replace("_", "-"), value) for name, value in trailers.items()]
    )
    context.abort(status, message)


class GrpcProvider:
    """`tools` is what DescribeTools answers (None: there is no ConnectorService); `call`,
    `call_stream` serve; requests are kept."""

    def __init__(
        self,
        tools: list[Any] | None = (),
        *,
        address: str = "127.0.0.1:0",
        credentials: grpc.ServerCredentials | None = None,
        start: bool = True,
    ) -> None:
        self.tools = None if tools is None else list(tools)
        self.call: Handler = lambda request, _: frame(request, request.args)
        self.call_stream: Handler = lambda request, _: iter([frame(request, request.args)])
        self.requests: list[Any] = []
        self.metadata: list[dict[str, str]] = []
        self.timeouts: list[float | None] = []
        self.cancelled: queue.Queue[str] = queue.Queue()
        self.described = 0
        self.before_description: Callable[[], object] = lambda: None  # called before the answer
        self._lock = threading.Lock()
        self._credentials = credentials
        self._address = address
        self.port = 0
        self._server: grpc.Server | None = None
        if start:
            self.start()

    @property
    def address(self) -> str:
        return self._address if self._address.startswith("unix:") else f"127.0.0.1:{self.port}"

    def start(self) -> None:
        """Listens; again on the same port after a stop()."""
        self._server = grpc.server(
            ThreadPoolExecutor(32, "provider"), options=(("grpc.so_reuseport", 0),)
        )
        self._server.add_generic_rpc_handlers((_Handlers(self),))
        address = f"127.0.0.1:{self.port}" if self.port else self._address
        port = (
            self._server.add_secure_port(address, self._credentials)
            if self._credentials
            else self._server.add_insecure_port(address)
        )
        assert port != 0, f"cannot listen on {address}"
        self.port = port
        self._server.start()

    def stop(self) -> None:
        """Ends at once, with whatever runs."""
        if self._server:
            self._server.stop(0).wait(PATIENCE)
            self._server = None

    def note(self, request: Any, context: grpc.ServicerContext) -> None:
        with self._lock:
            self.requests.append(request)
            self.metadata.append(dict(context.invocation_metadata()))
            self.timeouts.append(context.time_remaining())

    def calls_of(self, tool: str) -> list[Any]:
        with self._lock:
            return [request for request in self.requests if request.tool_name == tool]


class _Handlers(grpc.GenericRpcHandler):
    def __init__(self, provider: GrpcProvider) -> None:
        self.provider = provider

    def service(self, details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler | None:
        provider = self.provider

        def call(request: Any, context: grpc.ServicerContext) -> Any:
            provider.note(request, context)
            return provider.call(request, context)

        def call_stream(request: Any, context: grpc.ServicerContext) -> Iterator[Any]:
            provider.note(request, context)
            yield from provider.call_stream(request, context)

        def cancel(request: Any, _: grpc.ServicerContext) -> Any:
            provider.cancelled.put(request.call_id)
            return tool_pb().ToolError(
                call_id=request.call_id, error_code="CANCELED", message="cancelled"
            )

        def describe(_: Any, __: grpc.ServicerContext) -> Any:
            provider.described += 1
            answer = connector_pb().DescribeToolsResponse(tools=provider.tools)
            provider.before_description()
            return answer

        def unary(method: Any, request: Any) -> grpc.RpcMethodHandler:
            return grpc.unary_unary_rpc_method_handler(
                method, request.FromString, lambda m: m.SerializeToString()
            )

        if details.method == "/sw4rm.tool.ToolService/Call":
            return unary(call, tool_pb().ToolCall)
        if details.method == "/sw4rm.tool.ToolService/CallStream":
            return grpc.unary_stream_rpc_method_handler(
                call_stream, tool_pb().ToolCall.FromString, lambda m: m.SerializeToString()
            )
        if details.method == "/sw4rm.tool.ToolService/Cancel":
            return unary(cancel, tool_pb().ToolCall)
        if (
            details.method == "/sw4rm.connector.ConnectorService/DescribeTools"
            and provider.tools is not None
        ):
            return unary(describe, connector_pb().DescribeToolsRequest)
        return None
