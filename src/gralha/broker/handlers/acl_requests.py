"""Parts that the three requests about access control lists share."""

from gralha.broker.broker import Broker
from gralha.protocol.acls import Operation, PatternType, Permission, ResourceType
from gralha.protocol.errors import ErrorCode, error_for
from gralha.protocol.messages.create_acls import AclCreation
from gralha.protocol.messages.delete_acls import DeleteAclsMatchingAcl


def check_authorizer(broker: Broker, message: str) -> None:
    """ACLs without an authorizer would have no effect, so Kafka neither changes nor lists them."""
    if broker.rights.authorizer is None:
        raise error_for(ErrorCode.SECURITY_DISABLED, message)


def acl_details(acl: AclCreation | DeleteAclsMatchingAcl, pattern_type: int) -> dict[str, object]:
    """An ACL for the audit log."""
    return {
        "acl_principal": acl.principal,
        "acl_host": acl.host,
        "operation": Operation(acl.operation).name,
        "permission": Permission(acl.permission_type).name,
        "resource_type": ResourceType(acl.resource_type).name,
        "pattern_type": PatternType(pattern_type).name,
        "resource": acl.resource_name,
    }
