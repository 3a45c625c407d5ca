"""The idempotent and transactional producers of a partition.

A partition knows of each producer id: its epoch, its last five batches, the coordinator epoch of the last
marker, and where an open transaction began. A retry of one of the last five batches gets the offset of the
first try and is not written twice. The last stable offset follows from the open transactions, and from ended
ones whose markers are not replicated yet.

Sequence numbers run from 0 to 2**31 - 1 and begin anew with each epoch. Snapshots of the state lie beside the
segments (`<offset>.snapshot`, Kafka's binary format with a CRC), so that a start reads one of them and only
the batches after it. Kafka's counterparts are ProducerStateManager and ProducerAppendInfo.

Kafka's snapshot has only the last batch of each producer: after a start, a retry of an earlier one would be
out of sequence. Our snapshot has the other batches of the last five after Kafka's entries, where Kafka does
not look.
"""

from __future__ import annotations

import logging
import struct
from typing import Final

from fastcrc import crc32
from mypy_extensions import i64

from gralha.protocol.batches import NO_PRODUCER_EPOCH, NO_SEQUENCE, SEQUENCE_MAX
from gralha.protocol.errors import (
    ErrorCode,
    InvalidProducerEpochError,
    InvalidTxnStateError,
    KafkaError,
    OutOfOrderSequenceNumberError,
)
from gralha.protocol.records import BatchHeader
from gralha.storage.disk import Disk

logger: Final = logging.getLogger(__name__)

BATCHES_KEPT: Final[i64] = 5
EPOCH_MAX: Final[i64] = 32_767
NO_OFFSET: Final[i64] = -1

SNAPSHOT_SUFFIX: Final = ".snapshot"
_SNAPSHOT_VERSION: Final = 1
_SNAPSHOT_START: Final = struct.Struct(">hIi")
_SNAPSHOT_ENTRY: Final = struct.Struct(">qhiqiqiq")
_OLDER_BATCH: Final = struct.Struct(">qiqiq")
_COUNT: Final = struct.Struct(">i")
_CRC_COVERS_FROM: Final = 6


class CorruptSnapshotError(Exception):
    """A producer snapshot has a wrong format or CRC."""


class BatchMetadata:
    """One of a producer's last batches."""

    def __init__(self, last_sequence: i64, last_offset: i64, offset_delta: i64, timestamp: i64) -> None:
        self.last_sequence: i64 = last_sequence
        self.last_offset: i64 = last_offset
        self.offset_delta: i64 = offset_delta
        self.timestamp: i64 = timestamp

    def first_offset(self) -> i64:
        return self.last_offset - self.offset_delta

    def first_sequence(self) -> i64:
        if self.last_sequence < self.offset_delta:
            return SEQUENCE_MAX - (self.offset_delta - self.last_sequence) + 1
        return self.last_sequence - self.offset_delta


class ProducerEntry:
    """The state of one producer id."""

    def __init__(self, producer_id: i64) -> None:
        self.producer_id: i64 = producer_id
        self.epoch: i64 = NO_PRODUCER_EPOCH
        self.coordinator_epoch: i64 = -1
        self.last_timestamp: i64 = -1
        self.transaction_first_offset: i64 = NO_OFFSET
        # Oldest first.
        self.batches: list[BatchMetadata] = []

    def last_sequence(self) -> i64:
        return self.batches[-1].last_sequence if self.batches else NO_SEQUENCE

    def last_offset(self) -> i64:
        return self.batches[-1].last_offset if self.batches else NO_OFFSET

    def set_epoch(self, epoch: i64) -> None:
        if epoch != self.epoch:
            self.epoch = epoch
            self.batches.clear()

    def add_batch(self, last_sequence: i64, last_offset: i64, offset_delta: i64, timestamp: i64) -> None:
        self.last_timestamp = timestamp
        batches = self.batches
        if len(batches) < BATCHES_KEPT:
            batches.append(BatchMetadata(last_sequence, last_offset, offset_delta, timestamp))
            return
        # The object of the oldest batch is used for the newest one, so that an append leaves no garbage.
        batch = batches.pop(0)
        batch.last_sequence = last_sequence
        batch.last_offset = last_offset
        batch.offset_delta = offset_delta
        batch.timestamp = timestamp
        batches.append(batch)

    def find_duplicate(self, header: BatchHeader) -> BatchMetadata | None:
        if header.producer_epoch != self.epoch:
            return None
        last_sequence = header.last_sequence
        for batch in self.batches:
            if batch.last_sequence == last_sequence and batch.first_sequence() == header.base_sequence:
                return batch
        return None


class Transaction:
    """A transaction: the offsets of its first record and of its marker (-1 while it is open)."""

    def __init__(self, producer_id: i64, first_offset: i64) -> None:
        self.producer_id: i64 = producer_id
        self.first_offset: i64 = first_offset
        self.last_offset: i64 = NO_OFFSET
        self.aborted = False


class ProducerState:
    """All producers of one partition."""

    def __init__(self, disk: Disk, folder: str, name: str) -> None:
        self.disk = disk
        self.folder = folder
        # "topic-partition", for messages.
        self.name = name
        self.producers: dict[int, ProducerEntry] = {}
        # By first offset, in rising order.
        self.open_transactions: dict[int, Transaction] = {}
        # Ended transactions whose marker is not below the high watermark yet.
        self.unreplicated_transactions: dict[int, Transaction] = {}
        # The first offset of the two above, -1 if there is none. Threads that read use only this number.
        self.first_unstable_offset: i64 = NO_OFFSET
        # The state reflects all batches below this offset.
        self.end_offset: i64 = 0
        # Offsets of the snapshots on disk, in rising order, and those among them that are not synced.
        self.snapshots: list[int] = []
        self.unsynced_snapshots: list[int] = []

    # Appending: first check, then write the batch, then record it.

    def find_duplicate(self, header: BatchHeader) -> BatchMetadata | None:
        """The batch among the last five that this one repeats."""
        entry = self.producers.get(header.producer_id)
        return None if entry is None else entry.find_duplicate(header)

    def check_data(self, header: BatchHeader, offset: i64, check_sequence: bool) -> None:
        """Refuse a batch of an old epoch, out of sequence, or outside of the open transaction."""
        entry = self.producers.get(header.producer_id)
        if entry is None:
            # The producer is new, or was forgotten by expiry or retention: any sequence may come first.
            return
        if header.producer_epoch < entry.epoch:
            raise self._old_epoch(header, offset, entry)
        if check_sequence:
            self._check_sequence(header, offset, entry)
        if entry.transaction_first_offset >= 0 and not header.is_transactional:
            raise InvalidTxnStateError(
                f"Expected transactional write from producer {header.producer_id} at offset {offset} in "
                f"partition {self.name}"
            )

    def _check_sequence(self, header: BatchHeader, offset: i64, entry: ProducerEntry) -> None:
        sequence = header.base_sequence
        if header.producer_epoch != entry.epoch:
            if sequence != 0 and entry.epoch != NO_PRODUCER_EPOCH:
                raise OutOfOrderSequenceNumberError(
                    f"Invalid sequence number for new epoch of producer {header.producer_id} at offset "
                    f"{offset} in partition {self.name}: {header.producer_epoch} (request epoch), {sequence} "
                    f"(seq. number), {entry.epoch} (current producer epoch)"
                )
            return
        last = entry.last_sequence()
        if sequence != last + 1 and not (sequence == 0 and last == SEQUENCE_MAX):
            raise OutOfOrderSequenceNumberError(
                f"Out of order sequence number for producer {header.producer_id} at offset {offset} in "
                f"partition {self.name}: {sequence} (incoming seq. number), {last} (current end sequence "
                "number)"
            )

    def is_next(self, header: BatchHeader) -> bool:
        """Whether the batch begins where the producer's last batch ended."""
        entry = self.producers.get(header.producer_id)
        if entry is None or entry.epoch != header.producer_epoch:
            return False
        return header.base_sequence == (entry.last_sequence() + 1) & SEQUENCE_MAX

    def has_open_transaction(self, producer_id: i64, epoch: i64) -> bool:
        """Whether a transaction of this producer and epoch has begun here, and has not ended."""
        entry = self.producers.get(producer_id)
        return entry is not None and entry.epoch == epoch and entry.transaction_first_offset >= 0

    def check_new_epoch(self, producer_id: i64, epoch: i64, offset: i64) -> None:
        """Refuse an end marker unless its epoch is newer than that of the producer's batches (KIP-1228).

        The marker may be repeated: then the transaction has ended, and the epoch is equal. The last epoch of
        all cannot be followed by a newer one.
        """
        entry = self.producers.get(producer_id)
        if entry is None or epoch > entry.epoch:
            return
        is_repeated = entry.transaction_first_offset < 0 or epoch == EPOCH_MAX
        if epoch < entry.epoch or not is_repeated:
            raise InvalidProducerEpochError(
                f"Epoch of producer {producer_id} at offset {offset} in {self.name} is {epoch}, which is not "
                f"larger than the last seen epoch {entry.epoch}"
            )

    def check_marker(self, header: BatchHeader, offset: i64, coordinator_epoch: i64) -> None:
        """Refuse an end marker of an old producer epoch or from an old coordinator."""
        entry = self.producers.get(header.producer_id)
        if entry is None:
            return
        if header.producer_epoch < entry.epoch:
            raise self._old_epoch(header, offset, entry)
        if entry.coordinator_epoch > coordinator_epoch:
            raise KafkaError(
                f"Invalid coordinator epoch for producerId {header.producer_id} at offset {offset} in "
                f"partition {self.name}: {coordinator_epoch} (zombie), {entry.coordinator_epoch} (current)",
                ErrorCode.TRANSACTION_COORDINATOR_FENCED,
            )

    def _old_epoch(self, header: BatchHeader, offset: i64, entry: ProducerEntry) -> InvalidProducerEpochError:
        return InvalidProducerEpochError(
            f"Epoch of producer {header.producer_id} at offset {offset} in {self.name} is "
            f"{header.producer_epoch}, which is smaller than the last seen epoch {entry.epoch}"
        )

    def _entry(self, producer_id: i64) -> ProducerEntry:
        entry = self.producers.get(producer_id)
        if entry is None:
            entry = ProducerEntry(producer_id)
            self.producers[producer_id] = entry
        return entry

    def record_data(self, header: BatchHeader, base_offset: i64, max_timestamp: i64) -> None:
        """Note a data batch that was written at the offset."""
        entry = self._entry(header.producer_id)
        entry.set_epoch(header.producer_epoch)
        delta = header.last_offset_delta
        entry.add_batch(header.last_sequence, base_offset + delta, delta, max_timestamp)
        if header.is_transactional and entry.transaction_first_offset < 0:
            entry.transaction_first_offset = base_offset
            self.open_transactions[base_offset] = Transaction(header.producer_id, base_offset)
            self._find_first_unstable_offset()

    def transaction_ended_by(self, header: BatchHeader, offset: i64, aborted: bool) -> Transaction | None:
        """The transaction that an end marker at the offset ends, if it has a record in this partition."""
        entry = self.producers.get(header.producer_id)
        if entry is None or entry.transaction_first_offset < 0:
            return None
        transaction = Transaction(header.producer_id, entry.transaction_first_offset)
        transaction.last_offset = offset
        transaction.aborted = aborted
        return transaction

    def record_marker(
        self, header: BatchHeader, coordinator_epoch: i64, timestamp: i64, transaction: Transaction | None
    ) -> None:
        """Note an end marker that is in the log, and the transaction that it ends."""
        entry = self._entry(header.producer_id)
        entry.set_epoch(header.producer_epoch)
        entry.coordinator_epoch = coordinator_epoch
        entry.last_timestamp = timestamp
        entry.transaction_first_offset = NO_OFFSET
        if transaction is not None:
            self._complete(transaction)

    def last_stable_offset_after(self, transaction: Transaction) -> i64:
        """The last stable offset once this transaction is complete, if the high watermark allows it."""
        for first_offset, other in self.open_transactions.items():
            if other.producer_id != transaction.producer_id:
                return first_offset
        return transaction.last_offset + 1

    def _complete(self, transaction: Transaction) -> None:
        """End a transaction. It stays unstable until the high watermark passes its marker."""
        self.open_transactions.pop(transaction.first_offset, None)
        self.unreplicated_transactions[transaction.first_offset] = transaction
        self._find_first_unstable_offset()

    def _find_first_unstable_offset(self) -> None:
        first = NO_OFFSET
        for offset in self.open_transactions:
            first = offset
            break
        for offset in self.unreplicated_transactions:
            if first < 0 or offset < first:
                first = offset
        self.first_unstable_offset = first

    def advance_high_watermark(self, offset: i64) -> None:
        """Forget the ended transactions whose markers are below the offset."""
        if self.unreplicated_transactions:
            for first_offset, transaction in list(self.unreplicated_transactions.items()):
                if transaction.last_offset < offset:
                    del self.unreplicated_transactions[first_offset]
            self._find_first_unstable_offset()

    def advance_log_start(self, offset: i64) -> None:
        self.advance_high_watermark(offset)
        self.end_offset = max(self.end_offset, offset)

    def remove_expired(self, now_ms: int, expiration_ms: int) -> None:
        """Forget producers that wrote nothing for long and have no open transaction."""
        expired = [
            producer_id
            for producer_id, entry in self.producers.items()
            if entry.transaction_first_offset < 0 and now_ms - entry.last_timestamp >= expiration_ms
        ]
        for producer_id in expired:
            del self.producers[producer_id]

    def replay_data(self, header: BatchHeader) -> None:
        """Note a data batch that is in the log already."""
        self.record_data(header, header.base_offset, header.max_timestamp)

    # Snapshots

    def snapshot_path(self, offset: int) -> str:
        return f"{self.folder}/{offset:020d}{SNAPSHOT_SUFFIX}"

    def take_snapshot(self) -> None:
        """Write the state at its end offset unless such a snapshot exists. It is not synced yet."""
        offset = self.end_offset
        if offset == 0 or offset in self.snapshots:
            return
        self.disk.write_file(self.snapshot_path(offset), encode_snapshot(list(self.producers.values())))
        self.snapshots = sorted([*self.snapshots, offset])
        self.unsynced_snapshots.append(offset)

    def sync_snapshots(self) -> None:
        """Called in a thread; a snapshot taken meanwhile stays listed."""
        for offset in list(self.unsynced_snapshots):
            self.disk.sync_file(self.snapshot_path(offset))
            if offset in self.unsynced_snapshots:
                self.unsynced_snapshots.remove(offset)

    def remove_snapshot(self, offset: int) -> None:
        if offset in self.snapshots:
            self.snapshots.remove(offset)
            self.disk.remove(self.snapshot_path(offset))

    def forget_snapshot(self, offset: int) -> list[str]:
        """Forget a snapshot. Returns its path, if there is one; the caller removes the file."""
        if offset not in self.snapshots:
            return []
        self.snapshots.remove(offset)
        return [self.snapshot_path(offset)]

    def clear(self, offset: int) -> None:
        """Forget everything, also the snapshots, and go on at the offset."""
        self.producers.clear()
        self.open_transactions.clear()
        self.unreplicated_transactions.clear()
        self.first_unstable_offset = NO_OFFSET
        for snapshot in list(self.snapshots):
            self.remove_snapshot(snapshot)
        self.end_offset = offset

    def remove_snapshots_outside(self, log_start_offset: int, log_end_offset: int) -> None:
        """Remove the snapshots of offsets that the log does not have."""
        for snapshot in list(self.snapshots):
            if snapshot > log_end_offset or snapshot <= log_start_offset:
                self.remove_snapshot(snapshot)

    def reload(self, end_offset: int, log_start_offset: int, now_ms: int, expiration_ms: int) -> None:
        """Go back to the last good snapshot up to the offset. The caller replays the batches after it."""
        self.producers.clear()
        self.open_transactions.clear()
        self.unreplicated_transactions.clear()
        self.first_unstable_offset = NO_OFFSET
        self.end_offset = log_start_offset
        for offset in reversed([snapshot for snapshot in self.snapshots if snapshot <= end_offset]):
            path = self.snapshot_path(offset)
            try:
                entries = decode_snapshot(self.disk.read_file(path) or b"")
            except CorruptSnapshotError as error:
                logger.warning("Dropping the producer snapshot %s: %s", path, error)
                self.remove_snapshot(offset)
                continue
            self._take_entries(entries, now_ms, expiration_ms)
            self.end_offset = offset
            return

    def _take_entries(self, entries: list[ProducerEntry], now_ms: int, expiration_ms: int) -> None:
        transactions: dict[int, Transaction] = {}
        for entry in entries:
            first_offset = entry.transaction_first_offset
            if first_offset < 0 and now_ms - entry.last_timestamp >= expiration_ms:
                continue
            self.producers[entry.producer_id] = entry
            if first_offset >= 0:
                transactions[first_offset] = Transaction(entry.producer_id, first_offset)
        for first_offset in sorted(transactions):
            self.open_transactions[first_offset] = transactions[first_offset]
        self._find_first_unstable_offset()


def encode_snapshot(entries: list[ProducerEntry]) -> bytes:
    body = [struct.pack(">i", len(entries))]
    for entry in entries:
        body.append(
            _SNAPSHOT_ENTRY.pack(
                entry.producer_id,
                entry.epoch,
                entry.last_sequence(),
                entry.last_offset(),
                entry.batches[-1].offset_delta if entry.batches else 0,
                entry.last_timestamp,
                entry.coordinator_epoch,
                entry.transaction_first_offset,
            )
        )
    body.append(_encode_older_batches(entries))
    covered = b"".join(body)
    return struct.pack(">hI", _SNAPSHOT_VERSION, crc32.iscsi(covered)) + covered


def _encode_older_batches(entries: list[ProducerEntry]) -> bytes:
    """The batches before the last one of each producer: how many, then each, a producer's oldest first."""
    batches: list[bytes] = []
    for entry in entries:
        for batch in entry.batches[:-1]:
            batches.append(
                _OLDER_BATCH.pack(
                    entry.producer_id,
                    batch.last_sequence,
                    batch.last_offset,
                    batch.offset_delta,
                    batch.timestamp,
                )
            )
    return _COUNT.pack(len(batches)) + b"".join(batches) if batches else b""


def decode_snapshot(data: bytes) -> list[ProducerEntry]:
    if len(data) < _SNAPSHOT_START.size:
        raise CorruptSnapshotError("it is too short")
    version, crc, count = _SNAPSHOT_START.unpack_from(data)
    if version != _SNAPSHOT_VERSION:
        raise CorruptSnapshotError(f"unknown version {version}")
    if crc != crc32.iscsi(data[_CRC_COVERS_FROM:]):
        raise CorruptSnapshotError("its CRC does not fit")
    end = _SNAPSHOT_START.size + count * _SNAPSHOT_ENTRY.size
    if count < 0 or len(data) < end:
        raise CorruptSnapshotError(f"it does not hold {count} entries")
    entries: list[ProducerEntry] = []
    for fields in _SNAPSHOT_ENTRY.iter_unpack(data[_SNAPSHOT_START.size : end]):
        entry = ProducerEntry(fields[0])
        entry.epoch = fields[1]
        entry.last_timestamp = fields[5]
        entry.coordinator_epoch = fields[6]
        entry.transaction_first_offset = fields[7]
        if fields[3] >= 0:
            entry.batches.append(BatchMetadata(fields[2], fields[3], fields[4], fields[5]))
        entries.append(entry)
    _take_older_batches(entries, data[end:])
    return entries


def _take_older_batches(entries: list[ProducerEntry], data: bytes) -> None:
    """Add the batches before the last one of each producer. Snapshots of Apache Kafka have none."""
    if not data:
        return
    size = len(data) - _COUNT.size
    if size < 0 or size != _COUNT.unpack_from(data)[0] * _OLDER_BATCH.size:
        raise CorruptSnapshotError("it does not hold the older batches that it says it does")
    by_id: dict[int, ProducerEntry] = {}
    for entry in entries:
        by_id[entry.producer_id] = entry
    for fields in _OLDER_BATCH.iter_unpack(data[_COUNT.size :]):
        known = by_id.get(fields[0])
        if known is None or not known.batches or len(known.batches) == BATCHES_KEPT:
            raise CorruptSnapshotError("it holds older batches of a producer that has no room for them")
        known.batches.insert(len(known.batches) - 1, BatchMetadata(*fields[1:]))
