"""Many partitions on one broker: the times to create them and to start with them, and the memory.

Each topic has a thousand partitions with one replica, and every partition has one record. The time of a start
begins when the process is spawned, and ends when the record of every partition has been read and compared.
Memory is resident memory (RSS) a moment after the start that follows SIGKILL.

Then both brokers create partitions until they cannot go on, with a line on the page for each STEP of them.
Apache Kafka has one open file and two mapped files for each partition, so it ends at the process's limit of
open files (`ulimit -n`) or of mapped areas (`vm.max_map_count`). A broker that reaches neither limit ends
when the memory or the disk is nearly full, after LIMIT_S, or at LIMIT_PARTITIONS. The page says which it was.
A broker that fails earlier has no later points.
"""

from __future__ import annotations

import contextlib
import os
import resource
import socket
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from tests.apache.kafka import ApacheKafka

from bench.calls import ask_metadata_of_all, produce_to_each, values_at
from bench.frames import batch_of, create_topic
from bench.measures import MB, TITLES, Broker, Makers, Say, connect, port_of, tell
from bench.rounds import Results, merge

PER_TOPIC = 1000
COUNTS = (1_000, 3_000, 10_000, 20_000)
STEP = 10_000
LIMIT_PARTITIONS = 200_000
LIMIT_S = 300.0
STAGES_S = 900.0  # no further stage begins after this time, so that this part ends within half an hour
FREE_SHARE = 0.1  # of the memory and of the disk
STALL_S = 60.0  # a broker at its limit may stop answering instead of ending
TIMEOUT_S = 300.0
STOP_TIMEOUT_S = 120.0
VALUE = b"one record for each partition"
METADATA_REQUESTS = 5
# Messages in the brokers' logs when a limit of the operating system is reached.
ENDS = {
    "Too many open files": f"open files (ulimit -n {resource.getrlimit(resource.RLIMIT_NOFILE)[0]})",
    "Map failed": "mapped areas (vm.max_map_count)",
    "OutOfMemory": "memory",
    "No space left": "the disk is full",
}


class GaveUp(Exception):  # noqa: N818 - a result, not a failure
    """A broker cannot go on: the message says why."""


def measure_partitions(makers: Makers, say: Say, scale: float = 1.0) -> dict[str, Results]:
    results: dict[str, Results] = {name: {} for name in makers}
    order = list(makers)
    with contextlib.ExitStack() as stack:
        brokers = {name: stack.enter_context(contextlib.closing(make())) for name, make in makers.items()}
        for broker in brokers.values():
            if isinstance(broker, ApacheKafka):
                broker.format()
        reached = take_stages(brokers, order, results, say, COUNTS if scale == 1 else COUNTS[:1])
        for name, before in reached.items() if scale == 1 else ():
            say(f"{name}: as many partitions as it gets to")
            taken, why = until_the_end(brokers[name], before, say, TITLES[name])
            merge(results, {name: taken})
            tell(say, {name: taken})
            say(f"{TITLES[name]} stopped at {taken['partitions_most']:,.0f} partitions: {why}", on_page=True)
    return results


def take_stages(
    brokers: Mapping[str, Broker],
    names: Sequence[str],
    results: dict[str, Results],
    say: Say,
    counts: Sequence[int],
) -> dict[str, int]:
    """Take turns with each number of partitions. Returns the last numbers, without brokers that failed."""
    started = time.perf_counter()
    order, reached = list(names), dict.fromkeys(names, 0)
    for count in counts:
        if time.perf_counter() - started > STAGES_S:
            say(f"{count:,} partitions are left out: the others took {STAGES_S:g} s", on_page=True)
            break
        for name in [name for name in order if name in reached]:
            say(f"{name}: {count:,} partitions")
            try:
                taken = stage(brokers[name], reached[name], count, results[name])
            except (GaveUp, OSError) as error:
                why = known_end(brokers[name]) or str(error)
                say(f"{TITLES[name]} failed on the way to {count:,} partitions: {why}", on_page=True)
                results[name]["partitions_most"] = reached.pop(name)
                brokers[name].process().kill()
            else:
                merge(results, {name: taken})
                tell(say, {name: results[name]})
                reached[name] = count
        order.reverse()
    return reached


def stage(broker: Broker, before: int, count: int, earlier: Results) -> Results:
    """Create partitions from `before` to `count`. Then start after a clean stop, and after SIGKILL."""
    start_seconds(broker, before)
    create_s = create_partitions(broker, before, count) + earlier.get(f"partitions_{before}_create_s", 0.0)
    metadata = metadata_ms(broker)
    started = time.perf_counter()
    broker.process().stop(STOP_TIMEOUT_S)
    stop_s = time.perf_counter() - started
    clean_s = start_seconds(broker, count)
    broker.process().kill()
    killed_s = start_seconds(broker, count)
    time.sleep(1)
    memory_mb, files = broker.process().memory_bytes() / MB, open_files(broker)
    broker.process().kill()
    taken = {
        "create_s": create_s,
        "stop_s": stop_s,
        "start_clean_s": clean_s,
        "start_killed_s": killed_s,
        "memory_mb": memory_mb,
        "open_files": files,
        "metadata_ms": metadata,
    }
    return {f"partitions_{count}_{name}": value for name, value in taken.items()}


def until_the_end(broker: Broker, before: int, say: Say, title: str) -> tuple[Results, str]:
    """Create partitions until the broker cannot go on. Returns their number, and the reason of the end."""
    start_seconds(broker, before)
    results: Results = {}
    count, why = before, f"the bench creates no more than {LIMIT_PARTITIONS:,}"
    started = time.perf_counter()
    try:
        while count < LIMIT_PARTITIONS:
            if (limit := limit_near(broker, time.perf_counter() - started)) is not None:
                why = limit
                break
            create_partitions(broker, count, count + PER_TOPIC, STALL_S)
            count += PER_TOPIC
            results["partitions_most_memory_mb"] = memory_mb = broker.process().memory_bytes() / MB
            if count % STEP == 0:
                took_s = time.perf_counter() - started
                point = f"{count:,} partitions: {memory_mb:,.0f} MB, Metadata {metadata_ms(broker):,.0f} ms"
                say(f"{title}: {point}, {took_s:.0f} s for the last {count - before:,}", on_page=True)
        results["partitions_most_metadata_ms"] = metadata_ms(broker)
        broker.process().kill()
        results["partitions_most_start_killed_s"] = start_seconds(broker, count)
    except (GaveUp, OSError) as error:
        why = known_end(broker) or str(error)
    broker.process().kill()
    return {"partitions_most": count, **results}, why


def limit_near(broker: Broker, elapsed_s: float) -> str | None:
    """The reason to stop before this machine suffers; None if the broker may go on."""
    if elapsed_s > LIMIT_S:
        return f"the bench waits no longer than {LIMIT_S:g} s"
    memory = dict(line.split()[:2] for line in Path("/proc/meminfo").read_text().splitlines())
    if int(memory["MemAvailable:"]) < FREE_SHARE * int(memory["MemTotal:"]):
        return "the memory of this machine is nearly full"
    disk = os.statvfs(broker.folder)
    if min(disk.f_bavail / disk.f_blocks, disk.f_favail / max(disk.f_files, 1)) < FREE_SHARE:
        return "the disk is nearly full"
    return None


def known_end(broker: Broker) -> str | None:
    log = broker.process().log_tail(1 << 20)
    return next((what for mark, what in ENDS.items() if mark in log), None)


def topic_name(number: int) -> str:
    return f"many-{number}"


def wait_for(broker: Broker, done: Callable[[], bool], timeout_s: float = TIMEOUT_S) -> None:
    started = time.perf_counter()
    while not done():
        if not broker.process().alive:
            raise GaveUp("the broker ended")
        if time.perf_counter() - started > timeout_s:
            raise GaveUp(f"not done within {timeout_s:g} s")
        time.sleep(0.01)


def create_partitions(broker: Broker, before: int, count: int, timeout_s: float = TIMEOUT_S) -> float:
    """Create topics until there are `count` partitions, with a record in each. Returns the seconds."""
    records = batch_of([VALUE])
    started = time.perf_counter()
    with connect(broker) as connection:
        connection.settimeout(timeout_s)
        for number in range(before // PER_TOPIC, count // PER_TOPIC):
            name = topic_name(number)
            code = create_topic(connection, name, PER_TOPIC)
            if code != 0:
                raise GaveUp(f"the creation of a topic failed with error code {code}")
            fill(broker, connection, name, records, timeout_s)
    return time.perf_counter() - started


def fill(broker: Broker, connection: socket.socket, topic: str, records: bytes, timeout_s: float) -> None:
    """Produce a batch to each partition of a new topic, as soon as it has its leader."""
    empty = list(range(PER_TOPIC))

    def filled() -> bool:
        nonlocal empty
        empty = produce_to_each(connection, topic, empty, records)
        return not empty

    wait_for(broker, filled, timeout_s)


def start_seconds(broker: Broker, partitions: int) -> float:
    """Spawn the broker. Returns the seconds until the record of every partition has been read."""
    started = time.perf_counter()
    broker.spawn()
    broker.process().wait_ready(port_of(broker), timeout_s=TIMEOUT_S)
    with connect(broker) as connection:
        connection.settimeout(TIMEOUT_S)
        for number in range(partitions // PER_TOPIC):
            wait_for(broker, partial(all_there, connection, topic_name(number)))
    return time.perf_counter() - started


def all_there(connection: socket.socket, topic: str) -> bool:
    return values_at(connection, topic, range(PER_TOPIC), 0) == [VALUE] * PER_TOPIC


def metadata_ms(broker: Broker) -> float:
    """The median time of a Metadata request for all topics."""
    times = []
    with connect(broker) as connection:
        for _ in range(METADATA_REQUESTS):
            started = time.perf_counter()
            ask_metadata_of_all(connection)
            times.append(time.perf_counter() - started)
    return 1000 * statistics.median(times)


def open_files(broker: Broker) -> int:
    return len(list(Path(f"/proc/{broker.process().pid}/fd").iterdir()))
