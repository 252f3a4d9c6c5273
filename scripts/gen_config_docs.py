#!/usr/bin/env python3
"""Make docs/reference/configuration.md from spec/config.schema.json.

usage: gen_config_docs.py [--check]
  --check   write nothing; exit 1 if the page is not what the schema gives
"""
import json
import sys
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


def main() -> int:
    if "--help" in sys.argv or "-h" in sys.argv:
        print(__doc__)
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
