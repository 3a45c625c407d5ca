"""UpdateFeatures, and the effect of changed settings on eligible replicas."""

import pytest
from tests.metadata.cluster import introduction
from tests.metadata.controller.several import Cluster

from gralha.metadata.controller.brokers import register_broker
from gralha.metadata.controller.configs import alter_configs, incremental_alter_configs
from gralha.metadata.controller.features import update_features
from gralha.metadata.image import BROKER_RESOURCE, NO_LEADER, TOPIC_RESOURCE
from gralha.protocol.errors import ErrorCode
from gralha.protocol.messages import alter_configs as legacy
from gralha.protocol.messages import incremental_alter_configs as configs
from gralha.protocol.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest

ELIGIBLE = "eligible.leader.replicas.version"
GROUP = "group.version"
TRANSACTION = "transaction.version"
METADATA = "metadata.version"
QUORUM = "kraft.version"


def update(cluster, *updates, validate_only=False, version=2, kraft_version=0):
    """Updates are names, levels and upgrade types."""
    request = UpdateFeaturesRequest(
        feature_updates=[
            FeatureUpdateKey(feature=name, max_version_level=level, upgrade_type=kind)
            for name, level, kind in updates
        ],
        validate_only=validate_only,
    )
    return cluster.take(update_features(cluster.image, request, cluster.context, version, kraft_version))


def code(response):
    assert (response.error_message is None) == (response.error_code == 0)
    return ErrorCode(response.error_code).name


def test_levels_fall_and_rise():
    cluster = Cluster(2)
    assert code(update(cluster, (GROUP, 0, 1))) == "INVALID_UPDATE_VERSION"
    assert code(update(cluster, (GROUP, 0, 2), validate_only=True)) == "NONE"
    assert cluster.image.features[GROUP] == 1
    assert code(update(cluster, (GROUP, 0, 2))) == "NONE"
    assert GROUP not in cluster.image.features
    assert code(update(cluster, (GROUP, 1, 3))) == "INVALID_UPDATE_VERSION"
    assert code(update(cluster, (GROUP, 1, 1))) == "NONE"
    assert cluster.image.features[GROUP] == 1


def test_the_level_of_the_quorum_is_checked_and_left_to_the_quorum():
    cluster = Cluster(2)
    before = cluster.image.features
    assert code(update(cluster, (QUORUM, 1, 1))) == "NONE"
    assert code(update(cluster, (QUORUM, 1, 1), kraft_version=1)) == "NONE"
    assert code(update(cluster, (QUORUM, 0, 2), kraft_version=1)) == "INVALID_UPDATE_VERSION"
    assert code(update(cluster, (QUORUM, 2, 1))) == "INVALID_UPDATE_VERSION"
    assert cluster.image.features == before


@pytest.mark.parametrize(
    "change",
    [(METADATA, 29, 2), (METADATA, 31, 1), (GROUP, 2, 1), (GROUP, -1, 2), ("no.such", 1, 1), (GROUP, 1, 9)],
)
def test_what_is_refused(change):
    cluster = Cluster(2)
    before = cluster.image
    assert code(update(cluster, (ELIGIBLE, 0, 2), change)) == "INVALID_UPDATE_VERSION"
    assert cluster.image == before, "all or nothing"


def test_all_features_that_are_missing_are_named():
    response = update(Cluster(2), (GROUP, 1, 1), ("share.version", 1, 1), ("streams.version", 1, 1))
    assert "Invalid update version 1 for feature share.version. Local controller" in response.error_message
    assert response.error_message.endswith("asked for: share.version, streams.version.")


def test_the_level_that_is_so_already_is_no_change():
    cluster = Cluster(2)
    before = cluster.image
    assert code(update(cluster, (METADATA, 30, 1))) == "NONE"
    assert cluster.image == before
    assert code(update(cluster, (GROUP, 1, 1), (GROUP, 0, 2))) == "INVALID_REQUEST"


def test_every_broker_must_support_the_level():
    cluster = Cluster(2)
    update(cluster, (GROUP, 0, 2))
    old = introduction(2)._replace(features={METADATA: (30, 30), ELIGIBLE: (0, 1), TRANSACTION: (0, 2)})
    cluster.take(register_broker(cluster.image, old, cluster.context))
    response = update(cluster, (GROUP, 1, 1))
    assert "Broker 2 does not support this feature" in response.error_message


def test_old_versions_are_answered_for_each_feature():
    response = update(Cluster(1), (GROUP, 0, 1), version=1)
    assert response.error_code == 0
    assert [(one.feature, one.error_code) for one in response.results] == [(GROUP, 95)]
    request = UpdateFeaturesRequest(
        feature_updates=[FeatureUpdateKey(feature=GROUP, max_version_level=0, allow_downgrade=True)]
    )
    cluster = Cluster(1)
    cluster.take(update_features(cluster.image, request, cluster.context, 0, 0))
    assert GROUP not in cluster.image.features


def test_without_eligible_leaders_their_partitions_wait_for_the_same_replicas():
    cluster = Cluster(3, [1, 2, 3], [3, 1, 2], min_insync_replicas="2")
    cluster.fence(3, 2, 1)
    assert cluster.partition(0).isr == ()
    update(cluster, (ELIGIBLE, 0, 2))
    for index in (0, 1):
        partition = cluster.partition(index)
        assert partition.isr == (2, 1)
        assert (partition.eligible_leader_replicas, partition.last_known_elr) == ((), ())
    cluster.unfence(2)
    assert cluster.partition(0).leader == 2


def test_with_eligible_leaders_min_insync_replicas_is_the_clusters():
    cluster = Cluster(2)
    update(cluster, (ELIGIBLE, 0, 2))
    alter(cluster, BROKER_RESOURCE, "1", "2")
    update(cluster, (ELIGIBLE, 1, 1))
    assert cluster.image.default_broker_configs() == {"min.insync.replicas": "1"}
    assert cluster.image.broker_configs(1) == {}
    assert alter(cluster, BROKER_RESOURCE, "1", "2") == "INVALID_CONFIG"
    assert alter(cluster, BROKER_RESOURCE, "", "2") == "NONE"


# min.insync.replicas


def alter(cluster, kind, name, value):
    change = configs.AlterableConfig("min.insync.replicas", 0, value)
    request = configs.IncrementalAlterConfigsRequest(
        resources=[configs.AlterConfigsResource(kind, name, [change])]
    )
    response = cluster.take(incremental_alter_configs(cluster.image, request, cluster.context))
    return ErrorCode(response.responses[0].error_code).name


def fallen():
    """A leader below min.insync.replicas, and a partition without a leader."""
    cluster = Cluster(4, [1, 2], [3, 4], min_insync_replicas="2")
    cluster.create("u", [1, 2], min_insync_replicas="2")
    cluster.fence(2, 4, 3)
    assert cluster.partition(0).eligible_leader_replicas == (2,)
    assert cluster.partition(1).eligible_leader_replicas == (4, 3)
    return cluster


def test_another_minimum_ends_eligibility_where_somebody_leads():
    cluster = fallen()
    epoch = cluster.partition(0).partition_epoch
    alter(cluster, TOPIC_RESOURCE, "t", "1")
    assert cluster.partition(0).eligible_leader_replicas == ()
    assert cluster.partition(0).partition_epoch == epoch + 1
    assert cluster.partition(1).eligible_leader_replicas == (4, 3)
    assert cluster.partition(1).leader == NO_LEADER
    assert cluster.partition(0, "u").eligible_leader_replicas == (2,)
    cluster.unfence(4)
    # One is enough now, so the other is not eligible any more.
    assert (cluster.partition(1).leader, cluster.partition(1).eligible_leader_replicas) == (4, ())


def test_a_minimum_of_the_cluster_ends_it_for_all_topics():
    cluster = fallen()
    alter(cluster, BROKER_RESOURCE, "", "1")
    assert cluster.partition(0).eligible_leader_replicas == ()
    assert cluster.partition(0, "u").eligible_leader_replicas == ()


def test_the_older_call_does_the_same():
    cluster = fallen()
    request = legacy.AlterConfigsRequest(resources=[legacy.AlterConfigsResource(TOPIC_RESOURCE, "t", [])])
    cluster.take(alter_configs(cluster.image, request, cluster.context))
    assert cluster.partition(0).eligible_leader_replicas == ()


def test_leaders_must_hear_of_another_minimum_before_they_change_an_isr():
    cluster = Cluster(3, [1, 2, 3])
    cluster.create("u", [1])
    before = cluster.partition()
    alter(cluster, TOPIC_RESOURCE, "t", "2")
    after = cluster.partition()
    assert after == before._replace(partition_epoch=before.partition_epoch + 1)
    stale = cluster.alter_isr(1, partition_epoch=before.partition_epoch)
    assert stale.error_code == ErrorCode.INVALID_UPDATE_VERSION
    # No replica can be removed from an ISR of one.
    assert cluster.partition(0, "u").partition_epoch == 0
    alter(cluster, BROKER_RESOURCE, "", "2")
    assert cluster.partition(0, "u").partition_epoch == 0
    assert cluster.partition().partition_epoch == after.partition_epoch + 1
