"""Brokers of a cluster: registered once, unfenced when caught up, shut down in a controlled way."""

import pytest
from tests.metadata.cluster import introduction
from tests.metadata.controller.several import Cluster

from gralha.metadata.controller.brokers import register_broker, register_controller, unregister_broker
from gralha.metadata.controller.heartbeats import heartbeat
from gralha.metadata.image import NO_LEADER, ControllerRegistration
from gralha.protocol.errors import (
    BrokerIdNotRegisteredError,
    DuplicateBrokerRegistrationError,
    InvalidRegistrationError,
    StaleBrokerEpochError,
)
from gralha.protocol.messages.broker_heartbeat import BrokerHeartbeatRequest
from gralha.protocol.messages.topic_records import PartitionChangeRecord

NEXT_PROCESS = b"n" * 16


def beat(cluster, broker_id, offset=None, epoch=None, **wishes):
    """Is it fenced, and should it shut down?"""
    epoch = cluster.epoch(broker_id) if epoch is None else epoch
    offset = cluster.image.offset if offset is None else offset
    cluster.context.liveness.touch(broker_id, epoch, 0, offset)
    request = BrokerHeartbeatRequest(
        broker_id=broker_id, broker_epoch=epoch, current_metadata_offset=offset, **wishes
    )
    response = cluster.take(heartbeat(cluster.image, request, cluster.context))
    return response.is_fenced, response.should_shut_down


# Registration


def test_another_process_is_refused_while_one_lives():
    cluster = Cluster(2)
    cluster.context.liveness.touch(1, cluster.epoch(1), 0)
    other = introduction(1)._replace(incarnation_id=NEXT_PROCESS)
    with pytest.raises(DuplicateBrokerRegistrationError):
        register_broker(cluster.image, other, cluster.context, now_ms=9000)
    register_broker(cluster.image, introduction(1), cluster.context, now_ms=9000)
    register_broker(cluster.image, other, cluster.context, now_ms=9001)
    cluster.context.liveness.disconnected(1)
    register_broker(cluster.image, other, cluster.context, now_ms=11)


def test_a_new_process_leaves_leadership_and_isr_to_others():
    cluster = Cluster(3, [1, 2, 3])
    cluster.create("u", [1])
    cluster.restart(1, clean=True)
    assert cluster.image.brokers[1].fenced
    assert (cluster.partition(0).leader, cluster.partition(0).isr) == (2, (2, 3))
    alone = cluster.partition(0, "u")
    assert (alone.leader, alone.eligible_leader_replicas) == (NO_LEADER, (1,))
    assert beat(cluster, 1) == (False, False)
    alone = cluster.partition(0, "u")
    assert (alone.leader, alone.leader_recovery_state) == (1, 0)


def test_a_broker_must_say_which_metadata_it_understands():
    broker = introduction(2)._replace(features={"group.version": (0, 1)})
    with pytest.raises(InvalidRegistrationError):
        register_broker(Cluster(1).image, broker, Cluster(1).context)


def test_who_was_unregistered_registers_as_a_stranger():
    cluster = Cluster(3, [1, 2, 3], min_insync_replicas="3")
    cluster.create("u", [1])
    epoch = cluster.epoch(1)
    cluster.take(unregister_broker(cluster.image, 1, cluster.context))
    assert 1 not in cluster.image.brokers
    assert cluster.partition(0).leader == 2
    assert cluster.partition(0).eligible_leader_replicas == (1,)
    with pytest.raises(BrokerIdNotRegisteredError):
        unregister_broker(cluster.image, 1, cluster.context)
    again = introduction(1)._replace(incarnation_id=NEXT_PROCESS, previous_epoch=epoch)
    cluster.take(register_broker(cluster.image, again, cluster.context))
    assert cluster.partition(0).eligible_leader_replicas == ()
    assert cluster.partition(0, "u").last_known_elr == (1,)


def test_a_controller_registers_and_says_nothing_new_twice():
    cluster = Cluster(1)
    controller = ControllerRegistration(
        7, b"i" * 16, introduction(7).endpoints, {"metadata.version": (30, 30)}
    )
    cluster.take(register_controller(cluster.image, controller))
    assert cluster.image.controllers[7] == controller
    assert register_controller(cluster.image, controller).records == []


# Heartbeats


def test_a_broker_is_unfenced_when_it_has_caught_up_with_its_registration():
    cluster = Cluster(2, [1, 2])
    epoch = cluster.restart(2, clean=True)
    assert beat(cluster, 2, offset=epoch - 1) == (True, False)
    assert beat(cluster, 2, offset=epoch, want_fence=True) == (True, False)
    assert beat(cluster, 2, offset=epoch) == (False, False)
    assert not cluster.image.brokers[2].fenced
    assert (
        heartbeat(
            cluster.image, BrokerHeartbeatRequest(broker_id=2, broker_epoch=epoch), cluster.context
        ).records
        == []
    )


def test_heartbeats_of_former_processes_and_strangers_are_refused():
    cluster = Cluster(2)
    with pytest.raises(StaleBrokerEpochError):
        beat(cluster, 1, epoch=cluster.epoch(1) - 1)
    with pytest.raises(StaleBrokerEpochError):
        beat(cluster, 9, epoch=3)


def test_a_broker_may_ask_to_be_fenced():
    cluster = Cluster(2, [1, 2])
    assert beat(cluster, 1, want_fence=True) == (True, False)
    assert cluster.partition().leader == 2
    assert beat(cluster, 1) == (False, False)


def test_a_controlled_shutdown_moves_leaders_and_waits_for_all_to_know():
    cluster = Cluster(3, [1, 2, 3], [2, 3, 1])
    for broker_id in (2, 3):
        beat(cluster, broker_id)
    before = cluster.image.offset
    assert beat(cluster, 1, want_shut_down=True) == (False, False)
    assert cluster.image.brokers[1].in_controlled_shutdown
    assert [cluster.partition(index).leader for index in (0, 1)] == [2, 2]
    assert [cluster.partition(index).isr for index in (0, 1)] == [(2, 3), (2, 3)]
    assert beat(cluster, 1, want_shut_down=True) == (False, False)
    beat(cluster, 2)
    beat(cluster, 3, offset=before)
    assert beat(cluster, 1, want_shut_down=True) == (False, False)
    beat(cluster, 3)
    assert beat(cluster, 1, want_shut_down=True) == (True, True)
    assert cluster.image.brokers[1].fenced
    assert beat(cluster, 1, want_shut_down=True) == (True, True)
    # Only a new process comes back.
    assert beat(cluster, 1) == (True, False)
    cluster.restart(1, clean=True)
    assert beat(cluster, 1) == (False, False)
    assert not cluster.image.brokers[1].in_controlled_shutdown


def test_who_leads_nothing_may_go_at_once():
    cluster = Cluster(3, [1, 2, 3])
    assert beat(cluster, 3, want_shut_down=True) == (True, True)
    assert cluster.partition().isr == (1, 2)


def test_who_is_in_a_hurry_is_fenced_and_may_go():
    cluster = Cluster(3, [1, 2, 3])
    assert beat(cluster, 1, want_shut_down=True, want_fence=True) == (True, True)
    assert cluster.partition().leader == 2


def test_a_new_controller_lets_a_broker_go_when_all_know_what_it_knows():
    cluster = Cluster(3, [1, 2, 3])
    beat(cluster, 1, want_shut_down=True)
    cluster.context.liveness.begin(cluster.image.brokers, 0)
    assert beat(cluster, 1, want_shut_down=True) == (False, False)
    beat(cluster, 2)
    beat(cluster, 3)
    assert beat(cluster, 1, want_shut_down=True) == (True, True)


def test_the_only_broker_goes_and_leaves_everything_as_it_is():
    cluster = Cluster(1, [1])
    before = cluster.image
    assert beat(cluster, 1, want_shut_down=True) == (False, True)
    assert cluster.image == before
    cluster.restart(1, clean=True)
    assert cluster.image.topics == before.topics


def test_folders_that_fail_cost_their_partitions():
    cluster = Cluster(2)
    folders = (b"a" * 16, b"b" * 16)
    both = introduction(1)._replace(log_dirs=folders)
    cluster.take(register_broker(cluster.image, both, cluster.context))
    cluster.create("t", [1, 2], [1, 2])
    place(cluster, 0, folders[0])
    place(cluster, 1, folders[1])
    beat(cluster, 1, offline_log_dirs=[folders[0]])
    assert cluster.image.brokers[1].log_dirs == (folders[1],)
    assert [cluster.partition(index).leader for index in (0, 1)] == [2, 1]
    beat(cluster, 1, cordoned_log_dirs=[folders[1]])
    assert cluster.image.brokers[1].cordoned_log_dirs == (folders[1],)


def place(cluster, index, folder):
    topic = cluster.image.topic("t")
    directories = [folder, topic.partitions[index].directories[1]]
    cluster.apply([PartitionChangeRecord(topic_id=topic.id, partition_id=index, directories=directories)])
