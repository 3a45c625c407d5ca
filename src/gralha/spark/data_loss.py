"""Detects records that are gone before the query has read them, and reports them.

`losses` compares the position of a stream with the offsets of the cluster; it is a pure function.
`DataLossPolicy` then stops the query with a sentence. With failOnDataLoss=false it warns, and the query
continues; the offsets of the stream count the losses.
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
    "To continue with the records that exist, set the option failOnDataLoss to false. To read them from the "
    "beginning, start the query with a new checkpoint."
)
BATCH_ADVICE: Final = (
    "To read the records that exist, set startingOffsets to earliest and endingOffsets to latest, or set "
    "failOnDataLoss to false."
)


class DataLossError(ClientError):
    """Records are gone that the query should have read."""


@dataclass(frozen=True)
class ClusterOffsets:
    """The offsets of a cluster for the partitions of a stream. Earliest offsets are not always included."""

    topic_ids: dict[str, str]
    latest: PartitionOffsets
    earliest: PartitionOffsets = field(default_factory=dict)


class Loss(NamedTuple):
    """A loss, with the number of records if it is known."""

    topic: str
    records: int
    sentence: str
    # True for a loss that may turn out to be wrong: a new leader may not know its end yet.
    may_pass: bool = False


def losses(start: StreamOffset, now: ClusterOffsets) -> list[Loss]:
    """All losses since the stream was at `start`."""
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
    """The offsets to continue from."""
    begin = {}
    for partition, latest in now.latest.items():
        recreated = is_recreated(partition.topic, start.topic_ids, now.topic_ids)
        wanted = 0 if recreated else start.offsets.get(partition, 0)
        begin[partition] = min(max(wanted, now.earliest.get(partition, 0)), latest)
    return begin


def counted(before: dict[str, LossCount], found: Iterable[Loss]) -> dict[str, LossCount]:
    """The counts with new losses added."""
    counts = dict(before)
    for loss in found:
        events, records = counts.get(loss.topic, LossCount(0, 0))
        counts[loss.topic] = LossCount(events + 1, records + loss.records)
    return counts


class DataLossPolicy:
    """Handles losses as the option `failOnDataLoss` says."""

    def __init__(self, fail_on_data_loss: bool, *, streaming: bool) -> None:
        self._fail = fail_on_data_loss
        self._advice = STREAM_ADVICE if streaming else BATCH_ADVICE

    def report(self, sentences: Iterable[str]) -> None:
        """Stops the query at the first loss, or warns about all of them."""
        for sentence in sentences:
            if self._fail:
                raise DataLossError(f"{sentence} {self._advice}")
            logger.warning(
                "%s The query continues with the records that exist (failOnDataLoss=false).", sentence
            )


def recreated_topic(topic: str) -> str:
    """The sentence about a topic that was deleted and created again."""
    return (
        f"Topic {topic} was deleted and created again: records of the old topic that were not read are gone."
    )


def lost_in_task(error: OffsetsLostError | TopicRecreatedError | TopicDeletedError) -> str:
    """The sentence of a task that found less than was planned."""
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
        f"Partition {partition} ends at offset {latest}, but the query is at {wanted}: the cluster has lost "
        "the records between (an unclean leader election, a truncated log), or the offset is wrong."
    )
