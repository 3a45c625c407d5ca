"""How a transaction ended, by the records and markers of a partition."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pytest

from gralha.client.admin import Admin
from gralha.client.bulk_writer import BulkWriter
from gralha.client.cluster import Cluster
from gralha.client.settings import ClientSettings
from gralha.client.transaction_outcomes import LoggedOutcome, OutcomeReader
from gralha.client.transaction_state import TransactionHandle
from gralha.client.values import NewTopic, TopicPartition


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
