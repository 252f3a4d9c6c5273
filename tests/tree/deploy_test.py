"""The units in deploy/: systemd reads them without a word, and they are as closed as their comments
say. Needs systemd-analyze of systemd 252 or newer, and no running systemd."""

import os
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"
SBIN = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
# Of 10; sandboxes of commands need what the unit names, and without them it is the drop-in's.
EXPOSURE = {"crab.service": 3.5, "crab.service with without_sandboxes.conf": 2.0}


@unittest.skipUnless(shutil.which("systemd-analyze"), "no systemd-analyze here")
class Units(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def exposure(self, text: str) -> float:
        unit = self.folder / "crab.service"
        unit.write_text(text)
        done = subprocess.run(
            ["systemd-analyze", "security", "--offline=true", "--no-pager", str(unit)],
            capture_output=True,
            text=True,
            check=False,
        )
        found = re.search(r"Overall exposure level for \S+: ([\d.]+)", done.stdout)
        if found is None:
            self.skipTest(f"this systemd does not look at files: {done.stderr}")
        return float(found[1])

    def test_the_service_is_as_closed_as_sandboxes_allow(self):
        text = (DEPLOY / "crab.service").read_text()
        self.assertLessEqual(self.exposure(text), EXPOSURE["crab.service"])
        more = (DEPLOY / "without_sandboxes.conf").read_text().partition("[Service]\n")[2]
        closed = text.replace("\n[Install]", f"\n{more}\n[Install]")
        self.assertLessEqual(
            self.exposure(closed), EXPOSURE["crab.service with without_sandboxes.conf"]
        )

    @unittest.skipUnless(shutil.which("apparmor_parser", path=SBIN), "no apparmor here")
    def test_apparmor_can_read_the_profile(self):
        for path in sorted((DEPLOY / "apparmor").iterdir()):
            program = shutil.which("apparmor_parser", path=SBIN)
            done = subprocess.run(
                [program, "--skip-kernel-load", "--skip-cache", "--warn=all", str(path)],
                capture_output=True,
                text=True,
                check=False,
            )
            self.assertEqual(done.returncode, 0, f"{path}: {done.stderr}")

    def test_systemd_has_nothing_to_say_about_them(self):
        for source in (
            "crab.service",
            "crab.socket",
            "user/crab-device.service",
            "fleet/nats-server.service",
        ):
            text = (DEPLOY / source).read_text().replace("/usr/bin/crab", "/bin/true")
            text = text.replace("/usr/sbin/nats-server", "/bin/true")
            text = re.sub(r"^Documentation=.*\n", "", text, flags=re.MULTILINE)
            (self.folder / Path(source).name).write_text(text)
        for unit in sorted(self.folder.iterdir()):
            done = subprocess.run(
                ["systemd-analyze", "verify", "--man=no", str(unit)],
                capture_output=True,
                text=True,
                check=False,
                env={"SYSTEMD_UNIT_PATH": f"{self.folder}:", "PATH": "/usr/bin:/bin"},
            )
            said = [line for line in done.stderr.splitlines() if unit.name in line]
            self.assertEqual(said, [], unit.name)


@unittest.skipUnless(shutil.which("promtool"), "no promtool here (package prometheus)")
class Alerts(unittest.TestCase):
    def test_each_fires_for_what_it_is_for_and_none_without_a_reason(self):
        done = subprocess.run(
            ["promtool", "test", "rules", "alerts_test.yaml"],
            cwd=DEPLOY / "prometheus",
            capture_output=True,
            text=True,
            check=False,
        )
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


class FleetFiles(unittest.TestCase):
    """What compose.yaml of deploy/fleet wants beside it."""

    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory())) / "fleet"
        shutil.copytree(DEPLOY / "fleet", self.folder)

    def make(self) -> list[Path]:
        subprocess.run([self.folder / "make_nodes"], check=True, capture_output=True)
        return [self.folder / "nodes" / name for name in ("north", "south", "west")]

    def test_each_node_gets_its_own_name_and_what_all_share(self):
        nodes = self.make()
        self.assertEqual(len({(node / "gateway.yaml").read_text() for node in nodes}), 3)
        for shared in ("fleet_key", "database", "nats_user", "cert.pem", "key.pem"):
            self.assertEqual(len({(node / shared).read_text() for node in nodes}), 1, shared)
            self.assertEqual((nodes[0] / shared).stat().st_mode & 0o077, 0, shared)
        user = (nodes[0] / "nats_user").read_text()
        password = (self.folder / "nats_environment").read_text().partition("NATS_PASSWORD=")[2]
        self.assertEqual(user.strip(), f"crab:{password.strip()}")
        self.assertRegex(password, "^[a-z]", "nats-server reads a digit as that of a number")
        self.make()
        self.assertEqual((nodes[0] / "nats_user").read_text(), user, "what is there stays")

    def test_nats_server_understands_its_file_and_lets_nobody_else_in(self):
        if shutil.which("nats-server") is None:
            self.skipTest("no nats-server here")
        done = subprocess.run(
            ["nats-server", "-t", "-c", self.folder / "nats.conf"],
            capture_output=True,
            text=True,
            check=False,
            env={"PATH": "/usr/sbin:/usr/bin", "NATS_NAME": "one", "NATS_PASSWORD": "secret"},
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(
            re.findall(r"user: (\S+)", (self.folder / "nats.conf").read_text()), ["crab"]
        )


if __name__ == "__main__":
    unittest.main()
