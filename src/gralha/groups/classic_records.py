"""What is written of a classic group: one record, with a generation and its members."""

from collections.abc import Mapping

from gralha.groups.classic_group import ClassicGroup, ClassicMember, ClassicState
from gralha.groups.records import GroupRecord
from gralha.protocol.messages.group_records import GroupMetadataKey, GroupMetadataValue, MemberMetadata


def group_record(group: ClassicGroup, assignments: Mapping[str, bytes] | None = None) -> GroupRecord:
    """The present generation, with the assignments that its members have or, if given, are about to have."""
    if assignments is None:
        assignments = {member.member_id: member.assignment for member in group.members.values()}
    value = GroupMetadataValue(
        protocol_type=group.protocol_type,
        generation=group.generation,
        protocol=group.protocol_name,
        leader=group.leader_id,
        current_state_timestamp=group.state_timestamp_ms,
        members=[
            _stored_member(member, group.metadata_of(member), assignments.get(member.member_id, b""))
            for member in group.members.values()
        ],
    )
    return GroupRecord(GroupMetadataKey(group=group.group_id), value)


def group_from_record(group_id: str, value: GroupMetadataValue) -> ClassicGroup:
    """The group as a record describes it. Of its members' protocols only the chosen one is known."""
    group = ClassicGroup(group_id, value.current_state_timestamp, value.protocol_type)
    group.generation = value.generation
    group.protocol_name = value.protocol
    for stored in value.members:
        group.add(_loaded_member(stored, value.protocol or ""), value.protocol_type)
    group.leader_id = value.leader
    if group.members:
        group.state = ClassicState.STABLE
    group.update_subscribed_topics()
    return group


def _stored_member(member: ClassicMember, metadata: bytes, assignment: bytes) -> MemberMetadata:
    return MemberMetadata(
        member_id=member.member_id,
        group_instance_id=member.instance_id,
        client_id=member.client_id,
        client_host=member.client_host,
        rebalance_timeout=member.rebalance_timeout_ms,
        session_timeout=member.session_timeout_ms,
        subscription=metadata,
        assignment=assignment,
    )


def _loaded_member(stored: MemberMetadata, protocol_name: str) -> ClassicMember:
    # Records of version 0 have no rebalance timeout.
    has_rebalance_timeout = stored.rebalance_timeout != -1
    return ClassicMember(
        member_id=stored.member_id,
        instance_id=stored.group_instance_id,
        client_id=stored.client_id,
        client_host=stored.client_host,
        rebalance_timeout_ms=stored.rebalance_timeout if has_rebalance_timeout else stored.session_timeout,
        session_timeout_ms=stored.session_timeout,
        protocols={protocol_name: stored.subscription},
        assignment=stored.assignment,
    )
