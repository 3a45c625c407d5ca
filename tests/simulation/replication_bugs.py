"""Known bugs of replication, put back: each function patches one in.

Each function imports what it patches: `bugs.py` has to load Gralha's sources first.
"""

from typing import Any

from tests.simulation.patching import patch


def acknowledge_before_flush() -> None:
    from gralha.replication.partition import Partition

    patch(Partition, "acknowledged_offset", lambda self: self.log.log_end_offset)


def acknowledge_without_followers() -> None:
    from gralha.replication.leading import Leading

    patch(Leading, "_replicated_offset", lambda self, own_offset: own_offset)


def truncate_by_high_watermark() -> None:
    """KIP-101: a follower drops what it had before it heard of the high watermark."""
    from gralha.replication.partition import Partition

    original = Partition.change_leader

    def change_leader(self: Any, leader_id: int, leader_epoch: int, *rest: Any) -> None:
        epoch_before = self.leader_epoch
        original(self, leader_id, leader_epoch, *rest)
        if leader_epoch > epoch_before and not self.is_leader():
            self.log.truncate_to(self.log.high_watermark)

    patch(Partition, "change_leader", change_leader)


def acknowledge_in_another_epoch() -> None:
    """Redpanda 3003, 3616: a waiting request is acknowledged by the record of another epoch at its offset."""
    from gralha.broker.handlers.produce import Pending

    def outcome(self: Any) -> int | None:
        return None if self.partition.log.high_watermark <= self.last_offset else 0

    patch(Pending, "outcome", outcome)


def never_truncate() -> None:
    """A follower keeps records that the new leader does not have."""
    from gralha.replication.leading import Leading

    patch(Leading, "diverging_epoch", lambda self, *args: None)


def forget_who_catches_up_during_a_proposal() -> None:
    """A follower that has caught up while a proposal was under way does not fetch again by itself."""
    from gralha.replication.leading import Leading

    patch(Leading, "_take_caught_up", lambda self: None)


def let_fenced_replicas_be_in_sync() -> None:
    """KAFKA-13916: leader and controller do not ask whether a replica's broker is let in at all."""
    from gralha.metadata.controller import isr_changes
    from gralha.replication.cluster_view import ClusterView
    from gralha.replication.followers import UNKNOWN

    def may_be_in_sync(self: Any, follower: Any) -> bool:
        registration = self.broker(follower.broker_id)
        return registration is not None and follower.broker_epoch in (UNKNOWN, registration.epoch)

    patch(ClusterView, "may_be_in_sync", may_be_in_sync)
    patch(isr_changes, "_is_eligible", lambda image, state: True)


def move_a_partition_before_its_new_replicas_have_it() -> None:
    """A reassignment is complete at once, and its new replicas count as in sync instead of the old ones."""
    from gralha.metadata.controller.elections import PartitionChange

    def complete(self: Any) -> None:
        if self.adding or self.removing:
            self.replicas = [replica for replica in self.replicas if replica not in self.removing]
            self.isr = [replica for replica in self.adding if self.may_lead(replica)] or self.isr
            self.removing, self.adding = [], []

    patch(PartitionChange, "_complete_reassignment", complete)


def read_only_what_a_request_of_a_session_names() -> None:
    """A partition that the request does not name is not read, whatever was written to it meanwhile."""
    from gralha.broker.fetching.session import FollowerSession
    from gralha.broker.fetching.sessions import FetchSessions

    proceed = FetchSessions._continue

    def proceed_with_the_named(self: Any, *args: Any) -> Any:
        plan = proceed(self, *args)
        if plan.session is not None and not isinstance(plan.session, FollowerSession):
            plan.wanted = plan.named
        return plan

    patch(FetchSessions, "_continue", proceed_with_the_named)


def take_a_closed_connection_for_a_death() -> None:
    """A closed connection counts as the end of the process, without a look at its addresses."""
    from gralha.broker.presence import Presence

    async def is_dead(self: Any, node_id: int) -> bool:
        return True

    patch(Presence, "_is_dead", is_dead)
