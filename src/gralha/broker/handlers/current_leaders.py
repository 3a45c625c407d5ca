"""The leader of a partition, for answers with the error that this broker is not the leader (KIP-951).

So a client need not ask for metadata before it tries again.
"""

from collections.abc import Iterable

from gralha.broker.broker import Broker
from gralha.broker.handlers.endpoints import BrokerNode, alive_node
from gralha.metadata.image import NO_LEADER, TopicImage
from gralha.protocol.batches import NO_LEADER_EPOCH
from gralha.replication.partition import Partition


def current_leader(partition: Partition | None, topic: TopicImage | None, index: int) -> tuple[int, int]:
    """The leader and leader epoch, from the partition on this broker, otherwise from the metadata."""
    if partition is not None:
        return partition.leader_id, partition.leader_epoch
    assigned = None if topic is None else topic.partitions.get(index)
    return (NO_LEADER, NO_LEADER_EPOCH) if assigned is None else (assigned.leader, assigned.leader_epoch)


def leader_nodes(broker: Broker, listener: str, leader_ids: Iterable[int]) -> list[BrokerNode]:
    """The addresses of these leaders on the client's listener."""
    found = [alive_node(broker.image, leader_id, listener) for leader_id in sorted(set(leader_ids))]
    return [node for node in found if node is not None]
