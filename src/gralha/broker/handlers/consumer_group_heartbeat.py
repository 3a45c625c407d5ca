"""ConsumerGroupHeartbeat (versions 0 to 1): the only request of members of a consumer group (KIP-848).

Members join, leave, subscribe, give partitions back and get new ones with heartbeats.
"""

from collections.abc import Awaitable

from gralha.broker.broker import Broker
from gralha.broker.handlers.group_requests import caller
from gralha.broker.pipeline import RequestContext
from gralha.protocol.acls import Operation, ResourceType
from gralha.protocol.errors import KafkaError
from gralha.protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)


def handle(
    broker: Broker, context: RequestContext, request: ConsumerGroupHeartbeatRequest
) -> ConsumerGroupHeartbeatResponse | Awaitable[ConsumerGroupHeartbeatResponse]:
    rights = broker.rights
    who = caller(context)
    if rights.authorizer is not None:
        try:
            rights.check(context, Operation.READ, ResourceType.GROUP, request.group_id)
            # A client may not learn whether a topic exists that it may not describe.
            for topic in dict.fromkeys(request.subscribed_topic_names or ()):
                rights.check(context, Operation.DESCRIBE, ResourceType.TOPIC, topic)
        except KafkaError as error:
            return _failed(error)
        who = who._replace(
            may_describe=lambda topic: rights.sees(context, Operation.DESCRIBE, ResourceType.TOPIC, topic)
        )
    return broker.groups.call(
        request.group_id,
        lambda shard, _reply, now_ms: shard.consumer_group_heartbeat(who, request, now_ms),
        _failed,
    )


def _failed(error: KafkaError) -> ConsumerGroupHeartbeatResponse:
    return ConsumerGroupHeartbeatResponse(error_code=error.code, error_message=error.message)
