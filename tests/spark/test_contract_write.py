"""The contract of writing to topics, in batches and streams: columns, partitions and errors."""

from __future__ import annotations

import pytest
from confluent_kafka import Message
from pyspark.sql.streaming import StreamingQuery

from tests.received import value_of
from tests.spark.contract import (
    ON_ONE_CLUSTER,
    TIMEOUT_S,
    Lane,
    Sent,
    Stage,
    numbered,
    played_on,
    refused,
)

COLUMNS = (
    "topic string, key binary, value binary, headers array<struct<key: string, value: binary>>, partition int"
)


def written(messages: list[Message]) -> list[tuple[bytes | None, bytes | None]]:
    return [(message.key(), message.value()) for message in messages]


def test_text_to_the_topic_of_the_option(stage: Stage) -> None:
    topic = stage.topic()
    frame = stage.spark.createDataFrame(
        [("olá", "mundo"), (None, ""), ("tombstone", None)], "key string, value string"
    )
    stage.write(frame.coalesce(1), topic=topic)
    assert written(stage.consume(topic)) == [
        ("olá".encode(), b"mundo"),
        (None, b""),
        (b"tombstone", None),
    ]


def test_every_column(stage: Stage) -> None:
    one, other = stage.topic(partitions=3), stage.topic(partitions=2)
    headers = [("trace", b"1"), ("trace", None), ("", b"")]
    rows = [
        (one, b"k", b"\x00\xff", headers, 2),
        (other, b"k", b"there", None, 1),
        (one, None, b"no key", [], 0),
    ]
    stage.write(stage.spark.createDataFrame(rows, COLUMNS))
    first, second = stage.consume(one)
    assert (first.partition(), first.key(), first.value(), first.headers()) == (0, None, b"no key", None)
    assert (second.partition(), second.key(), second.value()) == (2, b"k", b"\x00\xff")
    assert second.headers() == headers
    (third,) = stage.consume(other)
    assert (third.partition(), third.value()) == (1, b"there")


def test_the_option_goes_before_the_column(stage: Stage) -> None:
    one, other = stage.topic(), stage.topic()
    frame = stage.spark.createDataFrame([(one, "x")], "topic string, value string")
    stage.write(frame, topic=other)
    assert stage.consume(one) == []
    assert written(stage.consume(other)) == [(None, b"x")]


def test_keys_go_where_every_java_client_sends_them(stage: Stage) -> None:
    by_spark, by_librdkafka = stage.topic(partitions=5), stage.topic(partitions=5)
    keys = [b"key-%d" % number * (number % 7) for number in range(100)]
    frame = stage.spark.createDataFrame([(bytearray(key), b"") for key in keys], "key binary, value binary")
    stage.write(frame, topic=by_spark)
    sent = [Sent(b"", key, partition=-1) for key in keys]
    stage.produce(by_librdkafka, sent, partitioner="murmur2_random")
    places = [
        sorted((message.key(), message.partition()) for message in stage.consume(topic))
        for topic in (by_spark, by_librdkafka)
    ]
    assert places[0] == places[1]


def test_many_rows_from_many_tasks(stage: Stage) -> None:
    topic = stage.topic(partitions=3)
    frame = stage.spark.range(0, 20_000, numPartitions=4).selectExpr(
        "IF(id % 2 = 0, cast(id AS string), NULL) AS key", "cast(id AS string) AS value"
    )
    stage.write(frame, topic=topic, kafka_compression_type="lz4", kafka_batch_size="5000")
    messages = stage.consume(topic)
    assert sorted(int(value_of(message)) for message in messages) == list(range(20_000))
    assert {message.partition() for message in messages} == {0, 1, 2}
    assert all(message.key() in (None, message.value()) for message in messages)


@ON_ONE_CLUSTER
@pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4", "zstd"])
def test_every_compression(stage: Stage, codec: str) -> None:
    topic = stage.topic()
    frame = stage.spark.range(100).selectExpr("repeat(cast(id AS string), 10) AS value").coalesce(1)
    stage.write(frame, topic=topic, kafka_compression_type=codec)
    assert [message.value() for message in stage.consume(topic)] == [
        b"%d" % number * 10 for number in range(100)
    ]


def test_a_stream_from_topic_to_topic(stage: Stage) -> None:
    source, sink = stage.topic_of(numbered(range(10))), stage.topic(partitions=2)
    frame = stage.stream(subscribe=source, startingOffsets="earliest", includeHeaders="true")

    def run() -> None:
        query = (
            frame.select("key", "value", "headers")
            .writeStream.format(stage.format)
            .option("kafka.bootstrap.servers", stage.bootstrap)
            .option("topic", sink)
            .option("checkpointLocation", stage.path("query"))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()

    run()
    stage.produce(source, numbered(range(10, 12)))
    run()
    assert sorted(int(value_of(message)) for message in stage.consume(sink)) == list(range(12))


def running_counts(stage: Stage, source: str, sink: str, mode: str) -> StreamingQuery:
    counts = stage.stream(subscribe=source, startingOffsets="earliest").groupBy("topic").count()
    return (
        counts.selectExpr("topic AS key", "cast(count AS string) AS value")
        .writeStream.format(stage.format)
        .option("kafka.bootstrap.servers", stage.bootstrap)
        .option("topic", sink)
        .option("checkpointLocation", stage.path("query"))
        .outputMode(mode)
        .start()
    )


@ON_ONE_CLUSTER
def test_results_that_change(stage: Stage) -> None:
    source, sink = stage.topic_of(numbered(range(10))), stage.topic()
    query = running_counts(stage, source, sink, "complete")
    query.processAllAvailable()
    stage.produce(source, numbered([10]))
    query.processAllAvailable()
    assert written(stage.consume(sink)) == [(source.encode(), b"10"), (source.encode(), b"11")]


@ON_ONE_CLUSTER
@pytest.mark.parametrize(
    ("columns", "row", "words"),
    [
        ("key string", ("k",), ["value"]),
        ("value int", (1,), ["value", "int"]),
        ("key int, value string", (1, "v"), ["key", "int"]),
        ("value string, partition string", ("v", "0"), ["partition", "string"]),
        ("value string, headers string", ("v", "h"), ["headers"]),
    ],
    ids=lambda given: given if isinstance(given, str) else "",
)
def test_columns_that_are_refused(stage: Stage, columns: str, row: tuple[object], words: list[str]) -> None:
    frame = stage.spark.createDataFrame([row], columns)
    with refused(*words):
        stage.write(frame, topic="t")


@ON_ONE_CLUSTER
def test_rows_without_a_topic(stage: Stage) -> None:
    with refused("topic"):
        stage.write(stage.spark.createDataFrame([("v",)], "value string"))
    with refused("topic", "null"):
        stage.write(stage.spark.createDataFrame([(None, "v")], "topic string, value string"))


def test_a_topic_that_does_not_exist(stage: Stage) -> None:
    frame = stage.spark.createDataFrame([("v",)], "value string")
    with refused("contract-no-such-topic"):
        stage.write(
            frame,
            topic="contract-no-such-topic",
            kafka_max_block_ms="1000",
            kafka_delivery_timeout_ms="31000",
        )


@ON_ONE_CLUSTER
def test_a_record_that_is_too_large(stage: Stage) -> None:
    frame = stage.spark.range(1).selectExpr("repeat('x', 3000000) AS value")
    with refused("max.request.size"):
        stage.write(frame, topic=stage.topic())


@ON_ONE_CLUSTER
def test_topics_are_never_written_over(stage: Stage) -> None:
    frame = stage.spark.createDataFrame([("v",)], "value string")
    topic = stage.topic()
    for mode in ("overwrite", "ignore"):
        with refused(mode):
            frame.write.format(stage.format).options(
                **{"kafka.bootstrap.servers": stage.bootstrap, "topic": topic}
            ).mode(mode).save()
    assert stage.consume(topic) == []


# Two things that Spark 4.3 does not allow for Python data sources. If one of these tests fails, Spark has
# changed, and the scenario belongs to the contract.


@played_on(Lane("gralha", "gralha"))
def test_the_mode_append_must_be_said(stage: Stage) -> None:
    frame = stage.spark.createDataFrame([("v",)], "value string")
    options = {"kafka.bootstrap.servers": stage.bootstrap, "topic": stage.topic()}
    with refused("append", "ErrorIfExists"):
        frame.write.format(stage.format).options(**options).save()


@played_on(Lane("gralha", "gralha"))
def test_the_output_mode_update_needs_foreach_batch(stage: Stage) -> None:
    source, sink = stage.topic_of(numbered(range(10))), stage.topic()
    with refused("gralha does not support Update mode"):
        running_counts(stage, source, sink, "update").awaitTermination(int(TIMEOUT_S))
