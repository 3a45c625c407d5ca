"""What an assignor is given and what it answers.

An assignor is a pure function. It divides the partitions of every topic that somebody subscribes to among
the members that do, each partition to exactly one of them. The order of its input plays no part.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

# Partitions by topic id; a topic without partitions is left out.
Assignment = Mapping[bytes, frozenset[int]]


class AssignorMember(NamedTuple):
    """A member, and the partitions it should have had until now."""

    topics: frozenset[bytes]  # the ids of the topics it subscribes to, of those that exist
    assignment: Assignment
    instance_id: str | None = None


# From members by member id, and numbers of partitions by topic id (of all topics that members subscribe to),
# to each member's new assignment: there is one for every member, but it may be empty.
Assignor = Callable[[Mapping[str, AssignorMember], Mapping[bytes, int]], dict[str, Assignment]]


def topics_by_subscribers(
    members: Mapping[str, AssignorMember], member_ids: Sequence[str]
) -> dict[tuple[str, ...], list[bytes]]:
    """Put topics with the same subscribers together; subscribers are in the order of `member_ids`.

    Most groups have one subscription for all. Going by distinct subscriptions instead of by members keeps a
    group of a thousand members with thousands of topics cheap.
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
