"""A classic group with members becomes a consumer group, and the other way round (KIP-848).

Upgrade: the first member of the consumer protocol joins a classic group of consumers. The other members keep
their ids and their partitions. They go on with the classic protocol (see classic_members.py) until each is
started again with the new one.

Downgrade: the last member of the consumer protocol goes, and the others speak the classic protocol. They keep
their partitions and rebalance.

Either way the old group's tombstones and the new group's records are one batch. The generation of a classic
group is the member epoch in a consumer group. It goes on counting.
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

# The epoch 0 means that a member joins, so a consumer group's epochs begin with 1.
FIRST_EPOCH: Final = 1
# Assignors that need nothing but partitions. Apache Kafka refuses an upgrade if assignments have user data.
# The assignments of librdkafka's cooperative-sticky do, but no client reads it.
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
        """The records that turn a classic group into a consumer group, or GROUP_ID_NOT_FOUND."""
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
            raise _cannot_upgrade(group, "the subscriptions of its members cannot be read") from None
        return [*group.tombstones(), *self._records(group, members)]

    def _records(self, group: ClassicGroup, members: list[ConsumerMember]) -> Iterable[GroupRecord]:
        group_id, epoch = group.group_id, epoch_of(group)
        names = {name for member in members for name in member.topic_names}
        # The target of each member is what it owns. In the middle of a rebalance some partitions have no
        # owner. Then the group epoch is newer than the target assignment's, so that the next target is due at
        # once.
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
        """Whether every partition of the topics has an owner."""
        held = {partition for member in members for partition in member.partitions()}
        topics = [topic for topic in map(self._topics.by_name, names) if topic is not None]
        return all((topic.id, number) in held for topic in topics for number in range(topic.partition_count))

    # Downgrade

    def downgrade(
        self, group: ConsumerGroup, leaving: Collection[ConsumerMember], now_ms: int
    ) -> GroupDecision | None:
        """Members leave. If the others can go on as a classic group, turn the group into one."""
        gone = {member.member_id for member in leaving}
        staying = [member for member in group.members.values() if member.member_id not in gone]
        if not self.can_be_classic(staying):
            return None
        return self.turn(group, staying, now_ms, must_rebalance=True)

    def can_be_classic(self, members: Collection[ConsumerMember]) -> bool:
        """Whether these members can go on as a classic group."""
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
        """Turn a consumer group into a classic group of these members.

        Apache Kafka assigns their targets to the members. Other members may still own some of these
        partitions, so here members are assigned what they own. That counts if the group is upgraded before it
        rebalances.
        """
        classic = [_as_classic(member, self._topics) for member in members]
        record = turned_group_record(
            group.group_id, group.epoch, CONSUMER_PROTOCOL_TYPE, classic, must_rebalance, now_ms
        )

        def then() -> None:
            turned = self._groups[group.group_id]
            assert isinstance(turned, ClassicGroup)
            for member in classic:
                # The record has one protocol only.
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
    """The epoch at which the members of a classic group begin in a consumer group."""
    return max(group.generation, FIRST_EPOCH)


def _cannot_upgrade(group: ClassicGroup, reason: str) -> GroupIdNotFoundError:
    return GroupIdNotFoundError(
        f"The classic group {group.group_id} cannot become a consumer group: {reason}."
    )


# Members


def _as_consumer(group: ClassicGroup, member: ClassicMember, topics: Topics) -> ConsumerMember:
    protocols = [ClassicProtocol(name, metadata) for name, metadata in member.protocols.items()]
    # Before the first generation no protocol is chosen, and in a rebalance members may bring others.
    metadata = member.protocols.get(group.protocol_name or "", protocols[0].metadata)
    subscription = read_subscription(metadata)
    held = read_assignment(member.assignment) if member.assignment else ConsumerProtocolAssignment()
    if held.user_data and group.protocol_name not in USUAL_ASSIGNORS:
        reason = "its assignments have user data, which would be lost; change to another assignor first"
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
    assert member.classic is not None, "only a member of the classic protocol can be in a classic group"
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


# The bytes that classic members read


def assignment_bytes(
    member: ConsumerMember, partitions: Iterable[tuple[bytes, int]], topics: Topics
) -> bytes:
    """An assignment in the version of the consumer protocol that a classic member uses."""
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
    """The version of a member's first protocol. Its bytes may be malformed: nobody has read them yet."""
    try:
        return protocol_version(classic.supported_protocols[0].metadata)
    except ProtocolError:
        return 0  # all clients read this version


def partitions_by_id(named: Iterable[TopicPartition], topics: Topics) -> dict[bytes, frozenset[int]]:
    """Partitions by topic id instead of topic name. Topics that do not exist are left out."""
    found: dict[bytes, frozenset[int]] = {}
    for each in named:
        topic = topics.by_name(each.topic)
        if topic is not None:
            found[topic.id] = found.get(topic.id, frozenset()).union(each.partitions)
    return found


def _partitions(holdings: Holdings) -> dict[bytes, frozenset[int]]:
    return {topic_id: frozenset(partitions) for topic_id, partitions in holdings.items()}
