"""What a leader demands of a batch before it assigns offsets to it; Kafka's counterpart is LogValidator.

The header alone decides almost always. The records are walked only where a setting of the topic needs it:
a compacted topic (each record has a key), a limit on old timestamps, another compression type.
"""

from __future__ import annotations

from typing import Final

from mypy_extensions import i64

from gralha.protocol.batches import check_client_batch
from gralha.protocol.errors import (
    CorruptMessageError,
    InvalidRecordError,
    InvalidTimestampError,
    MessageTooLargeError,
    RecordListTooLargeError,
)
from gralha.protocol.records import (
    BatchHeader,
    RecordsRejectedError,
    check_records,
    convert_batch,
    crc_is_valid,
    read_header,
)
from gralha.storage.config import LONG_MAX, PRODUCER_COMPRESSION, LogConfig

# Who appends: a client's Produce request, a coordinator of this broker, or the leader of the quorum.
CLIENT: Final[i64] = 0
COORDINATOR: Final[i64] = 1
RAFT_LEADER: Final[i64] = 2

_HEADER_SIZE: Final[i64] = 61
_LONG_MAX: Final[i64] = LONG_MAX
# A batch may decompress to this many times max.message.bytes, and at least to some megabytes.
_NAMED_BATCH_BYTES_MAX: Final[i64] = 64 * 1024
_EXPANSION_MAX: Final[i64] = 128
_DECOMPRESSED_MIN: Final[i64] = 16 * 1024 * 1024
_DECOMPRESSED_MAX: Final[i64] = 1024 * 1024 * 1024


def check_batch(
    data: bytes, position: i64, end: i64, config: LogConfig, origin: i64, name: str
) -> BatchHeader:
    """The header of the batch at the position, if it is whole, sound and not too large."""
    if end - position < _HEADER_SIZE:
        raise InvalidRecordError(f"There is no whole record batch in the append to {name}")
    header = read_header(data, position)
    if header.size_bytes > end - position:
        raise InvalidRecordError(f"There is no whole record batch in the append to {name}")
    if header.size_bytes > config.max_message_bytes:
        raise MessageTooLargeError(
            f"The record batch size in the append to {name} is {header.size_bytes} bytes which exceeds the "
            f"maximum configured value of {config.max_message_bytes}."
        )
    if not crc_is_valid(data, position, header):
        raise CorruptMessageError(f"Record is corrupt (stored crc = {header.crc}) in topic partition {name}.")
    if origin == CLIENT:
        # After the CRC: a flipped bit is CORRUPT_MESSAGE, which the client tries again, not INVALID_RECORD.
        check_client_batch(header)
    return header


def check_only_batch(data: bytes, position: i64, end: i64, name: str) -> None:
    """Refuse a second batch after the first; a cut one is ignored, as Kafka does."""
    if end - position >= _HEADER_SIZE and read_header(data, position).size_bytes <= end - position:
        raise InvalidRecordError(f"There is more than one record batch in the append to {name}")


def needs_walk(header: BatchHeader, config: LogConfig) -> bool:
    """Whether the header does not tell enough."""
    if config.compact and not header.is_control:
        return True
    if config.timestamp_before_max_ms != _LONG_MAX and not config.log_append_time:
        return True
    return needs_recompression(header, config)


def needs_recompression(header: BatchHeader, config: LogConfig) -> bool:
    codec = config.compression_type
    return codec != PRODUCER_COMPRESSION and codec != header.compression and not header.is_control


def check_timestamps(data: bytes, position: i64, header: BatchHeader, config: LogConfig, now_ms: i64) -> None:
    """Refuse a batch from too far in the future, or one that claims a time only a broker may assign."""
    if header.is_log_append_time:
        raise InvalidTimestampError(
            "Invalid timestamp type in a record batch. Producer should not set timestamp type to "
            "LogAppendTime."
        )
    if not config.log_append_time and header.max_timestamp - now_ms > config.timestamp_after_max_ms:
        # Naming the records is a service for small batches only: a client must not make us decompress one
        # that is refused anyway.
        if header.compression == 0 and header.size_bytes <= _NAMED_BATCH_BYTES_MAX:
            walk_records(data, position, header, config, now_ms)
        raise RecordsRejectedError([], untimely=True)


def walk_records(data: bytes, position: i64, header: BatchHeader, config: LogConfig, now_ms: i64) -> None:
    """Check each record: its key on a compacted topic, its timestamp by the topic's limits."""
    timestamp_min: i64 = -_LONG_MAX
    timestamp_max: i64 = _LONG_MAX
    if not config.log_append_time:
        if config.timestamp_before_max_ms < now_ms:
            timestamp_min = now_ms - config.timestamp_before_max_ms
        if config.timestamp_after_max_ms < _LONG_MAX - now_ms:
            timestamp_max = now_ms + config.timestamp_after_max_ms
    check_records(
        data, position, header, config.compact, _decompressed_max(config), timestamp_min, timestamp_max
    )


def recompress(data: bytes, position: i64, header: BatchHeader, config: LogConfig, name: str) -> bytes:
    """The batch in the topic's own compression type."""
    codec = config.compression_type
    batch = convert_batch(
        data, position, header, codec, config.compression_level(codec), _decompressed_max(config)
    )
    if len(batch) > config.max_message_bytes:
        raise MessageTooLargeError(
            f"Message batch size is {len(batch)} bytes in append to partition {name} which exceeds the "
            f"maximum configured size of {config.max_message_bytes}."
        )
    return batch


def check_fits_segment(size_bytes: i64, config: LogConfig, name: str) -> None:
    if size_bytes > config.segment_bytes:
        raise RecordListTooLargeError(
            f"Message batch size is {size_bytes} bytes in append to partition {name}, which exceeds the "
            f"maximum configured segment size of {config.segment_bytes}."
        )


def _decompressed_max(config: LogConfig) -> i64:
    return min(max(config.max_message_bytes * _EXPANSION_MAX, _DECOMPRESSED_MIN), _DECOMPRESSED_MAX)
