"""What format("gralha") does in streaming queries beyond the contract that it shares with format("kafka")."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, KafkaException, TopicPartition

from gralha.testing import GralhaCluster
from tests.spark.clusters import BROKER_CONFIG
from tests.spark.contract import (
    TIMEOUT_S,
    Lane,
    Stage,
    eventually,
    numbered,
    played_on,
    refused,
)

pytestmark = played_on(Lane("gralha", "gralha"))


def committed(stage: Stage, topic: str, group: str) -> dict[int, int]:
    """The committed offsets of a consumer group, as any consumer of the group would find them."""
    consumer = Consumer({**stage.client_config, "group.id": group})
    try:
        numbers = consumer.list_topics(topic, TIMEOUT_S).topics[topic].partitions
        found = consumer.committed([TopicPartition(topic, number) for number in numbers], TIMEOUT_S)
        return {item.partition: item.offset for item in found}
    except KafkaException:  # The coordinator of a new group may not be ready yet.
        return {}
    finally:
        consumer.close()


def read_all(stage: Stage, topic: str, checkpoint: str = "query", **options: object) -> list[int]:
    """The rows of a query that reads all existing records and ends."""
    frame = stage.stream(subscribe=topic, **{"startingOffsets": "earliest", **options})
    return sorted(number for batch in stage.available(frame, checkpoint) for number in batch.numbers)


def recreate(stage: Stage, topic: str, partitions: int = 1) -> None:
    stage.delete_topic(topic)
    eventually(lambda: topic not in stage.admin.list_topics(timeout=TIMEOUT_S).topics)
    stage.topic(partitions, name=topic)


def last_offset(checkpoint: Path) -> dict[str, object]:
    """The last offset in Spark's log of planned batches."""
    logs = [path for path in (checkpoint / "offsets").iterdir() if path.name.isdigit()]
    last = max(logs, key=lambda path: int(path.name)).read_text().splitlines()[-1]
    offset: dict[str, object] = json.loads(last)
    return offset


# Progress


def test_progress_is_seen_in_the_consumer_group_also_while_nothing_happens(stage: Stage) -> None:
    topic = stage.topic_of([*numbered(range(30)), *numbered(range(7), partition=1)], partitions=2)
    batches, query = stage.start(stage.stream(subscribe=topic, startingOffsets="earliest", groupId="seen"))
    eventually(lambda: committed(stage, topic, "seen") == {0: 30, 1: 7})
    assert sum(len(batch.rows) for batch in batches) == 37
    stage.produce(topic, numbered(range(30, 35)))
    eventually(lambda: committed(stage, topic, "seen") == {0: 35, 1: 7})
    query.stop()


def test_the_group_is_told_before_a_query_of_what_is_there_ends(stage: Stage) -> None:
    topic = stage.topic_of(numbered(range(50)))
    assert read_all(stage, topic, groupId="to-its-end", maxOffsetsPerTrigger=20) == list(range(50))
    eventually(lambda: committed(stage, topic, "to-its-end") == {0: 50})


def test_a_group_says_nothing_about_where_a_query_starts(stage: Stage) -> None:
    topic = stage.topic_of(numbered(range(10)))
    offsets = ConsumerGroupTopicPartitions("mirror", [TopicPartition(topic, 0, 9)])
    for done in stage.admin.alter_consumer_group_offsets([offsets]).values():
        done.result(TIMEOUT_S)
    assert read_all(stage, topic, groupId="mirror") == list(range(10))


@pytest.mark.needs_spark(4, 2)
def test_lag_is_what_the_report_of_a_batch_shows(stage: Stage) -> None:
    topic = stage.topic_of(numbered(range(100)))
    _, query = stage.start(
        stage.stream(subscribe=topic, startingOffsets="earliest", maxOffsetsPerTrigger=30), availableNow=True
    )
    query.awaitTermination(int(TIMEOUT_S))
    sources = [progress["sources"][0] for progress in query.recentProgress if progress["numInputRows"]]
    ends = [json.loads(source["endOffset"])[topic]["0"] for source in sources]
    latest = [json.loads(source["latestOffset"])[topic]["0"] for source in sources]
    assert (ends, latest) == ([30, 60, 90, 100], [100] * 4)


# Changes of topics


def test_a_topic_created_again_stops_the_query_or_is_read_from_its_beginning(stage: Stage) -> None:
    topic = stage.topic_of(numbered(range(10)))
    assert read_all(stage, topic) == list(range(10))
    recreate(stage, topic)
    # More records than before: by the offsets alone they would look like ten new records.
    stage.produce(topic, numbered(range(100, 120)))
    with refused(f"Topic {topic} was deleted and created again", "failOnDataLoss"):
        read_all(stage, topic)
    assert read_all(stage, topic, failOnDataLoss=False) == list(range(100, 120))
    assert last_offset(stage.folder / "query")["@dataLoss"] == {topic: {"events": 1, "records": 0}}


def test_records_deleted_before_they_were_read(stage: Stage) -> None:
    topic = stage.topic_of(numbered(range(10)))
    assert read_all(stage, topic) == list(range(10))
    stage.produce(topic, numbered(range(10, 30)))
    stage.delete_records(topic, {0: 25})
    with refused("Records 10 to 24", "retention.ms", "failOnDataLoss"):
        read_all(stage, topic)
    assert read_all(stage, topic, failOnDataLoss=False) == list(range(25, 30))
    assert last_offset(stage.folder / "query")["@dataLoss"] == {topic: {"events": 1, "records": 15}}
    # The loss is reported once.
    stage.produce(topic, numbered([30]))
    assert read_all(stage, topic) == [30]


def test_a_topic_that_is_added_later_is_read_from_what_is_left_of_it(stage: Stage) -> None:
    topic = stage.topic_of(numbered(range(10)))
    assert read_all(stage, topic) == list(range(10))
    old = stage.topic_of(numbered(range(100, 120)))
    stage.delete_records(old, {0: 15})
    assert read_all(stage, f"{topic},{old}") == list(range(115, 120))
    assert "@dataLoss" not in last_offset(stage.folder / "query")
    stage.produce(old, numbered([120]))
    assert read_all(stage, f"{topic},{old}") == [120]


def test_a_topic_deleted_while_the_query_runs(stage: Stage) -> None:
    topic = stage.topic_of(numbered(range(3)))
    batches, query = stage.start(stage.stream(subscribe=topic, startingOffsets="earliest"))
    eventually(lambda: len(batches) == 1)
    stage.delete_topic(topic)
    with refused(f"Topic {topic} was deleted while the query read it"):
        query.awaitTermination(int(TIMEOUT_S))


def test_a_misspelt_topic_ends_the_query_with_a_sentence(stage: Stage) -> None:
    with refused("Topic no-such-topic does not exist", "kafka-topics"):
        read_all(stage, "no-such-topic")


# Restarts


def test_a_first_batch_that_is_run_again_begins_where_it_began(stage: Stage) -> None:
    """With startingOffsets=latest, Spark itself would begin at the current end, and skip records."""
    topic = stage.topic_of(numbered(range(10)))
    batches, query = stage.start(stage.stream(subscribe=topic), "first")
    eventually(lambda: (stage.folder / "first" / "commits" / "0").exists())
    stage.produce(topic, numbered(range(10, 15)))
    eventually(lambda: sum(len(batch.rows) for batch in batches) == 5)
    query.stop()
    # As if the process had ended in the middle of its first batch, which had these records.
    checkpoint = stage.folder / "first"
    planned = last_offset(checkpoint)
    assert planned["@from"] == {topic: {"0": 10}}
    _keep_only_first_batch(checkpoint, planned)
    stage.produce(topic, numbered(range(15, 18)))
    again = stage.available(stage.stream(subscribe=topic), "first")
    assert [batch.numbers for batch in again] == [[10, 11, 12, 13, 14], [15, 16, 17]]


def test_a_first_batch_whose_topic_was_deleted_meanwhile(stage: Stage) -> None:
    topic = stage.topic_of(numbered(range(10)))
    assert read_all(stage, topic) == list(range(10))
    checkpoint = stage.folder / "query"
    _keep_only_first_batch(checkpoint, last_offset(checkpoint))
    stage.delete_topic(topic)
    with refused(f"Topic {topic} does not exist"):
        read_all(stage, topic)
    # Tasks look for the topic for this long.
    assert read_all(stage, topic, failOnDataLoss=False, kafka_default_api_timeout_ms=2000) == []
    assert last_offset(checkpoint)["@dataLoss"] == {topic: {"events": 1, "records": 0}}


def _keep_only_first_batch(checkpoint: Path, planned: dict[str, object]) -> None:
    """Makes a checkpoint whose only batch is planned and not done."""
    lines = (checkpoint / "offsets" / "0").read_text().splitlines()
    shutil.rmtree(checkpoint / "commits")
    shutil.rmtree(checkpoint / "offsets")
    (checkpoint / "offsets").mkdir()
    (checkpoint / "offsets" / "0").write_text("\n".join([*lines[:-1], json.dumps(planned)]))


def test_a_query_goes_on_where_its_checkpoint_ends(stage: Stage) -> None:
    topic = stage.topic_of(numbered(range(10)))
    assert read_all(stage, topic) == list(range(10))
    stage.produce(topic, numbered(range(10, 14)))
    assert read_all(stage, topic, startingOffsets="latest") == list(range(10, 14))
    assert read_all(stage, topic) == []


def test_a_checkpoint_of_sparks_own_source_goes_on(stage: Stage) -> None:
    """So a query can change the name of its format and nothing else."""
    topic = stage.topic_of([*numbered(range(5)), *numbered(range(5, 9), partition=1)], partitions=2)
    before = Stage(stage.spark, Lane("kafka", "gralha"), stage.bootstrap, stage.folder)
    assert read_all(before, topic) == list(range(9))
    stage.produce(topic, numbered(range(9, 12)))
    assert read_all(stage, topic) == [9, 10, 11]


def test_a_broker_that_is_away_for_a_moment_does_not_stop_a_query(stage: Stage) -> None:
    with GralhaCluster(config=BROKER_CONFIG) as cluster:
        away = Stage(stage.spark, stage.lane, cluster.bootstrap, stage.folder)
        topic = away.topic_of(numbered(range(5)))
        batches, query = away.start(
            away.stream(subscribe=topic, startingOffsets="earliest", groupId="patient")
        )
        eventually(lambda: committed(away, topic, "patient") == {0: 5})
        cluster.restart()
        away.produce(topic, numbered(range(5, 8)))
        eventually(lambda: sorted(number for batch in batches for number in batch.numbers) == list(range(8)))
        query.stop()


# How much


def test_batches_follow_the_duration_of_the_last_one(stage: Stage) -> None:
    topic = stage.topic_of(numbered(range(30_000)))
    frame = stage.stream(subscribe=topic, startingOffsets="earliest", targetBatchDuration="1s")
    batches = stage.available(frame)
    assert len(batches[0].rows) == 10_000
    assert sum(len(batch.rows) for batch in batches) == 30_000
