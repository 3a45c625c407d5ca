"""Limits the size of the next batch.

    limited         at most a number of records, in proportion to the partitions (maxOffsetsPerTrigger)
    SmallBatches    waits until there are enough records, up to a time (minOffsetsPerTrigger, maxTriggerDelay)
    BackPressure    as many records as the query can process in a given time (targetBatchDuration)

All of it is arithmetic: the time is an argument.
"""

from typing import Final

from gralha.spark.option_values import PartitionOffsets

# The speed of a query is not known before its first batch. This careful guess is corrected quickly.
FIRST_GUESS_PER_SECOND: Final = 10_000
GROWTH_MAX: Final = 4.0
SHRINK_MAX: Final = 4.0
# A batch that was done in time is followed by one that is larger by at least this factor. The wait for a
# trigger looks like work here, and must not slow a query down for ever.
GROWTH_MIN: Final = 1.1


def new_records(begin: PartitionOffsets, end: PartitionOffsets) -> int:
    """The number of offsets to read."""
    return sum(max(offset - begin[partition], 0) for partition, offset in end.items())


def limited(begin: PartitionOffsets, latest: PartitionOffsets, max_records: int) -> PartitionOffsets:
    """The end of a batch of about this many records. Every partition gets its share, at least one record."""
    total = new_records(begin, latest)
    if total <= max_records:
        return dict(latest)
    end = {}
    for partition, last in latest.items():
        available = last - begin[partition]
        share = max(max_records * available // total, 1)
        end[partition] = begin[partition] + min(share, available) if available > 0 else last
    return end


class SmallBatches:
    """Delays a batch while it is small. The first batch is not delayed."""

    def __init__(self, min_records: int, max_delay_ms: int) -> None:
        self._min_records = min_records
        self._max_delay_ms = max_delay_ms
        self._last_batch_ms: int | None = None

    def lets_pass(self, records: int, now_ms: int) -> bool:
        """Returns True if a batch of this many records is made now."""
        if records <= 0:
            return False
        waited_ms = None if self._last_batch_ms is None else now_ms - self._last_batch_ms
        if records < self._min_records and waited_ms is not None and waited_ms < self._max_delay_ms:
            return False
        self._last_batch_ms = now_ms
        return True


class BackPressure:
    """Learns from the duration of batches how many records fit into the target."""

    def __init__(self, target_ms: int) -> None:
        self._target_ms = target_ms
        self.max_records = max(FIRST_GUESS_PER_SECOND * target_ms // 1000, 1)
        self._records = 0
        self._started_ms: int | None = None

    def batch_started(self, records: int, now_ms: int) -> None:
        """A batch of this many records begins."""
        self._records, self._started_ms = records, now_ms

    def batch_finished(self, now_ms: int) -> None:
        """The batch is done. Does nothing if there was none."""
        if self._started_ms is None or self._records <= 0:
            return
        duration_ms = max(now_ms - self._started_ms, 1)
        self._started_ms = None
        in_time = duration_ms <= self._target_ms
        # A small and quick batch says nothing about large ones.
        if in_time and 2 * self._records < self.max_records:
            return
        fitting = self._records * self._target_ms / duration_ms
        lowest, highest = self.max_records / SHRINK_MAX, self.max_records * GROWTH_MAX
        if in_time:
            lowest = self.max_records * GROWTH_MIN + 1
        self.max_records = max(round(min(max(fitting, lowest), highest)), 1)
