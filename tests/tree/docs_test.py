"""What the pages point to exists: files behind links, and paths and modules that ARCHITECTURE.md
names."""
import fnmatch
import json
import re
import subprocess
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TOP = {"src", "include", "docs", "spec", "scripts", "tests", "bench", "examples", "deploy", "cmake"}


def pages() -> list[Path]:
    found = list(ROOT.glob("*.md"))
    for name in sorted(TOP):
        found += (ROOT / name).rglob("*.md")
    return found


def unnamed(stems: set[str], text: str) -> set[str]:
    """Which of these files a page does not name: in backticks, or by a pattern such as
    `*_command.cpp` there. Its ending may be left out."""
    named = {
        re.sub(r"\.(hpp|cpp|\*)$", "", name).rpartition("/")[2]
        for quoted in re.findall(r"`([^`]+)`", text)
        for name in re.findall(r"[\w./*]+", quoted)
    }
    patterns = [name for name in named if "*" in name and re.search(r"\w{3}", name)]
    return {
        stem
        for stem in stems - named
        if not any(fnmatch.fnmatchcase(stem, pattern) for pattern in patterns)
    }


class DocsTest(unittest.TestCase):
    def test_every_link_inside_the_repository_leads_somewhere(self) -> None:
        dead = []
        for page in pages():
            for target in re.findall(
                r"\]\(([^)\s#]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")
            ):
                if "://" not in target and not (page.parent / target).exists():
                    dead.append(f"{page.relative_to(ROOT)}: {target}")
        self.assertEqual(dead, [])

    def test_the_life_of_a_call_names_files_that_exist(self) -> None:
        text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
        missing = []
        for row in re.findall(r"^\| \d+ \|.*\| (.+) \|$", text, re.MULTILINE):
            folder = ""
            for name in re.findall(r"`([\w./]+)`", row):
                folder = (
                    name.rpartition("/")[0] or folder
                )  # a bare name stands for the folder of the one before
                stem = name.rpartition("/")[2]
                base = ROOT / (name if name.startswith("include/") else f"src/{folder}/{stem}")
                if not any(Path(f"{base}{ending}").exists() for ending in ("", ".hpp", ".cpp")):
                    missing.append(name)
        self.assertEqual(missing, [])

    def test_every_folder_of_code_has_a_short_readme(self) -> None:
        without = []
        for name in ("src", "tests", "bench", "examples"):
            for folder in sorted(
                {
                    path.parent
                    for ending in ("cpp", "hpp", "py")
                    for path in (ROOT / name).rglob(f"*.{ending}")
                }
            ):
                covered = [parent / "README.md" for parent in (folder, folder.parent)]
                readme = next((path for path in covered if path.exists()), None)
                if readme is None:
                    without.append(str(folder.relative_to(ROOT)))
                elif len(readme.read_text(encoding="utf-8").splitlines()) > 40:
                    without.append(f"{readme.relative_to(ROOT)}: above 40 lines")
        self.assertEqual(without, [])

    def test_the_readme_of_a_folder_names_its_files(self) -> None:
        missing = []
        for readme in sorted((ROOT / "src").rglob("README.md")):
            stems = {
                path.stem
                for path in readme.parent.glob("*.[ch]pp")
                if not re.search(r"(^test_|_test$|_bench$|_fuzz$)", path.stem)
            }
            missing += [
                f"{readme.parent.relative_to(ROOT)}: {stem}"
                for stem in sorted(unnamed(stems, readme.read_text(encoding="utf-8")))
            ]
        self.assertEqual(missing, [])

    def test_a_name_in_backticks_or_a_pattern_there_names_a_file(self) -> None:
        stems = {"pool", "fair_pool", "pool_run", "call_command", "calls_command", "loop"}
        text = (
            "A fair pool: `fair_pool.*`, with `pool_run.hpp`; `*_command.cpp`; no `loops` and loop"
        )
        self.assertEqual(unnamed(stems, text), {"pool", "loop"})


if __name__ == "__main__":
    unittest.main()
