"""What a built crab is made of beside its own sources: Debian packages that it is linked with or
compiled from, and npm packages that its pages contain. Read by licences.py, sbom.py and
known_holes.py."""

import dataclasses
import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# What leaves code in the programs without being a shared library that `readelf` would show: headers
# with templates, and what is in crab-sandbox-init, which is linked statically.
COMPILED_IN = ("libboost1.81-dev", "libcli11-dev", "libstdc++-12-dev", "libc6-dev")
STATIC_SOURCES = ("glibc", "gcc-12", "musl")
# The same, on machines that have it (src/apps/sandbox_init/CMakeLists.txt).
COMPILED_IN_IF_HERE = ("musl-dev",)
DOC = Path("/usr/share/doc")


class Missing(Exception):
    """Something that has to be here is not; the message says what to do."""


@dataclasses.dataclass(frozen=True, order=True)
class Component:
    name: str
    version: str
    kind: str  # deb or npm
    how: str  # linked, compiled in, embedded, build
    source: str = ""  # of a Debian package
    source_version: str = ""
    architecture: str = ""
    homepage: str = ""
    licence: str = ""  # of an npm package, an SPDX expression
    integrity: str = ""  # of an npm package, as its lock has it

    def purl(self) -> str:
        if self.kind == "npm":
            return f"pkg:npm/{self.name.replace('@', '%40')}@{self.version}"
        version = self.version.replace("+", "%2B").replace(":", "%3A")
        name = self.name.replace("+", "%2B")
        return f"pkg:deb/debian/{name}@{version}?arch={self.architecture}&distro=bookworm"

    def licence_file(self) -> Path:
        if self.kind == "npm":
            folder = ROOT / "node_modules" / self.name
            found = sorted(path for path in folder.glob("*") if is_licence(path.name))
            if not found:
                raise Missing(f"{folder} has no licence; run npm ci")
            return found[0]
        path = DOC / self.name / "copyright"
        if not path.is_file():
            raise Missing(f"{path} is missing: this system leaves out documentation")
        return path


def write(text: Callable[[], str], script: str) -> int:
    """Writes the text to standard output, or what is missing for it to the other one. Returns the
    exit status."""
    try:
        sys.stdout.write(text())
    except Missing as error:
        print(f"{script}: {error}", file=sys.stderr)
        return 1
    return 0


def is_licence(name: str) -> bool:
    return re.match(r"(?i)(licen[cs]e|copying)(\.|$)", name) is not None


def output_of(*command: str) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError as error:
        raise Missing(f"no {command[0]}: this needs Debian, with dpkg and binutils") from error
    if done.returncode != 0:
        raise Missing(f"{' '.join(command)}: {done.stderr.strip()}")
    return done.stdout


def linked_packages(program: Path) -> set[str]:
    """Names of the Debian packages whose shared libraries the program names itself."""
    wanted = re.findall(r"\(NEEDED\).*\[(.+)\]", output_of("readelf", "-d", str(program)))
    folders = re.findall(r"=> (\S+/)", output_of("ldconfig", "-p"))
    folders = [Path(folder) for folder in dict.fromkeys(folders)]
    paths = []
    for name in wanted:
        found = next((folder / name for folder in folders if (folder / name).exists()), None)
        found = found or Path("/lib64") / name
        # Where /lib is a link to /usr/lib, packages may know the file by either name.
        paths.append(str(found.resolve().parent / name))
    spelled = [spelling for path in paths for spelling in (path, path.removeprefix("/usr"))]
    done = subprocess.run(
        ["dpkg-query", "-S", *spelled], capture_output=True, text=True, check=False
    )
    owner_of = {}
    for line in done.stdout.splitlines():
        package, _, path = line.rpartition(": ")
        owner_of[path.removeprefix("/usr")] = package.split(":")[0]
    for path in paths:
        if path.removeprefix("/usr") not in owner_of and "/ld-linux" not in path:
            raise Missing(f"{path} belongs to no Debian package")
    return set(owner_of.values())


def debian(names: set[str], how: str) -> list[Component]:
    form = "${Package}\\t${Version}\\t${source:Package}\\t${source:Version}\\t${Architecture}\\t"
    lines = output_of("dpkg-query", "-W", "-f", form + "${Homepage}\\n", *sorted(names))
    found = []
    for line in sorted(set(lines.splitlines())):
        name, version, source, source_version, architecture, homepage = line.split("\t")
        found.append(
            Component(name, version, "deb", how, source, source_version, architecture, homepage)
        )
    return found


def npm_lock() -> dict[str, dict]:
    packages = json.loads((ROOT / "package-lock.json").read_text())["packages"]
    return {
        path.rpartition("node_modules/")[2]: entry
        for path, entry in packages.items()
        if "node_modules/" in path and not entry.get("link")
    }


def npm_names(lock: dict[str, dict]) -> set[str]:
    """What the pages name as dependencies, and what that needs: only this gets into them."""
    own = ["web/device", "web/console", "web/shared"]
    open_names = []
    for folder in own:
        open_names += json.loads((ROOT / folder / "package.json").read_text())["dependencies"]
    found: set[str] = set()
    while open_names:
        name = open_names.pop()
        if name in found or name not in lock:  # one of our own
            continue
        found.add(name)
        open_names += lock[name].get("dependencies", {})
    return found


def npm(how: str, names: set[str], lock: dict[str, dict]) -> list[Component]:
    return [
        Component(
            name,
            lock[name]["version"],
            "npm",
            how,
            homepage=f"https://www.npmjs.com/package/{name}",
            licence=lock[name].get("license", ""),
            integrity=lock[name].get("integrity", ""),
        )
        for name in sorted(names)
    ]


def compiled_in() -> set[str]:
    return set(COMPILED_IN) | installed(list(COMPILED_IN_IF_HERE))


def shipped(program: Path) -> list[Component]:
    """What the packages of crab contain or load."""
    linked = linked_packages(program)
    parts = debian(linked, "linked") + debian(compiled_in(), "compiled in")
    lock = npm_lock()
    return parts + npm("embedded", npm_names(lock), lock)


def build_tools() -> list[Component]:
    """What builds crab and leaves nothing in it."""
    kinds = re.findall(r"^(\S+) +build:", (ROOT / "packages.txt").read_text(), re.MULTILINE)
    lock = npm_lock()
    others = {
        name for name, entry in lock.items() if entry.get("dev") and not entry.get("optional")
    }
    return debian(set(kinds) & installed(kinds), "build") + npm("build", others, lock)


def installed(names: list[str]) -> set[str]:
    done = subprocess.run(
        ["dpkg-query", "-W", "-f", "${Package} ${db:Status-Status}\\n", *names],
        capture_output=True,
        text=True,
        check=False,
    )
    return {line.split()[0] for line in done.stdout.splitlines() if line.endswith(" installed")}
