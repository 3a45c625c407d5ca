"""SyncGroup (versions 0 to 5): a classic member asks for its assignment. The leader sends all assignments.

The answer is sent when the leader's assignment is committed to the log.
"""

from collections.abc import Awaitable
from typing import Final

from gralha.broker.broker import Broker
from gralha.broker.handlers.group_requests import caller
from gralha.broker.pipeline import RequestContext
from gralha.protocol.acls import Operation, ResourceType
from gralha.protocol.errors import ErrorCode, InconsistentGroupProtocolError, KafkaError, error_for
from gralha.protocol.messages.sync_group import SyncGroupRequest, SyncGroupResponse

# From this version on, a member names the protocol that it uses (KIP-559).
PROTOCOL_FROM: Final = 5


def handle(
    broker: Broker, context: RequestContext, request: SyncGroupRequest
) -> SyncGroupResponse | Awaitable[SyncGroupResponse]:
    who = caller(context)

    def failed(error: KafkaError) -> SyncGroupResponse:
        return SyncGroupResponse(error_code=error.code)

    if context.api_version >= PROTOCOL_FROM and None in (request.protocol_type, request.protocol_name):
        return failed(InconsistentGroupProtocolError())
    if not broker.rights.may(context, Operation.READ, ResourceType.GROUP, request.group_id):
        return failed(error_for(ErrorCode.GROUP_AUTHORIZATION_FAILED))
    return broker.groups.call(
        request.group_id,
        lambda shard, reply, now_ms: shard.sync_group(who, request, reply, now_ms),
        failed,
    )
