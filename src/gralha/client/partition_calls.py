"""Admin calls to the leaders of partitions: list offsets, delete records."""

from collections.abc import Mapping

from gralha.client.calls import error_or_none
from gralha.client.leader_calls import Answers, LeaderCalls, by_topic
from gralha.client.values import ListedOffset, TopicPartition
from gralha.protocol.errors import ErrorCode, KafkaError, error_for
from gralha.protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopic,
)
from gralha.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)

# The first versions that support these special timestamps.
_TIMESTAMP_VERSIONS = {-3: 7, -4: 8, -5: 9, -6: 11}


class PartitionCalls(LeaderCalls):
    """Calls that list offsets and delete records."""

    def list_offsets(
        self, questions: Mapping[TopicPartition, int], *, read_committed: bool = False
    ) -> dict[TopicPartition, ListedOffset | KafkaError]:
        """The first offset of each partition at or after a timestamp, or the one that a negative number
        means.
        """

        def question(partition: TopicPartition) -> ListOffsetsPartition:
            return ListOffsetsPartition(partition_index=partition.partition, timestamp=questions[partition])

        def ask(broker: int, partitions: list[TopicPartition]) -> Answers[ListedOffset]:
            request = ListOffsetsRequest(
                replica_id=-1,
                isolation_level=int(read_committed),
                topics=[
                    ListOffsetsTopic(name=topic, partitions=[question(partition) for partition in group])
                    for topic, group in by_topic(partitions).items()
                ],
                timeout_ms=self.cluster.request_timeout_ms,
            )
            connection = self.cluster.connection_to(broker)
            lowest = max(_TIMESTAMP_VERSIONS.get(questions[partition], 0) for partition in partitions)
            if connection.version_for(request) < lowest:
                raise error_for(ErrorCode.UNSUPPORTED_VERSION)
            response = connection.send(request, ListOffsetsResponse)
            return {
                TopicPartition(topic.name, partition.partition_index): error_or_none(partition.error_code)
                or ListedOffset(partition.offset, partition.timestamp, partition.leader_epoch)
                for topic in response.topics
                for partition in topic.partitions
            }

        return self._ask_leaders(questions, ask)

    def delete_records(self, offsets: Mapping[TopicPartition, int]) -> dict[TopicPartition, int | KafkaError]:
        """Deletes all records below an offset (-1: the high watermark). Returns each partition's new first
        offset.
        """

        def order(partition: TopicPartition) -> DeleteRecordsPartition:
            return DeleteRecordsPartition(partition_index=partition.partition, offset=offsets[partition])

        def ask(broker: int, partitions: list[TopicPartition]) -> Answers[int]:
            request = DeleteRecordsRequest(
                topics=[
                    DeleteRecordsTopic(name=topic, partitions=[order(partition) for partition in group])
                    for topic, group in by_topic(partitions).items()
                ],
                timeout_ms=self.cluster.request_timeout_ms,
            )
            response = self.cluster.send_to(broker, request, DeleteRecordsResponse)
            answers: Answers[int] = {}
            for topic in response.topics:
                for partition in topic.partitions:
                    error = error_or_none(partition.error_code)
                    answers[TopicPartition(topic.name, partition.partition_index)] = (
                        partition.low_watermark if error is None else error
                    )
            return answers

        return self._ask_leaders(offsets, ask)
