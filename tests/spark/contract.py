"""The stage of the contract suite: one Spark session, one way to read and write topics, one cluster.

Every scenario of the test_contract_* modules runs on three lanes: with Spark's own format("kafka") on our
brokers, which shows the right results and tests the brokers with Apache's Java client; with format("gralha")
on our brokers; and with format("gralha") on Apache Kafka. Scenarios send, read and change the cluster with
confluent-kafka, so that the code under test does not check itself.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from confluent_kafka import Consumer, KafkaError, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic

from gralha.spark.versions import LIMITS_BATCHES, spark_version

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, DataFrameReader, Row, SparkSession
    from pyspark.sql.streaming import DataStreamReader, StreamingQuery

TIMEOUT_S = 60.0

_numbers = itertools.count(1)
Headers = list[tuple[str, bytes | None]]


class Lane(NamedTuple):
    """The format and the cluster of a scenario."""

    format: str
    cluster: str

    def __str__(self) -> str:
        return f"{self.format}-on-{self.cluster}"


LANES = (Lane("kafka", "gralha"), Lane("gralha", "gralha"), Lane("gralha", "apache"))


def played_on(*lanes: Lane) -> pytest.MarkDecorator:
    """For scenarios that need other lanes than all of `LANES`."""
    return pytest.mark.parametrize("stage", lanes, indirect=True, ids=str)


#: One cluster is enough where the scenario hardly depends on it.
ON_ONE_CLUSTER = played_on(Lane("kafka", "gralha"), Lane("gralha", "gralha"))
#: Our brokers have no transactions yet.
ON_APACHE = played_on(Lane("kafka", "apache"), Lane("gralha", "apache"))


@dataclass(frozen=True)
class Sent:
    """A record to produce."""

    value: bytes | None = None
    key: bytes | None = None
    partition: int = 0
    timestamp_ms: int = 1_700_000_000_000
    headers: Headers = field(default_factory=list)


def numbered(numbers: Iterable[int], partition: int = 0) -> list[Sent]:
    """Numbered records: the value is the number, and the timestamp is that many seconds after the first."""
    return [
        Sent(b"%d" % number, b"key-%d" % number, partition, 1_700_000_000_000 + 1_000 * number)
        for number in numbers
    ]


class Batch(NamedTuple):
    """The rows of one batch of a streaming query."""

    id: int
    rows: list[Row]

    @property
    def numbers(self) -> list[int]:
        return numbers_of(self.rows)


def numbers_of(rows: Iterable[Row]) -> list[int]:
    """The sorted values of records that `numbered` made."""
    return sorted(int(row.value) for row in rows)


class Stage:
    """Everything that a scenario uses."""

    def __init__(self, spark: SparkSession, lane: Lane, bootstrap: str, folder: Path) -> None:
        self.spark = spark
        self.format = lane.format
        self.lane = lane
        self.bootstrap = bootstrap
        self.folder = folder
        self.client_config: dict[str, str | int | float | bool] = {
            "bootstrap.servers": bootstrap,
            "log_level": 0,
        }
        self.admin = AdminClient(self.client_config)

    # The cluster, through confluent-kafka.

    def topic(self, partitions: int = 1, name: str | None = None, **config: str) -> str:
        """Create a topic; `config` has Kafka's names with underscores for dots."""
        name = name or f"contract-{os.getpid()}-{next(_numbers)}"
        settings = {key.replace("_", "."): value for key, value in config.items()}
        self.admin.create_topics([NewTopic(name, partitions, 1, config=settings)])[name].result(TIMEOUT_S)
        return name

    def topic_of(self, records: Sequence[Sent], partitions: int = 1, **config: str) -> str:
        name = self.topic(partitions, **config)
        self.produce(name, records)
        return name

    def delete_topic(self, name: str) -> None:
        self.admin.delete_topics([name])[name].result(TIMEOUT_S)

    def add_partitions(self, name: str, total: int) -> None:
        self.admin.create_partitions([NewPartitions(name, total)])[name].result(TIMEOUT_S)

    def delete_records(self, name: str, before: Mapping[int, int]) -> None:
        partitions = [TopicPartition(name, partition, offset) for partition, offset in before.items()]
        for done in self.admin.delete_records(partitions).values():
            done.result(TIMEOUT_S)

    def produce(self, name: str, records: Iterable[Sent], **config: str) -> None:
        """Send records and wait until they are there."""
        settings = {key.replace("_", "."): value for key, value in config.items()}
        producer = Producer({**self.client_config, "linger.ms": 0, **settings})
        failures: list[KafkaError] = []
        for record in records:
            producer.produce(
                name,
                record.value,
                record.key,
                record.partition,
                timestamp=record.timestamp_ms,
                headers=list(record.headers),
                on_delivery=lambda error, _: failures.append(error) if error else None,
            )
        assert producer.flush(TIMEOUT_S) == 0
        assert not failures

    def consume(self, name: str) -> list[Message]:
        """All records of a topic, by partition and offset."""
        settings = {"group.id": "none", "enable.partition.eof": "true", "fetch.wait.max.ms": 10}
        consumer = Consumer({**self.client_config, **settings})
        partitions = consumer.list_topics(name, TIMEOUT_S).topics[name].partitions
        consumer.assign([TopicPartition(name, partition, 0) for partition in partitions])
        messages: list[Message] = []
        open_partitions = len(partitions)
        while open_partitions:
            message = consumer.poll(TIMEOUT_S)
            assert message is not None, f"{name} sends nothing"
            if message.error() is None:
                messages.append(message)
            else:
                open_partitions -= 1
        consumer.close()
        return sorted(messages, key=lambda message: (message.partition(), message.offset()))

    # Reading and writing through the format under test.

    def reader(self, **options: object) -> DataFrameReader:
        return self.spark.read.format(self.format).options(**self._options(options))

    def read(self, **options: object) -> DataFrame:
        return self.reader(**options).load()

    def read_numbers(self, **options: object) -> list[int]:
        return numbers_of(self.read(**options).select("value").collect())

    def stream_reader(self, **options: object) -> DataStreamReader:
        return self.spark.readStream.format(self.format).options(**self._options(options))

    def stream(self, **options: object) -> DataFrame:
        return self.stream_reader(**options).load()

    def write(self, frame: DataFrame, **options: object) -> None:
        frame.write.format(self.format).options(**self._options(options)).mode("append").save()

    # Queries.

    def available(self, frame: DataFrame, checkpoint: str = "query") -> list[Batch]:
        """Runs a query on all existing records. Returns the batches that had rows.

        Spark 4.1 may end a query after one batch, with a limit or after a repeated batch. Its user starts it
        again.
        """
        batches = self._available_once(frame, checkpoint)
        while spark_version() < LIMITS_BATCHES:
            more = self._available_once(frame, checkpoint)
            batches += more
            if not more:
                break
        return batches

    def _available_once(self, frame: DataFrame, checkpoint: str) -> list[Batch]:
        batches, query = self.start(frame, checkpoint, availableNow=True)
        query.awaitTermination(int(TIMEOUT_S))
        assert not query.isActive, "the query did not end by itself"
        return batches

    def start(
        self, frame: DataFrame, checkpoint: str = "query", **trigger: Any
    ) -> tuple[list[Batch], StreamingQuery]:
        """Start a query and the list that its batches are added to."""
        batches: list[Batch] = []

        def keep(rows: DataFrame, batch_id: int) -> None:
            collected = rows.collect()
            if collected:
                batches.append(Batch(batch_id, collected))

        writer = frame.writeStream.foreachBatch(keep).option("checkpointLocation", self.path(checkpoint))
        if trigger:
            writer = writer.trigger(**trigger)
        return batches, writer.start()

    def path(self, name: str) -> str:
        return str(self.folder / name)

    def _options(self, options: Mapping[str, object]) -> dict[str, str]:
        """Options as Spark takes them: `kafka_` stands for `kafka.` and dots, and values become JSON if
        needed.
        """
        given = {
            "kafka.bootstrap.servers": self.bootstrap,
            # These errors do not go away, so there is no need to wait a second before asking again.
            "fetchOffset.retryIntervalMs": "10",
            # Spark's own source asks for the offset after the last record, and waits for the answer.
            "kafka.fetch.max.wait.ms": "10",
        }
        for name, value in options.items():
            full_name = name.replace("_", ".")
            if value is None:
                given.pop(full_name, None)
            else:
                given[full_name] = json.dumps(value) if isinstance(value, dict) else str(value)
        return given


@contextlib.contextmanager
def refused(*words: str) -> Iterator[None]:
    """The block must fail, and the text of its error must have all these words."""
    with pytest.raises(Exception) as caught:
        yield
    # The rest of the text is Spark's stack.
    message = re.split(r"\n\s+at |\nJVM stacktrace", str(caught.value))[0]
    assert not [word for word in words if word.lower() not in message.lower()], message


def eventually(check: Callable[[], bool]) -> None:
    """Wait until something is true; polling, as a person with a tool would."""
    from tests.client.live import eventually as becomes_true

    assert becomes_true(check, TIMEOUT_S)
