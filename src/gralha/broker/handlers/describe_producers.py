"""DescribeProducers (version 0): the producers that have written to a partition recently (KIP-664).

Any replica answers, not only the leader. An idempotent producer has its last sequence number. A producer in a
transaction also has the first offset of the transaction, which helps to find hanging transactions.
"""

from gralha.broker.broker import Broker
from gralha.broker.handlers import partitions
from gralha.broker.pipeline import RequestContext
from gralha.metadata.topic_names import invalid_reason
from gralha.protocol.acls import Operation, ResourceType
from gralha.protocol.errors import InvalidTopicError, KafkaError
from gralha.protocol.messages.describe_producers import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    PartitionResponse,
    ProducerState,
    TopicResponse,
)
from gralha.storage.producer_state import ProducerEntry


def handle(
    broker: Broker, context: RequestContext, request: DescribeProducersRequest
) -> DescribeProducersResponse:
    return DescribeProducersResponse(
        topics=[
            TopicResponse(
                name=topic.name,
                partitions=[
                    _describe(broker, context, topic.name, index) for index in topic.partition_indexes
                ],
            )
            for topic in request.topics
        ]
    )


def _describe(broker: Broker, context: RequestContext, topic: str, index: int) -> PartitionResponse:
    try:
        reason = invalid_reason(topic)
        if reason is not None:
            raise InvalidTopicError(reason)
        broker.rights.check(context, Operation.READ, ResourceType.TOPIC, topic)
        log = partitions.hosted(broker, topic, index).log
    except KafkaError as error:
        return PartitionResponse(partition_index=index, error_code=error.code, error_message=error.message)
    return PartitionResponse(
        partition_index=index, active_producers=[_state(entry) for entry in log.active_producers()]
    )


def _state(entry: ProducerEntry) -> ProducerState:
    return ProducerState(
        producer_id=entry.producer_id,
        producer_epoch=entry.epoch,
        last_sequence=entry.last_sequence(),
        last_timestamp=entry.last_timestamp,
        coordinator_epoch=entry.coordinator_epoch,
        current_txn_start_offset=entry.transaction_first_offset,
    )
