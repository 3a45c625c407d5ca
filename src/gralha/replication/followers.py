"""What the leader of a partition knows of its followers, and what it has to know of the cluster.

A follower tells where its log ends by where it fetches. From when it had last caught up with the leader's end
follows whether it is in sync; from its broker's epoch, whether it is the process that it was (KIP-903).

A leader does not change the in-sync replicas by itself: it proposes, and the controller decides. Until then
those of before and those proposed count both, which can only hold acknowledgements back (KIP-497).
"""

from collections.abc import Callable
from typing import Final

from gralha.metadata.image import BrokerRegistration

UNKNOWN: Final = -1
LONG_AGO_MS: Final = -(1 << 62)
DEFAULT_LAG_TIME_MAX_MS: Final = 30_000


class FetchTimes:
    """When a fetch session was last used: for all its partitions, mentioned or not (KIP-227)."""

    def __init__(self) -> None:
        self.fetched_ms: int = LONG_AGO_MS


class Follower:
    """One follower, as its fetches in this leader epoch show it.

    In a fetch session it asks once, and each use of the session asks for the same again. Nobody goes over all
    partitions then to note that: it is seen when the leader's log grows (`outgrown`).
    """

    def __init__(self, broker_id: int, caught_up_ms: int) -> None:
        self.broker_id = broker_id
        self.log_start_offset: int = UNKNOWN
        self.log_end_offset: int = UNKNOWN
        # When it last had everything that the leader had at that time.
        self.caught_up_ms: int = caught_up_ms
        self.broker_epoch: int = UNKNOWN
        # Of the last fetch: when it came, and where the leader's log ended then.
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
        """Note a fetch. Who asks for what was the end at the time of the last fetch had caught up then."""
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
        """The leader's log is about to grow from there: until its session was last used it had everything."""
        times = self._times
        if times is not None and self.log_end_offset >= leader_end_offset:
            self.caught_up_ms = max(self.caught_up_ms, times.fetched_ms)
            self._fetched_ms = max(self._fetched_ms, times.fetched_ms)
            self._leader_end_offset = max(self._leader_end_offset, leader_end_offset)

    def left_session(self, times: FetchTimes, leader_end_offset: int) -> None:
        """It does not ask in that session any more."""
        if self._times is times:
            self.outgrown(leader_end_offset)
            self._times = None

    def is_caught_up(self, leader_end_offset: int, now_ms: int, lag_time_max_ms: int) -> bool:
        return self.log_end_offset == leader_end_offset or now_ms - self.caught_up_ms <= lag_time_max_ms


class IsrProposal:
    """Other in-sync replicas, as a leader wants them. Broker epochs are those that their fetches had."""

    def __init__(
        self, leader_epoch: int, partition_epoch: int, in_sync_replicas: list[int], broker_epochs: list[int]
    ) -> None:
        self.leader_epoch = leader_epoch
        self.partition_epoch = partition_epoch
        self.in_sync_replicas = in_sync_replicas
        self.broker_epochs = broker_epochs


class Cluster:
    """The cluster around a partition: time, the other brokers, and the way to the controller.

    `time_ms` only ever rises. `broker` is a broker's registration, None if there is none. `propose` is told
    the topic id, the partition's number and its proposal, which the partition has noted already.
    """

    def __init__(
        self,
        time_ms: Callable[[], int],
        broker: Callable[[int], BrokerRegistration | None],
        own_epoch: Callable[[], int],
        propose: Callable[[bytes, int, IsrProposal], None],
        lag_time_max_ms: int = DEFAULT_LAG_TIME_MAX_MS,
    ) -> None:
        self.time_ms = time_ms
        self.broker = broker
        self.own_epoch = own_epoch
        self.propose = propose
        self.lag_time_max_ms = lag_time_max_ms

    def may_be_in_sync(self, follower: Follower) -> bool:
        """Whether the controller would agree: it is let in itself, stays, and is no other process.

        Without this a broker that is being shut down would go in and out (KAFKA-13916), and one that has lost
        records in a crash would count as it was before (KAFKA-14617).
        """
        registration = self.broker(follower.broker_id)
        if registration is None or not registration.is_active:
            return False
        return follower.broker_epoch in (UNKNOWN, registration.epoch)

    def is_alive(self, broker_id: int) -> bool:
        registration = self.broker(broker_id)
        return registration is not None and not registration.fenced


def _no_time() -> int:
    return 0


def _nobody(broker_id: int) -> BrokerRegistration | None:
    return None


def _no_epoch() -> int:
    return UNKNOWN


def _nowhere(topic_id: bytes, index: int, proposal: IsrProposal) -> None:
    """There is no controller."""


ALONE: Final = Cluster(_no_time, _nobody, _no_epoch, _nowhere)
