"""Clients inside the simulation that behave as real ones do: what they know of the cluster, and the consumer.

A consumer follows each partition from its start, and writes down what it saw. Leaders are found by asking for
metadata anew after every trouble. The producer is in `producer.py`.
"""

import asyncio
from collections.abc import Callable
from random import Random
from typing import Final, cast

from gralha.broker.peers import Address, PeerConnections
from gralha.protocol.batches import batches
from gralha.protocol.errors import ErrorCode
from gralha.protocol.message import Message
from gralha.protocol.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from gralha.protocol.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    PartitionData,
)
from gralha.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from gralha.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from gralha.protocol.peers import PeerError
from gralha.protocol.primitives import ZERO_UUID, RecordBytes
from gralha.protocol.records import decode_records
from gralha.simulation.history import Event, Poll, Seek

REQUEST_TIMEOUT_MS: Final = 5_000
BACKOFF_S: Final = (0.05, 0.15)
# A version that names topics by their names.
FETCH_VERSION: Final = 12
LATEST: Final = -1
ENDS_CHANCE: Final = 0.2


class Client:
    """What a client knows of the cluster."""

    def __init__(self, name: str, bootstrap: list[Address], topic: str, random: Random) -> None:
        self.name = name
        self.topic = topic
        self.random = random
        self.leaders: dict[int, tuple[int, int]] = {}  # by partition: the leader and its epoch
        self.is_stopping = False
        self._bootstrap = bootstrap
        self._addresses: dict[int, Address] = {}
        self.topic_id = ZERO_UUID
        self.peers = PeerConnections(name, self._address)

    def _address(self, node_id: int) -> Address | None:
        """Negative ids are the addresses that the client was given."""
        return self._bootstrap[-1 - node_id] if node_id < 0 else self._addresses.get(node_id)

    async def ask(
        self,
        node_id: int,
        request: Message,
        version: int | None = None,
        timeout_ms: int = REQUEST_TIMEOUT_MS,
    ) -> Message | None:
        try:
            return await self.peers.ask(node_id, request, timeout_ms=timeout_ms, version=version)
        except PeerError:
            return None

    def know_address(self, node_id: int, address: Address) -> None:
        self._addresses[node_id] = address

    def any_node(self) -> int:
        candidates: list[int] = [*self._addresses, *range(-len(self._bootstrap), 0)]
        return self.random.choice(candidates)

    async def refresh(self) -> None:
        request = MetadataRequest(
            topics=[MetadataRequestTopic(name=self.topic)], allow_auto_topic_creation=False
        )
        response = cast("MetadataResponse | None", await self.ask(self.any_node(), request))
        if response is None:
            return
        self._addresses = {broker.node_id: (broker.host, broker.port) for broker in response.brokers}
        for topic in response.topics:
            self.topic_id = topic.topic_id
            for partition in topic.partitions:
                known = self.leaders.get(partition.partition_index, (-1, -1))
                if partition.leader_epoch >= known[1]:
                    leader = (partition.leader_id, partition.leader_epoch)
                    self.leaders[partition.partition_index] = leader

    async def back_off(self) -> None:
        await asyncio.sleep(self.random.uniform(*BACKOFF_S))
        await self.refresh()

    async def create_topic(self, partitions: int, replication_factor: int, configs: dict[str, str]) -> None:
        """Until it is there."""
        request = CreateTopicsRequest(
            topics=[
                CreatableTopic(
                    name=self.topic,
                    num_partitions=partitions,
                    replication_factor=replication_factor,
                    configs=[CreatableTopicConfig(name, value) for name, value in configs.items()],
                )
            ],
            timeout_ms=REQUEST_TIMEOUT_MS,
        )
        while True:
            answer = cast("CreateTopicsResponse | None", await self.ask(self.any_node(), request))
            codes = [topic.error_code for topic in answer.topics] if answer else []
            if ErrorCode.NONE in codes or ErrorCode.TOPIC_ALREADY_EXISTS in codes:
                return
            await self.back_off()


class Consumer(Client):
    def __init__(
        self,
        name: str,
        bootstrap: list[Address],
        topic: str,
        random: Random,
        record: Callable[[Event], None],
        complain: Callable[[str], None],
    ) -> None:
        super().__init__(name, bootstrap, topic, random)
        self.ends: dict[int, int] = {}
        self._complain = complain
        self.positions: dict[int, int] = {}
        # Since it was told to stop: the partitions that it has read to their end.
        self.finished: dict[int, None] = {}
        self._record = record

    async def run(self) -> None:
        while not self.leaders:
            await self.back_off()
        self.positions = dict.fromkeys(sorted(self.leaders), 0)
        while len(self.finished) < len(self.positions):
            by_leader: dict[int, list[int]] = {}
            for partition, (leader, _) in sorted(self.leaders.items()):
                if leader >= 0:
                    by_leader.setdefault(leader, []).append(partition)
            results = await asyncio.gather(*(self._fetch(*one) for one in by_leader.items()))
            is_complete = sum(map(len, by_leader.values())) == len(self.leaders)
            if not all(results) or not is_complete:
                await self.back_off()

    async def _fetch(self, leader: int, partitions: list[int]) -> bool:
        """One fetch from one leader; whether all was well."""
        loop = asyncio.get_running_loop()
        begun_at = loop.time()
        was_stopping = self.is_stopping
        request = FetchRequest(
            max_wait_ms=500,
            min_bytes=1,
            max_bytes=1024 * 1024,
            topics=[FetchTopic(topic=self.topic, partitions=[self._part(one) for one in partitions])],
        )
        if self.random.random() < ENDS_CHANCE:
            await self._ask_for_ends(leader, partitions)
        known = self._known_ends(partitions)
        response = cast("FetchResponse | None", await self.ask(leader, request, FETCH_VERSION))
        if response is None or response.error_code or not response.responses:
            return False
        answers = response.responses[0].partitions
        for answer in answers:
            if not answer.error_code:
                self._note_watermark(answer, known[answer.partition_index])
            self._take(answer, begun_at, loop.time(), was_stopping)
        return not any(answer.error_code for answer in answers)

    def _part(self, partition: int) -> FetchPartition:
        return FetchPartition(
            partition=partition,
            current_leader_epoch=self.leaders[partition][1],
            fetch_offset=self.positions[partition],
            partition_max_bytes=256 * 1024,
        )

    def _take(self, answer: PartitionData, begun_at: float, now: float, was_stopping: bool) -> None:
        partition = answer.partition_index
        name = f"{self.topic}-{partition}"
        if answer.error_code == ErrorCode.OFFSET_OUT_OF_RANGE:
            self.positions[partition] = max(answer.log_start_offset, 0)
            self._record(Seek(self.name, name, now))
        if answer.error_code:
            return
        records = self._records(partition, answer.records)
        if records:
            self._record(Poll(self.name, name, tuple(records), begun_at, now))
        if was_stopping and self.positions[partition] >= answer.high_watermark:
            self.finished[partition] = None

    async def _ask_for_ends(self, leader: int, partitions: list[int]) -> None:
        """Spark gives up when it goes back."""
        parts = [
            ListOffsetsPartition(partition, self.leaders[partition][1], LATEST) for partition in partitions
        ]
        request = ListOffsetsRequest(
            replica_id=-1, topics=[ListOffsetsTopic(self.topic, parts)], timeout_ms=REQUEST_TIMEOUT_MS
        )
        known = self._known_ends(partitions)
        response = cast("ListOffsetsResponse | None", await self.ask(leader, request))
        for answer in response.topics[0].partitions if response else []:
            if not answer.error_code:
                self._note_end(answer.partition_index, answer.offset, known)

    def _known_ends(self, partitions: list[int]) -> dict[int, int]:
        return {one: max(self.ends.get(one, 0), self.positions[one]) for one in partitions}

    def _note_watermark(self, answer: PartitionData, known: int) -> None:
        """A new leader may know an older one, but must not have who reads up to that believe in the end."""
        partition, records = answer.partition_index, answer.records
        is_empty = records is None or records.size() == 0
        if is_empty and answer.high_watermark <= self.positions[partition] < known:
            self._complain_of_end(partition, known, answer.high_watermark)
        self.ends[partition] = max(self.ends.get(partition, 0), answer.high_watermark)

    def _complain_of_end(self, partition: int, known: int, told: int) -> None:
        now = asyncio.get_running_loop().time()
        name = f"{self.topic}-{partition}"
        self._complain(f"{self.name} saw the end of {name} go from {known} to {told} at {now:.3f}")

    def _note_end(self, partition: int, end: int, known: dict[int, int]) -> None:
        """The end that a consumer is told of is not before the one that it knew."""
        if end < known[partition]:
            self._complain_of_end(partition, known[partition], end)
        self.ends[partition] = end

    def _records(self, partition: int, data: RecordBytes | None) -> list[tuple[int, str]]:
        position = self.positions[partition]
        found: list[tuple[int, str]] = []
        if data is None:
            return found
        for place, header in batches(data.data, data.start, data.end):
            if not header.is_control:
                for record in decode_records(data.data, place, header):
                    if record.offset >= position:
                        found.append((int(record.offset), (record.value or b"").decode()))
            self.positions[partition] = max(self.positions[partition], int(header.next_offset))
        return found
