"""OffsetForLeaderEpoch (versions 2 to 4): where a leader epoch ends in the log.

A consumer asks it after a change of leader to find out whether what it has read was cut off (KIP-320). The
answer is the largest epoch known up to the one asked for and the offset at which the next one begins; an
epoch that the log does not know gets -1 for both.
"""

from gralha.broker.broker import Broker
from gralha.broker.handlers import partitions
from gralha.broker.pipeline import RequestContext
from gralha.protocol.errors import KafkaError
from gralha.protocol.messages.offset_for_leader_epoch import (
    EpochEndOffset,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderTopicResult,
)


def handle(
    broker: Broker, context: RequestContext, request: OffsetForLeaderEpochRequest
) -> OffsetForLeaderEpochResponse:
    return OffsetForLeaderEpochResponse(
        topics=[
            OffsetForLeaderTopicResult(
                topic=topic.topic,
                partitions=[_end_of_epoch(broker, topic.topic, wanted) for wanted in topic.partitions],
            )
            for topic in request.topics
        ]
    )


def _end_of_epoch(broker: Broker, topic: str, wanted: OffsetForLeaderPartition) -> EpochEndOffset:
    try:
        partition = partitions.led(broker, topic, wanted.partition, wanted.current_leader_epoch)
    except KafkaError as error:
        return EpochEndOffset(partition=wanted.partition, error_code=error.code)
    epoch, end_offset = partition.log.end_offset_for_epoch(wanted.leader_epoch)
    return EpochEndOffset(partition=wanted.partition, leader_epoch=epoch, end_offset=end_offset)
