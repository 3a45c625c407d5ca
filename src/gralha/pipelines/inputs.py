"""Converts the records of topics to the typed rows that a pipeline's function gets.

A value is JSON, and Spark's `from_json` parses it. A record fits if its value is one JSON object in UTF-8, if
its fields have the declared types, and if all fields that are declared NOT NULL exist. Undeclared fields are
ignored. A record without a value (a tombstone) fits: all its columns are null, and `_key` has its key.

`from_json` stops at the end of the first object and ignores what follows. So it gets the value as the only
item of an array, inside an object with another field after it. If the value is not one object, then the text
is not JSON, or the array does not have one item, or the last field is missing.
"""

from collections.abc import Callable, Mapping
from functools import reduce
from typing import Final, cast

from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the usual name
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from gralha.client.settings import READ_COMMITTED
from gralha.pipelines.declaration import RECORD_COLUMNS, TopicInput
from gralha.pipelines.errors import PipelineError
from gralha.pipelines.spark_errors import short
from gralha.spark.option_values import OptionError
from gralha.spark.options import source_options, warnings
from gralha.spark.schema import HEADERS

VALUE: Final = StructType([StructField("value", BinaryType())])
# The columns of every input, in addition to the columns of its value.
RECORD_FIELDS: Final = (
    StructField("_key", StringType()),
    StructField("_topic", StringType()),
    StructField("_partition", IntegerType()),
    StructField("_offset", LongType()),
    StructField("_timestamp", TimestampType()),
    StructField("_headers", HEADERS),
)
# Temporary columns. A user's column cannot have these names.
PARSED: Final = "__gralha_parsed"
UNFIT: Final = "__gralha_unfit"
# The fields of the object around a value.
ITEMS: Final = "values"
END: Final = "end"

# Takes records with the column UNFIT and returns those that fit, with or without writing dead letters.
Sorter = Callable[[DataFrame], DataFrame]


def value_schema(declared: TopicInput, session: SparkSession) -> StructType:
    """The columns of the values, without those of the record. Without a schema it is `value BINARY`."""
    if declared.schema is None:
        return VALUE
    if isinstance(declared.schema, StructType):
        schema = declared.schema
    else:
        try:
            # `fromDDL` needs a session and takes the active one.
            schema = cast(StructType, StructType.fromDDL(declared.schema))
        except PySparkException as error:
            raise PipelineError(f"the schema {declared.schema!r} cannot be read: {short(error)}") from error
    _check_names(schema)
    return schema


def row_schema(declared: TopicInput, session: SparkSession) -> StructType:
    """All columns of the function's DataFrame."""
    return StructType([*value_schema(declared, session).fields, *RECORD_FIELDS])


def read(
    declared: TopicInput, session: SparkSession, *, group: str | None, kafka: Mapping[str, str]
) -> DataFrame:
    """The records of the topics as a stream. `kafka` has client settings without "kafka.".

    With a group the source commits its progress. Without one the sink does.
    """
    options = {
        "subscribe": ",".join(declared.topics),
        "startingOffsets": declared.starting_offsets,
        **{f"kafka.{name}": value for name, value in kafka.items()},
        **declared.options,
        "includeHeaders": "true",
    }
    if group is not None:
        options.setdefault("groupId", group)
    names = {name.lower() for name in options}
    if not {"isolationlevel", "kafka.isolation.level"} & names:
        # Rows of an aborted transaction would be rows that nobody meant to write.
        options["isolationLevel"] = READ_COMMITTED
    _check_options(options)
    return session.readStream.format("gralha").options(**options).load()


def _check_options(options: Mapping[str, str]) -> None:
    """Finds wrong options before the query starts. Spark reports them after its start, or never."""
    try:
        source_options(options, streaming=True)
    except OptionError as error:
        raise PipelineError(str(error)) from error
    unknown = next(iter(warnings(options, streaming=True)), None)
    if unknown is not None:
        raise PipelineError(unknown)


def typed(
    records: DataFrame, declared: TopicInput, session: SparkSession, sort_out: Sorter | None = None
) -> DataFrame:
    """Typed rows with their watermark, from records with headers and the columns that Spark's source has.

    Works on a stream and on a batch, so that tests can use their own rows. Records that do not fit are
    removed, unless `sort_out` handles them (see `dead_letters.py`).
    """
    schema = value_schema(declared, session)
    if declared.schema is None:
        rows = records.select("value", *_record_columns())
    else:
        fitting = (sort_out or _leave_out)(_parsed(records, schema))
        value = _only_item()
        values = [value.getField(field.name).alias(field.name) for field in schema.fields]
        rows = fitting.select(*values, *_record_columns())
    return rows if declared.watermark is None else rows.withWatermark(*declared.watermark)


def _parsed(records: DataFrame, schema: StructType) -> DataFrame:
    nullable = [StructField(field.name, field.dataType) for field in schema.fields]
    around = [StructField(ITEMS, ArrayType(StructType(nullable))), StructField(END, BooleanType())]
    wanted = StructType([*around, StructField(UNFIT, StringType())])
    text = F.concat(F.lit(f'{{"{ITEMS}":['), F.col("value").cast("string"), F.lit(f'],"{END}":true}}'))
    parsed = F.from_json(text, wanted, {"columnNameOfCorruptRecord": UNFIT})
    return records.withColumn(PARSED, parsed).withColumn(UNFIT, _is_unfit(schema))


def _only_item() -> Column:
    return F.get(F.col(PARSED).getField(ITEMS), F.lit(0))


def _is_unfit(schema: StructType) -> Column:
    parsed = F.col(PARSED)
    value = _only_item()
    required = [value.getField(field.name).isNull() for field in schema.fields if not field.nullable]
    is_other_json = (
        value.isNull()
        | (F.size(parsed.getField(ITEMS)) != 1)
        | parsed.getField(END).isNull()
        | parsed.getField(UNFIT).isNotNull()
    )
    # Spark would replace bytes that are not UTF-8 with question marks.
    is_no_text = ~F.is_valid_utf8(F.col("value").cast("string"))
    return F.col("value").isNotNull() & reduce(Column.__or__, required, is_other_json | is_no_text)


def _leave_out(records: DataFrame) -> DataFrame:
    return records.filter(~F.col(UNFIT))


def _record_columns() -> list[Column]:
    return [
        F.col("key").cast("string").alias("_key"),
        F.col("topic").alias("_topic"),
        F.col("partition").alias("_partition"),
        F.col("offset").alias("_offset"),
        F.col("timestamp").alias("_timestamp"),
        F.col("headers").alias("_headers"),
    ]


def _check_names(schema: StructType) -> None:
    taken = next((name for name in schema.names if name in RECORD_COLUMNS), None)
    if taken:
        raise PipelineError(
            f"the schema has a column {taken}, but Gralha uses this name for the origin of records"
        )
    names = [name.lower() for name in schema.names]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice:
        raise PipelineError(f"the schema has the column {twice} twice")
