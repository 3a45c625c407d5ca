"""Brokers that were fenced a moment ago: clients still find them in the list of brokers, for some seconds.

librdkafka drops a broker that is not listed any more. Partitions that it led and that have a new leader in
the same answer then belong to nobody, until librdkafka looks again a second later. With the dead broker in
the list they go to their new leader at once. Clients know dead brokers in the list: Apache Kafka lists one
until its session is over.
"""

from collections.abc import Mapping
from typing import Final

from gralha.metadata.image import BrokerRegistration

LINGER_MS: Final = 5_000


class Departures:
    """When brokers ceased to be there for clients."""

    def __init__(self) -> None:
        self._present: set[int] = set()
        self._left_ms: dict[int, int] = {}

    def follow(self, brokers: Mapping[int, BrokerRegistration], now_ms: int) -> None:
        """The brokers of the newest image."""
        present = {broker.id for broker in brokers.values() if not broker.fenced}
        for broker_id in self._present - present:
            self._left_ms[broker_id] = now_ms
        for broker_id in present:
            self._left_ms.pop(broker_id, None)
        self._present = present

    def lingers(self, broker_id: int, now_ms: int) -> bool:
        """Whether it left so recently that clients should still see it."""
        left_ms = self._left_ms.get(broker_id)
        return left_ms is not None and now_ms - left_ms < LINGER_MS
