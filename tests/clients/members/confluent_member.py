"""confluent-kafka (librdkafka) as a member of a group, by the classic and by the consumer protocol."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from typing import Any

import confluent_kafka
from confluent_kafka import ConsumerGroupTopicPartitions, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient

from tests.clients import access
from tests.clients.driver import ERROR_NAMES, MAX_WAIT_MS, TIMEOUT_S, ClientError
from tests.clients.drivers.confluent_driver import client_error
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

# The consumer protocol has its own assignors, at the broker. All of them are cooperative.
REMOTE_ASSIGNORS = {"range": "range", "cooperative-sticky": "uniform"}


@contextlib.contextmanager
def kafka_names() -> Iterator[None]:
    try:
        yield
    except KafkaException as error:
        raise named(error.args[0]) from error


def named(error: KafkaError) -> ClientError:
    if error.code() in (KafkaError._AUTO_OFFSET_RESET, KafkaError._NO_OFFSET):
        return ClientError("NO_OFFSET", error.str())
    if error.code() == KafkaError._FATAL:
        # It hides the error code, but its message tells it.
        for code in ERROR_NAMES:
            if KafkaError(code).str() in error.str():
                return ClientError.from_code(code, error.str())
    return client_error(error)


def settings(bootstrap: str, options: Options) -> dict[str, Any]:
    common = {
        **access.librdkafka(bootstrap),
        "group.id": options.group,
        "group.protocol": options.protocol,
        "enable.auto.commit": options.auto_commit,
        "auto.offset.reset": "error" if options.reset == "none" else options.reset,
        "fetch.wait.max.ms": MAX_WAIT_MS,
        "topic.metadata.refresh.interval.ms": METADATA_MAX_AGE_MS,
        "log_level": 0,
    }
    if options.instance_id is not None:
        common["group.instance.id"] = options.instance_id
    if options.protocol == "consumer":
        return {**common, "group.remote.assignor": REMOTE_ASSIGNORS[options.assignor]}
    return {
        **common,
        "session.timeout.ms": options.session_timeout_ms,
        "heartbeat.interval.ms": HEARTBEAT_INTERVAL_MS,
        "partition.assignment.strategy": options.assignor,
    }


def names(partitions: Iterable[TopicPartition]) -> list[Partition]:
    return [(partition.topic, partition.partition) for partition in partitions]


class ConfluentConsumer(Consumer):
    def __init__(self, bootstrap: str, options: Options, watch: Watch) -> None:
        self._consumer = confluent_kafka.Consumer(settings(bootstrap, options))
        self._consumer.subscribe(
            options.topics or [f"^{options.pattern}"],
            on_assign=lambda _, partitions: watch.happened("assigned", names(partitions)),
            on_revoke=lambda _, partitions: watch.happened("revoked", names(partitions)),
            on_lost=lambda _, partitions: watch.happened("lost", names(partitions)),
        )

    def poll(self) -> list[tuple[str, int, int, bytes]]:
        records: list[Any] = []
        message = self._consumer.poll(POLL_MS / 1000)
        while message is not None:
            error = message.error()
            if error is not None:
                raise named(error)
            records.append((message.topic(), message.partition(), message.offset(), message.value()))
            message = self._consumer.poll(0)
        return records

    def assignment(self) -> list[Partition]:
        return names(self._consumer.assignment())

    def commit(self, offsets: Offsets) -> None:
        with kafka_names():
            self._consumer.commit(offsets=topic_partitions(offsets), asynchronous=False)

    def seek(self, partition: Partition, offset: int) -> None:
        with kafka_names():
            self._consumer.seek(TopicPartition(*partition, offset))

    def pause(self, partition: Partition) -> None:
        self._consumer.pause([TopicPartition(*partition)])

    def resume(self, partition: Partition) -> None:
        self._consumer.resume([TopicPartition(*partition)])

    def group_metadata(self) -> Any:
        return self._consumer.consumer_group_metadata()

    def close(self) -> None:
        self._consumer.close()


def topic_partitions(offsets: Offsets) -> list[TopicPartition]:
    return [TopicPartition(*partition, offset) for partition, offset in offsets.items()]


def join(bootstrap: str, options: Options, watch: Watch) -> Consumer:
    return ConfluentConsumer(bootstrap, options, watch)


def commit_outside(bootstrap: str, group: str, offsets: Offsets) -> None:
    wanted = ConsumerGroupTopicPartitions(group, topic_partitions(offsets))
    with kafka_names():
        admin = AdminClient(access.librdkafka(bootstrap))
        done = admin.alter_consumer_group_offsets([wanted])[group].result(TIMEOUT_S)
        for partition in done.topic_partitions:
            if partition.error is not None:
                raise client_error(partition.error)


def committed(bootstrap: str, group: str, partitions: list[Partition]) -> list[int | None]:
    wanted = ConsumerGroupTopicPartitions(group, [TopicPartition(*partition) for partition in partitions])
    with kafka_names():
        admin = AdminClient(access.librdkafka(bootstrap))
        found = admin.list_consumer_group_offsets([wanted])[group].result(TIMEOUT_S)
    offsets = {(each.topic, each.partition): each.offset for each in found.topic_partitions}
    return [None if offsets[partition] < 0 else offsets[partition] for partition in partitions]
