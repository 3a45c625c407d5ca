"""Exactly once: each order has one receipt for those who read committed records.

    python examples/delivery/exactly_once.py localhost:9092 orders receipts

The receipts and the offsets of their orders are one transaction. If the program is killed, the broker aborts
both, and the next start reads the same orders again. Readers of receipts need isolation.level=read_committed.
"""

import sys
from collections.abc import Callable

from confluent_kafka import Consumer, KafkaException, Message, Producer, TopicPartition

CONSUMER = {
    "group.id": "exactly-once",
    "auto.offset.reset": "earliest",
    "enable.auto.commit": False,  # the producer commits the offsets
    "isolation.level": "read_committed",  # orders of aborted transactions are no orders
}
PRODUCER = {
    # The same after each start: so the next start ends what this one leaves open, and fences this one.
    # Each instance that runs at the same time needs an id of its own.
    "transactional.id": "receipts-1",
    "transaction.timeout.ms": 60000,  # the broker aborts what is open for longer
    "acks": "all",  # transactions need these two
    "enable.idempotence": True,
}


def receipt(order: bytes) -> bytes:
    return b"receipt for " + order


def offsets_behind(batch: list[Message]) -> list[TopicPartition]:
    last = {order.partition(): order for order in batch}
    return [TopicPartition(one.topic(), one.partition(), one.offset() + 1) for one in last.values()]


def commit(producer: Producer) -> None:
    """An error can mean that nobody knows the result yet. Then the same call asks again."""
    while True:
        try:
            producer.commit_transaction()
        except KafkaException as error:
            if not error.args[0].retriable():
                raise
        else:
            return


def run(bootstrap: str, orders: str, receipts: str, work: Callable[[bytes], bytes] = receipt) -> None:
    consumer = Consumer({"bootstrap.servers": bootstrap, **CONSUMER})
    producer = Producer({"bootstrap.servers": bootstrap, **PRODUCER})
    producer.init_transactions()
    # With a callback, partitions come and go only during consume().
    consumer.subscribe([orders], on_revoke=lambda *_: None)
    while True:
        # Asked for before the orders are read: if the group changes meanwhile, the offsets are refused.
        member = consumer.consumer_group_metadata()
        batch = [order for order in consumer.consume(10, timeout=2) if order.error() is None]
        if not batch:
            continue
        producer.begin_transaction()
        for order in batch:
            producer.produce(receipts, work(order.value()))
            producer.flush()
        producer.send_offsets_to_transaction(offsets_behind(batch), member)
        # All errors end this program. Its next start begins behind the last committed transaction.
        commit(producer)


if __name__ == "__main__":
    run(*sys.argv[1:])
