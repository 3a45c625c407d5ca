"""The registry under test, on Gralha and on Apache Kafka."""

import itertools
import os
from collections.abc import Callable, Iterator

import httpx
import pytest

from gralha.testing import GralhaCluster
from tests.apache.kafka import ApacheKafka
from tests.quick_groups import QUICK_GROUPS
from tests.registry.instances import Instance, running

# Kafka refuses sessions as short as those of `instances.QUICK`, unless it is told to allow them.
SHORT_SESSIONS = {"group.min.session.timeout.ms": "500"}

_numbers = itertools.count(1)


@pytest.fixture(scope="session", params=["gralha", "apache"])
def kafka(request: pytest.FixtureRequest) -> Iterator[str]:
    """The address of a broker: of ours, and of Apache Kafka."""
    cluster = GralhaCluster if request.param == "gralha" else ApacheKafka
    with cluster(config=QUICK_GROUPS | SHORT_SESSIONS) as running_cluster:
        yield running_cluster.bootstrap


@pytest.fixture(scope="session")
def registry(kafka: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Instance]:
    """One instance, which tests share. Each should use its own subjects."""
    with running(kafka, tmp_path_factory.mktemp("registry")) as (instance,):
        yield instance


@pytest.fixture
def http(registry: Instance) -> Iterator[httpx.Client]:
    with registry.client() as client:
        yield client


@pytest.fixture
def new_subject() -> Callable[[str], str]:
    """Names that no other test uses."""

    def make(prefix: str) -> str:
        return f"{prefix}-{os.getpid()}-{next(_numbers)}"

    return make
