"""A part of the contract for clients that log in through TLS, and Apache Kafka's own tools.

The rights of Alice, of the tools' users and of everybody else are those of a cluster with an authorizer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.apache.kafka import run_tool
from tests.clients import groups, transactions
from tests.clients.driver import Driver, Login
from tests.clients.drivers.confluent_driver import ConfluentDriver
from tests.clients.scenarios import SCENARIOS, Stage
from tests.clients.test_tls import CLIENTS, PLAYED, written
from tests.secured_cluster import ADMIN, ALICE, MECHANISM, SUPER_USERS, SecuredCluster

BOB = Login(MECHANISM, "bob", "of java")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredCluster]:
    config = {
        **groups.BROKER_CONFIG,
        **transactions.BROKER_CONFIG,
        "auto.create.topics.enable": "false",
        # The scenarios need all rights. `tests/cluster/test_sasl_ssl.py` tests what is denied to Alice.
        "super.users": f"{SUPER_USERS};User:{ALICE.user}",
    }
    with SecuredCluster(tmp_path_factory.mktemp("sasl-ssl"), config=config) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def drivers(cluster: SecuredCluster) -> Iterator[Callable[[type[Driver]], Driver]]:
    running: dict[type[Driver], Driver] = {}

    def driver(kind: type[Driver]) -> Driver:
        if kind not in running:
            running[kind] = kind(cluster.bootstrap, cluster.tls, ALICE)
        return running[kind]

    yield driver
    for one in running.values():
        one.close()


@pytest.mark.parametrize(
    ("client", "name"),
    [
        pytest.param(client, name, id=f"{client.NAME}-{name}")
        for client in CLIENTS
        for name in PLAYED
        if name not in client.CANNOT
    ],
)
def test_scenario(drivers: Callable[[type[Driver]], Driver], client: type[Driver], name: str) -> None:
    def no_other_cluster() -> Driver:
        raise AssertionError("these scenarios need no automatic creation of topics")

    SCENARIOS[name](Stage(drivers(client), drivers(ConfluentDriver), no_other_cluster, name))


def test_tools_of_apache_kafka(cluster: SecuredCluster, tmp_path: Path) -> None:
    """The administrator makes a topic, a user and its rights. Until then the user is refused."""
    admin = written(tmp_path / "admin.properties", cluster.properties(ADMIN))
    bob = written(tmp_path / "bob.properties", cluster.properties(BOB))

    def tool(name: str, properties: Path, *arguments: str, stdin: str = "", check: bool = True) -> str:
        where = ("--bootstrap-server", cluster.bootstrap, "--command-config", str(properties))
        done = run_tool(name, *where, *arguments, stdin=stdin, check=check)
        return done.stdout + done.stderr

    tool("kafka-topics", admin, "--create", "--topic", "orders")
    credential = f"{MECHANISM}=[password={BOB.password}]"
    users = ("--entity-type", "users", "--entity-name", BOB.user)
    tool("kafka-configs", admin, *users, "--alter", "--add-config", credential)

    refused = tool("kafka-console-producer", bob, "--topic", "orders", stdin="um\n", check=False)
    assert "Not authorized to access topics: [orders]" in refused
    refused = tool("kafka-topics", bob, "--create", "--topic", "mine", check=False)
    assert "Authorization failed" in refused
    assert tool("kafka-topics", bob, "--list").strip() == ""

    principal = ("--allow-principal", f"User:{BOB.user}", "--topic", "orders")
    tool("kafka-acls", admin, "--add", *principal, "--producer")
    tool("kafka-acls", admin, "--add", *principal, "--consumer", "--group", "readers")
    assert f"principal=User:{BOB.user}, host=*, operation=WRITE" in tool("kafka-acls", admin, "--list")

    sent = tool("kafka-console-producer", bob, "--topic", "orders", stdin="um\ndois\n")
    assert "ERROR" not in sent
    reading = ("--topic", "orders", "--group", "readers", "--from-beginning", "--max-messages", "2")
    assert "um\ndois\n" in tool("kafka-console-consumer", bob, *reading)
