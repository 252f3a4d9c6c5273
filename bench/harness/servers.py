"""What is measured: each server starts in a folder of its own on free ports and says how the load
reaches it."""

import http.client
import os
import re
import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path

from . import http_client, processes
from .processes import Unavailable

BENCH = Path(__file__).resolve().parents[1]
MISSING = "apt install nginx-light nats-server"


class Server:
    """A context manager: started on entry, ended with its folder on exit. `pid` is the process
    whose CPU is read."""

    name = "server"
    transports = ("tcp",)

    def __init__(self, core=None):
        self.core, self.process, self.folder = core, None, None

    def __enter__(self):
        self.folder = Path(tempfile.mkdtemp(prefix=f"crab-bench-{self.name.replace(' ', '-')}-"))
        try:
            self.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        if self.process:
            processes.stop(self.process)
        shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def pid(self):
        return self.process.pid

    def start(self):
        raise NotImplementedError

    def load_options(self, transport, devices):
        """Options of `bench_load calls` for this server, and descriptors the load inherits."""
        raise NotImplementedError

    def wait_for_tool(self, limit_seconds=20):
        """Polls the Unix socket `callers` until the tool `echo` is listed there."""
        end = time.monotonic() + limit_seconds
        while time.monotonic() < end:
            connection = http_client.UnixConnection(self.callers)
            try:
                status, text = http_client.request(connection, "GET", "/v1/tools")
                if status == 200 and '"echo"' in text:
                    return
            except (OSError, http.client.HTTPException):
                pass
            finally:
                connection.close()
            time.sleep(0.02)
        raise RuntimeError(f"{self.name}: the tool was not listed within {limit_seconds} s")


class Relay(Server):
    """A server with the gateway's wires: callers over TCP and a Unix socket, devices over
    WebSocket."""

    transports = ("tcp", "unix")
    start_seconds = 10
    token = ""

    def connect(self, transport):
        return self.public if transport == "tcp" else f"unix:{self.admin}"

    def load_options(self, transport, devices):
        token = ["--token", self.token] if self.token else []
        return [
            "--target",
            "http",
            "--connect",
            self.connect(transport),
            "--device",
            self.public,
            "--devices",
            devices,
            *token,
        ], ()

    def read_ready_line(self):
        line = processes.line_with(self.process, " ready ", self.start_seconds)
        self.public = "tcp:" + re.search(r"public=(\S+)", line).group(1)
        self.admin = re.search(r"admin=(\S+)", line).group(1)


class Floor(Relay):
    name = "floor"

    def __init__(self, build, core=None):
        super().__init__(core)
        self.program = build.executable("floor_relay")

    def start(self):
        self.spawn()
        self.read_ready_line()

    def spawn(self):
        self.admin = str(self.folder / "admin.sock")
        Path(self.admin).unlink(missing_ok=True)
        self.process = processes.start(
            [self.program, "--socket", self.admin], self.core, stdout=subprocess.PIPE, text=True
        )

    def pair(self, *_):
        return "no-token"


class Gateway(Relay):
    name = "gateway"
    configuration = ""  # beyond gateway.yaml
    tls = False

    def __init__(self, build, core=None, count_allocations=False):
        super().__init__(core)
        if not build.has("crab"):
            raise Unavailable("this commit has no target crab yet")
        self.program = build.executable("crab")
        self.environment = dict(
            os.environ, **({"CRAB_COUNT_ALLOCATIONS": "1"} if count_allocations else {})
        )

    def start(self):
        config = (BENCH / "gateway.yaml").read_text() + self.configuration
        config = config.replace("@TLS@", self.make_certificate() if self.tls else "")
        (self.folder / "gateway.yaml").write_text(config.replace("@FOLDER@", str(self.folder)))
        for name in ("state", "run"):
            (self.folder / name).mkdir(mode=0o700)
        self.spawn()
        try:
            self.read_ready_line()
            self.token = self.pair("bench", "device,caller")
        except (RuntimeError, subprocess.CalledProcessError) as failure:
            raise RuntimeError(
                f"{failure}\n{getattr(failure, 'stderr', '') or self.errors()}"
            ) from None

    def make_certificate(self):
        """What `listen` has of it."""
        folder = self.folder / "tls"
        words = [self.program, "tls", "init", "--dir", folder, "--name", "127.0.0.1"]
        subprocess.run(
            [*words, "--config", "/dev/null"], stdout=subprocess.DEVNULL, check=True, timeout=20
        )
        return f', tls: {{cert: "{folder}/cert.pem", key: "{folder}/key.pem"}}'

    @property
    def callers(self):
        return self.admin

    def spawn(self):
        self.admin = str(self.folder / "run" / "admin.sock")
        with open(self.folder / "stderr", "ab") as errors:
            self.process = processes.start(
                self.command(),
                self.core,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                env=self.environment,
            )

    def command(self):
        return [self.program, "gateway", "run", "--config", self.folder / "gateway.yaml"]

    def errors(self):
        return (self.folder / "stderr").read_text(errors="replace")[-2000:]

    def pair(self, name, roles):
        """A bearer token for a new principal."""
        command = [
            self.program,
            "devices",
            "pair",
            "--socket",
            self.admin,
            "--token",
            "--name",
            name,
            "--role",
            roles,
        ]
        done = subprocess.run(
            [str(word) for word in command], capture_output=True, text=True, check=True, timeout=20
        )
        return done.stdout.split()[-1]


class ToolHost(Server):
    """bench_load as a tool host on a Unix socket, which answers at once."""

    name = "host"

    def __init__(self, program, core=None):
        super().__init__(core)
        self.program = program

    def start(self):
        self.socket = self.callers = str(self.folder / "host.sock")
        self.process = processes.start(
            [self.program, "host", "--listen", f"unix:{self.socket}"],
            self.core,
            stdout=subprocess.PIPE,
            text=True,
        )
        processes.line_with(self.process, "host ready", 10)


class Nats(Server):
    name = "nats"

    def start(self):
        program = shutil.which("nats-server", path=os.environ.get("PATH", "") + ":/usr/sbin")
        if not program:
            raise Unavailable(MISSING)
        # One pinned core makes Go run with GOMAXPROCS=1, so its scheduler does not pay for a second
        # thread.
        command = [
            program,
            "-a",
            "127.0.0.1",
            "-p",
            "-1",
            "--ports_file_dir",
            self.folder,
            "-l",
            self.folder / "log",
        ]
        self.process = processes.start(
            command, self.core, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        ports = self.folder / f"nats-server_{self.pid}.ports"
        for _ in range(500):
            found = re.search(r"nats://([\d.]+:\d+)", ports.read_text() if ports.exists() else "")
            if found:
                self.address = "tcp:" + found.group(1)
                return
            time.sleep(0.01)
        raise RuntimeError("nats-server wrote no port: " + (self.folder / "log").read_text())

    def load_options(self, transport, devices):
        return ["--target", "nats", "--connect", self.address], ()


class Nginx(Server):
    """A plain reverse proxy with keep-alive on both sides, no log, one process; the load is its
    backend too."""

    name = "nginx"
    transports = ("tcp", "unix")

    CONFIG = """
daemon off; master_process off; pid {folder}/pid; error_log {folder}/error.log warn;
events {{ worker_connections 4096; }}
http {{
  access_log off; keepalive_requests 1000000000; tcp_nodelay on;
  client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/f; uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;
  upstream backend {{ server {upstream}; keepalive 512; keepalive_requests 1000000000; }}
  server {{
    {listen}
    location / {{
      proxy_pass http://backend; proxy_http_version 1.1; proxy_set_header Connection "";
    }}
  }}
}}
"""

    def __init__(self, core=None, upstream=None):
        super().__init__(core)
        self.backend, self.upstream = None, upstream

    @property
    def callers(self):
        return f"{self.folder}/nginx.sock"

    def listen_lines(self):
        return f"listen 127.0.0.1:{self.port}; listen unix:{self.callers};"

    def start(self):
        program = shutil.which("nginx", path=os.environ.get("PATH", "") + ":/usr/sbin")
        if not program:
            raise Unavailable(MISSING)
        if not self.upstream:
            self.backend = socket.create_server(
                ("127.0.0.1", 0), backlog=1024
            )  # kept by us, so that nginx finds it in every run
            self.backend.setblocking(False)
            self.upstream = f"127.0.0.1:{self.backend.getsockname()[1]}"
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        config = self.folder / "nginx.conf"
        config.write_text(
            self.CONFIG.format(
                folder=self.folder, upstream=self.upstream, listen=self.listen_lines()
            )
        )
        self.process = processes.start(
            [program, "-c", config, "-p", self.folder], self.core, stderr=subprocess.DEVNULL
        )
        for _ in range(500):
            with socket.socket(socket.AF_INET) as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            if self.process.poll() is not None:
                break
            time.sleep(0.01)
        raise RuntimeError("nginx did not start: " + (self.folder / "error.log").read_text())

    def __exit__(self, *_):
        super().__exit__()
        if self.backend:
            self.backend.close()

    def load_options(self, transport, devices):
        to = f"tcp:127.0.0.1:{self.port}" if transport == "tcp" else f"unix:{self.callers}"
        return ["--target", "http", "--connect", to, "--backend-fd", self.backend.fileno()], (
            self.backend.fileno(),
        )


def relay_server(kind, build, **options):
    """The server that idle, cold and soak run on: the gateway, or the floor to try the harness
    itself."""
    return Gateway(build, **options) if kind == "gateway" else Floor(build, **options)


def wait_until_healthy(server, poll_seconds=0.0005, limit_seconds=10):
    """Polls GET /healthz on the Unix socket until it answers 200."""
    end = time.monotonic() + limit_seconds
    while time.monotonic() < end:
        connection = http_client.UnixConnection(server.admin)
        try:
            if http_client.request(connection, "GET", "/healthz")[0] == 200:
                return
        except (OSError, http.client.HTTPException):
            pass
        finally:
            connection.close()
        if server.process.poll() is not None:
            raise RuntimeError(
                f"{server.name} ended with status {server.process.returncode} while starting"
            )
        time.sleep(poll_seconds)
    raise RuntimeError(f"{server.name} was not healthy within {limit_seconds} s")
