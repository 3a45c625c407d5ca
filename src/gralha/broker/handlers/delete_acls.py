"""DeleteAcls (versions 1 to 3): removes the access control lists that match filters.

The active controller decides. The result of a filter lists the ACLs that it has removed.
"""

from gralha.broker.broker import Broker
from gralha.broker.handlers.acl_requests import acl_details, check_authorizer
from gralha.broker.pipeline import RequestContext
from gralha.metadata.controller import acls
from gralha.protocol.errors import KafkaError
from gralha.protocol.messages.delete_acls import (
    DeleteAclsFilterResult,
    DeleteAclsRequest,
    DeleteAclsResponse,
)


async def decide(broker: Broker, context: RequestContext, request: DeleteAclsRequest) -> DeleteAclsResponse:
    check_authorizer(broker, "No Authorizer is configured.")
    response = await broker.controller.execute(lambda image: acls.delete_acls(image, request))
    for result in response.filter_results:
        for deleted in result.matching_acls:
            broker.rights.audit.changed(context, "ACL deleted", **acl_details(deleted, deleted.pattern_type))
    return response


def refusal(request: DeleteAclsRequest, error: KafkaError, version: int) -> DeleteAclsResponse:
    return DeleteAclsResponse(
        filter_results=[DeleteAclsFilterResult(error.code, error.message) for _ in request.filters]
    )
