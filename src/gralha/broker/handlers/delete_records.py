"""DeleteRecords (versions 0 to 2): make a partition begin at a later offset.

Offset -1 means the high watermark: everything that consumers may read goes. The answer is the low watermark,
the offset that every replica begins at. Internal topics and topics whose cleanup.policy lacks `delete` are
refused. The files follow with the next retention run.

Not here yet: waiting for followers to move their start, up to timeout_ms; that comes with replication.
"""

from typing import Final

from gralha.broker.broker import Broker
from gralha.broker.handlers import partitions
from gralha.broker.pipeline import RequestContext
from gralha.protocol.errors import InvalidTopicError, KafkaError
from gralha.protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsPartitionResult,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopicResult,
)

NO_LOW_WATERMARK: Final = -1


def handle(broker: Broker, context: RequestContext, request: DeleteRecordsRequest) -> DeleteRecordsResponse:
    return DeleteRecordsResponse(
        topics=[
            DeleteRecordsTopicResult(
                name=topic.name,
                partitions=[_delete(broker, topic.name, wanted) for wanted in topic.partitions],
            )
            for topic in request.topics
        ]
    )


def _delete(broker: Broker, topic: str, wanted: DeleteRecordsPartition) -> DeleteRecordsPartitionResult:
    result = DeleteRecordsPartitionResult(
        partition_index=wanted.partition_index, low_watermark=NO_LOW_WATERMARK
    )
    try:
        partition = partitions.led(broker, topic, wanted.partition_index)
        if partition.is_internal:
            raise InvalidTopicError(f"Records of the internal topic {topic} cannot be deleted")
        result.low_watermark = partition.delete_records(wanted.offset)
    except KafkaError as error:
        result.error_code = error.code
    return result
