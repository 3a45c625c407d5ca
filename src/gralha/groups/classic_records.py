"""The record of a classic group: a generation and its members.

The format is Kafka's. The leader tells a coordinator what to do with a group that it loads:

    with a leader       The group is Stable: the leader has assigned.
    without a leader    The members have to rebalance. A coordinator that loads the record begins with that.
    without members     The group is Empty.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence

from gralha.groups.classic_group import ClassicGroup, choose_protocol
from gralha.groups.classic_member import ClassicMember
from gralha.groups.records import GroupRecord
from gralha.protocol.messages.group_records import GroupMetadataKey, GroupMetadataValue, MemberMetadata


def new_group_record(group_id: str, now_ms: int) -> GroupRecord:
    """A new group, without members."""
    return _record(group_id, GroupMetadataValue("", 0, None, None, now_ms))


def empty_record(group: ClassicGroup, now_ms: int) -> GroupRecord:
    """An empty generation: the last member has gone."""
    value = GroupMetadataValue(group.protocol_type, group.generation + 1, None, None, now_ms)
    return _record(group.group_id, value)


def assignment_record(group: ClassicGroup, assignments: Mapping[str, bytes], now_ms: int) -> GroupRecord:
    """The present generation with the leader's assignment. Members that the leader left out get nothing."""
    protocol = group.protocol_name
    assert protocol is not None, "a generation with members has a protocol"
    members = [
        member.stored(protocol, assignments.get(member.member_id, b"")) for member in group.members.values()
    ]
    return _record(group.group_id, _generation(group, protocol, group.leader_id, members, now_ms))


def turned_group_record(
    group_id: str,
    generation: int,
    protocol_type: str,
    members: Sequence[ClassicMember],
    must_rebalance: bool,
    now_ms: int,
) -> GroupRecord:
    """Members of another kind of group go on as a classic group, with the assignments that they have.

    The first member leads until they rebalance.
    """
    protocol = choose_protocol([member.protocols for member in members])
    leader_id = None if must_rebalance else members[0].member_id
    stored = [member.stored(protocol, member.assignment) for member in members]
    return _record(
        group_id, GroupMetadataValue(protocol_type, generation, protocol, leader_id, now_ms, stored)
    )


def removal_record(group: ClassicGroup, gone: Collection[str], now_ms: int) -> GroupRecord:
    """The last record without these members. The others have to rebalance."""
    written = group.written
    staying = [member for member in written.members if member.member_id not in gone]
    return _record(group.group_id, _generation(group, written.protocol, None, staying, now_ms))


def replacement_record(
    group: ClassicGroup, old_id: str, member: MemberMetadata, leader_id: str | None, now_ms: int
) -> GroupRecord:
    """The last record with one member in the place of another."""
    written = group.written
    members = [member if each.member_id == old_id else each for each in written.members]
    return _record(group.group_id, _generation(group, written.protocol, leader_id, members, now_ms))


def renaming_records(group: ClassicGroup, old_id: str, new_id: str, now_ms: int) -> list[GroupRecord]:
    """The last record with a new id for a static member, if it has that member. All have to rebalance."""
    for stored in group.written.members:
        if stored.member_id == old_id:
            fields = {name: getattr(stored, name) for name in stored.FIELDS}
            renamed = MemberMetadata(**{**fields, "member_id": new_id})
            return [replacement_record(group, old_id, renamed, None, now_ms)]
    return []


def _generation(
    group: ClassicGroup,
    protocol: str | None,
    leader_id: str | None,
    members: Iterable[MemberMetadata],
    now_ms: int,
) -> GroupMetadataValue:
    return GroupMetadataValue(
        protocol_type=group.protocol_type,
        generation=group.generation,
        protocol=protocol,
        leader=leader_id,
        current_state_timestamp=now_ms,
        members=list(members),
    )


def _record(group_id: str, value: GroupMetadataValue) -> GroupRecord:
    return GroupRecord(GroupMetadataKey(group=group_id), value)
