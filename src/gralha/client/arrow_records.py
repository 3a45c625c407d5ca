"""Record columns as Arrow arrays, with the same columns as Spark's Kafka source.

The bytes of keys and values are copied once: Arrow's `take` copies them from the fetched batches to arrays.
All other columns are buffers that `record_columns` has filled, or one repeated value.
"""

import sys
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from gralha.client.record_columns import RecordColumns

HEADERS_TYPE: Final = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
RECORD_SCHEMA: Final = pa.schema(
    [
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("timestamp", pa.timestamp("us", tz="UTC")),
        ("timestampType", pa.int32()),
    ]
)
RECORD_SCHEMA_WITH_HEADERS: Final = RECORD_SCHEMA.append(pa.field("headers", HEADERS_TYPE))

# The bounds enclose these elements: key, gap, value, gap, key, ...
_ELEMENTS_PER_RECORD: Final = 4
_VALUE: Final = 2


class ArrowRecords:
    """Makes Arrow batches of the records of one partition. Keeps the columns that repeat one value."""

    def __init__(self, topic: str, partition: int) -> None:
        self._topic = topic
        self._partition = partition
        self._topics = pa.nulls(0, pa.string())
        self._partitions = pa.nulls(0, pa.int32())
        self._indices = pa.nulls(0, pa.int32())

    def batch(self, columns: RecordColumns, data: pa.Buffer, timestamp_type: int) -> pa.RecordBatch:
        """The Arrow batch of the records in the columns, whose bounds refer to `data`."""
        count = columns.count
        self._grow(count)
        keys, values = self._picked(
            columns.bounds.getvalue(),
            data,
            count,
            None if columns.null_keys == 0 else columns.has_key.getvalue(),
            None if columns.null_values == 0 else columns.has_value.getvalue(),
        )
        arrays = [
            keys,
            values,
            self._topics[:count],
            self._partitions[:count],
            _numbers(pa.int64(), count, columns.offsets.getvalue()),
            _numbers(pa.timestamp("us", tz="UTC"), count, columns.timestamps.getvalue()),
            pa.repeat(_int32(timestamp_type), count),
        ]
        if not columns.with_headers:
            return pa.RecordBatch.from_arrays(arrays, schema=RECORD_SCHEMA)
        arrays.append(self._headers(columns, data))
        return pa.RecordBatch.from_arrays(arrays, schema=RECORD_SCHEMA_WITH_HEADERS)

    def _grow(self, count: int) -> None:
        if len(self._topics) < count:
            self._topics = pa.repeat(_string(self._topic), 2 * count)
            self._partitions = pa.repeat(_int32(self._partition), 2 * count)

    def _picked(
        self, bounds: bytes, data: pa.Buffer, count: int, has_key: bytes | None, has_value: bytes | None
    ) -> tuple[pa.Array, pa.Array]:
        """The keys and values of the records, picked from the elements between the bounds."""
        if count == 0:
            return pa.nulls(0, pa.binary()), pa.nulls(0, pa.binary())
        elements = pa.Array.from_buffers(
            pa.binary(),
            _ELEMENTS_PER_RECORD * count - 1,
            [None, pa.py_buffer(bounds), data],
        )
        if len(self._indices) < count:
            steps = pa.repeat(_int32(_ELEMENTS_PER_RECORD), 2 * count)
            self._indices = pc.cumulative_sum(steps, start=_int32(-_ELEMENTS_PER_RECORD))
        indices = self._indices[:count]
        keys = elements.take(indices)
        values = elements[_VALUE:].take(indices)
        return _with_nulls(keys, has_key), _with_nulls(values, has_value)

    def _headers(self, columns: RecordColumns, data: pa.Buffer) -> pa.Array:
        """The headers of the records. A record without headers has null, as in Spark's Kafka source."""
        if columns.header_count == 0:
            return pa.nulls(columns.count, HEADERS_TYPE)
        starts = columns.header_starts.getvalue() + int(columns.header_count).to_bytes(4, "little")
        names, values = self._picked(
            columns.header_bounds.getvalue(),
            data,
            columns.header_count,
            None,
            None if columns.null_header_values == 0 else columns.has_header_value.getvalue(),
        )
        pairs = pa.StructArray.from_arrays([_as_text(names), values], fields=list(HEADERS_TYPE.value_type))
        bitmap = _bitmap(columns.has_headers.getvalue(), columns.count)
        return pa.Array.from_buffers(
            HEADERS_TYPE, columns.count, [bitmap, pa.py_buffer(starts)], children=[pairs]
        )


# pa.scalar and pa.array import pandas if it is installed, which takes a second in every Spark process.


def _int32(number: int) -> pa.Scalar:
    return _numbers(pa.int32(), 1, number.to_bytes(4, sys.byteorder, signed=True))[0]


def _string(text: str) -> pa.Scalar:
    data = text.encode()
    bounds = bytes(4) + len(data).to_bytes(4, sys.byteorder)
    return pa.Array.from_buffers(pa.string(), 1, [None, pa.py_buffer(bounds), pa.py_buffer(data)])[0]


def _numbers(kind: pa.DataType, count: int, buffer: bytes) -> pa.Array:
    return pa.Array.from_buffers(kind, count, [None, pa.py_buffer(buffer)])


def _with_nulls(array: pa.Array, is_there: bytes | None) -> pa.Array:
    """The array with nulls where `is_there` has zeros. With None there are no nulls."""
    if is_there is None:
        return array
    _, offsets, data = array.buffers()
    return pa.Array.from_buffers(
        array.type, len(array), [_bitmap(is_there, len(array)), offsets, data], offset=array.offset
    )


def _bitmap(flags: bytes, count: int) -> pa.Buffer:
    """A validity bitmap from one byte per record. An Arrow boolean array has the same format."""
    return _numbers(pa.uint8(), count, flags).cast(pa.bool_()).buffers()[1]


def _as_text(names: pa.Array) -> pa.Array:
    """The names of headers as text. Bytes that are not UTF-8 are replaced, as Kafka's clients do."""
    try:
        return names.cast(pa.string())
    except pa.ArrowInvalid:
        return pa.array([name.as_py().decode("utf-8", "replace") for name in names], pa.string())
