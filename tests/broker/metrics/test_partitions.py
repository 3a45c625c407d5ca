"""The metrics of partitions, from a broker of real parts."""

import pytest

from gralha.broker.metrics.exposition import SLICE
from gralha.broker.metrics.partitions import partition_metrics
from gralha.broker.metrics.topics import topic_metrics
from gralha.metadata.image import NO_LEADER
from tests.broker.handlers.door import append, create_topic, make_broker
from tests.scrape import parse


@pytest.fixture
def broker(tmp_path):
    return make_broker(tmp_path)


def scraped(broker):
    pieces = [*partition_metrics(broker.replicas, broker.image, 1), *topic_metrics(broker.replicas)]
    return pieces, parse("".join(pieces))


async def test_many_partitions_come_in_short_pieces(broker):
    await create_topic(broker, "a", partitions=3 * SLICE)
    pieces, found = scraped(broker)
    assert max(piece.count("\n") for piece in pieces) <= SLICE + 2
    assert found.value("kafka_server_replicamanager_partitioncount") == 3 * SLICE
    assert found.value("kafka_server_replicamanager_leadercount") == 3 * SLICE
    assert found.sum("kafka_cluster_partition_replicascount", topic="a") == 3 * SLICE


async def test_a_partition_without_a_leader_is_not_counted_as_one(broker):
    await create_topic(broker, "a")
    partition = broker.replicas.find("a", 0)
    partition.change_leader(NO_LEADER, partition.leader_epoch + 1, [1], [1])
    _, found = scraped(broker)
    assert found.value("kafka_server_replicamanager_partitioncount") == 1
    assert found.value("kafka_server_replicamanager_leadercount") == 0
    assert "kafka_cluster_partition_replicascount{" not in found.text


@pytest.mark.parametrize(
    ("in_sync", "under_replicated", "under_min", "at_min"),
    [([1, 2, 3], 0, 0, 0), ([1, 2], 1, 0, 1), ([1], 1, 1, 0)],
)
async def test_replicas_that_are_missing_show(broker, in_sync, under_replicated, under_min, at_min):
    await create_topic(broker, "a", min_insync_replicas=2)
    partition = broker.replicas.find("a", 0)
    partition.change_leader(1, partition.leader_epoch, [1, 2, 3], in_sync)
    _, found = scraped(broker)
    for name, value in (
        ("underreplicatedpartitions", under_replicated),
        ("underminisrpartitioncount", under_min),
        ("atminisrpartitioncount", at_min),
    ):
        assert found.value(f"kafka_server_replicamanager_{name}") == value
    labels = {"topic": "a", "partition": "0"}
    assert found.value("kafka_cluster_partition_underreplicated", **labels) == under_replicated
    assert found.value("kafka_cluster_partition_underminisr", **labels) == under_min
    assert found.value("kafka_cluster_partition_atminisr", **labels) == at_min
    assert found.value("kafka_cluster_partition_insyncreplicascount", **labels) == len(in_sync)


async def test_an_open_transaction_holds_readers_of_committed_records_back(broker):
    await create_topic(broker, "a")
    append(broker, "a", 1)
    append(broker, "a", 2, 3, producer_id=5, producer_epoch=0, base_sequence=0, transactional=True)
    _, found = scraped(broker)
    labels = {"topic": "a", "partition": "0"}
    assert found.value("kafka_cluster_partition_laststableoffsetlag", **labels) == 2


async def test_a_follower_lags_behind_the_leader_and_may_fail(broker):
    await create_topic(broker, "a")
    append(broker, "a", 1, 2, 3)
    partition = broker.replicas.find("a", 0)
    partition.change_leader(2, partition.leader_epoch + 1, [1, 2], [1, 2])
    partition.following.append(None, 10, 0, 0)
    partition.following.has_failed = True
    partition.counters.failed_follower_appends += 1
    _, found = scraped(broker)
    labels = {"topic": "a", "partition": "0", "clientId": "ReplicaFetcherThread-0-2"}
    assert found.value("kafka_server_fetcherlagmetrics_consumerlag", **labels) == 7
    assert found.value("kafka_server_replicafetchermanager_maxlag", clientId="Replica") == 7
    assert found.value("kafka_server_replicafetchermanager_failedpartitionscount", clientId="Replica") == 1
    assert found.value("gralha_replica_failed_appends_total") == 1
