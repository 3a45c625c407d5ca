"""format("gralha") inside Spark's own declarative pipelines, as source and as sink.

These run on Spark Connect only, so the shared session serves it for the time of the test; `spark-pipelines`
itself runs in a process of its own, as a user would start it, and needs no second Spark.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from gralha.testing.process import free_ports
from tests.received import value_of
from tests.spark.contract import Lane, Stage, numbered, played_on

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = played_on(Lane("gralha", "gralha"))

SPECIFICATION = """
name: sales
storage: {storage}
libraries:
  - glob:
      include: flows.py
"""

FLOWS = """
from pyspark import pipelines as dp
from pyspark.sql import SparkSession

# Later versions than 4.1 define it.
spark = SparkSession.active()
OPTIONS = {{"kafka.bootstrap.servers": "{bootstrap}"}}


@dp.table(name="{table}")
def records():
    reader = spark.readStream.format("gralha").options(**OPTIONS, subscribe="{source}")
    frame = reader.option("startingOffsets", "earliest").load()
    return frame.selectExpr("key", "value", "int(string(value)) AS number")


@dp.materialized_view(name="{table}_counts")
def counts():
    reader = spark.read.format("gralha").options(**OPTIONS, subscribe="{source}")
    return reader.load().groupBy("partition").count()


dp.create_sink("large", "gralha", {{**OPTIONS, "topic": "{sink}"}})


@dp.append_flow(target="large")
def large():
    return spark.readStream.table("{table}").where("number >= 90").select("key", "value")
"""


@pytest.fixture
def connect_address(spark: SparkSession) -> Iterator[str]:
    """The shared session, served to clients of Spark Connect."""
    context = spark.sparkContext._jsc.sc()
    (port,) = free_ports(1)
    context.conf().set("spark.connect.grpc.binding.port", str(port))
    jvm: Any = spark._jvm
    service = jvm.org.apache.spark.sql.connect.service.SparkConnectService
    service.start(context)
    yield f"sc://127.0.0.1:{port}"
    service.stop(jvm.scala.Option.empty(), jvm.scala.Option.empty())


def run_pipeline(folder: Path, connect_address: str) -> None:
    environment = {**os.environ, "SPARK_REMOTE": connect_address, "PYSPARK_PYTHON": sys.executable}
    command = [sys.executable, "-m", "pyspark.pipelines.cli", "run", "--spec", "spark-pipeline.yaml"]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=110)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]


def test_topics_flow_through_a_declared_pipeline_into_a_table_and_a_topic(
    stage: Stage, connect_address: str
) -> None:
    records = [*numbered(range(0, 100, 2)), *numbered(range(1, 100, 2), partition=1)]
    source, sink = stage.topic_of(records, partitions=2), stage.topic()
    table = source.replace("-", "_")
    (stage.folder / "spark-pipeline.yaml").write_text(
        SPECIFICATION.format(storage=f"file://{stage.folder}/storage")
    )
    flows = FLOWS.format(bootstrap=stage.bootstrap, source=source, sink=sink, table=table)
    (stage.folder / "flows.py").write_text(flows)

    run_pipeline(stage.folder, connect_address)
    assert stage.spark.table(table).count() == 100
    assert [tuple(row) for row in stage.spark.table(f"{table}_counts").sort("partition").collect()] == [
        (0, 50),
        (1, 50),
    ]
    assert sorted(int(value_of(message)) for message in stage.consume(sink)) == list(range(90, 100))

    # A second update continues after the first one.
    stage.produce(source, numbered([190]))
    run_pipeline(stage.folder, connect_address)
    assert sorted(int(value_of(message)) for message in stage.consume(sink)) == [*range(90, 100), 190]
