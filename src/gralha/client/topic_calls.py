"""Admin calls about topics."""

from collections.abc import Iterable, Mapping

from gralha.client.calls import Calls, error_or_none
from gralha.client.values import NewPartitions, NewTopic, PartitionDescription, TopicDescription, TopicListing
from gralha.protocol.apis import ApiKey
from gralha.protocol.errors import ErrorCode, KafkaError, error_for
from gralha.protocol.messages.create_partitions import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
)
from gralha.protocol.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from gralha.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse, DeleteTopicState
from gralha.protocol.messages.describe_topic_partitions import (
    Cursor,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponsePartition,
    DescribeTopicPartitionsResponseTopic,
    TopicRequest,
)
from gralha.protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponsePartition,
    MetadataResponseTopic,
)

DEFAULT_PAGE_PARTITIONS = 2000


class TopicCalls(Calls):
    """Calls that list, describe, create, change and delete topics."""

    def list_topics(self) -> list[TopicListing]:
        """All topics, ordered by name."""
        response = self.cluster.once(lambda: self.cluster.metadata(None))
        listings = [
            TopicListing(topic.name or "", topic.topic_id, topic.is_internal) for topic in response.topics
        ]
        return sorted(listings)

    def describe_topics(
        self, names: Iterable[str], *, page_partitions: int = DEFAULT_PAGE_PARTITIONS
    ) -> dict[str, TopicDescription | KafkaError]:
        """Topics with their partitions. Responses have at most `page_partitions` partitions."""
        wanted = list(names)
        # This request fails too while a broker restarts, so it is repeated as well.
        if self.cluster.once(lambda: self.cluster.any_connection().serves(ApiKey.DESCRIBE_TOPIC_PARTITIONS)):
            described = self.cluster.once(lambda: self._describe_in_pages(wanted, page_partitions))
        else:
            response = self.cluster.once(lambda: self.cluster.metadata(wanted))
            described = {topic.name or "": _from_metadata(topic) for topic in response.topics}
        return described

    def _describe_in_pages(self, names: list[str], limit: int) -> dict[str, TopicDescription | KafkaError]:
        described: dict[str, TopicDescription | KafkaError] = {}
        cursor: Cursor | None = None
        # A request without names would mean all topics.
        while names:
            response = self.cluster.send_to_any(
                DescribeTopicPartitionsRequest(
                    topics=[TopicRequest(name=name) for name in sorted(names)],
                    response_partition_limit=limit,
                    cursor=cursor,
                ),
                DescribeTopicPartitionsResponse,
            )
            for topic in response.topics:
                _add_page(described, topic)
            cursor = response.next_cursor
            if cursor is None:
                break
            names = [name for name in names if name >= cursor.topic_name]
        return described

    def describe_topics_by_id(self, topic_ids: Iterable[bytes]) -> dict[bytes, TopicDescription | KafkaError]:
        """Topics by their ids."""
        request = MetadataRequest(
            topics=[MetadataRequestTopic(topic_id=topic_id, name=None) for topic_id in topic_ids],
            allow_auto_topic_creation=False,
        )
        response = self.cluster.once(lambda: self.cluster.send_to_any(request, MetadataResponse))
        return {topic.topic_id: _from_metadata(topic) for topic in response.topics}

    def create_topics(
        self, topics: Iterable[NewTopic], *, validate_only: bool = False
    ) -> dict[str, KafkaError | None]:
        """Creates topics. The result is None for each created topic."""
        wanted = {topic.name: topic for topic in topics}

        def attempt(names: list[str]) -> dict[str, KafkaError | None]:
            request = CreateTopicsRequest(
                topics=[_creatable(wanted[name]) for name in names],
                timeout_ms=self.cluster.request_timeout_ms,
                validate_only=validate_only,
            )
            response = self.cluster.send_to_controller(request, CreateTopicsResponse)
            return {
                topic.name: error_or_none(topic.error_code, topic.error_message) for topic in response.topics
            }

        return self.cluster.each(wanted, attempt, is_change=True)

    def delete_topics(self, names: Iterable[str]) -> dict[str, KafkaError | None]:
        """Deletes topics. The result is None for each deleted topic."""

        def attempt(pending: list[str]) -> dict[str, KafkaError | None]:
            request = DeleteTopicsRequest(
                topics=[DeleteTopicState(name=name) for name in pending],
                topic_names=pending,
                timeout_ms=self.cluster.request_timeout_ms,
            )
            response = self.cluster.send_to_controller(request, DeleteTopicsResponse)
            return {
                result.name or "": error_or_none(result.error_code, result.error_message)
                for result in response.responses
            }

        return self.cluster.each(names, attempt, is_change=True)

    def create_partitions(
        self, wanted: Mapping[str, NewPartitions], *, validate_only: bool = False
    ) -> dict[str, KafkaError | None]:
        """Adds partitions to topics. The result is None for each success."""

        def attempt(names: list[str]) -> dict[str, KafkaError | None]:
            request = CreatePartitionsRequest(
                topics=[_more_partitions(name, wanted[name]) for name in names],
                timeout_ms=self.cluster.request_timeout_ms,
                validate_only=validate_only,
            )
            response = self.cluster.send_to_controller(request, CreatePartitionsResponse)
            return {
                result.name: error_or_none(result.error_code, result.error_message)
                for result in response.results
            }

        return self.cluster.each(wanted, attempt, is_change=True)


def _creatable(topic: NewTopic) -> CreatableTopic:
    assignments = topic.assignments or {}
    return CreatableTopic(
        name=topic.name,
        num_partitions=topic.partitions,
        replication_factor=topic.replication_factor,
        assignments=[
            CreatableReplicaAssignment(partition_index=partition, broker_ids=brokers)
            for partition, brokers in assignments.items()
        ],
        configs=[
            CreatableTopicConfig(name=name, value=value) for name, value in (topic.configs or {}).items()
        ],
    )


def _more_partitions(name: str, wanted: NewPartitions) -> CreatePartitionsTopic:
    assignments = wanted.assignments
    return CreatePartitionsTopic(
        name=name,
        count=wanted.total,
        assignments=None
        if assignments is None
        else [CreatePartitionsAssignment(broker_ids=brokers) for brokers in assignments],
    )


def _from_metadata(topic: MetadataResponseTopic) -> TopicDescription | KafkaError:
    if topic.error_code != ErrorCode.NONE:
        return error_for(topic.error_code)
    partitions = sorted(topic.partitions, key=lambda partition: partition.partition_index)
    return TopicDescription(
        topic.name or "",
        topic.topic_id,
        topic.is_internal,
        [_partition(partition) for partition in partitions],
    )


def _add_page(
    described: dict[str, TopicDescription | KafkaError], topic: DescribeTopicPartitionsResponseTopic
) -> None:
    """Adds a page of partitions to a topic. A topic with many partitions has several pages."""
    name = topic.name or ""
    if topic.error_code != ErrorCode.NONE:
        described[name] = error_for(topic.error_code)
        return
    known = described.get(name)
    if not isinstance(known, TopicDescription):
        known = described[name] = TopicDescription(name, topic.topic_id, topic.is_internal, [])
    for partition in topic.partitions:
        known.partitions.append(
            _partition(partition)._replace(
                eligible_leader_replicas=partition.eligible_leader_replicas,
                last_known_eligible_leader_replicas=partition.last_known_elr,
            )
        )
    known.partitions.sort()


def _partition(
    partition: MetadataResponsePartition | DescribeTopicPartitionsResponsePartition,
) -> PartitionDescription:
    return PartitionDescription(
        partition=partition.partition_index,
        leader=partition.leader_id if partition.leader_id >= 0 else None,
        replicas=partition.replica_nodes,
        in_sync_replicas=partition.isr_nodes,
    )
