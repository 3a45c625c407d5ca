"""OffsetCommit (versions 2 to 10): a group commits offsets. Version 10 names topics by id.

The answer comes when the offsets are committed to `__consumer_offsets`.
"""

from collections.abc import Awaitable

from gralha.broker.broker import Broker
from gralha.broker.handlers.group_requests import caller
from gralha.broker.pipeline import RequestContext
from gralha.groups.offset_messages import commit_error
from gralha.protocol.errors import KafkaError
from gralha.protocol.messages.offset_commit import OffsetCommitRequest, OffsetCommitResponse


def handle(
    broker: Broker, context: RequestContext, request: OffsetCommitRequest
) -> OffsetCommitResponse | Awaitable[OffsetCommitResponse]:
    who = caller(context)

    def failed(error: KafkaError) -> OffsetCommitResponse:
        return commit_error(request, error.code)

    return broker.groups.call(
        request.group_id, lambda shard, _reply, now_ms: shard.commit_offsets(who, request, now_ms), failed
    )
