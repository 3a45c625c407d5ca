"""CreateAcls, DeleteAcls and DescribeAcls: the checks of Kafka's AclControlManager."""

from collections.abc import Iterable
from typing import NamedTuple, Protocol

from gralha.metadata.acls import AclsImage, acl_record
from gralha.metadata.controller.decision import MAX_RECORDS_PER_REQUEST, ControllerContext, Decision
from gralha.metadata.image import MetadataImage
from gralha.protocol.acls import (
    ANY_NAME,
    CLUSTER_NAME,
    Acl,
    Operation,
    PatternType,
    Permission,
    ResourceType,
    enumerated,
)
from gralha.protocol.errors import InvalidRequestError, KafkaError, PolicyViolationError
from gralha.protocol.message import Message
from gralha.protocol.messages.create_acls import (
    AclCreation,
    AclCreationResult,
    CreateAclsRequest,
    CreateAclsResponse,
)
from gralha.protocol.messages.delete_acls import (
    DeleteAclsFilter,
    DeleteAclsFilterResult,
    DeleteAclsMatchingAcl,
    DeleteAclsRequest,
    DeleteAclsResponse,
)
from gralha.protocol.messages.describe_acls import (
    AclDescription,
    DescribeAclsResource,
)
from gralha.protocol.messages.security_records import RemoveAccessControlEntryRecord


class FilterFields(Protocol):
    """The fields that a filter has in DescribeAcls and DeleteAcls."""

    resource_type_filter: int
    resource_name_filter: str | None
    pattern_type_filter: int
    principal_filter: str | None
    host_filter: str | None
    operation: int
    permission_type: int


class AclFilter(NamedTuple):
    """Which ACLs are meant. ANY and None mean all values."""

    resource_type: ResourceType
    resource_name: str | None
    pattern_type: PatternType
    principal: str | None
    host: str | None
    operation: Operation
    permission: Permission

    def check(self) -> None:
        """Refuses values that this version does not know, because they could mean more or less."""
        if ResourceType.UNKNOWN is self.resource_type or PatternType.UNKNOWN is self.pattern_type:
            raise InvalidRequestError("Unknown patternFilter.")
        if Operation.UNKNOWN is self.operation or Permission.UNKNOWN is self.permission:
            raise InvalidRequestError("Unknown entryFilter.")

    def matches(self, acl: Acl) -> bool:
        return (
            self.resource_type in (ResourceType.ANY, acl.resource_type)
            and self.operation in (Operation.ANY, acl.operation)
            and self.permission in (Permission.ANY, acl.permission)
            and self.principal in (None, acl.principal)
            and self.host in (None, acl.host)
            and self._matches_name(acl)
        )

    def only_acl(self) -> Acl | None:
        """The one ACL that can match, if the filter names all fields."""
        name, principal, host = self.resource_name, self.principal, self.host
        if name is None or principal is None or host is None:
            return None
        if self.pattern_type not in (PatternType.LITERAL, PatternType.PREFIXED):
            return None
        if Operation.ANY is self.operation or Permission.ANY is self.permission:
            return None
        return Acl(
            self.resource_type, name, self.pattern_type, principal, host, self.operation, self.permission
        )

    def _matches_name(self, acl: Acl) -> bool:
        """MATCH means the patterns that a resource of this name falls under."""
        wanted, name = self.pattern_type, self.resource_name
        if wanted not in (PatternType.ANY, PatternType.MATCH, acl.pattern_type):
            return False
        if name is None:
            return True
        if wanted is not PatternType.MATCH:
            return name == acl.resource_name
        if acl.pattern_type is PatternType.PREFIXED:
            return name.startswith(acl.resource_name)
        return acl.resource_name in (name, ANY_NAME)


def filter_of(fields: FilterFields) -> AclFilter:
    """The filter of a request. A value that this version does not know becomes UNKNOWN."""
    return AclFilter(
        enumerated(ResourceType, fields.resource_type_filter),
        fields.resource_name_filter,
        enumerated(PatternType, fields.pattern_type_filter),
        fields.principal_filter,
        fields.host_filter,
        enumerated(Operation, fields.operation),
        enumerated(Permission, fields.permission_type),
    )


# CreateAcls


def create_acls(
    image: MetadataImage, request: CreateAclsRequest, context: ControllerContext
) -> Decision[CreateAclsResponse]:
    """Adds the ACLs that are not there yet. Each has a result of its own."""
    results: list[AclCreationResult] = []
    new: dict[Acl, bytes] = {}
    for creation in request.creations:
        try:
            acl = _checked(creation)
        except KafkaError as error:
            results.append(AclCreationResult(error_code=error.code, error_message=error.message))
            continue
        results.append(AclCreationResult(error_message=None))
        if acl not in image.acls.ids and acl not in new:
            new[acl] = _new_id(image.acls, context)
    if len(new) > MAX_RECORDS_PER_REQUEST:
        raise PolicyViolationError("Unable to perform excessively large batch operation.")
    records: list[Message] = [acl_record(acl_id, acl) for acl, acl_id in new.items()]
    return Decision(CreateAclsResponse(results=results), records)


def _new_id(acls: AclsImage, context: ControllerContext) -> bytes:
    while True:
        acl_id = context.new_uuid()
        if acl_id not in acls.by_id:
            return acl_id


def _checked(creation: AclCreation) -> Acl:
    """The ACL that a request asks for. The checks are Kafka's, in Kafka's order."""
    acl = Acl(
        enumerated(ResourceType, creation.resource_type),
        creation.resource_name,
        enumerated(PatternType, creation.resource_pattern_type),
        creation.principal,
        creation.host,
        enumerated(Operation, creation.operation),
        enumerated(Permission, creation.permission_type),
    )
    if acl.resource_type is ResourceType.CLUSTER and acl.resource_name != CLUSTER_NAME:
        raise InvalidRequestError(f"The only valid name for the CLUSTER resource is {CLUSTER_NAME}")
    if not acl.resource_name:
        raise InvalidRequestError("Invalid empty resource name")
    if acl.resource_type in (ResourceType.UNKNOWN, ResourceType.ANY):
        raise InvalidRequestError(f"Invalid resourceType {acl.resource_type.name}")
    if acl.pattern_type not in (PatternType.LITERAL, PatternType.PREFIXED):
        raise InvalidRequestError(f"Invalid patternType {acl.pattern_type.name}")
    if acl.operation in (Operation.UNKNOWN, Operation.ANY):
        raise InvalidRequestError(f"Invalid operation {acl.operation.name}")
    if acl.permission not in (Permission.DENY, Permission.ALLOW):
        raise InvalidRequestError(f"Invalid permissionType {acl.permission.name}")
    if ":" not in acl.principal:
        raise InvalidRequestError(
            f"Could not parse principal from `{acl.principal}` "
            "(no colon is present separating the principal type from the principal name)"
        )
    return acl


# DeleteAcls


def delete_acls(image: MetadataImage, request: DeleteAclsRequest) -> Decision[DeleteAclsResponse]:
    """Removes all ACLs that match a filter, and lists them in the filter's result."""
    removed: dict[bytes, None] = {}
    results: list[DeleteAclsFilterResult] = []
    for fields in request.filters:
        try:
            results.append(_delete_matching(image.acls, fields, removed))
        except KafkaError as error:
            results.append(DeleteAclsFilterResult(error_code=error.code, error_message=error.message))
    if len(removed) > MAX_RECORDS_PER_REQUEST:
        raise PolicyViolationError(
            f"Cannot remove more than {MAX_RECORDS_PER_REQUEST} acls in a single delete operation."
        )
    records: list[Message] = [RemoveAccessControlEntryRecord(id=acl_id) for acl_id in removed]
    return Decision(DeleteAclsResponse(filter_results=results), records)


def _delete_matching(
    acls: AclsImage, fields: DeleteAclsFilter, removed: dict[bytes, None]
) -> DeleteAclsFilterResult:
    wanted = filter_of(fields)
    wanted.check()
    found = _matching(acls, wanted)
    removed.update((acl_id, None) for acl_id, _ in found)
    return DeleteAclsFilterResult(
        error_message=None,
        matching_acls=[
            DeleteAclsMatchingAcl(
                error_message=None,
                resource_type=acl.resource_type,
                resource_name=acl.resource_name,
                pattern_type=acl.pattern_type,
                principal=acl.principal,
                host=acl.host,
                operation=acl.operation,
                permission_type=acl.permission,
            )
            for _, acl in found
        ],
    )


def _matching(acls: AclsImage, wanted: AclFilter) -> list[tuple[bytes, Acl]]:
    only = wanted.only_acl()
    if only is not None:
        acl_id = acls.ids.get(only)
        return [] if acl_id is None else [(acl_id, only)]
    return [(acl_id, acl) for acl_id, acl in acls.by_id.items() if wanted.matches(acl)]


# DescribeAcls


def described_acls(acls: Iterable[Acl], wanted: AclFilter) -> list[DescribeAclsResource]:
    """The ACLs that match a filter, grouped by their patterns."""
    resources: dict[tuple[ResourceType, PatternType, str], DescribeAclsResource] = {}
    for acl in acls:
        if not wanted.matches(acl):
            continue
        pattern = (acl.resource_type, acl.pattern_type, acl.resource_name)
        resource = resources.get(pattern)
        if resource is None:
            resource = resources[pattern] = DescribeAclsResource(
                resource_type=acl.resource_type,
                resource_name=acl.resource_name,
                pattern_type=acl.pattern_type,
            )
        resource.acls.append(AclDescription(acl.principal, acl.host, acl.operation, acl.permission))
    return list(resources.values())
