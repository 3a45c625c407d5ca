"""CreatePartitions."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.metadata.cluster import cluster, context, replay
from tests.metadata.controller.test_topics import create, new_topic

from gralha.metadata.controller.partitions import create_partitions
from gralha.protocol.errors import ErrorCode
from gralha.protocol.messages.create_partitions import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)


def with_topic(brokers=3, partitions=2, replicas=2, fenced=()):
    image = cluster(brokers)
    image, _ = replay(image, create(image, new_topic("a", partitions, replicas)).records)
    return image


def more(image, *topics, validate_only=False):
    request = CreatePartitionsRequest(
        topics=[
            CreatePartitionsTopic(
                name,
                count,
                None
                if assignments is None
                else [CreatePartitionsAssignment(list(one)) for one in assignments],
            )
            for name, count, assignments in topics
        ],
        validate_only=validate_only,
    )
    return create_partitions(image, request, context())


def test_new_partitions_have_as_many_replicas_as_the_old_ones():
    image = with_topic()
    after, change = replay(image, more(image, ("a", 5, None)).records)
    assert [len(one.replicas) for one in after.topic("a").partitions.values()] == [2] * 5
    assert after.partition("a", 0) == image.partition("a", 0)
    assert [topic.name for topic in change.changed_topics] == ["a"]


def test_new_partitions_go_where_the_caller_says():
    image = with_topic()
    after, _ = replay(image, more(image, ("a", 4, [[3, 1], [2, 3]])).records)
    assert [after.partition("a", index).replicas for index in (2, 3)] == [(3, 1), (2, 3)]


@pytest.mark.parametrize(
    ("topic", "code"),
    [
        (("x", 3, None), "UNKNOWN_TOPIC_OR_PARTITION"),
        (("a", 2, None), "INVALID_PARTITIONS"),
        (("a", 1, None), "INVALID_PARTITIONS"),
        (("a", -1, None), "INVALID_PARTITIONS"),
        (("a", 10_003, None), "POLICY_VIOLATION"),
        (("a", 3, []), "INVALID_REPLICA_ASSIGNMENT"),
        (("a", 3, [[1]]), "INVALID_REPLICA_ASSIGNMENT"),
        (("a", 3, [[1, 9]]), "INVALID_REPLICA_ASSIGNMENT"),
        (("a", 3, [[1, 1]]), "INVALID_REPLICA_ASSIGNMENT"),
        (("a", 3, [[]]), "INVALID_REPLICA_ASSIGNMENT"),
    ],
)
def test_what_makes_no_sense_is_refused(topic, code):
    decision = more(with_topic(), topic)
    (result,) = decision.response.results
    assert ErrorCode(result.error_code).name == code
    assert bool(result.error_message) == (code != "UNKNOWN_TOPIC_OR_PARTITION")
    assert decision.records == []


def test_a_topic_named_twice_is_refused():
    decision = more(with_topic(), ("a", 3, None), ("a", 4, None))
    assert [result.error_code for result in decision.response.results] == [ErrorCode.INVALID_REQUEST]
    assert decision.records == []


def test_validate_only_records_nothing():
    decision = more(with_topic(), ("a", 3, None), validate_only=True)
    assert decision.response.results[0].error_code == 0
    assert decision.records == []


@given(st.lists(st.integers(-1, 12), max_size=6), st.integers(1, 4), st.integers(1, 4))
def test_the_count_only_grows(counts, brokers, replicas):
    replicas = min(brokers, replicas)
    image = with_topic(brokers, 1, replicas)
    for count in counts:
        present = len(image.topic("a").partitions)
        decision = more(image, ("a", count, None))
        image, _ = replay(image, decision.records)
        assert len(image.topic("a").partitions) == max(present, count)
        assert (decision.response.results[0].error_code == 0) == (count > present)
