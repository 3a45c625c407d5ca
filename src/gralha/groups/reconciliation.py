"""The way of a member to its target, one heartbeat at a time (KIP-848).

            it owns partitions that are not in its target      it has given them back
    STABLE  ---------------------------------> UNREVOKED ------------------+
      ^  |                                                                 |
      |  |  others still own partitions of its target                      v
      |  +-------------------------------> UNRELEASED  <------- (its epoch is the target's epoch)
      |                                        |                           |
      +----------------------------------------+---------------------------+

A member keeps its epoch until it has given back all partitions that are not in its target. So a partition
never has two owners, and the epoch shows that a member is behind. The member may get the partitions of its
target one by one.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace

from gralha.groups.assignors import Assignment
from gralha.groups.consumer_member import ConsumerMember, Holdings, MemberState
from gralha.protocol.errors import FencedMemberEpochError


@dataclass(frozen=True)
class Target:
    """The target of a member, and what stands in its way."""

    epoch: int
    assignment: Assignment
    # The ids of the topics that the member subscribes to. The assignment may be older than that.
    subscribed: Collection[bytes]
    # Whether another member owns a partition.
    is_taken: Callable[[bytes, int], bool]


def reconcile(
    member: ConsumerMember, target: Target, owned: Assignment | None, subscription_changed: bool
) -> ConsumerMember:
    """The member after a heartbeat. `owned` has the partitions that it owns, or None if it does not say."""
    match member.state:
        case MemberState.STABLE:
            stays = member.epoch == target.epoch
        case MemberState.UNREVOKED_PARTITIONS:
            stays = _still_has(owned, member.pending_revocation)
        case MemberState.UNRELEASED_PARTITIONS:
            stays = False
        case _:
            if owned is None or any(owned.values()):
                raise FencedMemberEpochError(
                    "The member is in a state that this broker does not know. "
                    "It must give up all its partitions and join again."
                )
            stays = False
    if not stays:
        return _advance(member, target, owned)
    return _drop_unsubscribed(member, target, owned) if subscription_changed else member


def _advance(member: ConsumerMember, target: Target, owned: Assignment | None) -> ConsumerMember:
    """Take the next step towards the target: give partitions back, or get some."""
    wanted = {topic_id: each for topic_id, each in target.assignment.items() if topic_id in target.subscribed}
    kept, surplus = _split(member.assigned, wanted)
    if surplus and _still_has(owned, surplus):
        return _revoking(member, kept, surplus)
    assigned = {topic_id: dict(partitions) for topic_id, partitions in kept.items()}
    is_complete = True
    for topic_id, partitions in wanted.items():
        for partition in partitions - kept.get(topic_id, {}).keys():
            if target.is_taken(topic_id, partition):
                is_complete = False
            else:
                assigned.setdefault(topic_id, {})[partition] = target.epoch
    return replace(
        member,
        state=MemberState.STABLE if is_complete else MemberState.UNRELEASED_PARTITIONS,
        epoch=target.epoch,
        previous_epoch=member.epoch,
        assigned=assigned,
        pending_revocation={},
    )


def _drop_unsubscribed(member: ConsumerMember, target: Target, owned: Assignment | None) -> ConsumerMember:
    """Give back topics that the member has unsubscribed from, before there is a new target."""
    kept = {topic_id: each for topic_id, each in member.assigned.items() if topic_id in target.subscribed}
    if len(kept) == len(member.assigned):
        return member
    surplus = {topic_id: dict(partitions) for topic_id, partitions in member.pending_revocation.items()}
    for topic_id in member.assigned.keys() - kept.keys():
        surplus.setdefault(topic_id, {}).update(member.assigned[topic_id])
    if _still_has(owned, surplus):
        return _revoking(member, kept, surplus)
    return replace(member, previous_epoch=member.epoch, assigned=kept)


def _revoking(member: ConsumerMember, kept: Holdings, surplus: Holdings) -> ConsumerMember:
    return replace(
        member,
        state=MemberState.UNREVOKED_PARTITIONS,
        previous_epoch=member.epoch,
        assigned=kept,
        pending_revocation=surplus,
    )


def _split(assigned: Holdings, wanted: Assignment) -> tuple[Holdings, Holdings]:
    """The partitions that a member may keep, and those that it has to give back."""
    kept: dict[bytes, Mapping[int, int]] = {}
    surplus: dict[bytes, Mapping[int, int]] = {}
    for topic_id, partitions in assigned.items():
        staying = wanted.get(topic_id, frozenset())
        for part, is_kept in ((kept, True), (surplus, False)):
            if some := {each: epoch for each, epoch in partitions.items() if (each in staying) is is_kept}:
                part[topic_id] = some
    return kept, surplus


def _still_has(owned: Assignment | None, surplus: Holdings) -> bool:
    """Whether the member owns any of these partitions. If it does not say, it does."""
    if owned is None:
        return True
    return any(not partitions.isdisjoint(surplus.get(topic_id, ())) for topic_id, partitions in owned.items())
