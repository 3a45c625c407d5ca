"""Sessions of brokers, their ends, and the timed work of the active controller."""

import pytest
from tests.metadata.controller.several import Cluster

from gralha.metadata.controller.active import ActiveController
from gralha.metadata.controller.liveness import SESSION_TIMEOUT_MS, Liveness
from gralha.metadata.image import NO_LEADER, TOPIC_RESOURCE
from gralha.protocol.messages.cluster_records import ConfigRecord


def test_a_session_lasts_as_long_as_the_broker_is_heard_of():
    liveness = Liveness(own_id=100)
    liveness.touch(1, 5, now_ms=0)
    assert liveness.has_session(1, 5, SESSION_TIMEOUT_MS)
    assert not liveness.has_session(1, 6, 0)
    assert not liveness.has_session(2, 5, 0)
    assert liveness.expired(SESSION_TIMEOUT_MS) == []
    assert liveness.expired(SESSION_TIMEOUT_MS + 1) == [1]
    assert not liveness.has_session(1, 5, SESSION_TIMEOUT_MS + 1)
    liveness.touch(1, 5, now_ms=8000)
    assert liveness.expired(SESSION_TIMEOUT_MS + 1) == []


def test_a_lost_connection_ends_no_session_but_lets_a_new_process_register():
    liveness = Liveness(own_id=100)
    liveness.touch(1, 5, now_ms=0)
    liveness.disconnected(1)
    assert liveness.expired(SESSION_TIMEOUT_MS) == []
    assert not liveness.has_session(1, 5, 1001)
    liveness.touch(1, 5, now_ms=1200)
    assert liveness.has_session(1, 5, 1201)


def test_a_dead_process_has_no_session():
    liveness = Liveness(own_id=100)
    liveness.touch(1, 5, now_ms=0)
    liveness.died(1)
    assert liveness.expired(1) == [1]
    assert not liveness.has_session(1, 5, 1)
    liveness.touch(1, 5, now_ms=2)
    assert liveness.expired(3) == []


def test_the_time_in_which_the_controller_itself_did_not_run_does_not_count():
    liveness = Liveness(own_id=100)
    liveness.touch(1, 5, now_ms=0)
    liveness.touch(2, 6, now_ms=4000)
    liveness.paused(60_000)
    assert liveness.expired(60_000 + SESSION_TIMEOUT_MS) == []
    assert liveness.expired(60_000 + SESSION_TIMEOUT_MS + 1) == [1]
    assert liveness.expired(64_000 + SESSION_TIMEOUT_MS + 1) == [1, 2]


def test_a_new_controller_begins_all_sessions_anew():
    cluster = Cluster(3)
    cluster.fence(3)
    liveness = Liveness(own_id=2)
    liveness.touch(1, 77, now_ms=0)
    liveness.begin(cluster.image.brokers, now_ms=1000)
    assert liveness.expired(1000 + SESSION_TIMEOUT_MS) == []
    # Its own registration is of an earlier process. A fenced broker has no session.
    assert not liveness.has_session(2, cluster.epoch(2), 1000)
    assert liveness.expired(99_000) == [1]


def test_a_new_process_does_not_wait_for_one_that_this_controller_never_heard_of():
    """All nodes were killed and restarted: none may wait for the session of its predecessor."""
    cluster = Cluster(1)
    liveness = Liveness(own_id=2)
    liveness.begin(cluster.image.brokers, now_ms=0)
    assert not liveness.has_session(1, cluster.epoch(1), 1)
    assert liveness.expired(SESSION_TIMEOUT_MS) == []
    liveness.touch(1, cluster.epoch(1), now_ms=1)
    assert liveness.has_session(1, cluster.epoch(1), 2)


def test_the_own_broker_lives_as_long_as_the_controller():
    liveness = Liveness(own_id=2)
    liveness.touch(2, 5, now_ms=0)
    assert liveness.expired(99_000) == []


def decide(cluster, decisions):
    for decision in decisions:
        cluster.take(decision(cluster.image))


NEVER_IDLE = {"metadata.max.idle.interval.ms": "0"}


def test_brokers_that_are_not_heard_of_are_fenced():
    cluster = Cluster(3, [1, 2, 3], [2, 3, 1])
    cluster.context.static_configs = NEVER_IDLE
    active = ActiveController(cluster.image, cluster.context, now_ms=0)
    assert active.tick(SESSION_TIMEOUT_MS, 0) == []
    cluster.context.liveness.touch(3, cluster.epoch(3), now_ms=8000)
    decide(cluster, active.tick(SESSION_TIMEOUT_MS + 1, 0))
    assert [broker.id for broker in cluster.image.brokers.values() if broker.fenced] == [1, 2]
    assert [cluster.partition(index).leader for index in (0, 1)] == [3, 3]
    assert active.tick(SESSION_TIMEOUT_MS + 2, 0) == []


def test_a_killed_broker_is_fenced_at_once():
    cluster = Cluster(3, [1, 2, 3])
    active = ActiveController(cluster.image, cluster.context, now_ms=0)
    cluster.context.liveness.disconnected(1)
    assert active.tick(100, 0) == []
    cluster.context.liveness.died(1)
    decide(cluster, active.tick(101, 0))
    assert cluster.partition().leader == 2


def test_a_heartbeat_between_expiry_and_decision_counts():
    cluster = Cluster(3, [1, 2, 3])
    active = ActiveController(cluster.image, cluster.context, now_ms=0)
    cluster.context.liveness.died(1)
    decisions = active.tick(1, 0)
    cluster.context.liveness.touch(1, cluster.epoch(1), 2)
    decide(cluster, decisions)
    assert cluster.partition().leader == 1


def test_an_expired_process_does_not_fence_the_next_one():
    cluster = Cluster(3, [1, 2, 3])
    active = ActiveController(cluster.image, cluster.context, now_ms=0)
    cluster.context.liveness.died(1)
    decisions = active.tick(1, 0)
    cluster.restart(1, clean=True)
    cluster.unfence(1)
    decide(cluster, decisions)
    assert not cluster.image.brokers[1].fenced


def test_leadership_goes_back_to_preferred_replicas_by_itself():
    cluster = Cluster(3, [1, 2, 3])
    cluster.fence(1)
    cluster.unfence(1)
    active = ActiveController(cluster.image, cluster.context, now_ms=0)
    interval_ms = 300_000
    for round_ in (1, 2):
        for broker_id in (1, 2, 3):
            cluster.context.liveness.touch(broker_id, cluster.epoch(broker_id), round_ * interval_ms)
        decide(cluster, active.tick(round_ * interval_ms - 1, 0))
        assert cluster.partition().leader == 2
        decide(cluster, active.tick(round_ * interval_ms, 0))
        # In the first round it is not in sync yet.
        assert cluster.partition().leader == (2 if round_ == 1 else 1)
        assert cluster.alter_isr(1, 2, 3).error_code == 0


@pytest.mark.parametrize(
    ("settings", "interval_ms"),
    [({}, 300_000), ({"unclean.leader.election.interval.ms": "250"}, 250)],
)
def test_unclean_elections_are_held_where_they_are_allowed_later(settings, interval_ms):
    cluster = Cluster(3, [1, 2], unclean_leader_election_enable="false")
    cluster.fence(2, 1)
    cluster.unfence(2)
    assert cluster.partition().leader == NO_LEADER
    cluster.context.static_configs = {"auto.leader.rebalance.enable": "false", **NEVER_IDLE, **settings}
    active = ActiveController(cluster.image, cluster.context, now_ms=0)
    allow_unclean(cluster)
    for broker_id in (2, 3):
        cluster.context.liveness.touch(broker_id, cluster.epoch(broker_id), interval_ms)
    assert active.tick(interval_ms - 1, 0) == []
    decide(cluster, active.tick(interval_ms, 0))
    assert cluster.partition().leader == 2


def allow_unclean(cluster):
    name = "unclean.leader.election.enable"
    cluster.apply([ConfigRecord(resource_type=TOPIC_RESOURCE, resource_name="t", name=name, value="true")])


def test_a_quiet_time_ends_with_a_record_that_says_nothing():
    cluster = Cluster(3, [1, 2, 3])
    active = ActiveController(cluster.image, cluster.context, now_ms=0)
    written = []
    for now_ms in range(500, 3001, 500):
        offset = cluster.image.offset
        decide(cluster, active.tick(now_ms, 0))
        written.append(cluster.image.offset - offset)
        if now_ms == 1500:
            cluster.create(f"t{now_ms}", [1])
    assert written == [0, 1, 1, 0, 1, 1], "after each change there is a quiet time first"
    cluster.context.static_configs = NEVER_IDLE
    active = ActiveController(cluster.image, cluster.context, now_ms=3000)
    assert active.tick(5000, 0) == []
