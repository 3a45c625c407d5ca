"""Reading a partition of `__consumer_offsets` back, a chunk at a time. Runs in a thread."""

import logging
from typing import Final

from gralha.groups.records import GroupRecord, decode_record
from gralha.protocol.batches import BatchHeader, batches
from gralha.protocol.records import decode_records
from gralha.replication.partition import Partition

log = logging.getLogger("gralha.groups")

CHUNK_BYTES: Final = 1024 * 1024


def read_records(partition: Partition, offset: int, end_offset: int) -> tuple[list[GroupRecord], int]:
    """The records of a chunk from an offset on, and the offset that the next chunk begins at."""
    found = partition.log.read(offset, CHUNK_BYTES, end_offset, True, True)
    records: list[GroupRecord] = []
    for position, header in batches(found.data, found.start, found.end):
        offset = max(offset, header.next_offset)
        # Offsets committed in transactions, and the markers that end these, come with transactions.
        if not header.is_control and not header.is_transactional:
            records.extend(_decoded(found.data, position, header))
    # Compaction may have taken the last batches away.
    return records, offset if found.end > found.start else end_offset


def _decoded(data: bytes, position: int, header: BatchHeader) -> list[GroupRecord]:
    records = []
    for record in decode_records(data, position, header):
        if record.key is None:
            continue
        decoded = decode_record(record.key, record.value)
        if decoded is None:
            log.warning(
                "A record of a kind that this version does not know is passed over: %r", record.key[:2]
            )
        else:
            records.append(decoded)
    return records
