"""A disk on which files cannot grow: what must be recorded is refused, everything else goes on, and
the gateway says so."""

from __future__ import annotations

import resource

from support.case import GatewayCase
from support.device import tool
from support.gateway import Reply


class FullDiskTest(GatewayCase):
    CONFIG = {"tools": [{"match": "act*", "side_effects": True}]}
    LIMIT = 1 << 20  #: bytes that a file of the gateway may have while its disk is "full"

    def limit_files(self, size: int) -> None:
        resource.prlimit(
            self.gateway.process.pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY)
        )

    def fill(self, name: str) -> Reply:
        """Calls until the ledger has no room for one more; the refusal."""
        for n in range(200):
            reply = self.gateway.call(name, {"n": n}, timeout_ms=10_000)
            if reply.status != "ok":
                return reply
        self.fail("the ledger grew beyond the limit")

    def metrics(self) -> str:
        return self.gateway.admin_request("GET", "/metrics").body.decode()

    def test_calls_with_side_effects_are_refused_and_say_so_and_others_go_on(self) -> None:
        act, read = self.unique("act"), self.unique("read")
        ran: list[int] = []
        device = self.open()
        device.register(tool(act), tool(read))
        device.serve(
            {act: lambda args: ran.append(args["n"]) or "x" * 50_000, read: lambda _: "read"}
        )
        self.assertEqual(self.gateway.call(act, {"n": -1}).status, "ok")

        self.limit_files(self.LIMIT)
        self.addCleanup(self.limit_files, resource.RLIM_INFINITY)
        refused = self.fill(act)
        self.assertEqual(refused.code, "DEPENDENCY_UNAVAILABLE")
        self.assertIn("disk space", refused.error["message"])
        self.assertEqual(
            ran,
            list(range(-1, len(ran) - 1)),
            "the one that was refused did not run, and nothing ran twice",
        )
        self.assertEqual(self.gateway.call(read).result, {"text": "read"})
        self.assertIn("crab_ledger_failing 1\n", self.metrics())
        status = self.gateway.admin_request("GET", "/v1/admin/status").json()
        self.assertEqual(status["storage"], "failing")
        reasons = {each["component"]: each["reason"] for each in status["unhealthy"]}
        self.assertIn("calls with side effects or a key are refused", reasons["ledger"])
        self.assertIn("the ledger cannot be written", self.gateway.log_tail(100_000))

        self.limit_files(resource.RLIM_INFINITY)
        before = len(ran)
        self.assertEqual(self.gateway.call(act, {"n": 1000}).status, "ok")
        self.assertEqual(ran[before:], [1000])
        self.assertIn("crab_ledger_failing 0\n", self.metrics())
