"""Web Push: browsers that are told of calls that wait for a person, through a push service on this
machine. What comes, who has sent it, what it does not say, and where nothing is sent."""

from __future__ import annotations

import json
import queue
import socket
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from support.case import GatewayCase
from support.device import Device, tool
from support.gateway import Gateway
from support.http import Response
from support.rtp import call_request
from support.push_service import PushService, SubscribedBrowser
from support.wait import eventually
from test_console_door import Browser, DoorCase

POLICY = [{"principal": "*", "call": {"needs_approval": ["sms*"]}}]
SUBSCRIPTIONS = "/v1/admin/push/subscriptions"


class PushCase(GatewayCase):
    """The gateway of a class asks the push service of that class."""

    service: PushService

    @classmethod
    def setUpClass(cls) -> None:
        cls.service = cls.enterClassContext(PushService())
        cls.CONFIG = {"policy": POLICY, "push": {"services": [cls.service.origin]}}
        super().setUpClass()
        cls.key = cls.gateway.admin_request("GET", "/v1/admin/push/key").json()["key"]

    def setUp(self) -> None:
        self.service.status = 201
        self.sms = self.unique("sms")
        self.phone = self.open()
        self.phone.register(tool(self.sms))

    def subscribe(self, browser: SubscribedBrowser) -> str:
        answer = self.gateway.admin_request("POST", SUBSCRIPTIONS, browser.subscription())
        self.assertEqual(answer.status, 201, answer.body)
        self.addCleanup(self.unsubscribe, answer.json()["id"])
        return answer.json()["id"]

    def unsubscribe(self, id: str) -> Response:
        return self.gateway.admin_request("DELETE", f"{SUBSCRIPTIONS}/{id}")

    def subscribed(self) -> list[str]:
        answer = self.gateway.admin_request("GET", SUBSCRIPTIONS)
        return [it["id"] for it in answer.json()["subscriptions"]]

    def metric(self, name: str) -> float:
        page = self.gateway.admin_request("GET", "/metrics").body.decode()
        return float(next(it.split()[-1] for it in page.splitlines() if it.startswith(name + " ")))

    def state_of(self, answer: Any) -> str:
        return answer.error["details"]["approval"]


class TellTest(PushCase):
    def test_a50_a_subscriber_lets_a_call_wait_and_is_told_who_calls_what(self) -> None:
        self.assertEqual(self.state_of(self.gateway.call(self.sms)), "unattended")
        browser = SubscribedBrowser(self.service)
        self.subscribe(browser)
        eventually(lambda: self.waits() == 1, "somebody can be asked")
        running = self.gateway.start_call(self.sms, {"text": "a secret"})
        told = browser.receive(self.key)
        headers = told.pop(":headers")
        self.assertEqual(headers["urgency"], "high")
        self.assertEqual(headers["topic"], told["id"])
        self.assertGreater(int(headers["ttl"]), 0)
        self.assertEqual(told["kind"], "approval")
        self.assertEqual((told["who"], told["tool"]), ("caller/tester", f"{self.slug}__{self.sms}"))
        self.assertEqual(set(told), {"kind", "id", "who", "agent", "tool", "until"})
        answer = self.gateway.admin_request(
            "POST", f"/v1/admin/approvals/{told['id']}", {"decision": "allow"}
        )
        self.assertEqual(answer.status, 200, answer.body)
        self.phone.answer(self.phone.next_call(self.sms), "sent")
        self.assertEqual(running.result(20).result, {"text": "sent"})

    def waits(self) -> float:
        return self.metric("crab_push_subscriptions")

    def test_a25_no_argument_leaves_the_gateway(self) -> None:
        browser = SubscribedBrowser(self.service)
        self.subscribe(browser)
        running = self.gateway.start_call(self.sms, {"text": "a secret"})
        told = browser.receive(self.key)
        self.assertNotIn("a secret", json.dumps(told))
        self.gateway.admin_request(
            "POST", f"/v1/admin/approvals/{told['id']}", {"decision": "deny"}
        )
        self.assertEqual(self.state_of(running.result(20)), "denied")

    def test_a_test_message_comes_and_one_of_somebody_else_does_not(self) -> None:
        browser = SubscribedBrowser(self.service)
        id = self.subscribe(browser)
        answer = self.gateway.admin_request("POST", f"{SUBSCRIPTIONS}/{id}/test", {})
        self.assertEqual(answer.status, 202, answer.body)
        self.assertEqual(browser.receive(self.key)["kind"], "test")
        missing = self.gateway.admin_request("POST", f"{SUBSCRIPTIONS}/0/test", {})
        self.assertEqual(missing.status, 404)

    def test_one_that_its_service_no_longer_knows_is_forgotten(self) -> None:
        for status in (404, 410):
            browser = SubscribedBrowser(self.service)
            id = self.subscribe(browser)
            self.service.status = status
            self.gateway.admin_request("POST", f"{SUBSCRIPTIONS}/{id}/test", {})
            browser.receive(self.key)
            eventually(lambda id=id: id not in self.subscribed(), "it is gone")
        eventually(
            lambda: self.state_of(self.gateway.call(self.sms)) == "unattended", "nobody is asked"
        )

    def test_refusals_and_redirects_are_counted_and_end_nothing(self) -> None:
        browser = SubscribedBrowser(self.service)
        id = self.subscribe(browser)
        failed = self.metric('crab_push_messages_total{result="failed"}')
        for i, status in enumerate((500, 302), start=1):
            self.service.status = status
            self.gateway.admin_request("POST", f"{SUBSCRIPTIONS}/{id}/test", {})
            browser.receive(self.key)
            eventually(
                lambda i=i: self.metric('crab_push_messages_total{result="failed"}') == failed + i,
                "it is counted",
            )
        self.assertIn(id, self.subscribed())
        with self.assertRaises(queue.Empty):  # the redirect was not followed
            self.service.messages.get_nowait()

    def test_the_address_of_a_browser_is_told_to_nobody(self) -> None:
        """Whoever knows it can have its push service work."""
        browser = SubscribedBrowser(self.service)
        id = self.subscribe(browser)
        failed = self.metric('crab_push_messages_total{result="failed"}')
        self.service.status = 500
        self.gateway.admin_request("POST", f"{SUBSCRIPTIONS}/{id}/test", {})
        browser.receive(self.key)
        eventually(
            lambda: self.metric('crab_push_messages_total{result="failed"}') == failed + 1,
            "it is told that it was not sent",
        )
        told = self.gateway.log_tail(1 << 20)
        self.assertIn(f"subscription={id}", told)
        listed = self.gateway.admin_request("GET", SUBSCRIPTIONS).body.decode()
        self.assertIn(id, listed)
        for secret in (browser.path, browser.subscription()["keys"]["auth"]):
            self.assertNotIn(secret, told)
            self.assertNotIn(secret, listed)

    def test_a_flood_is_cut_and_counted(self) -> None:
        browser = SubscribedBrowser(self.service)
        id = self.subscribe(browser)
        for _ in range(20):
            self.gateway.admin_request("POST", f"{SUBSCRIPTIONS}/{id}/test", {})
        for _ in range(10):
            browser.receive(self.key)
        self.assertGreaterEqual(self.metric('crab_push_messages_total{result="dropped"}'), 9)


class WakeTest(PushCase):
    """A page that is a device, and sleeps."""

    def device_fetch(self, method: str, token: str, body: Any = None) -> Response:
        return self.gateway.fetch(method, "/device/push", token, None, body)

    def wait_for(self, name: str, milliseconds: int = 20_000) -> Any:
        headers = {"Crab-Away-Wait-Ms": str(milliseconds)}
        return self.pool.submit(
            self.gateway.fetch,
            "POST",
            "/v1/tools/call",
            self.gateway.caller_token(),
            headers,
            call_request(name),
            timeout=30,
        )

    def setUp(self) -> None:
        super().setUp()
        self.pool = ThreadPoolExecutor(8)
        self.addCleanup(self.pool.shutdown)
        self.token, self.thermometer = self.new_token(), self.unique("thermometer")
        self.sleeper = SubscribedBrowser(self.service)

    def falls_asleep(self) -> None:
        device = self.open(self.token)
        device.register(tool(self.thermometer, annotations={"read_only": True}))
        device.close()
        self.gateway.wait_gone(self.thermometer)

    def test_a_call_that_waits_wakes_the_page_which_answers(self) -> None:
        answer = self.device_fetch("PUT", self.token, self.sleeper.subscription())
        self.assertEqual(answer.status, 200, answer.body)
        key = self.device_fetch("GET", self.token).json()["key"]
        self.assertEqual(key, self.key)
        self.assertEqual(self.subscribed(), [], "it is nobody to ask")
        self.falls_asleep()
        call = self.wait_for(self.thermometer)
        told = self.sleeper.receive(self.key)
        told.pop(":headers")
        self.assertEqual(told, {"kind": "wake"})
        awake = self.open(self.token)
        awake.register(tool(self.thermometer, annotations={"read_only": True}))
        awake.answer(awake.next_call(self.thermometer), "21.5")
        self.assertEqual(call.result(30).json()["result"], {"text": "21.5"})

    def test_devices_whose_push_service_is_silent_hold_up_no_notice(self) -> None:
        for _ in range(5):
            self.token, self.thermometer = self.new_token(), self.unique("thermometer")
            self.sleeper = SubscribedBrowser(self.service)
            self.service.silent.add(self.sleeper.path)
            self.device_fetch("PUT", self.token, self.sleeper.subscription())
            self.falls_asleep()
            self.wait_for(self.thermometer, 6_000)
        operator = SubscribedBrowser(self.service)
        id = self.subscribe(operator)
        self.gateway.admin_request("POST", f"{SUBSCRIPTIONS}/{id}/test", {})
        self.assertEqual(operator.receive(self.key, 5)["kind"], "test")

    def test_a_page_that_subscribes_again_has_one_subscription(self) -> None:
        for _ in range(10):
            again = SubscribedBrowser(self.service).subscription()
            self.assertEqual(self.device_fetch("PUT", self.token, again).status, 200)
        self.assertEqual(
            self.device_fetch("PUT", self.token, self.sleeper.subscription()).status, 200
        )
        self.falls_asleep()
        self.wait_for(self.thermometer, 2_000)
        self.assertEqual(self.sleeper.receive(self.key)["kind"], "wake")
        with self.assertRaises(queue.Empty):
            self.service.messages.get_nowait()

    def test_who_wants_to_sleep_on_is_not_woken(self) -> None:
        self.device_fetch("PUT", self.token, self.sleeper.subscription())
        self.assertEqual(self.device_fetch("DELETE", self.token).status, 204)
        self.falls_asleep()
        call = self.wait_for(self.thermometer)
        awake = self.open(self.token)
        awake.register(tool(self.thermometer, annotations={"read_only": True}))
        awake.answer(awake.next_call(self.thermometer), "21.5")
        call.result(30)
        with self.assertRaises(queue.Empty):
            self.service.messages.get_nowait()

    def test_only_devices_are_woken_and_inner_servers_are_not_asked(self) -> None:
        caller = self.gateway.caller_token()
        answer = self.device_fetch("PUT", caller, self.sleeper.subscription())
        self.assertEqual(answer.status, 403, answer.body)
        self.assertEqual(self.device_fetch("DELETE", caller).status, 403)
        self.assertEqual(self.gateway.fetch("GET", "/device/push").status, 401)
        inside = {**self.sleeper.subscription(), "endpoint": "https://10.0.0.1/x"}
        self.assertEqual(self.device_fetch("PUT", self.token, inside).status, 403)


class RefusalTest(PushCase):
    def test_nothing_is_sent_to_private_addresses_or_without_tls(self) -> None:
        good = SubscribedBrowser(self.service).subscription()
        port = int(self.service.origin.rsplit(":", 1)[1])
        for endpoint, status in (
            ("https://127.0.0.1/x", 403),
            ("https://localhost/x", 403),
            ("https://10.0.0.1/x", 403),
            ("https://[::1]/x", 403),
            ("https://[fd00::1]/x", 403),
            ("https://169.254.169.254/latest", 403),
            ("http://push.example/x", 403),
            (f"http://127.0.0.1:{port + 1}/x", 403),
            (f"http://user@127.0.0.1:{port}/x", 400),
            ("file:///etc/passwd", 400),
            ("", 400),
            (f"https://push.example/{'x' * 1024}", 400),
        ):
            answer = self.gateway.admin_request(
                "POST", SUBSCRIPTIONS, {**good, "endpoint": endpoint}
            )
            self.assertEqual(answer.status, status, (endpoint, answer.body))

    def test_a_name_that_leads_to_a_private_address_is_not_asked(self) -> None:
        """Where it is dialled: what a name leads to may change after it was looked at."""
        inside = self.enterContext(socket.create_server(("127.0.0.1", 0)))
        inside.setblocking(False)
        port = inside.getsockname()[1]
        keys = SubscribedBrowser(self.service).subscription()
        for name in ("127.1", "2130706433"):  # names to us, which the resolver takes for 127.0.0.1
            failed = self.metric('crab_push_messages_total{result="failed"}')
            body = {**keys, "endpoint": f"https://{name}:{port}/x"}
            answer = self.gateway.admin_request("POST", SUBSCRIPTIONS, body)
            self.assertEqual(answer.status, 201, answer.body)
            id = answer.json()["id"]
            self.addCleanup(self.unsubscribe, id)
            self.gateway.admin_request("POST", f"{SUBSCRIPTIONS}/{id}/test", {})
            eventually(
                lambda: self.metric('crab_push_messages_total{result="failed"}') == failed + 1,
                "it is refused",
            )
            with self.assertRaises(BlockingIOError):
                inside.accept()

    def test_keys_that_are_none_and_bodies_that_say_nothing(self) -> None:
        good = SubscribedBrowser(self.service).subscription()
        point, secret = good["keys"]["p256dh"], good["keys"]["auth"]
        for keys in (
            {},
            {"p256dh": point},
            {"p256dh": point[:-4], "auth": secret},
            {"p256dh": "B" + "A" * 86, "auth": secret},
            {"p256dh": point, "auth": secret[:-4]},
            {"p256dh": 5, "auth": secret},
        ):
            answer = self.gateway.admin_request("POST", SUBSCRIPTIONS, {**good, "keys": keys})
            self.assertEqual(answer.status, 400, (keys, answer.body))
        self.assertEqual(self.gateway.admin_request("POST", SUBSCRIPTIONS, {}).status, 400)

    def test_one_person_has_eight_at_most_and_a_browser_is_one(self) -> None:
        browser = SubscribedBrowser(self.service)
        first = self.subscribe(browser)
        self.assertEqual(len(self.subscribed()), 1)
        again = self.subscribe(browser)
        self.assertNotIn(first, self.subscribed())
        self.assertEqual(self.subscribed(), [again])
        for _ in range(7):
            self.subscribe(SubscribedBrowser(self.service))
        answer = self.gateway.admin_request(
            "POST", SUBSCRIPTIONS, SubscribedBrowser(self.service).subscription()
        )
        self.assertEqual((answer.status, answer.json()["code"]), (409, "CONFLICT"))


class LifeTest(DoorCase):
    """Subscriptions of people who are signed in to the console from elsewhere."""

    def config(self) -> dict[str, Any]:
        self.service = self.enterContext(PushService())
        return {
            "policy": POLICY,
            "listen": {"console": "people"},
            "push": {"services": [self.service.origin]},
        }

    def subscribe(self, browser: Browser) -> Response:
        body = SubscribedBrowser(self.service).subscription()
        return browser.request("POST", f"api{SUBSCRIPTIONS}", body)

    def rows(self) -> list[dict[str, Any]]:
        return self.gateway.admin_request("GET", SUBSCRIPTIONS).json()["subscriptions"]

    def test_it_is_of_its_person_and_ends_with_the_credential(self) -> None:
        self.browser.sign_in(**self.browser.signed(self.key("me")))
        added = self.subscribe(self.browser)
        self.assertEqual(added.status, 201, added.body)
        other = Browser(self.gateway)
        other.sign_in(token=self.operator("other"))
        target = f"api{SUBSCRIPTIONS}/{added.json()['id']}"
        self.assert_refused(other.request("DELETE", target), 404, "NOT_FOUND")
        self.assertEqual(
            [(it["principal"], it["yours"], it["service"]) for it in self.rows()],
            [("caller/me", False, self.service.origin)],
        )
        self.gateway.admin_request("POST", "/v1/admin/devices/revoke", {"device": "me"})
        eventually(lambda: self.rows() == [], "it has ended")

    def test_callers_are_told_nothing(self) -> None:
        self.browser.sign_in(token=self.gateway.pair("ann", ("caller",)))
        self.assert_refused(self.subscribe(self.browser), 403, "FORBIDDEN")
        key = self.browser.request("GET", "api/v1/admin/push/key")
        self.assert_refused(key, 403, "FORBIDDEN")

    def test_it_outlives_a_restart_and_so_does_the_key(self) -> None:
        with Gateway(self.config()) as gateway:
            browser = SubscribedBrowser(self.service)
            gateway.admin_request("POST", SUBSCRIPTIONS, browser.subscription())
            key = gateway.admin_request("GET", "/v1/admin/push/key").json()["key"]
            gateway.stop()
            kept = gateway.folder / "state" / "push" / "push_key.pem"
            self.assertEqual(kept.stat().st_mode & 0o777, 0o600)
            gateway.start()
            self.assertEqual(gateway.admin_request("GET", "/v1/admin/push/key").json()["key"], key)
            with Device(gateway, gateway.pair("phone")) as phone:
                phone.register(tool("sms"))
                running = gateway.start_call("sms")
                told = browser.receive(key)
                gateway.admin_request(
                    "POST", f"/v1/admin/approvals/{told['id']}", {"decision": "deny"}
                )
                self.assertEqual(running.result(20).error["details"]["approval"], "denied")
