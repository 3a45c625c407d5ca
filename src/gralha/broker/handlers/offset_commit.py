"""OffsetCommit (versions 2 to 10): a group commits offsets. Version 10 names topics by id.

The answer comes when the offsets are committed to `__consumer_offsets`.
"""

from collections.abc import Awaitable
from typing import Final

from gralha.broker.broker import Broker
from gralha.broker.handlers import topic_rights
from gralha.broker.handlers.group_requests import caller
from gralha.broker.pipeline import RequestContext
from gralha.groups.offset_messages import commit_error
from gralha.protocol.acls import Operation, ResourceType
from gralha.protocol.errors import ErrorCode, KafkaError
from gralha.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)

TOPIC_IDS_FROM_VERSION: Final = 10


def handle(
    broker: Broker, context: RequestContext, request: OffsetCommitRequest
) -> OffsetCommitResponse | Awaitable[OffsetCommitResponse]:
    if broker.rights.authorizer is not None:
        if not broker.rights.may(context, Operation.READ, ResourceType.GROUP, request.group_id):
            return commit_error(request, ErrorCode.GROUP_AUTHORIZATION_FAILED)
        return _commit_allowed(broker, context, request)
    return _commit(broker, context, request)


def _commit_allowed(
    broker: Broker, context: RequestContext, request: OffsetCommitRequest
) -> OffsetCommitResponse | Awaitable[OffsetCommitResponse]:
    """Commits the offsets of topics that the caller may read. The others get an error."""
    by_id = broker.image.topics_by_id

    def name_of(topic: OffsetCommitRequestTopic) -> str | None:
        if context.api_version < TOPIC_IDS_FROM_VERSION:
            return topic.name
        known = by_id.get(topic.topic_id)
        return None if known is None else known.name

    allowed, refused = topic_rights.split(broker.rights, context, Operation.READ, request.topics, name_of)
    if not refused:
        return _commit(broker, context, request)
    errors = commit_error(OffsetCommitRequest(topics=refused), ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    if not allowed:
        return errors
    return topic_rights.joined(_commit(broker, context, topic_rights.with_topics(request, allowed)), errors)


def _commit(
    broker: Broker, context: RequestContext, request: OffsetCommitRequest
) -> OffsetCommitResponse | Awaitable[OffsetCommitResponse]:
    who = caller(context)

    def failed(error: KafkaError) -> OffsetCommitResponse:
        return commit_error(request, error.code)

    return broker.groups.call(
        request.group_id, lambda shard, _reply, now_ms: shard.commit_offsets(who, request, now_ms), failed
    )
