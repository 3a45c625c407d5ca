"""Where replicas go."""

from collections import Counter
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
