"""The sink with Spark: rows of batch and streaming queries arrive as records, read back by another client."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import confluent_kafka
import pyarrow as pa
import pytest
from confluent_kafka.admin import AdminClient, NewTopic
from kafka.partitioner.default import murmur2
from pyspark.sql.types import BinaryType, StructField, StructType

from gralha.client.errors import ClientError
from gralha.spark.data_source import GralhaDataSource
from gralha.spark.decisions import TaskWritten
from gralha.spark.option_values import OptionError
from gralha.spark.sink import batch_writer, stream_writer, write_each_batch
from tests.client.bulk_broker import HANG_UP, TOPIC, bulk_broker
from tests.received import value_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PATIENCE_S = 60.0
VALUE = StructType([StructField("value", BinaryType())])
Header = tuple[str, bytes | None]


def records(bootstrap: str, topic: str, count: int) -> list[confluent_kafka.Message]:
    """The first `count` records of a topic. Fails if there are others."""
    consumer = confluent_kafka.Consumer(
        {"bootstrap.servers": bootstrap, "group.id": "none", "enable.auto.commit": False}
    )
    try:
        partitions = consumer.list_topics(topic, timeout=PATIENCE_S).topics[topic].partitions
        places = [confluent_kafka.TopicPartition(topic, number, 0) for number in partitions]
        ends = [consumer.get_watermark_offsets(place, timeout=PATIENCE_S)[1] for place in places]
        assert sum(ends) == count
        consumer.assign(places)
        found: list[confluent_kafka.Message] = []
        while len(found) < count:
            got = consumer.consume(count - len(found), timeout=PATIENCE_S)
            assert got, f"{len(found)} of {count} records came"
            found += got
        return found
    finally:
        consumer.close()


def create(bootstrap: str, topic: str, partitions: int = 1) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.create_topics([NewTopic(topic, partitions, 1)])[topic].result(PATIENCE_S)


def sink(frame: DataFrame, bootstrap: str, **options: str) -> Any:
    return (
        frame.write.format("gralha")
        .option("kafka.bootstrap.servers", bootstrap)
        .options(**options)
        .mode("append")
    )


def test_all_columns_of_a_batch_query(
    spark: SparkSession, bootstrap: str, new_name: Callable[[str], str]
) -> None:
    one, other = new_name("one"), new_name("other")
    create(bootstrap, one, 3)
    create(bootstrap, other, 3)
    frame = spark.createDataFrame(
        [
            (one, bytearray(b"k1"), "value 1", [("a", bytearray(b"1")), ("a", None)], 2, 1.0),
            (one, None, "é", None, 0, 2.0),
            (other, bytearray(b""), None, [], 1, 3.0),
        ],
        "topic string, key binary, value string, headers array<struct<key: string, value: binary>>, "
        "partition int, extra double",
    )
    sink(frame, bootstrap).save()
    found = {
        (record.topic(), record.partition()): (record.key(), record.value(), record.headers())
        for record in records(bootstrap, one, 2) + records(bootstrap, other, 1)
    }
    assert found == {
        (one, 2): (b"k1", b"value 1", [("a", b"1"), ("a", None)]),
        (one, 0): (None, "é".encode(), None),
        (other, 1): (b"", None, None),
    }


def test_the_option_goes_before_the_column_and_keys_go_where_javas_do(
    spark: SparkSession, bootstrap: str, new_name: Callable[[str], str]
) -> None:
    topic = new_name("by-option")
    create(bootstrap, topic, 5)
    frame = spark.range(1000, numPartitions=2).selectExpr(
        "'no-such-topic' AS topic", "CAST(id AS STRING) AS key", "CAST(id AS STRING) AS value"
    )
    sink(frame, bootstrap, topic=topic, **{"kafka.compression.type": "lz4"}).save()
    found = records(bootstrap, topic, 1000)
    assert {record.value() for record in found} == {b"%d" % number for number in range(1000)}
    assert [record.partition() for record in found] == [
        (murmur2(record.key()) & 0x7FFFFFFF) % 5 for record in found
    ]


def test_a_streaming_query_goes_on_where_it_stopped(
    spark: SparkSession, bootstrap: str, new_name: Callable[[str], str], tmp_path: Path
) -> None:
    topic, source = new_name("stream"), tmp_path / "source"
    create(bootstrap, topic, 2)
    for part in range(3):
        spark.range(part * 100, part * 100 + 100).selectExpr("CAST(id AS STRING) AS value").write.mode(
            "append"
        ).text(str(source))
        query = (
            spark.readStream.text(str(source))
            .writeStream.format("gralha")
            .option("kafka.bootstrap.servers", bootstrap)
            .option("topic", topic)
            .option("checkpointLocation", str(tmp_path / "checkpoint"))
            .trigger(availableNow=True)
            .start()
        )
        assert query.awaitTermination(int(PATIENCE_S))
    found = [value_of(record) for record in records(bootstrap, topic, 300)]
    assert sorted(found) == sorted(b"%d" % number for number in range(300))


def test_update_mode_by_foreach_batch(
    spark: SparkSession, bootstrap: str, new_name: Callable[[str], str], tmp_path: Path
) -> None:
    topic, source = new_name("updates"), tmp_path / "source"
    create(bootstrap, topic)
    spark.range(10).selectExpr("CAST(id % 2 AS STRING) AS value").write.text(str(source))
    query = (
        spark.readStream.text(str(source))
        .groupBy("value")
        .count()
        .selectExpr("value AS key", "CAST(count AS STRING) AS value")
        .writeStream.outputMode("update")
        .foreachBatch(write_each_batch({"kafka.bootstrap.servers": bootstrap, "topic": topic}))
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    assert query.awaitTermination(int(PATIENCE_S))
    found = {(record.key(), record.value()) for record in records(bootstrap, topic, 2)}
    assert found == {(b"0", b"5"), (b"1", b"5")}


def test_a_wrong_schema_is_told_before_a_task_runs(spark: SparkSession, bootstrap: str) -> None:
    from pyspark.errors import PySparkException

    with pytest.raises(PySparkException, match=r"The DataFrame has no column 'value', only id: select what"):
        sink(spark.range(1), bootstrap, topic="t").save()


def test_a_null_topic_is_an_error_in_a_sentence(spark: SparkSession, bootstrap: str) -> None:
    from pyspark.errors import PySparkException

    frame = spark.sql("SELECT CAST(NULL AS STRING) AS topic, 'a' AS value")
    with pytest.raises(PySparkException, match=r"A row has no topic \(it is null\)"):
        sink(frame, bootstrap).save()


# Without Spark


def batch(*values: bytes | None) -> pa.RecordBatch:
    return pa.record_batch({"value": pa.array(values, pa.binary()), "other": pa.array([1] * len(values))})


def test_the_commit_message_says_what_a_transaction_needs(
    bootstrap: str, new_name: Callable[[str], str]
) -> None:
    topic = new_name("message")
    create(bootstrap, topic)
    options = {"kafka.bootstrap.servers": bootstrap, "topic": topic}
    writer = pickle.loads(pickle.dumps(stream_writer(options, VALUE, False)))
    first, second = (writer.write(iter([batch(b"a", None), batch(), batch(b"c")])) for _ in range(2))
    for message, offsets in ((first, (0, 2)), (second, (3, 5))):
        assert isinstance(message, TaskWritten)
        assert (message.records, dict(message.offsets)) == (3, {(topic, 0): offsets})
        assert message.size_bytes > 60
        assert message.producer_epoch == 0
        assert pickle.loads(pickle.dumps(message)) == message
    assert -1 < first.producer_id < second.producer_id


def test_a_task_without_rows_makes_no_connection() -> None:
    writer = batch_writer({"kafka.bootstrap.servers": "localhost:1", "topic": "t"}, VALUE, False)
    assert writer.write(iter([batch()])) == TaskWritten()


def test_a_broker_that_cannot_be_reached() -> None:
    options = {"kafka.bootstrap.servers": "127.0.0.1:1", "topic": "t", "kafka.delivery.timeout.ms": "100"}
    with pytest.raises(ClientError, match=r"127\.0\.0\.1:1"):
        batch_writer(options, VALUE, False).write(iter([batch(b"a")]))


def test_a_wrong_address_is_told_before_any_task_waits_for_it() -> None:
    options = {"kafka.bootstrap.servers": "127.0.0.1:1", "topic": "t"}
    source = GralhaDataSource(options)
    for make in (source.writer, source.streamWriter):
        with pytest.raises(ClientError, match=r"127\.0\.0\.1:1"):
            make(VALUE, False)
    hidden = GralhaDataSource({**options, "kafka.ssl.key.password": "${env:NOT_KNOWN_HERE}"})
    assert hidden.writer(VALUE, False) is not None


def test_a_task_waits_for_a_cluster_that_is_away_when_it_begins() -> None:
    with bulk_broker() as broker:
        broker.init_script = [HANG_UP] * 2
        options = {"kafka.bootstrap.servers": broker.address, "topic": TOPIC}
        written = batch_writer(options, VALUE, False).write(iter([batch(b"a")]))
        assert isinstance(written, TaskWritten)
        assert written.records == 1


def test_references_stay_references_until_a_task_connects(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GRALHA_TEST_BROKER", raising=False)
    options = {"kafka.bootstrap.servers": "${env:GRALHA_TEST_BROKER}", "topic": "t"}
    writer = batch_writer(options, VALUE, False)
    with pytest.raises(ClientError, match="has no variable GRALHA_TEST_BROKER"):
        writer.write(iter([batch(b"a")]))
    monkeypatch.setenv("GRALHA_TEST_BROKER", "secret-broker:1")
    assert b"secret-broker" not in pickle.dumps(writer)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, "Option 'kafka.bootstrap.servers' is not set: write the address of a broker"),
        ({"kafka.key.serializer": "x"}, "Option 'kafka.key.serializer' cannot be set: keys and values are"),
        ({"kafka.acks": "2"}, "acks=2 is not allowed: use all"),
    ],
)
def test_options_that_cannot_be_followed(options: dict[str, str], said: str) -> None:
    given = (
        {"topic": "t", "kafka.bootstrap.servers": "localhost:9092"} | options if options else {"topic": "t"}
    )
    with pytest.raises(ClientError) as caught:
        batch_writer(given, VALUE, False)
    assert str(caught.value).startswith(said)


def test_a_topic_cannot_be_overwritten() -> None:
    with pytest.raises(OptionError, match=r'A topic cannot be overwritten: use mode\("append"\)'):
        batch_writer({"kafka.bootstrap.servers": "localhost:9092", "topic": "t"}, VALUE, True)
