"""The checklists of docs/protocols and of the console name, for every number, tests that exist.

A row of a table is `| numbers | tests |`. Tests are in backticks: `Suite.Name` is a unit test,
`test_file.Class.test_name` (or without the class) a test with real processes; `*` or `…` at the end
stands for any rest, and a name without its file is in the file named before it. Of a page that is
being built, numbers may have no row yet; the tests that its rows name exist all the same.
"""
import re
import unittest
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = {
    "protocols/clawseed": 70,
    "protocols/cetp": 77,
    "protocols/sw4rm": 65,
    "protocols/rtp": 92,
    "protocols/mcp": 126,
    "reference/console_checklist": 66,
}
UNFINISHED = {"protocols/fleet": 60}
SHORT = {"bridge": "test_cetp_bridge", "bus": "test_cetp_bus", "examples": "cetp_examples_test"}
FOLDERS = (
    "tests/conformance",
    "tests/fault",
    "tests/integration",
    "tests/fleet/model",
    "tests/fleet/nodes",
    "tests/fleet/nightly",
    "examples",
)


@cache
def unit_tests() -> set[str]:
    found = set()
    for folder in ("src", "tests", "examples", "clients", "include"):
        for file in (ROOT / folder).rglob("*_test.cpp"):
            found.update(
                f"{suite}.{name}"
                for suite, name in re.findall(
                    r"^TEST(?:_F|_P)?\((\w+),\s*(\w+)\)",
                    file.read_text(encoding="utf-8"),
                    re.MULTILINE,
                )
            )
    return found


@cache
def process_tests(module: str) -> dict[str, list[str]] | None:
    """Class → its tests, of the file of that name; base classes' tests are listed with the base
    class."""
    files = [file for folder in FOLDERS for file in (ROOT / folder).glob(f"{module}.py")]
    if not files:
        return None
    classes: dict[str, list[str]] = {"": []}
    current = ""
    for file in files:
        for line in file.read_text(encoding="utf-8").splitlines():
            if made := re.match(r"class (\w+)", line):
                current = made[1]
                classes[current] = []
            elif test := re.match(r"\s+(?:async )?def (test_\w+)", line):
                classes[current].append(test[1])
    return classes


def fits(pattern: str, names: list[str]) -> bool:
    if pattern.endswith(("*", "…")):
        return any(name.startswith(pattern.rstrip("*….")) for name in names)
    return pattern in names


def exists(token: str, module: str) -> tuple[bool, str]:
    """Whether there is such a test, and the file that the next name is in."""
    first, _, rest = token.partition(".")
    first = SHORT.get(first, first)
    if re.fullmatch(r"\w*\*?", first) and process_tests(first) is not None:
        classes = process_tests(first) or {}
        module, parts = first, [part for part in rest.replace("...", "…").split(".") if part]
    elif token.startswith("test_") or (first in (process_tests(module) or {}) and first):
        classes = process_tests(module) or {}
        parts = [part for part in token.replace("...", "…").split(".") if part]
    else:
        return fits(token, sorted(unit_tests())), module
    every = [name for names in classes.values() for name in names]
    if not parts or parts == ["*"]:
        return bool(every), module
    if parts[0] in classes:
        return len(parts) == 1 or fits(parts[1], classes[parts[0]]), module
    return fits(parts[0], every), module


def numbers_of(cell: str) -> set[int]:
    if re.match(r"\d+\. ", cell):  # a row of the checklist itself
        return set()
    found: set[int] = set()
    for first, last in re.findall(r"(\d+)(?:(?:-| to )(\d+))?", cell.partition("`")[0]):
        found.update(range(int(first), int(last or first) + 1))
    return found


def rows(text: str) -> list[tuple[set[int], str]]:
    cells = [
        re.split(r"(?<!\\)\|", line.strip().strip("|"))
        for line in text.splitlines()
        if line.startswith("| ")
    ]
    return [
        (numbers_of(row[0].strip()), row[1])
        for row in cells
        if len(row) == 2 and row[0].strip()[:1].isdigit()
    ]


class ChecklistsTest(unittest.TestCase):
    def test_every_number_has_a_test_or_a_reason_and_every_test_exists(self) -> None:
        for page, last in (PAGES | UNFINISHED).items():
            numbers_of_page = set(range(1, last + 1))
            text = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")
            text = text[
                re.search(r"Conformance checklist|^## \d+\. Checklist", text, re.M).start() :
            ]
            mapped: set[int] = set()
            for numbers, tests in rows(text):
                if not numbers:
                    continue
                tokens = re.findall(r"`([^`]+)`", tests)
                names = [
                    token
                    for token in tokens
                    if "/" not in token and not token.endswith((".json", "_fuzz"))
                ]
                module = ""
                for token in names:
                    with self.subTest(page=page, numbers=sorted(numbers), test=token):
                        found, module = exists(token, module)
                        self.assertTrue(found, "there is no such test")
                for path in (token for token in tokens if "/" in token):
                    with self.subTest(page=page, path=path):
                        self.assertTrue((ROOT / path).exists(), "there is no such file")
                mapped |= numbers
            with self.subTest(page=page):
                self.assertEqual(sorted(mapped - numbers_of_page), [], "numbers that are not there")
                if page not in UNFINISHED:
                    self.assertEqual(sorted(numbers_of_page - mapped), [], "numbers without a test")

    def test_every_test_that_the_threat_model_names_exists(self) -> None:
        """`conformance.calls` is a file of process tests; `Suite.Name…`, or a suite alone, are unit
        tests."""
        text = (ROOT / "docs/security/threat_model.md").read_text(encoding="utf-8")
        named = 0
        for cells in (line.split("|") for line in text.splitlines() if line.startswith("| ")):
            for token in (
                token for token in re.findall(r"`([^`]+)`", cells[-2]) if "/" not in token
            ):
                suite, dot, name = token.partition(".")
                if suite in ("conformance", "fault"):
                    *folders, file = name.split(".")
                    path = Path("tests", suite, *folders)
                    there = (
                        any((ROOT / path).glob(f"test_{file}.py")) or (ROOT / path / file).is_dir()
                    )
                elif re.match(r"[A-Z]", suite):
                    there = fits(token if dot else f"{suite}.*", sorted(unit_tests()))
                else:
                    continue
                named += 1
                with self.subTest(test=token):
                    self.assertTrue(there, "there is no such test")
        self.assertGreater(named, 40)


if __name__ == "__main__":
    unittest.main()
