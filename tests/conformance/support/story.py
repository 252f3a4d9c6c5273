"""A page that tells a story, done as it stands there: its configurations are files, its commands
run in one shell of a home of their own, and what they print is compared with what the page shows.

In a page: a block `yaml` is a configuration and `python` a program, which the test puts where the
text says; `sh` are commands; a block without a language, or `json`, is what the commands before it
print, where `…` stands for any text within a line, and alone for any lines."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Container, Mapping
from pathlib import Path
from typing import NoReturn

from .gateway import program
from .wait import eventually

COOKBOOK = Path(__file__).resolve().parents[3] / "docs/how_to/cookbook"
_FENCE = re.compile(r"^ *```(\w*)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
_GATEWAY = "127.0.0.1:42617"
_PATIENCE = 30.0


def matcher(shown: str, learn: Mapping[str, str]) -> re.Pattern[str]:
    """What fits an output as a page shows it; words to learn become groups."""
    lines, names = [], {word: f"learned{at}" for at, word in enumerate(learn)}
    for line in shown.rstrip("\n").split("\n"):
        if line.strip() == "…":
            lines.append(r"(?:[^\n]*\n)*?")
            continue
        text = r"[^\n]*?".join(re.escape(part) for part in line.split("…"))
        text = re.sub(r"(?:\\ )+", r"[ ]+", text)  # columns are as wide as what stands in them
        for word, name in names.items():
            if re.escape(word) in text:
                known = f"(?P={name})" if f"(?P<{name}>" in "".join(lines) else None
                group = known or f"(?P<{name}>{learn[word]})"
                text = text.replace(re.escape(word), group, 1)
        lines.append(text + r"[ ]*(?:\n|\Z)")
    return re.compile("".join(lines))


class Story:
    """A context manager; leaving it ends every process that the story has started, and fails if
    the page has blocks that were not used, unless a step has failed. CRAB_SHOW_STORY=1 prints what
    is seen, to write a page by."""

    def __init__(self, page: str) -> None:
        self.page = COOKBOOK / page
        text = self.page.read_text(encoding="utf-8")
        self.blocks = [(it[1], textwrap.dedent(it[2])) for it in _FENCE.finditer(text)]
        self.folder = Path(tempfile.mkdtemp(prefix="crab-story-"))
        self.words: dict[str, str] = {}  #: of the page, and what they are here
        self.at = self.count = 0
        self.failed = False
        for name in ("run", "work"):
            (self.folder / name).mkdir(mode=0o700)
        self.environment = {
            "HOME": str(self.folder),
            "PATH": f"{Path(program()).parent}:/usr/local/bin:/usr/bin:/bin",
            "XDG_RUNTIME_DIR": str(self.folder / "run"),
            "LANG": "C.UTF-8",
        }

    def __enter__(self) -> Story:
        self.shell = subprocess.Popen(
            ["bash", "--norc"],
            stdin=subprocess.PIPE,
            cwd=self.folder / "work",
            env=self.environment,
            text=True,
            start_new_session=True,
        )
        return self

    def __exit__(self, *_: object) -> None:
        group = self.shell.pid
        for sent in (signal.SIGTERM, signal.SIGKILL):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(group, sent)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.shell.wait(_PATIENCE)
            with contextlib.suppress(AssertionError):
                eventually(lambda: self._is_empty(group), "the story's processes end", _PATIENCE)
                break
        self.shell.stdin.close()
        shutil.rmtree(self.folder, ignore_errors=True)
        left = [block for block in self.blocks[self.at :] if block[0] != "text"]
        assert self.failed or not left, f"{self.page.name} goes on: {left[0]}"

    @staticmethod
    def _is_empty(group: int) -> bool:
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return True
        return False

    def here(self, text: str, besides: Container[str] = ()) -> str:
        """A text of the page with the addresses and ids that it has here."""
        for word, other in self.words.items():
            if word not in besides:
                text = text.replace(word, other)
        return text

    def _next(self, *languages: str) -> str:
        language, text = self.blocks[self.at]
        assert language in languages, f"{self.page.name}: {languages} was due, not {language}"
        self.at += 1
        return text

    def write(self, path: str, language: str = "yaml", **changes: str) -> Path:
        """The next block of that language as a file, below the home or in the working folder."""
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        text = self.here(self._next(language))
        for word, other in changes.items():
            assert word in text
            text = text.replace(word, other)
        file.write_text(text, encoding="utf-8")
        return file

    def configure(self, *, listen: str = _GATEWAY, path: str = ".config/crab/gateway.yaml") -> None:
        """The next block, a configuration that listens where the system wants it to."""
        file = self.write(path)
        text = file.read_text(encoding="utf-8")
        if listen in text:
            text = text.replace(listen, "127.0.0.1:0")
        else:
            assert "listen:" not in text
            text = f"listen: {{public: 127.0.0.1:0}}\n{text}"
        file.write_text(text, encoding="utf-8")

    def _send(self, command: str, behind: str = "") -> Path:
        self.count += 1
        out = self.folder / f"out.{self.count}"
        end = f"\n}} > {out} 2>&1 {behind}"
        done = "" if behind else f"\necho $? > {out}.code; mv {out}.code {out}.done"
        self.shell.stdin.write(f"{{ {command}{end}{done}\n")
        self.shell.stdin.flush()
        return out

    def _shown(self, learn: Mapping[str, str] | None) -> re.Pattern[str] | None:
        """What the page shows below the commands that were next."""
        if self.at == len(self.blocks) or self.blocks[self.at][0] not in ("", "json"):
            return None
        return matcher(self.here(self._next("", "json"), learn or ()), learn or {})

    def _learn(self, found: re.Match[str], learn: Mapping[str, str] | None) -> None:
        for at, word in enumerate(learn or {}):
            with contextlib.suppress(IndexError):
                self.words[word] = found[f"learned{at}"]

    def _fail(self, command: str, printed: str, shown: re.Pattern[str] | None) -> NoReturn:
        self.failed = True
        expected = shown.pattern if shown else "nothing that is shown"
        raise AssertionError(f"{self.page.name}: {command}\nprinted:\n{printed}\nfor:\n{expected}")

    def start(self, learn: Mapping[str, str] | None = None) -> Path:
        """The next commands, which stay; what they print begins, sooner or later, as the page
        shows it. The file that they print to."""
        command = self.here(self._next("sh"))
        shown = self._shown(learn)
        out = self._send(command, "&")

        def printed() -> str:
            return out.read_text(encoding="utf-8") if out.exists() else ""

        if shown:
            with contextlib.suppress(AssertionError):
                eventually(lambda: shown.search(printed()), "it is ready", _PATIENCE)
            found = shown.search(printed()) or self._fail(command, printed(), shown)
            self._learn(found, learn)
        return out

    def gateway(self, listen: str = _GATEWAY) -> None:
        """`crab gateway run`, and from now on its address in place of the page's."""
        self.words.pop(listen, None)
        self.start({listen: r"\S+"})

    def run(
        self, *, status: int = 0, until: bool = False, learn: Mapping[str, str] | None = None
    ) -> str:
        """The next commands and, if the page shows it, what they print; `until` has them run again
        until it is that. Words to `learn` stand for what these patterns find."""
        command = self.here(self._next("sh"))
        shown = self._shown(learn)
        printed = ""

        def fits() -> bool:
            nonlocal printed
            out = self._send(command)
            done = Path(f"{out}.done")
            eventually(done.exists, f"it ends: {command}\n{out}", 2 * _PATIENCE)
            printed = out.read_text(encoding="utf-8")
            if int(done.read_text()) != status:
                return False
            found = shown.fullmatch(printed) if shown else re.match("", printed)
            if found:
                self._learn(found, learn)
            return bool(found)

        good = fits()
        if not good and until:
            with contextlib.suppress(AssertionError):
                good = eventually(fits, "the output fits", _PATIENCE)
        if "CRAB_SHOW_STORY" in os.environ:
            print(f"$ {command}{printed}", file=sys.stderr)
        if not good:
            self._fail(command, printed, shown)
        return printed
