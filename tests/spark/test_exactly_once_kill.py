"""The exactly-once sink on a two-worker Spark cluster while things die, in small versions.

`exactly_once_kills.py` has the large one: a million rows, a kill at each step, on both kinds of brokers.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.client.test_transactional_writer import CLUSTERS
from tests.spark.exactly_once_kills import Stage, stage
from tests.spark.shared_session import quick_java


@pytest.mark.timeout(600)
def test_the_output_equals_the_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with running_on("gralha", tmp_path, monkeypatch, rows=100_000, batches=10) as running:
        with running.driver() as driver:
            running.kill_executor_at("began to write", driver)
            running.kill_worker_at("has written", driver)
        running.kill_driver_at("has committed one task")
        running.two_drivers_at("has prepared the decision")
        assert running.differences() == ""
        assert running.lag() == {}


@pytest.mark.timeout(600)
def test_the_output_equals_the_input_on_apache_kafka(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each driver takes seconds to start, so there are only two."""
    with running_on("apache", tmp_path, monkeypatch, rows=20_000, batches=4) as running:
        running.kill_driver_at("has committed one task")
        running.finish()
        assert running.differences() == ""
        assert running.lag() == {}


@contextmanager
def running_on(
    kind: str, folder: Path, monkeypatch: pytest.MonkeyPatch, *, rows: int, batches: int
) -> Iterator[Stage]:
    for name, value in quick_java().items():
        monkeypatch.setenv(name, value)
    with CLUSTERS[kind]() as brokers, stage(brokers.bootstrap, folder, rows=rows, batches=batches) as running:
        yield running
