"""JoinGroup: a member joins a classic group, or joins again for its next generation.

A dynamic member without an id first gets an id, and joins again with it (KIP-394). Otherwise a client that
did not get its answer would leave a member behind that does not exist. A static member (KIP-345) is known by
its instance id: if it joins without a member id, its process was started again, and it takes its old place.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Final, NamedTuple

from gralha.coordination.decision import NOTHING, Decision, Reply
from gralha.groups.caller import Caller
from gralha.groups.classic_group import ClassicGroup, ClassicState, choose_protocol
from gralha.groups.classic_member import ClassicMember
from gralha.groups.classic_rebalance import ClassicRebalance, joined
from gralha.groups.classic_records import new_group_record, renaming_records, replacement_record
from gralha.groups.config import GroupsConfig
from gralha.groups.group import Group
from gralha.groups.records import GroupDecision
from gralha.protocol.errors import (
    ErrorCode,
    GroupMaxSizeReachedError,
    InconsistentGroupProtocolError,
    InvalidSessionTimeoutError,
    UnknownMemberIdError,
)
from gralha.protocol.messages.join_group import JoinGroupRequest, JoinGroupResponse

MEMBER_ID_REQUIRED_FROM: Final = 4
NULL_PROTOCOL_FROM: Final = 7
SKIP_ASSIGNMENT_FROM: Final = 9


class Joining(NamedTuple):
    """A JoinGroup request and its circumstances."""

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
        """Decide on a JoinGroup. Usually the group keeps the reply until all members have joined."""
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
        """Create the group for its first member, in place of an empty group of another kind.

        The record of an empty generation lets the group outlive its coordinator before it is stable.
        """
        group_id = joining.request.group_id
        if not ClassicGroup(group_id).supports(joining.request.protocol_type, joining.protocols):
            raise InconsistentGroupProtocolError()

        def then() -> None:
            group = self._groups[group_id]
            assert isinstance(group, ClassicGroup)
            self._join_without_id(group, joining)

        tombstones = [] if replaced is None else replaced.tombstones()
        return Decision(records=[*tombstones, new_group_record(group_id, joining.now_ms)], then=then)

    def _join(self, group: ClassicGroup, joining: Joining) -> GroupDecision:
        request = joining.request
        if not self._has_room(group, request.member_id):
            return self._turn_away(group, joining)
        if not group.supports(request.protocol_type, joining.protocols):
            raise InconsistentGroupProtocolError()
        if request.member_id:
            self._join_with_id(group, joining)
        elif request.group_instance_id in group.static_members:
            return self._replace_static_member(group, joining)
        else:
            self._join_without_id(group, joining)
        return NOTHING

    def _turn_away(self, group: ClassicGroup, joining: Joining) -> GroupDecision:
        """The group is full. If it is a member that wanted to join again, it is removed."""
        member_id = joining.request.member_id
        if member_id not in group.members:
            self._rebalance.forget_id(group, member_id, joining.now_ms)
            raise GroupMaxSizeReachedError()
        removal = self._rebalance.remove(group, [member_id], joining.now_ms)

        def then() -> None:
            joining.reply.fail(GroupMaxSizeReachedError())
            if removal.then is not None:
                removal.then()

        return removal._replace(then=then)

    def _has_room(self, group: ClassicGroup, member_id: str) -> bool:
        """Whether a member may join. In a rebalance the members count that have joined again already."""
        if group.state is ClassicState.EMPTY:
            return True
        inside = group.waiting_joins if group.state is ClassicState.PREPARING_REBALANCE else group.members
        return member_id in inside or len(inside) < self._config.group_max_size

    # Joining without an id

    def _join_without_id(self, group: ClassicGroup, joining: Joining) -> None:
        instance_id = joining.request.group_instance_id
        member_id = self._new_member_id(joining)
        if instance_id is None and joining.caller.api_version >= MEMBER_ID_REQUIRED_FROM:
            self._require_member_id(group, joining, member_id)
        else:
            self._add_member(group, joining, member_id)

    def _new_member_id(self, joining: Joining) -> str:
        instance_id = joining.request.group_instance_id
        return f"{joining.caller.client_id if instance_id is None else instance_id}-{self._new_id()}"

    def _require_member_id(self, group: ClassicGroup, joining: Joining, member_id: str) -> None:
        """Hand out an id. It is valid for a session, and rebalances wait for its member."""
        group.pending_members.add(member_id)
        self._rebalance.start_session_of_id(
            group, member_id, joining.now_ms + joining.request.session_timeout_ms
        )
        joining.reply.send(member_id_required(joining.caller, member_id))

    def _add_member(self, group: ClassicGroup, joining: Joining, member_id: str) -> None:
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
        # A member that waits for its first generation sends no heartbeats. If its client has gone, or has
        # joined again under another id, the group must not wait for this member for ever.
        timeout_ms = self._config.new_member_join_timeout_ms
        self._rebalance.start_session(group, member, joining.now_ms, timeout_ms)
        self._rebalance.prepare_or_complete(group, joining.now_ms)

    # Joining with an id

    def _join_with_id(self, group: ClassicGroup, joining: Joining) -> None:
        request = joining.request
        member_id = request.member_id
        if member_id in group.pending_members and request.group_instance_id is None:
            self._add_member(group, joining, member_id)
            return
        group.check_member(member_id, request.group_instance_id)
        member = group.members[member_id]
        if _changes_nothing(group, member, joining.protocols):
            joining.reply.send(joined(group, member_id))
            return
        group.update(member, joining.protocols, joining.rebalance_timeout_ms, request.session_timeout_ms)
        group.wait_for_join(member_id, joining.reply)
        self._rebalance.prepare_or_complete(group, joining.now_ms)

    # Joining again as a static member

    def _replace_static_member(self, group: ClassicGroup, joining: Joining) -> GroupDecision:
        """A static member was started again. It takes its old place under a new id.

        The new id is written in any case. Otherwise the next coordinator would know the old id only, and
        fence the member.
        """
        old = group.members[group.static_members[joining.request.group_instance_id or ""]]
        new = replace(
            old,
            member_id=self._new_member_id(joining),
            protocols=joining.protocols,
            rebalance_timeout_ms=joining.rebalance_timeout_ms,
            session_timeout_ms=joining.request.session_timeout_ms,
        )
        if group.state is ClassicState.STABLE and _keeps_protocol(group, old, new):
            return self._return_to_generation(group, old, new, joining)

        leader_id = new.member_id if group.is_leader(old.member_id) else group.leader_id
        go_on = self._rebalance.next_phase(group)

        def then() -> None:
            self._take_place(group, old.member_id, new, joining.now_ms)
            group.keep_leader(leader_id)
            group.wait_for_join(new.member_id, joining.reply)
            go_on(group, joining.now_ms)

        records = renaming_records(group, old.member_id, new.member_id, joining.now_ms)
        return Decision(records=records, then=then)

    def _return_to_generation(
        self, group: ClassicGroup, old: ClassicMember, new: ClassicMember, joining: Joining
    ) -> GroupDecision:
        """The generation goes on without a rebalance, because only the id has changed."""
        leader_before = group.leader_id
        leader_after = new.member_id if group.is_leader(old.member_id) else leader_before
        stored = new.stored(group.protocol_name or "", old.assignment)

        def then() -> None:
            member = self._take_place(group, old.member_id, new, joining.now_ms)
            joining.reply.send(_returned(group, member, leader_before, joining.caller.api_version))

        record = replacement_record(group, old.member_id, stored, leader_after, joining.now_ms)
        return Decision(records=[record], then=then)

    def _take_place(self, group: ClassicGroup, old_id: str, new: ClassicMember, now_ms: int) -> ClassicMember:
        """Rename the member if no replay has done so, and take over what is in no record."""
        if old_id in group.members:
            group.replace_static_member(new.instance_id or "", new.member_id)
        member = group.members[new.member_id]
        group.update(member, new.protocols, new.rebalance_timeout_ms, new.session_timeout_ms)
        self._rebalance.end_session(group, old_id)
        self._rebalance.start_session(group, member, now_ms)
        return member


def joining_of(
    caller: Caller, request: JoinGroupRequest, reply: Reply, now_ms: int, config: GroupsConfig
) -> Joining:
    """A JoinGroup request and its circumstances. Raises INVALID_SESSION_TIMEOUT."""
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
    """Whether a member joins again only because it did not get our answer.

    A leader that joins a stable group again asks for a rebalance.
    """
    if group.state is ClassicState.PREPARING_REBALANCE or not member.supports_the_same(protocols):
        return False
    return group.state is ClassicState.COMPLETING_REBALANCE or not group.is_leader(member.member_id)


def _keeps_protocol(group: ClassicGroup, old: ClassicMember, new: ClassicMember) -> bool:
    """Whether the group would choose its present protocol again with `new` in the place of `old`."""
    members = [new if member is old else member for member in group.members.values()]
    return choose_protocol([member.protocols for member in members]) == group.protocol_name


def _returned(
    group: ClassicGroup, member: ClassicMember, leader_before: str | None, api_version: int
) -> JoinGroupResponse:
    """The answer to a static member that goes on in the present generation.

    A leader that is back must not assign again. Since KIP-814 the answer can say so. An older client gets the
    leader's former id, so it takes itself for a follower.
    """
    response = joined(group, member.member_id)
    if api_version >= SKIP_ASSIGNMENT_FROM:
        response.skip_assignment = group.is_leader(member.member_id)
    else:
        response.leader = leader_before or ""
        response.members = []
    return response


def member_id_required(caller: Caller, member_id: str) -> JoinGroupResponse:
    """The answer that gives a new member its id, with which it has to join (KIP-394)."""
    # From version 7 on, no protocol is a null (KIP-559).
    protocol_name = None if caller.api_version >= NULL_PROTOCOL_FROM else ""
    return JoinGroupResponse(
        error_code=ErrorCode.MEMBER_ID_REQUIRED, member_id=member_id, protocol_name=protocol_name
    )
