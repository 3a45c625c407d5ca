"""ListTransactions (versions 0 to 2): the transactional ids that this broker coordinates (KIP-664).

They can be filtered by state, by producer id, by the age of the transaction (KIP-994) and by a regular
expression (KIP-1152). While a partition of `__transaction_state` is being loaded, the whole answer is
COORDINATOR_LOAD_IN_PROGRESS, as in Kafka. There may be very many ids, so the list is made in steps.
"""

from gralha.broker.broker import Broker
from gralha.broker.pipeline import RequestContext
from gralha.protocol.acls import Operation, ResourceType
from gralha.protocol.errors import ErrorCode, KafkaError
from gralha.protocol.messages.list_transactions import ListTransactionsRequest, ListTransactionsResponse
from gralha.transactions.listing import unknown_states, wanted


async def handle(
    broker: Broker, context: RequestContext, request: ListTransactionsRequest
) -> ListTransactionsResponse:
    unknown = unknown_states(request.state_filters)
    try:
        filters = wanted(
            request.state_filters,
            request.producer_id_filters,
            request.duration_filter,
            request.transactional_id_pattern,
        )
    except KafkaError as error:
        return ListTransactionsResponse(error_code=error.code)
    lists = await broker.transactions.call_in_turns(
        lambda shard, now_ms: shard.list(filters, now_ms), _failed
    )
    for one in lists:
        if one.error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
            return ListTransactionsResponse(error_code=one.error_code)
    rights = broker.rights
    states = [
        state
        for one in lists
        for state in one.transaction_states
        if rights.sees(context, Operation.DESCRIBE, ResourceType.TRANSACTIONAL_ID, state.transactional_id)
    ]
    return ListTransactionsResponse(unknown_state_filters=unknown, transaction_states=states)


def _failed(error: KafkaError) -> ListTransactionsResponse:
    return ListTransactionsResponse(error_code=error.code)
