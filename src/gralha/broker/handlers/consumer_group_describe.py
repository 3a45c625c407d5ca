"""ConsumerGroupDescribe (versions 0 to 1): consumer groups, their members and assignments (KIP-848)."""

from collections.abc import Awaitable

from gralha.broker.broker import Broker
from gralha.broker.handlers.group_requests import gathered
from gralha.broker.pipeline import RequestContext
from gralha.protocol.errors import InvalidGroupIdError, KafkaError
from gralha.protocol.messages.consumer_group_describe import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    DescribedGroup,
)


async def handle(
    broker: Broker, context: RequestContext, request: ConsumerGroupDescribeRequest
) -> ConsumerGroupDescribeResponse:
    groups = await gathered([_described(broker, group_id) for group_id in request.group_ids])
    return ConsumerGroupDescribeResponse(groups=groups)


def _described(broker: Broker, group_id: str) -> DescribedGroup | Awaitable[DescribedGroup]:
    def failed(error: KafkaError) -> DescribedGroup:
        return DescribedGroup(group_id=group_id, error_code=error.code, error_message=error.message)

    if not group_id:
        return failed(InvalidGroupIdError())
    return broker.groups.call(
        group_id, lambda shard, _reply, _now_ms: shard.describe_consumer_group(group_id), failed
    )
