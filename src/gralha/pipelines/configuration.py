"""The Spark and Kafka settings of one query."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from gralha.pipelines.declaration import Pipeline
from gralha.pipelines.errors import PipelineError
from gralha.pipelines.spark_errors import short

if TYPE_CHECKING:
    from gralha.pipelines.running import RunOptions

STATE_STORE: Final = "spark.sql.streaming.stateStore.providerClass"
SHUFFLE_PARTITIONS: Final = "spark.sql.shuffle.partitions"
# RocksDB keeps state outside of the heap, and `transformWithState` needs it. With a changelog a batch saves
# only what has changed.
DEFAULTS: Final = {
    STATE_STORE: "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
}


def conf_of(pipeline: Pipeline, session: SparkSession) -> dict[str, str]:
    """The Spark settings of a pipeline. A query keeps the settings of its start."""
    return {SHUFFLE_PARTITIONS: session.conf.get(SHUFFLE_PARTITIONS) or "200", **DEFAULTS, **pipeline.conf}


def kafka_settings(pipeline: Pipeline, options: "RunOptions") -> dict[str, str]:
    """The settings of Kafka clients for all connections of a pipeline. Those of the run are stronger."""
    return {**pipeline.kafka, **options.kafka, "bootstrap.servers": options.bootstrap_servers}


@contextmanager
def configured(session: SparkSession, conf: Mapping[str, str]) -> Iterator[None]:
    """Changes settings of the session and restores them afterwards. Raises PipelineError if Spark refuses
    one.
    """
    before: dict[str, str | None] = {}
    try:
        for name, value in conf.items():
            before.update(_set(session, name, value))
        yield
    finally:
        for name, old in before.items():
            if old is None:
                session.conf.unset(name)
            else:
                session.conf.set(name, old)


def _set(session: SparkSession, name: str, value: str) -> dict[str, str | None]:
    """Changes a setting. Returns its old value."""
    try:
        old: str | None = session.conf.get(name, None)
        session.conf.set(name, value)
    except PySparkException as error:
        raise PipelineError(
            f"Spark refuses conf={{{name!r}: {value!r}}} of a pipeline: {short(error)} "
            f"Settings of the whole session are set with --conf {name}=..."
        ) from error
    return {name: old}
