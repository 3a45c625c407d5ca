"""The exactly-once sink with two-phase commit: a decided transaction cannot time out.

On our own brokers and on Apache Kafka 4.3, which serves this only as an unstable version.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pyarrow as pa
import pytest

from gralha.cli.transactions import main as kafka_transactions
from gralha.client.admin import Admin
from gralha.client.bulk_writer import BulkWriter
from gralha.client.cluster import Cluster
from gralha.client.errors import ClientError
from gralha.client.settings import ClientSettings
from gralha.client.transaction_values import TransactionDescription
from gralha.client.values import NewTopic
from gralha.spark.batch_commit import NO_TIMEOUT_MS
from gralha.spark.data_source import GralhaDataSource
from gralha.spark.decisions import ExactlyOnceError, TaskWritten, transactions_of
from tests.client.live import eventually
from tests.client.test_transactional_writer import CLUSTERS
from tests.spark.exactly_once import (
    VALUE,
    Died,
    Program,
    Run,
    committed,
    dies_when,
    newest_decision,
    rows_of,
    states,
)

SETTINGS = {
    "transaction.max.timeout.ms": "60000",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "50",
    "transaction.two.phase.commit.enable": "true",
}
UNSTABLE = {"gralha": {}, "apache": {"unstable.api.versions.enable": "true"}}
TWO_PHASES = {"twoPhaseCommit": "true"}


@pytest.fixture(scope="module", params=CLUSTERS)
def bootstrap(request: pytest.FixtureRequest) -> Iterator[str]:
    with CLUSTERS[request.param](config=SETTINGS | UNSTABLE[request.param]) as cluster:
        yield cluster.bootstrap


@pytest.fixture
def topic(bootstrap: str, new_name: Callable[[str], str]) -> str:
    name = new_name("output")
    with Admin(Cluster(bootstrap)) as admin:
        assert admin.create_topics([NewTopic(name, 2, 1)]) == {name: None}
    return name


def an_ordinary_transaction_times_out(bootstrap: str, topic: str) -> None:
    """So the coordinator has looked at timeouts since all transactions began."""
    name = f"{topic}-other"
    settings = ClientSettings(bootstrap)
    with BulkWriter(settings, topic=topic, transactional_id=name, transaction_timeout_ms=500) as writer:
        writer.write(pa.record_batch({"value": ["late"]}))
        writer.flush()
    with Admin(Cluster(bootstrap)) as admin:

        def is_over() -> bool:
            found = admin.describe_transactions([name])[name]
            return isinstance(found, TransactionDescription) and found.state == "CompleteAbort"

        assert eventually(is_over, 30.0)


def timeouts(bootstrap: str, written: list[TaskWritten]) -> set[int]:
    ids = [one.handle.transactional_id for one in transactions_of(written)]
    with Admin(Cluster(bootstrap)) as admin:
        found = admin.describe_transactions(ids)
    return {one.timeout_ms for one in found.values() if isinstance(one, TransactionDescription)}


@pytest.mark.parametrize("kind", [Run, Program])
def test_a_decided_batch_waits_for_its_driver(bootstrap: str, topic: str, kind: type[Run]) -> None:
    first = kind(bootstrap, topic, "q", dies_when("has decided"), options=TWO_PHASES)
    second = kind(bootstrap, topic, "q", options=TWO_PHASES)
    written = first.tasks(0)
    with pytest.raises(Died):
        first.commit(0, written)
    an_ordinary_transaction_times_out(bootstrap, topic)
    assert states(bootstrap, written) == ["Ongoing", "Ongoing"]
    assert timeouts(bootstrap, written) == {NO_TIMEOUT_MS}
    second.batch(0)
    second.batch(1)
    assert committed(bootstrap, topic) == rows_of(0) + rows_of(1)


def test_transactions_of_dead_tasks_are_swept(bootstrap: str, topic: str) -> None:
    dead = Run(bootstrap, topic, "q", options=TWO_PHASES)
    run = Run(bootstrap, topic, "q", options=TWO_PHASES)
    lost, speculative = dead.task(0, 0, "lost"), run.task(0, 0, "speculative")
    run.batch(0)
    assert "Ongoing" not in states(bootstrap, [lost, speculative])
    assert committed(bootstrap, topic) == rows_of(0)


def test_an_abandoned_transaction_is_told_from_a_decided_one_and_ended(
    bootstrap: str, topic: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """As docs/SPARK.md says: by the log of decisions."""
    run = Run(bootstrap, topic, "q", dies_when("has decided"), options=TWO_PHASES)
    abandoned, decided = run.task(0, 2, "abandoned"), run.tasks(0)
    with pytest.raises(Died):
        run.commit(0, decided)
    newest = newest_decision(run)
    assert newest is not None
    (lost,) = transactions_of([abandoned])
    listed = {one.handle for one in newest.transactions}
    assert listed == {one.handle for one in transactions_of(decided)}
    assert lost.handle not in listed
    name = lost.handle.transactional_id
    arguments = ["--bootstrap-server", bootstrap, "forceTerminateTransaction", "--transactionalId", name]
    assert kafka_transactions(arguments) == 0, capsys.readouterr()
    run.reached = lambda step: None
    run.batch(0)
    assert committed(bootstrap, topic) == rows_of(0)


def test_a_terminated_decision_is_revoked(bootstrap: str, topic: str) -> None:
    run = Run(bootstrap, topic, "q", dies_when("has decided"), options=TWO_PHASES)
    written = run.tasks(0)
    with pytest.raises(Died):
        run.commit(0, written)
    with Admin(Cluster(bootstrap)) as admin:
        for one in transactions_of(written):
            admin.fence_producer(one.handle.transactional_id)
    run.reached = lambda step: None
    with pytest.raises(ExactlyOnceError, match="The decision is revoked"):
        run.batch(0)
    Run(bootstrap, topic, "q", options=TWO_PHASES).batch(0)
    assert committed(bootstrap, topic) == rows_of(0)


@pytest.fixture(scope="module", params=CLUSTERS)
def without(request: pytest.FixtureRequest) -> Iterator[str]:
    """A cluster with the default settings."""
    with CLUSTERS[request.param]() as cluster:
        yield cluster.bootstrap


def options_for(bootstrap: str, **more: str) -> dict[str, str]:
    named = {"topic": "t", "deliveryGuarantee": "exactly-once", **TWO_PHASES}
    return {"kafka.bootstrap.servers": bootstrap, **named, **more}


def test_a_cluster_without_it_is_refused_before_the_query_starts(without: str) -> None:
    said = "Option 'twoPhaseCommit' needs brokers that allow two-phase commit"
    with pytest.raises(ClientError, match=said):
        GralhaDataSource(options_for(without)).streamWriter(VALUE, False)
    with pytest.raises(ClientError, match=said):
        GralhaDataSource(options_for(without, txnAppId="a", txnVersion="1")).writer(VALUE, False)


def test_a_cluster_with_it_is_accepted(bootstrap: str) -> None:
    assert GralhaDataSource(options_for(bootstrap)).streamWriter(VALUE, False) is not None


def test_it_needs_transactions() -> None:
    options = {**options_for("localhost:1"), "deliveryGuarantee": "at-least-once"}
    with pytest.raises(ClientError, match="'twoPhaseCommit' needs deliveryGuarantee=exactly-once"):
        GralhaDataSource(options).streamWriter(VALUE, False)
