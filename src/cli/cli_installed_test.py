#!/usr/bin/env python3
"""Manual pages and completions as they are installed: they are there, and the tools that read them
have nothing to complain about.

usage: cli_installed_test.py CMAKE BUILD [unittest arguments]
"""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

CMAKE, BUILD = sys.argv.pop(1), sys.argv.pop(1)


class Installed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="crab-installed-")
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        subprocess.run(
            [CMAKE, "--install", BUILD, "--component", "crab", "--prefix", cls.folder],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        cls.share = Path(cls.folder, "share")

    def silent(self, *words):
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stdout + done.stderr), (0, ""), words)

    def needs(self, program):
        if shutil.which(program) is None:
            self.skipTest(f"no {program}")

    def test_every_command_and_the_configuration_have_a_page(self):
        pages = {path.name for path in (self.share / "man/man1").iterdir()}
        self.assertLessEqual(
            {"crab.1", "crab-gateway-run.1", "crab-peers-pair-tool.1", "crab-tokens.1"}, pages
        )
        self.assertGreater(len(pages), 100)
        text = (self.share / "man/man5/crab-gateway.yaml.5").read_text()
        self.assertIn("\n\\fBlisten.public\\fR\n", text)

    def test_groff_formats_every_page_without_a_warning(self):
        self.needs("groff")
        for path in sorted(self.share.glob("man/*/*")):
            self.silent("groff", "-ww", "-man", "-Tutf8", "-K", "utf8", "-z", str(path))

    def test_mandoc_finds_nothing_but_that_the_date_is_missing(self):
        self.needs("mandoc")
        done = subprocess.run(
            ["mandoc", "-T", "lint", *map(str, sorted(self.share.glob("man/*/*")))],
            capture_output=True,
            text=True,
            check=False,
        )
        said = [line for line in done.stdout.splitlines() if "missing date" not in line]
        self.assertEqual(said, [])

    def test_completions_are_where_shells_look_and_can_be_read(self):
        completions = {
            "bash": self.share / "bash-completion/completions/crab",
            "zsh": next(self.share.glob("zsh/*/_crab")),
            "fish": self.share / "fish/vendor_completions.d/crab.fish",
        }
        for shell, path in completions.items():
            self.assertIn("crab completion", path.read_text())
            if shutil.which(shell):
                self.silent(shell, "-n", str(path))

    def test_zsh_completes_with_the_file_of_its_path(self):
        self.needs("zsh")
        folder = next(self.share.glob("zsh/*/_crab")).parent
        program = (
            f"fpath=({folder} $fpath); autoload -U compinit; compinit -u -d {self.folder}/dump; "
            "print ${_comps[crab]}"
        )
        done = subprocess.run(
            ["zsh", "-f", "-c", program],
            capture_output=True,
            text=True,
            check=False,
            env={"HOME": self.folder}
            | {name: os.environ[name] for name in ("PATH", "FPATH") if name in os.environ},
        )
        self.assertEqual(done.stdout, "_crab\n", done.stderr)


if __name__ == "__main__":
    unittest.main()
