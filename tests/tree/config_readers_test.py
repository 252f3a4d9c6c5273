"""Every member of the structs in src/config is read by code outside that folder: a key of the
configuration that nobody reads is accepted, documented, and does nothing."""

import re
import unittest
from collections.abc import Iterator
from pathlib import Path

import check_functions

ROOT = Path(__file__).resolve().parents[2]
CONFIG = ROOT / "src/config"
TEST = re.compile(r"(^test_|_test$|_bench$|_fuzz$|^test_support$)")
HEADERS = ("gateway_config.hpp", "mcp_options.hpp", "startup.hpp")
STRUCT = re.compile(r"\bstruct (\w+) \{")


def declared(body: str) -> Iterator[str]:
    """The names of the data members in a struct's body that has no struct within it."""
    body = re.sub(r"\bfriend\b[^;]*;", "", body)
    for statement in body.split(";"):
        while (shorter := re.sub(r"\{[^{}]*\}|<[^<>]*>", "", statement)) != statement:
            statement = shorter
        if "(" in statement.partition("=")[0] or not statement.strip():
            continue  # a function
        for part in statement.split(","):
            if name := re.search(r"(\w+)\s*(=|$)", part.strip()):
                yield name[1]


def members(source: str) -> Iterator[tuple[str, str]]:
    """Struct and name of every data member that the code of a header declares."""
    code = check_functions.without_text(source)
    while match := list(STRUCT.finditer(code)):
        last = match[-1]  # none is within it
        end = check_functions.end_of_group(code, last.end() - 1)
        for name in declared(code[last.end() : end]):
            yield last[1], name
        code = code[: last.start()] + code[end + 1 :]


def unread(headers: list[str], readers: list[str]) -> list[str]:
    """The members, as `Struct::name`, that no reader names behind a `.` or `->`."""
    named = set()
    for reader in readers:
        named |= set(re.findall(r"(?:\.|->)\s*(\w+)", check_functions.without_text(reader)))
    return [
        f"{struct}::{name}"
        for header in headers
        for struct, name in members(header)
        if name not in named
    ]


def files_that_know(folder: Path) -> list[Path]:
    """Code outside `folder`, tests aside, that includes a header of it, through whatever."""
    source = ROOT / "src"
    paths = {path.relative_to(source).as_posix(): path for path in source.rglob("*.[ch]pp")}
    includes = {
        name: set(
            re.findall(r'^#include "([^"]+)"', path.read_text(encoding="utf-8"), re.MULTILINE)
        )
        for name, path in paths.items()
    }
    known = {path.relative_to(source).as_posix() for path in folder.glob("*.hpp")}
    while more := {name for name, used in includes.items() if used & known} - known:
        known |= more
    return [
        paths[name]
        for name in sorted(known)
        if not TEST.search(paths[name].stem) and not paths[name].is_relative_to(folder)
    ]


class ConfigReadersTest(unittest.TestCase):
    def test_every_member_of_the_configuration_is_read(self) -> None:
        headers = [(CONFIG / name).read_text(encoding="utf-8") for name in HEADERS]
        self.assertGreater(sum(1 for header in headers for _ in members(header)), 300)
        readers = [path.read_text(encoding="utf-8") for path in files_that_know(CONFIG)]
        self.assertGreater(len(readers), 100)
        self.assertEqual(unread(headers, readers), [])

    def test_members_are_found_in_every_form(self) -> None:
        header = """
            struct Outer {
                struct Inner {
                    std::optional<std::string> one, two;  ///< not three
                    friend bool operator==(const Inner&, const Inner&) = default;
                };
                std::map<std::string, Inner, std::less<>> inners;
                Milliseconds wait{15'000};
                std::vector<std::string> globs{"a", "b"};
                bool a = true, b = false;
                std::optional<HostPort> address = HostPort{"127.0.0.1", 42617};
                bool is_set() const;
            };
        """
        self.assertEqual(
            sorted(members(header)),
            [("Inner", name) for name in ("one", "two")]
            + [("Outer", name) for name in ("a", "address", "b", "globs", "inners", "wait")],
        )

    def test_a_member_that_is_only_mentioned_is_unread(self) -> None:
        header = "struct Options {\n    bool used = false, pointed = false, dead = false;\n};\n"
        reader = "use(options.used, options->\n    pointed); // options.dead\nbool dead;\n"
        self.assertEqual(unread([header], [reader]), ["Options::dead"])


if __name__ == "__main__":
    unittest.main()
