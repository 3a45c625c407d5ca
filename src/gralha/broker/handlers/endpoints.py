"""The brokers as a client sees them: through the listener by which it came.

A broker that is fenced, or that has no such listener, is not there for this client.
"""

from collections.abc import Collection, Iterable
from typing import NamedTuple

from gralha.broker.broker import Broker
from gralha.metadata.image import MetadataImage


class Node(NamedTuple):
    """A broker's address on one listener."""

    id: int
    host: str
    port: int
    rack: str | None
    fenced: bool


def all_nodes(image: MetadataImage, listener: str) -> list[Node]:
    """The registered brokers that have the listener."""
    nodes = []
    for broker in image.brokers.values():
        endpoint = broker.endpoint(listener)
        if endpoint is not None:
            nodes.append(Node(broker.id, endpoint.host, endpoint.port, broker.rack, broker.fenced))
    return nodes


def alive_nodes(image: MetadataImage, listener: str) -> list[Node]:
    """The brokers that the client can use."""
    return [node for node in all_nodes(image, listener) if not node.fenced]


def listed_nodes(broker: Broker, listener: str) -> list[Node]:
    """Those, and the ones that have just left: see `departures.py`."""
    nodes = all_nodes(broker.image, listener)
    if not any(node.fenced for node in nodes):
        return nodes
    now_ms = broker.clock()
    return [node for node in nodes if not node.fenced or broker.departures.lingers(node.id, now_ms)]


def alive_node(image: MetadataImage, broker_id: int, listener: str) -> Node | None:
    """One broker, if the client can use it."""
    return next((node for node in alive_nodes(image, listener) if node.id == broker_id), None)


def controller_id(broker: Broker, nodes: Collection[Node]) -> int:
    """The broker to which clients send controller requests; each broker passes them on.

    Kafka names any living broker. The one that was asked is the best choice: the client has a connection to
    it. librdkafka waits for a broker that was named and has died since, without asking anew.
    """
    alive = [node.id for node in nodes if not node.fenced]
    if broker.config.node_id in alive:
        return broker.config.node_id
    return broker.random.choice(alive) if alive else -1


def without(replicas: Iterable[int], available: Collection[int]) -> list[int]:
    """The replicas that are on none of the available brokers."""
    return [replica for replica in replicas if replica not in available]
