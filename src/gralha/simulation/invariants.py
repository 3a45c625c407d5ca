"""What must hold at every moment of a run, looked at between two events from outside of all nodes.

    one-leader            in an epoch a partition, and the quorum, has one leader
    epoch-goes-back       the epochs that a process knows never decrease
    watermark-goes-back   nor do its high watermarks
    watermark-beyond-end  what is committed is in the log
    two-batches           an epoch and an offset name one batch, on all nodes and for ever
    committed-differs     what a node once had below its high watermark, all nodes have there
    not-on-a-majority     what the quorum has committed is synced on a majority of its voters

Looks are read-only: they take no part in the run, and leave no trace in it.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

from gralha.protocol.batches import batches
from gralha.protocol.errors import CorruptMessageError, KafkaError
from gralha.simulation.cluster import SimulatedCluster, SimulatedNode
from gralha.storage.disk import DiskError
from gralha.storage.log import Log

QUORUM: Final = "__cluster_metadata-0"
READ_BYTES: Final = 1024 * 1024


class Replica(NamedTuple):
    """A node's part of a partition, or of the quorum."""

    name: str
    node_id: int
    log: Log
    leader_epoch: int
    is_leader: bool
    high_watermark: int


class _Seen(NamedTuple):
    """What a process had when it was looked at last."""

    leader_epoch: int
    high_watermark: int


class Invariants:
    def __init__(self, cluster: SimulatedCluster) -> None:
        self.cluster = cluster
        self.broken: list[str] = []
        self._leaders: dict[tuple[str, int], int] = {}
        self._seen: dict[tuple[str, int, int], _Seen] = {}
        # By partition: the CRC of the batch with that epoch and base offset, and where it was seen first.
        self._batches: dict[str, dict[tuple[int, int], tuple[int, int]]] = {}
        # By partition and base offset: epoch and CRC of what is committed.
        self._committed: dict[str, dict[int, tuple[int, int]]] = {}

    def look(self) -> None:
        for node in self.cluster.nodes.values():
            if node.is_running:
                for replica in replicas(node):
                    self._look_at(node, replica)

    def look_at_everything(self) -> None:
        """At the end: whole logs, and not only what is new in them."""
        self._seen.clear()
        self.look()

    def _break(self, kind: str, replica: Replica, detail: str) -> None:
        now = self.cluster.world.now
        self.cluster.world.trace.hold()
        self.broken.append(f"{kind}: {replica.name} on node {replica.node_id} at {now:.6f}: {detail}")

    def _look_at(self, node: SimulatedNode, replica: Replica) -> None:
        process = (replica.name, node.node_id, node.incarnation)
        before = self._seen.get(process, _Seen(-1, -1))
        self._seen[process] = _Seen(replica.leader_epoch, replica.high_watermark)
        if replica.leader_epoch < before.leader_epoch:
            self._break("epoch-goes-back", replica, f"{before.leader_epoch} to {replica.leader_epoch}")
        if replica.high_watermark < before.high_watermark:
            detail = f"{before.high_watermark} to {replica.high_watermark}"
            self._break("watermark-goes-back", replica, detail)
        if replica.high_watermark > replica.log.log_end_offset:
            detail = f"{replica.high_watermark}, but the log ends at {replica.log.log_end_offset}"
            self._break("watermark-beyond-end", replica, detail)
        if replica.is_leader:
            leader = self._leaders.setdefault((replica.name, replica.leader_epoch), replica.node_id)
            if leader != replica.node_id:
                self._break("one-leader", replica, f"{leader} leads epoch {replica.leader_epoch} as well")
        # What was committed at the last look has been looked at; what followed may have been replaced.
        self._compare(replica, before.high_watermark)

    def _compare(self, replica: Replica, start: int) -> None:
        try:
            self._compare_batches(replica, start)
        except CorruptMessageError as error:
            self._break("unreadable", replica, str(error))

    def _compare_batches(self, replica: Replica, start: int) -> None:
        known = self._batches.setdefault(replica.name, {})
        committed = self._committed.setdefault(replica.name, {})
        for offset, next_offset, epoch, crc in _new_batches(replica, start):
            other, first_seen_on = known.setdefault((epoch, offset), (crc, replica.node_id))
            if other != crc:
                detail = f"offset {offset} of epoch {epoch} is another batch than on node {first_seen_on}"
                self._break("two-batches", replica, detail)
            if next_offset <= replica.high_watermark:
                agreed = committed.setdefault(offset, (epoch, crc))
                if agreed != (epoch, crc):
                    detail = f"offset {offset} of epoch {epoch}; committed was one of epoch {agreed[0]}"
                    self._break("committed-differs", replica, detail)

    def look_at_quorum(self) -> None:
        """A majority has synced everything below the highest high watermark."""
        quorum = [replica for node in self.cluster.nodes.values() for replica in _quorum(node)]
        if len(quorum) < len(self.cluster.nodes):
            return  # the disks of nodes that are down are not looked into
        highest = max(replica.high_watermark for replica in quorum)
        holders = sum(replica.log.log_end_offset >= highest for replica in quorum)
        if holders <= len(quorum) // 2:
            self._break("not-on-a-majority", quorum[0], f"{holders} have everything below {highest}")


def _new_batches(replica: Replica, start: int) -> Iterator[tuple[int, int, int, int]]:
    """Base offset, next offset, epoch and CRC of the batches from an offset on."""
    log = replica.log
    offset = max(start, int(log.log_start_offset))
    end = int(log.log_end_offset)
    while offset < end:
        try:
            read = log.read(offset, READ_BYTES, end, True, True)
        except (DiskError, KafkaError):
            return  # closed, or the disk fails just now
        found = batches(read.data, read.start, read.end)
        if not found:
            return
        for _, header in found:
            offset = int(header.next_offset)
            yield int(header.base_offset), offset, int(header.partition_leader_epoch), int(header.crc)


def replicas(node: SimulatedNode) -> Iterator[Replica]:
    """The partitions of a node, and its part of the metadata log."""
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
            )
    yield from _quorum(node)


def _quorum(node: SimulatedNode) -> Iterator[Replica]:
    controller = None if node.node is None else node.node._controller
    if controller is None:
        return
    driver = controller._driver
    # While a thread does what the machine has decided (a snapshot takes the log's place), the state is ahead
    # of the log, and nobody is told anything. After a disk error they may differ for good: the node ends.
    if driver.log.is_open and driver._failure is None and driver._working is None:
        yield Replica(
            QUORUM, node.node_id, driver.log.log, driver.epoch, driver.is_leader, driver.high_watermark
        )
