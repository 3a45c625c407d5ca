"""Transactions of the bulk client, in both versions of the protocol.

On our own brokers and on Apache Kafka 4.3.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from typing import NamedTuple

import pyarrow as pa
import pytest

from gralha.client.admin import Admin
from gralha.client.bulk_reader import BulkReader
from gralha.client.bulk_writer import BulkWriter
from gralha.client.cluster import Cluster
from gralha.client.errors import (
    ClientError,
    ProducerFencedError,
    SettingsError,
    TransactionAbortableError,
    TransactionError,
    TransactionUnfinishedError,
)
from gralha.client.settings import ClientSettings
from gralha.client.transaction_errors import transaction_error
from gralha.client.transaction_state import TransactionHandle
from gralha.client.transactional_calls import TransactionalCalls
from gralha.client.values import LATEST, ListedOffset, NewTopic, OffsetRange, TopicPartition
from gralha.protocol.errors import ErrorCode, error_for
from gralha.testing import GralhaCluster
from tests.apache.kafka import ApacheKafka, run_tool

CLUSTERS = {"gralha": GralhaCluster, "apache": ApacheKafka}
VERSIONS = (1, 2)


class Stage(NamedTuple):
    """A running cluster, and the version of its transactions."""

    bootstrap: str
    version: int


@pytest.fixture(
    scope="module", params=[(kind, version) for kind in CLUSTERS for version in VERSIONS], ids=str
)
def stage(request: pytest.FixtureRequest) -> Iterator[Stage]:
    kind, version = request.param
    with CLUSTERS[kind](config={"transaction.max.timeout.ms": "600000"}) as cluster:
        if version == 1:
            downgrade(cluster.bootstrap)
        yield Stage(cluster.bootstrap, version)


def downgrade(bootstrap: str) -> None:
    """Transactions v1 from now on."""
    run_tool(
        "kafka-features", "--bootstrap-server", bootstrap, "downgrade", "--feature", "transaction.version=1"
    )


def topic_of(stage: Stage, name: str, partitions: int = 2) -> str:
    with Admin(Cluster(stage.bootstrap)) as admin:
        assert admin.create_topics([NewTopic(name, partitions, 1)]) == {name: None}
    return name


def rows(*values: str, partition: int = 0) -> pa.RecordBatch:
    partitions = pa.array([partition] * len(values), pa.int32())
    return pa.record_batch({"value": pa.array(values, pa.string()), "partition": partitions})


def visible(stage: Stage, topic: str, partition: int = 0) -> list[str]:
    """What readers of committed records see. A transaction that is still being ended is waited for."""
    with Admin(Cluster(stage.bootstrap)) as admin:
        settings = ClientSettings(stage.bootstrap, isolation_level="read_committed", fetch_max_wait_ms=50)
        where = TopicPartition(topic, partition)
        end = admin.list_offsets({where: LATEST})[where]
        assert isinstance(end, ListedOffset)
        with BulkReader(settings) as reader:
            batches = list(reader.read(OffsetRange(topic, partition, 0, end.offset)))
    return [text.decode() for batch in batches for text in batch.column("value").to_pylist()]


def writer_of(stage: Stage, topic: str, transactional_id: str) -> BulkWriter:
    settings = ClientSettings(stage.bootstrap, delivery_timeout_ms=20_000)
    return BulkWriter(settings, topic=topic, transactional_id=transactional_id)


def calls_of(stage: Stage) -> TransactionalCalls:
    return TransactionalCalls(Cluster(stage.bootstrap, api_timeout_ms=20_000))


def test_the_version_and_the_longest_timeout(stage: Stage) -> None:
    calls = calls_of(stage)
    assert calls.uses_v2() == (stage.version == 2)
    assert calls.max_timeout_ms() == 600_000
    calls.cluster.close()


def test_several_transactions_of_one_writer(stage: Stage) -> None:
    topic = topic_of(stage, "several")
    with writer_of(stage, topic, "several") as writer:
        for number in range(3):
            writer.write(rows(f"{number} a", f"{number} b"))
            writer.write(rows(f"{number} c", partition=1))
            writer.commit()
        writer.write(rows("lost"))
        writer.flush()
        writer.abort()
        writer.write(rows("3 a"))
        writer.commit()
        assert writer.transaction is None
    assert visible(stage, topic) == ["0 a", "0 b", "1 a", "1 b", "2 a", "2 b", "3 a"]
    assert visible(stage, topic, 1) == ["0 c", "1 c", "2 c"]


def handed_over(stage: Stage, topic: str, transactional_id: str, *values: str) -> TransactionHandle:
    """A transaction whose writer has gone."""
    with writer_of(stage, topic, transactional_id) as writer:
        writer.write(rows(*values))
        writer.flush()
        assert writer.transaction is not None
        handle: TransactionHandle = pickle.loads(pickle.dumps(writer.transaction))
    assert handle.is_v2 == (stage.version == 2)
    return handle


def test_another_process_ends_a_transaction(stage: Stage) -> None:
    topic = topic_of(stage, "handed-over")
    kept, dropped = handed_over(stage, topic, "kept", "a", "b"), handed_over(stage, topic, "dropped", "c")
    calls = calls_of(stage)
    assert list(calls.end_transactions([kept], committed=True)) == [kept]
    calls.end_transaction(dropped, committed=False)
    # A repeated end changes nothing, and the other end is refused.
    for handle, committed in ((kept, True), (dropped, False)):
        calls.end_transaction(handle, committed=committed)
        with pytest.raises(TransactionAbortableError, match=r"could not (commit|abort) its transaction"):
            calls.end_transaction(handle, committed=not committed)
    calls.cluster.close()
    assert visible(stage, topic) == ["a", "b"]


def test_a_new_owner_aborts_and_fences(stage: Stage) -> None:
    topic = topic_of(stage, "fenced")
    first = writer_of(stage, topic, "fenced")
    first.write(rows("old"))
    first.flush()
    handle = first.transaction
    assert handle is not None
    with writer_of(stage, topic, "fenced") as second:
        second.begin()
        with pytest.raises(ProducerFencedError):
            first.commit()
        calls = calls_of(stage)
        with pytest.raises(ProducerFencedError, match="The transactional id fenced could not commit"):
            calls.end_transaction(handle, committed=True)
        calls.cluster.close()
        second.write(rows("new"))
        second.commit()
    with pytest.raises(ClientError, match="has failed earlier"):
        first.write(rows("never"))
    first.close()
    assert visible(stage, topic) == ["new"]


def test_a_fenced_writer_cannot_write(stage: Stage) -> None:
    topic = topic_of(stage, "fenced-write")
    with writer_of(stage, topic, "fenced-write") as second:
        first = writer_of(stage, topic, "fenced-write")
        first.begin()
        second.begin()
        first.write(rows("never"))
        with pytest.raises(ClientError):
            first.flush()
        first.close()
    assert visible(stage, topic) == []


def test_a_timeout_that_is_too_long_is_shortened(stage: Stage) -> None:
    calls = calls_of(stage)
    identity = calls.init_producer_id("too long", 2_000_000)
    described = Admin(calls.cluster).describe_transactions(["too long"])["too long"]
    assert (described.producer_id, described.timeout_ms) == (identity.producer_id, 500_000)  # type: ignore[union-attr]
    calls.cluster.close()


def test_many_transactions_end_at_once(stage: Stage) -> None:
    topic = topic_of(stage, "many")
    handles = [handed_over(stage, topic, f"many-{number}", f"{number:02}") for number in range(12)]
    calls = calls_of(stage)
    ended = calls.end_transactions(handles, committed=True)
    calls.cluster.close()
    assert not [result for result in ended.values() if isinstance(result, TransactionError)]
    assert visible(stage, topic) == [f"{number:02}" for number in range(12)]


def test_transactions_need_acknowledgements_of_all() -> None:
    with pytest.raises(SettingsError, match="Transactions need acks=all"):
        BulkWriter(ClientSettings("localhost:1", acks=1, enable_idempotence=False), transactional_id="t")


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (ErrorCode.CONCURRENT_TRANSACTIONS, TransactionUnfinishedError),
        (ErrorCode.NOT_COORDINATOR, TransactionUnfinishedError),
        (ErrorCode.TRANSACTION_ABORTABLE, TransactionAbortableError),
        (ErrorCode.INVALID_PRODUCER_ID_MAPPING, TransactionAbortableError),
        (ErrorCode.INVALID_PRODUCER_EPOCH, ProducerFencedError),
        (ErrorCode.PRODUCER_FENCED, ProducerFencedError),
        (ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, TransactionError),
    ],
)
def test_errors_are_sorted_by_what_helps(code: ErrorCode, kind: type[TransactionError]) -> None:
    error = transaction_error("sales", "add partitions", error_for(code))
    assert type(error) is kind
    assert str(error) == f"The transactional id sales could not add partitions: {error.reason}"
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again), again.code) == (kind, str(error), code)
