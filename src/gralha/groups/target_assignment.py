"""The target assignment of a consumer group: runs an assignor and writes the targets that have changed."""

from collections.abc import Iterator

from gralha.groups import consumer_records
from gralha.groups.assignors import Assignment, Assignor, AssignorMember
from gralha.groups.consumer_group import ConsumerGroup
from gralha.groups.records import GroupRecord
from gralha.groups.topics import Topics


def may_be_computed(group: ConsumerGroup, interval_ms: int, now_ms: int) -> bool:
    """Whether the last target is old enough. One target serves many members that come and go (KIP-1263).

    If the clock was set back, the group does not wait for it to catch up.
    """
    last_ms = group.assignment_timestamp_ms
    return last_ms == 0 or not last_ms <= now_ms < last_ms + interval_ms


def new_target(
    group: ConsumerGroup, topics: Topics, assignor: Assignor, now_ms: int
) -> Iterator[GroupRecord]:
    """The records of a new target assignment for the group's present epoch."""
    assignments = _assign(group, topics, assignor)
    for member_id, assignment in assignments.items():
        if group.target.get(member_id) != assignment:
            yield consumer_records.target_assignment(group.group_id, member_id, assignment)
    yield consumer_records.target_assignment_epoch(group.group_id, group.epoch, now_ms)


def _assign(group: ConsumerGroup, topics: Topics, assignor: Assignor) -> dict[str, Assignment]:
    found = (topics.by_name(name) for name in group.subscribed_topics)
    existing = {topic.name: topic for topic in found if topic is not None}
    subscriptions: dict[frozenset[str], frozenset[bytes]] = {}  # most members have the same subscription
    members: dict[str, AssignorMember] = {}
    for member_id, member in group.members.items():
        names = group.topics_of(member)
        if names not in subscriptions:
            subscriptions[names] = frozenset(existing[name].id for name in names if name in existing)
        members[member_id] = AssignorMember(
            subscriptions[names], group.target.get(member_id, {}), member.instance_id
        )
    return assignor(members, {topic.id: topic.partition_count for topic in existing.values()})
