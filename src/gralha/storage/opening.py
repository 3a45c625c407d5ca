"""Opening or creating the log of one partition from its folder."""

from __future__ import annotations

import logging
from random import Random
from typing import Final

from gralha.protocol.errors import InconsistentTopicIdError
from gralha.protocol.primitives import ZERO_UUID, uuid_to_string
from gralha.storage.checkpoints import (
    PARTITION_METADATA_FILE,
    decode_partition_metadata,
    encode_partition_metadata,
    is_unfinished_partition_metadata,
)
from gralha.storage.config import LogConfig
from gralha.storage.disk import Disk
from gralha.storage.log import Log
from gralha.storage.recovery import LogLoader

logger: Final = logging.getLogger(__name__)

PRODUCER_EXPIRATION_MS = 86_400_000


def open_log(
    disk: Disk,
    folder: str,
    topic: str,
    partition: int,
    config: LogConfig,
    *,
    now_ms: int,
    topic_id: bytes = ZERO_UUID,
    log_start_offset: int = 0,
    recovery_point: int = 0,
    first_dirty_offset: int = 0,
    clean: bool = False,
    random: Random | None = None,
    producer_expiration_ms: int = PRODUCER_EXPIRATION_MS,
) -> Log:
    """Open the log in the folder. Creates the log if there is none. May wait.

    `clean` says that the log was closed well, so that nothing needs to be checked. Raises `CorruptLogError`
    if records below the recovery point are damaged.
    """
    disk.make_folder(folder)
    stored_id = _read_topic_id(disk, folder)
    if stored_id != ZERO_UUID and topic_id not in (ZERO_UUID, stored_id):
        raise InconsistentTopicIdError(
            f"{folder} belongs to the topic id {uuid_to_string(stored_id)}, not to {uuid_to_string(topic_id)}"
        )
    loader = LogLoader(
        disk,
        folder,
        f"{topic}-{partition}",
        config,
        log_start_offset=log_start_offset,
        recovery_point=recovery_point,
        first_dirty_offset=first_dirty_offset,
        clean=clean,
        now_ms=now_ms,
        producer_expiration_ms=producer_expiration_ms,
    )
    loaded = loader.load()
    if stored_id == ZERO_UUID and topic_id != ZERO_UUID:
        # The first flush syncs this file. Before a flush no record is known to be on the device.
        disk.write_file(f"{folder}/{PARTITION_METADATA_FILE}", encode_partition_metadata(topic_id))
        loaded.folder_unsynced = True
    log = Log(
        disk,
        folder,
        topic,
        partition,
        topic_id if stored_id == ZERO_UUID else stored_id,
        config,
        loaded,
        random or Random(0),
        producer_expiration_ms,
    )
    log.first_dirty_offset = first_dirty_offset
    return log


def _read_topic_id(disk: Disk, folder: str) -> bytes:
    """The stored topic id. ZERO_UUID if a crash left the file unfinished: the metadata gives the id again.

    The file is not synced before the first flush. Refusing to open the log would lose its records.
    """
    path = f"{folder}/{PARTITION_METADATA_FILE}"
    data = disk.read_file(path) or b""
    if not is_unfinished_partition_metadata(data):
        return decode_partition_metadata(path, data)
    if data:
        logger.warning("%s is incomplete: opening the log without a topic id", path)
    return ZERO_UUID
