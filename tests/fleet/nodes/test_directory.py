"""What a caller finds at one node of the devices of all, and what these share."""

from __future__ import annotations

import unittest

from fleet import FleetCase
from support.device import Device, tool
from support.wait import eventually

ARTIFACTS = ("artifacts",)


class DirectoryTest(FleetCase):
    """Devices at the south and at the west, and often one at the north."""

    def device(self, node: object, name: str, *tools: str, **options: object) -> tuple[Device, str]:
        """One with these tools, and its slug."""
        token = self.token(self.north, name)
        device = self.open(node, token, **options)
        device.register(*(tool(each) for each in tools))
        return device, self.unique(name)

    def test_every_node_lists_the_same(self) -> None:
        shared = self.unique("same")
        for node, name in ((self.north, "pan"), (self.south, "pot"), (self.west, "cup")):
            self.device(node, name, shared, self.unique("of-" + name))
        nodes = (self.north, self.south, self.west)
        eventually(
            lambda: len({tuple(sorted(node.tools())) for node in nodes}) == 1
            and self.unique("of-cup") in nodes[0].tools(),
            "all nodes list the same names",
            20,
        )
        listed = nodes[0].tools()
        self.assertEqual([name for name in listed if name == shared], [])
        self.assertEqual(len([name for name in listed if name.endswith("__" + shared)]), 3)

    def test_a_plain_name_of_devices_at_two_nodes_is_ambiguous_and_whole_names_are_not(
        self,
    ) -> None:
        ann, name = self.caller(), self.unique("act")
        devices = [self.device(self.south, "pot", name), self.device(self.west, "cup", name)]
        for _, slug in devices:
            self.north.wait_known(f"{slug}__{name}")
        self.assertEqual(self.north.call(name, token=ann).code, "AMBIGUOUS_TOOL")
        for device, slug in devices:
            call = self.north.start_call(f"{slug}__{name}", token=ann)
            device.answer(device.next_call(name), slug)
            self.assertEqual(call.result(10).result, {"text": slug})

    def test_a_tool_that_runs_one_call_at_a_time_does_so_for_callers_of_all_nodes(self) -> None:
        ann, name = self.caller(), self.unique("single")
        device, _ = self.device(self.south, "pot", name)
        nodes = (self.north, self.south, self.west)
        for node in nodes:
            node.wait_known(name)
        calls = [node.start_call(name, {"n": n}, token=ann) for n, node in enumerate(nodes)]
        for _ in nodes:
            request = device.next_call(name)
            self.assertEqual(device.fence(), [])  # no other comes before this one has ended
            device.answer(request, str(request["args"]["n"]))
        self.assertEqual([call.result(10).result["text"] for call in calls], ["0", "1", "2"])

    def test_an_upload_at_one_node_is_read_at_another(self) -> None:
        ann, name = self.caller(), self.unique("camera")
        device, _ = self.device(self.south, "pot", name, capabilities=ARTIFACTS)
        self.north.wait_known(name)
        call = self.north.start_call(name, token=ann)
        request, photo = device.next_call(name), b"photo" * 100_000
        response = device.upload(request, photo)
        self.assertEqual(response.status, 201, response.body)
        device.answer_uploaded(request, response.json()["artifact"])
        artifact = call.result(20).result["artifact"]
        for node in (self.north, self.south, self.west):
            read = node.fetch("GET", artifact["href"], ann)
            self.assertEqual((read.status, read.body), (200, photo))


if __name__ == "__main__":
    unittest.main()
