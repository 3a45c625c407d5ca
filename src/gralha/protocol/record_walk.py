"""Reads the records of a batch by key, and writes the batch again with fewer records.

This is for compaction, which looks at the key of every record of a log and keeps most of them. Records are
neither decoded nor encoded, but copied in runs of bytes. That works because the new batch keeps its base
offset, its base timestamp and its last offset (and so its sequence numbers), to which all deltas refer. Only
a delete horizon (KIP-534) replaces the base timestamp, and then the deltas are written again.

This module is compiled with mypyc; it also runs uncompiled.
"""

from __future__ import annotations

from typing import final

from librt.strings import BytesWriter, write_i16_be, write_i32_be, write_i64_be
from mypy_extensions import i16, i32, i64

from gralha.protocol import compression as codecs
from gralha.protocol.batches import (
    COMPRESSION_MASK,
    DELETE_HORIZON_FLAG,
    HEADER_SIZE,
    MAX_DECOMPRESSED_BYTES,
    NO_TIMESTAMP,
    BatchHeader,
    framed,
)
from gralha.protocol.errors import InvalidRecordError
from gralha.protocol.records import read_varint, varint_size, wrapping_sum, write_varint


@final
class RecordWalk:
    """The records of one batch, decompressed. `advance` moves to the next one."""

    def __init__(
        self, data: bytes, position: i64, header: BatchHeader, max_bytes: i64 = MAX_DECOMPRESSED_BYTES
    ) -> None:
        start = position + HEADER_SIZE
        end = position + header.size_bytes
        if end > len(data):
            raise InvalidRecordError("The record batch is cut short")
        codec = header.compression
        if codec:
            data = codecs.decompress(codec, memoryview(data)[start:end], max_bytes)
            start = 0
            end = len(data)
        self.data = data
        self.base_offset: i64 = header.base_offset
        self.remaining: i64 = header.record_count
        self.end: i64 = end
        # The current record: its start and end, and the fields that compaction needs.
        self.record_start: i64 = start
        self.record_end: i64 = start
        self.offset: i64 = -1
        self.timestamp_delta: i64 = 0
        self.key: bytes | None = None
        self.has_value = False

    def advance(self) -> bool:
        """Moves to the next record. Returns False after the last one. Raises INVALID_RECORD if it is
        malformed.
        """
        if self.remaining <= 0:
            if self.record_end != self.end:
                raise InvalidRecordError("The batch goes on after the last of its records")
            return False
        try:
            self._read()
        except IndexError:
            raise InvalidRecordError("The batch ends before the last of its records") from None
        self.remaining -= 1
        return True

    def _read(self) -> None:
        data = self.data
        start = self.record_end
        length, position = read_varint(data, start)
        end = position + length
        if length < 0 or end > self.end:
            raise InvalidRecordError(f"A record claims {length} bytes where {self.end - position} remain")
        self.timestamp_delta, position = read_varint(data, position + 1)
        delta, position = read_varint(data, position)
        length, position = read_varint(data, position)
        if length < 0:
            self.key = None
        else:
            if length > end - position:
                raise InvalidRecordError(f"A key claims {length} bytes where {end - position} remain")
            self.key = data[position : position + length]
            position += length
        length, position = read_varint(data, position)
        self.has_value = length >= 0
        self.offset = self.base_offset + delta
        self.record_start = start
        self.record_end = end


def batch_of_rest(
    header: BatchHeader, records: bytes, count: i64, max_timestamp: i64, delete_horizon_ms: i64
) -> bytes:
    """The batch with only `count` of its records (their uncompressed bytes), with the same compression.

    A delete horizon (not -1) replaces the base timestamp.
    """
    attributes = header.attributes
    base_timestamp = header.base_timestamp
    if delete_horizon_ms >= 0:
        records = _with_base_timestamp(records, count, base_timestamp, delete_horizon_ms)
        base_timestamp = delete_horizon_ms
        attributes |= DELETE_HORIZON_FLAG
    codec = header.compression
    if codec:
        records = codecs.compress(codec, records)
    return _framed(header, attributes, base_timestamp, max_timestamp, count, records)


def batch_of_none(header: BatchHeader) -> bytes:
    """The batch without records. It keeps its offsets and sequence numbers."""
    attributes = header.attributes & ~COMPRESSION_MASK & ~DELETE_HORIZON_FLAG
    return _framed(header, attributes, NO_TIMESTAMP, header.max_timestamp, 0, b"")


def _with_base_timestamp(records: bytes, count: i64, old: i64, new: i64) -> bytes:
    """The records with timestamp deltas for another base timestamp."""
    # old - new as old + ~new + 1, because -new may not fit into 64 bits
    shift = wrapping_sum(wrapping_sum(old, ~new), 1)
    writer = BytesWriter()
    position: i64 = 0
    while count > 0:
        length, position = read_varint(records, position)
        end = position + length
        delta, rest = read_varint(records, position + 1)
        delta = wrapping_sum(delta, shift)
        write_varint(writer, 1 + varint_size(delta) + end - rest)
        writer.append(records[position])
        write_varint(writer, delta)
        writer.write(records[rest:end])
        position = end
        count -= 1
    return writer.getvalue()


def _framed(
    header: BatchHeader,
    attributes: i64,
    base_timestamp: i64,
    max_timestamp: i64,
    count: i64,
    payload: bytes,
) -> bytes:
    covered = BytesWriter()
    write_i16_be(covered, i16(attributes))
    write_i32_be(covered, i32(header.last_offset_delta))
    write_i64_be(covered, base_timestamp)
    write_i64_be(covered, max_timestamp)
    write_i64_be(covered, header.producer_id)
    write_i16_be(covered, i16(header.producer_epoch))
    write_i32_be(covered, i32(header.base_sequence))
    write_i32_be(covered, i32(count))
    return framed(header.base_offset, header.partition_leader_epoch, covered.getvalue(), payload)
