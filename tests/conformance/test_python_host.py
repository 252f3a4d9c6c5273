"""docs/how_to/offer_tools_from_python.md: its programs are run as they stand there, and the gateway
calls them."""

from __future__ import annotations

import re
import socket
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from support.gateway import Gateway
from support.wait import eventually

PAGE = Path(__file__).resolve().parents[2] / "docs/how_to/offer_tools_from_python.md"


class PythonHostTest(unittest.TestCase):
    def test_the_program_of_the_page_offers_a_tool_that_is_called(self) -> None:
        self.assert_rolls(0, 30)

    def test_the_program_with_the_package_does_the_same(self) -> None:
        self.assert_rolls(1, 10)

    def assert_rolls(self, number: int, most_lines: int) -> None:
        program = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)[number]
        self.assertLessEqual(len([x for x in program.splitlines() if x.strip()]), most_lines)
        with tempfile.TemporaryDirectory(prefix="crab-dice-") as folder:
            path = Path(folder, "dice.sock")
            Path(folder, "dice.py").write_text(program)
            host = subprocess.Popen(
                [sys.executable, f"{folder}/dice.py", str(path)], stderr=subprocess.DEVNULL
            )
            self.addCleanup(lambda: (host.kill(), host.wait()))

            def listens() -> bool:
                with socket.socket(socket.AF_UNIX) as link:
                    return link.connect_ex(str(path)) == 0

            eventually(listens, "the host listens", 10)
            self.assertEqual(path.stat().st_mode & 0o777, 0o600)
            with Gateway({"hosts": [{"name": "dice", "unix": str(path)}]}) as gateway:
                gateway.wait_listed("dice.roll")
                self.assertIn(
                    gateway.start_call("dice.roll", {"sides": 2}).result(10).result["number"],
                    (1, 2),
                )
                self.assertEqual(
                    gateway.start_call("dice.roll", {"sides": 1}).result(10).code, "INVALID_ARGS"
                )


if __name__ == "__main__":
    unittest.main()
