"""AlterClientQuotas and DescribeClientQuotas: the same answers as Apache Kafka's, side by side."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

from gralha.client.addresses import parse_bootstrap_servers
from gralha.client.cluster import Cluster
from gralha.client.connection import Connection
from gralha.protocol.errors import ErrorCode
from gralha.protocol.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasResponse,
    EntityData,
    EntryData,
    OpData,
)
from gralha.protocol.messages.create_topics import (
    CreatableTopic,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from gralha.protocol.messages.describe_client_quotas import (
    ComponentData,
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
)
from gralha.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from gralha.protocol.primitives import RecordBytes
from gralha.protocol.records import Record, encode_batch
from gralha.testing import GralhaCluster
from tests.apache.kafka import ApacheKafka
from tests.client.live import eventually

EXACT, DEFAULT, ANY = 0, 1, 2
EXCEEDED = "The throttling quota has been exceeded."
Entity = dict[str, str | None]
ALICE: Entity = {"user": "alice"}
BOTH: Entity = {"user": "alice", "client-id": "app"}
PRODUCE, CONSUME, TIME, MUTATE, CONNECT = (
    "producer_byte_rate",
    "consumer_byte_rate",
    "request_percentage",
    "controller_mutation_rate",
    "connection_creation_rate",
)


@pytest.fixture(scope="module")
def brokers() -> Iterator[tuple[str, str]]:
    """The addresses of Apache Kafka's broker and ours."""
    with ApacheKafka() as apache, GralhaCluster() as gralha:
        yield apache.bootstrap, gralha.bootstrap


@pytest.fixture
def clusters(brokers: tuple[str, str]) -> Iterator[tuple[Cluster, Cluster]]:
    pair = Cluster(brokers[0]), Cluster(brokers[1])
    yield pair
    for cluster in pair:
        cluster.close()


def entry(entity: Entity | list[tuple[str, str | None]], **values: float | None) -> EntryData:
    """A value of None removes the quota."""
    parts = entity if isinstance(entity, list) else list(entity.items())
    return EntryData(
        entity=[EntityData(*part) for part in parts],
        ops=[OpData(key, value or 0.0, value is None) for key, value in values.items()],
    )


def twice(entity: Entity, key: str, *values: float) -> EntryData:
    return EntryData(
        entity=[EntityData(*part) for part in entity.items()], ops=[OpData(key, value) for value in values]
    )


def alter(cluster: Cluster, *entries: EntryData, validate_only: bool = False) -> list[Any]:
    request = AlterClientQuotasRequest(entries=list(entries), validate_only=validate_only)
    response = cluster.send_to_controller(request, AlterClientQuotasResponse)
    assert response.throttle_time_ms == 0
    return sorted(
        (
            sorted((one.entity_type, repr(one.entity_name)) for one in result.entity),
            result.error_code,
            result.error_message,
        )
        for result in response.entries
    )


def describe(cluster: Cluster, *components: tuple[str, int, str | None], strict: bool = False) -> Any:
    request = DescribeClientQuotasRequest([ComponentData(*one) for one in components], strict)
    response = cluster.any_connection().send(request, DescribeClientQuotasResponse)
    entries = response.entries
    return (
        response.error_code,
        response.error_message,
        None
        if entries is None
        else sorted(
            (
                sorted((part.entity_type, repr(part.entity_name)) for part in one.entity),
                sorted((value.key, value.value) for value in one.values),
            )
            for one in entries
        ),
    )


def has_entities(cluster: Cluster, count: int) -> bool:
    return len(describe(cluster)[2]) == count


ALTERATIONS: dict[str, list[EntryData]] = {
    "unknown key": [entry(ALICE, rate=1.0)],
    "a quota of an address for a user": [entry(ALICE, connection_creation_rate=1.0)],
    "a quota of a user for an address": [entry({"ip": "10.0.0.1"}, producer_byte_rate=1.0)],
    "zero": [entry(ALICE, producer_byte_rate=0.0)],
    "negative": [entry(ALICE, request_percentage=-1.0)],
    "a fraction of a byte": [entry(ALICE, producer_byte_rate=1.5)],
    "nearly a whole byte": [entry(ALICE, producer_byte_rate=1.0000001)],
    "a fraction of a percent": [entry(ALICE, request_percentage=0.5, controller_mutation_rate=0.1)],
    "too many bytes": [entry(ALICE, consumer_byte_rate=1e19)],
    "too many connections": [entry({"ip": "10.0.0.1"}, connection_creation_rate=2147483648.0)],
    "a fraction of a connection": [entry({"ip": "10.0.0.1"}, connection_creation_rate=0.5)],
    "endless": [entry(ALICE, request_percentage=float("inf"))],
    "no entity": [entry({}, producer_byte_rate=1.0)],
    "unknown type": [entry({"group": "a"}, producer_byte_rate=1.0)],
    "empty user": [entry({"user": ""}, producer_byte_rate=1.0)],
    "empty client id": [entry({"user": "alice", "client-id": ""}, producer_byte_rate=1.0)],
    "empty address": [entry({"ip": ""}, connection_creation_rate=1.0)],
    "a user and an address": [entry({"user": "alice", "ip": "10.0.0.1"}, connection_creation_rate=1.0)],
    "no address": [entry({"ip": "no address"}, connection_creation_rate=1.0)],
    "localhost": [entry({"ip": "localhost"}, connection_creation_rate=1.0)],
    "IPv6": [entry({"ip": "::1"}, connection_creation_rate=1.0)],
    "the same entity twice": [entry(ALICE, producer_byte_rate=1.0), entry(ALICE, consumer_byte_rate=2.0)],
    "the same key twice": [twice(ALICE, PRODUCE, 1.0, 2.0)],
    "the same type twice": [entry([("user", "alice"), ("user", "bob")], producer_byte_rate=1.0)],
    "one of several fails": [
        entry(ALICE, producer_byte_rate=1.0),
        entry({"user": "bob"}, producer_byte_rate=0.0),
    ],
    "nothing to do": [entry(ALICE)],
    "remove what is not there": [entry({"user": "nobody"}, producer_byte_rate=None, rate=None)],
    "no entries": [],
}


@pytest.mark.parametrize("name", ALTERATIONS)
def test_the_same_alterations_are_refused(clusters: tuple[Cluster, Cluster], name: str) -> None:
    apache, gralha = (alter(cluster, *ALTERATIONS[name], validate_only=True) for cluster in clusters)
    assert gralha == [
        (entity, code, message and message.replace("shouldnot", "should not"))
        for entity, code, message in apache
    ]


FILTERS: dict[str, tuple[list[tuple[str, int, str | None]], bool]] = {
    "everything": ([], False),
    "nothing has no types": ([], True),
    "users": ([("user", ANY, None)], False),
    "users alone": ([("user", ANY, None)], True),
    "alice": ([("user", EXACT, "alice")], False),
    "alice alone": ([("user", EXACT, "alice")], True),
    "alice with any client id": ([("user", EXACT, "alice"), ("client-id", ANY, None)], True),
    "alice's app": ([("client-id", EXACT, "app"), ("user", EXACT, "alice")], True),
    "the default user": ([("user", DEFAULT, None)], False),
    "the default client id": ([("client-id", DEFAULT, None)], True),
    "addresses": ([("ip", ANY, None)], True),
    "the default address": ([("ip", DEFAULT, None)], False),
    "nobody": ([("user", EXACT, "nobody")], False),
    "an empty name": ([("user", EXACT, "")], False),
    "no type": ([("", ANY, None)], False),
    "an unknown type": ([("group", ANY, None)], False),
    "a type twice": ([("user", ANY, None), ("user", EXACT, "alice")], False),
    "exactly null": ([("user", EXACT, None)], False),
    "the default with a name": ([("user", DEFAULT, "alice")], False),
    "any with a name": ([("user", ANY, "alice")], False),
    "an unknown way": ([("user", 3, None)], False),
    "an address and a user": ([("ip", ANY, None), ("user", ANY, None)], False),
}


def test_the_same_quotas_are_described(clusters: tuple[Cluster, Cluster]) -> None:
    entries = [
        entry(ALICE, producer_byte_rate=1000.0, consumer_byte_rate=2000.0),
        entry(BOTH, request_percentage=12.5),
        entry({"user": "alice", "client-id": None}, producer_byte_rate=1.0),
        entry({"user": None}, controller_mutation_rate=5.0),
        entry({"user": None, "client-id": "app"}, controller_mutation_rate=5.0),
        entry({"user": "\u00fcser/with:signs"}, controller_mutation_rate=5.0),
        entry({"client-id": "app"}, consumer_byte_rate=9.0e18),
        entry({"client-id": None}, consumer_byte_rate=1.0),
        entry({"ip": "10.0.0.1"}, connection_creation_rate=7.0),
        entry({"ip": None}, connection_creation_rate=8.0),
    ]
    changes = [
        entry(ALICE, producer_byte_rate=None, consumer_byte_rate=3000.0),
        entry({"user": None}, controller_mutation_rate=None),
    ]
    answers = [(alter(cluster, *entries), alter(cluster, *changes)) for cluster in clusters]
    assert answers[0] == answers[1]
    for cluster in clusters:
        assert eventually(partial(has_entities, cluster, 9))
    differences = {}
    for name, (components, strict) in FILTERS.items():
        apache, gralha = (describe(cluster, *components, strict=strict) for cluster in clusters)
        if apache != gralha:
            differences[name] = (apache, gralha)
    assert differences == {}


def create(cluster: Cluster, name: str, partitions: int) -> CreatableTopicResult:
    topic = CreatableTopic(name=name, num_partitions=partitions, replication_factor=1)
    request = CreateTopicsRequest(topics=[topic], timeout_ms=20_000)
    return cluster.send_to_controller(request, CreateTopicsResponse).topics[0]


def produced(connection: Connection, topic_id: bytes, size: int) -> ProduceResponse:
    batch = encode_batch([Record(None, bytes(size), 1_700_000_000_000)])
    partition = PartitionProduceData(index=0, records=RecordBytes(batch, 0, len(batch)))
    topic = TopicProduceData(name="t", topic_id=topic_id, partition_data=[partition])
    return connection.send(ProduceRequest(acks=1, timeout_ms=20_000, topic_data=[topic]), ProduceResponse)


def has_led(connection: Connection, topic_id: bytes) -> bool:
    return produced(connection, topic_id, 1).responses[0].partition_responses[0].error_code == 0


def set_quota(cluster: Cluster, client_id: str, **values: float) -> None:
    """Returns when the broker has taken it over."""
    assert alter(cluster, entry({"client-id": client_id}, **values))[0][1] == 0
    assert eventually(lambda: describe(cluster, ("client-id", EXACT, client_id))[2] != [])


def test_the_same_throttle_time_for_the_same_bytes(
    brokers: tuple[str, str], clusters: tuple[Cluster, Cluster]
) -> None:
    throttle_ms = []
    for bootstrap, cluster in zip(brokers, clusters, strict=True):
        topic_id = create(cluster, "t", 1).topic_id
        (address,) = parse_bootstrap_servers(bootstrap)
        with Connection.open(address, client_id="over") as connection:
            assert eventually(partial(has_led, connection, topic_id))
            set_quota(cluster, "over", producer_byte_rate=1000.0)
            throttle_ms.append(produced(connection, topic_id, 200_000).throttle_time_ms)
    # The same bytes at once in ten windows: (bytes / 10 - 1000) / 1000 of them.
    assert 190_000 < throttle_ms[0] < 200_000
    assert throttle_ms[0] == throttle_ms[1]


def test_the_same_refusal_of_too_many_changes(clusters: tuple[Cluster, Cluster]) -> None:
    answers = []
    for cluster in clusters:
        client_id = cluster.any_connection()._client_id
        set_quota(cluster, client_id, controller_mutation_rate=1.0)
        # The bucket has 11 tokens and may be overdrawn once.
        first, second = create(cluster, "many", 20), create(cluster, "more", 1)
        # Apache Kafka sends no message. Its clients fill in this one.
        answers.append([(second.name, second.error_code, second.error_message or EXCEEDED)])
        assert (first.error_code, first.error_message) == (0, None)
    assert answers[0] == answers[1]
    assert answers[0] == [("more", ErrorCode.THROTTLING_QUOTA_EXCEEDED, EXCEEDED)]
