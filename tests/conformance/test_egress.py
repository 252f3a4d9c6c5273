"""docs/protocols/sw4rm.md, section 10, "Proxy": what a command reaches under EGRESS_RESTRICTED,
tried from inside its sandbox."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import sqlite3
import subprocess
import tempfile
import threading
import unittest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from support.case import GatewayCase
from support.gateway import program
from support.wait import PATIENCE, eventually
from test_commands import can_sandbox, limits_memory, perl, processes_of, shell

_OPEN = {"defaults": {"privilege": "DEFAULT", "network": "EGRESS_RESTRICTED", "timeout": "30s"}}


class Server(ThreadingHTTPServer):
    """An HTTP server on the host's loopback that remembers its requests."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, str, dict[str, str]]] = []
        super().__init__(("127.0.0.1", 0), _Handler)
        self.port = self.server_address[1]
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def close(self) -> None:
        self.shutdown()
        self.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self._answer(
            b"x" * int(self.path.rpartition("=")[2])
            if "size=" in self.path
            else b"hello from outside"
        )

    def do_POST(self) -> None:
        self._answer(str(len(self.rfile.read(int(self.headers["Content-Length"])))).encode())

    def _answer(self, body: bytes) -> None:
        self.server.seen.append(
            (self.command, self.path, {name.lower(): value for name, value in self.headers.items()})
        )
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


def talk(port: int, request: bytes, then: str = "") -> str:
    """Perl that sends `request` to a port of its own loopback and prints what comes back; `no` when
    nobody listens there."""
    return (
        f"use Socket; socket(S, PF_INET, SOCK_STREAM, 0) or die; connect(S, sockaddr_in({port}, "
        f"INADDR_LOOPBACK)) or do {{ print 'no'; exit }};"
        f"syswrite(S, pack('H*', '{request.hex()}')); {then} while (sysread(S, $b, 65536)) {{ "
        f"print $b }}"
    )


@unittest.skipUnless(can_sandbox(), "commands cannot be confined here under DEFAULT")
class EgressTest(GatewayCase):
    @classmethod
    def setUpClass(cls) -> None:
        if not limits_memory():
            raise unittest.SkipTest("no control group limits memory here, so no network is offered")
        cls.server, cls.unlisted = Server(), Server()
        cls.addClassCleanup(cls.server.close)
        cls.addClassCleanup(cls.unlisted.close)
        cls.sink = socket.create_server(("127.0.0.1", 0))
        cls.addClassCleanup(cls.sink.close)
        sink_port = cls.sink.getsockname()[1]
        listed = [
            f"127.0.0.1:{cls.server.port}",
            f"localhost:{cls.server.port}",
            f"localhost:{cls.unlisted.port}",
            f"127.0.0.1:{sink_port}",
            "nobody.invalid:80",
            "127.0.0.1:1",
        ]
        cls.CONFIG = {
            "providers": [
                {
                    "id": "outward",
                    "kind": "command",
                    "egress": listed,
                    "tools": [
                        perl("out", **_OPEN),
                        shell("env_out", **_OPEN),
                        perl("shut", defaults={"privilege": "DEFAULT"}),
                    ],
                },
                {
                    "id": "inward",
                    "kind": "command",
                    "tools": [perl("empty", **_OPEN), shell("env_empty", **_OPEN)],
                },
            ]
        }
        super().setUpClass()

    def send(self, request: str, tool: str = "out", port: int = 3128) -> str:
        return self.gateway.call(
            tool, {"script": talk(port, request.replace("\n", "\r\n").encode())}, timeout=40
        ).result["text"]

    def get(self, url: str, tool: str = "out") -> str:
        host = url.split("/")[2]
        return self.send(
            f"GET {url} HTTP/1.1\nHost: {host}\nProxy-Connection: "
            f"keep-alive\nProxy-Authorization: Basic eDp5\nX-Own: 1\n\n",
            tool,
        )

    def tunnel(self, where: str, request: str = "") -> str:
        return self.send(f"CONNECT {where} HTTP/1.1\nHost: {where}\n\n{request}")

    def audited(self) -> list[dict[str, Any]]:
        with contextlib.closing(
            sqlite3.connect(f"file:{self.gateway.folder}/state/audit.db?mode=ro", uri=True)
        ) as database:
            tables = [
                name
                for (name,) in database.execute(
                    "select name from sqlite_master where type = 'table'"
                )
            ]
            texts = [
                value
                for table in tables
                for row in database.execute(f"select * from {table}")
                for value in row
            ]
        lines = [
            line
            for text in texts
            if isinstance(text, (str, bytes))
            for line in (
                text if isinstance(text, str) else text.decode(errors="replace")
            ).splitlines()
        ]
        return [
            json.loads(line) for line in lines if line.startswith("{") and "egress.refused" in line
        ]

    def test_sw4rm_31_a_listed_address_is_reached_by_absolute_form(self) -> None:
        answer = self.get(f"http://127.0.0.1:{self.server.port}/a?b=c")
        self.assertTrue(
            answer.startswith("HTTP/1.1 200") and answer.endswith("hello from outside"), answer
        )
        method, path, headers = self.server.seen[-1]
        self.assertEqual(
            (method, path, headers["host"]), ("GET", "/a?b=c", f"127.0.0.1:{self.server.port}")
        )
        self.assertEqual((headers["x-own"], headers["connection"]), ("1", "close"))
        self.assertFalse({"proxy-connection", "proxy-authorization"} & headers.keys())

    def test_sw4rm_31_a_listed_address_is_reached_by_connect(self) -> None:
        answer = self.tunnel(
            f"127.0.0.1:{self.server.port}",
            "GET /deep HTTP/1.1\nHost: whatever\nConnection: close\n\n",
        )
        self.assertTrue(answer.startswith("HTTP/1.1 200 Connection established"), answer)
        self.assertTrue(answer.endswith("hello from outside"), answer)

    def test_the_proxy_resolves_names_itself(self) -> None:
        self.assertIn("hello from outside", self.get(f"http://localhost:{self.server.port}/"))

    def test_sw4rm_31_what_is_not_listed_is_403_and_audited(self) -> None:
        for answer in (
            self.get(f"http://127.0.0.1:{self.unlisted.port}/"),
            self.tunnel(f"127.0.0.1:{self.unlisted.port}"),
            self.tunnel("example.org:443"),
        ):
            self.assertTrue(answer.startswith("HTTP/1.1 403"), answer)
        self.assertEqual(self.unlisted.seen, [])
        call_id = self.unique("refused")
        self.gateway.call(
            "out",
            {
                "script": talk(
                    3128, b"CONNECT one.example:443 HTTP/1.1\r\nHost: one.example:443\r\n\r\n"
                )
            },
            call_id=call_id,
        )
        eventually(
            lambda: any(record["call_id"] == call_id for record in self.audited()),
            "the refusal is in the audit log",
        )
        record = next(record for record in self.audited() if record["call_id"] == call_id)
        self.assertEqual(
            (record["target"], record["provider"], record["tool"]),
            ("one.example:443", "outward", "out"),
        )

    def test_sw4rm_32_a_listed_name_with_a_private_address_is_refused(self) -> None:
        for answer in (
            self.get(f"http://localhost:{self.unlisted.port}/"),
            self.tunnel(f"localhost:{self.unlisted.port}"),
        ):
            self.assertTrue(answer.startswith("HTTP/1.1 403"), answer)
            self.assertIn("private", answer)
        self.assertEqual(self.unlisted.seen, [])

    def test_sw4rm_32_nothing_goes_past_the_proxy(self) -> None:
        self.assertEqual(self.send("GET / HTTP/1.0\n\n", port=self.server.port), "no")
        host, port = self.gateway.public
        self.assertEqual(self.send("GET /healthz HTTP/1.0\n\n", port=port), "no")
        script = (
            "use Socket; socket(S, PF_INET, SOCK_DGRAM, 0) or die; print defined(send(S, "
            "'x', 0, sockaddr_in(53, inet_aton('8.8.8.8')))) ? 'yes' : 'no'"
        )
        self.assertEqual(self.gateway.call("out", {"script": script}).result["text"], "no")

    def test_the_gateway_itself_is_not_reached_through_the_proxy(self) -> None:
        _, port = self.gateway.public
        for where in (
            f"127.0.0.1:{port}",
            f"127.1:{port}",
            f"[::1]:{port}",
            f"[::ffff:127.0.0.1]:{port}",
            f"0.0.0.0:{port}",
            f"localhost:{port}",
        ):
            self.assertTrue(self.tunnel(where).startswith("HTTP/1.1 40"), where)

    def test_an_empty_list_is_no_way_out_and_deny_all_neither(self) -> None:
        for tool in ("empty", "shut"):
            self.assertEqual(self.send("GET http://127.0.0.1/ HTTP/1.1\n\n", tool), "no", tool)
        self.assertNotIn(
            "proxy", self.gateway.call("env_empty", {"script": "env"}).result["text"].lower()
        )

    def test_the_environment_names_the_proxy(self) -> None:
        lines = dict(
            line.split("=", 1)
            for line in self.gateway.call("env_out", {"script": "env"}).result["text"].splitlines()
        )
        for name in (
            "HTTP_PROXY",
            "HTTPS_PROXY",
            "ALL_PROXY",
            "http_proxy",
            "https_proxy",
            "all_proxy",
        ):
            self.assertEqual(lines[name], "http://127.0.0.1:3128")

    def test_where_nobody_answers_is_502(self) -> None:
        self.assertTrue(self.tunnel("127.0.0.1:1").startswith("HTTP/1.1 502"))
        self.assertTrue(self.get("http://nobody.invalid/").startswith("HTTP/1.1 502"))

    def test_what_is_no_proxy_request_is_refused(self) -> None:
        for request in (
            "GET / HTTP/1.1\nHost: x\n\n",
            "CONNECT /x HTTP/1.1\nHost: x\n\n",
            "CONNECT x HTTP/1.1\nHost: x\n\n",
            "GET https://x/ HTTP/1.1\nHost: x\n\n",
            "nonsense\n\n",
            f"GET http://127.0.0.1:{self.server.port}/ HTTP/1.1\nHost: other.example\n\n",
            "GET http://u:p@x/ HTTP/1.1\nHost: x\n\n",
        ):
            self.assertTrue(self.send(request).startswith("HTTP/1.1 40"), request)

    def test_much_goes_through_in_both_directions(self) -> None:
        size = 30_000_000
        script = talk(
            3128,
            f"GET http://127.0.0.1:{self.server.port}/?size={size} HTTP/1.1\r\nHost: "
            f"127.0.0.1:{self.server.port}\r\n\r\n".encode(),
        )
        counted = script.replace("{ print $b }", "{ $n += length $b } print $n")
        self.assertGreater(
            int(self.gateway.call("out", {"script": counted}, timeout=40).result["text"]), size
        )
        head = (
            f"CONNECT 127.0.0.1:{self.server.port} HTTP/1.1\r\nHost: "
            f"127.0.0.1:{self.server.port}\r\n\r\nPOST /x HTTP/1.1\r\nHost: h\r\nConnection: "
            f"close\r\nContent-Length: {size}\r\n\r\n"
        )
        body = (
            f"$left = {size}; $part = 'y' x 65536; while ($left > 0) {{ $n = syswrite(S, "
            f"$part, $left < 65536 ? $left : 65536); last unless $n; $left -= $n }}"
        )
        self.assertTrue(
            self.gateway.call("out", {"script": talk(3128, head.encode(), body)}, timeout=40)
            .result["text"]
            .endswith(str(size))
        )

    def test_one_side_may_end_before_the_other_answers(self) -> None:
        answered = []

        def serve() -> None:
            link, _ = self.sink.accept()
            with link:
                link.settimeout(PATIENCE)
                data = b""
                while part := link.recv(65536):
                    data += part
                link.sendall(b"you said " + data)
            answered.append(data)

        thread = threading.Thread(target=serve)
        thread.start()
        where = f"127.0.0.1:{self.sink.getsockname()[1]}"
        script = talk(
            3128,
            f"CONNECT {where} HTTP/1.1\r\nHost: {where}\r\n\r\nlast words".encode(),
            "shutdown(S, 1);",
        )
        self.assertTrue(
            self.gateway.call("out", {"script": script}, timeout=40)
            .result["text"]
            .endswith("you said last words")
        )
        thread.join(PATIENCE)
        self.assertEqual(answered, [b"last words"])

    def test_connections_end_with_their_command(self) -> None:
        where = f"127.0.0.1:{self.sink.getsockname()[1]}"
        script = talk(
            3128,
            f"CONNECT {where} HTTP/1.1\r\nHost: {where}\r\n\r\n".encode(),
            "sysread(S, $b, 100); exit 0;",
        )
        before = self.gateway.open_files()
        self.gateway.call("out", {"script": script})
        self.sink.settimeout(PATIENCE)
        link, _ = self.sink.accept()
        with link:
            link.settimeout(PATIENCE)
            self.assertEqual(link.recv(1), b"")
        eventually(lambda: self.gateway.open_files() <= before, "no descriptor is left")

    def test_a_wrong_egress_list_stops_the_start(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "gateway.yaml"
            file.write_text(
                json.dumps(
                    {
                        "providers": [
                            {"id": "p", "kind": "command", "egress": ["example.org"], "tools": []}
                        ]
                    }
                )
            )
            done = subprocess.run(
                [program(), "gateway", "check", "--config", str(file)],
                capture_output=True,
                text=True,
                timeout=20,
            )
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("egress: example.org", done.stdout + done.stderr)


def own_address() -> str | None:
    """An address of this machine that is not loopback."""
    with contextlib.suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect(("198.51.100.1", 9))  # sends nothing
        address = probe.getsockname()[0]
        return None if address.startswith("127.") else address
    return None


@unittest.skipUnless(
    can_sandbox() and shutil.which("slirp4netns") and os.access("/dev/net/tun", os.R_OK | os.W_OK),
    "slirp4netns is not usable here",
)
class UnrestrictedTest(GatewayCase):
    @classmethod
    def setUpClass(cls) -> None:
        if not limits_memory():
            raise unittest.SkipTest("no control group limits memory here, so no network is offered")
        anywhere = {
            "defaults": {"privilege": "DEFAULT", "network": "EGRESS_UNRESTRICTED", "timeout": "30s"}
        }
        cls.CONFIG = {
            "providers": [
                {
                    "id": "outward",
                    "kind": "command",
                    "tools": [
                        perl("out", **anywhere, idempotent=True),
                        shell("do", **anywhere, idempotent=True),
                    ],
                }
            ]
        }
        super().setUpClass()

    def connect(self, address: str, port: int) -> str:
        script = (
            f"use Socket; socket(S, PF_INET, SOCK_STREAM, 0) or die; connect(S, "
            f"sockaddr_in({port}, inet_aton('{address}'))) or do {{ print 'no'; exit }};"
            "while (sysread(S, $b, 65536)) { print $b }"
        )
        return self.gateway.call("out", {"script": script}, timeout=40).result["text"]

    @unittest.skipUnless(own_address(), "this machine has no address but loopback")
    def test_sw4rm_33_it_connects_out_and_not_to_the_hosts_loopback(self) -> None:
        with socket.create_server((own_address(), 0)) as outside, socket.create_server(
            ("127.0.0.1", 0)
        ) as loopback:
            outside.settimeout(PATIENCE)

            def greet() -> None:
                link, _ = outside.accept()
                with link:
                    link.sendall(b"good day")

            thread = threading.Thread(target=greet)
            thread.start()
            self.assertEqual(self.connect(own_address(), outside.getsockname()[1]), "good day")
            thread.join(PATIENCE)
            for address in (
                "127.0.0.1",
                "10.0.2.2",
            ):  # the second is what slirp4netns calls the host
                self.assertEqual(self.connect(address, loopback.getsockname()[1]), "no", address)

    @unittest.skipUnless(own_address(), "this machine has no address but loopback")
    def test_sw4rm_33_nobody_connects_in(self) -> None:
        with socket.create_server((own_address(), 0)) as meeting:
            meeting.settimeout(PATIENCE)
            port = meeting.getsockname()[1]
            script = (
                f"use Socket; socket(L, PF_INET, SOCK_STREAM, 0) or die; bind(L, "
                f"sockaddr_in({port + 1 if port < 65535 else 1025}, INADDR_ANY)) or die; listen(L,"
                f" 1) or die;"
                f"socket(S, PF_INET, SOCK_STREAM, 0) or die; connect(S, sockaddr_in({port}, "
                f"inet_aton('{own_address()}'))) or die; sysread(S, $b, 1); print 'done'"
            )
            call = self.gateway.start_call("out", {"script": script}, timeout=40)
            link, _ = meeting.accept()
            with link:
                for address in (own_address(), "127.0.0.1"):
                    with self.assertRaises(OSError), socket.create_connection(
                        (address, port + 1 if port < 65535 else 1025), 2
                    ):
                        pass
                link.sendall(b"x")
                self.assertEqual(call.result(20).result["text"], "done")

    def test_its_network_ends_with_it(self) -> None:
        marker = self.unique("network")
        call = self.gateway.start_call(
            "do", {"script": f": {marker}; sleep 3; cat /etc/resolv.conf"}, timeout=40
        )
        eventually(lambda: processes_of("slirp4netns"), "its network is up")
        self.assertEqual(call.result(30).result["text"], "nameserver 10.0.2.3\n")
        eventually(lambda: not self.children("slirp4netns"), "its network is gone")

    def children(self, name: str) -> list[int]:
        tasks = Path(f"/proc/{self.gateway.process.pid}/task")
        pids = [
            int(pid) for task in tasks.iterdir() for pid in (task / "children").read_text().split()
        ]
        return [pid for pid in pids if pid in processes_of(name)]
