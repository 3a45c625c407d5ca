"""DescribeGroups (versions 0 to 6): classic groups with their members.

A group that does not exist is Dead; from version 6 on, the answer has GROUP_ID_NOT_FOUND as well (KIP-1043).
"""

from collections.abc import Awaitable

from gralha.broker.broker import Broker
from gralha.broker.handlers.group_requests import caller, gathered
from gralha.broker.pipeline import RequestContext
from gralha.protocol.acls import Operation, ResourceType
from gralha.protocol.errors import ErrorCode, KafkaError, error_for
from gralha.protocol.messages.describe_groups import (
    DescribedGroup,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
)


async def handle(
    broker: Broker, context: RequestContext, request: DescribeGroupsRequest
) -> DescribeGroupsResponse:
    groups = await gathered([_described(broker, context, group_id) for group_id in request.groups])
    if request.include_authorized_operations:
        for group in groups:
            if not group.error_code:
                group.authorized_operations = broker.rights.operations(
                    context, ResourceType.GROUP, group.group_id
                )
    return DescribeGroupsResponse(groups=groups)


def _described(
    broker: Broker, context: RequestContext, group_id: str
) -> DescribedGroup | Awaitable[DescribedGroup]:
    who = caller(context)

    def failed(error: KafkaError) -> DescribedGroup:
        return DescribedGroup(group_id=group_id, error_code=error.code)

    if not broker.rights.may(context, Operation.DESCRIBE, ResourceType.GROUP, group_id):
        return failed(error_for(ErrorCode.GROUP_AUTHORIZATION_FAILED))
    return broker.groups.call(
        group_id, lambda shard, _reply, _now_ms: shard.describe_group(who, group_id), failed
    )
