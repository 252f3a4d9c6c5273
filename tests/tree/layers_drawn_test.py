"""The pages draw the layers as the table of scripts/check_layers.py has them."""
import re
import unittest
from pathlib import Path

import check_layers

ROOT = Path(__file__).resolve().parents[2]
SRC = ROOT / "src"
FOLDERS = sorted(
    {path.parent.relative_to(SRC).as_posix() for path in check_layers.sources(SRC)}
    | {row for row in check_layers.LAYERS if not row.endswith("*")}
)
TOPS = {folder.partition("/")[0] for folder in FOLDERS}
WORD = re.compile(r"[a-z_]+(?:/[a-z_]+)*")


def row_of(folder: str) -> set[str]:
    return check_layers.LAYERS[check_layers.layer_of(folder + "/")[1]]


def below(folder: str) -> set[str]:
    """The folders that a folder may include."""
    return {other for other in FOLDERS if check_layers.permits(row_of(folder), other)}


def picture(page: str) -> list[set[str]]:
    """The folders of each line of the picture that begins with `apps`, top down."""
    text = (ROOT / page).read_text(encoding="utf-8")
    start = re.search(r"```\n +apps .*?```", text, re.DOTALL)
    lines = start[0].splitlines()[1:-1] if start else []
    return [set(re.split(r" {2,}(?=[^ ])", line.strip())) & TOPS for line in lines]


def wrong_edges(levels: list[set[str]]) -> list[str]:
    """What may include something that is drawn beside or above it."""
    level = {name: depth for depth, names in enumerate(levels) for name in names}
    edges = {(it.partition("/")[0], to.partition("/")[0]) for it in FOLDERS for to in below(it)}
    return sorted(
        f"{start} -> {end}"
        for start, end in edges
        if start != end and level.get(start, 0) >= level.get(end, 0)
    )


def arrows(text: str) -> list[tuple[set[str], str]]:
    """Of each line of the tree with an arrow: the folders that it draws, and what they include."""
    listing = text.partition("\nsrc/ ")[2].partition("\nclients/")[0]
    lines = [line for line in listing.splitlines()[1:] if line.strip()]
    drawn, top = [], ""
    for line in lines:
        nested = line.startswith("    ")
        names = re.match(r"\s+((?:[a-z_]+/ ?)+)", line)[1].replace("/", "").split()
        if not nested:
            top = names[0]
        paths = {
            f"{top}/{name}" if nested or f"{top}/{name}" in FOLDERS else name for name in names
        }
        drawn.append((top if not nested else "", {*paths, *([] if nested else [top])}, line))
    nested_ones = {path for own, paths, _ in drawn if not own for path in paths}
    found = []
    for own, paths, line in drawn:
        if own:  # and what is in it without a line of its own
            paths = {it for it in FOLDERS if it.partition("/")[0] in paths} - nested_ones | paths
        if "→" in line:
            found.append((paths & set(FOLDERS), line.partition("→")[2]))
    return found


class LayersDrawnTest(unittest.TestCase):
    def test_both_pages_have_the_same_picture_of_every_folder(self) -> None:
        levels = picture("STYLE.md")
        self.assertEqual(levels, picture("ARCHITECTURE.md"))
        self.assertEqual(sorted(name for names in levels for name in names), sorted(TOPS))

    def test_includes_point_down_in_the_picture(self) -> None:
        self.assertEqual(wrong_edges(picture("STYLE.md")), [])

    def test_a_picture_that_is_wrong_is_found(self) -> None:
        levels = picture("STYLE.md")
        self.assertIn("trust -> core", wrong_edges([names - {"core"} for names in levels]))
        self.assertIn("apps -> cli", wrong_edges(list(reversed(levels))))

    def test_arrows_of_the_tree_are_in_the_table(self) -> None:
        found = arrows((ROOT / "STYLE.md").read_text(encoding="utf-8"))
        self.assertGreater(len(found), 20)
        for folders, text in found:
            allowed = set().union(*map(below, folders)) | folders
            for word in WORD.findall(text):
                if word.partition("/")[0] not in TOPS:
                    continue
                known = any(it == word or it.startswith(word + "/") for it in allowed)
                self.assertTrue(known, f"{sorted(folders)} -> {word}")

    def test_an_arrow_that_is_wrong_is_found(self) -> None:
        text = "\nsrc/  all\n  console/   codes   → net\n    relay/   more   → net\nclients/"
        (console, _), (relay, _) = arrows(text)
        self.assertNotIn(
            "net/http", set().union(*map(below, console - {"console/bridge"} - {"console/door"}))
        )
        self.assertIn("net/http", set().union(*map(below, relay)))


if __name__ == "__main__":
    unittest.main()
