"""What tests of committed offsets share: topics and groups that are just said, and a machine with both.

Groups are written to the log as classic groups are, so that they survive a reload like the real ones.
"""

from collections.abc import Callable, Iterable

from tests.groups.harness import Machine

from gralha.coordination.decision import Decision
from gralha.coordination.producer import Producer
from gralha.groups.caller import Caller
from gralha.groups.config import GroupsConfig
from gralha.groups.group import Group, GroupType
from gralha.groups.offset_commits import OffsetCommits
from gralha.groups.offsets import Offsets
from gralha.groups.records import GroupRecord
from gralha.groups.topics import Topic
from gralha.groups.transactional_offsets import TransactionalOffsets
from gralha.protocol.errors import IllegalGenerationError, NonEmptyGroupError, UnknownMemberIdError
from gralha.protocol.messages.group_records import (
    GroupMetadataKey,
    GroupMetadataValue,
    MemberMetadata,
    OffsetCommitKey,
    OffsetCommitValue,
)
from gralha.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from gralha.protocol.messages.offset_fetch import (
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponseGroup,
)
from gralha.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
    TxnOffsetCommitResponse,
)
from gralha.protocol.primitives import ZERO_UUID

RETENTION_MS = 10_000
CONFIG = GroupsConfig(offset_metadata_max_bytes=20, offsets_retention_ms=RETENTION_MS)


class FakeTopics:
    """Topics of three partitions each. A topic that is made again gets a new id."""

    def __init__(self, *names: str) -> None:
        self._topics: dict[str, Topic] = {}
        self._count = 0
        for name in names:
            self.create(name)

    def create(self, name: str) -> Topic:
        self._count += 1
        self._topics[name] = Topic(name, self._count.to_bytes(16, "big"), 3)
        return self._topics[name]

    def delete(self, name: str) -> Topic:
        self._count += 1
        return self._topics.pop(name)

    def by_name(self, name: str) -> Topic | None:
        return self._topics.get(name)

    def by_id(self, topic_id: bytes) -> Topic | None:
        return next((topic for topic in self._topics.values() if topic.id == topic_id), None)

    def names(self) -> Iterable[str]:
        return self._topics

    def version(self) -> int:
        return self._count


class FakeGroup(Group):
    """A classic group as its record describes it: Stable with members, else Empty."""

    def __init__(self, group_id: str, value: GroupMetadataValue | None = None) -> None:
        self.group_id = group_id
        self.type = GroupType.CLASSIC
        self.value = GroupMetadataValue() if value is None else value
        self.member_ids = [member.member_id for member in self.value.members]
        self.topics = {
            topic for member in self.value.members for topic in member.subscription.decode().split()
        }

    @property
    def state_name(self) -> str:
        return "Empty" if self.is_empty else "Stable"

    @property
    def protocol_type(self) -> str:
        return self.value.protocol_type

    @property
    def is_empty(self) -> bool:
        return not self.member_ids

    def check_offset_commit(
        self,
        member_id: str,
        instance_id: str | None,
        member_epoch: int,
        is_transactional: bool,
        api_version: int,
    ) -> Callable[[str, bytes, int], None] | None:
        if member_epoch < 0 and self.is_empty:
            return None
        if member_id not in self.member_ids:
            raise UnknownMemberIdError
        if member_epoch != self.value.generation:
            raise IllegalGenerationError
        return None

    def check_offset_fetch(self, member_id: str | None, member_epoch: int) -> None:
        pass

    def check_offset_delete(self) -> None:
        if not self.is_empty and self.protocol_type != "consumer":
            raise NonEmptyGroupError

    def check_delete(self) -> None:
        if not self.is_empty:
            raise NonEmptyGroupError

    def is_subscribed_to(self, topic: str) -> bool:
        return topic in self.topics

    def tombstones(self) -> list[GroupRecord]:
        return [GroupRecord(GroupMetadataKey(self.group_id), None)]

    def offsets_expire_from_ms(self, commit_timestamp_ms: int) -> int | None:
        if not self.protocol_type or not self.is_empty:
            return commit_timestamp_ms
        return self.value.current_state_timestamp


class OffsetRoom:
    def __init__(self, topics: FakeTopics, config: GroupsConfig = CONFIG) -> None:
        self.groups: dict[str, Group] = {}
        self.touched: list[tuple[str, str, int]] = []
        self.offsets = Offsets(self.groups, config, topics, FakeGroup)
        self.commits = OffsetCommits(self.groups, config, topics, self._touch)

    def replay(self, record: GroupRecord, producer: Producer | None = None) -> None:
        key, value = record
        if isinstance(key, OffsetCommitKey):
            assert value is None or isinstance(value, OffsetCommitValue)
            self.offsets.replay_offset_commit(key, value, producer)
        elif isinstance(key, GroupMetadataKey):
            if value is None:
                self.groups.pop(key.group, None)
            else:
                assert isinstance(value, GroupMetadataValue)
                self.groups[key.group] = FakeGroup(key.group, value)

    def replay_end_of_transaction(self, producer: Producer, is_commit: bool) -> None:
        self.offsets.replay_end_of_transaction(producer, is_commit)

    def _touch(self, group: Group, member_id: str, now_ms: int) -> None:
        self.touched.append((group.group_id, member_id, now_ms))


class OffsetMachine(Machine[OffsetRoom]):
    """Commits and fetches in few words."""

    def __init__(self, topics: FakeTopics, config: GroupsConfig = CONFIG) -> None:
        self.topics = topics
        super().__init__(lambda _timers: OffsetRoom(topics, config), OffsetRoom.replay)

    def join(
        self, group_id: str, *members: str, topics: str = "", generation: int = 1, kind: str = "consumer"
    ) -> None:
        """Have the group consist of these members, subscribed to topics; none: have it be empty."""
        value = GroupMetadataValue(
            protocol_type=kind,
            generation=generation,
            current_state_timestamp=self.now_ms,
            members=[MemberMetadata(member_id=member, subscription=topics.encode()) for member in members],
        )
        self.write(GroupRecord(GroupMetadataKey(group_id), value))

    def write(self, *records: GroupRecord) -> None:
        assert self.ask(lambda _room: Decision(records=records)).error is None

    def commit(self, request: OffsetCommitRequest, version: int = 8) -> list[int]:
        """The error codes, partition by partition."""
        caller = Caller("client", "/127.0.0.1", version)
        reply = self.ask(lambda room: room.commits.commit(caller, request, self.now_ms))
        if reply.error is not None:
            raise reply.error
        assert isinstance(reply.response, OffsetCommitResponse)
        return [partition.error_code for topic in reply.response.topics for partition in topic.partitions]

    def commit_in_transaction(self, request: TxnOffsetCommitRequest, version: int = 5) -> list[int]:
        """The error codes, partition by partition."""
        caller = Caller("client", "/127.0.0.1", version)
        reply = self.ask(lambda room: room.commits.commit_in_transaction(caller, request, self.now_ms))
        if reply.error is not None:
            raise reply.error
        assert isinstance(reply.response, TxnOffsetCommitResponse)
        return [partition.error_code for topic in reply.response.topics for partition in topic.partitions]

    def fetch(
        self, request: OffsetFetchRequestGroup, version: int = 8, require_stable: bool = False
    ) -> OffsetFetchResponseGroup:
        return self.room.offsets.fetch(Caller("client", "/127.0.0.1", version), request, require_stable)

    def fetched(self, group_id: str) -> dict[tuple[str, int], tuple[int, str]]:
        """Offset and metadata of all that the group has committed."""
        response = self.fetch(OffsetFetchRequestGroup(group_id=group_id, topics=None))
        return {
            (topic.name, partition.partition_index): (partition.committed_offset, partition.metadata or "")
            for topic in response.topics
            for partition in topic.partitions
        }

    def expire(self) -> None:
        self.ask(lambda room: Decision(records=room.offsets.expire(self.now_ms)))

    def delete_topic(self, name: str) -> None:
        topic = self.topics.delete(name)
        self.ask(lambda room: Decision(records=room.offsets.topics_deleted([(topic.name, topic.id)])))

    def check_replay(self) -> None:
        """Check that a coordinator that loads the log knows the same."""
        assert self.loaded().groups.keys() == self.room.groups.keys()
        self.check_replay_of_offsets()

    def check_replay_of_offsets(self) -> None:
        """Compaction may remove all records of a group that has no offsets."""
        live, loaded = self.room.offsets, self.loaded().offsets
        assert waiting(loaded._waiting) == waiting(live._waiting)
        assert loaded._offsets == live._offsets


def waiting(offsets: TransactionalOffsets) -> object:
    """All that waits for the end of a transaction, in the order of its records."""
    found = [
        (each.number, group_id, where, producer_id, each.offset, each.number > opened.committed_number)
        for group_id, partitions in offsets._groups.items()
        for where, opened in partitions.items()
        for producer_id, each in opened.waiting.items()
    ]
    by_producer = {producer_id: set(keys) for producer_id, keys in offsets._producers.items()}
    return [entry[1:] for entry in sorted(found)], by_producer


def commit_request(
    topic: str,
    offsets: dict[int, int],
    *,
    group_id: str = "g",
    member_id: str = "",
    generation: int = -1,
    metadata: str | None = "",
    retention_time_ms: int = -1,
    leader_epoch: int = -1,
    topic_id: bytes = ZERO_UUID,
) -> OffsetCommitRequest:
    partitions = [
        OffsetCommitRequestPartition(partition, offset, leader_epoch, metadata)
        for partition, offset in offsets.items()
    ]
    return OffsetCommitRequest(
        group_id=group_id,
        member_id=member_id,
        generation_id_or_member_epoch=generation,
        retention_time_ms=retention_time_ms,
        topics=[OffsetCommitRequestTopic(name=topic, topic_id=topic_id, partitions=partitions)],
    )


def transactional_request(
    producer: Producer,
    topic: str,
    offsets: dict[int, int],
    *,
    group_id: str = "g",
    member_id: str = "",
    instance_id: str | None = None,
    generation: int = -1,
    metadata: str | None = "",
    leader_epoch: int = -1,
) -> TxnOffsetCommitRequest:
    partitions = [
        TxnOffsetCommitRequestPartition(partition, offset, leader_epoch, metadata)
        for partition, offset in offsets.items()
    ]
    return TxnOffsetCommitRequest(
        transactional_id=f"transaction-{producer.id}",
        group_id=group_id,
        producer_id=producer.id,
        producer_epoch=producer.epoch,
        generation_id=generation,
        member_id=member_id,
        group_instance_id=instance_id,
        topics=[TxnOffsetCommitRequestTopic(topic, partitions)],
    )


def fetch_request(
    topic: str, *partitions: int, group_id: str = "g", topic_id: bytes = ZERO_UUID
) -> OffsetFetchRequestGroup:
    topics = OffsetFetchRequestTopics(name=topic, topic_id=topic_id, partition_indexes=list(partitions))
    return OffsetFetchRequestGroup(group_id=group_id, topics=[topics])
