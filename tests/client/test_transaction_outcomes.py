"""How a transaction ended, by the records and markers of a partition."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pytest

from gralha.client.admin import Admin
from gralha.client.bulk_writer import BulkWriter
from gralha.client.cluster import Cluster
from gralha.client.settings import ClientSettings
from gralha.client.transaction_outcomes import LoggedOutcome, MarkerSearch, OutcomeReader
from gralha.client.transaction_state import TransactionHandle
from gralha.client.values import NewTopic, TopicPartition
from gralha.protocol.control_records import ABORT, COMMIT, control_key
from gralha.protocol.records import Record, encode_batch

HANDLE = TransactionHandle("t", 7, 5, True)


def written(offset: int, epoch: int = 5, producer_id: int = 7) -> bytes:
    """A batch with one record of a transaction."""
    return encode_batch(
        [Record(b"k", b"v")],
        base_offset=offset,
        producer_id=producer_id,
        producer_epoch=epoch,
        base_sequence=0,
        transactional=True,
    )


def marker(offset: int, epoch: int, kind: int = ABORT, producer_id: int = 7) -> bytes:
    """A control batch that ends a transaction."""
    return encode_batch(
        [Record(control_key(kind), b"\0\0\0\0\0\0")],
        base_offset=offset,
        producer_id=producer_id,
        producer_epoch=epoch,
        transactional=True,
        control=True,
    )


def emptied(offset: int, epoch: int) -> bytes:
    """A control batch whose record was removed by compaction."""
    return encode_batch(
        [], base_offset=offset, producer_id=7, producer_epoch=epoch, transactional=True, control=True
    )


@pytest.mark.parametrize(
    ("batches", "expected"),
    [
        ([written(0), marker(1, 5, COMMIT)], LoggedOutcome.COMMITTED),
        (
            [written(0), written(1, 9, 8), marker(2, 9, ABORT, 8), marker(3, 6, COMMIT)],
            LoggedOutcome.COMMITTED,
        ),
        ([written(0), written(1), marker(2, 7)], LoggedOutcome.ABORTED),
        ([written(0)], None),
        # Compaction has removed the marker, and what comes next is of a later transaction.
        ([written(0), written(4, 7), marker(5, 8)], LoggedOutcome.FORGOTTEN),
        ([written(0), marker(5, 8)], LoggedOutcome.FORGOTTEN),
        ([written(0), emptied(1, 6), written(4, 6), marker(5, 7)], LoggedOutcome.FORGOTTEN),
        ([written(0, 4), marker(1, 5)], LoggedOutcome.FORGOTTEN),
    ],
)
def test_only_the_marker_of_the_transaction_tells(
    batches: list[bytes], expected: LoggedOutcome | None
) -> None:
    data = b"".join(batches)
    assert MarkerSearch(HANDLE, 0).feed(data, 0, len(data)) is expected


class Stage:
    """A topic with one partition, and transactions in it."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        self.settings = ClientSettings(bootstrap, delivery_timeout_ms=20_000)
        self.place = TopicPartition(topic, 0)
        self.cluster = Cluster(bootstrap)
        self.admin = Admin(self.cluster)
        assert self.admin.create_topics([NewTopic(topic, 1, 1)]) == {topic: None}

    def begin(self, name: str) -> tuple[BulkWriter, TransactionHandle, int]:
        """A transaction with two records. Its writer, its handle, and its first offset."""
        writer = BulkWriter(
            self.settings, topic=self.place.topic, transactional_id=f"{self.place.topic}-{name}"
        )
        writer.write(pa.record_batch({"value": [name, name]}))
        writer.flush()
        handle = writer.transaction
        assert handle is not None
        return writer, handle, writer.report.offsets[self.place].first

    def outcome(self, handle: TransactionHandle, first: int) -> LoggedOutcome:
        with OutcomeReader(self.cluster, self.settings) as reader:
            return reader.outcome(handle, self.place, first)


@pytest.fixture
def stage(bootstrap: str, new_name: object) -> Iterator[Stage]:
    made = Stage(bootstrap, new_name("outcomes"))  # type: ignore[operator]
    yield made
    made.cluster.close()


def test_the_marker_after_the_records_tells(stage: Stage) -> None:
    """Also if the last stable offset is before them, because an older transaction is open."""
    oldest, _handle, _first = stage.begin("oldest")
    committed, its_handle, its_first = stage.begin("committed")
    aborted, other_handle, other_first = stage.begin("aborted")
    aborted.abort()
    committed.commit()
    # The next transaction of the same id ends in another way.
    committed.write(pa.record_batch({"value": ["later"]}))
    committed.flush()
    committed.abort()
    assert stage.outcome(its_handle, its_first) is LoggedOutcome.COMMITTED
    assert stage.outcome(other_handle, other_first) is LoggedOutcome.ABORTED
    for writer in (oldest, committed, aborted):
        writer.close()


def test_records_that_were_deleted_or_are_of_somebody_else_tell_nothing(stage: Stage) -> None:
    writer, handle, first = stage.begin("deleted")
    writer.commit()
    other = handle._replace(producer_id=handle.producer_id + 1)
    assert stage.outcome(other, first) is LoggedOutcome.FORGOTTEN
    assert stage.admin.delete_records({stage.place: first + 1}) == {stage.place: first + 1}
    assert stage.outcome(handle, first) is LoggedOutcome.FORGOTTEN
    writer.close()


def test_a_transaction_without_a_marker_is_open(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gralha.client.transaction_outcomes.PATIENCE_S", 0.0)
    writer, handle, first = stage.begin("open")
    assert stage.outcome(handle, first) is LoggedOutcome.OPEN
    writer.abort()
    writer.close()
