"""The settings that `gralha secure` writes for nodes and clients, and the commands for the first start.

    DIR/ca.pem, ca.key              the certificate of the authority, and its key
    DIR/broker-1.properties         the settings of a node
    DIR/broker-1.pem                its key and certificate
    DIR/broker-1/                   its data, after the first start
    DIR/format.sh, acls.sh          what to run before and after the first start
    DIR/app/, DIR/admin/            the files of the clients of a user

`security/secured_node.py` says how nodes log in to each other.
"""

import shlex
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

from gralha.cli.up_settings import CONTROLLER_PORT_OFFSET, client_port, in_address, one_of, replication
from gralha.security.client_access import MECHANISM, ClientAccess
from gralha.security.secured_node import ADMIN, NODE, secured_node

DEFAULT_HOST: Final = "localhost"
PROTOCOL: Final = "SASL_SSL"
# Programs log in as `app`.
APP: Final = "app"
USERS: Final = (NODE, ADMIN, APP)
CLIENT_USERS: Final = (APP, ADMIN)
# The names of the topics, groups and transactional ids of the user `app` begin with this.
APP_PREFIX: Final = "app."


class SecuredCluster(NamedTuple):
    """What the files describe. `host` is the address at which clients reach the brokers."""

    folder: Path
    brokers: int
    host: str
    first_port: int
    cluster_id: str
    passwords: Mapping[str, str]

    @property
    def node_ids(self) -> range:
        return range(1, self.brokers + 1)

    @property
    def bootstrap(self) -> str:
        host = in_address(self.host)
        return ",".join(f"{host}:{client_port(one, self.first_port)}" for one in self.node_ids)

    @property
    def authority_file(self) -> Path:
        return self.folder / "ca.pem"

    def settings_file(self, node_id: int) -> Path:
        return self.folder / f"broker-{node_id}.properties"

    def key_file(self, node_id: int) -> Path:
        return self.folder / f"broker-{node_id}.pem"

    def client_file(self, user: str) -> Path:
        return self.folder / user / "client.properties"

    def librdkafka_file(self, user: str) -> Path:
        return self.folder / user / "librdkafka.properties"

    def python_file(self, user: str) -> Path:
        return self.folder / user / "python.json"

    def kafkajs_file(self, user: str) -> Path:
        return self.folder / user / "kafkajs.json"

    def access(self, user: str) -> ClientAccess:
        return ClientAccess(self.bootstrap, PROTOCOL, user, self.passwords[user], self.authority_file)


def node_settings(cluster: SecuredCluster, node_id: int) -> dict[str, str]:
    """The server.properties of a node that is a broker and a controller."""
    port = client_port(node_id, cluster.first_port)
    # Other machines reach the brokers if --host is given. The controllers need only each other.
    clients = DEFAULT_HOST if cluster.host == DEFAULT_HOST else ""
    controllers = f"{DEFAULT_HOST}:{port + CONTROLLER_PORT_OFFSET}"
    key_file, authority_file = cluster.key_file(node_id), cluster.authority_file
    return {
        **one_of(node_id, cluster.brokers, cluster.host, cluster.first_port, cluster.folder),
        **replication(cluster.brokers, None),
        "listeners": f"{PROTOCOL}://{clients}:{port},CONTROLLER://{controllers}",
        "advertised.listeners": f"{PROTOCOL}://{in_address(cluster.host)}:{port}",
        **secured_node(PROTOCOL, cluster.passwords[NODE], key_file, authority_file),
    }


def format_arguments(cluster: SecuredCluster, node_id: int) -> list[str]:
    """The arguments of `kafka-storage` that create the folder of a node with the first users."""
    arguments = ["format", "--ignore-formatted", "--cluster-id", cluster.cluster_id]
    arguments += ["--config", str(cluster.settings_file(node_id))]
    for user in USERS:
        arguments += ["--add-scram", f"{MECHANISM}=[name={user},password={cluster.passwords[user]}]"]
    return arguments


def acl_arguments(bootstrap: str, admin_file: Path) -> list[list[str]]:
    """The arguments of the `kafka-acls` calls that give the user `app` its rights."""
    access = ["--bootstrap-server", bootstrap, "--command-config", str(admin_file)]
    added = [*access, "--add", "--allow-principal", f"User:{APP}", "--resource-pattern-type", "prefixed"]
    topics = ["--topic", APP_PREFIX]
    return [
        [*added, "--producer", *topics, "--transactional-id", APP_PREFIX],
        [*added, "--consumer", *topics, "--group", APP_PREFIX],
    ]


def format_script(cluster: SecuredCluster) -> str:
    lines = [command("kafka-storage", format_arguments(cluster, one)) for one in cluster.node_ids]
    return _script(
        "Formats the folders of all nodes, with the first users. Run it before the first start.", lines
    )


def acls_script(cluster: SecuredCluster) -> str:
    calls = acl_arguments(cluster.bootstrap, cluster.client_file(ADMIN))
    lines = [command("kafka-acls", one) for one in calls]
    return _script(f"Gives the user {APP} its rights. Run it once, when the nodes are running.", lines)


def _script(purpose: str, lines: list[str]) -> str:
    return "\n".join(["#!/bin/sh", f"# {purpose}", "set -e", *lines, ""])


def command(name: str, arguments: list[str]) -> str:
    """A line for a shell, which works in any folder."""
    program = name if shutil.which(name) else f"{shlex.quote(sys.executable)} -m gralha.cli.main {name}"
    if name == "gralha":
        program = program.removesuffix(" gralha")
    return f"{program} {shlex.join(arguments)}"
