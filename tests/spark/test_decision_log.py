"""The topic of decisions: how many replicas must have a decision."""

from __future__ import annotations

import pytest

from gralha.client.admin import Admin
from gralha.client.cluster import Cluster
from gralha.client.settings import ClientSettings
from gralha.client.values import ConfigResource, ResourceType
from gralha.spark.decision_log import DEFAULT_TOPIC, DecisionLog, in_sync_setting
from gralha.spark.decisions import Decision
from gralha.spark.transactional_ids import SinkKey
from gralha.testing import GralhaCluster


@pytest.mark.parametrize(
    ("replicas", "in_sync", "setting"),
    [(1, 1, {}), (2, 1, {}), (3, 1, {"min.insync.replicas": "2"}), (3, 2, {}), (3, 3, {})],
)
def test_two_of_three_replicas_have_a_decision(replicas: int, in_sync: int, setting: dict[str, str]) -> None:
    assert in_sync_setting(replicas, in_sync) == setting


def test_a_cluster_of_three_brokers() -> None:
    settings = {"default.replication.factor": "3", "min.insync.replicas": "1"}
    with GralhaCluster(brokers=3, config=settings) as cluster:
        assert in_sync_replicas(cluster.bootstrap) == "2"


def in_sync_replicas(bootstrap: str) -> str | None:
    """min.insync.replicas of the topic, after its first decision."""
    log = DecisionLog(ClientSettings(bootstrap), SinkKey("query", "topic"))
    log.own()
    log.prepare(Decision(0, "run", ()), log.read())
    log.commit()
    log.close()
    resource = ConfigResource(ResourceType.TOPIC, DEFAULT_TOPIC)
    with Admin(Cluster(bootstrap)) as admin:
        found = admin.describe_configs([resource])[resource]
    assert isinstance(found, list)
    return next(entry.value for entry in found if entry.name == "min.insync.replicas")
