"""The settings of the brokers that `gralha up` starts."""

import socket
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from gralha.cli.program import CommandError

FIRST_PORT: Final = 19092
PORT_STEP: Final = 10_000
CONTROLLER_PORT_OFFSET: Final = 1
HIGHEST_PORT: Final = 65535
METRICS_PORT_OFFSET: Final = 216  # 9308 for 9092
ANY_ADDRESS: Final = ("", "0.0.0.0", "::")
VOTERS: Final = "controller.quorum.voters"
METRICS_LISTENER: Final = "gralha.metrics.listener"
# With this many brokers a topic has three replicas unless somebody says otherwise.
REPLICATED_FROM: Final = 3
REPLICATION: Final = {"default.replication.factor": "3", "min.insync.replicas": "2"}

# The advice for a broker that does not start (`gralha.cli.server.ADVICE` is for properties files).
ADVICE: Final = {
    "port": "Stop the program that uses the port, or choose another one with --port.",
    "host": "Use an address of this machine with --host.",
    "metrics": "Stop the program that uses the port, or choose another one with --metrics-port.",
    "folder": "Stop that one, or choose another folder with --data.",
}
# Settings that `gralha up` sets itself, and the option that changes them.
_OPTION_FOR: Final = {
    "listeners": "--host and --port",
    "advertised.listeners": "--host and --port",
    "log.dir": "--data",
    "log.dirs": "--data",
    "metadata.log.dir": "--data",
    "auto.create.topics.enable": "--no-auto-create",
    METRICS_LISTENER: "--metrics-port",
}
_OWN: Final = (
    "broker.id",
    "controller.listener.names",
    "controller.quorum.bootstrap.servers",
    VOTERS,
    "inter.broker.listener.name",
    "node.id",
    "process.roles",
)


def client_port(node_id: int, first_port: int) -> int:
    """19092, 29092, 39092, ... as in many Kafka tutorials."""
    return first_port + (node_id - 1) * PORT_STEP


def metrics_listener(node_id: int, first_port: int, wanted_port: int | None) -> dict[str, str]:
    """Where a broker serves its metrics: on this machine only.

    Without a wanted port it is 9308, 19308, 29308, ... If another program uses that port, any free port will
    do, because the table shows it.
    """
    if wanted_port is not None:
        port = wanted_port and client_port(node_id, wanted_port)
    else:
        port = free_or_any(first_port and client_port(node_id, first_port) + METRICS_PORT_OFFSET)
    return {METRICS_LISTENER: f"http://localhost:{port}"}


def free_or_any(port: int) -> int:
    """The port if nobody uses it, otherwise 0."""
    try:
        with socket.socket() as tried:
            tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            tried.bind(("127.0.0.1", port))
    except (OSError, OverflowError):
        return 0
    return port


def check_ports(brokers: int, port: int | None) -> None:
    """Raises CommandError if --port leaves no ports for the last of several brokers."""
    if brokers == 1 or port is None:
        return
    highest = HIGHEST_PORT - CONTROLLER_PORT_OFFSET - (brokers - 1) * PORT_STEP
    if not 0 < port <= highest:
        raise CommandError(
            f"--port {port}: {brokers} brokers need a port from 1 to {highest}, because each listens "
            f"{PORT_STEP} ports after the one before"
        )


def single(data: Path, host: str, port: int) -> dict[str, str]:
    """The settings of a broker that is alone."""
    return {
        "process.roles": "broker,controller",
        "node.id": "1",
        "listeners": f"PLAINTEXT://{in_address(host)}:{port}",
        **_common(data, 1, 1),
    }


def one_of(node_id: int, brokers: int, host: str, first_port: int, data: Path) -> dict[str, str]:
    """The settings of one of several: a broker and controller, in a quorum with all others."""
    port = client_port(node_id, first_port)
    voters = [
        f"{voter}@localhost:{client_port(voter, first_port) + CONTROLLER_PORT_OFFSET}"
        for voter in range(1, brokers + 1)
    ]
    clients, controllers = f"{in_address(host)}:{port}", f"localhost:{port + CONTROLLER_PORT_OFFSET}"
    return {
        "process.roles": "broker,controller",
        "node.id": str(node_id),
        VOTERS: ",".join(voters),
        "controller.listener.names": "CONTROLLER",
        "listeners": f"PLAINTEXT://{clients},CONTROLLER://{controllers}",
        **_common(data, node_id, brokers),
    }


def _common(data: Path, node_id: int, brokers: int) -> dict[str, str]:
    replicas = str(min(3, brokers))
    return {
        "log.dirs": str(data / f"broker-{node_id}"),
        "offsets.topic.replication.factor": replicas,
        "transaction.state.log.replication.factor": replicas,
        "transaction.state.log.min.isr": str(min(2, brokers)),
        # As in Kafka's own sample: a person who tries things out does not want to wait for more group
        # members.
        "group.initial.rebalance.delay.ms": "0",
    }


def replication(brokers: int, earlier: Mapping[str, str] | None) -> dict[str, str]:
    """The replication of new topics. A folder that exists keeps what it has."""
    if earlier is not None:
        return {name: earlier[name] for name in REPLICATION if name in earlier}
    return dict(REPLICATION) if brokers >= REPLICATED_FROM else {}


def parse_overrides(overrides: Sequence[str]) -> dict[str, str]:
    """The settings of --override NAME=VALUE. Raises CommandError for a setting that an option changes."""
    settings = {}
    for override in overrides:
        name, equals, value = override.partition("=")
        name = name.strip()
        if not equals or not name:
            raise CommandError(f"--override {override}: write NAME=VALUE, for example num.partitions=3")
        if name in _OPTION_FOR:
            raise CommandError(f"--override {name}: use {_OPTION_FOR[name]} instead")
        if name in _OWN:
            raise CommandError(
                f"--override {name}: gralha up sets it itself. For your own layout write a properties file, "
                "and run gralha server --config FILE"
            )
        _check_spelling(name)
        settings[name] = value.strip()
    return settings


def _check_spelling(name: str) -> None:
    """Raises CommandError for a misspelt name. The broker warns about other names that it does not know."""
    from gralha.cli.suggestions import misspelt
    from gralha.metadata.broker_configs import BROKER_CONFIGS

    meant = None if name in BROKER_CONFIGS else misspelt(name, BROKER_CONFIGS)
    if meant is not None:
        raise CommandError(f"--override {name}: there is no such setting. Did you mean {meant}?")


def in_address(host: str) -> str:
    """An IPv6 address needs brackets."""
    return f"[{host}]" if ":" in host else host
