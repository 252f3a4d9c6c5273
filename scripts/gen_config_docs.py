#!/usr/bin/env python3
"""Make docs/reference/configuration.md from spec/config.schema.json.

usage: gen_config_docs.py [--check | --man FILE]
  --check      write nothing; exit 1 if the page is not what the schema gives
  --man FILE   write the manual page crab-gateway.yaml(5) instead
"""
import json
import os
import re
import sys
import textwrap
from datetime import datetime, timezone
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/reference/configuration.md"
MARK = (
    "Made by scripts/gen_config_docs.py from spec/config.schema.json: edit that file, not this one."
)
HEAD = f"""# Configuration

<!-- {MARK} -->

One YAML file: `--config FILE`, else `$XDG_CONFIG_HOME/crab/gateway.yaml`
(`~/.config/crab/gateway.yaml`), else `/etc/crab/gateway.yaml`, else the defaults below.
`crab gateway check` validates it and reports every problem with its line,
`crab gateway check --schema` prints the JSON Schema for editors. `SIGHUP` reloads the file;
connections stay.

A string may hold `${{NAME}}` or `${{env:NAME}}` (environment variable), `${{NAME:-default}}`,
and `${{file:path}}` (the content of a file, for secrets; relative paths start at the folder of
the configuration file). `$${{` stands for `${{`. Scalars are those of YAML 1.2: `yes` and `off`
are strings. Unknown keys are errors. Globs use `*` and `?`.
"""


def kind(schema: dict) -> str:
    words = schema.get("type", "any value")
    if words == "array":
        words = "list of " + (
            "mappings"
            if "properties" in schema["items"]
            else schema["items"].get("type", "value") + "s"
        )
    entry = schema.get("additionalProperties")
    if isinstance(entry, dict) and schema.get("default") == {}:
        words = "mapping of names to " + (
            "mappings" if "properties" in entry else entry["type"] + "s"
        )
    if "enum" in schema:
        words = ", ".join(f"`{choice}`" for choice in schema["enum"])
    low, high = schema.get("minimum"), schema.get("maximum")
    if "exclusiveMinimum" in schema:
        words += f", above {schema['exclusiveMinimum']}"
    if low is not None and high is not None:
        words += f", {low} to {high}"
    elif low is not None:
        words += f", at least {low}"
    return words


def default(schema: dict, required: bool) -> str:
    if required:
        return "required"
    return f"`{json.dumps(schema['default'])}`" if "default" in schema else ""


def rows(prefix: str, schema: dict) -> list:
    """One row per key; mappings inside go on with a longer prefix, lists of mappings with `[]`."""
    lines = []
    for name, property in schema["properties"].items():
        key = f"{prefix}.{name}" if prefix else name
        inner = property.get("items", {}) if property.get("type") == "array" else property
        entry = property.get("additionalProperties")
        if "properties" in property:
            lines += rows(key, property)
            continue
        lines.append(
            f"| `{key}` | {kind(property)} | "
            f"{default(property, name in schema.get('required', []))} | {property['description']} "
            f"|"
        )
        if "properties" in inner:
            lines += rows(key + "[]", inner)
        if isinstance(entry, dict) and "description" in entry:
            lines += rows(key + ".<name>", entry)
    return lines


def page(schema: dict) -> str:
    lines = [HEAD]
    for name, section in schema["properties"].items():
        inner = section.get("items", section)
        lines += [
            f"## {name}",
            "",
            section["description"],
            "",
            "| key | value | default | meaning |",
            "|---|---|---|---|",
        ]
        lines += rows(name + ("[]" if "items" in section else ""), inner) + [""]
    return "\n".join(lines)


def roff(text: str) -> str:
    """Text with code in backticks as roff has it, on lines that begin no request."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    text = re.sub(r"`([^`]+)`", r"\\fB\1\\fR", text)
    lines = textwrap.wrap(
        " ".join(text.split()), 78, break_long_words=False, break_on_hyphens=False
    )
    return "\n".join("\\&" + line if line[:1] in (".", "'") else line for line in lines)


def man_page(schema: dict) -> str:
    """crab-gateway.yaml(5), of the same rows as the page in Markdown."""
    version = (ROOT / "VERSION").read_text().split()[0]
    date = os.environ.get("SOURCE_DATE_EPOCH", "")  # of the sources, in builds to be reproduced
    date = date and datetime.fromtimestamp(int(date), timezone.utc).strftime("%Y-%m-%d")
    lines = [
        f'.TH CRAB\\-GATEWAY.YAML 5 "{date}" "crab {version}" "crab"',
        ".SH NAME",
        "crab\\-gateway.yaml \\- configuration of the crab gateway",
        ".SH DESCRIPTION",
    ]
    for paragraph in HEAD.split("\n\n")[2:]:
        lines += [".PP" if len(lines) > 4 else "", roff(paragraph)]
    for name, section in schema["properties"].items():
        inner = section.get("items", section)
        lines += [f".SH {roff(name).upper()}", roff(section["description"])]
        for row in rows(name + ("[]" if "items" in section else ""), inner):
            key, shape, usual, meaning = row.strip("|").split(" | ", 3)
            usual = usual.strip()
            if usual not in ("", "required"):
                usual = f"default {usual}"
            told = "; ".join(it for it in (shape.strip(), usual) if it)
            lines += [".TP", roff(key.strip()), roff(f"{meaning.strip()} ({told})")]
    lines += [".SH FILES", ".TP", ".I /etc/crab/gateway.yaml", "Of the system service."]
    lines += [".TP", ".I ~/.config/crab/gateway.yaml", "Of a person; comes first."]
    lines += [".SH SEE ALSO", ".BR crab (1),", ".BR crab\\-gateway\\-check (1)", ""]
    return "\n".join(line for line in lines if line) + "\n"


def main() -> int:
    if "--help" in sys.argv or "-h" in sys.argv:
        print(__doc__)
        return 0
    if "--man" in sys.argv:
        schema = json.loads((ROOT / "spec/config.schema.json").read_text())
        Path(sys.argv[sys.argv.index("--man") + 1]).write_text(man_page(schema))
        return 0
    text = page(json.loads((ROOT / "spec/config.schema.json").read_text()))
    if PAGE.exists() and PAGE.read_text() == text:
        return 0
    if "--check" in sys.argv:
        print("stale: docs/reference/configuration.md")
        return 1
    PAGE.write_text(text)
    print("wrote: docs/reference/configuration.md")
    return 0


if __name__ == "__main__":
    sys.exit(main())
