"""Reads topics for the commands that consume: as a member of a group, or one partition without a group."""

import os
import re
import sys
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from gralha.cli.connect import check_coordinators, check_reachable, look_for_topic
from gralha.cli.program import CommandError
from gralha.cli.topic_filter import INTERNAL_TOPICS

if TYPE_CHECKING:
    from confluent_kafka import Consumer, Message, TopicPartition

_BATCH_SIZE = 500
# Ctrl-C waits at most this long.
_POLL_SECONDS = 0.1


class Selection(NamedTuple):
    """The topics to read: one topic, or all topics whose names match a pattern."""

    topic: str | None = None
    pattern: re.Pattern[str] | None = None


def new_group(prefix: str) -> str:
    """A name for a group without a name, as Kafka makes it."""
    return f"{prefix}-{int.from_bytes(os.urandom(4)) % 100_000}"


def make_consumer(properties: dict[str, str], *, by_pattern: bool = False) -> "Consumer":
    """A consumer with Kafka's properties. Fails at once if no broker listens, or groups are not possible."""
    check_reachable(properties)
    check_coordinators(properties)
    return new_consumer(properties, by_pattern=by_pattern)


def new_consumer(properties: dict[str, str], *, by_pattern: bool = False) -> "Consumer":
    """A consumer that waits for brokers that do not run yet. Without group.id it joins no group."""
    from confluent_kafka import Consumer

    from gralha.cli.librdkafka import create, quiet_settings, to_librdkafka

    # Kafka's consumer makes the broker create a topic that does not exist. librdkafka's needs this setting.
    settings: dict[str, Any] = {"allow.auto.create.topics": True, **quiet_settings()}
    settings |= to_librdkafka(properties)
    if not settings.get("group.id"):
        # librdkafka demands a group id even if no group is joined.
        settings |= {"group.id": "none", "enable.auto.commit": False, "enable.auto.offset.store": False}
    if by_pattern:
        settings.setdefault("topic.blacklist", ",".join(f"^{topic}$" for topic in sorted(INTERNAL_TOPICS)))
    return create(Consumer, settings)


def subscribe(
    consumer: "Consumer",
    selection: Selection,
    timeout_ms: int | None,
    *,
    on_assign: "Callable[[list[TopicPartition]], None] | None" = None,
    on_revoke: "Callable[[list[TopicPartition]], None] | None" = None,
) -> bool:
    """Subscribes as a member of the consumer's group. Returns False if the topic did not appear in time."""
    if selection.pattern is not None:
        topic = f"^({selection.pattern.pattern})$"
    elif selection.topic is not None:
        topic = selection.topic
        if look_for_topic(consumer, topic, timeout_ms, _tell) is None:
            return False
    else:
        raise ValueError("a selection names a topic or a pattern")
    callbacks: dict[str, Any] = {}
    if on_assign is not None:
        callbacks["on_assign"] = lambda _consumer, partitions: on_assign(partitions)
    if on_revoke is not None:
        callbacks["on_revoke"] = lambda _consumer, partitions: on_revoke(partitions)
    consumer.subscribe([topic], **callbacks)
    return True


def assign(consumer: "Consumer", topic: str, partition: int, offset: int, timeout_ms: int | None) -> bool:
    """Reads one partition without a group. Returns False if the topic did not appear in time."""
    from confluent_kafka import TopicPartition

    metadata = look_for_topic(consumer, topic, timeout_ms, _tell)
    if metadata is None:
        return False
    if partition not in metadata.partitions:
        raise CommandError(
            f"Topic '{topic}' has no partition {partition}: it has {len(metadata.partitions)}, "
            "numbered from 0"
        )
    consumer.assign([TopicPartition(topic, partition, offset)])
    return True


def _tell(reason: str) -> None:
    print(reason, file=sys.stderr)


def batches(consumer: "Consumer", *, timeout_ms: int | None) -> "Iterator[list[Message]]":
    """Yields batches of at least one message. Ends if no message comes for `timeout_ms`."""
    from gralha.cli.librdkafka import served

    wait_s = _POLL_SECONDS if timeout_ms is None else min(_POLL_SECONDS, timeout_ms / 1000)
    last_message = time.monotonic()
    while True:
        first = served(consumer.poll, wait_s)
        if first is not None:
            yield [first, *served(consumer.consume, _BATCH_SIZE - 1, 0)]
            last_message = time.monotonic()
        elif timeout_ms is not None and (time.monotonic() - last_message) * 1000 >= timeout_ms:
            return


def store_offsets(consumer: "Consumer", messages: "list[Message]") -> None:
    """Marks these messages as consumed, so that the group commits their offsets."""
    from confluent_kafka import KafkaError, KafkaException, TopicPartition

    offsets: dict[tuple[str, int], TopicPartition] = {}
    for message in messages:
        topic, partition, offset = message.topic() or "", message.partition() or 0, message.offset() or 0
        epoch = message.leader_epoch()
        offsets[topic, partition] = TopicPartition(
            topic, partition, offset + 1, leader_epoch=-1 if epoch is None else epoch
        )
    try:
        consumer.store_offsets(offsets=list(offsets.values()))
    except KafkaException as error:
        # Another member has these partitions now, and reads the messages again.
        if error.args[0].code() != KafkaError._STATE:
            raise
