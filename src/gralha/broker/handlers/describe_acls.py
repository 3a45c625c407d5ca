"""DescribeAcls (versions 1 to 3): the access control lists that match a filter."""

from gralha.broker.broker import Broker
from gralha.broker.handlers.acl_requests import check_authorizer
from gralha.broker.pipeline import RequestContext
from gralha.metadata.controller import acls
from gralha.protocol.errors import KafkaError
from gralha.protocol.messages.describe_acls import DescribeAclsRequest, DescribeAclsResponse


def handle(broker: Broker, context: RequestContext, request: DescribeAclsRequest) -> DescribeAclsResponse:
    try:
        check_authorizer(broker, "No Authorizer is configured on the broker")
    except KafkaError as error:
        return DescribeAclsResponse(error_code=error.code, error_message=error.message)
    found = acls.described_acls(broker.image.acls.ids, acls.filter_of(request))
    return DescribeAclsResponse(error_message=None, resources=found)
