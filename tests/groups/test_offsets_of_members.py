"""Offsets and their groups in a whole shard: real members commit, leave and time out."""

import pytest
from tests.groups.consumer_room import FakeTopics
from tests.groups.mixed_members import SESSION_TIMEOUT_MS, ClassicClient, Client, ConsumerClient
from tests.groups.offset_room import commit_request, fetch_request, transactional_request
from tests.groups.shard_machine import ShardMachine

from gralha.coordination.producer import Producer
from gralha.groups.caller import Caller
from gralha.groups.config import ConsumerGroupTimes, GroupsConfig
from gralha.groups.records import GroupRecord, encode_record
from gralha.protocol.errors import ErrorCode
from gralha.protocol.messages.delete_groups import DeleteGroupsResponse
from gralha.protocol.messages.group_records import (
    ConsumerGroupMetadataKey,
    ConsumerGroupMetadataValue,
    OffsetCommitKey,
)
from gralha.protocol.messages.list_groups import ListGroupsRequest, ListGroupsResponse
from gralha.protocol.messages.offset_commit import OffsetCommitResponse
from gralha.protocol.messages.offset_fetch import OffsetFetchResponseGroup
from gralha.protocol.messages.txn_offset_commit import TxnOffsetCommitResponse

RETENTION_MS = 100_000
CHECK_MS = 1_000
CONFIG = GroupsConfig(
    group_initial_rebalance_delay_ms=0,
    offsets_retention_ms=RETENTION_MS,
    offsets_retention_check_interval_ms=CHECK_MS,
    consumer_times=ConsumerGroupTimes(assignment_interval_ms=0),
)
PRODUCER = Producer(7, 0)
TOPICS = {"t": 4, "u": 1}


class Stage(ShardMachine):
    def __init__(self) -> None:
        self.fake_topics = FakeTopics(**TOPICS)
        super().__init__(CONFIG, self.fake_topics)
        self.reload()  # arms the timers of a shard
        self.ids = {name: topic.id for name, topic in self.fake_topics.topics.items()}

    def classic(self, instance_id: str | None = None) -> ClassicClient:
        return ClassicClient(self.send, "g", self.ids, ["t"], instance_id, TOPICS, False)

    def consumer(self, member_id: str = "c") -> ConsumerClient:
        return ConsumerClient(self.send, "g", self.ids, ["t"], None, member_id)

    def settle(self, *clients: Client) -> None:
        for _ in range(20):
            self.advance(100)
            for client in clients:
                client.poll()
        assert all(client.is_settled for client in clients)

    def commit(
        self,
        offset: int,
        client: Client | None = None,
        *,
        epoch: int | None = None,
        instance_id: str | None = None,
        partition: int = 0,
        topic: str = "t",
        version: int = 9,
    ) -> int:
        """The error code."""
        request = commit_request(topic, {partition: offset})
        if client is not None:
            request.member_id = client.member_id
            request.generation_id_or_member_epoch = client.epoch if epoch is None else epoch
            request.group_instance_id = instance_id
        caller = Caller("client", "/127.0.0.1", version)
        reply = self.ask(lambda shard: shard.commit_offsets(caller, request, self.now_ms))
        assert isinstance(reply.response, OffsetCommitResponse)
        return reply.response.topics[0].partitions[0].error_code

    def commit_in_transaction(
        self,
        offset: int,
        client: Client,
        *,
        epoch: int | None = None,
        instance_id: str | None = None,
        partition: int = 0,
    ) -> int:
        """The error code."""
        request = transactional_request(
            PRODUCER,
            "t",
            {partition: offset},
            member_id=client.member_id,
            instance_id=instance_id,
            generation=client.epoch if epoch is None else epoch,
        )
        caller = Caller("client", "/127.0.0.1", 5)
        reply = self.ask(lambda shard: shard.commit_transactional_offsets(caller, request, self.now_ms))
        assert isinstance(reply.response, TxnOffsetCommitResponse)
        return reply.response.topics[0].partitions[0].error_code

    def fetch(self, client: Client | None = None, epoch: int | None = None, topic: str = "t") -> int:
        """The offset of partition 0, or the error code."""
        request = fetch_request(topic, 0)
        if client is not None:
            request.member_id = client.member_id
            request.member_epoch = client.epoch if epoch is None else epoch
        reply = self.ask(lambda shard: shard.fetch_offsets(Caller("client", "/127.0.0.1", 9), request))
        if reply.error is not None:
            return reply.error.code
        assert isinstance(reply.response, OffsetFetchResponseGroup)
        return reply.response.topics[0].partitions[0].committed_offset

    def listed(self) -> list[tuple[str, str, str]]:
        reply = self.ask(lambda shard: shard.list_groups(ListGroupsRequest()))
        assert isinstance(reply.response, ListGroupsResponse)
        return [(group.group_id, group.group_state, group.group_type) for group in reply.response.groups]

    def delete_group(self) -> int:
        reply = self.ask(lambda shard: shard.delete_groups(["g"]))
        assert isinstance(reply.response, DeleteGroupsResponse)
        return reply.response.results[0].error_code

    def compact_and_reload(self) -> None:
        last: dict[bytes, GroupRecord] = {}
        for record in self.log:
            key = encode_record(record)[0]
            last.pop(key, None)
            last[key] = record
        self.log = [record for record in last.values() if record.value is not None]
        self.reload()


@pytest.fixture
def stage() -> Stage:
    return Stage()


# Classic groups


def test_member_that_commits_is_alive(stage: Stage) -> None:
    client = stage.classic()
    stage.settle(client)
    for offset in range(5):
        stage.advance(SESSION_TIMEOUT_MS - 1)
        assert stage.commit(offset, client) == 0
    stage.advance(SESSION_TIMEOUT_MS)
    assert stage.commit(5, client) == ErrorCode.UNKNOWN_MEMBER_ID
    assert stage.fetch() == 4


def test_refused_commit_is_no_sign_of_life(stage: Stage) -> None:
    client = stage.classic()
    stage.settle(client)
    stage.commit(0, client)
    stage.advance(SESSION_TIMEOUT_MS - 1)
    assert stage.commit(1, client, epoch=client.epoch - 1) == ErrorCode.ILLEGAL_GENERATION
    stage.advance(1)
    assert stage.listed() == [("g", "Empty", "classic")]


def test_classic_members_commit_in_their_generation_only(stage: Stage) -> None:
    client = stage.classic("instance")
    stage.settle(client)
    assert stage.commit(1, client, instance_id="instance") == 0
    assert stage.commit(2, client, epoch=client.epoch - 1) == ErrorCode.ILLEGAL_GENERATION
    assert stage.commit(2, client, instance_id="other") == ErrorCode.UNKNOWN_MEMBER_ID
    assert stage.commit(2) == ErrorCode.UNKNOWN_MEMBER_ID
    other = stage.classic("instance")
    stage.settle(other)
    assert stage.commit(2, client, instance_id="instance") == ErrorCode.FENCED_INSTANCE_ID
    assert stage.fetch() == 1


def test_offsets_of_a_group_that_is_left_stay_for_their_time(stage: Stage) -> None:
    client = stage.classic()
    stage.settle(client)
    stage.commit(7, client)
    for _ in range(2 * RETENTION_MS // 5_000):
        stage.advance(5_000)
        client.poll()
    assert stage.fetch() == 7, "a subscribed topic keeps its offsets"
    client.leave()
    stage.advance(RETENTION_MS // 2)
    stage.reload()
    stage.advance(RETENTION_MS // 2 - CHECK_MS)
    assert (stage.fetch(), stage.listed()) == (7, [("g", "Empty", "classic")])
    stage.advance(2 * CHECK_MS)
    assert (stage.fetch(), stage.listed()) == (-1, [])
    stage.reload()
    assert (stage.fetch(), stage.listed()) == (-1, [])


def test_offsets_of_topics_that_nobody_subscribes_to_expire_under_members(stage: Stage) -> None:
    client = stage.classic()
    stage.settle(client)
    stage.commit(7, client)
    stage.commit(8, client, topic="u")
    for _ in range(2 * RETENTION_MS // 5_000):
        stage.advance(5_000)
        client.poll()
    assert (stage.fetch(), stage.fetch(topic="u")) == (7, -1)


# Consumer groups


def test_consumer_members_commit_in_their_epoch(stage: Stage) -> None:
    client = stage.consumer()
    stage.settle(client)
    assert stage.commit(1, client) == 0
    assert stage.commit(2, client, epoch=client.epoch + 1) == ErrorCode.STALE_MEMBER_EPOCH
    assert stage.commit(2, stage.consumer("stranger")) == ErrorCode.UNKNOWN_MEMBER_ID
    assert stage.commit(2, client, version=8) == ErrorCode.UNSUPPORTED_VERSION
    assert stage.commit(2) == ErrorCode.UNKNOWN_MEMBER_ID
    assert stage.fetch() == 1


def test_late_commit_counts_for_partitions_that_the_member_has_had_since(stage: Stage) -> None:
    """KIP-1251: a member's epoch grows as others come and go; its own partitions stay its own."""
    client = stage.consumer()
    stage.settle(client)
    before = client.epoch
    other = stage.consumer("d")
    stage.settle(client, other)
    assert client.epoch > before
    mine = min(number for _, number in client.owned)
    others = min(number for _, number in other.owned)
    assert stage.commit(5, client, epoch=before, partition=mine) == 0
    assert stage.commit(5, client, epoch=before, partition=others) == ErrorCode.STALE_MEMBER_EPOCH
    assert stage.commit(5, other, epoch=before, partition=others) == ErrorCode.STALE_MEMBER_EPOCH


def test_members_of_a_consumer_group_fetch_in_their_epoch(stage: Stage) -> None:
    client = stage.consumer()
    stage.settle(client)
    stage.commit(3, client)
    assert stage.fetch() == 3
    assert stage.fetch(client) == 3
    assert stage.fetch(client, epoch=client.epoch + 1) == ErrorCode.STALE_MEMBER_EPOCH
    assert stage.fetch(stage.consumer("stranger")) == ErrorCode.UNKNOWN_MEMBER_ID


def test_consumer_group_is_deleted_with_its_offsets(stage: Stage) -> None:
    client = stage.consumer()
    stage.settle(client)
    stage.commit(3, client)
    assert stage.delete_group() == ErrorCode.NON_EMPTY_GROUP
    client.leave()
    assert stage.listed() == [("g", "Empty", "consumer")]
    assert stage.delete_group() == 0
    for _ in range(2):
        assert (stage.fetch(), stage.listed()) == (-1, [])
        stage.reload()
    assert stage.delete_group() == ErrorCode.GROUP_ID_NOT_FOUND


def test_empty_consumer_group_ends_with_its_last_offset(stage: Stage) -> None:
    client = stage.consumer()
    stage.settle(client)
    stage.commit(3, client)
    client.leave()
    stage.advance(RETENTION_MS + CHECK_MS)
    assert (stage.fetch(), stage.listed()) == (-1, [])


# Groups that change their kind under their offsets


@pytest.mark.parametrize("kind", ["classic", "consumer"])
def test_consumers_go_on_where_a_simple_one_has_come(stage: Stage, kind: str) -> None:
    assert stage.commit(42) == 0
    assert stage.listed() == [("g", "Empty", "classic")]
    client: Client = stage.classic() if kind == "classic" else stage.consumer()
    stage.settle(client)
    for load in (stage.reload, stage.compact_and_reload):
        assert stage.listed() == [("g", "Stable", kind)]
        assert stage.fetch() == 42
        load()
        stage.settle(client)
    assert stage.commit(43, client) == 0


def test_offsets_stay_when_the_protocol_changes_forth_and_back(stage: Stage) -> None:
    classic = stage.classic()
    stage.settle(classic)
    stage.commit(1, classic)
    classic.leave()
    consumer = stage.consumer()
    stage.settle(consumer)
    assert stage.fetch() == 1
    stage.commit(2, consumer)
    consumer.leave()
    again = stage.classic()
    stage.settle(again)
    for load in (stage.reload, stage.compact_and_reload):
        assert stage.listed() == [("g", "Stable", "classic")]
        assert stage.fetch() == 2
        load()
        stage.settle(again)


def test_tombstone_of_another_kind_of_group_leaves_a_simple_one(stage: Stage) -> None:
    """Compaction keeps tombstones for a while, and may have taken away what they removed."""
    stage.commit(1)
    tombstone = GroupRecord(ConsumerGroupMetadataKey("g"), None)
    stage.room.replay(tombstone)
    assert (stage.fetch(), stage.listed()) == (1, [("g", "Empty", "classic")])


def test_record_of_a_consumer_group_takes_the_place_of_a_simple_one(stage: Stage) -> None:
    """Compaction can leave the offset first and the group's record after it."""
    stage.commit(1)
    assert isinstance(stage.log[-1].key, OffsetCommitKey)
    stage.room.replay(GroupRecord(ConsumerGroupMetadataKey("g"), ConsumerGroupMetadataValue(epoch=3)))
    assert (stage.fetch(), stage.listed()) == (1, [("g", "Empty", "consumer")])


# In transactions (KIP-447)


def test_classic_members_commit_in_transactions_of_their_generation_only(stage: Stage) -> None:
    client = stage.classic("instance")
    stage.settle(client)
    assert stage.commit_in_transaction(1, client, instance_id="instance") == 0
    old = client.epoch - 1
    assert stage.commit_in_transaction(2, client, epoch=old) == ErrorCode.ILLEGAL_GENERATION
    unknown = stage.commit_in_transaction(3, client, instance_id="other")
    assert unknown == ErrorCode.UNKNOWN_MEMBER_ID
    stage.end(PRODUCER, True)
    assert stage.fetch() == 1


def test_a_static_member_that_was_replaced_is_fenced(stage: Stage) -> None:
    old, new = stage.classic("instance"), stage.classic("instance")
    stage.settle(old)
    new.poll()
    fenced = stage.commit_in_transaction(1, old, instance_id="instance")
    assert fenced == ErrorCode.FENCED_INSTANCE_ID


def test_a_commit_in_a_transaction_is_no_sign_of_life(stage: Stage) -> None:
    client = stage.classic()
    stage.settle(client)
    stage.commit(0, client)
    stage.advance(SESSION_TIMEOUT_MS - 1)
    assert stage.commit_in_transaction(1, client) == 0
    stage.advance(1)
    assert stage.listed() == [("g", "Empty", "classic")]


def test_consumer_members_commit_in_transactions_of_their_epoch(stage: Stage) -> None:
    client = stage.consumer()
    stage.settle(client)
    assert stage.commit_in_transaction(1, client) == 0
    newer = stage.commit_in_transaction(2, client, epoch=client.epoch + 1)
    assert newer == ErrorCode.ILLEGAL_GENERATION
    stage.end(PRODUCER, True)
    assert stage.fetch() == 1


def test_a_consumer_that_gave_a_partition_away_cannot_commit_it(stage: Stage) -> None:
    first, second = stage.consumer("c"), stage.consumer("d")
    stage.settle(first)
    before = first.epoch
    stage.settle(first, second)
    owned = [stage.commit_in_transaction(1, first, epoch=before, partition=index) for index in range(4)]
    assert sorted(owned) == [0, 0, ErrorCode.ILLEGAL_GENERATION, ErrorCode.ILLEGAL_GENERATION]


def test_a_group_that_waits_for_a_transaction_outlives_its_members(stage: Stage) -> None:
    client = stage.classic()
    stage.settle(client)
    assert stage.commit_in_transaction(1, client) == 0
    stage.advance(SESSION_TIMEOUT_MS + RETENTION_MS + 2 * CHECK_MS)
    assert stage.listed() == [("g", "Empty", "classic")]
    stage.end(PRODUCER, False)
    stage.advance(2 * CHECK_MS)
    assert stage.listed() == []
    stage.reload()
    assert stage.listed() == []
