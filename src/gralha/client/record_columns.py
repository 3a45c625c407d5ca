"""Converts record batches to columns: the bounds of keys and values, the offsets and times of records.

A record becomes a few numbers and no Python object. Keys and values are not copied: `bounds` has the
positions where each key and each value begins and ends. These positions are ascending, so they are the
offsets of an Arrow binary array over the bytes of the batches. Every other element of that array is a gap.
`arrow_records` uses Arrow to pick the keys and the values.

    record   |len|attr|dt|do|klen| key |vlen|  value  |headers|
    bounds                       ^     ^    ^         ^

Null keys and values are empty ranges, with a zero in `has_key` or `has_value`, which have a byte per record.
Headers, if wanted, have a second set of bounds.

This module is compiled with mypyc; it also runs uncompiled.
"""

from __future__ import annotations

from typing import Final, final

from librt.strings import BytesWriter, write_i32_le, write_i64_le
from mypy_extensions import i32, i64

from gralha.protocol.batches import BatchHeader
from gralha.protocol.errors import InvalidRecordError
from gralha.protocol.records import read_varint, wrapping_sum

# A time outside of these does not fit into 64 bits as microseconds.
_MILLISECONDS_MAX: Final[i64] = 9223372036854775
_MILLISECONDS_MIN: Final[i64] = -9223372036854775


@final
class RecordColumns:
    """Columns of little-endian numbers, in the format that Arrow buffers have."""

    def __init__(self, with_headers: bool = False) -> None:
        self.with_headers: bool = with_headers
        self.count: i64 = 0
        self.null_keys: i64 = 0
        self.null_values: i64 = 0
        # int32: key start, key end, value start, value end
        self.bounds: BytesWriter = BytesWriter()
        self.has_key: BytesWriter = BytesWriter()
        self.has_value: BytesWriter = BytesWriter()
        # int64: offsets, and microseconds since 1970
        self.offsets: BytesWriter = BytesWriter()
        self.timestamps: BytesWriter = BytesWriter()
        # int32: the number of headers before each record, and the bounds of each header
        self.header_count: i64 = 0
        self.null_header_values: i64 = 0
        self.header_starts: BytesWriter = BytesWriter()
        self.has_headers: BytesWriter = BytesWriter()
        self.header_bounds: BytesWriter = BytesWriter()
        self.has_header_value: BytesWriter = BytesWriter()

    def add_records(
        self, data: bytes, position: i64, end: i64, header: BatchHeader, first: i64, until: i64, shift: i64
    ) -> None:
        """Adds the records of a batch, which are uncompressed and between two positions.

        Only offsets from `first` to `until` (exclusive) are added. `shift` is added to all bounds. Raises
        INVALID_RECORD for malformed records; then no record of the batch is added.
        """
        if end > len(data):
            raise InvalidRecordError("The record batch is truncated")
        count = self.count
        nulls = (self.null_keys, self.null_values, self.null_header_values)
        header_count = self.header_count
        try:
            self._walk(data, position, end, header, first, until, shift)
        except (IndexError, InvalidRecordError) as error:
            self._truncate(count, header_count)
            self.null_keys, self.null_values, self.null_header_values = nulls
            if isinstance(error, InvalidRecordError):
                raise
            raise InvalidRecordError("The batch ends before the last of its records") from None

    def _truncate(self, count: i64, header_count: i64) -> None:
        """Removes all records and headers after this many."""
        self.count = count
        self.header_count = header_count
        self.bounds.truncate(16 * count)
        self.has_key.truncate(count)
        self.has_value.truncate(count)
        self.offsets.truncate(8 * count)
        self.timestamps.truncate(8 * count)
        self.header_bounds.truncate(16 * header_count)
        self.has_header_value.truncate(header_count)
        if self.with_headers:
            self.header_starts.truncate(4 * count)
            self.has_headers.truncate(count)

    def _walk(
        self, data: bytes, position: i64, end: i64, header: BatchHeader, first: i64, until: i64, shift: i64
    ) -> None:
        offsets = self.offsets
        timestamps = self.timestamps
        base_offset = header.base_offset
        last_delta = header.last_offset_delta
        base_timestamp = header.base_timestamp
        is_append_time = header.is_log_append_time
        append_time = microseconds(header.max_timestamp)
        remaining = header.record_count
        while remaining > 0:
            remaining -= 1
            length, position = read_varint(data, position)
            if length < 0 or length > end - position:
                raise bad_size(length, end - position)
            record_end = position + length
            delta, position = read_varint(data, position + 1)
            timestamp = append_time
            if not is_append_time:
                timestamp = microseconds(wrapping_sum(base_timestamp, delta))
            delta, position = read_varint(data, position)
            if delta < 0 or delta > last_delta:
                raise InvalidRecordError(
                    f"A record has the offset delta {delta}, but the last one is {last_delta}"
                )
            offset = base_offset + delta
            if offset >= first and offset < until:
                position = self._add_fields(data, position, record_end, shift)
                write_i64_le(offsets, offset)
                write_i64_le(timestamps, timestamp)
                self.count += 1
                if self.with_headers:
                    self._add_headers(data, position, record_end, shift)
            position = record_end
        if position != end:
            raise InvalidRecordError("The batch has bytes after its last record")

    def _add_fields(self, data: bytes, position: i64, end: i64, shift: i64) -> i64:
        """Adds the bounds of a record's key and value. Returns the position after them."""
        bounds = self.bounds
        length, start = read_varint(data, position)
        if length > end - start:
            raise bad_size(length, end - start)
        write_i32_le(bounds, i32(start + shift))
        if length >= 0:
            start += length
            self.has_key.append(1)
        else:
            self.has_key.append(0)
            self.null_keys += 1
        write_i32_le(bounds, i32(start + shift))
        length, start = read_varint(data, start)
        # The length of a null value may have been read from after the end of the record.
        if length > end - start or start > end:
            raise bad_size(length, end - start)
        write_i32_le(bounds, i32(start + shift))
        if length >= 0:
            start += length
            self.has_value.append(1)
        else:
            self.has_value.append(0)
            self.null_values += 1
        write_i32_le(bounds, i32(start + shift))
        return start

    def _add_headers(self, data: bytes, position: i64, end: i64, shift: i64) -> None:
        bounds = self.header_bounds
        write_i32_le(self.header_starts, i32(self.header_count))
        count, position = read_varint(data, position)
        if count < 0 or count > end - position:
            raise InvalidRecordError(f"A record claims to have {count} headers")
        self.has_headers.append(1 if count > 0 else 0)
        self.header_count += count
        while count > 0:
            count -= 1
            length, position = read_varint(data, position)
            if length < 0 or length > end - position:
                raise bad_size(length, end - position)
            write_i32_le(bounds, i32(position + shift))
            position += length
            write_i32_le(bounds, i32(position + shift))
            length, position = read_varint(data, position)
            if length > end - position:
                raise bad_size(length, end - position)
            write_i32_le(bounds, i32(position + shift))
            if length >= 0:
                position += length
                self.has_header_value.append(1)
            else:
                self.null_header_values += 1
                self.has_header_value.append(0)
            write_i32_le(bounds, i32(position + shift))
        if position != end:
            raise InvalidRecordError(f"A record has {end - position} bytes more than its fields")


def microseconds(timestamp_ms: i64) -> i64:
    """A time in Arrow's unit. A time that does not fit becomes the nearest one that does."""
    if timestamp_ms > _MILLISECONDS_MAX:
        timestamp_ms = _MILLISECONDS_MAX
    elif timestamp_ms < _MILLISECONDS_MIN:
        timestamp_ms = _MILLISECONDS_MIN
    return timestamp_ms * 1000


def bad_size(length: i64, remaining: i64) -> InvalidRecordError:
    return InvalidRecordError(f"A record or a field of it claims {length} bytes where {remaining} remain")
