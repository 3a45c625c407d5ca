"""The clients of a chaos run: one idempotent writer, a group of readers that commit, and a last reader.

Each runs in a thread of its own and notes what it did and saw for the history checker. Times are taken so
that an operation seems longer than it was, never shorter: then the checker blames nobody wrongly.
"""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self

from confluent_kafka import Consumer, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from tests.received import place_of, value_of

from gralha.simulation.history import Anomaly, Event, Outcome, Poll, Seek, Send, check

TOPIC = "chaos"
PARTITIONS = 3
REPLICAS = 3
GROUP = "chaos-readers"
READERS = 2
FINAL_READER = "final"
SETTLE_S = 90.0
MESSAGE_TIMEOUT_MS = 180_000
MAX_OUTSTANDING = 50  # of one partition: a partition without a leader does not hold up the others
PADDING = bytes(1000)  # the key of every record: what a full disk has no room for
ROUND_S = 0.02  # a record for each partition so often


# A client's settings, with librdkafka's names.
Settings = dict[str, Any]


class Notes:
    """The history so far, shared by all clients."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.acknowledged_at: dict[int, list[float]] = defaultdict(list)  # by partition
        self.errors: list[str] = []  # that an application would have seen
        self.committed: dict[int, int] = {}  # by partition, the highest that was acknowledged
        self.lock = threading.Lock()

    def add(self, event: Event) -> None:
        with self.lock:
            self.events.append(event)


class Worker:
    """A thread that does its round until it is told to stop."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        self._thread.join()

    def round(self) -> None:
        raise NotImplementedError

    def _run(self) -> None:
        while not self._stopping.is_set():
            self.round()


class Writer(Worker):
    """Writes numbered values to each partition in turn, acks=all and idempotent."""

    def __init__(self, settings: Settings, notes: Notes) -> None:
        super().__init__("writer")
        self._notes = notes
        self._number = 0
        self._outstanding = [0] * PARTITIONS
        self._begun: dict[str, float] = {}
        self._producer = Producer(
            {
                **settings,
                "acks": "all",
                "enable.idempotence": True,
                "linger.ms": 0,
                "message.timeout.ms": MESSAGE_TIMEOUT_MS,
                "reconnect.backoff.ms": 20,
                "reconnect.backoff.max.ms": 200,
                "retry.backoff.ms": 20,
                "retry.backoff.max.ms": 200,
                "log_level": 0,
            }
        )

    def round(self) -> None:
        for partition in range(PARTITIONS):
            if self._outstanding[partition] < MAX_OUTSTANDING:
                self._number += 1
                self._send(partition, f"v{self._number}")
        end = time.monotonic() + ROUND_S
        while (remaining_s := end - time.monotonic()) > 0:
            self._producer.poll(remaining_s)

    def flush(self, timeout_s: float) -> int:
        """Wait that long for acknowledgements. Returns how many records still have none."""
        remaining: int = self._producer.flush(timeout_s)
        for value, begun_at in self._begun.items():
            partition, _, text = value.partition(":")
            self._notes.add(
                Send(self.name, f"{TOPIC}-{partition}", text, begun_at, time.monotonic(), Outcome.UNKNOWN)
            )
        self._begun.clear()
        return remaining

    def _send(self, partition: int, value: str) -> None:
        self._begun[f"{partition}:{value}"] = time.monotonic()
        self._outstanding[partition] += 1
        self._producer.produce(
            TOPIC, value.encode(), PADDING, partition=partition, on_delivery=self._delivered
        )

    def _delivered(self, error: object, message: Message) -> None:
        now = time.monotonic()
        partition, value = message.partition(), value_of(message).decode()
        assert partition is not None
        self._outstanding[partition] -= 1
        begun_at = self._begun.pop(f"{partition}:{value}")
        offset = None
        if error is None:
            self._notes.acknowledged_at[partition].append(now)
            # A retry whose place the broker no longer remembers is acknowledged without an offset (None).
            offset = message.offset()
        else:
            self._notes.errors.append(f"{value}: {error}")
        outcome = Outcome.OK if error is None else Outcome.UNKNOWN
        self._notes.add(Send(self.name, f"{TOPIC}-{partition}", value, begun_at, now, outcome, offset))


class Reader(Worker):
    """A member of the group: reads, notes and commits."""

    def __init__(self, name: str, settings: Settings, notes: Notes) -> None:
        super().__init__(name)
        self._notes = notes
        self._consumer = Consumer(
            {
                **settings,
                "group.id": GROUP,
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
                "session.timeout.ms": 10_000,
                "reconnect.backoff.max.ms": 200,
                "log_level": 0,
            }
        )
        self._consumer.subscribe([TOPIC], on_assign=self._assigned)

    def round(self) -> None:
        begun_at = time.monotonic()
        messages = [one for one in self._consumer.consume(200, 0.1) if one.error() is None]
        note_poll(self._notes, self.name, messages, begun_at)
        if messages:
            self._commit(messages)

    def stop(self) -> None:
        super().stop()
        self._consumer.close()

    def _assigned(self, _: Consumer, partitions: list[TopicPartition]) -> None:
        for one in partitions:
            self._notes.add(Seek(self.name, f"{one.topic}-{one.partition}", time.monotonic()))

    def _commit(self, messages: list[Message]) -> None:
        last = dict(place_of(one) for one in messages)
        offsets = [TopicPartition(TOPIC, partition, offset + 1) for partition, offset in last.items()]
        try:
            done = self._consumer.commit(offsets=offsets, asynchronous=False)
        except KafkaException:
            return  # another reader has the partition now, or no answer came: the commit may count
        with self._notes.lock:
            for one in done:
                if one.error is None:
                    committed = self._notes.committed
                    committed[one.partition] = max(committed.get(one.partition, 0), one.offset)


def note_poll(notes: Notes, name: str, messages: list[Message], begun_at: float) -> None:
    """One poll for each partition that records came from."""
    by_partition: dict[int, list[tuple[int, str]]] = defaultdict(list)
    for one in messages:
        partition, offset = place_of(one)
        by_partition[partition].append((offset, value_of(one).decode()))
    for partition, records in by_partition.items():
        notes.add(Poll(name, f"{TOPIC}-{partition}", tuple(records), begun_at, time.monotonic()))


def read_all(settings: Settings, notes: Notes, name: str, timeout_s: float) -> None:
    """Read every partition from its first record to its end."""
    consumer = Consumer({**settings, "group.id": name, "enable.auto.commit": False, "log_level": 0})
    try:
        partitions = [TopicPartition(TOPIC, index, 0) for index in range(PARTITIONS)]
        ends = {one.partition: consumer.get_watermark_offsets(one, timeout_s)[1] for one in partitions}
        consumer.assign(partitions)
        next_offset = dict.fromkeys(ends, 0)
        deadline = time.monotonic() + timeout_s
        while any(next_offset[index] < end for index, end in ends.items()):
            if time.monotonic() > deadline:
                raise AssertionError(f"read up to {next_offset} of {ends} within {timeout_s} s")
            begun_at = time.monotonic()
            messages = [one for one in consumer.consume(1000, 0.5) if one.error() is None]
            note_poll(notes, name, messages, begun_at)
            for one in messages:
                partition, offset = place_of(one)
                next_offset[partition] = offset + 1
    finally:
        consumer.close()


def lost_commits(settings: Settings, notes: Notes, timeout_s: float) -> list[str]:
    """Offsets whose commit was acknowledged and that the group does not know any more."""
    consumer = Consumer({**settings, "group.id": GROUP, "log_level": 0})
    try:
        partitions = [TopicPartition(TOPIC, index) for index in notes.committed]
        found = consumer.committed(partitions, timeout_s) if partitions else []
        return [
            f"{TOPIC}-{one.partition}: {notes.committed[one.partition]} was committed, {one.offset} is known"
            for one in found
            if one.offset < notes.committed[one.partition]
        ]
    finally:
        consumer.close()


class Clients:
    """All of them on a topic of their own, from the first record to the judgement."""

    def __init__(self, bootstrap: str, security: Mapping[str, str] | None = None) -> None:
        """`security` has librdkafka's settings for a login."""
        self.settings: Settings = {"bootstrap.servers": bootstrap, **(security or {})}
        self.notes = Notes()
        self.unanswered = 0
        self.admin = AdminClient({**self.settings, "log_level": 0})
        topic = NewTopic(TOPIC, PARTITIONS, REPLICAS, config={"min.insync.replicas": "2"})
        self.admin.create_topics([topic])[TOPIC].result(SETTLE_S)
        self._writer = Writer(self.settings, self.notes)
        self._readers = [Reader(f"reader-{number}", self.settings, self.notes) for number in range(READERS)]

    def __enter__(self) -> Self:
        for worker in (self._writer, *self._readers):
            worker.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop the load. Waits for the requests in flight, unless the test has failed."""
        self._writer.stop()
        self.unanswered = self._writer.flush(SETTLE_S if error is None else 1.0)
        for reader in self._readers:
            reader.stop()

    def anomalies(self) -> list[Anomaly]:
        """Read everything once more, and check the history."""
        read_all(self.settings, self.notes, FINAL_READER, SETTLE_S)
        return check(self.notes.events, final_readers=[FINAL_READER])

    def acknowledged(self) -> dict[int, int]:
        """How many records were acknowledged so far, by partition."""
        return {index: len(self.notes.acknowledged_at[index]) for index in range(PARTITIONS)}

    def progress(self, records: int, timeout_s: float) -> float:
        """Wait until each partition has acknowledged that many more. Returns the time that this took."""
        begun_at = time.monotonic()
        wanted = {index: count + records for index, count in self.acknowledged().items()}
        while any(self.acknowledged()[index] < count for index, count in wanted.items()):
            waited_s = time.monotonic() - begun_at
            assert waited_s < timeout_s, f"{self.acknowledged()} after {timeout_s} s, not yet {wanted}"
            time.sleep(0.01)
        return time.monotonic() - begun_at

    def leaders(self) -> dict[int, int]:
        topic = self.admin.list_topics(TOPIC, SETTLE_S).topics[TOPIC]
        return {index: partition.leader for index, partition in topic.partitions.items()}

    def replicas(self, partition: int) -> tuple[list[int], set[int]]:
        """A partition's replicas, the preferred leader first, and which of them are in sync."""
        found = self.admin.list_topics(TOPIC, SETTLE_S).topics[TOPIC].partitions[partition]
        return list(found.replicas), set(found.isrs)
