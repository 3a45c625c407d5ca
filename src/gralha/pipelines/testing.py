"""Tests of pipelines: rows in, rows out, with the same stream as in production.

In the file of the pipeline, for `gralha pipeline test FILE`:

```python
from gralha.pipelines.testing import check

@totals.test
def adds_up_each_product(run):
    check(
        run(sales=[{"product": "tea", "amount": 2.0, "at": "2026-01-01 10:00"},
                   {"product": "tea", "amount": 3.0, "at": "2026-01-01 10:01"}]),
        [{"product": "tea", "total": 5.0}],
    )
```

In pytest, use `run_rows(totals, sales=[...])` instead. No broker is needed. The rows become records with JSON
values in a folder of files that Spark reads as a stream. So parsing, watermarks, state and output modes are
real. A list of lists is one batch after another:

    run(sales=[[{...}, {...}], [{"at": "an hour later", ...}]])

A row may also have `_key`, `_timestamp`, `_topic`, `_partition`, `_headers`, as the function sees them. Text
or bytes in place of a row are the value of a record, for example one that does not parse. None is a record
without a value. Records that did not fit their schema are in the result's `dead_letters`.
"""

import datetime
import itertools
import json
import os
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from gralha.pipelines.building import call
from gralha.pipelines.declaration import RECORD_COLUMNS, Pipeline, TopicInput
from gralha.pipelines.differences import difference, plain
from gralha.pipelines.inputs import UNFIT, typed, value_schema
from gralha.pipelines.misfits import reason
from gralha.spark.session import ROCKS_DB
from gralha.spark.session import session as spark_session

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql import DataFrame, SparkSession

GivenRow = Mapping[str, Any] | str | bytes | None
Record = dict[str, Any]
Rows = Sequence[GivenRow] | Sequence[Sequence[GivenRow]]

RECORD_DDL: Final = (
    "key BINARY, value BINARY, topic STRING, partition INT, offset BIGINT, timestamp TIMESTAMP, "
    "timestampType INT, headers ARRAY<STRUCT<key: STRING, value: BINARY>>"
)
# The time of records, unless a row has one. A test must not depend on the clock.
EPOCH: Final = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
# A test has few rows. Several tasks, or generated code, would double its time.
QUICK: Final = {
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.streaming.stateStore.providerClass": ROCKS_DB,
}
# The settings of a session for tests. They make its start and the first batch faster.
SMALL_MASTER: Final = "local[2]"
SMALL: Final = {
    "spark.ui.enabled": "false",
    "spark.driver.memory": "1g",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
}


class Result(list[dict[str, Any]]):
    """The output rows in the order of the batches. `batches` has the rows of each batch."""

    def __init__(
        self,
        batches: list[list[dict[str, Any]]],
        *,
        only_last: bool,
        find_dead_letters: Callable[[], list[dict[str, Any]]],
    ) -> None:
        super().__init__(row for batch in (batches[-1:] if only_last else batches) for row in batch)
        self.batches = batches
        self._find_dead_letters = find_dead_letters

    @cached_property
    def dead_letters(self) -> list[dict[str, Any]]:
        """The records that did not fit: input, value, reason. They are computed when this is called."""
        return self._find_dead_letters()


def check(actual: Sequence[Mapping[str, Any]], expected: Sequence[Mapping[str, Any]]) -> None:
    """Compares rows in any order, by the columns of the expected rows. Raises AssertionError with a table."""
    __tracebackhide__ = True
    found = difference(actual, expected)
    if found is not None:
        raise AssertionError(found)


def run_rows(pipeline: Pipeline, *, session: "SparkSession | None" = None, **inputs: Rows) -> Result:
    """The rows that the pipeline makes from the given ones. An input that is not given has no rows.

    Rows are plain values: times are text in UTC, `2026-01-01 10:00:00`. With output_mode="complete" they are
    the rows of the last batch, otherwise of all batches. Uses the running session, or starts a small one.
    """
    unknown = sorted(inputs.keys() - pipeline.inputs.keys())
    if unknown:
        raise TypeError(f"{pipeline.name} has no input {unknown[0]!r}; it has {', '.join(pipeline.inputs)}")
    own = _session_of_its_own(session or small_session(), pipeline)
    records = {
        name: _records(_batches(inputs.get(name, [])), declared) for name, declared in pipeline.inputs.items()
    }
    count = max(map(len, records.values()))
    with tempfile.TemporaryDirectory(prefix="gralha-rows-") as folder:
        frames = {}
        for name, declared in pipeline.inputs.items():
            place = Path(folder, "inputs", name)
            _write(place, records[name], count)
            stream = own.readStream.schema(RECORD_DDL).option("maxFilesPerTrigger", 1).parquet(str(place))
            frames[name] = typed(stream, declared, own)
        batches = _collect(call(pipeline, frames), pipeline, Path(folder, "checkpoint"))
    return Result(
        batches,
        only_last=pipeline.output_mode == "complete",
        find_dead_letters=lambda: _dead_letters(pipeline, own, records),
    )


def small_session() -> "SparkSession":
    """The running session, or one that starts as quickly as possible."""
    return spark_session(SMALL_MASTER, "gralha pipeline test", SMALL)


def _session_of_its_own(session: "SparkSession", pipeline: Pipeline) -> "SparkSession":
    """The same Spark with its own settings: those of the pipeline, and those that make tests fast."""
    own = session.newSession()
    for name, value in {**QUICK, **pipeline.conf}.items():
        own.conf.set(name, value)
    return own


def _batches(rows: Rows) -> list[list[GivenRow]]:
    if rows and all(isinstance(one, list | tuple) for one in rows):
        return [list(batch) for batch in rows]  # type: ignore[arg-type]  # checked above
    return [list(rows)]  # type: ignore[arg-type]


def _records(batches: list[list[GivenRow]], declared: TopicInput) -> list[list[Record]]:
    """The rows of each batch as records. The offsets continue from batch to batch."""
    offsets = itertools.count()
    return [[_record(row, next(offsets), declared) for row in batch] for batch in batches]


def _write(folder: Path, batches: list[list[Record]], count: int) -> None:
    """One file for each batch. The times of the files give Spark their order."""
    import pyarrow.parquet

    folder.mkdir(parents=True)
    for number in range(count):
        records = batches[number] if number < len(batches) else []
        path = folder / f"{number:06d}.parquet"
        pyarrow.parquet.write_table(pyarrow.Table.from_pylist(records, schema=_arrow_schema()), path)
        seconds = EPOCH.timestamp() + number
        os.utime(path, (seconds, seconds))


def _arrow_schema() -> "pyarrow.Schema":
    import pyarrow

    header = pyarrow.struct([("key", pyarrow.string()), ("value", pyarrow.binary())])
    return pyarrow.schema(
        [
            ("key", pyarrow.binary()),
            ("value", pyarrow.binary()),
            ("topic", pyarrow.string()),
            ("partition", pyarrow.int32()),
            ("offset", pyarrow.int64()),
            ("timestamp", pyarrow.timestamp("us", "UTC")),
            ("timestampType", pyarrow.int32()),
            ("headers", pyarrow.list_(header)),
        ]
    )


def _record(row: GivenRow, offset: int, declared: TopicInput) -> Record:
    """A row as a record of the input's (first) topic."""
    about = row if isinstance(row, Mapping) else {}
    headers = about.get("_headers")
    return {
        "key": _bytes(about.get("_key")),
        "value": _value(row, declared),
        "topic": about.get("_topic", declared.topics[0]),
        "partition": about.get("_partition", 0),
        "offset": about.get("_offset", offset),
        "timestamp": _time(about.get("_timestamp", EPOCH)),
        "timestampType": 0,
        "headers": headers and [_header(one) for one in headers],
    }


def _value(row: GivenRow, declared: TopicInput) -> bytes | None:
    if not isinstance(row, Mapping):
        return _bytes(row)
    columns = {name: value for name, value in row.items() if name not in RECORD_COLUMNS}
    if declared.schema is None:
        return _bytes(columns.get("value"))
    return json.dumps(columns, default=plain, ensure_ascii=False).encode()


def _header(header: Any) -> dict[str, Any]:
    name, value = (header["key"], header["value"]) if isinstance(header, Mapping) else header
    return {"key": name, "value": _bytes(value)}


def _bytes(value: Any) -> bytes | None:
    return value.encode() if isinstance(value, str) else value


def _time(value: Any) -> datetime.datetime:
    time = datetime.datetime.fromisoformat(value) if isinstance(value, str) else value
    assert isinstance(time, datetime.datetime)
    return time if time.tzinfo else time.replace(tzinfo=datetime.UTC)


def _collect(output: "DataFrame", pipeline: Pipeline, checkpoint: Path) -> list[list[dict[str, Any]]]:
    """Runs the stream to its end and returns the rows of every batch. Raises Spark's error if it fails."""
    batches: list[list[dict[str, Any]]] = []
    lock = threading.Lock()

    def keep(batch: "DataFrame", _number: int) -> None:
        rows = [plain(row) for row in batch.toArrow().to_pylist()]
        with lock:
            batches.append(rows)

    query = (
        output.writeStream.outputMode(pipeline.output_mode)
        .foreachBatch(keep)
        .option("checkpointLocation", str(checkpoint))
        .trigger(availableNow=True)
        .start()
    )
    try:
        query.awaitTermination()
    finally:
        query.stop()
    return batches


def _dead_letters(
    pipeline: Pipeline, session: "SparkSession", records: Mapping[str, list[list[Record]]]
) -> list[dict[str, Any]]:
    """The dead letters of the pipeline."""
    import pyarrow

    letters = []
    for name, declared in pipeline.inputs.items():
        rows = [record for batch in records[name] for record in batch]
        if declared.schema is None or not rows:
            continue
        given = session.createDataFrame(pyarrow.Table.from_pylist(rows, schema=_arrow_schema()))
        unfit = _unfit(given, declared, session).select("value", "offset").toArrow().to_pylist()
        schema = value_schema(declared, session)
        letters += [
            {
                "input": name,
                "offset": one["offset"],
                "value": plain(one["value"]),
                "reason": reason(one["value"], schema),
            }
            for one in unfit
        ]
    return letters


def _unfit(records: "DataFrame", declared: TopicInput, session: "SparkSession") -> "DataFrame":
    """The records that `typed` removes."""
    marked: list[DataFrame] = []

    def keep(parsed: "DataFrame") -> "DataFrame":
        marked.append(parsed)
        return parsed

    typed(records, declared, session, keep)
    return marked[0].filter(UNFIT)
