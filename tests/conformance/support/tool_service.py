"""sw4rm's ToolService as grpcio sees it: message classes that protoc makes from spec/sw4rm at run
time, and a client."""

from __future__ import annotations

import functools
import importlib
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import grpc

from .wait import PATIENCE

_SPEC = Path(__file__).resolve().parents[3] / "spec" / "sw4rm"


@functools.cache
def _messages() -> tuple[ModuleType, ModuleType]:
    with tempfile.TemporaryDirectory(prefix="crab-protos-") as folder:
        files = [str(_SPEC / name) for name in ("tool.proto", "connector.proto")]
        subprocess.run(
            [
                "protoc",
                f"--proto_path={_SPEC}",
                "--proto_path=/usr/include",
                f"--python_out={folder}",
                *files,
            ],
            check=True,
            timeout=60,
        )
        sys.path.insert(0, folder)
        try:
            return importlib.import_module("tool_pb2"), importlib.import_module("connector_pb2")
        finally:
            sys.path.remove(folder)


def tool_pb() -> ModuleType:
    """The messages of tool.proto."""
    return _messages()[0]


def connector_pb() -> ModuleType:
    """The messages of connector.proto."""
    return _messages()[1]


def tool_call(tool: str, args: Any = None, *, call_id: str = "", **members: Any) -> Any:
    """A ToolCall; `args` that are no bytes become JSON."""
    data = args if isinstance(args, bytes) else b"" if args is None else json.dumps(args).encode()
    return tool_pb().ToolCall(call_id=call_id, tool_name=tool, args=data, **members)


def summary_of(frame: Any) -> dict[str, Any]:
    return json.loads(frame.summary)


def trailers_of(error: grpc.RpcError) -> dict[str, str]:
    return {name: value for name, value in error.trailing_metadata() or ()}


class ToolServiceClient:
    """One channel; every RPC has a deadline unless `timeout` says otherwise."""

    def __init__(
        self,
        address: str,
        token: str | None = None,
        *,
        options: tuple[tuple[str, Any], ...] = (),
        credentials: grpc.ChannelCredentials | None = None,
    ) -> None:
        every = [("grpc.enable_retries", 0), *options]
        self.channel = (
            grpc.secure_channel(address, credentials, every)
            if credentials
            else grpc.insecure_channel(address, every)
        )
        self.token = token

    def close(self) -> None:
        self.channel.close()

    def metadata(self, extra: dict[str, str] | None) -> list[tuple[str, str]]:
        credential = {"authorization": f"Bearer {self.token}"} if self.token else {}
        return list({**credential, **(extra or {})}.items())

    def unary(
        self,
        path: str,
        request: Any,
        answer: Any,
        metadata: dict[str, str] | None = None,
        timeout: float | None = PATIENCE,
    ) -> Any:
        send = self.channel.unary_unary(
            path,
            request_serializer=lambda m: m if isinstance(m, bytes) else m.SerializeToString(),
            response_deserializer=answer.FromString,
        )
        return send.with_call(request, metadata=self.metadata(metadata), timeout=timeout)

    def start(
        self, request: Any, metadata: dict[str, str] | None = None, timeout: float | None = PATIENCE
    ) -> Any:
        """Call in the background: a future of its frame."""
        send = self.channel.unary_unary(
            "/sw4rm.tool.ToolService/Call",
            request_serializer=lambda m: m.SerializeToString(),
            response_deserializer=tool_pb().ToolFrame.FromString,
        )
        return send.future(request, metadata=self.metadata(metadata), timeout=timeout)

    def call(self, request: Any, **options: Any) -> Any:
        """Call: its frame."""
        return self.unary("/sw4rm.tool.ToolService/Call", request, tool_pb().ToolFrame, **options)[
            0
        ]

    def call_stream(
        self, request: Any, metadata: dict[str, str] | None = None, timeout: float | None = PATIENCE
    ) -> Iterator[Any]:
        """CallStream: its frames as they come; also a grpc.Call."""
        send = self.channel.unary_stream(
            "/sw4rm.tool.ToolService/CallStream",
            request_serializer=lambda m: m.SerializeToString(),
            response_deserializer=tool_pb().ToolFrame.FromString,
        )
        return send(request, metadata=self.metadata(metadata), timeout=timeout)

    def cancel(self, request: Any, **options: Any) -> Any:
        """Cancel: its ToolError; a text is a ToolCall with that id alone."""
        message = tool_pb().ToolCall(call_id=request) if isinstance(request, str) else request
        return self.unary(
            "/sw4rm.tool.ToolService/Cancel", message, tool_pb().ToolError, **options
        )[0]

    def describe(self, provider: str = "", **options: Any) -> Any:
        request = connector_pb().DescribeToolsRequest(provider_id=provider)
        return self.unary(
            "/sw4rm.connector.ConnectorService/DescribeTools",
            request,
            connector_pb().DescribeToolsResponse,
            **options,
        )[0]
