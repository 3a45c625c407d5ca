"""Compacted logs for tests: a manager that cleans in line, a reader, and a model of what must be left."""

from __future__ import annotations

from collections.abc import Mapping

from gralha.protocol.control_records import ABORT, control_type, encode_end_marker
from gralha.protocol.records import Record, batches, decode_records, encode_batch
from gralha.storage.cleaning import CleanerSettings, InlineWorker, TakeGroup
from gralha.storage.compaction import CleaningJob, CleaningResult
from gralha.storage.config import LogConfig
from gralha.storage.disk import Disk
from gralha.storage.log import COORDINATOR, AppendResult, Log
from gralha.storage.manager import LogManager
from tests.storage.logs import NOW, TOPIC_ID, as_records

ROOT = "/d"
CONFIG = {
    "cleanup.policy": "compact",
    "segment.bytes": "600",
    "index.interval.bytes": "150",
    "min.cleanable.dirty.ratio": "0",
    "delete.retention.ms": "1000",
    "file.delete.delay.ms": "0",
}

Content = tuple[bytes | None, bytes | None, int, tuple[tuple[str, bytes | None], ...]]


def content(record: Record) -> Content:
    return record.key, record.value, int(record.timestamp), tuple(record.headers)


class WatchedWorker(InlineWorker):
    """Notes each job and how far it got."""

    def __init__(self, disk: Disk) -> None:
        super().__init__(disk)
        self.passes: list[tuple[CleaningJob, CleaningResult]] = []

    async def clean(self, job: CleaningJob, take: TakeGroup) -> CleaningResult:
        result = await super().clean(job, take)
        self.passes.append((job, result))
        return result


class Compacted:
    """One compacted partition, and the manager that cleans it."""

    def __init__(
        self, disk: Disk, config: Mapping[str, str] | None = None, root: str = ROOT, **settings: object
    ) -> None:
        self.disk = disk
        self.worker = WatchedWorker(disk)
        self.config = LogConfig({**CONFIG, **(config or {})})
        self.manager = LogManager(
            disk,
            [root],
            self.config,
            cleaner_settings=CleanerSettings(**settings),  # type: ignore[arg-type]
            cleaning_worker=self.worker,
        )
        self.manager.load(NOW, lambda _: {})
        assert self.manager.offline == {}
        self.log: Log = self.manager.get_or_create("t", 0, TOPIC_ID, self.config, NOW)
        # Flushes come when the test says so.
        self.log.request_flush = None
        self.log.high_watermark = self.log.log_end_offset

    def append(self, *records: Record, **options: object) -> AppendResult:
        data = encode_batch(list(records), **options)  # type: ignore[arg-type]
        result = self.log.append_as_leader(as_records(data), 0, NOW)
        self.log.high_watermark = self.log.log_end_offset
        return result

    def put(self, key: bytes, value: bytes | None, **options: object) -> int:
        return int(self.append(Record(key, value, NOW), **options).first_offset)

    def end_transaction(self, producer_id: int, commit: bool, epoch: int = 0) -> None:
        marker = encode_end_marker(
            commit=commit,
            coordinator_epoch=0,
            producer_id=producer_id,
            producer_epoch=epoch,
            timestamp_ms=NOW,
        )
        self.log.append_as_leader(as_records(marker), 0, NOW, origin=COORDINATOR)
        self.log.high_watermark = self.log.log_end_offset

    async def clean(self, now_ms: int = NOW, roll: bool = True) -> int:
        """Clean all records that were written so far. Returns the number of passes."""
        if roll:
            self.log.roll(NOW)
        self.log.flush()
        self.worker.passes = []
        return await self.manager.cleaner.turn(lambda: now_ms)

    def values(self) -> dict[bytes | None, bytes | None]:
        return {record.key: record.value for record in committed(self.log)}


def raw_batches(log: Log, offset: int | None = None) -> list[tuple[bytes, int]]:
    """Bytes and position of each batch from the offset on, read in small pieces."""
    found: list[tuple[bytes, int]] = []
    offset = int(log.log_start_offset) if offset is None else offset
    while offset < log.log_end_offset:
        some = log.read(offset, 300, log.log_end_offset, True, True)
        whole = batches(some.data, some.start, some.end)
        if not whole:
            break
        for position, header in whole:
            assert header.last_offset >= offset
            found.append((some.data, position))
            offset = int(header.next_offset)
    return found


def committed(log: Log, offset: int | None = None) -> list[Record]:
    """What a consumer with isolation.level=read_committed sees from the offset on, by Kafka's algorithm."""
    start = int(log.log_start_offset) if offset is None else offset
    aborted = sorted(
        log.aborted_transactions(start, int(log.log_end_offset), True), key=lambda entry: entry[1]
    )
    running: set[int] = set()
    found: list[Record] = []
    for data, position in raw_batches(log, start):
        (_, header), *_ = batches(data, position, len(data))
        while aborted and aborted[0][1] <= header.last_offset:
            running.add(aborted.pop(0)[0])
        records = decode_records(data, position, header)
        if header.is_control:
            if records and control_type(records[0].key) == ABORT:
                running.discard(int(header.producer_id))
        elif not header.is_transactional or header.producer_id not in running:
            found += [record for record in records if record.offset >= start]
    return found


class Model:
    """The records that must be in the log, by offset."""

    def __init__(self) -> None:
        self.records: dict[int, Content] = {}
        self.batch_of: dict[int, int] = {}
        self.horizons: dict[int, int] = {}

    def add(self, first_offset: int, records: list[Record]) -> None:
        for offset, record in enumerate(records, first_offset):
            self.records[offset] = content(record)
            self.batch_of[offset] = first_offset

    def clean(self, job: CleaningJob, end_offset: int) -> None:
        newest = {
            self.records[offset][0]: offset
            for offset in sorted(self.records)
            if job.first_dirty_offset <= offset < end_offset
        }
        for offset in sorted(self.records):
            key, value = self.records[offset][:2]
            horizon = self.horizons.get(self.batch_of[offset])
            is_expired = value is None and horizon is not None and horizon <= job.now_ms
            if offset < end_offset and (offset < newest.get(key, -1) or is_expired):
                del self.records[offset]
        for batch in {self.batch_of[offset] for offset in self.records} - self.horizons.keys():
            left = [offset for offset in self.records if self.batch_of[offset] == batch]
            if max(left) < end_offset and any(self.records[offset][1] is None for offset in left):
                self.horizons[batch] = job.now_ms + job.delete_retention_ms

    def left(self, offset: int = 0) -> list[tuple[int, Content]]:
        return [(at, self.records[at]) for at in sorted(self.records) if at >= offset]
