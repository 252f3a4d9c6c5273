"""docs/protocols/sw4rm.md, section 5: what a repeat finds after a crash or a dropped RPC in
mid-call (checklist 49)."""

from __future__ import annotations

import tempfile
import unittest
from collections.abc import Callable
from pathlib import Path
from typing import Any

from support.device import Device, tool
from support.processes import processes_of
from support.tool_service import ToolServiceClient, summary_of, tool_call
from support.wait import eventually
from test_commands import can_sandbox, shell
from test_grpc import GrpcCase, Status


class MidCallTest(GrpcCase):
    """`again*` is idempotent, `effect*` is not; both have side effects. `plain*` is as a device
    says it that says nothing."""

    CONFIG = {
        **GrpcCase.CONFIG,
        "tools": [
            {"match": "again*", "side_effects": True, "idempotent": True},
            {"match": "effect*", "side_effects": True},
        ],
    }

    def setUp(self) -> None:
        super().setUp()
        self.token = self.new_token()

    def device(self, name: str) -> Device:
        device = self.open(self.token, capabilities=("tool_call_cancel",))
        device.register(tool(name))
        return device

    def begin(
        self, name: str, streams: bool, **metadata: str
    ) -> tuple[Device, ToolServiceClient, Any, Any]:
        """A call that its tool has begun: device, client, the request, the RPC."""
        device, client = self.device(name), self.client()
        request = tool_call(name, {"n": 1}, call_id=self.unique("id"))
        rpc = (client.call_stream if streams else client.start)(request, metadata=metadata)
        device.next_call(name)
        return device, client, request, rpc

    def runs_again(self, device: Device, request: Any, **metadata: str) -> None:
        repeat = self.client().start(request, metadata=metadata)
        device.answer(device.next_call(request.tool_name), "ran again")
        frame = repeat.result(10)
        self.assertEqual((frame.data, "replayed" in summary_of(frame)), (b"ran again", False))
        self.assertTrue(
            summary_of(self.client().call(request, metadata=metadata))["replayed"],
            "and that is its outcome now",
        )

    def stays_unknown(self, device: Device, request: Any, **metadata: str) -> None:
        """By both RPCs, as often as it is asked; the tool does not run."""
        for _ in range(2):
            for send in (
                self.client().call,
                lambda *args, **options: list(self.client().call_stream(*args, **options)),
            ):
                self.refused(
                    Status.UNKNOWN,
                    "OUTCOME_UNKNOWN",
                    lambda send=send: send(request, metadata=metadata),
                )
        self.assert_alive(device)  # it was asked nothing

    def crash(self, name: str) -> Device:
        self.gateway.kill()
        self.gateway.start()
        return self.device(name)

    def leave(self, how: Callable[[], Any], device: Device, request: Any) -> None:
        how()
        device.expect("tool_call_cancel")
        self.wait_ended(request)

    def wait_ended(self, request: Any) -> None:
        """Until then a repeat of a stream is ALREADY_IN_PROGRESS."""

        def running() -> list[str]:
            calls = self.gateway.admin_request("GET", "/v1/admin/calls").json()["running"]
            return [call["call_id"] for call in calls]

        eventually(lambda: request.call_id not in running(), "it has ended")

    def test_sw4rm_49_after_a_crash_an_idempotent_tool_runs_again(self) -> None:
        for streams in (False, True):
            name = self.unique("again")
            _, _, request, _ = self.begin(name, streams)
            self.runs_again(self.crash(name), request)

    def test_sw4rm_49_after_a_crash_any_other_is_of_unknown_outcome(self) -> None:
        for streams in (False, True):
            name = self.unique("effect")
            _, _, request, _ = self.begin(name, streams)
            self.stays_unknown(self.crash(name), request)

    def test_sw4rm_49_a_key_is_remembered_over_a_crash_whatever_the_tool_says(self) -> None:
        name = self.unique("plain")
        key = {"idempotency-key": self.unique("key")}
        _, _, request, _ = self.begin(name, False, **key)
        self.stays_unknown(self.crash(name), request, **key)

    def test_a_call_without_effects_and_key_is_forgotten_with_the_gateway(self) -> None:
        name = self.unique("plain")
        _, _, request, _ = self.begin(name, False)
        self.runs_again(self.crash(name), request)

    def test_sw4rm_49_after_a_dropped_rpc_an_idempotent_tool_runs_again(self) -> None:
        for streams in (False, True):
            for closes in (False, True):
                device, client, request, rpc = self.begin(self.unique("again"), streams)
                self.leave(client.close if closes else rpc.cancel, device, request)
                self.runs_again(device, request)

    def test_sw4rm_49_after_a_dropped_rpc_any_other_is_of_unknown_outcome(self) -> None:
        for kind in ("effect", "plain"):
            for streams in (False, True):
                for closes in (False, True):
                    device, client, request, rpc = self.begin(self.unique(kind), streams)
                    self.leave(client.close if closes else rpc.cancel, device, request)
                    self.stays_unknown(device, request)

    def test_sw4rm_49_so_it_is_after_the_deadline_of_the_rpc(self) -> None:
        for kind, check in (("again", self.runs_again), ("effect", self.stays_unknown)):
            name = self.unique(kind)
            device, client = self.device(name), self.client()
            request = tool_call(name, {"n": 1}, call_id=self.unique("id"))
            rpc = client.start(request, timeout=0.5)
            device.next_call(name)
            device.expect("tool_call_cancel")
            self.assertEqual(rpc.code(), Status.DEADLINE_EXCEEDED)
            self.wait_ended(request)
            check(device, request)


@unittest.skipUnless(can_sandbox(), "commands cannot be confined here under DEFAULT")
class CommandTest(GrpcCase):
    """The same with commands, which count their runs in their worktree."""

    @classmethod
    def setUpClass(cls) -> None:
        cls.tree = Path(cls.enterClassContext(tempfile.TemporaryDirectory(prefix="crab-worktree-")))
        base = {
            "side_effects": ["filesystem"],
            "defaults": {"privilege": "DEFAULT", "timeout": "60s"},
            "ceilings": {"privilege": "DEFAULT", "timeout": "60s"},
        }
        cls.CONFIG = {
            **GrpcCase.CONFIG,
            "worktrees": [{"id": "garden/main", "path": str(cls.tree)}],
            "providers": [
                {
                    "id": "workshop",
                    "kind": "command",
                    "worktree": "garden/main",
                    "tools": [
                        shell("again", **{**base, "idempotent": True}),
                        shell("effect", **base),
                    ],
                }
            ],
        }
        super().setUpClass()

    def runs(self, marker: str) -> int:
        file = self.tree / marker
        return len(file.read_text()) if file.exists() else 0

    def test_sw4rm_49_a_command_that_died_with_the_gateway(self) -> None:
        for name in ("again", "effect"):
            marker = self.unique("run")
            # Its first run goes on until the end of the gateway, a second one would end at once.
            script = f"printf x >> {marker}; [ $(wc -c < {marker}) -gt 1 ] || sleep 60; echo done"
            request = tool_call(name, {"script": script}, call_id=self.unique("id"))
            rpc = self.client().start(request, timeout=60)
            eventually(lambda m=marker: self.runs(m) == 1, "the command runs")
            self.assertFalse(rpc.done())
            self.gateway.kill()
            eventually(lambda m=marker: not processes_of(m), "it died with the gateway")
            self.gateway.start()
            if name == "again":
                self.assertEqual(self.client().call(request, timeout=20).data, b"done\n")
                self.assertEqual(self.runs(marker), 2)
            else:
                self.refused(
                    Status.UNKNOWN, "OUTCOME_UNKNOWN", lambda r=request: self.client().call(r)
                )
                self.assertEqual(self.runs(marker), 1)


if __name__ == "__main__":
    unittest.main()
