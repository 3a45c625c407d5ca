"""Collects fetched record batches for one Arrow batch.

A chunk collects whole record batches until it has enough rows or bytes. Uncompressed batches are not copied:
consecutive batches of one response are one part of the chunk. Each compressed batch is decompressed to its
own part. Several parts are joined once, when the Arrow batch is made. The bounds of keys and values refer to
the joined bytes from the beginning.
"""

from typing import Final

import pyarrow as pa

from gralha.client.arrow_records import ArrowRecords
from gralha.client.record_columns import RecordColumns
from gralha.protocol import compression
from gralha.protocol.batches import HEADER_SIZE, BatchHeader

# A chunk with large records is full before it has all rows.
CHUNK_BYTES: Final = 32 * 1024 * 1024
# The limit for one decompressed batch. Bounds are 32-bit numbers, so a chunk and one such batch must fit.
MAX_DECOMPRESSED_BYTES: Final = 1024 * 1024 * 1024


class RecordChunk:
    """The rows of the next Arrow batch of one partition, with offsets from `first` to `until` (exclusive)."""

    def __init__(self, records: ArrowRecords, rows: int, first: int, until: int, with_headers: bool) -> None:
        self._records = records
        self._rows = rows
        self._first = first
        self._until = until
        self._with_headers = with_headers
        self._clear()

    def _clear(self) -> None:
        self._columns = RecordColumns(self._with_headers)
        self._parts: list[tuple[bytes, int, int]] = []
        self._size_bytes = 0
        self._timestamp_type = -1

    @property
    def is_full(self) -> bool:
        return self._columns.count >= self._rows or self._size_bytes >= CHUNK_BYTES

    def suits(self, header: BatchHeader) -> bool:
        """Returns True if a batch may be added. All batches of a chunk have the same timestamp type."""
        return self._columns.count == 0 or self._timestamp_type == int(header.is_log_append_time)

    def add(self, data: bytes, position: int, header: BatchHeader) -> None:
        """Adds the records of the batch at `position`."""
        self._timestamp_type = int(header.is_log_append_time)
        start = position + HEADER_SIZE
        end = position + header.size_bytes
        if header.compression:
            data = compression.decompress(
                header.compression, memoryview(data)[start:end], MAX_DECOMPRESSED_BYTES
            )
            start, end = 0, len(data)
        shift = self._place(data, start, end)
        self._columns.add_records(data, start, end, header, self._first, self._until, shift)

    def _place(self, data: bytes, start: int, end: int) -> int:
        """Adds bytes to the chunk. Returns the difference between a position in the chunk and in `data`."""
        if self._parts and self._parts[-1][0] is data:
            _, part_start, part_end = self._parts[-1]
            self._parts[-1] = (data, part_start, end)
            self._size_bytes += end - part_end
            return self._size_bytes - end
        self._parts.append((data, start, end))
        self._size_bytes += end - start
        return self._size_bytes - end

    def take(self) -> list[pa.RecordBatch]:
        """The collected rows, in batches of less than twice the wanted number of rows."""
        columns, rows = self._columns, self._rows
        if columns.count == 0:
            self._clear()
            return []
        batch = self._records.batch(columns, self._joined(), self._timestamp_type)
        self._clear()
        pieces = max(1, batch.num_rows // rows)
        starts = [piece * rows for piece in range(pieces)]
        lengths = [rows] * (pieces - 1) + [batch.num_rows - starts[-1]]
        return [batch.slice(start, length) for start, length in zip(starts, lengths, strict=True)]

    def _joined(self) -> pa.Buffer:
        if len(self._parts) == 1:
            data, start, end = self._parts[0]
            return pa.py_buffer(data).slice(start, end - start)
        return pa.py_buffer(b"".join(memoryview(data)[start:end] for data, start, end in self._parts))
