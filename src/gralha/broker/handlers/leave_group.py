"""LeaveGroup (versions 0 to 5): classic members leave, or an administrator removes static ones (KIP-345)."""

from collections.abc import Awaitable

from gralha.broker.broker import Broker
from gralha.broker.handlers.group_requests import caller
from gralha.broker.pipeline import RequestContext
from gralha.protocol.acls import Operation, ResourceType
from gralha.protocol.errors import ErrorCode, KafkaError, error_for
from gralha.protocol.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse


def handle(
    broker: Broker, context: RequestContext, request: LeaveGroupRequest
) -> LeaveGroupResponse | Awaitable[LeaveGroupResponse]:
    if not broker.rights.may(context, Operation.READ, ResourceType.GROUP, request.group_id):
        return _failed(error_for(ErrorCode.GROUP_AUTHORIZATION_FAILED))
    who = caller(context)
    return broker.groups.call(
        request.group_id, lambda shard, _reply, now_ms: shard.leave_group(who, request, now_ms), _failed
    )


def _failed(error: KafkaError) -> LeaveGroupResponse:
    return LeaveGroupResponse(error_code=error.code)
