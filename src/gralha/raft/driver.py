"""Runs the quorum: carries out the state machine's effects on disk and network, and feeds the listener.

The driver takes one event after the other. An effect that waits for the disk delays the next event. An append
returns when it is committed. Appends that arrive during a sync share the next sync (group commit). Syncs run
in a thread; everything else runs on the event loop.

The listener gets a snapshot at the start, if there is one, and then every committed batch once. A follower
that was left behind gets another snapshot later. `on_leader` is called when this node leads and the listener
has seen everything that was committed before, and `on_resigned` when this node does not lead any more. An
error of the disk or of the listener ends the driver: it calls `on_failure` and takes no more records.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable
from functools import partial
from random import Random
from typing import TYPE_CHECKING, Final, TypeVar, cast

from gralha.protocol.errors import ErrorCode
from gralha.protocol.message import Message
from gralha.protocol.primitives import RecordBytes
from gralha.raft.delivery import Delivery
from gralha.raft.events import (
    AdvanceHighWatermark,
    Appended,
    AppendFetched,
    AppendLeaderChange,
    AppendVoters,
    Effect,
    Event,
    FetchSnapshot,
    Flushed,
    InstallSnapshot,
    LogForgotten,
    PeerLost,
    ProbeVoter,
    Reply,
    ReplyRecords,
    ReplySnapshot,
    SaveElection,
    Send,
    ShuttingDown,
    Started,
    Tick,
    Truncate,
    UpgradeVoters,
    VoterResponse,
)
from gralha.raft.log import MetadataLog
from gralha.raft.quorum_state import (
    NOBODY,
    ElectionState,
    check_static_voters,
    read_quorum_state,
    write_quorum_state,
)
from gralha.raft.settings import Append as Append
from gralha.raft.settings import NotLeaderError as NotLeaderError
from gralha.raft.settings import QuorumError as QuorumError
from gralha.raft.settings import QuorumSettings as QuorumSettings
from gralha.raft.settings import RaftListener as RaftListener
from gralha.raft.settings import RecordCodec as RecordCodec
from gralha.raft.snapshotting import Snapshotter
from gralha.raft.state import RaftState
from gralha.raft.timeouts import NEVER
from gralha.raft.voters import ReplicaKey
from gralha.storage.disk import DiskError

if TYPE_CHECKING:
    from gralha.raft.correspondence import Correspondence

log = logging.getLogger("gralha.raft")

Result = TypeVar("Result")

# These effects wait for the disk.
_SLOW: Final = (SaveElection, Truncate, InstallSnapshot)


class RaftDriver:
    """One node of the quorum: a voter, or an observer that follows the log."""

    def __init__(self, settings: QuorumSettings, codec: RecordCodec, listener: RaftListener) -> None:
        alone = list(settings.voters) == [settings.node_id]
        if not alone and settings.peers is None:
            raise QuorumError(f"a quorum of {list(settings.voters)} needs connections to the other nodes")
        self.state = RaftState(
            ReplicaKey(settings.node_id, settings.directory_id),
            settings.timeouts,
            settings.random or Random(settings.node_id),
            bootstrap=tuple(settings.bootstrap),
            can_vote=settings.can_vote,
            endpoints=settings.endpoints,
            listener_name=settings.listener_name,
        )
        self.log = MetadataLog(settings.disk, settings.folder, settings.log_config, settings.clock)
        self._settings = settings
        self._codec = codec
        self._listener = listener
        self._loop = asyncio.get_running_loop()
        self._delivery = Delivery(self.log, codec, listener, settings.clock, self._progressed, self._fail)
        self._snapshotter = Snapshotter(
            self.log,
            self._delivery,
            codec,
            listener,
            settings.clock,
            self._log_idle,
            self._snapshot_taken,
            self._progressed,
            self._fail,
        )
        self._known_correspondence: Correspondence | None = None
        self._events: deque[Event] = deque()
        self._working: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._flushing: asyncio.Future[None] | None = None
        self._flush_planned = False
        self._flushed_offset = 0
        # A sync that began before a truncation says nothing about the records after it.
        self._truncations = 0
        # The epoch whose first record this node has written, and the epoch that the listener knows it leads.
        self._begun_epoch = -1
        self._led_epoch = -1
        # Called with the id of the leader when it changes, and with -1 when no leader is known.
        self.leader_listeners: list[Callable[[int], None]] = []
        self._told_leader_id = NOBODY
        self._starting: asyncio.Future[None] | None = None
        # True when the machine has the log. Before that there is nothing to commit or to hand over.
        self._has_begun = False
        self._failure: BaseException | None = None
        self._closed = False
        self._stopped = False

    @property
    def is_leader(self) -> bool:
        """True if this node may append now."""
        usable = not self._closed and self._failure is None
        return usable and self.state.is_leader and self._begun_epoch == self.epoch

    @property
    def epoch(self) -> int:
        """The newest epoch that this node knows."""
        return self.state.epoch

    @property
    def leader_id(self) -> int:
        """The leader, or -1 if this node knows none."""
        return self.state.leader_id

    @property
    def voter_ids(self) -> list[int]:
        """The ids of the newest voters in this node's log."""
        return sorted(self.state.voters.latest.ids)

    @property
    def end_offset(self) -> int:
        """The offset of the next record."""
        return self.log.end_offset

    @property
    def high_watermark(self) -> int:
        """Everything below is committed; -1 while that is not known."""
        return self.state.high_watermark

    # Life

    async def start(self) -> None:
        """Opens the log and joins the quorum. A quorum of one has its leader when this returns."""
        settings = self._settings
        snapshot = await self._in_thread(self.log.open)
        if snapshot is not None:
            self._delivery.load(self.log.snapshots[-1].id, snapshot)
            self._listener.on_caught_up()
        self._snapshotter.begin()
        election = await self._in_thread(partial(read_quorum_state, settings.disk, self.log.folder))
        voters = await self._in_thread(partial(self.log.voter_history, settings.static_voters()))
        if settings.can_vote and not voters.is_dynamic and voters.latest.voters:
            await self._in_thread(
                partial(check_static_voters, settings.disk, self.log.folder, voters.latest.ids)
            )
        if self.log.end_offset > self.log.log.flushed_offset:
            await self._in_thread(partial(self.log.flush, self.log.end_offset))
        self._flushed_offset = self.log.end_offset
        self._starting = self._loop.create_future()
        self._has_begun = True
        self._take(Started(election, self.log.shape(), voters))
        if not self.state.is_leader and not self._starting.done():
            self._starting.set_result(None)
        await self._starting
        self._starting = None

    async def close(self) -> None:
        """Waits a while for appended records to be committed, hands the lead over, and stops."""
        self._closed = True
        await self._snapshotter.settled()
        if not self.log.is_open:
            return
        if not self._has_begun:
            self._stopped = True
            try:
                await self._in_thread(self.log.close)
            except DiskError as error:
                self._fail(error)
            return
        self._flush()
        while self._flushing is not None:
            await asyncio.wait([self._flushing])
        if self._failure is None:
            await self._hand_over()
        self._stopped = True
        if self._timer is not None:
            self._timer.cancel()
        if self._known_correspondence is not None:
            await self._known_correspondence.close()
        if self._working is not None:
            await asyncio.wait([self._working])
        await self._delivery.settled()
        self._delivery.fail_all(NotLeaderError())
        if self._failure is None:
            await self._in_thread(self.log.close)

    async def _hand_over(self) -> None:
        if self._delivery.pending:
            waiting = [append.committed for append in self._delivery.pending]
            await asyncio.wait(waiting, timeout=self._settings.timeouts.election_ms / 1000)
        self._take(ShuttingDown())
        deadline = self._loop.time() + self._settings.timeouts.election_ms / 1000
        while self.state.is_waiting_to_resign and self._loop.time() < deadline and self._failure is None:
            await asyncio.sleep(self._settings.timeouts.retry_ms / 1000)

    async def _in_thread(self, work: Callable[[], Result]) -> Result:
        return await self._loop.run_in_executor(None, work)

    # The others

    @property
    def _correspondence(self) -> "Correspondence":
        """Imported when it is first needed: a quorum of one starts faster without it."""
        if self._known_correspondence is None:
            from gralha.raft.correspondence import Correspondence

            self._known_correspondence = Correspondence(
                self._settings, self.state, self.log, self._take, self._fail
            )
        return self._known_correspondence

    def handle(self, request: Message, version: int) -> Message | Awaitable[Message]:
        """Answers a request of another node, or about the quorum. A node that stops refuses all requests."""
        if self._stopped or self._failure is not None or not self.log.is_open:
            from gralha.raft.wire import encode_refusal

            return encode_refusal(request, int(ErrorCode.NOT_CONTROLLER))
        return self._correspondence.handle(request, version)

    @property
    def kraft_version(self) -> int:
        """1 if the voters are committed records, which can be changed (KIP-853); otherwise 0."""
        return int(self.state.voters.is_dynamic_at(max(self.state.high_watermark, 0)))

    async def upgrade_voters(self, timeout_ms: int) -> VoterResponse:
        """Turns the configured voters into records: kraft.version 1."""
        if self._stopped or self._failure is not None:
            raise NotLeaderError
        response = await self._correspondence.ask_here(UpgradeVoters(timeout_ms))
        assert isinstance(response, VoterResponse)
        return response

    def peer_lost(self, node_id: int) -> None:
        """The process of a node has probably died. If it led, this voter soon asks the others for votes."""
        if self.log.is_open:
            self._take(PeerLost(node_id))

    def endpoint_of(self, node_id: int) -> tuple[str, int] | None:
        """The host and port of a controller, or None if the quorum does not know them."""
        return self._correspondence.endpoint_of(node_id)

    @property
    def foreign_cluster(self) -> str | None:
        """Says that most controllers belong to another cluster, so that this node will not find a leader."""
        if self.leader_id != NOBODY or self._known_correspondence is None:
            return None
        return self._known_correspondence.foreign_cluster

    # Events and effects

    def _now_ms(self) -> int:
        return int(self._loop.time() * 1000)

    def _take(self, event: Event) -> None:
        if not self._stopped:
            self._events.append(event)
            self._advance()

    def _advance(self) -> None:
        while self._events and self._working is None and self._failure is None:
            try:
                effects = self.state.step(self._events.popleft(), self._now_ms())
                if any(isinstance(effect, _SLOW) for effect in effects):
                    self._working = self._loop.create_task(self._carry_out_slowly(effects))
                    self._working.add_done_callback(self._worked)
                else:
                    for effect in effects:
                        self._carry_out(effect)
                    self._stepped()
            except Exception as error:
                self._fail(error)

    def _worked(self, task: "asyncio.Task[None]") -> None:
        self._working = None
        error = asyncio.CancelledError() if task.cancelled() else task.exception()
        if error is not None:
            self._fail(error)
        else:
            self._advance()

    async def _carry_out_slowly(self, effects: list[Effect]) -> None:
        for effect in effects:
            if isinstance(effect, SaveElection):
                await self._in_thread(partial(self._save, effect.election, self._static_voters()))
            elif isinstance(effect, Truncate):
                self._truncations += 1
                await self._in_thread(partial(self.log.truncate_to, effect.end_offset))
                self._delivery.truncated(effect.end_offset)
                self._flushed_offset = min(self._flushed_offset, effect.end_offset)
            elif isinstance(effect, InstallSnapshot):
                await self._install(effect)
            else:
                self._carry_out(effect)
        self._stepped()

    def _static_voters(self) -> tuple[int, ...]:
        """The configured voters, if the log records no others."""
        return () if self.state.voters.is_dynamic else self.state.voters.latest.ids

    def _save(self, election: ElectionState, static_voters: tuple[int, ...]) -> None:
        write_quorum_state(self._settings.disk, self.log.folder, election, static_voters)

    async def _install(self, effect: InstallSnapshot) -> None:
        await self._delivery.settled()
        self._truncations += 1
        snapshot = await self._in_thread(partial(self.log.install_snapshot, effect.snapshot))
        self._flushed_offset = effect.snapshot.end_offset
        self._delivery.load(effect.snapshot, snapshot)
        self._listener.on_caught_up()

    def _carry_out(self, effect: Effect) -> None:
        match effect:
            case Send():
                self._correspondence.send(effect)
            case ProbeVoter():
                self._correspondence.probe(effect)
            case Reply(token, response):
                self._correspondence.reply(token, response)
            case ReplyRecords():
                self._correspondence.reply_records(effect)
            case AppendFetched(records):
                self.log.append_fetched(cast(RecordBytes, records))
                if self._settings.can_vote:
                    self._plan_flush()
            case AdvanceHighWatermark(high_watermark):
                self.log.log.high_watermark = high_watermark
            case AppendLeaderChange():
                self.log.append_leader_change(effect)
                self._begun_epoch = effect.epoch
                self._plan_flush()
            case AppendVoters():
                self.log.append_voters(effect)
                self._plan_flush()
            case FetchSnapshot():
                self._correspondence.fetch_snapshot(effect)
            case ReplySnapshot(token):
                self._correspondence.reply_snapshot(token)

    def _tell_leader(self) -> None:
        if self.leader_id != self._told_leader_id:
            self._told_leader_id = self.leader_id
            for tell in self.leader_listeners:
                tell(self.leader_id)

    def _stepped(self) -> None:
        assert self.state.log.end_offset == self.log.end_offset, "the machine has lost track of the log"
        self._delivery.advance(self.high_watermark)
        self._check_leadership()
        self._tell_leader()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self.state.wake_at_ms < NEVER and not self._stopped:
            delay_ms = max(self.state.wake_at_ms - self._now_ms(), 0) + 1
            self._timer = self._loop.call_later(delay_ms / 1000, self._take, Tick())

    def _check_leadership(self) -> None:
        state, pending = self.state, self._delivery.pending
        if pending and (not state.is_leader or pending[0].epoch != state.epoch):
            self._delivery.orphan_pending()
        leadership = state.leadership
        if self._led_epoch >= 0 and (leadership is None or self._led_epoch != state.epoch):
            self._led_epoch = -1
            log.info("This node does not lead the quorum any more, in epoch %d", state.epoch)
            self._listener.on_resigned()
        if leadership is not None and self._led_epoch < 0 and self._delivery.offset > leadership.start_offset:
            self._led_epoch = state.epoch
            log.info("This node leads the quorum in epoch %d", state.epoch)
            self._listener.on_leader(state.epoch)
            if self._starting is not None and not self._starting.done():
                self._starting.set_result(None)

    def _progressed(self) -> None:
        """The listener has seen more, or a snapshot is written: perhaps the next one is due."""
        self._check_leadership()
        if not self._closed and self._delivery.is_caught_up:
            self._snapshotter.maybe_take()

    def _snapshot_taken(self) -> None:
        snapshots = self.log.snapshots
        self._take(LogForgotten(snapshots[0].id, snapshots[-1].id))

    async def _log_idle(self) -> None:
        """Waits for threads that use the files of the log: a sync, and effects that change the log."""
        await asyncio.sleep(0)
        if self._flushing is not None:
            # Only this sync: with many appends there is always another one.
            await asyncio.wait([self._flushing])
        while self._working is not None:
            await asyncio.wait([self._working])

    # Appending

    def schedule_append(self, records: list[Message]) -> Append:
        """Appends records as one batch, all or none, and plans a sync."""
        if not self.is_leader:
            raise NotLeaderError
        values = [self._codec.encode(record) for record in records]
        try:
            base_offset, last_offset = self.log.append(values, self.epoch)
        except DiskError as error:
            self._fail(error)
            raise
        self.state.step(Appended(last_offset + 1), self._now_ms())
        committed: asyncio.Future[int] = self._loop.create_future()
        size_bytes = sum(map(len, values))
        append = Append(base_offset, last_offset + 1, self.epoch, records, size_bytes, committed)
        self._delivery.pending.append(append)
        self._plan_flush()
        return append

    async def append(self, records: list[Message]) -> int:
        """Appends records as one batch and waits until they are committed. Returns their last offset."""
        return await self.schedule_append(records).committed

    def _plan_flush(self) -> None:
        """Syncs at the end of this turn of the loop, so that all appends of the turn share one sync."""
        if not self._flush_planned:
            self._flush_planned = True
            self._loop.call_soon(self._flush)

    def _flush(self) -> None:
        self._flush_planned = False
        if self.state.is_leader:
            # Followers that wait get the new records while this node's own disk syncs.
            self._take(Tick())
        end_offset = self.log.end_offset
        if self._flushing is None and end_offset > self._flushed_offset and self._failure is None:
            self._flushing = self._loop.run_in_executor(None, self.log.flush, end_offset)
            self._flushing.add_done_callback(partial(self._flush_done, end_offset, self._truncations))

    def _flush_done(self, end_offset: int, truncations: int, flushing: "asyncio.Future[None]") -> None:
        self._flushing = None
        error = asyncio.CancelledError() if flushing.cancelled() else flushing.exception()
        if error is not None:
            self._fail(error)
            return
        if truncations == self._truncations:
            self._flushed_offset = end_offset
            self._take(Flushed(end_offset))
        if self.log.end_offset > self._flushed_offset and self._settings.can_vote:
            self._flush()

    def _fail(self, error: BaseException) -> None:
        if self._failure is not None:
            return
        self._failure = error
        log.critical("The metadata log has failed: %s", error)
        self._delivery.fail_all(error)
        if self._known_correspondence is not None:
            self._known_correspondence.fail_questions()
        if self._starting is not None and not self._starting.done():
            self._starting.set_exception(error)
        else:
            self._settings.on_failure(error)
