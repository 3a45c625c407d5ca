"""ConsumerGroupDescribe (versions 0 to 1): consumer groups, their members and assignments (KIP-848)."""

from collections.abc import Awaitable
from typing import Final

from gralha.broker.broker import Broker
from gralha.broker.handlers.group_requests import gathered
from gralha.broker.pipeline import RequestContext
from gralha.protocol.acls import Operation, ResourceType
from gralha.protocol.errors import ErrorCode, InvalidGroupIdError, KafkaError, error_for
from gralha.protocol.messages.consumer_group_describe import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    DescribedGroup,
)

TOPICS_DENIED: Final = "The group has described topic(s) that the client is not authorized to describe."


async def handle(
    broker: Broker, context: RequestContext, request: ConsumerGroupDescribeRequest
) -> ConsumerGroupDescribeResponse:
    groups = await gathered([_described(broker, context, group_id) for group_id in request.group_ids])
    if broker.rights.authorizer is not None:
        groups = [_if_describable(broker, context, group) for group in groups]
    if request.include_authorized_operations:
        for group in groups:
            if not group.error_code:
                group.authorized_operations = broker.rights.operations(
                    context, ResourceType.GROUP, group.group_id
                )
    return ConsumerGroupDescribeResponse(groups=groups)


def _if_describable(broker: Broker, context: RequestContext, group: DescribedGroup) -> DescribedGroup:
    """The group, or only an error if its members have topics that the caller may not describe."""
    topics = {
        partitions.topic_name
        for member in group.members
        for assignment in (member.assignment, member.target_assignment)
        for partitions in assignment.topic_partitions
    }
    if all(
        broker.rights.may(context, Operation.DESCRIBE, ResourceType.TOPIC, name) for name in sorted(topics)
    ):
        return group
    return DescribedGroup(
        group_id=group.group_id,
        error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        error_message=TOPICS_DENIED,
    )


def _described(
    broker: Broker, context: RequestContext, group_id: str
) -> DescribedGroup | Awaitable[DescribedGroup]:
    def failed(error: KafkaError) -> DescribedGroup:
        return DescribedGroup(group_id=group_id, error_code=error.code, error_message=error.message)

    if not broker.rights.may(context, Operation.DESCRIBE, ResourceType.GROUP, group_id):
        return failed(error_for(ErrorCode.GROUP_AUTHORIZATION_FAILED))
    if not group_id:
        return failed(InvalidGroupIdError())
    return broker.groups.call(
        group_id, lambda shard, _reply, _now_ms: shard.describe_consumer_group(group_id), failed
    )
