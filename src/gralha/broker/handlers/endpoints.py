"""The brokers as a client sees them on its listener.

A broker that is fenced, or does not have this listener, does not exist for this client.
"""

from collections.abc import Collection, Iterable
from typing import NamedTuple

from gralha.broker.broker import Broker
from gralha.metadata.image import MetadataImage


class BrokerNode(NamedTuple):
    """A broker's address on one listener."""

    id: int
    host: str
    port: int
    rack: str | None
    fenced: bool


def all_nodes(image: MetadataImage, listener: str) -> list[BrokerNode]:
    """The registered brokers that have the listener."""
    nodes = []
    for broker in image.brokers.values():
        endpoint = broker.endpoint(listener)
        if endpoint is not None:
            nodes.append(BrokerNode(broker.id, endpoint.host, endpoint.port, broker.rack, broker.fenced))
    return nodes


def alive_nodes(image: MetadataImage, listener: str) -> list[BrokerNode]:
    """The brokers that the client can use."""
    return [node for node in all_nodes(image, listener) if not node.fenced]


def listed_nodes(broker: Broker, listener: str) -> list[BrokerNode]:
    """The live brokers, and those that were fenced recently: see `departures.py`."""
    nodes = all_nodes(broker.image, listener)
    if not any(node.fenced for node in nodes):
        return nodes
    now_ms = broker.clock()
    return [node for node in nodes if not node.fenced or broker.departures.lingers(node.id, now_ms)]


def alive_node(image: MetadataImage, broker_id: int, listener: str) -> BrokerNode | None:
    """One broker, if the client can use it. Otherwise None."""
    return next((node for node in alive_nodes(image, listener) if node.id == broker_id), None)


def controller_id(broker: Broker, nodes: Collection[BrokerNode]) -> int:
    """The broker that clients send controller requests to. Every broker forwards them.

    Kafka returns any live broker. This broker is the best choice, because the client is connected to it. If
    the returned broker dies, librdkafka waits for it without asking again.
    """
    alive = [node.id for node in nodes if not node.fenced]
    if broker.config.node_id in alive:
        return broker.config.node_id
    return broker.random.choice(alive) if alive else -1


def without(replicas: Iterable[int], available: Collection[int]) -> list[int]:
    """The replicas that are not on available brokers."""
    return [replica for replica in replicas if replica not in available]
