"""sw4rm's HitlService and WorktreeService as servers of grpcio in this process; the gateway asks
them where they are configured."""

from __future__ import annotations

import functools
import json
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from .wait import PATIENCE

_FIELD = descriptor_pb2.FieldDescriptorProto


@functools.cache
def _messages() -> dict[str, Any]:
    """Message classes by name, from their fields as docs/protocols/sw4rm.md, section 1, numbers
    them."""
    text, octets, number = _FIELD.TYPE_STRING, _FIELD.TYPE_BYTES, _FIELD.TYPE_INT32
    one, many = _FIELD.LABEL_OPTIONAL, _FIELD.LABEL_REPEATED
    shapes = {
        "HitlInvocation": [
            ("reason_type", number, one),
            ("context", octets, one),
            ("proposed_actions", text, many),
            ("priority", number, one),
        ],
        "HitlDecision": [
            ("action", text, one),
            ("decision_payload", octets, one),
            ("rationale", text, one),
        ],
        "StatusRequest": [("agent_id", text, one)],
        "StatusResponse": [
            ("repo_id", text, one),
            ("worktree_id", text, one),
            ("state", text, one),
        ],
    }
    file = descriptor_pb2.FileDescriptorProto(
        name="asked_services.proto", package="asked", syntax="proto3"
    )
    for name, fields in shapes.items():
        message = file.message_type.add(name=name)
        for index, (field, kind, label) in enumerate(fields):
            message.field.add(name=field, number=index + 1, type=kind, label=label)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    factory = message_factory.MessageFactory(pool)
    return {
        name: factory.GetPrototype(pool.FindMessageTypeByName(f"asked.{name}")) for name in shapes
    }


class _Service(grpc.GenericRpcHandler):
    def __init__(
        self, path: str, request: str, answer: Callable[[Any, grpc.ServicerContext], Any]
    ) -> None:
        self._path, self._request, self._answer = path, request, answer
        self._server = grpc.server(ThreadPoolExecutor(16, "asked"))
        self._server.add_generic_rpc_handlers((self,))
        self.address = f"127.0.0.1:{self._server.add_insecure_port('127.0.0.1:0')}"
        self._server.start()

    def service(self, details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler | None:
        if details.method != self._path:
            return None
        return grpc.unary_unary_rpc_method_handler(
            self._answer,
            _messages()[self._request].FromString,
            lambda message: message.SerializeToString(),
        )

    def close(self) -> None:
        self._server.stop(0).wait(PATIENCE)


class HitlService(_Service):
    """`decide(invocation, context)` gives the action; an exception is its error. Invocations are
    kept, their context as JSON."""

    def __init__(self, decide: Callable[[Any, grpc.ServicerContext], str]) -> None:
        self.decide = decide
        self.asked: list[tuple[Any, dict[str, Any]]] = []
        super().__init__("/sw4rm.hitl.HitlService/Decide", "HitlInvocation", self._on_decide)

    def _on_decide(self, invocation: Any, context: grpc.ServicerContext) -> Any:
        self.asked.append((invocation, json.loads(invocation.context)))
        return _messages()["HitlDecision"](
            action=self.decide(invocation, context), rationale="as the test says"
        )


class WorktreeService(_Service):
    """`bound` has repository, worktree and state by agent; who is not there is UNBOUND. `mute`
    answers nobody until it is closed."""

    def __init__(self, bound: dict[str, tuple[str, str, str]]) -> None:
        self.bound = bound
        self.asked: list[str] = []
        self.mute = False
        self._closed = threading.Event()
        super().__init__("/sw4rm.worktree.WorktreeService/Status", "StatusRequest", self._on_status)

    def _on_status(self, request: Any, _: grpc.ServicerContext) -> Any:
        self.asked.append(request.agent_id)
        if self.mute:
            self._closed.wait(PATIENCE)
        repository, worktree, state = self.bound.get(request.agent_id, ("", "", "UNBOUND"))
        return _messages()["StatusResponse"](repo_id=repository, worktree_id=worktree, state=state)

    def close(self) -> None:
        self._closed.set()
        super().close()
