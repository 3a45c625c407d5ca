"""The consumer group protocol (KIP-848): members send one kind of request, the heartbeat.

A heartbeat takes over what the member says of itself, and then brings the group up to date, step by step:

    regular expressions  ->  group epoch  ->  target assignment  ->  the member's own assignment

The steps do not change the group. They work on a `Draft`: a copy of the group in which each record counts as
soon as it is decided. The group itself changes when the records are in the log and replayed.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import Final

from gralha.coordination.decision import NOTHING, Decision
from gralha.coordination.timers import Timers
from gralha.groups import consumer_records, reconciliation, subscriptions, target_assignment
from gralha.groups.assignors import ASSIGNORS, Assignment
from gralha.groups.caller import Caller
from gralha.groups.config import ConsumerGroupTimes, GroupsConfig
from gralha.groups.consumer_describe import described_group
from gralha.groups.consumer_group import ConsumerGroup
from gralha.groups.consumer_member import (
    JOIN_EPOCH,
    LEAVE_EPOCH,
    LEAVE_STATIC_EPOCH,
    ConsumerMember,
    Holdings,
    MemberState,
)
from gralha.groups.consumer_request import check_member_epoch, check_request, owned_partitions, updated_member
from gralha.groups.group import Group
from gralha.groups.records import GroupDecision, GroupRecord
from gralha.groups.topics import Topics
from gralha.protocol.errors import (
    FencedInstanceIdError,
    GroupIdNotFoundError,
    GroupMaxSizeReachedError,
    UnknownMemberIdError,
    UnreleasedInstanceIdError,
)
from gralha.protocol.message import Message
from gralha.protocol.messages.consumer_group_describe import DescribedGroup
from gralha.protocol.messages.consumer_group_heartbeat import (
    Assignment as ResponseAssignment,
)
from gralha.protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)
from gralha.protocol.messages.group_records import (
    ConsumerGroupCurrentMemberAssignmentKey,
    ConsumerGroupMemberMetadataKey,
    ConsumerGroupMetadataKey,
    ConsumerGroupPartitionMetadataKey,
    ConsumerGroupRegularExpressionKey,
    ConsumerGroupTargetAssignmentMemberKey,
    ConsumerGroupTargetAssignmentMetadataKey,
)

_KEYS: Final = (
    ConsumerGroupMetadataKey
    | ConsumerGroupPartitionMetadataKey
    | ConsumerGroupMemberMetadataKey
    | ConsumerGroupTargetAssignmentMetadataKey
    | ConsumerGroupTargetAssignmentMemberKey
    | ConsumerGroupCurrentMemberAssignmentKey
    | ConsumerGroupRegularExpressionKey
)


class Draft:
    """A group as it will be, and the records that lead there."""

    def __init__(self, group: ConsumerGroup, records: Iterable[GroupRecord] = ()) -> None:
        self.group = group
        self.records: list[GroupRecord] = []
        self.add(*records)

    def add(self, *records: GroupRecord) -> None:
        """Add records to the decision. Records of classic groups do not change the draft."""
        if records and not self.records:
            self.group = self.group.copy()
        for record in records:
            self.records.append(record)
            self.group.replay(record.key, record.value)


class ConsumerProtocol:
    def __init__(
        self,
        groups: dict[str, Group],
        timers: Timers,
        config: GroupsConfig,
        topics: Topics,
        times_of: Callable[[str], ConsumerGroupTimes],
        new_id: Callable[[], str],
        upgrade: Callable[[Group], Sequence[GroupRecord]] | None = None,
        downgrade: Callable[[ConsumerGroup, Collection[ConsumerMember], int], GroupDecision | None]
        | None = None,
    ) -> None:
        """`groups` is shared with the other protocols; `times_of` returns the settings of a group.

        `upgrade` returns the records that turn a classic group with members into a consumer group, or raises.
        `downgrade` is called when members leave. If only classic members stay, it may return a decision that
        turns the group into a classic group of the members that stay.
        """
        self._groups = groups
        self._timers = timers
        self._config = config
        self._topics = topics
        self._times_of = times_of
        self._new_id = new_id
        self._upgrade = upgrade
        self._downgrade = downgrade
        self._metadata_hash = subscriptions.MetadataHash(topics)

    # Heartbeats

    def heartbeat(self, caller: Caller, request: ConsumerGroupHeartbeatRequest, now_ms: int) -> GroupDecision:
        """A member joins, is alive, has given partitions back, subscribes to other topics, or leaves."""
        check_request(request, caller.api_version, self._config)
        if request.member_epoch in (LEAVE_EPOCH, LEAVE_STATIC_EPOCH):
            return self._leave(request, now_ms)
        joins = request.member_epoch == JOIN_EPOCH
        draft = self._draft(request.group_id, joins, now_ms)
        self.check_size(draft.group, request.member_id)
        member_id = request.member_id or self._new_id()
        owned = owned_partitions(request)
        if joins:
            before = self.joining_member(draft, member_id, request.instance_id)
        else:
            before = self.present_member(draft.group, member_id, request.instance_id)
            check_member_epoch(before, request.member_epoch, owned)
        member = updated_member(before, caller, request)
        after = self.update(draft, before, member, owned, now_ms, caller.may_describe)
        self.schedule_session(request.group_id, member_id, now_ms)
        response = ConsumerGroupHeartbeatResponse(
            member_id=member_id,
            member_epoch=after.epoch,
            heartbeat_interval_ms=self._times_of(request.group_id).heartbeat_interval_ms,
        )
        if joins or _says_everything(request) or after.assigned != before.assigned:
            response.assignment = ResponseAssignment(topic_partitions=_topic_partitions(after.assigned))
        return Decision(response, draft.records)

    def _draft(self, group_id: str, joins: bool, now_ms: int) -> Draft:
        """The group of a heartbeat. The first member creates it; a classic group is replaced."""
        group = self._groups.get(group_id)
        if isinstance(group, ConsumerGroup):
            return Draft(group)
        if group is None:
            if not joins:
                raise GroupIdNotFoundError(f"Consumer group {group_id} not found.")
            return Draft(ConsumerGroup(group_id))
        if joins and group.is_empty:
            return Draft(ConsumerGroup(group_id), group.tombstones())
        if joins and self._upgrade is not None:
            draft = Draft(ConsumerGroup(group_id), self._upgrade(group))
            for member in draft.group.members.values():
                self.schedule_session(group_id, member.member_id, now_ms, member.session_timeout_ms)
            return draft
        raise GroupIdNotFoundError(f"Group {group_id} is not a consumer group.")

    def check_size(self, group: ConsumerGroup, member_id: str) -> None:
        """Refuse a new member if the group is full."""
        if len(group.members) >= self._config.consumer_max_size and member_id not in group.members:
            raise GroupMaxSizeReachedError(
                f"The consumer group has reached its maximum of {self._config.consumer_max_size} members."
            )

    def joining_member(
        self, draft: Draft, member_id: str, instance_id: str | None, is_classic: bool = False
    ) -> ConsumerMember:
        """The member that joins. It may be new, or a member that joins again.

        A static member that was started again takes the place of the old one, with everything that it had.
        """
        group = draft.group
        existing = None if instance_id is None else group.static_member(instance_id)
        if existing is None:
            return group.members.get(member_id) or ConsumerMember(member_id)
        if existing.epoch != LEAVE_STATIC_EPOCH:
            if existing.member_id == member_id:
                return existing  # it did not get the answer to its first heartbeat; Kafka refuses it
            if existing.classic is None and not is_classic:
                raise UnreleasedInstanceIdError(
                    f"Static member {member_id} with instance id {instance_id} cannot join the group because "
                    f"the instance id is owned by member {existing.member_id}."
                )
        target = group.target.get(existing.member_id, {})
        successor = replace(existing, member_id=member_id, epoch=JOIN_EPOCH, previous_epoch=JOIN_EPOCH)
        if existing.member_id != member_id:
            draft.add(*_removal(group.group_id, existing.member_id))
        draft.add(
            consumer_records.member(group.group_id, successor),
            consumer_records.target_assignment(group.group_id, member_id, target),
            consumer_records.current_assignment(group.group_id, successor),
        )
        return successor

    def present_member(self, group: ConsumerGroup, member_id: str, instance_id: str | None) -> ConsumerMember:
        """The member that sends a heartbeat."""
        if instance_id is None:
            return group.member(member_id)
        member = group.static_member(instance_id)
        if member is None:
            raise UnknownMemberIdError(f"Instance id {instance_id} is unknown.")
        if member.member_id != member_id:
            raise FencedInstanceIdError(
                f"Static member {member_id} with instance id {instance_id} was fenced by member "
                f"{member.member_id}."
            )
        return member

    def update(
        self,
        draft: Draft,
        before: ConsumerMember,
        member: ConsumerMember,
        owned: Assignment | None,
        now_ms: int,
        may_describe: Callable[[str], bool] | None = None,
    ) -> ConsumerMember:
        """Take over what a member says of itself, and bring the group up to date. Returns the member."""
        if member != before:
            draft.add(consumer_records.member(draft.group.group_id, member))
        subscription_changed = (
            member.topic_names != before.topic_names or member.topic_regex != before.topic_regex
        )
        regexes_changed = self._update_regexes(draft, now_ms, may_describe)
        self._update_epoch(draft, subscription_changed or regexes_changed)
        self._update_target(draft, now_ms)
        return self._reconcile(draft, member, owned, subscription_changed, now_ms)

    def _update_regexes(self, draft: Draft, now_ms: int, may_describe: Callable[[str], bool] | None) -> bool:
        """As in Kafka, expressions find the topics that the member which looks them up may describe."""
        group = draft.group
        changed = subscriptions.changed_regexes(
            group, self._topics, self._config.consumer_regex_refresh_interval_ms, now_ms, may_describe
        )
        for expression, regex in changed.items():
            if regex is None:
                draft.add(consumer_records.no_regex(group.group_id, expression))
            else:
                draft.add(consumer_records.regex(group.group_id, expression, regex))
        return bool(changed)

    def _update_epoch(self, draft: Draft, subscriptions_changed: bool) -> None:
        """Begin a new group epoch if subscriptions, or subscribed topics, have changed."""
        group, version = draft.group, self._topics.version()
        if not subscriptions_changed and group.checks.topics_version == version:
            return
        metadata_hash = self._metadata_hash.of(group.subscribed_topics)
        if subscriptions_changed or metadata_hash != group.metadata_hash:
            draft.add(consumer_records.group(group.group_id, group.epoch + 1, metadata_hash))
        else:
            group.checks.topics_version = version
        if group.has_partition_metadata:
            draft.add(consumer_records.no_partition_metadata(group.group_id))

    def is_target_due(self, group: ConsumerGroup, now_ms: int) -> bool:
        """Whether it is time for a new target assignment."""
        interval_ms = self._times_of(group.group_id).assignment_interval_ms
        is_old = group.assignment_epoch < group.epoch
        return is_old and target_assignment.may_be_computed(group, interval_ms, now_ms)

    def _update_target(self, draft: Draft, now_ms: int) -> None:
        group = draft.group
        if self.is_target_due(group, now_ms):
            assignor = ASSIGNORS[group.preferred_assignor(self._config.consumer_assignors)]
            draft.add(*target_assignment.new_target(group, self._topics, assignor, now_ms))

    def _reconcile(
        self,
        draft: Draft,
        member: ConsumerMember,
        owned: Assignment | None,
        subscription_changed: bool,
        now_ms: int,
    ) -> ConsumerMember:
        group = draft.group
        if not subscription_changed and member.is_reconciled_to(group.assignment_epoch):
            return member
        topics = (self._topics.by_name(name) for name in group.topics_of(member))
        target = reconciliation.Target(
            epoch=group.assignment_epoch,
            assignment=group.target.get(member.member_id, {}),
            subscribed={topic.id for topic in topics if topic is not None},
            is_taken=lambda topic_id, partition: (
                group.owners.get((topic_id, partition), member.member_id) != member.member_id
            ),
        )
        after = reconciliation.reconcile(member, target, owned, subscription_changed)
        if after != member:
            draft.add(consumer_records.current_assignment(group.group_id, after))
            if after.state is MemberState.UNREVOKED_PARTITIONS and after.classic is None:
                self._schedule_revocation(group.group_id, after, now_ms)
        return after

    # Members that go

    def _leave(self, request: ConsumerGroupHeartbeatRequest, now_ms: int) -> GroupDecision:
        group = self._consumer_group(request.group_id)
        member = self.present_member(group, request.member_id, request.instance_id)
        response = ConsumerGroupHeartbeatResponse(
            member_id=request.member_id, member_epoch=request.member_epoch
        )
        if request.member_epoch == LEAVE_EPOCH:
            return self.remove(group, [member], now_ms)._replace(response=response)
        # When the member is started again, it will not know at which epochs it got these partitions.
        assigned = {topic_id: dict.fromkeys(each, 0) for topic_id, each in member.assigned.items()}
        absent = replace(member, epoch=LEAVE_STATIC_EPOCH, assigned=assigned, pending_revocation={})
        return Decision(response, [consumer_records.current_assignment(group.group_id, absent)])

    def remove(self, group: ConsumerGroup, members: Collection[ConsumerMember], now_ms: int) -> GroupDecision:
        """Remove members. The next target assignment gives their partitions to the others."""
        if self._downgrade is not None:
            downgraded = self._downgrade(group, members, now_ms)
            if downgraded is not None:
                return downgraded
        draft = Draft(group)
        for member in members:
            draft.add(*_removal(group.group_id, member.member_id))
        for expression in sorted(draft.group.regexes.keys() - draft.group.subscribed_regexes):
            draft.add(consumer_records.no_regex(group.group_id, expression))
        metadata_hash = self._metadata_hash.of(draft.group.subscribed_topics)
        draft.add(consumer_records.group(group.group_id, group.epoch + 1, metadata_hash))
        return Decision(records=draft.records)

    def schedule_session(
        self, group_id: str, member_id: str, now_ms: int, timeout_ms: int | None = None
    ) -> None:
        """The member is alive: start its session again."""
        if timeout_ms is None:
            timeout_ms = self._times_of(group_id).session_timeout_ms
        key = ("consumer session", group_id, member_id)
        action = partial(self._session_expired, group_id, member_id)
        self._timers.schedule(key, now_ms + timeout_ms, action)

    def _session_expired(self, group_id: str, member_id: str, now_ms: int) -> GroupDecision:
        return self._fence(group_id, member_id, None, now_ms)

    def _schedule_revocation(self, group_id: str, member: ConsumerMember, now_ms: int) -> None:
        """Give the member its rebalance timeout to give partitions back."""
        key = ("consumer revocation", group_id, member.member_id)
        action = partial(self._revocation_expired, group_id, member)
        self._timers.schedule(key, now_ms + member.rebalance_timeout_ms, action)

    def _revocation_expired(self, group_id: str, member: ConsumerMember, now_ms: int) -> GroupDecision:
        return self._fence(group_id, member.member_id, member.epoch, now_ms)

    def _fence(self, group_id: str, member_id: str, revoking_epoch: int | None, now_ms: int) -> GroupDecision:
        """Remove a late member; with a `revoking_epoch`, only if it still revokes in that epoch."""
        group = self._groups.get(group_id)
        if not isinstance(group, ConsumerGroup) or member_id not in group.members:
            return NOTHING
        member = group.members[member_id]
        if revoking_epoch is not None and (
            member.epoch != revoking_epoch or member.state is not MemberState.UNREVOKED_PARTITIONS
        ):
            return NOTHING
        return self.remove(group, [member], now_ms)

    # Descriptions

    def describe(self, group_id: str) -> DescribedGroup:
        """A group with its members, for ConsumerGroupDescribe."""
        return described_group(self._consumer_group(group_id), self._topics, self._config.consumer_assignors)

    def _consumer_group(self, group_id: str) -> ConsumerGroup:
        group = self._groups.get(group_id)
        if isinstance(group, ConsumerGroup):
            return group
        raise GroupIdNotFoundError(
            f"Group {group_id} not found." if group is None else f"Group {group_id} is not a consumer group."
        )

    # The log

    def replay(self, record: GroupRecord) -> None:
        """Take over what a record says. Records of classic groups are ignored."""
        key, value = record
        if not isinstance(key, _KEYS):
            return
        group = self._groups.get(key.group_id)
        if isinstance(key, ConsumerGroupMetadataKey) and value is None:
            if isinstance(group, ConsumerGroup):
                del self._groups[key.group_id]
            return
        if not isinstance(group, ConsumerGroup):
            if value is None:
                return  # compaction has removed the records before the tombstone
            group = self._groups[key.group_id] = ConsumerGroup(key.group_id)
        group.replay(key, value)
        self._cancel_timers(key, group)

    def _cancel_timers(self, key: Message, group: ConsumerGroup) -> None:
        if isinstance(key, ConsumerGroupMemberMetadataKey | ConsumerGroupCurrentMemberAssignmentKey):
            member = group.members.get(key.member_id)
            if member is None:
                for timer in ("consumer session", "consumer join", "consumer sync"):
                    self._timers.cancel((timer, group.group_id, key.member_id))
            if member is None or member.state is not MemberState.UNREVOKED_PARTITIONS:
                self._timers.cancel(("consumer revocation", group.group_id, key.member_id))

    def on_loaded(self, now_ms: int) -> None:
        """Start all sessions: members have the time of a session to find the new coordinator."""
        for group in self._groups.values():
            if isinstance(group, ConsumerGroup):
                for member in group.members.values():
                    self.schedule_session(group.group_id, member.member_id, now_ms)
                    if member.state is MemberState.UNREVOKED_PARTITIONS:
                        self._schedule_revocation(group.group_id, member, now_ms)


def _removal(group_id: str, member_id: str) -> tuple[GroupRecord, ...]:
    """The tombstones of a member, in Kafka's order: it does not remove a member that has an assignment."""
    return (
        consumer_records.no_current_assignment(group_id, member_id),
        consumer_records.no_target_assignment(group_id, member_id),
        consumer_records.no_member(group_id, member_id),
    )


def _says_everything(request: ConsumerGroupHeartbeatRequest) -> bool:
    """Whether the request names everything, also what has not changed: the last answer may be lost."""
    return (
        request.rebalance_timeout_ms != -1
        and (request.subscribed_topic_names is not None or request.subscribed_topic_regex is not None)
        and request.topic_partitions is not None
    )


def _topic_partitions(holdings: Holdings) -> list[TopicPartitions]:
    return [TopicPartitions(topic_id, sorted(partitions)) for topic_id, partitions in holdings.items()]
