"""Some brokers in one process: real replica managers, logs and handlers; calls instead of a network.

The test is the controller: `place` says who has the partition and who leads it, and every broker follows at
once. Proposals of in-sync replicas go to `decide`, which agrees unless a test says otherwise.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from random import Random
from types import SimpleNamespace

from gralha.broker.audit import Audit
from gralha.broker.fetching.sessions import FetchSessions
from gralha.broker.handlers import fetch, list_offsets
from gralha.broker.pipeline import Peer, RequestContext
from gralha.broker.quota_use import NO_THROTTLE
from gralha.broker.rights import Rights
from gralha.metadata.image import (
    EMPTY_IMAGE,
    BrokerRegistration,
    ImageChange,
    MetadataImage,
    PartitionImage,
    TopicImage,
)
from gralha.protocol.message import Message
from gralha.protocol.messages.alter_partition import (
    AlterPartitionRequest,
    AlterPartitionResponse,
    AlterPartitionResponsePartition,
    AlterPartitionResponseTopic,
)
from gralha.protocol.messages.fetch import FetchRequest
from gralha.protocol.messages.list_offsets import ListOffsetsRequest
from gralha.protocol.peers import PeerError
from gralha.protocol.primitives import RecordBytes
from gralha.protocol.records import Record, encode_batch
from gralha.protocol.shared_map import SharedMap
from gralha.replication.fetch_state import FetchSettings
from gralha.replication.manager import ReplicaManager, ReplicationPorts
from gralha.replication.partition import Partition
from gralha.storage.config import LogConfig
from gralha.storage.manager import LogManager
from tests.storage.disks import QuietDisk

NOW_MS = 1_700_000_000_000
TOPIC_ID = bytes(range(16))
PEER = Peer("localhost", 1, "INTERNAL", "User:ANONYMOUS", {})
PATIENCE_S = 20
BROKERS = (1, 2, 3)


def registration(broker_id: int, fenced: bool = False) -> BrokerRegistration:
    return BrokerRegistration(
        broker_id, 100 + broker_id, bytes(16), (), {}, f"rack{broker_id}", fenced, False, (), None
    )


class OneBroker:
    def __init__(self, brokers: Brokers, broker_id: int, folder: Path) -> None:
        self.id = broker_id
        self.brokers = brokers
        self.polls: set[asyncio.Task[None]] = set()
        self.logs = LogManager(QuietDisk(), [str(folder)], LogConfig())
        self.logs.load(NOW_MS, lambda name: {})
        self.replicas = ReplicaManager(
            broker_id,
            self.logs,
            lambda name: brokers.config,
            lambda: NOW_MS,
            brokers.failures.append,
            ReplicationPorts(
                self,
                brokers.decide,
                lambda: 100 + broker_id,
                brokers.registered.get,
                fetch=FetchSettings(wait_max_ms=100, backoff_ms=20),
            ),
        )
        # What handlers see.
        self.face = SimpleNamespace(
            replicas=self.replicas,
            logs=self.logs,
            fetch_sessions=FetchSessions(10, Random(0)),
            clock=lambda: NOW_MS,
            readers=None,
            config=SimpleNamespace(fetch_max_bytes=1 << 20, text=lambda name: None),
            rights=Rights(None, Audit(lambda: 0)),
            throttle=NO_THROTTLE,
        )

    async def ask(self, node_id: int, request: Message, *, timeout_ms: int, lane: str = "") -> Message:
        """The port to the other brokers."""
        brokers = self.brokers
        await asyncio.sleep(0)
        if (self.id, node_id) in brokers.cut or node_id not in brokers.by_id:
            raise PeerError(f"{node_id} is not there")
        face = brokers.by_id[node_id].face
        face.image = brokers.image
        answer: object
        if isinstance(request, FetchRequest):
            answer = fetch.handle(face, RequestContext(PEER, 18, None), request)  # type: ignore[arg-type]
        else:
            assert isinstance(request, ListOffsetsRequest)
            answer = list_offsets.handle(face, RequestContext(PEER, 11, None), request)  # type: ignore[arg-type]
        response = answer if isinstance(answer, Message) else await answer
        assert isinstance(response, Message)
        return response

    def poll(
        self,
        node_id: int,
        request: Message,
        *,
        timeout_ms: int,
        lane: str,
        answered: Callable[[Message | PeerError], None],
    ) -> None:
        async def ask() -> None:
            try:
                answer: Message | PeerError = await self.ask(node_id, request, timeout_ms=timeout_ms)
            except PeerError as error:
                answer = error
            answered(answer)

        task = asyncio.ensure_future(ask())
        self.polls.add(task)
        task.add_done_callback(self.polls.discard)

    def has_waiting_fetches(self) -> bool:
        sessions = self.face.fetch_sessions._sessions.values()
        return any(session.waiting is not None for session in sessions)

    @property
    def partition(self) -> Partition:
        found = self.replicas.find("t", 0)
        assert found is not None
        return found

    def append(self, count: int = 1, acks: int = 1) -> int:
        for number in range(count):
            data = encode_batch([Record(b"k", b"%d" % number, NOW_MS)])
            offset = self.partition.led().append(RecordBytes(data, 0, len(data)), acks, NOW_MS).last_offset
        return int(offset)

    def bytes_of_log(self) -> bytes:
        log = self.partition.log
        return log.read(log.log_start_offset, 1 << 20, log.log_end_offset, True, True).to_bytes()


class Brokers:
    def __init__(self, folder: Path) -> None:
        self.config = LogConfig({"min.insync.replicas": "2"})
        self.failures: list[BaseException] = []
        self.registered = {broker: registration(broker) for broker in BROKERS}
        self.cut: set[tuple[int, int]] = set()
        self.image: MetadataImage = EMPTY_IMAGE
        self.placed = PartitionImage(BROKERS, BROKERS, 1, 0, 0)
        self.agree = True
        self.decided = 0
        self.by_id = {broker: OneBroker(self, broker, folder / str(broker)) for broker in BROKERS}

    def fence(self, broker_id: int) -> None:
        self.registered[broker_id] = registration(broker_id, True)

    async def place(self, leader: int, isr: tuple[int, ...], replicas: tuple[int, ...] = BROKERS) -> None:
        """Apply a decision of the controller on all brokers."""
        placed = self.placed
        new_leader = leader != placed.leader or self.image is EMPTY_IMAGE
        self.placed = PartitionImage(
            replicas, isr, leader, placed.leader_epoch + new_leader, placed.partition_epoch + 1
        )
        self.tell()
        for broker in self.by_id.values():
            await broker.replicas.settled()

    def tell(self, changed_brokers: tuple[int, ...] = ()) -> None:
        topic = TopicImage("t", TOPIC_ID, {0: self.placed})
        self.image = EMPTY_IMAGE._replace(
            brokers=dict(self.registered),
            topics=SharedMap({"t": topic}),
            topics_by_id=SharedMap({TOPIC_ID: topic}),
        )
        for broker in self.by_id.values():
            broker.replicas.apply(ImageChange([topic], [], [], list(changed_brokers)))

    async def decide(self, request: Message) -> Message:
        """The port to the controller."""
        assert isinstance(request, AlterPartitionRequest)
        self.decided += 1
        if not self.agree:
            raise PeerError("no controller")
        (asked,) = request.topics[0].partitions
        assert all(state.broker_epoch in (-1, 100 + state.broker_id) for state in asked.new_isr_with_epochs)
        self.placed = self.placed._replace(
            isr=tuple(state.broker_id for state in asked.new_isr_with_epochs),
            partition_epoch=self.placed.partition_epoch + 1,
        )
        decided = AlterPartitionResponsePartition(
            partition_index=0,
            leader_id=self.placed.leader,
            leader_epoch=self.placed.leader_epoch,
            isr=list(self.placed.isr),
            partition_epoch=self.placed.partition_epoch,
        )
        return AlterPartitionResponse(
            topics=[AlterPartitionResponseTopic(topic_id=TOPIC_ID, partitions=[decided])]
        )

    async def until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while not condition():
                assert not self.failures, self.failures
                await asyncio.sleep(0.001)

    async def close(self) -> None:
        for broker in self.by_id.values():
            await broker.replicas.close()
        for broker in self.by_id.values():
            broker.logs.release()
        assert not self.failures, self.failures
