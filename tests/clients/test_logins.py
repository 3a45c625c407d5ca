"""A part of the contract for clients that log in, with each mechanism that all of them have.

Apache Kafka's Java client logs in as a command (`test_a_tool_of_apache_logs_in`).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.apache.kafka import run_tool
from tests.clients.driver import Driver, Login
from tests.clients.drivers.aiokafka_driver import AiokafkaDriver
from tests.clients.drivers.confluent_driver import ConfluentDriver
from tests.clients.drivers.kafka_python_driver import KafkaPythonDriver
from tests.clients.drivers.kafkajs_driver import KafkajsDriver
from tests.clients.drivers.kcat_driver import KcatDriver
from tests.clients.scenarios import SCENARIOS, Stage
from tests.sasl_cluster import MECHANISMS, PASSWORD, PLAIN_MODULE, SCRAM_MODULE, USER, SaslCluster

CLIENTS: list[type[Driver]] = [ConfluentDriver, KafkaPythonDriver, AiokafkaDriver, KafkajsDriver, KcatDriver]
PLAYED = (
    "produce_and_consume",
    "many_records_over_partitions",
    "null_values_and_keys",
    "first_and_last_offset",
)


@pytest.fixture(scope="module")
def cluster() -> Iterator[SaslCluster]:
    # kafkajs logs in again ten seconds before the end of its session, so it does so during the tests.
    with SaslCluster(config={"connections.max.reauth.ms": "11500"}) as running:
        yield running


@pytest.fixture(scope="module")
def reference(cluster: SaslCluster) -> Driver:
    """A client of the listener without a login, to prepare topics."""
    return ConfluentDriver(f"127.0.0.1:{cluster.ports[1]}")


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("kind", CLIENTS, ids=[kind.NAME for kind in CLIENTS])
def test_a_client_logs_in_and_plays(
    cluster: SaslCluster, reference: Driver, kind: type[Driver], mechanism: str
) -> None:
    client = kind(cluster.bootstrap, login=Login(mechanism, USER, PASSWORD))
    try:
        for name in PLAYED:
            if name not in kind.CANNOT:
                SCENARIOS[name](Stage(client, reference, lambda: client, name))
    finally:
        client.close()


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_tool_of_apache_logs_in(cluster: SaslCluster, tmp_path: Path, mechanism: str) -> None:
    module = PLAIN_MODULE if mechanism == "PLAIN" else SCRAM_MODULE

    def properties(password: str) -> str:
        file = tmp_path / "client.properties"
        file.write_text(
            f"security.protocol=SASL_PLAINTEXT\nsasl.mechanism={mechanism}\n"
            f'sasl.jaas.config={module} required username="{USER}" password="{password}";\n'
        )
        return str(file)

    connection = ["--bootstrap-server", cluster.bootstrap, "--command-config"]
    created = run_tool("kafka-topics", *connection, properties(PASSWORD), "--create", "--topic", mechanism)
    assert f"Created topic {mechanism}." in created.stdout
    users = [*connection, properties(PASSWORD), "--entity-type", "users", "--entity-name", f"of-{mechanism}"]
    credential = "SCRAM-SHA-256=[iterations=8192,password=of java]"
    changed = run_tool("kafka-configs", *users, "--alter", "--add-config", credential)
    assert changed.stdout == f"Completed updating config for user of-{mechanism}.\n"
    refused = run_tool("kafka-topics", *connection, properties("wrong"), "--list", check=False)
    assert refused.returncode == 1
    assert "Authentication failed" in refused.stdout + refused.stderr


def test_a_user_of_java_logs_in_with_another_client(cluster: SaslCluster, reference: Driver) -> None:
    """Java has computed the salted password of this user."""
    admin = Login("SCRAM-SHA-256", "of-PLAIN", "of java")
    SCENARIOS["produce_and_consume"](
        Stage(ConfluentDriver(cluster.bootstrap, login=admin), reference, lambda: reference, "of_java")
    )
