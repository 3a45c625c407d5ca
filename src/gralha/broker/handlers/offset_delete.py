"""OffsetDelete (version 0): deletes committed offsets of topics that no member subscribes to (KIP-496)."""

from collections.abc import Awaitable

from gralha.broker.broker import Broker
from gralha.broker.handlers import topic_rights
from gralha.broker.handlers.group_requests import gathered
from gralha.broker.pipeline import RequestContext
from gralha.protocol.acls import Operation, ResourceType
from gralha.protocol.errors import ErrorCode, KafkaError, error_for
from gralha.protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestTopic,
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)


def handle(
    broker: Broker, context: RequestContext, request: OffsetDeleteRequest
) -> OffsetDeleteResponse | Awaitable[OffsetDeleteResponse]:
    rights = broker.rights
    if rights.authorizer is None:
        return _delete(broker, request)
    if not rights.may(context, Operation.DELETE, ResourceType.GROUP, request.group_id):
        return _failed(error_for(ErrorCode.GROUP_AUTHORIZATION_FAILED))
    allowed, refused = topic_rights.split(
        rights, context, Operation.READ, request.topics, lambda topic: topic.name
    )
    return _delete_allowed(broker, topic_rights.with_topics(request, allowed), refused)


async def _delete_allowed(
    broker: Broker, request: OffsetDeleteRequest, refused: list[OffsetDeleteRequestTopic]
) -> OffsetDeleteResponse:
    """The group is asked even without topics, because an unknown group is an error of its own."""
    (response,) = await gathered([_delete(broker, request)])
    if response.error_code:
        return response
    code = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    for topic in refused:
        partitions = [
            OffsetDeleteResponsePartition(partition.partition_index, code) for partition in topic.partitions
        ]
        response.topics.append(OffsetDeleteResponseTopic(topic.name, partitions))
    return response


def _delete(
    broker: Broker, request: OffsetDeleteRequest
) -> OffsetDeleteResponse | Awaitable[OffsetDeleteResponse]:
    return broker.groups.call(
        request.group_id, lambda shard, _reply, _now_ms: shard.delete_offsets(request), _failed
    )


def _failed(error: KafkaError) -> OffsetDeleteResponse:
    return OffsetDeleteResponse(error_code=error.code)
