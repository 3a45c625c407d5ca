"""DeleteRecords (versions 0 to 2): moves the start of a partition to a later offset.

Offset -1 means the high watermark, so all readable records are deleted. The answer is the low watermark, the
lowest start offset of all replicas. Internal topics, and topics whose cleanup.policy lacks `delete`, are
refused. The next retention run deletes the files.

The answer waits, up to timeout_ms, until the replicas on all live brokers have followed, which they do with
their next fetch.
"""

import asyncio
from collections.abc import Awaitable
from typing import Final

from gralha.broker.broker import Broker
from gralha.broker.handlers import partitions, topic_rights
from gralha.broker.pipeline import RequestContext
from gralha.protocol.acls import Operation
from gralha.protocol.errors import ErrorCode, InvalidTopicError, KafkaError
from gralha.protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsPartitionResult,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopic,
    DeleteRecordsTopicResult,
)
from gralha.replication.partition import Partition
from gralha.replication.subscriptions import START_MOVED, Subscriber

NO_LOW_WATERMARK: Final = -1


def handle(
    broker: Broker, context: RequestContext, request: DeleteRecordsRequest
) -> DeleteRecordsResponse | Awaitable[DeleteRecordsResponse]:
    deletions: list[Deletion] = []
    allowed, refused = request.topics, list[DeleteRecordsTopic]()
    if broker.rights.authorizer is not None:
        allowed, refused = topic_rights.split(
            broker.rights, context, Operation.DELETE, request.topics, lambda topic: topic.name
        )
    response = DeleteRecordsResponse(
        topics=[
            DeleteRecordsTopicResult(
                name=topic.name,
                partitions=[_delete(broker, topic.name, wanted, deletions) for wanted in topic.partitions],
            )
            for topic in allowed
        ]
    )
    response.topics += [_refused(topic) for topic in refused]
    unfinished = [deletion for deletion in deletions if not deletion.look()]
    return _wait(unfinished, request.timeout_ms, response) if unfinished else response


def _refused(topic: DeleteRecordsTopic) -> DeleteRecordsTopicResult:
    code = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    partitions = [
        DeleteRecordsPartitionResult(wanted.partition_index, NO_LOW_WATERMARK, code)
        for wanted in topic.partitions
    ]
    return DeleteRecordsTopicResult(name=topic.name, partitions=partitions)


class Deletion(Subscriber):
    """A new start offset of one partition, on its way to all replicas."""

    def __init__(self, partition: Partition, offset: int, result: DeleteRecordsPartitionResult) -> None:
        self.partition = partition
        self.leading = partition.led()
        self.offset = self.leading.delete_records(offset)
        self.result = result
        self.done = asyncio.Event()

    def look(self) -> bool:
        """Returns True if it is done or has failed. Then the result says which."""
        if self.partition.leading is not self.leading:
            self.result.error_code = ErrorCode.NOT_LEADER_OR_FOLLOWER
        else:
            low_watermark = self.leading.low_watermark()
            if low_watermark < self.offset:
                return False
            self.result.low_watermark = low_watermark
        self.done.set()
        return True

    def partition_changed(self, partition: Partition, event: int, new_bytes: int) -> bool:
        return self.look()


async def _wait(
    deletions: list[Deletion], timeout_ms: int, response: DeleteRecordsResponse
) -> DeleteRecordsResponse:
    for deletion in deletions:
        deletion.partition.subscribe(deletion, START_MOVED)
    try:
        async with asyncio.timeout(timeout_ms / 1000):
            for deletion in deletions:
                await deletion.done.wait()
    except TimeoutError:
        for deletion in deletions:
            if not deletion.done.is_set():
                deletion.result.error_code = ErrorCode.REQUEST_TIMED_OUT
    finally:
        for deletion in deletions:
            deletion.partition.unsubscribe(deletion, START_MOVED)
    return response


def _delete(
    broker: Broker, topic: str, wanted: DeleteRecordsPartition, deletions: list[Deletion]
) -> DeleteRecordsPartitionResult:
    result = DeleteRecordsPartitionResult(
        partition_index=wanted.partition_index, low_watermark=NO_LOW_WATERMARK
    )
    try:
        partition = partitions.led(broker, topic, wanted.partition_index)
        if partition.is_internal:
            raise InvalidTopicError(f"Records of the internal topic {topic} cannot be deleted")
        deletions.append(Deletion(partition, wanted.offset, result))
    except KafkaError as error:
        result.error_code = error.code
    return result
