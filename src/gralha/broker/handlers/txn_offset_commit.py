"""TxnOffsetCommit (versions 0 to 5): a producer commits offsets of a group in its transaction.

The offsets count when the transaction commits. Version 3 added the member, so that the group refuses a
member that it has given up (KIP-447). From version 5 on the request also adds the group to the transaction
(KIP-890).
"""

from collections.abc import Awaitable

from gralha.broker.broker import Broker
from gralha.broker.handlers.group_requests import caller
from gralha.broker.pipeline import RequestContext
from gralha.groups.offset_messages import transactional_commit_error
from gralha.protocol.errors import KafkaError
from gralha.protocol.messages.txn_offset_commit import TxnOffsetCommitRequest, TxnOffsetCommitResponse


def handle(
    broker: Broker, context: RequestContext, request: TxnOffsetCommitRequest
) -> TxnOffsetCommitResponse | Awaitable[TxnOffsetCommitResponse]:
    return _decide(broker, context, request)


def _decide(
    broker: Broker, context: RequestContext, request: TxnOffsetCommitRequest
) -> TxnOffsetCommitResponse | Awaitable[TxnOffsetCommitResponse]:
    """Have the group check and write the offsets."""
    who = caller(context)

    def failed(error: KafkaError) -> TxnOffsetCommitResponse:
        return transactional_commit_error(request, error.code, context.api_version)

    return broker.groups.call(
        request.group_id,
        lambda shard, _reply, now_ms: shard.commit_transactional_offsets(who, request, now_ms),
        failed,
    )
