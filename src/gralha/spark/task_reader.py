"""What a task does: it reads one range of offsets as Arrow batches."""

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql.datasource import InputPartition

from gralha.client.bulk_reader import BulkReader, OffsetRange
from gralha.client.errors import OffsetsLostError, TopicRecreatedError
from gralha.spark.data_loss import DataLossPolicy, lost_in_task
from gralha.spark.options import SourceOptions


@dataclass
class RangePartition(InputPartition):
    """The part of a batch that one task reads."""

    range: OffsetRange


def read_partition(options: SourceOptions, partition: InputPartition) -> Iterator[pa.RecordBatch]:
    """The records of a task. Spark makes a task even where there is nothing to read."""
    if isinstance(partition, RangePartition):
        yield from read_range(options, partition.range)


def read_range(options: SourceOptions, wanted: OffsetRange) -> Iterator[pa.RecordBatch]:
    """The records of a range. What is gone by now is an error; failOnDataLoss=false passes over it."""
    policy = DataLossPolicy(options.fail_on_data_loss)
    with BulkReader(options.client_settings(), include_headers=options.include_headers) as reader:
        while wanted.start < wanted.end:
            try:
                yield from reader.read(wanted)
                return
            except OffsetsLostError as error:
                policy.report([lost_in_task(error)])
                if error.log_start_offset <= error.wanted:
                    return
                wanted = wanted._replace(start=error.log_start_offset)
            except TopicRecreatedError as error:
                policy.report([lost_in_task(error)])
                return
