"""The base of the test classes: one gateway per class, devices that end with their test."""

from __future__ import annotations

import unittest
from collections.abc import Mapping
from typing import Any, ClassVar

from .device import Device, tool
from .gateway import Gateway


class GatewayCase(unittest.TestCase):
    """`CONFIG` is merged into the configuration that all tests share; `PREFIX` and `ENVIRONMENT`
    are those of Gateway."""

    CONFIG: ClassVar[Mapping[str, Any]] = {}
    PREFIX: ClassVar[tuple[str, ...]] = ()
    ENVIRONMENT: ClassVar[Mapping[str, str]] = {}
    gateway: ClassVar[Gateway]

    @classmethod
    def setUpClass(cls) -> None:
        cls.gateway = cls.enterClassContext(Gateway(cls.CONFIG, cls.PREFIX, cls.ENVIRONMENT))

    def run(self, result: unittest.TestResult | None = None) -> unittest.TestResult | None:
        """As unittest does it; after a failure the gateway's folder is kept and its log is
        shown."""
        before = len(result.failures) + len(result.errors) if result else 0
        outcome = super().run(result)
        if result and len(result.failures) + len(result.errors) > before:
            type(self).gateway.keep_logs = True
        return outcome

    def new_token(self, name: str = "device") -> str:
        """The token of a device record nobody else has; its slug is in `self.slug`."""
        self.slug = self.gateway.unique(name)
        return self.gateway.pair(self.slug)

    def open(self, token: str | None = None, **options: Any) -> Device:
        """A connection, of a new device unless `token` is given; it ends with the test."""
        device = Device(self.gateway, token or self.new_token(), **options)
        self.addCleanup(device.drop)
        return device

    def serving(self, name: str, answer: Any = None, schema: Any = None, **claims: Any) -> Device:
        """A new device whose one tool is listed; it answers with what `answer` makes of arguments,
        if there is one."""
        device = self.open()
        device.register(tool(name, schema, **claims))
        if answer is not None:
            device.serve({name: answer})
        self.gateway.wait_listed(name)
        return device

    def unique(self, name: str) -> str:
        """A name for a tool of this test alone."""
        return self.gateway.unique(name)

    def assert_alive(self, device: Device) -> None:
        """The link works in both directions and nothing was pending on it."""
        device.assert_silent()
