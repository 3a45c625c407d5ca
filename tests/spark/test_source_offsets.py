"""Offsets of a stream: their JSON, the ranges between two of them, and splitting ranges into tasks."""

from __future__ import annotations

import json

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from gralha.client.values import OffsetRange, TopicPartition
from gralha.spark.offsets import (
    LossCount,
    StreamOffset,
    batch_ranges,
    topic_id_bytes,
    topic_id_text,
)
from gralha.spark.splitting import cut, size, tasks

PARTITIONS = st.builds(TopicPartition, st.sampled_from(["a", "b.c", "sales-1"]), st.integers(0, 30))
OFFSETS = st.dictionaries(PARTITIONS, st.integers(0, 2**63 - 1), max_size=10)
TOPIC_IDS = st.dictionaries(
    st.sampled_from(["a", "b.c"]), st.binary(min_size=16, max_size=16).map(topic_id_text)
)
STREAM_OFFSETS = st.builds(
    StreamOffset,
    offsets=OFFSETS,
    topic_ids=TOPIC_IDS,
    is_initial=st.booleans(),
    batch_start=st.none() | OFFSETS,
    data_loss=st.dictionaries(
        st.sampled_from(["a"]), st.builds(LossCount, st.integers(1, 9), st.integers(0, 9))
    ),
)
RANGES = st.lists(
    st.builds(
        lambda partition, start, length: OffsetRange("t", partition, start, start + length),
        st.integers(0, 50),
        st.integers(0, 10**6),
        st.integers(0, 10**6),
    ),
    max_size=12,
    unique_by=lambda item: item.partition,
)


@given(STREAM_OFFSETS)
def test_an_offset_survives_sparks_checkpoint(offset: StreamOffset) -> None:
    assert StreamOffset.from_json(json.loads(json.dumps(offset.to_json()))) == offset


@given(OFFSETS, st.randoms())
def test_equal_offsets_are_equal_text(offsets: dict[TopicPartition, int], random: object) -> None:
    items = list(offsets.items())
    random.shuffle(items)  # type: ignore[attr-defined]
    assert json.dumps(StreamOffset(dict(items)).to_json()) == json.dumps(StreamOffset(offsets).to_json())


def test_an_offset_of_sparks_kafka_source_is_understood() -> None:
    offset = StreamOffset.from_json({"sales": {"0": 23, "1": 42}})
    assert offset == StreamOffset({TopicPartition("sales", 0): 23, TopicPartition("sales", 1): 42})


@given(st.binary(min_size=16, max_size=16))
def test_topic_ids_are_written_as_kafka_does(topic_id: bytes) -> None:
    assert len(topic_id_text(topic_id)) == 22
    assert topic_id_bytes(topic_id_text(topic_id)) == topic_id


ONE = TopicPartition("t", 0)
TWO = TopicPartition("t", 1)
OLD_ID, NEW_ID = topic_id_text(b"o" * 16), topic_id_text(b"n" * 16)


def test_a_batch_reads_what_lies_between_two_offsets() -> None:
    ranges = batch_ranges(StreamOffset({ONE: 5, TWO: 9}), StreamOffset({ONE: 8, TWO: 9}))
    assert ranges == [OffsetRange("t", 0, 5, 8)]


def test_a_new_partition_is_read_from_its_beginning() -> None:
    assert batch_ranges(StreamOffset({ONE: 5}), StreamOffset({ONE: 5, TWO: 3})) == [OffsetRange("t", 1, 0, 3)]


def test_a_topic_that_was_created_again_is_read_from_its_beginning() -> None:
    start = StreamOffset({ONE: 5}, {"t": OLD_ID})
    assert batch_ranges(start, StreamOffset({ONE: 7}, {"t": NEW_ID})) == [
        OffsetRange("t", 0, 0, 7, b"n" * 16)
    ]
    assert batch_ranges(start, StreamOffset({ONE: 7}, {"t": OLD_ID})) == [
        OffsetRange("t", 0, 5, 7, b"o" * 16)
    ]


def test_the_first_batch_begins_where_it_began_when_it_ran_first() -> None:
    end = StreamOffset({ONE: 7}, batch_start={ONE: 2})
    where_latest_is_by_now = StreamOffset({ONE: 900}, is_initial=True)
    assert batch_ranges(where_latest_is_by_now, end) == [OffsetRange("t", 0, 2, 7)]


def test_a_first_batch_without_records_stays_one() -> None:
    began = StreamOffset({ONE: 7}, is_initial=True)
    assert batch_ranges(StreamOffset({ONE: 2}, is_initial=True), began) == []
    assert batch_ranges(began, began) == []


def test_a_log_that_lost_its_end_gives_no_range() -> None:
    assert batch_ranges(StreamOffset({ONE: 50}), StreamOffset({ONE: 20})) == []


# Tasks


def test_each_partition_is_one_task_by_default() -> None:
    ranges = [OffsetRange("t", 0, 0, 10**9), OffsetRange("t", 1, 5, 5), OffsetRange("t", 2, 7, 8)]
    assert tasks(ranges, None, None) == [ranges[0], ranges[2]]


@given(RANGES, st.none() | st.integers(1, 60), st.none() | st.integers(1, 10**5))
def test_tasks_cover_every_offset_once(
    ranges: list[OffsetRange], min_partitions: int | None, max_records: int | None
) -> None:
    assume(max_records is None or sum(map(size, ranges)) // max_records < 2000)
    made = tasks(ranges, min_partitions, max_records)
    assert all(size(part) > 0 for part in made)
    for item in ranges:
        position = item.start
        for part in (part for part in made if part.partition == item.partition):
            assert part.start == position
            position = part.end
        assert position == item.end or size(item) == 0


@given(RANGES, st.integers(1, 10**5))
def test_no_task_has_more_records_than_it_may(ranges: list[OffsetRange], max_records: int) -> None:
    assume(sum(map(size, ranges)) // max_records < 2000)
    assert all(size(part) <= max_records for part in tasks(ranges, None, max_records))


@given(RANGES, st.integers(1, 60))
def test_there_are_about_as_many_tasks_as_asked_for(ranges: list[OffsetRange], min_partitions: int) -> None:
    assume(ranges)
    ranges = [item._replace(end=item.end + 1000) for item in ranges]
    made = tasks(ranges, min_partitions, None)
    assert len(made) >= max(len(ranges), min_partitions - len(ranges))
    assert len(made) <= max(len(ranges), min_partitions + len(ranges))


@pytest.mark.parametrize(
    ("sizes", "min_partitions", "expected"),
    [
        # The results from Spark's own calculator.
        ([1000], 4, [250, 250, 250, 250]),
        ([1, 1000], 3, [1, 500, 500]),
        ([100, 100], 2, [100, 100]),
        ([20, 20, 60], 6, [20, 20, 15, 15, 15, 15]),
    ],
)
def test_large_ranges_are_cut_as_spark_does(
    sizes: list[int], min_partitions: int, expected: list[int]
) -> None:
    ranges = [OffsetRange("t", number, 0, length) for number, length in enumerate(sizes)]
    assert [size(part) for part in tasks(ranges, min_partitions, None)] == expected


def test_parts_keep_the_id_of_their_topic() -> None:
    assert {part.topic_id for part in cut(OffsetRange("t", 0, 0, 10, b"i" * 16), 3)} == {b"i" * 16}
