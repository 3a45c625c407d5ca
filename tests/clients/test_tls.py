"""A part of the contract through TLS, with certificates of clients, and Apache Kafka's own tools.

The rest of the contract does not depend on what carries the bytes.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.apache.kafka import run_tool
from tests.certificates import Authority
from tests.clients import groups, transactions
from tests.clients.driver import Driver, Outgoing, Tls
from tests.clients.drivers.aiokafka_driver import AiokafkaDriver
from tests.clients.drivers.confluent_driver import ConfluentDriver
from tests.clients.drivers.kafka_python_driver import KafkaPythonDriver
from tests.clients.drivers.kafkajs_driver import KafkajsDriver
from tests.clients.drivers.kcat_driver import KcatDriver
from tests.clients.scenarios import SCENARIOS, Stage
from tests.tls_cluster import TlsCluster

CLIENTS = (ConfluentDriver, KafkaPythonDriver, AiokafkaDriver, KafkajsDriver, KcatDriver)
PLAYED = (
    "cluster_is_described",
    "produce_and_consume",
    "reads_what_another_client_wrote",
    "many_records_over_partitions",
    "any_bytes",
    "waits_for_new_records",
    "big_message",
    "too_big_message",
    "first_and_last_offset",
    "topic_is_created",
    "configs_are_altered",
)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TlsCluster]:
    config = {
        **groups.BROKER_CONFIG,
        **transactions.BROKER_CONFIG,
        "auto.create.topics.enable": "false",
    }
    with TlsCluster(tmp_path_factory.mktemp("tls"), config=config) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def drivers(cluster: TlsCluster) -> Iterator[Callable[[type[Driver]], Driver]]:
    tls = Tls(cluster.authority_file, cluster.client_file)
    running: dict[type[Driver], Driver] = {}

    def driver(kind: type[Driver]) -> Driver:
        if kind not in running:
            running[kind] = kind(cluster.bootstrap, tls)
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


@pytest.fixture(scope="module")
def pem_properties(cluster: TlsCluster) -> Path:
    return written(cluster.folder / "pem.properties", cluster.properties)


@pytest.fixture(scope="module")
def pkcs12_properties(cluster: TlsCluster) -> Path:
    """The same with stores as Java people have them."""
    client = cluster.authority.issue("alice", ())
    stores = {
        "security.protocol": "SSL",
        "ssl.keystore.type": "PKCS12",
        "ssl.keystore.location": client.write_pkcs12(cluster.folder / "alice.p12", "secret"),
        "ssl.keystore.password": "secret",
        "ssl.truststore.type": "PKCS12",
        "ssl.truststore.location": cluster.authority.write_pkcs12(cluster.folder / "ca.p12", "secret"),
        "ssl.truststore.password": "secret",
    }
    return written(cluster.folder / "pkcs12.properties", stores)


def written(path: Path, properties: dict[str, str]) -> Path:
    path.write_text("".join(f"{name}={value}\n" for name, value in properties.items()))
    return path


def test_tools_of_apache_kafka(
    cluster: TlsCluster,
    pem_properties: Path,
    pkcs12_properties: Path,
    drivers: Callable[[type[Driver]], Driver],
) -> None:
    topic = f"tools.{uuid.uuid4().hex[:8]}"

    def tool(name: str, properties: Path, *arguments: str, stdin: str = "") -> str:
        where = ("--bootstrap-server", cluster.bootstrap, "--command-config", str(properties))
        return run_tool(name, *where, *arguments, stdin=stdin).stdout

    assert f"Created topic {topic}." in tool("kafka-topics", pem_properties, "--create", "--topic", topic)
    tool("kafka-console-producer", pkcs12_properties, "--topic", topic, stdin="um\ndois\n")
    reference = drivers(ConfluentDriver)
    assert [message.value for message in reference.consume(topic, 0, 0, 2)] == [b"um", b"dois"]
    reference.produce(topic, [Outgoing(b"tres")], partition=0)
    reading = ("--topic", topic, "--from-beginning", "--max-messages", "3")
    read = tool("kafka-console-consumer", pem_properties, *reading)
    assert read.split() == ["um", "dois", "tres"]


def test_a_java_client_that_does_not_trust(cluster: TlsCluster, tmp_path: Path) -> None:
    other = Authority("Other").write_pem(tmp_path / "other.pem")
    properties = written(
        tmp_path / "client.properties",
        {**cluster.properties, "ssl.truststore.location": other},
    )
    where = ("--bootstrap-server", cluster.bootstrap, "--command-config", str(properties))
    done = run_tool("kafka-topics", *where, "--list", check=False)
    assert done.returncode != 0
    assert "SSL handshake failed" in done.stdout + done.stderr
    log = cluster.process().log_tail(100_000)
    assert "does not accept the certificate of the listener PLAINTEXT" in log
