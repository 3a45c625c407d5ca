"""A client that moves partitions to other brokers while they are written and read.

A request may be refused, or its outcome may be unknown. Then the next request replaces it. At the end the
client moves all partitions once more, and waits until the metadata of all brokers shows the new replicas.
"""

import asyncio
from random import Random
from typing import Final, cast

from gralha.protocol.errors import ErrorCode
from gralha.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartition,
    ReassignableTopic,
)
from gralha.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from gralha.simulation.clients import REQUEST_TIMEOUT_MS, Bootstrap, Client

PAUSE_S: Final = (2.0, 8.0)

Places = dict[int, list[int]]


class Reassigner(Client):
    def __init__(self, bootstrap: Bootstrap, topic: str, random: Random, brokers: list[int]) -> None:
        super().__init__("reassigner", bootstrap, topic, random)
        self.replication_factor = 3
        self.accepted = 0
        # At the end: the requested replicas, and those in each broker's metadata.
        self.wanted: Places = {}
        self.found: dict[int, Places] = {}
        self._brokers = brokers

    async def run(self) -> None:
        while not self.leaders:
            await self.back_off()
        while not self.is_stopping:
            await self._ask_for(self._draw([self.random.choice(sorted(self.leaders))]))
            await asyncio.sleep(self.random.uniform(*PAUSE_S))
        self.wanted = self._draw(sorted(self.leaders))
        while not await self._ask_for(self.wanted):
            await self.back_off()
        while not self.found or any(places != self.wanted for places in self.found.values()):
            await self.back_off()
            self.found = {broker: await self._where(broker) for broker in self._brokers}

    def _draw(self, partitions: list[int]) -> Places:
        return {one: self.random.sample(self._brokers, self.replication_factor) for one in partitions}

    async def _ask_for(self, places: Places) -> bool:
        request = AlterPartitionReassignmentsRequest(
            timeout_ms=REQUEST_TIMEOUT_MS,
            topics=[
                ReassignableTopic(
                    self.topic, [ReassignablePartition(index, replicas) for index, replicas in places.items()]
                )
            ],
        )
        answer = cast("AlterPartitionReassignmentsResponse | None", await self.ask(self.any_node(), request))
        if answer is None or answer.error_code:
            return False
        codes = [one.error_code for topic in answer.responses for one in topic.partitions]
        self.accepted += codes.count(ErrorCode.NONE)
        return not any(codes)

    async def _where(self, node_id: int) -> Places:
        """The replicas in one broker's metadata, without partitions whose replicas are not all in sync."""
        request = MetadataRequest(
            topics=[MetadataRequestTopic(name=self.topic)], allow_auto_topic_creation=False
        )
        answer = cast("MetadataResponse | None", await self.ask(node_id, request))
        return {
            partition.partition_index: partition.replica_nodes
            for topic in (answer.topics if answer else [])
            for partition in topic.partitions
            if set(partition.isr_nodes) == set(partition.replica_nodes)
        }
