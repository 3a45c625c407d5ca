"""DescribeGroups (versions 0 to 6): classic groups with their members.

A group that does not exist is Dead; from version 6 on, the answer has GROUP_ID_NOT_FOUND as well (KIP-1043).
"""

from collections.abc import Awaitable

from gralha.broker.broker import Broker
from gralha.broker.handlers.group_requests import caller, gathered
from gralha.broker.pipeline import RequestContext
from gralha.groups.caller import Caller
from gralha.protocol.errors import KafkaError
from gralha.protocol.messages.describe_groups import (
    DescribedGroup,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
)


async def handle(
    broker: Broker, context: RequestContext, request: DescribeGroupsRequest
) -> DescribeGroupsResponse:
    who = caller(context)
    return DescribeGroupsResponse(
        groups=await gathered([_described(broker, who, group_id) for group_id in request.groups])
    )


def _described(broker: Broker, who: Caller, group_id: str) -> DescribedGroup | Awaitable[DescribedGroup]:
    def failed(error: KafkaError) -> DescribedGroup:
        return DescribedGroup(group_id=group_id, error_code=error.code)

    return broker.groups.call(
        group_id, lambda shard, _reply, _now_ms: shard.describe_group(who, group_id), failed
    )
