"""What the pages point to exists: files behind links, and paths and modules that ARCHITECTURE.md
names."""
import fnmatch
import itertools
import json
import re
import subprocess
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TOP = {"src", "include", "docs", "spec", "scripts", "tests", "bench", "examples", "deploy", "cmake"}
NO_PATHS = {"agent/butler", "docs/protocols/P.md"}  # a principal; any page


def pages() -> list[Path]:
    found = list(ROOT.glob("*.md"))
    for name in sorted(TOP):
        found += (ROOT / name).rglob("*.md")
    return found


def known_paths() -> set[str]:
    """Files of the tree and their folders, from the root; those of C++ without their ending too."""
    known = set()
    for name in sorted(TOP | {"web", "clients"}):
        for file in (ROOT / name).rglob("*"):
            if "node_modules" not in file.parts:
                path = file.relative_to(ROOT).as_posix()
                known |= {path, re.sub(r"\.(hpp|cpp)$", "", path)}
    return known


def choices(token: str) -> list[str]:
    """`a/{b,c}/` as `a/b` and `a/c`."""
    parts = [part.split(",") for part in re.split(r"[{}]", token)]
    paths = ("".join(choice) for choice in itertools.product(*parts))
    return [path.removesuffix("/.").removesuffix(".*").rstrip("/") for path in paths]


def exists(path: str, known: set[str]) -> bool:
    if "*" in path:
        return any(fnmatch.fnmatchcase(it, p) for p in (path, f"src/{path}") for it in known)
    return bool({path, f"src/{path}"} & known)


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

    def test_paths_in_backticks_exist(self) -> None:
        """Those from the root or from src/; `*` and `{a,b}` are patterns, endings may be absent."""
        known = known_paths()
        tops = TOP | {path.name for path in (ROOT / "src").iterdir()}
        looked_at, missing = 0, []
        for page in pages():
            if page.name == "CHANGELOG.md":
                continue
            for token in re.findall(r"`([^`\n]+)`", page.read_text(encoding="utf-8")):
                if token in NO_PATHS or not re.fullmatch(r"[\w.-]+/[\w./*{},-]+", token):
                    continue
                if token.split("/")[0] not in tops:
                    continue
                looked_at += 1
                if not all(exists(path, known) for path in choices(token)):
                    missing.append(f"{page.relative_to(ROOT)}: {token}")
        self.assertEqual(missing, [])
        self.assertGreater(looked_at, 400)

    def test_a_path_in_every_form_is_looked_for(self) -> None:
        known = {"src/base", "src/base/id.hpp", "src/base/id", "docs/a.md"}
        for token in ("base/", "src/base/id.*", "base/id", "docs/*.md", "base/{id,id.hpp}"):
            self.assertTrue(all(exists(path, known) for path in choices(token)), token)
        for token in ("base/it.hpp", "docs/{a,b}.md", "docs/*.txt"):
            self.assertFalse(all(exists(path, known) for path in choices(token)), token)

    def test_every_folder_below_the_root_is_named_in_the_architecture(self) -> None:
        text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
        named = {path for token in re.findall(r"`([^`\n]+)`", text) for path in choices(token)}
        for folder in (path for name in ("web", "clients") for path in (ROOT / name).iterdir()):
            if (folder / "package.json").exists():
                self.assertIn(folder.relative_to(ROOT).as_posix(), named)

    def test_the_life_of_a_call_names_files_that_exist(self) -> None:
        text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
        missing = []
        for row in re.findall(r"^\| [\d½]+ \|.*\| (.+) \|$", text, re.MULTILINE):
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

    def test_the_life_of_a_call_has_the_stages_of_the_pipeline_in_their_order(self) -> None:
        source = (ROOT / "src/core/pipeline/pipeline.cpp").read_text(encoding="utf-8")
        body = source.partition("::pass_stages(")[2].partition("\n}\n")[0]
        calls = re.findall(r"(?:stage\.(\w+)\.|(\w+)Stage::)pass\(", body)
        stages = [f"{(name or kind).lower()}_stage" for name, kind in calls]
        self.assertEqual(len(stages), 9)
        text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
        rows = re.findall(r"^\| [\d½]+ \|.*$", text, re.MULTILINE)
        named = [next((i for i, row in enumerate(rows) if it in row), None) for it in stages]
        self.assertNotIn(None, named, f"{stages}, found in rows {named}")
        self.assertEqual(named, sorted(named))

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
