"""The work of a task: reads one range of offsets as Arrow batches."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import pyarrow as pa
from pyspark.sql.datasource import InputPartition

from gralha.client.bulk_reader import BulkReader
from gralha.client.errors import OffsetsLostError, TopicDeletedError, TopicRecreatedError
from gralha.client.settings import ClientSettings
from gralha.client.values import OffsetRange
from gralha.spark import worker_process
from gralha.spark.data_loss import DataLossPolicy, lost_in_task
from gralha.spark.options import SourceOptions
from gralha.spark.splitting import RangePartition

# The readers of this worker process, which runs one task after another. A new connection costs as much as
# reading some ten thousand rows. Only the most recently used settings are kept.
_readers: dict[tuple[ClientSettings, bool], BulkReader] = {}
READERS_KEPT: Final = 4


@contextmanager
def _reader(settings: ClientSettings, include_headers: bool) -> Iterator[BulkReader]:
    """A reader for one task. It is kept for the next task, unless the task failed or was cancelled."""
    key = (settings, include_headers)
    reader = _readers.pop(key, None) or BulkReader(
        settings, include_headers=include_headers, waits_for_first_answer=True
    )
    try:
        yield reader
    except BaseException:
        reader.close()
        raise
    _readers[key] = reader
    while len(_readers) > READERS_KEPT:
        _readers.pop(next(iter(_readers))).close()


def read_partition(options: SourceOptions, partition: InputPartition) -> Iterator[pa.RecordBatch]:
    """The records of a task. Spark makes a task even if there is nothing to read."""
    worker_process.settle()
    if isinstance(partition, RangePartition):
        yield from read_range(options, partition.range)


def read_range(options: SourceOptions, wanted: OffsetRange) -> Iterator[pa.RecordBatch]:
    """The records of a range. Lost records are an error, or are skipped with failOnDataLoss=false."""
    policy = DataLossPolicy(options.fail_on_data_loss, streaming=options.streaming)
    with _reader(options.client_settings(), options.include_headers) as reader:
        while wanted.start < wanted.end:
            try:
                yield from reader.read(wanted)
                return
            except OffsetsLostError as error:
                policy.report([lost_in_task(error)])
                if error.log_start_offset <= error.wanted:
                    return
                wanted = wanted._replace(start=error.log_start_offset)
            except (TopicRecreatedError, TopicDeletedError) as error:
                policy.report([lost_in_task(error)])
                return
