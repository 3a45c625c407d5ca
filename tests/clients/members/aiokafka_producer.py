"""aiokafka: transactions, and reading with an isolation level.

Its transactions know a group by its name only.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Coroutine, Iterator
from typing import Any, TypeVar

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.errors import KafkaError

from tests.clients import access
from tests.clients.driver import TIMEOUT_S, ClientError
from tests.clients.members.aiokafka_member import by_partition
from tests.clients.members.member import Consumer, Offsets, Partition
from tests.clients.members.producer import MAX_WAIT_MS, Isolation, Producer, Reading, Records

T = TypeVar("T")


@contextlib.contextmanager
def own_names() -> Iterator[None]:
    try:
        yield
    except (KafkaError, TimeoutError) as error:
        raise ClientError(type(error).__name__, str(error)) from error


class AiokafkaProducer(Producer):
    """Its event loop runs only during calls, which are all that a test needs."""

    def __init__(self, bootstrap: str, transactional_id: str | None, timeout_ms: int) -> None:
        self._runner = asyncio.Runner()
        self._producer = self._run(self._start(bootstrap, transactional_id, timeout_ms))

    async def _start(self, bootstrap: str, transactional_id: str | None, timeout_ms: int) -> AIOKafkaProducer:
        producer = AIOKafkaProducer(
            **access.python(bootstrap),
            transactional_id=transactional_id,
            transaction_timeout_ms=timeout_ms,
            enable_idempotence=True,
        )
        await producer.start()
        return producer

    def _run(self, call: Coroutine[Any, Any, T]) -> T:
        with own_names():
            return self._runner.run(asyncio.wait_for(call, TIMEOUT_S))

    def begin(self) -> None:
        self._run(self._producer.begin_transaction())

    def send(self, records: Records) -> list[int]:
        async def send() -> list[int]:
            sent = [
                await self._producer.send(topic, value.encode(), partition=partition)
                for (topic, partition), value in records
            ]
            return [(await future).offset for future in sent]

        return self._run(send())

    def send_offsets(self, offsets: Offsets, group: str, metadata: Any) -> None:
        self._run(self._producer.send_offsets_to_transaction(by_partition(offsets), group))

    def commit(self) -> None:
        self._run(self._producer.commit_transaction())

    def abort(self) -> None:
        self._run(self._producer.abort_transaction())

    def close(self) -> None:
        self._run(self._producer.stop())
        self._runner.close()


def open_producer(bootstrap: str, transactional_id: str | None, timeout_ms: int) -> Producer:
    return AiokafkaProducer(bootstrap, transactional_id, timeout_ms)


def group_metadata(consumer: Consumer) -> Any:
    return None


@contextlib.asynccontextmanager
async def opened(bootstrap: str, level: str) -> AsyncIterator[AIOKafkaConsumer]:
    consumer = AIOKafkaConsumer(
        **access.python(bootstrap),
        isolation_level=level,
        auto_offset_reset="none",
        enable_auto_commit=False,
        fetch_max_wait_ms=MAX_WAIT_MS,
    )
    async with consumer:
        yield consumer


def read(bootstrap: str, partition: Partition, isolation: Isolation) -> Reading:
    where = TopicPartition(*partition)
    deadline = time.monotonic() + TIMEOUT_S

    async def read() -> Reading:
        records: list[tuple[int, str]] = []
        async with opened(bootstrap, isolation.level) as consumer:
            end = (await consumer.end_offsets([where]))[where]
            consumer.assign([where])
            consumer.seek(where, isolation.start)
            while (await consumer.position(where)) < end and len(records) != isolation.limit:
                if time.monotonic() > deadline:
                    raise ClientError("TIMEOUT", f"{len(records)} records came")
                polled = await consumer.getmany(where, timeout_ms=MAX_WAIT_MS, max_records=isolation.limit)
                records += [(record.offset, record.value.decode()) for record in polled.get(where, [])]
            position = await consumer.position(where)
            last = (
                consumer.last_stable_offset(where)
                if isolation.level == "read_committed"
                else consumer.highwater(where)
            )
        return Reading(records, position, None if last is None else last - position)

    with own_names():
        return asyncio.run(read())


def end_offset(bootstrap: str, partition: Partition, level: str) -> int:
    where = TopicPartition(*partition)

    async def ask() -> int:
        async with opened(bootstrap, level) as consumer:
            return int((await consumer.end_offsets([where]))[where])

    with own_names():
        return asyncio.run(ask())
