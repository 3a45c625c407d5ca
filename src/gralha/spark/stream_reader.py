"""Streaming queries: `spark.readStream.format("gralha")`, as Spark calls it.

Spark has one reader in a process beside its driver, which plans (`stream_planner.py`). It sends copies to the
executors, which only read. So the planner is created when it is needed.

Here is what every version of Spark calls. Spark asks for the end of the next batch in two ways: see
`limited_reader.py` (4.2 and later) and `remembering_reader.py` (4.1).
"""

from collections.abc import Iterator, Sequence

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition

from gralha.spark.bound_offsets import starting_offsets
from gralha.spark.bounds import without_topics
from gralha.spark.offsets import OffsetJson, StreamOffset, batch_ranges
from gralha.spark.option_values import OFFSET_MAX
from gralha.spark.options import SourceOptions
from gralha.spark.splitting import RangePartition, tasks
from gralha.spark.stream_planner import StreamPlanner
from gralha.spark.subscription import includes
from gralha.spark.topic_view import TopicView
from gralha.spark.versions import LIMITS_BATCHES, spark_version


def stream_reader(options: SourceOptions) -> "StreamReader":
    """The reader for this version of Spark."""
    if spark_version() >= LIMITS_BATCHES:
        from gralha.spark.limited_reader import LimitedReader

        return LimitedReader(options)
    from gralha.spark.remembering_reader import RememberingReader

    return RememberingReader(options)


class StreamReader(DataSourceStreamReader):
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

    def _max_records(self) -> int | None:
        """The limit of the options, None without one. The planner knows more, such as the last duration."""
        options = self._options
        if options.max_offsets_per_trigger is not None:
            return options.max_offsets_per_trigger
        if options.target_batch_duration_ms is not None or options.min_offsets_per_trigger is not None:
            return OFFSET_MAX
        return None

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
