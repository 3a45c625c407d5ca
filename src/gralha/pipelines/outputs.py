"""Writes the rows of a pipeline's function to topics and tables.

The streaming sink of `format("gralha")` appends to a single topic. Tables, several outputs of one pipeline,
and topics in the modes update and complete are written batch by batch (`foreachBatch`): the batch is computed
once, cached, and written to every output. A table has one folder per batch, `batch=<checkpoint>-<number>`. A
repeated batch replaces its folder, so no row appears twice. Spark and other readers see the folder's name as
one more column. A repeated batch is written to topics again: delivery is at least once. With the guarantee
"exactly once" each batch has its number as version, and the sink leaves a repeated one out.
"""

from collections.abc import Callable, Mapping
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the usual name
from pyspark.sql.types import BinaryType

from gralha.pipelines.declaration import (
    EXACTLY_ONCE,
    RECORD_COLUMNS,
    Output,
    Pipeline,
    TableOutput,
    TopicOutput,
)
from gralha.pipelines.errors import PipelineError
from gralha.pipelines.explanations import did_you_mean
from gralha.spark.input_progress import InputProgress, to_option
from gralha.spark.task_writers import QUERY_PROPERTY

# Null fields are written as null, so that a reader sees every column of every row.
JSON_OPTIONS: Final = {"ignoreNullFields": "false"}
EXACTLY_ONCE_OPTION: Final = "exactly-once"


def records(rows: DataFrame, output: TopicOutput) -> DataFrame:
    """The rows as records: key, value and headers, if the rows have them."""
    values = [name for name in rows.columns if name not in RECORD_COLUMNS]
    if not values:
        raise PipelineError(f"there is no column to write to topic {output.topic}")
    columns = [_value(rows, values).alias("value")]
    key = _key(rows, output)
    if key is not None:
        columns.insert(0, key.alias("key"))
    if _has_one(rows, "_headers"):
        columns.append(rows["_headers"].alias("headers"))
    return rows.select(*columns)


def check(rows: DataFrame, output: Output) -> None:
    """Raises PipelineError if the output names a column that the rows do not have."""
    wanted = output.key if isinstance(output, TopicOutput) else output.partition_by
    missing = next((name for name in wanted if name not in rows.columns), None)
    if missing is not None:
        role = "key" if isinstance(output, TopicOutput) else "partition_by"
        has = ", ".join(rows.columns)
        raise PipelineError(
            f"the {role} of {output} is {missing}, but the function returns only: {has}."
            f"{did_you_mean(missing, rows.columns)}"
        )
    if isinstance(output, TopicOutput):
        records(rows, output)
        return
    twice = next((name for name in rows.columns if not _has_one(rows, name)), None)
    if twice is not None:
        raise PipelineError(f"the function returns two columns {twice}: rename or drop one for {output}")


def batch_writer(
    pipeline: Pipeline,
    *,
    checkpoint_id: str,
    kafka: Mapping[str, str],
    progress: Callable[[DataFrame, int], InputProgress] | None = None,
    is_like_sink: bool = False,
) -> Callable[[DataFrame, int], None]:
    """The function for `foreachBatch`. It writes a batch to every output.

    With `progress` the last topic that is written carries the offsets of the consumer group. They count when
    all other outputs are written. With `is_like_sink` the only output has the key of the streaming sink in
    the log of decisions, so that either of them may continue the other's checkpoint.
    """
    outputs = pipeline.outputs
    is_exactly_once = pipeline.guarantee == EXACTLY_ONCE
    topics = [place for place, one in enumerate(outputs) if isinstance(one, TopicOutput)]
    carrier = topics[-1] if topics and progress is not None else None
    order = sorted(range(len(outputs)), key=lambda place: place == carrier)

    def options_of(place: int, output: TopicOutput, batch: DataFrame, number: int) -> dict[str, str]:
        options = topic_options(output, kafka)
        if progress is not None and place == carrier:
            found = progress(batch, number)
            options |= {"groupId": found.group, "groupOffsets": to_option(found)}
        if not is_exactly_once:
            return options
        # Two outputs may be the same topic.
        application = f"{pipeline.name}-{checkpoint_id}-{place}"
        if is_like_sink:
            application = batch.sparkSession.sparkContext.getLocalProperty(QUERY_PROPERTY) or ""
        return {
            **options,
            "deliveryGuarantee": EXACTLY_ONCE_OPTION,
            "txnAppId": application,
            "txnVersion": str(number),
        }

    def write(batch: DataFrame, number: int) -> None:
        name = f"{checkpoint_id}-{number:06d}"
        if len(outputs) == 1 and isinstance(outputs[0], TopicOutput):
            _write_topic(batch, outputs[0], options_of(0, outputs[0], batch, number))
            return
        batch.persist()
        try:
            # This computes the whole batch once. An empty one is written only for its offsets.
            is_empty = not batch.count()
            for place in order:
                output = outputs[place]
                if is_empty and place != carrier:
                    continue
                if isinstance(output, TopicOutput):
                    _write_topic(batch, output, options_of(place, output, batch, number))
                else:
                    _write_table(batch, output, name)
        finally:
            batch.unpersist()

    return write


def topic_options(output: TopicOutput, kafka: Mapping[str, str]) -> dict[str, str]:
    """The options of `format("gralha")` for writing to a topic."""
    client = {f"kafka.{name}": value for name, value in kafka.items()}
    return {**client, **output.options, "topic": output.topic}


def _write_topic(batch: DataFrame, output: TopicOutput, options: Mapping[str, str]) -> None:
    records(batch, output).write.format("gralha").options(**options).mode("append").save()


def _write_table(batch: DataFrame, output: TableOutput, name: str) -> None:
    writer = batch.write.format(output.format).options(**output.options).mode("overwrite")
    if output.partition_by:
        writer = writer.partitionBy(*output.partition_by)
    writer.save(f"{output.path.rstrip('/')}/batch={name}")


def _value(rows: DataFrame, names: list[str]) -> Column:
    return F.to_json(F.struct(*[rows[_quoted(name)] for name in names]), JSON_OPTIONS)


def _key(rows: DataFrame, output: TopicOutput) -> Column | None:
    if len(output.key) > 1:
        return F.to_json(F.struct(*[rows[_quoted(name)] for name in output.key]), JSON_OPTIONS)
    name = output.key[0] if output.key else "_key"
    if not _has_one(rows, name):
        return None
    key = rows[_quoted(name)]
    return key if isinstance(rows.schema[name].dataType, BinaryType) else key.cast("string")


def _has_one(rows: DataFrame, name: str) -> bool:
    """Returns True if there is exactly one such column. A join of two inputs has the columns of records
    twice.
    """
    return rows.columns.count(name) == 1


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
