"""The producer of a transaction, as a coordinator's partition knows it."""

from typing import NamedTuple


class Producer(NamedTuple):
    """The producer, and its epoch, whose transaction a batch is a part of."""

    id: int
    epoch: int


class EndMarker(NamedTuple):
    """A producer's transaction has ended, as its transaction coordinator says."""

    producer: Producer
    coordinator_epoch: int  # the leader epoch of the coordinator's partition
    is_commit: bool
    # Whether each transaction of the producer has an epoch of its own (KIP-890).
    has_new_epoch: bool = False
