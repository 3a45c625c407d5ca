"""Builds record batches from columns: rows of Arrow buffers are appended to the batches of their partitions.

`RowColumns` is one Arrow batch as plain bytes. Each column has its data, the offsets into the data (int32,
little endian, one more than there are rows), and a byte per row that is 0 for null (empty if there are no
nulls). `RowRouter.append` reads the rows and finds the partition of each: from its column, from the hash of
its key, or the current partition for rows without a key. It writes the row into the `RecordBuilder` of that
partition. It stops when a builder is full, so that the caller can send the batch and continue.

This module is compiled with mypyc; it also runs uncompiled.
"""

from __future__ import annotations

from typing import Final, final

from librt.strings import BytesWriter, read_i32_le, write_i16_be, write_i32_be, write_i64_be
from mypy_extensions import i16, i32, i64

from gralha.client.partitioner import partition_for_key
from gralha.protocol import compression as codecs
from gralha.protocol.batches import HEADER_SIZE, TRANSACTIONAL_FLAG, framed
from gralha.protocol.records import varint_size, write_varint

# The most bytes of a record beside its key, value and headers: five varints and a byte.
_RECORD_OVERHEAD: Final[i64] = 36


@final
class BinaryColumn:
    """The buffers of an Arrow binary array. `is_there` is empty if there are no nulls."""

    def __init__(self, data: bytes, offsets: bytes, is_there: bytes) -> None:
        self.data: bytes = data
        self.offsets: bytes = offsets
        self.is_there: bytes = is_there


@final
class HeaderColumns:
    """The headers of all rows. `starts` (int32) has the index of each row's first header."""

    def __init__(self, starts: bytes, keys: BinaryColumn, values: BinaryColumn) -> None:
        self.starts: bytes = starts
        self.keys: BinaryColumn = keys
        self.values: BinaryColumn = values


@final
class RowColumns:
    """Rows to write. Keys, headers, `partitions` (int32, -1 for null) and topics are optional."""

    def __init__(
        self,
        count: i64,
        keys: BinaryColumn | None,
        values: BinaryColumn,
        headers: HeaderColumns | None = None,
        partitions: bytes = b"",
        topics: bytes = b"",
    ) -> None:
        self.count: i64 = count
        self.keys: BinaryColumn | None = keys
        self.values: BinaryColumn = values
        self.headers: HeaderColumns | None = headers
        self.partitions: bytes = partitions
        # int32: the index of each row's topic in the router. If empty, all rows have the first topic.
        self.topics: bytes = topics


@final
class RecordBuilder:
    """Builds the batch of one partition."""

    def __init__(self, topic: str, partition: int) -> None:
        self.topic: str = topic
        self.partition: int = partition
        self.count: i64 = 0
        self.timestamp_ms: i64 = 0
        self.last_timestamp_ms: i64 = 0
        self.writer: BytesWriter = BytesWriter()

    def size_bytes(self) -> i64:
        """The size of the batch without compression."""
        return len(self.writer) + HEADER_SIZE

    def clear(self) -> None:
        """Drops the records."""
        self.writer.truncate(0)
        self.count = 0

    def finish(
        self,
        codec: i64,
        level: int | None,
        producer_id: i64,
        producer_epoch: i64,
        base_sequence: i64,
        is_transactional: bool = False,
    ) -> bytes:
        """The finished batch. The builder is empty afterwards."""
        payload = self.writer.getvalue()
        self.writer.truncate(0)
        if codec:
            payload = codecs.compress(codec, payload, level)
        covered = BytesWriter()
        attributes = codec
        if is_transactional:
            attributes |= TRANSACTIONAL_FLAG
        write_i16_be(covered, i16(attributes))
        write_i32_be(covered, i32(self.count - 1))
        write_i64_be(covered, self.timestamp_ms)
        write_i64_be(covered, self.last_timestamp_ms)
        write_i64_be(covered, producer_id)
        write_i16_be(covered, i16(producer_epoch))
        write_i32_be(covered, i32(base_sequence))
        write_i32_be(covered, i32(self.count))
        self.count = 0
        return framed(0, -1, covered.getvalue(), payload)


@final
class TopicRoute:
    """The builders of one topic's partitions, and the current partition for rows without a key."""

    def __init__(self, topic: str, builders: list[RecordBuilder]) -> None:
        self.topic: str = topic
        self.builders: list[RecordBuilder] = builders
        self.sticky: i64 = 0


class NoSuchPartitionError(ValueError):
    """A row has a partition that its topic does not have."""

    def __init__(self, topic: str, partition: int, partitions: int) -> None:
        super().__init__(
            f"A row has the partition {partition}, but the topic {topic} has {partitions} "
            f"(0 to {partitions - 1})."
        )


class RowTooLargeError(ValueError):
    """A row is larger than a request may be."""

    def __init__(self, topic: str, size_bytes: int, max_bytes: int) -> None:
        super().__init__(
            f"A row for the topic {topic} makes a record of {size_bytes} bytes; max.request.size allows "
            f"{max_bytes}. Raise it (and max.message.bytes of the topic) or write smaller rows."
        )


@final
class RowRouter:
    """Appends rows to the builders of their partitions."""

    def __init__(self, batch_size: i64, max_record_bytes: i64) -> None:
        self.routes: list[TopicRoute] = []
        self.batch_size: i64 = batch_size
        self.max_record_bytes: i64 = max_record_bytes
        # The builder that has no room for the next row. None if all rows are appended.
        self.full: RecordBuilder | None = None
        # The route whose rows without a key must go to another partition now, or None.
        self.full_route: TopicRoute | None = None

    def append(self, rows: RowColumns, row: i64, now_ms: i64) -> i64:
        """Appends rows from `row` on until a builder is full. Returns the next row."""
        self.full = None
        keys = rows.keys
        values = rows.values
        headers = rows.headers
        count = rows.count
        has_topics = len(rows.topics) > 0
        has_partitions = len(rows.partitions) > 0
        batch_size = self.batch_size
        route = self.routes[0] if not has_topics else self.routes[i64(read_i32_le(rows.topics, 4 * row))]
        while row < count:
            if has_topics:
                route = self.routes[i64(read_i32_le(rows.topics, 4 * row))]
            key_start: i64 = 0
            key_end: i64 = -1
            if keys is not None and (len(keys.is_there) == 0 or keys.is_there[row] != 0):
                key_start = i64(read_i32_le(keys.offsets, 4 * row))
                key_end = i64(read_i32_le(keys.offsets, 4 * row + 4))
            value_start: i64 = 0
            value_end: i64 = -1
            if len(values.is_there) == 0 or values.is_there[row] != 0:
                value_start = i64(read_i32_le(values.offsets, 4 * row))
                value_end = i64(read_i32_le(values.offsets, 4 * row + 4))
            partition: i64 = -1
            if has_partitions:
                partition = i64(read_i32_le(rows.partitions, 4 * row))
            is_sticky = False
            if partition < 0:
                if keys is not None and key_end >= 0:
                    partition = partition_for_key(keys.data, key_start, key_end, len(route.builders))
                else:
                    partition = route.sticky
                    is_sticky = True
            elif partition >= len(route.builders):
                raise NoSuchPartitionError(route.topic, partition, len(route.builders))
            builder = route.builders[partition]
            encoded_headers = b"\x00"
            if headers is not None:
                encoded_headers = _encoded_headers(headers, row)
            payload = key_end - key_start + value_end - value_start + len(encoded_headers)
            if builder.count > 0 and builder.size_bytes() + payload + _RECORD_OVERHEAD > batch_size:
                self.full = builder
                self.full_route = route if is_sticky else None
                return row
            if payload + _RECORD_OVERHEAD + HEADER_SIZE > self.max_record_bytes:
                raise RowTooLargeError(route.topic, payload + HEADER_SIZE, self.max_record_bytes)
            _append(
                builder, keys, key_start, key_end, values, value_start, value_end, encoded_headers, now_ms
            )
            row += 1
        return row


def _append(
    builder: RecordBuilder,
    keys: BinaryColumn | None,
    key_start: i64,
    key_end: i64,
    values: BinaryColumn,
    value_start: i64,
    value_end: i64,
    headers: bytes,
    now_ms: i64,
) -> None:
    """Writes one record. An end below its start means null."""
    writer = builder.writer
    if builder.count == 0:
        builder.timestamp_ms = now_ms
        builder.last_timestamp_ms = now_ms
    elif now_ms > builder.last_timestamp_ms:
        builder.last_timestamp_ms = now_ms
    delta = now_ms - builder.timestamp_ms
    key_size = key_end - key_start
    value_size = value_end - value_start
    size = 1 + varint_size(delta) + varint_size(builder.count) + len(headers)
    size += varint_size(key_size) + varint_size(value_size)
    if key_size > 0:
        size += key_size
    if value_size > 0:
        size += value_size
    write_varint(writer, size)
    writer.append(0)
    write_varint(writer, delta)
    write_varint(writer, builder.count)
    write_varint(writer, key_size)
    if keys is not None and key_size > 0:
        writer.write(keys.data[key_start:key_end])
    write_varint(writer, value_size)
    if value_size > 0:
        writer.write(values.data[value_start:value_end])
    writer.write(headers)
    builder.count += 1


def _encoded_headers(headers: HeaderColumns, row: i64) -> bytes:
    start = i64(read_i32_le(headers.starts, 4 * row))
    end = i64(read_i32_le(headers.starts, 4 * row + 4))
    if start == end:
        return b"\x00"
    writer = BytesWriter()
    write_varint(writer, end - start)
    while start < end:
        _write_field(writer, headers.keys, start)
        _write_field(writer, headers.values, start)
        start += 1
    return writer.getvalue()


def _write_field(writer: BytesWriter, column: BinaryColumn, row: i64) -> None:
    if len(column.is_there) > 0 and column.is_there[row] == 0:
        write_varint(writer, -1)
        return
    start = i64(read_i32_le(column.offsets, 4 * row))
    end = i64(read_i32_le(column.offsets, 4 * row + 4))
    write_varint(writer, end - start)
    writer.write(column.data[start:end])
