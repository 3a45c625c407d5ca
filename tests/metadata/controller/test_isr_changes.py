"""AlterPartition: which proposals are accepted, and their effects."""

import pytest
from tests.metadata.controller.several import Cluster

from gralha.metadata.controller.isr_changes import alter_partition
from gralha.protocol.errors import ErrorCode, StaleBrokerEpochError
from gralha.protocol.messages.topic_records import PartitionChangeRecord


def refused(cluster, *isr, **others):
    before = cluster.image
    code = cluster.alter_isr(*isr, **others).error_code
    assert cluster.image.topics == before.topics
    return ErrorCode(code).name


def test_a_leader_drops_a_follower_and_takes_it_in_again():
    cluster = Cluster(3, [1, 2, 3], min_insync_replicas="2")
    answer = cluster.alter_isr(1)
    assert (answer.isr, answer.leader_id, answer.leader_epoch, answer.partition_epoch) == ([1], 1, 0, 1)
    assert cluster.partition().eligible_leader_replicas == (2, 3)
    answer = cluster.alter_isr(1, 3)
    assert (answer.isr, answer.partition_epoch, answer.leader_epoch) == ([1, 3], 2, 0)
    assert cluster.partition().eligible_leader_replicas == ()


def test_what_is_so_already_changes_nothing():
    cluster = Cluster(3, [1, 2, 3])
    answer = cluster.alter_isr(1, 2, 3)
    assert (answer.error_code, answer.partition_epoch) == (0, 0)


def test_the_leader_must_know_the_newest_state():
    cluster = Cluster(3, [1, 2, 3])
    cluster.alter_isr(1, 2)
    assert refused(cluster, 1, 2, 3, partition_epoch=0) == "INVALID_UPDATE_VERSION"
    assert refused(cluster, 1, 2, 3, partition_epoch=2) == "NOT_CONTROLLER"
    assert refused(cluster, 1, 2, 3, leader_epoch=1) == "NOT_CONTROLLER"
    cluster.fence(1)
    cluster.unfence(1)
    assert refused(cluster, 1, 2, leader_epoch=0) == "FENCED_LEADER_EPOCH"
    assert refused(cluster, 1, 2, broker_id=1) == "INVALID_REQUEST"


def test_what_does_not_exist_is_told():
    cluster = Cluster(3, [1, 2, 3])
    request = cluster.isr_request(1)
    request.topics[0].topic_id = b"?" * 16
    response = alter_partition(cluster.image, request, cluster.context, 3).response
    assert response.topics[0].partitions[0].error_code == ErrorCode.UNKNOWN_TOPIC_ID
    request = cluster.isr_request(1)
    request.topics[0].partitions[0].partition_index = 7
    response = alter_partition(cluster.image, request, cluster.context, 3).response
    assert response.topics[0].partitions[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


@pytest.mark.parametrize("isr", [(2, 3), (1, 1), (1, 4), ()])
def test_an_isr_is_of_replicas_with_the_leader_among_them(isr):
    assert refused(Cluster(4, [1, 2, 3]), *isr) == "INVALID_REQUEST"


def test_who_is_fenced_or_shuts_down_or_is_another_process_stays_out():
    cluster = Cluster(3, [1, 2, 3])
    seen = cluster.epoch(2)
    cluster.fence(2)
    assert refused(cluster, 1, 2, 3) == "INELIGIBLE_REPLICA"
    cluster.restart(2, clean=True)
    cluster.unfence(2)
    assert refused(cluster, 1, (2, seen), 3) == "INELIGIBLE_REPLICA"
    assert cluster.alter_isr(1, 2, 3).error_code == 0


def test_before_version_3_epochs_are_not_known():
    cluster = Cluster(3, [1, 2, 3])
    cluster.fence(2)
    cluster.unfence(2)
    answer = cluster.alter_isr(1, (2, 99), 3, version=2)
    assert (answer.error_code, answer.isr) == (0, [1, 2, 3])


def test_a_stale_leader_is_refused_as_a_whole():
    cluster = Cluster(3, [1, 2, 3])
    request = cluster.isr_request(1)
    request.broker_epoch += 1
    with pytest.raises(StaleBrokerEpochError):
        alter_partition(cluster.image, request, cluster.context, 3)


def test_recovery_is_done_alone_and_once():
    cluster = Cluster(3, [1, 2, 3])
    assert refused(cluster, 1, leader_recovery_state=1) == "INVALID_REQUEST"
    recovering = PartitionChangeRecord(
        topic_id=cluster.image.topics["t"].id, partition_id=0, isr=[1], leader_recovery_state=1
    )
    cluster.apply([recovering])
    assert refused(cluster, 1, 2, leader_recovery_state=1) == "INVALID_REQUEST"
    assert refused(cluster, 1, leader_recovery_state=9) == "INVALID_REQUEST"
    answer = cluster.alter_isr(1, 2)
    assert (answer.error_code, answer.leader_recovery_state) == (0, 0)
    assert cluster.partition().leader_recovery_state == 0


def test_a_second_change_of_a_partition_in_one_request_is_refused():
    cluster = Cluster(3, [1, 2, 3])
    request = cluster.isr_request(1, 2)
    request.topics[0].partitions *= 2
    decision = alter_partition(cluster.image, request, cluster.context, 3)
    codes = [one.error_code for one in decision.response.topics[0].partitions]
    assert codes == [0, ErrorCode.INVALID_UPDATE_VERSION]
    assert len(decision.records) == 1
