"""The exactly-once sink on a two-worker Spark cluster while things die.

In full size there are more kills, and Apache Kafka's brokers. `exactly_once_kills.py` has the large version:
a million rows, a kill at each step, on both kinds of brokers.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.client.test_transactional_writer import CLUSTERS
from tests.full_size import IS_FULL
from tests.spark.exactly_once_kills import Stage, stage
from tests.spark.shared_session import quick_java


@pytest.mark.timeout(600)
@pytest.mark.parametrize("kind", ["gralha", "apache"] if IS_FULL else ["gralha"])
def test_an_executor_and_the_driver_die(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each driver takes seconds to start, so there are only two."""
    with running_on(kind, tmp_path, monkeypatch, rows=20_000, batches=4) as running:
        with running.driver() as driver:
            running.kill_executor_at("has written", driver)
            running.arm("has committed one task")
            running.wait_for("has committed one task", driver)
        running.release("has committed one task")
        running.finish()
        check(running)


if IS_FULL:

    @pytest.mark.timeout(600)
    def test_workers_die_and_two_drivers_are_alive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        with running_on("gralha", tmp_path, monkeypatch, rows=100_000, batches=10) as running:
            with running.driver() as driver:
                running.kill_executor_at("began to write", driver)
                running.kill_worker_at("has written", driver)
            running.kill_driver_at("has committed one task")
            running.two_drivers_at("has prepared the decision")
            check(running)


def check(running: Stage) -> None:
    """The output equals the input, and the consumer group has read all of it."""
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
