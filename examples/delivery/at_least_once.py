"""At least once: no order is lost, and some may be handled twice.

    python examples/delivery/at_least_once.py localhost:9092 orders receipts

The offsets are committed after the work, when all receipts are acknowledged. If the program is killed in
between, it reads these orders again, and writes their receipts again.
"""

import sys
from collections.abc import Callable

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer

CONSUMER = {
    "group.id": "at-least-once",
    "auto.offset.reset": "earliest",
    "enable.auto.commit": False,  # this program commits by itself: after the work
}
PRODUCER = {
    "acks": "all",  # an answer means that all in-sync replicas have the record
    "retries": 2147483647,  # as often as delivery.timeout.ms allows
    "retry.backoff.ms": 100,  # after a pause that grows
    "delivery.timeout.ms": 120000,  # then it is an error, and the program stops
    "enable.idempotence": True,  # a retry of the producer writes no second record
    "max.in.flight.requests.per.connection": 5,  # the most that keeps the order with idempotence
}


def receipt(order: bytes) -> bytes:
    return b"receipt for " + order


def delivered(error: KafkaError | None, message: Message) -> None:
    if error is not None:
        raise KafkaException(error)


def run(bootstrap: str, orders: str, receipts: str, work: Callable[[bytes], bytes] = receipt) -> None:
    consumer = Consumer({"bootstrap.servers": bootstrap, **CONSUMER})
    producer = Producer({"bootstrap.servers": bootstrap, **PRODUCER})
    consumer.subscribe([orders])
    while True:
        batch = [order for order in consumer.consume(10, timeout=2) if order.error() is None]
        if not batch:
            continue
        for order in batch:
            producer.produce(receipts, work(order.value()), on_delivery=delivered)
            producer.flush()
        consumer.commit(asynchronous=False)


if __name__ == "__main__":
    run(*sys.argv[1:])
