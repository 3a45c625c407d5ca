"""Brokers come and go: registration, fencing, and the effect on their partitions.

A broker registers when its process starts, and is fenced until it is ready. Then the controller unfences it
and elects leaders for the partitions that waited for it. The broker epoch is the offset of the registration,
so each start has its own epoch. While one process of a broker lives, the controller refuses another one.

A broker that was killed may have lost records that were not on disk yet. The controller removes it from every
ISR and from the eligible leader replicas (KIP-966). Other brokers lead, and it fetches from them. After a
clean stop nothing is lost, and the broker stays eligible. To prove a clean stop, the broker sends the epoch
of its last registration, which it saved beside its logs when it stopped.

The only broker of a cluster has nobody to fetch from and stays the leader of its partitions. After a crash
its partitions get a new leader epoch: the broker may write other records at the offsets of lost ones, and a
leader epoch must not name both. After a clean stop the epochs stay, so the start of 10,000 partitions writes
no records for them.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from gralha.metadata.controller.decision import ControllerContext, Decision
from gralha.metadata.controller.partition_changes import PartitionChanges
from gralha.metadata.features import SUPPORTED_FEATURES
from gralha.metadata.image import (
    METADATA_VERSION,
    BrokerRegistration,
    ControllerRegistration,
    Endpoint,
    MetadataImage,
)
from gralha.metadata.snapshot import broker_record, controller_record
from gralha.protocol.errors import (
    BrokerIdNotRegisteredError,
    DuplicateBrokerRegistrationError,
    InvalidRegistrationError,
    StaleBrokerEpochError,
    UnsupportedVersionError,
)
from gralha.protocol.message import Message
from gralha.protocol.messages.broker_records import BrokerRegistrationChangeRecord, UnregisterBrokerRecord
from gralha.protocol.messages.topic_records import PartitionChangeRecord

UNKNOWN_EPOCH: Final = -1
FENCE: Final = 1
UNFENCE: Final = -1
_RESERVED_DIRECTORIES: Final = 100


class BrokerIntroduction(NamedTuple):
    """The description that a starting broker sends."""

    id: int
    incarnation_id: bytes
    endpoints: tuple[Endpoint, ...]
    log_dirs: tuple[bytes, ...]
    rack: str | None = None
    features: Mapping[str, tuple[int, int]] = SUPPORTED_FEATURES
    previous_epoch: int = UNKNOWN_EPOCH


# Registration


def register_broker(
    image: MetadataImage, broker: BrokerIntroduction, context: ControllerContext, now_ms: int | None = None
) -> Decision[int]:
    """Registers a new process of a broker, fenced. The response is its broker epoch.

    With `now_ms`, a time of the clock of `Liveness`, the controller checks whether the previous process still
    lives. A node that registers its own broker knows that it does not.
    """
    registered = image.brokers.get(broker.id)
    same_process = registered is not None and registered.incarnation_id == broker.incarnation_id
    if registered is not None and not same_process and now_ms is not None:
        _check_session(registered, context, now_ms)
    _check_features(image, broker)
    _check_log_dirs(image, broker)
    amended = registered if same_process else None
    registration = BrokerRegistration(
        broker.id,
        amended.epoch if amended is not None else image.offset + 1,
        broker.incarnation_id,
        broker.endpoints,
        broker.features,
        broker.rack,
        fenced=amended.fenced if amended is not None else True,
        in_controlled_shutdown=amended.in_controlled_shutdown if amended is not None else False,
        log_dirs=broker.log_dirs,
        cordoned_log_dirs=None,
    )
    # The registration comes first: its offset is the broker's epoch.
    records: list[Message] = [broker_record(registration)]
    if not same_process:
        is_clean = registered is not None and broker.previous_epoch == registered.epoch
        records += _end_of_previous_process(image, broker.id, context, is_clean)
    return Decision(registration.epoch, records)


def _check_session(registered: BrokerRegistration, context: ControllerContext, now_ms: int) -> None:
    if context.liveness.has_session(registered.id, registered.epoch, now_ms):
        raise DuplicateBrokerRegistrationError(
            "Another broker is registered with that broker id. If the broker was recently restarted this "
            "resolves itself once the session of the previous process has expired."
        )


def _check_features(image: MetadataImage, broker: BrokerIntroduction) -> None:
    if METADATA_VERSION not in broker.features:
        raise InvalidRegistrationError(f"Request features do not contain '{METADATA_VERSION}'")
    for name, level in image.features.items():
        lowest, highest = broker.features.get(name, (0, 0))
        if not lowest <= level <= highest:
            raise UnsupportedVersionError(
                f"Unable to register: the broker does not support finalized version {level} of {name}. "
                f"The broker wants a version between {lowest} and {highest}, inclusive."
            )


def _check_log_dirs(image: MetadataImage, broker: BrokerIntroduction) -> None:
    if not broker.log_dirs:
        raise InvalidRegistrationError("No directories specified in request")
    if len(set(broker.log_dirs)) < len(broker.log_dirs):
        raise InvalidRegistrationError("Duplicate directory ID in request")
    if any(int.from_bytes(directory, "big") < _RESERVED_DIRECTORIES for directory in broker.log_dirs):
        raise InvalidRegistrationError("Reserved directory ID in request")
    for other in image.brokers.values():
        if other.id != broker.id and set(other.log_dirs) & set(broker.log_dirs):
            raise InvalidRegistrationError(
                f"Broker {other.id} is already registered with one of the directories"
            )


def _end_of_previous_process(
    image: MetadataImage, broker_id: int, context: ControllerContext, is_clean: bool
) -> list[Message]:
    if is_only_broker(image, broker_id):
        return [] if is_clean else _new_leader_epochs(image, broker_id)
    changes = PartitionChanges(image, context)
    if is_clean or not changes.eligible_leader_replicas:
        return changes.broker_leaves(broker_id)
    return changes.broker_crashed(broker_id)


def is_only_broker(image: MetadataImage, broker_id: int) -> bool:
    """Returns True if there is no other broker, and no partition with a replica on another broker."""
    return image.brokers.keys() == {broker_id} and all(
        partition.replicas == (broker_id,)
        for topic in image.topics.values()
        for partition in topic.partitions.values()
    )


def _new_leader_epochs(image: MetadataImage, broker_id: int) -> list[Message]:
    """The broker stays leader of its partitions, in a new epoch."""
    return [
        PartitionChangeRecord(partition_id=index, topic_id=topic.id, leader=broker_id)
        for topic in image.topics.values()
        for index, partition in topic.partitions.items()
        if partition.leader == broker_id
    ]


def unregister_broker(image: MetadataImage, broker_id: int, context: ControllerContext) -> Decision[None]:
    """Removes a broker for good. It stays a replica of its partitions until they are reassigned."""
    registration = image.brokers.get(broker_id)
    if registration is None:
        raise BrokerIdNotRegisteredError(f"Broker ID {broker_id} is not currently registered")
    records = PartitionChanges(image, context).broker_leaves(broker_id)
    records.append(UnregisterBrokerRecord(broker_id=broker_id, broker_epoch=registration.epoch))
    return Decision(None, records)


def register_controller(image: MetadataImage, controller: ControllerRegistration) -> Decision[None]:
    """Registers the endpoints and features of a controller."""
    if image.controllers.get(controller.id) == controller:
        return Decision(None, [])
    return Decision(None, [controller_record(controller)])


# Fencing


def fence_broker(image: MetadataImage, broker_id: int, context: ControllerContext) -> Decision[None]:
    """Fences a broker that is not heard of any more. Other brokers lead its partitions."""
    registration = image.brokers.get(broker_id)
    if registration is None or registration.fenced:
        return Decision(None, [])
    return Decision(None, fencing_records(image, registration, context))


def fencing_records(
    image: MetadataImage, registration: BrokerRegistration, context: ControllerContext
) -> list[Message]:
    """The records that fence a broker."""
    records = PartitionChanges(image, context).broker_leaves(registration.id)
    records.append(
        BrokerRegistrationChangeRecord(
            broker_id=registration.id, broker_epoch=registration.epoch, fenced=FENCE
        )
    )
    return records


def unfencing_records(
    image: MetadataImage, registration: BrokerRegistration, context: ControllerContext
) -> list[Message]:
    """The records that unfence a broker."""
    records: list[Message] = [
        BrokerRegistrationChangeRecord(
            broker_id=registration.id, broker_epoch=registration.epoch, fenced=UNFENCE
        )
    ]
    return records + PartitionChanges(image, context).broker_comes(registration.id)


def checked_registration(image: MetadataImage, broker_id: int, broker_epoch: int) -> BrokerRegistration:
    """The registration of a broker. Raises STALE_BROKER_EPOCH if the epoch is not the newest one."""
    registration = image.brokers.get(broker_id)
    if registration is None:
        raise StaleBrokerEpochError(f"No broker registration found for broker id {broker_id}")
    if registration.epoch != broker_epoch:
        raise StaleBrokerEpochError(
            f"Expected broker epoch {registration.epoch}, but got broker epoch {broker_epoch}"
        )
    return registration
