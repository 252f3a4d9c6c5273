"""Commands, options and routes that pages and messages name exist: they are in docs/reference,
which is made from the command line (cli_test.py) and the route tables (gateway_test)."""

import re
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = (
    "docs",
    "src",
    "include",
    "tests",
    "bench",
    "examples",
    "deploy",
    "spec",
    "web",
    "clients",
)
# What changed, what is made, and what a text that was given calls otherwise.
NOT_READ = {
    "CHANGELOG.md",
    "docs/reference/cli.md",
    "docs/decisions/0023-where-mcp-differs-from-its-contract.md",
}
GUIDES = ("README.md", "docs/quickstart.md", "docs/how_to/**/*.md", "docs/operations/*.md")
# Commands and options that `crab help` does not list: they are for programs.
UNLISTED = {"sandbox-init": {"--supervise"}, "completion-names": set()}
UNLISTED_OPTIONS = {"--help", "--version", "--markdown", "--man"}
PRINTED = {"gateway ready", "host ready", "pair"}  # first words of what they print

Commands = dict[str, set[str]]


def commands_of(page: str) -> Commands:
    """Command → its options, from the sections of the reference."""
    found: Commands = {}
    for section in re.split(r"^## crab ", page, flags=re.MULTILINE)[1:]:
        rows = re.findall(r"^\| `([^`]+)` \|", section, re.MULTILINE)
        rows += re.findall(r"^\[Shared options\].*", section, re.MULTILINE)
        options = {word for row in rows for word in re.findall(r"(?<![\w-])--[\w-]+", row)}
        found[section.partition("\n")[0].strip()] = options
    return found


def groups_of(commands: Commands) -> set[str]:
    """`mcp`, of `mcp add`."""
    return {name.rpartition(" ")[0] for name in commands} - {""}


def code_of(page: str) -> list[str]:
    """What a page in Markdown shows as code: lines of its blocks for the shell, continued ones as
    one, and what stands in backticks."""
    fence = re.compile(r"^ *```(\w*)\n(.*?)^ *```", re.MULTILINE | re.DOTALL)
    shell = [block for language, block in fence.findall(page) if language == "sh"]
    lines = [line for block in shell for line in block.replace("\\\n", " ").splitlines()]
    lines = [re.sub(r"(^|\s)#.*", "", line) for line in lines]
    return lines + [" ".join(it.split()) for it in re.findall(r"`([^`]+)`", fence.sub("", page))]


def texts_of(source: str) -> list[str]:
    """The string literals of a C++ source, adjacent ones as one."""
    joined = re.sub(r'"\s*\n\s*"', "", source)
    return re.findall(r'"((?:[^"\\\n]|\\.)*)"', joined)


def unknown(code: str, commands: Commands, prose: bool = False) -> list[str]:
    """What the invocations of crab in a line name that there is not. In prose, the words after a
    group need not be a command of it."""
    problems = []
    names = commands.keys() | groups_of(commands)
    for said in re.findall(r"(?<![\w./-])crab ((?!crab )[a-z][^|;&)#`]*)", code):
        words = said.split()
        name = ""
        while words and f"{name} {words[0]}".strip() in names:
            name = f"{name} {words.pop(0)}".strip()
        if name in commands:
            for word in re.findall(r"(?<![\w-])--[a-z][\w-]*", " ".join(words)):
                if word not in commands[name] | UNLISTED_OPTIONS:
                    problems.append(f"crab {name} has no {word}")
            continue
        more = f"{name} {words[0] if words else ''}".strip()
        if not prose and re.fullmatch(r"[a-z -]+", more) and more not in PRINTED | names:
            problems.append(f"there is no crab {more}")
    return problems


def pages() -> list[Path]:
    found = list(ROOT.glob("*.md"))
    for folder in FOLDERS:
        found += (ROOT / folder).rglob("*.md")
    return [
        path
        for path in sorted(found)
        if path.relative_to(ROOT).as_posix() not in NOT_READ and "node_modules" not in path.parts
    ]


class DocsCommandsTest(unittest.TestCase):
    def setUp(self) -> None:
        page = (ROOT / "docs/reference/cli.md").read_text(encoding="utf-8")
        self.commands = commands_of(page) | UNLISTED

    def test_the_reference_is_read(self) -> None:
        self.assertGreater(len(self.commands), 70)
        self.assertIn("mcp", groups_of(self.commands))
        self.assertIn("--config", self.commands["gateway run"])
        self.assertIn("--output", self.commands["tools list"])

    def test_what_does_not_exist_is_found(self) -> None:
        for code, problem in (
            ("crab tools lost", "there is no crab tools lost"),
            ("crab frobnicate", "there is no crab frobnicate"),
            ("token=$(crab devices pair --quietly)", "crab devices pair has no --quietly"),
            ("sudo -u crab crab tools list --all-of-them", "crab tools list has no --all-of-them"),
        ):
            with self.subTest(code=code):
                self.assertEqual(unknown(code, self.commands), [problem])
        self.assertEqual(unknown("sudo -u crab crab tools show NAME", self.commands), [])
        self.assertEqual(unknown("crab peers pair | other --flag", self.commands), [])
        page = "Run `crab\na`.\n```sh\ncrab b \\\n  --c\n```\n```\ncrab gateway ready\n```\n"
        self.assertEqual(code_of(page), ["crab b    --c", "crab a"])

    def test_pages_name_commands_and_options_that_exist(self) -> None:
        looked_at = 0
        for path in pages():
            with self.subTest(page=str(path.relative_to(ROOT))):
                code = code_of(path.read_text(encoding="utf-8"))
                looked_at += sum(line.count("crab ") for line in code)
                self.assertEqual([it for line in code for it in unknown(line, self.commands)], [])
        self.assertGreater(looked_at, 300)

    def test_messages_name_options_that_exist(self) -> None:
        for path in sorted((ROOT / "src").rglob("*.cpp")):
            if path.stem.endswith("_test"):
                continue
            with self.subTest(file=str(path.relative_to(ROOT))):
                texts = texts_of(path.read_text(encoding="utf-8"))
                said = [it for text in texts for it in unknown(text, self.commands, prose=True)]
                self.assertEqual(said, [])

    def test_guides_name_routes_that_exist(self) -> None:
        reference = (ROOT / "docs/reference/http.md").read_text(encoding="utf-8")
        routes = re.findall(r"^\| [A-Z, ]+ \| `([^`]+)` \|", reference, re.MULTILINE)
        self.assertGreater(len(routes), 60)
        patterns = [re.sub(r"\{\w+\}", "[^/]+", route) + "(/.*)?" for route in routes]
        for path in (path for guide in GUIDES for path in sorted(ROOT.glob(guide))):
            text = path.read_text(encoding="utf-8")
            for route in re.findall(r"(?<![\w.])(/(?:v1|api)/[\w/{}-]+)", text):
                with self.subTest(page=str(path.relative_to(ROOT)), route=route):
                    self.assertTrue(any(re.fullmatch(pattern, route) for pattern in patterns))


if __name__ == "__main__":
    unittest.main()
