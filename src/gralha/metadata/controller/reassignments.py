"""AlterPartitionReassignments and ListPartitionReassignments (KIP-455): move replicas to other brokers.

During a reassignment the replicas of a partition are the target replicas, followed by the replicas that will
go. `adding_replicas` and `removing_replicas` say which is which. When all target replicas are in sync, the
change of the ISR that says so also removes the others (`elections`).

A reassignment can be cancelled or replaced. Replicas that were only being added, and are not wanted any more,
leave at once.
"""

from gralha.metadata.controller.decision import MAX_RECORDS_PER_REQUEST, ControllerContext, Decision
from gralha.metadata.controller.partition_changes import PartitionChanges
from gralha.metadata.controller.partitions import check_assignment
from gralha.metadata.delta import changed_partition
from gralha.metadata.image import MetadataImage, PartitionImage, TopicImage
from gralha.protocol.errors import (
    ErrorCode,
    InvalidReplicaAssignmentError,
    InvalidReplicationFactorError,
    InvalidRequestError,
    KafkaError,
    UnknownTopicOrPartitionError,
    error_for,
)
from gralha.protocol.message import Message
from gralha.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartition,
    ReassignablePartitionResponse,
    ReassignableTopicResponse,
)
from gralha.protocol.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
    OngoingPartitionReassignment,
    OngoingTopicReassignment,
)
from gralha.protocol.messages.topic_records import PartitionChangeRecord


def is_reassigning(partition: PartitionImage) -> bool:
    """Returns True if the partition has a reassignment under way."""
    return bool(partition.adding_replicas or partition.removing_replicas)


def original_replicas(partition: PartitionImage) -> list[int]:
    """The replicas before the reassignment."""
    return [replica for replica in partition.replicas if replica not in partition.adding_replicas]


# AlterPartitionReassignments


def alter_partition_reassignments(
    image: MetadataImage, request: AlterPartitionReassignmentsRequest, context: ControllerContext
) -> Decision[AlterPartitionReassignmentsResponse]:
    """Decides for each partition. A request without replicas cancels the reassignment."""
    changes = PartitionChanges(image, context)
    response = AlterPartitionReassignmentsResponse(
        allow_replication_factor_change=request.allow_replication_factor_change,
        error_message=None,
        responses=[],
    )
    records: dict[tuple[str, int], Message] = {}
    for topic in request.topics:
        answer = ReassignableTopicResponse(name=topic.name, partitions=[])
        response.responses.append(answer)
        for target in topic.partitions:
            result = ReassignablePartitionResponse(partition_index=target.partition_index, error_message=None)
            answer.partitions.append(result)
            try:
                key = (topic.name, target.partition_index)
                if key in records or len(records) == MAX_RECORDS_PER_REQUEST:
                    raise InvalidRequestError("Too many changes in one request")
                record = _alter(changes, topic.name, target, request.allow_replication_factor_change)
                if record is not None:
                    records[key] = record
            except KafkaError as error:
                result.error_code, result.error_message = error.code, error.message
                if error.code == ErrorCode.NO_REASSIGNMENT_IN_PROGRESS:
                    result.error_message = None  # as in Kafka
    return Decision(response, list(records.values()))


def _alter(
    changes: PartitionChanges, name: str, target: ReassignablePartition, may_change_factor: bool
) -> PartitionChangeRecord | None:
    topic = changes.image.topics.get(name)
    if topic is None:
        raise UnknownTopicOrPartitionError(f"Unable to find a topic named {name}.")
    partition = topic.partitions.get(target.partition_index)
    if partition is None:
        raise UnknownTopicOrPartitionError(f"Unable to find partition {name}:{target.partition_index}.")
    if target.replicas is None:
        return _cancel(changes, topic, target.partition_index, partition)
    check_assignment(changes.image.brokers.keys(), target.replicas, None)
    if not may_change_factor:
        _check_factor(partition, len(target.replicas))
    return _move(changes, topic, target.partition_index, partition, target.replicas)


def _check_factor(partition: PartitionImage, wanted: int) -> None:
    current = len(set(partition.replicas) - set(partition.removing_replicas))
    if current != wanted:
        raise InvalidReplicationFactorError(f"The replication factor is changed from {current} to {wanted}")


def _move(
    changes: PartitionChanges, topic: TopicImage, index: int, partition: PartitionImage, target: list[int]
) -> PartitionChangeRecord | None:
    original = original_replicas(partition)
    removing = sorted(set(original) - set(target))
    kept = {*target, *removing}
    holders = set(partition.isr or partition.eligible_leader_replicas)
    if not kept & holders:
        # Only replicas of the former reassignment have all records, and the new ones must fetch from them.
        removing = sorted({*removing, *holders} - set(target))
        kept |= holders
    change = changes.change(topic, index)
    change.replicas = [*target, *removing]
    change.removing = removing
    change.adding = sorted(set(target) - set(original))
    change.isr = [replica for replica in partition.isr if replica in kept]
    return change.record()


def _cancel(
    changes: PartitionChanges, topic: TopicImage, index: int, partition: PartitionImage
) -> PartitionChangeRecord | None:
    """Goes back to the earlier replicas, if one of them has all acknowledged records."""
    if not is_reassigning(partition):
        raise error_for(ErrorCode.NO_REASSIGNMENT_IN_PROGRESS)
    change = changes.change(topic, index, changes.usual_election(topic))
    change.replicas = original_replicas(partition)
    change.removing, change.adding = [], []
    change.isr = [replica for replica in partition.isr if replica in change.replicas]
    if not change.replicas:
        raise InvalidReplicaAssignmentError("Invalid replica assignment: all replicas were being added.")
    record = change.record()
    after = partition if record is None else changed_partition(partition, record)
    if not set(after.isr) <= set(after.replicas) or not (after.isr or after.eligible_leader_replicas):
        raise InvalidReplicaAssignmentError(
            f"Unable to revert partition assignment for {topic.name}:{index} because it would require an "
            "unclean leader election."
        )
    return record


# ListPartitionReassignments


def list_partition_reassignments(
    image: MetadataImage, request: ListPartitionReassignmentsRequest
) -> ListPartitionReassignmentsResponse:
    """The reassignments under way, of all topics or of the given ones."""
    if request.topics is None:
        wanted = [(topic.name, list(topic.partitions)) for topic in image.topics.values()]
    else:
        wanted = [(topic.name, topic.partition_indexes) for topic in request.topics]
    topics = []
    for name, indexes in wanted:
        found = image.topics.get(name)
        ongoing = [] if found is None else _ongoing(found, indexes)
        if ongoing:
            topics.append(OngoingTopicReassignment(name=name, partitions=ongoing))
    return ListPartitionReassignmentsResponse(error_message=None, topics=topics)


def _ongoing(topic: TopicImage, indexes: list[int]) -> list[OngoingPartitionReassignment]:
    ongoing = []
    for index in indexes:
        partition = topic.partitions.get(index)
        if partition is not None and is_reassigning(partition):
            ongoing.append(
                OngoingPartitionReassignment(
                    partition_index=index,
                    replicas=list(partition.replicas),
                    adding_replicas=list(partition.adding_replicas),
                    removing_replicas=list(partition.removing_replicas),
                )
            )
    return ongoing
