"""Where replicas go: round robin over the brokers from a random start.

Fenced brokers get replicas only where there are too few others, and never the first place, which leads. The
brokers of one rack next to each other would share replicas; `_ring` is the place to order them by rack.
"""

from collections.abc import Mapping
from random import Random

from gralha.metadata.image import BrokerRegistration
from gralha.protocol.errors import InvalidReplicationFactorError


def place_replicas(
    brokers: Mapping[int, BrokerRegistration], partitions: int, replication_factor: int, random: Random
) -> list[list[int]]:
    """The replicas of each new partition, the preferred leader first."""
    active = _ring(brokers, fenced=False)
    fenced = _ring(brokers, fenced=True)
    if not active:
        raise InvalidReplicationFactorError("All brokers are currently fenced.")
    if replication_factor > len(brokers):
        raise InvalidReplicationFactorError(
            f"The target replication factor of {replication_factor} cannot be reached because only "
            f"{len(brokers)} broker(s) are registered."
        )
    start = random.randrange(len(active))
    shift = random.randrange(len(active))
    return [
        _replicas(active, fenced, start + index, shift + index // len(active), replication_factor)
        for index in range(partitions)
    ]


def _ring(brokers: Mapping[int, BrokerRegistration], fenced: bool) -> list[int]:
    return sorted(broker.id for broker in brokers.values() if broker.fenced == fenced)


def _replicas(active: list[int], fenced: list[int], start: int, shift: int, count: int) -> list[int]:
    """The leader at `start`; the followers of successive rounds begin further along, so that the load of a
    lost leader falls on all the others.
    """
    leader = start % len(active)
    others = len(active) - 1
    followers = [
        active[(leader + 1 + (shift + step) % others) % len(active)] for step in range(min(others, count - 1))
    ]
    missing = count - 1 - len(followers)
    return [active[leader], *followers, *(fenced[(start + step) % len(fenced)] for step in range(missing))]
