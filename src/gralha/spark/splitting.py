"""Splits ranges of offsets into the tasks of a batch: `minPartitions` and `maxRecordsPerPartition`.

Without these options each partition of a topic is one task, so its records keep their order in a query
without shuffles. Several tasks read a split range at the same time.
"""

import itertools
from collections.abc import Iterable
from dataclasses import dataclass

from pyspark.sql.datasource import InputPartition

from gralha.client.values import OffsetRange


@dataclass
class RangePartition(InputPartition):
    """The range that one task reads."""

    range: OffsetRange


def tasks(
    ranges: Iterable[OffsetRange], min_partitions: int | None, max_records: int | None
) -> list[OffsetRange]:
    """The ranges of the tasks, without empty ones."""
    wanted = [item for item in ranges if size(item) > 0]
    if max_records is not None:
        wanted = [part for item in wanted for part in cut(item, -(-size(item) // max_records))]
    if min_partitions is not None and len(wanted) < min_partitions:
        wanted = _at_least(wanted, min_partitions)
    return wanted


def size(item: OffsetRange) -> int:
    """The number of offsets in a range. Compacted topics and transactions have fewer records."""
    return item.end - item.start


def cut(item: OffsetRange, parts: int) -> list[OffsetRange]:
    """Splits the range into equal parts, but not into more than it has offsets."""
    count = min(parts, size(item))
    edges = [item.start + size(item) * part // count for part in range(count + 1)]
    return [item._replace(start=start, end=end) for start, end in itertools.pairwise(edges)]


def _at_least(ranges: list[OffsetRange], min_partitions: int) -> list[OffsetRange]:
    """Splits large ranges so that there are about this many. Small ranges stay, and take one each."""
    total = sum(size(item) for item in ranges)
    small = [item for item in ranges if _share(item, total, min_partitions) == 1]
    large_total = total - sum(size(item) for item in small)
    large_partitions = max(min_partitions - len(small), 1)
    result = []
    for item in ranges:
        is_small = _share(item, total, min_partitions) == 1
        result += cut(item, 1 if is_small else _share(item, large_total, large_partitions))
    return result


def _share(item: OffsetRange, total: int, partitions: int) -> int:
    """The number of partitions that a range gets by its size, rounded, at least one."""
    return max((2 * size(item) * partitions + total) // (2 * total), 1)
