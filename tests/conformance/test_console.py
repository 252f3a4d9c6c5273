"""`crab console`: its link, the two halves of a session, who is refused, and what is passed on to
the gateway."""

from __future__ import annotations

import json
import os
import re
import subprocess
import tempfile
import threading
from contextlib import closing
from pathlib import Path
from typing import Any, ClassVar
from unittest import mock

from support import rtp
from support.case import GatewayCase
from support.console import Console
from support.device import tool
from support.gateway import Gateway, program
from support.http import Response, request_bytes
from support.stream import Stream
from support.wait import PATIENCE, eventually

STATUS = "api/v1/admin/status"


class ConsoleCase(GatewayCase):
    OPTIONS: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        cls.console = cls.enterClassContext(Console(cls.gateway.admin, *cls.OPTIONS))

    def assert_refused(self, answer: Response, status: int, code: str) -> dict[str, Any]:
        self.assertEqual((answer.status, answer.json()["code"]), (status, code), answer.body)
        return answer.json()


class SignInTest(ConsoleCase):
    def test_a1_the_printed_link_makes_a_session_and_a2_only_once(self) -> None:
        self.console.press_enter()
        answer = self.console.sign_in()
        identity = answer.json()
        self.assertRegex(identity["principal"], r"^local/\d+$")
        self.assertEqual(identity["may"], ["operate", "approve", "chat"])
        self.assertEqual(answer.headers["cache-control"], "no-store")
        self.assertRegex(
            answer.headers["set-cookie"],
            rf"^crab-console-{self.console.port}=[\w-]{{43}}; Path=/console/; HttpOnly; "
            r"SameSite=Strict$",
        )
        shown = self.console.request("GET", "session").json()
        self.assertNotIn("key", shown)
        self.assertEqual(shown["principal"], identity["principal"])
        self.assertEqual(self.console.request("GET", STATUS).json()["version"], shown["version"])
        again = self.console.send("POST", "session", None, {"code": self.console.code})
        self.assertIn("Enter", self.assert_refused(again, 401, "UNAUTHENTICATED")["error"])

    def test_a2_a_wrong_code_says_the_way_on(self) -> None:
        for body in ({"code": "x" * 43}, {"code": 5}, {}, []):
            answer = self.console.send("POST", "session", None, body)
            self.assertIn("Enter", self.assert_refused(answer, 401, "UNAUTHENTICATED")["error"])

    def test_signing_out_ends_the_session(self) -> None:
        self.console.press_enter()
        self.console.sign_in()
        self.assertEqual(self.console.request("DELETE", "session").status, 204)
        self.assert_refused(self.console.request("GET", STATUS), 401, "UNAUTHENTICATED")

    def test_the_words_say_how_long_the_link_is_good(self) -> None:
        self.assertEqual(
            self.console.words,
            "The link works once, within 60 s. Enter makes another; Ctrl-C ends the console and "
            "its sessions.\n",
        )


class TriesTest(ConsoleCase):
    def test_ten_tries_a_minute_and_no_more(self) -> None:
        answers = [self.console.send("POST", "session", None, {"code": "x"}) for _ in range(11)]
        self.assertEqual([answer.status for answer in answers], [401] * 10 + [429])
        self.assertIn("retry-after", answers[-1].headers)


class RefusalTest(ConsoleCase):
    """A4, A5: whatever lacks a half, or comes from elsewhere, gets nothing on any route."""

    ROUTES = (
        ("GET", "session"),
        ("DELETE", "session"),
        ("POST", "session/ticket"),
        ("GET", STATUS),
        ("GET", "api/v1/admin/tools?view=brief"),
        ("POST", "api/v1/admin/reload"),
        ("DELETE", "api/v1/artifacts/x"),
        ("GET", "api/metrics"),
        ("GET", "api/"),
        ("GET", "api/nothing"),
    )

    def setUp(self) -> None:
        self.console.press_enter()
        self.console.sign_in()

    def assert_all_refused(self, headers: dict[str, str], status: int, code: str) -> None:
        for method, path in self.ROUTES:
            answer = self.console.send(method, path, headers)
            self.assertEqual(
                (answer.status, answer.json()["code"]), (status, code), (path, headers)
            )

    def every_route(self) -> list[tuple[str, str]]:
        """What the page can ask the gateway for: all operations of the admin socket."""
        paths = self.gateway.admin_request("GET", "/openapi.json").json()["paths"]
        return [
            (method.upper(), "api" + re.sub(r"\{[^}]*\}", "x", path))
            for path, operations in paths.items()
            for method in operations
            if method in ("get", "post", "put", "patch", "delete")
        ]

    def test_a4_no_route_of_the_gateway_takes_a_half_or_another_origin(self) -> None:
        routes = self.every_route()
        self.assertGreater(len(routes), 100)
        wants = {("POST", "api/v1/admin/reload"), ("DELETE", "api/v1/artifacts/x")}
        self.assertLessEqual(wants, set(routes))
        good = self.console.halves()
        for headers, status in (
            ({"Cookie": self.console.cookie}, 401),
            ({"Crab-Console-Key": self.console.key}, 401),
            ({**good, "Origin": f"http://127.0.0.1:{self.console.port + 1}"}, 403),
            ({**good, "Host": f"rebound.example:{self.console.port}"}, 403),
        ):
            got = {route: self.console.send(*route, headers).status for route in routes}
            self.assertEqual({r: s for r, s in got.items() if s != status}, {}, headers)

    def test_one_half_alone_or_a_wrong_one(self) -> None:
        cookie, key = self.console.cookie, self.console.key
        name = cookie.split("=")[0]
        for headers in (
            {},
            {"Cookie": cookie},
            {"Crab-Console-Key": key},
            {"Cookie": cookie, "Crab-Console-Key": key[:-1]},
            {"Cookie": cookie, "Crab-Console-Key": key + "x"},
            {"Cookie": f"{name}={key}", "Crab-Console-Key": key},
            {"Cookie": f"{name}=x; {cookie}", "Crab-Console-Key": key},
            {"Cookie": cookie, "Authorization": f"Bearer {key}"},
            {"Cookie": f"crab-console-1={cookie.split('=')[1]}", "Crab-Console-Key": key},
        ):
            self.assert_all_refused(headers, 401, "UNAUTHENTICATED")

    def test_halves_of_two_sessions_are_none(self) -> None:
        key = self.console.key
        self.console.press_enter()
        self.console.sign_in()
        self.assert_all_refused(
            {"Cookie": self.console.cookie, "Crab-Console-Key": key}, 401, "UNAUTHENTICATED"
        )

    def test_other_names_origins_and_sites(self) -> None:
        good = self.console.halves()
        port = self.console.port
        for extra in (
            {"Host": "localhost"},
            {"Host": "127.0.0.1"},
            {"Host": f"127.0.0.1:{port + 1}"},
            {"Host": f"rebound.example:{port}"},
            {"Host": f"localhost:{port}"},
            {"Origin": "https://evil.example"},
            {"Origin": f"http://127.0.0.1:{port + 1}"},
            {"Origin": f"https://127.0.0.1:{port}"},
            {"Origin": "null"},
            {"Sec-Fetch-Site": "cross-site"},
            {"Sec-Fetch-Site": "same-site"},
            {"Sec-Fetch-Site": "none"},
        ):
            self.assert_all_refused({**good, **extra}, 403, "FORBIDDEN")
        for extra in ({"Host": "evil.example"}, {"Origin": "https://evil.example"}):
            self.assert_refused(self.console.send("GET", "", extra), 403, "FORBIDDEN")
            code = self.console.send("POST", "session", extra, {"code": "x"})
            self.assert_refused(code, 403, "FORBIDDEN")
        own = {**good, "Origin": self.console.origin, "Sec-Fetch-Site": "same-origin"}
        self.assertEqual(self.console.send("GET", STATUS, own).status, 200)

    def test_a_form_of_another_page_writes_nothing(self) -> None:
        answer = self.console.send(
            "POST",
            "api/v1/admin/tools/check",
            {**self.console.halves(), "Content-Type": "text/plain"},
            b'{"tool":"x"}',
        )
        self.assert_refused(answer, 403, "FORBIDDEN")

    def test_a_body_without_a_session_is_not_read(self) -> None:
        with closing(Stream(("127.0.0.1", self.console.port))) as stream:
            head = request_bytes(
                "POST",
                "/console/api/v1/tools/call",
                {"Content-Type": "application/json", "Content-Length": "10000000"},
                None,
                f"127.0.0.1:{self.console.port}",
            )
            stream.send(head)
            self.assertIn(b" 401 ", stream.read_until(b"\r\n"))

    def test_the_admin_socket_is_not_reached_by_other_paths(self) -> None:
        for path in ("../v1/admin/status", "..%2fv1/admin/status", "api/../../v1/admin/status"):
            self.assertIn(self.console.request("GET", path).status, (400, 404), path)


class PassingOnTest(ConsoleCase):
    def setUp(self) -> None:
        self.console.press_enter()
        self.console.sign_in()

    def test_a_call_reaches_a_device_and_its_answer_comes_back(self) -> None:
        device = self.open()
        name = self.unique("from_console")
        device.register(tool(name))
        device.serve({name: lambda args: {"got": args}})
        body = rtp.call_request(name, {"a": 1})
        answer = self.console.request("POST", "api/v1/tools/call", body)
        self.assertEqual(answer.json()["result"], {"got": {"a": 1}}, answer.body)

    def test_what_only_the_gateway_says_is_passed_on(self) -> None:
        for path, status in (("api/v1/admin/calls/none", 404), ("api/v1/admin/status", 200)):
            answer = self.console.request("GET", path)
            direct = self.gateway.admin_request("GET", path.removeprefix("api"))
            self.assertEqual(answer.status, status)
            self.assertEqual(direct.status, status)
            self.assertEqual(answer.headers["content-type"], direct.headers["content-type"])
            self.assertNotIn("set-cookie", answer.headers)
        self.assertEqual(self.console.request("PUT", "api/v1/admin/status", {}).status, 405)

    def test_an_event_stream_comes_as_it_is_sent(self) -> None:
        stream = self.follow_events()
        device = self.open()
        name = self.unique("told")
        device.register(tool(name))
        device.serve({name: lambda _: {}})
        self.gateway.call(name)
        stream.read_until(b"data:", PATIENCE)

    def test_a_large_answer_comes_whole_and_is_not_held_in_memory(self) -> None:
        device = self.open()
        name = self.unique("large")
        device.register(tool(name))
        device.serve({name: lambda _: {"text": "x" * 7_000_000}})
        body = rtp.call_request(name, {})
        answer = self.console.request("POST", "api/v1/tools/call", body)
        self.assertEqual(len(answer.json()["result"]["text"]), 7_000_000)

    def admin_connections(self) -> int:
        """Of the admin socket, its listener included."""
        return Path("/proc/net/unix").read_text().count(str(self.gateway.admin))

    def follow_events(self) -> Stream:
        """The page's event stream, open."""
        stream = Stream(("127.0.0.1", self.console.port))
        self.addCleanup(stream.close)
        stream.send(
            request_bytes(
                "GET",
                "/console/api/v1/events",
                {**self.console.halves(), "Accept": "text/event-stream"},
                None,
                f"127.0.0.1:{self.console.port}",
            )
        )
        self.assertIn(b"text/event-stream", stream.read_until(b"\r\n\r\n").lower())
        return stream

    def test_a_browser_that_leaves_ends_its_request(self) -> None:
        stream = self.follow_events()
        followed = self.admin_connections()
        stream.close()
        eventually(lambda: self.admin_connections() < followed, "the gateway is told")

    def test_a6_the_session_outlives_a_restart_of_the_gateway(self) -> None:
        with Gateway({}) as gateway, Console(gateway.admin) as console:
            console.sign_in()
            self.assertEqual(console.request("GET", STATUS).status, 200)
            gateway.stop()
            gone = console.request("GET", STATUS)
            self.assert_refused(gone, 503, "DEPENDENCY_UNAVAILABLE")
            gateway.start()
            eventually(lambda: console.request("GET", STATUS).status == 200, "it goes on")


class ReadOnlyTest(ConsoleCase):
    OPTIONS = ("--read-only",)

    def test_a8_nothing_but_get_passes(self) -> None:
        self.assertEqual(self.console.sign_in().json()["may"], [])
        self.assertEqual(self.console.request("GET", STATUS).status, 200)
        for method, path in (
            ("POST", "api/v1/admin/reload"),
            ("POST", "api/v1/tools/call"),
            ("DELETE", "api/v1/artifacts/x"),
            ("PATCH", "api/sessions/x"),
            ("PUT", "api/v1/admin/worktrees/bind"),
        ):
            self.assert_refused(self.console.request(method, path), 403, "FORBIDDEN")


class FilesTest(ConsoleCase):
    def setUp(self) -> None:
        self.page = self.console.send("GET", "")
        if self.page.status == 404 and b"without the console" in self.page.body:
            self.skipTest("built with CRAB_WEB=OFF")

    def test_a16_the_page_comes_with_exactly_these_headers(self) -> None:
        wanted = {
            "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
            "img-src 'self' blob:; media-src blob:; connect-src 'self' "
            f"ws://127.0.0.1:{self.console.port}; manifest-src 'self'; worker-src 'self'; "
            "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
            "require-trusted-types-for 'script'; trusted-types crab-worker",
            "x-content-type-options": "nosniff",
            "referrer-policy": "no-referrer",
            "cross-origin-opener-policy": "same-origin",
            "cross-origin-resource-policy": "same-origin",
            "x-frame-options": "DENY",
            "cache-control": "no-cache",
        }
        for name, value in wanted.items():
            self.assertEqual(self.page.headers[name], value)
        self.assertIn("publickey-credentials-get=(self)", self.page.headers["permissions-policy"])

    def test_files_need_no_session_and_hold_nothing_inline(self) -> None:
        text = self.page.body.decode()
        self.assertNotRegex(text, r"<script(?![^>]*\bsrc=)|\bstyle=|\bon[a-z]+=\"|https?://")
        assets = re.findall(r'"\./(assets/[^"]+)"', text)
        self.assertTrue(assets)
        for name in assets:
            got = self.console.send("GET", name)
            self.assertEqual(got.status, 200)
            self.assertIn("immutable", got.headers["cache-control"])
            known = {"If-None-Match": got.headers["etag"]}
            self.assertEqual(self.console.send("GET", name, known).status, 304)
        self.assertEqual(self.console.send("GET", "nothing.js").status, 404)

    def test_it_can_be_put_on_the_home_screen(self) -> None:
        """Where iPhones have push."""
        name = re.search(r'rel="manifest" href="\./([^"]+)"', self.page.body.decode())
        icon = re.search(r'rel="apple-touch-icon" href="\./([^"]+)"', self.page.body.decode())
        assert name and icon
        got = self.console.send("GET", name[1])
        self.assertEqual(got.headers["content-type"], "application/manifest+json")
        manifest = json.loads(got.body)
        self.assertEqual((manifest["display"], manifest["scope"]), ("standalone", "./"))
        for file in (icon[1], *(it["src"] for it in manifest["icons"])):
            self.assertEqual(self.console.send("GET", file).status, 200, file)


class StartTest(GatewayCase):
    def test_many_silent_connections_keep_nobody_out(self) -> None:
        with Console(self.gateway.admin) as console:
            silent = [Stream(("127.0.0.1", console.port)) for _ in range(300)]
            try:
                console.sign_in()
                self.assertEqual(console.request("GET", STATUS).status, 200)
            finally:
                for stream in silent:
                    stream.close()

    def test_it_ends_with_ctrl_c_and_takes_its_sessions_along(self) -> None:
        console = Console(self.gateway.admin)
        console.sign_in()
        waiting = threading.Thread(target=console.stop)
        waiting.start()
        waiting.join(PATIENCE)
        self.assertFalse(waiting.is_alive())
        with self.assertRaises(OSError):
            console.request("GET", STATUS)

    def test_open_gives_the_browser_a_file_for_its_owner_alone(self) -> None:
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        seen, browser = folder / "seen", folder / "xdg-open"
        browser.write_text(
            "#!/bin/sh\n"
            f'cp -p "$1" {seen}.html\n'
            f'printf "%s\\n" "$@" > {seen}.part && mv {seen}.part {seen}\n'
        )
        browser.chmod(0o755)
        with mock.patch.dict(os.environ, {"PATH": f"{folder}:{os.environ['PATH']}"}):
            console = Console(self.gateway.admin, "--open")
        with console:
            eventually(seen.exists, "the browser was started")
            (argument,) = seen.read_text().splitlines()
            self.assertNotIn(console.code, argument)
            page = Path(f"{seen}.html")
            self.assertEqual(page.stat().st_mode & 0o777, 0o600)
            self.assertIn(f"url={console.page}#in={console.code}", page.read_text())
            self.assertTrue(Path(argument).exists())
        self.assertFalse(Path(argument).exists())

    def test_no_gateway_is_said_at_once(self) -> None:
        done = subprocess.run(
            [program(), "console", "--port", "0", "--socket", str(Path("/nowhere/admin.sock"))],
            capture_output=True,
            text=True,
            timeout=20,
        )
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("/nowhere/admin.sock", done.stderr)
