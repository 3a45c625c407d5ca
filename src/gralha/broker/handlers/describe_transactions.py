"""DescribeTransactions (version 0): what this coordinator knows of transactional ids (KIP-664)."""

from collections.abc import Awaitable

from gralha.broker.broker import Broker
from gralha.broker.handlers.group_requests import gathered
from gralha.broker.pipeline import RequestContext
from gralha.protocol.acls import Operation, ResourceType
from gralha.protocol.errors import ErrorCode, KafkaError, error_for
from gralha.protocol.messages.describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    TransactionState,
)


async def handle(
    broker: Broker, context: RequestContext, request: DescribeTransactionsRequest
) -> DescribeTransactionsResponse:
    described = [
        _described(broker, context, transactional_id) for transactional_id in request.transactional_ids
    ]
    states = await gathered(described)
    if broker.rights.authorizer is not None:
        for state in states:
            state.topics = [
                topic
                for topic in state.topics
                if broker.rights.sees(context, Operation.DESCRIBE, ResourceType.TOPIC, topic.topic)
            ]
    return DescribeTransactionsResponse(transaction_states=states)


def _described(
    broker: Broker, context: RequestContext, transactional_id: str
) -> TransactionState | Awaitable[TransactionState]:
    def failed(error: KafkaError) -> TransactionState:
        return TransactionState(transactional_id=transactional_id, error_code=error.code)

    if not broker.rights.may(context, Operation.DESCRIBE, ResourceType.TRANSACTIONAL_ID, transactional_id):
        return failed(error_for(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED))
    return broker.transactions.call(
        transactional_id, lambda shard, _reply, _now_ms: shard.describe(transactional_id), failed
    )
