"""What the pages point to exists: files behind links, and paths and modules that ARCHITECTURE.md
names."""
import re
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TOP = {"src", "include", "docs", "spec", "scripts", "tests", "bench", "examples", "deploy", "cmake"}


def pages() -> list[Path]:
    found = list(ROOT.glob("*.md"))
    for name in sorted(TOP):
        found += (ROOT / name).rglob("*.md")
    return found


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

    def test_the_page_of_the_lock_order_names_every_file_with_a_mutex(self) -> None:
        page = (ROOT / "docs/lock_order.md").read_text(encoding="utf-8")
        named = {word.rpartition("/")[2] for word in re.findall(r"`([\w./]+)`", page)}
        mutex = re.compile(
            r"^ *(mutable )?(std::(shared_ptr<std::)?(recursive_|shared_)?mutex>?"
            r"|Ordered(Shared)?Mutex<[^;]*>)\s+[\w, ]+;",
            re.MULTILINE,
        )
        files = {
            file.stem
            for ending in ("cpp", "hpp")
            for file in (ROOT / "src").rglob(f"*.{ending}")
            if not re.search(r"(^test_|_test$|_bench$)", file.stem)
            and mutex.search(file.read_text(encoding="utf-8"))
        }
        self.assertGreater(len(files), 60)
        self.assertEqual(files - named, set())

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


if __name__ == "__main__":
    unittest.main()
