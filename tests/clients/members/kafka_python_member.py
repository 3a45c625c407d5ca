"""kafka-python as a member of a group."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kafka import ConsumerRebalanceListener, KafkaAdminClient, KafkaConsumer, TopicPartition
from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
from kafka.coordinator.assignors.range import RangePartitionAssignor
from kafka.errors import NoOffsetForPartitionError
from kafka.structs import OffsetAndMetadata

from tests.clients import access
from tests.clients.driver import MAX_WAIT_MS, ClientError
from tests.clients.drivers.kafka_python_driver import kafka_names
from tests.clients.members.member import (
    HEARTBEAT_INTERVAL_MS,
    POLL_MS,
    Consumer,
    Offsets,
    Options,
    Partition,
    Watch,
)

ASSIGNORS = {"range": RangePartitionAssignor, "cooperative-sticky": CooperativeStickyAssignor}


def names(partitions: Iterable[TopicPartition]) -> list[Partition]:
    return [(partition.topic, partition.partition) for partition in partitions]


class Listener(ConsumerRebalanceListener):
    def __init__(self, watch: Watch) -> None:
        self._watch = watch

    def on_partitions_assigned(self, assigned: Iterable[TopicPartition]) -> None:
        self._watch.happened("assigned", names(assigned))

    def on_partitions_revoked(self, revoked: Iterable[TopicPartition]) -> None:
        self._watch.happened("revoked", names(revoked))

    def on_partitions_lost(self, lost: Iterable[TopicPartition]) -> None:
        self._watch.happened("lost", names(lost))


class KafkaPythonConsumer(Consumer):
    def __init__(self, bootstrap: str, options: Options, watch: Watch) -> None:
        self._consumer = KafkaConsumer(
            **access.python(bootstrap),
            group_id=options.group,
            group_instance_id=options.instance_id,
            session_timeout_ms=options.session_timeout_ms,
            heartbeat_interval_ms=HEARTBEAT_INTERVAL_MS,
            auto_offset_reset=options.reset,
            enable_auto_commit=options.auto_commit,
            fetch_max_wait_ms=MAX_WAIT_MS,
            partition_assignment_strategy=[ASSIGNORS[options.assignor]],
        )
        subscription: dict[str, Any] = (
            {"pattern": f"^{options.pattern}"} if options.topics is None else {"topics": options.topics}
        )
        self._consumer.subscribe(**subscription, listener=Listener(watch))
        for topic in options.topics or []:
            # A leader that does not know a topic yet assigns none of its partitions, and joins again later.
            self._consumer.partitions_for_topic(topic)

    def poll(self) -> list[tuple[str, int, int, bytes]]:
        try:
            with kafka_names():
                polled = self._consumer.poll(POLL_MS)
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
        with kafka_names():
            self._consumer.commit(with_metadata(offsets))

    def seek(self, partition: Partition, offset: int) -> None:
        self._consumer.seek(TopicPartition(*partition), offset)

    def pause(self, partition: Partition) -> None:
        self._consumer.pause(TopicPartition(*partition))

    def resume(self, partition: Partition) -> None:
        self._consumer.resume(TopicPartition(*partition))

    def group_metadata(self) -> Any:
        return self._consumer.group_metadata()

    def close(self) -> None:
        self._consumer.close()


def with_metadata(offsets: Offsets) -> dict[TopicPartition, OffsetAndMetadata]:
    return {
        TopicPartition(*partition): OffsetAndMetadata(offset, "", -1) for partition, offset in offsets.items()
    }


def join(bootstrap: str, options: Options, watch: Watch) -> Consumer:
    return KafkaPythonConsumer(bootstrap, options, watch)


def commit_outside(bootstrap: str, group: str, offsets: Offsets) -> None:
    admin = KafkaAdminClient(**access.python(bootstrap))
    with kafka_names():
        answer = admin.alter_group_offsets(group, with_metadata(offsets))
    admin.close()
    for error in answer.values():
        if error.errno != 0:
            raise ClientError.from_code(error.errno)


def committed(bootstrap: str, group: str, partitions: list[Partition]) -> list[int | None]:
    admin = KafkaAdminClient(**access.python(bootstrap))
    with kafka_names():
        found = admin.list_group_offsets({group: [TopicPartition(*partition) for partition in partitions]})
    admin.close()
    offsets = found[group]
    answers = [offsets.get(TopicPartition(*partition)) for partition in partitions]
    return [None if answer is None or answer.offset < 0 else answer.offset for answer in answers]
