"""Three brokers that log in to each other through TLS, with rights: one is killed, the others serve on."""

from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from tests.client.live import eventually
from tests.clients.driver import Login
from tests.received import value_of
from tests.sasl_cluster import NODE_PASSWORD, PASSWORD
from tests.secured_cluster import ADMIN, ALICE, MECHANISM, SecuredCluster

from gralha.client.admin import Admin
from gralha.client.cluster import Cluster
from gralha.client.scram_calls import ScramUpsertion
from gralha.client.values import ConfigResource, TopicDescription
from gralha.client.values import ResourceType as ConfigType
from gralha.protocol.acls import Acl, Operation, PatternType, Permission, ResourceType
from gralha.protocol.errors import ErrorCode
from gralha.protocol.errors import KafkaError as OurError

TOPIC = "kept"
TIMEOUT_S = 60.0
EVE = Login(MECHANISM, "eve", "eve's secret")
SECRETS = (PASSWORD, NODE_PASSWORD, EVE.password, "LoginModule", "BEGIN PRIVATE KEY")


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[SecuredCluster]:
    # Nodes and clients log in again during the test.
    with SecuredCluster(tmp_path, brokers=3, config={"connections.max.reauth.ms": "3000"}) as cluster:
        yield cluster


def allowed(operation: Operation, kind: ResourceType, name: str) -> Acl:
    principal = f"User:{ALICE.user}"
    return Acl(kind, name, PatternType.LITERAL, principal, "*", operation, Permission.ALLOW)


def write(cluster: SecuredCluster, login: Login, values: list[bytes]) -> set[int]:
    """Writes records. Returns the codes of the errors."""
    errors: set[int] = set()

    def delivered(error: KafkaError | None, _: object) -> None:
        if error is not None:
            errors.add(error.code())

    producer = Producer({**cluster.librdkafka(login), "acks": "all", "log_level": 0})
    for value in values:
        producer.produce(TOPIC, value, on_delivery=delivered)
    assert producer.flush(TIMEOUT_S) == 0
    return errors


def consumer_of(cluster: SecuredCluster, login: Login) -> Consumer:
    settings = {"group.id": "readers", "auto.offset.reset": "earliest", "log_level": 0}
    return Consumer({**cluster.librdkafka(login), **settings})


def read(cluster: SecuredCluster, count: int) -> list[bytes]:
    consumer = consumer_of(cluster, ALICE)
    consumer.subscribe([TOPIC])
    found: list[bytes] = []
    while len(found) < count:
        batch = consumer.consume(count, TIMEOUT_S)
        assert batch, f"{len(found)} of {count} records within {TIMEOUT_S} s"
        found += [value_of(message) for message in batch]
    consumer.close()
    return sorted(found)


def in_sync_replicas(admin: Admin) -> set[frozenset[int]]:
    described = admin.describe_topics([TOPIC])[TOPIC]
    assert isinstance(described, TopicDescription)
    return {frozenset(partition.in_sync_replicas) for partition in described.partitions}


def test_a_killed_broker(cluster: SecuredCluster) -> None:
    values = [b"%06d" % number for number in range(2000)]
    with Admin(Cluster(cluster.bootstrap, security=cluster.security(ADMIN))) as admin:
        creator = AdminClient(cluster.librdkafka(ADMIN))
        topic = NewTopic(TOPIC, 6, 3, config={"min.insync.replicas": "2"})
        creator.create_topics([topic])[TOPIC].result(TIMEOUT_S)
        admin.create_acls(
            [
                allowed(Operation.WRITE, ResourceType.TOPIC, TOPIC),
                allowed(Operation.READ, ResourceType.TOPIC, TOPIC),
                allowed(Operation.READ, ResourceType.GROUP, "readers"),
            ]
        )
        credential = ScramUpsertion(EVE.mechanism, 4096, b"some salt", EVE.password)
        admin.alter_scram_user(EVE.user, upsertions=[credential], deletions=[])
        assert write(cluster, ALICE, values[:1000]) == set()
        assert_eve_is_refused(cluster, cluster.node_ids)
        assert_nothing_secret_is_described(cluster, admin)

        victim = admin.describe_quorum().leader_id
        cluster.kill(victim)
        survivors = set(cluster.node_ids) - {victim}
        assert eventually(lambda: {node.id for node in admin.describe_cluster().nodes} == survivors)
        assert write(cluster, ALICE, values[1000:]) == set()
        assert read(cluster, len(values)) == values
        assert_eve_is_refused(cluster, survivors)
        cluster.start()
        assert eventually(lambda: in_sync_replicas(admin) == {frozenset(cluster.node_ids)})
    logs = [(cluster.folder / f"node-{node_id}" / "server.log").read_text() for node_id in cluster.node_ids]
    for log in logs:
        assert [secret for secret in SECRETS if secret in log] == []
        assert "could not log in" not in log
        assert '"principal": "User:broker"' not in denials(log)
        assert '"principal": "User:node"' not in denials(log)

    assert any(f'"principal": "User:{EVE.user}"' in denials(log) for log in logs)


def denials(log: str) -> str:
    return "\n".join(line for line in log.splitlines() if '"event": "denied"' in line)


def assert_eve_is_refused(cluster: SecuredCluster, running: Iterable[int]) -> None:
    """She logs in, and has no rights: not with the leaders, and not with the controller behind any broker."""
    denied = {KafkaError.TOPIC_AUTHORIZATION_FAILED}
    assert write(cluster, EVE, [b"from eve"]) == denied
    consumer = consumer_of(cluster, EVE)
    consumer.assign([TopicPartition(TOPIC, 0, 0)])
    message = consumer.poll(TIMEOUT_S)
    assert message is not None
    error = message.error()
    assert error is not None
    assert error.code() in {*denied, KafkaError.GROUP_AUTHORIZATION_FAILED}
    consumer.close()
    for node_id in running:
        address = f"127.0.0.1:{cluster.sasl_ports[node_id]}"
        client = AdminClient({**cluster.librdkafka(EVE), "bootstrap.servers": address, "log_level": 0})
        with pytest.raises(KafkaException) as refused:
            client.create_topics([NewTopic("eves", 1, 1)])["eves"].result(TIMEOUT_S)
        assert refused.value.args[0].code() in denied
    with (
        Admin(Cluster(cluster.bootstrap, security=cluster.security(EVE))) as admin,
        pytest.raises(OurError) as found,
    ):
        admin.create_acls([allowed(Operation.ALL, ResourceType.TOPIC, TOPIC)])
    assert found.value.code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED


def assert_nothing_secret_is_described(cluster: SecuredCluster, admin: Admin) -> None:
    wanted = [ConfigResource(ConfigType.BROKER, str(node_id)) for node_id in cluster.node_ids]
    described = admin.describe_configs(wanted, include_synonyms=True)
    assert len(described) == len(cluster.node_ids)
    for entries in described.values():
        assert isinstance(entries, list)
        shown = repr(entries)
        assert [secret for secret in SECRETS if secret in shown] == []
        secret = {entry.name: entry for entry in entries if entry.name.endswith("sasl.jaas.config")}
        assert secret
        assert all(entry.is_sensitive and entry.value is None for entry in secret.values())
