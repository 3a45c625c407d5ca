"""A stream on a two-worker cluster while things die: an executor, then the driver itself.

A million records are copied from one topic to another. Each kill comes in the middle of a batch: records of
it are in the output, and it is not committed. In the end every record has arrived, and those that arrived
more than once all belong to a batch that was interrupted. In full size a worker dies, too.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from gralha.client.bulk_reader import BulkReader
from gralha.client.bulk_writer import BulkWriter
from gralha.client.settings import ClientSettings
from gralha.client.values import OffsetRange
from gralha.spark.standalone import StandaloneCluster
from gralha.testing import GralhaCluster
from tests.full_size import IS_FULL
from tests.spark.shared_session import quick_java
from tests.spark.standalone_processes import executors

PARTITIONS = 4
BATCHES = 8
PATIENCE_S = 240.0
POLL_INTERVAL_S = 0.01
DRIVER = Path(__file__).with_name("kill_driver.py")


def write_input(bootstrap: str, rows: int) -> None:
    """Numbers as values: `number // per partition` is the partition, the rest is the offset."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    topics = [NewTopic(name, PARTITIONS, 1) for name in ("input", "output")]
    for created in admin.create_topics(topics).values():
        created.result(PATIENCE_S)
    per_partition = rows // PARTITIONS
    with BulkWriter(ClientSettings(bootstrap), topic="input") as writer:
        for numbers in np.array_split(np.arange(rows, dtype=np.int64), 20):
            text = pa.array(numbers).cast(pa.string())
            partitions = pa.array(numbers // per_partition).cast(pa.int32())
            writer.write(pa.record_batch({"value": text, "partition": partitions}))


def read_output(bootstrap: str, rows: int, ends: dict[int, int]) -> "np.ndarray[Any, np.dtype[np.int64]]":
    """How often each number has arrived."""
    numbers = []
    reader = BulkReader(ClientSettings(bootstrap))
    try:
        for partition, end in ends.items():
            for batch in reader.read(OffsetRange("output", partition, 0, end)):
                numbers.append(batch.column("value").cast(pa.string()).cast(pa.int64()).to_numpy())
    finally:
        reader.close()
    return np.bincount(np.concatenate(numbers), minlength=rows)


@dataclass
class Run:
    """The running stream, seen from outside: its checkpoint, and the records in the output."""

    bootstrap: str
    folder: Path
    rows_per_batch: int
    interrupted: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._consumer = Consumer({"bootstrap.servers": self.bootstrap, "group.id": "none"})

    def close(self) -> None:
        self._consumer.close()

    def last_committed(self) -> int:
        folder = self.folder / "checkpoint" / "commits"
        names = os.listdir(folder) if folder.exists() else []
        return max((int(name) for name in names if name.isdigit()), default=-1)

    def batch_ends(self) -> list[dict[str, int]]:
        """For each batch the offsets in the input at which it ends."""
        folder = self.folder / "checkpoint" / "offsets"
        batches = sorted(int(name) for name in os.listdir(folder) if name.isdigit())
        assert batches == list(range(len(batches)))
        return [json.loads((folder / str(batch)).read_text().splitlines()[-1])["input"] for batch in batches]

    def output_ends(self) -> dict[int, int]:
        return {
            number: self._consumer.get_watermark_offsets(
                TopicPartition("output", number), timeout=PATIENCE_S
            )[1]
            for number in range(PARTITIONS)
        }

    def wait_for_the_middle_of_a_batch(self, driver: "subprocess.Popen[bytes]", at_least: int) -> None:
        """Waits until a batch, this one or a later one, has written some rows and is not committed."""
        deadline = time.monotonic() + PATIENCE_S
        batch, rows_before = self.last_committed(), sum(self.output_ends().values())
        while True:
            assert driver.poll() is None, "the driver ended by itself"
            assert time.monotonic() < deadline, f"no batch from {at_least} on was on its way"
            committed, rows = self.last_committed(), sum(self.output_ends().values())
            if committed != batch:
                batch, rows_before = committed, rows
            elif committed + 1 >= at_least and rows_before < rows <= rows_before + self.rows_per_batch // 2:
                return
            time.sleep(POLL_INTERVAL_S)

    def interrupt(self, driver: "subprocess.Popen[bytes]", at_least: int, kill: Callable[[], None]) -> int:
        """Kills something in the middle of a batch. Returns the number of a later batch."""
        self.wait_for_the_middle_of_a_batch(driver, at_least)
        before = self.last_committed()
        kill()
        # The batch may have been done at the moment of the kill, and the next one may have begun.
        after = self.last_committed()
        self.interrupted |= set(range(before + 1, after + 2))
        return after + 2


@contextmanager
def running_driver(cluster: StandaloneCluster, run: Run) -> Iterator["subprocess.Popen[bytes]"]:
    """The driver with its Java process, in a group of their own."""
    line = [sys.executable, str(DRIVER), cluster.url, run.bootstrap, str(run.folder), str(run.rows_per_batch)]
    with (run.folder / "driver.log").open("ab") as log:
        driver = subprocess.Popen(line, stdout=log, stderr=log, start_new_session=True)
    try:
        yield driver
    finally:
        if driver.poll() is None:
            os.killpg(driver.pid, signal.SIGKILL)
        driver.wait()


def kill_executor_of(cluster: StandaloneCluster, worker: int) -> None:
    (pid,) = executors(cluster.worker_parts[worker].process.pid)
    os.kill(pid, signal.SIGKILL)


def kill_worker(cluster: StandaloneCluster, worker: int) -> None:
    cluster.worker_parts[worker].process.kill()


def batch_of_each_row(batch_ends: list[dict[str, int]], rows: int) -> "np.ndarray[Any, np.dtype[np.int64]]":
    """For each number of the input its batch."""
    per_partition = rows // PARTITIONS
    batches = np.empty(rows, dtype=np.int64)
    for partition in range(PARTITIONS):
        ends = [batch.get(str(partition), 0) for batch in batch_ends]
        first = partition * per_partition
        batches[first : first + per_partition] = np.searchsorted(ends, np.arange(per_partition), side="right")
    return batches


@pytest.mark.timeout(900)
def test_every_record_arrives_and_only_interrupted_batches_repeat(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in quick_java().items():
        monkeypatch.setenv(name, value)
    # Fewer records would save no time: most of it is the start of processes.
    rows = 1_000_000
    with (
        GralhaCluster() as brokers,
        StandaloneCluster(tmp_path / "spark", workers=2, port=0) as cluster,
    ):
        write_input(brokers.bootstrap, rows)
        run = Run(brokers.bootstrap, tmp_path, rows // BATCHES)
        try:
            with running_driver(cluster, run) as driver:
                batch = run.interrupt(driver, 1, lambda: kill_executor_of(cluster, 0))
                if IS_FULL:
                    batch = run.interrupt(driver, batch, lambda: kill_worker(cluster, 1))
                run.interrupt(driver, batch, lambda: os.killpg(driver.pid, signal.SIGKILL))
            assert run.last_committed() < len(run.batch_ends())
            with running_driver(cluster, run) as driver:
                assert driver.wait(PATIENCE_S) == 0, (tmp_path / "driver.log").read_text()[-4000:]
            arrived = read_output(brokers.bootstrap, rows, run.output_ends())
        finally:
            run.close()
    assert (arrived >= 1).all(), f"{(arrived == 0).sum()} records did not arrive"
    repeated = np.unique(batch_of_each_row(run.batch_ends(), rows)[arrived > 1])
    assert set(repeated.tolist()) <= run.interrupted
    # After a kill in the middle of a batch, its second run writes some records again.
    assert len(repeated) >= 1
