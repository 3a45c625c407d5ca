"""Writes sales to a topic until it is stopped: JSON values, keyed by product.

    python examples/sales/generate.py --bootstrap-server localhost:9092

One in 100 is far too large, and one in 250 is broken, so that there is something to find.
"""

import argparse
import json
import random
import signal
import time
from collections.abc import Iterator
from datetime import UTC, datetime

from confluent_kafka import Producer

# What a product costs, roughly.
PRODUCTS = {"bread": 3.5, "cake": 18.0, "coffee": 4.2, "cookies": 2.8, "juice": 3.9, "tea": 2.6}
ONE_IN_TOO_LARGE = 100
ONE_IN_BROKEN = 250


def sales(chance: random.Random) -> Iterator[tuple[str, bytes]]:
    """Keys and values, for ever."""
    while True:
        product = chance.choice(list(PRODUCTS))
        amount = PRODUCTS[product] * chance.uniform(0.6, 1.6)
        if chance.randrange(ONE_IN_TOO_LARGE) == 0:
            amount *= chance.uniform(8, 20)
        value = {"product": product, "amount": round(amount, 2), "at": datetime.now(UTC).isoformat()}
        text = json.dumps(value)
        if chance.randrange(ONE_IN_BROKEN) == 0:
            text = text[:-1]
        yield product, text.encode()


def main() -> None:
    parser = argparse.ArgumentParser(description="Write sales to a topic until Ctrl-C.")
    parser.add_argument("--bootstrap-server", default="localhost:9092")
    parser.add_argument("--topic", default="sales")
    parser.add_argument("--rate", type=float, default=50.0, help="sales per second (50)")
    parser.add_argument("--seed", type=int, default=None, help="to get the same sales again")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    producer = Producer(
        {"bootstrap.servers": options.bootstrap_server, "partitioner": "murmur2_random", "linger.ms": 20}
    )
    written = 0
    try:
        started = time.monotonic()
        for key, value in sales(random.Random(options.seed)):
            producer.produce(options.topic, key=key, value=value)
            producer.poll(0)
            written += 1
            time.sleep(max(0.0, started + written / options.rate - time.monotonic()))
    except KeyboardInterrupt:
        pass
    finally:
        producer.flush(10)
    print(f"{written} sales written")


if __name__ == "__main__":
    main()
