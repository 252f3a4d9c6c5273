#!/usr/bin/env python3
"""Make spec/openapi*.json from the route tables, and docs/reference/http.md from these.

usage: gen_http_docs.py [--check] [--build DIR]
  --check       write nothing; exit 1 if the page is not what the documents give (that the documents
                are what the route tables give, ctest ApiDocumentTest says)
  --build DIR   where gateway_test is built (default: build/dev)
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/reference/http.md"
DOCUMENTS = ("openapi.json", "openapi.admin.json", "openapi.peers.json")
MARK = (
    "Made by scripts/gen_http_docs.py from spec/openapi*.json, which it makes from the route "
    "tables: edit the declarations of the routes."
)
HEAD = f"""# HTTP

<!-- {MARK} -->

All routes of a gateway, one table per listener. The same as OpenAPI 3.1:
[public](../../spec/openapi.json), [admin socket](../../spec/openapi.admin.json),
[peer listener](../../spec/openapi.peers.json); a running gateway answers `GET /openapi.json` on
each of them. Schemas of bodies are in [spec/http](../../spec/http). A tool host serves `/healthz`
and the three routes below `/v1/tools`.

- **who**: *anyone* and *guest* need no credential, for guests Host and Origin are checked;
  *proven* callers have one; a *session* is that of a browser which is signed in to the console: its
  cookie and the header `Crab-Console-Key`; *metrics* is for those who may read them, and for all
  others there is no such path.
- **body**: the largest body that is taken, where there is one; beyond it 413.
- **answers**: the refusals that stand in every row are left out: 404 for a path that there is not,
  405 with `Allow` for another method, 431 and 400 for a head that cannot be read, 429 when too much
  of a caller's is being received, 500. A refusal is `{{"error":"…","code":"…"}}`, in the form that
  the route's protocol has.
- OPTIONS answers 204 with `Allow` on every path, and CORS fields for an origin of
  `listen.allowed_origins`. No answer names `*` as an origin or allows credentials of browsers.
"""


def written(build: Path) -> dict[str, dict]:
    """The documents of the route tables, as a test of the gateway writes them."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            [build / "src/gateway/gateway_test", "--gtest_filter=ApiDocumentTest.TheDocuments*"],
            check=True,
            env={**os.environ, "CRAB_WRITE_API_DOCUMENTS": folder},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        return {name: json.loads(Path(folder, name).read_text()) for name in DOCUMENTS}


def size(count: int) -> str:
    for unit, name in ((1 << 20, "MiB"), (1 << 10, "KiB")):
        if count >= unit and count % unit == 0:
            return f"{count // unit} {name}"
    return f"{count} bytes"


def answer(status: str, response: dict) -> str:
    """`200 tool_list`, or the media type where no schema is named."""
    words = []
    for media, content in response.get("content", {}).items():
        name = content.get("schema", {}).get("$ref", "").rpartition("/")[2]
        words.append(f"`{media}`" if media != "application/json" else name)
    return f"{status} {', '.join(words)}".strip()


def row(path: str, method: str, operation: dict) -> str:
    methods = method.upper() + (", HEAD" if operation.get("x-head") else "")
    responses = operation["responses"]
    good = [answer(status, it) for status, it in responses.items() if status < "400"]
    refused = [status for status in responses if status >= "400"]
    answers = "; ".join(good) + (f"; {', '.join(refused)}" if refused else "")
    body = operation.get("requestBody")
    who = operation["x-who"] + (f", `{operation['x-action']}`" if operation.get("x-action") else "")
    cells = [methods, f"`{path}`", who, size(body["x-max-bytes"]) if body else "", answers]
    return f"| {' | '.join(cells)} | {operation['summary']} |"


def page(documents: dict[str, dict]) -> str:
    lines = [HEAD]
    for document in documents.values():
        title = document["info"]["title"].partition(": ")[2]
        lines += [f"## {title[0].upper()}{title[1:]}", "", document["info"]["description"], ""]
        lines += [
            "| method | path | who | body | answers | what for |",
            "|---|---|---|---|---|---|",
        ]
        for path, methods in document["paths"].items():
            lines += [row(path, method, operation) for method, operation in methods.items()]
        lines.append("")
    return "\n".join(lines)


def update(path: Path, text: str) -> None:
    if not path.exists() or path.read_text() != text:
        path.write_text(text)
        print(f"wrote: {path.relative_to(ROOT)}")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--build", type=Path, default=ROOT / "build/dev")
    options = parser.parse_args()
    if options.check:
        documents = {name: json.loads((ROOT / "spec" / name).read_text()) for name in DOCUMENTS}
        if PAGE.exists() and PAGE.read_text() == page(documents):
            return 0
        print("stale: docs/reference/http.md")
        return 1
    documents = written(options.build)
    for name, document in documents.items():
        update(ROOT / "spec" / name, json.dumps(document, indent=1, ensure_ascii=False) + "\n")
    update(PAGE, page(documents))
    return 0


if __name__ == "__main__":
    sys.exit(main())
