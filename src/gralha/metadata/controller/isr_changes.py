"""AlterPartition: a leader proposes in-sync replicas (KIP-497, KIP-841, KIP-903).

The controller agrees if the leader knows the newest state of the partition, and if every broker of the new
ISR is active and still runs the process that the leader saw catching up. A broker that was restarted since
then may have lost records.
"""

from gralha.metadata.controller.brokers import checked_registration
from gralha.metadata.controller.decision import ControllerContext, Decision
from gralha.metadata.controller.elections import RECOVERED, RECOVERING
from gralha.metadata.controller.partition_changes import PartitionChanges
from gralha.metadata.delta import changed_partition
from gralha.metadata.image import NO_LEADER_CHANGE, MetadataImage, PartitionImage, TopicImage
from gralha.protocol.errors import ErrorCode
from gralha.protocol.message import Message
from gralha.protocol.messages.alter_partition import (
    AlterPartitionRequest,
    AlterPartitionRequestPartition,
    AlterPartitionResponse,
    AlterPartitionResponsePartition,
    AlterPartitionResponseTopic,
    BrokerState,
)


def alter_partition(
    image: MetadataImage, request: AlterPartitionRequest, context: ControllerContext, version: int
) -> Decision[AlterPartitionResponse]:
    """Decides for each partition. Raises STALE_BROKER_EPOCH if the leader was restarted since."""
    checked_registration(image, request.broker_id, request.broker_epoch)
    changes = PartitionChanges(image, context)
    response = AlterPartitionResponse(topics=[])
    records: list[Message] = []
    seen: set[tuple[bytes, int]] = set()
    for wanted_topic in request.topics:
        topic = image.topics_by_id.get(wanted_topic.topic_id)
        answers = []
        for wanted in wanted_topic.partitions:
            key = (wanted_topic.topic_id, wanted.partition_index)
            if key in seen:
                # The second change of a partition in one request does not know the first.
                answers.append(_refusal(wanted, ErrorCode.INVALID_UPDATE_VERSION))
                continue
            seen.add(key)
            answers.append(_alter(changes, topic, wanted, request.broker_id, version, records))
        response.topics.append(
            AlterPartitionResponseTopic(topic_id=wanted_topic.topic_id, partitions=answers)
        )
    return Decision(response, records)


def _refusal(wanted: AlterPartitionRequestPartition, error: ErrorCode) -> AlterPartitionResponsePartition:
    return AlterPartitionResponsePartition(
        partition_index=wanted.partition_index, error_code=error, leader_id=0, isr=[]
    )


def _alter(
    changes: PartitionChanges,
    topic: TopicImage | None,
    wanted: AlterPartitionRequestPartition,
    broker_id: int,
    version: int,
    records: list[Message],
) -> AlterPartitionResponsePartition:
    if topic is None:
        return _refusal(wanted, ErrorCode.UNKNOWN_TOPIC_ID)
    partition = topic.partitions.get(wanted.partition_index)
    if partition is None:
        return _refusal(wanted, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    new_isr = wanted.new_isr_with_epochs
    if version < 3:
        new_isr = [BrokerState(broker_id=replica, broker_epoch=-1) for replica in wanted.new_isr]
    error = _epoch_error(partition, wanted, broker_id) or _isr_error(
        changes.image, partition, wanted, new_isr
    )
    if error:
        return _refusal(wanted, error)
    change = changes.change(topic, wanted.partition_index, changes.usual_election(topic))
    change.isr = [state.broker_id for state in new_isr]
    change.recovery_state = wanted.leader_recovery_state
    record = change.record()
    if record is not None:
        records.append(record)
        partition = changed_partition(partition, record)
        if record.leader not in (broker_id, NO_LEADER_CHANGE):
            # The change has completed a reassignment that removes the leader itself.
            return _refusal(wanted, ErrorCode.NEW_LEADER_ELECTED)
    return AlterPartitionResponsePartition(
        partition_index=wanted.partition_index,
        leader_id=partition.leader,
        leader_epoch=partition.leader_epoch,
        isr=list(partition.isr),
        leader_recovery_state=partition.leader_recovery_state,
        partition_epoch=partition.partition_epoch,
    )


def _epoch_error(
    partition: PartitionImage, wanted: AlterPartitionRequestPartition, broker_id: int
) -> ErrorCode | None:
    if wanted.leader_epoch > partition.leader_epoch or wanted.partition_epoch > partition.partition_epoch:
        # The leader has seen a newer epoch than this controller, so there must be a newer controller.
        return ErrorCode.NOT_CONTROLLER
    if wanted.leader_epoch < partition.leader_epoch:
        return ErrorCode.FENCED_LEADER_EPOCH
    if broker_id != partition.leader:
        return ErrorCode.INVALID_REQUEST
    if wanted.partition_epoch < partition.partition_epoch:
        return ErrorCode.INVALID_UPDATE_VERSION
    return None


def _isr_error(
    image: MetadataImage,
    partition: PartitionImage,
    wanted: AlterPartitionRequestPartition,
    new_isr: list[BrokerState],
) -> ErrorCode | None:
    members = [state.broker_id for state in new_isr]
    if len(set(members)) < len(members) or not set(members) <= set(partition.replicas):
        return ErrorCode.INVALID_REQUEST
    if partition.leader not in members:
        return ErrorCode.INVALID_REQUEST
    if wanted.leader_recovery_state not in (RECOVERED, RECOVERING):
        return ErrorCode.INVALID_REQUEST
    if wanted.leader_recovery_state == RECOVERING and (
        # A leader that recovers from an unclean election is the only in-sync replica. It recovers once.
        len(members) > 1 or partition.leader_recovery_state == RECOVERED
    ):
        return ErrorCode.INVALID_REQUEST
    if not all(_is_eligible(image, state) for state in new_isr):
        return ErrorCode.INELIGIBLE_REPLICA
    return None


def _is_eligible(image: MetadataImage, state: BrokerState) -> bool:
    registration = image.brokers.get(state.broker_id)
    if registration is None or not registration.is_active:
        return False
    return state.broker_epoch in (-1, registration.epoch)
