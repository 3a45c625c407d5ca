"""The exactly-once sink with Spark: streams that are repeated, batch writes with a version, foreachBatch.

On our own brokers and on Apache Kafka 4.3.
"""

from __future__ import annotations

import functools
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pyspark.sql.types import StringType, StructField, StructType

from gralha.client.admin import Admin
from gralha.client.cluster import Cluster
from gralha.client.errors import ClientError
from gralha.client.values import TopicPartition
from gralha.spark.sink import batch_writer, stream_writer, write_each_batch
from tests.client.live import eventually
from tests.spark.exactly_once import committed
from tests.spark.test_sink import create, sink

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PATIENCE_S = 60
KINDS = ("gralha", "apache")
VALUE = StructType([StructField("value", StringType())])
EXACTLY_ONCE = {"deliveryGuarantee": "exactly-once"}


@pytest.fixture(params=KINDS)
def kafka(request: pytest.FixtureRequest, cluster_of: Callable[[str], str]) -> str:
    return cluster_of(request.param)


def numbers(*parts: range) -> list[str]:
    return sorted(str(number) for part in parts for number in part)


def run_stream(frame: DataFrame, kafka: str, topic: str, folder: Path, **options: str) -> None:
    query = (
        frame.writeStream.format("gralha")
        .options(**options)
        .option("kafka.bootstrap.servers", kafka)
        .option("topic", topic)
        .option("deliveryGuarantee", "exactly-once")
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    assert query.awaitTermination(PATIENCE_S)


def test_a_repeated_batch_of_a_stream_is_left_out(
    spark: SparkSession, kafka: str, new_name: Callable[[str], str], tmp_path: Path
) -> None:
    topic, source = new_name("stream"), tmp_path / "source"
    create(kafka, topic, 2)
    for part in range(3):
        rows = spark.range(part * 100, part * 100 + 100, numPartitions=2)
        rows.selectExpr("CAST(id AS STRING) AS value").write.mode("append").text(str(source))
        frame = spark.readStream.text(str(source))
        run_stream(frame, kafka, topic, tmp_path)
        # Spark forgets that the batch is committed, as if it had died before it wrote that down.
        shutil.rmtree(tmp_path / "checkpoint" / "commits")
        run_stream(frame, kafka, topic, tmp_path)
    assert committed(kafka, topic) == numbers(range(300))


def test_a_batch_write_with_the_same_version_is_left_out(
    spark: SparkSession, kafka: str, new_name: Callable[[str], str]
) -> None:
    topic = new_name("batches")
    create(kafka, topic, 2)
    for version in (1, 1, 2, 1, 2):
        rows = spark.range(version * 10, version * 10 + 10, numPartitions=2)
        sink(
            rows.selectExpr("CAST(id AS STRING) AS value"),
            kafka,
            topic=topic,
            txnAppId="nightly",
            txnVersion=str(version),
            **EXACTLY_ONCE,
        ).save()
    assert committed(kafka, topic) == numbers(range(10, 30))


def test_a_failed_write_leaves_nothing(
    spark: SparkSession, kafka: str, new_name: Callable[[str], str]
) -> None:
    from pyspark.errors import PySparkException

    topic = new_name("failed")
    create(kafka, topic)
    rows = spark.range(2000, numPartitions=2).selectExpr(
        "IF(id = 1999, CAST(raise_error('no') AS STRING), CAST(id AS STRING)) AS value"
    )
    options = {"topic": topic, "txnAppId": "failing", "txnVersion": "1", **EXACTLY_ONCE}
    with pytest.raises(PySparkException, match="no"):
        sink(rows, kafka, **options).save()
    sink(rows.limit(5), kafka, **options).save()
    assert committed(kafka, topic) == numbers(range(5))


def test_each_batch_of_a_stream_in_update_mode(
    spark: SparkSession, kafka: str, new_name: Callable[[str], str], tmp_path: Path
) -> None:
    topic, source = new_name("updates"), tmp_path / "source"
    create(kafka, topic)
    spark.range(10).selectExpr("CAST(id % 2 AS STRING) AS value").write.text(str(source))
    counts = spark.readStream.text(str(source)).groupBy("value").count()
    write = write_each_batch({"kafka.bootstrap.servers": kafka, "topic": topic, **EXACTLY_ONCE})
    for _ in range(2):
        query = (
            counts.selectExpr("CONCAT(value, ' ', count) AS value")
            .writeStream.outputMode("update")
            .foreachBatch(write)
            .option("checkpointLocation", str(tmp_path / "checkpoint"))
            .trigger(availableNow=True)
            .start()
        )
        assert query.awaitTermination(PATIENCE_S)
        shutil.rmtree(tmp_path / "checkpoint" / "commits")
    assert committed(kafka, topic) == ["0 5", "1 5"]


def stream_of(spark: SparkSession, kafka: str, topic: str) -> DataFrame:
    return (
        spark.readStream.format("gralha")
        .option("kafka.bootstrap.servers", kafka)
        .option("subscribe", topic)
        .option("startingOffsets", "earliest")
        .load()
    )


def group_offset(kafka: str, group: str, topic: str) -> int | None:
    with Admin(Cluster(kafka)) as admin:
        found = admin.group_offsets([group])[group]
    assert isinstance(found, dict)
    place = TopicPartition(topic, 0)
    return found[place].offset if place in found else None


def is_at(kafka: str, group: str, topic: str, offset: int) -> bool:
    return group_offset(kafka, group, topic) == offset


def test_a_stream_commits_the_offsets_of_its_input(
    spark: SparkSession, kafka: str, new_name: Callable[[str], str], tmp_path: Path
) -> None:
    source, topic, group = new_name("source"), new_name("target"), new_name("group")
    create(kafka, source)
    create(kafka, topic)
    for part in range(2):
        rows = spark.range(part * 5, part * 5 + 5).selectExpr("CAST(id AS STRING) AS value")
        sink(rows, kafka, topic=source).save()
        for _ in range(2):
            run_stream(stream_of(spark, kafka, source), kafka, topic, tmp_path, groupId=group)
            assert eventually(functools.partial(is_at, kafka, group, source, part * 5 + 5))
            shutil.rmtree(tmp_path / "checkpoint" / "commits")
    assert committed(kafka, topic) == numbers(range(10))


def test_each_batch_commits_the_offsets_of_its_input(
    spark: SparkSession, kafka: str, new_name: Callable[[str], str], tmp_path: Path
) -> None:
    source, topic, group = new_name("source"), new_name("target"), new_name("group")
    create(kafka, source)
    create(kafka, topic)
    sink(spark.range(5).selectExpr("CAST(id AS STRING) AS value"), kafka, topic=source).save()
    options = {"kafka.bootstrap.servers": kafka, "topic": topic, "groupId": group, **EXACTLY_ONCE}
    query = (
        stream_of(spark, kafka, source)
        .select("value")
        .writeStream.foreachBatch(write_each_batch(options))
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    assert query.awaitTermination(PATIENCE_S)
    assert eventually(functools.partial(is_at, kafka, group, source, 5))
    assert committed(kafka, topic) == numbers(range(5))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            {"deliveryGuarantee": "exactly once"},
            "Option 'deliveryGuarantee' is 'exactly once': write at-least-o",
        ),
        (
            {"deliveryGuarante": "exactly-once"},
            "'deliveryGuarante' is not known: did you mean 'deliveryGuarantee'",
        ),
        (EXACTLY_ONCE, "deliveryGuarantee=exactly-once needs the options 'txnAppId' .* and 'txnVersion'"),
        (
            {**EXACTLY_ONCE, "txnAppId": "a", "txnVersion": "-1"},
            "Option 'txnVersion' is -1: it must be 0 or more",
        ),
        ({"groupId": "g"}, "Option 'groupId' of a sink needs deliveryGuarantee=exactly-once"),
        (
            {**EXACTLY_ONCE, "txnAppId": "a", "txnVersion": "1", "groupId": "g"},
            "Option 'groupId' of a batch write needs 'groupOffsets'",
        ),
        (
            {**EXACTLY_ONCE, "txnAppId": "a", "txnVersion": "1", "groupId": "g", "groupOffsets": "7"},
            "Option 'groupOffsets' is wrong: '7' is not JSON",
        ),
        (
            {**EXACTLY_ONCE, "txnAppId": "a", "txnVersion": "1", "groupOffsets": "{}"},
            "Option 'groupOffsets' needs the option 'groupId'",
        ),
        ({**EXACTLY_ONCE, "kafka.transactional.id": "a"}, "Option 'kafka.transactional.id' cannot be set"),
    ],
)
def test_wrong_options(options: dict[str, str], said: str) -> None:
    with pytest.raises(ClientError, match=said):
        batch_writer({"kafka.bootstrap.servers": "localhost:1", "topic": "t", **options}, VALUE, False)


def test_a_stream_has_its_own_versions() -> None:
    options = {"kafka.bootstrap.servers": "localhost:1", "topic": "t", "txnAppId": "a", **EXACTLY_ONCE}
    with pytest.raises(ClientError, match="are for batch writes: a streaming query has an id"):
        stream_writer(options, VALUE, False)


@pytest.mark.parametrize("checkpoint", [{}, {"checkpointLocation": "s3a://bucket/checkpoint"}])
def test_the_group_of_a_stream_needs_a_checkpoint_that_can_be_read(checkpoint: dict[str, str]) -> None:
    options = {"kafka.bootstrap.servers": "localhost:1", "topic": "t", "groupId": "g", **EXACTLY_ONCE}
    with pytest.raises(ClientError, match="needs the option 'checkpointLocation' with a folder on the dri"):
        stream_writer({**options, **checkpoint}, VALUE, False)
