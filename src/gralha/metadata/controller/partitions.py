"""CreatePartitions, and the creation of new partitions, placed by the controller or by the caller."""

from collections import Counter
from collections.abc import Collection, Sequence

from gralha.metadata.controller.decision import (
    MAX_RECORDS_PER_REQUEST,
    NO_QUOTA,
    ControllerContext,
    Decision,
    Mutations,
)
from gralha.metadata.controller.directories import default_directory
from gralha.metadata.controller.placement import place_replicas
from gralha.metadata.image import MetadataImage, PartitionImage
from gralha.metadata.snapshot import partition_record
from gralha.protocol.errors import (
    InvalidPartitionsError,
    InvalidReplicaAssignmentError,
    InvalidReplicationFactorError,
    InvalidRequestError,
    KafkaError,
    PolicyViolationError,
    UnknownTopicOrPartitionError,
)
from gralha.protocol.message import Message
from gralha.protocol.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
    CreatePartitionsTopicResult,
)


def create_partitions(
    image: MetadataImage,
    request: CreatePartitionsRequest,
    context: ControllerContext,
    mutations: Mutations = NO_QUOTA,
) -> Decision[CreatePartitionsResponse]:
    """Decides for each topic. With `validate_only`, nothing is recorded."""
    counts = Counter(topic.name for topic in request.topics)
    results: dict[str, CreatePartitionsTopicResult] = {}
    records: list[Message] = []
    for topic in request.topics:
        if topic.name in results:
            continue
        result = CreatePartitionsTopicResult(name=topic.name)
        try:
            if counts[topic.name] > 1:
                raise InvalidRequestError("Duplicate topic name.")
            added = _add_partitions(image, topic, context, MAX_RECORDS_PER_REQUEST - len(records))
            mutations.record(len(added))
            records += added
        except UnknownTopicOrPartitionError as error:
            result.error_code = error.code  # as in Kafka, without a message
        except KafkaError as error:
            result.error_code, result.error_message = error.code, error.message
        results[topic.name] = result
    response = CreatePartitionsResponse(results=list(results.values()))
    return Decision(response, [] if request.validate_only else records)


def _add_partitions(
    image: MetadataImage, request: CreatePartitionsTopic, context: ControllerContext, limit: int
) -> list[Message]:
    topic = image.topics.get(request.name)
    if topic is None:
        raise UnknownTopicOrPartitionError
    present = len(topic.partitions)
    if request.count == present:
        raise InvalidPartitionsError(f"Topic already has {present} partition(s).")
    if request.count < present:
        raise InvalidPartitionsError(
            f"The topic {topic.name} currently has {present} partition(s); {request.count} would not be an "
            "increase."
        )
    additional = request.count - present
    if additional > limit:
        raise PolicyViolationError("Excessively large number of partitions per request.")
    replication_factor = len(topic.partitions[0].replicas)
    if request.assignments is None:
        partitions = placed_partitions(image, additional, replication_factor, context)
    else:
        if len(request.assignments) != additional:
            raise InvalidReplicaAssignmentError(
                f"Attempted to add {additional} additional partition(s), but only "
                f"{len(request.assignments)} assignment(s) were specified."
            )
        replicas = [assignment.broker_ids for assignment in request.assignments]
        partitions = assigned_partitions(image, replicas, range(present, request.count), replication_factor)
    return [partition_record(topic.id, index, one) for index, one in enumerate(partitions, present)]


def placed_partitions(
    image: MetadataImage, count: int, replication_factor: int, context: ControllerContext
) -> list[PartitionImage]:
    """New partitions on brokers that the controller chooses."""
    prefix = f"Unable to replicate the partition {replication_factor} time(s): "
    try:
        assignments = place_replicas(image.brokers, count, replication_factor, context.random)
    except InvalidReplicationFactorError as error:
        raise InvalidReplicationFactorError(prefix + error.message) from None
    partitions = [_new_partition(image, replicas) for replicas in assignments]
    if any(partition is None for partition in partitions):
        raise InvalidReplicationFactorError(
            prefix + "All brokers are currently fenced or in controlled shutdown."
        )
    return [partition for partition in partitions if partition is not None]


def assigned_partitions(
    image: MetadataImage,
    assignments: Sequence[list[int]],
    indexes: Sequence[int],
    replication_factor: int | None,
) -> list[PartitionImage]:
    """New partitions on brokers that the caller chooses. All must have as many replicas as the first."""
    partitions = []
    for index, replicas in zip(indexes, assignments, strict=True):
        check_assignment(image.brokers.keys(), replicas, replication_factor)
        replication_factor = len(replicas)
        partition = _new_partition(image, replicas)
        if partition is None:
            raise InvalidReplicaAssignmentError(
                f"All brokers specified in the manual partition assignment for partition {index} are fenced "
                "or in controlled shutdown."
            )
        partitions.append(partition)
    return partitions


def check_assignment(
    broker_ids: Collection[int], replicas: list[int], replication_factor: int | None
) -> None:
    """Raises INVALID_REPLICA_ASSIGNMENT if no partition can have these replicas."""
    prefix = "The manual partition assignment includes "
    if not replicas:
        raise InvalidReplicaAssignmentError(prefix + "an empty replica list.")
    for broker_id in sorted(replicas):
        if broker_id not in broker_ids:
            raise InvalidReplicaAssignmentError(
                f"{prefix}broker {broker_id}, but no such broker is registered."
            )
        if replicas.count(broker_id) > 1:
            raise InvalidReplicaAssignmentError(f"{prefix}the broker {broker_id} more than once.")
    if replication_factor is not None and len(replicas) != replication_factor:
        raise InvalidReplicaAssignmentError(
            f"{prefix}a partition with {len(replicas)} replica(s), but this is not consistent with previous "
            f"partitions, which have {replication_factor} replica(s)."
        )


def _new_partition(image: MetadataImage, replicas: list[int]) -> PartitionImage | None:
    """A partition whose leader is its first active replica. None if no replica is active."""
    isr = tuple(replica for replica in replicas if image.brokers[replica].is_active)
    if not isr:
        return None
    directories = tuple(default_directory(image, replica) for replica in replicas)
    return PartitionImage(tuple(replicas), isr, isr[0], 0, 0, directories)
