"""AddOffsetsToTxn (versions 0 to 4): offsets of a group become a part of a transaction.

The partition of `__consumer_offsets` that has the group is added to the transaction. With transactions v2
clients do not send this request: TxnOffsetCommit adds the partition.
"""

from collections.abc import Awaitable
from typing import Final

from gralha.broker.broker import Broker
from gralha.broker.handlers import topic_creation
from gralha.broker.handlers.group_requests import gathered
from gralha.broker.handlers.transaction_errors import TRANSACTION_FENCED, fenced_as
from gralha.broker.pipeline import RequestContext
from gralha.metadata.topic_names import OFFSETS_TOPIC
from gralha.protocol.acls import Operation, ResourceType
from gralha.protocol.coordinators import partition_for
from gralha.protocol.errors import ErrorCode, KafkaError
from gralha.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest, AddOffsetsToTxnResponse
from gralha.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnResult
from gralha.transactions.deciding import ProducerIdentity
from gralha.transactions.partitions import error_codes, partition_results

KEPT_EPOCH: Final = 0


async def handle(
    broker: Broker, context: RequestContext, request: AddOffsetsToTxnRequest
) -> AddOffsetsToTxnResponse:
    try:
        broker.rights.check(context, Operation.WRITE, ResourceType.TRANSACTIONAL_ID, request.transactional_id)
        broker.rights.check(context, Operation.READ, ResourceType.GROUP, request.group_id)
    except KafkaError as error:
        return AddOffsetsToTxnResponse(error_code=error.code)
    if OFFSETS_TOPIC not in broker.image.topics:
        # FindCoordinator creates the topic, too, but a producer asks for the group's coordinator later.
        await topic_creation.create_internal(broker, context, OFFSETS_TOPIC)
    topic = broker.image.topics.get(OFFSETS_TOPIC)
    if topic is None:
        return AddOffsetsToTxnResponse(error_code=ErrorCode.COORDINATOR_NOT_AVAILABLE)
    partition = (OFFSETS_TOPIC, partition_for(request.group_id, len(topic.partitions)))
    transactional_id = request.transactional_id
    producer = ProducerIdentity(request.producer_id, request.producer_epoch)

    def failed(error: KafkaError) -> AddPartitionsToTxnResult:
        code = fenced_as(error, context.api_version, TRANSACTION_FENCED)
        return partition_results(transactional_id, {partition: code})

    added: AddPartitionsToTxnResult | Awaitable[AddPartitionsToTxnResult] = broker.transactions.call(
        transactional_id,
        lambda shard, reply, now_ms: shard.add_partitions_soon(
            reply, transactional_id, producer, [partition], KEPT_EPOCH, now_ms
        ),
        failed,
    )
    (result,) = await gathered([added])
    return AddOffsetsToTxnResponse(error_code=error_codes(result)[partition])
