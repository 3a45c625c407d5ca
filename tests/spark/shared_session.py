"""The one Spark session of a test run: fixtures for tests/spark, tests/pipelines and any other test.

A session costs seconds to start and half a gigabyte, so it starts with the first test that asks for `spark`
and serves all of them; `spark` stops the queries that a test left running. Under xdist all tests
that ask for it run in one worker (see `tests/one_session.py`), so there is one session in all.

Spark's own Kafka connector is on its class path, so that format("kafka") stands beside format("gralha").
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from gralha.spark.session import prepare_environment

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

REPOSITORY = Path(__file__).resolve().parents[2]
# Another version of Spark may need another version of its connector (scripts/test_spark_versions).
CONNECTOR_JARS = Path(os.environ.get("GRALHA_TEST_CONNECTOR", REPOSITORY / "build" / "spark-kafka"))
# Spark's classes, archived by scripts/keep_classes: it starts in half the time.
ARCHIVE = REPOSITORY / "build" / "spark.jsa"
KEPT_CLASSES = f"-XX:SharedArchiveFile={ARCHIVE} -Xlog:cds=off -Xlog:cds+dynamic=off"
CHECKPOINT_MANAGER = (
    "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
)
# For queries of a second or two the optimising compiler and parallel collectors cost more than they save.
JAVA_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xshare:auto"


def start_spark_quickly() -> None:
    """Every one that this process starts, also through programs."""
    # Spark's Python processes load numpy, which otherwise starts threads that spin at first.
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    if ARCHIVE.exists():
        os.environ["SPARK_SUBMIT_OPTS"] = KEPT_CLASSES


def quick_java() -> dict[str, str]:
    """An environment for masters, workers and executors, which are started in another way.

    Java reports on standard error that it has seen this variable.
    """
    return {"JAVA_TOOL_OPTIONS": f"{JAVA_OPTIONS} {KEPT_CLASSES if ARCHIVE.exists() else ''}"}


def session_config(folder: Path) -> dict[str, str]:
    """Settings of a small and quick session whose files all live in `folder`."""
    return {
        "spark.master": "local[2]",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.extraJavaOptions": JAVA_OPTIONS,
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "1g",
        "spark.jars": ",".join(map(str, sorted(CONNECTOR_JARS.glob("*.jar")))),
        "spark.local.dir": str(folder / "local"),
        "spark.python.unix.domain.socket.enabled": "true",
        "spark.sql.catalogImplementation": "in-memory",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.streaming.checkpointFileManagerClass": CHECKPOINT_MANAGER,
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }


@pytest.fixture(scope="session")
def spark_session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """The session itself; tests ask for `spark`."""
    from pyspark.sql import SparkSession

    if not (CONNECTOR_JARS / ".stamp").exists():
        raise RuntimeError(f"no Kafka connector for Spark in {CONNECTOR_JARS}; run scripts/setup_java")
    config = session_config(tmp_path_factory.mktemp("spark"))
    prepare_environment(config["spark.master"])
    builder = SparkSession.builder.appName("gralha tests")
    for name, value in config.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    yield session
    # py4j leaves its socket to the garbage collector.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        session.stop()


@pytest.fixture
def spark(spark_session: SparkSession) -> Iterator[SparkSession]:
    """The shared session; queries that the test leaves running are stopped after it."""
    yield spark_session
    for query in spark_session.streams.active:
        query.stop()
