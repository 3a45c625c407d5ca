"""Blocks of producer ids. A broker gets a thousand ids at a time and hands them out by itself."""

from typing import Final, NamedTuple

from gralha.metadata.controller.decision import Decision
from gralha.metadata.image import MetadataImage
from gralha.protocol.errors import StaleBrokerEpochError, UnknownServerError
from gralha.protocol.messages.cluster_records import ProducerIdsRecord

BLOCK_SIZE: Final = 1000
_LARGEST: Final = 2**63 - 1


class ProducerIdsBlock(NamedTuple):
    """`size` producer ids, beginning with `first`."""

    first: int
    size: int


def allocate_producer_ids(
    image: MetadataImage, broker_id: int, broker_epoch: int
) -> Decision[ProducerIdsBlock]:
    """The next block for a broker, if its epoch is the newest one."""
    registration = image.brokers.get(broker_id)
    if registration is None or registration.epoch != broker_epoch:
        raise StaleBrokerEpochError(f"Broker {broker_id} is not registered with epoch {broker_epoch}")
    block = ProducerIdsBlock(image.next_producer_id, BLOCK_SIZE)
    if block.first > _LARGEST - block.size:
        raise UnknownServerError("There are no producer ids left")
    record = ProducerIdsRecord(
        broker_id=broker_id, broker_epoch=broker_epoch, next_producer_id=block.first + block.size
    )
    return Decision(block, [record])
