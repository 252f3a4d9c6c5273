"""What type hints mean as JSON Schema, and the reading of arguments."""

from __future__ import annotations

import datetime
import enum
import unittest
import uuid
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, NewType, NotRequired, Optional, TypedDict

from crab import Blob, InvalidArgs, ToolCall
from crab.docstrings import Docstring
from crab.shapes import Shapes, to_json
from crab.tools import make_tool

Metres = NewType("Metres", float)


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


@dataclass
class Node:
    name: str
    children: list[Node] = field(default_factory=list)

    def __post_init__(self) -> None:
        if not self.name:
            raise ValueError("a node has a name")


class Options(TypedDict):
    depth: int
    note: NotRequired[str]


class SchemaTest(unittest.TestCase):
    def test_each_type_has_its_schema(self) -> None:
        for hint, schema in (
            (str, {"type": "string"}),
            (int, {"type": "integer"}),
            (float, {"type": "number"}),
            (bool, {"type": "boolean"}),
            (None.__class__, {"type": "null"}),
            (Any, {}),
            (Metres, {"type": "number"}),
            (Optional[int], {"type": ["integer", "null"]}),
            (int | str, {"type": ["integer", "string"]}),
            (
                list[int] | None,
                {"anyOf": [{"type": "array", "items": {"type": "integer"}}, {"type": "null"}]},
            ),
            (Literal["a", 1], {"enum": ["a", 1]}),
            (Colour, {"enum": ["red", "blue"], "type": "string"}),
            (list, {"type": "array", "items": {}}),
            (set[str], {"type": "array", "items": {"type": "string"}, "uniqueItems": True}),
            (tuple[int, ...], {"type": "array", "items": {"type": "integer"}}),
            (
                tuple[int, str],
                {
                    "type": "array",
                    "prefixItems": [{"type": "integer"}, {"type": "string"}],
                    "minItems": 2,
                    "maxItems": 2,
                },
            ),
            (dict[str, int], {"type": "object", "additionalProperties": {"type": "integer"}}),
            (dict, {"type": "object"}),
            (datetime.date, {"type": "string", "format": "date"}),
            (
                Annotated[int, "a count", {"minimum": 1}],
                {"type": "integer", "description": "a count", "minimum": 1},
            ),
        ):
            with self.subTest(hint=hint):
                self.assertEqual(Shapes().of(hint).schema, schema)

    def test_types_without_a_form_in_json_are_refused_with_words(self) -> None:
        for hint in (bytes, complex, dict[int, str], Blob | bytes, ToolCall):
            with self.subTest(hint=hint), self.assertRaises(TypeError):
                Shapes().of(hint)

    def test_a_class_that_names_itself_is_described_once(self) -> None:
        shapes = Shapes()
        shape = shapes.of(Node)
        self.assertEqual(shape.schema, {"$ref": "#/$defs/Node"})
        node = shapes.definitions["Node"]
        self.assertEqual(node["properties"]["children"]["items"], {"$ref": "#/$defs/Node"})
        self.assertEqual((node["required"], node["additionalProperties"]), (["name"], False))
        read = shape.read({"name": "a", "children": [{"name": "b"}]}, "")
        self.assertEqual(read, Node("a", [Node("b")]))

    def test_two_classes_of_one_name_do_not_mix(self) -> None:
        def other() -> type:
            @dataclass
            class Colour:
                value: int

            return Colour

        shapes = Shapes()
        first, second = other(), other()
        self.assertNotEqual(shapes.of(first).schema, shapes.of(second).schema)


class ReadTest(unittest.TestCase):
    def refused(self, hint: Any, value: Any) -> InvalidArgs:
        with self.assertRaises(InvalidArgs) as refused:
            Shapes().of(hint).read(value, "/x")
        self.assertEqual(refused.exception.code, "INVALID_ARGS")
        return refused.exception

    def test_values_arrive_as_their_types(self) -> None:
        for hint, value, meant in (
            (int, 3.0, 3),
            (float, 3, 3.0),
            (Colour, "red", Colour.RED),
            (set[int], [1, 2], {1, 2}),
            (tuple[int, str], [1, "a"], (1, "a")),
            (dict[str, Colour], {"a": "blue"}, {"a": Colour.BLUE}),
            (
                uuid.UUID,
                "0192f6c1-7a10-7c3e-9b1d-5f2a8c0e4d77",
                uuid.UUID("0192f6c1-7a10-7c3e-9b1d-5f2a8c0e4d77"),
            ),
            (
                datetime.datetime,
                "2026-01-31T12:00:00Z",
                datetime.datetime(2026, 1, 31, 12, tzinfo=datetime.timezone.utc),
            ),
            (Options, {"depth": 1}, {"depth": 1}),
            (int | str, "7", "7"),
            (Annotated[int, {"minimum": 1, "maximum": 2**70}], 2**65, 2**65),
        ):
            with self.subTest(hint=hint):
                read = Shapes().of(hint).read(value, "")
                self.assertEqual((read, type(read)), (meant, type(meant)))

    def test_everything_else_is_refused_where_it_is(self) -> None:
        for hint, value, pointer in (
            (int, True, "/x"),
            (int, "1", "/x"),
            (int, 1.5, "/x"),
            (float, 10**400, "/x"),
            (bool, 1, "/x"),
            (str, None, "/x"),
            (Literal[1], True, "/x"),
            (list[int], [1, "2"], "/x/1"),
            (set[int], [1, 1], "/x"),
            (tuple[int, str], [1], "/x"),
            (dict[str, int], {"a/b~": None}, "/x/a~1b~0"),
            (datetime.date, "31.1.2026", "/x"),
            (Node, {"name": "a", "children": [{"name": ""}]}, "/x/children/0"),
            (Node, {"name": "a", "age": 1}, "/x/age"),
            (Node, {}, "/x"),
            (Options, {"note": "n"}, "/x"),
            (int | list[int], ["a"], "/x/0"),
        ):
            with self.subTest(hint=hint, value=value):
                self.assertEqual(self.refused(hint, value).pointer, pointer)

    def test_bounds_of_annotations_hold(self) -> None:
        for keywords, good, bad in (
            ({"minimum": 1}, 1, 0),
            ({"maximum": 1.5}, 1, 2),
            ({"exclusiveMinimum": 0}, 1, 0),
            ({"exclusiveMaximum": 2}, 1, 2),
            ({"multipleOf": 0.1}, 0.3, 0.35),
        ):
            with self.subTest(keywords=keywords):
                Shapes().of(Annotated[float, keywords]).read(good, "")
                refused = self.refused(Annotated[float, keywords], bad)
                self.assertEqual(refused.rule, next(iter(keywords)))
        self.refused(Annotated[str, {"minLength": 2}], "a")
        self.refused(Annotated[str, {"pattern": "^a"}], "b")
        self.refused(Annotated[list[int], {"maxItems": 1}], [1, 2])


class ToolTest(unittest.TestCase):
    def test_parameters_defaults_and_docstring_make_the_schema(self) -> None:
        def paint(
            call: ToolCall, wall: str, colour: Colour = Colour.RED, *, coats: int = 2
        ) -> None:
            """Paints a wall.

            Takes its time.

            Args:
                wall: which one,
                    by its name
                colour: what it becomes
            Returns:
                nothing
            """

        tool = make_tool(paint)
        self.assertEqual((tool.name, tool.call_parameter), ("paint", "call"))
        self.assertEqual(tool.description, "Paints a wall.\n\nTakes its time.")
        self.assertEqual(
            tool.parameters,
            {
                "type": "object",
                "properties": {
                    "wall": {"type": "string", "description": "which one, by its name"},
                    "colour": {
                        "enum": ["red", "blue"],
                        "type": "string",
                        "default": "red",
                        "description": "what it becomes",
                    },
                    "coats": {"type": "integer", "default": 2},
                },
                "required": ["wall"],
                "additionalProperties": False,
            },
        )

    def test_fields_of_sphinx_are_read_too(self) -> None:
        def tool(a: int, b: str) -> None:
            """Does it.

            :param a: the first
            :param str b: the second
            :returns: nothing
            """

        doc = Docstring.of(tool)
        self.assertEqual(doc.text, "Does it.")
        self.assertEqual(doc.parameters, {"a": "the first", "b": "the second"})

    def test_what_no_gateway_accepts_is_refused_at_once(self) -> None:
        def bare() -> None:
            pass

        def positional(*values: int) -> None:
            """Values."""

        for words in ({}, {"description": "x" * 9_000}, {"description": "d", "name": "no good"}):
            with self.subTest(words=words), self.assertRaises(TypeError):
                make_tool(bare, **words)
        with self.assertRaises(TypeError):
            make_tool(positional)

    def test_further_arguments_and_own_schemas_pass(self) -> None:
        def further(**others: int) -> None:
            """Takes any."""

        tool = make_tool(further)
        self.assertEqual(tool.parameters["additionalProperties"], {"type": "integer"})
        own = make_tool(further, schema={"type": "object", "maxProperties": 1})
        self.assertEqual(own.parameters, {"type": "object", "maxProperties": 1})

    def test_results_that_are_classes_have_an_output_schema(self) -> None:
        def give() -> Node:
            """Gives."""
            return Node("a")

        schema = make_tool(give).output_schema
        assert schema
        self.assertEqual((schema["type"], schema["$ref"]), ("object", "#/$defs/Node"))
        self.assertEqual(to_json(give()), {"name": "a", "children": []})


class ToJsonTest(unittest.TestCase):
    def test_values_without_a_form_are_refused(self) -> None:
        for value in (float("inf"), b"x", {1: 2}, object(), {"a": {3j}}):
            with self.subTest(value=value), self.assertRaises(TypeError):
                to_json(value)

    def test_the_others_have_theirs(self) -> None:
        value = {"a": (1, Colour.RED), Colour.BLUE: {7}, "d": datetime.date(2026, 1, 2)}
        self.assertEqual(to_json(value), {"a": [1, "red"], "blue": [7], "d": "2026-01-02"})


if __name__ == "__main__":
    unittest.main()
