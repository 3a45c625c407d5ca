"""Apache Kafka's Java clients with delegation tokens: they get one, log in with it, and read and write.

Of the clients in this suite only Java's can log in with a token. librdkafka, kafka-python, aiokafka and
kafkajs have no `tokenauth`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.apache.kafka import run_tool
from tests.clients.driver import Login
from tests.clients.test_tls import written
from tests.secured_cluster import ADMIN, ALICE, SecuredCluster

CONFIG = {"delegation.token.secret.key": "the key", "auto.create.topics.enable": "false"}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredCluster]:
    with SecuredCluster(tmp_path_factory.mktemp("tokens"), config=CONFIG) as cluster:
        yield cluster


class Tools:
    """Commands of Apache Kafka, with the login of a user or of a token."""

    def __init__(self, cluster: SecuredCluster, folder: Path) -> None:
        self._cluster = cluster
        self._folder = folder

    def file(self, name: str, login: Login, *, is_token: bool = False) -> Path:
        properties = self._cluster.properties(login)
        if is_token:
            jaas = properties["sasl.jaas.config"]
            properties["sasl.jaas.config"] = jaas.replace(";", ' tokenauth="true";')
        return written(self._folder / f"{name}.properties", properties)

    def run(self, name: str, file: Path, *arguments: str, stdin: str = "", check: bool = True) -> str:
        where = ("--bootstrap-server", self._cluster.bootstrap, "--command-config", str(file))
        done = run_tool(name, *where, *arguments, stdin=stdin, check=check)
        return done.stdout + done.stderr


@pytest.fixture
def tools(cluster: SecuredCluster, tmp_path: Path) -> Tools:
    return Tools(cluster, tmp_path)


@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_a_java_client_reads_and_writes_with_a_token(tools: Tools, mechanism: str) -> None:
    admin, alice = tools.file("admin", ADMIN), tools.file("alice", ALICE)
    topic = f"orders-{mechanism}"
    tools.run("kafka-topics", admin, "--create", "--topic", topic)
    principal = ("--allow-principal", f"User:{ALICE.user}", "--topic", topic)
    tools.run("kafka-acls", admin, "--add", *principal, "--producer", "--consumer", "--group", "readers")

    created = tools.run("kafka-delegation-tokens", alice, "--create", "--max-life-time-period", "-1")
    found = re.search(r"tokenId : (\S+)[^~]*\n\1\s+(\S+)\s+User:alice\s+User:alice\s+\[\]", created)
    assert found, created
    login = Login(mechanism, found[1], found[2])
    token = tools.file("token", login, is_token=True)

    sent = tools.run("kafka-console-producer", token, "--topic", topic, stdin="um\ndois\n")
    assert "ERROR" not in sent
    reading = ("--topic", topic, "--group", "readers", "--from-beginning", "--max-messages", "2")
    assert "um\ndois\n" in tools.run("kafka-console-consumer", token, *reading)
    # The rights are those of the owner.
    refused = tools.run("kafka-topics", token, "--create", "--topic", "mine", check=False)
    assert "Authorization failed" in refused
    refused = tools.run(
        "kafka-delegation-tokens", token, "--create", "--max-life-time-period", "-1", check=False
    )
    assert "Delegation Token requests are not allowed on" in refused
    # Without tokenauth the id of a token is an unknown user.
    refused = tools.run("kafka-topics", tools.file("none", login), "--list", check=False)
    assert "Authentication failed" in refused

    hmac = ("--hmac", login.password)
    renewed = tools.run("kafka-delegation-tokens", alice, "--renew", *hmac, "--renew-time-period", "-1")
    assert "Completed renew operation. New expiry date : " in renewed
    shown = tools.run("kafka-delegation-tokens", alice, "--describe", "--owner-principal", "User:alice")
    assert "Total number of tokens : 1\n" in shown
    assert login.password in shown
    expired = tools.run("kafka-delegation-tokens", alice, "--expire", *hmac, "--expiry-time-period", "-1")
    assert "Completed expire operation." in expired
    refused = tools.run("kafka-topics", token, "--list", check=False)
    assert "Authentication failed" in refused
