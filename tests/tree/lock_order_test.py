"""docs/lock_order.md has exactly the mutexes of the code: each with its rank, in the order of the
ranks, or among the leaves."""
import re
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RANKED = re.compile(
    r"^ *(?:mutable )?Ordered(?:Shared)?Mutex<LockRank::(\w+)> ([\w, ]+);", re.MULTILINE
)
PLAIN = re.compile(
    r"^ *(?:mutable )?std::(?:shared_ptr<std::)?(?:recursive_|shared_|timed_)*mutex>? [\w, ]+;",
    re.MULTILINE,
)
ANY = re.compile(
    r"^ *(?:mutable |static |inline |thread_local )*\S*[mM]utex\S* [\w, ]+;", re.MULTILINE
)


def sources() -> dict[str, str]:
    """Text by path below src/ without its ending."""
    texts: dict[str, str] = {}
    for ending in ("hpp", "cpp"):
        for file in sorted((ROOT / "src").rglob(f"*.{ending}")):
            if not re.search(r"(^test_|_test$|_bench$)", file.stem):
                name = str(file.relative_to(ROOT / "src").with_suffix(""))
                texts[name] = texts.get(name, "") + file.read_text(encoding="utf-8")
    return texts


def rows() -> list[list[str]]:
    """Cells of the tables of the page, without their heads."""
    page = (ROOT / "docs/lock_order.md").read_text(encoding="utf-8")
    cells = [line.strip("| ").split(" | ") for line in page.splitlines() if line.startswith("| `")]
    return [[cell.strip() for cell in row] for row in cells]


def names(cell: str) -> list[str]:
    return re.findall(r"`([\w./]+)`", cell)


class LockOrderTest(unittest.TestCase):
    def test_the_page_has_the_ranks_in_their_order(self) -> None:
        header = (ROOT / "src/base/ordered_mutex.hpp").read_text(encoding="utf-8")
        body = re.search(r"enum class LockRank[^{]*\{(.*?)\};", header, re.DOTALL)
        assert body is not None
        ranks = re.findall(r"^ *(k\w+),", body.group(1), re.MULTILINE)
        self.assertGreater(len(ranks), 30)
        shown = [names(row[0])[0] for row in rows() if names(row[0])[0].startswith("k")]
        self.assertEqual(list(dict.fromkeys(shown)), ranks)
        groups = [rank for rank, before in zip(shown, [""] + shown) if rank != before]
        self.assertEqual(groups, ranks, "the rows of a rank stand together")

    def test_the_page_has_each_mutex_of_a_rank(self) -> None:
        in_code = {
            (rank, file, member)
            for file, text in sources().items()
            for rank, members in RANKED.findall(text)
            for member in members.split(", ")
        }
        on_page = {
            (names(row[0])[0], names(row[1])[0], member)
            for row in rows()
            if names(row[0])[0].startswith("k")
            for member in names(row[1])[1:]
        }
        self.assertGreater(len(in_code), 50)
        self.assertEqual(on_page, in_code)

    def test_the_page_has_each_file_with_a_leaf(self) -> None:
        in_code = {file for file, text in sources().items() if PLAIN.search(text)}
        on_page = [
            f"{names(row[0])[0]}/{file}"
            for row in rows()
            if not names(row[0])[0].startswith("k")
            for file in names(row[1])
        ]
        self.assertGreater(len(in_code), 40)
        self.assertEqual(sorted(on_page), sorted(in_code))

    def test_no_mutex_is_spelled_otherwise(self) -> None:
        known = re.compile(RANKED.pattern + "|" + PLAIN.pattern, re.MULTILINE)
        otherwise = [
            f"{file}: {found.group().strip()}"
            for file, text in sources().items()
            if file != "base/ordered_mutex"
            for found in ANY.finditer(text)
            if not known.match(found.group())
        ]
        self.assertEqual(otherwise, [])


if __name__ == "__main__":
    unittest.main()
