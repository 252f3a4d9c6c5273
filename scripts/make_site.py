#!/usr/bin/env python3
"""Make the documentation site, and check it; scripts/docs.sh runs both.

usage: make_site.py build PAGES SITE   Markdown of the tree, and what it links to, by way of the
                                       folder PAGES to the folder SITE
       make_site.py check SITE         exit 1 for a link or anchor that leads nowhere, or something
                                       that a browser would fetch from another server
"""
from __future__ import annotations

import re
import shutil
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ROOT / "scripts/site"
#: Sections of the navigation, and their pages in order; patterns are sorted by title.
SECTIONS: dict[str, list[str]] = {
    "Begin": [
        "docs/quickstart.md",
        "docs/concepts.md",
        "docs/beside_others.md",
        "docs/who_should_not_use_it.md",
    ],
    "Cookbook": ["docs/how_to/cookbook/README.md", "docs/how_to/cookbook/*.md"],
    "How to": ["docs/how_to/*.md"],
    "Operations": [
        "docs/operations/README.md",
        "docs/operations/deploy.md",
        "docs/operations/*.md",
    ],
    "Reference": ["docs/reference/*.md"],
    "Protocols": ["docs/protocols/*.md"],
    "Clients": ["clients/*/README.md"],
    "Security": ["docs/security/*.md", "SECURITY.md"],
    "The project": [
        "ARCHITECTURE.md",
        "CHANGELOG.md",
        "CONTRIBUTING.md",
        "STYLE.md",
        "docs/rough_edges.md",
        "docs/lock_order.md",
    ],
    "Decisions": ["docs/decisions/README.md", "docs/decisions/*.md"],
}
LINK = re.compile(r"(\]\()([^)\s#]+)(#[^)]*)?(\))")


def slug(text: str, separator: str) -> str:
    """Anchors as repositories' pages have them, so that one link works in both places."""
    return re.sub(r"[^\w\- ]", "", text.strip().lower()).replace(" ", separator)


def title_of(page: Path) -> str:
    found = re.search(r"^# (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return re.sub(r"[`*]", "", found[1]) if found else page.stem


ENTRY = re.compile(r"( *)([-*]|\d+\.)( +)(?=\S)")


def begins_entry(found: re.Match[str], above: str, open_lists: list[tuple[int, int]]) -> bool:
    """Whether a line that looks like an entry of a list is one: a number other than 1 continues a
    list, or is a number of the sentence."""
    if found[2] in ("-", "*", "1.") or not above:
        return True
    return any(found.end(1) == marker for marker, _ in open_lists)


def laid_out(text: str) -> str:
    """Markdown as python-markdown reads it: what belongs to an entry of a list is four columns
    further in, and lists, tables and entries below an entry of several parts have an empty line
    before them."""
    lines: list[str] = []
    open_lists: list[tuple[int, int]] = []  # columns of the marker and of the text behind it
    fence, has_parts = "", False
    for line in text.split("\n"):
        found = ENTRY.match(line) if not fence else None
        above = lines[-1].strip() if lines else ""
        is_entry = bool(found) and begins_entry(found, above, open_lists)
        indent = len(line) - len(line.lstrip())
        if not line.strip():
            has_parts = True
        elif not fence:
            before = len(open_lists)
            while open_lists and indent < open_lists[-1][1] and (is_entry or not above):
                open_lists.pop()
            is_new = is_entry and before == len(open_lists)
            is_table = line.lstrip().startswith("|") and not above.startswith("|")
            if above and (is_new or is_table or (is_entry and has_parts)):
                lines.append("")
        base = open_lists[-1][1] if open_lists else 0
        lines.append((" " * (4 * len(open_lists)) + line[min(base, indent) :]).rstrip())
        ticks = re.match(r" *(```+)", line)
        if ticks and (not fence or line.strip() == fence):
            fence, has_parts = "" if fence else ticks[1], True
        elif is_entry:
            open_lists.append((indent, len(found[0])))
            has_parts = False
    return "\n".join(lines)


def stage(page: Path, to: Path, done: set[Path]) -> None:
    """Copies a page, with the files that it links to, to the same place below `to`."""
    if page in done:
        return
    done.add(page)
    target = to / page.relative_to(ROOT)
    target.parent.mkdir(parents=True, exist_ok=True)
    if page.suffix != ".md":
        shutil.copy(page, target)
        return
    text = page.read_text(encoding="utf-8")

    def linked(found: re.Match[str]) -> str:
        place = found[2]
        if urlsplit(place).scheme or place.startswith("/"):
            return found[0]
        file = (page.parent / place).resolve()
        if file.is_dir():
            inside = [file / "README.md", *sorted(it for it in file.iterdir() if it.is_file())]
            file = next(it for it in inside if it.exists())
            place = f"{place.rstrip('/')}/{file.name}"
        if file.is_file() and file.is_relative_to(ROOT):
            stage(file, to, done)
        return f"{found[1]}{place}{found[3] or ''}{found[4]}"

    target.write_text(laid_out(LINK.sub(linked, text)), encoding="utf-8")


def navigation(pages: Path, staged: set[Path]) -> list[dict[str, object]]:
    named: set[Path] = set()
    nav: list[dict[str, object]] = [{"crab": "README.md"}]
    for section, patterns in SECTIONS.items():
        entries: list[dict[str, str]] = []
        for pattern in patterns:
            found = sorted(set(ROOT.glob(pattern)) - named, key=title_of)
            named |= set(found)
            for page in found:
                stage(page, pages, staged)
                entries.append({title_of(page): page.relative_to(ROOT).as_posix()})
        nav.append({section: entries})
    return nav


def build(pages: Path, site: Path) -> None:
    from mkdocs.commands.build import build as build_site
    from mkdocs.config import load_config

    staged: set[Path] = set()
    stage(ROOT / "README.md", pages, staged)
    nav = navigation(pages, staged)
    for name in ("site.css", "theme.js"):
        shutil.copy(SOURCES / name, pages / name)
    config = pages.parent / f"{pages.name}.yml"
    config.write_text("site_name: crab\n", encoding="utf-8")
    try:
        build_site(
            load_config(
                str(config),
                docs_dir=str(pages),
                site_dir=str(site),
                site_url="",
                strict=True,
                nav=nav,
                theme={"name": None, "custom_dir": str(SOURCES / "theme")},
                plugins=["search"],
                markdown_extensions=[
                    "tables",
                    "pymdownx.superfences",
                    "sane_lists",
                    {"toc": {"slugify": slug}},
                ],
                use_directory_urls=False,
            )
        )
    finally:
        config.unlink()


class Page(HTMLParser):
    """What a page links to, what it has for links to it, and what a browser fetches for it."""

    FETCHED = {"src", "srcset", "data", "poster"}

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.fetched: list[str] = []
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        for name, value in attributes:
            if name in ("id", "name") and value:
                self.anchors.add(value)
            elif name in self.FETCHED or (tag == "link" and name == "href"):
                self.fetched.append(value or "")
            elif name == "href":
                self.links.append(value or "")


def problems_of(page: Path, site: Path, pages: dict[Path, Page]) -> list[str]:
    problems = []
    for target in pages[page].fetched + pages[page].links:
        parts = urlsplit(target)
        if target in pages[page].fetched and (parts.netloc or parts.scheme in ("http", "https")):
            problems.append(f"fetches {target}")
        if parts.scheme or parts.netloc:
            continue
        file = (page.parent / unquote(parts.path)).resolve() if parts.path else page
        if file.is_dir():
            file = file / "index.html"
        if not file.exists():
            problems.append(f"links to {target}, which there is not")
        elif (
            parts.fragment and file in pages and unquote(parts.fragment) not in pages[file].anchors
        ):
            problems.append(f"links to {target}: there is no such anchor")
    return problems


def check(site: Path) -> int:
    pages = {
        file: Page(file.read_text(encoding="utf-8", errors="replace"))
        for file in sorted(site.resolve().rglob("*.html"))
    }
    problems = [
        f"{page.relative_to(site.resolve())}: {problem}"
        for page in pages
        for problem in problems_of(page, site, pages)
    ]
    for style in site.rglob("*.css"):
        found = re.findall(r"(?:@import\s+|url\()[\"']?(?:https?:)?//[^\"')]+", style.read_text())
        problems += [f"{style.relative_to(site)}: fetches {it}" for it in found]
    for script in site.rglob("*.js"):
        text = script.read_text(encoding="utf-8", errors="replace")
        calls = r"(?:fetch|importScripts|import|open)\([^)]*https?://[^)]*\)"
        problems += [f"{script.relative_to(site)}: {it}" for it in re.findall(calls, text)]
    for problem in problems:
        print(problem)
    print(f"{len(pages)} pages, {len(problems)} problems")
    return 1 if problems else 0


def main() -> int:
    words = sys.argv[1:]
    if len(words) == 3 and words[0] == "build":
        build(Path(words[1]).resolve(), Path(words[2]).resolve())
        return 0
    if len(words) == 2 and words[0] == "check":
        return check(Path(words[1]))
    print(__doc__, file=sys.stdout if words and words[0] in ("-h", "--help") else sys.stderr)
    return 0 if words and words[0] in ("-h", "--help") else 2


if __name__ == "__main__":
    sys.exit(main())
