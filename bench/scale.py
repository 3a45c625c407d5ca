"""The measures of scale: many partitions, connections, consumers, members, bytes."""

from __future__ import annotations

from bench.connections import measure_connections
from bench.fan_out import measure_fan_out
from bench.large_group import measure_large_group
from bench.large_log import measure_large_log
from bench.measures import Makers, Say
from bench.partitions import measure_partitions
from bench.rounds import Results, merge


def measure_scale(makers: Makers, say: Say, scale: float = 1.0) -> dict[str, Results]:
    results: dict[str, Results] = {}
    for measure in (
        measure_fan_out,
        measure_connections,
        measure_large_group,
        measure_partitions,
        measure_large_log,
    ):
        merge(results, measure(makers, say, scale))
    return results
