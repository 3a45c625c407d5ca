"""Records that compress as real ones do: events in JSON. Names and words repeat in them, numbers do not."""

from __future__ import annotations

import json
import random
import time

from gralha.protocol.records import Record, encode_batch

ACTIONS = ("view", "click", "search", "add_to_cart", "remove_from_cart", "purchase")
COUNTRIES = ("BR", "CZ", "DE", "IN", "JP", "PT", "US")
AGENTS = (
    "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0",
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0",
    "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 Version/17.5",
)


def event(values: random.Random, size_bytes: int) -> bytes:
    """An event with as many items as fit into its size; spaces fill the rest."""
    text = {
        "event_id": f"{values.getrandbits(128):032x}",
        "user_id": values.randrange(1_000_000),
        "session": f"{values.getrandbits(64):016x}",
        "action": values.choice(ACTIONS),
        "country": values.choice(COUNTRIES),
        "user_agent": values.choice(AGENTS),
        "items": [],
    }
    items: list[dict[str, object]] = []
    while True:
        item = {
            "product": values.randrange(50_000),
            "price": values.randrange(100, 100_000) / 100,
            "quantity": values.randrange(1, 5),
            "page": f"/shop/category-{values.randrange(40)}/product-{values.randrange(50_000)}",
        }
        encoded = json.dumps({**text, "items": [*items, item]}).encode()
        if len(encoded) > size_bytes:
            return json.dumps({**text, "items": items}).encode().ljust(size_bytes)
        items.append(item)


def event_batch(record_count: int, value_size_bytes: int, codec: int) -> bytes:
    """A batch of events, compressed with a codec of `gralha.protocol.compression`."""
    values = random.Random(record_count)
    now_ms = int(time.time() * 1000)
    records = [Record(None, event(values, value_size_bytes), timestamp=now_ms) for _ in range(record_count)]
    return encode_batch(records, compression=codec)
