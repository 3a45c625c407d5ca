"""Which compacted log is cleaned next, and how it is cleaned while clients write to it.

    idle -> choose the filthiest log -> a worker cleans it, group by group -> each group is swapped in
         -> the first dirty offset moves on and is checkpointed -> choose again, idle when none is due

The worker does the heavy part (`compaction.py`) in another process, which ends when nothing is left to clean.
While a log is cleaned, retention leaves its segments alone. A truncation pauses the cleaning of its log
(`paused`). A deletion stops it (`abandon`). A swap that has begun is always finished.

Only whole segments are cleaned, and only if they are flushed, not active, below the last stable offset and
older than min.compaction.lag.ms. The log with the largest share of dirty bytes comes first.
Kafka's counterparts are LogCleanerManager and LogCleaner.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Final, NamedTuple, Protocol, TypeVar

from gralha.storage.checkpointing import Checkpoints
from gralha.storage.checkpoints import PartitionKey
from gralha.storage.compaction import CleanedGroup, CleaningJob, CleaningResult, Compaction
from gralha.storage.config import LONG_MAX
from gralha.storage.disk import Disk, DiskError
from gralha.storage.log import Log
from gralha.storage.segment import Segment
from gralha.storage.swapping import discard_unfinished, swap_in

logger: Final = logging.getLogger(__name__)

_BACKOFF_MIN_MS: Final = 10
# A log that could not be cleaned waits this long for the next try, then twice as long, and so on.
_PUT_OFF_MIN_MS: Final = 60_000
_PUT_OFF_MAX_MS: Final = 3_600_000
# The cleaner lets other tasks run after it has looked at this many logs.
_LOGS_PER_TURN: Final = 64

Result = TypeVar("Result")
TakeGroup = Callable[[CleanedGroup], Awaitable[None]]


class CleaningError(Exception):
    """A log could not be cleaned."""


class CleaningWorker(Protocol):
    """Runs jobs, one at a time. The caller gets each group as soon as it is complete."""

    async def clean(self, job: CleaningJob, take: TakeGroup) -> CleaningResult: ...

    async def close(self) -> None:
        """Nothing is to be cleaned for now."""


class InlineWorker:
    """Cleans on the event loop itself: for tests, simulations and tools."""

    def __init__(self, disk: Disk) -> None:
        self.disk = disk

    async def clean(self, job: CleaningJob, take: TakeGroup) -> CleaningResult:
        compaction = Compaction(self.disk, job, lambda _bytes: None)
        compaction.build_map()
        for group in compaction.groups():
            await take(compaction.clean(group))
        return compaction.result()

    async def close(self) -> None:
        pass


class CleanerSettings(NamedTuple):
    """Kafka's log.cleaner.* settings."""

    enabled: bool = True
    backoff_ms: int = 15_000
    dedupe_buffer_bytes: int = 134_217_728
    io_buffer_bytes: int = 524_288
    io_max_bytes_per_second: float = float("inf")


class LogToClean(NamedTuple):
    log: Log
    first_dirty_offset: int
    first_uncleanable_offset: int
    clean_bytes: int
    cleanable_bytes: int
    # Whether a dirty record is older than max.compaction.lag.ms.
    overdue: bool

    @property
    def dirty_ratio(self) -> float:
        total_bytes = self.clean_bytes + self.cleanable_bytes
        return self.cleanable_bytes / total_bytes if total_bytes else 0.0

    @property
    def is_due(self) -> bool:
        if self.overdue and self.cleanable_bytes > 0:
            return True
        return self.dirty_ratio > self.log.config.min_cleanable_dirty_ratio


def look_at(log: Log, now_ms: int) -> LogToClean:
    """Find what to clean in a log; None if nothing. May wait if `needs_timestamps`."""
    first_dirty = int(log.first_dirty_offset)
    if not log.log_start_offset <= first_dirty <= log.log_end_offset:
        first_dirty = int(log.log_start_offset)
    segments = log.segments[:-1]
    # The last segment that begins before the first dirty offset may have dirty records as well.
    dirty = [segment for segment in segments if segment.base_offset >= log.segment_base(first_dirty)]
    bound = min(int(log.last_stable_offset()), int(log.active.base_offset), int(log.recovery_point))
    lag_ms = log.config.min_compaction_lag_ms
    if lag_ms > 0:
        young = [segment for segment in dirty if segment.largest_timestamp() > now_ms - lag_ms]
        if young:
            bound = min(bound, int(young[0].base_offset))
    first_uncleanable = max(log.segment_base(bound), int(log.segments[0].base_offset))
    return LogToClean(
        log,
        first_dirty,
        first_uncleanable,
        sum(int(segment.size_bytes) for segment in segments if segment.base_offset < first_dirty),
        sum(int(segment.size_bytes) for segment in dirty if segment.base_offset < first_uncleanable),
        _is_overdue(log, dirty, now_ms),
    )


def _is_overdue(log: Log, dirty: list[Segment], now_ms: int) -> bool:
    lag_ms = log.config.max_compaction_lag_ms
    if lag_ms == LONG_MAX:
        return False
    for segment in dirty:
        segment.load_timestamps()
    return any(0 < segment.first_timestamp < now_ms - lag_ms for segment in dirty)


def needs_timestamps(log: Log) -> bool:
    """Whether `look_at` has to read files."""
    has_lags = log.config.min_compaction_lag_ms > 0 or log.config.max_compaction_lag_ms != LONG_MAX
    return has_lags and log.timestamps_unknown()


class _PutOff(NamedTuple):
    log: Log
    until_ms: int
    delay_ms: int


class Cleaner:
    """The owner of all cleaning. `run` is its task; one log is cleaned at a time."""

    def __init__(
        self,
        logs: Mapping[PartitionKey, Log],
        checkpoints: Checkpoints,
        worker: CleaningWorker,
        settings: CleanerSettings,
        remove_later: Callable[[Log, int], None],
    ) -> None:
        self.settings = settings
        self._configured = asyncio.Event()
        self._logs = logs
        self._checkpoints = checkpoints
        self._worker = worker
        # Called when a log has files to remove as soon as nobody can be reading them.
        self._remove_later = remove_later
        self._cleaning: Log | None = None
        self._task: asyncio.Task[None] | None = None
        self._paused: set[Log] = set()
        self._put_off: dict[PartitionKey, _PutOff] = {}

    def is_cleaning(self, log: Log) -> bool:
        return self._cleaning is log

    def configure(self, settings: CleanerSettings) -> None:
        """Use other settings from the next log on."""
        if settings != self.settings:
            self.settings = settings
            self._configured.set()

    async def run(self, clock: Callable[[], int]) -> None:
        """Clean whatever needs it. It ends only by being cancelled or by a disk error."""
        while True:
            self._configured.clear()
            await self.turn(clock)
            with suppress(TimeoutError):
                backoff_ms = max(self.settings.backoff_ms, _BACKOFF_MIN_MS)
                await asyncio.wait_for(self._configured.wait(), backoff_ms / 1000)

    async def turn(self, clock: Callable[[], int]) -> int:
        """Clean until no log is dirty enough. Returns how many logs were cleaned."""
        count = 0
        try:
            while self.settings.enabled:
                found = await self._filthiest(clock())
                if found is None:
                    break
                await self._clean_or_put_off(found, clock)
                count += 1
        finally:
            await self._worker.close()
        return count

    # Choosing

    async def _filthiest(self, now_ms: int) -> LogToClean | None:
        best: LogToClean | None = None
        logs = [log for log in self._logs.values() if self._may_be_cleaned(log, now_ms)]
        for number, log in enumerate(logs):
            if needs_timestamps(log):
                await in_thread(partial(_load_timestamps, log))
            elif number % _LOGS_PER_TURN == _LOGS_PER_TURN - 1:
                await asyncio.sleep(0)
            if log.recovery_point < log.active.base_offset and log.request_flush is not None:
                # That happens after a crash only: a roll asks for a flush as well.
                log.request_flush(log, int(log.active.base_offset))
            if self._may_be_cleaned(log, now_ms) and not needs_timestamps(log):
                found = look_at(log, now_ms)
                if found.is_due and (best is None or found.dirty_ratio > best.dirty_ratio):
                    best = found
        if best is None or not self._may_be_cleaned(best.log, now_ms) or needs_timestamps(best.log):
            return None
        # Again, because other tasks ran meanwhile.
        best = look_at(best.log, now_ms)
        return best if best.is_due else None

    def _may_be_cleaned(self, log: Log, now_ms: int) -> bool:
        if not log.config.compact or log.closed or log in self._paused or len(log.segments) == 1:
            return False
        put_off = self._put_off.get((log.topic, log.partition))
        return put_off is None or put_off.log is not log or put_off.until_ms <= now_ms

    # Cleaning

    async def _clean_or_put_off(self, found: LogToClean, clock: Callable[[], int]) -> None:
        log = found.log
        key = (log.topic, log.partition)
        self._cleaning = log
        self._task = task = asyncio.ensure_future(self._clean(found, clock))
        try:
            await asyncio.wait([task])
        finally:
            if not task.done():
                task.cancel()
                await asyncio.wait([task])
            self._cleaning = self._task = None
        error = None if task.cancelled() else task.exception()
        if isinstance(error, DiskError) and error.is_fatal:
            raise error
        if error is None or log.closed:
            self._put_off.pop(key, None)
            return
        put_off = self._put_off.get(key)
        delay_ms = _PUT_OFF_MIN_MS if put_off is None else min(2 * put_off.delay_ms, _PUT_OFF_MAX_MS)
        self._put_off[key] = _PutOff(log, clock() + delay_ms, delay_ms)
        logger.error("%s is not compacted for the next %d s: %s", log.name, delay_ms // 1000, error)

    async def _clean(self, found: LogToClean, clock: Callable[[], int]) -> None:
        log = found.log
        sources = log.segments
        try:
            aborted = await in_thread(partial(_aborted_transactions, sources, found.first_uncleanable_offset))
            job = self._job(found, sources, aborted, clock())
            result = await self._worker.clean(job, partial(self._take, log, sources, clock))
            if result.end_offset <= found.first_dirty_offset:
                raise CleaningError(f"compaction got no further than {result.end_offset}")
        except BaseException as error:
            if not log.closed and not (isinstance(error, DiskError) and error.is_fatal):
                await in_thread(partial(_discard, log))
            raise
        log.first_dirty_offset = result.end_offset
        _report(found, result)
        await in_thread(self._checkpoints.collect_first_dirty_offsets(self._logs))

    def _job(
        self,
        found: LogToClean,
        sources: list[Segment],
        aborted: list[tuple[int, int, int, int]],
        now_ms: int,
    ) -> CleaningJob:
        config = found.log.config
        producers = found.log.active_producers()
        end_offset = found.first_uncleanable_offset
        return CleaningJob(
            found.log.folder,
            [int(segment.base_offset) for segment in sources if segment.base_offset < end_offset],
            found.first_dirty_offset,
            end_offset,
            now_ms,
            config.delete_retention_ms,
            int(config.segment_bytes),
            int(config.segment_index_bytes),
            int(config.index_interval_bytes),
            self.settings.dedupe_buffer_bytes,
            self.settings.io_buffer_bytes,
            self.settings.io_max_bytes_per_second,
            [(int(entry.producer_id), int(entry.last_offset()), int(entry.epoch)) for entry in producers],
            aborted,
        )

    async def _take(
        self, log: Log, sources: list[Segment], clock: Callable[[], int], group: CleanedGroup
    ) -> None:
        """Swap a cleaned group in. A swap is never interrupted: memory and disk must agree."""
        swap = asyncio.ensure_future(self._swap(log, sources, clock, group))
        try:
            await asyncio.shield(swap)
        except asyncio.CancelledError:
            await asyncio.wait([swap])
            swap.result()  # what went wrong is of more weight than that nobody waits
            raise

    async def _swap(
        self, log: Log, sources: list[Segment], clock: Callable[[], int], group: CleanedGroup
    ) -> None:
        first = next(
            number for number, segment in enumerate(sources) if segment.base_offset == group.base_offset
        )
        replaced = sources[first : first + group.replaced]
        segment, doomed = await in_thread(partial(_swap_files, log, group, replaced))
        log.replace_segments(replaced, segment)
        log.doomed_files += doomed
        self._remove_later(log, clock())

    # Giving way to others

    @asynccontextmanager
    async def paused(self, log: Log) -> AsyncIterator[None]:
        """Do not clean the log inside of this context."""
        self._paused.add(log)
        try:
            self.abandon(log)
            task = self._task
            if self._cleaning is log and task is not None:
                await asyncio.wait([task])
            yield
        finally:
            self._paused.discard(log)

    def abandon(self, log: Log) -> None:
        """Stop cleaning a log as soon as that is safe."""
        if self._cleaning is log and self._task is not None:
            self._task.cancel()


async def in_thread(work: Callable[[], Result]) -> Result:
    return await asyncio.get_running_loop().run_in_executor(None, work)


def _load_timestamps(log: Log) -> None:
    try:
        log.load_timestamps()
    except DiskError:
        # Its files may have been moved away meanwhile.
        if not log.closed:
            raise


def _aborted_transactions(segments: list[Segment], end_offset: int) -> list[tuple[int, int, int, int]]:
    """The aborted transactions that began before the offset. Their markers may come after it. May wait."""
    return [
        (
            int(entry.producer_id),
            int(entry.first_offset),
            int(entry.last_offset),
            int(entry.last_stable_offset),
        )
        for segment in segments
        for entry in segment.transaction_index.entries(True)
        if entry.first_offset < end_offset
    ]


def _swap_files(log: Log, group: CleanedGroup, replaced: list[Segment]) -> tuple[Segment, list[str]]:
    with log.flush_lock:
        if log.closed:
            raise CleaningError(f"{log.name} is closed")
        return swap_in(log.disk, log.folder, group.base_offset, group.has_aborts, replaced)


def _discard(log: Log) -> None:
    with log.flush_lock:
        if not log.closed:
            try:
                discard_unfinished(log.disk, log.folder)
            except DiskError as error:
                if error.is_fatal:
                    raise
                logger.error("%s: files of an unfinished compaction stay: %s", log.name, error)


def _report(found: LogToClean, result: CleaningResult) -> None:
    logger.info(
        "Compacted %s up to offset %d: %d of %d records and %d of %d bytes are left, %d keys",
        found.log.name,
        result.end_offset,
        result.records_written,
        result.records_read,
        result.bytes_written,
        result.bytes_read,
        result.keys,
    )
