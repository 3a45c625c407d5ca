"""AddPartitionsToTxn (versions 0 to 5): a transaction will write to partitions.

Producers with transactions v1 send versions 0 to 3, with one transaction. Brokers send versions 4 and 5, with
several transactions: to add partitions for producers with transactions v2, or only to verify that they have
been added (KIP-890). If one of the partitions does not exist, none is added.
"""

from collections.abc import Awaitable
from typing import Final

from gralha.broker.broker import Broker
from gralha.broker.handlers.group_requests import gathered
from gralha.broker.handlers.transaction_errors import TRANSACTION_FENCED, fenced_as
from gralha.broker.pipeline import RequestContext
from gralha.metadata.topic_names import is_internal
from gralha.protocol.acls import Operation, ResourceType
from gralha.protocol.errors import ErrorCode, KafkaError
from gralha.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTransaction,
)
from gralha.transactions.deciding import ProducerIdentity
from gralha.transactions.partitions import partition_results, partitions_of
from gralha.transactions.transaction import EPOCH_PER_TRANSACTION, Partition

FROM_BROKERS_FROM_VERSION: Final = 4
KEPT_EPOCH: Final = 0

Result = AddPartitionsToTxnResult | Awaitable[AddPartitionsToTxnResult]


async def handle(
    broker: Broker, context: RequestContext, request: AddPartitionsToTxnRequest
) -> AddPartitionsToTxnResponse:
    rights = broker.rights
    if context.api_version >= FROM_BROKERS_FROM_VERSION:
        if not rights.may_on_cluster(context, Operation.CLUSTER_ACTION):
            return AddPartitionsToTxnResponse(error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
        return await answer_broker(broker, request)
    transaction = AddPartitionsToTxnTransaction(
        transactional_id=request.v3_and_below_transactional_id,
        producer_id=request.v3_and_below_producer_id,
        producer_epoch=request.v3_and_below_producer_epoch,
        topics=request.v3_and_below_topics,
    )
    if rights.authorizer is not None:
        errors = _denied(broker, context, transaction)
        if errors is not None:
            return AddPartitionsToTxnResponse(results_by_topic_v3_and_below=errors.topic_results)
    (result,) = await gathered([_added(broker, transaction, KEPT_EPOCH, context.api_version)])
    return AddPartitionsToTxnResponse(results_by_topic_v3_and_below=result.topic_results)


def _denied(
    broker: Broker, context: RequestContext, transaction: AddPartitionsToTxnTransaction
) -> AddPartitionsToTxnResult | None:
    """The errors for a client without rights to the transaction, or to one of its topics. Otherwise None."""
    transactional_id = transaction.transactional_id
    partitions = partitions_of(transaction.topics)
    rights = broker.rights
    if not rights.may(context, Operation.WRITE, ResourceType.TRANSACTIONAL_ID, transactional_id):
        code = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
        return partition_results(transactional_id, dict.fromkeys(partitions, code))
    names = {topic for topic, _ in partitions if not is_internal(topic)}
    allowed = rights.allowed(context, Operation.WRITE, ResourceType.TOPIC, sorted(names))
    if all(topic in allowed for topic, _ in partitions):
        return None
    missing = _missing(broker, partitions)
    return partition_results(
        transactional_id,
        {
            (topic, index): ErrorCode.TOPIC_AUTHORIZATION_FAILED
            if topic not in allowed
            else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            if (topic, index) in missing
            else ErrorCode.OPERATION_NOT_ATTEMPTED
            for topic, index in partitions
        },
    )


async def answer_broker(broker: Broker, request: AddPartitionsToTxnRequest) -> AddPartitionsToTxnResponse:
    """Answer the leader of partitions. The results have the order of the request."""
    results = [
        _added(broker, transaction, EPOCH_PER_TRANSACTION, request.MAX_VERSION)
        for transaction in request.transactions
    ]
    return AddPartitionsToTxnResponse(results_by_transaction=await gathered(results))


def _added(
    broker: Broker, transaction: AddPartitionsToTxnTransaction, version: int, api_version: int
) -> Result:
    transactional_id = transaction.transactional_id
    partitions = partitions_of(transaction.topics)
    missing = _missing(broker, partitions)
    if missing:
        return partition_results(
            transactional_id,
            {
                one: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
                if one in missing
                else ErrorCode.OPERATION_NOT_ATTEMPTED
                for one in partitions
            },
        )
    producer = ProducerIdentity(transaction.producer_id, transaction.producer_epoch)

    def failed(error: KafkaError) -> AddPartitionsToTxnResult:
        code = fenced_as(error, api_version, TRANSACTION_FENCED)
        return partition_results(transactional_id, dict.fromkeys(partitions, code))

    if transaction.verify_only:
        return broker.transactions.call(
            transactional_id,
            lambda shard, _reply, _now_ms: shard.verify_partitions(transactional_id, producer, partitions),
            failed,
        )
    if api_version < FROM_BROKERS_FROM_VERSION:
        return broker.transactions.call(
            transactional_id,
            lambda shard, reply, now_ms: shard.add_partitions_soon(
                reply, transactional_id, producer, partitions, version, now_ms
            ),
            failed,
        )
    # A broker asks for several transactions at once, and none of them should wait for another.
    return broker.transactions.call(
        transactional_id,
        lambda shard, _reply, now_ms: shard.add_partitions(
            transactional_id, producer, partitions, version, now_ms
        ),
        failed,
    )


def _missing(broker: Broker, partitions: list[Partition]) -> set[Partition]:
    topics = broker.image.topics
    return {
        (topic, index)
        for topic, index in partitions
        if topic not in topics or index not in topics[topic].partitions
    }
