"""The glossary of docs/concepts.md is short and reachable, and no header, README, page or comment
uses the private words that the field has terms for."""

import re
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MOST_TERMS = 40

# A private word → what to write instead.
BANNED = {
    r"\b(own|one|which) accent\b": "protocol, or front",
    r"\bplain words\b": "protocol-neutral terms",
    r"\bin the words of\b": "as …",
    r"\bearlier li(fe|ves)\b|\blast life\b": "earlier run",
    r"\bgrace time\b": "grace period",
    r"\baudit trail\b": "audit log",
    r"\bhears? of\b": "is notified of",
    r"\bleads? nowhere\b|\bled nowhere\b": "has no effect, or does not resolve",
    r"\baffairs?\b": "is decided, or checked, by",
    r"\bmercy\b": "grace period",
    r"\bwitness(es)?\b": "observer",
    r"\bown word\b": "own error, or own value",
    r"\bsigns? of life\b": "activity",
    r"\bin good order\b": "cleanly",
    r"\bmend(s|ed)?\b": "fix",
    r"(?<!there )\b(that|which|what) (is|are) none\b": "is invalid",
}


def glossary() -> list[list[str]]:
    """The rows of the table under "## Glossary", as term and meaning."""
    page = (ROOT / "docs/concepts.md").read_text(encoding="utf-8")
    table = page.partition("## Glossary\n")[2].partition("\n## ")[0]
    rows = [line.strip("| ").split(" | ") for line in table.splitlines() if line.startswith("| ")]
    return rows[1:]


def pages() -> list[Path]:
    found = [path for path in ROOT.glob("*.md") if path.name != "CHANGELOG.md"]
    found += (ROOT / "docs").rglob("*.md")
    for name in ("src", "include"):
        found += (ROOT / name).rglob("*.hpp")
    for name in ("src", "tests", "bench", "examples", "deploy", "spec", "scripts"):
        found += (ROOT / name).rglob("README.md")
    return sorted(found)


def comments(source: str) -> str:
    """Those of a C++ source, in order; text after `//` in a string is read as one, too."""
    return "\n".join(re.findall(r"//[^\n]*", source))


def private_words(text: str) -> list[str]:
    """What is banned in `text`, across line breaks and comment marks."""
    flat = re.sub(r"\s+", " ", re.sub(r"\n\s*///? ?", " ", text))
    return [
        f"{m[0]!r}: {better}"
        for word, better in BANNED.items()
        for m in [re.search(word, flat)]
        if m
    ]


class PlainEnglishTest(unittest.TestCase):
    def test_the_glossary_is_short_sorted_and_has_one_line_per_term(self) -> None:
        rows = glossary()
        self.assertGreater(len(rows), 10)
        self.assertLessEqual(len(rows), MOST_TERMS)
        for row in rows:
            self.assertEqual(len(row), 2, row)
        terms = [row[0] for row in rows]
        self.assertEqual(terms, sorted(set(terms)))

    def test_the_glossary_is_found_from_the_first_pages(self) -> None:
        for name in ("README.md", "ARCHITECTURE.md"):
            self.assertIn("(docs/concepts.md", (ROOT / name).read_text(encoding="utf-8"), name)

    def test_a_private_word_is_found_across_lines_and_comment_marks(self) -> None:
        self.assertEqual(len(private_words("/// told in plain\n    /// words.\n")), 1)
        self.assertEqual(len(private_words("sent within the grace\ntime")), 1)
        self.assertEqual(private_words("there is no object, and there is none"), [])

    def test_headers_and_pages_use_the_terms_of_the_field(self) -> None:
        found = []
        for path in pages():
            words = private_words(path.read_text(encoding="utf-8"))
            found += [f"{path.relative_to(ROOT)}: {word}" for word in words]
        self.assertEqual(found, [])

    def test_comments_of_sources_use_the_terms_of_the_field(self) -> None:
        self.assertEqual(len(private_words(comments("int x;  // of an earlier\n  // life\n"))), 1)
        found = []
        for path in sorted((ROOT / "src").rglob("*.cpp")):
            words = private_words(comments(path.read_text(encoding="utf-8")))
            found += [f"{path.relative_to(ROOT)}: {word}" for word in words]
        self.assertEqual(found, [])


if __name__ == "__main__":
    unittest.main()
