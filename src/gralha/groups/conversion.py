"""A classic group becomes a consumer group, and the other way round, while members are in it (KIP-848).

Upgrade: the first member of the consumer protocol comes to a classic group of consumers. The others stay
members under their ids, with the partitions that they have; they go on to speak the classic protocol (see
classic_members.py), until each is started again with the new one.

Downgrade: the last member of the consumer protocol goes, and those who are left speak the classic protocol.
They keep what they have and rebalance among themselves.

Either way the old group's tombstones and the new group's records are one batch. A member's generation in a
classic group is its member epoch in a consumer group, and goes on from there.
"""

from collections.abc import Callable, Collection, Iterable
from typing import Final

from gralha.coordination.decision import Decision
from gralha.groups import consumer_records
from gralha.groups.classic_group import ClassicGroup
from gralha.groups.classic_member import ClassicMember
from gralha.groups.classic_rebalance import ClassicRebalance
from gralha.groups.classic_records import turned_group_record
from gralha.groups.config import GroupsConfig
from gralha.groups.consumer_group import ConsumerGroup
from gralha.groups.consumer_member import ConsumerMember, Holdings
from gralha.groups.consumer_protocol import (
    CONSUMER_PROTOCOL_TYPE,
    protocol_version,
    read_assignment,
    read_subscription,
    write_assignment,
)
from gralha.groups.group import Group
from gralha.groups.records import GroupDecision, GroupRecord
from gralha.groups.subscriptions import MetadataHash
from gralha.groups.topics import Topics
from gralha.protocol.errors import GroupIdNotFoundError
from gralha.protocol.messages.consumer_protocol import ConsumerProtocolAssignment, TopicPartition
from gralha.protocol.messages.group_records import ClassicMemberMetadata, ClassicProtocol
from gralha.protocol.primitives import ProtocolError

# A consumer group's epochs begin after 0, the epoch of a member that joins.
FIRST_EPOCH: Final = 1
# Assignors of clients that need nothing but partitions. Apache Kafka refuses an upgrade if an assignor hands
# out data of its own; but librdkafka's cooperative-sticky does that, though nobody reads it.
USUAL_ASSIGNORS: Final = frozenset({"range", "roundrobin", "sticky", "cooperative-sticky"})


class Conversion:
    def __init__(
        self,
        groups: dict[str, Group],
        config: GroupsConfig,
        topics: Topics,
        rebalance: ClassicRebalance,
    ) -> None:
        self._groups = groups
        self._config = config
        self._topics = topics
        self._rebalance = rebalance
        self._metadata_hash = MetadataHash(topics)

    # Upgrade

    def upgrade(self, group: Group) -> list[GroupRecord]:
        """What makes the members of a classic group the members of a consumer group, if that may be."""
        if not isinstance(group, ClassicGroup):
            raise GroupIdNotFoundError(f"Group {group.group_id} is not a classic group.")
        if not self._config.consumer_migration_policy.allows_upgrade:
            raise _cannot_upgrade(group, "group.consumer.migration.policy does not allow it")
        if not group.is_of_consumers:
            raise _cannot_upgrade(group, "its members are not consumers")
        if len(group.members) > self._config.consumer_max_size:
            raise _cannot_upgrade(group, "it has more members than a consumer group may have")
        try:
            members = [_as_consumer(group, member, self._topics) for member in group.members.values()]
        except ProtocolError:
            raise _cannot_upgrade(
                group, "what its members say of their subscriptions cannot be read"
            ) from None
        return [*group.tombstones(), *self._records(group, members)]

    def _records(self, group: ClassicGroup, members: list[ConsumerMember]) -> Iterable[GroupRecord]:
        group_id, epoch = group.group_id, epoch_of(group)
        names = {name for member in members for name in member.topic_names}
        # What they have is their target. In the middle of a rebalance that is not everything: the group then
        # begins with a newer epoch than its target assignment has, so that the next one is made at once.
        group_epoch = epoch if self._is_complete(members, names) else epoch + 1
        for member in members:
            yield consumer_records.member(group_id, member)
        yield consumer_records.group(group_id, group_epoch, self._metadata_hash.of(names))
        for member in members:
            yield consumer_records.target_assignment(group_id, member.member_id, _partitions(member.assigned))
        yield consumer_records.target_assignment_epoch(group_id, epoch, 0)
        for member in members:
            yield consumer_records.current_assignment(group_id, member)

    def _is_complete(self, members: list[ConsumerMember], names: Collection[str]) -> bool:
        """Has every partition of their topics an owner?"""
        held = {partition for member in members for partition in member.partitions()}
        topics = [topic for topic in map(self._topics.by_name, names) if topic is not None]
        return all((topic.id, number) in held for topic in topics for number in range(topic.partition_count))

    # Downgrade

    def downgrade(
        self, group: ConsumerGroup, leaving: Collection[ConsumerMember], now_ms: int
    ) -> GroupDecision | None:
        """Members leave: if the others can go on as a classic group, that is what they do."""
        gone = {member.member_id for member in leaving}
        staying = [member for member in group.members.values() if member.member_id not in gone]
        if not self.can_be_classic(staying):
            return None
        return self.turn(group, staying, now_ms, must_rebalance=True)

    def can_be_classic(self, members: Collection[ConsumerMember]) -> bool:
        """Can these members go on as a classic group?"""
        return (
            self._config.consumer_migration_policy.allows_downgrade
            and 0 < len(members) <= self._config.group_max_size
            and all(member.classic is not None for member in members)
        )

    def turn(
        self,
        group: ConsumerGroup,
        members: Iterable[ConsumerMember],
        now_ms: int,
        must_rebalance: bool,
        on_turned: Callable[[ClassicGroup], None] | None = None,
    ) -> GroupDecision:
        """Put a classic group of these members in the place of a consumer group.

        Apache Kafka gives the members what they should have. Another member may still hold some of that, so
        here they are given what they hold: it counts if the group is upgraded before it has rebalanced.
        """
        classic = [_as_classic(member, self._topics) for member in members]
        record = turned_group_record(
            group.group_id, group.epoch, CONSUMER_PROTOCOL_TYPE, classic, must_rebalance, now_ms
        )

        def then() -> None:
            turned = self._groups[group.group_id]
            assert isinstance(turned, ClassicGroup)
            for member in classic:
                # The record has only one of its protocols.
                turned.update(
                    turned.members[member.member_id],
                    member.protocols,
                    member.rebalance_timeout_ms,
                    member.session_timeout_ms,
                )
                self._rebalance.start_session(turned, member, now_ms)
            if on_turned is not None:
                on_turned(turned)
            if must_rebalance:
                self._rebalance.prepare(turned, now_ms)

        return Decision(records=[*group.tombstones(), record], then=then)


def epoch_of(group: ClassicGroup) -> int:
    """The epoch that a classic group's members begin with in a consumer group."""
    return max(group.generation, FIRST_EPOCH)


def _cannot_upgrade(group: ClassicGroup, reason: str) -> GroupIdNotFoundError:
    return GroupIdNotFoundError(
        f"The classic group {group.group_id} cannot become a consumer group: {reason}."
    )


# Members


def _as_consumer(group: ClassicGroup, member: ClassicMember, topics: Topics) -> ConsumerMember:
    protocols = [ClassicProtocol(name, metadata) for name, metadata in member.protocols.items()]
    # In the first rebalance no protocol is chosen yet, and in a later one members may bring others.
    metadata = member.protocols.get(group.protocol_name or "", protocols[0].metadata)
    subscription = read_subscription(metadata)
    held = read_assignment(member.assignment) if member.assignment else ConsumerProtocolAssignment()
    if held.user_data and group.protocol_name not in USUAL_ASSIGNORS:
        reason = (
            "its assignor hands out data of its own, which would be lost; change to another assignor first"
        )
        raise _cannot_upgrade(group, reason)
    epoch = epoch_of(group)
    return ConsumerMember(
        member_id=member.member_id,
        instance_id=member.instance_id,
        rack_id=subscription.rack_id,
        client_id=member.client_id,
        client_host=member.client_host,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        topic_names=frozenset(subscription.topics),
        classic=ClassicMemberMetadata(member.session_timeout_ms, protocols),
        epoch=epoch,
        previous_epoch=epoch,
        assigned={
            topic_id: dict.fromkeys(sorted(partitions), epoch)
            for topic_id, partitions in partitions_by_id(held.assigned_partitions, topics).items()
        },
    )


def _as_classic(member: ConsumerMember, topics: Topics) -> ClassicMember:
    assert member.classic is not None, "a member of the consumer protocol cannot be in a classic group"
    return ClassicMember(
        member_id=member.member_id,
        instance_id=member.instance_id,
        client_id=member.client_id,
        client_host=member.client_host,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        session_timeout_ms=member.classic.session_timeout_ms,
        protocols={protocol.name: protocol.metadata for protocol in member.classic.supported_protocols},
        assignment=assignment_bytes(member, member.partitions(), topics),
    )


# The bytes that classic members understand


def assignment_bytes(
    member: ConsumerMember, partitions: Iterable[tuple[bytes, int]], topics: Topics
) -> bytes:
    """An assignment in the version of the consumer protocol that a classic member speaks."""
    assert member.classic is not None
    numbers: dict[str, list[int]] = {}
    for topic_id, partition in sorted(partitions):
        topic = topics.by_id(topic_id)
        if topic is not None:
            numbers.setdefault(topic.name, []).append(partition)
    named = [TopicPartition(topic, each) for topic, each in sorted(numbers.items())]
    return write_assignment(
        ConsumerProtocolAssignment(assigned_partitions=named), _version_of(member.classic)
    )


def _version_of(classic: ClassicMemberMetadata) -> int:
    """Only one of a member's protocols has been looked into, and it need not be the first."""
    try:
        return protocol_version(classic.supported_protocols[0].metadata)
    except ProtocolError:
        return 0  # which all versions understand


def partitions_by_id(named: Iterable[TopicPartition], topics: Topics) -> dict[bytes, frozenset[int]]:
    """Partitions by topic id instead of name, as far as there are such topics."""
    found: dict[bytes, frozenset[int]] = {}
    for each in named:
        topic = topics.by_name(each.topic)
        if topic is not None:
            found[topic.id] = found.get(topic.id, frozenset()).union(each.partitions)
    return found


def _partitions(holdings: Holdings) -> dict[bytes, frozenset[int]]:
    return {topic_id: frozenset(partitions) for topic_id, partitions in holdings.items()}
