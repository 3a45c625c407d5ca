"""The current lag, from the brokers."""

from __future__ import annotations

from collections.abc import Callable

from gralha.pipelines.lag import LagMeter
from gralha.pipelines.progress import Progress
from gralha.testing.process import free_ports
from tests.pipelines import topics


def test_the_lag_is_what_came_since_the_last_batch(bootstrap: str, new_name: Callable[[str], str]) -> None:
    topic = new_name("sales")
    topics.create(bootstrap, topic, partitions=2)
    topics.write(bootstrap, topic, [b"1", b"2", b"3"])
    progress = Progress("totals", 0, "", lag=0, read_to={topic: {"0": 1, "1": 0}})
    meter = LagMeter(bootstrap, {})
    assert meter.lag(progress) == 2
    topics.write(bootstrap, topic, [b"4"])
    assert meter.lag(progress) == 3
    meter.close()
    # It connects again when it is asked again.
    assert meter.lag(progress) == 3
    meter.close()


def test_what_cannot_be_found_out_is_none(bootstrap: str) -> None:
    (port,) = free_ports(1)
    progress = Progress("totals", 0, "", lag=0, read_to={"no-such-topic": {"0": 1}})
    assert LagMeter(f"localhost:{port}", {}).lag(progress) is None
    meter = LagMeter(bootstrap, {})
    assert meter.lag(progress) is None
    meter.close()


def test_without_offsets_it_is_what_spark_said() -> None:
    assert LagMeter("localhost:1", {}).lag(Progress("totals", 0, "", lag=7)) == 7
