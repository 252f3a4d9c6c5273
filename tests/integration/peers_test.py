"""curl, Node and Chromium as peers: what they send and expect was decided elsewhere."""

from __future__ import annotations

import contextlib
import http.server
import json
import os
import queue
import shutil
import subprocess
import tempfile
import threading
import unittest
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from support.case import GatewayCase
from support.device import tool
from support.gateway import Gateway
from support.rtp import call_request

PEERS = Path(__file__).parent / "peers"
SECONDS = 20  #: for one run of a program; only a failing test takes as long


def found(*names: str) -> str | None:
    """The first of these programs that is installed."""
    return next(filter(None, map(shutil.which, names)), None)


CURL = found("curl")
NODE = found("node", "nodejs")
CHROMIUM = os.environ.get("CRAB_CHROMIUM") or found(
    "chromium", "chromium-browser", "google-chrome", "chrome"
)


def node_arguments() -> list[str] | None:
    """How to start Node with a WebSocket of its own: 22 has one, later 20s have it behind an
    option, others have none."""
    for options in ([], ["--experimental-websocket"]):
        if (
            NODE
            and subprocess.run(
                [NODE, *options, "-e", "WebSocket"], capture_output=True, timeout=SECONDS
            ).returncode
            == 0
        ):
            return [NODE, *options]
    return None


NODE_WITH_WEBSOCKET = node_arguments()


@unittest.skipUnless(CURL, "curl is not installed")
class CurlTest(GatewayCase):
    CONFIG = {"limits": {"request_body_bytes": 1 << 20}}

    def curl(self, *words: str, path: str = "/health", stdin: bytes = b"") -> tuple[str, list[str]]:
        """What curl wrote (response heads included), and its variables: status, protocol, new
        connections."""
        host, port = self.gateway.public
        done = subprocess.run(
            [
                CURL,
                "-sS",
                "-i",
                "--max-time",
                str(SECONDS),
                "-w",
                "\n%{http_code} %{http_version} %{num_connects}",
                *words,
                f"http://{host}:{port}{path}",
            ],
            input=stdin,
            capture_output=True,
            timeout=2 * SECONDS,
        )
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        text, _, last = done.stdout.decode().rpartition("\n")
        return text, last.split()

    def call(self, request: bytes, *words: str) -> tuple[str, list[str]]:
        """POST /v1/tools/call; the body comes from curl's standard input, so its length is unknown
        unless it is buffered."""
        return self.curl(
            "-X",
            "POST",
            "-H",
            f"Authorization: Bearer {self.gateway.caller_token()}",
            "-H",
            "Content-Type: application/json",
            *words,
            path="/v1/tools/call",
            stdin=request,
        )

    def echo_tool(self) -> str:
        name = self.gateway.unique("echo")
        device = self.open()
        device.register(tool(name))
        device.serve({name: lambda args: args})
        return name

    def test_several_requests_share_a_connection(self) -> None:
        host, port = self.gateway.public
        text, last = self.curl(f"http://{host}:{port}/health", f"http://{host}:{port}/nowhere")
        self.assertEqual(last, ["200", "1.1", "0"])  # the third needed no new connection
        self.assertEqual(text.count("HTTP/1.1 "), 3)
        self.assertEqual(text.lower().count("\ndate: "), 3)

    def test_an_answer_to_head_has_a_length_and_no_body(self) -> None:
        host, port = self.gateway.public
        text, last = self.curl("-I", f"http://{host}:{port}/health")
        self.assertEqual(text.lower().count("content-length: "), 2)
        self.assertTrue(text.endswith("\r\n\r\n"), text)
        self.assertEqual(
            last[2], "0"
        )  # both answers ended where curl thought, so the connection was kept

    def test_http_1_0_is_answered_and_closed_or_kept_as_asked(self) -> None:
        text, last = self.curl("--http1.0")
        self.assertEqual(last[0], "200")
        self.assertIn("connection: close", text.lower())
        host, port = self.gateway.public
        _, last = self.curl(
            "--http1.0", "-H", "Connection: keep-alive", f"http://{host}:{port}/health"
        )
        self.assertEqual(last[2], "0")

    def test_chunked_uploads_are_understood(self) -> None:
        request = json.dumps(call_request(self.echo_tool(), {"blob": "b" * 300_000})).encode()
        text, last = self.call(
            request, "-H", "Transfer-Encoding: chunked", "-H", "Expect:", "-T", "-"
        )
        self.assertEqual(last[0], "200", text[:500])
        self.assertIn('"status":"ok"', text)

    def test_an_upload_waits_for_100_continue_and_is_spared_when_it_is_too_large(self) -> None:
        request = json.dumps(call_request(self.echo_tool(), {"blob": "b" * 200_000})).encode()
        text, last = self.call(
            request,
            "-H",
            "Expect: 100-continue",
            "--expect100-timeout",
            str(SECONDS),
            "--data-binary",
            "@-",
        )
        self.assertTrue(text.startswith("HTTP/1.1 100 "), text[:200])
        self.assertEqual(last[0], "200")
        text, last = self.call(
            b"x" * (1 << 21),
            "-H",
            "Expect: 100-continue",
            "--expect100-timeout",
            str(SECONDS),
            "--data-binary",
            "@-",
        )
        self.assertTrue(text.startswith("HTTP/1.1 413 "), text[:200])


def report_of(process: subprocess.Popen[str]) -> dict[str, Any]:
    out, errors = process.communicate(timeout=SECONDS)
    assert process.returncode == 0, errors
    return json.loads(out)


class DeviceCase(GatewayCase):
    def converse(self, name: str) -> None:
        """Three calls of the peer's tool; it leaves after the last."""
        self.gateway.wait_listed(name)
        for args in ({"text": "Grüße, 世界 \U0001f30d"}, {"blob": "b" * 400_000}, {"last": True}):
            self.assertEqual(self.gateway.call(name, args).result, args)
        self.gateway.wait_gone(name)

    def check(self, report: dict[str, Any]) -> None:
        self.assertEqual(report["protocol"], "clawseed.v1")
        self.assertEqual(report["extensions"], "")
        self.assertEqual(report["types"][:3], ["session_start", "connected", "tools_registered"])
        self.assertEqual((report["calls"], report["code"], report["clean"]), (3, 1000, True))


@unittest.skipUnless(
    NODE_WITH_WEBSOCKET, "no Node with a WebSocket of its own (22, or a late 20) is installed"
)
class NodeTest(DeviceCase):
    def test_a_device_with_the_websocket_of_node_is_served(self) -> None:
        name = self.gateway.unique("node")
        host, port = self.gateway.public
        program = (
            f"import {{serve}} from {json.dumps((PEERS / 'device.mjs').as_uri())}; "
            f"console.log(JSON.stringify(await serve(...process.argv.slice(1))))"
        )
        with subprocess.Popen(
            [
                *NODE_WITH_WEBSOCKET,
                "--input-type=module",
                "-e",
                program,
                f"ws://{host}:{port}/ws/chat",
                self.new_token(),
                name,
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            try:
                self.converse(name)
                self.check(report_of(process))
            finally:
                process.kill()


class PageServer(http.server.ThreadingHTTPServer):
    """Gives out the page with its script, and keeps what the page reports."""

    def __init__(self, page: str) -> None:
        super().__init__(("127.0.0.1", 0), PageHandler)
        self.page, self.reports = page, queue.Queue[dict[str, Any]]()
        self.origin = f"http://127.0.0.1:{self.server_port}"


class PageHandler(http.server.BaseHTTPRequestHandler):
    server: PageServer

    def do_GET(self) -> None:
        script = self.path == "/device.mjs"
        body = (PEERS / "device.mjs").read_bytes() if script else self.server.page.encode()
        self.answer(body, "text/javascript" if script else "text/html")

    def do_POST(self) -> None:
        self.server.reports.put(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.answer(b"", "text/plain")

    def answer(self, body: bytes, kind: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@unittest.skipUnless(CHROMIUM, "Chromium is not installed")
class ChromiumTest(unittest.TestCase):
    """Each test has a gateway of its own, because what it allows is the origin of the test's
    page."""

    @contextlib.contextmanager
    def pages(self) -> Iterator[PageServer]:
        server = PageServer("")
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield server
        finally:
            server.shutdown()
            server.server_close()

    @contextlib.contextmanager
    def browser(self, url: str) -> Iterator[None]:
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
            process = subprocess.Popen(
                [
                    CHROMIUM,
                    "--headless=new",
                    "--no-sandbox",
                    "--disable-gpu",
                    "--disable-dev-shm-usage",
                    "--no-first-run",
                    f"--user-data-dir={profile}",
                    url,
                ],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            try:
                yield
            finally:
                process.terminate()
                process.wait(SECONDS)

    @staticmethod
    def page(gateway: Gateway, token: str, name: str) -> str:
        host, port = gateway.public
        arguments = json.dumps([f"ws://{host}:{port}/ws/chat", token, name])
        return (
            "<!doctype html><script type=module>import {serve} from '/device.mjs';"
            f"fetch('/report', {{method: 'POST', body: JSON.stringify(await "
            f"serve(...{arguments}))}});</script>"
        )

    def test_a_page_of_an_allowed_origin_is_a_device(self) -> None:
        with self.pages() as pages, Gateway(
            {"listen": {"allowed_origins": [pages.origin]}}
        ) as gateway:
            name = gateway.unique("page")
            pages.page = self.page(gateway, gateway.pair(name), name)
            with self.browser(pages.origin):
                case = DeviceCase()
                case.gateway = gateway
                case.converse(name)
                case.check(pages.reports.get(timeout=SECONDS))

    def test_a_page_of_another_origin_is_refused(self) -> None:
        with self.pages() as pages, Gateway(
            {"listen": {"allowed_origins": ["https://app.example"]}}
        ) as gateway:
            pages.page = self.page(gateway, gateway.pair("page"), "never")
            with self.browser(pages.origin):
                report = pages.reports.get(timeout=SECONDS)
        self.assertEqual((report["protocol"], report["code"], report["types"]), (None, 1006, []))


if __name__ == "__main__":
    unittest.main()
