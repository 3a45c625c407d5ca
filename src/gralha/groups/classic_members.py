"""Members of a consumer group that still speak the classic protocol, during an upgrade or before a downgrade.

They send JoinGroup, SyncGroup and Heartbeat, and take part in the consumer protocol all the same. Their
member epoch is their generation. The coordinator assigns, so none of them ever leads. One heartbeat of the
consumer protocol is a round of requests here:

    Heartbeat   REBALANCE_IN_PROGRESS tells the member that it has to give partitions back, or gets some.
    JoinGroup   The member says what it subscribes to and owns. It moves one step towards its target.
    SyncGroup   The answer says what the member may own now.

SyncGroup tells a member to give partitions back. The member does so and joins again. An eager member gives
all partitions back before it joins. Two timers remove members that hold up the others:

    join   The member was told to join again, and has not.
    sync   The member has joined, and does not ask for its assignment.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from gralha.coordination.decision import NOTHING, Decision, Reply
from gralha.coordination.timers import Timers
from gralha.groups.caller import Caller
from gralha.groups.classic_group import ClassicGroup
from gralha.groups.classic_join import (
    MEMBER_ID_REQUIRED_FROM,
    Joining,
    joining_of,
    member_id_required,
)
from gralha.groups.config import GroupsConfig
from gralha.groups.consumer import ConsumerProtocol, Draft
from gralha.groups.consumer_group import ConsumerGroup, GroupState
from gralha.groups.consumer_member import ConsumerMember, MemberState
from gralha.groups.consumer_protocol import CONSUMER_PROTOCOL_TYPE, read_subscription
from gralha.groups.conversion import Conversion, assignment_bytes, partitions_by_id
from gralha.groups.group import Group
from gralha.groups.records import GroupDecision
from gralha.groups.topics import Topics
from gralha.protocol.errors import (
    ErrorCode,
    IllegalGenerationError,
    InconsistentGroupProtocolError,
    KafkaError,
    RebalanceInProgressError,
    UnknownMemberIdError,
)
from gralha.protocol.messages.group_records import ClassicMemberMetadata, ClassicProtocol
from gralha.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from gralha.protocol.messages.join_group import JoinGroupRequest, JoinGroupResponse
from gralha.protocol.messages.leave_group import (
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberIdentity,
    MemberResponse,
)
from gralha.protocol.messages.sync_group import SyncGroupRequest, SyncGroupResponse
from gralha.protocol.primitives import ProtocolError

# The kind of timer, the group id and the member id.
TimerKey = tuple[str, str, str]


class ClassicMembers:
    """Answers requests of the classic protocol from the state of consumer groups."""

    def __init__(
        self,
        groups: dict[str, Group],
        timers: Timers,
        config: GroupsConfig,
        topics: Topics,
        consumer: ConsumerProtocol,
        conversion: Conversion,
        new_id: Callable[[], str],
    ) -> None:
        self._groups = groups
        self._timers = timers
        self._config = config
        self._topics = topics
        self._consumer = consumer
        self._conversion = conversion
        self._new_id = new_id

    # JoinGroup

    def join_group(
        self, caller: Caller, request: JoinGroupRequest, reply: Reply, now_ms: int
    ) -> GroupDecision:
        """A member joins, or joins again."""
        group = self._group(request.group_id)
        joining = joining_of(caller, request, reply, now_ms, self._config)
        member_id = request.member_id or self._new_id()
        self._consumer.check_size(group, member_id)
        if not _is_supported(group, request.protocol_type, joining.protocols):
            raise InconsistentGroupProtocolError()
        is_dynamic = request.group_instance_id is None
        if is_dynamic and not request.member_id and caller.api_version >= MEMBER_ID_REQUIRED_FROM:
            return Decision(member_id_required(caller, member_id))
        draft = Draft(group)
        if is_dynamic or not request.member_id:
            before = self._consumer.joining_member(draft, member_id, request.group_instance_id, True)
        else:
            before = self._consumer.present_member(group, member_id, request.group_instance_id)
        return self._join(group, draft, before, joining)

    def _join(
        self, group: ConsumerGroup, draft: Draft, before: ConsumerMember, joining: Joining
    ) -> GroupDecision:
        try:
            subscription = read_subscription(next(iter(joining.protocols.values())))
        except ProtocolError:
            raise InconsistentGroupProtocolError() from None
        member = replace(
            before,
            instance_id=joining.request.group_instance_id or before.instance_id,
            rack_id=subscription.rack_id or before.rack_id,
            client_id=joining.caller.client_id,
            client_host=joining.caller.client_host,
            rebalance_timeout_ms=joining.rebalance_timeout_ms,
            topic_names=frozenset(subscription.topics),
            topic_regex="",
            classic=_classic_metadata(joining),
        )
        owned = partitions_by_id(subscription.owned_partitions, self._topics)
        after = self._consumer.update(draft, before, member, owned, joining.now_ms)
        if self._conversion.can_be_classic(draft.group.members.values()):
            return self._join_as_last(group, draft.group, after, joining)
        self._cancel(_join_key(group, after))
        self._start_session(group, after, joining.now_ms)
        self._expect(_sync_key(group, after), after, joining.now_ms)
        return Decision(_joined(after, next(iter(joining.protocols))), draft.records)

    def _join_as_last(
        self, group: ConsumerGroup, changed: ConsumerGroup, member: ConsumerMember, joining: Joining
    ) -> GroupDecision:
        """A static member has taken the place of the last member that spoke the consumer protocol.

        If all members have their target, and know it, the group goes on as a classic group. Otherwise it has
        to rebalance, and this member is the first that has joined.
        """
        members = changed.members.values()
        have_synced = all(
            self._timers.deadline_ms(_sync_key(group, each)) is None for each in group.members.values()
        )
        must_rebalance = not have_synced or changed.state is not GroupState.STABLE

        def on_turned(turned: ClassicGroup) -> None:
            if must_rebalance:
                turned.wait_for_join(member.member_id, joining.reply)
            else:
                joining.reply.send(_joined(member, turned.protocol_name))

        return self._conversion.turn(group, members, joining.now_ms, must_rebalance, on_turned)

    # SyncGroup

    def sync_group(
        self, caller: Caller, request: SyncGroupRequest, reply: Reply, now_ms: int
    ) -> GroupDecision:
        """A member asks for the partitions that it may own now."""
        group = self._group(request.group_id)
        member = self._member(group, request.member_id, request.group_instance_id, request.generation_id)
        _check_protocol(member, request)
        # A member that has to give partitions back keeps its epoch, and learns here which ones.
        is_behind = member.epoch < group.assignment_epoch
        if is_behind and member.state is not MemberState.UNREVOKED_PARTITIONS:
            self._expect_join(group, member, now_ms)
            raise RebalanceInProgressError()
        self._cancel(_sync_key(group, member))
        self._start_session(group, member, now_ms)
        assigned = [
            (topic_id, each) for topic_id, partitions in member.assigned.items() for each in partitions
        ]
        return Decision(
            SyncGroupResponse(
                protocol_type=request.protocol_type,
                protocol_name=request.protocol_name,
                assignment=assignment_bytes(member, assigned, self._topics),
            )
        )

    # Heartbeat

    def heartbeat(self, caller: Caller, request: HeartbeatRequest, now_ms: int) -> GroupDecision:
        """A member is alive. The answer says whether it must join again."""
        group = self._group(request.group_id)
        member = self._member(group, request.member_id, request.group_instance_id, request.generation_id)
        self._start_session(group, member, now_ms)
        if not self._must_join(group, member, now_ms):
            return Decision(HeartbeatResponse())
        self._expect_join(group, member, now_ms)
        return Decision(HeartbeatResponse(error_code=ErrorCode.REBALANCE_IN_PROGRESS))

    def _must_join(self, group: ConsumerGroup, member: ConsumerMember, now_ms: int) -> bool:
        """Whether the member has to give partitions back, can get some, or a new target is due."""
        if member.epoch < group.assignment_epoch or member.state is MemberState.UNREVOKED_PARTITIONS:
            return True
        if member.state is MemberState.UNRELEASED_PARTITIONS and not _is_kept_waiting(group, member):
            return True
        return self._consumer.is_target_due(group, now_ms)

    # LeaveGroup

    def leave_group(self, caller: Caller, request: LeaveGroupRequest, now_ms: int) -> GroupDecision:
        """Members of either protocol leave, or an administrator removes them."""
        group = self._group(request.group_id)
        has_list = caller.api_version >= 3
        identities = request.members if has_list else [MemberIdentity(member_id=request.member_id)]
        leaving: dict[str, ConsumerMember] = {}
        responses: list[MemberResponse] = []
        for identity in identities:
            response = MemberResponse(
                member_id=identity.member_id, group_instance_id=identity.group_instance_id
            )
            try:
                member = self._leaving(group, identity)
                leaving[member.member_id] = member
            except KafkaError as error:
                response.error_code = error.code
            responses.append(response)
        decision = self._consumer.remove(group, list(leaving.values()), now_ms) if leaving else NOTHING
        if has_list:
            return decision._replace(response=LeaveGroupResponse(members=responses))
        return decision._replace(response=LeaveGroupResponse(error_code=responses[0].error_code))

    def _leaving(self, group: ConsumerGroup, identity: MemberIdentity) -> ConsumerMember:
        instance_id = identity.group_instance_id
        if identity.member_id or instance_id is None:
            return self._consumer.present_member(group, identity.member_id, instance_id)
        member = group.static_member(instance_id)
        if member is None:
            raise UnknownMemberIdError()
        return member

    # Groups and members

    def _group(self, group_id: str) -> ConsumerGroup:
        group = self._groups[group_id]
        assert isinstance(group, ConsumerGroup)
        return group

    def _member(
        self, group: ConsumerGroup, member_id: str, instance_id: str | None, generation_id: int
    ) -> ConsumerMember:
        member = self._consumer.present_member(group, member_id, instance_id)
        if member.classic is None:
            raise UnknownMemberIdError(f"Member {member_id} does not speak the classic protocol.")
        if member.epoch != generation_id:
            raise IllegalGenerationError(
                f"The generation {generation_id} is not the epoch {member.epoch} of member {member_id}."
            )
        return member

    # Timers

    def _start_session(self, group: ConsumerGroup, member: ConsumerMember, now_ms: int) -> None:
        assert member.classic is not None
        timeout_ms = member.classic.session_timeout_ms
        self._consumer.schedule_session(group.group_id, member.member_id, now_ms, timeout_ms)

    def _expect_join(self, group: ConsumerGroup, member: ConsumerMember, now_ms: int) -> None:
        key = _join_key(group, member)
        if self._timers.deadline_ms(key) is None:
            self._expect(key, member, now_ms)

    def _expect(self, key: TimerKey, member: ConsumerMember, now_ms: int) -> None:
        self._timers.schedule(key, now_ms + member.rebalance_timeout_ms, partial(self._is_late, key))

    def _cancel(self, key: TimerKey) -> None:
        self._timers.cancel(key)

    def _is_late(self, key: TimerKey, now_ms: int) -> GroupDecision:
        """Remove a member that has not joined or synced in time."""
        _, group_id, member_id = key
        group = self._groups.get(group_id)
        member = group.members.get(member_id) if isinstance(group, ConsumerGroup) else None
        if not isinstance(group, ConsumerGroup) or member is None or member.classic is None:
            return NOTHING
        return self._consumer.remove(group, [member], now_ms)


def _join_key(group: ConsumerGroup, member: ConsumerMember) -> TimerKey:
    return "consumer join", group.group_id, member.member_id


def _sync_key(group: ConsumerGroup, member: ConsumerMember) -> TimerKey:
    return "consumer sync", group.group_id, member.member_id


def _is_supported(group: ConsumerGroup, protocol_type: str, protocols: dict[str, bytes]) -> bool:
    """Whether all members of the classic protocol support one of these protocols."""
    common = set(protocols) if protocol_type == CONSUMER_PROTOCOL_TYPE else set()
    for member in group.members.values():
        if member.classic is not None:
            common.intersection_update(each.name for each in member.classic.supported_protocols)
    return bool(common)


def _is_kept_waiting(group: ConsumerGroup, member: ConsumerMember) -> bool:
    """Whether other members still own partitions of its target."""
    return any(
        (topic_id, partition) in group.owners
        for topic_id, partitions in group.target.get(member.member_id, {}).items()
        for partition in partitions - member.assigned.get(topic_id, {}).keys()
    )


def _check_protocol(member: ConsumerMember, request: SyncGroupRequest) -> None:
    """From version 5 on, a member names the protocol that it uses (KIP-559).

    Any protocol that it supports will do: before the upgrade, the classic group may have chosen another one.
    """
    assert member.classic is not None
    names = [None, *(protocol.name for protocol in member.classic.supported_protocols)]
    if request.protocol_type not in (None, CONSUMER_PROTOCOL_TYPE) or request.protocol_name not in names:
        raise InconsistentGroupProtocolError()


def _classic_metadata(joining: Joining) -> ClassicMemberMetadata:
    protocols = [ClassicProtocol(name, metadata) for name, metadata in joining.protocols.items()]
    return ClassicMemberMetadata(joining.request.session_timeout_ms, protocols)


def _joined(member: ConsumerMember, protocol_name: str | None) -> JoinGroupResponse:
    """The answer to a JoinGroup. It names no leader, so the member asks for its assignment."""
    return JoinGroupResponse(
        generation_id=member.epoch,
        protocol_type=CONSUMER_PROTOCOL_TYPE,
        protocol_name=protocol_name,
        member_id=member.member_id,
    )
