"""Elections on request, and elections that the controller holds by itself.

ElectLeaders makes preferred replicas leaders again. With an unclean election it makes any live replica the
leader of a partition without in-sync replicas. The controller does the first every few minutes, and the
second for topics that allow it.
"""

from typing import Final

from gralha.metadata.controller.decision import MAX_RECORDS_PER_REQUEST, ControllerContext, Decision
from gralha.metadata.controller.elections import Election
from gralha.metadata.controller.partition_changes import PartitionChanges
from gralha.metadata.image import NO_LEADER, MetadataImage, TopicImage
from gralha.protocol.errors import (
    ErrorCode,
    InvalidRequestError,
    KafkaError,
    UnknownTopicOrPartitionError,
    error_for,
)
from gralha.protocol.message import Message
from gralha.protocol.messages.elect_leaders import (
    ElectLeadersRequest,
    ElectLeadersResponse,
    PartitionResult,
    ReplicaElectionResult,
)

_ELECTIONS: Final = {0: Election.PREFERRED, 1: Election.UNCLEAN}
# Kafka's limit on the elections that the controller holds by itself at a time.
MAX_ELECTIONS: Final = 1000


def elect_leaders(
    image: MetadataImage, request: ElectLeadersRequest, context: ControllerContext
) -> Decision[ElectLeadersResponse]:
    """Decides for each partition. A request for all partitions lists only those that needed an election."""
    election = _ELECTIONS.get(request.election_type)
    if election is None:
        raise InvalidRequestError(f"Unknown election type {request.election_type}")
    changes = PartitionChanges(image, context)
    records: dict[tuple[bytes, int], Message] = {}
    if request.topic_partitions is None:
        wanted = [(topic.name, list(topic.partitions)) for topic in image.topics.values()]
    else:
        wanted = [(topic.topic, topic.partitions) for topic in request.topic_partitions]
    results = []
    for name, indexes in wanted:
        result = ReplicaElectionResult(topic=name, partition_result=[])
        for index in indexes:
            error = _try_election(changes, name, index, election, records)
            not_needed = error is not None and error.code == ErrorCode.ELECTION_NOT_NEEDED
            if not_needed and request.topic_partitions is None:
                continue
            result.partition_result.append(
                PartitionResult(
                    partition_id=index,
                    error_code=0 if error is None else error.code,
                    error_message=None if error is None else error.message,
                )
            )
        if result.partition_result or request.topic_partitions is not None:
            results.append(result)
    return Decision(ElectLeadersResponse(replica_election_results=results), list(records.values()))


def _try_election(
    changes: PartitionChanges,
    name: str,
    index: int,
    election: Election,
    records: dict[tuple[bytes, int], Message],
) -> KafkaError | None:
    topic = changes.image.topics.get(name)
    if topic is None:
        return UnknownTopicOrPartitionError(f"No such topic as {name}")
    if index not in topic.partitions:
        return UnknownTopicOrPartitionError(f"No such partition as {name}-{index}")
    if (topic.id, index) in records:
        return None
    try:
        record = _elect(changes, topic, index, election)
    except KafkaError as error:
        return error
    if len(records) >= MAX_RECORDS_PER_REQUEST:
        return InvalidRequestError("Too many elections in one request")
    records[topic.id, index] = record
    return None


def _elect(changes: PartitionChanges, topic: TopicImage, index: int, election: Election) -> Message:
    partition = topic.partitions[index]
    if election is Election.PREFERRED:
        if partition.leader == partition.replicas[0]:
            raise _not_needed()
    elif partition.leader != NO_LEADER:
        raise _not_needed()
    record = changes.change(topic, index, election).record()
    if record is not None:
        return record
    if election is Election.PREFERRED:
        raise error_for(ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE)
    raise error_for(ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE)


def _not_needed() -> KafkaError:
    return error_for(ErrorCode.ELECTION_NOT_NEEDED, "Leader election not needed for topic partition.")


# Elections without a request


def balance_leaders(image: MetadataImage, context: ControllerContext) -> Decision[bool]:
    """Makes in-sync preferred replicas leaders again. The response is True if more are left."""
    changes = PartitionChanges(image, context)
    records: list[Message] = []
    for topic in image.topics.values():
        for index, partition in topic.partitions.items():
            if partition.leader == partition.replicas[0]:
                continue
            if len(records) == MAX_ELECTIONS:
                return Decision(True, records)
            record = changes.change(topic, index, Election.PREFERRED).record()
            if record is not None:
                records.append(record)
    return Decision(False, records)


def elect_unclean_leaders(image: MetadataImage, context: ControllerContext) -> Decision[bool]:
    """Elects live replicas for partitions without a leader, if their topic allows unclean elections."""
    changes = PartitionChanges(image, context)
    records: list[Message] = []
    for topic in image.topics.values():
        for index, partition in topic.partitions.items():
            if partition.leader != NO_LEADER or not changes.rules(topic.name).unclean_elections:
                continue
            if len(records) == MAX_ELECTIONS:
                return Decision(True, records)
            record = changes.change(topic, index, Election.UNCLEAN).record()
            if record is not None:
                records.append(record)
    return Decision(False, records)
