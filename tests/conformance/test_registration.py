"""docs/protocols/clawseed.md, section 3: registration and ownership (checklist 11-16, 28, 29,
53)."""

from __future__ import annotations

import json
from typing import Any

from support.case import GatewayCase
from support.device import tool


class RegistrationTest(GatewayCase):
    def test_clawseed_11_two_good_tools_are_counted_and_registered(self) -> None:
        self.assertEqual(
            self.open().register(tool("a"), tool("b")),
            {"type": "tools_registered", "count": 2, "registered": 2},
        )

    def test_clawseed_12_a_burst_of_growing_lists_gets_one_answer_each(self) -> None:
        device = self.open()
        for size in range(1, 9):
            device.send("register_tools", tools=[tool(f"t{n}") for n in range(size)])
        for size in range(1, 9):
            self.assertEqual(
                device.expect("tools_registered"),
                {"type": "tools_registered", "count": size, "registered": size},
            )
        device.assert_silent()

    def test_clawseed_12_an_empty_or_missing_list_gets_one_answer(self) -> None:
        device = self.open()
        self.assertEqual(device.register()["count"], 0)
        for fields in ({}, {"tools": None}, {"tools": "all"}):
            device.send("register_tools", **fields)
            self.assertEqual(
                device.expect("tools_registered"),
                {"type": "tools_registered", "count": 0, "registered": 0},
            )
        device.assert_silent()

    def test_clawseed_13_lists_accumulate_and_a_repeated_name_replaces(self) -> None:
        device = self.open()
        device.register(tool("a", description="old"), tool("b"))
        answer = device.register(
            tool("c"),
            {"name": "broken"},
            tool("a", {"type": "object", "title": "new"}, description="new"),
        )
        self.assertEqual((answer["count"], answer["registered"]), (3, 3))
        first, *others = device.registered()
        self.assertEqual(
            first,
            {"name": "a", "description": "new", "parameters": {"type": "object", "title": "new"}},
        )
        self.assertEqual([element["name"] for element in others], ["b", "c"])

    def test_clawseed_13_of_equal_names_in_one_list_the_last_wins(self) -> None:
        device = self.open()
        self.assertEqual(
            device.register(tool("a", description="1"), tool("a", description="2"))["registered"], 1
        )
        self.assertEqual(device.registered()[0]["description"], "2")

    def test_clawseed_14_parameters_that_no_object_fits_are_refused_and_the_operator_reads_of_it(
        self,
    ) -> None:
        device = self.open()
        answer = device.register(
            tool("text", {"type": "string"}), tool("listed", {"enum": [1, "a"]}), tool("whole")
        )
        self.assertEqual((answer["count"], answer["registered"]), (3, 1))
        listed = json.loads(self.gateway.crab("devices", "list", "-o", "json"))["devices"]
        refused = next(row for row in listed if row["device"] == self.slug)["refused_tools"]
        self.assertEqual(
            [(element["tool"], element["code"]) for element in refused],
            [("listed", "INVALID_ARGS"), ("text", "INVALID_ARGS")],
        )
        self.assertIn("tool text is refused: INVALID_ARGS", self.gateway.crab("devices", "list"))
        device.register(tool("text"))
        device.send("unregister_tools", names=["listed"])
        device.expect("tools_registered")
        listed = json.loads(self.gateway.crab("devices", "list", "-o", "json"))["devices"]
        self.assertNotIn("refused_tools", next(row for row in listed if row["device"] == self.slug))

    def test_claims_of_a_device_count_only_if_it_was_paired_so(self) -> None:
        for trusted in (False, True):
            name = self.gateway.unique("claims")
            words = ("--trust-annotations",) if trusted else ()
            token = self.gateway.crab("devices", "pair", "--token", "--name", name, *words).strip()
            device = self.open(token)
            reader, writer = self.unique("reader"), self.unique("writer")
            device.register(
                tool(reader, annotations={"read_only": True}),
                tool(writer, annotations={"read_only": False}),
            )
            listed = {
                element["name"]: element
                for element in json.loads(self.gateway.crab("tools", "list", "-o", "json"))["tools"]
            }
            self.assertEqual(
                (listed[reader]["side_effects"], listed[writer]["side_effects"]),
                (not trusted, True),
            )

    def test_clawseed_14_an_element_with_a_field_missing_is_skipped_and_the_others_are_taken(
        self,
    ) -> None:
        device = self.open()
        whole = tool("whole")
        broken = [
            {name: value for name, value in tool("broken").items() if name != missing}
            for missing in ("name", "description", "parameters")
        ]
        broken += [
            tool("broken", description=None),
            tool("broken", parameters=[]),
            tool("broken", {"type": 5}),
            {**whole, "name": 1},
            None,
            "broken",
            [],
        ]
        answer = device.register(*broken, whole)
        self.assertEqual((answer["count"], answer["registered"]), (len(broken) + 1, 1))
        self.assertEqual(device.registered_names(), ["whole"])

    def test_clawseed_14_a_broken_repeat_of_a_known_name_leaves_it_as_it_was(self) -> None:
        device = self.open()
        device.register(tool("a", description="good"))
        device.register(tool("a", {"type": "no such type"}, description="bad"))
        self.assertEqual(device.registered()[0]["description"], "good")

    def test_clawseed_15_only_the_tools_of_this_connection_are_listed_sorted(self) -> None:
        token = self.new_token()
        first, second = self.open(token), self.open(token)
        first.register(tool("b"), tool("a"))
        second.register(tool("c"))
        self.assertEqual((first.registered_names(), second.registered_names()), (["a", "b"], ["c"]))
        self.assertEqual(self.open().registered(), [])

    def test_an_empty_schema_becomes_an_object_schema(self) -> None:
        device = self.open()
        device.register(tool("a", {}))
        self.assertEqual(device.registered()[0]["parameters"], {"type": "object"})

    def test_clawseed_16_a_registered_tool_is_listed_as_remote_and_called_like_any_other(
        self,
    ) -> None:
        name = self.unique("thermometer")
        token = self.new_token("kitchen")
        device = self.open(token)
        device.register(
            tool(
                name,
                {"type": "object", "properties": {"room": {"type": "string"}}},
                description="Room temperature",
            )
        )
        listed = {
            element["name"]: element
            for element in self.gateway.fetch(
                "GET", "/api/tools", self.gateway.caller_token()
            ).json()["tools"]
        }
        self.assertEqual(listed[name]["source_type"], "remote")
        self.assertEqual(listed[name]["source"], self.slug)
        call = self.gateway.start_call(name, {"room": "kitchen"})
        device.answer(device.next_call(name), "21.5")
        self.assertEqual(call.result(10).result, {"text": "21.5"})

    def test_clawseed_28_tools_leave_with_their_connection_and_come_back_with_a_new_one(
        self,
    ) -> None:
        name = self.unique("leaving")
        token = self.new_token()
        for end in ("close", "cut", "half close", "close again"):
            with self.subTest(end):
                device = self.open(token)
                device.register(tool(name))
                self.gateway.wait_listed(name)
                {"cut": device.cut, "half close": device.socket.half_close}.get(end, device.close)()
                self.gateway.wait_gone(name)

    def test_clawseed_29_an_old_connection_takes_nothing_of_the_new_one_with_it(self) -> None:
        name, other = self.unique("kept"), self.unique("lost")
        token = self.new_token()
        old = self.open(token)
        old.register(tool(name), tool(other))
        new = self.open(token, session_id=old.session_id)
        new.register(tool(name))
        old.close()
        self.gateway.wait_gone(other)
        call = self.gateway.start_call(name)
        new.answer(new.next_call(name), "still here")
        self.assertEqual(call.result(10).result, {"text": "still here"})

    def test_clawseed_53_malformed_names_are_not_registered_and_counted_only(self) -> None:
        device = self.open()
        malformed = ["", "a b", "a/b", "ä", "a:b", "a" * 129, "a\n"]
        answer = device.register(
            *(tool(name) for name in malformed), tool("a" * 128), tool("a__b"), tool("A.b-c_9")
        )
        self.assertEqual((answer["count"], answer["registered"]), (len(malformed) + 3, 3))

    def test_clawseed_53_names_of_built_in_tools_are_refused_in_any_case_of_letters(self) -> None:
        built_in = [
            element["name"]
            for element in self.gateway.fetch(
                "GET", "/api/tools", self.gateway.caller_token()
            ).json()["tools"]
            if element["source_type"] == "builtin"
        ]
        device = self.open(capabilities=("tools_registered.rejected",))
        answer = device.register(*(tool(name.upper()) for name in built_in), tool("free"))
        self.assertEqual((answer["count"], answer["registered"]), (len(built_in) + 1, 1))
        self.assertEqual(
            [element["code"] for element in answer.get("rejected", [])],
            ["FORBIDDEN"] * len(built_in),
        )


class RegistrationLimitsTest(GatewayCase):
    CONFIG = {
        "limits": {
            "tools_per_connection": 4,
            "tool_name": 16,
            "description_bytes": 64,
            "parameters_bytes": 256,
        }
    }

    def test_an_element_beyond_a_limit_is_rejected_and_one_at_it_is_taken(self) -> None:
        schema = {"type": "object", "title": ""}
        room = 256 - len(json.dumps(schema, separators=(",", ":")))
        pairs = [
            (tool("n" * 16), tool("n" * 17)),
            (tool("d", description="x" * 64), tool("d", description="x" * 65)),
            (
                tool("p", {**schema, "title": "x" * (room - 2)}),
                tool("p", {**schema, "title": "x" * (room + 8)}),
            ),
        ]
        for good, bad in pairs:
            with self.subTest(good["name"][:1]):
                device = self.open()
                self.assertEqual(device.register(bad)["registered"], 0)
                self.assertEqual(device.register(good)["registered"], 1)

    def test_tools_beyond_the_number_of_a_connection_are_rejected_and_known_names_still_replace(
        self,
    ) -> None:
        device = self.open(capabilities=("tools_registered.rejected",))
        answer = device.register(*(tool(f"t{n}") for n in range(6)))
        self.assertEqual((answer["count"], answer["registered"]), (6, 4))
        self.assertEqual([element["index"] for element in answer["rejected"]], [4, 5])
        device.register(tool("t0", description="new"))
        self.assertEqual(device.registered()[0]["description"], "new")

    def test_a_schema_deeper_than_32_is_rejected(self) -> None:
        def nested(depth: int) -> dict[str, Any]:
            return {"not": nested(depth - 1)} if depth > 1 else {}

        device = self.open()
        self.assertEqual(device.register(tool("a", nested(24)))["registered"], 1)
        self.assertEqual(device.register(tool("b", nested(34)))["registered"], 1)


class SchemaDialectsTest(GatewayCase):
    def test_schemas_that_compile_are_taken_and_others_are_not(self) -> None:
        device = self.open()
        good = [
            {},
            {"type": "object", "properties": {"a": {"enum": [1, "b"]}}},
            {"$schema": "http://json-schema.org/draft-07/schema#", "type": "object"},
            {
                "type": "object",
                "properties": {"a": {"$ref": "#/$defs/x"}},
                "$defs": {"x": {"type": "string"}},
            },
        ]
        bad = [
            {"type": 1},
            {"properties": []},
            {"$ref": "#/nowhere"},
            {"pattern": "("},
            {"required": "a"},
        ]
        for number, schema in enumerate(good):
            with self.subTest(schema):
                self.assertEqual(
                    device.register(tool(f"g{number}", schema))["registered"], number + 1
                )
        for number, schema in enumerate(bad):
            with self.subTest(schema):
                self.assertEqual(
                    device.register(tool(f"b{number}", schema))["registered"], len(good)
                )
