"""The proposal of `kafka-reassign-partitions --generate`.

It places replicas as the controller does for a new topic, on the brokers that the user names.
"""

import random
from collections.abc import Iterable, Mapping, Sequence

from gralha.cli.program import CommandError
from gralha.client.values import ClusterNode, TopicPartition
from gralha.metadata.controller.placement import place_replicas
from gralha.metadata.image import BrokerRegistration
from gralha.protocol.primitives import ZERO_UUID


def racks_of(nodes: Iterable[ClusterNode], *, rack_aware: bool) -> dict[int, str | None]:
    """The racks of brokers. Raises CommandError if only some brokers have a rack."""
    racks = {node.id: node.rack if rack_aware else None for node in nodes}
    if None in racks.values() and any(racks.values()):
        raise CommandError(
            "Not all brokers have rack information. Add --disable-rack-aware in command line to make replica "
            "assignment without rack information."
        )
    return racks


def propose(
    current: Mapping[TopicPartition, Sequence[int]],
    racks: Mapping[int, str | None],
    chance: random.Random | None = None,
) -> dict[TopicPartition, list[int]]:
    """New replicas for all partitions of topics. Each topic keeps the number of its first partition's
    replicas.
    """
    brokers = {broker: _registration(broker, rack) for broker, rack in racks.items()}
    proposed = {}
    for topic in sorted({partition.topic for partition in current}):
        partitions = sorted(partition for partition in current if partition.topic == topic)
        factor = len(current[partitions[0]])
        places = place_replicas(brokers, len(partitions), factor, chance or random.Random())
        for number, replicas in enumerate(places):
            proposed[TopicPartition(topic, number)] = replicas
    return proposed


def _registration(broker: int, rack: str | None) -> BrokerRegistration:
    """A broker for the placement. It is alive, and all its folders take replicas."""
    return BrokerRegistration(broker, 0, ZERO_UUID, (), {}, rack, False, False, (), None)
