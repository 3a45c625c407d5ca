"""Records that a query was to read and that are gone, and what is said about it.

`losses` compares where a stream stands with what the cluster has; it is pure. `DataLossPolicy` then stops the
query with a sentence or, with failOnDataLoss=false, warns and lets it go on; the offsets of the stream keep
count.
"""

import logging
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from gralha.client.errors import ClientError, OffsetsLostError, TopicDeletedError, TopicRecreatedError
from gralha.client.values import TopicPartition
from gralha.spark.offsets import LossCount, StreamOffset, is_recreated
from gralha.spark.option_values import PartitionOffsets

logger = logging.getLogger(__name__)

STREAM_ADVICE: Final = (
    "To go on with what is there, set the option failOnDataLoss to false; to read all that is there from its "
    "beginning, start the query with a new checkpoint."
)
BATCH_ADVICE: Final = (
    "To read what is there, set the option startingOffsets to earliest and endingOffsets to latest, or set "
    "failOnDataLoss to false."
)


class DataLossError(ClientError):
    """Records are gone that the query was to read."""


@dataclass(frozen=True)
class ClusterOffsets:
    """What a cluster has of the partitions of a stream; the earliest offsets are not always asked for."""

    topic_ids: dict[str, str]
    latest: PartitionOffsets
    earliest: PartitionOffsets = field(default_factory=dict)


class Loss(NamedTuple):
    """Something that is gone; how many records, where that can be known."""

    topic: str
    records: int
    sentence: str
    # A leader that was just elected may not know its own end yet.
    may_pass: bool = False


def losses(start: StreamOffset, now: ClusterOffsets) -> list[Loss]:
    """All that is gone since the stream stood at `start`."""
    recreated = sorted(
        {
            partition.topic
            for partition in start.offsets
            if is_recreated(partition.topic, start.topic_ids, now.topic_ids)
        }
    )
    found = [
        Loss(
            topic,
            0,
            recreated_topic(topic),
        )
        for topic in recreated
    ]
    gone = sorted(_topics(start.offsets) - _topics(now.latest))
    found += [Loss(topic, 0, f"Topic {topic} was deleted while the query read it.", True) for topic in gone]
    for partition, offset in sorted(start.offsets.items()):
        if partition.topic not in recreated and partition.topic not in gone:
            loss = _loss(partition, offset, now)
            if loss is not None:
                found.append(loss)
    known = _topics(start.offsets)
    for partition in sorted(set(now.latest) - set(start.offsets)):
        earliest = now.earliest.get(partition, 0)
        # A topic that is new to the query may be years old: it begins with what is left.
        if earliest > 0 and partition.topic in known and partition.topic not in recreated:
            found.append(_added_late(partition, earliest))
    return found


def _topics(offsets: PartitionOffsets) -> set[str]:
    return {partition.topic for partition in offsets}


def begin_offsets(start: StreamOffset, now: ClusterOffsets) -> PartitionOffsets:
    """Where to go on reading, given what is there."""
    begin = {}
    for partition, latest in now.latest.items():
        recreated = is_recreated(partition.topic, start.topic_ids, now.topic_ids)
        wanted = 0 if recreated else start.offsets.get(partition, 0)
        begin[partition] = min(max(wanted, now.earliest.get(partition, 0)), latest)
    return begin


def counted(before: dict[str, LossCount], found: Iterable[Loss]) -> dict[str, LossCount]:
    """The count of losses with new ones added."""
    counts = dict(before)
    for loss in found:
        events, records = counts.get(loss.topic, LossCount(0, 0))
        counts[loss.topic] = LossCount(events + 1, records + loss.records)
    return counts


class DataLossPolicy:
    """What `failOnDataLoss` says."""

    def __init__(self, fail_on_data_loss: bool, *, streaming: bool) -> None:
        self._fail = fail_on_data_loss
        self._advice = STREAM_ADVICE if streaming else BATCH_ADVICE

    def report(self, sentences: Iterable[str]) -> None:
        """Stop the query at the first loss, or warn of all of them."""
        for sentence in sentences:
            if self._fail:
                raise DataLossError(f"{sentence} {self._advice}")
            logger.warning("%s The query goes on with what is there (failOnDataLoss=false).", sentence)


def recreated_topic(topic: str) -> str:
    """What is said of a topic that is not the one that it was."""
    return f"Topic {topic} was deleted and created again: what it had before and was not read yet is gone."


def lost_in_task(error: OffsetsLostError | TopicRecreatedError | TopicDeletedError) -> str:
    """What a task says that found less than was planned."""
    if isinstance(error, TopicDeletedError):
        return f"Topic {error.topic} was deleted before the query had read what was planned of it."
    if isinstance(error, TopicRecreatedError):
        return recreated_topic(error.topic)
    partition = TopicPartition(error.topic, error.partition)
    if error.wanted < error.log_start_offset:
        return _deleted(partition, error.wanted, error.log_start_offset)
    return _too_short(partition, error.wanted, error.log_end_offset)


def _loss(partition: TopicPartition, offset: int, now: ClusterOffsets) -> Loss | None:
    latest = now.latest.get(partition)
    earliest = now.earliest.get(partition, 0)
    if latest is None:
        sentence = f"Partition {partition} is gone; the query had read it up to offset {offset}."
        return Loss(partition.topic, 0, sentence, may_pass=True)
    if latest < offset:
        return Loss(partition.topic, offset - latest, _too_short(partition, offset, latest), may_pass=True)
    if offset < earliest:
        return Loss(partition.topic, earliest - offset, _deleted(partition, offset, earliest))
    return None


def _added_late(partition: TopicPartition, earliest: int) -> Loss:
    sentence = (
        f"Partition {partition} is new to the query, but its first record is at offset {earliest}: "
        "those before were deleted before they could be read."
    )
    return Loss(partition.topic, earliest, sentence)


def _deleted(partition: TopicPartition, wanted: int, earliest: int) -> str:
    return (
        f"Records {wanted} to {earliest - 1} of partition {partition} were deleted before the query could "
        "read them (retention.ms and retention.bytes of the topic say how long it keeps records)."
    )


def _too_short(partition: TopicPartition, wanted: int, latest: int) -> str:
    return (
        f"Partition {partition} ends at offset {latest}, but the query stands at {wanted}: the records "
        "between were lost by the cluster (an unclean leader election, a log that was cut), or the offset is "
        "wrong."
    )
