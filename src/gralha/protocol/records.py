"""Records inside a batch (message format v2): decoded and encoded.

A record has a length, attributes (one byte, unused), a timestamp delta, an offset delta, a key, a value and
headers. All lengths and deltas are zigzag varints, and a length of -1 is null. The deltas refer to the batch
header, which `batches.py` reads. This module exports the names of `batches.py`, too.

Plain Python would be slow here, so the loops use only `i64`, `bytes` indexing and plain calls, which mypyc
turns into C. Compiled or not, numbers wrap around at 64 bits as in Java, so that both give the same result
for all bytes from the network.
"""

from __future__ import annotations

from typing import Final, final

from librt.strings import BytesWriter, write_i16_be, write_i32_be, write_i64_be
from mypy_extensions import i16, i32, i64, u8

from gralha.protocol import compression as codecs
from gralha.protocol.batches import (
    CONTROL_FLAG,
    HEADER_SIZE,
    LOG_APPEND_TIME_FLAG,
    MAX_DECOMPRESSED_BYTES,
    NO_LEADER_EPOCH,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    NO_TIMESTAMP,
    TRANSACTIONAL_FLAG,
    BatchHeader,
    batches,
    check_client_batch,
    convert_batch,
    crc_is_valid,
    framed,
    increment_sequence,
    patched_header,
    produced_batch,
    read_header,
    timed_header,
)
from gralha.protocol.errors import InvalidRecordError

__all__ = [
    "HEADER_SIZE",
    "MAX_DECOMPRESSED_BYTES",
    "NO_LEADER_EPOCH",
    "NO_PRODUCER_ID",
    "NO_SEQUENCE",
    "NO_TIMESTAMP",
    "BatchHeader",
    "Record",
    "batches",
    "check_client_batch",
    "convert_batch",
    "crc_is_valid",
    "decode_records",
    "encode_batch",
    "increment_sequence",
    "patched_header",
    "produced_batch",
    "read_header",
    "read_varint",
    "timed_header",
    "varint_size",
    "wrapping_sum",
    "write_varint",
]

_MAX: Final[i64] = 9223372036854775807
_LOW: Final[i64] = 0xFFFFFFFF


Headers = list[tuple[str, bytes | None]]


@final
class Record:
    """One record. `offset` and `sequence` are -1 until a log or a producer has assigned them."""

    def __init__(
        self,
        key: bytes | None,
        value: bytes | None,
        timestamp: i64 = -1,
        headers: Headers | None = None,
        offset: i64 = -1,
        sequence: i64 = -1,
    ) -> None:
        self.key: bytes | None = key
        self.value: bytes | None = value
        self.timestamp: i64 = timestamp
        self.headers: Headers = [] if headers is None else headers
        self.offset: i64 = offset
        self.sequence: i64 = sequence

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Record)
            and self.offset == other.offset
            and self.timestamp == other.timestamp
            and self.sequence == other.sequence
            and self.key == other.key
            and self.value == other.value
            and self.headers == other.headers
        )

    def __hash__(self) -> int:
        return hash((self.offset, self.timestamp, self.key, self.value))

    def __repr__(self) -> str:
        return (
            f"Record(key={self.key!r}, value={self.value!r}, timestamp={self.timestamp}, "
            f"headers={self.headers!r}, offset={self.offset}, sequence={self.sequence})"
        )


# --- numbers ------------------------------------------------------------------------------------------


def wrapping_sum(left: i64, right: i64) -> i64:
    """left + right in 64 bits. The sum wraps around as in Java. Python's own integers would grow."""
    if (left < 0) != (right < 0):
        return left + right
    low = (left & _LOW) + (right & _LOW)
    high = ((left >> 32) + (right >> 32) + (low >> 32)) & _LOW
    return ((high ^ 0x80000000) - 0x80000000) << 32 | (low & _LOW)


def read_varint(data: bytes, position: i64) -> tuple[i64, i64]:
    """The zigzag number at `position`, and the position after it. Raises IndexError if bytes are missing."""
    byte: i64 = data[position]
    position += 1
    if byte < 0x80:
        return (byte >> 1) ^ -(byte & 1), position
    value: i64 = byte & 0x7F
    shift: i64 = 7
    while shift < 63:
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (value >> 1) ^ -(value & 1), position
        shift += 7
    byte = data[position]
    if byte > 1:
        raise InvalidRecordError("A number in a record is longer than 64 bits")
    value |= -byte << 63
    return ((value >> 1) & _MAX) ^ -(value & 1), position + 1


def varint_size(value: i64) -> i64:
    rest = (value ^ (value >> 63)) >> 6
    size: i64 = 1
    while rest:
        rest >>= 7
        size += 1
    return size


def write_varint(writer: BytesWriter, value: i64) -> None:
    if 0 <= value < 64:
        writer.append(u8(value << 1))
        return
    # The first 7 bits are separate, so that no shift needs a 65th bit.
    sign = value >> 63
    rest = value ^ sign
    byte = ((rest << 1) & 0x7E) | (sign & 1)
    rest >>= 6
    while rest:
        writer.append(u8(byte | 0x80))
        byte = rest & 0x7F
        rest >>= 7
    writer.append(u8(byte))


# --- decoding -----------------------------------------------------------------------------------------


@final
class _Cursor:
    """The decompressed records of one batch, and the position of the next one."""

    def __init__(self, data: bytes, position: i64, header: BatchHeader, max_bytes: i64) -> None:
        start = position + HEADER_SIZE
        end = position + header.size_bytes
        if end > len(data):
            raise InvalidRecordError("The record batch is cut short")
        if header.record_count < 0:
            raise InvalidRecordError(f"The batch claims to have {header.record_count} records")
        codec = header.compression
        if codec:
            data = codecs.decompress(codec, memoryview(data)[start:end], max_bytes)
            start = 0
            end = len(data)
        self.data = data
        self.position: i64 = start
        self.end: i64 = end
        self.base_offset: i64 = header.base_offset
        self.base_sequence: i64 = header.base_sequence
        self.base_timestamp: i64 = header.base_timestamp
        self.append_time: i64 = header.max_timestamp
        self.is_append_time: bool = header.is_log_append_time

    def next_record(self) -> Record:
        data = self.data
        length, position = read_varint(data, self.position)
        end = position + length
        if length < 0 or length > self.end - position:
            raise _bad_record_size(length, self.end - position)
        delta, position = read_varint(data, position + 1)
        timestamp = self.append_time if self.is_append_time else wrapping_sum(self.base_timestamp, delta)
        delta, position = read_varint(data, position)
        if delta < -0x80000000 or delta > 0x7FFFFFFF:
            raise InvalidRecordError(f"The offset delta {delta} of a record is longer than 32 bits")
        key: bytes | None = None
        length, position = read_varint(data, position)
        if length >= 0:
            if length > end - position:
                raise _bad_record_size(length, end - position)
            key = data[position : position + length]
            position += length
        value: bytes | None = None
        length, position = read_varint(data, position)
        if length >= 0:
            if length > end - position:
                raise _bad_record_size(length, end - position)
            value = data[position : position + length]
            position += length
        headers: Headers = []
        length, position = read_varint(data, position)
        if length != 0:
            position = _read_headers(data, position, end, length, headers)
        if position != end:
            raise InvalidRecordError(f"A record has {end - position} bytes more than its fields")
        self.position = end
        sequence: i64 = -1
        if self.base_sequence >= 0:
            sequence = increment_sequence(self.base_sequence, delta)
        return Record(key, value, timestamp, headers, self.base_offset + delta, sequence)

    def check_end(self) -> None:
        if self.position != self.end:
            raise InvalidRecordError("The batch goes on after the last of its records")


def _premature_end() -> InvalidRecordError:
    return InvalidRecordError("The batch ends before the last of its records")


def _bad_record_size(length: i64, remaining: i64) -> InvalidRecordError:
    return InvalidRecordError(f"A record or a field of it claims {length} bytes where {remaining} remain")


def _read_headers(data: bytes, position: i64, end: i64, count: i64, headers: Headers) -> i64:
    """Add `count` headers to the list. Returns the position after them."""
    if count < 0 or count > end - position:
        raise InvalidRecordError(f"A record claims to have {count} headers")
    for _ in range(count):
        length, position = read_varint(data, position)
        if length < 0 or length > end - position:
            raise InvalidRecordError(f"The key of a header has the length {length}")
        # Kafka's clients also replace bytes that are not UTF-8.
        name = data[position : position + length].decode("utf-8", "replace")
        length, position = read_varint(data, position + length)
        if length < 0:
            headers.append((name, None))
        elif length > end - position:
            raise _bad_record_size(length, end - position)
        else:
            headers.append((name, data[position : position + length]))
            position += length
    return position


def decode_records(
    data: bytes, position: i64, header: BatchHeader, max_bytes: i64 = MAX_DECOMPRESSED_BYTES
) -> list[Record]:
    """Decode the records of the batch at `position`. They may decompress to `max_bytes` at most.

    Raises INVALID_RECORD if a record is malformed, or if the count differs from the header's.
    """
    cursor = _Cursor(data, position, header, max_bytes)
    records: list[Record] = []
    count = header.record_count
    try:
        for _ in range(count):
            records.append(cursor.next_record())
    except IndexError:
        raise _premature_end() from None
    cursor.check_end()
    return records


# --- encoding -----------------------------------------------------------------------------------------


def encode_batch(
    records: list[Record],
    *,
    base_offset: i64 = 0,
    compression: i64 = 0,
    level: int | None = None,
    append_time_ms: i64 = -1,
    producer_id: i64 = -1,
    producer_epoch: i64 = -1,
    base_sequence: i64 = -1,
    transactional: bool = False,
    control: bool = False,
    leader_epoch: i64 = -1,
) -> bytes:
    """Encode one batch of these records, with consecutive offsets from `base_offset` on.

    With `append_time_ms` all records have that timestamp (LogAppendTime), not their own.
    """
    base_timestamp: i64 = -1
    max_timestamp: i64 = -1
    if len(records) > 0:
        base_timestamp = records[0].timestamp
        max_timestamp = base_timestamp
    body = BytesWriter()
    offset_delta: i64 = 0
    for record in records:
        if record.timestamp > max_timestamp:
            max_timestamp = record.timestamp
        _write_record(body, record, offset_delta, base_timestamp)
        offset_delta += 1
    attributes = compression
    if append_time_ms >= 0:
        attributes |= LOG_APPEND_TIME_FLAG
        max_timestamp = append_time_ms
    if transactional:
        attributes |= TRANSACTIONAL_FLAG
    if control:
        attributes |= CONTROL_FLAG
    payload = body.getvalue()
    if compression:
        payload = codecs.compress(compression, payload, level)
    covered = BytesWriter()
    write_i16_be(covered, i16(attributes))
    write_i32_be(covered, i32(offset_delta - 1))
    write_i64_be(covered, base_timestamp)
    write_i64_be(covered, max_timestamp)
    write_i64_be(covered, producer_id)
    write_i16_be(covered, i16(producer_epoch))
    write_i32_be(covered, i32(base_sequence))
    write_i32_be(covered, i32(offset_delta))
    return framed(base_offset, leader_epoch, covered.getvalue(), payload)


def _write_record(writer: BytesWriter, record: Record, offset_delta: i64, base_timestamp: i64) -> None:
    # a - b as a + ~b + 1, because -b may not fit into 64 bits
    timestamp_delta = wrapping_sum(wrapping_sum(record.timestamp, ~base_timestamp), 1)
    headers = _encoded_headers(record.headers) if record.headers else b"\x00"
    size = 1 + varint_size(timestamp_delta) + varint_size(offset_delta)
    size += _bytes_size(record.key) + _bytes_size(record.value) + len(headers)
    write_varint(writer, size)
    writer.append(0)
    write_varint(writer, timestamp_delta)
    write_varint(writer, offset_delta)
    _write_bytes(writer, record.key)
    _write_bytes(writer, record.value)
    writer.write(headers)


def _encoded_headers(headers: Headers) -> bytes:
    writer = BytesWriter()
    write_varint(writer, len(headers))
    for name, value in headers:
        _write_bytes(writer, name.encode("utf-8"))
        _write_bytes(writer, value)
    return writer.getvalue()


def _bytes_size(value: bytes | None) -> i64:
    if value is None:
        return 1
    size: i64 = len(value)
    return varint_size(size) + size


def _write_bytes(writer: BytesWriter, value: bytes | None) -> None:
    if value is None:
        write_varint(writer, -1)
    else:
        write_varint(writer, len(value))
        writer.write(value)
