#!/usr/bin/env python3
"""Runs the examples against a real gateway: examples_test.py CRAB THERMOMETER_DEVICE CALL_FROM_CPP
WEATHER_HOST. Exit 77: this crab has no gateway."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PATIENCE = 20.0  # seconds; only a failing run waits as long


def start(command: list[str], token: str = "") -> subprocess.Popen:
    environment = {**os.environ, "CRAB_TOKEN": token}
    return subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def run(command: list[str], token: str = "") -> subprocess.CompletedProcess:
    return subprocess.run(
        command,
        env={**os.environ, "CRAB_TOKEN": token},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )


def until(question, what: str):
    """Asks until the answer is true; fails with the last answer."""
    end = time.monotonic() + PATIENCE
    while not (answer := question()):
        assert time.monotonic() < end, f"it did not come to that: {what}"
        time.sleep(0.02)  # between two questions
    return answer


def stop(process: subprocess.Popen) -> str:
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, f"exit status {process.returncode}\n{errors}"
    return errors


def main(crab: str, thermometer: str, caller: str, weather: str) -> int:
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder) / "gateway.yaml"
        config.write_text(
            json.dumps(
                {
                    "gateway": {"state_dir": f"{folder}/state", "runtime_dir": f"{folder}/run"},
                    "listen": {"public": "127.0.0.1:0"},
                    "hosts": [{"name": "weather", "unix": f"{folder}/weather.sock"}],
                }
            )
        )
        gateway = start([crab, "gateway", "run", "--config", str(config)])
        ready = gateway.stdout.readline()
        if not ready.startswith("crab gateway ready"):
            gateway.wait(PATIENCE)
            print(gateway.stderr.read())
            return 77
        words = dict(word.split("=", 1) for word in ready.split() if "=" in word)
        processes = [gateway]
        try:
            devices(
                crab, thermometer, caller, words["public"], words["admin"], Path(folder), processes
            )
            host(crab, weather, words["admin"], Path(folder), processes)
        finally:
            for process in processes:
                if process.poll() is None:
                    process.kill()
                    process.communicate()
    return 0


def devices(
    crab: str, thermometer: str, caller: str, public: str, admin: str, folder: Path, processes: list
) -> None:
    def token(name: str, role: str = "device") -> str:
        paired = run(
            [crab, "devices", "pair", "--token", "--name", name, "--role", role, "--socket", admin]
        )
        assert paired.returncode == 0, paired.stderr
        return paired.stdout.strip()

    # The thermometer, called from C++.
    kitchen = start([thermometer, f"ws://{public}"], token("kitchen"))
    processes.append(kitchen)
    mine = token("job", "caller")
    call = [caller, f"http://{public}"]
    until(lambda: "read_thermometer" in run(call, mine).stdout, "the thermometer is listed")
    good = run([*call, "read_thermometer", '{"room":"kitchen"}'], mine)
    assert (good.returncode, json.loads(good.stdout)) == (0, {"celsius": 21.5}), good
    bad = run([*call, "read_thermometer", "{}"], mine)
    assert bad.returncode == 1 and bad.stderr.startswith("INVALID_ARGS"), bad

    # crab device: this machine's facts and a command.
    state = folder / "device.json"
    laptop = start(
        [
            crab,
            "device",
            "--gateway",
            f"ws://{public}",
            "--name",
            "Laptop",
            "--state",
            str(state),
            "--exec",
            "reflect=cat",
            "--exec",
            "broken=/bin/sh -c 'echo no luck >&2; exit 3'",
        ],
        token("laptop"),
    )
    processes.append(laptop)
    until(lambda: "reflect" in run(call, mine).stdout, "the command is listed")
    reflected = run([*call, "reflect", '{"a":"; rm -rf /"}'], mine)
    assert json.loads(reflected.stdout) == {"a": "; rm -rf /"}, reflected
    broken = run([*call, "broken"], mine)
    assert broken.returncode == 1 and "ended with status 3: no luck" in broken.stderr, broken
    info = json.loads(run([*call, "device_info"], mine).stdout)
    assert info["kernel"].startswith("Linux"), info
    assert state.stat().st_mode & 0o777 == 0o600

    said = stop(laptop)
    assert "device Laptop connected" in said, said
    until(lambda: "reflect" not in run(call, mine).stdout, "the laptop's tools left with it")
    assert "read_thermometer" in run(call, mine).stdout


def host(crab: str, weather: str, admin: str, folder: Path, processes: list) -> None:
    """The weather host on the socket that the configuration names, then behind mutual TLS as a host
    that is paired."""
    local = start([weather, str(folder / "weather.sock")])
    processes.append(local)
    assert local.stdout.readline() == f"crab host ready name=weather unix={folder}/weather.sock\n"
    call = [
        crab,
        "call",
        "weather.today",
        "--arg",
        "city=Bremerhaven",
        "--socket",
        admin,
        "-o",
        "json",
    ]
    until(lambda: run(call).returncode == 0, "the weather host is called")
    assert '"sky":"rain"' in run(call).stdout.replace(" ", ""), run(call).stdout
    assert "only Bremerhaven" in run([*call[:4], "city=Bonn", "--socket", admin]).stderr

    identity = dict(
        line.split("=", 1)
        for line in run([crab, "peers", "identity", "--socket", admin]).stdout.splitlines()
    )
    paired = start(
        [weather, "127.0.0.1:0", identity["public_key_ed25519"], str(folder / "weather")]
    )
    processes.append(paired)
    key = paired.stdout.readline().strip().removeprefix("remote_key=")
    address = paired.stdout.readline().strip().rpartition("=")[2]
    done = run(
        [
            crab,
            "pair",
            "tool",
            f"wss://{address}",
            "weather",
            "--remote-key",
            key,
            "--socket",
            admin,
        ]
    )
    assert done.returncode == 0 and "pairing complete" in done.stdout, done
    for process in (paired, local):
        process.terminate()
        process.communicate(timeout=PATIENCE)
        assert process.returncode == 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
