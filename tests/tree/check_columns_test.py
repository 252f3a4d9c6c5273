"""scripts/check_columns.py finds long lines, and leaves alone what may be long."""
import contextlib
import io
import subprocess
import tempfile
import unittest
from pathlib import Path

import check_columns

LONG = "x " * 50 + "x"
LONG_NAME = "x" * 101


class CheckColumnsTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)

    def write(self, name: str, text: str) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def said(self) -> str:
        said = io.StringIO()
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(io.StringIO()):
            status = check_columns.main([str(self.root)])
        self.assertEqual(status, 1 if said.getvalue() else 0)
        return said.getvalue()

    def said_of(self, name: str, text: str) -> str:
        self.write(name, text)
        answer = self.said()
        (self.root / name).unlink()
        return answer

    def test_a_long_line_is_named_with_its_number_and_length(self) -> None:
        self.assertIn("src/a.cpp:2: 101 characters", self.said_of("src/a.cpp", f"\n{LONG}\n"))

    def test_every_kind_of_code_and_prose_is_looked_at(self) -> None:
        for name in (
            "a.hpp",
            "a.py",
            "a.ts",
            "a.mjs",
            "a.js",
            "a.css",
            "a.html",
            "a.sh",
            "a.cmake",
            "CMakeLists.txt",
            "README.md",
            "docs/a.md",
        ):
            with self.subTest(name=name):
                self.assertIn(f"{name}:1:", self.said_of(name, LONG + "\n"))
        self.assertIn(".ci/run:2:", self.said_of(".ci/run", f"#!/bin/sh\n{LONG}\n"))

    def test_characters_are_counted_and_not_bytes(self) -> None:
        self.assertEqual(self.said_of("a.py", "ü" * 100 + "\n"), "")
        self.assertIn("a.py:1: 101", self.said_of("a.py", "ü" * 101 + "\n"))

    def test_what_is_no_code_or_not_ours_is_left_alone(self) -> None:
        for name in (
            "package-lock.json",
            "packages.txt",
            "LICENSE",
            "spec/README.md",
            "docs/reference/cli.md",
            "docs/images/a.html",
            "tests/fuzz/corpus/a/b.py",
        ):
            with self.subTest(name=name):
                self.assertEqual(self.said_of(name, LONG + "\n"), "")

    def test_generated_files_are_left_alone(self) -> None:
        self.assertEqual(self.said_of("a.ts", f"// Made by scripts/a.py: edit that.\n{LONG}"), "")
        self.assertIn("a.ts:2:", self.said_of("a.ts", f"// Not Made By anything.\n{LONG}\n"))

    def test_includes_and_names_of_tests_may_be_long(self) -> None:
        self.assertEqual(self.said_of("a.hpp", f'#include "{LONG_NAME}"\n'), "")
        self.assertEqual(self.said_of("a.py", f"    def test_{LONG_NAME}(self) -> None:\n"), "")
        self.assertIn("a.py:1:", self.said_of("a.py", f"    def {LONG_NAME}(self) -> None:\n"))

    def test_tables_and_code_in_prose_may_be_long(self) -> None:
        self.assertEqual(self.said_of("a.md", f"| {LONG} |\n"), "")
        self.assertEqual(self.said_of("a.md", f"```sh\n{LONG}\n```\n"), "")
        self.assertEqual(self.said_of("a.md", f"````\n```\n{LONG}\n````\n"), "")
        self.assertIn("a.md:4:", self.said_of("a.md", f"```\n\n```\n{LONG}\n"))

    def test_a_line_that_is_one_link_may_be_long(self) -> None:
        for text in (
            f"https://example.org/{LONG_NAME}",
            f"- https://example.org/{LONG_NAME}",
            f"[a page](https://example.org/{LONG_NAME})",
            f"[1]: https://example.org/{LONG_NAME}",
        ):
            with self.subTest(text=text):
                self.assertEqual(self.said_of("a.md", text + "\n"), "")
        self.assertIn("a.md:1:", self.said_of("a.md", f"see [a page]({LONG_NAME}) for more\n"))

    def test_an_export_is_walked_without_what_was_built(self) -> None:
        for name in ("build/dev/a.cpp", "node_modules/a/a.ts", "web/device/node_modules/a.ts"):
            self.write(name, LONG + "\n")
        self.assertEqual(self.said(), "")
        self.assertIn("src/build/a.cpp:1:", self.said_of("src/build/a.cpp", LONG + "\n"))

    def test_a_checkout_is_what_git_knows(self) -> None:
        subprocess.run(["git", "init", "-q", str(self.root)], check=True)
        self.write(".gitignore", "made/\n")
        self.write("made/a.py", LONG + "\n")
        self.assertEqual(self.said(), "")
        self.assertIn("a.py:1:", self.said_of("a.py", LONG + "\n"))


if __name__ == "__main__":
    unittest.main()
