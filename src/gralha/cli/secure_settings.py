"""The settings that `gralha secure` writes for nodes and clients, and the commands for the first start.

    DIR/ca.pem, ca.key              the certificate of the authority, and its key
    DIR/broker-1.properties         the settings of a node
    DIR/broker-1.pem                its key and certificate
    DIR/broker-1/                   its data, after the first start
    DIR/format.sh, acls.sh          what to run before and after the first start
    DIR/app/, DIR/admin/            the files of the clients of a user

Brokers log in to each other with SCRAM and to controllers with PLAIN, because controllers know the users of
SCRAM only after they have elected a leader.
"""

import shlex
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

from gralha.cli.up_settings import CONTROLLER_PORT_OFFSET, client_port, in_address, one_of, replication

DEFAULT_HOST: Final = "localhost"
MECHANISM: Final = "SCRAM-SHA-512"
AUTHORIZER: Final = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
# The nodes log in as `node`, people as `admin`, and programs as `app`.
NODE, ADMIN, APP = "node", "admin", "app"
USERS: Final = (NODE, ADMIN, APP)
CLIENT_USERS: Final = (APP, ADMIN)
# The names of the topics, groups and transactional ids of the user `app` begin with this.
APP_PREFIX: Final = "app."
_MODULES: Final = "org.apache.kafka.common.security"


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


def node_settings(cluster: SecuredCluster, node_id: int) -> dict[str, str]:
    """The server.properties of a node that is a broker and a controller."""
    port = client_port(node_id, cluster.first_port)
    # Other machines reach the brokers if --host is given. The controllers need only each other.
    clients = DEFAULT_HOST if cluster.host == DEFAULT_HOST else ""
    controllers = f"{DEFAULT_HOST}:{port + CONTROLLER_PORT_OFFSET}"
    password = cluster.passwords[NODE]
    of_brokers = f'{_MODULES}.scram.ScramLoginModule required username="{NODE}" password="{password}";'
    of_controllers = (
        f'{_MODULES}.plain.PlainLoginModule required username="{NODE}" password="{password}" '
        f'user_{NODE}="{password}";'
    )
    return {
        **one_of(node_id, cluster.brokers, cluster.host, cluster.first_port, cluster.folder),
        **replication(cluster.brokers, None),
        "listeners": f"SASL_SSL://{clients}:{port},CONTROLLER://{controllers}",
        "advertised.listeners": f"SASL_SSL://{in_address(cluster.host)}:{port}",
        "listener.security.protocol.map": "SASL_SSL:SASL_SSL,CONTROLLER:SASL_SSL",
        "security.inter.broker.protocol": "SASL_SSL",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(cluster.key_file(node_id)),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(cluster.authority_file),
        "sasl.enabled.mechanisms": MECHANISM,
        "sasl.mechanism.inter.broker.protocol": MECHANISM,
        f"listener.name.sasl_ssl.{MECHANISM.lower()}.sasl.jaas.config": of_brokers,
        "sasl.mechanism.controller.protocol": "PLAIN",
        "listener.name.controller.sasl.enabled.mechanisms": "PLAIN",
        "listener.name.controller.plain.sasl.jaas.config": of_controllers,
        "authorizer.class.name": AUTHORIZER,
        "super.users": f"User:{NODE};User:{ADMIN}",
    }


def java_settings(cluster: SecuredCluster, user: str) -> dict[str, str]:
    """For Java's clients, and for --command-config of all commands."""
    password = cluster.passwords[user]
    return {
        "bootstrap.servers": cluster.bootstrap,
        "security.protocol": "SASL_SSL",
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(cluster.authority_file),
        "sasl.mechanism": MECHANISM,
        "sasl.jaas.config": (
            f'{_MODULES}.scram.ScramLoginModule required username="{user}" password="{password}";'
        ),
    }


def librdkafka_settings(cluster: SecuredCluster, user: str) -> dict[str, str]:
    """For confluent-kafka, kcat and other clients that use librdkafka."""
    return {
        "bootstrap.servers": cluster.bootstrap,
        "security.protocol": "SASL_SSL",
        "ssl.ca.location": str(cluster.authority_file),
        "sasl.mechanism": MECHANISM,
        "sasl.username": user,
        "sasl.password": cluster.passwords[user],
    }


def python_settings(cluster: SecuredCluster, user: str) -> dict[str, str]:
    """For kafka-python and aiokafka, which take the authority in different ways."""
    return {
        "bootstrap_servers": cluster.bootstrap,
        "security_protocol": "SASL_SSL",
        "sasl_mechanism": MECHANISM,
        "sasl_plain_username": user,
        "sasl_plain_password": cluster.passwords[user],
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
