"""The numbers from Spark's report of a batch, and their text."""

import json
from collections.abc import Callable
from dataclasses import replace

import pytest

from gralha.pipelines.progress import DATA_LOSS, Progress, count, lag, size
from gralha.spark import offsets

REPORT = {
    "batchId": 7,
    "timestamp": "2026-01-01T00:00:00.000Z",
    "durationMs": {"triggerExecution": 1234},
    "eventTime": {"watermark": "2025-12-31T23:59:50.000Z"},
    "stateOperators": [
        {"numRowsTotal": 12, "memoryUsedBytes": 4096, "numRowsDroppedByWatermark": 3},
        {"numRowsTotal": 1, "memoryUsedBytes": 1024, "numRowsDroppedByWatermark": 0},
    ],
    "sources": [
        {
            "numInputRows": 40,
            "inputRowsPerSecond": 20.0,
            "processedRowsPerSecond": 32.5,
            "endOffset": {"sales": {"0": 100, "1": 90}},
            "latestOffset": {"sales": {"0": 110, "1": 90}},
        },
        {
            "numInputRows": 2,
            "inputRowsPerSecond": float("nan"),
            "processedRowsPerSecond": 1.5,
            "endOffset": json.dumps({"products": {"0": 5}}),
            "latestOffset": json.dumps({"products": {"0": 6, "1": 4}}),
        },
    ],
}


@pytest.mark.parametrize("text_of", [json.dumps, str, dict], ids=["JSON", "PySpark 4.1", "parsed"])
def test_offsets_in_a_report_may_be_text(text_of: Callable[[object], object]) -> None:
    end = {"sales": {"0": 5}, "@topicIds": {"sales": "x"}}
    assert Progress.of("totals", {"sources": [{"endOffset": text_of(end)}]}).read_to == {"sales": {"0": 5}}
    assert Progress.of("totals", {"sources": [{"endOffset": "None"}, {"endOffset": "{x"}]}).read_to == {}


def test_the_numbers_of_a_report_are_added_up() -> None:
    assert Progress.of("totals", REPORT) == Progress(
        pipeline="totals",
        batch=7,
        at="2026-01-01T00:00:00.000Z",
        input_rows=42,
        input_rows_per_second=20.0,
        processed_rows_per_second=34.0,
        lag=15,
        state_rows=13,
        state_bytes=5120,
        late_rows_dropped=3,
        batch_duration_ms=1234,
        watermark="2025-12-31T23:59:50.000Z",
        read_to={"sales": {"0": 100, "1": 90}, "products": {"0": 5}},
    )


def test_what_a_batch_found_lost_counts_once() -> None:
    before = {"sales": {"0": 5}, "@dataLoss": {"sales": {"events": 1, "records": 7}}}
    after = {"sales": {"0": 90}, "@dataLoss": {"sales": {"events": 3, "records": 10}}}
    report = {"sources": [{"startOffset": json.dumps(before), "endOffset": after}]}
    progress = Progress.of("totals", report)
    assert (progress.data_losses, progress.lost_records) == (2, 3)
    assert progress.text().endswith("  LOST 3 records  0.0 s")
    assert Progress.of("totals", {"sources": [{"startOffset": after, "endOffset": after}]}).data_losses == 0
    assert offsets.DATA_LOSS == DATA_LOSS


def test_an_empty_report_is_no_error() -> None:
    assert Progress.of("totals", {}) == Progress("totals", -1, "")


def test_the_line_says_what_there_is_to_say() -> None:
    assert replace(Progress.of("totals", REPORT), dead_letters=2, dead_letters_total=41).text() == (
        "batch 7  in 20/s  done 34/s  lag 15  dead letters 41  late 3  1.2 s  state 13 rows, 5.0 KiB"
    )
    assert Progress("totals", 0, "").text() == "batch 0  in 0/s  done 0/s  lag ?  0.0 s"


def test_the_first_batch_has_no_rate() -> None:
    """Spark measures a rate since the batch before, and reports 0 or NaN for the first one."""
    for rate in (0.0, float("nan"), None):
        report = {"batchId": 0, "sources": [{"numInputRows": 107, "inputRowsPerSecond": rate}]}
        progress = Progress.of("totals", report)
        assert progress.input_rows_per_second is None
        assert progress.text().startswith("batch 0  in 107 rows  done ")


def test_json_brings_it_back() -> None:
    progress = Progress.of("totals", REPORT)
    assert (
        Progress.from_json({**json.loads(json.dumps(progress.to_json())), "of_a_later_version": 1})
        == progress
    )


@pytest.mark.parametrize("latest", [None, "null", "not JSON"])
def test_lag_is_unknown_when_a_source_does_not_tell(latest: str | None) -> None:
    told = {"endOffset": {"a": {"0": 1}}, "latestOffset": {"a": {"0": 3}}}
    assert lag([told]) == 2
    assert lag([told, {"endOffset": {"b": {"0": 1}}, "latestOffset": latest}]) is None


def test_what_is_kept_beside_the_offsets_is_no_lag() -> None:
    end = {"a": {"0": 5}, "@topicIds": {"a": "x"}}
    latest = {"a": {"0": 6}, "@initial": True, "@from": {"a": {"0": 1}}, "@dataLoss": {"a": {"records": 7}}}
    assert lag([{"endOffset": end, "latestOffset": latest}]) == 1


def test_lag_is_never_below_zero() -> None:
    assert lag([{"endOffset": {"a": {"0": 5}}, "latestOffset": {"a": {"0": 3}}}]) == 0


@pytest.mark.parametrize(
    ("number", "text"),
    [(0, "0"), (0.25, "0.2"), (9999, "9999"), (12_345, "12.3k"), (4_200_000, "4.2M"), (7e9, "7.0G")],
)
def test_counts_stay_short(number: float, text: str) -> None:
    assert count(number) == text


@pytest.mark.parametrize(
    ("number", "text"), [(12, "12 B"), (2048, "2.0 KiB"), (5 << 20, "5.0 MiB"), (3 << 30, "3.0 GiB")]
)
def test_sizes_have_units(number: int, text: str) -> None:
    assert size(number) == text
