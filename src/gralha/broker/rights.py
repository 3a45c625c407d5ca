"""What the caller of a request may do. Handlers ask here, and only here.

Without an authorizer (`authorizer.class.name` is not set) everybody may do everything, as in Kafka.
"""

from collections.abc import Iterable
from typing import Protocol

from gralha.broker.pipeline import RequestContext
from gralha.protocol.acls import CLUSTER_NAME, Operation, ResourceType


class Authorizer(Protocol):
    """Decides by the ACLs of the cluster."""

    def allows(
        self, principal: str, host: str, operation: Operation, resource_type: ResourceType, name: str
    ) -> bool:
        """Returns True if the principal may do this from this host."""

    def allows_on_any(
        self, principal: str, host: str, operation: Operation, resource_type: ResourceType
    ) -> bool:
        """Returns True if there is at least one resource of this type with which the principal may do it."""


class Rights:
    """The rights of all callers of a node."""

    def __init__(self, authorizer: Authorizer | None) -> None:
        self.authorizer = authorizer

    def may(
        self, context: RequestContext, operation: Operation, resource_type: ResourceType, name: str
    ) -> bool:
        """Returns True if the caller may do this with the named resource."""
        authorizer = self.authorizer
        if authorizer is None:
            return True
        peer = context.peer
        return authorizer.allows(peer.principal, peer.host, operation, resource_type, name)

    def may_on_cluster(self, context: RequestContext, operation: Operation) -> bool:
        """Returns True if the caller may do this with the cluster."""
        return self.may(context, operation, ResourceType.CLUSTER, CLUSTER_NAME)

    def may_on_any(self, context: RequestContext, operation: Operation, resource_type: ResourceType) -> bool:
        """Returns True if the caller may do this with some resource of the type."""
        authorizer = self.authorizer
        if authorizer is None:
            return True
        peer = context.peer
        return authorizer.allows_on_any(peer.principal, peer.host, operation, resource_type)

    def allowed(
        self,
        context: RequestContext,
        operation: Operation,
        resource_type: ResourceType,
        names: Iterable[str],
    ) -> set[str]:
        """The names of the resources with which the caller may do this."""
        return {name for name in names if self.may(context, operation, resource_type, name)}
