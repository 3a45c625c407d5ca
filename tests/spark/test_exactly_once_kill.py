"""The exactly-once sink on a two-worker Spark cluster while things die, in a small version.

`exactly_once_kills.py` has the large one: a million rows, a kill at each step, on Apache Kafka as well.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.client.test_transactional_writer import CLUSTERS
from tests.spark.exactly_once_kills import stage
from tests.spark.shared_session import quick_java

KINDS = ("gralha",)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("kind", KINDS)
def test_the_output_equals_the_input(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in quick_java().items():
        monkeypatch.setenv(name, value)
    with (
        CLUSTERS[kind]() as brokers,
        stage(brokers.bootstrap, tmp_path, rows=100_000, batches=10) as running,
    ):
        with running.driver() as driver:
            running.kill_executor_at("began to write", driver)
            running.kill_worker_at("has written", driver)
        running.kill_driver_at("has decided")
        running.two_drivers_at("has read the log")
        assert running.differences() == ""
