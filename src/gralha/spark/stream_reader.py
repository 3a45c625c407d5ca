"""Streaming queries: `spark.readStream.format("gralha")`, as Spark calls it.

Spark keeps one object of this class in a process beside its driver, which plans (`stream_planner.py`), and
sends copies to the executors, which only read. So the planner is made when it is first needed.
"""

from collections.abc import Iterator, Sequence

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    ReadMinRows,
    SupportsTriggerAvailableNow,
)

from gralha.spark.bound_offsets import starting_offsets
from gralha.spark.bounds import without_topics
from gralha.spark.offsets import OffsetJson, StreamOffset, batch_ranges, offsets_to_json
from gralha.spark.option_values import OFFSET_MAX
from gralha.spark.options import SourceOptions
from gralha.spark.splitting import RangePartition, tasks
from gralha.spark.stream_planner import StreamPlanner
from gralha.spark.subscription import includes
from gralha.spark.topic_view import TopicView


class GralhaStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """The source of one streaming query."""

    def __init__(self, options: SourceOptions) -> None:
        self._options = options
        self._view: TopicView | None = None
        self._planner: StreamPlanner | None = None

    def _connected(self) -> TopicView:
        if self._view is None:
            self._view = TopicView(self._options.client_settings(), self._options.subscription)
        return self._view

    def _plan(self) -> StreamPlanner:
        if self._planner is None:
            self._planner = StreamPlanner(self._options, self._connected())
        return self._planner

    # Where the stream is

    def initialOffset(self) -> OffsetJson:  # noqa: N802
        """Where a new query begins.

        Spark asks this also when a first batch is run again: that one knows where it began, so a topic that
        is gone by now need not stop it. For a query that is new, the planner misses the topic.
        """
        view, options = self._connected(), self._options
        tolerant = not options.fail_on_data_loss
        topics = view.partitions(lambda topic: tolerant)
        there = {partition.topic for partition in topics.partitions}

        def is_gone(topic: str) -> bool:
            return tolerant and topic not in there and includes(options.subscription, topic)

        starting = without_topics(options.starting, is_gone)
        offsets = starting_offsets(view, topics.partitions, starting, options.timestamp_strategy)
        return StreamOffset(offsets, topics.topic_ids, is_initial=True).to_json()

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        """What the options limit. The planner itself knows more, such as how long the last batch took."""
        options = self._options
        if options.max_offsets_per_trigger is not None:
            return ReadMaxRows(options.max_offsets_per_trigger)
        if options.target_batch_duration_ms is not None:
            return ReadMaxRows(OFFSET_MAX)
        if options.min_offsets_per_trigger is not None:
            return ReadMinRows(options.min_offsets_per_trigger)
        return ReadAllAvailable()

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """The query shall end with what is there now."""
        self._plan().stop_at_what_is_there_now()

    def latestOffset(self, start: OffsetJson, limit: ReadLimit) -> OffsetJson:  # noqa: N802
        """Where the next batch ends; `start` while there is nothing to read."""
        begin = StreamOffset.from_json(start)
        end = self._plan().next_offset(begin, _max_records(limit))
        return start if end is begin else end.to_json()

    def reportLatestOffset(self) -> OffsetJson | None:  # noqa: N802
        """Where the topics end, for Spark's progress: how far this is ahead of a batch's end is its lag."""
        latest = None if self._planner is None else self._planner.latest
        return offsets_to_json(latest) if latest else None

    def commit(self, end: OffsetJson) -> None:
        """All before `end` is processed."""
        self._plan().processed(StreamOffset.from_json(end))

    def stop(self) -> None:
        """Close the connections."""
        if self._view is not None:
            self._view.close()

    # What a batch reads

    def partitions(self, start: OffsetJson, end: OffsetJson) -> Sequence[InputPartition]:
        """One task for each partition that has records, or as many as the options ask for."""
        wanted = batch_ranges(StreamOffset.from_json(start), StreamOffset.from_json(end))
        options = self._options
        return [
            RangePartition(item)
            for item in tasks(wanted, options.min_partitions, options.max_records_per_partition)
        ]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Called on the executors."""
        # The planner does without it: every query starts one, and would wait for it.
        from gralha.spark.task_reader import read_partition

        return read_partition(self._options, partition)


def _max_records(limit: ReadLimit) -> int | None:
    if isinstance(limit, ReadAllAvailable):
        return None
    return limit.max_rows if isinstance(limit, ReadMaxRows) else OFFSET_MAX
