"""Admin calls about the replicas of partitions and their leaders."""

from collections.abc import Iterable, Mapping, Sequence
from enum import IntEnum
from typing import NamedTuple

from gralha.client.calls import Calls, error_or_none, raise_for
from gralha.client.leader_calls import by_topic
from gralha.client.values import TopicPartition
from gralha.protocol.errors import KafkaError
from gralha.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartition,
    ReassignableTopic,
)
from gralha.protocol.messages.alter_replica_log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
    AlterReplicaLogDirTopic,
)
from gralha.protocol.messages.elect_leaders import (
    ElectLeadersRequest,
    ElectLeadersResponse,
    TopicPartitions,
)
from gralha.protocol.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
    ListPartitionReassignmentsTopics,
)


class ElectionType(IntEnum):
    """PREFERRED elects the first replica if it is in sync. UNCLEAN elects any live one and may lose records
    (KIP-460).
    """

    PREFERRED = 0
    UNCLEAN = 1


class Reassignment(NamedTuple):
    """A reassignment under way. Its replicas are the old and the new ones."""

    replicas: list[int]
    adding: list[int]
    removing: list[int]


class ReassignmentCalls(Calls):
    """Calls that move partitions between brokers and folders, and elect leaders."""

    def list_reassignments(
        self, partitions: Iterable[TopicPartition] | None = None
    ) -> dict[TopicPartition, Reassignment]:
        """The reassignments of all partitions, or of the given ones."""
        topics = (
            None
            if partitions is None
            else [
                ListPartitionReassignmentsTopics(
                    name=topic, partition_indexes=[partition.partition for partition in group]
                )
                for topic, group in by_topic(partitions).items()
            ]
        )

        def attempt() -> dict[TopicPartition, Reassignment]:
            request = ListPartitionReassignmentsRequest(
                timeout_ms=self.cluster.request_timeout_ms, topics=topics
            )
            response = self.cluster.admin_connection().send(request, ListPartitionReassignmentsResponse)
            raise_for(response.error_code, response.error_message)
            return {
                TopicPartition(topic.name, partition.partition_index): Reassignment(
                    partition.replicas, partition.adding_replicas, partition.removing_replicas
                )
                for topic in response.topics
                for partition in topic.partitions
            }

        return self.cluster.once(attempt)

    def alter_reassignments(
        self,
        targets: Mapping[TopicPartition, Sequence[int] | None],
        *,
        allow_replication_factor_change: bool = True,
    ) -> dict[TopicPartition, KafkaError | None]:
        """Begins to move partitions to these brokers (None cancels a move). The result is None for each
        success.
        """

        def order(partition: TopicPartition) -> ReassignablePartition:
            target = targets[partition]
            return ReassignablePartition(
                partition_index=partition.partition, replicas=None if target is None else list(target)
            )

        def attempt(pending: list[TopicPartition]) -> dict[TopicPartition, KafkaError | None]:
            request = AlterPartitionReassignmentsRequest(
                timeout_ms=self.cluster.request_timeout_ms,
                allow_replication_factor_change=allow_replication_factor_change,
                topics=[
                    ReassignableTopic(name=topic, partitions=[order(partition) for partition in group])
                    for topic, group in by_topic(pending).items()
                ],
            )
            response = self.cluster.admin_connection().send(request, AlterPartitionReassignmentsResponse)
            raise_for(response.error_code, response.error_message)
            return {
                TopicPartition(topic.name, partition.partition_index): error_or_none(
                    partition.error_code, partition.error_message
                )
                for topic in response.responses
                for partition in topic.partitions
            }

        return self.cluster.each(targets, attempt, is_change=True)

    def elect_leaders(
        self, election_type: ElectionType, partitions: Iterable[TopicPartition] | None
    ) -> dict[TopicPartition, KafkaError | None]:
        """Elects leaders of some partitions, or of all that need it (None). The result is None for each
        success.
        """
        topics = (
            None
            if partitions is None
            else [
                TopicPartitions(topic=topic, partitions=[partition.partition for partition in group])
                for topic, group in by_topic(partitions).items()
            ]
        )

        def attempt() -> dict[TopicPartition, KafkaError | None]:
            request = ElectLeadersRequest(
                election_type=election_type,
                topic_partitions=topics,
                timeout_ms=self.cluster.request_timeout_ms,
            )
            response = self.cluster.admin_connection().send(request, ElectLeadersResponse)
            raise_for(response.error_code)
            return {
                TopicPartition(result.topic, partition.partition_id): error_or_none(
                    partition.error_code, partition.error_message
                )
                for result in response.replica_election_results
                for partition in result.partition_result
            }

        return self.cluster.once(attempt, is_change=True)

    def alter_replica_log_dirs(
        self, broker_id: int, folders: Mapping[TopicPartition, str]
    ) -> dict[TopicPartition, KafkaError | None]:
        """Begins to move replicas of one broker to other folders. The result is None for each success."""

        def attempt(pending: list[TopicPartition]) -> dict[TopicPartition, KafkaError | None]:
            moves: dict[str, list[TopicPartition]] = {}
            for partition in pending:
                moves.setdefault(folders[partition], []).append(partition)
            request = AlterReplicaLogDirsRequest(
                dirs=[
                    AlterReplicaLogDir(
                        path=path,
                        topics=[
                            AlterReplicaLogDirTopic(
                                name=topic, partitions=[partition.partition for partition in members]
                            )
                            for topic, members in by_topic(group).items()
                        ],
                    )
                    for path, group in moves.items()
                ]
            )
            response = self.cluster.send_to(broker_id, request, AlterReplicaLogDirsResponse)
            return {
                TopicPartition(topic.topic_name, partition.partition_index): error_or_none(
                    partition.error_code
                )
                for topic in response.results
                for partition in topic.partitions
            }

        return self.cluster.each(folders, attempt, is_change=True)
