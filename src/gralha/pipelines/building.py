"""Builds a pipeline on a session: reads its inputs, calls its function, checks the result.

This starts no query. Planning and running use the same code, so a plan shows what will run.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from gralha.pipelines import inputs, outputs
from gralha.pipelines.dead_letters import Counter, DeadLetters, sorter
from gralha.pipelines.declaration import Pipeline
from gralha.pipelines.errors import PipelineError
from gralha.pipelines.explanations import NO_SUCH_ATTRIBUTE, no_column
from gralha.pipelines.group_progress import rides_with_decisions
from gralha.pipelines.loading import where
from gralha.pipelines.spark_errors import short

STARTS_ITSELF: Final = " Leave out writeStream: Gralha writes the rows and starts the query."
# Advice by the type that a function returned instead of a DataFrame.
HINTS: Final = {
    "NoneType": " Is a `return` missing?",
    "StreamingQuery": STARTS_ITSELF,
    "DataStreamWriter": STARTS_ITSELF,
    "GroupedData": " After groupBy(...) comes an aggregate, such as .count() or .agg(...).",
}


@dataclass(frozen=True)
class Built:
    """A pipeline on a session, ready to start."""

    pipeline: Pipeline
    rows: DataFrame
    # The declared columns of each input's values.
    schemas: Mapping[str, StructType]
    unfit: Counter


def build(pipeline: Pipeline, session: SparkSession, kafka: Mapping[str, str]) -> Built:
    """Builds a pipeline. Raises PipelineError with file and line if Spark cannot run it."""
    unfit = Counter(session)
    group = None if rides_with_decisions(pipeline) else pipeline.name
    schemas: dict[str, StructType] = {}
    frames: dict[str, DataFrame] = {}
    for name, declared in pipeline.inputs.items():
        try:
            schemas[name] = inputs.value_schema(declared, session)
            letters = _letters(pipeline, schemas[name], kafka)
            stream = inputs.read(declared, session, group=group, kafka=kafka)
            frames[name] = inputs.typed(stream, declared, session, sorter(unfit, letters))
        except (PySparkException, PipelineError) as error:
            raise complaint(pipeline, f"input {name}: {short(error)}") from error
    rows = call(pipeline, frames)
    _check_outputs(pipeline, rows)
    return Built(pipeline, rows, schemas, unfit)


def call(pipeline: Pipeline, frames: Mapping[str, DataFrame]) -> DataFrame:
    """Calls the function of a pipeline. An error in it is reported with its line."""
    try:
        rows: object = pipeline.function(**frames)
    except Exception as error:
        line = where(error, pipeline.file)
        raise complaint(pipeline, _reason(error, frames), line) from error
    if not isinstance(rows, DataFrame):
        what = f"the function must return a DataFrame; it returned {type(rows).__name__}"
        raise complaint(pipeline, f"{what}.{HINTS.get(type(rows).__name__, '')}")
    if any(frame.isStreaming for frame in frames.values()) and not rows.isStreaming:
        raise complaint(pipeline, "the function must return a DataFrame that it makes from its inputs.")
    return rows


def _reason(error: Exception, frames: Mapping[str, DataFrame]) -> str:
    """An error of the function in a sentence. `sales.amuont` has no list of columns, so it is made here."""
    if isinstance(error, PySparkException):
        if error.getCondition() == NO_SUCH_ATTRIBUTE:
            name = str((error.getMessageParameters() or {}).get("attr_name", ""))
            columns = [column for frame in frames.values() for column in frame.columns]
            return no_column(name, list(dict.fromkeys(columns)))
        return short(error)
    return f"{type(error).__name__}: {error}"


def complaint(pipeline: Pipeline, what: str, line: int | None = None) -> PipelineError:
    """An error with the pipeline, the file and the line."""
    try:
        file = str(Path(pipeline.file).relative_to(Path.cwd()))
    except ValueError:
        file = pipeline.file
    sentence = what if what.endswith((".", "?", "!")) else f"{what}."
    return PipelineError(f"{file}:{line or pipeline.line}: pipeline {pipeline.name}: {sentence}")


def _letters(pipeline: Pipeline, schema: StructType, kafka: Mapping[str, str]) -> DeadLetters | None:
    if pipeline.dead_letters is None:
        return None
    return DeadLetters(pipeline.name, pipeline.dead_letters, schema, dict(kafka))


def _check_outputs(pipeline: Pipeline, rows: DataFrame) -> None:
    try:
        for output in pipeline.outputs:
            outputs.check(rows, output)
        _check_mode(pipeline, rows)
    except (PySparkException, PipelineError) as error:
        raise complaint(pipeline, short(error)) from error


def _check_mode(pipeline: Pipeline, rows: DataFrame) -> None:
    """Makes the checks now that Spark would make at the start of the query."""
    jvm = rows.sparkSession._jvm
    assert jvm is not None
    mode = getattr(jvm.org.apache.spark.sql.streaming.OutputMode, pipeline.output_mode.capitalize())()
    checker = jvm.org.apache.spark.sql.catalyst.analysis.UnsupportedOperationChecker
    checker.checkForStreaming(rows._jdf.queryExecution().analyzed(), mode)
