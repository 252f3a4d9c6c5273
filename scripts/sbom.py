#!/usr/bin/env python3
"""Print what a built crab is made of as an SPDX 2.3 document (JSON). The same commit on the same
packages gives the same bytes: the date is SOURCE_DATE_EPOCH, or that of debian/changelog.

usage: sbom.py --built PROGRAM    such as build/release/crab
       sbom.py --built-using      Debian's field Built-Using: sources of what is linked statically
"""

import base64
import datetime
import email.utils
import json
import os
import re
import sys
import uuid
from pathlib import Path

import components
from components import Component, write

VERSION = (components.ROOT / "VERSION").read_text().strip()
RELATIONS = {
    "linked": ("{own}", "DYNAMIC_LINK", "{part}"),
    "compiled in": ("{own}", "STATIC_LINK", "{part}"),
    "embedded": ("{own}", "CONTAINS", "{part}"),
    "build": ("{part}", "BUILD_TOOL_OF", "{own}"),
}
OWN = "SPDXRef-crab"


def created() -> str:
    seconds = os.environ.get("SOURCE_DATE_EPOCH")
    if not seconds:
        changelog = (components.ROOT / "debian/changelog").read_text()
        newest = re.search(r"^ -- .*>  (.+)$", changelog, re.MULTILINE)[1]
        seconds = email.utils.parsedate_to_datetime(newest).timestamp()
    moment = datetime.datetime.fromtimestamp(int(seconds), datetime.UTC)
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def spdx_id(part: Component) -> str:
    return "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", f"{part.kind}-{part.name}-{part.version}")


def licences_named(part: Component) -> list[str]:
    """Short names in a copyright file that has Debian's machine-readable form."""
    text = part.licence_file().read_text(errors="replace")
    if not text.startswith("Format:"):
        return []
    return sorted(set(re.findall(r"^License: *(\S.*?) *$", text, re.MULTILINE)))


def declared(part: Component) -> dict[str, str]:
    if part.kind == "npm":
        return {"licenseDeclared": part.licence or "NOASSERTION"}
    named = [] if part.how == "build" else licences_named(part)
    if not named:
        return {"licenseDeclared": "NOASSERTION"}
    return {
        "licenseDeclared": "NOASSERTION",
        "licenseComments": "Debian's copyright file names: " + "; ".join(named),
    }


def package(part: Component) -> dict:
    entry = {
        "SPDXID": spdx_id(part),
        "name": part.name,
        "versionInfo": part.version,
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False,
        "licenseConcluded": "NOASSERTION",
        **declared(part),
        "copyrightText": "NOASSERTION",
        "externalRefs": [
            {
                "referenceCategory": "PACKAGE-MANAGER",
                "referenceType": "purl",
                "referenceLocator": part.purl(),
            }
        ],
    }
    if part.kind == "deb":
        entry["supplier"] = "Organization: Debian"
        entry["sourceInfo"] = f"built by Debian from {part.source} {part.source_version}"
    if re.match(r"https?://\S+$", part.homepage):
        entry["homepage"] = part.homepage
    if part.integrity.startswith("sha512-"):
        digest = base64.b64decode(part.integrity.removeprefix("sha512-")).hex()
        entry["checksums"] = [{"algorithm": "SHA512", "checksumValue": digest}]
    return entry


def own_package() -> dict:
    return {
        "SPDXID": OWN,
        "name": "crab",
        "versionInfo": VERSION,
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False,
        "licenseConcluded": "Apache-2.0",
        "licenseDeclared": "Apache-2.0",
        "copyrightText": "2026 the crab maintainers",
        "primaryPackagePurpose": "APPLICATION",
    }


def document(parts: list[Component]) -> dict:
    unique = {spdx_id(part): part for part in sorted(parts, key=lambda part: part.how == "build")}
    shown = sorted(parts, key=spdx_id)
    shown = [part for part in shown if unique.get(spdx_id(part)) is part]
    relations = [("SPDXRef-DOCUMENT", "DESCRIBES", OWN)]
    for part in shown:
        names = {"own": OWN, "part": spdx_id(part)}
        relations.append(tuple(word.format(**names) for word in RELATIONS[part.how]))
    body = {
        "packages": [own_package(), *map(package, shown)],
        "relationships": [
            {"spdxElementId": one, "relationshipType": kind, "relatedSpdxElement": other}
            for one, kind, other in relations
        ],
    }
    made = created()
    name = f"crab-{VERSION}"
    unique_name = uuid.uuid5(uuid.NAMESPACE_URL, made + json.dumps(body, sort_keys=True))
    return {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": name,
        "documentNamespace": f"https://spdx.org/spdxdocs/{name}-{unique_name}",
        "creationInfo": {"created": made, "creators": [f"Tool: crab-sbom-{VERSION}"]},
        **body,
    }


def spdx(program: Path) -> str:
    parts = components.shipped(program) + components.build_tools()
    return json.dumps(document(parts), indent=1, ensure_ascii=False) + "\n"


def built_using() -> str:
    parts = components.debian(components.compiled_in(), "compiled in")
    sources = {
        f"{part.source} (= {part.source_version})"
        for part in parts
        if part.source in components.STATIC_SOURCES
    }
    return ", ".join(sorted(sources))


def main() -> int:
    match sys.argv[1:]:
        case ["--built", program]:
            return write(lambda: spdx(Path(program)), "sbom")
        case ["--built-using"]:
            return write(lambda: built_using() + "\n", "sbom")
        case words:
            print(__doc__)
            return 0 if "--help" in words else 2


if __name__ == "__main__":
    sys.exit(main())
