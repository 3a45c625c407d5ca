"""One producer and fifty consumers of one partition: the bytes per second that the broker sends to them.

The producer sends batches of 16 x 1 KB, five in flight, as fast as the broker acknowledges them. Each
consumer has its own connection and fetches the next records, up to 1 MB, when it has the last ones. The time
ends when the last consumer has read the last batch. The offset of every response is checked.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor

from bench.frames import batch, fetch_frame, produce_frame
from bench.load import Load, follow_log, run_load
from bench.measures import (
    BATCHED_IN_FLIGHT,
    GB,
    MB,
    REMOVE_SOON,
    Broker,
    Makers,
    Say,
    compared,
    port_of,
    running,
    tell,
    topic_with_partitions,
)
from bench.rounds import Results

CONSUMERS = 50
RECORDS = 16
REQUESTS = 6_000


def measure_fan_out(makers: Makers, say: Say, scale: float = 1.0) -> dict[str, Results]:
    with running(makers, REMOVE_SOON) as brokers:
        results = fan_out(say, brokers, scale)
    tell(say, results)
    return results


def fan_out(say: Say, brokers: Mapping[str, Broker], scale: float) -> dict[str, Results]:
    records = batch(RECORDS, 1000)
    numbers = itertools.count()

    def run(broker: Broker, requests: int) -> Load:
        port = port_of(broker)
        with (
            topic_with_partitions(broker, f"fan-out-{next(numbers)}", 1, records) as topic,
            ThreadPoolExecutor(1) as thread,
        ):
            frame = produce_frame(topic, 0, records)
            producing = thread.submit(run_load, port, [frame], requests, BATCHED_IN_FLIGHT)
            end = (requests + 1) * RECORDS  # the topic has its first batch already
            consumers = [fetch_frame(topic, 0)] * CONSUMERS
            followed = follow_log(port, consumers, RECORDS, len(records), end)
            producing.result()
        return followed

    def results_of(load: Load, cpu_s: float) -> Results:
        return {
            "fan_out_mb_s": load.received_bytes / MB / load.seconds,
            "fan_out_cpu_s_gb": cpu_s / (load.received_bytes / GB),
        }

    return compared(say, "fan-out", brokers, run, REQUESTS, scale, results_of)
