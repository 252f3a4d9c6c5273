#!/usr/bin/env python3
"""libcrab.so shows what its list of symbols names, and nothing else.

usage: exported_symbols_test.py LIBRARY SYMBOLS [unittest arguments]
"""

import re
import subprocess
import sys
import unittest
from pathlib import Path

LIBRARY, SYMBOLS = sys.argv.pop(1), Path(sys.argv.pop(1))


def symbols_of(library):
    lines = subprocess.run(
        ["nm", "-D", "--defined-only", "--with-symbol-versions", library],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    names = {line.split()[-1].replace("@@", "@") for line in lines}
    return {name for name in names if not name.startswith("CRAB_0@")} - {"CRAB_0"}


def listed():
    rows = re.findall(r"^ (\S+) \S+$", SYMBOLS.read_text(), re.MULTILINE)
    return {row for row in rows if not row.startswith("CRAB_0@")}


class ExportedSymbols(unittest.TestCase):
    def test_are_those_of_the_list(self):
        shown, expected = symbols_of(LIBRARY), listed()
        self.assertEqual(sorted(expected - shown), [], "gone: this breaks programs (new soname)")
        self.assertEqual(sorted(shown - expected), [], f"new: add them to {SYMBOLS}")

    def test_the_soname_has_the_major_version(self):
        head = subprocess.run(
            ["objdump", "-p", LIBRARY], capture_output=True, text=True, check=True
        ).stdout
        self.assertRegex(head, r"SONAME +libcrab\.so\.0\n")


if __name__ == "__main__":
    unittest.main()
