"""OffsetFetch (versions 1 to 10): the offsets of a group; from version 8 on, of several groups (KIP-709).

The answer has only offsets that all in-sync replicas have. So the next coordinator does not answer older
ones. With `require_stable` (version 7), a partition in which an open transaction has an offset of the group
is UNSTABLE_OFFSET_COMMIT, and the consumer asks again until the transaction has ended (KIP-447). And a broker
answers only if it is still the coordinator: before that it commits a record that changes nothing.
"""

from collections.abc import Awaitable
from typing import Final

from gralha.broker.broker import Broker
from gralha.broker.handlers import topic_rights
from gralha.broker.handlers.group_requests import caller, gathered
from gralha.broker.pipeline import RequestContext
from gralha.groups.caller import Caller
from gralha.groups.offset_messages import fetch_error, fetch_groups, fetch_response
from gralha.protocol.acls import Operation, ResourceType
from gralha.protocol.errors import ErrorCode, KafkaError
from gralha.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponseTopics,
)

TOPIC_IDS_FROM_VERSION: Final = 10


async def handle(broker: Broker, context: RequestContext, request: OffsetFetchRequest) -> OffsetFetchResponse:
    who = caller(context)
    checks_rights = broker.rights.authorizer is not None
    groups = [
        _fetched_allowed(broker, context, group, request.require_stable)
        if checks_rights
        else _fetched(broker, who, group, request.require_stable)
        for group in fetch_groups(request, context.api_version)
    ]
    return fetch_response(await gathered(groups), context.api_version)


async def _fetched_allowed(
    broker: Broker, context: RequestContext, group: OffsetFetchRequestGroup, require_stable: bool
) -> OffsetFetchResponseGroup:
    """The offsets of topics that the caller may describe."""
    rights = broker.rights
    if not rights.may(context, Operation.DESCRIBE, ResourceType.GROUP, group.group_id):
        return fetch_error(group, ErrorCode.GROUP_AUTHORIZATION_FAILED, context.api_version)
    refused: list[OffsetFetchRequestTopics] = []
    asked = group
    if group.topics is not None:
        allowed, refused = topic_rights.split(
            rights, context, Operation.DESCRIBE, group.topics, lambda topic: _name(broker, context, topic)
        )
        asked = OffsetFetchRequestGroup(group.group_id, group.member_id, group.member_epoch, allowed)
    (answer,) = await gathered([_fetched(broker, caller(context), asked, require_stable)])
    if answer.error_code:
        return answer
    if group.topics is None:
        answer.topics = [topic for topic in answer.topics if _sees(broker, context, topic)]
    errors = fetch_error(
        OffsetFetchRequestGroup(group.group_id, topics=refused), ErrorCode.TOPIC_AUTHORIZATION_FAILED, 0
    )
    answer.topics = [*answer.topics, *errors.topics]
    return answer


def _name(
    broker: Broker, context: RequestContext, topic: OffsetFetchRequestTopics | OffsetFetchResponseTopics
) -> str | None:
    if context.api_version < TOPIC_IDS_FROM_VERSION:
        return topic.name
    known = broker.image.topics_by_id.get(topic.topic_id)
    return None if known is None else known.name


def _sees(broker: Broker, context: RequestContext, topic: OffsetFetchResponseTopics) -> bool:
    name = _name(broker, context, topic)
    return name is not None and broker.rights.sees(context, Operation.DESCRIBE, ResourceType.TOPIC, name)


def _fetched(
    broker: Broker, who: Caller, group: OffsetFetchRequestGroup, require_stable: bool
) -> OffsetFetchResponseGroup | Awaitable[OffsetFetchResponseGroup]:
    def failed(error: KafkaError) -> OffsetFetchResponseGroup:
        return fetch_error(group, error.code, who.api_version)

    return broker.groups.call(
        group.group_id,
        lambda shard, _reply, _now_ms: shard.fetch_offsets(who, group, require_stable),
        failed,
    )
