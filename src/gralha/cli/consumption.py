"""Reading topics for the commands that consume: as a member of a group, or one partition without any."""

import os
import re
import sys
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from gralha.cli.connect import check_reachable, look_for_topic
from gralha.cli.program import CommandError
from gralha.cli.topic_filter import INTERNAL_TOPICS

if TYPE_CHECKING:
    from confluent_kafka import Consumer, Message, TopicPartition

_BATCH_SIZE = 500
# The longest time that Ctrl-C may have to wait.
_POLL_SECONDS = 0.1


class Selection(NamedTuple):
    """What to read: a topic, or all topics whose names match a pattern."""

    topic: str | None = None
    pattern: re.Pattern[str] | None = None


def new_group(prefix: str) -> str:
    """A name for a group that nobody named, as Kafka makes them up."""
    return f"{prefix}-{int.from_bytes(os.urandom(4)) % 100_000}"


def make_consumer(properties: dict[str, str], *, by_pattern: bool = False) -> "Consumer":
    """A consumer by Kafka's properties. A group that the properties do not name is never joined."""
    from confluent_kafka import Consumer

    from gralha.cli.librdkafka import create, quiet_settings, to_librdkafka

    check_reachable(properties)
    # Kafka's consumer has the broker create a topic that does not exist; librdkafka's does not by itself.
    settings: dict[str, Any] = {"allow.auto.create.topics": True, **quiet_settings()}
    settings |= to_librdkafka(properties)
    if not settings.get("group.id"):
        # librdkafka wants a name even when there is no group to join.
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
    """Read as a member of the consumer's group; False when the topic did not appear in time."""
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
    """Read one partition from an offset on, without a group; False when the topic did not appear in time."""
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
    """Batches of messages, as soon as there is one message; ends when none came for `timeout_ms`."""
    last_message = time.monotonic()
    while True:
        first = consumer.poll(_POLL_SECONDS if timeout_ms is None else min(_POLL_SECONDS, timeout_ms / 1000))
        if first is not None:
            yield [first, *consumer.consume(_BATCH_SIZE - 1, 0)]
            last_message = time.monotonic()
        elif timeout_ms is not None and (time.monotonic() - last_message) * 1000 >= timeout_ms:
            return


def store_offsets(consumer: "Consumer", messages: "list[Message]") -> None:
    """Let the group commit that these messages were dealt with."""
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
        # All of these partitions belong to another member by now: it reads them again.
        if error.args[0].code() != KafkaError._STATE:
            raise
