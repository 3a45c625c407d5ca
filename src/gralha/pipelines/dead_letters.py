"""Dead letters: records that do not fit their schema go to their own topic, and the query continues.

A streaming query has one sink, and after an aggregate the bad records are gone. A second query, or a union of
two halves, would read every input twice. So the stage that reads the records also separates them: Spark marks
the bad ones (`inputs.py`), and a Python function over Arrow batches writes them to the dead-letter topic. Its
argument is null for every good record, so a good record costs a null bit and not a copy of its bytes.

The function returns only after the brokers have acknowledged the dead letters of its batch. A task cannot
finish before that, so no offset is committed before its dead letters are written. A repeated task or batch
writes them again: delivery is at least once, and the headers identify duplicates. The function is declared as
not deterministic, so Spark neither moves a user's filter before it nor calls it twice for one scan. A
pipeline that uses an input twice (a self-join) scans it twice, and writes its dead letters twice.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the usual name
from pyspark.sql.pandas.functions import arrow_udf
from pyspark.sql.types import StructType

from gralha.client.errors import ClientError, DeliveryError, ErrorCode, RowsError
from gralha.client.settings import ClientSettings
from gralha.pipelines.inputs import UNFIT, Sorter
from gralha.pipelines.misfits import reason
from gralha.spark.secrets import client_settings

FITS: Final = "__gralha_fits"
ORIGIN: Final = ("topic", "partition", "offset", "timestamp", "key", "value", "headers")
HEADER_TYPE: Final = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
LETTER_SCHEMA: Final = pa.schema([("key", pa.binary()), ("value", pa.binary()), ("headers", HEADER_TYPE)])
# A dead letter is a record that another topic accepted, with a few more headers. So this topic accepts more.
TOPIC_MESSAGE_BYTES_MAX: Final = 16 * 1024 * 1024
# The errors of a topic for which a letter is too large.
TOO_LARGE: Final = (ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.RECORD_LIST_TOO_LARGE)
# The number of headers with the origin of a dead letter. They come last.
STORY_HEADERS: Final = 6
EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class DeadLetters:
    """Writes the bad records of one input to their topic. It is sent to Spark's workers."""

    pipeline: str
    topic: str
    schema: StructType
    # Settings of Kafka clients. Secrets in them are references until a worker connects.
    kafka: Mapping[str, str]

    def write(self, records: Sequence[Mapping[str, Any]]) -> None:
        """Writes records as dead letters. Returns when the brokers have acknowledged them."""
        settings = client_settings(
            {"max.request.size": str(TOPIC_MESSAGE_BYTES_MAX), **self.kafka, "acks": "all"}
        )
        letters = [self.letter(record) for record in records]
        try:
            _send(settings, self.topic, letters)
        except ClientError as error:
            if not _is_too_large(error):
                raise
            for letter in letters:
                self._write_one(settings, letter)

    def _write_one(self, settings: ClientSettings, letter: dict[str, Any]) -> None:
        """Writes a letter. If it is too large, parts are left out, but never its origin."""
        *longer, shortest = _shortened(letter)
        for one in longer:
            try:
                _send(settings, self.topic, [one])
            except ClientError as error:
                if not _is_too_large(error):
                    raise
            else:
                return
        _send(settings, self.topic, [shortest])

    def letter(self, record: Mapping[str, Any]) -> dict[str, Any]:
        """A dead letter: the record's key, value and headers, and headers with its origin."""
        story = [
            _header("gralha.pipeline", self.pipeline),
            _header("gralha.reason", reason(record["value"], self.schema)),
            _header("gralha.topic", record["topic"]),
            _header("gralha.partition", str(record["partition"])),
            _header("gralha.offset", str(record["offset"])),
            _header("gralha.timestamp", _iso(record["timestamp"])),
        ]
        return {
            "key": record["key"],
            "value": record["value"],
            "headers": [*(record["headers"] or []), *story],
        }


class Counter:
    """Counts bad records on the workers. The driver reads the number."""

    def __init__(self, session: SparkSession) -> None:
        self.accumulator = session.sparkContext.accumulator(0)

    @property
    def value(self) -> int:
        return int(self.accumulator.value)


def sorter(counter: Counter, letters: DeadLetters | None) -> Sorter:
    """A function that removes bad records and counts them. Unless `letters` is None, it writes them."""
    accumulator = counter.accumulator

    def fits(unfit: pa.Array) -> pa.Array:
        count = len(unfit) - unfit.null_count
        if count:
            accumulator.add(count)
            if letters is not None:
                letters.write(origins(unfit.filter(unfit.is_valid())))
        return unfit.is_null()

    judge = arrow_udf(fits, "boolean").asNondeterministic()  # type: ignore[call-overload]

    def sort_out(records: DataFrame) -> DataFrame:
        told = F.struct(*ORIGIN) if letters is not None else F.struct("offset")
        marked = records.withColumn(FITS, judge(F.when(F.col(UNFIT), told)))
        return marked.filter(F.col(FITS))

    return sort_out


def origins(unfit: pa.StructArray) -> list[dict[str, Any]]:
    """The records as Python values. Times are microseconds, because Python's end with the year 9999."""
    batch = pa.RecordBatch.from_struct_array(unfit)
    place = batch.schema.get_field_index("timestamp")
    times = batch.column(place).cast(pa.int64())
    rows: list[dict[str, Any]] = batch.set_column(place, "timestamp", times).to_pylist()
    return rows


def _send(settings: ClientSettings, topic: str, letters: list[dict[str, Any]]) -> None:
    from gralha.client.bulk_writer import BulkWriter  # most workers never have a dead letter

    with BulkWriter(settings, topic=topic, waits_for_first_answer=True) as writer:
        writer.write(pa.RecordBatch.from_pylist(letters, schema=LETTER_SCHEMA))
        writer.flush()


def _is_too_large(error: ClientError) -> bool:
    """Returns True if the topic or the client refused a letter because of its size."""
    return isinstance(error, RowsError) or (isinstance(error, DeliveryError) and error.code in TOO_LARGE)


def _shortened(letter: dict[str, Any]) -> list[dict[str, Any]]:
    """The letter, the letter without its value, and the letter without key and headers of the record."""
    story = letter["headers"][-STORY_HEADERS:]
    value, key = (_header(f"gralha.{one}", "left out: too large for this topic") for one in ("value", "key"))
    without_value = {**letter, "value": None, "headers": [*letter["headers"], value]}
    return [letter, without_value, {"key": None, "value": None, "headers": [*story, value, key]}]


def _header(key: str, value: str) -> dict[str, Any]:
    return {"key": key, "value": value.encode()}


def _iso(microseconds: int | None) -> str:
    if microseconds is None:
        return ""
    try:
        return (EPOCH + timedelta(microseconds=microseconds)).isoformat()
    except OverflowError:
        return f"{microseconds // 1000} ms since 1970"
