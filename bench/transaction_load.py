"""Producers that send one transaction after the other: with raw frames, or with confluent-kafka.

Each producer writes to a partition of its own. A transaction is one batch, and every tenth is aborted. All
producers of a load run in this process: those with raw frames on one event loop, the others with a thread
each.
"""

from __future__ import annotations

import asyncio
import random
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Protocol

from confluent_kafka import Producer
from tests.cluster.many_groups import Line

from bench.transaction_frames import ProducerFrames, transactional_batch
from gralha.protocol.errors import ErrorCode, error_name
from gralha.protocol.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from gralha.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse

RECORDS = 100
VALUE_BYTES = 100
ABORTED_ONE_IN = 10
TIMEOUT_MS = 60_000
TRANSACTION_KEY = 1  # the type of key in FindCoordinator
# While the last transaction is being completed, the next one cannot begin. Clients wait this long before they
# try again (Kafka's ADD_PARTITIONS_RETRY_BACKOFF_MS).
RETRY_S = 0.02
STARTING = {
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.CONCURRENT_TRANSACTIONS,
}

# Gets the number of transactions that a producer has ended in this run. Returns True if it is to go on.
GoesOn = Callable[[int], bool]


@dataclass
class Run:
    """The results of one run."""

    seconds: float = 0.0
    committed: list[int] = field(default_factory=list)  # transactions, by partition
    aborted: list[int] = field(default_factory=list)
    # Of the transactions that were committed:
    commit_s: list[float] = field(default_factory=list)  # the commit alone
    whole_s: list[float] = field(default_factory=list)  # from the begin to the end

    @property
    def transactions(self) -> int:
        return sum(self.committed) + sum(self.aborted)


class Load(Protocol):
    """Producers that are ready to begin transactions."""

    def run(self, goes_on: GoesOn) -> Run: ...

    def close(self) -> None: ...


def for_seconds(seconds: float) -> GoesOn:
    end = time.perf_counter() + seconds
    return lambda _: time.perf_counter() < end


def this_many(transactions: int) -> GoesOn:
    """That many transactions of each producer."""
    return lambda ended: ended < transactions


def values() -> list[bytes]:
    source = random.Random(RECORDS)
    return [source.randbytes(VALUE_BYTES) for _ in range(RECORDS)]


@dataclass
class Turns:
    """Which transactions of a producer are aborted. The count goes on from run to run."""

    ended: int = 0

    def commits(self) -> bool:
        self.ended += 1
        return self.ended % ABORTED_ONE_IN != 0


class RawProducer:
    def __init__(self, frames: ProducerFrames, coordinator: Line, leader: Line) -> None:
        self._frames = frames
        self._coordinator = coordinator
        self._leader = leader
        self._turns = Turns()

    async def run(self, goes_on: GoesOn) -> Run:
        run, committed, ended = Run(), 0, 0
        frames = self._frames
        while goes_on(ended):
            commits = self._turns.commits()
            begun = time.perf_counter()
            if frames.version == 1:
                await answered(self._coordinator, frames.add(), frames.add_error_at)
            await answered(self._leader, frames.produce(), frames.produce_error_at)
            ending = time.perf_counter()
            response = await answered(self._coordinator, frames.end(commits), frames.end_error_at)
            if commits:
                now = time.perf_counter()
                run.commit_s.append(now - ending)
                run.whole_s.append(now - begun)
                committed += 1
            frames.ended(response)
            ended += 1
        run.committed, run.aborted = [committed], [ended - committed]
        return run

    def close(self) -> None:
        self._coordinator.close()
        self._leader.close()


async def answered(line: Line, frame: bytes, error_at: int) -> bytes:
    """The response to a request. Waits while the last transaction of the producer is being completed."""
    while True:
        response = await line.send(frame)
        code = int.from_bytes(response[error_at : error_at + 2], "big", signed=True)
        if code == ErrorCode.NONE:
            return response
        if code != ErrorCode.CONCURRENT_TRANSACTIONS:
            raise RuntimeError(f"a transaction failed: {error_name(code)}")
        await asyncio.sleep(RETRY_S)


class RawLoad:
    """Producers with raw frames, in transactions of version 1 or 2."""

    def __init__(self, version: int, topic: str, leaders: Sequence[int]) -> None:
        """`leaders` are the ports of the leaders, one for each producer."""
        self._runner = asyncio.Runner()
        self._producers: list[RawProducer] = []
        batch = transactional_batch(values(), int(time.time() * 1000))
        for partition, leader in enumerate(leaders):
            transactional_id = f"{topic}-{partition}"
            frames = ProducerFrames(version, transactional_id, topic, partition, batch)
            self._producers.append(self._runner.run(started(frames, transactional_id, leader)))

    def run(self, goes_on: GoesOn) -> Run:
        async def all_of_them() -> list[Run]:
            return await asyncio.gather(*[producer.run(goes_on) for producer in self._producers])

        begun = time.perf_counter()
        runs = self._runner.run(all_of_them())
        return together(runs, time.perf_counter() - begun)

    def close(self) -> None:
        async def close_all() -> None:
            for producer in self._producers:
                producer.close()

        self._runner.run(close_all())
        self._runner.close()


async def started(frames: ProducerFrames, transactional_id: str, leader: int) -> RawProducer:
    """Connect a producer to its coordinator and its leader, and get its producer id."""
    to_leader = await connected(leader)
    request = FindCoordinatorRequest(key_type=TRANSACTION_KEY, coordinator_keys=[transactional_id])
    while True:
        found = (await to_leader.ask(request, FindCoordinatorResponse)).coordinators[0]
        if found.error_code == ErrorCode.NONE:
            break
        await pause(found.error_code)
    to_coordinator = await connected(found.port)
    initial = InitProducerIdRequest(transactional_id, TIMEOUT_MS)
    while (given := await to_coordinator.ask(initial, InitProducerIdResponse)).error_code != ErrorCode.NONE:
        await pause(given.error_code)
    frames.become(given.producer_id, given.producer_epoch)
    return RawProducer(frames, to_coordinator, to_leader)


async def pause(code: int) -> None:
    if code not in STARTING:
        raise RuntimeError(f"a producer cannot start: {error_name(code)}")
    await asyncio.sleep(RETRY_S)


async def connected(port: int) -> Line:
    _, line = await asyncio.get_running_loop().create_connection(Line, "127.0.0.1", port)
    return line


def together(runs: Sequence[Run], seconds: float) -> Run:
    """The run of all producers of a load."""
    return Run(
        seconds,
        [committed for run in runs for committed in run.committed],
        [aborted for run in runs for aborted in run.aborted],
        [taken for run in runs for taken in run.commit_s],
        [taken for run in runs for taken in run.whole_s],
    )


class ConfluentLoad:
    """Producers of confluent-kafka with its default settings. They use transactions v1."""

    def __init__(self, bootstrap: str, topic: str, producers: int) -> None:
        self._topic = topic
        self._values = values()
        self._producers = []
        self._turns = [Turns() for _ in range(producers)]
        self._threads = ThreadPoolExecutor(producers)
        for number in range(producers):
            producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": f"{topic}-{number}"})
            producer.init_transactions()
            self._producers.append(producer)

    def run(self, goes_on: GoesOn) -> Run:
        ready = threading.Barrier(len(self._producers))
        begun = time.perf_counter()
        numbers = range(len(self._producers))
        runs = list(self._threads.map(lambda number: self._run_one(number, goes_on, ready), numbers))
        return together(runs, time.perf_counter() - begun)

    def _run_one(self, partition: int, goes_on: GoesOn, ready: threading.Barrier) -> Run:
        producer, turns = self._producers[partition], self._turns[partition]
        run, committed, ended = Run(), 0, 0
        ready.wait()
        while goes_on(ended):
            commits = turns.commits()
            begun = time.perf_counter()
            producer.begin_transaction()
            for value in self._values:
                producer.produce(self._topic, value, partition=partition)
            # An abort drops the records that were not sent yet, and these transactions are to write theirs.
            producer.flush()
            ending = time.perf_counter()
            if commits:
                producer.commit_transaction()
                now = time.perf_counter()
                run.commit_s.append(now - ending)
                run.whole_s.append(now - begun)
                committed += 1
            else:
                producer.abort_transaction()
            ended += 1
        run.committed, run.aborted = [committed], [ended - committed]
        return run

    def close(self) -> None:
        self._threads.shutdown()
