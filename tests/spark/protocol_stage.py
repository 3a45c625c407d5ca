"""The fixtures of the protocol tests: clusters with transactions v1 and v2, and runs on them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from gralha.client.admin import Admin
from gralha.client.cluster import Cluster
from gralha.client.settings import ClientSettings
from gralha.client.values import NewTopic
from gralha.spark.decision_log import DecisionLog
from gralha.spark.decisions import Decision, TaskTransaction
from gralha.spark.task_writers import nothing
from tests.client.test_transactional_writer import CLUSTERS, VERSIONS, downgrade
from tests.spark.exactly_once import Program, Run, committed

# The steps of a driver at which it may die.
POINTS = (
    "owns the log",
    "has read the log",
    "has prepared the decision",
    "has decided",
    "has committed",
    "has announced the sweep",
)


QUICK_TIMEOUTS = {"transaction.abort.timed.out.transaction.cleanup.interval.ms": "50"}
NewRun = Callable[..., Run]


@pytest.fixture(
    scope="module", params=[(kind, version) for kind in CLUSTERS for version in VERSIONS], ids=str
)
def cluster(request: pytest.FixtureRequest) -> Iterator[str]:
    kind, version = request.param
    with CLUSTERS[kind](config=QUICK_TIMEOUTS) as running:
        if version == 1:
            downgrade(running.bootstrap)
        yield running.bootstrap


@pytest.fixture
def new_run(cluster: str, new_name: Callable[[str], str]) -> NewRun:
    """Runs of one query that writes to a topic of this test."""
    topic, query = new_name("output"), new_name("query")
    with Admin(Cluster(cluster)) as admin:
        assert admin.create_topics([NewTopic(topic, 2, 1)]) == {topic: None}

    def run(reached: Callable[[str], None] = nothing) -> Run:
        return Run(cluster, topic, query, reached)

    return run


@pytest.fixture
def new_program(new_run: NewRun) -> NewRun:
    """Runs of one program that writes versions to a topic of this test."""

    def program(reached: Callable[[str], None] = nothing) -> Program:
        one = new_run(reached)
        return Program(one.bootstrap, one.topic, one.query, reached)

    return program


def seen(run: Run) -> list[str]:
    return committed(run.bootstrap, run.topic)


def decide(run: Run, batch: int, transactions: tuple[TaskTransaction, ...]) -> None:
    log = DecisionLog(ClientSettings(run.bootstrap), run.key)
    log.own()
    log.prepare(Decision(batch, run.run, transactions), log.read())
    log.commit()
    log.close()
