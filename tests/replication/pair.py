"""A leader and a follower of the same partitions: real partitions and handlers, but no network."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random
from types import SimpleNamespace

from gralha.broker.audit import Audit
from gralha.broker.fetching.session import FollowerSession
from gralha.broker.fetching.sessions import FetchSessions
from gralha.broker.handlers import fetch
from gralha.broker.pipeline import Peer, RequestContext
from gralha.broker.quota_use import NO_THROTTLE
from gralha.broker.rights import Rights
from gralha.metadata.image import EMPTY_IMAGE, BrokerRegistration
from gralha.protocol.messages.fetch import FetchRequest, FetchResponse
from gralha.protocol.primitives import RecordBytes
from gralha.protocol.records import Record, encode_batch
from gralha.replication.cluster_view import ClusterView
from gralha.replication.fetch_state import FetchSettings, FetchState, Poll
from gralha.replication.partition import Partition
from gralha.replication.quota import ReplicationQuota
from tests.storage.disks import QuietDisk
from tests.storage.logs import make_log

NOW_MS = 1_700_000_000_000
TOPIC_ID = bytes(range(16))
LEADER, FOLLOWER = 1, 2
PARTITIONS = 50
LAG_TIME_MAX_MS = 1_000
PEER = Peer("localhost", 1, "INTERNAL", "User:ANONYMOUS", {})


class Pair:
    """Both are in sync at the beginning. The test turns the clock."""

    def __init__(self, folder: Path, partitions: int = PARTITIONS) -> None:
        self.now_ms = 0
        self.partitions = partitions
        self.registered = {
            broker: BrokerRegistration(broker, 10, bytes(16), (), {}, None, False, False, (), None)
            for broker in (LEADER, FOLLOWER)
        }
        cluster = ClusterView(
            lambda: self.now_ms, self.registered.get, lambda: 10, lambda *_: None, LAG_TIME_MAX_MS
        )
        self.led = self._partitions(folder / "leader", LEADER, cluster)
        self.followed = self._partitions(folder / "follower", FOLLOWER, cluster)
        self.sessions = FetchSessions(4, Random(0))
        self.leader_quota = ReplicationQuota()
        self.broker = SimpleNamespace(
            replicas=SimpleNamespace(
                by_id={TOPIC_ID: self.led}, time_ms=lambda: self.now_ms, leader_quota=self.leader_quota
            ),
            image=EMPTY_IMAGE,
            clock=lambda: self.now_ms,
            fetch_sessions=self.sessions,
            config=SimpleNamespace(fetch_max_bytes=1 << 20),
            rights=Rights(None, Audit(lambda: 0)),
            throttle=NO_THROTTLE,
            readers=ThreadPoolExecutor(1),
        )
        self.epoch = 10
        self.follower_quota = ReplicationQuota()
        settings = FetchSettings(wait_max_ms=0, max_bytes=10_000)
        self.state = FetchState(FOLLOWER, lambda: self.epoch, settings, 2, self.follower_quota)
        for partition in self.followed.values():
            self.state.follow(partition)

    def _partitions(self, folder: Path, broker_id: int, cluster: ClusterView) -> dict[int, Partition]:
        made = {}
        for index in range(self.partitions):
            log = make_log(QuietDisk(), folder / str(index))
            made[index] = Partition("t", TOPIC_ID, index, log, broker_id, cluster)
            made[index].change_leader(LEADER, 1, [LEADER, FOLLOWER], [LEADER, FOLLOWER], 1)
        return made

    def append(self, index: int, size_bytes: int = 1) -> None:
        data = encode_batch([Record(b"k", bytes(size_bytes), NOW_MS)])
        self.led[index].led().append(RecordBytes(data, 0, len(data)), 1, NOW_MS)

    def ask(self) -> Poll:
        poll = self.state.next_request(self.now_ms)
        assert poll is not None
        return poll

    def serve(self, request: FetchRequest) -> FetchResponse:
        answer = fetch.handle(self.broker, RequestContext(PEER, 18, None), request)  # type: ignore[arg-type]
        assert isinstance(answer, FetchResponse)
        return answer

    def round(self) -> tuple[list[int], list[int]]:
        """One request and its answer; the partitions that each names."""
        poll = self.ask()
        response = self.serve(poll.request)
        assert response.error_code == 0
        assert self.state.answered(poll, response, self.now_ms, NOW_MS) == []
        asked = [one.partition for topic in poll.request.topics for one in topic.partitions]
        told = [one.partition_index for topic in response.responses for one in topic.partitions]
        return asked, told

    def close(self) -> None:
        for partition in [*self.led.values(), *self.followed.values()]:
            partition.log.release()

    def session(self) -> FollowerSession:
        (session,) = self.sessions._sessions.values()
        assert isinstance(session, FollowerSession)
        return session
