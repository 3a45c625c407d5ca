"""WriteTxnMarkers (versions 1 and 2): a transaction coordinator ends transactions in our partitions.

Each marker is a control batch, and the answer leaves when it is committed, as with acks=all. In a partition
of `__consumer_offsets` the group coordinator writes it, and takes over or drops the offsets of the
transaction. With transactions v2 (version 2 of the request says so) the epoch of a marker must be newer than
that of the records that it ends (KIP-1228).
"""

import asyncio
from collections.abc import Awaitable
from typing import Final

from gralha.broker.broker import Broker
from gralha.broker.handlers import needs, partitions
from gralha.broker.handlers.group_requests import gathered
from gralha.broker.pipeline import RequestContext
from gralha.coordination.producer import EndMarker, Producer
from gralha.metadata.topic_names import OFFSETS_TOPIC
from gralha.protocol.acls import Operation
from gralha.protocol.errors import ErrorCode, KafkaError
from gralha.protocol.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from gralha.replication.commits import committed
from gralha.transactions.transaction import EPOCH_PER_TRANSACTION

TIMEOUT_MS: Final = 5_000

Result = WritableTxnMarkerPartitionResult | Awaitable[WritableTxnMarkerPartitionResult]


async def handle(
    broker: Broker, context: RequestContext, request: WriteTxnMarkersRequest
) -> WriteTxnMarkersResponse:
    if broker.rights.authorizer is not None and not needs.may_on_cluster(
        broker, context, (Operation.ALTER, Operation.CLUSTER_ACTION)
    ):
        return _refused(request, ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    return await write(broker, request)


def _refused(request: WriteTxnMarkersRequest, code: int) -> WriteTxnMarkersResponse:
    """The error is in every partition, because there is none for the whole request."""
    return WriteTxnMarkersResponse(
        markers=[
            WritableTxnMarkerResult(
                marker.producer_id,
                [
                    WritableTxnMarkerTopicResult(
                        topic.name,
                        [WritableTxnMarkerPartitionResult(index, code) for index in topic.partition_indexes],
                    )
                    for topic in marker.topics
                ],
            )
            for marker in request.markers
        ]
    )


async def write(broker: Broker, request: WriteTxnMarkersRequest) -> WriteTxnMarkersResponse:
    """Write markers. The results have the order of the request."""
    # All of them are appended before the first one is waited for.
    results = [
        [
            (topic.name, [_written(broker, marker, topic.name, index) for index in topic.partition_indexes])
            for topic in marker.topics
        ]
        for marker in request.markers
    ]
    return WriteTxnMarkersResponse(
        markers=[
            WritableTxnMarkerResult(
                marker.producer_id,
                [WritableTxnMarkerTopicResult(name, await gathered(waiting)) for name, waiting in topics],
            )
            for marker, topics in zip(request.markers, results, strict=True)
        ]
    )


def _written(broker: Broker, marker: WritableTxnMarker, topic: str, index: int) -> Result:
    end = EndMarker(
        Producer(marker.producer_id, marker.producer_epoch),
        marker.coordinator_epoch,
        marker.transaction_result,
        marker.transaction_version >= EPOCH_PER_TRANSACTION,
    )

    def failed(error: KafkaError) -> WritableTxnMarkerPartitionResult:
        return WritableTxnMarkerPartitionResult(index, error.code)

    if topic == OFFSETS_TOPIC:
        return broker.groups.write_marker(index, end, failed, WritableTxnMarkerPartitionResult(index))
    try:
        leading = partitions.led(broker, topic, index).led()
        last_offset = leading.append_marker(
            end.producer.id,
            end.producer.epoch,
            end.coordinator_epoch,
            end.is_commit,
            end.has_new_epoch,
            broker.clock(),
        ).last_offset
    except KafkaError as error:
        return failed(error)
    if leading.partition.log.high_watermark > last_offset:
        return WritableTxnMarkerPartitionResult(index)
    return _when_committed(committed(leading, last_offset, TIMEOUT_MS), index)


def _when_committed(waiting: asyncio.Future[int], index: int) -> Result:
    """A future and not a coroutine: nobody awaits it if the request ends early."""
    result: asyncio.Future[WritableTxnMarkerPartitionResult] = waiting.get_loop().create_future()

    def answer(done: asyncio.Future[int]) -> None:
        if not result.done() and not done.cancelled():
            result.set_result(WritableTxnMarkerPartitionResult(index, done.result()))

    waiting.add_done_callback(answer)
    return result
