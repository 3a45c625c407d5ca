"""What the caller of a request may do. Handlers ask here, and only here.

Without an authorizer (`authorizer.class.name` is not set) everybody may do everything, as in Kafka. Handlers
of hot APIs look at `authorizer` once for each request, so that nothing else is paid then.

Requests that this node sends to itself (`Peer.is_this_node`) are allowed: the node need not be a super user
to reach its own controller.
"""

from collections.abc import Iterable
from typing import Final

from gralha.broker.audit import Audit
from gralha.broker.config import NodeConfig
from gralha.broker.pipeline import RequestContext
from gralha.metadata.image import ImageChange, MetadataImage
from gralha.protocol.acls import CLUSTER_NAME, Operation, ResourceType
from gralha.protocol.errors import ErrorCode, error_for
from gralha.security.authorizer import Authorizer

DENIED: Final = {
    ResourceType.TOPIC: ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    ResourceType.GROUP: ErrorCode.GROUP_AUTHORIZATION_FAILED,
    ResourceType.CLUSTER: ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
    ResourceType.TRANSACTIONAL_ID: ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    ResourceType.DELEGATION_TOKEN: ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED,
    ResourceType.USER: ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED,
}
# The operations that make sense for a resource, for the fields that list what a client may do.
SUPPORTED: Final = {
    ResourceType.TOPIC: (
        Operation.READ,
        Operation.WRITE,
        Operation.CREATE,
        Operation.DELETE,
        Operation.ALTER,
        Operation.DESCRIBE,
        Operation.DESCRIBE_CONFIGS,
        Operation.ALTER_CONFIGS,
    ),
    ResourceType.GROUP: (
        Operation.READ,
        Operation.DELETE,
        Operation.DESCRIBE,
        Operation.DESCRIBE_CONFIGS,
        Operation.ALTER_CONFIGS,
    ),
    ResourceType.CLUSTER: (
        Operation.CREATE,
        Operation.ALTER,
        Operation.DESCRIBE,
        Operation.CLUSTER_ACTION,
        Operation.DESCRIBE_CONFIGS,
        Operation.ALTER_CONFIGS,
        Operation.IDEMPOTENT_WRITE,
    ),
}
# The value of such a field if the client has not asked for it.
NOT_ASKED: Final = -(1 << 31)


class Rights:
    """The rights of all callers of a node."""

    def __init__(self, authorizer: Authorizer | None, audit: Audit) -> None:
        self.authorizer = authorizer
        self.audit = audit

    def follow(self, change: ImageChange, image: MetadataImage) -> None:
        """The metadata has changed. The first change comes when this node knows all committed records."""
        authorizer = self.authorizer
        if authorizer is None:
            return
        if change.added_acls or change.removed_acls:
            authorizer.change(change.added_acls, change.removed_acls)
        if not authorizer.is_loaded:
            authorizer.loaded()

    def may(
        self, context: RequestContext, operation: Operation, resource_type: ResourceType, name: str
    ) -> bool:
        """Returns True if the caller may do this with the named resource. A denial is audited."""
        if self.sees(context, operation, resource_type, name):
            return True
        self.audit.denied(context, operation, resource_type, name)
        return False

    def sees(
        self,
        context: RequestContext,
        operation: Operation,
        resource_type: ResourceType,
        name: str = CLUSTER_NAME,
    ) -> bool:
        """Like `may`, for resources that the caller has not named, so that a denial is nothing unusual."""
        authorizer = self.authorizer
        if authorizer is None:
            return True
        peer = context.peer
        return peer.is_this_node or authorizer.allows(
            peer.principal, peer.host, operation, resource_type, name
        )

    def check(
        self, context: RequestContext, operation: Operation, resource_type: ResourceType, name: str
    ) -> None:
        """Raises the error for this type of resource if the caller may not do this."""
        if not self.may(context, operation, resource_type, name):
            raise error_for(DENIED[resource_type])

    def may_on_cluster(self, context: RequestContext, operation: Operation) -> bool:
        """Returns True if the caller may do this with the cluster."""
        return self.may(context, operation, ResourceType.CLUSTER, CLUSTER_NAME)

    def acts_as_node(self, principal: str, host: str) -> bool:
        """Returns True if the caller may send the requests of nodes. A denial is not audited."""
        authorizer = self.authorizer
        return authorizer is None or authorizer.allows(
            principal, host, Operation.CLUSTER_ACTION, ResourceType.CLUSTER, CLUSTER_NAME
        )

    def may_on_any(self, context: RequestContext, operation: Operation, resource_type: ResourceType) -> bool:
        """Returns True if the caller may do this with some resource of the type."""
        authorizer = self.authorizer
        if authorizer is None:
            return True
        peer = context.peer
        return peer.is_this_node or authorizer.allows_on_any(
            peer.principal, peer.host, operation, resource_type
        )

    def allowed(
        self,
        context: RequestContext,
        operation: Operation,
        resource_type: ResourceType,
        names: Iterable[str],
    ) -> set[str]:
        """The names of the resources with which the caller may do this."""
        return {name for name in dict.fromkeys(names) if self.may(context, operation, resource_type, name)}

    def operations(self, context: RequestContext, resource_type: ResourceType, name: str) -> int:
        """What the caller may do with a resource, as a bit field with Kafka's numbers."""
        return sum(
            1 << operation
            for operation in SUPPORTED[resource_type]
            if self.sees(context, operation, resource_type, name)
        )

    def cluster_operations(self, context: RequestContext) -> int:
        """The same for the cluster. Nothing is told to a caller that may not describe it."""
        if not self.may_on_cluster(context, Operation.DESCRIBE):
            return 0
        return self.operations(context, ResourceType.CLUSTER, CLUSTER_NAME)


def new_authorizer(config: NodeConfig) -> Authorizer | None:
    """The authorizer of the settings, or None if there is none."""
    if not (config.text("authorizer.class.name") or "").strip():
        return None
    return Authorizer(config.super_users, config.flag("allow.everyone.if.no.acl.found"))
