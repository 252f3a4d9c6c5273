#!/usr/bin/env python3
"""Check that no function has more than 60 lines or more than six parameters (ctest: functions).

usage: check_functions.py [ROOT]
  ROOT   the checkout to look at (default: the one this script is in)

Looked at: C++, and the lines of Python's functions, in the whole tree: in a checkout what git
knows, in an export all but build/ and node_modules/. Lines are counted from the one that opens the
body to the one that closes it (Python: from `def`); a lambda or a local class belongs to the
function around it. Parameters count where a function is defined. Files whose first line says
"Made by" are left alone.

A function that is clearer in one piece, or with all its parameters, says why, in the comment above
it or on its first line:
  // long: one table, and a row is a case
  // parameters: the callback's form is the library's
An exception without a reason, and one that nothing needs any more, is refused as well.
Prints one line per violation, exit status 1 if there is any.
"""
import ast
import bisect
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import check_columns

LINES = 60
PARAMETERS = 6
SKIPPED = "tests/fuzz/corpus/"

# What holds no code: numbers come first, for the quotes in 1'000 begin no character.
NO_CODE = re.compile(
    r"(?P<number>\b\d[\w']*)"
    r"|//[^\n]*|/\*.*?\*/"
    r'|\bR"(?P<mark>[^()\s\\]*)\(.*?\)(?P=mark)"'
    r'|"(?:\\.|[^"\\\n])*"'
    r"|'(?:\\.|[^'\\\n])*'"
    r"|^[ \t]*#(?:\\\n|[^\n])*",
    re.DOTALL | re.MULTILINE,
)
SCOPE = re.compile(r"(inline\s+)?(namespace|class|struct|union)\b|extern\s*$")
PREFIX = re.compile(r"\s*((public|private|protected)\s*:|\[\[[^]]*\]\])")
NO_NAME = set("noexcept decltype requires explicit alignas sizeof if while static_assert".split())
REASON = r"(?://|#)[/<]*[ \t]*{word}:[ \t]*(?P<why>[^\n]*)"
ENOUGH = 10  # characters: fewer are no reason


@dataclass
class Function:
    head: str  # what stands before the body, or before the `;` of a declaration
    start: int  # where the head begins, in characters from the file's beginning
    begin: int  # where the body begins; for a declaration, where it ends
    end: int
    is_definition: bool = True


def without_text(source: str) -> str:
    """The code of `source`, with comments, texts and directives as blanks of the same shape."""

    def blank(match: re.Match[str]) -> str:
        if match["number"]:
            return match[0]
        return re.sub(r"[^\n]", " ", match[0])

    return NO_CODE.sub(blank, source)


def end_of_group(code: str, begin: int) -> int:
    """Where the bracket at `begin` closes."""
    depth = 0
    for match in re.compile(r"[({\[]|[)}\]]").finditer(code, begin):
        depth += 1 if match[0] in "({[" else -1
        if depth == 0:
            return match.start()
    return len(code) - 1


def bare(head: str) -> str:
    """`head` without access specifiers, attributes and what follows `template`."""
    while match := PREFIX.match(head):
        head = head[match.end() :]
    head = head.strip()
    if head.startswith("template"):
        depth = 0
        for at, char in enumerate(head):
            depth += {"<": 1, ">": -1}.get(char, 0)
            if char == ">" and depth == 0:
                return bare(head[at + 1 :])
    return head


def parameter_list(head: str) -> tuple[int, int] | None:
    """Where the parentheses of the parameters begin and end, if this is a function's head."""
    at = 0
    while (at := head.find("(", at)) >= 0:
        end = end_of_group(head, at)
        name = re.search(r"(operator\s*(\(\)|[^\w\s]+)|[~\w]+|\])\s*$", head[:at])
        if name and name[1] not in NO_NAME and not head[:at].rstrip().endswith("operator"):
            return at, end
        at = end + 1
    return None


def count_parameters(text: str) -> int:
    """How many parameters `text` has, which stood between parentheses."""
    depth = 0
    count = 1 if text.strip() not in ("", "void") else 0
    for at, char in enumerate(text):
        if char in "({[<":
            depth += 1
        elif char in ")}]" or (char == ">" and text[at - 1] not in "-="):
            depth -= 1
        elif char == "," and depth == 0:
            count += 1
    return count


def is_body(head: str) -> bool:
    """Whether the brace after `head` opens a function's body, and no value in braces."""
    found = parameter_list(head)
    if not found:
        return False
    rest = head[found[1] + 1 :].replace("::", "")
    return ":" not in rest or rest.rstrip().endswith((")", "}"))


def is_scope(head: str) -> bool:
    """Whether the brace after `head` opens a namespace, a class or `extern "C"`."""
    if not SCOPE.match(head):
        return False
    while (shorter := re.sub(r"<[^<>]*>", "", head)) != head:
        head = shorter
    return not parameter_list(head)  # `struct flock whole_file()` is a function


def functions(code: str) -> Iterator[Function]:
    """The functions at the level of namespaces and classes: defined or declared."""
    at = start = 0
    step = re.compile(r"[({;}]")
    while match := step.search(code, at):
        at = match.start()
        head = code[start:at]
        if match[0] == "(":
            at = end_of_group(code, at) + 1
            continue
        if match[0] == "{" and not is_scope(bare(head)):
            end = end_of_group(code, at)
            if is_body(head):
                yield Function(head, start, at, end)
                start = end + 1
            at = end + 1
            continue
        if match[0] == ";":
            yield Function(head, start, at, at, is_definition=False)
        at += 1
        start = at


def lambdas(code: str) -> Iterator[Function]:
    for match in re.finditer(r"[\[,&=\w]\]\s*\(", code):
        end = end_of_group(code, match.end() - 1)
        head = "lambda" + code[match.end() - 1 : end + 1]
        yield Function(head, match.start(), end, end)


class Cpp:
    """One C++ file and what is wrong with it."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.lines = source.splitlines()
        self.starts = [0] + [match.end() for match in re.finditer("\n", source)]
        self.used: set[int] = set()

    def line_of(self, position: int) -> int:
        """Counted from one."""
        return bisect.bisect_right(self.starts, position)

    def reason(self, function: Function, word: str) -> str | None:
        """What the exception `word` says that belongs to `function`; None: there is none."""
        first = self.line_of(function.start + len(function.head) - len(function.head.lstrip()))
        last = self.line_of(function.begin)
        while first > 1 and self.lines[first - 2].lstrip().startswith("//"):
            first -= 1
        for number in range(first, last + 1):
            if match := re.search(REASON.format(word=word), self.lines[number - 1]):
                self.used.add(number)
                return match["why"].strip()
        return None

    def judge(self, function: Function, word: str, fault: str) -> Iterator[tuple[int, str]]:
        """`fault` unless there is a reason for it."""
        why = self.reason(function, word)
        if why is None:
            yield self.line_of(function.begin), fault
        elif len(why) < ENOUGH:
            yield self.line_of(function.begin), f"`{word}:` gives no reason; {fault}"

    def problems(self) -> Iterator[tuple[int, str]]:
        code = without_text(self.source)
        for function in [*functions(code), *lambdas(code)]:
            lines = self.line_of(function.end) - self.line_of(function.begin) + 1
            if lines > LINES:
                yield from self.judge(
                    function, "long", f"a function of {lines} lines, and {LINES} are the most"
                )
            found = parameter_list(function.head)
            if not found or not function.is_definition:
                continue  # what only declares is judged where it is defined
            count = count_parameters(function.head[found[0] + 1 : found[1]])
            if count > PARAMETERS:
                yield from self.judge(
                    function, "parameters", f"{count} parameters, and {PARAMETERS} are the most"
                )
        for number, line in enumerate(self.lines, 1):
            if number not in self.used and re.search(r"//[/<]*[ \t]*(long|parameters):", line):
                yield number, "an exception that no function here needs"


def python_problems(source: str) -> Iterator[tuple[int, str]]:
    lines = source.splitlines()
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        count = (node.end_lineno or node.lineno) - node.lineno + 1
        above = lines[max(0, node.lineno - 2)] + "\n" + lines[node.lineno - 1]
        match = re.search(REASON.format(word="long"), above)
        if count > LINES and not (match and len(match["why"].strip()) >= ENOUGH):
            yield node.lineno, f"a function of {count} lines, and {LINES} are the most"


def problems(ending: str, source: str) -> list[tuple[int, str]]:
    """Line and text of each violation in a file with that ending."""
    if "Made by" in source.split("\n", 1)[0]:
        return []
    if ending == ".py":
        return sorted(python_problems(source))
    return sorted(set(Cpp(source).problems()))


def language(path: Path) -> str:
    """The ending of a file of C++ or Python, which a script's first line may say; else nothing."""
    if path.suffix in (".cpp", ".hpp", ".py"):
        return path.suffix
    if path.suffix:
        return ""
    with path.open("rb") as file:
        first = file.readline(100)
    return ".py" if first.startswith(b"#!") and b"python" in first else ""


def files(root: Path) -> Iterator[tuple[Path, str]]:
    """Each file to look at, and its language()."""
    for name in check_columns.files(root):
        path = root / name
        if name.startswith(SKIPPED) or path.is_symlink():
            continue
        if ending := language(path):
            yield path, ending


def main(words: list[str]) -> int:
    if "-h" in words or "--help" in words:
        print(__doc__)
        return 0
    root = Path(words[0]) if words else Path(__file__).resolve().parent.parent
    count = looked_at = 0
    for path, ending in files(root):
        looked_at += 1
        for line, problem in problems(ending, path.read_text(encoding="utf-8")):
            print(f"{path.relative_to(root)}:{line}: {problem}")
            count += 1
    print(f"{count} violations in {looked_at} files", file=sys.stderr)
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
