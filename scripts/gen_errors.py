#!/usr/bin/env python3
"""Make src/base/error_code.{hpp,cpp}, src/base/error_kind.{hpp,cpp},
clients/typescript/src/error-codes.ts, clients/python/src/crab/error_codes.py and
docs/reference/errors.md from spec/errors.json.

usage: gen_errors.py [--check]
  --check   write nothing; exit 1 and name the files that are not what spec/errors.json gives
"""
import json
import sys
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MARK = "Made by scripts/gen_errors.py from spec/errors.json: edit that file, not this one."
PROTOCOLS = [
    ("http", "HTTP"),
    ("grpc", "gRPC (sw4rm)"),
    ("rtp", "Remote Tool Protocol"),
    ("cetp", "CETP"),
    ("mcp", "MCP"),
]


def quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=True)


def literal(text: str, indent: str) -> list:
    """The text as string literals that stand one below the other, within 100 columns."""
    parts = textwrap.wrap(text, 94 - len(indent), drop_whitespace=False, break_on_hyphens=False)
    return [indent + quoted(part) for part in parts]


def header(codes: list) -> str:
    lines = [
        f"// {MARK}",
        "// clang-format off",
        "#pragma once",
        "",
        "#include <cstdint>",
        "#include <optional>",
        "#include <span>",
        "#include <string_view>",
        "",
        "namespace crab {",
        "",
        "/// What can go wrong; every protocol maps each code to its own form.",
        "enum class ErrorCode : std::uint8_t {",
    ]
    for code in codes:
        lines += textwrap.wrap(
            code["meaning"], 100, initial_indent="    /// ", subsequent_indent="    /// "
        )
        lines.append(f"    {code['name']},")
    lines += [
        "};",
        "",
        "/// Every code, in the order of spec/errors.json.",
        "std::span<const ErrorCode> all_error_codes();",
        "/// The code's token as people and logs see it, such as `INVALID_ARGS`.",
        "std::string_view token_of(ErrorCode code);",
        "/// What to do next, one sentence; never empty.",
        "std::string_view next_step(ErrorCode code);",
        "/// Whether a call that ended so may succeed if repeated unchanged; the pipeline still "
        "asks",
        "/// whether that is safe.",
        "bool is_retryable(ErrorCode code);",
        "/// The code with this token; nothing for any other text.",
        "std::optional<ErrorCode> find_error_code(std::string_view token);",
        "",
        "}  // namespace crab",
        "",
    ]
    return "\n".join(lines)


def source(codes: list) -> str:
    lines = [
        f"// {MARK}",
        "// clang-format off",
        '#include "base/error_code.hpp"',
        "",
        "#include <array>",
        "",
        "namespace crab {",
        "namespace {",
        "",
        "constexpr std::array kAll{",
    ]
    lines += [f"    ErrorCode::{c['name']}," for c in codes] + [
        "};",
        "",
        "}  // namespace",
        "",
        "std::span<const ErrorCode> all_error_codes() { return kAll; }",
        "",
    ]
    for name, field in (("token_of", "token"), ("next_step", "next")):
        lines += [f"std::string_view {name}(ErrorCode code) {{", "    switch (code) {"]
        for c in codes:
            line = f"        case ErrorCode::{c['name']}: return {quoted(c[field])};"
            if len(line) > 100:
                parts = literal(c[field], " " * 16)
                line = (
                    f"        case ErrorCode::{c['name']}:\n            return\n"
                    + "\n".join(parts)
                    + ";"
                )
            lines.append(line)
        lines += ["    }", "    return {};", "}", ""]
    lines += ["bool is_retryable(ErrorCode code) {", "    switch (code) {"]
    for value in (True, False):
        lines += [f"        case ErrorCode::{c['name']}:" for c in codes if c["retryable"] is value]
        lines.append(f"            return {'true' if value else 'false'};")
    lines += [
        "    }",
        "    return false;",
        "}",
        "",
        "std::optional<ErrorCode> find_error_code(std::string_view token) {",
        "    for (const ErrorCode code : kAll) {",
        "        if (token_of(code) == token) return code;",
        "    }",
        "    return std::nullopt;",
        "}",
        "",
        "}  // namespace crab",
        "",
    ]
    return "\n".join(lines)


def kind_header(kinds: list) -> str:
    lines = [
        f"// {MARK}",
        "// clang-format off",
        "#pragma once",
        "",
        '#include "base/error_code.hpp"',
        "",
        "#include <cstdint>",
        "",
        "namespace crab {",
        "",
        "/// The few cases that most code tells apart when something fails. What gives each code "
        "a form of",
        "/// its own switches over ErrorCode instead.",
        "enum class ErrorKind : std::uint8_t {",
    ]
    for kind in kinds:
        lines += [f"    /// {kind['meaning']}", f"    {kind['name']},"]
    lines += ["};", "", "ErrorKind kind_of(ErrorCode code);", "", "}  // namespace crab", ""]
    return "\n".join(lines)


def kind_source(kinds: list, codes: list) -> str:
    lines = [
        f"// {MARK}",
        "// clang-format off",
        '#include "base/error_kind.hpp"',
        "",
        "namespace crab {",
        "",
        "ErrorKind kind_of(ErrorCode code) {",
        "    switch (code) {",
    ]
    for kind in kinds:
        lines += [
            f"        case ErrorCode::{c['name']}:" for c in codes if c["kind"] == kind["name"]
        ]
        lines.append(f"            return ErrorKind::{kind['name']};")
    lines += ["    }", "    return ErrorKind::kFailed;", "}", "", "}  // namespace crab", ""]
    return "\n".join(lines)


def typescript(codes: list) -> str:
    lines = [
        f"// {MARK}",
        "",
        "/** Every error code, in the order of spec/errors.json. */",
        "export const errorCodes = [",
    ]
    lines += [f"  {quoted(c['token'])}," for c in codes]
    lines += [
        "] as const;",
        "",
        "/** What can go wrong; docs/reference/errors.md says what each means. */",
        "export type ErrorCode = (typeof errorCodes)[number];",
        "",
    ]
    return "\n".join(lines)


def page(codes: list) -> str:
    lines = [
        "# Error codes",
        "",
        f"<!-- {MARK} -->",
        "",
        "Every failure has one of these codes, whichever protocol carries it. `retry` says "
        "whether an unchanged repeat may",
        "succeed; whether it is also *safe* depends on the tool, and the gateway decides that for "
        "its own retries.",
        "",
        "| code | meaning | what to do | retry |",
        "|---|---|---|---|",
    ]
    lines += [
        f"| `{c['token']}` | {c['meaning']} | {c['next']} | {'yes' if c['retryable'] else 'no'} |"
        for c in codes
    ]
    lines += [
        "",
        "## Its form in every protocol",
        "",
        "ClawSeed's `tool_error` is text and carries `CODE: message` with the code of the first "
        "column.",
        "",
        "| code | " + " | ".join(title for _, title in PROTOCOLS) + " |",
        "|---" * (len(PROTOCOLS) + 1) + "|",
    ]
    lines += [
        f"| `{c['token']}` | " + " | ".join(str(c[key]) for key, _ in PROTOCOLS) + " |"
        for c in codes
    ]
    return "\n".join(lines + [""])


def python(codes: list) -> str:
    lines = [f"# {MARK}", '"""Every error code; docs/reference/errors.md says what each means."""']
    lines += ["", "ERROR_CODES = ("]
    lines += [f"    {quoted(code['token'])}," for code in codes]
    lines += [")", ""]
    return "\n".join(lines)


def main() -> int:
    if "--help" in sys.argv or "-h" in sys.argv:
        print(__doc__)
        return 0
    spec = json.loads((ROOT / "spec/errors.json").read_text())
    codes, kinds = spec["codes"], spec["kinds"]
    stale = []
    for path, text in (
        ("src/base/error_code.hpp", header(codes)),
        ("src/base/error_code.cpp", source(codes)),
        ("src/base/error_kind.hpp", kind_header(kinds)),
        ("src/base/error_kind.cpp", kind_source(kinds, codes)),
        ("clients/typescript/src/error-codes.ts", typescript(codes)),
        ("clients/python/src/crab/error_codes.py", python(codes)),
        ("docs/reference/errors.md", page(codes)),
    ):
        target = ROOT / path
        if target.exists() and target.read_text() == text:
            continue
        stale.append(path)
        if "--check" not in sys.argv:
            target.write_text(text)
    if stale:
        print(("stale: " if "--check" in sys.argv else "wrote: ") + ", ".join(stale))
    return 1 if stale and "--check" in sys.argv else 0


if __name__ == "__main__":
    sys.exit(main())
