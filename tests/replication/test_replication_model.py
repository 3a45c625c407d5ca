"""Crashes, cut links, lost messages and changes of leaders lose no acknowledged record.

`world` says what can happen and what must hold. That it would be noticed is shown by putting the classic bugs
back, one at a time: each must turn the model red.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gralha.broker.handlers.produce import Pending
from gralha.protocol.errors import UnknownLeaderEpochError
from gralha.replication import partition as partition_module
from gralha.replication.cluster_view import ClusterView
from gralha.replication.followers import Follower
from gralha.replication.leading import Leading
from gralha.replication.partition import Partition
from tests.replication.world import ACTIONS, WEIGHTS, Step, ViolationError, World, random_steps

STEPS = 400
SEEDS_OF_A_BUG = 400
WEIGHTED = [action for action in ACTIONS for _ in range(WEIGHTS[action])]

steps = st.lists(
    st.tuples(st.sampled_from(WEIGHTED), st.integers(0, 2), st.integers(0, 999)), min_size=20, max_size=200
)


def run(actions: list[Step]) -> World:
    world = World()
    try:
        world.run(actions)
        world.settle()
    finally:
        world.close()
    return world


@settings(
    max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
@given(steps)
def test_nothing_acknowledged_is_lost(actions: list[Step]) -> None:
    run(actions)


@pytest.mark.parametrize("first_seed", [0, 20, 40])
def test_long_lives(first_seed: int) -> None:
    acknowledged = 0
    for seed in range(first_seed, first_seed + 20):
        world = run(random_steps(seed, STEPS))
        acknowledged += len(world.acknowledged)
        now = world.controller.now
        leader = world.replicas[now.leader].running
        # In the end all is well again: everybody is in sync, and everything is committed.
        assert sorted(now.isr) == [0, 1, 2], f"seed {seed}"
        assert leader.log.high_watermark == leader.log.log_end_offset, f"seed {seed}"
    assert acknowledged > 50


# The bugs of others


def _truncate_by_high_watermark(patch: pytest.MonkeyPatch) -> None:
    """KIP-101: a follower drops what it had acknowledged before it heard of the high watermark."""
    change_leader = Partition.change_leader

    def changed(self: Partition, leader_id: int, leader_epoch: int, *rest: object) -> None:
        epoch_before = self.leader_epoch
        change_leader(self, leader_id, leader_epoch, *rest)  # type: ignore[arg-type]
        if leader_epoch > epoch_before and not self.is_leader():
            self.log.truncate_to(self.log.high_watermark)

    patch.setattr(Partition, "change_leader", changed)


def _acknowledge_in_another_epoch(patch: pytest.MonkeyPatch) -> None:
    """Redpanda 3003, 3616: a waiting request is acknowledged by the record of another epoch at its offset."""

    def outcome(self: Pending) -> int | None:
        return None if self.partition.log.high_watermark <= self.last_offset else 0

    patch.setattr(Pending, "outcome", outcome)


def _join_before_the_epochs_start(patch: pytest.MonkeyPatch) -> None:
    """KAFKA-7128: the high watermark of a new leader is older than what was acknowledged."""

    def may_join(self: Leading, follower: Follower) -> bool:
        return (
            follower.broker_id not in self.partition.in_sync_replicas
            and follower.log_end_offset >= self.partition.log.high_watermark
            and self.partition.cluster.may_be_in_sync(follower)
        )

    patch.setattr(Leading, "_may_join", may_join)


def _count_a_diverging_follower(patch: pytest.MonkeyPatch) -> None:
    """KAFKA-13141: the follower has other records at these offsets."""

    def follower_fetched(
        self: Leading,
        replica: int,
        epoch: int,
        broker_epoch: int,
        offset: int,
        _: int,
        start: int,
        *__: object,
    ) -> None:
        follower = self.check_follower(replica, epoch, broker_epoch)
        if offset <= self.partition.log.log_end_offset:
            follower.fetched(
                offset,
                start,
                broker_epoch,
                self.partition.log.log_end_offset,
                self.partition.cluster.time_ms(),
            )
            self._expand_in_sync_replicas([follower])
            self.advance_high_watermark()

    patch.setattr(Leading, "follower_fetched", follower_fetched)


def _commit_below_min_in_sync_replicas(patch: pytest.MonkeyPatch) -> None:
    """KAFKA-15583: the last in-sync replica is elected, but does not have the record."""

    def replicated_offset(self: Leading, own_offset: int) -> int:
        counting = [self.followers[one] for one in self.counting if one in self.followers]
        return min([own_offset, *(follower.log_end_offset for follower in counting)])

    patch.setattr(Leading, "_replicated_offset", replicated_offset)


def _forget_what_was_proposed(patch: pytest.MonkeyPatch) -> None:
    """KIP-497: the controller has added a follower to the ISR, but the leader does not know it yet."""

    def count_replicas(self: Leading) -> None:
        self.counting = list(self.partition.in_sync_replicas)

    patch.setattr(Leading, "_count_replicas", count_replicas)
    patch.setattr(Leading, "_is_about_to_join", lambda self, follower: False)


def _leave_out_before_it_is_decided(patch: pytest.MonkeyPatch) -> None:
    """KIP-497: the controller may elect a follower that the leader has removed from its ISR."""

    def count_replicas(self: Leading) -> None:
        self.counting = list(
            self.partition.in_sync_replicas if self.proposal is None else self.proposal.in_sync_replicas
        )

    patch.setattr(Leading, "_count_replicas", count_replicas)
    patch.setattr(Leading, "_is_about_to_join", lambda self, follower: False)


def _take_the_process_of_before(patch: pytest.MonkeyPatch) -> None:
    """KAFKA-14617: a broker that crashed and was started again counts with what it had before."""
    propose = Leading._propose

    def check_follower(self: Leading, replica_id: int, leader_epoch: int, _: int) -> Follower:
        self.partition.check_leader(leader_epoch)
        if replica_id not in self.followers:
            raise UnknownLeaderEpochError
        return self.followers[replica_id]

    def may_be_in_sync(self: ClusterView, follower: Follower) -> bool:
        registration = self.broker(follower.broker_id)
        return registration is not None and registration.is_active

    def propose_any(self: Leading, in_sync_replicas: list[int]) -> None:
        for follower in self.followers.values():
            follower.broker_epoch = -1
        propose(self, in_sync_replicas)

    patch.setattr(Leading, "check_follower", check_follower)
    patch.setattr(ClusterView, "may_be_in_sync", may_be_in_sync)
    patch.setattr(Leading, "_propose", propose_any)


def _tell_an_old_end(patch: pytest.MonkeyPatch) -> None:
    """KIP-207: a new leader's high watermark is older than its predecessor's, and consumers are told it."""
    patch.setattr(Leading, "is_behind", lambda self: False)


MISSING = "is in sync without"
ANOTHER_END = "the end was .* and is"
# Each bug, and the violation that it must cause. No other one counts.
BUGS: dict[Callable[[pytest.MonkeyPatch], None], str] = {
    _truncate_by_high_watermark: MISSING,
    _acknowledge_in_another_epoch: MISSING,
    _join_before_the_epochs_start: MISSING,
    _count_a_diverging_follower: MISSING,
    _commit_below_min_in_sync_replicas: f"{ANOTHER_END}|was shown before",
    _forget_what_was_proposed: MISSING,
    _leave_out_before_it_is_decided: ANOTHER_END,
    _take_the_process_of_before: MISSING,
    _tell_an_old_end: ANOTHER_END,
}


if not partition_module.__file__.endswith(".so"):  # compiled classes cannot be patched

    @pytest.mark.parametrize(("bug", "violation"), BUGS.items())
    def test_a_bug_put_back_is_found(
        monkeypatch: pytest.MonkeyPatch, bug: Callable[[pytest.MonkeyPatch], None], violation: str
    ) -> None:
        bug(monkeypatch)
        for seed in range(SEEDS_OF_A_BUG):
            try:
                run(random_steps(seed, STEPS))
            except ViolationError as error:
                if re.search(violation, str(error)):
                    return
        pytest.fail(f"{SEEDS_OF_A_BUG} lives did not show: {violation}")
