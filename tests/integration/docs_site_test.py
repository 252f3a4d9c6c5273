"""The documentation site: scripts/docs.sh builds it without a warning, its check finds what it is
there to find, and a browser searches it and turns it dark."""

from __future__ import annotations

import functools
import http.server
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest
from pathlib import Path
from typing import ClassVar

from support.browser import Browser, missing
from support.wait import eventually

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
import make_site  # noqa: E402

ABSENT = [name for name in ("mkdocs", "doxygen") if not shutil.which(name)]


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@unittest.skipIf(ABSENT, f"not installed: {ABSENT}; scripts/setup.sh installs the kind test")
class SiteTest(unittest.TestCase):
    site: ClassVar[Path]
    said: ClassVar[subprocess.CompletedProcess[str]]

    @classmethod
    def setUpClass(cls) -> None:
        folder = cls.enterClassContext(tempfile.TemporaryDirectory(prefix="crab-site-"))
        cls.site = Path(folder) / "site"
        cls.said = subprocess.run(
            [ROOT / "scripts/docs.sh", cls.site], capture_output=True, text=True, timeout=150
        )

    def test_it_is_built_without_a_warning_and_every_link_leads_somewhere(self) -> None:
        self.assertEqual(self.said.returncode, 0, self.said.stdout + self.said.stderr)
        self.assertNotIn("WARNING", self.said.stdout + self.said.stderr)
        self.assertRegex(self.said.stdout, r"\n?\d{3} pages, 0 problems\n$")
        for page in ("index.html", "docs/how_to/cookbook/webhooks.html", "api/index.html"):
            self.assertTrue((self.site / page).exists(), page)

    @unittest.skipIf(missing(), missing())
    def test_a_browser_finds_words_and_turns_it_dark(self) -> None:
        handler = functools.partial(QuietHandler, directory=str(self.site))
        with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            self.addCleanup(server.shutdown)
            with Browser() as page:
                page.open(f"http://127.0.0.1:{server.server_port}/docs/quickstart.html")
                page.type("#mkdocs-search-query", "webhooks")
                page.wait_text("#mkdocs-search-results", "Webhooks")
                color = "return getComputedStyle(document.body).backgroundColor"
                before = page.run(color)
                page.click("#theme")
                eventually(lambda: page.run(color) != before, "the colours change")
            server.shutdown()


class CheckTest(unittest.TestCase):
    def problems(self, page: str, **files: str) -> int:
        with tempfile.TemporaryDirectory() as folder:
            for name, text in {"index.html": page, **files}.items():
                Path(folder, name).write_text(text, encoding="utf-8")
            done = subprocess.run(
                [sys.executable, ROOT / "scripts/make_site.py", "check", folder],
                capture_output=True,
                text=True,
            )
        return int(done.stdout.split()[-2])

    def test_what_leads_nowhere_or_elsewhere_is_found(self) -> None:
        good = '<h1 id="a">A</h1><a href="#a">a</a><a href="https://other.example/">b</a>'
        self.assertEqual(self.problems(good), 0)
        for bad in (
            '<a href="nothing.html">',
            '<a href="#nothing">',
            '<script src="https://other.example/x.js"></script>',
            '<link rel="stylesheet" href="//other.example/x.css">',
            '<img src="http://other.example/x.png">',
        ):
            self.assertEqual(self.problems(good + bad), 1, bad)
        self.assertEqual(self.problems(good, **{"a.css": "b{background:url(//x.example/y)}"}), 1)
        self.assertEqual(self.problems(good, **{"a.js": 'fetch("https://x.example/y")'}), 1)

    def test_lists_are_laid_out_for_the_generator(self) -> None:
        page = (
            "Text:\n- one\n  more\n\n  ```sh\n  a\n  ```\n- two\n  - below\n\nEnd 3.\n4. no list\n"
        )
        self.assertEqual(
            make_site.laid_out(page),
            "Text:\n\n- one\n    more\n\n    ```sh\n    a\n    ```\n\n- two\n\n    - below\n\n"
            "End 3.\n4. no list\n",
        )

    def test_anchors_are_those_of_the_repository(self) -> None:
        self.assertEqual(make_site.slug("What `it` is: a, b", "-"), "what-it-is-a-b")


if __name__ == "__main__":
    unittest.main()
