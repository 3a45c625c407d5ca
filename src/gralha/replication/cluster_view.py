"""What a partition sees of the cluster: time, the other brokers, and the way to the controller."""

from collections.abc import Callable
from typing import Final

from gralha.metadata.image import BrokerRegistration
from gralha.replication.followers import UNKNOWN, Follower, IsrProposal

DEFAULT_LAG_TIME_MAX_MS: Final = 30_000


class ClusterView:
    """`time_ms` only ever rises. `broker` returns a broker's registration, None if there is none.

    `propose` gets the topic id, the index and the proposal of a partition, which has noted it already.
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
        """Whether the controller would agree that the follower is in sync.

        Its broker must not be fenced or shutting down: such a broker would go in and out (KAFKA-13916). And
        it must be the process that has fetched: one that lost records in a crash does not count as it was
        before (KAFKA-14617).
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


def _no_broker(broker_id: int) -> BrokerRegistration | None:
    return None


def _no_epoch() -> int:
    return UNKNOWN


def _no_controller(topic_id: bytes, index: int, proposal: IsrProposal) -> None:
    """There is nobody to propose to."""


ALONE: Final = ClusterView(_no_time, _no_broker, _no_epoch, _no_controller)
