"""Headers of record batches (message format v2): read, checked, patched. Records stay opaque bytes.

    offset size field                      offset size field
         0    8 base offset                    27    8 base timestamp
         8    4 length (of what follows)       35    8 max timestamp
        12    4 partition leader epoch         43    8 producer id
        16    1 magic (2)                      51    2 producer epoch
        17    4 CRC-32C of byte 21 onwards     53    4 base sequence
        21    2 attributes                     57    4 record count
        23    4 last offset delta              61      records, compressed or not

The CRC covers neither the base offset nor the leader epoch, so a broker assigns both without reading the
records (`patched_header`). It computes a new CRC if it has to correct a timestamp (`timed_header`).

This module is compiled with mypyc; it also runs uncompiled.
"""

from __future__ import annotations

from typing import Final, final

from fastcrc import crc32
from librt.strings import (
    BytesWriter,
    read_i16_be,
    read_i32_be,
    read_i64_be,
    write_i16_be,
    write_i32_be,
    write_i64_be,
)
from mypy_extensions import i16, i32, i64

from gralha.protocol import compression as codecs
from gralha.protocol.errors import (
    CorruptMessageError,
    InvalidRecordError,
    UnsupportedCompressionTypeError,
)

HEADER_SIZE: Final[i64] = 61
# Where some fields of the header begin.
LENGTH_AT: Final[i64] = 8
EPOCH_AT: Final[i64] = 12
MAGIC_AT: Final[i64] = 16
LAST_OFFSET_DELTA_AT: Final[i64] = 23
MAX_TIMESTAMP_AT: Final[i64] = 35
PRODUCER_ID_AT: Final[i64] = 43
RECORD_COUNT_AT: Final[i64] = 57
# The size of base offset and length, which "length" does not count.
LOG_OVERHEAD: Final[i64] = 12
CURRENT_MAGIC: Final = 2

COMPRESSION_MASK: Final = 0x07
LOG_APPEND_TIME_FLAG: Final = 0x08
TRANSACTIONAL_FLAG: Final = 0x10
CONTROL_FLAG: Final = 0x20
DELETE_HORIZON_FLAG: Final = 0x40

NO_TIMESTAMP: Final[i64] = -1
NO_PRODUCER_ID: Final = -1
NO_PRODUCER_EPOCH: Final = -1
NO_SEQUENCE: Final[i64] = -1
SEQUENCE_MAX: Final[i64] = 2147483647
NO_LEADER_EPOCH: Final = -1

# The default limit for the decompressed bytes of one batch.
MAX_DECOMPRESSED_BYTES: Final = 128 * 1024 * 1024

# The smallest record: one byte each for size, attributes, two deltas, key, value and headers.
_SMALLEST_RECORD: Final[i64] = 7
_SIZE_UP_TO_MAGIC: Final[i64] = 17
# The smallest length that Kafka's readers accept: that of the oldest format.
_LENGTH_MIN: Final[i64] = 14
_ZSTD: Final[i64] = 4
# To copy up to this many bytes costs less than to create a view of them.
_COPY_BELOW_BYTES: Final[i64] = 4096
_crc32c: Final = crc32.iscsi


@final
class BatchHeader:
    """The fields of one batch header, as numbers."""

    def __init__(self, data: bytes, position: i64) -> None:
        self.base_offset: i64 = read_i64_be(data, position)
        self.size_bytes: i64 = i64(read_i32_be(data, position + 8)) + LOG_OVERHEAD
        self.partition_leader_epoch: i64 = i64(read_i32_be(data, position + 12))
        self.magic: i64 = data[position + 16]
        self.crc: i64 = i64(read_i32_be(data, position + 17)) & 0xFFFFFFFF
        self.attributes: i64 = i64(read_i16_be(data, position + 21))
        self.last_offset_delta: i64 = i64(read_i32_be(data, position + 23))
        self.base_timestamp: i64 = read_i64_be(data, position + 27)
        self.max_timestamp: i64 = read_i64_be(data, position + 35)
        self.producer_id: i64 = read_i64_be(data, position + 43)
        self.producer_epoch: i64 = i64(read_i16_be(data, position + 51))
        self.base_sequence: i64 = i64(read_i32_be(data, position + 53))
        self.record_count: i64 = i64(read_i32_be(data, position + 57))

    @property
    def last_offset(self) -> i64:
        return self.base_offset + self.last_offset_delta

    @property
    def next_offset(self) -> i64:
        return self.base_offset + self.last_offset_delta + 1

    @property
    def last_sequence(self) -> i64:
        """The sequence number of the last record. Sequence numbers wrap around at 2**31 - 1."""
        if self.base_sequence == NO_SEQUENCE:
            return NO_SEQUENCE
        return increment_sequence(self.base_sequence, self.last_offset_delta)

    @property
    def compression(self) -> i64:
        return self.attributes & COMPRESSION_MASK

    @property
    def is_log_append_time(self) -> bool:
        return self.attributes & LOG_APPEND_TIME_FLAG != 0

    @property
    def is_transactional(self) -> bool:
        return self.attributes & TRANSACTIONAL_FLAG != 0

    @property
    def is_control(self) -> bool:
        return self.attributes & CONTROL_FLAG != 0

    @property
    def has_delete_horizon(self) -> bool:
        """Whether the base timestamp is the time from which compaction may drop tombstones (KIP-534)."""
        return self.attributes & DELETE_HORIZON_FLAG != 0

    @property
    def has_producer_id(self) -> bool:
        return self.producer_id > NO_PRODUCER_ID

    def __repr__(self) -> str:
        return (
            f"BatchHeader(offsets=[{self.base_offset}, {self.last_offset}], count={self.record_count}, "
            f"size_bytes={self.size_bytes}, leader_epoch={self.partition_leader_epoch}, "
            f"attributes={self.attributes:#x}, timestamps=[{self.base_timestamp}, {self.max_timestamp}], "
            f"producer_id={self.producer_id}, producer_epoch={self.producer_epoch}, "
            f"base_sequence={self.base_sequence}, crc={self.crc})"
        )


def increment_sequence(sequence: i64, increment: i64) -> i64:
    """The sequence number after `increment` more records. 0 follows 2**31 - 1."""
    if sequence > SEQUENCE_MAX - increment:
        return increment - (SEQUENCE_MAX - sequence) - 1
    return sequence + increment


def read_header(data: bytes, position: i64) -> BatchHeader:
    """Read the header at `position`. Raises CORRUPT_MESSAGE if there is no whole v2 header."""
    if position < 0 or len(data) - position < HEADER_SIZE:
        raise CorruptMessageError(f"A record batch header has {HEADER_SIZE} bytes, fewer remain")
    header = BatchHeader(data, position)
    if header.magic != CURRENT_MAGIC:
        raise CorruptMessageError(f"A record batch has magic 2, not {header.magic}")
    if header.size_bytes < HEADER_SIZE:
        raise CorruptMessageError(
            f"A record batch of {header.size_bytes} bytes cannot hold its header ({HEADER_SIZE} bytes)"
        )
    return header


def batches(data: bytes, start: i64, end: i64) -> list[tuple[int, BatchHeader]]:
    """Position and header of every whole batch in the range. A cut batch at the end is left out."""
    found: list[tuple[int, BatchHeader]] = []
    position = start
    while end - position >= HEADER_SIZE:
        header = read_header(data, position)
        if header.size_bytes > end - position:
            break
        found.append((int(position), header))
        position += header.size_bytes
    return found


def produced_batch(data: bytes, start: i64, end: i64, api_version: i64) -> BatchHeader:
    """The header of the one batch that a partition may have in a Produce request.

    Kafka 4 takes exactly one v2 batch. No batch, two batches or a message set of an old format are
    INVALID_RECORD. As in Kafka, a cut second batch is ignored: the caller appends only `size_bytes` bytes.
    """
    size = end - start
    length = i64(read_i32_be(data, start + 8)) if size >= LOG_OVERHEAD else _LENGTH_MIN
    if length < _LENGTH_MIN:
        raise CorruptMessageError(f"A record batch of length {length}: no format is that short")
    if size < _SIZE_UP_TO_MAGIC or length + LOG_OVERHEAD > size:
        raise InvalidRecordError("A partition of a Produce request needs a record batch")
    magic: i64 = data[start + 16]
    if magic < CURRENT_MAGIC:
        raise InvalidRecordError(f"Produce takes record batches of magic 2, not {magic}")
    header = read_header(data, start)
    if api_version < 7 and header.attributes & COMPRESSION_MASK == _ZSTD:
        raise UnsupportedCompressionTypeError(f"Produce version {api_version} does not know zstd (7 does)")
    if header.size_bytes < size and _begins_batch(data, start + header.size_bytes, end):
        raise InvalidRecordError("A partition of a Produce request takes one record batch, not several")
    return header


def _begins_batch(data: bytes, position: i64, end: i64) -> bool:
    """Whether a whole batch of any format starts here."""
    if end - position < _SIZE_UP_TO_MAGIC:
        return False
    length = i64(read_i32_be(data, position + 8))
    magic: i64 = data[position + 16]
    if length < _LENGTH_MIN or magic > CURRENT_MAGIC:
        raise CorruptMessageError("The bytes after the record batch are not a record batch")
    return length + LOG_OVERHEAD <= end - position


def check_client_batch(header: BatchHeader) -> None:
    """Check a client's header as Kafka does, after the CRC.

    Raises INVALID_RECORD for wrong counts, offsets and sequence numbers, and for control batches.
    """
    last = header.last_offset_delta
    count = header.record_count
    if header.base_offset != 0:
        raise InvalidRecordError(f"A client's batch starts at offset 0, not {header.base_offset}")
    if last < 0:
        raise InvalidRecordError(f"The batch ends before it begins: last offset delta {last}")
    if count <= 0:
        raise InvalidRecordError(f"The batch claims to have {count} records")
    if count != last + 1:
        raise InvalidRecordError(f"The batch has {count} records at the offsets 0 to {last}")
    room = header.size_bytes - HEADER_SIZE if header.compression == 0 else i64(MAX_DECOMPRESSED_BYTES)
    if count > room // _SMALLEST_RECORD:
        raise InvalidRecordError(f"The batch claims to have {count} records in {room} bytes")
    if header.is_control:
        raise InvalidRecordError("Only brokers write control records")
    if header.producer_id > NO_PRODUCER_ID and header.base_sequence < 0:
        raise InvalidRecordError(
            f"A batch of producer {header.producer_id} has the sequence number {header.base_sequence}"
        )
    if header.compression > _ZSTD:
        raise UnsupportedCompressionTypeError(f"There is no compression type {header.compression}")


def crc_is_valid(data: bytes, position: i64, header: BatchHeader) -> bool:
    """Whether the data has the whole batch and its CRC is right."""
    end = position + header.size_bytes
    if end > len(data):
        return False
    covered: bytes | memoryview
    if header.size_bytes < _COPY_BELOW_BYTES:
        covered = data[position + 21 : end]
    else:
        covered = memoryview(data)[position + 21 : end]
    computed: i64 = _crc32c(covered)
    return computed == header.crc


def patched_header(data: bytes, position: i64, base_offset: i64, leader_epoch: i64) -> bytes:
    """The 61 header bytes with the leader's offset and epoch. The CRC does not cover these."""
    writer = BytesWriter()
    write_i64_be(writer, base_offset)
    write_i32_be(writer, read_i32_be(data, position + 8))
    write_i32_be(writer, i32(leader_epoch))
    writer.write(data[position + MAGIC_AT : position + HEADER_SIZE])
    return writer.getvalue()


def timed_header(
    data: bytes,
    position: i64,
    header: BatchHeader,
    base_offset: i64,
    leader_epoch: i64,
    max_timestamp: i64,
    is_append_time: bool,
) -> bytes:
    """As `patched_header`, with another maximum timestamp or timestamp type and a new CRC.

    With LogAppendTime the maximum is the timestamp of all records.
    """
    covered = BytesWriter()
    write_i16_be(covered, i16(_timed(header.attributes, is_append_time)))
    covered.write(data[position + 23 : position + 35])
    write_i64_be(covered, max_timestamp)
    covered.write(data[position + PRODUCER_ID_AT : position + HEADER_SIZE])
    records = memoryview(data)[position + HEADER_SIZE : position + header.size_bytes]
    return _header(base_offset, leader_epoch, covered.getvalue(), records)


def _timed(attributes: i64, is_append_time: bool) -> i64:
    return attributes | LOG_APPEND_TIME_FLAG if is_append_time else attributes & ~LOG_APPEND_TIME_FLAG


def convert_batch(
    data: bytes,
    position: i64,
    header: BatchHeader,
    plain: bytes | memoryview,
    codec: i64,
    max_timestamp: i64,
    level: int | None = None,
) -> bytes:
    """The same batch with another compression (the topic's compression.type).

    `plain` has the records without compression. `max_timestamp` is the highest of their timestamps.
    """
    payload = codecs.compress(codec, plain, level)
    covered = BytesWriter()
    write_i16_be(covered, i16(_timed(header.attributes & ~COMPRESSION_MASK | codec, False)))
    covered.write(data[position + 23 : position + 35])
    write_i64_be(covered, max_timestamp)
    covered.write(data[position + PRODUCER_ID_AT : position + HEADER_SIZE])
    return framed(header.base_offset, header.partition_leader_epoch, covered.getvalue(), payload)


def framed(base_offset: i64, leader_epoch: i64, covered: bytes, payload: bytes) -> bytes:
    """Make a whole batch from the 40 header bytes that the CRC covers and the (compressed) records."""
    return _header(base_offset, leader_epoch, covered, payload) + payload


def _header(base_offset: i64, leader_epoch: i64, covered: bytes, payload: bytes | memoryview) -> bytes:
    crc: i64 = _crc32c(payload, _crc32c(covered))
    size: i64 = len(payload)
    writer = BytesWriter()
    write_i64_be(writer, base_offset)
    write_i32_be(writer, i32(size + HEADER_SIZE - LOG_OVERHEAD))
    write_i32_be(writer, i32(leader_epoch))
    writer.append(CURRENT_MAGIC)
    write_i32_be(writer, i32((crc ^ 0x80000000) - 0x80000000))
    writer.write(covered)
    return writer.getvalue()
