"""Metrics as Prometheus reads them."""

import urllib.error
import urllib.request
from collections.abc import Iterator

import pytest

from gralha.pipelines.metrics import Metrics, MetricsServer
from gralha.pipelines.progress import Progress


def samples(text: str) -> dict[str, float]:
    """The lines that are not comments: name and labels -> value."""
    lines = [line.rpartition(" ") for line in text.splitlines() if not line.startswith("#")]
    return {name: float(value) for name, _, value in lines}


def test_gauges_are_the_newest_and_counters_add_up() -> None:
    metrics = Metrics()
    metrics.started("totals")
    metrics.add(
        Progress("totals", 0, "", input_rows=1_000_000, lag=7, dead_letters=1, batch_duration_ms=1500)
    )
    metrics.add(Progress("totals", 1, "", input_rows=234_567, lag=3, batch_duration_ms=250))
    found = samples(metrics.text())
    label = '{pipeline="totals"}'
    assert found[f"gralha_pipeline_up{label}"] == 1
    assert found[f"gralha_pipeline_lag_records{label}"] == 3
    assert found[f"gralha_pipeline_input_rows_total{label}"] == 1_234_567
    assert found[f"gralha_pipeline_dead_letters_total{label}"] == 1
    assert found[f"gralha_pipeline_batch_duration_seconds{label}"] == 0.25


def test_every_metric_says_what_it_is_once() -> None:
    metrics = Metrics()
    for name in ("a", 'b"\\\n'):
        metrics.started(name)
        metrics.add(Progress(name, 0, "", lag=1))
    text = metrics.text()
    types = [line.split()[2] for line in text.splitlines() if line.startswith("# TYPE")]
    assert len(types) == len(set(types)) == text.count("# HELP")
    assert 'gralha_pipeline_up{pipeline="b\\"\\\\\\n"} 1' in text


def test_an_unknown_lag_is_left_out() -> None:
    metrics = Metrics()
    metrics.add(Progress("totals", 0, ""))
    assert "lag_records" not in metrics.text()


def test_the_lag_is_measured_when_somebody_asks() -> None:
    ends = iter([10, 25])
    metrics = Metrics(lambda progress: next(ends) - progress.read_to["sales"]["0"])
    metrics.add(Progress("totals", 0, "", lag=0, read_to={"sales": {"0": 4}}))
    lags = [samples(metrics.text())['gralha_pipeline_lag_records{pipeline="totals"}'] for _ in range(2)]
    assert lags == [6, 21]


def test_restarts_are_counted() -> None:
    metrics = Metrics()
    metrics.started("totals")
    metrics.restarting("totals")
    assert samples(metrics.text())['gralha_pipeline_up{pipeline="totals"}'] == 0
    metrics.started("totals")
    metrics.restarting("totals")
    metrics.ended("totals")
    assert samples(metrics.text())['gralha_pipeline_restarts_total{pipeline="totals"}'] == 2


@pytest.fixture
def server() -> Iterator[MetricsServer]:
    metrics = Metrics()
    metrics.started("totals")
    server = MetricsServer(metrics, 0)
    yield server
    server.close()


def test_http_answers(server: MetricsServer) -> None:
    with urllib.request.urlopen(f"http://{server.address}/metrics", timeout=10) as answer:
        assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
        assert b'gralha_pipeline_up{pipeline="totals"} 1\n' in answer.read()
    with pytest.raises(urllib.error.HTTPError, match="404"):
        urllib.request.urlopen(f"http://{server.address}/else", timeout=10)
