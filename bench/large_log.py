"""A log of 20 GB: the time until a killed broker serves it again.

Four partitions get batches of 100 x 1 KB. The time of a start begins when the process is spawned, and ends
when the last record of every partition has been read and compared. The log is smaller if the disk has no
space for two.
"""

from __future__ import annotations

import shutil
import socket
import tempfile
import time
from collections.abc import Callable
from functools import partial

from bench.calls import values_at
from bench.frames import batch, produce_frame
from bench.load import run_load
from bench.measures import (
    BATCHED_IN_FLIGHT,
    CONNECTIONS,
    GB,
    Broker,
    Makers,
    Say,
    connect,
    make_topic,
    port_of,
    tell,
)
from bench.partitions import wait_for
from bench.rounds import Results
from gralha.protocol.records import decode_records, read_header

LOG_BYTES = 20_000_000_000
RECORDS = 100
TOPIC = "large-log"
TIMEOUT_S = 300.0


def measure_large_log(makers: Makers, say: Say, scale: float = 1.0) -> dict[str, Results]:
    results: dict[str, Results] = {}
    for name, make_broker in makers.items():
        size_bytes = int(min(LOG_BYTES * scale, shutil.disk_usage(tempfile.gettempdir()).free / 2))
        results[name] = measured(make_broker, size_bytes)
    tell(say, results)
    if size_bytes < LOG_BYTES:
        say(
            f"The large log has only {size_bytes / GB:.1f} GB: the disk is small, or the run is a quick one",
            on_page=True,
        )
    return results


def measured(make_broker: Callable[..., Broker], size_bytes: int) -> Results:
    records = batch(RECORDS, 1000)
    last_value = decode_records(records, 0, read_header(records, 0))[-1].value
    requests = size_bytes // len(records) // CONNECTIONS * CONNECTIONS
    with make_broker() as broker:
        make_topic(broker, TOPIC, CONNECTIONS, records)
        frames = [produce_frame(TOPIC, partition, records) for partition in range(CONNECTIONS)]
        run_load(port_of(broker), frames, requests, BATCHED_IN_FLIGHT)
        last_offset = (requests // CONNECTIONS + 1) * RECORDS - 1
        broker.process().kill()
        started = time.perf_counter()
        broker.spawn()
        broker.process().wait_ready(port_of(broker), timeout_s=TIMEOUT_S)
        with connect(broker) as connection:
            connection.settimeout(TIMEOUT_S)
            wait_for(broker, partial(ends_with, connection, last_offset, last_value))
        seconds = time.perf_counter() - started
    return {"large_log_gb": requests * len(records) / GB, "large_log_start_killed_s": seconds}


def ends_with(connection: socket.socket, last_offset: int, value: bytes | None) -> bool:
    return values_at(connection, TOPIC, range(CONNECTIONS), last_offset) == [value] * CONNECTIONS
