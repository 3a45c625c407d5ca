"""The assignor "uniform": all members have about the same number of partitions, and few partitions move.

1. Members keep their partitions of topics that they subscribe to.
2. A partition without an owner goes to the subscriber with the fewest partitions.
3. While a subscriber has at least two partitions more than another, one of them moves.

If all members have the same subscription, the sizes differ by at most one in the end, and no assignment with
such sizes needs fewer moves. With different subscriptions, no single move would make the sizes more equal in
the end. Topics with the same subscribers are balanced together, as if they were one topic.
"""

import heapq
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Final

from gralha.groups.assignors.spec import Assignment, AssignorMember, topics_by_subscribers

Partition = tuple[bytes, int]

# Every move makes the sizes more equal, so the moves end. But if each member shares a topic with the next
# one, in a long chain, that can take long. Apache Kafka stops after as many rounds.
MAX_ROUNDS: Final = 16


def assign(
    members: Mapping[str, AssignorMember], partition_counts: Mapping[bytes, int]
) -> dict[str, Assignment]:
    """Divide the partitions, starting with the present assignments."""
    sizes = dict.fromkeys(sorted(members), 0)
    pools = [
        _Pool(subscribers, topic_ids, partition_counts, sizes)
        for subscribers, topic_ids in topics_by_subscribers(members, list(sizes)).items()
    ]
    _keep_owned(members, sizes, pools)
    # Partitions with few possible owners go first, so that the others can make up for it.
    pools.sort(key=lambda pool: (-pool.partition_count / len(pool.subscribers), len(pool.subscribers)))
    for pool in pools:
        pool.assign_unowned()
    for _ in range(MAX_ROUNDS):
        if not sum(pool.balance() for pool in pools):
            break
    return _assignments(list(members), pools)


class _Pool:
    """The partitions of all topics with the same subscribers, and their owners.

    All pools share `sizes`, the number of partitions that each member has altogether.
    """

    def __init__(
        self,
        subscribers: tuple[str, ...],
        topic_ids: list[bytes],
        partition_counts: Mapping[bytes, int],
        sizes: dict[str, int],
    ) -> None:
        self.subscribers = subscribers
        self.topic_ids = topic_ids
        self.sizes = sizes
        self.owned: dict[str, list[Partition]] = {member_id: [] for member_id in subscribers}
        self.unowned = {
            (topic_id, number) for topic_id in topic_ids for number in range(partition_counts[topic_id])
        }
        self.partition_count = len(self.unowned)

    def keep(self, member_id: str, partitions: list[Partition]) -> None:
        """Let a member keep partitions without an owner. A classic leader may assign a partition twice."""
        kept = self.unowned.intersection(partitions)
        self.unowned -= kept
        self.owned[member_id] += sorted(kept)
        self.sizes[member_id] += len(kept)

    def assign_unowned(self) -> None:
        """Give each partition without an owner to the subscriber with the fewest partitions."""
        lightest = [(self.sizes[member_id], member_id) for member_id in self.subscribers]
        heapq.heapify(lightest)
        for partition in sorted(self.unowned):
            size, member_id = lightest[0]
            self.owned[member_id].append(partition)
            self.sizes[member_id] = size + 1
            heapq.heapreplace(lightest, (size + 1, member_id))
        self.unowned.clear()

    def balance(self) -> int:
        """Move partitions from the largest members to the smallest. Returns how many have moved."""
        sizes = self.sizes
        givers = [(-sizes[member_id], member_id) for member_id in self.subscribers if self.owned[member_id]]
        takers = [(sizes[member_id], member_id) for member_id in self.subscribers]
        if not givers or -min(givers)[0] - min(takers)[0] < 2:
            return 0
        heapq.heapify(givers)
        heapq.heapify(takers)
        moves = 0
        # A member that gives is never the smallest later in this loop, and a member that takes is never the
        # largest: their sizes would differ by less than two, and the loop ends. So a size that changes
        # through one heap may be out of date in the other.
        while givers and -givers[0][0] - takers[0][0] >= 2:
            (_, giver), (_, taker) = givers[0], takers[0]
            self.owned[taker].append(self.owned[giver].pop())
            sizes[giver] -= 1
            sizes[taker] += 1
            moves += 1
            heapq.heapreplace(takers, (sizes[taker], taker))
            if self.owned[giver]:
                heapq.heapreplace(givers, (-sizes[giver], giver))
            else:
                heapq.heappop(givers)
        return moves


def _keep_owned(members: Mapping[str, AssignorMember], member_ids: Iterable[str], pools: list[_Pool]) -> None:
    pool_of = {topic_id: pool for pool in pools for topic_id in pool.topic_ids}
    for member_id in member_ids:
        member = members[member_id]
        for topic_id in sorted(member.assignment):
            if topic_id in member.topics:
                pool_of[topic_id].keep(
                    member_id, [(topic_id, number) for number in member.assignment[topic_id]]
                )


def _assignments(member_ids: list[str], pools: list[_Pool]) -> dict[str, Assignment]:
    partitions: dict[str, defaultdict[bytes, list[int]]] = {each: defaultdict(list) for each in member_ids}
    for pool in pools:
        for member_id, owned in pool.owned.items():
            for topic_id, number in owned:
                partitions[member_id][topic_id].append(number)
    return {
        member_id: {topic_id: frozenset(numbers) for topic_id, numbers in topics.items()}
        for member_id, topics in partitions.items()
    }
