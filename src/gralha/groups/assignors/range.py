"""The assignor "range": each subscriber gets a contiguous range of each topic, in one order for all topics.

Topics with the same subscribers and the same number of partitions are divided in the same way, so that a
member gets the same partitions of each (co-partitioning, which joins of streams need). Static members come
first, in the order of their instance ids, because instance ids survive a restart and member ids do not.
"""

from collections.abc import Mapping

from gralha.groups.assignors.spec import Assignment, AssignorMember, topics_by_subscribers


def assign(
    members: Mapping[str, AssignorMember], partition_counts: Mapping[bytes, int]
) -> dict[str, Assignment]:
    """Divide the partitions. Former assignments do not matter."""

    def place(member_id: str) -> tuple[bool, str]:
        instance_id = members[member_id].instance_id
        return (True, member_id) if instance_id is None else (False, instance_id)

    assignments: dict[str, dict[bytes, frozenset[int]]] = {member_id: {} for member_id in members}
    for subscribers, topic_ids in topics_by_subscribers(members, sorted(members, key=place)).items():
        for topic_id in topic_ids:
            ranges = divide(partition_counts[topic_id], len(subscribers))
            # zip ends with the shorter list: the last subscribers of a small topic get no partition.
            for member_id, partitions in zip(subscribers, ranges, strict=False):
                assignments[member_id][topic_id] = frozenset(partitions)
    return dict(assignments)


def divide(partition_count: int, member_count: int) -> list[range]:
    """Ranges of about the same length, the longer ones first. None is empty."""
    quota, extra = divmod(partition_count, member_count)
    longer = [range(start, start + quota + 1) for start in range(0, extra * (quota + 1), quota + 1)]
    if quota == 0:
        return longer
    return longer + [
        range(start, start + quota) for start in range(extra * (quota + 1), partition_count, quota)
    ]
