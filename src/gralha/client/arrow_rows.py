"""The rows of an Arrow batch as the plain buffers that `record_builder` reads.

The columns are the same as in Spark's Kafka sink: `value` (binary or string, required), `key`, `headers`,
`topic` and `partition`. Columns of all accepted Arrow types are converted to one layout, so that the compiled
loop needs to know only that one.
"""

from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from gralha.client.errors import RowsError
from gralha.client.record_builder import BinaryColumn, HeaderColumns

COLUMNS: Final = ("topic", "partition", "key", "value", "headers")


def check_columns(schema: pa.Schema, has_topic_option: bool) -> None:
    """Raises RowsError if rows of this schema cannot be written as records."""
    names = schema.names
    if "value" not in names:
        raise RowsError(
            f"The rows have no column 'value' (their columns: {', '.join(names) or 'none'}). "
            "Give the column with the record's value this name, for example with "
            "df.selectExpr('to_json(struct(*)) AS value')."
        )
    if "topic" not in names and not has_topic_option:
        raise RowsError("The rows have no topic: set the option topic, or add a column 'topic'.")
    for name in ("key", "value", "topic"):
        if name in names and not _is_bytes_or_text(schema.field(name).type):
            allowed = "a string" if name == "topic" else "a string or binary"
            raise RowsError(f"The column '{name}' must be {allowed}, not {schema.field(name).type}.")
    if "partition" in names and not pa.types.is_integer(schema.field("partition").type):
        raise RowsError(f"The column 'partition' must be an integer, not {schema.field('partition').type}.")
    if "headers" in names and not _is_headers(schema.field("headers").type):
        raise RowsError(
            "The column 'headers' must be array<struct<key: string, value: binary>>, "
            f"not {schema.field('headers').type}."
        )


def binary_column(array: pa.Array) -> BinaryColumn:
    """The buffers of an array of binary values or text. An array of the null type has only nulls."""
    plain = array.cast(pa.binary())
    if plain.offset:
        plain = pa.concat_arrays([plain])
    _, offsets, data = plain.buffers()
    count = len(plain)
    return BinaryColumn(
        b"" if data is None else data.to_pybytes(),
        bytes(4) if offsets is None else offsets.slice(0, 4 * (count + 1)).to_pybytes(),
        _is_there(plain),
    )


def header_columns(array: pa.Array) -> HeaderColumns | None:
    """The buffers of the headers. None if no row has headers."""
    if array.null_count == len(array):
        return None
    pairs = array.flatten()
    keys, values = pc.struct_field(pairs, "key"), pc.struct_field(pairs, "value")
    if keys.null_count:
        raise RowsError("A header of a row has no key (it is null): every header needs one.")
    lengths = _filled(pc.list_value_length(array).cast(pa.int32()), 0)
    starts = bytes(4) + _numbers(pc.cumulative_sum(lengths), pa.int32())
    return HeaderColumns(starts, binary_column(keys), binary_column(values))


def partition_numbers(array: pa.Array) -> bytes:
    """The column of partitions as int32, with -1 for null. Then the key decides."""
    lowest = pc.min(array).as_py()
    if lowest is not None and lowest < 0:
        raise RowsError(f"A row has the partition {lowest}: partitions are numbered from 0.")
    return _numbers(_filled(array.cast(pa.int32()), -1), pa.int32())


def topic_numbers(array: pa.Array) -> tuple[list[str], bytes]:
    """The topics of the rows, and for each row the index of its topic (int32)."""
    if array.null_count:
        raise RowsError("A row has no topic (it is null): fill the column 'topic', or set the option topic.")
    encoded = array.cast(pa.string()).dictionary_encode()
    return encoded.dictionary.to_pylist(), _numbers(encoded.indices, pa.int32())


def picked(numbers: bytes, places: bytes) -> bytes:
    """The numbers at these indexes. All are int32."""
    return _numbers(_array(numbers).take(_array(places)), pa.int32())


def _filled(array: pa.Array, number: int) -> pa.Array:
    """The int32 array with a number in place of nulls."""
    return pc.coalesce(array, _array(number.to_bytes(4, "little", signed=True) * len(array)))


def _array(numbers: bytes) -> pa.Array:
    # pa.array and pa.scalar import pandas if it is installed, which takes a second in every Spark process.
    return pa.Array.from_buffers(pa.int32(), len(numbers) // 4, [None, pa.py_buffer(numbers)])


def _numbers(array: pa.Array, kind: pa.DataType) -> bytes:
    plain = array.cast(kind)
    buffer: bytes = plain.buffers()[1].slice(4 * plain.offset, 4 * len(plain)).to_pybytes()
    return buffer


def _is_there(array: pa.Array) -> bytes:
    """A byte for each row, 0 for null. Empty if there are no nulls."""
    if array.null_count == 0:
        return b""
    flags: bytes = array.is_valid().cast(pa.uint8()).buffers()[1].to_pybytes()
    return flags


def _is_bytes_or_text(kind: pa.DataType) -> bool:
    types = pa.types
    if types.is_dictionary(kind):
        return _is_bytes_or_text(kind.value_type)
    return bool(
        types.is_binary(kind)
        or types.is_string(kind)
        or types.is_large_binary(kind)
        or types.is_large_string(kind)
        or types.is_binary_view(kind)
        or types.is_string_view(kind)
        or types.is_null(kind)
    )


def _is_headers(kind: pa.DataType) -> bool:
    types = pa.types
    if types.is_null(kind):
        return True
    if not (types.is_list(kind) or types.is_large_list(kind)) or not types.is_struct(kind.value_type):
        return False
    fields = {field.name: field.type for field in kind.value_type}
    return set(fields) == {"key", "value"} and all(_is_bytes_or_text(field) for field in fields.values())
