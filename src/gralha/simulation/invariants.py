"""Invariants that hold at every moment of a run. They are checked between events, from outside of the nodes.

    one-leader            a partition, or the quorum, has one leader in an epoch
    epoch-goes-back       the epochs that a process knows never decrease
    watermark-goes-back   the high watermarks that a process knows never decrease
    stable-goes-back      the last stable offset of a leader never decreases in an epoch
    watermark-beyond-end  the high watermark is not after the end of the log
    epochs-fall           the epochs of the batches in a log never decrease
    two-batches           an epoch and an offset always name the same batch, on all nodes
    committed-differs     a batch below the high watermark of one node is the same on all nodes, for ever
    not-on-a-majority     a majority of the quorum's voters has synced every committed record
    two-votes             a voter gives one vote in an epoch, even if it restarts in the epoch,
                          and never forgets an epoch or its vote
    leads-on              a leader of the quorum resigns soon after another node leads a newer epoch
    snapshot-place        a snapshot ends at the end of a batch, and not after the high watermark
    images-differ         the metadata up to an offset is the same on all nodes, from the log or a snapshot
    fenced-in-sync        a fenced broker is in no ISR, unless it is the last one there
    healthy-fenced        no broker is fenced without a fault in the cluster
    needless-election     the quorum elects no leader without a fault in the cluster
    session-ran-out       a node logs in again before its session with another node ends, without a fault
    lives-on              a process whose controller has failed ends soon, unless it is being stopped
    offline               no partition counts as damaged, because no fault damages synced data

The checks only read: they do not change the run or its trace.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

from gralha.broker.login import State
from gralha.broker.node import Node
from gralha.metadata.image import MetadataImage
from gralha.protocol.batches import batches
from gralha.protocol.errors import CorruptMessageError, KafkaError
from gralha.raft.quorum_state import NOBODY, ElectionState
from gralha.raft.snapshots import SnapshotId
from gralha.simulation.cluster import TOPIC, SimulatedCluster, SimulatedNode
from gralha.simulation.secured import NODE, principal_of
from gralha.simulation.topic_checks import Starts
from gralha.storage.disk import DiskError
from gralha.storage.log import Log

QUORUM: Final = "__cluster_metadata-0"
NODE_PRINCIPAL: Final = principal_of(NODE)
READ_BYTES: Final = 1024 * 1024
# Twice 1.5 x the fetch timeout, and some more: see `Leadership.heard`.
GIVING_UP_S: Final = 7.0
# A process that has failed first closes its connections and files.
ENDING_S: Final = 10.0
# A leader that was frozen may lead on for 1.5 x the fetch timeout: see `RaftState._notice_pause`.
AWAKE_S: Final = 4.0


class Replica(NamedTuple):
    """A node's replica of a partition or of the metadata log."""

    name: str
    node_id: int
    log: Log
    leader_epoch: int
    is_leader: bool
    high_watermark: int
    last_stable_offset: int = -1


class _Seen(NamedTuple):
    """The state of a process at the last look."""

    leader_epoch: int
    high_watermark: int
    # A replica that was moved away and back has another log.
    log: Log | None = None
    # The last stable offset of a leader, or -1.
    last_stable_offset: int = -1


class Invariants:
    def __init__(self, cluster: SimulatedCluster) -> None:
        self.cluster = cluster
        self.broken: list[str] = []
        self._leaders: dict[tuple[str, int], int] = {}
        self._seen: dict[tuple[str, int, int], _Seen] = {}
        # By partition: the CRC of the batch with that epoch and base offset, and where it was seen first.
        self._batches: dict[str, dict[tuple[int, int], tuple[int, int]]] = {}
        # By partition and base offset: epoch and CRC of the committed batch.
        self._committed: dict[str, dict[int, tuple[int, int]]] = {}
        # The metadata log: the ends of its batches with their epochs, and the offsets inside of batches.
        self._batch_ends: dict[int, int] = {}
        self._inside: set[int] = set()
        self._votes: dict[tuple[int, int], int] = {}
        self._elections: dict[int, ElectionState] = {}
        # When a leader of each epoch was first seen, and when each node was last seen frozen.
        self._led_since: dict[int, float] = {}
        self._frozen_at: dict[int, float] = {}
        # By node and process: when the failure of its controller was first seen.
        self._failed_at: dict[tuple[int, int], float] = {}
        self._images: dict[int, MetadataImage] = {}
        self._image_seen: dict[int, MetadataImage] = {}
        # The newest epoch of the quorum since the last fault ended.
        self._quiet_epoch: int | None = None
        # By partition: the start offsets of its log on any node, and when each was first seen.
        self.starts: Starts = {}

    def look(self) -> None:
        for node in self.cluster.nodes.values():
            if node.is_running:
                for replica in replicas(node):
                    self._look_at(node, replica)
                self._look_at_controller(node)

        self._look_at_quiet()

    def _look_at_quiet(self) -> None:
        now = self.cluster.world.now
        if now < self.cluster.trouble_until or not self.cluster.all_ready:
            self._quiet_epoch = None
            return
        quorum = [replica for node in self.cluster.nodes.values() for replica in _quorum(node)]
        epoch = max((replica.leader_epoch for replica in quorum), default=0)
        if self._quiet_epoch is None:
            self._quiet_epoch = epoch
        for replica in quorum:
            if replica.leader_epoch > self._quiet_epoch:
                self._break("needless-election", replica, f"epoch {replica.leader_epoch}")
                self._quiet_epoch = replica.leader_epoch
            node = self.cluster.nodes[replica.node_id].node
            assert node is not None
            assert node._controller is not None
            for broker in node._controller.image.brokers.values():
                if broker.fenced and broker.id in self.cluster.nodes:
                    self._break("healthy-fenced", replica, f"broker {broker.id}")
            for host in _expired_sessions(node):
                self._break("session-ran-out", replica, f"the session of {host}")

    def look_at_everything(self) -> None:
        """Check the whole logs at the end of a run, not only their new batches."""
        self._seen.clear()
        self.look()

    def _break(self, kind: str, replica: Replica, detail: str) -> None:
        now = self.cluster.world.now
        self.cluster.world.trace.hold()
        self.broken.append(f"{kind}: {replica.name} on node {replica.node_id} at {now:.6f}: {detail}")

    def _look_at(self, node: SimulatedNode, replica: Replica) -> None:
        process = (replica.name, node.node_id, node.incarnation)
        before = self._seen.get(process, _Seen(-1, -1))
        if before.log is not replica.log:
            before = _Seen(-1, -1)
        stable = replica.last_stable_offset if replica.is_leader else -1
        self._seen[process] = _Seen(replica.leader_epoch, replica.high_watermark, replica.log, stable)
        if replica.leader_epoch < before.leader_epoch:
            self._break("epoch-goes-back", replica, f"{before.leader_epoch} to {replica.leader_epoch}")
        if replica.high_watermark < before.high_watermark:
            detail = f"{before.high_watermark} to {replica.high_watermark}"
            self._break("watermark-goes-back", replica, detail)
        if replica.leader_epoch == before.leader_epoch and 0 <= stable < before.last_stable_offset:
            self._break("stable-goes-back", replica, f"{before.last_stable_offset} to {stable}")
        if replica.high_watermark > replica.log.log_end_offset:
            detail = f"{replica.high_watermark}, but the log ends at {replica.log.log_end_offset}"
            self._break("watermark-beyond-end", replica, detail)
        if replica.is_leader:
            leader = self._leaders.setdefault((replica.name, replica.leader_epoch), replica.node_id)
            if leader != replica.node_id:
                self._break("one-leader", replica, f"{leader} leads epoch {replica.leader_epoch} as well")
        self._note_start(replica)
        if self._is_compacted(replica):
            return  # compaction writes other batches, at other times on each node
        # The batches that were committed at the last look were checked. Later ones may have been replaced.
        self._compare(replica, before.high_watermark)

    def _is_compacted(self, replica: Replica) -> bool:
        settings = self.cluster.settings
        if settings.transactional_ids:
            return replica.log.config.compact
        return settings.keys > 0 and replica.name.startswith(f"{TOPIC}-")

    def _note_start(self, replica: Replica) -> None:
        seen = self.starts.setdefault(replica.name, [(0.0, 0)])
        start = int(replica.log.log_start_offset)
        if start > seen[-1][1]:
            seen.append((self.cluster.world.now, start))

    def _compare(self, replica: Replica, start: int) -> None:
        try:
            self._compare_batches(replica, start)
        except CorruptMessageError as error:
            self._break("unreadable", replica, str(error))

    def _compare_batches(self, replica: Replica, start: int) -> None:
        known = self._batches.setdefault(replica.name, {})
        committed = self._committed.setdefault(replica.name, {})
        epoch_before = -1
        for offset, next_offset, epoch, crc in _new_batches(replica, start):
            if epoch < epoch_before:
                detail = f"offset {offset} is of epoch {epoch}, behind one of epoch {epoch_before}"
                self._break("epochs-fall", replica, detail)
            epoch_before = epoch
            other, first_seen_on = known.setdefault((epoch, offset), (crc, replica.node_id))
            if other != crc:
                detail = f"offset {offset} of epoch {epoch} is another batch than on node {first_seen_on}"
                self._break("two-batches", replica, detail)
            if next_offset <= replica.high_watermark:
                if replica.name == QUORUM:
                    self._batch_ends[next_offset] = epoch
                    self._inside.update(range(offset + 1, next_offset))
                agreed = committed.setdefault(offset, (epoch, crc))
                if agreed != (epoch, crc):
                    detail = f"offset {offset} of epoch {epoch}; committed was one of epoch {agreed[0]}"
                    self._break("committed-differs", replica, detail)

    def _look_at_controller(self, node: SimulatedNode) -> None:
        for (topic, index), error in node.node._logs.offline.items() if node.node else ():
            now = self.cluster.world.now
            self.broken.append(f"offline: {topic}-{index} on node {node.node_id} at {now:.6f}: {error}")
        if node.host.loop is not None and node.host.loop.is_frozen:
            self._frozen_at[node.node_id] = self.cluster.world.now
        self._look_at_failure(node)
        for replica in _quorum(node):
            assert node.node is not None
            assert node.node._controller is not None
            self._look_at_vote(replica, node.node._controller._driver.state.election)
            self._look_at_lead(replica)
            for snapshot in node.node._controller._driver.log.snapshots:
                self._look_at_snapshot(replica, snapshot.id)
            self._look_at_image(replica, node.node._controller.image)

    def _look_at_failure(self, node: SimulatedNode) -> None:
        controller = None if node.node is None else node.node._controller
        if controller is None or controller._driver._failure is None:
            return
        now = self.cluster.world.now
        failed_at = self._failed_at.setdefault((node.node_id, node.incarnation), now)
        failed_at = max(failed_at, self._frozen_at.get(node.node_id, 0))
        if now - failed_at > ENDING_S:
            self.broken.append(f"lives-on: node {node.node_id} at {now:.6f}: it failed at {failed_at:.6f}")

    def _look_at_vote(self, replica: Replica, election: ElectionState) -> None:
        # All states here are saved: `_quorum` leaves out nodes whose thread is still saving.
        saved = self._elections.get(replica.node_id, ElectionState(0))
        is_known = election.leader_id != NOBODY or election.voted_id != NOBODY
        was_known = saved.leader_id != NOBODY or saved.voted_id != NOBODY
        if 0 < election.epoch < saved.epoch or (election.epoch == saved.epoch and was_known and not is_known):
            self._break("two-votes", replica, f"{saved} was saved, now it is {election}")
        if election.epoch:
            self._elections[replica.node_id] = election
        if election.voted_id != NOBODY:
            voted = self._votes.setdefault((replica.node_id, election.epoch), election.voted_id)
            if voted != election.voted_id:
                detail = f"for {voted} and for {election.voted_id} in epoch {election.epoch}"
                self._break("two-votes", replica, detail)

    def _look_at_lead(self, replica: Replica) -> None:
        now = self.cluster.world.now
        if not replica.is_leader:
            return
        self._led_since.setdefault(replica.leader_epoch, now)
        newest = max(self._led_since)
        awake_s = now - self._frozen_at.get(replica.node_id, -AWAKE_S)
        if (
            newest > replica.leader_epoch
            and now - self._led_since[newest] > GIVING_UP_S
            and awake_s > AWAKE_S
        ):
            self._break("leads-on", replica, f"in epoch {replica.leader_epoch}; the newest is {newest}")

    def _look_at_snapshot(self, replica: Replica, snapshot: SnapshotId) -> None:
        end = snapshot.end_offset
        if replica.high_watermark < 0:
            return  # the process is starting
        if end > replica.high_watermark:
            detail = f"it ends at {end}, committed is what lies below {replica.high_watermark}"
        elif end in self._inside:
            detail = f"it ends at {end}, in the middle of a batch"
        elif self._batch_ends.get(end, snapshot.epoch) != snapshot.epoch:
            detail = f"it ends at {end} in epoch {snapshot.epoch}, the log in {self._batch_ends[end]}"
        else:
            return
        self._break("snapshot-place", replica, detail)

    def _look_at_image(self, replica: Replica, image: MetadataImage) -> None:
        if self._image_seen.get(replica.node_id) is image:
            return
        self._image_seen[replica.node_id] = image
        if self._images.setdefault(image.offset, image) != image:
            self._break("images-differ", replica, f"up to offset {image.offset}")
        for topic in image.topics.values():
            for index, partition in topic.partitions.items():
                alive = [
                    one for one in partition.isr if one in image.brokers and not image.brokers[one].fenced
                ]
                if len(alive) < len(partition.isr) and len(partition.isr) > 1:
                    detail = f"{topic.name}-{index} has {partition.isr}, alive are {alive}"
                    self._break("fenced-in-sync", replica, detail)

    def look_at_quorum(self) -> None:
        """Check that a majority has synced all batches below the highest high watermark."""
        quorum = [replica for node in self.cluster.nodes.values() for replica in _quorum(node)]
        if len(quorum) < len(self.cluster.nodes):
            return  # this does not look into the disks of nodes that are down
        highest = max(replica.high_watermark for replica in quorum)
        holders = sum(replica.log.log_end_offset >= highest for replica in quorum)
        if holders <= len(quorum) // 2:
            self._break("not-on-a-majority", quorum[0], f"{holders} have everything below {highest}")


def _expired_sessions(node: Node) -> Iterator[str]:
    """The addresses of nodes that are connected to this one, and whose session has ended."""
    for connection in [*node._server.connections(), *node._controller_server.connections()]:
        login = connection.peer.login
        if login is not None and login.state is State.EXPIRED and connection.peer.principal == NODE_PRINCIPAL:
            yield connection.peer.host


def _new_batches(replica: Replica, start: int) -> Iterator[tuple[int, int, int, int]]:
    """Base offset, next offset, epoch and CRC of the batches from an offset on."""
    log = replica.log
    offset = max(start, int(log.log_start_offset))
    end = int(log.log_end_offset)
    while offset < end:
        try:
            read = log.read(offset, READ_BYTES, end, True, True)
        except (DiskError, KafkaError):
            return  # the log is closed, or the disk fails now
        found = batches(read.data, read.start, read.end)
        if not found:
            return
        for _, header in found:
            offset = int(header.next_offset)
            yield int(header.base_offset), offset, int(header.partition_leader_epoch), int(header.crc)


def replicas(node: SimulatedNode) -> Iterator[Replica]:
    """The replicas of a node, with its replica of the metadata log."""
    if node.node is None:
        return
    for topic, partitions in list(node.node._replicas.by_name.items()):
        for index, partition in list(partitions.items()):
            yield Replica(
                f"{topic}-{index}",
                node.node_id,
                partition.log,
                partition.leader_epoch,
                partition.is_leader(),
                int(partition.log.high_watermark),
                int(partition.log.last_stable_offset()),
            )
    yield from _quorum(node)


def _quorum(node: SimulatedNode) -> Iterator[Replica]:
    controller = None if node.node is None else node.node._controller
    if controller is None:
        return
    driver = controller._driver
    # While a thread does the work that the state machine has decided (for example, replaces the log by a
    # snapshot), the state is ahead of the log, and the node sends nothing. After a disk error both may differ
    # until the node has ended.
    if driver.log.is_open and driver._failure is None and driver._working is None:
        yield Replica(
            QUORUM, node.node_id, driver.log.log, driver.epoch, driver.is_leader, driver.high_watermark
        )
