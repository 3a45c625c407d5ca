"""Kills what an exactly-once stream consists of, and compares its output with its input.

As a program it does the large run, with all kills:

    python -m tests.spark.exactly_once_kills --rows 1000000 --cluster apache --transactions 2
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from gralha.client.admin import Admin
from gralha.client.bulk_reader import BulkReader
from gralha.client.cluster import Cluster
from gralha.client.settings import ClientSettings
from gralha.client.values import LATEST, ListedOffset, OffsetRange, TopicPartition
from gralha.spark.standalone import StandaloneCluster
from tests.client.test_transactional_writer import CLUSTERS, downgrade
from tests.spark.shared_session import quick_java
from tests.spark.standalone_processes import alive, children, executors
from tests.spark.test_kill import PARTITIONS, write_input

PATIENCE_S = 240.0
# For a driver that processes all that is left.
WHOLE_RUN_S = 1800.0
POLL_INTERVAL_S = 0.01
DRIVER = Path(__file__).with_name("exactly_once_driver.py")
IN_A_TASK = ("began to write", "has written")
IN_THE_DRIVER = (
    "owns the log",
    "has read the log",
    "has prepared the decision",
    "has decided",
    "has committed one task",
    "has committed",
    "has announced the sweep",
)

NEXT_BATCH = "owns the log"

Driver = subprocess.Popen[bytes]


class Stage:
    """The clusters, and the stream that is killed."""

    def __init__(
        self, bootstrap: str, spark: StandaloneCluster, folder: Path, rows: int, batches: int
    ) -> None:
        self.bootstrap = bootstrap
        self.spark = spark
        self._folder = folder
        self._rows = rows
        self._rows_per_batch = rows // batches
        self._points = folder / "points"
        self._points.mkdir()
        write_input(bootstrap, rows)

    # Drivers

    @contextmanager
    def driver(self) -> Iterator[Driver]:
        """A driver with its Java process, in a group of their own."""
        line = [sys.executable, str(DRIVER), self.spark.url, self.bootstrap, str(self._folder)]
        with (self._folder / "driver.log").open("ab") as log:
            driver = subprocess.Popen(
                [*line, str(self._rows_per_batch)], stdout=log, stderr=log, start_new_session=True
            )
        try:
            yield driver
        finally:
            kill_driver(driver)

    def log(self) -> str:
        return (self._folder / "driver.log").read_text(errors="replace")

    # Points

    def arm(self, point: str) -> None:
        (self._points / point).touch()

    def wait_for(self, point: str, driver: Driver) -> int:
        """Waits until a process has stopped at a point. Returns the process."""
        file = (self._points / point).with_suffix(".pid")
        deadline = time.monotonic() + PATIENCE_S
        while not (file.exists() and file.read_text()):
            assert driver.poll() is None, f"the driver ended by itself:\n{self.log()[-4000:]}"
            assert time.monotonic() < deadline, f"nothing reached the point {point!r}"
            time.sleep(POLL_INTERVAL_S)
        process = int(file.read_text())
        file.unlink()
        return process

    def release(self, point: str) -> None:
        (self._points / point).with_suffix(".reached").unlink()

    def disarm(self, point: str) -> None:
        for file in self._points.glob(f"{point}*"):
            file.unlink()

    # Kills

    def kill_executor_at(self, point: str, driver: Driver) -> None:
        """Kills the executor whose task has reached a point."""
        executor = None
        while executor is None:
            self.arm(point)
            task = self.wait_for(point, driver)
            # A task of an executor that was killed before may reach the point first.
            executor = next((one for one in self._executors() if task in children(one)), None)
            if executor is not None:
                os.kill(executor, signal.SIGKILL)
            self.release(point)

    def kill_worker_at(self, point: str, driver: Driver) -> None:
        """Kills Spark's worker whose task has reached a point, with its executor."""
        self.arm(point)
        task = self.wait_for(point, driver)
        parts = self.spark.worker_parts
        worker = next((one for one in parts if task in children(one.process.pid)), parts[-1])
        below = executors(worker.process.pid)
        worker.process.kill()
        for executor in below:
            os.kill(executor, signal.SIGKILL)
        self.release(point)

    def kill_driver_at(self, point: str) -> None:
        """Starts a driver, and kills it when it has reached a point."""
        self.arm(point)
        with self.driver() as driver:
            self.wait_for(point, driver)
            kill_driver(driver)
        self.release(point)

    def overtake_at(self, point: str) -> None:
        """A driver stops at a point. A second one commits a batch and dies, then the first one goes on."""
        self.arm(point)
        with self.driver() as first:
            self.wait_for(point, first)
            self.kill_driver_at("has committed" if point != "has committed" else "has announced the sweep")
            assert first.poll() is None, "the first driver did not live on"
            # It may fail, or go on to its next batch.
            self.arm(NEXT_BATCH)
            self.release(point)
            self.wait_for_the_end(first)
        self.disarm(NEXT_BATCH)

    def wait_for_the_end(self, driver: Driver) -> None:
        """Waits until a driver has failed, or has come to its next batch."""
        deadline = time.monotonic() + PATIENCE_S
        while driver.poll() is None and (self._points / NEXT_BATCH).exists():
            assert time.monotonic() < deadline, f"the driver does not go on:\n{self.log()[-4000:]}"
            time.sleep(POLL_INTERVAL_S)

    def revoke(self) -> None:
        """An administrator terminates the transactions of a batch right after its decision."""
        self.arm("has decided")
        with self.driver() as driver:
            self.wait_for("has decided", driver)
            with Admin(Cluster(self.bootstrap)) as admin:
                for listing in admin.list_transactions(states=["Ongoing"]).values():
                    for one in listing:
                        admin.fence_producer(one.transactional_id)
            self.release("has decided")
            assert driver.wait(PATIENCE_S) != 0
        assert "The decision is revoked" in self.log()

    def two_drivers_at(self, point: str) -> None:
        """The first driver stops at a point. The second one does all the work, then the first one goes on."""
        self.arm(point)
        with self.driver() as first:
            self.wait_for(point, first)
            with self.driver() as second:
                assert second.wait(WHOLE_RUN_S) == 0, self.log()[-4000:]
            assert first.poll() is None, "the first driver did not live on"
            self.release(point)
            assert first.wait(PATIENCE_S) is not None

    def finish(self) -> None:
        """A last driver processes what is left."""
        with self.driver() as driver:
            assert driver.wait(WHOLE_RUN_S) == 0, self.log()[-4000:]

    def _executors(self) -> list[int]:
        return [pid for part in self.spark.worker_parts for pid in executors(part.process.pid) if alive(pid)]

    # The result

    def lag(self) -> dict[TopicPartition, int]:
        """How far the group of the stream is behind its input."""
        places = [TopicPartition("input", number) for number in range(PARTITIONS)]
        with Admin(Cluster(self.bootstrap)) as admin:
            ends = admin.list_offsets(dict.fromkeys(places, LATEST))
            offsets = admin.group_offsets(["copied"])["copied"]
        assert isinstance(offsets, dict), offsets
        behind = {}
        for place, end in ends.items():
            assert isinstance(end, ListedOffset)
            behind[place] = end.offset - offsets[place].offset
        return {place: count for place, count in behind.items() if count}

    def differences(self) -> str:
        """What readers of committed records miss or see twice. Empty if output and input are equal."""
        places = [TopicPartition("output", number) for number in range(PARTITIONS)]
        with Admin(Cluster(self.bootstrap)) as admin:
            ends = admin.list_offsets(dict.fromkeys(places, LATEST))
        numbers = []
        settings = ClientSettings(self.bootstrap, isolation_level="read_committed")
        with BulkReader(settings) as reader:
            for place, end in ends.items():
                assert isinstance(end, ListedOffset)
                for batch in reader.read(OffsetRange(place.topic, place.partition, 0, end.offset)):
                    numbers.append(np.array(batch.column("value").to_pylist()).astype(np.int64))
        arrived = np.bincount(np.concatenate(numbers), minlength=self._rows)
        if (arrived == 1).all() and len(arrived) == self._rows:
            return ""
        return f"{(arrived == 0).sum()} rows are missing, {(arrived > 1).sum()} arrived more than once"


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def kill_driver(driver: Driver) -> None:
    if driver.poll() is None:
        os.killpg(driver.pid, signal.SIGKILL)
    driver.wait()


@contextmanager
def stage(bootstrap: str, folder: Path, *, rows: int, batches: int) -> Iterator[Stage]:
    """A two-worker Spark cluster with room for two drivers."""
    cluster = StandaloneCluster(folder / "spark", workers=2, port=0, cores_per_worker=4)
    with cluster as spark:
        yield Stage(bootstrap, spark, folder, rows, batches)


def large_run(bootstrap: str, folder: Path, rows: int) -> str:
    """Kills at every step. Returns the differences between input and output."""
    with stage(bootstrap, folder, rows=rows, batches=60) as running:
        for point in IN_A_TASK:
            with running.driver() as driver:
                running.kill_executor_at(point, driver)
                running.kill_executor_at(point, driver)
            say(f"killed executors when a task {point}")
        with running.driver() as driver:
            running.kill_worker_at("has written", driver)
        say("killed a worker")
        for point in IN_THE_DRIVER:
            running.kill_driver_at(point)
            say(f"killed the driver when it {point}")
        running.kill_driver_at("has decided")
        running.kill_driver_at("finishes")
        say("killed the driver when it finishes the batch of another one")
        for point in IN_THE_DRIVER:
            running.overtake_at(point)
            say(f"another driver overtook the driver when it {point}")
        running.kill_driver_at("has decided")
        running.overtake_at("finishes")
        say("another driver overtook the driver when it finishes the batch of another one")
        running.revoke()
        say("terminated the transactions of a decided batch")
        running.two_drivers_at("has read the log")
        say("two drivers were alive until the end")
        running.finish()
        return running.differences() or ", ".join(f"{place} lags {by}" for place, by in running.lag().items())


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--cluster", choices=CLUSTERS, default="apache")
    parser.add_argument("--transactions", type=int, choices=(1, 2), default=2)
    arguments = parser.parse_args()
    os.environ.update(quick_java())
    with tempfile.TemporaryDirectory() as folder, CLUSTERS[arguments.cluster]() as brokers:
        if arguments.transactions == 1:
            downgrade(brokers.bootstrap)
        found = large_run(brokers.bootstrap, Path(folder), arguments.rows)
    say(found or f"{arguments.rows} rows arrived, each once")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
