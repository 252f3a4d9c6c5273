"""Many devices that come and go: nothing of them stays."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor

from support.case import GatewayCase
from support.device import Device, tool
from support.wait import eventually

SEED = 7
PRINCIPALS, CONNECTIONS, THREADS = 20, 200, 16


class StormTest(GatewayCase):
    CONFIG = {"listen": {"max_connections_per_principal": 256}, "devices": {"grace_ms": 200}}

    def setUp(self) -> None:
        self.random = random.Random(SEED)
        self.tokens = [self.new_token("storm") for _ in range(PRINCIPALS)]

    def come_and_go(self, number: int) -> int:
        """One device, registered, then gone in one of the ways that devices go; how many names it
        had."""
        device = Device(self.gateway, self.tokens[number % PRINCIPALS])
        registered = device.register(*(tool(f"storm-{number}-{n}") for n in range(5)))["registered"]
        match number % 5:
            case 0:
                device.close()
            case 1:
                device.cut()
            case 2:
                device.drop()
            case 3:
                device.socket.half_close()
                device.socket.wait_closed()
            case 4:
                device.socket.send_raw(b"\xff\xff\xff")
                device.drop()
        return registered

    def storm(self) -> None:
        order = list(range(CONNECTIONS))
        self.random.shuffle(order)
        with ThreadPoolExecutor(THREADS) as pool:
            self.assertEqual(set(pool.map(self.come_and_go, order)), {5})

    def storm_tools(self) -> list[str]:
        return [name for name in self.gateway.tools() if "storm-" in name]

    def test_200_devices_that_connect_register_and_vanish_leave_no_tool_connection_or_memory(
        self,
    ) -> None:
        self.gateway.tools()
        files = self.gateway.open_files()
        self.storm()  # the first one warms the allocator up
        eventually(lambda: not self.storm_tools(), "no tool of the storm is listed", 10)
        memory = self.gateway.resident_bytes()
        for _ in range(3):
            self.storm()
        eventually(lambda: not self.storm_tools(), "no tool of the storm is listed", 10)
        eventually(
            lambda: self.gateway.open_files() <= files + 2,
            f"about {files} descriptors are open",
            10,
        )
        self.assertLess(self.gateway.resident_bytes() - memory, 16 << 20)

    def test_200_devices_at_once_are_all_listed_and_called(self) -> None:
        devices = [self.open(self.tokens[number % PRINCIPALS]) for number in range(CONNECTIONS)]
        for number, device in enumerate(devices):
            device.register(tool(f"crowd-{number}"))
        self.assertLessEqual(
            {f"crowd-{number}" for number in range(CONNECTIONS)}, self.gateway.tools().keys()
        )
        calls = {
            number: self.gateway.start_call(f"crowd-{number}")
            for number in range(0, CONNECTIONS, 4)
        }
        for number in calls:
            devices[number].answer(devices[number].next_call(), str(number))
        for number, call in calls.items():
            self.assertEqual(call.result(15).result, {"text": str(number)})

    def test_calls_during_a_storm_of_one_device_end_one_way_or_the_other(self) -> None:
        token = self.new_token("flapping")
        name = self.unique("flap")

        def flap(_: int) -> None:
            with Device(self.gateway, token) as device:
                device.register(tool(name))
                device.fence()

        with ThreadPoolExecutor(4) as pool:
            flapping = pool.map(flap, range(100))
            codes = set()
            for _ in range(50):
                reply = self.gateway.call(name, timeout_ms=2000)
                codes.add(reply.code)
            list(flapping)
        self.assertLessEqual(
            codes, {"TOOL_NOT_FOUND", "DEPENDENCY_UNAVAILABLE", "OUTCOME_UNKNOWN", "TIMEOUT"}
        )
        self.gateway.wait_gone(name)
