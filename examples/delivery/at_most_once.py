"""At most once: an order may be lost, and none is handled twice.

    python examples/delivery/at_most_once.py localhost:9092 orders receipts

The offsets are committed before the work. If the program is killed during the work, nobody reads the rest of
these orders again. The producer does not try anything twice.
"""

import sys
from collections.abc import Callable

from confluent_kafka import Consumer, Producer

CONSUMER = {
    "group.id": "at-most-once",
    "auto.offset.reset": "earliest",
    "enable.auto.commit": False,  # this program commits by itself: before the work
}
PRODUCER = {
    "acks": 0,  # does not wait for an answer of the broker
    "retries": 0,  # sends nothing twice
    "enable.idempotence": False,  # needs acks=all and retries
}


def receipt(order: bytes) -> bytes:
    return b"receipt for " + order


def run(bootstrap: str, orders: str, receipts: str, work: Callable[[bytes], bytes] = receipt) -> None:
    consumer = Consumer({"bootstrap.servers": bootstrap, **CONSUMER})
    producer = Producer({"bootstrap.servers": bootstrap, **PRODUCER})
    consumer.subscribe([orders])
    while True:
        batch = [order for order in consumer.consume(10, timeout=2) if order.error() is None]
        if not batch:
            continue
        consumer.commit(asynchronous=False)
        for order in batch:
            producer.produce(receipts, work(order.value()))
            producer.flush()


if __name__ == "__main__":
    run(*sys.argv[1:])
