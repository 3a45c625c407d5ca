"""Known bugs of replication, put back: each function patches one in.

Each function imports what it patches: `bugs.py` has to load Gralha's sources first.
"""

from typing import Any


def acknowledge_before_flush() -> None:
    from gralha.replication.partition import Partition

    Partition.acknowledged_offset = lambda self: self.log.log_end_offset  # type: ignore[method-assign]


def acknowledge_without_followers() -> None:
    from gralha.replication.leading import Leading

    Leading._replicated_offset = lambda self, own_offset: own_offset  # type: ignore[method-assign]


def truncate_by_high_watermark() -> None:
    """KIP-101: a follower drops what it had before it heard of the high watermark."""
    from gralha.replication.partition import Partition

    original = Partition.change_leader

    def change_leader(self: Any, leader_id: int, leader_epoch: int, *rest: Any) -> None:
        epoch_before = self.leader_epoch
        original(self, leader_id, leader_epoch, *rest)
        if leader_epoch > epoch_before and not self.is_leader():
            self.log.truncate_to(self.log.high_watermark)

    Partition.change_leader = change_leader  # type: ignore[method-assign]


def acknowledge_in_another_epoch() -> None:
    """Redpanda 3003, 3616: who waited does not look at the epoch; another's record has passed there."""
    from gralha.broker.handlers.produce import Pending

    def outcome(self: Any) -> int | None:
        return None if self.partition.log.high_watermark <= self.last_offset else 0

    Pending.outcome = outcome  # type: ignore[method-assign]


def never_truncate() -> None:
    """A follower keeps what the new leader does not have."""
    from gralha.replication.leading import Leading

    Leading.diverging_epoch = lambda self, *args: None  # type: ignore[method-assign]


def let_fenced_replicas_be_in_sync() -> None:
    """KAFKA-13916: leader and controller do not ask whether a replica's broker is let in at all."""
    from gralha.metadata.controller import isr_changes
    from gralha.replication.cluster_view import UNKNOWN, ClusterView

    def may_be_in_sync(self: Any, follower: Any) -> bool:
        registration = self.broker(follower.broker_id)
        return registration is not None and follower.broker_epoch in (UNKNOWN, registration.epoch)

    ClusterView.may_be_in_sync = may_be_in_sync  # type: ignore[method-assign]
    isr_changes._is_eligible = lambda image, state: True
