"""Runs the quorum: the state machine's effects on disk, the log's records to the listener.

An append returns when it is committed. Appends that arrive while the disk syncs an earlier one are synced
together by the next sync (group commit). Syncs run in a thread; all else happens on the event loop.

What the listener gets, in this order: at most one snapshot, every committed batch once, and `on_leader` when
this node leads and the listener has seen everything that was committed before. Batches that this node appends
itself follow as soon as they are committed. An error of the disk or of the listener ends the driver: it
reports to `on_failure` and takes no more records.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from random import Random
from typing import Final, NamedTuple, Protocol, TypeVar

from gralha.protocol.errors import NotControllerError
from gralha.protocol.message import Message
from gralha.protocol.primitives import ZERO_UUID
from gralha.raft.events import (
    AdvanceHighWatermark,
    Appended,
    AppendLeaderChange,
    Effect,
    Flushed,
    SaveElection,
    Started,
)
from gralha.raft.log import LogBatch, MetadataLog, MetadataLogConfig
from gralha.raft.log_shape import LogShape
from gralha.raft.machine import Timeouts
from gralha.raft.quorum_state import read_quorum_state, write_quorum_state
from gralha.raft.snapshots import SnapshotId
from gralha.raft.state import RaftState
from gralha.raft.voters import ReplicaKey, Voter, VoterHistory, VoterSet
from gralha.storage.disk import Disk, DiskError

log = logging.getLogger("gralha.raft")

Result = TypeVar("Result")

_RECORDS_PER_TURN: Final = 50


class NotLeaderError(NotControllerError):
    """This node does not lead the quorum, so it cannot append."""


class QuorumError(Exception):
    """The quorum cannot be run like this; the message says why."""


class RaftListener(Protocol):
    """Who follows the metadata log."""

    def on_snapshot(self, end_offset: int, epoch: int, records: list[Message]) -> None:
        """Everything below the offset, instead of what came before."""

    def on_commit(self, base_offset: int, next_offset: int, epoch: int, records: list[Message]) -> None:
        """A committed batch; one of control records has none."""

    def on_leader(self, epoch: int) -> None:
        """This node leads, and all that was committed before has been seen."""

    def snapshot_records(self) -> Iterable[Message]:
        """The records of a snapshot at the last committed batch; read while further ones are committed."""


class RecordCodec(NamedTuple):
    """How records become bytes, and back: the quorum does not know what they say."""

    encode: Callable[[Message], bytes]
    decode: Callable[[bytes], Message]


class Append(NamedTuple):
    """Records on their way: their offsets, and a future that is done when they are committed."""

    base_offset: int
    next_offset: int
    epoch: int
    records: list[Message]
    size_bytes: int
    committed: "asyncio.Future[int]"


class QuorumSettings(NamedTuple):
    """Who this node is in the quorum, and the world it lives in.

    `folder` holds the folder of the metadata log. `clock` tells the wall-clock time in milliseconds, and
    `on_failure` hears why the driver gave up.
    """

    node_id: int
    voters: Sequence[int]
    folder: str
    disk: Disk
    clock: Callable[[], int]
    on_failure: Callable[[BaseException], None]
    directory_id: bytes = ZERO_UUID
    log_config: MetadataLogConfig = MetadataLogConfig()


class RaftDriver:
    """One node of the quorum. A quorum of one for now: `voters` must be this node alone."""

    def __init__(self, settings: QuorumSettings, codec: RecordCodec, listener: RaftListener) -> None:
        if list(settings.voters) != [settings.node_id]:
            raise QuorumError(f"this release runs a quorum of one only, not of {list(settings.voters)}")
        self.config = settings.log_config
        self.state = RaftState(ReplicaKey(settings.node_id, settings.directory_id), Timeouts(), Random(0))
        self._voters = VoterSet.of(Voter(ReplicaKey(voter)) for voter in settings.voters)
        self.log = MetadataLog(settings.disk, settings.folder, self.config, settings.clock)
        self._disk = settings.disk
        self._clock = settings.clock
        self._on_failure = settings.on_failure
        self._codec = codec
        self._listener = listener
        self._loop = asyncio.get_running_loop()
        self._pending: deque[Append] = deque()
        self._flushing: asyncio.Future[None] | None = None
        self._flush_planned = False
        self._flushed_offset = 0
        # Up to here the listener has seen the log.
        self._delivered_offset = 0
        self._delivered_epoch = 0
        self._delivered_timestamp_ms = 0
        self._bytes_since_snapshot = 0
        self._last_snapshot_ms = 0
        self._snapshotting: asyncio.Task[None] | None = None
        self._failure: BaseException | None = None
        self._closed = False

    @property
    def is_leader(self) -> bool:
        """May this node append now?"""
        return self.state.is_leader and not self._closed and self._failure is None

    @property
    def epoch(self) -> int:
        """The newest epoch this node knows."""
        return self.state.epoch

    @property
    def end_offset(self) -> int:
        """The offset that the next record gets."""
        return self.log.end_offset

    @property
    def high_watermark(self) -> int:
        """Everything below is committed; -1 while that is not known."""
        return self.state.high_watermark

    # Life

    async def start(self) -> None:
        """Opens the log, takes part in the quorum, and brings the listener up to date."""
        snapshot = await self._in_thread(self.log.open)
        self._check_voters()
        if snapshot is not None:
            newest = self.log.snapshots[-1]
            self._listener.on_snapshot(*newest.id, [self._codec.decode(value) for value in snapshot.values])
            self._delivered_offset, self._delivered_epoch = newest.id
            self._delivered_timestamp_ms = newest.timestamp_ms
        self._last_snapshot_ms = self._clock()
        election = await self._in_thread(partial(read_quorum_state, self._disk, self.log.folder))
        newest = self.log.snapshots[-1].id if self.log.snapshots else SnapshotId(0, 0)
        shape = LogShape(self.log.end_offset, self.log.log.epochs.entries, newest, newest)
        await self._carry_out(self.state.step(Started(election, shape, VoterHistory(self._voters)), 0))
        await self._in_thread(partial(self.log.flush, self.log.end_offset))
        self._flushed_offset = self.log.end_offset
        await self._carry_out(self.state.step(Flushed(self._flushed_offset), 0))
        await self._replay()
        self._check_voters()
        log.info("leading the quorum in epoch %d", self.epoch)
        self._listener.on_leader(self.epoch)

    def _check_voters(self) -> None:
        voters = self.log.recorded_voters
        if voters is not None and voters != [self.state.key.id]:
            raise QuorumError(
                f"{self.log.folder} belongs to a quorum of the controllers {voters}; this release runs a "
                "quorum of one only"
            )

    async def _replay(self) -> None:
        """Gives the listener what was committed before it began."""
        while self._delivered_offset < self.high_watermark:
            read = partial(self.log.read, self._delivered_offset, self.high_watermark)
            for batch in await self._in_thread(read):
                self._deliver_batch(batch)

    def _deliver_batch(self, batch: LogBatch) -> None:
        self.log.note_controls(batch.controls)
        records = [self._codec.decode(value) for value in batch.values]
        self._listener.on_commit(batch.base_offset, batch.next_offset, batch.epoch, records)
        self._note_delivered(batch.next_offset, batch.epoch, batch.timestamp_ms, batch.size_bytes)

    def _note_delivered(self, next_offset: int, epoch: int, timestamp_ms: int, size_bytes: int) -> None:
        self._delivered_offset, self._delivered_epoch = next_offset, epoch
        self._delivered_timestamp_ms = timestamp_ms
        self._bytes_since_snapshot += size_bytes

    async def close(self) -> None:
        """Commits what was appended and stops."""
        self._closed = True
        if self._snapshotting is not None:
            await asyncio.wait([self._snapshotting])
        if not self.log.is_open:
            return
        self._flush()
        while self._flushing is not None:
            await asyncio.wait([self._flushing])
        if self._failure is None:
            await self._in_thread(self.log.close)

    async def _in_thread(self, work: Callable[[], Result]) -> Result:
        return await self._loop.run_in_executor(None, work)

    # Effects

    async def _carry_out(self, effects: list[Effect]) -> None:
        for effect in effects:
            if isinstance(effect, SaveElection):
                save = partial(write_quorum_state, self._disk, self.log.folder, effect.election)
                await self._in_thread(save)
            else:
                assert isinstance(effect, AppendLeaderChange | AdvanceHighWatermark)
                self._carry_out_now(effect)

    def _carry_out_now(self, effect: AppendLeaderChange | AdvanceHighWatermark) -> None:
        if isinstance(effect, AppendLeaderChange):
            self.log.append_leader_change(effect)
        else:
            self.log.log.high_watermark = effect.high_watermark

    # Appending

    def schedule_append(self, records: list[Message]) -> Append:
        """Appends records as one batch, all or none, and syncs them soon."""
        if not self.is_leader:
            raise NotLeaderError
        values = [self._codec.encode(record) for record in records]
        try:
            base_offset, last_offset = self.log.append(values, self.epoch)
        except DiskError as error:
            self._fail(error)
            raise
        self.state.step(Appended(last_offset + 1), 0)
        append = Append(
            base_offset,
            last_offset + 1,
            self.epoch,
            records,
            sum(map(len, values)),
            self._loop.create_future(),
        )
        self._pending.append(append)
        self._plan_flush()
        return append

    async def append(self, records: list[Message]) -> int:
        """Appends records as one batch and waits until they are committed; their last offset."""
        return await self.schedule_append(records).committed

    def _plan_flush(self) -> None:
        """At the end of this turn of the loop, so that all appends of the turn share one sync."""
        if self._flushing is None and not self._flush_planned:
            self._flush_planned = True
            self._loop.call_soon(self._flush)

    def _flush(self) -> None:
        self._flush_planned = False
        end_offset = self.log.end_offset
        if self._flushing is None and end_offset > self._flushed_offset and self._failure is None:
            self._flushing = self._loop.run_in_executor(None, self.log.flush, end_offset)
            self._flushing.add_done_callback(partial(self._flush_done, end_offset))

    def _flush_done(self, end_offset: int, flushing: "asyncio.Future[None]") -> None:
        self._flushing = None
        error = asyncio.CancelledError() if flushing.cancelled() else flushing.exception()
        if error is not None:
            self._fail(error)
            return
        self._flushed_offset = end_offset
        try:
            for effect in self.state.step(Flushed(end_offset), 0):
                assert isinstance(effect, AdvanceHighWatermark)
                self._carry_out_now(effect)
            self._deliver_pending()
            self._maybe_snapshot()
        except Exception as failure:
            self._fail(failure)
            return
        self._flush()

    def _deliver_pending(self) -> None:
        now_ms = self._clock()
        while self._pending and self._pending[0].next_offset <= self.high_watermark:
            append = self._pending[0]
            self._listener.on_commit(append.base_offset, append.next_offset, append.epoch, append.records)
            self._pending.popleft()
            self._note_delivered(append.next_offset, append.epoch, now_ms, append.size_bytes)
            if not append.committed.done():
                append.committed.set_result(append.next_offset - 1)

    def _fail(self, error: BaseException) -> None:
        if self._failure is None:
            self._failure = error
            log.critical("the metadata log failed: %s", error)
            self._fail_pending(error)
            self._on_failure(error)

    def _fail_pending(self, error: BaseException) -> None:
        pending, self._pending = self._pending, deque()
        for append in pending:
            if not append.committed.done():
                append.committed.set_exception(error)
                # Nobody need be waiting; whoever is gets the error, and `on_failure` tells of it.
                append.committed.exception()

    # Snapshots

    def _maybe_snapshot(self) -> None:
        """A new snapshot when many bytes were committed since the last, or some and much time has passed."""
        if self._snapshotting is not None or self._closed:
            return
        interval_ms = self.config.max_snapshot_interval_ms
        due = interval_ms > 0 and self._clock() - self._last_snapshot_ms >= interval_ms
        many = self._bytes_since_snapshot >= self.config.max_record_bytes_between_snapshots
        if self._bytes_since_snapshot > 0 and (due or many):
            self._snapshotting = self._loop.create_task(self._snapshot())
            self._snapshotting.add_done_callback(self._snapshot_done)

    async def _snapshot(self) -> None:
        snapshot_id = SnapshotId(self._delivered_offset, self._delivered_epoch)
        timestamp_ms = self._delivered_timestamp_ms
        records = self._listener.snapshot_records()
        self._bytes_since_snapshot = 0
        self._last_snapshot_ms = self._clock()
        values = await self._encode_slowly(records)
        written = await self._in_thread(partial(self.log.write_snapshot, snapshot_id, values, timestamp_ms))
        superfluous = self.log.add_snapshot(written)
        log.info("snapshot of the metadata at offset %d", snapshot_id.end_offset)
        while not self.log.drop_old_segments():
            assert self._flushing is not None
            await asyncio.wait([self._flushing])
        await self._in_thread(partial(self.log.remove_files, superfluous))

    async def _encode_slowly(self, records: Iterable[Message]) -> list[bytes]:
        """A few records in each turn of the loop, so that requests hardly notice.

        A thread would not be better: while it encodes, the loop waits for the interpreter's lock.
        """
        values: list[bytes] = []
        for record in records:
            values.append(self._codec.encode(record))
            if len(values) % _RECORDS_PER_TURN == 0:
                await asyncio.sleep(0)
        return values

    def _snapshot_done(self, task: "asyncio.Task[None]") -> None:
        self._snapshotting = None
        error = asyncio.CancelledError() if task.cancelled() else task.exception()
        if error is not None:
            self._fail(error)
