"""What a leader demands of a batch before it assigns offsets to it; Kafka's counterpart is LogValidator.

A client's batch goes through a `BatchCheck`:

    DECOMPRESS   The records are decompressed. A batch without compression begins with the next step.
    WALK         Every record is checked (`protocol/record_check.py`), in slices.
    COMPRESS     The records are compressed as the topic's compression.type asks, if that is not as they came.
    DONE         The batch can be appended.

`begin` takes these steps as far as that takes a moment, which for most batches is to the end. Otherwise the
caller goes on: `work` is for a thread, because codecs release the interpreter's lock, and `walk` is for the
event loop.
"""

from __future__ import annotations

from typing import Final, final

from mypy_extensions import i64

from gralha.protocol import compression as codecs
from gralha.protocol.batches import HEADER_SIZE, check_client_batch
from gralha.protocol.errors import (
    CorruptMessageError,
    InvalidRecordError,
    MessageTooLargeError,
    RecordListTooLargeError,
)
from gralha.protocol.primitives import RecordBytes
from gralha.protocol.record_check import RecordCheck
from gralha.protocol.records import BatchHeader, convert_batch, crc_is_valid, read_header
from gralha.storage.config import LONG_MAX, PRODUCER_COMPRESSION, LogConfig

# Who appends: a client's Produce request, a coordinator of this broker, or the leader of the quorum.
CLIENT: Final[i64] = 0
COORDINATOR: Final[i64] = 1
RAFT_LEADER: Final[i64] = 2

# The next step of a check.
DECOMPRESS: Final[i64] = 0
WALK: Final[i64] = 1
COMPRESS: Final[i64] = 2
DONE: Final[i64] = 3

# Records and headers of one slice: compiled code walks over them in less than half a millisecond.
SLICE: Final[i64] = 4000
# The event loop itself decompresses, or compresses, that much. gzip takes longest: 0.2 to 0.4 ms.
INLINE_COMPRESSED_BYTES: Final[i64] = 64 * 1024
INLINE_DECOMPRESSED_BYTES: Final[i64] = 128 * 1024
INLINE_RECOMPRESSED_BYTES: Final[i64] = 8 * 1024
# A batch that decompresses to more is huge: only one of them should be in memory at a time.
HUGE_BYTES: Final[i64] = 16 * 1024 * 1024

_LONG_MAX: Final[i64] = LONG_MAX
_LONG_MIN: Final[i64] = -LONG_MAX - 1
# A batch may decompress to this many times max.message.bytes, and at least to some megabytes.
_EXPANSION_MAX: Final[i64] = 128
_DECOMPRESSED_MIN: Final[i64] = HUGE_BYTES
_DECOMPRESSED_MAX: Final[i64] = 1024 * 1024 * 1024


@final
class BatchCheck:
    """A client's batch, and how far its check has come."""

    def __init__(self, records: RecordBytes, config: LogConfig, name: str, now_ms: i64) -> None:
        """A `KafkaError` if the header is wrong already."""
        data = records.data
        position = records.start
        end = records.end
        header = check_batch(data, position, end, config, CLIENT, name)
        if position + header.size_bytes != end:
            check_only_batch(data, position + header.size_bytes, end, name)
        self.data = data
        self.position: i64 = position
        self.header = header
        # What the topic demanded when the check began. After a change the batch must be checked again.
        self.config = config
        self.name = name
        self.now_ms: i64 = now_ms
        # The true one; what the header says is not believed.
        self.max_timestamp: i64 = -1
        self.records: RecordCheck | None = None
        self.step: i64 = DECOMPRESS
        # Whether `work` has found more than HUGE_BYTES in it, and must be called again.
        self.is_huge = False
        if header.compression == codecs.NONE:
            self._begin_walk(data, position + HEADER_SIZE, position + header.size_bytes)

    def _begin_walk(self, plain: bytes, start: i64, end: i64) -> None:
        config = self.config
        timestamp_min: i64 = _LONG_MIN
        timestamp_max: i64 = _LONG_MAX
        if not config.log_append_time:
            timestamp_min = self.now_ms - config.timestamp_before_max_ms
            if config.timestamp_after_max_ms < _LONG_MAX - self.now_ms:
                timestamp_max = self.now_ms + config.timestamp_after_max_ms
        self.records = RecordCheck(
            plain,
            start,
            end,
            self.header,
            self.name,
            config.compact,
            config.log_append_time,
            timestamp_min,
            timestamp_max,
        )
        self.step = WALK

    @property
    def is_done(self) -> bool:
        return self.step == DONE

    @property
    def needs_thread(self) -> bool:
        """Whether `work` is next, not `walk`."""
        return self.step == DECOMPRESS or self.step == COMPRESS

    def begin(self) -> bool:
        """Go on as far as that takes a moment; whether it is done."""
        if self.step == DECOMPRESS:
            if self.header.size_bytes > INLINE_COMPRESSED_BYTES:
                return False
            try:
                self._decompress(INLINE_DECOMPRESSED_BYTES)
            except MessageTooLargeError:
                return False  # not too large, but too much for now
        return self.walk()

    def walk(self) -> bool:
        """Check one slice of the records; whether that was all that was left to do."""
        records = self.records
        assert records is not None
        if records.walk(SLICE):
            self.max_timestamp = records.max_timestamp
            self.step = COMPRESS if needs_recompression(self.header, self.config) else DONE
            if self.step == COMPRESS and records.end - records.start <= INLINE_RECOMPRESSED_BYTES:
                self._compress()
        return self.step == DONE

    def move_to(self, records: RecordBytes) -> None:
        """Go on with a copy of the batch."""
        assert self.step == DECOMPRESS or self.step == WALK
        shift = records.start - self.position
        if self.records is not None and self.header.compression == codecs.NONE:
            self.records.move_to(records.data, shift)
        self.data = records.data
        self.position = records.start

    def work(self) -> None:
        """Decompress or compress. That may take long: call it in a thread."""
        if self.step == COMPRESS:
            self._compress()
            return
        max_bytes = _decompressed_max(self.config)
        if self.is_huge or max_bytes <= HUGE_BYTES:
            self._decompress(max_bytes)
            return
        try:
            self._decompress(HUGE_BYTES)
        except MessageTooLargeError:
            self.is_huge = True

    def finish(self) -> None:
        """Take all the steps that are left. May take long."""
        while self.step != DONE:
            if self.step == WALK:
                self.walk()
            else:
                self.work()

    def _decompress(self, max_bytes: i64) -> None:
        data = memoryview(self.data)[self.position + HEADER_SIZE : self.position + self.header.size_bytes]
        try:
            plain = codecs.decompress(self.header.compression, data, max_bytes)
        except CorruptMessageError as error:
            # The CRC is right, so the client has sent it so: there is no use in sending it again.
            raise InvalidRecordError(error.message) from None
        self._begin_walk(plain, 0, len(plain))

    def _compress(self) -> None:
        """Put the batch in the topic's own compression type in the place of the client's."""
        config = self.config
        records = self.records
        assert records is not None
        codec = config.compression_type
        plain = memoryview(records.data)[records.start : records.end]
        batch = convert_batch(
            self.data,
            self.position,
            self.header,
            plain,
            codec,
            self.max_timestamp,
            config.compression_level(codec),
        )
        if len(batch) > config.max_message_bytes:
            raise MessageTooLargeError(
                f"Message batch size is {len(batch)} bytes in append to partition {self.name} which exceeds "
                f"the maximum configured size of {config.max_message_bytes}."
            )
        self.data = batch
        self.position = 0
        self.header = read_header(batch, 0)
        self.step = DONE


def check_batch(
    data: bytes, position: i64, end: i64, config: LogConfig, origin: i64, name: str
) -> BatchHeader:
    """The header of the batch at the position, if it is whole, sound and not too large."""
    if end - position < HEADER_SIZE:
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
    if end - position >= HEADER_SIZE and read_header(data, position).size_bytes <= end - position:
        raise InvalidRecordError(f"There is more than one record batch in the append to {name}")


def needs_recompression(header: BatchHeader, config: LogConfig) -> bool:
    codec = config.compression_type
    return codec != PRODUCER_COMPRESSION and codec != header.compression


def check_fits_segment(size_bytes: i64, config: LogConfig, name: str) -> None:
    if size_bytes > config.segment_bytes:
        raise RecordListTooLargeError(
            f"Message batch size is {size_bytes} bytes in append to partition {name}, which exceeds the "
            f"maximum configured segment size of {config.segment_bytes}."
        )


def _decompressed_max(config: LogConfig) -> i64:
    return min(max(config.max_message_bytes * _EXPANSION_MAX, _DECOMPRESSED_MIN), _DECOMPRESSED_MAX)
