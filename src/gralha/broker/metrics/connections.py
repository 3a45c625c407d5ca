"""The connections of a node, and the requests that wait in it."""

from collections import Counter
from collections.abc import Iterator
from typing import Final

from gralha.broker.connection import ConnectionSettings
from gralha.broker.metrics.exposition import (
    PAUSE,
    SLICE,
    Pieces,
    Sample,
    counter,
    family_text,
    gauge,
    labels,
)

_SOCKETS: Final = "kafka_server_socket_server_metrics"
OPEN: Final = gauge(f"{_SOCKETS}_connection_count", "Open connections.")
CREATED: Final = counter(f"{_SOCKETS}_connection_creation_total", "Connections that were opened.")
CLOSED: Final = counter(f"{_SOCKETS}_connection_close_total", "Connections that were closed.")
PURGATORY: Final = gauge(
    "kafka_server_delayedoperationpurgatory_purgatorysize",
    "Requests that wait for followers (Produce) or for records (Fetch).",
)
WAITING: Final = gauge(
    "gralha_waiting_requests", "Requests of all APIs that are in the broker and have no response yet."
)
DELAYED: Final = ("Produce", "Fetch")


def connection_metrics(listeners: list[ConnectionSettings]) -> Pieces:
    named = [(labels(listener=one.listener), one) for one in listeners]
    yield from family_text(OPEN, ((name, len(one.connections)) for name, one in named))
    yield from family_text(CREATED, ((name, one.created) for name, one in named))
    yield from family_text(CLOSED, ((name, one.closed) for name, one in named))
    waiting: Counter[str] = Counter()
    steps = 0
    for _, listener in named:
        for connection in list(listener.connections):
            waiting.update(connection.waiting_requests())
            steps += 1
            if steps % SLICE == 0:
                yield PAUSE
    yield from family_text(PURGATORY, ((labels(delayedOperation=one), waiting[one]) for one in DELAYED))
    yield from family_text(WAITING, _by_api(waiting))


def _by_api(waiting: Counter[str]) -> Iterator[Sample]:
    for name, count in sorted(waiting.items()):
        yield labels(request=name), count
