"""Reads a partition of a coordinator's topic back, a chunk at a time. This runs in a thread."""

import logging
from collections.abc import Iterator
from typing import Final, Generic, NamedTuple

from gralha.coordination.decision import Record
from gralha.coordination.producer import Producer
from gralha.coordination.shard import Codec, Shard
from gralha.protocol.batches import BatchHeader, batches
from gralha.protocol.control_records import ABORT, COMMIT, control_type
from gralha.protocol.records import decode_records
from gralha.replication.partition import Partition

log = logging.getLogger("gralha.coordination")

CHUNK_BYTES: Final = 1024 * 1024


class LoadedRecord(NamedTuple, Generic[Record]):
    """A record, and the producer if it was written in a transaction."""

    record: Record
    producer: Producer | None

    def replay(self, shard: Shard[Record]) -> None:
        shard.replay(self.record, self.producer)


class LoadedMarker(NamedTuple, Generic[Record]):
    """The end of a producer's transaction."""

    producer: Producer
    is_commit: bool

    def replay(self, shard: Shard[Record]) -> None:
        shard.replay_end_of_transaction(self.producer, self.is_commit)


Loaded = LoadedRecord[Record] | LoadedMarker[Record]


def read_chunk(
    partition: Partition, codec: Codec[Record], offset: int, end_offset: int
) -> tuple[list[Loaded[Record]], int]:
    """The records and markers of a chunk from an offset on, and the offset of the next chunk."""
    found = partition.log.read(offset, CHUNK_BYTES, end_offset, True, True)
    loaded: list[Loaded[Record]] = []
    for position, header in batches(found.data, found.start, found.end):
        offset = max(offset, header.next_offset)
        if header.is_control:
            loaded.extend(_markers(found.data, position, header))
        else:
            loaded.extend(_records(found.data, position, header, codec))
    # Compaction may have removed the last batches.
    return loaded, offset if found.end > found.start else end_offset


def _records(
    data: bytes, position: int, header: BatchHeader, codec: Codec[Record]
) -> Iterator[LoadedRecord[Record]]:
    producer = _producer(header) if header.is_transactional else None
    for record in decode_records(data, position, header):
        if record.key is None:
            continue
        decoded = codec.decode(record.key, record.value)
        if decoded is None:
            log.warning("A record of a kind that this version does not know is ignored: %r", record.key[:2])
        else:
            yield LoadedRecord(decoded, producer)


def _markers(data: bytes, position: int, header: BatchHeader) -> Iterator[LoadedMarker[Record]]:
    for record in decode_records(data, position, header):
        kind = control_type(record.key)
        if kind in (COMMIT, ABORT):
            yield LoadedMarker(_producer(header), kind == COMMIT)


def _producer(header: BatchHeader) -> Producer:
    return Producer(header.producer_id, header.producer_epoch)
