"""OffsetDelete (version 0): deletes committed offsets of topics that no member subscribes to (KIP-496)."""

from collections.abc import Awaitable

from gralha.broker.broker import Broker
from gralha.broker.pipeline import RequestContext
from gralha.protocol.errors import KafkaError
from gralha.protocol.messages.offset_delete import OffsetDeleteRequest, OffsetDeleteResponse


def handle(
    broker: Broker, context: RequestContext, request: OffsetDeleteRequest
) -> OffsetDeleteResponse | Awaitable[OffsetDeleteResponse]:
    return broker.groups.call(
        request.group_id, lambda shard, _reply, _now_ms: shard.delete_offsets(request), _failed
    )


def _failed(error: KafkaError) -> OffsetDeleteResponse:
    return OffsetDeleteResponse(error_code=error.code)
