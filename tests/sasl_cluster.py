"""A cluster whose brokers and controllers log in to each other, for tests of several rooms.

Clients log in on the listener SASL. The listener PLAINTEXT only shows that a broker is ready.
"""

import contextlib
import io
from collections.abc import Mapping
from pathlib import Path

from gralha.cli import storage
from gralha.testing.cluster import GralhaCluster
from gralha.testing.process import free_ports

PLAIN_MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule"
SCRAM_MODULE = "org.apache.kafka.common.security.scram.ScramLoginModule"
CLUSTER_ID = "AAAAAAAAAAAAAAAAAAAAAA"
# The user of each test, with one password for all mechanisms. Old librdkafka (kcat) escapes = and , in it.
USER, PASSWORD = "alice", "alice's secret"
NODE, NODE_PASSWORD = "broker", "of-the-brokers"
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")


def logins(*listeners: str) -> dict[str, str]:
    """The settings for logins on these listeners of brokers, and of nodes on controllers."""
    settings = {
        "listener.name.controller.plain.sasl.jaas.config": (
            f'{PLAIN_MODULE} required username="node" password="x" user_node="x";'
        )
    }
    for name in listeners:
        prefix = f"listener.name.{name}"
        settings[f"{prefix}.plain.sasl.jaas.config"] = f'{PLAIN_MODULE} required user_{USER}="{PASSWORD}";'
        settings[f"{prefix}.scram-sha-512.sasl.jaas.config"] = (
            f'{SCRAM_MODULE} required username="{NODE}" password="{NODE_PASSWORD}";'
        )
    return settings


def format_arguments(file: Path) -> list[str]:
    """The arguments of kafka-storage for a node with these settings, with the first users."""
    first = [("SCRAM-SHA-512", NODE, NODE_PASSWORD)]
    first += [(mechanism, USER, PASSWORD) for mechanism in MECHANISMS[1:]]
    arguments = ["format", "--cluster-id", CLUSTER_ID, "--config", str(file)]
    for mechanism, name, password in first:
        arguments += ["--add-scram", f"{mechanism}=[name={name},password={password}]"]
    return arguments


class SaslCluster(GralhaCluster):
    """Brokers log in to each other with SCRAM-SHA-512, and to controllers with PLAIN."""

    def __init__(
        self, brokers: int = 1, config: Mapping[str, str] | None = None, folder: Path | str | None = None
    ) -> None:
        super().__init__(brokers, config, folder)
        self.sasl_ports = dict(zip(self.node_ids, free_ports(brokers), strict=True))

    @property
    def bootstrap(self) -> str:
        return ",".join(f"127.0.0.1:{port}" for port in self.sasl_ports.values())

    def _node_config(self, node_id: int) -> dict[str, str]:
        config = super()._node_config(node_id)
        sasl = f"SASL://127.0.0.1:{self.sasl_ports[node_id]}"
        return {
            **config,
            "listeners": f"{config['listeners']},{sasl}",
            "advertised.listeners": f"{config['advertised.listeners']},{sasl}",
            "listener.security.protocol.map": (
                "PLAINTEXT:PLAINTEXT,SASL:SASL_PLAINTEXT,CONTROLLER:SASL_PLAINTEXT"
            ),
            "inter.broker.listener.name": "SASL",
            "sasl.mechanism.inter.broker.protocol": "SCRAM-SHA-512",
            "sasl.mechanism.controller.protocol": "PLAIN",
            "sasl.enabled.mechanisms": ",".join(MECHANISMS),
            "listener.name.controller.sasl.enabled.mechanisms": "PLAIN",
            **logins("sasl"),
        }

    def _spawn(self, node_id: int) -> None:
        if not self.data_folder(node_id).exists():
            self._format(node_id)
        super()._spawn(node_id)

    def _format(self, node_id: int) -> None:
        """Formats the folder of a node with the first users."""
        folder = self.folder / f"node-{node_id}"
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / "format.properties"
        lines = {**self._node_config(node_id), **self._config}
        file.write_text("".join(f"{name}={value}\n" for name, value in lines.items()))
        with contextlib.redirect_stdout(io.StringIO()):
            assert storage.main(format_arguments(file)) == 0
