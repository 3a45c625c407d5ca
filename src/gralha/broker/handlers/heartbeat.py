"""Heartbeat (versions 0 to 4): a classic member is alive. The answer tells it of a rebalance.

While the coordinator loads, a heartbeat succeeds: a member need not join again because its coordinator has
moved.
"""

from collections.abc import Awaitable

from gralha.broker.broker import Broker
from gralha.broker.handlers.group_requests import caller
from gralha.broker.pipeline import RequestContext
from gralha.protocol.acls import Operation, ResourceType
from gralha.protocol.errors import ErrorCode, KafkaError, error_for
from gralha.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse


def handle(
    broker: Broker, context: RequestContext, request: HeartbeatRequest
) -> HeartbeatResponse | Awaitable[HeartbeatResponse]:
    if not broker.rights.may(context, Operation.READ, ResourceType.GROUP, request.group_id):
        return _failed(error_for(ErrorCode.GROUP_AUTHORIZATION_FAILED))
    who = caller(context)
    return broker.groups.call(
        request.group_id, lambda shard, _reply, now_ms: shard.heartbeat(who, request, now_ms), _failed
    )


def _failed(error: KafkaError) -> HeartbeatResponse:
    if error.code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
        return HeartbeatResponse()
    return HeartbeatResponse(error_code=error.code)
