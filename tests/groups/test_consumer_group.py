"""Consumer groups from outside: offsets, descriptions, deletion, and their records in the log."""

import itertools

import pytest
from tests.groups.consumer_room import GROUP, Consumer, FakeTopics, response_of

from gralha.groups.classic_group import ClassicGroup
from gralha.groups.consumer_group import ConsumerGroup
from gralha.groups.consumer_member import MemberState
from gralha.groups.group import GroupType
from gralha.groups.records import GroupRecord
from gralha.protocol.errors import (
    ErrorCode,
    GroupIdNotFoundError,
    IllegalGenerationError,
    NonEmptyGroupError,
    StaleMemberEpochError,
    UnknownMemberIdError,
    UnsupportedVersionError,
)
from gralha.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from gralha.protocol.messages.group_records import (
    ClassicMemberMetadata,
    ConsumerGroupCurrentMemberAssignmentKey,
    ConsumerGroupCurrentMemberAssignmentValue,
    ConsumerGroupMemberMetadataKey,
    ConsumerGroupMetadataKey,
    ConsumerGroupMetadataValue,
    ConsumerGroupPartitionMetadataKey,
    ConsumerGroupPartitionMetadataValue,
    GroupMetadataKey,
    TopicPartitions,
)

# Offsets


@pytest.fixture
def room():
    """The member a is at epoch 3 and has two partitions; one since epoch 2, the other since epoch 3."""
    room = Consumer(FakeTopics(t=1))
    room.join("a")
    room.topics.grow("t", 2)
    room.beat("a", owned={"t": [0]})
    assert room.member("a").assigned == {room.topics.topics["t"].id: {0: 2, 1: 3}}
    return room


def commit(room, member_id="a", epoch=3, transactional=False, version=9, instance_id=None):
    return room.group.check_offset_commit(member_id, instance_id, epoch, transactional, version)


def test_a_member_commits_with_its_epoch(room):
    assert commit(room) is None
    with pytest.raises(UnknownMemberIdError):
        commit(room, "x")
    with pytest.raises(StaleMemberEpochError):
        commit(room, epoch=4)
    with pytest.raises(UnknownMemberIdError):
        commit(room, "", -1)


def test_members_need_a_version_that_knows_of_epochs(room):
    with pytest.raises(UnsupportedVersionError):
        commit(room, version=8)
    assert commit(room, version=5, transactional=True) is None


def test_a_member_that_is_behind_commits_what_it_had_then(room):
    check = commit(room, epoch=2)
    topic_id = room.topics.topics["t"].id
    check("t", topic_id, 0)
    with pytest.raises(StaleMemberEpochError, match="older than the epoch 3"):
        check("t", topic_id, 1)
    with pytest.raises(StaleMemberEpochError, match="does not have"):
        check("t", topic_id, 2)
    with pytest.raises(StaleMemberEpochError):
        check("u", b"u" * 16, 0)
    with pytest.raises(StaleMemberEpochError):
        commit(room, epoch=1)("t", topic_id, 0)


def test_what_is_to_be_given_back_can_still_be_committed(room):
    topic_id = room.topics.topics["t"].id
    value = ConsumerGroupCurrentMemberAssignmentValue(
        member_epoch=5,
        state=MemberState.UNREVOKED_PARTITIONS,
        assigned_partitions=[TopicPartitions(topic_id, [0], [5])],
        partitions_pending_revocation=[TopicPartitions(topic_id, [1], [3])],
    )
    room.room.replay(GroupRecord(ConsumerGroupCurrentMemberAssignmentKey(GROUP, "a"), value))
    commit(room, epoch=3)("t", topic_id, 1)
    with pytest.raises(StaleMemberEpochError, match="older than the epoch 3"):
        commit(room, epoch=2)("t", topic_id, 1)


def test_anybody_commits_to_an_empty_group_but_not_to_one_with_members(room):
    room.leave("a")
    assert commit(room, "", -1) is None
    with pytest.raises(UnknownMemberIdError):
        commit(room, "a", 3)


def test_a_producer_that_does_not_fence_zombies_may_commit(room):
    assert commit(room, "", -1, transactional=True) is None
    with pytest.raises(UnknownMemberIdError):
        commit(room, "", -1, transactional=True, instance_id="i")


def test_who_may_fetch_offsets(room):
    room.group.check_offset_fetch(None, -1)
    room.group.check_offset_fetch("a", 3)
    with pytest.raises(UnknownMemberIdError):
        room.group.check_offset_fetch("", -1)
    with pytest.raises(StaleMemberEpochError):
        room.group.check_offset_fetch("a", 2)
    with pytest.raises(UnknownMemberIdError):
        room.group.check_offset_fetch("x", 3)


def test_members_of_the_classic_protocol_are_answered_in_its_words(room):
    key = ConsumerGroupMemberMetadataKey(GROUP, "a")
    value = next(each.value for each in room.log if each.key == key)
    value.classic_member_metadata = ClassicMemberMetadata(session_timeout_ms=1)
    room.room.replay(GroupRecord(key, value))
    assert commit(room, version=5) is None
    with pytest.raises(IllegalGenerationError):
        commit(room, epoch=4)
    with pytest.raises(IllegalGenerationError):
        commit(room, epoch=2)("t", room.topics.topics["t"].id, 1)
    with pytest.raises(IllegalGenerationError):
        room.group.check_offset_fetch("a", 2)
    assert room.room.describe(GROUP).members[0].member_type == 0


def test_offsets_expire_from_their_commit_on(room):
    assert room.group.offsets_expire_from_ms(17) == 17
    room.group.check_offset_delete()


# Descriptions


def test_a_group_is_described():
    room = Consumer(FakeTopics(t=2, u=1))
    room.join("a", topics=("u", "t"), instance_id="i")
    room.join("b", topics=None, regex="t")
    room.beat("a", instance_id="i")
    described = room.room.describe(GROUP)
    assert (described.group_id, described.group_state) == (GROUP, "Reconciling")
    assert (described.group_epoch, described.assignment_epoch) == (3, 3)
    a, b = sorted(described.members, key=lambda each: each.member_id)
    assert (a.instance_id, a.member_epoch, a.client_id, a.client_host) == ("i", 2, "client", "/127.0.0.1")
    assert (a.subscribed_topic_names, a.subscribed_topic_regex) == (["t", "u"], "")
    assert (b.subscribed_topic_names, b.subscribed_topic_regex) == ([], "t")
    assert (a.member_type, b.member_type) == (1, 1)
    # It is to give back one partition, but has not done so.
    now = {each.topic_name: each.partitions for each in a.assignment.topic_partitions}
    target = {each.topic_name: each.partitions for each in a.target_assignment.topic_partitions}
    assert now == {"t": [0, 1], "u": [0]}
    assert sum(map(len, target.values())) == 2
    assert b.assignment.topic_partitions == []


def test_topics_that_are_gone_are_not_described():
    room = Consumer()
    room.join()
    room.topics.delete("t")
    (member,) = room.room.describe(GROUP).members
    assert member.assignment.topic_partitions == member.target_assignment.topic_partitions == []


def test_only_consumer_groups_are_described():
    room = Consumer()
    with pytest.raises(GroupIdNotFoundError):
        room.room.describe(GROUP)
    room.groups[GROUP] = ClassicGroup(GROUP)
    with pytest.raises(GroupIdNotFoundError):
        room.room.describe(GROUP)


# Deletion


def test_a_group_with_members_is_not_deleted():
    room = Consumer()
    room.join()
    with pytest.raises(NonEmptyGroupError):
        room.group.check_delete()
    room.leave()
    room.group.check_delete()


def test_nothing_is_left_of_a_group_after_its_tombstones():
    room = Consumer()
    room.join("a", topics=None, regex="t")
    room.join("b")
    keys = {repr(record.key) for record in room.log}
    tombstones = room.group.tombstones()
    assert keys <= {repr(record.key) for record in tombstones}
    for record in tombstones:
        assert record.value is None
        room.room.replay(record)
    assert room.groups == {}


# Classic groups


def test_an_empty_classic_group_is_replaced():
    room = Consumer()
    room.groups[GROUP] = ClassicGroup(GROUP)
    unknown = ConsumerGroupHeartbeatRequest(group_id=GROUP, member_id="m", member_epoch=2)
    assert room.heartbeat(unknown).code == ErrorCode.GROUP_ID_NOT_FOUND
    assert response_of(room.join()).member_epoch == 2
    assert room.log[0] == GroupRecord(GroupMetadataKey(GROUP), None)
    assert room.group.type is GroupType.CONSUMER


# What the log says


def test_records_may_come_in_any_order_of_their_keys():
    room = Consumer()
    room.join("a", topics=None, regex="t", instance_id="i")
    last = {repr(record.key): record for record in room.log}
    expected = vars(room.group)
    for order in itertools.islice(itertools.permutations(last.values()), 0, None, 7):
        room.log[:] = order
        loaded = vars(room.groups_of(room.loaded())[GROUP])
        for name in ("members", "static_members", "target", "owners", "regexes", "epoch", "assignment_epoch"):
            assert loaded[name] == expected[name]


def test_tombstones_of_what_compaction_took_away_are_ignored():
    room = Consumer()
    room.join("a")
    tombstones = room.group.tombstones()
    room.log[:] = tombstones
    assert room.groups_of(room.loaded()) == {}
    for tombstone in tombstones:
        room.log[:] = [tombstone]
        assert room.groups_of(room.loaded()) == {}


def test_a_member_goes_even_if_compaction_took_its_other_tombstones():
    room = Consumer()
    room.join("a")
    room.log.append(GroupRecord(ConsumerGroupMemberMetadataKey(GROUP, "a"), None))
    group = room.groups_of(room.loaded())[GROUP]
    assert isinstance(group, ConsumerGroup)
    assert group.is_empty
    assert not group.owners
    room.log.append(GroupRecord(ConsumerGroupMetadataKey(GROUP), None))
    assert room.groups_of(room.loaded()) == {}


def test_the_new_owner_of_a_partition_may_be_seen_before_the_old_one_lets_go():
    """A log is read while it is compacted: the record in which a let go is gone, a later one is not."""
    room = Consumer()

    def current(member_id, epoch, partitions):
        held = [TopicPartitions(b"t" * 16, partitions)]
        value = ConsumerGroupCurrentMemberAssignmentValue(member_epoch=epoch, assigned_partitions=held)
        return GroupRecord(ConsumerGroupCurrentMemberAssignmentKey(GROUP, member_id), value)

    for record in (current("a", 2, [0, 1]), current("b", 3, [1]), current("a", 3, [0])):
        room.room.replay(record)
    assert room.group.owners == {(b"t" * 16, 0): "a", (b"t" * 16, 1): "b"}


def test_partitions_without_an_epoch_of_their_own_have_the_members():
    room = Consumer()
    held = [TopicPartitions(b"t" * 16, [0, 1]), TopicPartitions(b"u" * 16, [0], [7, 8])]
    value = ConsumerGroupCurrentMemberAssignmentValue(member_epoch=9, assigned_partitions=held)
    room.room.replay(GroupRecord(ConsumerGroupCurrentMemberAssignmentKey(GROUP, "a"), value))
    assert room.member("a").assigned == {b"t" * 16: {0: 9, 1: 9}, b"u" * 16: {0: 9}}


def test_what_kafka_4_0_wrote_of_topics_is_removed():
    room = Consumer()
    key = ConsumerGroupPartitionMetadataKey(GROUP)
    room.log[:] = [
        GroupRecord(ConsumerGroupMetadataKey(GROUP), ConsumerGroupMetadataValue(epoch=5)),
        GroupRecord(key, ConsumerGroupPartitionMetadataValue()),
    ]
    room.reload()
    assert response_of(room.join()).member_epoch == 6
    assert GroupRecord(key, None) in room.log
    records = len(room.log)
    room.beat()
    assert room.log[records:] == []
