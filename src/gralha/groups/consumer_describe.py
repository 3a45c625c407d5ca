"""A consumer group as ConsumerGroupDescribe shows it."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from gralha.groups.consumer_group import ConsumerGroup
from gralha.groups.consumer_member import ConsumerMember
from gralha.groups.topics import Topics
from gralha.protocol.messages.consumer_group_describe import (
    Assignment,
    DescribedGroup,
    Member,
    TopicPartitions,
)

_CLASSIC_MEMBER: Final = 0
_CONSUMER_MEMBER: Final = 1


def described_group(group: ConsumerGroup, topics: Topics, assignors: Sequence[str]) -> DescribedGroup:
    return DescribedGroup(
        group_id=group.group_id,
        group_state=group.state_name,
        group_epoch=group.epoch,
        assignment_epoch=group.assignment_epoch,
        assignor_name=group.preferred_assignor(assignors),
        members=[_described_member(member, group, topics) for member in group.members.values()],
    )


def _described_member(member: ConsumerMember, group: ConsumerGroup, topics: Topics) -> Member:
    # A member owns partitions until it says that it has given them back.
    current: dict[bytes, set[int]] = {}
    for topic_id, partition in member.partitions():
        current.setdefault(topic_id, set()).add(partition)
    return Member(
        member_id=member.member_id,
        instance_id=member.instance_id,
        rack_id=member.rack_id,
        member_epoch=member.epoch,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=sorted(member.topic_names),
        subscribed_topic_regex=member.topic_regex,
        assignment=_assignment(current, topics),
        target_assignment=_assignment(group.target.get(member.member_id, {}), topics),
        member_type=_CONSUMER_MEMBER if member.classic is None else _CLASSIC_MEMBER,
    )


def _assignment(partitions_by_topic: Mapping[bytes, Iterable[int]], topics: Topics) -> Assignment:
    """The partitions of topics that still exist. The names of other topics are not known."""
    described = []
    for topic_id, partitions in partitions_by_topic.items():
        topic = topics.by_id(topic_id)
        if topic is not None:
            described.append(TopicPartitions(topic_id, topic.name, sorted(partitions)))
    return Assignment(topic_partitions=described)
