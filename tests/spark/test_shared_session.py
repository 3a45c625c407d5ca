"""The session that all tests of Spark share."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_workers_run_this_interpreter(spark: SparkSession) -> None:
    import sys

    from pyspark.sql.functions import lit, udf

    where = udf(lambda _: sys.executable, "string")
    row = spark.range(1).select(where(lit(0))).first()
    assert row is not None
    assert row[0] == sys.executable


def test_the_connector_of_spark_itself_is_there(spark: SparkSession, bootstrap: str) -> None:
    reader = spark.read.format("kafka").option("kafka.bootstrap.servers", bootstrap)
    assert reader.option("subscribePattern", "no-such-topic-.*").load().count() == 0


def test_queries_that_a_test_left_running_are_stopped(spark: SparkSession) -> None:
    query = spark.readStream.format("rate").load().writeStream.format("noop").start()
    assert query.isActive


def test_no_query_is_left_of_the_test_before(spark: SparkSession) -> None:
    assert spark.streams.active == []
