"""The clusters and the clients of the suite. Each starts when it is needed.

The suite also passes on Apache Kafka: `GRALHA_TEST_KAFKA=apache pytest tests/clients`. With
`GRALHA_TEST_SECURITY=sasl_ssl` all clients log in through TLS, and have the rights of a super user.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Mapping

import pytest

from gralha.testing import GralhaCluster
from tests.apache.kafka import ApacheKafka
from tests.clients import access, groups, transactions
from tests.clients.contract import Drivers
from tests.clients.driver import Driver, Login, Tls
from tests.clients.drivers.confluent_driver import ConfluentDriver
from tests.clients.drivers.program import Program
from tests.clients.groups import GroupClient
from tests.clients.scenarios.group_stage import Programs

SECURITY = os.environ.get("GRALHA_TEST_SECURITY")
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
                running[auto_create] = stack.enter_context(
                    _secured(config) if SECURITY else kind(config=config)
                )
            return running[auto_create]

        yield cluster


def _secured(config: Mapping[str, str]) -> GralhaCluster:
    """A cluster that its clients reach by `access`."""
    cluster = GralhaCluster(config=config, security=SECURITY)
    admin = cluster.client_config("admin")
    # The listener asks for no certificate of the client, but every driver has one to offer.
    tls = Tls(admin["ssl.ca.location"], str(cluster.folder / "users" / "node.pem"))
    access.remember(
        cluster.bootstrap, tls, Login(admin["sasl.mechanism"], admin["sasl.username"], admin["sasl.password"])
    )
    return cluster


@pytest.fixture(scope="session")
def open_broker(clusters: Callable[[bool], Cluster]) -> Iterator[Cluster]:
    """A cluster without security, for programs that know only its address."""
    if not SECURITY:
        yield clusters(False)
        return
    with GralhaCluster(config={**groups.BROKER_CONFIG, **transactions.BROKER_CONFIG}) as cluster:
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
                bootstrap = clusters(auto_create).bootstrap
                opened = kind(bootstrap, *access.of(bootstrap))
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
