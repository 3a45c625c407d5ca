"""Finds the partition of a request, or raises the error that says why this broker cannot serve it."""

from gralha.broker.broker import Broker
from gralha.protocol.batches import NO_LEADER_EPOCH
from gralha.protocol.errors import KafkaStorageError, NotLeaderOrFollowerError, UnknownTopicOrPartitionError
from gralha.replication.partition import Partition


def hosted(broker: Broker, topic: str, index: int) -> Partition:
    """Find a partition. This broker need not lead it."""
    partition = broker.replicas.find(topic, index)
    if partition is not None:
        return partition
    if (topic, index) in broker.logs.offline:
        raise KafkaStorageError()
    known = broker.image.topics.get(topic)
    if known is not None and index in known.partitions:
        raise NotLeaderOrFollowerError()
    raise UnknownTopicOrPartitionError()


def led(broker: Broker, topic: str, index: int, leader_epoch: int = NO_LEADER_EPOCH) -> Partition:
    """The partition, if this broker leads it and the client's leader epoch, if given, is right."""
    partition = hosted(broker, topic, index)
    partition.check_leader(leader_epoch)
    return partition
