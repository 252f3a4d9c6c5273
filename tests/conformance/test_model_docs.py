"""The configurations that docs/how_to/chat_with_a_model.md and run_agents.md show are ones that a
gateway starts with."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
import textwrap
import unittest
from pathlib import Path

from support.gateway import program

HOW_TO = Path(__file__).resolve().parents[2] / "docs" / "how_to"
KEYS = {"OPENAI_API_KEY": "k", "ANTHROPIC_API_KEY": "k"}


def snippets(page: str) -> list[str]:
    """The configurations of a page; those inside a list are moved to the left."""
    return [
        textwrap.dedent(text)
        for text in re.findall(
            r"^ *```yaml\n(.*?)^ *```$",
            (HOW_TO / page).read_text(encoding="utf-8"),
            re.DOTALL | re.MULTILINE,
        )
    ]


class ModelDocsTest(unittest.TestCase):
    def setUp(self) -> None:
        self.file = (
            Path(self.enterContext(tempfile.TemporaryDirectory(prefix="crab-docs-")))
            / "gateway.yaml"
        )

    def check(self, text: str, **environment: str) -> subprocess.CompletedProcess[str]:
        self.file.write_text(text, encoding="utf-8")
        inherited = {name: value for name, value in os.environ.items() if name not in KEYS}
        return subprocess.run(
            [program(), "gateway", "check", "--config", str(self.file)],
            env={**inherited, **environment},
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )

    def test_every_configuration_of_the_pages_is_valid(self) -> None:
        for page in ("chat_with_a_model.md", "run_agents.md"):
            shown = snippets(page)
            self.assertGreater(len(shown), 0, page)
            for text in shown:
                with self.subTest(page=page, text=text):
                    checked = self.check(text, **KEYS)
                    self.assertEqual(checked.returncode, 0, checked.stderr)

    def test_the_three_kinds_of_models_take_three_lines_each(self) -> None:
        ollama, openai, anthropic = [
            next(text for text in snippets("chat_with_a_model.md") if word in text)
            for word in ("11434", "OPENAI_API_KEY", "anthropic")
        ]
        for text in (ollama, openai, anthropic):
            self.assertLessEqual(len(text.splitlines()), 3)
        self.assertEqual(self.check(ollama).returncode, 0, "a model of one's own needs no key")

    def test_a_key_that_is_missing_is_named(self) -> None:
        for text in snippets("chat_with_a_model.md"):
            if "key_env" not in text:
                continue
            checked = self.check(text)
            self.assertEqual(checked.returncode, 1)
            self.assertRegex(
                checked.stderr, r"models\[0\]\.key_env: the environment variable [A-Z_]+ is not set"
            )


if __name__ == "__main__":
    unittest.main()
