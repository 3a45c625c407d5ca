"""A task whose range has lost records."""

import logging

import pytest
from pyspark.sql.datasource import CaseInsensitiveDict

from gralha.client import fetching
from gralha.client.values import OffsetRange
from gralha.protocol.errors import ErrorCode
from gralha.protocol.records import Record, encode_batch
from gralha.spark.data_loss import DataLossError
from gralha.spark.options import SourceOptions, source_options
from gralha.spark.task_reader import read_range
from tests.client.bulk_broker import HANG_UP, TOPIC, TOPIC_ID, BulkBroker, bulk_broker

WANTED = OffsetRange(TOPIC, 0, 0, 10, TOPIC_ID)


def options(broker: BulkBroker, *, streaming: bool = True, **given: str) -> SourceOptions:
    kafka = {"kafka.bootstrap.servers": broker.address, "subscribe": TOPIC}
    return source_options(CaseInsensitiveDict({**kafka, **given}), streaming=streaming)


def batch(first: int) -> bytes:
    return encode_batch([Record(None, b"v", 1)] * 5, base_offset=first)


def rows(broker: BulkBroker, **given: str) -> int:
    return sum(found.num_rows for found in read_range(options(broker, streaming=True, **given), WANTED))


def test_a_task_waits_for_a_cluster_that_is_away_when_it_begins() -> None:
    with bulk_broker(batch(0), batch(5)) as broker:
        broker.metadata_script = [HANG_UP] * 2
        assert rows(broker) == 10


def test_a_topic_deleted_after_the_batch_was_planned(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(fetching, "DELETED_TOPIC_PATIENCE_MS", 20)
    with bulk_broker(batch(0), batch(5)) as broker:
        assert rows(broker) == 10
        broker.topic_error = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        broker.fetch_script = [ErrorCode.UNKNOWN_TOPIC_ID]
        with pytest.raises(DataLossError, match=r"Topic sales was deleted before .* failOnDataLoss"):
            rows(broker)
        with caplog.at_level(logging.WARNING):
            assert rows(broker, failOnDataLoss="false") == 0
    assert "Topic sales was deleted before the query had read what was planned of it." in caplog.text


def test_a_topic_created_again_after_the_batch_was_planned() -> None:
    with bulk_broker(batch(0), batch(5)) as broker:
        broker.topic_id = bytes(16 * [9])
        with pytest.raises(DataLossError, match="Topic sales was deleted and created again"):
            rows(broker)
        assert rows(broker, failOnDataLoss="false") == 0


def test_records_deleted_after_the_batch_was_planned() -> None:
    with bulk_broker(batch(5)) as broker:
        broker.log_start = 5
        with pytest.raises(DataLossError, match="Records 0 to 4 of partition sales-0 were deleted"):
            rows(broker)
        assert rows(broker, failOnDataLoss="false") == 5


def test_what_to_do_about_a_loss_depends_on_the_query() -> None:
    with bulk_broker(batch(5)) as broker:
        broker.log_start = 5
        with pytest.raises(DataLossError, match="start the query with a new checkpoint"):
            list(read_range(options(broker, streaming=True), WANTED))
        with pytest.raises(DataLossError, match="set startingOffsets to earliest") as caught:
            list(read_range(options(broker, streaming=False), WANTED))
        assert "checkpoint" not in str(caught.value)
