"""Links of a device, with the test as the other side."""

from __future__ import annotations

import asyncio
import json
import unittest
from collections.abc import AsyncIterator
from typing import Any

from crab import Device
from crab.device import _KEEP_FOR_RESUME, _CAPABILITIES

TERMS = {
    "type": "connected",
    "capabilities": _CAPABILITIES,
    "max_message_bytes": 1 << 20,
    "grace_ms": 15_000,
    "artifacts": {"upload": "/up", "inline_bytes": 100, "max_bytes": 1_000},
}


class FakeLink:
    """Says `frames`, then breaks."""

    end = (1006, "")

    def __init__(self, *frames: dict[str, Any]) -> None:
        self.frames, self.sent = frames, list[dict[str, Any]]()

    async def send(self, text: str) -> None:
        self.sent.append(json.loads(text))

    async def texts(self) -> AsyncIterator[str]:
        for frame in self.frames:
            yield json.dumps(frame)
        await asyncio.sleep(0)


class Links(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self) -> None:
        self.device = Device("http://127.0.0.1:1", name="Test", token="t")
        self.device._loop = asyncio.get_running_loop()

    async def use(self, link: FakeLink) -> None:
        never: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        await self.device._use(link, never)  # type: ignore[arg-type]

    async def test_a_link_that_breaks_before_connected_shortens_no_kept_reply(self) -> None:
        await self.use(FakeLink(TERMS))
        await self.use(FakeLink())
        kept_for = self.device._keep_until() - asyncio.get_running_loop().time()
        self.assertGreater(kept_for, _KEEP_FOR_RESUME - 5)

    async def test_limits_of_the_last_link_hold_until_the_next_gateway_speaks(self) -> None:
        await self.use(FakeLink(TERMS))
        await self.use(FakeLink())
        self.assertIsNotNone(self.device._terms.uploads)
        self.assertEqual(self.device._terms.max_message_bytes, 1 << 20)
        await self.use(FakeLink({"type": "connected"}))  # an older gateway takes no uploads
        self.assertIsNone(self.device._terms.uploads)

    async def test_frames_that_the_next_gateway_may_not_know_wait_for_its_word(self) -> None:
        self.device.set_presence(battery=0.5)
        await self.use(FakeLink(TERMS))
        request = {"type": "tool_call_request", "id": "c1", "name": "gone", "args": {}}
        quiet = FakeLink(request)
        await self.use(quiet)
        kinds = [frame["type"] for frame in quiet.sent]
        self.assertEqual(set(kinds) - {"connect", "register_tools", "tool_error"}, set())


if __name__ == "__main__":
    unittest.main()
