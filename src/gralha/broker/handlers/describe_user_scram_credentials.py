"""DescribeUserScramCredentials (version 0): the mechanisms and iterations of users, without their keys."""

from gralha.broker.handlers.controller_node import ControllerNode
from gralha.broker.pipeline import RequestContext
from gralha.metadata.controller.scram import describe_scram_credentials
from gralha.protocol.messages.describe_user_scram_credentials import (
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
)


def handle(
    node: ControllerNode, context: RequestContext, request: DescribeUserScramCredentialsRequest
) -> DescribeUserScramCredentialsResponse:
    return describe_scram_credentials(node.controller.image, [one.name for one in request.users or ()])
