"""Batch queries of format("gralha"), beyond what Spark's own source does (the contract's suite has that)."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.spark.contract import Lane, Sent, Stage, numbered, played_on, refused

pytestmark = played_on(Lane("gralha", "gralha"))


def test_it_is_found_without_being_registered(stage: Stage) -> None:
    topic = stage.topic_of(numbered(range(3)))
    assert stage.read_numbers(subscribe=topic) == [0, 1, 2]
    # Spark's SQL finds it, too.
    stage.spark.sql(
        f"CREATE OR REPLACE TEMPORARY VIEW records USING gralha OPTIONS "
        f"(`kafka.bootstrap.servers` '{stage.bootstrap}', subscribe '{topic}')"
    )
    row = stage.spark.sql("SELECT max(offset) FROM records").first()
    assert row is not None
    assert row[0] == 2


def test_each_partition_is_a_task_and_options_cut_them(stage: Stage) -> None:
    topic = stage.topic_of([*numbered(range(90)), *numbered(range(10), partition=1)], partitions=3)

    def tasks(**options: object) -> list[int]:
        """The number of rows of each task."""
        frame = stage.read(subscribe=topic, **options)
        return sorted(len(rows) for rows in frame.select("offset").rdd.glom().collect())

    assert tasks() == [10, 90]
    assert tasks(minPartitions=5) == [10, 22, 22, 23, 23]
    assert tasks(maxRecordsPerPartition=50) == [10, 45, 45]
    numbers = stage.read_numbers(subscribe=topic, minPartitions=7)
    assert numbers == sorted([*range(90), *range(10)])


def test_records_of_a_partition_keep_their_order(stage: Stage) -> None:
    topic = stage.topic_of(numbered(range(5000)))
    rows = stage.read(subscribe=topic).select("value").collect()
    assert [int(row.value) for row in rows] == list(range(5000))


def test_a_task_does_not_import_pandas(stage: Stage) -> None:
    """The import takes a second, in every process that Spark starts. Many calls of pyarrow import it."""
    topic = stage.topic_of([*numbered(range(3)), Sent(None, None, headers=[("a", b"b")])])
    code = (
        "import sys; from gralha.client.bulk_reader import *; "
        f"rows = list(BulkReader(ClientSettings('{stage.bootstrap}'), include_headers=True)"
        f".read(OffsetRange('{topic}', 0, 0, 4))); print(rows[0].num_rows, 'pandas' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout.split() == ["4", "False"], done.stderr


def test_offsets_that_are_gone_stop_the_query_or_are_passed_over(stage: Stage) -> None:
    topic = stage.topic_of(numbered(range(20)))
    stage.delete_records(topic, {0: 8})
    given = {"startingOffsets": {topic: {"0": 5}}, "endingOffsets": {topic: {"0": 30}}}
    with refused("begins at offset 8, not at 5", "set startingOffsets to earliest"):
        stage.read_numbers(subscribe=topic, **given)
    assert stage.read_numbers(subscribe=topic, failOnDataLoss=False, **given) == list(range(8, 20))


def test_a_schema_of_the_user_is_refused_with_what_to_do_instead(stage: Stage) -> None:
    topic = stage.topic_of(numbered(range(1)))
    with refused("has its own schema", "from_json"):
        stage.reader(subscribe=topic).schema("amount INT").load().collect()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            {"subscribe": "no-such-topic"},
            ("Topic no-such-topic does not exist", "--create --topic no-such-topic"),
        ),
        ({}, ("set the option subscribe",)),
        (
            {"subscribe": "t", "kafka_bootstrap_servers": None},
            ("Option 'kafka.bootstrap.servers' is not set",),
        ),
        ({"subscribe": "t", "kafka_bootstrap_servers": "127.0.0.1:1"}, ("127.0.0.1:1",)),
        (
            {"subscribe": "t", "kafka_security_protocol": "SASL_SSL"},
            ("sasl.mechanism=GSSAPI is not supported: use PLAIN, ",),
        ),
        ({"subscribe": "t", "kafka_isolation_level": "none"}, ("isolation.level=none is not allowed",)),
        ({"assign": {"no-such-topic": [0]}}, ("Topic no-such-topic does not exist",)),
    ],
)
def test_a_mistake_is_answered_with_a_sentence(
    stage: Stage, options: dict[str, object], words: tuple[str, ...]
) -> None:
    with refused(*words):
        stage.read(**options).collect()


def test_a_partition_that_the_topic_does_not_have(stage: Stage) -> None:
    topic = stage.topic_of(numbered(range(1)))
    with refused(f"names {topic}-3, which the topic does not have", "--describe"):
        stage.read_numbers(assign={topic: [0, 3]})
