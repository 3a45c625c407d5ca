"""The base of all simulated clients: it finds brokers and leaders, and sends requests.

A client asks for metadata again after every error. The clients are in `producer.py`, `consumer.py`,
`members.py`, `transactional.py` and `reassigner.py`.
"""

import asyncio
from random import Random
from typing import Final, NamedTuple, cast

from gralha.broker.peer_login import peer_login
from gralha.broker.peers import Address, PeerConnections
from gralha.broker.sasl_settings import SaslLogin
from gralha.protocol.errors import ErrorCode
from gralha.protocol.message import Message
from gralha.protocol.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from gralha.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from gralha.protocol.peers import PeerError
from gralha.protocol.primitives import ZERO_UUID

REQUEST_TIMEOUT_MS: Final = 5_000
BACKOFF_S: Final = (0.05, 0.15)
# A version that has topic names, not topic ids.
FETCH_VERSION: Final = 12


class Bootstrap(NamedTuple):
    """The addresses that a client knows first, and how it logs in there."""

    addresses: list[Address]
    login: SaslLogin | None = None


class Client:
    """A client, and its knowledge of the cluster."""

    def __init__(self, name: str, bootstrap: Bootstrap, topic: str, random: Random) -> None:
        self.name = name
        self.topic = topic
        self.random = random
        self.leaders: dict[int, tuple[int, int]] = {}  # by partition: the leader and its epoch
        self.is_stopping = False
        self._bootstrap = bootstrap.addresses
        self._addresses: dict[int, Address] = {}
        self.topic_id = ZERO_UUID
        self.peers = PeerConnections(name, self._address, login=peer_login(bootstrap.login, random))

    def _address(self, node_id: int) -> Address | None:
        """The address of a node. Negative ids stand for the bootstrap addresses."""
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
        """Try until the topic exists."""
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
