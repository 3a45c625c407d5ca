"""Reassignments: begun, completed by the ISR, cancelled, replaced, listed."""

from tests.metadata.controller.several import Cluster

from gralha.metadata.controller.reassignments import (
    alter_partition_reassignments,
    list_partition_reassignments,
)
from gralha.protocol.errors import ErrorCode
from gralha.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from gralha.protocol.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsTopics,
)


def move(cluster, replicas, index=0, topic="t", may_change_factor=True):
    request = AlterPartitionReassignmentsRequest(
        allow_replication_factor_change=may_change_factor,
        topics=[ReassignableTopic(topic, [ReassignablePartition(index, replicas)])],
    )
    response = cluster.take(alter_partition_reassignments(cluster.image, request, cluster.context))
    assert response.allow_replication_factor_change is may_change_factor
    (result,) = response.responses[0].partitions
    without_a_message = (ErrorCode.NONE, ErrorCode.NO_REASSIGNMENT_IN_PROGRESS)
    assert (result.error_message is None) == (result.error_code in without_a_message)
    return ErrorCode(result.error_code).name


def assignment(cluster):
    partition = cluster.partition()
    return partition.replicas, partition.adding_replicas, partition.removing_replicas


def test_a_move_adds_first_and_removes_when_the_new_ones_are_in_sync():
    cluster = Cluster(5, [1, 2, 3])
    assert move(cluster, [4, 5, 3]) == "NONE"
    assert assignment(cluster) == ((4, 5, 3, 1, 2), (4, 5), (1, 2))
    assert len(cluster.partition().directories) == 5
    assert (cluster.partition().leader, cluster.partition().leader_epoch) == (1, 0)
    answer = cluster.alter_isr(1, 2, 3, 4)
    assert answer.error_code == 0
    assert assignment(cluster)[2] == (1, 2)
    answer = cluster.alter_isr(1, 2, 3, 4, 5)
    assert answer.error_code == ErrorCode.NEW_LEADER_ELECTED
    assert assignment(cluster) == ((4, 5, 3), (), ())
    assert cluster.partition().isr == (3, 4, 5)
    assert (cluster.partition().leader, cluster.partition().leader_epoch) == (4, 1)


def test_a_leader_that_stays_begins_a_new_epoch_when_the_others_have_gone():
    cluster = Cluster(3, [1, 2])
    move(cluster, [1, 3])
    answer = cluster.alter_isr(1, 2, 3)
    assert (answer.error_code, answer.leader_id, answer.leader_epoch, answer.isr) == (0, 1, 1, [1, 3])


def test_fewer_replicas_of_those_in_sync_is_done_at_once():
    cluster = Cluster(3, [1, 2, 3])
    assert move(cluster, [2, 3]) == "NONE"
    assert assignment(cluster) == ((2, 3), (), ())
    assert cluster.partition().leader == 2


def test_another_order_is_done_at_once_and_keeps_the_leader():
    cluster = Cluster(3, [1, 2, 3])
    assert move(cluster, [3, 2, 1]) == "NONE"
    assert assignment(cluster) == ((3, 2, 1), (), ())
    assert (cluster.partition().leader, cluster.partition().leader_epoch) == (1, 0)


def test_a_move_called_off_leaves_things_as_they_were():
    cluster = Cluster(5, [1, 2, 3])
    assert move(cluster, None) == "NO_REASSIGNMENT_IN_PROGRESS"
    move(cluster, [4, 5, 3])
    cluster.alter_isr(1, 2, 3, 4)
    assert move(cluster, None) == "NONE"
    assert assignment(cluster) == ((3, 1, 2), (), ())
    assert cluster.partition().isr == (1, 2, 3)
    assert cluster.partition().leader == 1


def test_a_move_is_not_called_off_when_only_the_new_ones_have_everything():
    for unclean, code in (("false", "INVALID_REPLICA_ASSIGNMENT"), ("true", "NONE")):
        cluster = Cluster(5, [1, 2], unclean_leader_election_enable=unclean)
        move(cluster, [4, 5])
        cluster.alter_isr(1, 4)
        cluster.fence(1)
        assert cluster.partition().isr == (4,)
        assert move(cluster, None) == code
        if unclean == "true":
            partition = cluster.partition()
            assert (partition.replicas, partition.isr, partition.leader) == ((1, 2), (2,), 2)
            assert partition.leader_recovery_state == 1


def test_another_move_takes_the_place_of_one_under_way():
    cluster = Cluster(6, [1, 2, 3])
    move(cluster, [4, 5, 6])
    cluster.alter_isr(1, 2, 3, 6)
    assert move(cluster, [4, 5, 1]) == "NONE"
    assert assignment(cluster) == ((4, 5, 1, 2, 3), (4, 5), (2, 3))
    assert cluster.partition().isr == (1, 2, 3)
    cluster.alter_isr(1, 2, 3, 4, 5)
    assert assignment(cluster) == ((4, 5, 1), (), ())


def test_a_move_to_fewer_of_those_under_way_comes_to_an_end():
    cluster = Cluster(6, [1, 2, 3])
    move(cluster, [4, 5, 6])
    move(cluster, [4, 5])
    assert assignment(cluster) == ((4, 5, 1, 2, 3), (4, 5), (1, 2, 3))
    cluster.alter_isr(1, 4, 5)
    assert assignment(cluster) == ((4, 5), (), ())


def test_the_only_one_in_sync_stays_until_the_next_have_caught_up():
    cluster = Cluster(4, [1])
    move(cluster, [2])
    cluster.fence(1)
    cluster.unfence(1)
    move(cluster, [3])
    assert set(cluster.partition().isr) <= set(cluster.partition().replicas)
    cluster.alter_isr(1, 3)
    assert assignment(cluster) == ((3,), (), ())


def test_eligible_replicas_of_a_former_move_are_not_let_go_while_nobody_else_has_everything():
    cluster = Cluster(4, [1, 2], min_insync_replicas="2")
    move(cluster, [3, 4])
    cluster.alter_isr(1, 3)
    cluster.fence(1)
    cluster.restart(1, clean=False)
    cluster.fence(3)
    assert (cluster.partition().isr, cluster.partition().eligible_leader_replicas) == ((), (3,))
    move(cluster, [4, 2])
    assert cluster.partition().eligible_leader_replicas == (3,)
    assert 3 in cluster.partition().removing_replicas
    cluster.unfence(3)
    assert cluster.partition().leader == 3


def test_what_is_refused():
    cluster = Cluster(3, [1, 2])
    assert move(cluster, [1], topic="x") == "UNKNOWN_TOPIC_OR_PARTITION"
    assert move(cluster, [1], index=9) == "UNKNOWN_TOPIC_OR_PARTITION"
    assert move(cluster, []) == "INVALID_REPLICA_ASSIGNMENT"
    assert move(cluster, [1, 1]) == "INVALID_REPLICA_ASSIGNMENT"
    assert move(cluster, [1, 9]) == "INVALID_REPLICA_ASSIGNMENT"
    assert move(cluster, [1, 2, 3], may_change_factor=False) == "INVALID_REPLICATION_FACTOR"
    assert move(cluster, [3, 2], may_change_factor=False) == "NONE"
    assert move(cluster, [3, 1], may_change_factor=False) == "NONE"
    request = AlterPartitionReassignmentsRequest(
        topics=[ReassignableTopic("t", [ReassignablePartition(0, [1, 2]), ReassignablePartition(0, [3])])]
    )
    decision = alter_partition_reassignments(cluster.image, request, cluster.context)
    codes = [one.error_code for one in decision.response.responses[0].partitions]
    assert codes == [0, ErrorCode.INVALID_REQUEST]


def listed(cluster, topics):
    response = list_partition_reassignments(cluster.image, ListPartitionReassignmentsRequest(topics=topics))
    return [
        (topic.name, one.partition_index, one.replicas, one.adding_replicas, one.removing_replicas)
        for topic in response.topics
        for one in topic.partitions
    ]


def test_moves_under_way_are_listed():
    cluster = Cluster(4, [1, 2], [2, 3], [3, 4])
    assert listed(cluster, None) == []
    move(cluster, [4, 2], index=2)
    row = ("t", 2, [4, 2, 3], [2], [3])
    assert listed(cluster, None) == [row]
    assert listed(cluster, [ListPartitionReassignmentsTopics("t", [0, 2, 9])]) == [row]
    others = [ListPartitionReassignmentsTopics("t", [0]), ListPartitionReassignmentsTopics("x", [0])]
    assert listed(cluster, others) == []
