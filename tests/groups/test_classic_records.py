"""A classic group after a reload, its effect on offsets, and its descriptions."""

import pytest
from tests.groups.classic_room import (
    DELAY_MS,
    GROUP,
    REBALANCE_MS,
    SESSION_MS,
    Classic,
    Joined,
    lasting,
    loaded_group,
    subscription,
)
from tests.groups.harness import START_MS

from gralha.groups.classic_group import ClassicGroup
from gralha.groups.classic_member import ClassicMember
from gralha.groups.classic_records import removal_record, turned_group_record
from gralha.groups.config import GroupsConfig
from gralha.groups.group import Group
from gralha.groups.records import GroupRecord
from gralha.protocol.errors import (
    ErrorCode,
    IllegalGenerationError,
    KafkaError,
    MessageTooLargeError,
    NonEmptyGroupError,
    RebalanceInProgressError,
    UnknownMemberIdError,
)
from gralha.protocol.messages.group_records import GroupMetadataKey, GroupMetadataValue, MemberMetadata
from gralha.protocol.messages.leave_group import LeaveGroupResponse, MemberIdentity
from gralha.protocol.messages.sync_group import SyncGroupResponse

# Loading


def test_a_stable_group_goes_on_after_a_reload():
    room = Classic()
    leader, follower = room.stable(2)
    room.machine.reload()
    assert room.state == "Stable"
    assert room.heartbeat(leader.member_id, 1) == ErrorCode.NONE
    assert room.sync(follower.member_id, 1).sent(SyncGroupResponse).assignment == follower.member_id.encode()
    assert Joined(room.join(follower.member_id)).generation == 1
    assert not room.join(leader.member_id).answered


def test_sessions_start_anew_after_a_reload():
    room = Classic()
    leader, _ = room.stable(2)
    room.advance(SESSION_MS - 1)
    room.machine.reload()
    room.advance(SESSION_MS - 1)
    assert room.state == "Stable"
    room.heartbeat(leader.member_id, 1)
    room.advance(1)
    assert set(room.group.members) == {leader.member_id}


def test_a_rebalance_is_forgotten_by_a_reload():
    room = Classic()
    leader, follower = room.stable(2)
    reply = room.join(leader.member_id)
    newcomer = room.new_id_for()
    room.machine.reload()
    assert reply.code == ErrorCode.NOT_COORDINATOR
    assert room.state == "Stable"
    assert room.join(newcomer).code == ErrorCode.UNKNOWN_MEMBER_ID
    assert room.heartbeat(follower.member_id, 1) == ErrorCode.NONE


def test_a_generation_without_assignment_is_forgotten_by_a_reload():
    room = Classic()
    leader, _ = room.completing(2)
    room.machine.reload()
    assert (room.state, room.group.generation) == ("Empty", 0)
    assert room.heartbeat(leader.member_id, 1) == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_group_that_is_too_large_after_a_reload_rebalances():
    room = Classic()
    members = room.stable(3)
    room.config = GroupsConfig(group_max_size=2)
    room.machine.reload()
    assert room.state == "PreparingRebalance"
    replies = [room.join(member.member_id) for member in members]
    assert replies[2].code == ErrorCode.GROUP_MAX_SIZE_REACHED
    assert [Joined(reply).generation for reply in replies[:2]] == [2, 2]
    assert len(room.last_value.members) == 2


def test_a_group_of_just_the_largest_size_does_not():
    room = Classic()
    room.stable(3)
    room.config = GroupsConfig(group_max_size=3)
    room.machine.reload()
    assert room.state == "Stable"


def test_a_group_that_nobody_leads_rebalances_after_a_reload():
    room = Classic()
    members = room.stable(2)
    room.machine.log.append(removal_record(room.group, [], room.machine.now_ms))
    room.machine.reload()
    assert room.state == "PreparingRebalance"
    replies = [room.join(member.member_id) for member in members]
    assert [Joined(reply).leads for reply in replies] == [True, False]


def test_a_tombstone_ends_a_group_and_its_timers():
    room = Classic()
    room.new_id_for()
    (tombstone,) = room.group.tombstones()
    assert tombstone == GroupRecord(GroupMetadataKey(group=GROUP), None)
    room.machine.room.replay(tombstone)
    assert room.machine.room.groups == {}
    assert room.machine.timers.pop_due(START_MS + 10 * REBALANCE_MS) is None


def test_records_of_version_0_have_no_rebalance_timeout():
    member = MemberMetadata(member_id="m", session_timeout=7_000, subscription=b"x", assignment=b"y")
    value = GroupMetadataValue(
        protocol_type="connect", generation=4, protocol="p", leader="m", members=[member]
    )
    group = loaded_group(value)
    assert group.members["m"].rebalance_timeout_ms == 7_000
    assert (group.state_name, group.generation, group.leader_id) == ("Stable", 4, "m")
    assert group.members["m"].protocols == {"p": b"x"}
    assert group.members["m"].assignment == b"y"


def test_the_same_members_with_another_protocol():
    member = MemberMetadata(member_id="m", session_timeout=7_000, subscription=subscription("t"))
    group = ClassicGroup(GROUP)
    for protocol in ("range", "sticky"):
        group.replay(GroupMetadataValue("consumer", 4, protocol, "m", 0, [member]))
        assert group.metadata_of(group.members["m"]) == subscription("t")
        assert group.supports("consumer", {protocol: b""})
    assert not group.supports("consumer", {"range": b""})


def test_a_group_is_what_its_record_says():
    room = Classic()
    room.stable_static("a", "b")
    assert room.group.written == room.last_value
    assert lasting(loaded_group(room.last_value)) == lasting(room.group)


# In the place of another kind of group


class ConsumerLike(Group):
    """A group of another kind, as far as the classic protocol is concerned."""

    def __init__(self, empty: bool) -> None:
        self.group_id = GROUP
        self._empty = empty

    state_name = "Empty"
    protocol_type = "consumer"

    @property
    def is_empty(self) -> bool:
        return self._empty

    def check_offset_commit(self, *_):
        return None

    def check_offset_fetch(self, *_):
        pass

    def check_offset_delete(self):
        pass

    def check_delete(self):
        pass

    def is_subscribed_to(self, topic):
        return False

    def tombstones(self):
        return [GroupRecord(GroupMetadataKey(group="tombstone of another kind"), None)]

    def offsets_expire_from_ms(self, commit_timestamp_ms):
        return None


def test_an_empty_group_of_another_kind_makes_room():
    room = Classic()
    room.machine.room.groups[GROUP] = ConsumerLike(empty=True)
    assert room.join("with an id").code == ErrorCode.UNKNOWN_MEMBER_ID
    assert isinstance(room.machine.room.groups[GROUP], ConsumerLike)
    reply = room.join(version=3)
    keys = [record.key for record in room.machine.log]
    assert keys == [GroupMetadataKey(group="tombstone of another kind"), GroupMetadataKey(group=GROUP)]
    room.advance(DELAY_MS)
    assert Joined(reply).generation == 1


def test_but_not_if_that_cannot_be_written():
    room = Classic()
    other = room.machine.room.groups[GROUP] = ConsumerLike(empty=True)
    room.machine.append_error = MessageTooLargeError()
    assert room.join(version=3).code == ErrorCode.UNKNOWN_SERVER_ERROR
    assert room.machine.room.groups[GROUP] is other


def test_a_group_of_another_kind_with_members_does_not():
    room = Classic()
    room.machine.room.groups[GROUP] = ConsumerLike(empty=False)
    assert room.join().code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert room.heartbeat("m", 1) == room.sync("m", 1).code == ErrorCode.UNKNOWN_MEMBER_ID
    assert room.leave(MemberIdentity(member_id="m")).sent(LeaveGroupResponse).members[0].error_code == (
        ErrorCode.UNKNOWN_MEMBER_ID
    )


def test_members_of_another_kind_of_group_can_go_on_as_a_classic_one():
    members = [
        ClassicMember("m1", None, "c", "h", 1, 2, {"range": subscription("t"), "sticky": subscription("t")}),
        ClassicMember("m2", "i", "c", "h", 1, 2, {"range": subscription("u")}),
    ]
    value = turned_group_record(GROUP, 7, "consumer", members, False, 5).value
    assert isinstance(value, GroupMetadataValue)
    group = loaded_group(value)
    assert (group.state_name, group.generation, group.protocol_name) == ("Stable", 7, "range")
    assert (group.leader_id, group.static_members) == ("m1", {"i": "m2"})
    assert group.subscribed_topics == frozenset({"t", "u"})
    assert group.metadata_of(members[1]) == subscription("u")
    value = turned_group_record(GROUP, 7, "consumer", members, True, 5).value
    assert isinstance(value, GroupMetadataValue)
    waiting = loaded_group(value)
    assert (waiting.state_name, waiting.leader_id) == ("PreparingRebalance", None)


# Offsets


def commit(group: Group, member_id: str = "", generation: int = -1, **more):
    return group.check_offset_commit(
        member_id, more.get("instance_id"), generation, more.get("transactional", False), 9
    )


def test_anybody_commits_to_an_empty_group():
    group = ClassicGroup(GROUP)
    assert commit(group) is None
    assert commit(group, "anybody") is None
    with pytest.raises(UnknownMemberIdError):
        commit(group, "member", 1)


def test_only_members_of_this_generation_commit_to_others():
    room = Classic()
    leader, _ = room.stable_static("a", "b")
    group = room.group
    assert commit(group, leader.member_id, 1) is None
    assert commit(group, leader.member_id, 1, instance_id="a") is None
    for wrong in ((), ("stranger", 1), ("", 1), ("stranger", -1)):
        with pytest.raises(UnknownMemberIdError):
            commit(group, *wrong)
    with pytest.raises(KafkaError) as fenced:
        commit(group, leader.member_id, 1, instance_id="b")
    assert fenced.value.code == ErrorCode.FENCED_INSTANCE_ID
    for generation in (0, 2, -1):
        with pytest.raises(IllegalGenerationError):
            commit(group, leader.member_id, generation)
    assert commit(group, transactional=True) is None, "a producer from before KIP-447 names nobody"


def test_members_commit_while_they_join_again_but_not_before_they_sync():
    room = Classic()
    leader, follower = room.stable(2)
    room.join(leader.member_id)
    assert commit(room.group, follower.member_id, 1) is None
    room.join(follower.member_id)
    assert room.state == "CompletingRebalance"
    with pytest.raises(RebalanceInProgressError):
        commit(room.group, follower.member_id, 2)
    with pytest.raises(IllegalGenerationError):
        commit(room.group, follower.member_id, 1)
    assert commit(room.group, follower.member_id, 2, transactional=True) is None


def test_a_group_with_members_is_not_deleted():
    room = Classic()
    (only,) = room.stable(1)
    with pytest.raises(NonEmptyGroupError):
        room.group.check_delete()
    room.group.check_offset_delete()
    room.leave(MemberIdentity(member_id=only.member_id))
    room.group.check_delete()


def test_offsets_of_workers_are_not_deleted_while_they_are_there():
    room = Classic()
    room.stable(1, protocol_type="connect")
    with pytest.raises(NonEmptyGroupError):
        room.group.check_offset_delete()


def test_subscriptions_are_known_from_the_join_on():
    room = Classic()
    group_id = room.new_id_for()
    assert not room.group.is_subscribed_to("t")
    room.join(group_id)
    assert room.group.is_subscribed_to("any"), "consumers whose topics are not known yet"
    room.advance(DELAY_MS)
    assert room.group.is_subscribed_to("t")
    assert not room.group.is_subscribed_to("u")
    room.advance(SESSION_MS)
    assert room.state == "Empty"
    assert not room.group.is_subscribed_to("t")


@pytest.mark.parametrize(
    "metadata", [b"", b"\x00", b"\xff\xff\x00\x00\x00\x00", b"\x00\x00\x00\x00\x00\x09t"]
)
def test_subscriptions_that_make_no_sense_mean_any_topic(metadata):
    room = Classic()
    room.stable(1, protocols={"range": metadata})
    assert room.group.is_subscribed_to("any")
    assert room.group.offsets_expire_from_ms(5) is None


def test_the_metadata_of_others_is_not_looked_into():
    room = Classic()
    room.stable(1, protocol_type="connect")
    assert not room.group.is_subscribed_to("t")


def test_when_offsets_begin_to_expire():
    simple = ClassicGroup(GROUP)
    assert simple.offsets_expire_from_ms(5) == 5
    room = Classic()
    (only,) = room.stable(1)
    assert room.group.offsets_expire_from_ms(5) == 5
    room.join(only.member_id)
    assert room.state == "CompletingRebalance"
    assert room.group.offsets_expire_from_ms(5) is None
    room.leave(MemberIdentity(member_id=only.member_id))
    assert room.group.offsets_expire_from_ms(5) == room.machine.now_ms
    room.machine.reload()
    assert room.group.offsets_expire_from_ms(5) == room.machine.now_ms
    old = loaded_group(GroupMetadataValue(protocol_type="consumer"))
    assert old.offsets_expire_from_ms(5) == 5


def test_offsets_of_workers_do_not_expire_while_they_are_there():
    room = Classic()
    room.stable(1, protocol_type="connect")
    assert room.group.offsets_expire_from_ms(5) is None


# Descriptions


def test_a_stable_group_is_described_with_everything():
    room = Classic()
    room.stable_static("a")
    described = room.machine.room.describe(GROUP, 6)
    assert (described.error_code, described.group_id) == (0, GROUP)
    assert (described.group_state, described.protocol_type, described.protocol_data) == (
        "Stable",
        "consumer",
        "range",
    )
    (member,) = described.members
    assert (member.member_id, member.group_instance_id) == ("a-1", "a")
    assert (member.client_id, member.client_host) == ("client", "/10.0.0.1")
    assert (member.member_metadata, member.member_assignment) == (subscription("t"), b"a-1")


def test_other_groups_are_described_without_their_protocol():
    room = Classic()
    room.completing(2)
    described = room.machine.room.describe(GROUP, 6)
    assert (described.group_state, described.protocol_data) == ("CompletingRebalance", "")
    assert [member.member_metadata for member in described.members] == [b"", b""]


@pytest.mark.parametrize(("version", "code"), [(5, 0), (6, ErrorCode.GROUP_ID_NOT_FOUND)])
def test_a_group_that_is_not_there_is_dead(version, code):
    room = Classic()
    described = room.machine.room.describe("nothing", version)
    assert (described.group_id, described.group_state, described.error_code) == ("nothing", "Dead", code)
    assert (described.error_message is None) == (version == 5)
