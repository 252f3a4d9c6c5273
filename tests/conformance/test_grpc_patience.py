"""docs/protocols/sw4rm.md, section 3: how long a stream waits for a reader that does not read
(checklist 18). Takes a minute."""

from __future__ import annotations

import unittest

from support.tool_service import tool_call
from support.wait import Stopwatch, eventually
from test_commands import processes_of
from test_grpc_commands import NoiseCase, Status


class SlowReaderTest(NoiseCase):
    def test_sw4rm_18_after_sixty_seconds_without_a_read_the_call_is_cancelled(self) -> None:
        call_id, before = self.unique("id"), self.gateway.forget_peak()
        stream = self.stream(call_id)
        read = len(next(stream).data)
        held = self.blocked()
        watch = Stopwatch()

        def over() -> bool:
            self.assertEqual(self.written(), held, "nothing moves while it waits")
            return not processes_of("mv new written")

        eventually(over, "the tool is gone", limit=70)
        self.assertTrue(50 < watch.seconds < 65, watch.seconds)
        self.assertLess(self.gateway.growth_since(before), 16 << 20)
        record = eventually(lambda: self.ended(call_id), "the call is recorded")
        self.assertEqual((record["status"], record["cause"]), ("cancelled", "slow reader"))

        def rest() -> None:
            nonlocal read
            for frame in stream:
                self.assertFalse(frame.final)
                read += len(frame.data)

        error = self.refused(Status.CANCELLED, "CANCELLED", rest)
        self.assertIn("slow reader", error.details())
        self.assertLessEqual(read, held * self.PART)
        self.assertTrue(self.client().call(tool_call("list_devices")).final)

    def ended(self, call_id: str) -> dict[str, object]:
        record = self.gateway.admin_request("GET", f"/v1/admin/calls/{call_id}").json()
        return record if "duration_us" in record else {}


if __name__ == "__main__":
    unittest.main()
