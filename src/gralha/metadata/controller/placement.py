"""Places replicas: round robin over the brokers from a random start, alternating between racks.

The replicas of a partition are on as many racks as possible. Fenced brokers get replicas only if there are
too few other brokers, and never the first place, which leads. Brokers that shut down, or whose folders take
no new replicas, get none.
"""

from collections import Counter
from collections.abc import Mapping
from itertools import zip_longest
from random import Random

from gralha.metadata.image import BrokerRegistration
from gralha.protocol.errors import InvalidReplicationFactorError


def place_replicas(
    brokers: Mapping[int, BrokerRegistration], partitions: int, replication_factor: int, random: Random
) -> list[list[int]]:
    """The replicas of each new partition, the preferred leader first."""
    usable = [broker for broker in brokers.values() if _is_usable(broker)]
    active = _ring([broker for broker in usable if not broker.fenced])
    fenced = _ring([broker for broker in usable if broker.fenced])
    if not active:
        raise InvalidReplicationFactorError("All brokers are currently fenced.")
    if replication_factor > len(usable):
        raise InvalidReplicationFactorError(
            f"The target replication factor of {replication_factor} cannot be reached because only "
            f"{len(usable)} broker(s) are registered or some brokers have all their log directories cordoned."
        )
    start = random.randrange(len(active))
    shift = random.randrange(len(active))
    place = _Spread(active, fenced, {broker.id: broker.rack for broker in usable})
    return [
        place.replicas(start + index, shift + index // len(active), replication_factor)
        for index in range(partitions)
    ]


def _is_usable(broker: BrokerRegistration) -> bool:
    if broker.in_controlled_shutdown and not broker.fenced:
        return False
    cordoned = broker.cordoned_log_dirs
    return not cordoned or not set(broker.log_dirs) <= set(cordoned)


def _ring(brokers: list[BrokerRegistration]) -> list[int]:
    """The brokers in order, with the racks alternating."""
    racks: dict[str | None, list[int]] = {}
    for broker in sorted(brokers, key=lambda broker: (broker.rack or "", broker.id)):
        racks.setdefault(broker.rack, []).append(broker.id)
    return [broker_id for turn in zip_longest(*racks.values()) for broker_id in turn if broker_id is not None]


class _Spread:
    """Chooses replicas from the ring of active brokers and the ring of fenced ones."""

    def __init__(self, active: list[int], fenced: list[int], racks: dict[int, str | None]) -> None:
        self.active = active
        self.fenced = fenced
        self.racks = racks
        self.has_racks = len(set(racks.values())) > 1

    def replicas(self, start: int, shift: int, count: int) -> list[int]:
        """The leader is the broker at `start`. The followers begin further along in each round, so that the
        load of a lost leader is spread over all others.
        """
        active, fenced = self.active, self.fenced
        leader = start % len(active)
        others = len(active) - 1
        followers = [active[(leader + 1 + (shift + step) % others) % len(active)] for step in range(others)]
        followers += [fenced[(start + step) % len(fenced)] for step in range(len(fenced))]
        if self.has_racks:
            followers = self._by_rack(active[leader], followers, count - 1)
        return [active[leader], *followers[: count - 1]]

    def _by_rack(self, leader: int, candidates: list[int], count: int) -> list[int]:
        """Takes each replica from the rack that has the fewest so far."""
        used = Counter([self.racks[leader]])
        chosen: list[int] = []
        for _ in range(count):
            fewest = min(candidates, key=lambda broker_id: used[self.racks[broker_id]])
            candidates.remove(fewest)
            chosen.append(fewest)
            used[self.racks[fewest]] += 1
        return chosen
