"""The pytest plugin. pytest finds it automatically if Gralha is installed.

    def test_orders(gralha_cluster):
        producer = Producer({"bootstrap.servers": gralha_cluster.bootstrap})

    def test_orders_of_the_application(gralha_secured_cluster):
        producer = Producer(gralha_secured_cluster.client_config("app"))

A cluster starts when the first test uses it and runs for the whole session, so every test should use its own
topics. A test that stops or kills brokers should start its own `GralhaCluster`. To change the settings of the
clusters, override `gralha_cluster_config` in your conftest.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest

from gralha.testing.cluster import GralhaCluster
from gralha.testing.registry import RegistryProcess


@pytest.fixture(scope="session")
def gralha_cluster_config() -> Mapping[str, str]:
    """Lines of server.properties for the clusters of these fixtures, with Kafka's names."""
    return {}


@pytest.fixture(scope="session")
def gralha_cluster(gralha_cluster_config: Mapping[str, str]) -> Iterator[GralhaCluster]:
    """A running cluster of one broker. Clients connect to its `bootstrap`."""
    with GralhaCluster(config=gralha_cluster_config) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def gralha_secured_cluster(gralha_cluster_config: Mapping[str, str]) -> Iterator[GralhaCluster]:
    """A running cluster of one broker with TLS, logins and rights. Clients need its `client_config(user)`."""
    with GralhaCluster(config=gralha_cluster_config, security="sasl_ssl") as cluster:
        yield cluster


@pytest.fixture(scope="session")
def gralha_registry(gralha_cluster: GralhaCluster) -> Iterator[str]:
    """The address of a running Schema Registry beside `gralha_cluster`."""
    registry = RegistryProcess(gralha_cluster.folder)
    registry.start(gralha_cluster.java_config())
    try:
        yield registry.url
    finally:
        registry.close()
