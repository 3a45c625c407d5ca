"""JoinGroup: how a member comes into a classic group, or joins again for its next generation.

A dynamic member without an id is first given one and has to come again with it (KIP-394), so that a client
whose answer got lost does not leave a member behind that nobody is. A static member (KIP-345) is known by its
instance id: if it comes without a member id it has started again, and takes the place it had.
"""

from collections.abc import Callable
from typing import Final, NamedTuple

from gralha.coordination.decision import Decision, Reply
from gralha.groups.caller import Caller
from gralha.groups.classic_group import ClassicGroup, ClassicMember, ClassicState
from gralha.groups.classic_rebalance import ClassicRebalance, joined, nothing_more
from gralha.groups.classic_records import group_record
from gralha.groups.config import GroupsConfig
from gralha.groups.group import Group
from gralha.groups.records import GroupDecision
from gralha.protocol.errors import (
    ErrorCode,
    GroupMaxSizeReachedError,
    InconsistentGroupProtocolError,
    InvalidSessionTimeoutError,
    KafkaError,
    UnknownMemberIdError,
)
from gralha.protocol.messages.join_group import JoinGroupRequest, JoinGroupResponse

MEMBER_ID_REQUIRED_FROM: Final = 4
NULL_PROTOCOL_FROM: Final = 7
SKIP_ASSIGNMENT_FROM: Final = 9


class Joining(NamedTuple):
    """A request to join, with all that goes with it."""

    caller: Caller
    request: JoinGroupRequest
    protocols: dict[str, bytes]
    rebalance_timeout_ms: int
    reply: Reply
    now_ms: int


class ClassicJoin:
    def __init__(
        self,
        groups: dict[str, Group],
        rebalance: ClassicRebalance,
        config: GroupsConfig,
        new_id: Callable[[], str],
    ) -> None:
        self._groups = groups
        self._rebalance = rebalance
        self._config = config
        self._new_id = new_id

    def join(self, caller: Caller, request: JoinGroupRequest, reply: Reply, now_ms: int) -> GroupDecision:
        """Decide on a JoinGroup. Mostly the reply is kept until everybody has joined."""
        joining = joining_of(caller, request, reply, now_ms, self._config)
        group = self._groups.get(request.group_id)
        if isinstance(group, ClassicGroup):
            return self._join(group, joining)
        if group is not None and not group.is_empty:
            raise InconsistentGroupProtocolError()
        if request.member_id:
            raise UnknownMemberIdError()
        return self._join_new_group(group, joining)

    def _join_new_group(self, replaced: Group | None, joining: Joining) -> GroupDecision:
        """The first member makes the group, in the place of a group of another kind if that one is empty.

        An empty generation is written, so that the group outlives its coordinator even before it is stable.
        """
        group = ClassicGroup(joining.request.group_id, joining.now_ms)
        records = [*(replaced.tombstones() if replaced is not None else []), group_record(group)]
        decision = self._join(group, joining)
        self._groups[group.group_id] = group

        def take_back(_error: KafkaError) -> None:
            self._rebalance.cancel_timers(group)
            del self._groups[group.group_id]
            if replaced is not None:
                self._groups[group.group_id] = replaced

        return decision._replace(records=records, on_appended=nothing_more, on_failed=take_back)

    def _join(self, group: ClassicGroup, joining: Joining) -> GroupDecision:
        request = joining.request
        if not self._has_room(group, request.member_id):
            self._rebalance.end_session(group, request.member_id)
            group.remove(request.member_id)
            raise GroupMaxSizeReachedError()
        if not group.supports(request.protocol_type, joining.protocols):
            raise InconsistentGroupProtocolError()
        if request.member_id:
            return self._join_with_id(group, joining)
        return self._join_without_id(group, joining)

    def _has_room(self, group: ClassicGroup, member_id: str) -> bool:
        """In a rebalance those who have joined count: whoever comes first stays, if there are too many."""
        if group.state is ClassicState.EMPTY:
            return True
        inside = group.waiting_joins if group.state is ClassicState.PREPARING_REBALANCE else group.members
        return member_id in inside or len(inside) < self._config.group_max_size

    # Members without an id

    def _join_without_id(self, group: ClassicGroup, joining: Joining) -> GroupDecision:
        instance_id = joining.request.group_instance_id
        client_id = joining.caller.client_id
        member_id = f"{client_id if instance_id is None else instance_id}-{self._new_id()}"
        if instance_id in group.static_members:
            return self._replace_static_member(group, joining, member_id)
        if instance_id is None and joining.caller.api_version >= MEMBER_ID_REQUIRED_FROM:
            return self._require_member_id(group, joining, member_id)
        return self._add_member(group, joining, member_id)

    def _require_member_id(self, group: ClassicGroup, joining: Joining, member_id: str) -> GroupDecision:
        """The id is kept for as long as a session; rebalances wait for its owner."""
        group.pending_members.add(member_id)
        self._rebalance.start_session_of_id(
            group, member_id, joining.now_ms + joining.request.session_timeout_ms
        )
        return member_id_required(joining.caller, member_id)

    def _add_member(self, group: ClassicGroup, joining: Joining, member_id: str) -> GroupDecision:
        request = joining.request
        member = ClassicMember(
            member_id=member_id,
            instance_id=request.group_instance_id,
            client_id=joining.caller.client_id,
            client_host=joining.caller.client_host,
            rebalance_timeout_ms=joining.rebalance_timeout_ms,
            session_timeout_ms=request.session_timeout_ms,
            protocols=joining.protocols,
            is_new=True,
        )
        group.has_joined_during_delay = True
        group.add(member, request.protocol_type, joining.reply)
        # While it waits it sends no heartbeats. It may be gone, and have come again under another id: then
        # this one must not keep the group waiting for ever.
        timeout_ms = self._config.new_member_join_timeout_ms
        self._rebalance.start_session(group, member, joining.now_ms, timeout_ms)
        return self._rebalance.prepare_or_complete(group, joining.now_ms)

    # Members that have one

    def _join_with_id(self, group: ClassicGroup, joining: Joining) -> GroupDecision:
        request = joining.request
        member_id = request.member_id
        if member_id in group.pending_members and request.group_instance_id is None:
            return self._add_member(group, joining, member_id)
        group.check_member(member_id, request.group_instance_id)
        member = group.members[member_id]
        if _changes_nothing(group, member, joining.protocols):
            return Decision(joined(group, member_id))
        group.update(member, joining.protocols, joining.rebalance_timeout_ms, request.session_timeout_ms)
        group.wait_for_join(member_id, joining.reply)
        return self._rebalance.prepare_or_complete(group, joining.now_ms)

    # Static members that start again

    def _replace_static_member(self, group: ClassicGroup, joining: Joining, member_id: str) -> GroupDecision:
        instance_id = joining.request.group_instance_id
        assert instance_id is not None
        before = group.members[group.static_members[instance_id]]
        leader_before = group.leader_id
        member = self._change_id(group, before, member_id, joining.now_ms)
        group.update(
            member, joining.protocols, joining.rebalance_timeout_ms, joining.request.session_timeout_ms
        )
        if group.state is not ClassicState.STABLE or group.choose_protocol() != group.protocol_name:
            group.wait_for_join(member_id, joining.reply)
            return self._rebalance.prepare_or_complete(group, joining.now_ms)
        group.update_subscribed_topics()  # Kafka does so only when it loads the record

        def take_back(_error: KafkaError) -> None:
            group.update(member, before.protocols, before.rebalance_timeout_ms, before.session_timeout_ms)
            self._change_id(group, member, before.member_id, joining.now_ms)
            group.update_subscribed_topics()

        return Decision(
            response=_returned(group, member, leader_before, joining.caller.api_version),
            records=[group_record(group)],
            on_appended=nothing_more,
            on_failed=take_back,
        )

    def _change_id(
        self, group: ClassicGroup, member: ClassicMember, member_id: str, now_ms: int
    ) -> ClassicMember:
        assert member.instance_id is not None
        self._rebalance.end_session(group, member.member_id)
        renamed = group.replace_static_member(member.instance_id, member_id)
        self._rebalance.start_session(group, renamed, now_ms)
        return renamed


def joining_of(
    caller: Caller, request: JoinGroupRequest, reply: Reply, now_ms: int, config: GroupsConfig
) -> Joining:
    """A request with all that goes with it, if its session timeout is allowed."""
    _check_session_timeout(request.session_timeout_ms, config)
    protocols: dict[str, bytes] = {}
    for protocol in request.protocols:
        protocols.setdefault(protocol.name, protocol.metadata)
    # Version 0 has no rebalance timeout.
    rebalance_timeout_ms = (
        request.session_timeout_ms if caller.api_version == 0 else request.rebalance_timeout_ms
    )
    return Joining(caller, request, protocols, rebalance_timeout_ms, reply, now_ms)


def _check_session_timeout(timeout_ms: int, config: GroupsConfig) -> None:
    shortest_ms, longest_ms = config.group_min_session_timeout_ms, config.group_max_session_timeout_ms
    if not shortest_ms <= timeout_ms <= longest_ms:
        raise InvalidSessionTimeoutError(
            f"A session timeout of {timeout_ms} ms is not between {shortest_ms} and {longest_ms}."
        )


def _changes_nothing(group: ClassicGroup, member: ClassicMember, protocols: dict[str, bytes]) -> bool:
    """Did it just not get our answer? A leader that joins a stable group again wants a rebalance."""
    if group.state is ClassicState.PREPARING_REBALANCE or not member.speaks_as_before(protocols):
        return False
    return group.state is ClassicState.COMPLETING_REBALANCE or not group.is_leader(member.member_id)


def _returned(
    group: ClassicGroup, member: ClassicMember, leader_before: str | None, api_version: int
) -> JoinGroupResponse:
    """The generation goes on as if nothing had happened.

    A leader that is back must not assign anew. Since KIP-814 it can be told so; an older client is given the
    leader's former id, and takes itself for a follower.
    """
    response = joined(group, member.member_id)
    if api_version >= SKIP_ASSIGNMENT_FROM:
        response.skip_assignment = group.is_leader(member.member_id)
    else:
        response.leader = leader_before or ""
        response.members = []
    return response


def member_id_required(caller: Caller, member_id: str) -> GroupDecision:
    """A new member is told its id, and has to join with it (KIP-394)."""
    # From version 7 on there is a null for no protocol (KIP-559).
    protocol_name = None if caller.api_version >= NULL_PROTOCOL_FROM else ""
    return Decision(
        JoinGroupResponse(
            error_code=ErrorCode.MEMBER_ID_REQUIRED, member_id=member_id, protocol_name=protocol_name
        )
    )
