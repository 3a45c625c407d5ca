"""The input and the output of an assignor.

An assignor is a pure function. It divides the partitions of every topic among the members that subscribe to
the topic, each partition to exactly one member. The order of its input does not matter.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

# Partitions by topic id. A topic without partitions is left out.
Assignment = Mapping[bytes, frozenset[int]]


class AssignorMember(NamedTuple):
    """A member, and its target until now."""

    topics: frozenset[bytes]  # the ids of the existing topics that it subscribes to
    assignment: Assignment
    instance_id: str | None = None


# Takes members by member id, and the number of partitions of each subscribed topic by topic id. Returns the
# new assignment of every member, which may be empty.
Assignor = Callable[[Mapping[str, AssignorMember], Mapping[bytes, int]], dict[str, Assignment]]


def topics_by_subscribers(
    members: Mapping[str, AssignorMember], member_ids: Sequence[str]
) -> dict[tuple[str, ...], list[bytes]]:
    """Group topics by their subscribers, which are in the order of `member_ids`.

    In most groups all members have the same subscription. The loop goes over distinct subscriptions instead
    of members, so that a thousand members with thousands of topics stay cheap.
    """
    ranks: defaultdict[frozenset[bytes], list[int]] = defaultdict(list)
    for rank, member_id in enumerate(member_ids):
        ranks[members[member_id].topics].append(rank)
    subscriptions_of: defaultdict[bytes, list[frozenset[bytes]]] = defaultdict(list)
    for subscription in ranks:
        for topic_id in subscription:
            subscriptions_of[topic_id].append(subscription)
    topics: defaultdict[tuple[frozenset[bytes], ...], list[bytes]] = defaultdict(list)
    for topic_id in sorted(subscriptions_of):
        topics[tuple(subscriptions_of[topic_id])].append(topic_id)
    return {
        tuple(
            member_ids[rank] for rank in sorted(rank for each in subscriptions for rank in ranks[each])
        ): topic_ids
        for subscriptions, topic_ids in topics.items()
    }
