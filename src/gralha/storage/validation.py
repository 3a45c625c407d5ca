"""A leader's checks of a batch before it assigns offsets. Kafka's counterpart is LogValidator.

A client's batch goes through a `BatchCheck`:

    DECOMPRESS   The records are decompressed. A batch without compression begins with the next step.
    WALK         Every record is checked (`protocol/record_check.py`), in slices.
    COMPRESS     The records are compressed again if the topic's compression.type is not the producer's.
    DONE         The batch can be appended.

`begin` takes only steps that are quick, and completes the check of most batches. The caller takes the other
steps: `work` in a thread, because codecs release the interpreter's lock, and `walk` on the event loop.
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

# The origin of a batch: a client's Produce request, a coordinator of this broker, or the quorum's leader.
CLIENT: Final[i64] = 0
COORDINATOR: Final[i64] = 1
RAFT_LEADER: Final[i64] = 2

# The next step of a check.
DECOMPRESS: Final[i64] = 0
WALK: Final[i64] = 1
COMPRESS: Final[i64] = 2
DONE: Final[i64] = 3

# The records and headers of one slice. Compiled code walks over them in less than half a millisecond.
SLICE: Final[i64] = 4000
# The event loop itself decompresses or compresses at most this much. gzip takes longest: 0.2 to 0.4 ms.
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
    """A client's batch and the progress of its check."""

    def __init__(self, records: RecordBytes, config: LogConfig, name: str, now_ms: i64) -> None:
        """Raises a `KafkaError` if the header is wrong."""
        data = records.data
        position = records.start
        end = records.end
        header = check_batch(data, position, end, config, CLIENT, name)
        if position + header.size_bytes != end:
            check_only_batch(data, position + header.size_bytes, end, name)
        self.data = data
        self.position: i64 = position
        self.header = header
        # The topic's settings when the check began. If they change, the batch must be checked again.
        self.config = config
        self.name = name
        self.now_ms: i64 = now_ms
        # The largest timestamp of the records. The one in the header may be wrong.
        self.max_timestamp: i64 = -1
        self.records: RecordCheck | None = None
        self.step: i64 = DECOMPRESS
        # Whether `work` has found that the batch has more than HUGE_BYTES, and must be called again.
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
        """Whether the next step is `work`, not `walk`."""
        return self.step == DECOMPRESS or self.step == COMPRESS

    def begin(self) -> bool:
        """Take the steps that are quick. Returns whether the check is done."""
        if self.step == DECOMPRESS:
            if self.header.size_bytes > INLINE_COMPRESSED_BYTES:
                return False
            try:
                self._decompress(INLINE_DECOMPRESSED_BYTES)
            except MessageTooLargeError:
                return False  # The batch may be valid, but `work` must decompress it.
        return self.walk()

    def walk(self) -> bool:
        """Check one slice of the records. Returns whether the check is done."""
        records = self.records
        assert records is not None
        if records.walk(SLICE):
            self.max_timestamp = records.max_timestamp
            self.step = COMPRESS if needs_recompression(self.header, self.config) else DONE
            if self.step == COMPRESS and records.end - records.start <= INLINE_RECOMPRESSED_BYTES:
                self._compress()
        return self.step == DONE

    def move_to(self, records: RecordBytes) -> None:
        """Use a copy of the batch from now on."""
        assert self.step == DECOMPRESS or self.step == WALK
        shift = records.start - self.position
        if self.records is not None and self.header.compression == codecs.NONE:
            self.records.move_to(records.data, shift)
        self.data = records.data
        self.position = records.start

    def work(self) -> None:
        """Decompress or compress. This may take long, so call it in a thread."""
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
        """Take all remaining steps. This may take long."""
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
            # The CRC is right, so the client has sent these bytes. INVALID_RECORD tells it not to try again.
            raise InvalidRecordError(error.message) from None
        self._begin_walk(plain, 0, len(plain))

    def _compress(self) -> None:
        """Replace the batch by one that has the topic's compression type."""
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
    """Check that the batch at the position is whole, valid and not too large. Returns its header."""
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
        # After the CRC, so that a flipped bit is CORRUPT_MESSAGE, after which a client tries again.
        check_client_batch(header)
    return header


def check_only_batch(data: bytes, position: i64, end: i64, name: str) -> None:
    """Refuse a second batch after the first. As in Kafka, a cut second batch is ignored."""
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
