"""The contract of batch reads: rows, ranges, options and errors."""

from __future__ import annotations

import time

import pytest

from tests.spark.contract import ON_ONE_CLUSTER, Sent, Stage, eventually, numbered, refused

COLUMNS = {
    "key": "binary",
    "value": "binary",
    "topic": "string",
    "partition": "int",
    "offset": "bigint",
    "timestamp": "timestamp",
    "timestampType": "int",
}


def test_rows_hold_what_was_sent(stage: Stage) -> None:
    sent = [
        Sent(b"first", b"a", 0, 1_700_000_000_123),
        Sent(b"", b"", 0, 1_700_000_000_456),
        Sent(None, b"tombstone", 0, 1),
        Sent(b"no key", None, 0, 2),
        Sent(None, None, 1, 1_500_000_000_001),
        Sent(bytes(range(256)) * 10, b"\xff\x00", 1, 1_600_000_000_000),
    ]
    topic = stage.topic_of(sent, partitions=2)
    frame = stage.read(subscribe=topic)
    assert {column.name: column.dataType.simpleString() for column in frame.schema} == COLUMNS
    rows = frame.selectExpr("*", "unix_millis(timestamp) AS millis").orderBy("partition", "offset").collect()
    assert [(row.value, row.key, row.partition, row.millis) for row in rows] == [
        (record.value, record.key, record.partition, record.timestamp_ms) for record in sent
    ]
    assert [row.offset for row in rows] == [0, 1, 2, 3, 0, 1]
    assert {row.topic for row in rows} == {topic}
    assert {row.timestampType for row in rows} == {0}


def test_headers_when_asked_for(stage: Stage) -> None:
    headers = [("trace", b"1"), ("trace", b"2"), ("nothing", None), ("empty", b""), ("olá", b"\x00\xff")]
    topic = stage.topic_of([Sent(b"with", headers=headers), Sent(b"without")])
    frame = stage.read(subscribe=topic, includeHeaders="true")
    assert frame.schema["headers"].dataType.simpleString() == "array<struct<key:string,value:binary>>"
    with_headers, without = frame.orderBy("offset").collect()
    assert [tuple(header) for header in with_headers.headers] == headers
    assert without.headers is None


def test_time_of_append(stage: Stage) -> None:
    before_ms = int(time.time() * 1000)
    topic = stage.topic_of([Sent(b"x", timestamp_ms=1)], message_timestamp_type="LogAppendTime")
    (row,) = stage.read(subscribe=topic).selectExpr("*", "unix_millis(timestamp) AS millis").collect()
    assert row.timestampType == 1
    assert before_ms <= row.millis <= time.time() * 1000


def test_every_compression(stage: Stage) -> None:
    topic = stage.topic()
    codecs = ["none", "gzip", "snappy", "lz4", "zstd"]
    for index, codec in enumerate(codecs):
        stage.produce(topic, numbered(range(100 * index, 100 * index + 100)), compression_type=codec)
    assert stage.read_numbers(subscribe=topic) == list(range(500))


def test_gaps_of_a_compacted_topic(stage: Stage) -> None:
    topic = stage.topic(
        cleanup_policy="compact", segment_ms="1", min_cleanable_dirty_ratio="0.01", min_compaction_lag_ms="0"
    )
    for number in range(20):
        # Segments are closed by the timestamps of records.
        stage.produce(topic, [Sent(b"%d" % number, b"%d" % (number % 3), timestamp_ms=1_000 * number + 1)])
    eventually(lambda: len(stage.consume(topic)) < 10)
    left = {message.offset(): message.value() for message in stage.consume(topic)}
    whole = stage.read(subscribe=topic).collect()
    # The cleaner may have continued meanwhile, but it keeps the last record of a key.
    assert {17, 18, 19} <= {row.offset for row in whole} <= left.keys()
    assert {row.offset: row.value for row in whole}.items() <= left.items()
    split = stage.read(
        subscribe=topic, startingOffsets={topic: {"0": 5}}, endingOffsets={topic: {"0": 19}}, minPartitions=4
    )
    assert {17, 18} <= {row.offset for row in split.collect()} <= {*left} & set(range(5, 19))


def test_from_an_offset_to_an_offset(stage: Stage) -> None:
    topic = stage.topic_of(numbered(range(10)) + numbered(range(10, 20), partition=1), partitions=2)

    def numbers(start: dict[str, int], end: dict[str, int]) -> list[int]:
        return stage.read_numbers(subscribe=topic, startingOffsets={topic: start}, endingOffsets={topic: end})

    assert numbers({"0": 3, "1": 8}, {"0": 5, "1": 9}) == [3, 4, 18]
    assert numbers({"0": -2, "1": 9}, {"0": 2, "1": -1}) == [0, 1, 19]
    assert numbers({"0": 10, "1": 4}, {"0": 10, "1": 4}) == []


def test_from_a_time_to_a_time(stage: Stage) -> None:
    """Numbers are seconds, so offsets are too. The end is the first offset at or after its time."""
    topic = stage.topic_of(numbered(range(10)) + numbered(range(4, 8), partition=1), partitions=2)
    second = [1_700_000_000_000 + 1_000 * number for number in range(10)]
    numbers = stage.read_numbers(subscribe=topic, startingTimestamp=second[5] - 1, endingTimestamp=second[7])
    assert numbers == [5, 5, 6, 6]
    numbers = stage.read_numbers(
        subscribe=topic,
        startingOffsetsByTimestamp={topic: {"0": second[8], "1": second[6]}},
        endingOffsetsByTimestamp={topic: {"0": second[9] + 1, "1": second[7]}},
    )
    assert numbers == [6, 8, 9]


def test_a_time_past_the_last_record(stage: Stage) -> None:
    topic = stage.topic_of(numbered(range(3)))
    late = {"subscribe": topic, "startingTimestamp": 1_800_000_000_000}
    with refused(topic):
        stage.read(**late).collect()
    assert stage.read_numbers(**late, startingOffsetsByTimestampStrategy="latest") == []


def test_several_topics_a_pattern_and_single_partitions(stage: Stage) -> None:
    one = stage.topic_of(numbered(range(3)) + numbered(range(3, 6), partition=1), partitions=2)
    other = stage.topic(name=f"{one}-other")
    stage.produce(other, numbered([7]))
    assert stage.read_numbers(subscribe=f"{one}, {other}") == [0, 1, 2, 3, 4, 5, 7]
    assert stage.read_numbers(subscribePattern=f"{one}-o.*") == [7]
    assert stage.read_numbers(assign={one: [1], other: [0]}) == [3, 4, 5, 7]


def test_more_partitions_than_the_topic_has(stage: Stage) -> None:
    topic = stage.topic_of(numbered(range(1000)) + numbered(range(1000, 1010), partition=1), partitions=2)
    frame = stage.read(subscribe=topic, minPartitions=6)
    assert frame.rdd.getNumPartitions() >= 6
    assert stage.read_numbers(subscribe=topic, minPartitions=6) == list(range(1010))


def test_some_columns_or_none(stage: Stage) -> None:
    topic = stage.topic_of(numbered(range(5)))
    frame = stage.read(subscribe=topic)
    assert frame.count() == 5
    assert [row.offset for row in frame.select("offset").orderBy("offset").collect()] == [0, 1, 2, 3, 4]
    newest = frame.filter("offset > 2").selectExpr("max(cast(value AS string))").first()
    assert newest is not None
    assert newest[0] == "4"


def test_records_of_a_megabyte(stage: Stage) -> None:
    topic = stage.topic_of([Sent(bytes([number]) * 900_000) for number in range(4)])
    rows = stage.read(subscribe=topic, kafka_max_partition_fetch_bytes="1000").orderBy("offset").collect()
    assert [row.value for row in rows] == [bytes([number]) * 900_000 for number in range(4)]


def test_a_topic_without_records(stage: Stage) -> None:
    assert stage.read(subscribe=stage.topic(partitions=2)).collect() == []


def test_records_that_are_gone(stage: Stage) -> None:
    topic = stage.topic_of(numbered(range(10)))
    stage.delete_records(topic, {0: 6})
    assert stage.read_numbers(subscribe=topic) == [6, 7, 8, 9]
    from_the_gone = {"subscribe": topic, "startingOffsets": {topic: {"0": 2}}}
    with refused("failOnDataLoss"):
        stage.read(**from_the_gone).collect()
    assert stage.read_numbers(**from_the_gone, failOnDataLoss="false") == [6, 7, 8, 9]


def test_a_topic_that_does_not_exist(stage: Stage) -> None:
    with refused("topic"):
        stage.read(subscribe="contract-no-such-topic").collect()


@ON_ONE_CLUSTER
@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"subscribe": None}, ["subscribe"]),
        ({"assign": {"t": [0]}}, ["one of", "subscribe"]),
        ({"kafka_bootstrap_servers": None}, ["kafka.bootstrap.servers"]),
        ({"startingOffsets": "latest"}, ["latest"]),
        ({"endingOffsets": "earliest"}, ["earliest"]),
        ({"minPartitions": 0}, ["minPartitions"]),
        ({"kafka_auto_offset_reset": "earliest"}, ["auto.offset.reset", "startingOffsets"]),
        ({"kafka_enable_auto_commit": "true"}, ["enable.auto.commit"]),
    ],
    ids=lambda given: next(iter(given), "nothing") if isinstance(given, dict) else "",
)
def test_options_that_are_refused(stage: Stage, options: dict[str, object], words: list[str]) -> None:
    with refused(*words):
        stage.read(**{"subscribe": "t", **options}).collect()


@ON_ONE_CLUSTER
def test_offsets_that_are_refused(stage: Stage) -> None:
    topic = stage.topic_of(numbered(range(3)))
    with refused("other"):
        stage.read(subscribe=topic, startingOffsets={"other": {"0": 1}}).collect()
    with refused("latest"):
        stage.read(subscribe=topic, startingOffsets={topic: {"0": -1}}).collect()
    with refused("earliest"):
        stage.read(subscribe=topic, endingOffsets={topic: {"0": -2}}).collect()
