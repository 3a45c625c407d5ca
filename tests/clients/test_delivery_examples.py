"""The records that the examples of docs/DELIVERY.md lose and double if they are killed at a bad moment.

Each example reads ten orders at a time. It is killed (SIGKILL) in the middle of its second batch, when the
first orders of the batch have receipts, and then it is started again.
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, KafkaError, Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from gralha.testing import ServerProcess
from tests.clients.conftest import Cluster
from tests.clients.driver import TIMEOUT_S, Driver
from tests.clients.drivers.confluent_driver import ConfluentDriver
from tests.clients.scenarios.stage import eventually
from tests.received import value_of
from tests.said import SAID

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "delivery"
ORDERS = 40
KILLED_AT = 15
SESSION_TIMEOUT_MS = 4000
PATIENCE_S = 60.0
# Runs an example. The killed one ends itself when it is about to handle an order.
PROGRAM = f"""
import os, signal, sys
sys.path.insert(0, {str(EXAMPLES)!r})
name, killed_at, bootstrap, orders, receipts = sys.argv[1:]
example = __import__(name)
# A short session, so that the next start need not wait long for the end of this one.
example.CONSUMER.update({{"session.timeout.ms": {SESSION_TIMEOUT_MS}, "heartbeat.interval.ms": 300}})
example.CONSUMER["group.id"] = orders
def work(order):
    if order.decode() == killed_at:
        os.kill(os.getpid(), signal.SIGKILL)
    return order
example.run(bootstrap, orders, receipts, work)
"""


@dataclass(frozen=True)
class Outcome:
    lost: list[str]
    doubled: list[str]

    def __str__(self) -> str:
        return f"lost {', '.join(self.lost) or 'nothing'}; doubled {', '.join(self.doubled) or 'nothing'}"

    @classmethod
    def of(cls, receipts: list[str]) -> Outcome:
        counts = Counter(receipts)
        orders = [str(number) for number in range(ORDERS)]
        assert set(counts) <= set(orders)
        return cls(
            lost=[order for order in orders if counts[order] == 0],
            doubled=[order for order in orders if counts[order] > 1],
        )


class Shop:
    """A topic of orders, an example that handles them, and a topic of receipts."""

    def __init__(self, broker: Cluster, reference: Driver, example: str, folder: Path) -> None:
        self.orders, self.receipts = (f"{example}.{name}.{uuid.uuid4().hex[:8]}" for name in ("in", "out"))
        self._bootstrap = broker.bootstrap
        self.example = example
        self._folder = folder
        for topic in (self.orders, self.receipts):
            reference.create_topic(topic)
        writer = Producer({"bootstrap.servers": self._bootstrap, "log_level": 0})
        for number in range(ORDERS):
            writer.produce(self.orders, str(number))
        assert writer.flush(TIMEOUT_S) == 0

    def run_until_killed(self) -> None:
        done = subprocess.run(self._command(str(KILLED_AT)), capture_output=True, timeout=PATIENCE_S)
        assert done.returncode == -9, done.stderr.decode()

    @contextlib.contextmanager
    def running(self) -> Iterator[ServerProcess]:
        process = ServerProcess(self._command("never"), self._folder / "example.log")
        try:
            yield process
        finally:
            process.kill()

    def is_done(self) -> bool:
        return self._committed() == ORDERS and self.read("read_committed")[-1:] == [str(ORDERS - 1)]

    def read(self, isolation_level: str) -> list[str]:
        consumer = Consumer(
            {
                "bootstrap.servers": self._bootstrap,
                "group.id": "reader",
                "enable.partition.eof": True,
                "isolation.level": isolation_level,
                "fetch.wait.max.ms": 10,
                "log_level": 0,
            }
        )
        consumer.assign([TopicPartition(self.receipts, 0, 0)])
        values: list[str] = []
        with contextlib.closing(consumer):
            deadline = time.monotonic() + TIMEOUT_S
            while time.monotonic() < deadline:
                message = consumer.poll(0.1)
                if message is None:
                    continue
                error = message.error()
                if error is None:
                    values.append(value_of(message).decode())
                elif error.code() == KafkaError._PARTITION_EOF:
                    return values
        raise AssertionError(f"{self.receipts} has no end")

    def _committed(self) -> int:
        admin = AdminClient({"bootstrap.servers": self._bootstrap, "log_level": 0})
        wanted = ConsumerGroupTopicPartitions(self.orders, [TopicPartition(self.orders, 0)])
        found = admin.list_consumer_group_offsets([wanted])[self.orders].result(TIMEOUT_S)
        offset: int = found.topic_partitions[0].offset
        return offset

    def _command(self, killed_at: str) -> list[str]:
        arguments = [self.example, killed_at, self._bootstrap, self.orders, self.receipts]
        return [sys.executable, "-c", PROGRAM, *arguments]


@pytest.fixture
def shop(request: pytest.FixtureRequest, open_broker: Cluster, tmp_path: Path) -> Shop:
    """The shop whose example was killed and started again, when all orders are handled."""
    shop = Shop(open_broker, ConfluentDriver(open_broker.bootstrap), request.param, tmp_path)
    shop.run_until_killed()
    with shop.running() as process:
        try:
            eventually(shop.is_done, PATIENCE_S)
        except AssertionError as error:
            raise AssertionError(f"{error}: {shop.read('read_committed')}\n{process.log_tail()}") from error
    return shop


@pytest.fixture
def outcome(shop: Shop, record_property: Callable[[str, object], None]) -> Callable[[str], Outcome]:
    """The receipts that a reader gets, compared with the orders. The summary of the run says it, too."""

    def read(isolation_level: str) -> Outcome:
        found = Outcome.of(shop.read(isolation_level))
        record_property(SAID, f"{shop.example}, killed at order {KILLED_AT}, {isolation_level}: {found}")
        return found

    return read


def numbers(first: int, last: int) -> list[str]:
    return [str(number) for number in range(first, last + 1)]


@pytest.mark.parametrize("shop", ["at_most_once"], indirect=True)
def test_at_most_once_loses_and_never_doubles(outcome: Callable[[str], Outcome]) -> None:
    assert outcome("read_committed") == Outcome(lost=numbers(KILLED_AT, 19), doubled=[])


@pytest.mark.parametrize("shop", ["at_least_once"], indirect=True)
def test_at_least_once_doubles_and_never_loses(outcome: Callable[[str], Outcome]) -> None:
    assert outcome("read_committed") == Outcome(lost=[], doubled=numbers(10, KILLED_AT - 1))


@pytest.mark.parametrize("shop", ["exactly_once"], indirect=True)
def test_exactly_once_neither_loses_nor_doubles(outcome: Callable[[str], Outcome]) -> None:
    assert outcome("read_committed") == Outcome(lost=[], doubled=[])
    # Those who do not ask for committed records see the receipts of the aborted transaction, too.
    assert outcome("read_uncommitted") == Outcome(lost=[], doubled=numbers(10, KILLED_AT - 1))
