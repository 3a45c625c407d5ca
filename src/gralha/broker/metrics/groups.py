"""The groups that this broker coordinates: Kafka's GroupMetadataManager, and the lag of each group.

The lag is the high watermark minus the committed offset. It is known if this broker has a replica of the
partition. The high watermark of a follower is older than the leader's by a moment. The committed offsets of
all partitions are known here, and their high watermarks at their leaders: Prometheus can subtract the two.
"""

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

from gralha.broker.metrics.exposition import (
    PAUSE,
    SLICE,
    Pieces,
    Sample,
    escaped,
    family_text,
    gauge,
    labels,
    single,
)
from gralha.groups.group import Group, GroupType
from gralha.replication.manager import ReplicaManager

if TYPE_CHECKING:
    from gralha.groups.shard import GroupShard

_MANAGER: Final = "kafka_coordinator_group_groupmetadatamanager"
CLASSIC_GROUPS: Final = gauge(f"{_MANAGER}_numgroups", "Classic groups.")
OFFSETS: Final = gauge(f"{_MANAGER}_numoffsets", "Committed offsets of all groups.")
# The states of a classic group. Kafka has a metric for each.
CLASSIC_STATES: Final = ("PreparingRebalance", "CompletingRebalance", "Stable", "Dead", "Empty")
BY_CLASSIC_STATE: Final = {
    state: gauge(f"{_MANAGER}_numgroups{state.lower()}", f"Classic groups in the state {state}.")
    for state in CLASSIC_STATES
}
_COORDINATOR: Final = "kafka_server_group_coordinator_metrics"
GROUPS: Final = gauge(f"{_COORDINATOR}_group_count", "Groups, by protocol.")
CONSUMER_GROUPS: Final = gauge(
    f"{_COORDINATOR}_consumer_group_count", "Groups of the consumer protocol, by state."
)
CONSUMER_STATES: Final = ("Empty", "Assigning", "Reconciling", "Stable", "Dead")
MEMBERS: Final = gauge("kafka_consumergroup_members", "Members of a group.")
COMMITTED: Final = gauge("kafka_consumergroup_current_offset", "The offset that a group has committed.")
LAG: Final = gauge(
    "kafka_consumergroup_lag", "Records that a group has not committed yet, if this broker has a replica."
)


class _Row(NamedTuple):
    """A committed offset, and the lag if it is known."""

    labels: str
    offset: int
    lag: int | None


class _Sums:
    def __init__(self) -> None:
        self.by_type: Counter[GroupType] = Counter()
        self.by_state: Counter[tuple[GroupType, str]] = Counter()
        self.members: list[Sample] = []

    def add(self, group: Group) -> None:
        self.by_type[group.type] += 1
        self.by_state[group.type, group.state_name] += 1
        self.members.append((labels(consumergroup=group.group_id), len(group.members)))


def group_metrics(shards: "list[GroupShard]", replicas: ReplicaManager) -> Pieces:
    sums = _Sums()
    rows: list[_Row] = []
    steps = 0
    for shard in shards:
        for group in list(shard.groups.values()):
            sums.add(group)
            found = list(_committed(shard, group.group_id, replicas))
            rows += found
            steps += 1 + len(found)
            if steps >= SLICE:
                steps = 0
                yield PAUSE
    yield from _counts(sums, len(rows))
    yield from family_text(MEMBERS, sums.members)
    yield from family_text(COMMITTED, ((row.labels, row.offset) for row in rows))
    yield from family_text(LAG, (None if row.lag is None else (row.labels, row.lag) for row in rows))


def _counts(sums: _Sums, offset_count: int) -> Pieces:
    yield from single(CLASSIC_GROUPS, sums.by_type[GroupType.CLASSIC])
    yield from single(OFFSETS, offset_count)
    for state, family in BY_CLASSIC_STATE.items():
        yield from single(family, sums.by_state[GroupType.CLASSIC, state])
    types = [(labels(protocol=one.value.lower()), sums.by_type[one]) for one in GroupType]
    yield from family_text(GROUPS, types)
    states = [(labels(state=state), sums.by_state[GroupType.CONSUMER, state]) for state in CONSUMER_STATES]
    yield from family_text(CONSUMER_GROUPS, states)


def _committed(shard: "GroupShard", group_id: str, replicas: ReplicaManager) -> Iterator[_Row]:
    prefix = labels(consumergroup=group_id)
    for topic, partitions in shard.committed_offsets(group_id).items():
        topic_labels = f'{prefix},topic="{escaped(topic)}"'
        for index, committed in partitions.items():
            partition = replicas.find(topic, index)
            lag = None if partition is None else max(partition.log.high_watermark - committed.offset, 0)
            yield _Row(f'{topic_labels},partition="{index}"', committed.offset, lag)
