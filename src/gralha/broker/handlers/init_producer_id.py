"""InitProducerId (versions 0 to 6): a producer id and an epoch, so that retries write no record twice.

An idempotent producer (null transactional id) gets a new id with epoch 0 for each request. Its earlier id
does not matter, but an id without an epoch, or an epoch without an id, is refused.

A transactional producer asks the coordinator of its transactional id. It gets the next epoch, which fences
all earlier producers with that id. If one of them has left a transaction open, that is aborted first, and the
answer is CONCURRENT_TRANSACTIONS until this is done.

Version 6 is served only with `transaction.two.phase.commit.enable` (KIP-939). With `enable_2pc` the
transactions of the producer have no timeout. With `keep_prepared_txn` an open transaction is not aborted. The
producer learns the producer id and the epoch of that transaction, and ends it with its own.
"""

from collections.abc import Awaitable

from gralha.broker.broker import Broker
from gralha.broker.handlers.transaction_errors import INIT_PRODUCER_ID_FENCED, fenced_as
from gralha.broker.pipeline import RequestContext
from gralha.protocol.acls import CLUSTER_NAME, Operation, ResourceType
from gralha.protocol.batches import NO_PRODUCER_EPOCH, NO_PRODUCER_ID
from gralha.protocol.errors import ErrorCode, KafkaError, NotControllerError
from gralha.protocol.message import Struct
from gralha.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from gralha.transactions.deciding import ProducerIdentity
from gralha.transactions.producer_ids import NoProducerIdError


async def handle(
    broker: Broker, context: RequestContext, request: InitProducerIdRequest
) -> InitProducerIdResponse:
    if broker.rights.authorizer is not None:
        error_code = _denied(broker, context, request)
        if error_code:
            return _refuse(error_code)
    if (request.producer_id == NO_PRODUCER_ID) != (request.producer_epoch == NO_PRODUCER_EPOCH):
        return _refuse(ErrorCode.INVALID_REQUEST)
    if request.transactional_id == "":
        return _refuse(ErrorCode.INVALID_REQUEST)
    transactional_id = request.transactional_id
    try:
        if transactional_id is None:
            return InitProducerIdResponse(producer_id=await broker.producer_ids.next(), producer_epoch=0)
        answer = await _begin(broker, context, request, transactional_id)
        while answer is None:
            await broker.producer_ids.ready()
            answer = await _begin(broker, context, request, transactional_id)
        return answer
    except NotControllerError:
        # Without a controller there is no new block of ids. Clients ask again, as with Kafka.
        return _refuse(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
    except KafkaError as error:
        return _refuse(error.code)


def _denied(broker: Broker, context: RequestContext, request: InitProducerIdRequest) -> int:
    """The error for a caller without rights, or 0."""
    rights = broker.rights
    transactional_id = request.transactional_id
    if transactional_id is not None:
        operations = [Operation.WRITE]
        if request.enable_2pc:
            operations.append(Operation.TWO_PHASE_COMMIT)
        if all(
            rights.may(context, one, ResourceType.TRANSACTIONAL_ID, transactional_id) for one in operations
        ):
            return ErrorCode.NONE
        return ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    # Since KIP-679, whoever may write to some topic may be idempotent.
    if rights.sees(context, Operation.IDEMPOTENT_WRITE, ResourceType.CLUSTER) or rights.may_on_any(
        context, Operation.WRITE, ResourceType.TOPIC
    ):
        return ErrorCode.NONE
    rights.audit.denied(context, Operation.IDEMPOTENT_WRITE, ResourceType.CLUSTER, CLUSTER_NAME)
    return ErrorCode.CLUSTER_AUTHORIZATION_FAILED


async def _begin(
    broker: Broker, context: RequestContext, request: InitProducerIdRequest, transactional_id: str
) -> InitProducerIdResponse | None:
    """Let the coordinator decide. Returns None if it needs a producer id and has none."""
    expected = None
    if request.producer_id != NO_PRODUCER_ID:
        expected = ProducerIdentity(request.producer_id, request.producer_epoch)
    lacks_id = False

    def failed(error: KafkaError) -> InitProducerIdResponse:
        nonlocal lacks_id
        lacks_id = isinstance(error, NoProducerIdError)
        return _refuse(fenced_as(error, context.api_version, INIT_PRODUCER_ID_FENCED))

    begun: InitProducerIdResponse | Awaitable[InitProducerIdResponse] = broker.transactions.call(
        transactional_id,
        lambda shard, _reply, now_ms: shard.begin(
            transactional_id,
            request.transaction_timeout_ms,
            expected,
            now_ms,
            request.enable_2pc,
            request.keep_prepared_txn,
        ),
        failed,
    )
    answer = begun if isinstance(begun, Struct) else await begun
    return None if lacks_id else answer


def _refuse(error_code: int) -> InitProducerIdResponse:
    return InitProducerIdResponse(
        error_code=error_code, producer_id=NO_PRODUCER_ID, producer_epoch=NO_PRODUCER_EPOCH
    )
