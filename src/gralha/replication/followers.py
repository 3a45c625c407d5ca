"""What the leader of a partition knows of its followers, and what it proposes to the controller.

The offset that a follower fetches from is where its log ends. The time at which it had last caught up with
the leader decides whether it is in sync. The epoch of its broker tells whether it is still the same process
(KIP-903).

A leader does not change the in-sync replicas by itself: it proposes, and the controller decides. Until it has
decided, both the old and the proposed replicas count, which can only delay acknowledgements (KIP-497).
"""

from typing import Final

UNKNOWN: Final = -1
LONG_AGO_MS: Final = -(1 << 62)


class FetchTimes:
    """When a fetch session was last used. That counts for all partitions of the session (KIP-227)."""

    def __init__(self) -> None:
        self.fetched_ms: int = LONG_AGO_MS


class Follower:
    """One follower, as its fetches in this leader epoch show it.

    In a fetch session a follower names a partition once, and each use of the session asks for the same again.
    Nobody goes over all partitions to note that. The leader takes it into account when its log grows
    (`outgrown`).
    """

    def __init__(self, broker_id: int, caught_up_ms: int) -> None:
        self.broker_id = broker_id
        self.log_start_offset: int = UNKNOWN
        self.log_end_offset: int = UNKNOWN
        # The last time at which it had everything that the leader had.
        self.caught_up_ms: int = caught_up_ms
        self.broker_epoch: int = UNKNOWN
        # When the last fetch came, and where the leader's log ended at that time.
        self._fetched_ms: int = LONG_AGO_MS
        self._leader_end_offset: int = UNKNOWN
        self._times: FetchTimes | None = None

    def fetched(
        self,
        offset: int,
        log_start_offset: int,
        broker_epoch: int,
        leader_end_offset: int,
        now_ms: int,
        times: FetchTimes | None = None,
    ) -> None:
        """Note a fetch.

        A follower is caught up if its fetch offset equals the leader's log end offset at the time of its
        previous fetch.
        """
        self.outgrown(leader_end_offset)
        self._times = times
        if offset >= leader_end_offset:
            self.caught_up_ms = max(self.caught_up_ms, now_ms)
        elif self._leader_end_offset != UNKNOWN and offset >= self._leader_end_offset:
            self.caught_up_ms = max(self.caught_up_ms, self._fetched_ms)
        self.log_start_offset = log_start_offset
        self.log_end_offset = offset
        self.broker_epoch = broker_epoch
        self._leader_end_offset = max(self._leader_end_offset, leader_end_offset)
        self._fetched_ms = now_ms

    def outgrown(self, leader_end_offset: int) -> None:
        """The leader's log grows from this offset. Until then the follower had everything."""
        times = self._times
        if times is not None and self.log_end_offset >= leader_end_offset:
            self.caught_up_ms = max(self.caught_up_ms, times.fetched_ms)
            self._fetched_ms = max(self._fetched_ms, times.fetched_ms)
            self._leader_end_offset = max(self._leader_end_offset, leader_end_offset)

    def left_session(self, times: FetchTimes, leader_end_offset: int) -> None:
        """The follower does not fetch the partition in that session any more."""
        if self._times is times:
            self.outgrown(leader_end_offset)
            self._times = None

    def is_caught_up(self, leader_end_offset: int, now_ms: int, lag_time_max_ms: int) -> bool:
        return self.log_end_offset == leader_end_offset or now_ms - self.caught_up_ms <= lag_time_max_ms


class IsrProposal:
    """The in-sync replicas that a leader wants. Broker epochs are those of the replicas' fetches."""

    def __init__(
        self, leader_epoch: int, partition_epoch: int, in_sync_replicas: list[int], broker_epochs: list[int]
    ) -> None:
        self.leader_epoch = leader_epoch
        self.partition_epoch = partition_epoch
        self.in_sync_replicas = in_sync_replicas
        self.broker_epochs = broker_epochs
