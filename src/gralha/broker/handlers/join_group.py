"""JoinGroup (versions 0 to 9): a classic member joins its group, or joins again for a rebalance.

The answer comes with the new generation: when all members have joined, or after the rebalance timeout.
"""

from collections.abc import Awaitable

from gralha.broker.broker import Broker
from gralha.broker.handlers.group_requests import caller
from gralha.broker.pipeline import RequestContext
from gralha.protocol.acls import Operation, ResourceType
from gralha.protocol.errors import ErrorCode, KafkaError, error_for
from gralha.protocol.messages.join_group import JoinGroupRequest, JoinGroupResponse


def handle(
    broker: Broker, context: RequestContext, request: JoinGroupRequest
) -> JoinGroupResponse | Awaitable[JoinGroupResponse]:
    who = caller(context)

    def failed(error: KafkaError) -> JoinGroupResponse:
        # From version 7 on, null means no protocol (KIP-559).
        protocol_name = None if context.api_version >= 7 else ""
        return JoinGroupResponse(
            error_code=error.code, member_id=request.member_id, protocol_name=protocol_name
        )

    if not broker.rights.may(context, Operation.READ, ResourceType.GROUP, request.group_id):
        return failed(error_for(ErrorCode.GROUP_AUTHORIZATION_FAILED))
    return broker.groups.call(
        request.group_id,
        lambda shard, reply, now_ms: shard.join_group(who, request, reply, now_ms),
        failed,
    )
