"""Converts the start or end of a query (`bounds.py`) to an offset for each partition."""

from typing import Protocol

from gralha.client.values import EARLIEST, LATEST, TopicPartition
from gralha.spark.bounds import (
    START_AT_LATEST,
    STRATEGY,
    AtOffsets,
    AtTimestamp,
    AtTimestamps,
    Bound,
    Earliest,
    Latest,
    check_all_partitions,
)
from gralha.spark.option_values import OptionError, PartitionOffsets
from gralha.spark.topic_view import SourceError, TopicView

Partitions = frozenset[TopicPartition]


class _Resolver(Protocol):
    def __call__(self, missing: list[TopicPartition]) -> None: ...


def starting_offsets(
    view: TopicView, partitions: Partitions, bound: Bound, strategy: str
) -> PartitionOffsets:
    """The offsets to start at. The strategy decides about a partition whose records are all older."""

    def nothing_so_young(missing: list[TopicPartition]) -> None:
        if strategy != START_AT_LATEST:
            raise OptionError(
                f"Partition {missing[0]} has no record at or after the time to start at. Set the option "
                f"{STRATEGY} to latest to start such partitions with new records."
            )

    return _offsets(view, partitions, bound, nothing_so_young)


def ending_offsets(view: TopicView, partitions: Partitions, bound: Bound) -> PartitionOffsets:
    """The offsets to stop at. A partition whose records are all older is read to its end."""
    return _offsets(view, partitions, bound, lambda missing: None)


def _offsets(
    view: TopicView, partitions: Partitions, bound: Bound, nothing_so_young: _Resolver
) -> PartitionOffsets:
    if isinstance(bound, Earliest):
        return _all(partitions, view.earliest(partitions))
    if isinstance(bound, Latest):
        return _all(partitions, view.latest(partitions))
    if isinstance(bound, AtOffsets):
        check_all_partitions(bound.option, bound.offsets, set(partitions))
        earliest = view.earliest(_where(bound.offsets, EARLIEST))
        latest = view.latest(_where(bound.offsets, LATEST))
        return _all(partitions, {**bound.offsets, **earliest, **latest})
    times = _times(bound, partitions)
    found = view.at_timestamps(times)
    missing = sorted(partitions - set(found))
    if missing:
        nothing_so_young(missing)
    return _all(partitions, {**found, **view.latest(missing)})


def _times(bound: AtTimestamp | AtTimestamps, partitions: Partitions) -> PartitionOffsets:
    if isinstance(bound, AtTimestamp):
        return dict.fromkeys(partitions, bound.timestamp_ms)
    check_all_partitions(bound.option, bound.timestamps_ms, set(partitions))
    return bound.timestamps_ms


def _where(offsets: PartitionOffsets, word: int) -> list[TopicPartition]:
    return [partition for partition, offset in offsets.items() if offset == word]


def _all(partitions: Partitions, found: PartitionOffsets) -> PartitionOffsets:
    """Raises SourceError if a partition was deleted between two requests, because it has no offset to start
    at.
    """
    gone = sorted(partitions - set(found))
    if gone:
        raise SourceError(
            f"Partition {gone[0]} was deleted while the query asked for its offsets: start it again."
        )
    return {partition: found[partition] for partition in partitions}
