"""`GralhaCluster(security=...)`: real clients of all libraries, users and their rights, ends and restarts."""

from __future__ import annotations

import asyncio
import json
import socket
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import aiokafka
import confluent_kafka
import kafka
import pytest
from confluent_kafka import KafkaError

from gralha.testing import GralhaCluster
from tests.apache.kafka import run_tool

PATIENCE_S = 60
SECURITY = ("sasl_ssl", "ssl", "sasl_plaintext", None)
KAFKAJS = Path(__file__).parents[1] / "clients" / "kafkajs"
pytestmark = pytest.mark.timeout(240)


def produce(settings: dict[str, str], topic: str, value: bytes = b"one") -> KafkaError | None:
    """Writes a record. Returns the error of its delivery."""
    errors: list[KafkaError | None] = []
    producer = confluent_kafka.Producer({**settings, "message.timeout.ms": PATIENCE_S * 1000})
    producer.produce(topic, value, on_delivery=lambda error, _message: errors.append(error))
    assert producer.flush(PATIENCE_S) == 0
    return errors[0]


def consume(settings: dict[str, str], topic: str, group: str) -> bytes | KafkaError | None:
    """The first record of a topic, or the error in place of it."""
    consumer = confluent_kafka.Consumer({**settings, "group.id": group, "auto.offset.reset": "earliest"})
    try:
        consumer.subscribe([topic])
        (message,) = consumer.consume(1, PATIENCE_S)
        return message.error() or message.value()
    finally:
        consumer.close()


def code(error: object) -> int | None:
    return error.code() if isinstance(error, KafkaError) else None


@pytest.fixture(scope="module", params=SECURITY)
def cluster(request: pytest.FixtureRequest) -> Iterator[GralhaCluster]:
    with GralhaCluster(security=request.param) as cluster:
        yield cluster


def test_confluent_kafka(cluster: GralhaCluster) -> None:
    settings = cluster.client_config()
    assert produce(settings, "app.confluent") is None
    assert consume(settings, "app.confluent", "app.readers") == b"one"


def test_kafka_python(cluster: GralhaCluster) -> None:
    producer = kafka.KafkaProducer(**cluster.python_config())
    try:
        producer.send("app.kafka-python", b"one").get(PATIENCE_S)
    finally:
        producer.close()
    assert consume(cluster.client_config(), "app.kafka-python", "app.kp") == b"one"


def test_aiokafka(cluster: GralhaCluster) -> None:
    async def produce_one() -> None:
        async with aiokafka.AIOKafkaProducer(**cluster.python_config()) as producer:
            await producer.send_and_wait("app.aiokafka", b"one")

    asyncio.run(asyncio.wait_for(produce_one(), PATIENCE_S))
    assert consume(cluster.client_config(), "app.aiokafka", "app.aio") == b"one"


def test_kafkajs(cluster: GralhaCluster) -> None:
    program = """
        const { Kafka } = require('kafkajs')
        const producer = new Kafka(JSON.parse(require('fs').readFileSync(0))).producer()
        producer.connect()
          .then(() => producer.send({ topic: 'app.kafkajs', messages: [{ value: 'one' }] }))
          .then(() => producer.disconnect())
    """
    done = subprocess.run(
        ["node", "-e", program],
        input=json.dumps(cluster.kafkajs_config()),
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
        cwd=KAFKAJS,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert consume(cluster.client_config(), "app.kafkajs", "app.js") == b"one"


def test_java(cluster: GralhaCluster) -> None:
    where = ("--bootstrap-server", cluster.bootstrap, "--command-config", str(cluster.properties_file()))
    run_tool("kafka-console-producer", *where, "--topic", "app.java", stdin="one\n")
    assert consume(cluster.client_config(), "app.java", "app.java") == b"one"


@pytest.mark.parametrize("security", SECURITY[:3])
def test_rights_are_as_they_were_given(security: str) -> None:
    with GralhaCluster(security=security) as cluster:
        admin = cluster.client_config("admin")
        assert produce(admin, "orders") is None
        assert code(produce(cluster.client_config("app"), "orders")) == KafkaError.TOPIC_AUTHORIZATION_FAILED
        cluster.add_user("eva")
        eva = cluster.client_config("eva")
        assert code(produce(eva, "orders")) == KafkaError.TOPIC_AUTHORIZATION_FAILED
        cluster.allow("eva", "read", topic="orders")
        assert code(consume(eva, "orders", "eva.readers")) == KafkaError.GROUP_AUTHORIZATION_FAILED
        cluster.allow("eva", "READ", group="eva.", prefixed=True)
        assert consume(eva, "orders", "eva.readers") == b"one"
        assert code(produce(eva, "orders")) == KafkaError.TOPIC_AUTHORIZATION_FAILED


@pytest.mark.parametrize("security", SECURITY[:3])
def test_three_brokers_and_the_crash_of_one(security: str) -> None:
    config = {"default.replication.factor": "3", "min.insync.replicas": "2"}
    with GralhaCluster(3, config, security=security) as cluster:
        settings = cluster.client_config()
        assert produce(settings, "app.first", b"before") is None
        cluster.kill(1)
        assert produce(settings, "app.first", b"without it") is None
        cluster.restart(1)
        cluster.add_user("eva")
        cluster.allow("eva", "READ", topic="app.", group="app.", prefixed=True)
        # The broker that was down answers all requests of the new user.
        only_first = {"bootstrap.servers": f"127.0.0.1:{cluster.ports[1]}"}
        eva = {**cluster.client_config("eva"), **only_first}
        assert consume(eva, "app.first", "app.eva") == b"before"
        assert code(produce(eva, "app.first")) == KafkaError.TOPIC_AUTHORIZATION_FAILED


def test_no_door_is_open_without_a_login() -> None:
    with GralhaCluster(security="sasl_ssl") as cluster:
        ports = [*cluster.ports.values(), *cluster._controller_ports.values()]
        metadata_request = bytes.fromhex("00000011 0003 0001 00000000 ffff 00000000 000000")
        for port in ports:
            with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S) as connection:
                connection.sendall(metadata_request)
                assert connection.recv(100)[:1] in (b"", b"\x15"), "not closed, and no alert of TLS"
        without_login = {**cluster.client_config(), "security.protocol": "ssl"}
        errors: list[KafkaError] = []
        producer = confluent_kafka.Producer({**without_login, "error_cb": errors.append, "log_level": 0})
        producer.poll(PATIENCE_S)
        assert errors


def test_a_wrong_password_is_refused_and_a_new_one_accepted(gralha_secured_cluster: GralhaCluster) -> None:
    gralha_secured_cluster.add_user("ana", "first")
    old = gralha_secured_cluster.client_config("ana")
    gralha_secured_cluster.add_user("ana", "second")
    errors: list[KafkaError] = []
    producer = confluent_kafka.Producer({**old, "error_cb": errors.append, "log_level": 0})
    producer.poll(PATIENCE_S)
    assert errors[0].code() == KafkaError._AUTHENTICATION
    new = confluent_kafka.Consumer({**gralha_secured_cluster.client_config("ana"), "group.id": "any"})
    assert new.list_topics(timeout=PATIENCE_S).brokers
    new.close()


@pytest.mark.parametrize("security", SECURITY[:3])
def test_an_added_broker_is_secured_too(security: str) -> None:
    with GralhaCluster(security=security) as cluster:
        added = cluster.add_broker()
        assert produce(cluster.client_config(), "app.orders") is None
        cluster.stop(added)


@pytest.mark.parametrize("security", ["sasl_ssl", "ssl"])
def test_the_data_of_a_folder_can_be_used_again(tmp_path: Path, security: str) -> None:
    with GralhaCluster(folder=tmp_path, security=security) as cluster:
        cluster.add_user("eva")
        cluster.allow("eva", "READ", topic="app.", group="app.", prefixed=True)
        assert produce(cluster.client_config(), "app.kept") is None
    with GralhaCluster(folder=tmp_path, security=security) as again:
        assert consume(again.client_config("eva"), "app.kept", "app.eva") == b"one"


def test_nobody_else_can_read_the_files(tmp_path: Path) -> None:
    with GralhaCluster(folder=tmp_path, security="sasl_ssl") as cluster:
        cluster.properties_file("admin")
        secret = [
            tmp_path / "users",
            *(tmp_path / "users").iterdir(),
            *tmp_path.glob("*.properties"),
            *tmp_path.glob("node-1/*.properties"),
        ]
    assert len(secret) > 5
    assert {str(one): stat.S_IMODE(one.stat().st_mode) & 0o077 for one in secret} == {
        str(one): 0 for one in secret
    }


def test_options_of_spark_have_no_password(gralha_secured_cluster: GralhaCluster) -> None:
    options = gralha_secured_cluster.spark_options()
    password = gralha_secured_cluster.client_config()["sasl.password"]
    assert password not in json.dumps(options)
    path = gralha_secured_cluster.properties_file()
    assert options["kafka.sasl.jaas.config"] == f"${{file:{path}:sasl.jaas.config}}"
    assert password in path.read_text()


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda one: one.client_config("eve"), r"no user 'eve', only admin, app.*: call add_user\('eve'\)"),
        (
            lambda one: one.allow("app", "DANCE", topic="x"),
            "'DANCE' is not an operation: use one of ALL, READ",
        ),
        (lambda one: one.add_user('a"b'), "cannot be the name of a user"),
    ],
)
def test_mistakes(gralha_secured_cluster: GralhaCluster, call: Any, error: str) -> None:
    with pytest.raises(ValueError, match=error):
        call(gralha_secured_cluster)


def test_users_need_security(gralha_cluster: GralhaCluster) -> None:
    with pytest.raises(ValueError, match=r'create it with GralhaCluster\(security="sasl_ssl"\)'):
        gralha_cluster.add_user("eva")
    with pytest.raises(ValueError, match="use 'ssl', 'sasl_plaintext', 'sasl_ssl' or None"):
        GralhaCluster(security="tls")
