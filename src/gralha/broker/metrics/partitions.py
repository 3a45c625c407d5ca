"""The partitions of a broker: Kafka's ReplicaManager, Partition, Log and fetcher metrics."""

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from gralha.broker.metrics.exposition import (
    PAUSE,
    SLICE,
    Family,
    Pieces,
    Sample,
    family_text,
    gauge,
    labels,
    single,
)
from gralha.metadata.image import MetadataImage
from gralha.replication.leading import Leading
from gralha.replication.manager import ReplicaManager
from gralha.replication.partition import Partition

_MANAGER: Final = "kafka_server_replicamanager"
PARTITIONS: Final = gauge(f"{_MANAGER}_partitioncount", "Partitions with a replica on this broker.")
LEADERS: Final = gauge(f"{_MANAGER}_leadercount", "Partitions that this broker leads.")
OFFLINE: Final = gauge(f"{_MANAGER}_offlinereplicacount", "Replicas here whose records are damaged.")
UNDER_REPLICATED: Final = gauge(
    f"{_MANAGER}_underreplicatedpartitions", "Partitions led here of which a replica is not in sync."
)
UNDER_MIN_ISR: Final = gauge(
    f"{_MANAGER}_underminisrpartitioncount", "Partitions led here with fewer than min.insync.replicas."
)
AT_MIN_ISR: Final = gauge(
    f"{_MANAGER}_atminisrpartitioncount", "Partitions led here with exactly min.insync.replicas."
)
REASSIGNING: Final = gauge(f"{_MANAGER}_reassigningpartitions", "Partitions led here that are being moved.")
PRODUCER_IDS: Final = gauge(f"{_MANAGER}_produceridcount", "Producer ids in the state of all partitions.")
FETCHER_MAX_LAG: Final = gauge(
    "kafka_server_replicafetchermanager_maxlag", "The largest lag of a follower here."
)
FETCHER_FAILED: Final = gauge(
    "kafka_server_replicafetchermanager_failedpartitionscount",
    "Followers here that cannot append what their leader sends.",
)
REPLICA_CLIENT: Final = labels(clientId="Replica")


class Row(NamedTuple):
    """A partition and its labels, which many families share."""

    partition: Partition
    labels: str


class _PerPartition(NamedTuple):
    family: Family
    value: Callable[[Partition], int]


class _PerLeader(NamedTuple):
    family: Family
    value: Callable[[Leading], int]


PER_PARTITION: Final = [
    _PerPartition(gauge("kafka_log_log_size", "Bytes of a log."), lambda one: one.log.size_bytes()),
    _PerPartition(
        gauge("kafka_log_log_logstartoffset", "The first offset of a log."),
        lambda one: one.log.log_start_offset,
    ),
    _PerPartition(
        gauge("kafka_log_log_logendoffset", "The offset of the next record of a log."),
        lambda one: one.log.log_end_offset,
    ),
    _PerPartition(
        gauge("kafka_log_log_numlogsegments", "Segments of a log."), lambda one: len(one.log.segments)
    ),
    _PerPartition(
        gauge("gralha_log_high_watermark", "The offset up to which consumers may read."),
        lambda one: one.log.high_watermark,
    ),
]
PER_LEADER: Final = [
    _PerLeader(
        gauge("kafka_cluster_partition_replicascount", "Replicas of a partition."),
        lambda one: len(one.partition.replicas),
    ),
    _PerLeader(
        gauge("kafka_cluster_partition_insyncreplicascount", "In-sync replicas of a partition."),
        lambda one: len(one.partition.in_sync_replicas),
    ),
    _PerLeader(
        gauge("kafka_cluster_partition_underreplicated", "1 if a replica is not in sync."),
        lambda one: int(one.is_under_replicated()),
    ),
    _PerLeader(
        gauge("kafka_cluster_partition_underminisr", "1 if fewer than min.insync.replicas are in sync."),
        lambda one: int(_spare(one) < 0),
    ),
    _PerLeader(
        gauge("kafka_cluster_partition_atminisr", "1 if exactly min.insync.replicas are in sync."),
        lambda one: int(_spare(one) == 0),
    ),
    _PerLeader(
        gauge(
            "kafka_cluster_partition_laststableoffsetlag",
            "Offsets between the last stable offset and the high watermark.",
        ),
        lambda one: one.partition.log.high_watermark - one.partition.log.last_stable_offset(),
    ),
]
FOLLOWER_LAG: Final = gauge(
    "kafka_server_fetcherlagmetrics_consumerlag",
    "Offsets below the leader's high watermark that a follower here lacks.",
)


def _spare(leading: Leading) -> int:
    """How many in-sync replicas there are above the minimum."""
    return len(leading.partition.in_sync_replicas) - leading.min_in_sync_replicas()


class _Sums:
    """The numbers of the broker."""

    def __init__(self) -> None:
        self.leaders = 0
        self.under_replicated = 0
        self.under_min_isr = 0
        self.at_min_isr = 0
        self.producer_ids = 0
        self.max_lag = 0
        self.failed = 0

    def add(self, partition: Partition) -> None:
        self.producer_ids += len(partition.log.producers.producers)
        if partition.leading is not None:
            self.leaders += 1
            self.under_replicated += partition.leading.is_under_replicated()
            spare = _spare(partition.leading)
            self.under_min_isr += spare < 0
            self.at_min_isr += spare == 0
        elif partition.following is not None:
            self.max_lag = max(self.max_lag, partition.following.lag())
            self.failed += partition.following.has_failed


def partition_metrics(replicas: ReplicaManager, image: MetadataImage, broker_id: int) -> Pieces:
    rows: list[Row] = []
    sums = _Sums()
    for topic, partitions in list(replicas.by_name.items()):
        for index, partition in list(partitions.items()):
            rows.append(Row(partition, labels(topic=topic, partition=index)))
            sums.add(partition)
            if len(rows) % SLICE == 0:
                yield PAUSE
    offline = replicas.offline_count
    yield from single(PARTITIONS, len(rows) + offline)
    yield from single(LEADERS, sums.leaders)
    yield from single(OFFLINE, offline)
    yield from single(UNDER_REPLICATED, sums.under_replicated)
    yield from single(UNDER_MIN_ISR, sums.under_min_isr)
    yield from single(AT_MIN_ISR, sums.at_min_isr)
    yield from single(PRODUCER_IDS, sums.producer_ids)
    yield from _reassigning(image, broker_id)
    yield from family_text(FETCHER_MAX_LAG, [(REPLICA_CLIENT, sums.max_lag)])
    yield from family_text(FETCHER_FAILED, [(REPLICA_CLIENT, sums.failed)])
    for family, value in PER_PARTITION:
        yield from family_text(family, ((row.labels, value(row.partition)) for row in rows))
    for family, leaders_value in PER_LEADER:
        yield from family_text(family, _of_leaders(rows, leaders_value))
    yield from family_text(FOLLOWER_LAG, _lags(rows))


def _reassigning(image: MetadataImage, broker_id: int) -> Pieces:
    count = steps = 0
    for topic in image.topics.values():
        for partition in topic.partitions.values():
            if partition.leader == broker_id and (partition.adding_replicas or partition.removing_replicas):
                count += 1
            steps += 1
            if steps % (4 * SLICE) == 0:
                yield PAUSE
    yield from single(REASSIGNING, count)


def _of_leaders(rows: list[Row], value: Callable[[Leading], int]) -> Iterator[Sample]:
    for row in rows:
        leading = row.partition.leading
        yield None if leading is None else (row.labels, value(leading))


def _lags(rows: list[Row]) -> Iterator[Sample]:
    for row in rows:
        following = row.partition.following
        if following is None:
            yield None
        else:
            client = labels(clientId=f"ReplicaFetcherThread-0-{row.partition.leader_id}")
            yield f"{client},{row.labels}", following.lag()
