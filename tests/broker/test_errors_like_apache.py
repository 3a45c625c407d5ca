"""Admin requests that a controller refuses: the same codes and words as Apache Kafka's, side by side."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from gralha.client.cluster import Cluster
from gralha.protocol.message import Message
from gralha.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartition,
    ReassignableTopic,
)
from gralha.protocol.messages.create_partitions import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
)
from gralha.protocol.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from gralha.protocol.messages.delete_topics import (
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
)
from gralha.protocol.messages.elect_leaders import (
    ElectLeadersRequest,
    ElectLeadersResponse,
    TopicPartitions,
)
from gralha.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from gralha.protocol.messages.update_features import (
    FeatureUpdateKey,
    UpdateFeaturesRequest,
    UpdateFeaturesResponse,
)
from gralha.testing import GralhaCluster
from tests.apache.kafka import ApacheKafka

TOPIC = "base"  # has three partitions
TOPICS, BROKERS, LOGGERS, GROUPS = 2, 4, 8, 32
SET, DELETE, APPEND, SUBTRACT = 0, 1, 2, 3
UPGRADE, SAFE_DOWNGRADE = 1, 2
TIMEOUT_MS = 20_000

Errors = list[tuple[int, str | None]]
Case = tuple[Message, type[Message], Callable[[Any], Errors]]


@pytest.fixture(scope="module")
def clusters() -> Iterator[tuple[Cluster, Cluster]]:
    """Apache Kafka's and ours."""
    with ApacheKafka() as apache, GralhaCluster() as gralha:
        pair = Cluster(apache.bootstrap), Cluster(gralha.bootstrap)
        for cluster in pair:
            answer(cluster, create(TOPIC, 3))
            answer(cluster, create("a.b"))
        yield pair
        for cluster in pair:
            cluster.close()


def answer(cluster: Cluster, case: Case) -> Errors:
    request, response_class, errors = case
    return errors(cluster.send_to_controller(request, response_class))


def create(
    name: str = "new",
    partitions: int = 1,
    factor: int = 1,
    placed: dict[int, list[int]] | list[tuple[int, list[int]]] = {},  # noqa: B006
    **configs: str,
) -> Case:
    entries = list(placed.items()) if isinstance(placed, dict) else placed
    topic = CreatableTopic(
        name=name,
        num_partitions=partitions,
        replication_factor=factor,
        assignments=[CreatableReplicaAssignment(index, brokers) for index, brokers in entries],
        configs=[CreatableTopicConfig(key.replace("_", "."), value) for key, value in configs.items()],
    )
    return (
        CreateTopicsRequest(topics=[topic], timeout_ms=TIMEOUT_MS, validate_only=name not in (TOPIC, "a.b")),
        CreateTopicsResponse,
        lambda response: [(one.error_code, one.error_message) for one in response.topics],
    )


def place(*placed: tuple[int, list[int]], partitions: int = -1, factor: int = -1) -> Case:
    return create("new", partitions, factor, list(placed))


def grow(name: str, count: int, *placed: list[int]) -> Case:
    assignments = [CreatePartitionsAssignment(brokers) for brokers in placed] if placed else None
    topic = CreatePartitionsTopic(name=name, count=count, assignments=assignments)
    return (
        CreatePartitionsRequest(topics=[topic], timeout_ms=TIMEOUT_MS, validate_only=True),
        CreatePartitionsResponse,
        lambda response: [(one.error_code, one.error_message) for one in response.results],
    )


def alter(kind: int, name: str, *changes: tuple[str, int, str | None]) -> Case:
    configs = [AlterableConfig(key, operation, value) for key, operation, value in changes]
    return (
        IncrementalAlterConfigsRequest([AlterConfigsResource(kind, name, configs)], validate_only=True),
        IncrementalAlterConfigsResponse,
        lambda response: [(one.error_code, one.error_message) for one in response.responses],
    )


def update(feature: str, level: int, upgrade_type: int = UPGRADE) -> Case:
    key = FeatureUpdateKey(feature=feature, max_version_level=level, upgrade_type=upgrade_type)
    return (
        UpdateFeaturesRequest(timeout_ms=TIMEOUT_MS, feature_updates=[key], validate_only=True),
        UpdateFeaturesResponse,
        lambda response: [(response.error_code, response.error_message)],
    )


def move(name: str, index: int, brokers: list[int] | None) -> Case:
    topic = ReassignableTopic(name, [ReassignablePartition(index, brokers)])
    return (
        AlterPartitionReassignmentsRequest(timeout_ms=TIMEOUT_MS, topics=[topic]),
        AlterPartitionReassignmentsResponse,
        lambda response: [
            (response.error_code, response.error_message),
            *(
                (partition.error_code, partition.error_message)
                for topic in response.responses
                for partition in topic.partitions
            ),
        ],
    )


def elect(name: str, index: int, election_type: int = 0) -> Case:
    partitions = [TopicPartitions(name, [index])]
    return (
        ElectLeadersRequest(election_type=election_type, topic_partitions=partitions, timeout_ms=TIMEOUT_MS),
        ElectLeadersResponse,
        lambda response: [
            (partition.error_code, partition.error_message)
            for topic in response.replica_election_results
            for partition in topic.partition_result
        ],
    )


def delete(*topics: DeleteTopicState) -> Case:
    return (
        DeleteTopicsRequest(topics=list(topics), timeout_ms=TIMEOUT_MS),
        DeleteTopicsResponse,
        lambda response: [(one.error_code, None) for one in response.responses],
    )


def setting(name: str, value: str) -> Case:
    configs: dict[str, Any] = {name.replace(".", "_"): value}
    return create(**configs)


CASES: dict[str, Case] = {
    "it exists": create(TOPIC, 3),
    "factor 3": create(factor=3),
    "factor 0": create(factor=0),
    "factor -2": create(factor=-2),
    "no partitions": create(partitions=0),
    "-2 partitions": create(partitions=-2),
    "a broker twice": place((0, [1, 1])),
    "no such broker": place((0, [9])),
    "a partition left out": place((1, [1])),
    "a partition twice": place((0, [1]), (0, [1])),
    "no replicas": place((0, [])),
    "broker -1": place((0, [-1])),
    "placed and counted": place((0, [1]), partitions=3, factor=1),
    "a bad name": create("a b"),
    "a long name": create("a" * 250),
    "a dot": create("."),
    "a name like another": create("a_b"),
    "no name": create(""),
    **{
        f"{name}={value}": setting(name, value)
        for name, value in (
            ("no.such.name", "1"),
            ("retention.ms", "x"),
            ("retention.ms", "-5"),
            ("retention.ms", "99999999999999999999"),
            ("cleanup.policy", "foo"),
            ("cleanup.policy", ""),
            ("compression.type", "zip"),
            ("unclean.leader.election.enable", "maybe"),
            ("min.cleanable.dirty.ratio", "2"),
            ("min.cleanable.dirty.ratio", "x"),
            ("segment.bytes", "1"),
            ("min.insync.replicas", "0"),
            ("message.timestamp.type", "x"),
            ("leader.replication.throttled.replicas", "a"),
            ("compression.gzip.level", "99"),
            ("compression.gzip.level", "0"),
            ("max.message.bytes", "-1"),
            ("max.compaction.lag.ms", "0"),
            ("flush.messages", "0"),
            ("segment.ms", "0"),
            ("index.interval.bytes", "-1"),
            ("preallocate", "1"),
        )
    },
    "fewer partitions": grow(TOPIC, 2),
    "as many partitions": grow(TOPIC, 3),
    "more of no topic": grow("nope", 2),
    "-1 partitions of a topic": grow(TOPIC, -1),
    "too few are placed": grow(TOPIC, 5, [1]),
    "too many are placed": grow(TOPIC, 4, [1], [1]),
    "placed nowhere": grow(TOPIC, 4, [7]),
    "placed twice": grow(TOPIC, 4, [1, 1]),
    "placed without replicas": grow(TOPIC, 4, []),
    "a topic setting that is none": alter(TOPICS, TOPIC, ("no.such.name", SET, "1")),
    "a topic setting that is no number": alter(TOPICS, TOPIC, ("retention.ms", SET, "x")),
    "a topic setting without a value": alter(TOPICS, TOPIC, ("retention.ms", SET, None)),
    "a topic setting twice": alter(TOPICS, TOPIC, ("retention.ms", SET, "1"), ("retention.ms", SET, "2")),
    "an append to a number": alter(TOPICS, TOPIC, ("retention.ms", APPEND, "1")),
    "a setting of no topic": alter(TOPICS, "nope", ("retention.ms", SET, "1")),
    "a setting of all topics": alter(TOPICS, "", ("retention.ms", SET, "1")),
    **{
        f"{name}={value} of broker '{broker}'": alter(BROKERS, broker, (name, SET, value))
        for broker in ("1", "")
        for name, value in (
            ("log.dirs", "/x"),
            ("node.id", "5"),
            ("no.such.name", "1"),
            ("log.retention.ms", "x"),
            ("log.retention.ms", "0"),
            ("max.connections", "x"),
            ("num.io.threads", "0"),
            ("min.insync.replicas", "0"),
            ("message.max.bytes", "-1"),
            ("log.segment.bytes", "1"),
            ("background.threads", "-1"),
        )
    },
    "a setting of another broker": alter(BROKERS, "9", ("log.retention.ms", SET, "1")),
    "a setting of broker x": alter(BROKERS, "x", ("log.retention.ms", SET, "1")),
    "a setting of something else": alter(77, "x", ("a", SET, "1")),
    "a logger that does not exist": alter(LOGGERS, "1", ("nowhere", SET, "INFO")),
    "no logger's name": alter(LOGGERS, "1", ("", SET, "INFO")),
    "a level that does not exist": alter(LOGGERS, "1", ("root", SET, "LOUD")),
    "a level in lower case": alter(LOGGERS, "1", ("root", SET, "debug")),
    "no level": alter(LOGGERS, "1", ("root", SET, None)),
    "a level of root": alter(LOGGERS, "1", ("root", SET, "TRACE")),
    "no level of root any more": alter(LOGGERS, "1", ("root", DELETE, None)),
    "a level that is appended": alter(LOGGERS, "1", ("root", APPEND, "INFO")),
    "a level that is subtracted": alter(LOGGERS, "1", ("root", SUBTRACT, "INFO")),
    "a level of a logger twice": alter(LOGGERS, "1", ("root", SET, "INFO"), ("root", DELETE, None)),
    "the loggers of no broker": alter(LOGGERS, "x", ("root", SET, "INFO")),
    "a group setting that is none": alter(GROUPS, "g", ("no.such.name", SET, "1")),
    "a group setting of no group": alter(GROUPS, "", ("consumer.session.timeout.ms", SET, "50000")),
    **{
        f"{name}={value} of a group": alter(GROUPS, "g", (name, SET, value))
        for name, value in (
            ("consumer.session.timeout.ms", "x"),
            ("consumer.session.timeout.ms", "1"),
            ("consumer.session.timeout.ms", "50000"),
            ("consumer.session.timeout.ms", "70000"),
            ("consumer.heartbeat.interval.ms", "1"),
            ("consumer.heartbeat.interval.ms", "16000"),
        )
    },
    "a feature that is none": update("nope", 1),
    "a feature that is too new": update("group.version", 9),
    "a negative level": update("group.version", -1),
    "a downgrade that is not called one": update("group.version", 0),
    "an upgrade that is called a downgrade": update("eligible.leader.replicas.version", 1, SAFE_DOWNGRADE),
    "an update of no kind": update("group.version", 1, 7),
    "kraft.version 2": update("kraft.version", 2),
    "move no topic": move("nope", 0, [1]),
    "move no partition": move(TOPIC, 9, [1]),
    "move to no broker": move(TOPIC, 0, [9]),
    "move to a broker twice": move(TOPIC, 0, [1, 1]),
    "move nowhere": move(TOPIC, 0, []),
    "move to broker -3": move(TOPIC, 0, [-3]),
    "cancel no move": move(TOPIC, 0, None),
    "elect where it is not needed": elect(TOPIC, 0),
    "elect unclean where it is not needed": elect(TOPIC, 0, 1),
    "elect for no topic": elect("nope", 0),
    "elect for no partition": elect(TOPIC, 9),
    "delete no topic": delete(DeleteTopicState(name="nope")),
    "delete no id": delete(DeleteTopicState(name=None, topic_id=b"\1" * 16)),
    "delete a topic twice": delete(DeleteTopicState(name="nope"), DeleteTopicState(name="nope")),
    "delete by name and id": delete(DeleteTopicState(name="nope", topic_id=b"\1" * 16)),
}


@pytest.mark.parametrize("name", CASES)
def test_the_same_answer(clusters: tuple[Cluster, Cluster], name: str) -> None:
    apache, gralha = clusters
    assert answer(gralha, CASES[name]) == answer(apache, CASES[name])
