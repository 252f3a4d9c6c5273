"""What type hints mean as JSON: a schema for callers, and the reading of values that arrive.

    shapes = Shapes()
    shape = shapes.of(list[int])
    shape.schema                 # {"type": "array", "items": {"type": "integer"}}
    shape.read([1, 2], "/n")     # [1, 2]; InvalidArgs for anything else
"""

from __future__ import annotations

import dataclasses
import datetime
import enum
import inspect
import math
import operator
import re
import types
import typing
import uuid
from collections.abc import Callable, Mapping, Sequence, Sized
from collections.abc import Set as AbstractSet
from typing import Any, Literal, Union, get_args, get_origin

from .docstrings import Docstring
from .errors import InvalidArgs

__all__ = ["Shape", "Shapes", "to_json"]

Schema = dict[str, Any]
Read = Callable[[Any, str], Any]


@dataclasses.dataclass
class Shape:
    """One type: its JSON Schema, and `read(value, pointer)`, which makes a Python value of JSON."""

    schema: Schema
    read: Read


def _refuse(pointer: str, rule: str, message: str) -> typing.NoReturn:
    raise InvalidArgs(pointer, rule, message)


def _name_of(value: Any) -> str:
    """The value's JSON type, for messages."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, (int, float)):
        return "a number"
    if isinstance(value, str):
        return "a string"
    return "an array" if isinstance(value, list) else "an object"


def _typed(article: str, fits: Callable[[Any], bool]) -> Read:
    def read(value: Any, pointer: str) -> Any:
        if not fits(value):
            _refuse(pointer, "type", f"must be {article}, not {_name_of(value)}")
        return value

    return read


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _read_int(value: Any, pointer: str) -> int:
    whole = _is_number(value) and (isinstance(value, int) or value.is_integer())
    if not whole:
        _refuse(pointer, "type", f"must be an integer, not {_name_of(value)}")
    return int(value)


def _read_float(value: Any, pointer: str) -> float:
    if not _is_number(value):
        _refuse(pointer, "type", f"must be a number, not {_name_of(value)}")
    try:
        return float(value)
    except OverflowError:
        _refuse(pointer, "type", "must be a number that fits into 64 bits")


def _anything(value: Any, pointer: str) -> Any:
    return value


_is_str = _typed("a string", lambda value: isinstance(value, str))


def _parsed(parse: Callable[[str], Any], what: str) -> Read:
    def read(value: Any, pointer: str) -> Any:
        text = _is_str(value, pointer)
        try:
            return parse(text)
        except ValueError:
            _refuse(pointer, "format", f"must be {what}")

    return read


_PLAIN: dict[Any, Callable[[], Shape]] = {
    str: lambda: Shape({"type": "string"}, _is_str),
    int: lambda: Shape({"type": "integer"}, _read_int),
    float: lambda: Shape({"type": "number"}, _read_float),
    bool: lambda: Shape(
        {"type": "boolean"}, _typed("a boolean", lambda value: isinstance(value, bool))
    ),
    type(None): lambda: Shape({"type": "null"}, _typed("null", lambda value: value is None)),
    Any: lambda: Shape({}, _anything),
    object: lambda: Shape({}, _anything),
    datetime.datetime: lambda: Shape(
        {"type": "string", "format": "date-time"},
        _parsed(datetime.datetime.fromisoformat, "a date and time such as 2026-01-31T12:00:00Z"),
    ),
    datetime.date: lambda: Shape(
        {"type": "string", "format": "date"},
        _parsed(datetime.date.fromisoformat, "a date such as 2026-01-31"),
    ),
    uuid.UUID: lambda: Shape({"type": "string", "format": "uuid"}, _parsed(uuid.UUID, "a UUID")),
}


_RANGES: tuple[tuple[str, Callable[[Any, Any], bool], str], ...] = (
    ("minimum", operator.lt, "at least"),
    ("maximum", operator.gt, "at most"),
    ("exclusiveMinimum", operator.le, "above"),
    ("exclusiveMaximum", operator.ge, "below"),
)
_SIZES: tuple[tuple[type[Sized], str, str], ...] = (
    (str, "Length", "characters"),
    (list, "Items", "elements"),
    (dict, "Properties", "members"),
)


def _check_bounds(keywords: Mapping[str, Any], value: Any, pointer: str) -> None:
    """The rules that `Annotated[type, {...}]` may add, for the values that they apply to."""
    if _is_number(value):
        for rule, broken, words in _RANGES:
            if rule in keywords and broken(value, keywords[rule]):
                _refuse(pointer, rule, f"must be {words} {keywords[rule]}")
        step = keywords.get("multipleOf")
        if step is not None and not math.isclose(value / step, round(value / step), abs_tol=1e-9):
            _refuse(pointer, "multipleOf", f"must be a multiple of {step}")
    for kind, suffix, unit in _SIZES:
        if not isinstance(value, kind):
            continue
        least, most, size = f"min{suffix}", f"max{suffix}", len(value)
        if size < keywords.get(least, 0):
            _refuse(pointer, least, f"must have at least {keywords[least]} {unit}")
        if size > keywords.get(most, size):
            _refuse(pointer, most, f"must have at most {keywords[most]} {unit}")
    pattern = keywords.get("pattern")
    if pattern is not None and isinstance(value, str) and not re.search(pattern, value):
        _refuse(pointer, "pattern", f"must match {pattern}")


class Shapes:
    """The shapes of one tool. Classes are described once, in `definitions`, so they may refer to
    themselves."""

    def __init__(self) -> None:
        self.definitions: dict[str, Schema] = {}
        self._classes: dict[type, tuple[str, Shape]] = {}

    def of(self, hint: Any) -> Shape:
        """Errors: TypeError for a type that has no form in JSON."""
        for plain, make in _PLAIN.items():
            if hint is plain:
                return make()
        origin = get_origin(hint)
        if origin is typing.Annotated:
            return self._annotated(hint)
        if origin is Literal:
            return self._choice(list(get_args(hint)))
        if origin in (Union, types.UnionType):
            return self._union(get_args(hint))
        if isinstance(hint, typing.NewType):
            return self.of(hint.__supertype__)
        base = origin or hint
        if isinstance(base, type):
            made = self._of_class(base, get_args(hint))
            if made:
                return made
        raise TypeError(
            f"{hint!r} has no form in JSON; use str, int, float, bool, list, dict, tuple, Literal, "
            "enums, dataclasses, TypedDict, date and time, UUID, or pass a schema of your own"
        )

    def with_definitions(self, schema: Schema) -> Schema:
        """A whole schema: this one, and the classes that it refers to."""
        return {**schema, "$defs": self.definitions} if self.definitions else schema

    def _of_class(self, base: type, args: tuple[Any, ...]) -> Shape | None:
        if issubclass(base, enum.Enum):
            return self._enum(base)
        if issubclass(base, (str, bytes, bytearray, memoryview)):  # sequences, but no arrays
            return None
        if dataclasses.is_dataclass(base):
            return self._class(base, self._dataclass)
        if typing.is_typeddict(base):
            return self._class(base, self._typed_dict)
        if issubclass(base, tuple):
            return self._tuple(args)
        if issubclass(base, (list, Sequence, set, frozenset, AbstractSet)):
            return self._list(base, args)
        if issubclass(base, (dict, Mapping)):
            return self._dict(args)
        return None

    def _annotated(self, hint: Any) -> Shape:
        inner, *notes = get_args(hint)
        shape = self.of(inner)
        keywords: Schema = {}
        for note in notes:
            if isinstance(note, str):
                keywords["description"] = note
            elif isinstance(note, dict):
                keywords |= note
        read = shape.read

        def bounded(value: Any, pointer: str) -> Any:
            _check_bounds(keywords, value, pointer)
            return read(value, pointer)

        return Shape({**shape.schema, **keywords}, bounded)

    def _choice(self, values: list[Any]) -> Shape:
        known = [value.value if isinstance(value, enum.Enum) else value for value in values]

        def read(value: Any, pointer: str) -> Any:
            for have, meant in zip(known, values, strict=True):
                if value == have and isinstance(value, bool) == isinstance(have, bool):
                    return meant
            _refuse(pointer, "enum", f"must be one of {', '.join(map(repr, known))}")

        return Shape({"enum": known}, read)

    def _enum(self, base: type[enum.Enum]) -> Shape:
        shape = self._choice(list(base))
        if not all(isinstance(it, (str, int, float)) for it in shape.schema["enum"]):
            raise TypeError(f"{base.__name__}: the values of an enum have to be text or numbers")
        if all(isinstance(it, str) for it in shape.schema["enum"]):
            shape.schema["type"] = "string"
        return shape

    def _union(self, hints: tuple[Any, ...]) -> Shape:
        shapes = [self.of(hint) for hint in hints]

        def read(value: Any, pointer: str) -> Any:
            refusals: list[InvalidArgs] = []
            for shape in shapes:
                try:
                    return shape.read(value, pointer)
                except InvalidArgs as refused:
                    refusals.append(refused)
            # the one that came furthest says most
            raise max(refusals, key=lambda refused: len(refused.pointer))

        kinds = [shape.schema.get("type") for shape in shapes]
        plain = all(shape.schema.keys() == {"type"} for shape in shapes)
        if plain and all(isinstance(kind, str) for kind in kinds):
            return Shape({"type": kinds}, read)
        return Shape({"anyOf": [shape.schema for shape in shapes]}, read)

    def _list(self, base: type, args: tuple[Any, ...]) -> Shape:
        item = self.of(args[0] if args else Any)
        is_set = issubclass(base, AbstractSet)
        schema: Schema = {"type": "array", "items": item.schema}
        if is_set:
            schema["uniqueItems"] = True

        def read(value: Any, pointer: str) -> Any:
            if not isinstance(value, list):
                _refuse(pointer, "type", f"must be an array, not {_name_of(value)}")
            found = [item.read(each, f"{pointer}/{i}") for i, each in enumerate(value)]
            if not is_set:
                return found
            as_set = frozenset(found) if base is frozenset else set(found)
            if len(as_set) != len(found):
                _refuse(pointer, "uniqueItems", "must not hold anything twice")
            return as_set

        return Shape(schema, read)

    def _tuple(self, args: tuple[Any, ...]) -> Shape:
        if len(args) == 2 and args[1] is Ellipsis or not args:
            items = self._list(list, args[:1])
            return Shape(items.schema, lambda value, at: tuple(items.read(value, at)))
        shapes = [self.of(arg) for arg in args]
        size = len(shapes)

        def read(value: Any, pointer: str) -> Any:
            if not isinstance(value, list) or len(value) != size:
                _refuse(pointer, "type", f"must be an array of {size} elements")
            return tuple(
                shape.read(each, f"{pointer}/{i}")
                for i, (shape, each) in enumerate(zip(shapes, value, strict=True))
            )

        prefix = [shape.schema for shape in shapes]
        return Shape(
            {"type": "array", "prefixItems": prefix, "minItems": size, "maxItems": size}, read
        )

    def _dict(self, args: tuple[Any, ...]) -> Shape:
        key = self.of(args[0] if args else str)
        item = self.of(args[1] if args else Any)
        if args and key.schema.get("type", "string") != "string":
            raise TypeError("the names of a JSON object are text: dict[str, ...]")
        schema: Schema = {"type": "object"}
        if item.schema:
            schema["additionalProperties"] = item.schema
        if key.schema.keys() - {"type"}:
            schema["propertyNames"] = key.schema

        def read(value: Any, pointer: str) -> Any:
            if not isinstance(value, dict):
                _refuse(pointer, "type", f"must be an object, not {_name_of(value)}")
            return {
                key.read(name, pointer): item.read(each, f"{pointer}/{escaped(name)}")
                for name, each in value.items()
            }

        return Shape(schema, read)

    def _class(self, base: type, fill: Callable[[type], Shape]) -> Shape:
        if base not in self._classes:
            name, number = base.__name__, 2
            while name in self.definitions:
                name, number = f"{base.__name__}{number}", number + 1
            self.definitions[name] = {}
            shape = Shape({}, _anything)
            self._classes[base] = (name, shape)  # before its fields, which may name it
            filled = fill(base)
            self.definitions[name] |= filled.schema
            shape.read = filled.read
        name, shape = self._classes[base]
        return Shape({"$ref": f"#/$defs/{name}"}, lambda value, at: shape.read(value, at))

    def _dataclass(self, base: Any) -> Shape:
        hints = hints_of(base)
        doc = Docstring.of(base)
        members = Members()
        for field in dataclasses.fields(base):
            if not field.init:
                continue
            default: Any = inspect.Parameter.empty
            if field.default is not dataclasses.MISSING:
                default = field.default
            required = default is inspect.Parameter.empty and (
                field.default_factory is dataclasses.MISSING
            )
            members.add(field.name, self.of(hints[field.name]), required, default)
        members.describe(doc.parameters)
        read_members = members.read

        def read(value: Any, pointer: str) -> Any:
            try:
                return base(**read_members(value, pointer))
            except (ValueError, TypeError) as refused:  # of __post_init__
                _refuse(pointer, "value", str(refused))

        schema = members.schema()
        if doc.text and not doc.text.startswith(f"{base.__name__}("):
            schema["description"] = doc.text
        return Shape(schema, read)

    def _typed_dict(self, base: Any) -> Shape:
        members = Members()
        for name, hint in hints_of(base).items():
            # postponed annotations hide these two from `__required_keys__`
            mark, required = get_origin(hint), name in base.__required_keys__
            if mark in (typing.Required, typing.NotRequired):
                hint, required = get_args(hint)[0], mark is typing.Required
            members.add(name, self.of(hint), required)
        return Shape(members.schema(), members.read)


class Members:
    """The members of an object, or the parameters of a function."""

    def __init__(self) -> None:
        self._shapes: dict[str, Shape] = {}
        self._required: list[str] = []
        self.others: Shape | None = None  #: of members that are not listed; None: there are none

    def add(
        self, name: str, shape: Shape, required: bool, default: Any = inspect.Parameter.empty
    ) -> None:
        if default is not inspect.Parameter.empty and default is not None:
            try:
                shape = Shape({**shape.schema, "default": to_json(default)}, shape.read)
            except TypeError:
                pass  # a default that has no form in JSON is not shown
        self._shapes[name] = shape
        if required:
            self._required.append(name)

    def describe(self, texts: Mapping[str, str]) -> None:
        for name, text in texts.items():
            if name in self._shapes:
                self._shapes[name].schema.setdefault("description", text)

    def schema(self) -> Schema:
        schema: Schema = {"type": "object"}
        if self._shapes:
            schema["properties"] = {name: shape.schema for name, shape in self._shapes.items()}
        if self._required:
            schema["required"] = list(self._required)
        schema["additionalProperties"] = self.others.schema if self.others else False
        return schema

    def read(self, value: Any, pointer: str) -> dict[str, Any]:
        """Those that are there, each as its type. Errors: InvalidArgs."""
        if not isinstance(value, dict):
            _refuse(pointer, "type", f"must be an object, not {_name_of(value)}")
        for name in self._required:
            if name not in value:
                _refuse(pointer, "required", f"`{name}` is missing")
        found: dict[str, Any] = {}
        for name, each in value.items():
            shape = self._shapes.get(name, self.others)
            if shape is None:
                known = ", ".join(self._shapes) or "none"
                _refuse(
                    f"{pointer}/{escaped(name)}",
                    "additionalProperties",
                    f"is not known; there are: {known}",
                )
            found[name] = shape.read(each, f"{pointer}/{escaped(name)}")
        return found


def escaped(name: str) -> str:
    """A member's name as a part of a JSON pointer (RFC 6901)."""
    return name.replace("~", "~0").replace("/", "~1")


def hints_of(owner: Any) -> dict[str, Any]:
    """Errors: TypeError for a name that cannot be found."""
    try:
        return typing.get_type_hints(owner, include_extras=True)
    except NameError as missing:
        raise TypeError(
            f"{owner.__qualname__}: {missing}; the types in its hints have to be defined in its "
            "module"
        ) from None


def to_json(value: Any) -> Any:
    """A result as JSON has it. Errors: TypeError for what has no form there."""
    if value is None or isinstance(value, (bool, str)) and not isinstance(value, enum.Enum):
        return value
    if isinstance(value, enum.Enum):
        return to_json(value.value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise TypeError(f"{value} is no number of JSON")
        return value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {it.name: to_json(getattr(value, it.name)) for it in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {_member_name(name): to_json(each) for name, each in value.items()}
    if isinstance(value, (list, tuple, AbstractSet)):
        return [to_json(each) for each in value]
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    if isinstance(value, uuid.UUID):
        return str(value)
    raise TypeError(
        f"a {type(value).__name__} has no form in JSON; return text, numbers, lists, dicts, "
        "dataclasses, or a Blob for bytes"
    )


def _member_name(name: Any) -> str:
    plain = name.value if isinstance(name, enum.Enum) else name
    if not isinstance(plain, str):
        raise TypeError(f"the names of a JSON object are text, not {plain!r}")
    return plain
