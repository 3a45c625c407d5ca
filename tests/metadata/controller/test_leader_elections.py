"""ElectLeaders: preferred and unclean."""

import pytest
from tests.metadata.controller.several import Cluster

from gralha.metadata.controller import leader_elections
from gralha.metadata.controller.leader_elections import balance_leaders, elect_leaders
from gralha.metadata.image import NO_LEADER
from gralha.protocol.errors import ErrorCode, InvalidRequestError
from gralha.protocol.messages.elect_leaders import ElectLeadersRequest, TopicPartitions

PREFERRED, UNCLEAN = 0, 1


def elect(cluster, kind, *partitions, topic="t"):
    """The names of the answers by partition."""
    wanted = [TopicPartitions(topic, list(partitions))] if partitions else None
    request = ElectLeadersRequest(election_type=kind, topic_partitions=wanted)
    response = cluster.take(elect_leaders(cluster.image, request, cluster.context))
    return {
        one.partition_id: ErrorCode(one.error_code).name
        for result in response.replica_election_results
        for one in result.partition_result
    }


def test_preferred_leaders_that_are_in_sync_lead_again():
    cluster = Cluster(3, [1, 2], [1, 3], [2, 3])
    cluster.fence(1)
    assert elect(cluster, PREFERRED, 0, 2) == {
        0: "PREFERRED_LEADER_NOT_AVAILABLE",
        2: "ELECTION_NOT_NEEDED",
    }
    cluster.unfence(1)
    for index in (0, 1):
        leader = cluster.partition(index).leader
        assert cluster.alter_isr(leader, 1, index=index).error_code == 0
    assert elect(cluster, PREFERRED) == {0: "NONE", 1: "NONE"}
    assert [cluster.partition(index).leader for index in range(3)] == [1, 1, 2]
    assert elect(cluster, PREFERRED) == {}


def test_anybody_may_lead_after_an_unclean_election():
    cluster = Cluster(3, [1, 2])
    assert elect(cluster, UNCLEAN, 0) == {0: "ELECTION_NOT_NEEDED"}
    cluster.fence(2, 1)
    assert elect(cluster, UNCLEAN, 0) == {0: "ELIGIBLE_LEADERS_NOT_AVAILABLE"}
    cluster.unfence(2)
    assert cluster.partition().leader == NO_LEADER
    assert elect(cluster, UNCLEAN, 0, 0) == {0: "NONE"}
    assert (cluster.partition().leader, cluster.partition().leader_recovery_state) == (2, 1)


def test_what_does_not_exist_is_told():
    cluster = Cluster(2, [1, 2])
    assert elect(cluster, PREFERRED, 7) == {7: "UNKNOWN_TOPIC_OR_PARTITION"}
    assert elect(cluster, PREFERRED, 0, topic="x") == {0: "UNKNOWN_TOPIC_OR_PARTITION"}
    with pytest.raises(InvalidRequestError):
        elect(cluster, 2, 0)


def test_balancing_is_done_in_steps(monkeypatch):
    monkeypatch.setattr(leader_elections, "MAX_ELECTIONS", 2)
    cluster = Cluster(2, *([1, 2] for _ in range(3)))
    cluster.fence(1)
    cluster.unfence(1)
    for index in range(3):
        cluster.alter_isr(1, 2, index=index)
    assert cluster.take(balance_leaders(cluster.image, cluster.context)) is True
    assert [cluster.partition(index).leader for index in range(3)] == [1, 1, 2]
    assert cluster.take(balance_leaders(cluster.image, cluster.context)) is False
    assert [cluster.partition(index).leader for index in range(3)] == [1, 1, 1]
