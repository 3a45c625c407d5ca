"""CreateAcls (versions 1 to 3): adds access control lists.

The active controller decides. Each ACL has a result of its own. An ACL that is there already is no error.
"""

from gralha.broker.broker import Broker
from gralha.broker.handlers.acl_requests import acl_details, check_authorizer
from gralha.broker.pipeline import RequestContext
from gralha.metadata.controller import acls
from gralha.protocol.errors import KafkaError
from gralha.protocol.messages.create_acls import AclCreationResult, CreateAclsRequest, CreateAclsResponse


async def decide(broker: Broker, context: RequestContext, request: CreateAclsRequest) -> CreateAclsResponse:
    check_authorizer(broker, "No Authorizer is configured.")
    controller = broker.controller
    response = await controller.execute(lambda image: acls.create_acls(image, request, controller.context))
    for creation, result in zip(request.creations, response.results, strict=True):
        if not result.error_code:
            pattern_type = creation.resource_pattern_type
            broker.rights.audit.changed(context, "ACL created", **acl_details(creation, pattern_type))
    return response


def refusal(request: CreateAclsRequest, error: KafkaError, version: int) -> CreateAclsResponse:
    return CreateAclsResponse(
        results=[AclCreationResult(error.code, error.message) for _ in request.creations]
    )
