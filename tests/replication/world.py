"""Three replicas of one partition, a controller, and everything that can happen between them.

The replicas are real: `Partition` on a log on disk, `FetchState`, the Fetch handler. The controller is a
few rules: it elects from the in-sync and the eligible leader replicas (KIP-966) and decides on proposals.
Messages wait in lists until a step delivers or loses them; metadata reaches each replica when a step says so.
A replica that crashes loses what it had not flushed, or some of it.

`check` runs after every step. A step is (action, who, amount), so that a run is a list
of such numbers: Hypothesis makes them smaller, and a seed makes them again.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterable
from random import Random
from types import SimpleNamespace
from typing import NamedTuple

from gralha.broker.audit import Audit
from gralha.broker.fetching.follower import FollowerFetch
from gralha.broker.fetching.sessions import FetchSessions
from gralha.broker.handlers.produce import Pending
from gralha.broker.pipeline import Peer, RequestContext
from gralha.broker.quota_use import NO_THROTTLE
from gralha.broker.rights import Rights
from gralha.metadata.image import EMPTY_IMAGE
from gralha.protocol.errors import ErrorCode, KafkaError
from gralha.protocol.messages.fetch import FetchRequest, FetchResponse
from gralha.protocol.messages.produce import PartitionProduceResponse
from gralha.protocol.primitives import RecordBytes
from gralha.protocol.records import Record, batches, encode_batch
from gralha.replication.cluster_view import ClusterView
from gralha.replication.fetch_state import (
    FetchSettings,
    FetchState,
    FindRange,
    Poll,
    Work,
    truncation_to_range,
)
from gralha.replication.followers import IsrProposal
from gralha.replication.leading import ACKS_ALL
from gralha.replication.partition import Partition
from gralha.storage.config import LogConfig
from gralha.storage.log import Log
from gralha.storage.opening import open_log
from tests.replication.simple_controller import MIN_IN_SYNC, REPLICAS, Answered, Controller, Proposed
from tests.storage.disks import QuietDisk

TOPIC_ID = bytes(range(16))
NOW_MS = 1_700_000_000_000
LAG_TIME_MAX_MS = 30_000
FETCH_VERSION = 18
PEER = Peer("localhost", 1, "INTERNAL", "User:ANONYMOUS", {})
CONFIG = LogConfig({"min.insync.replicas": str(MIN_IN_SYNC)})

# Offset, leader epoch and CRC of a batch, each of which has one record.
Batch = tuple[int, int, int]
Step = tuple[str, int, int]


class ViolationError(AssertionError):
    """An invariant does not hold."""


class Request(NamedTuple):
    """A fetch on its way to the leader, and back."""

    follower: int
    incarnation: int
    leader: int
    state: FetchState
    poll: Poll
    response: FetchResponse | None = None


class Replica:
    """One broker with its replica. `partition` is None while it is down."""

    def __init__(self, world: World, broker_id: int, folder: str) -> None:
        self.world = world
        self.id = broker_id
        self.folder = folder
        self.disk = QuietDisk()
        self.epoch = broker_id
        self.incarnation = 0
        self.flushed_bytes = 0
        self.flushed_offset = 0
        self.saved_high_watermark = 0
        self.seen = 0
        self.fetching: FetchState | None = None
        self.partition: Partition | None = None
        self.sessions = FetchSessions(1, Random(broker_id))
        self.start()

    def start(self) -> None:
        log = open_log(
            self.disk,
            self.folder,
            "t",
            0,
            CONFIG,
            now_ms=NOW_MS,
            topic_id=TOPIC_ID,
            recovery_point=self.flushed_offset,
        )
        log.high_watermark = self.saved_high_watermark
        cluster = ClusterView(
            lambda: self.world.now_ms,
            lambda broker: self.world.controller.versions[self.seen].brokers.get(broker),
            lambda: self.epoch,
            self.propose,
            LAG_TIME_MAX_MS,
        )
        self.partition = Partition("t", TOPIC_ID, 0, log, self.id, cluster)
        self.incarnation += 1
        self.sessions = FetchSessions(1, Random(self.incarnation))
        self.fetching = None
        self.seen = len(self.world.controller.versions) - 1
        self.apply()

    @property
    def running(self) -> Partition:
        assert self.partition is not None
        return self.partition

    def apply(self) -> None:
        version = self.world.controller.versions[self.seen]
        partition = self.running
        epoch_before = partition.leader_epoch
        partition.change_leader(
            version.leader,
            version.leader_epoch,
            list(REPLICAS),
            list(version.isr),
            version.partition_epoch,
        )
        if partition.leader_epoch != epoch_before:
            self.fetching = None
            if version.leader not in (-1, self.id):
                self.fetching = FetchState(self.id, lambda: self.epoch, FetchSettings(max_bytes=200))
                self.fetching.follow(partition)
        if partition.leading is not None:
            partition.leading.brokers_changed()

    def propose(self, topic_id: bytes, index: int, proposal: IsrProposal) -> None:
        assert self.partition is not None
        self.world.proposals.append(Proposed(self.id, self.partition, proposal))

    def log_path(self) -> str:
        return f"{self.folder}/{0:020d}.log"

    def flush(self) -> None:
        log = self.running.log
        log.flush()
        self.flushed_offset = int(log.flushed_offset)
        self.flushed_bytes = log.size_bytes()
        self.saved_high_watermark = int(log.high_watermark)

    def stop(self) -> None:
        self.flush()
        self._end()

    def crash(self, kept: int) -> None:
        """Lose the end of what was not flushed, perhaps in the middle of a batch."""
        self._end()
        size = os.path.getsize(self.log_path())
        flushed = min(self.flushed_bytes, size)
        os.truncate(self.log_path(), flushed + kept % (size - flushed + 1))

    def _end(self) -> None:
        self.running.log.release()
        self.partition = None
        self.fetching = None

    def batches(self) -> list[Batch]:
        log = self.running.log
        return [] if log.log_end_offset == 0 else _batches(log)

    def cut(self, log: Log, offset: int, fully: bool) -> None:
        if fully:
            log.truncate_fully_and_start_at(offset)
        else:
            log.truncate_to(offset)
        # Cutting syncs what is left.
        self.flushed_bytes = min(self.flushed_bytes, log.size_bytes())
        self.flushed_offset = min(self.flushed_offset, int(log.log_end_offset))


def _batches(log: Log) -> list[Batch]:
    found = log.read(0, 1 << 20, log.log_end_offset, True, True)
    return [
        (int(header.base_offset), int(header.partition_leader_epoch), int(header.crc))
        for _, header in batches(found.data, found.start, found.end)
    ]


class World:
    def __init__(self) -> None:
        self.folder = tempfile.mkdtemp(prefix="gralha-world-")
        self.now_ms = 0
        self.controller = Controller()
        self.requests: list[Request] = []
        self.proposals: list[Proposed] = []
        self.answers: list[Answered] = []
        self.pending: list[tuple[Pending, Batch]] = []
        self.written = 0
        # The replica that has crashed and is not in sync again: at most one, because two may lose records.
        self.lossy: int | None = None
        self.crashed: set[int] = set()
        # The promises: acknowledged to producers, shown to consumers, named as the end of an epoch.
        self.acknowledged: set[Batch] = set()
        self.shown: dict[int, Batch] = {}
        self.ends: dict[int, int] = {}
        self.named: dict[tuple[int, int], int] = {}
        self.counts: dict[str, int] = {}
        self.replicas = [Replica(self, broker, f"{self.folder}/{broker}") for broker in REPLICAS]

    def close(self) -> None:
        for replica in self.replicas:
            if replica.partition is not None:
                replica.partition.log.release()
        shutil.rmtree(self.folder)

    def run(self, steps: Iterable[Step]) -> None:
        for action, who, amount in steps:
            self.now_ms += amount % 50
            if getattr(self, f"_{action}")(self.replicas[who % len(REPLICAS)], amount):
                self.counts[action] = self.counts.get(action, 0) + 1
                self.check()

    def settle(self) -> None:
        """Start all replicas and deliver all messages. Then the partition must work again."""
        for replica in self.replicas:
            self._restart(replica, 0)
        for _ in range(40):
            for replica in self.replicas:
                self._metadata(replica, 1)
                self._unfence(replica, 0)
                self._fetch(replica, 0)
            while self.requests:
                if self.requests[0].response is None and not self._serve(self.replicas[0], 0):
                    self._lose(self.replicas[0], 0)
                else:
                    self._answer(self.replicas[0], 0)
            while self.proposals:
                self._decide(self.replicas[0], 0)
            while self.answers:
                self._tell(self.replicas[0], 0)
            self.now_ms += 2_000
            self.check()

    # The actions. Each returns whether it was possible.

    def _write(self, replica: Replica, amount: int) -> bool:
        """A client writes to a replica that believes that it leads; there may be several."""
        leaders = [one for one in self.replicas if one.partition is not None and one.partition.is_leader()]
        if not leaders:
            return False
        replica = leaders[replica.id % len(leaders)]
        partition = replica.running
        data = encode_batch([Record(b"k", b"%d" % self.written, NOW_MS)])
        acks = 1 if amount % 4 == 0 else ACKS_ALL
        try:
            result = partition.led().append(RecordBytes(data, 0, len(data)), acks, NOW_MS)
        except KafkaError:
            return False
        self.written += 1
        if acks == ACKS_ALL:
            pending = Pending(partition.led(), int(result.last_offset), PartitionProduceResponse())
            self.pending.append((pending, replica.batches()[-1]))
        return True

    def _fetch(self, replica: Replica, amount: int) -> bool:
        ready = [
            one
            for one in self.replicas
            if one.fetching is not None and one.fetching.free_lane(self.now_ms) is not None
        ]
        if not ready:
            return False
        replica = ready[replica.id % len(ready)]
        state = replica.fetching
        poll = None if state is None else state.next_request(self.now_ms)
        if state is None or poll is None:
            return False
        leader = replica.running.leader_id
        self.requests.append(Request(replica.id, replica.incarnation, leader, state, poll))
        return True

    def _serve(self, _: Replica, amount: int) -> bool:
        """A leader answers a fetch, which may be old."""
        waiting = [request for request in self.requests if request.response is None]
        if not waiting:
            return False
        request = waiting[amount % len(waiting)]
        leader = self.replicas[request.leader]
        if leader.partition is None:
            return False
        response = answer_fetch(leader.partition, leader.sessions, request.poll.request, self.now_ms)
        self.requests[self.requests.index(request)] = request._replace(response=response)
        return True

    def _answer(self, _: Replica, amount: int) -> bool:
        ready = [request for request in self.requests if request.response is not None]
        if not ready:
            return False
        request = ready[amount % len(ready)]
        self.requests.remove(request)
        follower = self.replicas[request.follower]
        if follower.incarnation != request.incarnation or follower.partition is None:
            return False
        assert request.response is not None
        for work in request.state.answered(request.poll, request.response, self.now_ms, NOW_MS):
            self._work(follower, request, work)
        return True

    def _work(self, follower: Replica, request: Request, work: Work) -> None:
        log = work.fetched.partition.log
        if isinstance(work, FindRange):
            leader = self.replicas[request.leader].partition
            if leader is None or leader.leader_epoch != work.fetched.leader_epoch:
                request.state.resumed(work.fetched, self.now_ms, False)
                return
            offset, fully = truncation_to_range(
                log.log_end_offset, leader.log.log_start_offset, leader.log.log_end_offset
            )
        else:
            offset, fully = work.offset, False
        follower.cut(log, offset, fully)
        request.state.resumed(work.fetched, self.now_ms, True)

    def _lose(self, _: Replica, amount: int) -> bool:
        if not self.requests:
            return False
        request = self.requests.pop(amount % len(self.requests))
        request.state.failed(request.poll, self.now_ms - LAG_TIME_MAX_MS)
        return True

    def _metadata(self, replica: Replica, amount: int) -> bool:
        """The next record of the metadata log, or all there is at once."""
        newest = len(self.controller.versions) - 1
        if replica.partition is None or replica.seen == newest:
            return False
        replica.seen = newest if amount % 3 else replica.seen + 1
        replica.apply()
        return True

    def _shrink(self, replica: Replica, amount: int) -> bool:
        if replica.partition is None or not replica.partition.is_leader():
            return False
        self.now_ms += LAG_TIME_MAX_MS
        replica.partition.led().shrink_in_sync_replicas()
        return True

    def _decide(self, _: Replica, amount: int) -> bool:
        if not self.proposals:
            return False
        proposed = self.proposals.pop(amount % len(self.proposals))
        self.answers.append(self.controller.alter_partition(proposed))
        if self.lossy in self.controller.now.isr and self.lossy not in self.crashed:
            self.lossy = None
        return True

    def _tell(self, _: Replica, amount: int) -> bool:
        """The answer to a proposal arrives, or it is lost and the proposal is sent again."""
        if not self.answers:
            return False
        answer = self.answers.pop(amount % len(self.answers))
        partition, proposal = answer.proposed.partition, answer.proposed.proposal
        leading = partition.leading
        if self.replicas[answer.proposed.broker].partition is not partition or leading is None:
            return False
        if amount % 4 == 3:
            if leading.proposal is proposal:
                self.proposals.append(answer.proposed)
        elif answer.version is not None:
            version = answer.version
            leading.proposal_accepted(
                proposal, version.leader_epoch, list(version.isr), version.partition_epoch
            )
        elif answer.error_code == ErrorCode.INELIGIBLE_REPLICA:
            leading.proposal_refused(proposal)
        return True

    def _flush(self, replica: Replica, amount: int) -> bool:
        if replica.partition is None:
            return False
        replica.flush()
        return True

    def _crash(self, replica: Replica, amount: int) -> bool:
        now = self.controller.now
        if replica.partition is None or self.lossy is not None:
            return False
        if not (set(now.isr) | set(now.elr)) - {replica.id}:
            return False
        replica.crash(amount)
        self.crashed.add(replica.id)
        self.lossy = replica.id
        return True

    def _stop(self, replica: Replica, amount: int) -> bool:
        if replica.partition is None:
            return False
        self.controller.fence(replica.id)
        replica.stop()
        return True

    def _restart(self, replica: Replica, amount: int) -> bool:
        if replica.partition is not None:
            return False
        replica.epoch = self.controller.register(replica.id, replica.id in self.crashed)
        self.crashed.discard(replica.id)
        replica.start()
        return True

    def _fence(self, replica: Replica, amount: int) -> bool:
        """The controller fences a broker, which is dead or only cut off."""
        self.controller.fence(replica.id)
        return True

    def _unfence(self, replica: Replica, amount: int) -> bool:
        known = self.controller.now.brokers[replica.id]
        if replica.partition is None or not known.fenced or replica.epoch != known.epoch:
            return False
        if replica.seen < self.controller.registered_at[replica.id]:
            return False
        self.controller.unfence(replica.id)
        return True

    def _elect(self, replica: Replica, amount: int) -> bool:
        self.controller.elect(replica.id)
        return True

    # What must hold

    def check(self) -> None:
        self._acknowledge()
        logs = {one.id: one.batches() for one in self.replicas if one.partition is not None}
        for broker, found in logs.items():
            self._check_names(broker, found)
            self._check_shown(broker, found)
            self._check_end(self.replicas[broker].running)
        self._check_in_sync(logs)

    def _acknowledge(self) -> None:
        open_: list[tuple[Pending, Batch]] = []
        for pending, batch in self.pending:
            if not any(one.partition is pending.partition for one in self.replicas):
                continue  # that process is gone
            outcome = pending.outcome()
            if outcome is None:
                open_.append((pending, batch))
            elif outcome == ErrorCode.NONE:
                self.acknowledged.add(batch)
        self.pending = open_

    def _check_names(self, broker: int, found: list[Batch]) -> None:
        for number, (offset, epoch, crc) in enumerate(found):
            if offset != number:
                raise ViolationError(f"broker {broker} has no offset {number}")
            if self.named.setdefault((epoch, offset), crc) != crc:
                raise ViolationError(f"epoch {epoch}, offset {offset} names two batches")
            if number and epoch < found[number - 1][1]:
                raise ViolationError(f"broker {broker} has epoch {epoch} behind {found[number - 1][1]}")

    def _check_shown(self, broker: int, found: list[Batch]) -> None:
        for batch in found[: int(self.replicas[broker].running.log.high_watermark)]:
            if self.shown.setdefault(batch[0], batch) != batch:
                raise ViolationError(
                    f"broker {broker} shows {batch}, and {self.shown[batch[0]]} was shown before"
                )

    def _check_end(self, partition: Partition) -> None:
        """The end offset that consumers get never goes back when the leader changes."""
        if not partition.is_leader() or partition.is_behind():
            return
        epoch, end = partition.leader_epoch, int(partition.log.high_watermark)
        before = max((self.ends[one] for one in self.ends if one <= epoch), default=0)
        if end < before:
            raise ViolationError(f"the end was {before} and is {end} in epoch {epoch}")
        self.ends[epoch] = end

    def _check_in_sync(self, logs: dict[int, list[Batch]]) -> None:
        """Every replica that may lead next has all acknowledged records."""
        now = self.controller.now
        for broker, found in logs.items():
            if (broker in now.isr or broker in now.elr) and self.replicas[broker].epoch == now.brokers[
                broker
            ].epoch:
                missing = self.acknowledged - set(found)
                if missing:
                    raise ViolationError(f"broker {broker} is in sync without {sorted(missing)}")


def answer_fetch(
    partition: Partition, sessions: FetchSessions, request: FetchRequest, now_ms: int
) -> FetchResponse:
    """The real handler on a broker that has this partition only, and room for one session."""
    broker = SimpleNamespace(
        replicas=SimpleNamespace(by_id={TOPIC_ID: {0: partition}}, time_ms=lambda: now_ms),
        image=EMPTY_IMAGE,
        config=SimpleNamespace(fetch_max_bytes=1 << 20),
        rights=Rights(None, Audit(lambda: 0)),
        throttle=NO_THROTTLE,
    )
    plan = sessions.begin(request, FETCH_VERSION, now_ms)
    if plan.error_code:
        return FetchResponse(error_code=plan.error_code)
    fetch = FollowerFetch(broker, RequestContext(PEER, FETCH_VERSION, None), request, plan)  # type: ignore[arg-type]
    fetch.begin()
    fetch.read(False)
    return fetch.response()


# How often each happens: most of the time replication works.
WEIGHTS = {
    "write": 12,
    "fetch": 30,
    "serve": 30,
    "answer": 30,
    "lose": 2,
    "metadata": 14,
    "shrink": 1,
    "decide": 10,
    "tell": 10,
    "flush": 2,
    "crash": 1,
    "stop": 1,
    "restart": 8,
    "fence": 1,
    "unfence": 10,
    "elect": 1,
}
ACTIONS = tuple(WEIGHTS)


def random_steps(seed: int, count: int) -> list[Step]:
    random = Random(seed)
    actions = random.choices(ACTIONS, list(WEIGHTS.values()), k=count)
    return [(action, random.randrange(3), random.randrange(1000)) for action in actions]
