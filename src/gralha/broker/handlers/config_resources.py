"""Checks for requests about configs: a broker's are asked of that broker, by a caller that may do that."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final, Protocol, TypeVar

from gralha.broker.broker import Broker
from gralha.broker.pipeline import RequestContext
from gralha.broker.rights import Rights
from gralha.metadata.image import (
    BROKER_LOGGER_RESOURCE,
    BROKER_RESOURCE,
    CLIENT_METRICS_RESOURCE,
    GROUP_RESOURCE,
    TOPIC_RESOURCE,
)
from gralha.protocol.acls import CLUSTER_NAME, Operation, ResourceType
from gralha.protocol.errors import InvalidRequestError, KafkaError

KINDS: Final = {
    TOPIC_RESOURCE: "TOPIC",
    BROKER_RESOURCE: "BROKER",
    BROKER_LOGGER_RESOURCE: "BROKER_LOGGER",
    CLIENT_METRICS_RESOURCE: "CLIENT_METRICS",
    GROUP_RESOURCE: "GROUP",
}


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


def check_rights(rights: Rights, context: RequestContext, operation: Operation, kind: int, name: str) -> None:
    """Refuses a caller that may not do this with the configs of the resource."""
    if rights.authorizer is None:
        return
    if kind == TOPIC_RESOURCE:
        rights.check(context, operation, ResourceType.TOPIC, name)
    elif kind == GROUP_RESOURCE:
        rights.check(context, operation, ResourceType.GROUP, name)
    elif kind in (BROKER_RESOURCE, BROKER_LOGGER_RESOURCE, CLIENT_METRICS_RESOURCE):
        rights.check(context, operation, ResourceType.CLUSTER, CLUSTER_NAME)


class AlteredResource(Protocol):
    """A resource in AlterConfigs or IncrementalAlterConfigs."""

    resource_type: int
    resource_name: str


Resource = TypeVar("Resource", bound=AlteredResource)


def split_by_rights(
    rights: Rights, context: RequestContext, resources: Sequence[Resource]
) -> tuple[list[Resource], dict[int, KafkaError]]:
    """The resources whose configs the caller may alter, and the errors of the others by their number.

    A resource that occurs twice is an error for everybody, so it is not refused here.
    """
    counts = Counter((one.resource_type, one.resource_name) for one in resources)
    allowed: list[Resource] = []
    errors: dict[int, KafkaError] = {}
    for number, one in enumerate(resources):
        try:
            if counts[one.resource_type, one.resource_name] == 1:
                check_rights(rights, context, Operation.ALTER_CONFIGS, one.resource_type, one.resource_name)
            allowed.append(one)
        except KafkaError as error:
            errors[number] = error
    return allowed, errors


def audit_changes(
    rights: Rights, context: RequestContext, resources: Iterable[tuple[AlteredResource, list[str]]]
) -> None:
    """Audits changed configs by their names. Their values may be secrets."""
    for resource, names in resources:
        rights.audit.changed(
            context,
            "configs changed",
            resource_type=KINDS.get(resource.resource_type, str(resource.resource_type)),
            resource=resource.resource_name,
            configs=names,
        )
