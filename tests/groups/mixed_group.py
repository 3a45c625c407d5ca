"""A group on a shard, and clients of both protocols."""

from tests.groups.consumer_room import FakeTopics
from tests.groups.harness import Recorder
from tests.groups.mixed_members import ClassicClient, Client, ConsumerClient, Partition
from tests.groups.shard_machine import ShardMachine

from gralha.groups.classic_group import ClassicGroup
from gralha.groups.config import GroupsConfig
from gralha.groups.consumer_group import ConsumerGroup
from gralha.groups.group import Group
from gralha.protocol.message import Message

GROUP = "group"
TICK_MS = 1_000


class MixedGroup:
    def __init__(self, config: GroupsConfig | None = None, **partition_counts: int) -> None:
        self.partition_counts = partition_counts
        self.topics = FakeTopics(**partition_counts)
        self.machine = ShardMachine(config or GroupsConfig(), self.topics)
        self.clients: list[Client] = []
        self.started = 0

    def ask(self, request: Message, api_version: int | None = None) -> Recorder:
        return self.machine.send(request, f"client-{self.started}", api_version)

    def start(self, kind: str, topics: str, instance_id: str | None = None) -> Client:
        """A client that begins to run with the next poll. `topics` are letters."""
        self.started += 1
        ids = {name: topic.id for name, topic in self.topics.topics.items()}
        if kind == "consumer":
            client: Client = ConsumerClient(
                self.ask, GROUP, ids, topics, instance_id, f"member-{self.started}"
            )
        else:
            is_cooperative = kind == "cooperative"
            client = ClassicClient(
                self.ask, GROUP, ids, topics, instance_id, self.partition_counts, is_cooperative
            )
        self.clients.append(client)
        return client

    def started_and_settled(self, kind: str, topics: str, instance_id: str | None = None) -> Client:
        client = self.start(kind, topics, instance_id)
        self.settle()
        return client

    def stop(self, client: Client) -> None:
        self.clients.remove(client)
        client.leave()

    def crash(self, client: Client) -> None:
        self.clients.remove(client)

    def tick(self) -> None:
        for client in self.clients:
            client.poll()
        self.machine.advance(TICK_MS)

    def settle(self) -> None:
        """Wait until nothing changes for a while."""
        for _ in range(20):
            self.tick()
        assert all(client.is_settled for client in self.clients)

    @property
    def owned(self) -> list[Partition]:
        """What its clients believe to own, all together."""
        return sorted(partition for client in self.clients for partition in client.owned)

    @property
    def group(self) -> Group:
        return self.machine.room.groups[GROUP]

    @property
    def classic(self) -> ClassicGroup:
        assert isinstance(self.group, ClassicGroup)
        return self.group

    @property
    def consumer(self) -> ConsumerGroup:
        assert isinstance(self.group, ConsumerGroup)
        return self.group
