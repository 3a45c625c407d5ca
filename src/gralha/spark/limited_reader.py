"""The source of a streaming query with Spark 4.2 and later.

Spark says where the last batch ended and how much it may read, and names its trigger AvailableNow.
"""

from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)

from gralha.spark.offsets import OffsetJson, StreamOffset, offsets_to_json
from gralha.spark.option_values import OFFSET_MAX
from gralha.spark.stream_reader import StreamReader


class LimitedReader(StreamReader, SupportsTriggerAvailableNow):
    """A reader whose batches Spark limits."""

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        """The limit of the options."""
        max_records = self._max_records()
        return ReadAllAvailable() if max_records is None else ReadMaxRows(max_records)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """The query ends with the records that exist now."""
        self._plan().stop_at_what_is_there_now()

    def latestOffset(self, start: OffsetJson, limit: ReadLimit) -> OffsetJson:  # noqa: N802
        """The end of the next batch, or `start` if there is nothing to read."""
        begin = StreamOffset.from_json(start)
        end = self._plan().next_offset(begin, _max_records_of(limit))
        return start if end is begin else end.to_json()

    def reportLatestOffset(self) -> OffsetJson | None:  # noqa: N802
        """The ends of the topics, for Spark's progress. The difference to the end of a batch is the lag."""
        latest = None if self._planner is None else self._planner.latest
        return offsets_to_json(latest) if latest else None


def _max_records_of(limit: ReadLimit) -> int | None:
    if isinstance(limit, ReadAllAvailable):
        return None
    return limit.max_rows if isinstance(limit, ReadMaxRows) else OFFSET_MAX
