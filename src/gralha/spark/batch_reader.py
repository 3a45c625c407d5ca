"""Batch queries: `spark.read.format("gralha")` reads each partition from one offset to another."""

from collections.abc import Iterator, Sequence

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, InputPartition

from gralha.client.values import OffsetRange
from gralha.spark.bound_offsets import ending_offsets, starting_offsets
from gralha.spark.data_loss import DataLossPolicy
from gralha.spark.offsets import topic_id_bytes
from gralha.spark.options import SourceOptions
from gralha.spark.splitting import RangePartition, tasks
from gralha.spark.topic_view import TopicView


class GralhaBatchReader(DataSourceReader):
    """Plans the ranges on the driver. Each task reads one of them."""

    def __init__(self, options: SourceOptions) -> None:
        self._options = options

    def partitions(self) -> Sequence[InputPartition]:
        """One task for each partition with records, or as many as the options say."""
        view = TopicView(self._options.client_settings(), self._options.subscription)
        try:
            wanted = self._ranges(view)
        finally:
            view.close()
        options = self._options
        return [
            RangePartition(item)
            for item in tasks(wanted, options.min_partitions, options.max_records_per_partition)
        ]

    def _ranges(self, view: TopicView) -> list[OffsetRange]:
        options = self._options
        topics = view.partitions()
        # In this order, a log that grows meanwhile does not look like one that lost records.
        earliest = view.earliest(topics.partitions)
        start = starting_offsets(view, topics.partitions, options.starting, options.timestamp_strategy)
        end = ending_offsets(view, topics.partitions, options.ending)
        latest = view.latest(topics.partitions)
        policy = DataLossPolicy(options.fail_on_data_loss, streaming=options.streaming)
        ranges = []
        for partition in sorted(topics.partitions):
            first, last = start[partition], end[partition]
            if first < last and first < earliest.get(partition, 0):
                policy.report(
                    [f"Partition {partition} begins at offset {earliest[partition]}, not at {first}."]
                )
                first = earliest[partition]
            if first < last and partition in latest and latest[partition] < last:
                policy.report([f"Partition {partition} ends at offset {latest[partition]}, not at {last}."])
                last = latest[partition]
            topic_id = topic_id_bytes(topics.topic_ids.get(partition.topic))
            ranges.append(OffsetRange(*partition, first, last, topic_id))
        return ranges

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Called on the executors."""
        # The planner does not need this import. Every query starts a planner and would wait for the import.
        from gralha.spark.task_reader import read_partition

        return read_partition(self._options, partition)
