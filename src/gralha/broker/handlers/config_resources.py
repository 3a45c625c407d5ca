"""A check for requests about broker configs: they must be sent to the broker that they name."""

from gralha.broker.broker import Broker
from gralha.metadata.image import BROKER_LOGGER_RESOURCE, BROKER_RESOURCE
from gralha.protocol.errors import InvalidRequestError


def check_addressee(broker: Broker, kind: int, name: str) -> None:
    """Refuses a resource of another broker: only that broker can answer. No name means all brokers."""
    if kind != BROKER_LOGGER_RESOURCE and (kind != BROKER_RESOURCE or not name):
        return
    if not (name.isascii() and name.isdigit()):
        raise InvalidRequestError(f"Node id must be an integer, but it is: {name}")
    if int(name) != broker.config.node_id:
        raise InvalidRequestError(
            f"Unexpected broker id, expected {broker.config.node_id}, but received {name}"
        )
