"""`gralha pipeline replay-dead-letters`: writes dead letters back to the topics that they came from.

The letters are read up to the end that the topic has at the start. A record that still does not fit comes
back as a new letter, and the same call does not write it again.

The records of a batch and the offsets of its letters are one transaction. The consumer group NAME.replayed
has the offsets, and nobody joins it. So each letter is written back exactly once, and a second call
continues after the first. All calls use one transactional id: a new call ends the open transaction of an
earlier one, and an earlier one that still runs is fenced.
"""

import time
from argparse import Namespace
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from gralha.cli.connect import check_coordinators, check_reachable, topics_of
from gralha.cli.program import EXIT_FAILED, CommandError, stop_on_terminate
from gralha.cli.properties import load_properties
from gralha.cli.suggestions import did_you_mean
from gralha.pipelines.replaying import Letter, letter
from gralha.pipelines.state_files import StateFile, state_folder
from gralha.spark.secrets import resolve

if TYPE_CHECKING:
    from confluent_kafka import Consumer, KafkaError, Message, Producer, TopicPartition

TIMEOUT_SECONDS: Final = 30.0
_PAUSE_SECONDS: Final = 0.1
BATCH: Final = 500
# A dry run shows this many letters.
SHOWN: Final = 20


def command(options: Namespace) -> int:
    """Replays the letters, or shows them. Returns 1 if one of them cannot be replayed."""
    from confluent_kafka import KafkaException

    stop_on_terminate()
    topic = options.topic or _topic(options)
    properties = resolve(load_properties(options.command_config) if options.command_config else {})
    properties["bootstrap.servers"] = options.bootstrap_server
    check_reachable(properties)
    group = f"{options.name}.replayed"
    transactional_id = f"gralha.{group}"
    ids = {"group.id": group, "transactional.id": "" if options.dry_run else transactional_id}
    check_coordinators({**properties, **ids})
    consumer = _consumer(properties, group)
    try:
        # The open transaction of an earlier call ends here, before its offsets are read.
        producer = None if options.dry_run else _producer(properties, transactional_id)
        places = _places(consumer, topic, options)
        replay = _Replay(options.name, producer)
        for messages in batches(consumer, places):
            if producer is None:
                replay.add(messages)
            elif messages:
                _replay_in_transaction(replay, producer, consumer, messages)
    except KafkaException as error:
        raise CommandError(_failure(options.name, error.args[0])) from None
    finally:
        consumer.close()
    print("\n".join(replay.text(topic)))
    return EXIT_FAILED if replay.too_large else 0


def _topic(options: Namespace) -> str:
    """The dead-letter topic: that of the last run, otherwise the default one."""
    state = StateFile(state_folder(options.checkpoints), options.name).read()
    if state is not None and state.dead_letters_topic is None:
        raise CommandError(
            f"{options.name} drops records that do not fit (dead_letters=None), so nothing can be replayed. "
            "If it wrote dead letters before, name their topic with --topic."
        )
    default = f"{options.name}.dead-letters"
    return default if state is None else state.dead_letters_topic or default


def _consumer(properties: dict[str, str], group: str) -> "Consumer":
    from confluent_kafka import Consumer

    from gralha.cli.librdkafka import create, quiet_settings, to_librdkafka

    # Without a member the group is a place for offsets, and nothing more.
    settings = {"group.id": group, "enable.auto.commit": False, "enable.partition.eof": True}
    return create(Consumer, {**quiet_settings(), **to_librdkafka(properties), **settings})


def _producer(properties: dict[str, str], transactional_id: str) -> "Producer":
    from confluent_kafka import Producer

    from gralha.cli.librdkafka import create, quiet_settings, to_librdkafka

    settings = {
        # The partition of a letter may not exist any more. Then the key decides, as for Java clients.
        "partitioner": "murmur2_random",
        "message.max.bytes": 64 * 1024 * 1024,
    }
    own = {"transactional.id": transactional_id, "enable.idempotence": True}
    producer = create(Producer, {**quiet_settings(), **settings, **to_librdkafka(properties), **own})
    producer.init_transactions(TIMEOUT_SECONDS)
    return producer


def _places(consumer: "Consumer", topic: str, options: Namespace) -> "list[tuple[TopicPartition, int]]":
    """Where to begin in each partition of the topic, and where to end."""
    from confluent_kafka import TopicPartition

    known = topics_of(consumer, None)
    if topic not in known:
        letters = [name for name in known if name.endswith(".dead-letters")]
        raise CommandError(
            f"There is no topic {topic} on {options.bootstrap_server}: {options.name} has no dead letters, "
            f"or it is another cluster or name.{did_you_mean(topic, letters)}"
        )
    partitions = [TopicPartition(topic, number) for number in known[topic].partitions]
    places = []
    for place in _committed(consumer, partitions):
        low, high = consumer.get_watermark_offsets(place, timeout=TIMEOUT_SECONDS)
        begin = low if options.all else max(low, place.offset)
        places.append((TopicPartition(topic, place.partition, begin), high))
    return places


def _committed(consumer: "Consumer", partitions: "list[TopicPartition]") -> "list[TopicPartition]":
    """The committed offsets. A new coordinator may need a moment, and librdkafka does not ask again."""
    from confluent_kafka import KafkaError, KafkaException

    loading = (KafkaError.NOT_COORDINATOR, KafkaError.COORDINATOR_LOAD_IN_PROGRESS)
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while True:
        try:
            found: list[TopicPartition] = consumer.committed(partitions, timeout=TIMEOUT_SECONDS)
            return found
        except KafkaException as error:
            if error.args[0].code() not in loading or time.monotonic() > deadline:
                raise
            time.sleep(_PAUSE_SECONDS)


def batches(consumer: "Consumer", places: "list[tuple[TopicPartition, int]]") -> "Iterator[list[Message]]":
    """The messages between the places. The last offsets may be of transactions, and have no messages."""
    from gralha.cli.librdkafka import served

    ends = {place.partition: end for place, end in places if place.offset < end}
    consumer.assign([place for place, end in places if place.offset < end])
    while ends:
        first = served(consumer.poll, TIMEOUT_SECONDS)
        if first is None:
            raise CommandError(f"The brokers sent no dead letters for {TIMEOUT_SECONDS:.0f} s. Try again.")
        # With a time-out it would wait for a full batch.
        messages = [first, *served(consumer.consume, BATCH, 0)]
        wanted = []
        for message in messages:
            partition, offset = message.partition() or 0, message.offset() or 0
            is_end = _is_end(message)
            if not is_end and offset < ends.get(partition, 0):
                wanted.append(message)
            if is_end or offset + 1 >= ends.get(partition, 0):
                ends.pop(partition, None)
        yield wanted


def _is_end(message: "Message") -> bool:
    """Returns True if this is not a message, but the end of a partition. Raises CommandError for errors."""
    from confluent_kafka import KafkaError

    from gralha.cli.librdkafka import reason_of

    error = message.error()
    if error is not None and error.code() != KafkaError._PARTITION_EOF:
        raise CommandError(f"The dead letters cannot be read: {reason_of(error)}")
    return error is not None


def _replay_in_transaction(
    replay: "_Replay", producer: "Producer", consumer: "Consumer", messages: "list[Message]"
) -> None:
    """Replays the messages and commits their offsets, or does neither."""
    producer.begin_transaction()
    try:
        replay.add(messages)
        _commit(producer, consumer, messages)
    except BaseException:
        _abort(producer)
        raise


def _abort(producer: "Producer") -> None:
    """Aborts the transaction, because readers of committed records would wait for it. Raises a fatal error.

    confluent-kafka turns a fatal error into a SystemError without a reason if failed deliveries follow it.
    """
    from confluent_kafka import KafkaException

    try:
        producer.abort_transaction(TIMEOUT_SECONDS)
    except KafkaException as error:
        if error.args[0].fatal():
            raise


def _commit(producer: "Producer", consumer: "Consumer", messages: "list[Message]") -> None:
    """Commits the records and the offsets after the messages, in one transaction."""
    from confluent_kafka import TopicPartition

    ends: dict[int, TopicPartition] = {}
    for message in messages:
        partition = message.partition() or 0
        ends[partition] = TopicPartition(message.topic() or "", partition, (message.offset() or 0) + 1)
    members = consumer.consumer_group_metadata()
    producer.send_offsets_to_transaction(list(ends.values()), members, TIMEOUT_SECONDS)
    producer.commit_transaction(TIMEOUT_SECONDS)


def _failure(pipeline: str, error: "KafkaError") -> str:
    """The sentence about an error of librdkafka."""
    from confluent_kafka import KafkaError

    from gralha.cli.librdkafka import reason_of

    if error.code() in (KafkaError._FENCED, KafkaError.PRODUCER_FENCED, KafkaError.INVALID_PRODUCER_EPOCH):
        return (
            f"Another replay-dead-letters of {pipeline} has begun, and this one has ended. "
            "No dead letter is lost or written twice: the other one writes the rest."
        )
    return f"The dead letters of {pipeline} cannot be replayed: {reason_of(error)}"


@dataclass
class _Replay:
    """The letters of one call. Without a producer they are only counted."""

    pipeline: str
    producer: "Producer | None"
    written: Counter[str] = field(default_factory=Counter)
    examples: list[str] = field(default_factory=list)
    too_large: list[str] = field(default_factory=list)
    # Records of the topic that are no letters of this pipeline.
    others: int = 0
    _failure: str | None = None
    _partitions: dict[str, int] = field(default_factory=dict)

    def add(self, messages: "list[Message]") -> None:
        """Replays the messages. Returns when the brokers have acknowledged them."""
        from gralha.cli.librdkafka import served

        for message in messages:
            found = letter(_headers(message))
            if found is None or found.origin.pipeline != self.pipeline:
                self.others += 1
            elif not found.is_whole:
                self.too_large.append(str(found.origin))
            else:
                self._write(message, found)
        if self.producer is not None:
            served(self.producer.flush)
        if self._failure is not None:
            raise CommandError(
                f"{self._failure}. The dead letters of this batch stay where they are: call it again."
            )

    def _write(self, message: "Message", found: Letter) -> None:
        origin = found.origin
        self.written[origin.topic] += 1
        self.examples.append(f"  {origin}: {origin.reason}")
        if self.producer is None:
            return
        from gralha.cli.librdkafka import served

        more: dict[str, Any] = {}
        if origin.timestamp_ms is not None and origin.timestamp_ms >= 0:
            more["timestamp"] = origin.timestamp_ms
        if origin.partition < self._count(origin.topic):
            more["partition"] = origin.partition
        while True:
            try:
                self.producer.produce(
                    origin.topic,
                    value=message.value(),
                    key=message.key(),
                    headers=list(found.headers) or None,
                    on_delivery=self._delivered,
                    **more,
                )
                return
            except BufferError:
                served(self.producer.poll, 0.1)

    def _count(self, topic: str) -> int:
        """The number of partitions of a topic of origin. Fails if it is gone."""
        assert self.producer is not None
        if topic not in self._partitions:
            known = topics_of(self.producer, None)
            if topic not in known:
                raise CommandError(f"The topic {topic} of a dead letter is gone: create it first.")
            self._partitions[topic] = len(known[topic].partitions)
        return self._partitions[topic]

    def _delivered(self, error: Any, message: "Message") -> None:
        from gralha.cli.librdkafka import reason_of

        if error is not None:
            self._failure = f"A dead letter cannot be written to {message.topic()}: {reason_of(error)}"

    def text(self, topic: str) -> list[str]:
        """The result for a person."""
        count = sum(self.written.values())
        if not count and not self.too_large:
            return [f"{self.pipeline} has no dead letters in {topic} that were not replayed before."]
        verb = "Would write" if self.producer is None else "Wrote"
        where = ", ".join(f"{number:,} to {name}" for name, number in sorted(self.written.items()))
        lines = [f"{verb} {count:,} dead letter{'' if count == 1 else 's'} of {self.pipeline} back"]
        lines[0] += f": {where}" if where else ""
        if self.producer is None:
            lines += self.examples[:SHOWN]
            lines += [f"  and {count - SHOWN:,} more"] if count > SHOWN else []
        lines += [f"Not replayed: {place}: it was too large for {topic}" for place in self.too_large]
        return lines


def _headers(message: "Message") -> list[tuple[str, bytes | None]]:
    found = message.headers() or []
    pairs = found.items() if isinstance(found, dict) else found
    return [(name, value.encode() if isinstance(value, str) else value) for name, value in pairs]
