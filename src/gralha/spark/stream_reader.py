"""Streaming queries: `spark.readStream.format("gralha")`, as Spark calls it.

Spark has one object of this class in a process beside its driver, which plans (`stream_planner.py`). It sends
copies to the executors, which only read. So the planner is created when it is needed.
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

    # The position of the stream

    def initialOffset(self) -> OffsetJson:  # noqa: N802
        """The start of a new query.

        Spark calls this also if the first batch is repeated. A repeated batch knows its start, so a topic
        that is gone must not stop it. For a new query the planner reports the missing topic.
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
        """The limit of the options. The planner knows more, such as the duration of the last batch."""
        options = self._options
        if options.max_offsets_per_trigger is not None:
            return ReadMaxRows(options.max_offsets_per_trigger)
        if options.target_batch_duration_ms is not None:
            return ReadMaxRows(OFFSET_MAX)
        if options.min_offsets_per_trigger is not None:
            return ReadMinRows(options.min_offsets_per_trigger)
        return ReadAllAvailable()

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """The query ends with the records that exist now."""
        self._plan().stop_at_what_is_there_now()

    def latestOffset(self, start: OffsetJson, limit: ReadLimit) -> OffsetJson:  # noqa: N802
        """The end of the next batch, or `start` if there is nothing to read."""
        begin = StreamOffset.from_json(start)
        end = self._plan().next_offset(begin, _max_records(limit))
        return start if end is begin else end.to_json()

    def reportLatestOffset(self) -> OffsetJson | None:  # noqa: N802
        """The ends of the topics, for Spark's progress. The difference to the end of a batch is the lag."""
        latest = None if self._planner is None else self._planner.latest
        return offsets_to_json(latest) if latest else None

    def commit(self, end: OffsetJson) -> None:
        """All records before `end` are processed."""
        self._plan().processed(StreamOffset.from_json(end))

    def stop(self) -> None:
        """Closes the connections."""
        if self._view is not None:
            self._view.close()

    # The records of a batch

    def partitions(self, start: OffsetJson, end: OffsetJson) -> Sequence[InputPartition]:
        """One task for each partition with records, or as many as the options say."""
        wanted = batch_ranges(StreamOffset.from_json(start), StreamOffset.from_json(end))
        options = self._options
        return [
            RangePartition(item)
            for item in tasks(wanted, options.min_partitions, options.max_records_per_partition)
        ]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Called on the executors."""
        # The planner does not need this import. Every query starts a planner and would wait for the import.
        from gralha.spark.task_reader import read_partition

        return read_partition(self._options, partition)


def _max_records(limit: ReadLimit) -> int | None:
    if isinstance(limit, ReadAllAvailable):
        return None
    return limit.max_rows if isinstance(limit, ReadMaxRows) else OFFSET_MAX
