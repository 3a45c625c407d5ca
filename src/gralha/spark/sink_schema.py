"""The columns of a DataFrame that the sink writes, checked on the driver before a task runs.

The columns are the same as in Spark's Kafka sink: `value` is required; `key`, `headers`, `partition` and
`topic` are optional; others are ignored. The option `topic` overrides the column.
"""

from typing import Final

from pyspark.sql.types import ArrayType, BinaryType, DataType, IntegerType, StringType, StructType

from gralha.spark.option_values import OptionError

STRING_OR_BINARY: Final = "a string or binary"
HEADERS_TYPE: Final = "array<struct<key: string, value: binary>>"


class SinkSchemaError(OptionError):
    """The DataFrame cannot be written to a topic. The message says which column to change, and how."""


def columns_to_write(schema: StructType, topic: str | None) -> list[str]:
    """The columns that the sink writes. Raises SinkSchemaError if one is missing or has a wrong type."""
    names = schema.fieldNames()
    _require_value(names)
    _check(
        schema,
        "value",
        (StringType, BinaryType),
        STRING_OR_BINARY,
        "cast it, or convert it to JSON with to_json",
    )
    _check(schema, "key", (StringType, BinaryType), STRING_OR_BINARY, "cast it to string")
    _check(schema, "partition", (IntegerType,), "an int", "cast it to int")
    if "headers" in names and not _is_headers(schema["headers"].dataType):
        raise _wrong_type(
            schema, "headers", f"an {HEADERS_TYPE}", f"cast it to {HEADERS_TYPE.replace(' ', '')}"
        )
    if topic is None:
        if "topic" not in names:
            raise SinkSchemaError(
                "No topic to write to: set the option 'topic', or give the DataFrame a column 'topic'"
                f"{_similar('topic', names)}."
            )
        _check(schema, "topic", (StringType,), "a string", "cast it to string")
    wanted = ["key", "value", "headers", "partition"] + (["topic"] if topic is None else [])
    return [name for name in wanted if name in names]


def _require_value(names: list[str]) -> None:
    if "value" not in names:
        raise SinkSchemaError(
            f"The DataFrame has no column 'value'{_similar('value', names)}, only "
            f"{', '.join(names) or 'none'}: select what the records should hold as 'value', for example "
            "to_json(struct('*')).alias('value')."
        )
    for name in ("value", "key", "headers", "partition", "topic"):
        if names.count(name) > 1:
            raise SinkSchemaError(
                f"The DataFrame has more than one column '{name}': rename or drop the others."
            )


def _check(
    schema: StructType, name: str, allowed: tuple[type[DataType], ...], wanted: str, remedy: str
) -> None:
    if name in schema.fieldNames() and not isinstance(schema[name].dataType, allowed):
        raise _wrong_type(schema, name, wanted, remedy)


def _wrong_type(schema: StructType, name: str, wanted: str, remedy: str) -> SinkSchemaError:
    actual = schema[name].dataType.simpleString()
    return SinkSchemaError(f"Column '{name}' is of type {actual} and must be {wanted}: {remedy}.")


def _is_headers(type_: DataType) -> bool:
    """Compares names and types, not nullability, as Spark's Kafka sink does."""
    if not isinstance(type_, ArrayType) or not isinstance(type_.elementType, StructType):
        return False
    fields = [(field.name, type(field.dataType)) for field in type_.elementType.fields]
    return fields == [("key", StringType), ("value", BinaryType)]


def _similar(name: str, names: list[str]) -> str:
    """A hint about a column whose name differs only in upper and lower case."""
    same = [other for other in names if other.lower() == name]
    return f" ('{same[0]}' is written differently)" if same else ""
