"""The books of the bank: the orders of customers, and the entries that a reader of committed records sees.

Money is only moved: an order takes from one account what it gives to another. So the total of all entries is
zero whenever no order is half booked. An order must be booked whole, and once.
"""

from __future__ import annotations

import json
import random
import threading
import time
from collections import Counter
from collections.abc import Mapping

from confluent_kafka import Consumer, KafkaError, Message, Producer, TopicPartition
from tests.cluster.bank_teller import ENTRIES, ORDERS, PARTITIONS, QUICK_RETRIES
from tests.received import value_of

ACCOUNTS = 12
LARGEST_AMOUNT = 100
ROUND_S = 0.02  # an order for each partition so often
PATIENCE_S = 90.0


class Customers:
    """Write orders, in a thread of their own, until they are told to stop."""

    def __init__(self, bootstrap: str, seed: int) -> None:
        self.orders: dict[int, dict[str, int]] = {}
        self.errors: list[str] = []
        self._chance = random.Random(seed)
        self._open = threading.Event()
        self._leaving = threading.Event()
        self._producer = Producer(
            {"bootstrap.servers": bootstrap, "enable.idempotence": True, "linger.ms": 0, **QUICK_RETRIES}
        )
        self._thread = threading.Thread(target=self._run, name="customers", daemon=True)
        self._thread.start()

    def come(self) -> None:
        self._open.set()

    def stop(self) -> None:
        """Returns when all orders are acknowledged."""
        self._open.clear()
        assert self._producer.flush(PATIENCE_S) == 0, "orders without an answer"

    def close(self) -> None:
        self._leaving.set()
        self._open.set()
        self._thread.join()

    def _run(self) -> None:
        while self._open.wait() and not self._leaving.is_set():
            for partition in range(PARTITIONS):
                self._order(partition)
            self._producer.poll(ROUND_S)

    def _order(self, partition: int) -> None:
        giver, taker = self._chance.sample(range(ACCOUNTS), 2)
        order = {
            "id": len(self.orders),
            "from": giver,
            "to": taker,
            "amount": self._chance.randint(1, LARGEST_AMOUNT),
        }
        self.orders[order["id"]] = order
        self._producer.produce(
            ORDERS, json.dumps(order).encode(), partition=partition, on_delivery=self._answered
        )

    def _answered(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self.errors.append(f"{value_of(message).decode()}: {error}")


class Ledger:
    """The entries of all accounts so far, by one reader of committed records."""

    def __init__(self, bootstrap: str) -> None:
        self.balances: Counter[int] = Counter()
        self.errors: list[str] = []
        self.booked = 0  # orders, whole
        self._entries: dict[int, dict[int, int]] = {}  # by order: account and amount
        self._consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": "bank-ledger",
                "enable.auto.commit": False,
                "isolation.level": "read_committed",
                "auto.offset.reset": "error",
                "enable.partition.eof": True,
                **QUICK_RETRIES,
            }
        )
        self._ended: set[int | None] = set()
        self._consumer.assign([TopicPartition(ENTRIES, number, 0) for number in range(PARTITIONS)])

    @property
    def total(self) -> int:
        return self.balances.total()

    def half_booked(self) -> list[int]:
        return [order for order, entries in self._entries.items() if len(entries) != 2]

    def look(self) -> None:
        """Reads what is there."""
        for message in self._consumer.consume(1000, 0.05):
            error = message.error()
            if error is None:
                self._ended.discard(message.partition())
                self._enter(**json.loads(value_of(message)))
            elif error.code() == KafkaError._PARTITION_EOF:
                self._ended.add(message.partition())
            elif not error.retriable() and error.code() not in LOCAL_TROUBLE:
                self.errors.append(f"the reader of the ledger: {error}")

    def read_to_the_end(self) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while len(self._ended) < PARTITIONS:
            assert time.monotonic() < deadline, "the ledger has no end"
            self.look()

    def complaints(self, orders: Mapping[int, Mapping[str, int]]) -> list[str]:
        """The errors in the books when all of these orders should be booked."""
        found = list(self.errors)
        if self.total != 0:
            found.append(f"the total is {self.total} instead of 0")
        for number, order in orders.items():
            entries = self._entries.get(number, {})
            if entries != {order["from"]: -order["amount"], order["to"]: order["amount"]}:
                found.append(f"order {order} was booked as {entries}")
        found += [f"order {number} was never given" for number in self._entries.keys() - orders.keys()]
        return found

    def close(self) -> None:
        self._consumer.close()

    def _enter(self, order: int, account: int, amount: int) -> None:
        entries = self._entries.setdefault(order, {})
        if account in entries:
            self.errors.append(f"order {order} was booked twice to account {account}")
        entries[account] = amount
        self.balances[account] += amount
        self.booked += len(entries) == 2


LOCAL_TROUBLE = {KafkaError._TRANSPORT, KafkaError._ALL_BROKERS_DOWN, KafkaError._TIMED_OUT}
