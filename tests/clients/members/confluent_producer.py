"""confluent-kafka (librdkafka): transactions, and reading with an isolation level."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Iterator
from functools import partial
from typing import Any

import confluent_kafka
from confluent_kafka import KafkaError, KafkaException, Message, TopicPartition

from tests.clients import access
from tests.clients.driver import TIMEOUT_S, ClientError
from tests.clients.members.confluent_member import ConfluentConsumer, topic_partitions
from tests.clients.members.member import Consumer, Offsets, Partition
from tests.clients.members.producer import MAX_WAIT_MS, Isolation, Producer, Reading, Records
from tests.received import place_of, value_of

STATISTICS_MS = 50


@contextlib.contextmanager
def own_names() -> Iterator[None]:
    try:
        yield
    except KafkaException as error:
        raise ClientError(error.args[0].name(), error.args[0].str()) from error


class ConfluentProducer(Producer):
    def __init__(self, bootstrap: str, transactional_id: str | None, timeout_ms: int) -> None:
        settings: dict[str, Any] = {
            **access.librdkafka(bootstrap),
            "enable.idempotence": True,
            "linger.ms": 0,
            "log_level": 0,
        }
        if transactional_id is not None:
            settings["transactional.id"] = transactional_id
            settings["transaction.timeout.ms"] = timeout_ms
            settings["message.timeout.ms"] = timeout_ms
        self._producer = confluent_kafka.Producer(settings)
        if transactional_id is not None:
            with own_names():
                self._producer.init_transactions(TIMEOUT_S)

    def begin(self) -> None:
        with own_names():
            self._producer.begin_transaction()

    def send(self, records: Records) -> list[int]:
        offsets: dict[int, int] = {}
        errors: list[KafkaError] = []

        def delivered(number: int, error: KafkaError | None, message: Message) -> None:
            if error is not None:
                errors.append(error)
            else:
                offsets[number] = place_of(message)[1]

        with own_names():
            for number, ((topic, partition), value) in enumerate(records):
                self._producer.produce(
                    topic,
                    value.encode(),
                    partition=partition,
                    on_delivery=partial(delivered, number),
                )
            self._producer.flush(TIMEOUT_S)
        if errors:
            raise ClientError(errors[0].name(), errors[0].str())
        return [offsets[number] for number in range(len(records))]

    def send_offsets(self, offsets: Offsets, group: str, metadata: Any) -> None:
        with own_names():
            self._producer.send_offsets_to_transaction(topic_partitions(offsets), metadata, TIMEOUT_S)

    def commit(self) -> None:
        with own_names():
            self._producer.commit_transaction(TIMEOUT_S)

    def abort(self) -> None:
        with own_names():
            self._producer.abort_transaction(TIMEOUT_S)

    def close(self) -> None:
        # A producer without references to it is destroyed.
        del self._producer


def open_producer(bootstrap: str, transactional_id: str | None, timeout_ms: int) -> Producer:
    return ConfluentProducer(bootstrap, transactional_id, timeout_ms)


def group_metadata(consumer: Consumer) -> Any:
    assert isinstance(consumer, ConfluentConsumer)
    return consumer.group_metadata()


class Lag:
    """The lag of a partition, from librdkafka's statistics."""

    def __init__(self, partition: Partition) -> None:
        self._topic, self._number = partition
        self.value: int | None = None

    def take(self, statistics: str) -> None:
        topics = json.loads(statistics)["topics"]
        seen = topics.get(self._topic, {}).get("partitions", {}).get(str(self._number), {})
        lag = seen.get("consumer_lag_stored", -1)
        self.value = None if lag < 0 else lag


def read(bootstrap: str, partition: Partition, isolation: Isolation) -> Reading:
    lag = Lag(partition)
    consumer = confluent_kafka.Consumer(
        {
            **access.librdkafka(bootstrap),
            "group.id": "reader",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "isolation.level": isolation.level,
            "auto.offset.reset": "error",
            "fetch.wait.max.ms": MAX_WAIT_MS,
            "statistics.interval.ms": STATISTICS_MS,
            "stats_cb": lag.take,
            "log_level": 0,
        }
    )
    records: list[tuple[int, str]] = []
    deadline = time.monotonic() + TIMEOUT_S
    try:
        consumer.assign([TopicPartition(*partition, isolation.start)])
        while isolation.limit is None or len(records) < isolation.limit:
            if time.monotonic() > deadline:
                raise ClientError("TIMEOUT", f"{len(records)} records came")
            message = consumer.poll(MAX_WAIT_MS / 1000)
            if message is None:
                continue
            error = message.error()
            if error is not None and error.code() == KafkaError._PARTITION_EOF:
                # Its offset is that of the next record.
                return Reading(records, place_of(message)[1], 0)
            if error is not None:
                raise ClientError(error.name(), error.str())
            records.append((place_of(message)[1], value_of(message).decode()))
        (place,) = consumer.position([TopicPartition(*partition)])
        lag.value = None
        # Statistics come while it polls, which may bring no more records.
        consumer.pause([TopicPartition(*partition)])
        while lag.value is None and time.monotonic() < deadline:
            consumer.poll(STATISTICS_MS / 1000)
        return Reading(records, place.offset, lag.value)
    finally:
        consumer.close()


def end_offset(bootstrap: str, partition: Partition, level: str) -> int:
    consumer = confluent_kafka.Consumer(
        {**access.librdkafka(bootstrap), "group.id": "reader", "isolation.level": level, "log_level": 0}
    )
    try:
        with own_names():
            end: int = consumer.get_watermark_offsets(TopicPartition(*partition), TIMEOUT_S)[1]
            return end
    finally:
        consumer.close()
