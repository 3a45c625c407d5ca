"""DeleteGroups (versions 0 to 2): deletes groups without members, and their offsets."""

from collections.abc import Awaitable

from gralha.broker.broker import Broker
from gralha.broker.handlers.group_requests import gathered
from gralha.broker.pipeline import RequestContext
from gralha.protocol.acls import Operation, ResourceType
from gralha.protocol.errors import ErrorCode, KafkaError, error_for
from gralha.protocol.messages.delete_groups import (
    DeletableGroupResult,
    DeleteGroupsRequest,
    DeleteGroupsResponse,
)


async def handle(
    broker: Broker, context: RequestContext, request: DeleteGroupsRequest
) -> DeleteGroupsResponse:
    # As in Kafka, a group that is named twice is deleted and answered once.
    group_ids = dict.fromkeys(request.groups_names)
    answers = await gathered([_deleted(broker, context, group_id) for group_id in group_ids])
    return DeleteGroupsResponse(results=[result for answer in answers for result in answer.results])


def _deleted(
    broker: Broker, context: RequestContext, group_id: str
) -> DeleteGroupsResponse | Awaitable[DeleteGroupsResponse]:
    def failed(error: KafkaError) -> DeleteGroupsResponse:
        return DeleteGroupsResponse(results=[DeletableGroupResult(group_id, error.code)])

    if not broker.rights.may(context, Operation.DELETE, ResourceType.GROUP, group_id):
        return failed(error_for(ErrorCode.GROUP_AUTHORIZATION_FAILED))
    return broker.groups.call(
        group_id, lambda shard, _reply, _now_ms: shard.delete_groups([group_id]), failed
    )
