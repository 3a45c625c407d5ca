"""The folder of a replica (KIP-858), as far as the controller knows it.

A directory id below 100 is not a folder. It means: unassigned, migrating, or lost.
"""

from typing import Final

from gralha.metadata.image import BrokerRegistration, MetadataImage

MIGRATING_DIRECTORY: Final = bytes(16)
UNASSIGNED_DIRECTORY: Final = (1).to_bytes(16, "big")
LOST_DIRECTORY: Final = (2).to_bytes(16, "big")


def default_directory(image: MetadataImage, broker_id: int) -> bytes:
    """The broker's folder if it has only one. With several, the broker chooses and tells the controller."""
    broker = image.brokers.get(broker_id)
    if broker is None or len(broker.log_dirs) != 1:
        return UNASSIGNED_DIRECTORY
    return broker.log_dirs[0]


def is_online(broker: BrokerRegistration, directory: bytes) -> bool:
    """Returns True if the broker can read the folder."""
    if directory in (UNASSIGNED_DIRECTORY, MIGRATING_DIRECTORY) or not broker.log_dirs:
        return True
    return directory != LOST_DIRECTORY and directory in broker.log_dirs
