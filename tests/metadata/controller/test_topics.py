"""CreateTopics and DeleteTopics: the decisions, and the same result after a replay of the records."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.metadata.cluster import cluster, context, replay

from gralha.metadata.config_keys import TOPIC_CONFIGS
from gralha.metadata.controller.topics import create_topics, delete_topics
from gralha.protocol.errors import ErrorCode, InvalidRequestError, TopicDeletionDisabledError
from gralha.protocol.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from gralha.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState


def new_topic(name, partitions=1, replicas=1, assignments=(), **configs):
    return CreatableTopic(
        name=name,
        num_partitions=partitions,
        replication_factor=replicas,
        assignments=[CreatableReplicaAssignment(index, list(brokers)) for index, brokers in assignments],
        configs=[CreatableTopicConfig(key.replace("_", "."), value) for key, value in configs.items()],
    )


def manual(name, *assignments, **others):
    return new_topic(name, -1, -1, assignments, **others)


def create(image, *topics, validate_only=False, **settings_):
    request = CreateTopicsRequest(topics=list(topics), validate_only=validate_only)
    return create_topics(image, request, context(**settings_))


def refused(image, topic, **settings_):
    """The error code and message of a refused topic."""
    decision = create(image, topic, **settings_)
    (result,) = decision.response.topics
    assert decision.records == []
    assert result.error_message
    return ErrorCode(result.error_code).name, result.error_message


def test_a_topic_is_answered_with_all_it_became():
    image = cluster(3)
    decision = create(image, new_topic("a", 6, 2, retention_ms="5"))
    (result,) = decision.response.topics
    after, _ = replay(image, decision.records)
    topic = after.topic("a")
    assert (result.error_code, result.error_message, result.topic_config_error_code) == (0, None, 0)
    assert (result.num_partitions, result.replication_factor, result.topic_id) == (6, 2, topic.id)
    assert len(topic.partitions) == 6
    for partition in topic.partitions.values():
        assert partition.isr == partition.replicas
        assert partition.leader == partition.replicas[0]
        assert (partition.leader_epoch, partition.partition_epoch) == (0, 0)
        assert partition.directories == tuple(
            after.brokers[broker].log_dirs[0] for broker in partition.replicas
        )
    assert after.topic_configs("a") == {"retention.ms": "5"}
    configs = {config.name: config for config in result.configs}
    assert set(configs) == {name for name, key in TOPIC_CONFIGS.items() if not key.internal}
    assert (configs["retention.ms"].value, configs["retention.ms"].config_source) == ("5", 1)
    assert (configs["segment.ms"].value, configs["segment.ms"].config_source) == ("604800000", 5)


def test_minus_one_means_the_brokers_defaults():
    decision = create(cluster(3), new_topic("a", -1, -1), num_partitions=4, default_replication_factor=3)
    (result,) = decision.response.topics
    assert (result.num_partitions, result.replication_factor) == (4, 3)


def test_validate_only_answers_the_same_and_records_nothing():
    image = cluster(1)
    decision = create(image, new_topic("a", 2), new_topic("b", 0), validate_only=True)
    assert decision.records == []
    assert [result.error_code for result in decision.response.topics] == [0, ErrorCode.INVALID_PARTITIONS]


def test_with_several_folders_the_broker_chooses_later():
    image = cluster(1, log_dirs=2)
    after, _ = replay(image, create(image, new_topic("a")).records)
    assert after.partition("a", 0).directories == (bytes(15) + b"\x01",)


@pytest.mark.parametrize("name", ["", ".", "..", "a" * 250, "a b", "a/b", "ä", "a\n", "a\x00"])
def test_bad_names_are_refused(name):
    code, message = refused(cluster(1), new_topic(name))
    assert code == "INVALID_TOPIC_EXCEPTION"
    assert message.startswith("Topic name is invalid: ")


@pytest.mark.parametrize("name", ["a" * 249, "A.b_C-9", "...", "__consumer_offsets"])
def test_good_names_are_taken(name):
    assert create(cluster(1), new_topic(name)).response.topics[0].error_code == 0


def test_names_that_metrics_would_confuse_collide():
    image, _ = replay(cluster(1), create(cluster(1), new_topic("a.b"), new_topic("c")).records)
    assert refused(image, new_topic("a_b")) == (
        "INVALID_TOPIC_EXCEPTION",
        "Topic 'a_b' collides with existing topic: a.b",
    )
    assert refused(image, new_topic("a.b")) == ("TOPIC_ALREADY_EXISTS", "Topic 'a.b' already exists.")
    assert refused(image, new_topic("c")) == ("TOPIC_ALREADY_EXISTS", "Topic 'c' already exists.")
    codes = [
        result.error_code for result in create(image, new_topic("d.e"), new_topic("d_e")).response.topics
    ]
    assert codes == [0, ErrorCode.INVALID_TOPIC_EXCEPTION]


@pytest.mark.parametrize(
    ("topic", "code"),
    [
        (new_topic("a", 0), "INVALID_PARTITIONS"),
        (new_topic("a", -2), "INVALID_PARTITIONS"),
        (new_topic("a", 1, 0), "INVALID_REPLICATION_FACTOR"),
        (new_topic("a", 1, -2), "INVALID_REPLICATION_FACTOR"),
        (new_topic("a", 1, 4), "INVALID_REPLICATION_FACTOR"),
        (new_topic("a", 10_001), "POLICY_VIOLATION"),
        (new_topic("a", retention_ms="x"), "INVALID_CONFIG"),
        (new_topic("a", retention_ms=None), "INVALID_CONFIG"),
        (new_topic("a", no_such_config="1"), "INVALID_CONFIG"),
        (new_topic("__cluster_metadata"), "INVALID_REQUEST"),
        (new_topic("a", 1, -1, [(0, [1])]), "INVALID_REQUEST"),
        (new_topic("a", -1, 1, [(0, [1])]), "INVALID_REQUEST"),
        (manual("a", (1, [1])), "INVALID_REPLICA_ASSIGNMENT"),
        (manual("a", (0, [1]), (2, [1])), "INVALID_REPLICA_ASSIGNMENT"),
        (manual("a", (0, [1]), (0, [2])), "INVALID_REPLICA_ASSIGNMENT"),
        (manual("a", (0, [])), "INVALID_REPLICA_ASSIGNMENT"),
        (manual("a", (0, [1, 1])), "INVALID_REPLICA_ASSIGNMENT"),
        (manual("a", (0, [9])), "INVALID_REPLICA_ASSIGNMENT"),
        (manual("a", (0, [1, 2]), (1, [1])), "INVALID_REPLICA_ASSIGNMENT"),
        (manual("a", (0, [3])), "INVALID_REPLICA_ASSIGNMENT"),
    ],
)
def test_requests_that_make_no_sense_are_refused(topic, code):
    assert refused(cluster(3, fenced={3}), topic)[0] == code


def test_without_living_brokers_there_are_no_topics():
    assert refused(cluster(1, fenced={1}), new_topic("a")) == (
        "INVALID_REPLICATION_FACTOR",
        "Unable to replicate the partition 1 time(s): All brokers are currently fenced.",
    )


def test_a_topic_named_twice_is_refused_once_and_others_go_on():
    decision = create(cluster(1), new_topic("a"), new_topic("b"), new_topic("a", 2))
    results = {result.name: result for result in decision.response.topics}
    assert len(decision.response.topics) == 2
    assert results["a"].error_code == ErrorCode.INVALID_REQUEST
    assert results["a"].error_message == "Duplicate topic name."
    assert results["b"].error_code == 0
    after, _ = replay(cluster(1), decision.records)
    assert list(after.topics) == ["b"]


def test_manual_assignment_is_kept_whatever_its_order():
    image = cluster(3, fenced={2})
    decision = create(image, manual("a", (1, [2, 3]), (0, [3, 1])))
    after, _ = replay(image, decision.records)
    assert after.partition("a", 0).replicas == (3, 1)
    assert after.partition("a", 1).replicas == (2, 3)
    # A fenced broker is a replica, but neither leads nor is in sync.
    assert after.partition("a", 1).isr == (3,)
    assert after.partition("a", 1).leader == 3


REQUESTS = st.lists(
    st.builds(
        new_topic,
        st.sampled_from(["a", "b", "c.d", "c_d", "e", "", "."]),
        st.integers(-2, 5),
        st.integers(-2, 4),
        st.just(()),
        retention_ms=st.sampled_from(["1", "2", "x"]),
    )
    | st.builds(
        lambda name, assignments: manual(name, *enumerate(assignments)),
        st.sampled_from(["a", "f"]),
        st.lists(st.lists(st.integers(1, 4), min_size=1, max_size=3), min_size=1, max_size=3),
    ),
    max_size=5,
)


@settings(max_examples=150)
@given(st.lists(REQUESTS, max_size=4), st.integers(1, 4), st.integers(0, 2**32))
def test_replaying_a_decision_gives_exactly_what_it_answered(requests, brokers, seed):
    image = cluster(brokers)
    for topics in requests:
        before = image
        decision = create(image, *topics, seed=seed)
        image, change = replay(image, decision.records)
        made = {result.name: result for result in decision.response.topics if result.error_code == 0}
        assert {topic.name for topic in change.changed_topics} == set(made)
        assert set(image.topics) - set(before.topics) == set(made)
        assert {topic.name for topic in topics} == {result.name for result in decision.response.topics}
        asked = {topic.name: topic for topic in topics}
        for name, result in made.items():
            topic = image.topic(name)
            assert (topic.id, len(topic.partitions)) == (result.topic_id, result.num_partitions)
            if asked[name].assignments:
                assert [one.replicas for one in topic.partitions.values()] == [
                    tuple(one.broker_ids) for one in asked[name].assignments
                ]
            else:
                assert len(topic.partitions) == max(asked[name].num_partitions, 1)
                assert result.replication_factor == max(asked[name].replication_factor, 1)
            assert image.topic_configs(name) == {one.name: one.value for one in asked[name].configs}
        seed += 1


# DeleteTopics


def with_topics(*names):
    image = cluster(1)
    return replay(image, create(image, *map(new_topic, names)).records)[0]


def delete(image, *states, version=6, **settings_):
    request = DeleteTopicsRequest(topics=[DeleteTopicState(*state) for state in states])
    return delete_topics(image, request, context(**settings_), version)


def outcome(decision):
    return [(result.name, ErrorCode(result.error_code).name) for result in decision.response.responses]


def test_topics_are_deleted_by_name_and_by_id():
    image = with_topics("a", "b", "c")
    decision = delete(image, ("a",), (None, image.topic("b").id))
    assert outcome(decision) == [("a", "NONE"), ("b", "NONE")]
    assert [result.topic_id for result in decision.response.responses] == [
        image.topic("a").id,
        image.topic("b").id,
    ]
    after, _ = replay(image, decision.records)
    assert list(after.topics) == ["c"]


def test_older_requests_name_topics():
    image = with_topics("a")
    request = DeleteTopicsRequest(topic_names=["a", "x"])
    decision = delete_topics(image, request, context(), 5)
    assert outcome(decision) == [("a", "NONE"), ("x", "UNKNOWN_TOPIC_OR_PARTITION")]


def test_a_topic_meant_twice_is_not_deleted():
    image = with_topics("a", "b", "c")
    a, b, c = (image.topic(name).id for name in "abc")
    decision = delete(image, ("a",), ("a",), (None, b), (None, b), (None, c), ("c",))
    assert outcome(decision) == [
        ("a", "INVALID_REQUEST"),
        (None, "INVALID_REQUEST"),
        (None, "INVALID_REQUEST"),
        ("c", "INVALID_REQUEST"),
    ]
    assert decision.records == []
    assert a


def test_deletions_that_make_no_sense_are_refused():
    image = with_topics("a")
    assert outcome(delete(image, (None,))) == [(None, "INVALID_REQUEST")]
    assert outcome(delete(image, ("a", image.topic("a").id))) == [("a", "INVALID_REQUEST")]
    assert outcome(delete(image, (None, b"x" * 16))) == [(None, "UNKNOWN_TOPIC_ID")]


def test_deletion_may_be_disabled():
    image = with_topics("a")
    with pytest.raises(TopicDeletionDisabledError):
        delete(image, ("a",), delete_topic_enable="false")
    with pytest.raises(InvalidRequestError):
        delete(image, ("a",), version=2, delete_topic_enable="FALSE")
