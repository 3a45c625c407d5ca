"""The numbers of one batch of a pipeline: rates, lag, state, late rows.

Spark reports a batch as a tree of JSON (`StreamingQueryProgress`). `Progress.of` keeps the interesting
numbers, and `text` is the line for a terminal. Late rows and dead letters are numbers of one batch, because a
restart resets Spark's counters. `metrics.py` adds them up. A person needs the dead letters of the whole run:
those of one batch would disappear with the next.
"""

import ast
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Final, Self

# The same as in gralha.spark.offsets, whose import needs Arrow: `gralha pipeline status` must be quick.
DATA_LOSS: Final = "@dataLoss"


@dataclass(frozen=True)
class Progress:
    """One batch of one pipeline."""

    pipeline: str
    batch: int
    at: str
    input_rows: int = 0
    # None for the first batch of a query: Spark measures the rate since the batch before.
    input_rows_per_second: float | None = 0.0
    processed_rows_per_second: float = 0.0
    # Records between the end of the batch and the end of the topics when the batch began (`lag.py` measures
    # the current lag). None if the source did not report it.
    lag: int | None = None
    state_rows: int = 0
    state_bytes: int = 0
    late_rows_dropped: int = 0
    # Records that did not fit their schema. Spark does not know this number: the run sets it.
    dead_letters: int = 0
    # The same for all batches of the run until now.
    dead_letters_total: int = 0
    # With failOnDataLoss=false: how often records were gone before they were read, and how many, as far as
    # known. The number is not known for a topic that was created again.
    data_losses: int = 0
    lost_records: int = 0
    batch_duration_ms: int = 0
    watermark: str | None = None
    # The next offset of each partition of each topic. `lag.py` measures from here.
    read_to: Mapping[str, Mapping[str, int]] = field(default_factory=dict)

    @classmethod
    def of(cls, pipeline: str, report: Mapping[str, Any]) -> Self:
        """The numbers in Spark's report (`query.lastProgress`, or its JSON)."""
        sources = report.get("sources") or []
        states = report.get("stateOperators") or []
        event_time = report.get("eventTime") or {}
        input_rows = sum(int(source.get("numInputRows") or 0) for source in sources)
        return cls(
            pipeline=pipeline,
            batch=int(report.get("batchId", -1)),
            at=str(report.get("timestamp", "")),
            input_rows=input_rows,
            input_rows_per_second=_total(sources, "inputRowsPerSecond") or (None if input_rows else 0.0),
            processed_rows_per_second=_total(sources, "processedRowsPerSecond"),
            lag=lag(sources),
            state_rows=int(_total(states, "numRowsTotal")),
            state_bytes=int(_total(states, "memoryUsedBytes")),
            late_rows_dropped=int(_total(states, "numRowsDroppedByWatermark")),
            data_losses=_lost(sources, "events"),
            lost_records=_lost(sources, "records"),
            batch_duration_ms=_duration_ms(report),
            watermark=event_time.get("watermark"),
            read_to=_read_to(sources),
        )

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Self:
        """Parses the values of `to_json`. Unknown names of other versions are ignored."""
        known = cls.__dataclass_fields__
        return cls(**{name: value for name, value in values.items() if name in known})

    def to_json(self) -> dict[str, Any]:
        """All numbers as a JSON object."""
        return asdict(self)

    def text(self) -> str:
        """The line for a terminal. Numbers that are usually zero appear only if they are not.

        A narrow terminal cuts the end off, so everything that is wrong comes before times and sizes.
        """
        rate = self.input_rows_per_second
        parts = [
            f"batch {self.batch}",
            f"in {count(self.input_rows)} rows" if rate is None else f"in {count(rate)}/s",
            f"done {count(self.processed_rows_per_second)}/s",
            f"lag {'?' if self.lag is None else count(self.lag)}",
        ]
        if self.data_losses:
            parts.append(f"LOST {count(self.lost_records)} records")
        if self.dead_letters_total:
            parts.append(f"dead letters {count(self.dead_letters_total)}")
        if self.late_rows_dropped:
            parts.append(f"late {count(self.late_rows_dropped)}")
        parts.append(f"{self.batch_duration_ms / 1000:.1f} s")
        if self.state_rows:
            parts.append(f"state {count(self.state_rows)} rows, {size(self.state_bytes)}")
        return "  ".join(parts)


def lag(sources: list[Mapping[str, Any]]) -> int | None:
    """The number of records that the sources have not read yet. None if one of them does not report it."""
    behind = [_lag_of_source(source) for source in sources]
    return None if not behind or None in behind else sum(one for one in behind if one is not None)


def _read_to(sources: list[Mapping[str, Any]]) -> dict[str, dict[str, int]]:
    """The next offsets of the sources. If two sources read a topic, the smaller offset counts."""
    found: dict[str, dict[str, int]] = {}
    for source in sources:
        for topic, partitions in (_offsets(source.get("endOffset")) or {}).items():
            if topic.startswith("@") or not isinstance(partitions, dict):
                continue
            mine = found.setdefault(topic, {})
            for partition, offset in partitions.items():
                mine[partition] = min(offset, mine.get(partition, offset))
    return found


def _lag_of_source(source: Mapping[str, Any]) -> int | None:
    end, latest = _offsets(source.get("endOffset")), _offsets(source.get("latestOffset"))
    if end is None or latest is None:
        return None
    return _behind(end, latest)


def _lost(sources: list[Mapping[str, Any]], name: str) -> int:
    """The losses of one batch. Our source counts losses in its offsets, since the start of the query."""
    total = 0
    for source in sources:
        before, after = (_offsets(source.get(key)) or {} for key in ("startOffset", "endOffset"))
        for sign, offsets in ((-1, before), (1, after)):
            total += sign * sum(int(loss.get(name) or 0) for loss in offsets.get(DATA_LOSS, {}).values())
    return max(0, total)


def _offsets(value: Any) -> dict[str, Any] | None:
    """The offsets in Spark's report: as JSON text, as the text of a dict (PySpark 4.1), or parsed."""
    if isinstance(value, str):
        try:
            value = json.loads(value) if value.startswith('{"') else ast.literal_eval(value)
        except (ValueError, SyntaxError):
            return None
    return value if isinstance(value, dict) else None


def _behind(end: Mapping[str, Any], latest: Mapping[str, Any]) -> int:
    """The sum of the differences between two trees of offsets. A new partition counts from its start."""
    total = 0
    for name, newest in latest.items():
        # Entries that begin with "@" are not offsets (see gralha.spark.offsets).
        if name.startswith("@"):
            continue
        if isinstance(newest, dict):
            inner = end.get(name)
            total += _behind(inner if isinstance(inner, dict) else {}, newest)
        elif isinstance(newest, int):
            done = end.get(name)
            total += max(0, newest - (done if isinstance(done, int) else 0))
    return total


def _total(parts: list[Mapping[str, Any]], name: str) -> float:
    """The sum over sources or operators. Spark reports NaN if nothing was measured."""
    values = [float(part.get(name) or 0) for part in parts]
    return sum(value for value in values if value == value)  # NaN is not equal to itself


def _duration_ms(report: Mapping[str, Any]) -> int:
    durations = report.get("durationMs") or {}
    return int(durations.get("triggerExecution") or report.get("batchDuration") or 0)


def count(number: float) -> str:
    """A number with few characters: 7, 940, 1.2k, 3.4M."""
    for limit, unit in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if number >= limit:
            scale = 1e3 if unit == "k" else limit
            return f"{number / scale:.1f}{unit}"
    return f"{number:.0f}" if number >= 10 or number == int(number) else f"{number:.1f}"


def size(size_bytes: float) -> str:
    """A size in KiB, MiB or GiB."""
    for limit, unit in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if size_bytes >= limit:
            return f"{size_bytes / limit:.1f} {unit}"
    return f"{size_bytes:.0f} B"
