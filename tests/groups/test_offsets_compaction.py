"""Offsets in a real log that the cleaner compacts: the next coordinator loads what the last one knew.

Open transactions, aborted ones, and commits that were overtaken are in the log at any time. Deletions are as
well, and enough time passes between two passes of the cleaner for tombstones and markers to go.
"""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from random import Random
from typing import Any

import pytest
from tests.groups.offset_room import FakeTopics, commit_request, transactional_request, waiting
from tests.raft.virtual_loop import run_virtual
from tests.storage.compacted import ROOT, Compacted
from tests.storage.logs import NOW, TOPIC_ID
from tests.storage.test_crashes import ForgetfulDisk

from gralha.coordination.coordinator import Coordinator
from gralha.coordination.producer import EndMarker, Producer
from gralha.coordination.runtime import CoordinatorPorts, State
from gralha.groups.caller import Caller
from gralha.groups.config import GroupsConfig
from gralha.groups.shard import GroupShard
from gralha.protocol.errors import KafkaError
from gralha.protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from gralha.protocol.messages.txn_offset_commit import TxnOffsetCommitResponse
from gralha.replication.partition import Partition

DAY_MS = 86_400_000
STEPS = 200


class World:
    """A coordinator on a log that is cleaned."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.log = Compacted(ForgetfulDisk(ROOT))
        self.partition = Partition("t", TOPIC_ID, 0, self.log.log, 1)
        self.now_ms = NOW
        self.producers = [Producer(7, 0), Producer(8, 1)]
        topics = FakeTopics("a", "b")

        def new_shard() -> GroupShard:
            config = GroupsConfig()
            return GroupShard(config, topics, lambda _group_id: config.consumer_times, random)

        def broken(error: BaseException) -> None:
            raise error

        ports = CoordinatorPorts(new_shard, lambda: self.now_ms, ThreadPoolExecutor(1), 5_000, broken)
        self.coordinator = Coordinator(ports, lambda: 1)

    @property
    def shard(self) -> GroupShard:
        return self.coordinator._runtimes[0].shard

    async def load(self) -> None:
        """Let the next leader epoch begin."""
        self.partition.change_leader(1, self.partition.leader_epoch + 1, [1], [1])
        self.coordinator.leader_changed(self.partition)
        while self.coordinator._runtimes[0].state is State.LOADING:
            await asyncio.sleep(0.001)

    def step(self) -> None:
        """One request of some client."""
        random = self.random
        topic, offsets = random.choice("ab"), {random.randrange(3): random.randrange(1000)}
        producer = random.choice(self.producers)
        match random.choice(["commit", "commit", "transaction", "transaction", "end", "delete"]):
            case "commit":
                request = commit_request(topic, offsets)
                self.ask(lambda shard: shard.commit_offsets(CALLER, request, self.now_ms))
            case "transaction":
                in_transaction = transactional_request(producer, topic, offsets)
                self.ask(
                    lambda shard: shard.commit_transactional_offsets(CALLER, in_transaction, self.now_ms)
                )
            case "end":
                self.end(producer)
            case "delete":
                indexes = [OffsetDeleteRequestPartition(index) for index in offsets]
                deletion = OffsetDeleteRequest("g", [OffsetDeleteRequestTopic(topic, indexes)])
                if "g" in self.shard.groups:
                    self.ask(lambda shard: shard.delete_offsets(deletion))

    def end(self, producer: Producer) -> None:
        marker = EndMarker(producer, 0, self.random.random() < 0.6)
        self.coordinator.write_marker(0, marker, raised, TxnOffsetCommitResponse())

    def replace_a_producer(self) -> None:
        """One of the producers has gone for good. Its last marker grows old."""
        gone = self.producers.pop(0)
        self.end(gone)
        self.producers.append(Producer(gone.id + 2, 0))

    def ask(self, decide: Any) -> None:
        self.coordinator.call("g", lambda shard, _reply, _now_ms: decide(shard), raised)

    async def clean(self) -> None:
        """Let the cleaner pass, long after everything else."""
        self.now_ms += DAY_MS
        await self.log.clean(self.now_ms)


CALLER = Caller("client", "/127.0.0.1", 8)


def raised(error: KafkaError) -> Any:
    raise error


def state(shard: GroupShard) -> object:
    return dict(shard._offsets._offsets), waiting(shard._offsets._waiting)


@pytest.mark.parametrize("seed", range(20))
def test_the_next_coordinator_knows_the_same(seed: int) -> None:
    random = Random(seed)

    async def scenario() -> None:
        world = World(random)
        await world.load()
        cleaned = 0
        for number in range(STEPS):
            world.step()
            if number % 20 == 19:
                if random.random() < 0.5:
                    world.replace_a_producer()
                await world.clean()
                cleaned += len(world.log.worker.passes)
                before = state(world.shard)
                await world.load()
                assert state(world.shard) == before
        assert cleaned
        world.coordinator.close()

    run_virtual(scenario())
