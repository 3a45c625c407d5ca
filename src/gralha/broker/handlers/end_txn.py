"""EndTxn (versions 0 to 5): commit or abort a transaction.

The answer leaves when the decision is committed to `__transaction_state`. From then on it stands, also if
this broker dies. The markers are written to the partitions afterwards. With version 5 each transaction has
its own epoch (KIP-890), and the response has the one for the next transaction.
"""

from collections.abc import Awaitable
from typing import Final

from gralha.broker.broker import Broker
from gralha.broker.handlers.transaction_errors import TRANSACTION_FENCED, fenced_as
from gralha.broker.pipeline import RequestContext
from gralha.protocol.acls import Operation, ResourceType
from gralha.protocol.errors import ErrorCode, KafkaError
from gralha.protocol.messages.end_txn import EndTxnRequest, EndTxnResponse
from gralha.transactions.deciding import ProducerIdentity
from gralha.transactions.transaction import EPOCH_PER_TRANSACTION

NEW_EPOCH_FROM_VERSION: Final = 5


def handle(
    broker: Broker, context: RequestContext, request: EndTxnRequest
) -> EndTxnResponse | Awaitable[EndTxnResponse]:
    if not broker.rights.may(
        context, Operation.WRITE, ResourceType.TRANSACTIONAL_ID, request.transactional_id
    ):
        return EndTxnResponse(error_code=ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
    producer = ProducerIdentity(request.producer_id, request.producer_epoch)
    version = EPOCH_PER_TRANSACTION if context.api_version >= NEW_EPOCH_FROM_VERSION else 0

    def failed(error: KafkaError) -> EndTxnResponse:
        return EndTxnResponse(error_code=fenced_as(error, context.api_version, TRANSACTION_FENCED))

    return broker.transactions.call(
        request.transactional_id,
        lambda shard, _reply, now_ms: shard.end(
            request.transactional_id, producer, request.committed, version, now_ms
        ),
        failed,
    )
