"""A consumer group (KIP-848): its members, what they should own, and what they own now.

    group epoch        grows when members, subscriptions or subscribed topics change
    assignment epoch   the group epoch for which the target assignment was computed
    member epoch       the assignment epoch that a member has reached

Members reach their targets one by one, each with its own heartbeats. First a member gives partitions back
that are not in its target. Then it gets partitions that others have given back. `owners` has the present
owner of each partition.

Only `replay` changes a group. Members are immutable.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Final

from gralha.groups import consumer_records
from gralha.groups.assignors import Assignment
from gralha.groups.consumer_member import LEAVE_EPOCH, ConsumerMember, MemberState, Regex
from gralha.groups.group import Group, GroupType
from gralha.groups.records import GroupRecord
from gralha.protocol.errors import (
    IllegalGenerationError,
    KafkaError,
    NonEmptyGroupError,
    StaleMemberEpochError,
    UnknownMemberIdError,
    UnsupportedVersionError,
)
from gralha.protocol.message import Message
from gralha.protocol.messages.group_records import (
    ConsumerGroupCurrentMemberAssignmentKey,
    ConsumerGroupCurrentMemberAssignmentValue,
    ConsumerGroupMemberMetadataKey,
    ConsumerGroupMemberMetadataValue,
    ConsumerGroupMetadataKey,
    ConsumerGroupMetadataValue,
    ConsumerGroupPartitionMetadataKey,
    ConsumerGroupRegularExpressionKey,
    ConsumerGroupRegularExpressionValue,
    ConsumerGroupTargetAssignmentMemberKey,
    ConsumerGroupTargetAssignmentMemberValue,
    ConsumerGroupTargetAssignmentMetadataKey,
    ConsumerGroupTargetAssignmentMetadataValue,
)

# The first version of OffsetCommit with a member epoch.
_COMMIT_BY_MEMBER_EPOCH: Final = 9
# The epoch of a group without a target assignment. The first assignment has a greater epoch.
_FIRST_EPOCH: Final = 1


class GroupState(Enum):
    """The value is Kafka's name."""

    EMPTY = "Empty"
    ASSIGNING = "Assigning"
    RECONCILING = "Reconciling"
    STABLE = "Stable"


@dataclass(slots=True)
class Checks:
    """When the group was last compared with the topics, and was up to date. No record has this."""

    topics_version: int | None = None
    regexes_version: int | None = None
    regexes_checked_ms: int = 0


class ConsumerGroup(Group):
    type = GroupType.CONSUMER

    def __init__(self, group_id: str) -> None:
        self.group_id = group_id
        self.epoch = _FIRST_EPOCH
        self.metadata_hash = 0
        self.assignment_epoch = _FIRST_EPOCH
        self.assignment_timestamp_ms = 0
        self.members: dict[str, ConsumerMember] = {}
        self.static_members: dict[str, str] = {}  # member ids by instance ids
        self.target: dict[str, Assignment] = {}
        self.owners: dict[tuple[bytes, int], str] = {}  # member ids by topic id and partition
        self.regexes: dict[str, Regex] = {}
        self.has_partition_metadata = False  # a record of Kafka 4.0, to be removed
        self.checks = Checks()
        self._subscribed_topics: frozenset[str] | None = None
        self._subscribed_regexes: frozenset[str] | None = None

    def copy(self) -> "ConsumerGroup":
        """A copy that can change by itself, except for `checks`, which both share."""
        copy = ConsumerGroup(self.group_id)
        copy.__dict__.update(self.__dict__)
        copy.members = self.members.copy()
        copy.static_members = self.static_members.copy()
        copy.target = self.target.copy()
        copy.owners = self.owners.copy()
        copy.regexes = self.regexes.copy()
        return copy

    # The state of the group

    @property
    def state(self) -> GroupState:
        if not self.members:
            return GroupState.EMPTY
        if self.epoch > self.assignment_epoch:
            return GroupState.ASSIGNING
        if all(member.is_reconciled_to(self.assignment_epoch) for member in self.members.values()):
            return GroupState.STABLE
        return GroupState.RECONCILING

    @property
    def state_name(self) -> str:
        return self.state.value

    @property
    def protocol_type(self) -> str:
        return "consumer"

    @property
    def is_empty(self) -> bool:
        return not self.members

    @property
    def subscribed_regexes(self) -> frozenset[str]:
        """The regular expressions that members subscribe with."""
        if self._subscribed_regexes is None:
            regexes = {member.topic_regex for member in self.members.values()}
            self._subscribed_regexes = frozenset(regexes - {""})
        return self._subscribed_regexes

    @property
    def subscribed_topics(self) -> frozenset[str]:
        """The names of the topics that members subscribe to. Some may not exist."""
        if self._subscribed_topics is None:
            names = {member.topic_names for member in self.members.values()}
            self._subscribed_topics = frozenset().union(
                *names, *(regex.topics for regex in self.regexes.values())
            )
        return self._subscribed_topics

    def topics_of(self, member: ConsumerMember) -> frozenset[str]:
        """The names of the topics that a member subscribes to, by name or by regular expression."""
        regex = self.regexes.get(member.topic_regex)
        return member.topic_names if regex is None else member.topic_names | regex.topics

    def member(self, member_id: str) -> ConsumerMember:
        """A member. Raises UNKNOWN_MEMBER_ID."""
        member = self.members.get(member_id)
        if member is None:
            raise UnknownMemberIdError(f"Member {member_id} is not a member of group {self.group_id}.")
        return member

    def static_member(self, instance_id: str) -> ConsumerMember | None:
        """The member with an instance id."""
        member_id = self.static_members.get(instance_id)
        return None if member_id is None else self.members.get(member_id)

    def preferred_assignor(self, supported: Sequence[str]) -> str:
        """The assignor that most members ask for; the first one if no member asks for any."""
        votes = Counter(member.assignor for member in self.members.values())
        return max(supported, key=lambda name: votes[name])

    # The group as offsets, listings and deletions see it

    def check_offset_commit(
        self,
        member_id: str,
        instance_id: str | None,
        member_epoch: int,
        is_transactional: bool,
        api_version: int,
    ) -> Callable[[str, bytes, int], None] | None:
        """A member may commit with an older epoch if it has owned the partition since then (KIP-1251)."""
        if member_epoch < 0 and not self.members:
            return None  # from an admin client, or a consumer that assigns partitions to itself
        if is_transactional and (member_id, instance_id, member_epoch) == ("", None, -1):
            return None  # from a producer that does not fence zombies (before KIP-447)
        member = self.member(member_id)
        if not is_transactional and member.classic is None and api_version < _COMMIT_BY_MEMBER_EPOCH:
            raise UnsupportedVersionError(
                f"Members of consumer groups need version {_COMMIT_BY_MEMBER_EPOCH} or later of OffsetCommit."
            )
        if member_epoch == member.epoch:
            return None
        if member_epoch > member.epoch:
            raise _stale(member, f"The epoch {member_epoch} is newer than the member's epoch {member.epoch}.")

        def check_partition(topic: str, topic_id: bytes, partition: int) -> None:
            epoch = member.assignment_epoch(topic_id, partition)
            if epoch is None:
                raise _stale(member, f"The member does not have partition {topic}-{partition}.")
            if member_epoch < epoch:
                raise _stale(
                    member,
                    f"The epoch {member_epoch} is older than the epoch {epoch} "
                    f"at which the member got partition {topic}-{partition}.",
                )

        return check_partition

    def check_offset_fetch(self, member_id: str | None, member_epoch: int) -> None:
        """Anyone may read the offsets, but a member has to know its epoch."""
        if member_id is None and member_epoch < 0:
            return
        member = self.member(member_id or "")
        if member_epoch != member.epoch:
            raise _stale(member, f"The epoch {member_epoch} is not the member's epoch {member.epoch}.")

    def check_offset_delete(self) -> None:
        """Offsets can always be deleted, except for those of subscribed topics."""

    def check_delete(self) -> None:
        if self.members:
            raise NonEmptyGroupError

    def is_subscribed_to(self, topic: str) -> bool:
        return topic in self.subscribed_topics

    def offsets_expire_from_ms(self, commit_timestamp_ms: int) -> int | None:
        return commit_timestamp_ms

    def tombstones(self) -> list[GroupRecord]:
        """In Kafka's order: it does not remove a group before its parts."""
        member_ids = sorted(self.members.keys() | self.target.keys())
        return [
            *(consumer_records.no_current_assignment(self.group_id, each) for each in member_ids),
            *(consumer_records.no_target_assignment(self.group_id, each) for each in member_ids),
            consumer_records.no_target_assignment_epoch(self.group_id),
            *(consumer_records.no_member(self.group_id, each) for each in member_ids),
            *(consumer_records.no_regex(self.group_id, regex) for regex in sorted(self.regexes)),
            consumer_records.no_partition_metadata(self.group_id),
            consumer_records.no_group(self.group_id),
        ]

    # The log

    def replay(self, key: Message, value: Message | None) -> None:
        """Take over what a record says. Compaction may have removed the records before it.

        ConsumerProtocol replays the tombstone of the group itself.
        """
        match key:
            case ConsumerGroupMetadataKey():
                if isinstance(value, ConsumerGroupMetadataValue):
                    self.epoch, self.metadata_hash = value.epoch, value.metadata_hash
            case ConsumerGroupPartitionMetadataKey():
                self.has_partition_metadata = value is not None
            case ConsumerGroupMemberMetadataKey():
                self._replay_member(key.member_id, value)
            case ConsumerGroupTargetAssignmentMetadataKey():
                self._replay_target_epoch(value)
            case ConsumerGroupTargetAssignmentMemberKey():
                if isinstance(value, ConsumerGroupTargetAssignmentMemberValue):
                    self.target[key.member_id] = consumer_records.read_target(value)
                else:
                    self.target.pop(key.member_id, None)
            case ConsumerGroupCurrentMemberAssignmentKey():
                self._replay_current_assignment(key.member_id, value)
            case ConsumerGroupRegularExpressionKey():
                self._replay_regex(key.regular_expression, value)

    def _replay_member(self, member_id: str, value: Message | None) -> None:
        if not isinstance(value, ConsumerGroupMemberMetadataValue):
            self._put(member_id, None)
            return
        member = self.members.get(member_id) or ConsumerMember(member_id)
        member = replace(
            member,
            instance_id=value.instance_id,
            rack_id=value.rack_id,
            client_id=value.client_id,
            client_host=value.client_host,
            rebalance_timeout_ms=value.rebalance_timeout_ms,
            topic_names=frozenset(value.subscribed_topic_names),
            topic_regex=value.subscribed_topic_regex or "",
            assignor=value.server_assignor,
            classic=value.classic_member_metadata,
        )
        self._put(member_id, member)

    def _replay_current_assignment(self, member_id: str, value: Message | None) -> None:
        member = self.members.get(member_id)
        if isinstance(value, ConsumerGroupCurrentMemberAssignmentValue):
            member = replace(
                member or ConsumerMember(member_id),
                epoch=value.member_epoch,
                previous_epoch=value.previous_member_epoch,
                state=MemberState(value.state),
                assigned=consumer_records.read_holdings(value.assigned_partitions, value.member_epoch),
                pending_revocation=consumer_records.read_holdings(
                    value.partitions_pending_revocation, value.member_epoch
                ),
            )
        elif member is not None:
            member = replace(
                member,
                epoch=LEAVE_EPOCH,
                previous_epoch=LEAVE_EPOCH,
                assigned={},
                pending_revocation={},
            )
        self._put(member_id, member)

    def _replay_target_epoch(self, value: Message | None) -> None:
        if isinstance(value, ConsumerGroupTargetAssignmentMetadataValue):
            self.assignment_epoch = value.assignment_epoch
            self.assignment_timestamp_ms = value.assignment_timestamp
        else:
            self.assignment_epoch, self.assignment_timestamp_ms = -1, 0

    def _replay_regex(self, regex: str, value: Message | None) -> None:
        if isinstance(value, ConsumerGroupRegularExpressionValue):
            self.regexes[regex] = Regex(frozenset(value.topics), value.version, value.timestamp)
        else:
            self.regexes.pop(regex, None)
        self._subscribed_topics = None

    def _put(self, member_id: str, member: ConsumerMember | None) -> None:
        """Replace, add or remove a member, and update everything that is derived from members."""
        before = self.members.pop(member_id, None)
        if before is not None:
            # Compaction may remove the record in which the old owner gives a partition back. Then the new
            # owner comes first.
            for partition in before.partitions():
                if self.owners.get(partition) == member_id:
                    del self.owners[partition]
            if before.instance_id is not None and self.static_members.get(before.instance_id) == member_id:
                del self.static_members[before.instance_id]
        if member is not None:
            self.members[member_id] = member
            self.owners.update(dict.fromkeys(member.partitions(), member_id))
            if member.instance_id is not None:
                self.static_members[member.instance_id] = member_id
        if _subscription(before) != _subscription(member):
            self._subscribed_topics = self._subscribed_regexes = None


def _subscription(member: ConsumerMember | None) -> tuple[frozenset[str], str]:
    return (frozenset(), "") if member is None else (member.topic_names, member.topic_regex)


def _stale(member: ConsumerMember, message: str) -> KafkaError:
    """The error for a wrong epoch. A member of the classic protocol knows only ILLEGAL_GENERATION."""
    return StaleMemberEpochError(message) if member.classic is None else IllegalGenerationError(message)
