"""Brokers that were fenced recently. Clients still find them in the list of brokers, for some seconds.

librdkafka drops a broker that is not listed any more. If partitions of that broker have a new leader in the
same answer, they belong to nobody until librdkafka asks again a second later. If the dead broker is still
listed, they go to their new leader at once. Clients can handle dead brokers in the list: Apache Kafka lists a
dead broker until its session is over.
"""

from collections.abc import Mapping
from typing import Final

from gralha.metadata.image import BrokerRegistration

LINGER_MS: Final = 5_000


class Departures:
    """The times when brokers were fenced or unregistered."""

    def __init__(self) -> None:
        self._present: set[int] = set()
        self._left_ms: dict[int, int] = {}

    def follow(self, brokers: Mapping[int, BrokerRegistration], now_ms: int) -> None:
        """Notes the brokers of the newest image."""
        present = {broker.id for broker in brokers.values() if not broker.fenced}
        for broker_id in self._present - present:
            self._left_ms[broker_id] = now_ms
        for broker_id in present:
            self._left_ms.pop(broker_id, None)
        self._present = present

    def lingers(self, broker_id: int, now_ms: int) -> bool:
        """Returns True if the broker left so recently that clients should still see it."""
        left_ms = self._left_ms.get(broker_id)
        return left_ms is not None and now_ms - left_ms < LINGER_MS
