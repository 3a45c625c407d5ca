"""Fetches for all partitions that this broker follows: a few requests to each leader at a time.

A request waits at the leader for new records, up to `replica.fetch.wait.max.ms`. A partition that is new
meanwhile does not wait for its answer: it goes out on the next of a few lanes, each with a connection of its
own. The callback that receives an answer writes the records to the logs and sends the next request. There is
no task and no queue in between, because every produce request with acks=all waits for this.

A thread truncates logs. `truncations` has those under way; nobody touches their logs until they are done.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, Final, cast

from gralha.metadata.image import NO_LEADER
from gralha.protocol.errors import KafkaError, error_for
from gralha.protocol.message import Message
from gralha.protocol.messages.fetch import FetchResponse
from gralha.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from gralha.protocol.peers import PeerError, Peers
from gralha.protocol.special_timestamps import EARLIEST, LATEST
from gralha.replication.fetch_state import (
    BeginInside,
    FetchedPartition,
    FetchSettings,
    FetchState,
    FindRange,
    Lane,
    PartitionKey,
    Poll,
    Truncate,
    Work,
    truncation_to_range,
)
from gralha.replication.partition import Partition
from gralha.replication.quota import ReplicationQuota
from gralha.storage.disk import DiskError
from gralha.storage.manager import LogManager

log = logging.getLogger("gralha.replication")

LANES: Final = ("fetch-0", "fetch-1", "fetch-2", "fetch-flushed")
QUESTIONS_LANE: Final = "fetch-offsets"


class Fetchers:
    """The partitions that this broker follows, by leader."""

    def __init__(
        self,
        broker_id: int,
        broker_epoch: Callable[[], int],
        peers: Peers,
        logs: LogManager,
        clock: Callable[[], int],
        settings: FetchSettings,
        on_failure: Callable[[BaseException], None],
        quota: ReplicationQuota | None = None,
    ) -> None:
        self.broker_id = broker_id
        self.broker_epoch = broker_epoch
        self.peers = peers
        self.logs = logs
        self.clock = clock
        self.settings = settings
        self.on_failure = on_failure
        self.quota = ReplicationQuota() if quota is None else quota
        self.truncations: dict[PartitionKey, asyncio.Task[None]] = {}
        self._by_leader: dict[int, LeaderFetcher] = {}
        self._leaders: dict[PartitionKey, int] = {}

    def follow(self, partition: Partition) -> None:
        """Fetch the partition from its present leader, if that is another broker."""
        key = (partition.topic_id, partition.index)
        before = self._leaders.get(key)
        if before is not None and before != partition.leader_id:
            self.forget(partition)
        if partition.leader_id == NO_LEADER or partition.is_leader():
            return
        self._leaders[key] = partition.leader_id
        fetcher = self._by_leader.get(partition.leader_id)
        if fetcher is None:
            fetcher = self._by_leader[partition.leader_id] = LeaderFetcher(self, partition.leader_id)
        fetcher.state.follow(partition)
        assert partition.following is not None
        partition.following.on_vouching = fetcher.wake
        fetcher.wake()

    def forget(self, partition: Partition) -> None:
        leader_id = self._leaders.pop((partition.topic_id, partition.index), None)
        if leader_id is not None:
            self._by_leader[leader_id].state.forget(partition)

    async def truncated(self, topic_id: bytes, index: int) -> None:
        """Wait until nobody truncates the partition's log."""
        task = self.truncations.get((topic_id, index))
        if task is not None:
            await asyncio.wait([task])

    async def close(self) -> None:
        tasks = [task for fetcher in self._by_leader.values() for task in fetcher.close()]
        for task in tasks:
            task.cancel()
        # Threads cannot be cancelled: the logs stay open until they are done.
        await asyncio.gather(*tasks, *self.truncations.values(), return_exceptions=True)


class LeaderFetcher:
    """Fetches from one leader."""

    def __init__(self, fetchers: Fetchers, leader_id: int) -> None:
        self._fetchers = fetchers
        self._leader_id = leader_id
        self.state = FetchState(
            fetchers.broker_id, fetchers.broker_epoch, fetchers.settings, len(LANES), fetchers.quota
        )
        self._work: set[asyncio.Task[None]] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._closed = False

    def close(self) -> list["asyncio.Task[None]"]:
        """Send no more requests. Returns the tasks that are still there."""
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()
        return list(self._work)

    def wake(self) -> None:
        """Something may be ready: ask for it if a lane is free. An error ends the node."""
        if self._closed:
            return
        try:
            self._use_free_lanes(_now_ms())
        except Exception as error:
            self._fetchers.on_failure(error)

    def _use_free_lanes(self, now_ms: int) -> None:
        for _ in LANES:
            lane = self.state.free_lane(now_ms)
            if lane is None:
                break
            self._poll(lane, now_ms)
        self._set_timer()

    def _set_timer(self) -> None:
        """Wake up when the first of the delayed partitions is ready."""
        if self._timer is None and not self.state.loose:
            return
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        resume_ms = self.state.next_resume_ms(_now_ms())
        if resume_ms is not None:
            # A moment later, because `_now_ms` rounds down.
            self._timer = asyncio.get_running_loop().call_at((resume_ms + 1) / 1000, self.wake)

    async def _guard(self, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except asyncio.CancelledError:
            raise
        except BaseException as error:
            self._fetchers.on_failure(error)

    def _poll(self, lane: Lane, now_ms: int) -> None:
        poll = self.state.next_request(now_ms, lane)
        if poll is not None:
            self._fetchers.peers.poll(
                self._leader_id,
                poll.request,
                timeout_ms=self._fetchers.settings.timeout_ms,
                lane=LANES[lane.number],
                answered=partial(self._answered, poll),
            )

    def _answered(self, poll: Poll, answer: Message | PeerError) -> None:
        """Take the answer and ask again."""
        if self._closed:
            return
        state = self.state
        now_ms = _now_ms()
        try:
            if isinstance(answer, PeerError):
                log.debug("fetching from broker %d: %s", self._leader_id, answer)
                state.failed(poll, now_ms)
            else:
                response = cast(FetchResponse, answer)
                for work in state.answered(poll, response, now_ms, self._fetchers.clock()):
                    self._begin(work)
            self._poll(poll.lane, now_ms)
            if state.loose or self._timer is not None:
                self.wake()
        except BaseException as error:
            self._fetchers.on_failure(error)

    # Work that waits

    def _begin(self, work: Work) -> None:
        if isinstance(work, Truncate):
            self._begin_truncation(work.fetched, work.offset, False)
        elif isinstance(work, BeginInside):
            self._begin_truncation(work.fetched, work.offset, True, work)
        else:
            self._keep(self._guard(self._find_range(work)))

    def _keep(self, work: Coroutine[Any, Any, None]) -> "asyncio.Task[None]":
        task = asyncio.ensure_future(work)
        self._work.add(task)
        task.add_done_callback(self._work.discard)
        return task

    def _begin_truncation(
        self, fetched: FetchedPartition, offset: int, fully: bool, then: BeginInside | None = None
    ) -> None:
        """There must be no await between the check that the leader is the same and this call."""
        truncations = self._fetchers.truncations
        assert fetched.key not in truncations
        truncations[fetched.key] = asyncio.ensure_future(
            self._guard(self._truncate(fetched, offset, fully, then))
        )

    async def _truncate(
        self, fetched: FetchedPartition, offset: int, fully: bool, then: BeginInside | None
    ) -> None:
        partition = fetched.partition
        logs = self._fetchers.logs
        end_before = partition.log.log_end_offset
        succeeded = False
        try:
            if fully:
                await logs.truncate_fully_in_thread(partition.log, offset)
            else:
                await logs.truncate_in_thread(partition.log, offset)
            if then is not None:
                self.state.begun_inside(then, self._fetchers.clock())
            else:
                self._log_truncation(partition, offset, end_before)
            succeeded = True
        except (DiskError, KafkaError) as error:
            if isinstance(error, DiskError) and error.is_fatal:
                raise
            log.error("%s", error)
        finally:
            del self._fetchers.truncations[fetched.key]
            self.state.resumed(fetched, _now_ms(), succeeded)
            self.wake()

    def _log_truncation(self, partition: Partition, offset: int, end_before: int) -> None:
        first = min(offset, int(partition.log.log_end_offset))
        if first < end_before:
            log.info(
                "%s-%d: removed the records from offset %d to %d, which leader %d does not have",
                partition.topic,
                partition.index,
                first,
                end_before - 1,
                self._leader_id,
            )

    async def _find_range(self, work: FindRange) -> None:
        fetched = work.fetched
        try:
            end_offset = await self._ask_offset(fetched, LATEST)
            start_offset = await self._ask_offset(fetched, EARLIEST)
        except (PeerError, KafkaError) as error:
            log.info("%s-%d: %s", fetched.partition.topic, fetched.partition.index, error)
            self.state.resumed(fetched, _now_ms(), False)
            self.wake()
            return
        if not self.state.is_current(fetched):
            return
        log_end_offset = fetched.partition.log.log_end_offset
        offset, fully = truncation_to_range(log_end_offset, start_offset, end_offset)
        if offset == log_end_offset:
            self.state.resumed(fetched, _now_ms(), False)
            self.wake()
        else:
            self._begin_truncation(fetched, offset, fully)

    async def _ask_offset(self, fetched: FetchedPartition, timestamp: int) -> int:
        partition = fetched.partition
        request = ListOffsetsRequest(
            replica_id=self._fetchers.broker_id,
            topics=[
                ListOffsetsTopic(
                    name=partition.topic,
                    partitions=[
                        ListOffsetsPartition(
                            partition_index=partition.index,
                            current_leader_epoch=fetched.leader_epoch,
                            timestamp=timestamp,
                        )
                    ],
                )
            ],
        )
        answer = await self._fetchers.peers.ask(
            self._leader_id, request, timeout_ms=self._fetchers.settings.timeout_ms, lane=QUESTIONS_LANE
        )
        found = cast(ListOffsetsResponse, answer).topics[0].partitions[0]
        if found.error_code:
            raise error_for(found.error_code)
        return found.offset


def _now_ms() -> int:
    return int(asyncio.get_running_loop().time() * 1000)
