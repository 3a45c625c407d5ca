"""OffsetForLeaderEpoch (versions 2 to 4): the end of a leader epoch in the log.

After a change of leader a consumer asks whether the records that it has read were truncated (KIP-320). The
answer has the largest known epoch up to the requested one, and the offset at which the next epoch begins. For
an unknown epoch both are -1.
"""

from gralha.broker.broker import Broker
from gralha.broker.handlers import partitions, topic_rights
from gralha.broker.pipeline import RequestContext
from gralha.protocol.acls import Operation, ResourceType
from gralha.protocol.errors import ErrorCode, KafkaError
from gralha.protocol.messages.offset_for_leader_epoch import (
    EpochEndOffset,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
    OffsetForLeaderTopicResult,
)


def handle(
    broker: Broker, context: RequestContext, request: OffsetForLeaderEpochRequest
) -> OffsetForLeaderEpochResponse:
    rights = broker.rights
    allowed, refused = request.topics, list[OffsetForLeaderTopic]()
    if not rights.sees(context, Operation.CLUSTER_ACTION, ResourceType.CLUSTER):
        allowed, refused = topic_rights.split(
            rights, context, Operation.DESCRIBE, request.topics, lambda topic: topic.topic
        )
    response = OffsetForLeaderEpochResponse(
        topics=[
            OffsetForLeaderTopicResult(
                topic=topic.topic,
                partitions=[_end_of_epoch(broker, topic.topic, wanted) for wanted in topic.partitions],
            )
            for topic in allowed
        ]
    )
    response.topics += [_refused(topic) for topic in refused]
    return response


def _refused(topic: OffsetForLeaderTopic) -> OffsetForLeaderTopicResult:
    code = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    partitions = [EpochEndOffset(partition=wanted.partition, error_code=code) for wanted in topic.partitions]
    return OffsetForLeaderTopicResult(topic=topic.topic, partitions=partitions)


def _end_of_epoch(broker: Broker, topic: str, wanted: OffsetForLeaderPartition) -> EpochEndOffset:
    try:
        partition = partitions.led(broker, topic, wanted.partition, wanted.current_leader_epoch)
    except KafkaError as error:
        return EpochEndOffset(partition=wanted.partition, error_code=error.code)
    epoch, end_offset = partition.log.end_offset_for_epoch(wanted.leader_epoch)
    return EpochEndOffset(partition=wanted.partition, leader_epoch=epoch, end_offset=end_offset)
