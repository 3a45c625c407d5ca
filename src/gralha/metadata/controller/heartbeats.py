"""BrokerHeartbeat: a broker asks to be unfenced, to be fenced, or to shut down (KIP-631).

    fenced -> unfenced           when the broker has replayed the metadata log up to its own registration
    unfenced -> shutting down    it stops leading and leaves every ISR, if other replicas can take over
    shutting down -> stop        when all other brokers have replayed that, so that nobody asks it

The registration has the state. `Liveness` knows how far the other brokers have replayed. The handler gives
every heartbeat to `Liveness` before it asks for this decision.
"""

from typing import Final

from gralha.metadata.controller.brokers import (
    checked_registration,
    fencing_records,
    is_only_broker,
    unfencing_records,
)
from gralha.metadata.controller.decision import ControllerContext, Decision
from gralha.metadata.controller.partition_changes import PartitionChanges
from gralha.metadata.image import BrokerRegistration, MetadataImage
from gralha.protocol.message import Message
from gralha.protocol.messages.broker_heartbeat import BrokerHeartbeatRequest, BrokerHeartbeatResponse
from gralha.protocol.messages.broker_records import BrokerRegistrationChangeRecord

IN_CONTROLLED_SHUTDOWN: Final = 1


def heartbeat(
    image: MetadataImage, request: BrokerHeartbeatRequest, context: ControllerContext
) -> Decision[BrokerHeartbeatResponse]:
    """Decides about the broker and its partitions. STALE_BROKER_EPOCH tells it to register again."""
    registration = checked_registration(image, request.broker_id, request.broker_epoch)
    records = _directory_records(image, registration, request, context)
    if records:
        # Failed folders first. The next heartbeat brings the broker's wish again.
        return Decision(_answer(registration, request, registration.fenced), records)
    if registration.fenced:
        return _fenced(image, registration, request, context)
    if request.want_fence:
        return _leave(image, registration, request, context)
    if request.want_shut_down or registration.in_controlled_shutdown:
        return _shut_down(image, registration, request, context)
    return Decision(_answer(registration, request, is_fenced=False), [])


def _answer(
    registration: BrokerRegistration,
    request: BrokerHeartbeatRequest,
    is_fenced: bool,
    should_shut_down: bool = False,
) -> BrokerHeartbeatResponse:
    return BrokerHeartbeatResponse(
        is_caught_up=request.current_metadata_offset >= registration.epoch,
        is_fenced=is_fenced,
        should_shut_down=should_shut_down,
    )


def _fenced(
    image: MetadataImage,
    registration: BrokerRegistration,
    request: BrokerHeartbeatRequest,
    context: ControllerContext,
) -> Decision[BrokerHeartbeatResponse]:
    if request.want_shut_down:
        return Decision(_answer(registration, request, is_fenced=True, should_shut_down=True), [])
    # The broker epoch is the offset of its registration. A shutdown is final: only a new process is unfenced.
    is_ready = request.current_metadata_offset >= registration.epoch
    if request.want_fence or not is_ready or registration.in_controlled_shutdown:
        return Decision(_answer(registration, request, is_fenced=True), [])
    answer = _answer(registration, request, is_fenced=False)
    return Decision(answer, unfencing_records(image, registration, context))


def _leave(
    image: MetadataImage,
    registration: BrokerRegistration,
    request: BrokerHeartbeatRequest,
    context: ControllerContext,
) -> Decision[BrokerHeartbeatResponse]:
    """Fences the broker at its own request, without handing over first."""
    answer = _answer(registration, request, is_fenced=True, should_shut_down=request.want_shut_down)
    return Decision(answer, fencing_records(image, registration, context))


def _shut_down(
    image: MetadataImage,
    registration: BrokerRegistration,
    request: BrokerHeartbeatRequest,
    context: ControllerContext,
) -> Decision[BrokerHeartbeatResponse]:
    if is_only_broker(image, registration.id):
        # No other broker can take over, and after a clean stop nothing is lost.
        return Decision(_answer(registration, request, is_fenced=False, should_shut_down=True), [])
    if not registration.in_controlled_shutdown and _leads(image, registration.id):
        records: list[Message] = [
            BrokerRegistrationChangeRecord(
                broker_id=registration.id,
                broker_epoch=registration.epoch,
                in_controlled_shutdown=IN_CONTROLLED_SHUTDOWN,
            )
        ]
        records += PartitionChanges(image, context).broker_leaves(registration.id)
        context.liveness.shutdown_offset(registration.id, registration.epoch, image.offset + len(records))
        return Decision(_answer(registration, request, is_fenced=False), records)
    if registration.in_controlled_shutdown:
        # A new controller does not know the offset of the shutdown. The current offset is late enough.
        offset = context.liveness.shutdown_offset(registration.id, registration.epoch, image.offset)
        others = [broker.id for broker in image.brokers.values() if broker.is_active]
        if not context.liveness.all_followed(others, offset):
            return Decision(_answer(registration, request, is_fenced=False), [])
    answer = _answer(registration, request, is_fenced=True, should_shut_down=True)
    return Decision(answer, fencing_records(image, registration, context))


def _leads(image: MetadataImage, broker_id: int) -> bool:
    return any(
        partition.leader == broker_id
        for topic in image.topics.values()
        for partition in topic.partitions.values()
    )


def _directory_records(
    image: MetadataImage,
    registration: BrokerRegistration,
    request: BrokerHeartbeatRequest,
    context: ControllerContext,
) -> list[Message]:
    """The records for folders that have failed, or that take no new replicas, since the last heartbeat."""
    records: list[Message] = []
    offline = set(registration.log_dirs) & set(request.offline_log_dirs)
    cordoned = request.cordoned_log_dirs
    if cordoned is not None and tuple(cordoned) != (registration.cordoned_log_dirs or ()):
        records.append(
            BrokerRegistrationChangeRecord(
                broker_id=registration.id, broker_epoch=registration.epoch, cordoned_log_dirs=cordoned
            )
        )
    online = [directory for directory in registration.log_dirs if directory not in offline]
    if offline and online:
        records += PartitionChanges(image, context).directories_fail(registration.id, offline)
        records.append(
            BrokerRegistrationChangeRecord(
                broker_id=registration.id, broker_epoch=registration.epoch, log_dirs=online
            )
        )
    return records
