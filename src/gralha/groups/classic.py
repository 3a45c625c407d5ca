"""The classic group protocol: JoinGroup, SyncGroup, Heartbeat and LeaveGroup.

Members join the group. The coordinator makes one of them the leader and tells it the members. The leader
assigns partitions, and every member fetches its assignment with SyncGroup. Heartbeats keep sessions alive,
and tell members of the next rebalance. See classic_group.py for the states.

Kafka 4.3 does not answer two requests: a SyncGroup of a member that is removed, and a JoinGroup that its
member has sent again. Here both are answered with an error.
"""

from collections.abc import Callable

from gralha.coordination.decision import NOTHING, Decision, Reply
from gralha.coordination.timers import Timers
from gralha.groups.caller import Caller
from gralha.groups.classic_group import ClassicGroup, ClassicState
from gralha.groups.classic_join import ClassicJoin
from gralha.groups.classic_rebalance import ClassicRebalance, assigned
from gralha.groups.classic_records import assignment_record
from gralha.groups.config import GroupsConfig
from gralha.groups.group import Group
from gralha.groups.records import GroupDecision
from gralha.protocol.errors import (
    ErrorCode,
    InconsistentGroupProtocolError,
    InvalidGroupIdError,
    KafkaError,
    RebalanceInProgressError,
    UnknownMemberIdError,
)
from gralha.protocol.messages.describe_groups import DescribedGroup, DescribedGroupMember
from gralha.protocol.messages.group_records import GroupMetadataKey, GroupMetadataValue
from gralha.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from gralha.protocol.messages.join_group import JoinGroupRequest
from gralha.protocol.messages.leave_group import (
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberIdentity,
    MemberResponse,
)
from gralha.protocol.messages.sync_group import SyncGroupRequest


class ClassicProtocol:
    """The classic groups of one shard. Conversions between kinds of groups use `rebalance`, too."""

    def __init__(
        self,
        groups: dict[str, Group],
        timers: Timers,
        config: GroupsConfig,
        new_id: Callable[[], str],
    ) -> None:
        """`groups` is shared with the other protocols; `new_id` makes the random part of member ids."""
        self.rebalance = ClassicRebalance(groups, timers, config)
        self._groups = groups
        self._config = config
        self._join = ClassicJoin(groups, self.rebalance, config, new_id)

    # Requests

    def join_group(
        self, caller: Caller, request: JoinGroupRequest, reply: Reply, now_ms: int
    ) -> GroupDecision:
        """A member joins, or joins again."""
        _check_group_id(request.group_id)
        return self._join.join(caller, request, reply, now_ms)

    def sync_group(
        self, caller: Caller, request: SyncGroupRequest, reply: Reply, now_ms: int
    ) -> GroupDecision:
        """A member asks for its assignment. The leader brings the assignments of all members."""
        group = self._find(request.group_id)
        member_id = request.member_id
        group.check_member(member_id, request.group_instance_id)
        group.check_generation(request.generation_id)
        if group.state is ClassicState.PREPARING_REBALANCE:
            raise RebalanceInProgressError()
        _check_protocol(group, request)
        self.rebalance.synced(group, member_id)
        if group.state is ClassicState.STABLE:
            return Decision(assigned(group, group.members[member_id]))
        group.wait_for_sync(member_id, reply)
        if not group.is_leader(member_id):
            return NOTHING
        return self._assign(group, request, now_ms)

    def _assign(self, group: ClassicGroup, request: SyncGroupRequest, now_ms: int) -> GroupDecision:
        """Write the leader's assignment. Members see it when it is written."""
        assignments = {assignment.member_id: assignment.assignment for assignment in request.assignments}

        def on_failed(error: KafkaError) -> None:
            self.rebalance.fail_assignment(group, error, now_ms)
            self.rebalance.prepare(group, now_ms)

        return Decision(
            records=[assignment_record(group, assignments, now_ms)],
            then=lambda: self.rebalance.announce_assignment(group, now_ms),
            on_failed=on_failed,
        )

    def heartbeat(self, caller: Caller, request: HeartbeatRequest, now_ms: int) -> GroupDecision:
        """A member is alive. The answer says whether it must join again."""
        group = self._find(request.group_id)
        group.check_member(request.member_id, request.group_instance_id)
        group.check_generation(request.generation_id)
        self.touch(group, request.member_id, now_ms)
        if group.state is ClassicState.PREPARING_REBALANCE:
            return Decision(HeartbeatResponse(error_code=ErrorCode.REBALANCE_IN_PROGRESS))
        return Decision(HeartbeatResponse())

    def touch(self, group: Group, member_id: str, now_ms: int) -> None:
        """A member is alive: it has sent a heartbeat, or has committed offsets."""
        if isinstance(group, ClassicGroup) and member_id in group.members:
            self.rebalance.start_session(group, group.members[member_id], now_ms)

    def leave_group(self, caller: Caller, request: LeaveGroupRequest, now_ms: int) -> GroupDecision:
        """Members leave. From version 3 on, a request may name several, also by their instance ids alone."""
        _check_group_id(request.group_id)
        group = self._groups.get(request.group_id)
        leaving = request.members
        if caller.api_version < 3:
            leaving = [MemberIdentity(member_id=request.member_id)]
        leaving_ids: list[str] = []
        responses = [_leaving(group, member, leaving_ids) for member in leaving]
        decision: GroupDecision = NOTHING
        if isinstance(group, ClassicGroup) and leaving_ids:
            decision = self.rebalance.remove(group, leaving_ids, now_ms)
        if caller.api_version < 3:
            return decision._replace(response=LeaveGroupResponse(error_code=responses[0].error_code))
        return decision._replace(response=LeaveGroupResponse(members=responses))

    # Descriptions

    def describe(self, group_id: str, api_version: int) -> DescribedGroup:
        """The group for DescribeGroups. Only a stable group is described with its members' metadata."""
        group = self._groups.get(group_id)
        if not isinstance(group, ClassicGroup):
            is_there = group is not None
            return _dead(group_id, api_version, "is not a classic group" if is_there else "not found")
        is_stable = group.state is ClassicState.STABLE
        return DescribedGroup(
            group_id=group_id,
            group_state=group.state_name,
            protocol_type=group.protocol_type,
            protocol_data=group.protocol_name or "" if is_stable else "",
            members=[
                DescribedGroupMember(
                    member_id=member.member_id,
                    group_instance_id=member.instance_id,
                    client_id=member.client_id,
                    client_host=member.client_host,
                    member_metadata=group.metadata_of(member) if is_stable else b"",
                    member_assignment=member.assignment,
                )
                for member in group.members.values()
            ],
        )

    # Records

    def replay_group_metadata(self, key: GroupMetadataKey, value: GroupMetadataValue | None) -> None:
        """Take over what a record says of a group. Without a value the group is gone.

        A group that is deleted has no members. If a group becomes a consumer group, its members have to join
        again.
        """
        group = self._groups.get(key.group)
        if value is None:
            self._groups.pop(key.group, None)
            if isinstance(group, ClassicGroup):
                self.rebalance.cancel_timers(group)
                group.fail_all_requests(RebalanceInProgressError())
            return
        if not isinstance(group, ClassicGroup):
            group = self._groups[key.group] = ClassicGroup(key.group)
        for member_id in group.replay(value):
            self.rebalance.end_session(group, member_id)

    def on_loaded(self, now_ms: int) -> None:
        """Start all sessions. A group rebalances if its record says so, or if it is larger than allowed."""
        for group in list(self._groups.values()):
            if not isinstance(group, ClassicGroup):
                continue
            for member in group.members.values():
                self.rebalance.start_session(group, member, now_ms)
            is_too_large = len(group.members) > self._config.group_max_size
            if is_too_large or group.state is ClassicState.PREPARING_REBALANCE:
                self.rebalance.prepare(group, now_ms)

    def _find(self, group_id: str) -> ClassicGroup:
        """The group of a member. If there is no such group, there is no such member."""
        _check_group_id(group_id)
        group = self._groups.get(group_id)
        if not isinstance(group, ClassicGroup):
            raise UnknownMemberIdError()
        return group


def _check_group_id(group_id: str) -> None:
    if not group_id:
        raise InvalidGroupIdError()


def _check_protocol(group: ClassicGroup, request: SyncGroupRequest) -> None:
    """From version 5 on, a member names the protocol that it uses (KIP-559)."""
    if request.protocol_type not in (None, group.protocol_type):
        raise InconsistentGroupProtocolError()
    if request.protocol_name not in (None, group.protocol_name):
        raise InconsistentGroupProtocolError()


def _leaving(group: Group | None, leaving: MemberIdentity, leaving_ids: list[str]) -> MemberResponse:
    """Add the id of a member that leaves to `leaving_ids`. The answer says whether there is such a member."""
    response = MemberResponse(member_id=leaving.member_id, group_instance_id=leaving.group_instance_id)
    try:
        if not isinstance(group, ClassicGroup):
            raise UnknownMemberIdError()
        member_id = _id_of_leaving(group, leaving)
        if member_id in leaving_ids:
            raise UnknownMemberIdError()
        leaving_ids.append(member_id)
    except KafkaError as error:
        response.error_code = error.code
    return response


def _id_of_leaving(group: ClassicGroup, leaving: MemberIdentity) -> str:
    """The id of the member that leaves. An administrator names a static member by its instance id."""
    if leaving.member_id:
        if leaving.member_id not in group.pending_members:
            group.check_member(leaving.member_id, leaving.group_instance_id)
        return leaving.member_id
    if leaving.group_instance_id not in group.static_members:
        raise UnknownMemberIdError()
    return group.static_members[leaving.group_instance_id]


def _dead(group_id: str, api_version: int, reason: str) -> DescribedGroup:
    described = DescribedGroup(group_id=group_id, group_state=ClassicState.DEAD.value)
    if api_version >= 6:  # KIP-1043
        described.error_code = ErrorCode.GROUP_ID_NOT_FOUND
        described.error_message = f"Group {group_id} {reason}."
    return described
