"""The position of a stream: the offsets in Spark's checkpoint, and the ranges between two positions.

The JSON is the same as in Spark's Kafka source, `{"sales": {"0": 23, "1": 42}}`, with more entries for a safe
restart. Their names are not valid topic names:

    @topicIds   the ids of the topics, to recognize a topic that was deleted and created again
    @initial    nothing has been read yet: the stream begins here
    @from       the start of the first batch with records, or of a topic that was added later and had lost its
                first records. Spark does not store the initial offsets of a stream. Without this entry a
                repeated batch would begin at the current "latest" or "earliest"
    @dataLoss   the losses with failOnDataLoss=false: {"sales": {"events": 1, "records": 120}}
"""

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from gralha.client.values import OffsetRange, TopicPartition
from gralha.spark.option_values import PartitionOffsets

TOPIC_IDS: Final = "@topicIds"
INITIAL: Final = "@initial"
FROM: Final = "@from"
DATA_LOSS: Final = "@dataLoss"

OffsetJson = dict[str, Any]


class LossCount(NamedTuple):
    """The number of losses of a topic, and the number of lost records, as far as known."""

    events: int
    records: int


@dataclass(frozen=True)
class StreamOffset:
    """The next offset of each partition."""

    offsets: PartitionOffsets
    topic_ids: dict[str, str] = field(default_factory=dict)
    is_initial: bool = False
    batch_start: PartitionOffsets | None = None
    data_loss: dict[str, LossCount] = field(default_factory=dict)

    def to_json(self) -> OffsetJson:
        """The offsets as Spark stores them. Equal offsets have equal text."""
        json = offsets_to_json(self.offsets)
        if self.topic_ids:
            json[TOPIC_IDS] = dict(sorted(self.topic_ids.items()))
        if self.is_initial:
            json[INITIAL] = True
        if self.batch_start is not None:
            json[FROM] = offsets_to_json(self.batch_start)
        if self.data_loss:
            json[DATA_LOSS] = {topic: count._asdict() for topic, count in sorted(self.data_loss.items())}
        return json

    @staticmethod
    def from_json(json: OffsetJson) -> "StreamOffset":
        """Parses the JSON, also as Spark's Kafka source writes it, which has only topics."""
        batch_start = json.get(FROM)
        return StreamOffset(
            offsets=offsets_from_json({name: value for name, value in json.items() if name[:1] != "@"}),
            topic_ids=dict(json.get(TOPIC_IDS, {})),
            is_initial=bool(json.get(INITIAL, False)),
            batch_start=None if batch_start is None else offsets_from_json(batch_start),
            data_loss={topic: LossCount(**count) for topic, count in json.get(DATA_LOSS, {}).items()},
        )


def offsets_to_json(offsets: PartitionOffsets) -> OffsetJson:
    """Offsets by topic and partition, in order."""
    json: OffsetJson = {}
    for partition in sorted(offsets):
        json.setdefault(partition.topic, {})[str(partition.partition)] = offsets[partition]
    return json


def offsets_from_json(json: Mapping[str, Mapping[str, int]]) -> PartitionOffsets:
    """Offsets by partition."""
    return {
        TopicPartition(topic, int(partition)): offset
        for topic, partitions in json.items()
        for partition, offset in partitions.items()
    }


def topic_id_text(topic_id: bytes) -> str:
    """The text form of a topic id, as Kafka prints it."""
    return base64.urlsafe_b64encode(topic_id).rstrip(b"=").decode()


def topic_id_bytes(text: str | None) -> bytes | None:
    """A topic id as bytes."""
    return None if text is None else base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def is_recreated(topic: str, before: Mapping[str, str], now: Mapping[str, str]) -> bool:
    """Returns True if the topic has another id now. A cluster without topic ids cannot tell."""
    return topic in before and topic in now and before[topic] != now[topic]


def begin_of_batch(start: StreamOffset, end: StreamOffset) -> PartitionOffsets:
    """Where a batch begins to read each partition. A new query without records so far begins nowhere.

    A new partition is read from the offset in `end`, otherwise from offset 0. A partition of a topic that was
    created again is read from offset 0.
    """
    if start.is_initial and end.batch_start is None:
        return {}
    before = {**(end.batch_start or {}), **({} if start.is_initial else start.offsets)}
    return {
        partition: 0
        if is_recreated(partition.topic, start.topic_ids, end.topic_ids)
        else before.get(partition, 0)
        for partition in sorted(end.offsets)
    }


def batch_ranges(start: StreamOffset, end: StreamOffset) -> list[OffsetRange]:
    """The ranges of a batch. They depend only on the two positions, so a repeated batch reads the same."""
    ranges = []
    for partition, begin in begin_of_batch(start, end).items():
        if begin < end.offsets[partition]:
            topic_id = topic_id_bytes(end.topic_ids.get(partition.topic))
            ranges.append(OffsetRange(*partition, begin, end.offsets[partition], topic_id))
    return ranges
