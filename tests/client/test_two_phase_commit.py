"""Two-phase commit (KIP-939) on real brokers: a prepared transaction outlives its writer and the brokers."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pytest

from gralha.cli.transactions import main as kafka_transactions
from gralha.client.admin import Admin
from gralha.client.bulk_reader import BulkReader
from gralha.client.bulk_writer import BulkWriter
from gralha.client.cluster import Cluster
from gralha.client.errors import ClientError, ProducerFencedError, TransactionError
from gralha.client.settings import ClientSettings
from gralha.client.transaction_state import TransactionHandle
from gralha.client.transaction_values import TransactionDescription
from gralha.client.transactional_calls import TransactionalCalls
from gralha.client.values import LATEST, ListedOffset, NewTopic, OffsetRange, TopicPartition
from gralha.protocol.errors import ErrorCode
from gralha.testing import GralhaCluster

NO_TIMEOUT_MS = 2**31 - 1
ENABLED = {"transaction.two.phase.commit.enable": "true"}


@pytest.fixture(scope="module")
def cluster() -> Iterator[GralhaCluster]:
    with GralhaCluster(config=ENABLED) as cluster:
        yield cluster


@pytest.fixture
def calls(cluster: GralhaCluster) -> Iterator[TransactionalCalls]:
    with Cluster(cluster.bootstrap, api_timeout_ms=30_000) as connected:
        yield TransactionalCalls(connected)


def topic_of(cluster: GralhaCluster, name: str) -> str:
    with Admin(Cluster(cluster.bootstrap)) as admin:
        assert admin.create_topics([NewTopic(name, 1, 1)]) == {name: None}
    return name


def rows(*values: str) -> pa.RecordBatch:
    return pa.record_batch({"value": pa.array(values, pa.string())})


def writer_of(cluster: GralhaCluster, name: str) -> BulkWriter:
    """A writer to the topic with the transactional id of the same name."""
    settings = ClientSettings(cluster.bootstrap, delivery_timeout_ms=20_000)
    return BulkWriter(
        settings, topic=name, transactional_id=name, transaction_timeout_ms=1_000, two_phase_commit=True
    )


def prepared(cluster: GralhaCluster, name: str, *values: str) -> TransactionHandle:
    with writer_of(cluster, name) as writer:
        writer.write(rows(*values))
        handle = writer.prepare()
    assert handle is not None
    return handle


def visible(cluster: GralhaCluster, topic: str) -> list[str]:
    with Admin(Cluster(cluster.bootstrap)) as admin:
        where = TopicPartition(topic, 0)
        end = admin.list_offsets({where: LATEST})[where]
        assert isinstance(end, ListedOffset)
    settings = ClientSettings(cluster.bootstrap, isolation_level="read_committed", fetch_max_wait_ms=50)
    with BulkReader(settings) as reader:
        batches = list(reader.read(OffsetRange(topic, 0, 0, end.offset)))
    return [text.decode() for batch in batches for text in batch.column("value").to_pylist()]


def described(calls: TransactionalCalls, name: str) -> TransactionDescription:
    found = Admin(calls.cluster).describe_transactions([name])[name]
    assert isinstance(found, TransactionDescription)
    return found


def test_another_process_commits_after_all_brokers_were_killed(
    cluster: GralhaCluster, calls: TransactionalCalls
) -> None:
    name = topic_of(cluster, "prepared")
    handle = prepared(cluster, name, "a", "b")
    cluster.kill()
    cluster.restart()
    found = described(calls, name)
    assert (found.state, found.timeout_ms) == ("Ongoing", NO_TIMEOUT_MS)
    calls.end_transaction(handle, committed=True)
    calls.end_transaction(handle, committed=True)
    assert visible(cluster, name) == ["a", "b"]


@pytest.mark.parametrize("committed", [True, False])
def test_a_new_owner_keeps_and_ends_it(
    cluster: GralhaCluster, calls: TransactionalCalls, committed: bool
) -> None:
    name = topic_of(cluster, f"kept-{committed}")
    handle = prepared(cluster, name, "a")
    first = calls.keep_transaction(name, 1_000)
    cluster.kill()
    cluster.restart()
    kept = calls.keep_transaction(name, 1_000)
    for one in (first, kept):
        assert one.written_by == (handle.producer_id, handle.producer_epoch)
    # Neither the writer nor the owner in between can end it.
    for fenced in (handle, first.handle):
        with pytest.raises(ProducerFencedError):
            calls.end_transaction(fenced, committed=True)
    calls.end_transaction(kept.handle, committed=committed)
    cluster.kill()
    cluster.restart()
    calls.end_transaction(kept.handle, committed=committed)
    assert visible(cluster, name) == (["a"] if committed else [])
    assert calls.keep_transaction(name, 1_000).written_by is None
    # The id can be used as before.
    with writer_of(cluster, name) as writer:
        writer.write(rows("next"))
        writer.commit()
    assert visible(cluster, name)[-1:] == ["next"]


def test_the_writer_is_fenced_in_the_partition(cluster: GralhaCluster, calls: TransactionalCalls) -> None:
    name = topic_of(cluster, "zombie")
    zombie = writer_of(cluster, name)
    zombie.write(rows("a"))
    zombie.prepare()
    kept = calls.keep_transaction(name, 1_000)
    calls.end_transaction(kept.handle, committed=True)
    assert visible(cluster, name) == ["a"]
    zombie.write(rows("late"))
    with pytest.raises(ClientError):
        zombie.flush()
    zombie.close()
    assert visible(cluster, name) == ["a"]


@pytest.mark.parametrize("is_kept", [False, True])
def test_force_terminate_ends_an_abandoned_transaction(
    cluster: GralhaCluster, calls: TransactionalCalls, is_kept: bool
) -> None:
    name = topic_of(cluster, f"abandoned-{is_kept}")
    handle = prepared(cluster, name, "a")
    ender = calls.keep_transaction(name, 1_000).handle if is_kept else handle
    arguments = ["--bootstrap-server", cluster.bootstrap, "force-terminate", "--transactional-id", name]
    assert kafka_transactions(arguments) == 0
    with pytest.raises(ProducerFencedError):
        calls.end_transaction(ender, committed=True)
    assert visible(cluster, name) == []
    assert described(calls, name).timeout_ms < NO_TIMEOUT_MS


def test_a_broker_that_does_not_allow_it_says_so() -> None:
    with GralhaCluster() as cluster, Cluster(cluster.bootstrap) as connected:
        calls = TransactionalCalls(connected)
        assert not calls.supports_two_phase_commit()
        for refused in (
            lambda: calls.init_producer_id("t", 1_000, enables_two_phase_commit=True),
            lambda: calls.keep_transaction("t", 1_000),
        ):
            with pytest.raises(TransactionError, match=r"transaction\.two\.phase\.commit\.enable") as caught:
                refused()
            assert caught.value.code == ErrorCode.UNSUPPORTED_VERSION


def test_a_broker_that_allows_it_advertises_it(calls: TransactionalCalls) -> None:
    assert calls.supports_two_phase_commit()
