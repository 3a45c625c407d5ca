import time

import pytest

from gralha.cli.perf_metrics import metrics_table, settings_of
from gralha.cli.perf_statistics import (
    DETAILED_HEADER,
    SUMMARY_HEADER,
    Deliveries,
    ProducerMetrics,
    ProducerStatistics,
    Progress,
    Throttle,
    consumer_progress_line,
    consumer_summary_line,
    format_date,
    percentile_values,
)

NOON = time.mktime((2024, 2, 29, 12, 0, 0, 0, 0, -1))
PATTERN = "yyyy-MM-dd HH:mm:ss:SSS"


def test_the_producers_lines() -> None:
    statistics = ProducerStatistics(4, 5000)
    for latency_ms in (1, 2, 3, 10):
        statistics.record(Deliveries(1, 1 << 20, latency_ms), time.time())
    assert statistics.total_line(2.0) == (
        "4 records sent, 2.000000 records/sec (2.00 MB/sec), 4.00 ms avg latency, 10.00 ms max latency, "
        "3 ms 50th, 10 ms 95th, 10 ms 99th, 10 ms 99.9th."
    )
    assert statistics.window_line(4.0) == (
        "4 records sent, 1.0 records/sec (1.00 MB/sec), 4.0 ms avg latency, 10.0 ms max latency."
    )


def test_an_interval_is_printed_when_it_is_over_and_starts_anew(capsys: pytest.CaptureFixture[str]) -> None:
    statistics = ProducerStatistics(10, 1000, steady_state=True)
    start = time.time()
    statistics.record(Deliveries(1, 100, 1), start + 0.5)
    assert capsys.readouterr().out == ""
    statistics.record(Deliveries(1, 100, 3), start + 1.5)
    first = capsys.readouterr().out.splitlines()
    assert first[0] == "In steady state."
    assert first[1].startswith(
        "2 records sent, 1.3 records/sec (0.00 MB/sec), 2.0 ms avg latency, 3.0 ms max"
    )
    statistics.silence()
    statistics.record(Deliveries(1, 100, 9), start + 3)
    assert capsys.readouterr().out == ""
    assert statistics.total_line(1).startswith("3 steady state records sent, 3.000000 records/sec")


def test_of_very_many_records_only_some_latencies_are_kept() -> None:
    statistics = ProducerStatistics(1_500_000, 5000)
    for number in range(9):
        statistics.record(Deliveries(1, 1, number), time.time())
    assert statistics._latencies_ms == [0, 3, 6]


def test_percentiles() -> None:
    assert percentile_values(list(range(1000))) == [500, 950, 990, 999]
    assert percentile_values([7]) == [7, 7, 7, 7]
    assert percentile_values([]) == [0, 0, 0, 0]


def test_the_consumers_lines() -> None:
    columns = "data.consumed.in.MB, MB.sec, data.consumed.in.nMsg, nMsg.sec, rebalance.time.ms, fetch.time.ms"
    assert f"start.time, end.time, {columns}, fetch.MB.sec, fetch.nMsg.sec" == SUMMARY_HEADER
    assert f"time, threadId, {columns}, fetch.MB.sec, fetch.nMsg.sec" == DETAILED_HEADER
    assert consumer_summary_line(NOON, NOON + 2, 4 << 20, 1000, 1000, PATTERN) == (
        "2024-02-29 12:00:00:000, 2024-02-29 12:00:02:000, 4.0000, 2.0000, 1000, 500.0000, 1000, 1000, "
        "4.0000, 1000.0000"
    )
    progress = consumer_progress_line(
        Progress(NOON, 1 << 20, 10), Progress(NOON + 1, 3 << 20, 30), 0, PATTERN
    )
    assert progress == "2024-02-29 12:00:01:000, 0, 3.0000, 2.0000, 30, 20.0000, 0, 1000, 2.0000, 20.0000"


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (PATTERN, "2024-02-29 12:00:00:250"),
        ("yy/M/d", "24/2/29"),
        ("yyyy-MM-dd'T'HH:mm:ss", "2024-02-29T12:00:00"),
    ],
)
def test_dates_by_javas_patterns(pattern: str, text: str) -> None:
    assert format_date(NOON + 0.25, pattern) == text


def test_the_throttle() -> None:
    now = [100.0]
    throttle = Throttle(10, lambda: now[0])
    assert (throttle.due(0), throttle.due(1)) == (1, 0)
    assert throttle.seconds_until(1) == pytest.approx(0.1)
    now[0] += 5
    assert throttle.due(1) == 50
    assert throttle.seconds_until(1) == 0
    assert Throttle(-1).due(10**9) > 10**6
    assert Throttle(0).seconds_until(10**9) == 0


def test_records_that_were_acknowledged_together_count_each() -> None:
    statistics = ProducerStatistics(10, 5000)
    statistics.record(Deliveries(9, 900, 2), time.time())
    statistics.record(Deliveries(1, 100, 12), time.time())
    line = statistics.total_line(2.0)
    assert line.startswith(
        "10 records sent, 5.000000 records/sec (0.00 MB/sec), 3.00 ms avg latency, 12.00 ms"
    )
    assert line.endswith("2 ms 50th, 12 ms 95th, 12 ms 99th, 12 ms 99.9th.")


def test_the_producers_metrics() -> None:
    metrics = ProducerMetrics()
    metrics.add(Deliveries(30, 3000, 4), 3200)
    metrics.add(Deliveries(10, 1000, 8), 1200)
    values = metrics.values()
    assert values["record-send-total"] == 40
    assert values["byte-total"] == 4400
    assert values["batch-size-avg"] == 2200
    assert values["records-per-batch-avg"] == 20
    assert (values["request-latency-avg"], values["request-latency-max"]) == (6, 8)
    assert metrics_table({"b": 1.5, "a": 2}, "producer-metrics", "me").splitlines() == [
        "",
        "Metric Name                         Value",
        "producer-metrics:a:{client-id=me} : 2.000",
        "producer-metrics:b:{client-id=me} : 1.500",
    ]


def test_an_unknown_property_is_named_with_what_was_meant(capsys: pytest.CaptureFixture[str]) -> None:
    settings_of({"bootstrap.servers": "b:1", "lingr.ms": "3", "linger.ms": "3"})
    assert capsys.readouterr().err == (
        "Ignoring the property lingr.ms: Kafka's clients do not know it. Did you mean linger.ms?\n"
    )
