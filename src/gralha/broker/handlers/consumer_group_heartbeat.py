"""ConsumerGroupHeartbeat (versions 0 to 1): the only request of members of a consumer group (KIP-848).

Members join, leave, subscribe, give partitions back and get new ones with heartbeats.
"""

from collections.abc import Awaitable

from gralha.broker.broker import Broker
from gralha.broker.handlers.group_requests import caller
from gralha.broker.pipeline import RequestContext
from gralha.protocol.errors import KafkaError
from gralha.protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)


def handle(
    broker: Broker, context: RequestContext, request: ConsumerGroupHeartbeatRequest
) -> ConsumerGroupHeartbeatResponse | Awaitable[ConsumerGroupHeartbeatResponse]:
    who = caller(context)
    return broker.groups.call(
        request.group_id,
        lambda shard, _reply, now_ms: shard.consumer_group_heartbeat(who, request, now_ms),
        _failed,
    )


def _failed(error: KafkaError) -> ConsumerGroupHeartbeatResponse:
    return ConsumerGroupHeartbeatResponse(error_code=error.code, error_message=error.message)
