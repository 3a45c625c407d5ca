"""DescribeTransactions (version 0): what this coordinator knows of transactional ids (KIP-664)."""

from collections.abc import Awaitable

from gralha.broker.broker import Broker
from gralha.broker.handlers.group_requests import gathered
from gralha.broker.pipeline import RequestContext
from gralha.protocol.errors import KafkaError
from gralha.protocol.messages.describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    TransactionState,
)


async def handle(
    broker: Broker, context: RequestContext, request: DescribeTransactionsRequest
) -> DescribeTransactionsResponse:
    states = [_described(broker, transactional_id) for transactional_id in request.transactional_ids]
    return DescribeTransactionsResponse(transaction_states=await gathered(states))


def _described(broker: Broker, transactional_id: str) -> TransactionState | Awaitable[TransactionState]:
    def failed(error: KafkaError) -> TransactionState:
        return TransactionState(transactional_id=transactional_id, error_code=error.code)

    return broker.transactions.call(
        transactional_id, lambda shard, _reply, _now_ms: shard.describe(transactional_id), failed
    )
