"""The check of every record that a client sends; Kafka's counterparts are DefaultRecord and LogValidator.

A batch is refused as a whole, for one of two reasons:

    malformed   There are more or fewer records than the batch claims, a length is wrong, or the offsets are
                not 0, 1, 2, ... No reader could decode such a batch. INVALID_RECORD.
    rejected    Records lack a key on a compacted topic (INVALID_RECORD), or have a timestamp that the topic
                does not allow (INVALID_TIMESTAMP). The answer names each of them (KIP-467).

Apache Kafka accepts more: it stores offsets out of order, and wrong lengths inside of compressed batches. Its
own consumers fail on such batches, so they are malformed here.

`RecordCheck.walk` takes a budget of records and headers, and each call goes on where the last one stopped. So
a batch with very many of them is checked in slices, and does not stop the event loop.

This module is compiled with mypyc; it also runs uncompiled.
"""

from __future__ import annotations

from typing import Final, final

from mypy_extensions import i64

from gralha.protocol.batches import NO_TIMESTAMP, BatchHeader
from gralha.protocol.errors import InvalidRecordError, InvalidTimestampError
from gralha.protocol.records import read_varint, wrapping_sum

# A response names at most this many rejected records of a batch, because each takes space in the response.
REJECTED_MAX: Final = 1000
# The message of a response quotes at most this many of them, as in Kafka.
QUOTED_MAX: Final = 3

_MIN: Final[i64] = -9223372036854775808
_MAX: Final[i64] = 9223372036854775807
_INT_MIN: Final[i64] = -2147483648
_INT_MAX: Final[i64] = 2147483647
# To name a rejected record costs as much of the budget as to check this many.
_NAMED_COST: Final[i64] = 20


class RecordsRejectedError(InvalidRecordError):
    """The batch is refused because some records are rejected. Has the index and the reason of each."""

    def __init__(
        self,
        record_errors: list[tuple[int, str]] | None = None,
        untimely: bool = False,
        total: int | None = None,
    ) -> None:
        self.record_errors: list[tuple[int, str]] = record_errors or []
        if untimely:
            super().__init__(
                "One or more records have been rejected due to invalid timestamp", InvalidTimestampError.CODE
            )
        else:
            quoted = ", ".join(
                f"RecordError(batchIndex={index}, message='{reason}')"
                for index, reason in self.record_errors[:QUOTED_MAX]
            )
            count = len(self.record_errors) if total is None else total
            super().__init__(
                f"One or more records have been rejected due to {count} record errors in total, and only "
                f"showing the first three errors at most: [{quoted}]"
            )


@final
class RecordCheck:
    """The check of one batch's records, which are in a range of `data` without compression.

    `broker_time_counts` is True for topics with LogAppendTime: the records' own timestamps do not matter.
    """

    def __init__(
        self,
        data: bytes,
        start: i64,
        end: i64,
        header: BatchHeader,
        partition: str,
        require_keys: bool = False,
        broker_time_counts: bool = False,
        timestamp_min: i64 = _MIN,
        timestamp_max: i64 = _MAX,
    ) -> None:
        if header.record_count < 0:
            raise InvalidRecordError(f"The batch claims to have {header.record_count} records")
        self.data = data
        self.start: i64 = start
        self.position: i64 = start
        self.end: i64 = end
        self.count: i64 = header.record_count
        self.partition = partition
        self.base_timestamp: i64 = header.base_timestamp
        # The timestamp of all records if the batch claims to have LogAppendTime.
        self.append_time: i64 = header.max_timestamp
        self.claims_append_time: bool = header.is_log_append_time
        self.broker_time_counts: bool = broker_time_counts
        self.timestamp_min: i64 = timestamp_min
        self.timestamp_max: i64 = timestamp_max
        self.key_length_min: i64 = 0 if require_keys else _MIN
        # The next record, and the number of headers of the last record that are not checked yet.
        self.index: i64 = 0
        self.headers_left: i64 = 0
        self.record_end: i64 = start
        self.is_done = False
        # The highest timestamp of the records that were checked; -1 if they have none.
        self.max_timestamp: i64 = -1
        self.rejected: list[tuple[int, str]] | None = None
        self.rejected_count: i64 = 0
        self.is_untimely = False

    def walk(self, budget: i64) -> bool:
        """Check at most `budget` records and headers. Returns True after the last one.

        Raises a `KafkaError` if the batch is refused.
        """
        try:
            while budget > 0 and not self.is_done:
                if self.headers_left > 0:
                    budget = self._walk_headers(budget)
                else:
                    budget = self._walk_records(budget)
        except IndexError:
            raise self._malformed("the batch ends before it") from None
        return self.is_done

    def move_to(self, data: bytes, shift: i64) -> None:
        """Use a copy of the records in `data`, where positions are `shift` bytes higher."""
        self.data = data
        self.start += shift
        self.position += shift
        self.end += shift
        self.record_end += shift

    def _walk_records(self, budget: i64) -> i64:
        """Walk to the next record that has headers, or to the end. Returns the rest of the budget."""
        data = self.data
        end = self.end
        position = self.position
        index = self.index
        count = self.count
        special = self.claims_append_time
        while budget > 0 and index < count:
            budget -= 1
            self.index = index
            length, position = read_int(data, position)
            record_end = position + length
            if length < 0 or record_end > end:
                raise self._malformed(f"it claims {length} bytes where {end - position} remain")
            # The first byte has attributes, which nobody uses.
            delta, position = read_varint(data, position + 1)
            timestamp = wrapping_sum(self.base_timestamp, delta)
            delta, position = read_int(data, position)
            if delta != index:
                raise self._malformed(f"it has the offset delta {delta}")
            key_length, position = read_int(data, position)
            if key_length > 0:
                position += key_length
            value_length, position = read_int(data, position)
            if value_length > 0:
                position += value_length
            headers, position = read_int(data, position)
            if headers != 0:
                self._begin_headers(headers, position, record_end)
            elif position != record_end:
                fields = length + position - record_end
                raise self._malformed(f"it claims {length} bytes, but its fields have {fields}")
            if timestamp > self.max_timestamp:
                self.max_timestamp = timestamp
            if (
                special
                or key_length < self.key_length_min
                or timestamp < self.timestamp_min
                or timestamp > self.timestamp_max
            ):
                budget -= self._judge(index, timestamp, key_length, value_length)
            index += 1
            if headers != 0:
                break
        self.index = index
        self.position = position
        if index == count and self.headers_left == 0:
            self._finish()
        return budget

    def _begin_headers(self, headers: i64, position: i64, record_end: i64) -> None:
        if headers < 0 or headers > record_end - position:
            raise self._malformed(f"it claims to have {headers} headers")
        self.headers_left = headers
        self.record_end = record_end

    def _walk_headers(self, budget: i64) -> i64:
        """Walk over headers of the record before `index`. Returns the rest of the budget."""
        data = self.data
        end = self.record_end
        position = self.position
        left = self.headers_left
        while budget > 0 and left > 0:
            budget -= 1
            left -= 1
            length, position = read_int(data, position)
            if length < 0:
                raise self._malformed(f"the key of a header has the length {length}", 1)
            length, position = read_int(data, position + length)
            if length > 0:
                position += length
            if position > end:
                raise self._malformed("a header goes on after its end", 1)
        self.headers_left = left
        self.position = position
        if left == 0:
            if position != end:
                raise self._malformed(f"it has {end - position} bytes after its headers", 1)
            if self.index == self.count:
                self._finish()
        return budget

    def _finish(self) -> None:
        if self.position != self.end:
            raise InvalidRecordError(
                f"The batch claims {self.count} records, but {self.end - self.position} bytes follow them"
            )
        self.is_done = True
        if self.rejected is not None:
            raise RecordsRejectedError(self.rejected, self.is_untimely, int(self.rejected_count))

    def _judge(self, index: i64, timestamp: i64, key_length: i64, value_length: i64) -> i64:
        """Reject a record if a setting of the topic says so. Returns its cost for the budget."""
        if self.claims_append_time and self.timestamp_min <= timestamp <= self.timestamp_max:
            timestamp = self.append_time
        is_keyless = key_length < self.key_length_min
        if not is_keyless:
            if self.broker_time_counts or timestamp == NO_TIMESTAMP:
                if not self.claims_append_time:
                    return 0
            elif self.timestamp_min <= timestamp <= self.timestamp_max:
                return 0
            self.is_untimely = True
        self.rejected_count += 1
        rejected = self.rejected
        if rejected is None:
            rejected = []
            self.rejected = rejected
        if len(rejected) >= REJECTED_MAX:
            return 0
        if is_keyless:
            reason = f"Compacted topic cannot accept message without key in topic partition {self.partition}"
        elif self.broker_time_counts or timestamp == NO_TIMESTAMP:
            reason = (
                f"Invalid timestamp type in message DefaultRecord(offset={index}, timestamp={timestamp}, "
                f"key={max(key_length, 0)} bytes, value={max(value_length, 0)} bytes). "
                "Producer should not set timestamp type to LogAppendTime."
            )
        else:
            reason = (
                f"Timestamp {timestamp} of message with offset {index} is out of range. The timestamp should "
                f"be within [{self.timestamp_min}, {self.timestamp_max}]"
            )
        rejected.append((int(index), reason))
        return _NAMED_COST

    def _malformed(self, reason: str, before: i64 = 0) -> InvalidRecordError:
        """The error for the record at `index`, or for the one before it."""
        return InvalidRecordError(f"Record {self.index - before} of the batch is malformed: {reason}")


def read_int(data: bytes, position: i64) -> tuple[i64, i64]:
    """The 32-bit zigzag number at `position` (5 bytes at most), and the position after it."""
    byte: i64 = data[position]
    if byte < 0x80:
        return (byte >> 1) ^ -(byte & 1), position + 1
    value, after = read_varint(data, position)
    if after - position > 5 or value < _INT_MIN or value > _INT_MAX:
        raise InvalidRecordError(f"A number in a record is longer than 32 bits: {value}")
    return value, after
