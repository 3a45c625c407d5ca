"""Scenarios of administration: topics, partitions, configs and the deletion of records."""

from __future__ import annotations

from functools import partial

from tests.clients.driver import Outgoing
from tests.clients.scenarios.records import numbered
from tests.clients.scenarios.stage import Scenario, Stage, eventually, refused


def cluster_is_described(stage: Stage) -> None:
    assert stage.client.node_ids() == {1}


def topic_is_created(stage: Stage) -> None:
    topic = stage.fresh_name()
    stage.client.create_topic(topic, partitions=3)
    eventually(lambda: topic in stage.client.list_topics())
    eventually(lambda: stage.client.partition_leaders(topic) == {0: 1, 1: 1, 2: 1})
    stage.client.produce(topic, numbered(1), partition=2)
    assert len(stage.client.consume(topic, 2, 0, 1)) == 1


def topic_is_described(stage: Stage) -> None:
    topic = stage.topic(partitions=3)
    assert topic in stage.client.list_topics()
    assert stage.client.partition_leaders(topic) == {0: 1, 1: 1, 2: 1}


def unknown_topic_is_described(stage: Stage) -> None:
    refused("UNKNOWN_TOPIC_OR_PARTITION", lambda: stage.client.partition_leaders(stage.fresh_name()))


def topic_is_only_validated(stage: Stage) -> None:
    topic = stage.fresh_name()
    stage.client.create_topic(topic, validate_only=True)
    assert topic not in stage.reference.list_topics()


def topic_exists_already(stage: Stage) -> None:
    topic = stage.topic()
    refused("TOPIC_ALREADY_EXISTS", lambda: stage.client.create_topic(topic))


def invalid_topic_name(stage: Stage) -> None:
    for name in ("no spaces", "no/slashes", "x" * 250, ".."):
        refused("INVALID_TOPIC_EXCEPTION", partial(stage.client.create_topic, name))


def names_that_collide(stage: Stage) -> None:
    """A dot and an underscore are the same in metric names, so names must differ in more than that."""
    topic = stage.topic()
    refused("INVALID_TOPIC_EXCEPTION", lambda: stage.client.create_topic(topic.replace(".", "_")))


def too_many_replicas(stage: Stage) -> None:
    topic = stage.fresh_name()
    refused("INVALID_REPLICATION_FACTOR", lambda: stage.client.create_topic(topic, replication_factor=2))


def topic_is_deleted(stage: Stage) -> None:
    topic = stage.topic()
    stage.reference.produce(topic, numbered(5), partition=0)
    stage.client.delete_topic(topic)
    eventually(lambda: topic not in stage.client.list_topics())
    refused("UNKNOWN_TOPIC_OR_PARTITION", lambda: stage.client.delete_topic(topic))


def deleted_topic_comes_back_empty(stage: Stage) -> None:
    topic = stage.topic()
    stage.reference.produce(topic, numbered(5), partition=0)
    stage.client.delete_topic(topic)
    stage.client.create_topic(topic)
    eventually(lambda: stage.reference.offsets(topic, 0) == (0, 0))
    stage.client.produce(topic, [Outgoing(b"anew")], partition=0)
    (message,) = stage.client.consume(topic, 0, "earliest", 1)
    assert (message.offset, message.value) == (0, b"anew")


def partitions_are_added(stage: Stage) -> None:
    topic = stage.topic(partitions=1)
    stage.client.add_partitions(topic, 3)
    eventually(lambda: set(stage.client.partition_leaders(topic)) == {0, 1, 2})
    stage.client.produce(topic, numbered(1), partition=2)
    assert stage.reference.offsets(topic, 2) == (0, 1)


def partitions_are_never_removed(stage: Stage) -> None:
    topic = stage.topic(partitions=3)
    refused("INVALID_PARTITIONS", lambda: stage.client.add_partitions(topic, 2))


def topic_is_created_with_configs(stage: Stage) -> None:
    topic = stage.fresh_name()
    stage.client.create_topic(topic, configs={"retention.ms": "3600000", "cleanup.policy": "compact"})
    eventually(lambda: stage.client.describe_configs(topic)["retention.ms"] == "3600000")
    assert stage.client.describe_configs(topic)["cleanup.policy"] == "compact"


def configs_have_defaults(stage: Stage) -> None:
    configs = stage.client.describe_configs(stage.topic())
    assert configs["retention.ms"] == "604800000"
    assert configs["segment.bytes"] == "1073741824"
    assert configs["cleanup.policy"] == "delete"


def configs_are_altered(stage: Stage) -> None:
    topic = stage.topic()
    stage.client.alter_configs(topic, {"retention.ms": "7200000"})
    eventually(lambda: stage.client.describe_configs(topic)["retention.ms"] == "7200000")
    # From now on the broker uses the changed config.
    stage.client.alter_configs(topic, {"max.message.bytes": "1000"})
    eventually(lambda: stage.client.describe_configs(topic)["max.message.bytes"] == "1000")
    refused("MESSAGE_TOO_LARGE", lambda: stage.reference.produce(topic, [Outgoing(b"x" * 2000)], partition=0))


def invalid_config(stage: Stage) -> None:
    topic = stage.fresh_name()
    refused("INVALID_CONFIG", lambda: stage.client.create_topic(topic, configs={"retention.ms": "soon"}))
    refused("INVALID_CONFIG", lambda: stage.client.create_topic(topic, configs={"no.such.config": "1"}))


def records_are_deleted(stage: Stage) -> None:
    topic = stage.topic()
    stage.reference.produce(topic, numbered(10), partition=0)
    stage.client.delete_records(topic, 0, 6)
    assert stage.reference.offsets(topic, 0) == (6, 10)
    messages = stage.client.consume(topic, 0, "earliest", 4)
    assert [message.offset for message in messages] == [6, 7, 8, 9]


def records_past_the_end_are_not_deleted(stage: Stage) -> None:
    topic = stage.topic()
    stage.reference.produce(topic, numbered(3), partition=0)
    refused("OFFSET_OUT_OF_RANGE", lambda: stage.client.delete_records(topic, 0, 4))


SCENARIOS: list[Scenario] = [
    cluster_is_described,
    topic_is_created,
    topic_is_described,
    unknown_topic_is_described,
    topic_is_only_validated,
    topic_exists_already,
    invalid_topic_name,
    names_that_collide,
    too_many_replicas,
    topic_is_deleted,
    deleted_topic_comes_back_empty,
    partitions_are_added,
    partitions_are_never_removed,
    topic_is_created_with_configs,
    configs_have_defaults,
    configs_are_altered,
    invalid_config,
    records_are_deleted,
    records_past_the_end_are_not_deleted,
]
