"""Reads the metadata of a cluster from files: snapshots and segments of the metadata log.

This module only reads, so it is safe beside a running node.
"""

import re
from collections import Counter
from pathlib import Path
from typing import Final, NamedTuple

from gralha.cli.log_files import Batch, SegmentFile
from gralha.cli.program import CommandError
from gralha.metadata.delta import ImageDelta
from gralha.metadata.image import EMPTY_IMAGE, MetadataError, MetadataImage
from gralha.metadata.records import RECORD_TYPES
from gralha.protocol.errors import KafkaError
from gralha.protocol.message import Message
from gralha.protocol.message_json import decode_metadata_record
from gralha.protocol.messages.cluster_records import (
    AbortTransactionRecord,
    BeginTransactionRecord,
    EndTransactionRecord,
)
from gralha.protocol.primitives import ProtocolError
from gralha.protocol.records import decode_records

_ALL_BYTES: Final = 2**31 - 1
_SNAPSHOT_NAME: Final = re.compile(r"(\d{20})-(\d{10})\.checkpoint")


class ReadMetadata(NamedTuple):
    """The metadata at the end of the files, the time of its last batch, and what the image cannot hold."""

    image: MetadataImage
    timestamp_ms: int
    skipped: Counter[str]


def read_metadata(path: Path) -> ReadMetadata:
    """The metadata in a snapshot, in a segment of the log, or in the folder of the log."""
    reader = _MetadataReader()
    for file in _files_of(path):
        reader.read(file)
    return reader.finish()


def _files_of(path: Path) -> list[Path]:
    """The newest snapshot of a folder and the segments after it. A file stands for itself."""
    if not path.is_dir():
        return [path]
    snapshots = sorted(path.glob("[0-9]*.checkpoint"))[-1:]
    segments = sorted(path.glob("[0-9]*.log"))
    if not snapshots and not segments:
        raise CommandError(
            f"{path} has no snapshot (*.checkpoint) and no log (*.log) of a cluster's metadata"
        )
    return [*snapshots, *segments]


class _MetadataReader:
    """Applies the records of files, one after the other."""

    def __init__(self) -> None:
        self._delta = ImageDelta(EMPTY_IMAGE)
        self._skipped: Counter[str] = Counter()
        self._transaction: list[Message] | None = None
        self._offset = EMPTY_IMAGE.offset
        self._epoch = EMPTY_IMAGE.epoch
        self._timestamp_ms = 0
        # Everything below this offset is in the snapshot that was read.
        self._covered = 0

    def read(self, path: Path) -> None:
        """Reads a file, except batches of a log that the snapshot before it has covered."""
        try:
            with SegmentFile(path) as segment:
                for batch in segment.batches(0, segment.size):
                    if not batch.header.is_control and batch.header.base_offset >= self._covered:
                        self._take_batch(batch)
        except OSError as error:
            raise CommandError(f"Cannot read {path}: {error.strerror}") from None
        except (KafkaError, ProtocolError, MetadataError) as error:
            raise CommandError(f"{path} is not a sound file of the metadata log: {error}") from None
        snapshot = _SNAPSHOT_NAME.fullmatch(path.name)
        if snapshot is not None:
            # The offsets in a snapshot begin at 0. Its name has its place in the log.
            self._covered = int(snapshot[1])

    def _take_batch(self, batch: Batch) -> None:
        header = batch.header
        for record in decode_records(batch.data, 0, header, _ALL_BYTES):
            self._take(record.value or b"")
        self._offset, self._epoch = header.last_offset, header.partition_leader_epoch
        self._timestamp_ms = header.max_timestamp

    def _take(self, data: bytes) -> None:
        """Applies a record. The records of a transaction wait until it ends (KIP-868)."""
        record, _ = decode_metadata_record(data)
        if isinstance(record, BeginTransactionRecord):
            self._transaction = []
        elif isinstance(record, AbortTransactionRecord):
            self._transaction = None
        elif isinstance(record, EndTransactionRecord):
            waiting, self._transaction = self._transaction or [], None
            for one in waiting:
                self._apply(one)
        elif self._transaction is not None:
            self._transaction.append(record)
        else:
            self._apply(record)

    def _apply(self, record: Message) -> None:
        if isinstance(record, RECORD_TYPES):
            self._delta.apply(record)
        else:
            self._skipped[type(record).__name__] += 1

    def finish(self) -> ReadMetadata:
        image, _ = self._delta.finish(self._offset, self._epoch)
        return ReadMetadata(image, self._timestamp_ms, self._skipped)
