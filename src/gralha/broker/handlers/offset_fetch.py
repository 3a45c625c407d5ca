"""OffsetFetch (versions 1 to 10): the offsets of a group; from version 8 on, of several groups (KIP-709).

The answer has only offsets that all in-sync replicas have. So the next coordinator does not answer older
ones. With `require_stable` (version 7), a partition in which an open transaction has an offset of the group
is UNSTABLE_OFFSET_COMMIT, and the consumer asks again until the transaction has ended (KIP-447). And a broker
answers only if it is still the coordinator: before that it commits a record that changes nothing.
"""

from collections.abc import Awaitable

from gralha.broker.broker import Broker
from gralha.broker.handlers.group_requests import caller, gathered
from gralha.broker.pipeline import RequestContext
from gralha.groups.caller import Caller
from gralha.groups.offset_messages import fetch_error, fetch_groups, fetch_response
from gralha.protocol.errors import KafkaError
from gralha.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
)


async def handle(broker: Broker, context: RequestContext, request: OffsetFetchRequest) -> OffsetFetchResponse:
    who = caller(context)
    groups = [
        _fetched(broker, who, group, request.require_stable)
        for group in fetch_groups(request, context.api_version)
    ]
    return fetch_response(await gathered(groups), context.api_version)


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
