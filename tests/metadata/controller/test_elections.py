"""Leaders, in-sync replicas and eligible replicas: rule by rule (KIP-966)."""

import pytest
from tests.metadata.controller.several import Cluster

from gralha.metadata.controller.elections import Election, PartitionChange, PartitionRules
from gralha.metadata.controller.partition_changes import PartitionChanges
from gralha.metadata.features import BOOTSTRAP_FEATURES, ELIGIBLE_LEADER_REPLICAS_VERSION
from gralha.metadata.image import NO_LEADER, PartitionImage
from gralha.protocol.messages.topic_records import PartitionChangeRecord

WITHOUT_ELIGIBLE = {
    name: level for name, level in BOOTSTRAP_FEATURES.items() if name != ELIGIBLE_LEADER_REPLICAS_VERSION
}


def state(partition):
    return partition.leader, partition.isr, partition.eligible_leader_replicas


def test_the_first_replica_in_sync_leads_after_the_leader():
    cluster = Cluster(3, [2, 3, 1])
    cluster.fence(2)
    assert state(cluster.partition()) == (3, (3, 1), ())
    assert (cluster.partition().leader_epoch, cluster.partition().partition_epoch) == (1, 1)


def test_a_follower_that_leaves_starts_no_new_leader_epoch():
    cluster = Cluster(3, [2, 3, 1])
    cluster.fence(3)
    assert state(cluster.partition()) == (2, (2, 1), ())
    assert (cluster.partition().leader_epoch, cluster.partition().partition_epoch) == (0, 1)


def test_below_min_insync_replicas_those_who_leave_are_eligible():
    cluster = Cluster(3, [1, 2, 3], min_insync_replicas="2")
    cluster.fence(3)
    assert state(cluster.partition()) == (1, (1, 2), ())
    cluster.fence(2)
    assert state(cluster.partition()) == (1, (1,), (2,))
    cluster.fence(1)
    assert state(cluster.partition()) == (NO_LEADER, (), (2, 1))
    assert cluster.partition().last_known_elr == (1,)


def test_an_eligible_replica_leads_alone_and_the_others_stay_eligible():
    cluster = Cluster(3, [1, 2, 3], min_insync_replicas="2")
    cluster.fence(3, 2, 1)
    cluster.unfence(3)
    assert cluster.partition().leader == NO_LEADER
    cluster.unfence(2)
    assert state(cluster.partition()) == (2, (2,), (1,))
    assert cluster.partition().leader_recovery_state == 0
    assert cluster.partition().last_known_elr == ()


def test_min_insync_replicas_counts_at_most_as_many_as_there_are():
    cluster = Cluster(2, [1, 2], min_insync_replicas="3")
    cluster.fence(2)
    assert state(cluster.partition()) == (1, (1,), (2,))


def test_who_crashed_is_not_eligible_and_who_stopped_cleanly_is():
    cluster = Cluster(3, [1, 2, 3], min_insync_replicas="3")
    cluster.fence(3, 2, 1)
    assert cluster.partition().eligible_leader_replicas == (3, 2, 1)
    cluster.restart(3, clean=False)
    cluster.restart(2, clean=True)
    assert cluster.partition().eligible_leader_replicas == (2, 1)
    cluster.unfence(3)
    assert cluster.partition().leader == NO_LEADER
    cluster.unfence(2)
    assert cluster.partition().leader == 2


def test_when_all_have_crashed_the_last_leader_leads_again_and_recovers():
    cluster = Cluster(2, [1, 2])
    cluster.fence(2, 1)
    assert state(cluster.partition()) == (NO_LEADER, (), (1,))
    cluster.restart(1, clean=False)
    assert state(cluster.partition()) == (NO_LEADER, (), ())
    cluster.unfence(2)
    assert cluster.partition().leader == NO_LEADER
    cluster.unfence(1)
    assert state(cluster.partition()) == (1, (1,), ())
    assert cluster.partition().leader_recovery_state == 1
    assert cluster.partition().last_known_elr == ()


def test_an_unclean_election_only_where_the_topic_allows_it():
    for allowed in (False, True):
        cluster = Cluster(3, [1, 2], unclean_leader_election_enable=str(allowed).lower())
        cluster.fence(2)
        cluster.fence(1)
        cluster.unfence(2)
        partition = cluster.partition()
        if allowed:
            assert (partition.leader, partition.isr, partition.leader_recovery_state) == (2, (2,), 1)
            assert partition.eligible_leader_replicas == ()
        else:
            assert partition.leader == NO_LEADER


def test_without_the_feature_the_last_in_sync_is_waited_for():
    cluster = Cluster(3, [1, 2], min_insync_replicas="2", features=WITHOUT_ELIGIBLE)
    cluster.fence(2, 1)
    partition = cluster.partition()
    assert state(partition) == (NO_LEADER, (1,), ())
    assert partition.last_known_elr == ()
    cluster.unfence(2)
    assert cluster.partition().leader == NO_LEADER
    cluster.unfence(1)
    assert state(cluster.partition()) == (1, (1,), ())


def test_a_folder_that_the_broker_does_not_have_is_no_place_to_lead_from():
    cluster = Cluster(3, [1, 2])
    record = PartitionChangeRecord(
        topic_id=cluster.image.topics["t"].id,
        partition_id=0,
        directories=[cluster.partition().directories[0], b"?" * 16],
    )
    cluster.apply([record])
    cluster.fence(1)
    assert cluster.partition().leader == NO_LEADER


def test_replicas_that_leave_begin_a_leader_epoch():
    cluster = Cluster(3, [1, 2, 3])
    change = PartitionChanges(cluster.image, cluster.context).change(cluster.image.topics["t"], 0)
    change.replicas, change.isr = [1, 2], [1, 2]
    record = change.record()
    assert record is not None
    assert (record.leader, record.replicas, record.isr) == (1, [1, 2], [1, 2])
    assert record.directories is not None
    assert len(record.directories) == 2


def test_nothing_to_change_is_no_record():
    cluster = Cluster(3, [1, 2, 3])
    changes = PartitionChanges(cluster.image, cluster.context)
    for election in Election:
        assert changes.change(cluster.image.topics["t"], 0, election).record() is None


@pytest.mark.parametrize(
    ("partition", "removing", "adding", "done"),
    [
        # replicas and ISR; removed and added replicas; is it complete?
        (((4, 5, 1, 2), (1, 2, 4, 5)), [1, 2], [4, 5], True),
        (((4, 5, 1, 2), (1, 2, 4)), [1, 2], [4, 5], False),
        (((4, 1, 2), (4,)), [1, 2], [4], True),
        # If more replicas leave than come, all remaining ones must be in sync.
        (((4, 3, 1, 2), (1, 4)), [1, 2], [4], False),
        (((4, 3, 1, 2), (3, 4)), [1, 2], [4], True),
        (((1, 2, 3), (3,)), [3], [], False),
    ],
)
def test_a_reassignment_is_over_when_all_that_stay_are_in_sync(partition, removing, adding, done):
    replicas, isr = partition
    image = PartitionImage(
        replicas, isr, isr[0], 3, 5, (b"d" * 16,) * len(replicas), tuple(removing), tuple(adding)
    )
    change = PartitionChange(
        b"t" * 16, 0, image, PartitionRules(1, False, True), lambda _: True, lambda _: b"d" * 16
    )
    record = change.record()
    if not done:
        assert record is None
    else:
        assert record is not None
        assert record.replicas == [one for one in replicas if one not in removing]
        assert (record.removing_replicas, record.adding_replicas or []) == ([], [])
        assert record.leader >= 0
