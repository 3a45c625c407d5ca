"""The clusters and the clients of the suite. Each starts when it is needed.

The suite also passes on Apache Kafka: `GRALHA_TEST_KAFKA=apache pytest tests/clients`.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator

import pytest

from gralha.testing import GralhaCluster
from tests.apache.kafka import ApacheKafka
from tests.clients import groups, transactions
from tests.clients.contract import Drivers
from tests.clients.driver import Driver
from tests.clients.drivers.confluent_driver import ConfluentDriver
from tests.clients.drivers.program import Program
from tests.clients.groups import GroupClient
from tests.clients.scenarios.group_stage import Programs

KINDS = {"gralha": GralhaCluster, "apache": ApacheKafka}
Cluster = GralhaCluster | ApacheKafka


@pytest.fixture(scope="session")
def clusters() -> Iterator[Callable[[bool], Cluster]]:
    """A running cluster of one broker, with or without auto creation of topics."""
    kind = KINDS[os.environ.get("GRALHA_TEST_KAFKA", "gralha")]
    running: dict[bool, Cluster] = {}
    with contextlib.ExitStack() as stack:

        def cluster(auto_create: bool) -> Cluster:
            if auto_create not in running:
                config = {
                    **groups.BROKER_CONFIG,
                    **transactions.BROKER_CONFIG,
                    "auto.create.topics.enable": str(auto_create).lower(),
                }
                running[auto_create] = stack.enter_context(kind(config=config))
            return running[auto_create]

        yield cluster


@pytest.fixture(scope="session")
def broker(clusters: Callable[[bool], Cluster]) -> Cluster:
    """The cluster of most tests, without auto creation of topics."""
    return clusters(False)


@pytest.fixture(scope="session")
def drivers(clusters: Callable[[bool], Cluster]) -> Iterator[Drivers]:
    """Drivers, one of each kind for each cluster, for the whole session."""
    open_drivers: dict[tuple[type[Driver], bool], Driver] = {}
    with contextlib.ExitStack() as stack:

        def driver(kind: type[Driver], auto_create: bool) -> Driver:
            if (kind, auto_create) not in open_drivers:
                opened = kind(clusters(auto_create).bootstrap)
                stack.callback(opened.close)
                open_drivers[kind, auto_create] = opened
            return open_drivers[kind, auto_create]

        yield driver


@pytest.fixture(scope="session")
def reference(drivers: Drivers) -> Driver:
    return drivers(ConfluentDriver, False)


@pytest.fixture(scope="session")
def programs(broker: Cluster) -> Iterator[Programs]:
    """The programs in which the members of groups live, one for each client."""
    running: dict[str, Program] = {}
    with contextlib.ExitStack() as stack:

        def program(client: GroupClient) -> Program:
            if client.name not in running:
                running[client.name] = client.start(broker.bootstrap)
                stack.callback(running[client.name].close)
            return running[client.name]

        yield program
