"""kafka-python, the pure Python client."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import ConfigResource, ConfigResourceType, OffsetSpec
from kafka.errors import BrokerResponseError, KafkaError, KafkaTimeoutError, for_code

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
    security_for_python,
)


@contextlib.contextmanager
def kafka_names() -> Iterator[None]:
    """Translate kafka-python's errors."""
    try:
        yield
    except BrokerResponseError as error:
        raise ClientError.from_code(error.errno, str(error)) from error
    except KafkaTimeoutError as error:
        raise ClientError("TIMEOUT", str(error)) from error
    except KafkaError as error:
        raise ClientError(type(error).__name__, str(error)) from error


class KafkaPythonDriver(Driver):
    NAME = "kafka-python"
    CANNOT = {"null_headers": "its producer takes only bytes as the value of a header"}

    def __init__(self, bootstrap: str, tls: Tls | None = None, login: Login | None = None) -> None:
        super().__init__(bootstrap, tls, login)
        self._connection: dict[str, Any] = {"bootstrap_servers": bootstrap, **security_for_python(tls, login)}
        if tls is not None:
            self._connection |= {"ssl_cafile": tls.authority, "ssl_certfile": tls.key, "ssl_keyfile": tls.key}
        self._admin = KafkaAdminClient(**self._connection)

    def close(self) -> None:
        self._admin.close()

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
        producer = KafkaProducer(
            **self._connection,
            acks=acks if acks == "all" else int(acks),
            compression_type=None if compression == "none" else compression,
            enable_idempotence=idempotent,
            linger_ms=20,
            max_request_size=CLIENT_MESSAGE_LIMIT_BYTES,
            max_block_ms=2000,
        )
        try:
            with kafka_names():
                sent = [
                    producer.send(
                        topic,
                        value=record.value,
                        key=record.key,
                        headers=list(record.headers),
                        partition=partition,
                        timestamp_ms=record.timestamp_ms,
                    )
                    for record in records
                ]
                places = [future.get(TIMEOUT_S) for future in sent]
        finally:
            producer.close(TIMEOUT_S)
        return [Placed(place.partition, place.offset) for place in places]

    @contextlib.contextmanager
    def _consumer(self, reset: str = "none", max_wait_ms: int = MAX_WAIT_MS) -> Iterator[KafkaConsumer]:
        consumer = KafkaConsumer(
            **self._connection,
            group_id=None,
            auto_offset_reset=reset,
            fetch_max_wait_ms=max_wait_ms,
        )
        try:
            with kafka_names():
                yield consumer
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
        where = TopicPartition(topic, partition)
        with self._consumer(reset, max_wait_ms) as consumer:
            consumer.assign([where])
            if offset == "earliest":
                consumer.seek_to_beginning(where)
            elif offset == "latest":
                consumer.seek_to_end(where)
            else:
                consumer.seek(where, offset)
            return read(consumer, count)

    def consume_seeking(
        self, topic: str, partition: int, steps: Sequence[tuple[int, int]]
    ) -> list[list[Message]]:
        where = TopicPartition(topic, partition)
        rounds = []
        with self._consumer() as consumer:
            consumer.assign([where])
            for offset, count in steps:
                consumer.seek(where, offset)
                rounds.append(read(consumer, count))
        return rounds

    def offsets(self, topic: str, partition: int) -> tuple[int, int]:
        where = TopicPartition(topic, partition)
        with self._consumer() as consumer:
            return consumer.beginning_offsets([where])[where], consumer.end_offsets([where])[where]

    def offset_for_time(self, topic: str, partition: int, timestamp_ms: int) -> int | None:
        where = TopicPartition(topic, partition)
        with self._consumer() as consumer:
            found = consumer.offsets_for_times({where: timestamp_ms})[where]
            return None if found is None else int(found.offset)

    def offset_of_max_timestamp(self, topic: str, partition: int) -> int:
        where = TopicPartition(topic, partition)
        with kafka_names():
            answer = self._admin.list_partition_offsets({where: OffsetSpec.MAX_TIMESTAMP})
        return int(answer[where].offset)

    def create_topic(
        self,
        topic: str,
        partitions: int = 1,
        configs: Mapping[str, str] | None = None,
        replication_factor: int = 1,
        validate_only: bool = False,
    ) -> None:
        new: dict[str, Any] = {"num_partitions": partitions, "replication_factor": replication_factor}
        if configs:
            new["configs"] = dict(configs)
        with kafka_names():
            self._admin.create_topics({topic: new}, validate_only=validate_only)

    def delete_topic(self, topic: str) -> None:
        with kafka_names():
            self._admin.delete_topics([topic])

    def list_topics(self) -> set[str]:
        return set(self._admin.list_topics())

    def partition_leaders(self, topic: str) -> dict[int, int]:
        with kafka_names():
            (described,) = self._admin.describe_topics([topic])
            if described["error_code"] != 0:
                raise for_code(described["error_code"])()
        return {partition["partition_index"]: partition["leader_id"] for partition in described["partitions"]}

    def add_partitions(self, topic: str, total: int) -> None:
        with kafka_names():
            self._admin.create_partitions({topic: total})

    def describe_configs(self, topic: str) -> dict[str, str | None]:
        resource = ConfigResource(ConfigResourceType.TOPIC, topic)
        with kafka_names():
            answer = self._admin.describe_configs([resource], config_filter="all")
        return {name: entry["value"] for name, entry in answer["topic"][topic].items()}

    def alter_configs(self, topic: str, configs: Mapping[str, str]) -> None:
        with kafka_names():
            answer = self._admin.alter_configs(
                [ConfigResource(ConfigResourceType.TOPIC, topic, dict(configs))]
            )
        result = answer["topic"][topic]
        if result != "OK":
            raise ClientError(result)

    def delete_records(self, topic: str, partition: int, before_offset: int) -> None:
        with kafka_names():
            self._admin.delete_records({TopicPartition(topic, partition): before_offset})

    def node_ids(self) -> set[int]:
        return {broker["broker_id"] for broker in self._admin.describe_cluster()["brokers"]}


def read(consumer: KafkaConsumer, count: int) -> list[Message]:
    messages: list[Message] = []
    deadline = time.monotonic() + TIMEOUT_S
    while len(messages) < count:
        if time.monotonic() > deadline:
            raise ClientError("TIMEOUT", f"{len(messages)} of {count} records came")
        for records in consumer.poll(200, max_records=count - len(messages)).values():
            messages += [
                Message(
                    partition=record.partition,
                    offset=record.offset,
                    timestamp_ms=record.timestamp,
                    key=record.key,
                    value=record.value,
                    headers=tuple(record.headers),
                )
                for record in records
            ]
    return messages
