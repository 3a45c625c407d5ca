"""The declaration of a pipeline: a function from DataFrames to a DataFrame, with its inputs and outputs.

```python
@pipeline(
    inputs={"sales": from_topic("sales", schema="product STRING NOT NULL, amount DOUBLE, at TIMESTAMP",
                                watermark=("at", "10 seconds"))},
    output=to_topic("totals", key="product"),
    output_mode="update",
)
def totals(sales: DataFrame) -> DataFrame:
    return sales.groupBy(F.window("at", "1 minute"), "product").agg(F.sum("amount").alias("total"))
```

A declaration neither starts Spark nor connects to anything, and a `Pipeline` can be called like the function
that it decorates. Everything that can be checked without Spark is checked here. An error names the file and
the line of the function.
"""

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import CodeType
from typing import TYPE_CHECKING, Any, Final, Literal

from gralha.pipelines.errors import DeclarationError
from gralha.spark.secrets import has_reference, is_secret

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

OutputMode = Literal["append", "update", "complete"]
OUTPUT_MODES: Final = ("append", "update", "complete")
AT_LEAST_ONCE: Final = "at least once"
EXACTLY_ONCE: Final = "exactly once"
GUARANTEES: Final = (AT_LEAST_ONCE, EXACTLY_ONCE)

# The columns with the origin of a record. Every input has them, in addition to the columns of its schema.
RECORD_COLUMNS: Final = ("_key", "_topic", "_partition", "_offset", "_timestamp", "_headers")

# The name of a pipeline is also a consumer group, a folder and a part of a topic name.
NAME: Final = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9._-]{0,199}")
TOPIC: Final = re.compile(r"[a-zA-Z0-9._-]{1,249}")
AVAILABLE_NOW: Final = "available-now"
INTERVAL: Final = re.compile(r"\d+ *(millisecond|second|minute|hour|day|week)s?", re.IGNORECASE)


@dataclass(frozen=True)
class TopicInput:
    """Rows from one or more topics. Made by `from_topic`."""

    topics: tuple[str, ...]
    schema: "str | StructType | None" = None
    watermark: tuple[str, str] | None = None
    starting_offsets: str = "earliest"
    options: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class TopicOutput:
    """Rows to a topic, as JSON. Made by `to_topic`."""

    topic: str
    key: tuple[str, ...] = ()
    partitions: int | None = None
    options: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"topic {self.topic}"


@dataclass(frozen=True)
class TableOutput:
    """Rows to a folder of files. Made by `to_table`."""

    path: str
    format: str = "parquet"
    partition_by: tuple[str, ...] = ()
    options: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.format} table {self.path}"


Output = TopicOutput | TableOutput


@dataclass(frozen=True, eq=False)
class Pipeline:
    """A declared pipeline. It can be called like the function that it decorates."""

    name: str
    function: "Callable[..., DataFrame]"
    inputs: Mapping[str, TopicInput]
    outputs: tuple[Output, ...]
    output_mode: OutputMode = "append"
    # What readers of committed records see of a repeated batch: its rows twice, or once.
    guarantee: str = AT_LEAST_ONCE
    # An interval ("1 second"), "available-now" (all records that exist, then stop), or None: without a pause.
    trigger: str | None = None
    # The topic for records that do not fit their schema. With None they are dropped and counted.
    dead_letters: str | None = None
    # Spark settings for this pipeline alone.
    conf: Mapping[str, str] = field(default_factory=dict)
    # Settings of its Kafka clients, without "kafka.". Secrets are references.
    kafka: Mapping[str, str] = field(default_factory=dict)
    # Its tests, functions with the parameter `run`: see `test` and testing.py.
    tests: list[Callable[[Any], None]] = field(default_factory=list)

    def __call__(self, *arguments: "DataFrame", **named: "DataFrame") -> "DataFrame":
        return self.function(*arguments, **named)

    def test(self, function: Callable[[Any], None]) -> Callable[[Any], None]:
        """Declares the function below as a test. `gralha pipeline test` calls it (see testing.py)."""
        self.tests.append(function)
        return function

    @property
    def file(self) -> str:
        """The file of the function."""
        return self._code.co_filename

    @property
    def line(self) -> int:
        """The first line of the function."""
        return self._code.co_firstlineno

    @property
    def _code(self) -> CodeType:
        """The code of the function itself, without decorators of other modules (`functools.wraps`)."""
        code: CodeType = inspect.unwrap(self.function).__code__
        return code

    @property
    def topics(self) -> list[str]:
        """All topics that the pipeline reads, each once."""
        return list(dict.fromkeys(topic for one in self.inputs.values() for topic in one.topics))


def from_topic(
    *topics: str,
    schema: "str | StructType | None" = None,
    watermark: tuple[str, str] | None = None,
    starting_offsets: str = "earliest",
    options: Mapping[str, str] | None = None,
) -> TopicInput:
    """Reads the records of a topic, or of several with the same kind of values.

    - `schema`: the columns of the JSON values, `"product STRING NOT NULL, amount DOUBLE"` or a `StructType`.
      Records that do not fit go to the dead-letter topic. Without a schema there is one column, `value`
      (BINARY), and every record fits.
    - `watermark`: a column of the schema (or `_timestamp`) and how late a record may come, for example
      `("at", "10 seconds")`.
    - `starting_offsets`: `earliest`, `latest` or Spark's JSON. It counts only for the first start.
    - `options`: any other option of `format("gralha")`, for example `maxOffsetsPerTrigger`.
    """
    if not topics:
        raise DeclarationError('from_topic needs the name of a topic: from_topic("sales").')
    for topic in topics:
        _check_topic(topic)
    _check_schema(schema)
    return TopicInput(topics, schema, _watermark(watermark), starting_offsets, _texts(options))


def to_topic(
    topic: str,
    *,
    key: str | Sequence[str] | None = None,
    partitions: int | None = None,
    options: Mapping[str, str] | None = None,
) -> TopicOutput:
    """Writes every row to a topic as a JSON object.

    - `key`: the column with the record's key, as text. Several columns make a JSON object. Without it,
      records get the key of the input if the function has kept the column `_key`, otherwise none.
    - `partitions`: the number of partitions if the topic does not exist yet. By default the broker decides.

    A column `_headers` becomes the record's headers. The other columns of `RECORD_COLUMNS` are not written.
    """
    _check_topic(topic)
    return TopicOutput(topic, _names(key), partitions, _texts(options))


def to_table(
    path: str,
    *,
    format: str = "parquet",  # noqa: A002 - Spark's own word for it
    partition_by: str | Sequence[str] | None = None,
    options: Mapping[str, str] | None = None,
) -> TableOutput:
    """Appends every row to a folder of files, in a format that Spark knows: parquet, orc, json, csv."""
    return TableOutput(str(path), format, _names(partition_by), _texts(options))


def pipeline(
    *,
    inputs: Mapping[str, TopicInput],
    output: Output | Sequence[Output],
    output_mode: str = "append",
    guarantee: str = AT_LEAST_ONCE,
    trigger: str | None = None,
    name: str | None = None,
    dead_letters: str | None = "",
    conf: Mapping[str, str] | None = None,
    kafka: Mapping[str, str] | None = None,
) -> "Callable[[Callable[..., DataFrame]], Pipeline]":
    """Declares the function below as a pipeline. The names of its parameters are the names of the inputs.

    The default of `name` is the name of the function. It is also the name of the consumer group, of the
    checkpoint, and the first part of the dead-letter topic, `<name>.dead-letters`. `dead_letters` sets
    another topic; with None, bad records are dropped.

    With `guarantee="exactly once"` rows are written in transactions: no row of a repeated batch appears twice
    for consumers with isolation.level=read_committed.

    `kafka` has settings of Kafka's clients for all connections of the pipeline, such as `security.protocol`.
    Secrets must be references, for example "${env:NAME}" (`gralha.spark.secrets`). `--command-config` is
    stronger.
    """

    def declare(function: "Callable[..., DataFrame]") -> Pipeline:
        chosen = name or function.__name__
        # Anything else than a list is one output. The checks below say what is wrong with it.
        outputs = tuple(output) if isinstance(output, list | tuple) else (output,)
        declared = Pipeline(
            name=chosen,
            function=function,
            inputs=dict(inputs) if isinstance(inputs, Mapping) else {},
            outputs=outputs,
            output_mode=output_mode,  # type: ignore[arg-type]  # checked right below
            guarantee=guarantee,
            trigger=trigger,
            dead_letters=f"{chosen}.dead-letters" if dead_letters == "" else dead_letters,
            conf=_texts(conf),
            kafka=_texts(kafka),
        )
        complaint = _complaint(declared)
        if complaint:
            raise DeclarationError(f"{declared.file}:{declared.line}: pipeline {chosen}: {complaint}")
        return declared

    return declare


def _complaint(declared: Pipeline) -> str | None:
    """Returns the first error in a declaration, or None."""
    checks = (
        _bad_name,
        _bad_inputs,
        _bad_outputs,
        _bad_mode,
        _bad_guarantee,
        _bad_trigger,
        _bad_dead_letters,
        _bad_kafka,
    )
    return next((found for check in checks if (found := check(declared))), None)


def _bad_kafka(declared: Pipeline) -> str | None:
    for name, value in declared.kafka.items():
        if name == "bootstrap.servers":
            return "kafka cannot have bootstrap.servers: use --bootstrap-server."
        if is_secret(name) and not has_reference(value):
            return (
                f"kafka has a secret, {name}: write where it is and not what it is, for example "
                f'{{"{name}": "${{file:/run/secrets/kafka.properties:{name}}}"}} or "${{env:NAME}}".'
            )
    return None


def _bad_name(declared: Pipeline) -> str | None:
    if NAME.fullmatch(declared.name):
        return None
    return "the name may have letters, digits, '.', '_' and '-' only, and begins with a letter or a digit."


def _bad_inputs(declared: Pipeline) -> str | None:
    if not declared.inputs:
        return 'it needs an input, for example inputs={"sales": from_topic("sales")}.'
    wrong = next((name for name, one in declared.inputs.items() if not isinstance(one, TopicInput)), None)
    if wrong is not None:
        return f"the input {wrong!r} must be made by from_topic(...)."
    parameters = list(inspect.signature(declared.function).parameters)
    if sorted(parameters) != sorted(declared.inputs):
        return (
            f"its parameters must be named like its inputs: the function takes ({', '.join(parameters)}), "
            f"the inputs are ({', '.join(declared.inputs)})."
        )
    return None


def _bad_outputs(declared: Pipeline) -> str | None:
    if not declared.outputs:
        return 'it needs an output, for example output=to_topic("totals").'
    if not all(isinstance(one, TopicOutput | TableOutput) for one in declared.outputs):
        return "its outputs must be made by to_topic(...) or to_table(...)."
    looped = [
        one.topic for one in declared.outputs if isinstance(one, TopicOutput) and one.topic in declared.topics
    ]
    if looped:
        return f"it would read its own output, topic {looped[0]}, for ever: write to another topic."
    return None


def _bad_mode(declared: Pipeline) -> str | None:
    mode = declared.output_mode
    if mode not in OUTPUT_MODES:
        return f"output_mode is {mode!r}; it can be 'append', 'update' or 'complete'."
    tables = [one for one in declared.outputs if isinstance(one, TableOutput)]
    if tables and mode != "append":
        return (
            f"a table only gets new rows, so output_mode={mode!r} cannot be written to {tables[0].path}: "
            "use output_mode='append' (aggregates then need a watermark), or write the changes to a topic."
        )
    return None


def _bad_guarantee(declared: Pipeline) -> str | None:
    if declared.guarantee in GUARANTEES:
        return None
    return f"guarantee is {declared.guarantee!r}; it can be {' or '.join(map(repr, GUARANTEES))}."


def _bad_trigger(declared: Pipeline) -> str | None:
    trigger = declared.trigger
    if trigger is None or trigger == AVAILABLE_NOW or INTERVAL.fullmatch(str(trigger).strip()):
        return None
    return f"trigger is {trigger!r}; it can be an interval such as '5 seconds', or '{AVAILABLE_NOW}'."


def _bad_dead_letters(declared: Pipeline) -> str | None:
    topic = declared.dead_letters
    if topic is None or TOPIC.fullmatch(topic):
        return None if topic not in declared.topics else f"it would read its own dead letters, topic {topic}."
    return f"dead_letters is {topic!r}, which is not a valid topic name."


def _check_topic(topic: str) -> None:
    if not isinstance(topic, str) or not TOPIC.fullmatch(topic) or topic in (".", ".."):
        raise DeclarationError(
            f"{topic!r} is not a valid topic name: use at most 249 letters, digits, '.', '_' and '-'."
        )


def _check_schema(schema: "str | StructType | None") -> None:
    """Refuses another type than text and `StructType`, whose import would take time here."""
    if schema is not None and not isinstance(schema, str) and not hasattr(schema, "fieldNames"):
        raise DeclarationError(
            f"schema is a {type(schema).__name__}; it is text such as "
            '"product STRING NOT NULL, amount DOUBLE", or a StructType.'
        )


def _texts(settings: Mapping[str, object] | None) -> dict[str, str]:
    """Settings as Spark takes them: people also write 5 and True."""
    return {
        name: str(value).lower() if isinstance(value, bool) else str(value)
        for name, value in (settings or {}).items()
    }


def _watermark(watermark: tuple[str, str] | None) -> tuple[str, str] | None:
    if watermark is None:
        return None
    if len(watermark) != 2 or not INTERVAL.fullmatch(str(watermark[1]).strip()):
        raise DeclarationError(
            f"watermark is {watermark!r}; it is a column and how late a record may come, "
            'for example watermark=("at", "10 seconds").'
        )
    return str(watermark[0]), str(watermark[1])


def _names(names: str | Sequence[str] | None) -> tuple[str, ...]:
    if names is None:
        return ()
    return (names,) if isinstance(names, str) else tuple(names)
