"""The broker for tests of the client and of the commands.

It is a Gralha process, unless GRALHA_TEST_BOOTSTRAP names another cluster, or GRALHA_TEST_KAFKA=apache asks
for Apache Kafka. The same tests pass there.
"""

import itertools
import os
import time
from collections.abc import Callable, Iterator

import pytest

from gralha.testing import GralhaCluster
from tests.apache.cluster import ApacheCluster
from tests.apache.kafka import ApacheKafka
from tests.quick_groups import QUICK_GROUPS

_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def bootstrap(request: pytest.FixtureRequest) -> Iterator[str]:
    """The address of a running broker."""
    other = os.environ.get("GRALHA_TEST_BOOTSTRAP")
    if other:
        yield other
    elif os.environ.get("GRALHA_TEST_KAFKA") == "apache":
        with ApacheKafka(QUICK_GROUPS) as cluster:
            yield cluster.bootstrap
    else:
        yield request.getfixturevalue("gralha_cluster").bootstrap


@pytest.fixture(scope="session")
def three_brokers() -> Iterator[str]:
    """The addresses of a running cluster of three brokers; GRALHA_TEST_THREE_BROKERS names another one."""
    other = os.environ.get("GRALHA_TEST_THREE_BROKERS")
    if other:
        yield other
    elif os.environ.get("GRALHA_TEST_KAFKA") == "apache":
        with ApacheCluster(brokers=3) as apache:
            yield apache.bootstrap
    else:
        with GralhaCluster(brokers=3) as cluster:
            yield cluster.bootstrap


@pytest.fixture
def new_name() -> Callable[[str], str]:
    """Names for topics that no other test uses."""
    return lambda prefix: f"{prefix}-{os.getpid()}-{next(_numbers)}"


def eventually(check: Callable[[], bool], timeout_s: float = 10.0) -> bool:
    """Waits for a condition, because decisions of a controller reach Kafka's brokers a moment later."""
    deadline = time.monotonic() + timeout_s
    while not check():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True
