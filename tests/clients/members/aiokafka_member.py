"""aiokafka as a member of a group. Its event loop runs while the member polls, which it always does."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from typing import Any, TypeVar

from aiokafka import AIOKafkaConsumer, ConsumerRebalanceListener, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.coordinator.assignors.range import RangePartitionAssignor
from aiokafka.errors import NoOffsetForPartitionError

from tests.clients import access
from tests.clients.driver import MAX_WAIT_MS, ClientError
from tests.clients.drivers.aiokafka_driver import kafka_names
from tests.clients.members.member import (
    HEARTBEAT_INTERVAL_MS,
    METADATA_MAX_AGE_MS,
    POLL_MS,
    Consumer,
    Offsets,
    Options,
    Partition,
    Watch,
)

T = TypeVar("T")


def names(partitions: Iterable[TopicPartition]) -> list[Partition]:
    return [(partition.topic, partition.partition) for partition in partitions]


async def in_loop(call: Callable[[], None]) -> None:
    """Some calls wait for nothing, but need a running event loop."""
    call()


class Listener(ConsumerRebalanceListener):
    def __init__(self, watch: Watch) -> None:
        self._watch = watch

    def on_partitions_assigned(self, assigned: Iterable[TopicPartition]) -> None:
        self._watch.happened("assigned", names(assigned))

    def on_partitions_revoked(self, revoked: Iterable[TopicPartition]) -> None:
        self._watch.happened("revoked", names(revoked))


class AiokafkaConsumer(Consumer):
    def __init__(self, bootstrap: str, options: Options, watch: Watch) -> None:
        self._runner = asyncio.Runner()
        self._consumer = self._run(self._start(bootstrap, options, watch))

    async def _start(self, bootstrap: str, options: Options, watch: Watch) -> AIOKafkaConsumer:
        consumer = AIOKafkaConsumer(
            **access.python(bootstrap),
            group_id=options.group,
            group_instance_id=options.instance_id,
            session_timeout_ms=options.session_timeout_ms,
            heartbeat_interval_ms=HEARTBEAT_INTERVAL_MS,
            auto_offset_reset=options.reset,
            enable_auto_commit=options.auto_commit,
            fetch_max_wait_ms=MAX_WAIT_MS,
            metadata_max_age_ms=METADATA_MAX_AGE_MS,
            partition_assignment_strategy=[RangePartitionAssignor],
        )
        await consumer.start()
        subscription: dict[str, Any] = (
            {"pattern": f"^{options.pattern}"} if options.topics is None else {"topics": options.topics}
        )
        consumer.subscribe(**subscription, listener=Listener(watch))
        return consumer

    def _run(self, call: Coroutine[Any, Any, T]) -> T:
        with kafka_names():
            return self._runner.run(call)

    def poll(self) -> list[tuple[str, int, int, bytes]]:
        try:
            polled = self._run(self._consumer.getmany(timeout_ms=POLL_MS))
        except ClientError as error:
            if isinstance(error.__cause__, NoOffsetForPartitionError):
                raise ClientError("NO_OFFSET", str(error)) from error
            raise
        return [
            (record.topic, record.partition, record.offset, record.value)
            for records in polled.values()
            for record in records
        ]

    def assignment(self) -> list[Partition]:
        return names(self._consumer.assignment())

    def commit(self, offsets: Offsets) -> None:
        self._run(self._consumer.commit(by_partition(offsets)))

    def seek(self, partition: Partition, offset: int) -> None:
        self._run(in_loop(lambda: self._consumer.seek(TopicPartition(*partition), offset)))

    def pause(self, partition: Partition) -> None:
        self._run(in_loop(lambda: self._consumer.pause(TopicPartition(*partition))))

    def resume(self, partition: Partition) -> None:
        self._run(in_loop(lambda: self._consumer.resume(TopicPartition(*partition))))

    def close(self) -> None:
        self._run(self._consumer.stop())
        self._runner.close()


def by_partition(offsets: Offsets) -> dict[TopicPartition, int]:
    return {TopicPartition(*partition): offset for partition, offset in offsets.items()}


def join(bootstrap: str, options: Options, watch: Watch) -> Consumer:
    return AiokafkaConsumer(bootstrap, options, watch)


def commit_outside(bootstrap: str, group: str, offsets: Offsets) -> None:
    """Its admin client cannot do it, but a consumer without a group can."""

    async def commit() -> None:
        consumer = AIOKafkaConsumer(**access.python(bootstrap), group_id=group, enable_auto_commit=False)
        async with consumer:
            consumer.assign(list(by_partition(offsets)))
            await consumer.commit(by_partition(offsets))

    with kafka_names():
        asyncio.run(commit())


def committed(bootstrap: str, group: str, partitions: list[Partition]) -> list[int | None]:
    wanted = [TopicPartition(*partition) for partition in partitions]

    async def ask() -> list[int | None]:
        admin = AIOKafkaAdminClient(**access.python(bootstrap))
        await admin.start()
        try:
            found = await admin.list_consumer_group_offsets(group, partitions=wanted)
        finally:
            await admin.close()
        return [None if found[partition].offset < 0 else found[partition].offset for partition in wanted]

    with kafka_names():
        return asyncio.run(ask())
