"""The columns of records. Names, types and order are the same as in Spark's Kafka source."""

from typing import Final

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from gralha.spark.option_values import OptionError

HEADERS: Final = ArrayType(
    StructType([StructField("key", StringType(), True), StructField("value", BinaryType(), True)]), True
)


def record_schema(include_headers: bool) -> StructType:
    """The columns of the source."""
    fields = [
        StructField("key", BinaryType(), True),
        StructField("value", BinaryType(), True),
        StructField("topic", StringType(), True),
        StructField("partition", IntegerType(), True),
        StructField("offset", LongType(), True),
        StructField("timestamp", TimestampType(), True),
        StructField("timestampType", IntegerType(), True),
    ]
    if include_headers:
        fields.append(StructField("headers", HEADERS, True))
    return StructType(fields)


def check_schema(given: StructType, include_headers: bool) -> None:
    """Refuses a schema of the user, as Spark's source does, because it would have no effect."""
    if given != record_schema(include_headers):
        raise OptionError(
            'format("gralha") has its own schema: remove .schema(...) and convert the value to columns '
            "with from_json(col('value').cast('string'), schema)."
        )
