"""Reading topics for the commands that consume: in a group, or on their own.

Without a group every partition is assigned by hand. That needs no coordinator, commits nothing, and starts
faster than joining a group that nobody will see again. Topics and partitions that appear later are found by
asking for the metadata now and then.
"""

import re
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from gralha.cli.connect import check_groups_served, check_reachable, look_for_topic, topics_of
from gralha.cli.program import CommandError
from gralha.cli.topic_filter import INTERNAL_TOPICS

if TYPE_CHECKING:
    from confluent_kafka import Consumer, Message, TopicPartition
    from confluent_kafka.admin._metadata import TopicMetadata

_LOOK_AGAIN_MS = 5_000
_BATCH_SIZE = 500
_OFFSETS_TIMEOUT_SECONDS = 10
# The longest time that Ctrl-C may have to wait.
_POLL_SECONDS = 0.1


class Selection:
    """What to read: one topic, one partition of it, or all topics whose names match a pattern."""

    def __init__(
        self,
        *,
        topic: str | None = None,
        pattern: re.Pattern[str] | None = None,
        partition: int | None = None,
        offset: int | None = None,
    ) -> None:
        self.topic = topic
        self.pattern = pattern
        self.partition = partition
        self.offset = offset


def make_consumer(properties: dict[str, str]) -> "Consumer":
    """A consumer by Kafka's properties. A group that the properties do not name is never joined."""
    from confluent_kafka import Consumer

    from gralha.cli.librdkafka import create, quiet_settings, to_librdkafka

    check_reachable(properties)
    if properties.get("group.id"):
        check_groups_served(properties)
    # Kafka's consumer has the broker create a topic that does not exist; librdkafka's does not by itself.
    settings: dict[str, Any] = {"allow.auto.create.topics": True, **quiet_settings()}
    settings |= to_librdkafka(properties)
    if not settings.get("group.id"):
        # librdkafka wants a name even when there is no group to join.
        settings |= {"group.id": "none", "enable.auto.commit": False, "enable.auto.offset.store": False}
    return create(Consumer, settings)


def subscribe(
    consumer: "Consumer",
    selection: Selection,
    timeout_ms: int | None,
    on_assign: Callable[[], None] | None = None,
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

    def assigned(_consumer: "Consumer", _partitions: "list[TopicPartition]") -> None:
        if on_assign is not None:
            on_assign()

    consumer.subscribe([topic], on_assign=assigned)
    return True


def _tell(reason: str) -> None:
    print(reason, file=sys.stderr)


class Assignment:
    """The partitions of a selection, assigned by hand, from the beginning or from the end of each."""

    def __init__(
        self,
        consumer: "Consumer",
        selection: Selection,
        *,
        from_beginning: bool,
        look_again_ms: int = _LOOK_AGAIN_MS,
    ) -> None:
        self._consumer = consumer
        self._selection = selection
        self._from_beginning = from_beginning
        self._look_again_seconds = look_again_ms / 1000
        self._assigned: set[tuple[str, int]] = set()
        self._next_look = 0.0

    def start(self, timeout_ms: int | None) -> bool:
        """Assign what is there now, or when the topic appears; False when it did not appear in time."""
        self._next_look = time.monotonic() + self._look_again_seconds
        selection = self._selection
        if selection.topic is None:
            self._add(self._matching(topics_of(self._consumer, None)))
            return True
        metadata = look_for_topic(self._consumer, selection.topic, timeout_ms, _tell)
        if metadata is None:
            return False
        partitions = metadata.partitions
        if selection.partition is None:
            self._add((selection.topic, partition) for partition in partitions)
        elif selection.partition in partitions:
            self._add([(selection.topic, selection.partition)])
        else:
            raise CommandError(
                f"Topic '{selection.topic}' has no partition {selection.partition}: "
                f"it has {len(partitions)}, numbered from 0"
            )
        return True

    def look_again(self) -> None:
        """Assign partitions that appeared since the last look, if that is some time ago."""
        if self._selection.partition is not None or time.monotonic() < self._next_look:
            return
        from confluent_kafka import KafkaException

        self._next_look = time.monotonic() + self._look_again_seconds
        try:
            metadata = self._consumer.list_topics(self._selection.topic, timeout=10)
        except KafkaException:
            # No broker answers at the moment. The next look may find one.
            return
        self._add(self._matching(metadata.topics))

    def _matching(self, topics: "Mapping[str, TopicMetadata]") -> Iterator[tuple[str, int]]:
        for name, topic in topics.items():
            if self._matches(name):
                for partition in topic.partitions:
                    yield name, partition

    def _matches(self, name: str) -> bool:
        if self._selection.pattern is None:
            return name == self._selection.topic
        return name not in INTERNAL_TOPICS and self._selection.pattern.fullmatch(name) is not None

    def _add(self, partitions: "Iterator[tuple[str, int]] | list[tuple[str, int]]") -> None:
        from confluent_kafka import OFFSET_BEGINNING, OFFSET_END, TopicPartition

        new = sorted(set(partitions) - self._assigned)
        self._assigned.update(new)
        offset = self._selection.offset
        if offset is None and self._from_beginning and len(new) > 1:
            groups = self._full_ones_first(new)
        else:
            if offset is None:
                offset = OFFSET_BEGINNING if self._from_beginning else OFFSET_END
            groups = [[TopicPartition(*partition, offset) for partition in new]]
        for group in groups:
            if group:
                self._consumer.incremental_assign(group)

    def _full_ones_first(self, partitions: list[tuple[str, int]]) -> "list[list[TopicPartition]]":
        """Partitions with records before those without, all at their beginnings.

        librdkafka takes partitions up one by one and fetches from those it has. A first fetch of nothing
        but empty partitions would wait for records until fetch.max.wait.ms is over, before the others'
        turn comes.
        """
        from confluent_kafka import OFFSET_BEGINNING, OFFSET_END, KafkaException, TopicPartition

        def offsets(special: int) -> dict[tuple[str, int], int]:
            questions = [TopicPartition(*partition, special) for partition in partitions]
            found = self._consumer.offsets_for_times(questions, timeout=_OFFSETS_TIMEOUT_SECONDS)
            return {(one.topic, one.partition): one.offset for one in found if one.error is None}

        try:
            first, last = offsets(OFFSET_BEGINNING), offsets(OFFSET_END)
        except KafkaException:
            # A leader does not answer at the moment; librdkafka goes on asking when it has the partitions.
            first, last = {}, {}
        full: list[TopicPartition] = []
        empty: list[TopicPartition] = []
        for partition in partitions:
            start = first.get(partition, OFFSET_BEGINNING)
            group = empty if start == last.get(partition) else full
            group.append(TopicPartition(*partition, start))
        return [full, empty]


def batches(
    consumer: "Consumer", *, timeout_ms: int | None, between: Callable[[], None] | None = None
) -> "Iterator[list[Message]]":
    """Batches of messages, as soon as there is one message; ends when none came for `timeout_ms`.

    `between` is called between two batches, and now and then while none comes.
    """
    last_message = time.monotonic()
    while True:
        first = consumer.poll(_POLL_SECONDS if timeout_ms is None else min(_POLL_SECONDS, timeout_ms / 1000))
        if first is not None:
            yield [first, *consumer.consume(_BATCH_SIZE - 1, 0)]
            last_message = time.monotonic()
        elif timeout_ms is not None and (time.monotonic() - last_message) * 1000 >= timeout_ms:
            return
        if between is not None:
            between()
