"""A teller of the bank: books orders to accounts, each batch of orders in one transaction.

    python -m tests.cluster.bank_teller 1 127.0.0.1:9092

It is a process, so that it can be killed. It ends if it is fenced, and somebody starts it again. One batch in
ten is aborted for no reason, and booked again.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Iterable
from typing import Any

from confluent_kafka import Consumer, KafkaException, Message, Producer, TopicPartition
from tests.received import place_of, value_of

ORDERS = "bank-orders"
ENTRIES = "bank-entries"
GROUP = "bank-tellers"
PARTITIONS = 3
ORDERS_AT_ONCE = 20
ABORTED_SHARE = 0.1
TRANSACTION_TIMEOUT_MS = 10_000
SESSION_TIMEOUT_MS = 3_000
QUICK_RETRIES = {
    "reconnect.backoff.ms": 20,
    "reconnect.backoff.max.ms": 200,
    "retry.backoff.ms": 20,
    "retry.backoff.max.ms": 200,
    "log_level": 0,
}


def transactional_id(number: int) -> str:
    return f"teller-{number}"


class Reconsidered(Exception):  # noqa: N818  # nothing went wrong
    """The teller aborts the transaction for no reason."""


class Teller:
    def __init__(self, number: int, bootstrap: str) -> None:
        self._chance = random.Random()
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "transactional.id": transactional_id(number),
                "transaction.timeout.ms": TRANSACTION_TIMEOUT_MS,
                "linger.ms": 0,
                **QUICK_RETRIES,
            }
        )
        self._consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": GROUP,
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
                "isolation.level": "read_committed",
                "session.timeout.ms": SESSION_TIMEOUT_MS,
                "heartbeat.interval.ms": 300,
                **QUICK_RETRIES,
            }
        )

    def work(self) -> None:
        self._producer.init_transactions()
        # With callbacks, partitions come and go only during consume().
        self._consumer.subscribe([ORDERS], on_assign=ignore, on_revoke=ignore, on_lost=ignore)
        while True:
            # Before the orders are read: if the group changes meanwhile, their offsets are refused.
            member = self._consumer.consumer_group_metadata()
            orders = [one for one in self._consumer.consume(ORDERS_AT_ONCE, 0.1) if one.error() is None]
            if orders:
                self._book(orders, member)

    def _book(self, orders: list[Message], member: Any) -> None:
        self._producer.begin_transaction()
        try:
            for order in orders:
                self._write_entries(json.loads(value_of(order)))
            if self._chance.random() < ABORTED_SHARE:
                raise Reconsidered
            self._producer.send_offsets_to_transaction(offsets_behind(orders), member)
            self._commit()
        except Reconsidered:
            self._undo(orders)
        except KafkaException as error:
            if not error.args[0].txn_requires_abort():
                raise
            self._undo(orders)

    def _write_entries(self, order: dict[str, Any]) -> None:
        for account, amount in ((order["from"], -order["amount"]), (order["to"], order["amount"])):
            entry = {"order": order["id"], "account": account, "amount": amount}
            self._producer.produce(ENTRIES, json.dumps(entry).encode(), partition=account % PARTITIONS)
            self._producer.poll(0)

    def _commit(self) -> None:
        """The result of a commit without an answer is unknown until it is repeated."""
        while True:
            try:
                self._producer.commit_transaction()
            except KafkaException as error:
                if not error.args[0].retriable():
                    raise
            else:
                return

    def _undo(self, orders: list[Message]) -> None:
        """Aborts, and goes back to the first of these orders."""
        self._producer.abort_transaction()
        mine = {one.partition for one in self._consumer.assignment()}
        first: dict[int, int] = {}
        for partition, offset in map(place_of, orders):
            first.setdefault(partition, offset)
        for partition, offset in first.items():
            if partition in mine:
                self._consumer.seek(TopicPartition(ORDERS, partition, offset))


def offsets_behind(orders: Iterable[Message]) -> list[TopicPartition]:
    last = dict(map(place_of, orders))
    return [TopicPartition(ORDERS, partition, offset + 1) for partition, offset in last.items()]


def ignore(_: Consumer, __: list[TopicPartition]) -> None:
    pass


if __name__ == "__main__":
    Teller(int(sys.argv[1]), sys.argv[2]).work()
