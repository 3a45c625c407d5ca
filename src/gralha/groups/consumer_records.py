"""The records of a consumer group.

There is one record for the group epoch, one for the epoch of the target assignment, and one for each regular
expression. Each member has three records: its metadata, its target assignment and its current assignment.
"""

from collections.abc import Iterable

from gralha.groups.assignors import Assignment
from gralha.groups.consumer_member import ConsumerMember, Holdings, Regex
from gralha.groups.records import GroupRecord
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
    TopicPartition,
    TopicPartitions,
)


def group(group_id: str, epoch: int, metadata_hash: int) -> GroupRecord:
    value = ConsumerGroupMetadataValue(epoch=epoch, metadata_hash=metadata_hash)
    return GroupRecord(ConsumerGroupMetadataKey(group_id), value)


def no_group(group_id: str) -> GroupRecord:
    return GroupRecord(ConsumerGroupMetadataKey(group_id), None)


def no_partition_metadata(group_id: str) -> GroupRecord:
    return GroupRecord(ConsumerGroupPartitionMetadataKey(group_id), None)


def member(group_id: str, member: ConsumerMember) -> GroupRecord:
    value = ConsumerGroupMemberMetadataValue(
        instance_id=member.instance_id,
        rack_id=member.rack_id,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=sorted(member.topic_names),
        subscribed_topic_regex=member.topic_regex,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        server_assignor=member.assignor,
        classic_member_metadata=member.classic,
    )
    return GroupRecord(ConsumerGroupMemberMetadataKey(group_id, member.member_id), value)


def no_member(group_id: str, member_id: str) -> GroupRecord:
    return GroupRecord(ConsumerGroupMemberMetadataKey(group_id, member_id), None)


def target_assignment_epoch(group_id: str, epoch: int, timestamp_ms: int) -> GroupRecord:
    value = ConsumerGroupTargetAssignmentMetadataValue(
        assignment_epoch=epoch, assignment_timestamp=timestamp_ms
    )
    return GroupRecord(ConsumerGroupTargetAssignmentMetadataKey(group_id), value)


def no_target_assignment_epoch(group_id: str) -> GroupRecord:
    return GroupRecord(ConsumerGroupTargetAssignmentMetadataKey(group_id), None)


def target_assignment(group_id: str, member_id: str, assignment: Assignment) -> GroupRecord:
    value = ConsumerGroupTargetAssignmentMemberValue(
        topic_partitions=[
            TopicPartition(topic_id, sorted(partitions))
            for topic_id, partitions in sorted(assignment.items())
        ]
    )
    return GroupRecord(ConsumerGroupTargetAssignmentMemberKey(group_id, member_id), value)


def no_target_assignment(group_id: str, member_id: str) -> GroupRecord:
    return GroupRecord(ConsumerGroupTargetAssignmentMemberKey(group_id, member_id), None)


def current_assignment(group_id: str, member: ConsumerMember) -> GroupRecord:
    value = ConsumerGroupCurrentMemberAssignmentValue(
        member_epoch=member.epoch,
        previous_member_epoch=member.previous_epoch,
        state=member.state,
        assigned_partitions=_stored_holdings(member.assigned),
        partitions_pending_revocation=_stored_holdings(member.pending_revocation),
    )
    return GroupRecord(ConsumerGroupCurrentMemberAssignmentKey(group_id, member.member_id), value)


def no_current_assignment(group_id: str, member_id: str) -> GroupRecord:
    return GroupRecord(ConsumerGroupCurrentMemberAssignmentKey(group_id, member_id), None)


def regex(group_id: str, expression: str, resolved: Regex) -> GroupRecord:
    value = ConsumerGroupRegularExpressionValue(
        topics=sorted(resolved.topics), version=resolved.version, timestamp=resolved.timestamp_ms
    )
    return GroupRecord(ConsumerGroupRegularExpressionKey(group_id, expression), value)


def no_regex(group_id: str, expression: str) -> GroupRecord:
    return GroupRecord(ConsumerGroupRegularExpressionKey(group_id, expression), None)


def read_target(value: ConsumerGroupTargetAssignmentMemberValue) -> Assignment:
    return {each.topic_id: frozenset(each.partitions) for each in value.topic_partitions}


def read_holdings(stored: Iterable[TopicPartitions], member_epoch: int) -> Holdings:
    """Kafka before 4.3 did not write the epoch of each partition. It was at most the member epoch."""
    holdings: dict[bytes, dict[int, int]] = {}
    for topic in stored:
        epochs = topic.assignment_epochs
        if epochs is None or len(epochs) != len(topic.partitions):
            epochs = [max(member_epoch, 0)] * len(topic.partitions)
        holdings[topic.topic_id] = dict(zip(topic.partitions, epochs, strict=True))
    return holdings


def _stored_holdings(holdings: Holdings) -> list[TopicPartitions]:
    return [
        TopicPartitions(topic_id, list(partitions), list(partitions.values()))
        for topic_id, partitions in holdings.items()
    ]
