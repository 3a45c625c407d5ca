"""A cluster that is only said: leaders of partitions, and the coordinators' partitions on this broker."""

import asyncio
from types import SimpleNamespace
from typing import Any

from gralha.metadata.topic_names import TRANSACTIONS_TOPIC

PATIENCE_S = 20
THIS_BROKER = 1


class FakeCluster:
    """Both the image and the replicas of a broker, as far as markers and questions look at them."""

    def __init__(self, coordinators: int = 1) -> None:
        self.topics: dict[str, Any] = {}
        self.lead(TRANSACTIONS_TOPIC, *[THIS_BROKER] * coordinators)
        self.coordinating = {
            index: SimpleNamespace(leader_epoch=3, is_leader=lambda: True) for index in range(coordinators)
        }
        self.by_name = {TRANSACTIONS_TOPIC: self.coordinating}
        self.failures: list[BaseException] = []

    def lead(self, topic: str, *leaders: int) -> None:
        """Say who leads the partitions of a topic. -1: nobody."""
        partitions = {index: SimpleNamespace(leader=leader) for index, leader in enumerate(leaders)}
        self.topics[topic] = SimpleNamespace(partitions=partitions)

    def delete(self, topic: str) -> None:
        del self.topics[topic]

    def on_failure(self, error: BaseException) -> None:
        self.failures.append(error)


async def turns(count: int = 10) -> None:
    """Let the event loop do what is to be done now."""
    for _ in range(count):
        await asyncio.sleep(0)


async def until(check: Any) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not check():
            await asyncio.sleep(0.001)
