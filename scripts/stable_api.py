#!/usr/bin/env python3
"""Hold the interfaces that are promised (docs/reference/stability.md) to spec/stable/*.txt.

usage: stable_api.py [--write [--breaking]] [--complete] [--build DIR] [PART...]
  PART          command_line config errors headers http metrics python typescript (default: all)
  --write       record what was added; refuses while something promised is gone
  --breaking    with --write: record that too
  --complete    fail for what was added and is not recorded, as a release needs it
  --build DIR   where the TypeScript package is built (default: build/dev)

Each file has one fact a line. A fact that is gone is a break. Facts that begin with `must` are what
users have to give: there a new one is a break, and one that is gone is not.
"""
from __future__ import annotations

import argparse
import ast
import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
RECORDED = ROOT / "spec/stable"
Facts = set[str]


def breaks(recorded: Iterable[str], now: Iterable[str]) -> list[str]:
    """What users of the recorded facts would notice: facts that are gone, new demands of what was
    there before."""
    before, after = set(recorded), set(now)
    gone = [f"gone: {fact}" for fact in sorted(before - after) if not fact.startswith("must ")]

    def is_known(demand: str) -> bool:
        """Of whoever demands it; what is new may demand what it likes."""
        words = demand.removeprefix("must ")
        owner = words.rsplit(" ", 2)[0] if " " in words else words.rpartition(".")[0]
        return any(fact == owner or fact.startswith((f"{owner} ", f"{owner}.")) for fact in before)

    demands = {fact for fact in after - before if fact.startswith("must ")}
    return gone + [f"new: {fact}" for fact in sorted(demands) if is_known(fact)]


def recorded(part: str) -> Facts:
    file = RECORDED / f"{part}.txt"
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    return {line for line in lines if line and not line.startswith("#")}


def record(part: str, facts: Facts) -> None:
    head = "# Made by scripts/stable_api.py; docs/reference/stability.md says what it promises.\n"
    text = head + "".join(f"{fact}\n" for fact in sorted(facts))
    (RECORDED / f"{part}.txt").write_text(text, encoding="utf-8")


# The command line, the list of errors and the metrics: from the pages that tests hold to the code.


def command_line(_: Path) -> Facts:
    page = (ROOT / "docs/reference/cli.md").read_text(encoding="utf-8")
    facts = {
        f"exit code {code}: {what}"
        for code, what in re.findall(r"^\| (\d+) \| (.+) \|$", page, re.M)
    }
    for section in re.split(r"^## crab ", page, flags=re.M)[1:]:
        name, _, text = section.partition("\n")
        facts.add(f"crab {name}")
        places = 0
        for row in re.findall(r"^\| `([^`]+)` \|", text, re.M):
            if not row.startswith("-"):
                places += 1
                facts.add(f"crab {name} argument {places}")
                if not row.startswith("["):
                    facts.add(f"must crab {name} argument {places}")
                continue
            words = row.replace(",", "").split()
            value = " VALUE" if not words[-1].startswith("-") else ""
            facts |= {f"crab {name} {word}{value}" for word in words if word.startswith("-")}
        shared = re.search(r"^\[Shared options\].*", text, re.M)
        for option in re.findall(r"`([^`]+)`", shared[0] if shared else ""):
            words, _, forms = option.partition(" text|")
            facts |= {f"crab {name} {word}" for word in words.replace(",", "").split()}
            facts |= {f"crab {name} -o {form}" for form in f"text|{forms}".split("|") if forms}
    return facts


def errors(_: Path) -> Facts:
    codes = json.loads((ROOT / "spec/errors.json").read_text(encoding="utf-8"))["codes"]
    words = ("name", "meaning", "next", "token")
    return {
        f"{entry['token']} {key} {json.dumps(value)}"
        for entry in codes
        for key, value in entry.items()
        if key not in words
    }


def metrics(_: Path) -> Facts:
    page = (ROOT / "docs/operations/running_the_gateway.md").read_text(encoding="utf-8")
    facts = set()
    for names, kinds in re.findall(
        r"^\| ((?:`(?:crab|process)_.*?`,? ?)+) \| ([^|]+) \|", page, re.M
    ):
        for name, labels in re.findall(r"`(\w+)(?:\{([\w,]+)\})?`", names):
            kind = (
                kinds.strip()
                if "," not in kinds
                else "counter"
                if name.endswith("_total")
                else "gauge"
            )
            facts |= {f"{name} {kind}"} | {f"{name} label {it}" for it in labels.split(",") if it}
    return facts


# JSON Schemas: the configuration, and bodies over HTTP.


def kinds_of(schema: dict[str, Any]) -> str:
    if "const" in schema:
        return json.dumps(schema["const"])
    kind = schema.get("type", "any")
    return "|".join(sorted(kind)) if isinstance(kind, list) else kind


def schema_facts(schema: Any, where: str, given: bool, whole: dict[str, Any]) -> Iterator[str]:
    """Facts of a schema: `given` is whether users write what it describes, and not read it."""
    if not isinstance(schema, dict):
        return
    reference = schema.get("$ref", "")
    if reference.startswith("#/$defs/"):
        schema = {**whole["$defs"][reference.rpartition("/")[2]], **schema}
    yield f"{where} {kinds_of(schema)}"
    if "default" in schema and not isinstance(schema["default"], (dict, list)):
        yield f"{where} default {json.dumps(schema['default'])}"
    for choice in schema.get("enum", []):
        yield f"{where} may be {json.dumps(choice)}"
    for name in schema.get("required", []):
        yield f"must {where}.{name}" if given else f"{where}.{name} always"
    for name, part in schema.get("properties", {}).items():
        yield from schema_facts(part, f"{where}.{name}", given, whole)
    for key, sign in (("items", "[]"), ("additionalProperties", ".*")):
        if isinstance(schema.get(key), dict):
            yield from schema_facts(schema[key], where + sign, given, whole)
    for key in ("oneOf", "anyOf", "allOf"):
        for part in schema.get(key, []):
            yield from schema_facts(part, where, given, whole)


def config(_: Path) -> Facts:
    schema = json.loads((ROOT / "spec/config.schema.json").read_text(encoding="utf-8"))
    return {
        fact
        for name, part in schema["properties"].items()
        for fact in schema_facts(part, name, True, schema)
    }


def operation_facts(
    listener: str, path: str, method: str, operation: dict[str, Any]
) -> Iterator[str]:
    name = f"{listener} {method.upper()} {path}"
    yield f"{name} who {operation['x-who']}"
    for parameter in operation.get("parameters", []):
        yield f"{name} {parameter['in']} {parameter['name']}"
        if parameter.get("required") and parameter["in"] != "path":
            yield f"must {name} {parameter['in']} {parameter['name']}"
    for media, content in operation.get("requestBody", {}).get("content", {}).items():
        yield f"{name} takes {media} {content.get('schema', {}).get('$ref', '').rpartition('/')[2]}"
    for status, response in operation["responses"].items():
        for media, content in response.get("content", {}).items():
            schema = content.get("schema", {}).get("$ref", "").rpartition("/")[2]
            yield f"{name} answers {status} {media} {schema}"
        if not response.get("content"):
            yield f"{name} answers {status}"


def http(_: Path) -> Facts:
    facts: Facts = set()
    for listener in ("", ".admin", ".peers"):
        document = json.loads((ROOT / f"spec/openapi{listener}.json").read_text(encoding="utf-8"))
        taken = set()
        for path, methods in document["paths"].items():
            for method, operation in methods.items():
                facts |= set(operation_facts(listener[1:] or "public", path, method, operation))
                taken |= set(
                    re.findall(
                        r"#/components/schemas/(\w+)", json.dumps(operation.get("requestBody"))
                    )
                )
        for name, schema in document["components"]["schemas"].items():
            facts |= set(schema_facts(schema, f"body {name}", name in taken, document))
    return facts


# The three libraries.

LITERAL = r'R"\((?:.*?)\)"|"(?:[^"\\]|\\.)*"'


def tokens_of(header: str) -> list[str]:
    comment = r"//[^\n]*|/\*.*?\*/"
    text = re.sub(f"{LITERAL}|({comment})", lambda it: "" if it[1] else it[0], header, flags=re.S)
    text = re.sub(r"^\s*#.*", "", text, flags=re.M)
    raw = re.compile(LITERAL + r"|[{};]|(?:public|private|protected):(?!:)", re.S)
    found, at = [], 0
    for match in raw.finditer(text):
        if match[0].startswith(('"', "R")):
            continue
        found += [text[at : match.start()], match[0]]
        at = match.end()
    return [" ".join(it.split()) for it in found if it.strip()]


class HeaderFacts:
    """What a header declares for its users, by a reading that knows the form of ours: no macros, no
    templates that are specialized."""

    def __init__(self) -> None:
        self.facts: Facts = set()

    def read(self, header: str) -> None:
        self.tokens, self.at = tokens_of(header), 0
        while self.at < len(self.tokens):
            self.scope("", "")

    def skip(self) -> str:
        """What stands in braces, from behind the one that opens."""
        depth, words = 1, []
        while depth:
            word = self.tokens[self.at]
            depth += {"{": 1, "}": -1}.get(word, 0)
            self.at += 1
            words += [word] if depth else []
        return " ".join(words)

    def scope(self, name: str, kind: str) -> None:
        """Declarations up to the brace that closes."""
        hidden, said, members = kind == "class", "", 0
        while self.at < len(self.tokens):
            word = self.tokens[self.at]
            self.at += 1
            if word == "}":
                return
            if word in ("public:", "private:", "protected:"):
                hidden = word != "public:"
            elif word == ";":
                plain = re.sub(f"{LITERAL}|std::function<.*>|{{.*", " ", said)
                data = said and kind and "(" not in plain and not said.startswith("using ")
                place = f"[{members}] " if data and not hidden else ""
                members += bool(place)
                if said and not hidden and not re.fullmatch(r"(class|struct) \w+", said):
                    self.facts.add(f"{name}{' ' if name else ''}{place}{said}")
                said = ""
            elif word == "{":
                said = self.braces(name, said, hidden)
            else:
                said = f"{said} {word}".strip()

    def braces(self, name: str, said: str, hidden: bool) -> str:
        opened = re.fullmatch(r"(enum class|namespace|class|struct) ([\w:]+)(.*)", said)
        if opened and "(" not in said:
            inner = f"{name}::{opened[2]}" if name else opened[2]
            if opened[1] == "enum class" or hidden:
                for entry in self.skip().split(",") if not hidden else []:
                    self.facts |= {f"{inner}::{entry.strip()}"} if entry.strip() else set()
                if hidden:
                    self.skip()
            else:
                if opened[1] != "namespace":
                    self.facts.add(f"{opened[1]} {inner}{opened[3]}")
                self.scope(inner, "" if opened[1] == "namespace" else opened[1])
            return ""
        body = self.skip()
        if re.search(r"\)( const| noexcept| override| &&?)*$", said):
            declared = re.sub(r"\) : .*", ")", said)
            self.facts |= {f"{name} {declared}"} if not hidden else set()
            return ""
        return f"{said}{{{body}}}"


def headers(_: Path) -> Facts:
    reader = HeaderFacts()
    for header in sorted((ROOT / "include/crab").glob("*.hpp")):
        reader.read(header.read_text(encoding="utf-8"))
        reader.facts.add(f"header crab/{header.name}")
    return reader.facts


def parameter_facts(name: str, arguments: ast.arguments) -> Iterator[str]:
    places = arguments.posonlyargs + arguments.args
    defaults: list[Any] = [None] * (len(places) - len(arguments.defaults)) + arguments.defaults
    for place, (one, default) in enumerate(zip(places, defaults, strict=True)):
        if one.arg in ("self", "cls"):
            continue
        yield f"{name} parameter {place} {one.arg}"
        if default is None:
            yield f"must {name} parameter {one.arg}"
    for one, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        yield f"{name} keyword {one.arg}"
        if default is None:
            yield f"must {name} keyword {one.arg}"


def definition_facts(name: str, node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        kind = "async def" if isinstance(node, ast.AsyncFunctionDef) else "def"
        marks = [ast.unparse(it) for it in node.decorator_list]
        if not any(mark.endswith("overload") for mark in marks):
            is_property = any("property" in mark for mark in marks)
            yield f"{name} {'property' if is_property else kind}"
            yield from parameter_facts(name, node.args)
    elif isinstance(node, ast.ClassDef):
        yield f"{name} class"
        for base in node.bases:
            yield f"{name} is a {ast.unparse(base)}"
        for part in node.body:
            if isinstance(part, ast.AnnAssign):
                field = ast.unparse(part.target)
                if not field.startswith("_"):
                    yield f"{name}.{field} field"
            elif isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef):
                if not part.name.startswith("_") or part.name == "__init__":
                    yield from definition_facts(f"{name}.{part.name}", part)


def python(_: Path) -> Facts:
    folder = ROOT / "clients/python/src/crab"
    start = ast.parse((folder / "__init__.py").read_text(encoding="utf-8"))
    facts: Facts = set()
    for node in start.body:
        if not isinstance(node, ast.ImportFrom):
            continue
        module = ast.parse((folder / f"{node.module}.py").read_text(encoding="utf-8"))
        for wanted in (alias.name for alias in node.names):
            facts.add(f"crab.{wanted}")
            for part in module.body:
                if getattr(part, "name", "") == wanted:
                    facts |= set(definition_facts(f"crab.{wanted}", part))
    return facts


def split_top(text: str, sign: str) -> list[str]:
    """Parts of a text at signs that stand in no bracket."""
    parts, depth = [""], 0
    for at, letter in enumerate(text):
        arrow = letter == ">" and text[at - 1] == "="
        depth += letter in "{([<"
        depth -= letter in "})]>" and not arrow
        if letter == sign and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [" ".join(it.split()) for it in parts if it.strip()]


def exported(file: Path, folder: Path) -> Iterator[tuple[str, str]]:
    """Name and declaration of what a declaration file exports, followed to where it is declared."""
    text = re.sub(r"/\*.*?\*/|//[^\n]*", "", file.read_text(encoding="utf-8"), flags=re.S)
    for names, source in re.findall(r'export \{([^}]*)\} from "([^"]+)"', text):
        declared = dict(exported((file.parent / source).with_suffix(".d.ts").resolve(), folder))
        for name in names.replace("type ", "").split(","):
            if name.strip():
                yield name.strip(), declared[name.strip()]
    kinds = "class|interface|type|function|const|enum"
    start = rf"^export (?:declare )?(?:abstract )?((?:{kinds}) (\w+).*?)"
    end = r"(?=^export |^declare |^type |^interface |\Z)"
    for declaration, name in re.findall(start + end, text, re.M | re.S):
        yield name, declaration


def typescript(build: Path) -> Facts:
    folder = (build / "web/package").resolve()
    facts: Facts = set()
    described = json.loads((ROOT / "clients/typescript/package.json").read_text(encoding="utf-8"))
    for path in described["exports"].values():
        entry = path["types"].removeprefix("./dist/")
        package = f"@crab/device/{entry}".removesuffix("/index.d.ts")
        for name, declaration in exported(folder / entry, folder):
            kind = declaration.split()[0]
            head, brace, body = declaration.partition("{")
            if kind in ("class", "interface") and brace:
                facts.add(f"{package} {' '.join(head.split())}")
                for member in split_top(body.rstrip().removesuffix("}"), ";"):
                    if not re.match(r"(private|#private|protected)", member):
                        facts.add(f"{package} {name}.{member}")
            else:
                facts.add(f"{package} {' '.join(declaration.split()).removesuffix(';')}")
    return facts


PARTS: dict[str, Callable[[Path], Facts]] = {
    part.__name__: part
    for part in (command_line, config, errors, headers, http, metrics, python, typescript)
}


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for flag in ("--write", "--breaking", "--complete"):
        parser.add_argument(flag, action="store_true")
    parser.add_argument("--build", type=Path, default=ROOT / "build/dev")
    parser.add_argument("parts", nargs="*", choices=[[], *PARTS], metavar="PART")
    options = parser.parse_args()
    failed = False
    for part in options.parts or PARTS:
        before, now = recorded(part), PARTS[part](options.build)
        broken, added = breaks(before, now), sorted(now - before)
        for line in broken:
            print(f"{part}: {line}")
        if options.write and (options.breaking or not broken):
            record(part, now)
            continue
        failed |= bool(broken)
        if added and (options.complete or options.write):
            print(f"{part}: {len(added)} facts are not recorded, such as: {added[0]}")
            failed |= options.complete
    if failed:
        print("docs/reference/stability.md says what may change, and how.")
    return failed


if __name__ == "__main__":
    sys.exit(main())
