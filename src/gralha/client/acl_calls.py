"""Admin calls about access control lists."""

from collections.abc import Sequence
from typing import NamedTuple

from gralha.client.calls import Calls, raise_for
from gralha.protocol.acls import (
    Acl,
    Operation,
    PatternType,
    Permission,
    ResourceType,
    enumerated,
)
from gralha.protocol.messages.create_acls import AclCreation, CreateAclsRequest, CreateAclsResponse
from gralha.protocol.messages.delete_acls import (
    DeleteAclsFilter,
    DeleteAclsRequest,
    DeleteAclsResponse,
)
from gralha.protocol.messages.describe_acls import DescribeAclsRequest, DescribeAclsResponse


class AclFilter(NamedTuple):
    """Which ACLs are meant. ANY and None mean all values."""

    resource_type: ResourceType = ResourceType.ANY
    resource_name: str | None = None
    pattern_type: PatternType = PatternType.ANY
    principal: str | None = None
    host: str | None = None
    operation: Operation = Operation.ANY
    permission: Permission = Permission.ANY


class AclCalls(Calls):
    """Calls that add, list and remove ACLs."""

    def create_acls(self, acls: Sequence[Acl]) -> None:
        """Adds ACLs. Raises the first error."""
        request = CreateAclsRequest(
            [
                AclCreation(
                    acl.resource_type,
                    acl.resource_name,
                    acl.pattern_type,
                    acl.principal,
                    acl.host,
                    acl.operation,
                    acl.permission,
                )
                for acl in acls
            ]
        )

        def attempt() -> None:
            response = self.cluster.admin_connection().send(request, CreateAclsResponse)
            for result in response.results:
                raise_for(result.error_code, result.error_message)

        self.cluster.once(attempt, is_change=True)

    def describe_acls(self, wanted: AclFilter, *, broker_id: int | None = None) -> list[Acl]:
        """The ACLs that match, as any broker knows them, or this one."""
        request = DescribeAclsRequest(*wanted)

        def attempt() -> list[Acl]:
            cluster = self.cluster
            connection = cluster.admin_connection() if broker_id is None else cluster.connection_to(broker_id)
            response = connection.send(request, DescribeAclsResponse)
            raise_for(response.error_code, response.error_message)
            return [
                Acl(
                    enumerated(ResourceType, resource.resource_type),
                    resource.resource_name,
                    enumerated(PatternType, resource.pattern_type),
                    acl.principal,
                    acl.host,
                    enumerated(Operation, acl.operation),
                    enumerated(Permission, acl.permission_type),
                )
                for resource in response.resources
                for acl in resource.acls
            ]

        return self.cluster.once(attempt)

    def delete_acls(self, filters: Sequence[AclFilter]) -> list[Acl]:
        """Removes the ACLs that match a filter, and returns them. Raises the first error."""
        request = DeleteAclsRequest([DeleteAclsFilter(*one) for one in filters])

        def attempt() -> list[Acl]:
            response = self.cluster.admin_connection().send(request, DeleteAclsResponse)
            removed = []
            for result in response.filter_results:
                raise_for(result.error_code, result.error_message)
                for acl in result.matching_acls:
                    raise_for(acl.error_code, acl.error_message)
                    removed.append(
                        Acl(
                            enumerated(ResourceType, acl.resource_type),
                            acl.resource_name,
                            enumerated(PatternType, acl.pattern_type),
                            acl.principal,
                            acl.host,
                            enumerated(Operation, acl.operation),
                            enumerated(Permission, acl.permission_type),
                        )
                    )
            return removed

        return self.cluster.once(attempt, is_change=True)
