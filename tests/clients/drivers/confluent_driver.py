"""confluent-kafka, which is librdkafka for Python."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from functools import partial
from typing import Any

import confluent_kafka
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    NewTopic,
    OffsetSpec,
    ResourceType,
)

from tests.clients.driver import (
    CLIENT_MESSAGE_LIMIT_BYTES,
    MAX_WAIT_MS,
    TIMEOUT_S,
    ClientError,
    Driver,
    Login,
    Message,
    Outgoing,
    Placed,
    Tls,
    security_for_librdkafka,
)
from tests.received import headers_of, place_of

# Errors that librdkafka derives from the broker's answers, with its own names.
LOCAL_ERRORS = {
    KafkaError._UNKNOWN_TOPIC: "UNKNOWN_TOPIC_OR_PARTITION",
    KafkaError._UNKNOWN_PARTITION: "UNKNOWN_TOPIC_OR_PARTITION",
    KafkaError._AUTO_OFFSET_RESET: "OFFSET_OUT_OF_RANGE",
}
LOGICAL_OFFSETS = {"earliest": confluent_kafka.OFFSET_BEGINNING, "latest": confluent_kafka.OFFSET_END}


def client_error(error: KafkaError) -> ClientError:
    code = error.code()
    if code in LOCAL_ERRORS:
        return ClientError(LOCAL_ERRORS[code], error.str())
    return ClientError.from_code(code, error.str())


def result_of(future: Future[Any]) -> Any:
    try:
        return future.result(TIMEOUT_S)
    except KafkaException as error:
        raise client_error(error.args[0]) from error


class ConfluentDriver(Driver):
    NAME = "confluent-kafka"

    def __init__(self, bootstrap: str, tls: Tls | None = None, login: Login | None = None) -> None:
        super().__init__(bootstrap, tls, login)
        self._connection = {"bootstrap.servers": bootstrap, **security_for_librdkafka(tls, login)}
        # Silent, because it outlives the broker at the end of a test run and would log that.
        self._admin = AdminClient({**self._connection, "log_level": 0})

    def produce(
        self,
        topic: str,
        records: Sequence[Outgoing],
        *,
        partition: int | None = None,
        acks: str = "all",
        compression: str = "none",
        idempotent: bool = False,
    ) -> list[Placed]:
        producer = Producer(
            {
                **self._connection,
                "acks": acks,
                "compression.type": compression,
                "enable.idempotence": idempotent,
                "partitioner": "murmur2_random",
                "linger.ms": 20,
                "message.max.bytes": CLIENT_MESSAGE_LIMIT_BYTES,
                "message.timeout.ms": int(TIMEOUT_S * 1000),
                "topic.metadata.propagation.max.ms": 500,
            }
        )
        placed: dict[int, Placed] = {}
        errors: list[KafkaError] = []

        def delivered(number: int, error: KafkaError | None, message: Any) -> None:
            if error is not None:
                errors.append(error)
            else:
                offset = message.offset()
                placed[number] = Placed(message.partition(), -1 if offset is None else offset)

        for number, record in enumerate(records):
            producer.produce(
                topic,
                value=record.value,
                key=record.key,
                partition=-1 if partition is None else partition,
                timestamp=record.timestamp_ms or 0,
                headers=list(record.headers),
                on_delivery=partial(delivered, number),
            )
        producer.flush(TIMEOUT_S)
        if errors:
            raise client_error(errors[0])
        return [placed[number] for number in range(len(records))]

    @contextlib.contextmanager
    def _consumer(self, reset: str = "none", max_wait_ms: int = MAX_WAIT_MS) -> Iterator[Consumer]:
        consumer = Consumer(
            {
                **self._connection,
                "group.id": "never-joined",
                "enable.auto.commit": False,
                "auto.offset.reset": "error" if reset == "none" else reset,
                "fetch.wait.max.ms": max_wait_ms,
            }
        )
        try:
            yield consumer
        except KafkaException as error:
            raise client_error(error.args[0]) from error
        finally:
            consumer.close()

    def consume(
        self,
        topic: str,
        partition: int,
        offset: int | str,
        count: int,
        *,
        reset: str = "none",
        max_wait_ms: int = MAX_WAIT_MS,
    ) -> list[Message]:
        start = LOGICAL_OFFSETS[offset] if isinstance(offset, str) else offset
        with self._consumer(reset, max_wait_ms) as consumer:
            consumer.assign([TopicPartition(topic, partition, start)])
            return read(consumer, count)

    def consume_seeking(
        self, topic: str, partition: int, steps: Sequence[tuple[int, int]]
    ) -> list[list[Message]]:
        with self._consumer() as consumer:
            consumer.assign([TopicPartition(topic, partition, steps[0][0])])
            rounds = [read(consumer, steps[0][1])]
            for offset, count in steps[1:]:
                consumer.seek(TopicPartition(topic, partition, offset))
                rounds.append(read(consumer, count))
            return rounds

    def offsets(self, topic: str, partition: int) -> tuple[int, int]:
        with self._consumer() as consumer:
            low, high = consumer.get_watermark_offsets(TopicPartition(topic, partition), timeout=TIMEOUT_S)
            return low, high

    def offset_for_time(self, topic: str, partition: int, timestamp_ms: int) -> int | None:
        with self._consumer() as consumer:
            (found,) = consumer.offsets_for_times(
                [TopicPartition(topic, partition, timestamp_ms)], timeout=TIMEOUT_S
            )
            if found.error is not None:
                raise client_error(found.error)
            return found.offset if found.offset >= 0 else None

    def offset_of_max_timestamp(self, topic: str, partition: int) -> int:
        where = TopicPartition(topic, partition)
        answer = self._admin.list_offsets({where: OffsetSpec.max_timestamp()})
        return int(result_of(answer[where]).offset)

    def create_topic(
        self,
        topic: str,
        partitions: int = 1,
        configs: Mapping[str, str] | None = None,
        replication_factor: int = 1,
        validate_only: bool = False,
    ) -> None:
        new = NewTopic(topic, partitions, replication_factor, config=dict(configs or {}))
        result_of(self._admin.create_topics([new], validate_only=validate_only)[topic])

    def delete_topic(self, topic: str) -> None:
        result_of(self._admin.delete_topics([topic])[topic])

    def list_topics(self) -> set[str]:
        return set(self._admin.list_topics(timeout=TIMEOUT_S).topics)

    def partition_leaders(self, topic: str) -> dict[int, int]:
        described = result_of(self._admin.describe_topics(confluent_kafka.TopicCollection([topic]))[topic])
        return {partition.id: partition.leader.id for partition in described.partitions}

    def add_partitions(self, topic: str, total: int) -> None:
        result_of(self._admin.create_partitions([NewPartitions(topic, total)])[topic])

    def describe_configs(self, topic: str) -> dict[str, str | None]:
        resource = ConfigResource(ResourceType.TOPIC, topic)
        entries = result_of(self._admin.describe_configs([resource])[resource])
        return {name: entry.value for name, entry in entries.items()}

    def alter_configs(self, topic: str, configs: Mapping[str, str]) -> None:
        changes = [
            ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
            for name, value in configs.items()
        ]
        resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=changes)
        result_of(self._admin.incremental_alter_configs([resource])[resource])

    def delete_records(self, topic: str, partition: int, before_offset: int) -> None:
        where = TopicPartition(topic, partition, before_offset)
        result_of(self._admin.delete_records([where])[where])

    def node_ids(self) -> set[int]:
        return {node.id for node in result_of(self._admin.describe_cluster()).nodes}


def read(consumer: Consumer, count: int) -> list[Message]:
    messages: list[Message] = []
    deadline = time.monotonic() + TIMEOUT_S
    while len(messages) < count:
        if time.monotonic() > deadline:
            raise ClientError("TIMEOUT", f"{len(messages)} of {count} records came")
        received = consumer.poll(0.2)
        if received is None:
            continue
        error = received.error()
        if error is not None:
            raise client_error(error)
        partition, offset = place_of(received)
        messages.append(
            Message(
                partition=partition,
                offset=offset,
                timestamp_ms=received.timestamp()[1],
                key=received.key(),
                value=received.value(),
                headers=tuple(headers_of(received)),
            )
        )
    return messages
