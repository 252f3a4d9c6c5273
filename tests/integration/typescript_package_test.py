"""What `npm pack` makes of clients/typescript: exactly what belongs into it, usable by a program
that has nothing else of this tree."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import tarfile
import tempfile
import unittest
from pathlib import Path

from support.case import GatewayCase
from support.node_device import MISSING, NODE
from support.wait import eventually

NPM = shutil.which("npm")
ROOT = Path(__file__).resolve().parents[2]


@unittest.skipIf(MISSING, MISSING)
@unittest.skipUnless(
    NPM and (ROOT / "node_modules/typescript").exists(),
    "npm or its packages are missing (cmake/CrabWeb.cmake)",
)
class PackageTest(GatewayCase):
    FOLDER = tempfile.TemporaryDirectory(prefix="crab-package-")
    CONFIG = {"hosts": [{"name": "weather", "unix": f"{FOLDER.name}/weather.sock"}]}

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        tree = Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        shutil.copytree(
            ROOT / "clients/typescript",
            tree / "clients/typescript",
            ignore=shutil.ignore_patterns("dist", "*.tgz"),
        )
        for name in ("LICENSE", "tsconfig.base.json"):
            shutil.copy(ROOT / name, tree)
        (tree / "node_modules").symlink_to(ROOT / "node_modules")
        done = subprocess.run(
            [NPM, "pack", "--json", "--offline", "--loglevel=error"],
            cwd=tree / "clients/typescript",
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        [packed] = json.loads(
            done.stdout[done.stdout.index("[\n") :]
        )  # after what the build prints
        cls.files = {each["path"] for each in packed["files"]}
        cls.home = tree / "home"
        with tarfile.open(tree / "clients/typescript" / packed["filename"]) as archive:
            archive.extractall(cls.home / "node_modules/@crab", filter="data")
        (cls.home / "node_modules/@crab/package").rename(cls.home / "node_modules/@crab/device")
        (cls.home / "node_modules/ws").symlink_to(ROOT / "node_modules/ws")

    def test_it_holds_code_types_readme_and_license_and_no_tests(self) -> None:
        self.assertLessEqual(
            {"package.json", "README.md", "LICENSE", "dist/index.js", "dist/index.d.ts"}, self.files
        )
        self.assertEqual(
            {path for path in self.files if path.count("/") == 0},
            {"package.json", "README.md", "LICENSE"},
        )
        self.assertEqual({path.split("/")[0] for path in self.files if "/" in path}, {"dist"})
        package = json.loads((self.home / "node_modules/@crab/device/package.json").read_text())
        self.assertNotIn("dependencies", package)

    def test_the_example_runs_on_it_and_is_shorter_than_forty_lines(self) -> None:
        source = (ROOT / "examples/node_device/device.mjs").read_text()
        self.assertLess(len(source.splitlines()), 40)
        (self.home / "device.mjs").write_text(source)
        words = [NODE, "device.mjs", f"http://127.0.0.1:{self.gateway.public[1]}", "Kitchen"]
        device = subprocess.Popen(
            words,
            cwd=self.home,
            env={**os.environ, "CRAB_TOKEN": self.new_token("kitchen")},
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            self.gateway.wait_listed("read_thermometer")
            self.assertEqual(
                self.gateway.call("read_thermometer", {"room": "cellar"}).result, {"celsius": 12}
            )
            self.assertEqual(
                self.gateway.call("read_thermometer", {"room": "attic"}).code, "INVALID_ARGS"
            )
            device.send_signal(signal.SIGINT)
            self.assertEqual(device.wait(20), 0)
            self.assertEqual(device.stdout.read().split(), ["connecting", "connected", "ended"])
        finally:
            device.kill()
            device.wait(20)
            device.stdout.close()

    def program(self, name: str, having: str, **places: str) -> list[str]:
        """The block of the README that holds those words, as a program of its own."""
        blocks = re.findall(
            r"```ts\n(.*?)```", (ROOT / "clients/typescript/README.md").read_text(), re.DOTALL
        )
        [source] = [block for block in blocks if having in block]
        for place, text in places.items():
            self.assertIn(text.split("=>")[0], source, place)
            source = source.replace(*text.split("=>"))
        (self.home / name).write_text(source)
        return [NODE, name]

    def test_the_host_and_the_caller_of_the_readme_run_as_they_stand_there(self) -> None:
        folder = self.FOLDER.name
        host = subprocess.Popen(
            self.program(
                "host.mjs",
                "serve({ unix",
                socket=f"/run/crab/weather.sock=>{folder}/weather.sock",
                state=f"/var/lib/weather=>{folder}/state",
            ),
            cwd=self.home,
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            self.assertEqual(
                host.stdout.readline(), f"crab host ready name=weather unix={folder}/weather.sock\n"
            )
            # the gateway has looked for this host since its start, and pauses longer each time
            eventually(
                lambda: "weather.today" in self.gateway.tools(), "the host is found", limit=90
            )
            token = self.home / "token"
            token.touch(0o600)
            token.write_text(self.gateway.caller_token())
            port = f"127.0.0.1:42617=>127.0.0.1:{self.gateway.public[1]}"
            done = subprocess.run(
                self.program("caller.mjs", "new ToolClient", port=port),
                cwd=self.home,
                capture_output=True,
                text=True,
                timeout=60,
            )
            self.assertEqual(done.stdout, "{ city: 'Bergen', sky: 'clear' }\n", done.stderr)
            host.send_signal(signal.SIGTERM)
            self.assertEqual(host.wait(20), 0)
        finally:
            host.kill()
            host.wait(20)
            host.stdout.close()

    def test_types_are_found_by_a_program_in_typescript(self) -> None:
        (self.home / "use.ts").write_text(
            'import { ToolClient } from "@crab/device/client";\n'
            'import { ToolHost } from "@crab/device/host";\n'
            'export const host = new ToolHost("h");\n'
            'host.tool({ name: "n", description: "d", parameters: { type: "object", properties: '
            '{ a: { type: "integer" } }, required: ["a"] }, handler: ({ args }) => '
            "args.a.toFixed() });\n"
            'export const client = new ToolClient({ gateway: "https://x" });\n'
            'import { Device, type Tool } from "@crab/device";\nexport const tool: Tool = { name: '
            '"a", description: "b", handler: () => new Blob([]) };\n'
            'export const device = new Device({ gateway: "https://x", token: { token: async () => '
            '"t" }, name: "n" });\n'
        )
        (self.home / "package.json").write_text('{"type":"module"}')
        done = subprocess.run(
            [
                NODE,
                ROOT / "node_modules/typescript/bin/tsc",
                "--noEmit",
                "--strict",
                "--module",
                "nodenext",
                "--target",
                "es2022",
                "--lib",
                "es2022,dom",
                "use.ts",
            ],
            cwd=self.home,
            capture_output=True,
            text=True,
            timeout=120,
        )
        self.assertEqual(done.returncode, 0, done.stdout)


if __name__ == "__main__":
    unittest.main()
