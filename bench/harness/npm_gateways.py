"""Gateways of MCP from npm, for the comparison of bench/mcp: installed outside of the project's own
set-up, in build/mcp-gateways, by the registry that npm is configured with."""

import json
import shutil
import subprocess
import time
import http.client
import socket

from . import mcp_client, processes
from .machine import ROOT
from .processes import Unavailable
from .servers import Server

FOLDER = ROOT / "build" / "mcp-gateways"
NODE = "node@22"
VERSIONS = {"mcp-proxy": "6.7.19", "supergateway": "4.0.0"}
START_SECONDS = 30


def install():
    """The `node_modules` with all of them; fetches what is not there."""
    modules = FOLDER / "node_modules"
    if all(_version(modules / name) == version for name, version in VERSIONS.items()):
        return modules
    if not shutil.which("npm"):
        raise Unavailable("npm is missing; scripts/setup.sh installs it")
    FOLDER.mkdir(parents=True, exist_ok=True)
    (FOLDER / "package.json").write_text('{"name": "mcp-gateways", "private": true}\n')
    wanted = [NODE] + [f"{name}@{version}" for name, version in VERSIONS.items()]
    done = subprocess.run(
        ["npm", "install", "--no-save", "--no-audit", "--no-fund", "--loglevel=error", *wanted],
        cwd=FOLDER,
        capture_output=True,
        text=True,
    )
    if done.returncode != 0:
        raise Unavailable(f"npm install failed: {done.stderr.strip()[-300:]}")
    return modules


def _version(package):
    try:
        return json.loads((package / "package.json").read_text())["version"]
    except FileNotFoundError:
        return None


class NpmGateway(Server):
    """One process of node in front of a server on standard input and output."""

    package = ""

    def __init__(self, words, core):
        """`words`: the server's command."""
        super().__init__(core)
        self.words = [str(word) for word in words]
        self.name = self.package

    def start(self):
        modules = install()
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        program = json.loads((modules / self.package / "package.json").read_text())["bin"]
        script = program if isinstance(program, str) else program[self.package]
        log = open(self.folder / "log", "wb")
        self.process = processes.start(
            [modules / "node" / "bin" / "node", modules / self.package / script, *self.options()],
            self.core,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
        end = time.monotonic() + START_SECONDS
        while True:
            try:
                self.session = mcp_client.open_session(f"127.0.0.1:{self.port}")
                return
            except (OSError, RuntimeError, http.client.HTTPException) as reason:
                if time.monotonic() > end or self.process.poll() is not None:
                    said = (self.folder / "log").read_text(errors="replace")[-500:]
                    raise RuntimeError(f"{self.name} does not serve: {reason}\n{said}") from None
            time.sleep(0.1)

    def options(self):
        raise NotImplementedError

    def load_options(self, *_):
        return ["--target", "mcp", "--connect", f"tcp:127.0.0.1:{self.port}", "--tool", "echo"], ()


class McpProxy(NpmGateway):
    package = "mcp-proxy"

    def options(self):
        where = ["--host", "127.0.0.1", "--port", self.port, "--server", "stream"]
        return [*where, "--", *self.words]


class Supergateway(NpmGateway):
    package = "supergateway"

    def options(self):
        kind = ["--outputTransport", "streamableHttp", "--stateful", "--logLevel", "none"]
        return ["--stdio", " ".join(self.words), *kind, "--port", self.port]
