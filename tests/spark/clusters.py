"""The clusters that tests of Spark run on: a Gralha broker and Apache Kafka, each one for the whole run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from gralha.testing import GralhaCluster
from tests.apache.kafka import ApacheKafka

CLUSTERS = {"gralha": GralhaCluster, "apache": ApacheKafka}
BROKER_CONFIG = {
    "auto.create.topics.enable": "false",
    # The cleaner runs often, so that a compacted topic soon has gaps.
    "log.cleaner.backoff.ms": "100",
    # The records of most scenarios are years old.
    "log.retention.ms": "-1",
}


@pytest.fixture(scope="session")
def cluster_of() -> Iterator[Callable[[str], str]]:
    """The address of a cluster by its kind. Each starts when it is needed."""
    running: dict[str, str] = {}
    with ExitStack() as stack:

        def cluster(kind: str) -> str:
            if kind not in running:
                running[kind] = stack.enter_context(CLUSTERS[kind](config=BROKER_CONFIG)).bootstrap
            return running[kind]

        yield cluster
