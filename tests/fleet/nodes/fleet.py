"""A fleet of gateways as processes: one PostgreSQL, one NATS server, some nodes."""

from __future__ import annotations

import subprocess
import unittest
from typing import Any, ClassVar

from support.device import Device
from support.gateway import Gateway, merged, program
from support.nats import NatsServer
from support.postgres import Postgres
from support.wait import eventually

SOON = 20.0  #: seconds; what a fence and the silence after it take, and a loaded machine


class Node(Gateway):
    """A gateway of the fleet. Its tools are those of devices, so a device is known by its tool."""

    def knows(self, tool: str) -> bool:
        return tool in self.tools()

    def wait_known(self, tool: str) -> None:
        eventually(lambda: self.knows(tool), f"{tool} is known", SOON)

    def wait_unknown(self, tool: str) -> None:
        eventually(lambda: not self.knows(tool), f"{tool} is not known any more", SOON)

    def wait_token(self, token: str) -> None:
        """Until it is known here too."""
        eventually(
            lambda: self.fetch("GET", "/v1/tools", token).status == 200,
            "a token of another node is known",
        )

    def wait_heard(self, others: int) -> None:
        """Until it has heard so many other nodes on the bus."""
        eventually(
            lambda: self.fleet_metric("crab_fleet_nodes_heard") == others,
            f"{others} other nodes are heard",
            SOON,
        )

    def fleet_metric(self, name: str) -> float:
        text = self.admin_request("GET", "/metrics").body.decode()
        return next(float(line.split()[1]) for line in text.splitlines() if line.startswith(name))


class FleetCase(unittest.TestCase):
    """A fleet for each class, and nodes for each test."""

    NODES: ClassVar[tuple[str, ...]] = ("north", "south", "west")

    @classmethod
    def setUpClass(cls) -> None:
        cls.database = cls.enterClassContext(Postgres())
        cls.nats = cls.enterClassContext(NatsServer())
        folder = cls.database.folder
        cls.dsn_file, cls.key_file = folder / "dsn", folder / "key"
        cls.dsn_file.write_text(cls.database.dsn + "\n")
        cls.key_file.write_text("5a" * 32 + "\n")

    @classmethod
    def config(cls, name: str, **changes: Any) -> dict[str, Any]:
        return merged(
            {
                "fleet": {
                    "name": "home",
                    "node_name": name,
                    "key_file": str(cls.key_file),
                    "postgres": {"dsn_file": str(cls.dsn_file), "require_sync": False},
                    "nats": {"urls": [cls.nats.url]},
                },
                "tools": [
                    {"match": "*", "side_effects": True},
                    {"match": "*again*", "idempotent": True},
                    {"match": "*single*", "max_concurrency": 1},
                ],
            },
            changes,
        )

    def setUp(self) -> None:
        self.north, self.south, self.west = (self.node(name) for name in self.NODES)
        for node in (self.north, self.south, self.west):
            node.wait_heard(2)

    def node(self, name: str, **changes: Any) -> Node:
        return self.enterContext(Node(self.config(name, **changes)))

    @staticmethod
    def refusal(node: Node) -> str:
        """Why it does not start."""
        for folder in ("state", "run"):
            (node.folder / folder).mkdir(mode=0o700, exist_ok=True)
        node.write_config(node.config)
        done = subprocess.run(
            [program(), "gateway", "run", "--config", str(node.config_file)],
            capture_output=True,
            text=True,
            timeout=30,
        )
        node._clean_up()
        assert done.returncode != 0, done.stdout + done.stderr
        return done.stderr

    def refused(self, name: str, **fleet: object) -> str:
        return self.refusal(Node(self.config(name, fleet=fleet)))

    def unique(self, name: str) -> str:
        """`name` with that of the test, so that it is nobody else's; a slug."""
        test = self.id().rpartition(".")[2].removeprefix("test_")
        return f"{name}-{test[:24]}".replace("_", "-").strip("-")

    def open(self, node: Node, token: str, **options: Any) -> Device:
        node.wait_token(token)
        device = Device(node, token, **options)
        self.addCleanup(device.drop)
        return device

    def token(self, node: Node, name: str, *roles: str) -> str:
        return node.pair(self.unique(name), roles or ("device", "caller"))

    def caller(self) -> str:
        """The token of a caller that every node knows."""
        token = self.token(self.north, "ann", "caller")
        for node in (self.south, self.west):
            node.wait_token(token)
        return token
