"""What scripts/licences.py, sbom.py and audit.sh say about a built crab: CRAB_BIN. Needs Debian."""

import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

import components
import known_holes
import licences
import sbom

CRAB = os.environ.get("CRAB_BIN", "")


@unittest.skipUnless(shutil.which("dpkg-query"), "this is no Debian system")
class SupplyChain(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.parts = components.shipped(Path(CRAB))
        cls.names = {part.name for part in cls.parts}

    def run_script(self, name, *words):
        return subprocess.run(
            [str(components.ROOT / "scripts" / name), *words],
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )

    def test_the_parts_are_what_is_linked_compiled_in_and_embedded(self):
        self.assertLessEqual({"libssl3", "libsqlite3-0", "libboost1.81-dev", "preact"}, self.names)
        self.assertEqual({"typescript", "vite", "axe-core"} & self.names, set())

    def test_every_package_that_a_page_imports_is_a_part(self):
        imported = set()
        for folder in ("web/device", "web/console", "web/shared"):
            for path in (components.ROOT / folder / "src").rglob("*.ts*"):
                imported |= set(
                    re.findall(
                        r"^(?:import|export)\b.*\bfrom [\"'](@?[a-z][^\"']*)",
                        path.read_text(),
                        re.M,
                    )
                )
        ours = {"@crab/device", "@crab/web-shared"}
        imported = {name for name in imported if not name.startswith("node:")}
        named = {"/".join(name.split("/")[: 2 if name[0] == "@" else 1]) for name in imported}
        self.assertGreater(len(named - ours), 1)
        self.assertLessEqual(named - ours, self.names)

    def test_every_part_has_a_licence_in_the_document(self):
        text = licences.document(self.parts)
        said = {re.sub(r"^[A-Za-z-]+:", "", line).strip() for line in text.splitlines()}
        self.assertLess(len(text), 500_000, "names of files, which nobody reads, are left out")
        for part in self.parts:
            self.assertIn(f"\n{part.name} {part.version}: ", text)
            content = part.licence_file().read_text(errors="replace").replace("\r\n", "\n")
            if content.startswith("Format:"):  # by stanzas: all but names of files stay
                content = re.sub(r"(?m)^Files(-Excluded)?:.*(\n[ \t].*)*", "", content)
                lines = {re.sub(r"^[A-Za-z-]+:", "", line) for line in content.splitlines()}
                self.assertEqual({line.strip() for line in lines} - said, set(), part.name)
            else:
                self.assertIn(content.strip("\n"), text)
        for part in self.parts:
            if part.kind == "npm":
                self.assertIn(part.licence, {"MIT", "ISC", "Apache-2.0", "BSD-3-Clause"}, part.name)

    def test_the_spdx_document_holds_together_and_is_the_same_each_time(self):
        first = self.run_script("sbom.py", "--built", CRAB)
        self.assertEqual(first.returncode, 0, first.stderr)
        self.assertEqual(first.stdout, self.run_script("sbom.py", "--built", CRAB).stdout)
        found = json.loads(first.stdout)
        self.assertEqual(found["spdxVersion"], "SPDX-2.3")
        self.assertRegex(found["creationInfo"]["created"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
        ids = [package["SPDXID"] for package in found["packages"]]
        self.assertEqual(len(ids), len(set(ids)))
        for name in ids:
            self.assertRegex(name, r"^SPDXRef-[A-Za-z0-9.-]+$")
        known = {*ids, "SPDXRef-DOCUMENT"}
        related = set()
        for relation in found["relationships"]:
            related |= {relation["spdxElementId"], relation["relatedSpdxElement"]}
        self.assertEqual(related, known)
        for package in found["packages"]:
            for checksum in package.get("checksums", []):
                self.assertRegex(checksum["checksumValue"], r"^[0-9a-f]{128}$")
        shown = {package["name"] for package in found["packages"]}
        self.assertLessEqual(self.names, shown)

    def test_what_is_linked_statically_is_named_for_debian(self):
        self.assertRegex(sbom.built_using(), r"glibc \(= 2\.\d+\S*\)")

    def test_the_audit_finds_holes_in_data_and_says_when_it_has_none(self):
        with tempfile.TemporaryDirectory() as folder:
            empty = self.run_script("known_holes.py", "--built", CRAB, "--data", folder)
            self.assertEqual(empty.returncode, 3)
            self.assertIn("nothing is said about Debian's packages", empty.stdout)
            self.assertIn("nothing is said about npm's packages", empty.stdout)
            self.write_data(Path(folder))
            found = self.run_script("known_holes.py", "--built", CRAB, "--data", folder)
            self.assertEqual(found.returncode, 1, found.stdout + found.stderr)
            self.assertIn("CVE-2026-1: open in bookworm, high", found.stdout)
            self.assertIn("CVE-2026-2: mended in 9999", found.stdout)
            self.assertNotIn("CVE-2026-3", found.stdout)
            self.assertRegex(found.stdout, r"preact \S+ \(embedded\) GHSA-1: pages speak")
            self.assertNotIn("GHSA-2", found.stdout)
            self.assertRegex(found.stdout, r"(\d+) of \1 components compared")

    def write_data(self, folder):
        def issue(status, **more):
            return {"releases": {"bookworm": {"status": status, "urgency": "high", **more}}}

        tracker = {
            "openssl": {
                "CVE-2026-1": issue("open"),
                "CVE-2026-2": issue("resolved", fixed_version="9999"),
                "CVE-2026-3": issue("resolved", fixed_version="1.0"),
            }
        }
        (folder / "debian.json").write_text(json.dumps(tracker))
        (folder / "npm").mkdir()
        for name, fixed in (("GHSA-1", "999.0.0"), ("GHSA-2", "1.0.0")):
            advisory = {
                "id": name,
                "summary": "pages speak",
                "affected": [
                    {
                        "package": {"ecosystem": "npm", "name": "preact"},
                        "ranges": [
                            {"type": "SEMVER", "events": [{"introduced": "0"}, {"fixed": fixed}]}
                        ],
                    }
                ],
            }
            (folder / "npm" / f"{name}.json").write_text(json.dumps(advisory))

    def test_versions_are_ordered_as_npm_does(self):
        rising = [
            "0",
            "1.0.0-alpha",
            "1.0.0-alpha.1",
            "1.0.0-rc.2",
            "1.0.0-rc.11",
            "1.0.0",
            "1.10.0",
        ]
        self.assertEqual(sorted(reversed(rising), key=known_holes.order), rising)
        events = [{"introduced": "1.0.0"}, {"fixed": "1.2.0"}, {"introduced": "2.0.0"}]
        self.assertTrue(known_holes.is_in_range("1.1.9", events))
        self.assertFalse(known_holes.is_in_range("1.2.0", events))
        self.assertTrue(known_holes.is_in_range("2.0.1", events))
        last = [{"introduced": "1.0.0"}, {"last_affected": "1.2.0"}]
        self.assertTrue(known_holes.is_in_range("1.2.0", last))
        self.assertFalse(known_holes.is_in_range("1.2.1", last))


if __name__ == "__main__":
    unittest.main()
