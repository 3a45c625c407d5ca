"""ListGroups (versions 0 to 5): the groups that this broker coordinates, filtered by state and type."""

from gralha.broker.broker import Broker
from gralha.broker.handlers.group_requests import gathered
from gralha.broker.pipeline import RequestContext
from gralha.protocol.acls import Operation, ResourceType
from gralha.protocol.errors import ErrorCode
from gralha.protocol.messages.list_groups import ListGroupsRequest, ListGroupsResponse


async def handle(broker: Broker, context: RequestContext, request: ListGroupsRequest) -> ListGroupsResponse:
    answers = broker.groups.call_all(
        lambda shard, _reply, _now_ms: shard.list_groups(request),
        lambda error: ListGroupsResponse(error_code=error.code),
    )
    response = ListGroupsResponse()
    for part in await gathered(answers):
        if part.error_code == ErrorCode.NOT_COORDINATOR:
            continue  # the partition has moved: its new leader lists its groups
        if part.error_code:
            return ListGroupsResponse(error_code=part.error_code)
        response.groups.extend(part.groups)
    rights = broker.rights
    if not rights.sees(context, Operation.DESCRIBE, ResourceType.CLUSTER):
        response.groups = [
            group
            for group in response.groups
            if rights.sees(context, Operation.DESCRIBE, ResourceType.GROUP, group.group_id)
        ]
    return response
