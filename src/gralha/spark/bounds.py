"""The start and the end of a query: earliest, latest, given offsets or a time.

The options of the start are `startingTimestamp`, `startingOffsetsByTimestamp` and `startingOffsets`. The
first one that is set counts, as in Spark's Kafka source. The options of the end work in the same way.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from gralha.client.values import EARLIEST, LATEST, TopicPartition
from gralha.spark.option_values import (
    OptionError,
    Options,
    PartitionOffsets,
    partition_offsets,
    timestamp_ms,
)


@dataclass(frozen=True)
class Earliest:
    """The first record that exists."""


@dataclass(frozen=True)
class Latest:
    """After the last record."""


@dataclass(frozen=True)
class AtOffsets:
    """An offset for each partition. -1 means latest, -2 means earliest."""

    option: str
    offsets: PartitionOffsets


@dataclass(frozen=True)
class AtTimestamp:
    """The first record of each partition at or after a time."""

    option: str
    timestamp_ms: int


@dataclass(frozen=True)
class AtTimestamps:
    """A time for each partition."""

    option: str
    timestamps_ms: PartitionOffsets


Bound = Earliest | Latest | AtOffsets | AtTimestamp | AtTimestamps

# The rule for a partition whose records are all older than the start time.
FAIL: Final = "error"
START_AT_LATEST: Final = "latest"
STRATEGY: Final = "startingOffsetsByTimestampStrategy"


def starting_bound(options: Options, *, streaming: bool) -> Bound:
    """The start of a query. By default a stream starts with new records, a batch with the first record."""
    default: Bound = Latest() if streaming else Earliest()
    found = _bound(options, "starting", default)
    if not streaming:
        _must_not_be(found, LATEST, "start", "latest")
    return found


def ending_bound(options: Options, *, streaming: bool) -> Bound:
    """The end of a batch. A stream has none."""
    names = ("endingTimestamp", "endingOffsetsByTimestamp", "endingOffsets")
    given = next((name for name in names if name in options), None)
    if streaming and given is not None:
        raise OptionError(f"Option '{given}' is for batch queries: a stream has no end. Remove it.")
    found = _bound(options, "ending", Latest())
    _must_not_be(found, EARLIEST, "end", "earliest")
    return found


def timestamp_strategy(options: Options) -> str:
    """The rule for a partition whose records are all older than the start time."""
    strategy = options.get(STRATEGY, FAIL).strip().lower()
    if strategy not in (FAIL, START_AT_LATEST):
        raise OptionError(f"Option '{STRATEGY}' is '{options[STRATEGY]}': write error or latest.")
    return strategy


def without_topics(bound: Bound, is_gone: Callable[[str], bool]) -> Bound:
    """The bound without topics that are gone."""
    if isinstance(bound, AtOffsets):
        return replace(bound, offsets=_without(bound.offsets, is_gone))
    if isinstance(bound, AtTimestamps):
        return replace(bound, timestamps_ms=_without(bound.timestamps_ms, is_gone))
    return bound


def _without(offsets: PartitionOffsets, is_gone: Callable[[str], bool]) -> PartitionOffsets:
    return {partition: offset for partition, offset in offsets.items() if not is_gone(partition.topic)}


def check_all_partitions(option: str, given: PartitionOffsets, existing: set[TopicPartition]) -> None:
    """Raises OptionError unless offsets or times are given for all partitions."""
    missing = sorted(existing - set(given))
    unknown = sorted(set(given) - existing)
    if missing or unknown:
        raise OptionError(
            f"Option '{option}' must name exactly the partitions that are read"
            + (f"; it lacks {_listed(missing)}" if missing else "")
            + (f"; {_listed(unknown)} is not among them" if unknown else "")
            + (". Use -1 for latest and -2 for earliest." if option.endswith("Offsets") else ".")
        )


def _bound(options: Options, side: str, default: Bound) -> Bound:
    name = f"{side}Timestamp"
    timestamp = timestamp_ms(options, name)
    if timestamp is not None:
        return AtTimestamp(name, timestamp)
    name = f"{side}OffsetsByTimestamp"
    if name in options:
        return AtTimestamps(name, partition_offsets(options, name, lowest=0))
    name = f"{side}Offsets"
    text = options.get(name, "").strip().lower()
    if name not in options:
        return default
    if text in ("earliest", "latest"):
        return Earliest() if text == "earliest" else Latest()
    if not text.startswith("{"):
        raise OptionError(
            f"Option '{name}' is '{options[name]}': write earliest, latest or JSON such as "
            """{"sales": {"0": 23, "1": -2}}."""
        )
    return AtOffsets(name, partition_offsets(options, name, lowest=EARLIEST))


def _must_not_be(bound: Bound, offset: int, side: str, word: str) -> None:
    """Refuses a batch that starts at latest or ends at earliest, because it would be empty."""
    if isinstance(bound, Latest if offset == LATEST else Earliest):
        raise OptionError(
            f"A batch query cannot {side} at {word}: it would read nothing. Write another offset."
        )
    if isinstance(bound, AtOffsets) and offset in bound.offsets.values():
        partitions = sorted(partition for partition, given in bound.offsets.items() if given == offset)
        raise OptionError(
            f"A batch query cannot {side} at {word} ({offset}), as '{bound.option}' says of "
            f"{_listed(partitions)}: write another offset."
        )


def _listed(partitions: list[TopicPartition]) -> str:
    shown = ", ".join(str(partition) for partition in partitions[:10])
    return shown + (f" and {len(partitions) - 10} more" if len(partitions) > 10 else "")
