"""The source with Spark 4.1, on a running cluster and without Spark. The tests call what Spark 4.1 calls."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator

import pytest
from confluent_kafka import Producer
from pyspark.sql.datasource import CaseInsensitiveDict

from gralha.client.admin import Admin
from gralha.client.cluster import Cluster
from gralha.client.values import NewTopic
from gralha.spark.offsets import OffsetJson
from gralha.spark.option_values import OptionError
from gralha.spark.options import source_options
from gralha.spark.remembering_reader import RememberingReader
from gralha.spark.splitting import RangePartition

TIMEOUT_S = 30


@pytest.fixture
def topic(bootstrap: str, new_name: Callable[[str], str]) -> Iterator[str]:
    name = new_name("remembered")
    with Admin(Cluster(bootstrap)) as admin:
        assert admin.create_topics([NewTopic(name)]) == {name: None}
        yield name


def produce(bootstrap: str, topic: str, count: int) -> None:
    producer = Producer({"bootstrap.servers": bootstrap})
    for number in range(count):
        producer.produce(topic, str(number).encode())
    assert producer.flush(TIMEOUT_S) == 0


def reader(bootstrap: str, topic: str, **options: str) -> RememberingReader:
    given = {
        "kafka.bootstrap.servers": bootstrap,
        "subscribe": topic,
        "startingOffsets": "earliest",
        **options,
    }
    return RememberingReader(source_options(CaseInsensitiveDict(given), streaming=True))


def ranges(source: RememberingReader, start: OffsetJson, end: OffsetJson) -> list[tuple[int, int]]:
    tasks = source.partitions(start, end)
    return [(task.range.start, task.range.end) for task in tasks if isinstance(task, RangePartition)]


def test_batches_follow_each_other(bootstrap: str, topic: str) -> None:
    produce(bootstrap, topic, 10)
    source = reader(bootstrap, topic)
    # Spark 4.1 asks for the end of a new query before it asks for the beginning.
    end = source.latestOffset()
    start = source.initialOffset()
    assert ranges(source, start, end) == [(0, 10)]
    assert source.latestOffset() == end
    produce(bootstrap, topic, 5)
    later = source.latestOffset()
    source.commit(end)
    assert ranges(source, end, later) == [(10, 15)]
    source.stop()


def test_a_new_query_of_new_records_begins_where_it_said(bootstrap: str, topic: str) -> None:
    produce(bootstrap, topic, 3)
    source = reader(bootstrap, topic, startingOffsets="latest")
    empty = source.latestOffset()
    produce(bootstrap, topic, 4)
    start = source.initialOffset()
    assert ranges(source, start, empty) == []
    end = source.latestOffset()
    assert ranges(source, empty, end) == [(3, 7)]
    source.stop()


def test_a_query_continues_from_its_checkpoint(bootstrap: str, topic: str) -> None:
    produce(bootstrap, topic, 10)
    first = reader(bootstrap, topic)
    planned = first.latestOffset()
    first.stop()
    produce(bootstrap, topic, 2)

    # The last batch was not done: Spark tells the position, and repeats the batch.
    again = reader(bootstrap, topic, startingOffsets="latest")
    assert ranges(again, planned, planned) == []
    assert ranges(again, again.initialOffset(), planned) == [(0, 10)]
    end = again.latestOffset()
    assert ranges(again, planned, end) == [(10, 12)]
    again.stop()


def test_limits_count_and_their_end_is_said(
    bootstrap: str, topic: str, caplog: pytest.LogCaptureFixture
) -> None:
    produce(bootstrap, topic, 10)
    source = reader(bootstrap, topic, maxOffsetsPerTrigger="4")
    with caplog.at_level(logging.WARNING, "gralha.spark"):
        offsets = [source.latestOffset() for _ in range(4)]
    assert [offset[topic]["0"] for offset in offsets] == [4, 8, 10, 10]
    (warning,) = [record.getMessage() for record in caplog.records]
    assert warning.startswith(
        "With Spark 4.1 and the option 'maxOffsetsPerTrigger', a query with the trigger"
    )
    source.stop()


def test_a_small_batch_waits(bootstrap: str, topic: str, caplog: pytest.LogCaptureFixture) -> None:
    produce(bootstrap, topic, 3)
    source = reader(bootstrap, topic, minOffsetsPerTrigger="5", maxTriggerDelay="1h")
    assert source.latestOffset()[topic]["0"] == 3  # the first batch does not wait
    produce(bootstrap, topic, 4)
    assert source.latestOffset()[topic]["0"] == 3
    produce(bootstrap, topic, 1)
    assert source.latestOffset()[topic]["0"] == 8
    assert not caplog.records
    source.stop()


def test_a_position_that_comes_too_late_is_refused(bootstrap: str, topic: str) -> None:
    """Spark's setting triggerAvailableNowWrapper does that. Records would be read twice."""
    produce(bootstrap, topic, 10)
    source = reader(bootstrap, topic, maxOffsetsPerTrigger="4")
    planned = source.latestOffset()
    with pytest.raises(OptionError, match="triggerAvailableNowWrapper"):
        source.partitions(planned, planned)
    source.stop()
