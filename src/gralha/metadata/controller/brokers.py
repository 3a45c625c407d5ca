"""Brokers come and go: registration, fencing, and what that means for the partitions they lead.

A broker registers when its process starts and is fenced until it is ready; then it is unfenced and partitions
that waited for it get their leader. Its epoch is the offset at which it registered, so every start has its
own.

A broker that was killed may have lost records that were not on disk yet, and may write others at their
offsets. A leader epoch must never name both, so every partition that it leads begins a new epoch. After a
clean stop nothing was lost and the epochs stay: starting 10,000 partitions writes no record for them. The
broker proves a clean stop with the epoch of its last registration, which it leaves beside its logs when it
stops (KIP-966).
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from gralha.metadata.controller.decision import Decision
from gralha.metadata.features import SUPPORTED_FEATURES
from gralha.metadata.image import NO_LEADER, BrokerRegistration, Endpoint, MetadataImage
from gralha.metadata.snapshot import broker_record
from gralha.protocol.errors import InvalidRegistrationError, StaleBrokerEpochError, UnsupportedVersionError
from gralha.protocol.message import Message
from gralha.protocol.messages.broker_records import BrokerRegistrationChangeRecord
from gralha.protocol.messages.topic_records import PartitionChangeRecord

UNKNOWN_EPOCH: Final = -1
_RESERVED_DIRECTORIES: Final = 100


class BrokerIntroduction(NamedTuple):
    """What a starting broker says of itself."""

    id: int
    incarnation_id: bytes
    endpoints: tuple[Endpoint, ...]
    log_dirs: tuple[bytes, ...]
    rack: str | None = None
    features: Mapping[str, tuple[int, int]] = SUPPORTED_FEATURES
    previous_epoch: int = UNKNOWN_EPOCH


def register_broker(image: MetadataImage, broker: BrokerIntroduction) -> Decision[int]:
    """Registers a new incarnation, fenced; the answer is its broker epoch."""
    _check_features(image, broker)
    _check_log_dirs(image, broker)
    registered = image.brokers.get(broker.id)
    same_process = registered is not None and registered.incarnation_id == broker.incarnation_id
    epoch = registered.epoch if registered is not None and same_process else image.offset + 1
    registration = BrokerRegistration(
        broker.id,
        epoch,
        broker.incarnation_id,
        broker.endpoints,
        broker.features,
        broker.rack,
        fenced=registered.fenced if registered is not None and same_process else True,
        in_controlled_shutdown=False,
        log_dirs=broker.log_dirs,
        cordoned_log_dirs=None,
    )
    records: list[Message] = [broker_record(registration)]
    if registered is not None and not same_process and broker.previous_epoch != registered.epoch:
        records += _new_leader_epochs(image, broker.id)
    return Decision(epoch, records)


def _check_features(image: MetadataImage, broker: BrokerIntroduction) -> None:
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


def _new_leader_epochs(image: MetadataImage, broker_id: int) -> list[Message]:
    """The partitions that the broker leads keep it, in a new epoch."""
    return [
        PartitionChangeRecord(partition_id=index, topic_id=topic.id, leader=broker_id)
        for topic in image.topics.values()
        for index, partition in topic.partitions.items()
        if partition.leader == broker_id
    ]


def unfence_broker(image: MetadataImage, broker_id: int, broker_epoch: int) -> Decision[None]:
    """The broker is ready: it may lead, and leads what waited for it."""
    registration = _registration(image, broker_id, broker_epoch)
    if not registration.fenced:
        return Decision(None, [])
    records: list[Message] = [
        BrokerRegistrationChangeRecord(broker_id=broker_id, broker_epoch=broker_epoch, fenced=-1)
    ]
    records += [
        PartitionChangeRecord(partition_id=index, topic_id=topic.id, leader=broker_id)
        for topic in image.topics.values()
        for index, partition in topic.partitions.items()
        if partition.leader == NO_LEADER and broker_id in partition.isr
    ]
    return Decision(None, records)


def _registration(image: MetadataImage, broker_id: int, broker_epoch: int) -> BrokerRegistration:
    registration = image.brokers.get(broker_id)
    if registration is None or registration.epoch != broker_epoch:
        raise StaleBrokerEpochError(f"Broker {broker_id} is not registered with epoch {broker_epoch}")
    return registration
