"""DescribeTopicPartitions (version 0): topics and their partitions, page by page (KIP-966).

Topics are ordered by name: the given ones, or all if none is given. An answer has at most
response_partition_limit partitions (and max.request.partition.size.limit). A cursor says where the next page
begins. A cursor that contradicts the request is answered with INVALID_REQUEST for every topic.
"""

from gralha.broker.broker import Broker
from gralha.broker.handlers import endpoints
from gralha.broker.pipeline import RequestContext
from gralha.metadata.image import NO_LEADER, PartitionImage, TopicImage
from gralha.metadata.topic_names import invalid_reason, is_internal
from gralha.protocol.acls import Operation, ResourceType
from gralha.protocol.errors import ErrorCode
from gralha.protocol.messages.describe_topic_partitions import (
    Cursor,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponsePartition,
    DescribeTopicPartitionsResponseTopic,
)


def handle(
    broker: Broker, context: RequestContext, request: DescribeTopicPartitionsRequest
) -> DescribeTopicPartitionsResponse:
    start = request.cursor or Cursor(topic_name="", partition_index=0)
    asked = [topic.name for topic in request.topics]
    if start.partition_index < 0 or (request.cursor and asked and start.topic_name not in asked):
        return DescribeTopicPartitionsResponse(
            topics=[
                DescribeTopicPartitionsResponseTopic(name=name, error_code=ErrorCode.INVALID_REQUEST)
                for name in asked
            ]
        )
    names = sorted(name for name in set(asked) or broker.image.topics if name >= start.topic_name)
    rights = broker.rights
    refused: list[str] = []
    if rights.authorizer is not None:
        # To ask for all topics is not to ask for those that one may not describe.
        decide = rights.may if asked else rights.sees
        decisions = {name: decide(context, Operation.DESCRIBE, ResourceType.TOPIC, name) for name in names}
        refused = [name for name in names if asked and not decisions[name]]
        names = [name for name in names if decisions[name]]
    limit = min(request.response_partition_limit, broker.config.number("max.request.partition.size.limit"))
    response = _Page(broker, context, max(limit, 1)).of(names, start)
    code = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    response.topics += [DescribeTopicPartitionsResponseTopic(code, name) for name in refused]
    return response


class _Page:
    """One answer, filled topic by topic until the limit is reached."""

    def __init__(self, broker: Broker, context: RequestContext, limit: int) -> None:
        self.image = broker.image
        self.context = context
        self.rights = broker.rights
        self.left = limit
        self.available = {node.id for node in endpoints.alive_nodes(self.image, context.peer.listener)}
        self.response = DescribeTopicPartitionsResponse()

    def of(self, names: list[str], start: Cursor) -> DescribeTopicPartitionsResponse:
        response = self.response
        for name in names:
            first = start.partition_index if name == start.topic_name else 0
            if self.left == 0:
                response.next_cursor = Cursor(topic_name=name, partition_index=first)
                break
            topic = self.image.topics.get(name)
            if topic is None:
                response.topics.append(self._missing(name))
                continue
            end = first + self.left
            response.topics.append(self._topic(topic, first, end))
            if end < len(topic.partitions):
                response.next_cursor = Cursor(topic_name=name, partition_index=end)
                break
            self.left -= len(response.topics[-1].partitions)
        return response

    def _topic(self, topic: TopicImage, first: int, end: int) -> DescribeTopicPartitionsResponseTopic:
        indexes = range(first, min(end, len(topic.partitions)))
        return DescribeTopicPartitionsResponseTopic(
            name=topic.name,
            topic_id=topic.id,
            is_internal=is_internal(topic.name),
            partitions=[self._partition(index, topic.partitions[index]) for index in indexes],
            topic_authorized_operations=self.rights.operations(self.context, ResourceType.TOPIC, topic.name),
        )

    def _partition(self, index: int, partition: PartitionImage) -> DescribeTopicPartitionsResponsePartition:
        return DescribeTopicPartitionsResponsePartition(
            partition_index=index,
            leader_id=partition.leader if partition.leader in self.available else NO_LEADER,
            leader_epoch=partition.leader_epoch,
            replica_nodes=list(partition.replicas),
            isr_nodes=list(partition.isr),
            eligible_leader_replicas=list(partition.eligible_leader_replicas),
            last_known_elr=list(partition.last_known_elr),
            offline_replicas=endpoints.without(partition.replicas, self.available),
        )

    def _missing(self, name: str) -> DescribeTopicPartitionsResponseTopic:
        wrong = invalid_reason(name) is not None
        return DescribeTopicPartitionsResponseTopic(
            name=name,
            error_code=ErrorCode.INVALID_TOPIC_EXCEPTION if wrong else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
            is_internal=is_internal(name),
            topic_authorized_operations=self.rights.operations(self.context, ResourceType.TOPIC, name),
        )
