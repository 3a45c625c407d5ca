"""The placement of replicas."""

from collections import Counter
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.metadata.cluster import cluster

from gralha.metadata.controller.placement import place_replicas
from gralha.protocol.errors import InvalidReplicationFactorError


@given(st.integers(1, 7), st.data())
def test_replicas_are_spread_evenly_over_living_brokers(brokers, data):
    fenced = data.draw(st.sets(st.integers(1, brokers), max_size=brokers - 1))
    replication_factor = data.draw(st.integers(1, brokers))
    partitions = data.draw(st.integers(1, 40))
    image = cluster(brokers, fenced)
    placed = place_replicas(image.brokers, partitions, replication_factor, Random(data.draw(st.integers())))
    assert len(placed) == partitions
    active = set(image.brokers) - fenced
    for replicas in placed:
        assert len(replicas) == len(set(replicas)) == replication_factor
        assert set(replicas) <= set(image.brokers)
        assert replicas[0] in active
        assert len(set(replicas) & active) == min(replication_factor, len(active))
    leaders = Counter(replicas[0] for replicas in placed)
    assert max(leaders.values()) - min(leaders[broker] for broker in active) <= 1


def test_the_followers_of_one_leader_differ():
    placed = place_replicas(cluster(5).brokers, 20, 2, Random(1))
    assert {tuple(replicas) for replicas in placed} == {
        (a, b) for a in range(1, 6) for b in range(1, 6) if a != b
    }


def test_the_start_is_left_to_chance():
    firsts = {place_replicas(cluster(3).brokers, 1, 1, Random(seed))[0][0] for seed in range(30)}
    assert firsts == {1, 2, 3}


def test_too_few_brokers_are_told():
    with pytest.raises(InvalidReplicationFactorError, match="only 2 broker"):
        place_replicas(cluster(2).brokers, 1, 3, Random(0))
    with pytest.raises(InvalidReplicationFactorError, match="fenced"):
        place_replicas(cluster(1, fenced={1}).brokers, 1, 1, Random(0))


def in_racks(*racks, fenced=()):
    """Brokers 1 to n in these racks."""
    brokers = cluster(len(racks), fenced).brokers
    return {broker.id: broker._replace(rack=racks[broker.id - 1]) for broker in brokers.values()}


@given(st.lists(st.sampled_from([None, "a", "b", "c"]), min_size=1, max_size=8), st.data())
def test_replicas_are_in_as_many_racks_as_there_are(racks, data):
    brokers = in_racks(*racks)
    replication_factor = data.draw(st.integers(1, len(racks)))
    partitions = data.draw(st.integers(1, 30))
    placed = place_replicas(brokers, partitions, replication_factor, Random(data.draw(st.integers())))
    for replicas in placed:
        assert len(replicas) == len(set(replicas)) == replication_factor
        used = Counter(brokers[replica].rack for replica in replicas)
        assert len(used) == min(replication_factor, len(set(racks)))
    leaders = Counter(replicas[0] for replicas in placed)
    assert max(leaders.values()) - min(leaders[broker] for broker in brokers) <= 1


def test_a_fenced_broker_in_another_rack_is_better_than_a_second_one_in_the_same():
    brokers = in_racks("a", "a", "b", fenced={3})
    for seed in range(10):
        (replicas,) = place_replicas(brokers, 1, 2, Random(seed))
        assert replicas[1] == 3


def test_leaders_go_from_rack_to_rack():
    brokers = in_racks("a", "a", "b", "b")
    placed = place_replicas(brokers, 8, 1, Random(0))
    racks = [brokers[replicas[0]].rack for replicas in placed]
    assert all(first != second for first, second in pairwise(racks))


def test_who_shuts_down_or_takes_nothing_new_gets_no_replicas():
    brokers = dict(cluster(4).brokers)
    brokers[1] = brokers[1]._replace(in_controlled_shutdown=True)
    brokers[2] = brokers[2]._replace(cordoned_log_dirs=brokers[2].log_dirs)
    placed = place_replicas(brokers, 10, 2, Random(0))
    assert {replica for replicas in placed for replica in replicas} == {3, 4}
    with pytest.raises(InvalidReplicationFactorError, match="only 2 broker"):
        place_replicas(brokers, 1, 3, Random(0))
    # Once fenced, it counts as a broker that may come back.
    brokers[1] = brokers[1]._replace(fenced=True)
    assert 1 in place_replicas(brokers, 1, 3, Random(0))[0][1:]
