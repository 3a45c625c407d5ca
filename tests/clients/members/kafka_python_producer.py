"""kafka-python: transactions, and reading with an isolation level."""

from __future__ import annotations

import contextlib
import functools
import time
from collections.abc import Iterator
from typing import Any

from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.errors import KafkaError

from tests.clients import access
from tests.clients.driver import TIMEOUT_S, ClientError
from tests.clients.members.kafka_python_member import KafkaPythonConsumer, with_metadata
from tests.clients.members.member import Consumer, Offsets, Partition
from tests.clients.members.producer import MAX_WAIT_MS, Isolation, Producer, Reading, Records


@contextlib.contextmanager
def own_names() -> Iterator[None]:
    try:
        yield
    except KafkaError as error:
        raise ClientError(type(error).__name__, str(error)) from error


class KafkaPythonProducer(Producer):
    def __init__(self, bootstrap: str, transactional_id: str | None, timeout_ms: int) -> None:
        self._producer = KafkaProducer(
            **access.python(bootstrap),
            transactional_id=transactional_id,
            transaction_timeout_ms=timeout_ms,
            enable_idempotence=True,
            max_block_ms=int(TIMEOUT_S * 1000),
        )
        if transactional_id is not None:
            with own_names():
                self._producer.init_transactions()

    def begin(self) -> None:
        with own_names():
            self._producer.begin_transaction()

    def send(self, records: Records) -> list[int]:
        with own_names():
            sent = [
                self._producer.send(topic, value.encode(), partition=partition)
                for (topic, partition), value in records
            ]
            return [future.get(TIMEOUT_S).offset for future in sent]

    def send_offsets(self, offsets: Offsets, group: str, metadata: Any) -> None:
        with own_names():
            self._producer.send_offsets_to_transaction(with_metadata(offsets), metadata)

    def commit(self) -> None:
        with own_names():
            self._producer.commit_transaction()

    def abort(self) -> None:
        with own_names():
            self._producer.abort_transaction()

    def close(self) -> None:
        self._producer.close(timeout=0)


def open_producer(bootstrap: str, transactional_id: str | None, timeout_ms: int) -> Producer:
    return KafkaPythonProducer(bootstrap, transactional_id, timeout_ms)


def group_metadata(consumer: Consumer) -> Any:
    assert isinstance(consumer, KafkaPythonConsumer)
    return consumer.group_metadata()


@functools.cache
def reader(bootstrap: str, level: str) -> Any:
    """A consumer for all readings, because it takes a tenth of a second to open one."""
    return KafkaConsumer(
        **access.python(bootstrap),
        isolation_level=level,
        auto_offset_reset="none",
        enable_auto_commit=False,
        fetch_max_wait_ms=MAX_WAIT_MS,
    )


def read(bootstrap: str, partition: Partition, isolation: Isolation) -> Reading:
    consumer = reader(bootstrap, isolation.level)
    where = TopicPartition(*partition)
    records: list[tuple[int, str]] = []
    deadline = time.monotonic() + TIMEOUT_S
    with own_names():
        end = consumer.end_offsets([where])[where]
        consumer.assign([where])
        consumer.seek(where, isolation.start)
        while consumer.position(where) < end:
            if time.monotonic() > deadline:
                raise ClientError("TIMEOUT", f"{len(records)} records came")
            for record in consumer.poll(MAX_WAIT_MS, max_records=isolation.limit).get(where, []):
                records.append((record.offset, record.value.decode()))
            if len(records) == isolation.limit:
                break
        return Reading(records, consumer.position(where), None)


def end_offset(bootstrap: str, partition: Partition, level: str) -> int:
    where = TopicPartition(*partition)
    with own_names():
        return int(reader(bootstrap, level).end_offsets([where])[where])
