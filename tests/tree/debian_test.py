"""debian/ agrees with the rest of the tree: versions, packages, files; its scripts are shell."""

import re
import subprocess
import unittest
from email.utils import parsedate_to_datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DEBIAN = ROOT / "debian"
# What building needs but not as a package of its own, or only for people who build often.
NOT_NEEDED = {
    "buildah",
    "libclang-rt-19-dev",
    "llvm-19",
    "ccache",
    "lintian",
    "mmdebstrap",
    "qemu-user-static",
    "fakeroot",
}
KINDS = {"build", "library", "web", "release"}


def field(name: str, text: str) -> list[str]:
    found = re.search(rf"^{name}:(.*(?:\n .*)*)", text, re.MULTILINE)
    parts = (found[1] if found else "").split(",")
    return [re.split(r"[ (:]", part.strip())[0] for part in parts if part.strip()]


class Debian(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.control = (DEBIAN / "control").read_text()
        cls.newest = (DEBIAN / "changelog").read_text().split("\n\n")

    def test_the_version_is_that_of_the_tree(self):
        version = (ROOT / "VERSION").read_text().strip()
        self.assertTrue(self.newest[0].startswith(f"crab ({version}) "), self.newest[0])

    def test_the_changelog_has_a_section_for_the_version_with_the_date_of_the_package(self):
        version = (ROOT / "VERSION").read_text().strip()
        heads = re.findall(r"^## (.+)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
        self.assertEqual(heads[0], "[Unreleased]")
        signed = re.search(r"^ -- .*>  (.+)$", self.newest[2], re.MULTILINE)[1]
        date = parsedate_to_datetime(signed).date().isoformat()
        self.assertEqual(heads[1], f"[{version}] - {date}")

    def test_the_maintainer_is_who_signs_the_changelog(self):
        signed = re.search(r"^ -- (.*>)  ", (DEBIAN / "changelog").read_text(), re.MULTILINE)[1]
        self.assertIn(f"Maintainer: {signed}\n", self.control)

    def test_a_build_needs_what_packages_txt_names_for_it(self):
        listed = set()
        for line in (ROOT / "packages.txt").read_text().splitlines():
            if match := re.match(r"([a-z]\S*) +(\w+):", line):
                if match[2] in KINDS:
                    listed.add(match[1])
        # The build finds these too, for tests and benchmarks that it does not make.
        listed |= {"libgtest-dev", "libgmock-dev", "libbenchmark-dev"}
        needed = {
            name.replace("debhelper-compat", "debhelper")
            for name in field("Build-Depends", self.control)
        }
        self.assertEqual(sorted(needed), sorted(listed - NOT_NEEDED))

    def test_files_that_it_names_in_the_tree_are_there(self):
        for path in sorted(DEBIAN.iterdir()):
            self.assertTrue(path.exists(), f"{path.name} points nowhere")
            if path.suffix in (".install", ".docs", ".examples"):
                for line in path.read_text().splitlines():
                    source = line.split()[0]
                    if not source.startswith("usr/"):
                        self.assertTrue((ROOT / source).exists(), f"{path.name}: {source}")

    def test_scripts_can_be_read(self):
        for kind in ("preinst", "postinst", "prerm", "postrm"):
            script = DEBIAN / f"crab.{kind}"
            done = subprocess.run(["sh", "-n", script], capture_output=True, text=True, check=False)
            self.assertEqual((done.returncode, done.stderr), (0, ""), kind)
            self.assertIn("\n#DEBHELPER#\n", script.read_text())

    def test_an_older_version_is_refused_only_while_there_is_a_state(self):
        script = (DEBIAN / "crab.preinst").read_text()
        self.assertIn("ls -A /var/lib/crab", script)
        for words, state, refused in (
            (("upgrade", "0.2.0", "0.1.0"), "/etc", True),
            (("upgrade", "0.1.0", "0.2.0"), "/etc", False),
            (("upgrade", "0.2.0", "0.1.0"), "/nowhere", False),
            (("install", "0.2.0", "0.1.0"), "/etc", True),  # after `apt remove`
            (("install", "0.2.0", "0.1.0"), "/nowhere", False),
            (("install", "0.1.0", "0.2.0"), "/etc", False),
            (("install",), "/etc", False),
        ):
            with self.subTest(words=words, state=state):
                text = script.replace("ls -A /var/lib/crab", f"ls -A {state}")
                text = text.replace("#DEBHELPER#", "")
                # Where there is no dpkg, versions are compared well enough for these.
                compared = 'dpkg() { [ "$2" != "$4" ] && [ "$(printf "%s\\n" "$2" "$4" | sort -r '
                text = text.replace("set -e\n", f'set -e\n{compared}| head -n 1)" = "$2" ]; }}\n')
                done = subprocess.run(
                    ["sh", "-c", text, "preinst", *words], capture_output=True, text=True
                )
                self.assertEqual(done.returncode, int(refused), done.stderr)
                self.assertEqual("is older than" in done.stderr, refused)


if __name__ == "__main__":
    unittest.main()
