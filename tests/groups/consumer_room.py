"""What tests of the consumer group protocol share: topics that come and go, a machine for heartbeats."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from tests.groups.harness import Machine, Recorder, numbered_ids

from gralha.coordination.timers import Timers
from gralha.groups.caller import Caller
from gralha.groups.config import ConsumerGroupTimes, GroupsConfig
from gralha.groups.consumer import ConsumerProtocol
from gralha.groups.consumer_group import ConsumerGroup
from gralha.groups.consumer_member import ConsumerMember, Holdings
from gralha.groups.group import Group
from gralha.groups.records import GroupRecord
from gralha.groups.topics import Topic
from gralha.protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)

GROUP = "g"
SESSION_MS = 45_000
REBALANCE_MS = 60_000
INTERVAL_MS = 1_000
Partitions = Mapping[str, Iterable[int]]


class FakeTopics:
    """Topics by name. A topic that is made again gets a new id."""

    def __init__(self, **partition_counts: int) -> None:
        self.topics: dict[str, Topic] = {}
        self._ids = 0
        self._version = 0
        for name, partition_count in partition_counts.items():
            self.create(name, partition_count)

    def create(self, name: str, partition_count: int) -> None:
        self._ids += 1
        self.topics[name] = Topic(name, self._ids.to_bytes(16, "big"), partition_count)
        self._version += 1

    def grow(self, name: str, partition_count: int) -> None:
        self.topics[name] = self.topics[name]._replace(partition_count=partition_count)
        self._version += 1

    def delete(self, name: str) -> None:
        del self.topics[name]
        self._version += 1

    def touch(self) -> None:
        """Something changed that does not concern any group."""
        self._version += 1

    def by_name(self, name: str) -> Topic | None:
        return self.topics.get(name)

    def by_id(self, topic_id: bytes) -> Topic | None:
        return next((topic for topic in self.topics.values() if topic.id == topic_id), None)

    def names(self) -> Iterable[str]:
        return list(self.topics)

    def version(self) -> int:
        return self._version


class Consumer(Machine[ConsumerProtocol]):
    """A machine with a consumer protocol and its groups, and short ways to speak to it."""

    def __init__(
        self,
        topics: FakeTopics | None = None,
        config: GroupsConfig | None = None,
        assignment_interval_ms: int = 0,
    ) -> None:
        self.topics = topics or FakeTopics(t=3)
        self.config = config or GroupsConfig()
        self.times = replace(self.config.consumer_times, assignment_interval_ms=assignment_interval_ms)
        self._groups_of: dict[int, dict[str, Group]] = {}
        self._new_id = numbered_ids()
        super().__init__(self._new_room, ConsumerProtocol.replay, ConsumerProtocol.on_loaded)

    def _new_room(self, timers: Timers) -> ConsumerProtocol:
        groups: dict[str, Group] = {}
        room = ConsumerProtocol(groups, timers, self.config, self.topics, self.times_of, self._new_id)
        self._groups_of[id(room)] = groups
        return room

    def times_of(self, group_id: str) -> ConsumerGroupTimes:
        return self.times

    def groups_of(self, room: ConsumerProtocol) -> dict[str, Group]:
        return self._groups_of[id(room)]

    @property
    def groups(self) -> dict[str, Group]:
        return self.groups_of(self.room)

    @property
    def group(self) -> ConsumerGroup:
        group = self.groups[GROUP]
        assert isinstance(group, ConsumerGroup)
        return group

    def member(self, member_id: str) -> ConsumerMember:
        return self.group.members[member_id]

    def heartbeat(
        self, request: ConsumerGroupHeartbeatRequest, version: int = 1, client_id: str = "client"
    ) -> Recorder:
        caller = Caller(client_id, "/127.0.0.1", version)
        return self.ask(lambda room: room.heartbeat(caller, request, self.now_ms))

    def join(
        self,
        member_id: str = "m",
        topics: Sequence[str] | None = ("t",),
        instance_id: str | None = None,
        regex: str | None = None,
        assignor: str | None = None,
        version: int = 1,
    ) -> Recorder:
        request = ConsumerGroupHeartbeatRequest(
            group_id=GROUP,
            member_id=member_id,
            member_epoch=0,
            instance_id=instance_id,
            rebalance_timeout_ms=REBALANCE_MS,
            subscribed_topic_names=None if topics is None else list(topics),
            subscribed_topic_regex=regex,
            server_assignor=assignor,
            topic_partitions=[],
        )
        return self.heartbeat(request, version)

    def beat(
        self,
        member_id: str = "m",
        epoch: int | None = None,
        owned: Partitions | None = None,
        topics: Sequence[str] | None = None,
        regex: str | None = None,
        instance_id: str | None = None,
    ) -> Recorder:
        """A heartbeat with the epoch that the coordinator expects, unless one is given."""
        request = ConsumerGroupHeartbeatRequest(
            group_id=GROUP,
            member_id=member_id,
            member_epoch=self.member(member_id).epoch if epoch is None else epoch,
            instance_id=instance_id,
            subscribed_topic_names=None if topics is None else list(topics),
            subscribed_topic_regex=regex,
            topic_partitions=None if owned is None else self.topic_partitions(owned),
        )
        return self.heartbeat(request)

    def leave(self, member_id: str = "m", instance_id: str | None = None, epoch: int = -1) -> Recorder:
        return self.heartbeat(
            ConsumerGroupHeartbeatRequest(
                group_id=GROUP, member_id=member_id, member_epoch=epoch, instance_id=instance_id
            )
        )

    def topic_partitions(self, partitions: Partitions) -> list[TopicPartitions]:
        return [
            TopicPartitions(self.topics.topics[name].id, sorted(each)) for name, each in partitions.items()
        ]

    def named(self, holdings: Holdings) -> dict[str, list[int]]:
        """Partitions by the names of topics, of those that exist."""
        found = {self.topics.by_id(topic_id): sorted(each) for topic_id, each in holdings.items()}
        return {topic.name: partitions for topic, partitions in found.items() if topic is not None}

    def assigned(self, member_id: str = "m") -> dict[str, list[int]]:
        return self.named(self.member(member_id).assigned)

    def written(self, records: int) -> list[GroupRecord]:
        """The records that were written after that many records."""
        return self.log[records:]


def response_of(reply: Recorder) -> ConsumerGroupHeartbeatResponse:
    assert reply.error is None, reply.error
    return reply.sent(ConsumerGroupHeartbeatResponse)


def partitions_in(response: ConsumerGroupHeartbeatResponse) -> list[TopicPartitions]:
    """The partitions of an answer that has an assignment."""
    assert response.assignment is not None
    return response.assignment.topic_partitions
