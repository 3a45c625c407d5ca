"""No transaction stays open past its timeout: checked all the time, at the coordinators that could end it.

A coordinator ends a transaction when its timeout is over, if its log takes the record. So a transaction may
be open for longer only while no coordinator has loaded it, while too few replicas are in sync, and while the
disk fails or the process is frozen. A process that was frozen moves its deadlines.

A coordinator measures a timeout as the time that passes. A clock that is set forward ends nothing early, so
the timeout must be over by the virtual time, too.
"""

from collections.abc import Iterator
from typing import Final

from gralha.metadata.topic_names import TRANSACTIONS_TOPIC
from gralha.protocol.coordinators import partition_for
from gralha.simulation.cluster import SimulatedCluster, SimulatedNode
from gralha.transactions.transaction import Transaction

# The clocks of two coordinators may differ, and a refused record is tried again after a second.
GRACE_S: Final = 6.0
AFTER_FREEZE_S: Final = 30.0


class OpenTransactions:
    def __init__(self, cluster: SimulatedCluster) -> None:
        self.cluster = cluster
        self._looked_at = 0.0
        # By node, process, id and begin: for how long the coordinator could have ended it.
        self._overdue_s: dict[tuple[int, int, str, int], float] = {}
        self._frozen_at: dict[int, float] = {}
        # By id and begin: when the transaction was first seen.
        self._seen_at: dict[tuple[str, int], float] = {}

    def look(self) -> None:
        now = self.cluster.world.now
        passed_s, self._looked_at = now - self._looked_at, now
        overdue: set[tuple[int, int, str, int]] = set()
        for node in self.cluster.nodes.values():
            can_write = self._can_write(node)
            for one in self._overdue(node, now):
                if can_write:
                    overdue.add((node.node_id, node.incarnation, one.transactional_id, one.started_ms))
        for key in sorted(overdue):
            before_s = self._overdue_s.get(key, 0.0)
            self._overdue_s[key] = before_s + passed_s
            if before_s <= GRACE_S < before_s + passed_s:
                node_id, _, transactional_id, started_ms = key
                self.cluster.world.fail(
                    f"open-past-timeout: the transaction of {transactional_id} since {started_ms} on node "
                    f"{node_id} at {now:.3f}"
                )

    def _overdue(self, node: SimulatedNode, now: float) -> list[Transaction]:
        """The transactions whose timeout is over, by the node's clock and by the virtual time."""
        open_now = list(_open(node))
        for one in open_now:
            self._seen_at.setdefault((one.transactional_id, one.started_ms), now)
        return [
            one
            for one in open_now
            if node.clock() > one.started_ms + one.timeout_ms
            and now > self._seen_at[one.transactional_id, one.started_ms] + one.timeout_ms / 1000
        ]

    def _can_write(self, node: SimulatedNode) -> bool:
        now = self.cluster.world.now
        if node.host.loop is not None and node.host.loop.is_frozen:
            self._frozen_at[node.node_id] = now
        if now - self._frozen_at.get(node.node_id, -AFTER_FREEZE_S) < AFTER_FREEZE_S:
            return False
        return node.is_running and not node.disk.failing and not node.disk.is_full


def _open(node: SimulatedNode) -> Iterator[Transaction]:
    """The transactions that are open, and whose log takes records."""
    broker = None if node.node is None else node.node._broker
    if broker is None or TRANSACTIONS_TOPIC not in broker.image.topics:
        return
    partitions = broker.replicas.by_name.get(TRANSACTIONS_TOPIC, {})
    count = len(broker.image.topics[TRANSACTIONS_TOPIC].partitions)
    for shard in broker.transactions.shards:
        for transactional_id in shard._open:
            one = shard.transactions[transactional_id]
            partition = partitions.get(partition_for(transactional_id, count))
            leading = None if partition is None else partition.leading
            if partition is None or leading is None:
                continue
            if len(partition.in_sync_replicas) >= leading.min_in_sync_replicas():
                yield one
