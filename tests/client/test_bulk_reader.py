"""The reader with a broker that fails in every way. test_bulk_live has real brokers."""

import itertools
import pickle

import pyarrow as pa
import pytest

from gralha.client import bulk_reader, cluster, fetching
from gralha.client.bulk_reader import BulkReader
from gralha.client.errors import (
    ClientError,
    ConnectionFailedError,
    OffsetsLostError,
    TopicDeletedError,
    TopicRecreatedError,
)
from gralha.client.settings import ClientSettings
from gralha.client.values import OffsetRange
from gralha.protocol.control_records import encode_end_marker
from gralha.protocol.errors import ErrorCode
from gralha.protocol.messages.fetch import AbortedTransaction
from gralha.protocol.records import Record, encode_batch
from tests.client.bulk_broker import HANG_UP, SERVE, TOPIC, TOPIC_ID, BulkBroker, bulk_broker
from tests.client.live import eventually


def batch(first: int, count: int = 2, producer_id: int = -1, transactional: bool = False) -> bytes:
    """Records whose values are their offsets."""
    return encode_batch(
        [Record(None, b"%d" % offset, 1) for offset in range(first, first + count)],
        base_offset=first,
        producer_id=producer_id,
        transactional=transactional,
    )


def values(batches: list[pa.RecordBatch]) -> list[int]:
    return [int(value) for found in batches for value in found["value"].to_pylist()]


def read(broker: BulkBroker, start: int, end: int, **settings: object) -> list[int]:
    with BulkReader(broker.settings(**settings), sleep=lambda seconds: None) as reader:
        return values(list(reader.read(OffsetRange(TOPIC, 0, start, end))))


def test_ranges_begin_and_end_inside_batches() -> None:
    with bulk_broker(batch(0, 10), batch(10, 10), batch(20, 10)) as broker:
        assert read(broker, 7, 23) == list(range(7, 23))
        assert read(broker, 12, 13) == [12]
        assert read(broker, 5, 5) == []


def test_the_next_fetch_is_sent_before_the_batch_is_handed_out() -> None:
    with bulk_broker(batch(0), batch(2), batch(4)) as broker:
        broker.batches_per_fetch = 1
        reader = BulkReader(broker.settings())
        batches = reader.read(OffsetRange(TOPIC, 0, 0, 5), rows_per_batch=1)
        assert values([next(batches)]) == [0]
        assert eventually(lambda: broker.fetched == [0, 2])
        reader.close()


def test_a_read_that_is_left_does_not_disturb_the_next_one() -> None:
    with bulk_broker(*[batch(first) for first in range(0, 20, 2)]) as broker:
        broker.batches_per_fetch = 2
        with BulkReader(broker.settings()) as reader:
            left = reader.read(OffsetRange(TOPIC, 0, 0, 20), rows_per_batch=1)
            assert values(list(itertools.islice(left, 2))) == [0, 1]
            assert values(list(reader.read(OffsetRange(TOPIC, 0, 10, 14)))) == [10, 11, 12, 13]
            # And it even continues at the same offset.
            assert values(list(left)) == list(range(2, 20))


def test_markers_and_gaps_are_passed_over() -> None:
    marker = encode_end_marker(
        commit=True, coordinator_epoch=0, producer_id=1, producer_epoch=0, timestamp_ms=1, base_offset=2
    )
    with bulk_broker(batch(0), marker, batch(7)) as broker:
        assert read(broker, 0, 9) == [0, 1, 7, 8]


@pytest.mark.parametrize(
    ("level", "expected"),
    [("read_uncommitted", [0, 1, 2, 3, 5, 6, 8, 9]), ("read_committed", [2, 3, 8, 9])],
)
def test_aborted_transactions_are_left_out_for_read_committed(level: str, expected: list[int]) -> None:
    """Producer 1 aborts and commits. Producer 2 commits records between these."""

    def marker(offset: int, producer: int, commit: bool) -> bytes:
        return encode_end_marker(
            commit=commit,
            coordinator_epoch=0,
            producer_id=producer,
            producer_epoch=0,
            timestamp_ms=1,
            base_offset=offset,
        )

    log = [
        batch(0, 2, producer_id=1, transactional=True),
        batch(2, 2, producer_id=2, transactional=True),
        marker(4, 2, commit=True),
        batch(5, 2, producer_id=1, transactional=True),
        marker(7, 1, commit=False),
        batch(8, 2, producer_id=1, transactional=True),
        marker(10, 1, commit=True),
    ]
    with bulk_broker(*log) as broker:
        broker.aborted = [AbortedTransaction(producer_id=1, first_offset=0)]
        assert read(broker, 0, 11, isolation_level=level) == expected


@pytest.mark.parametrize(
    "failure",
    [
        HANG_UP,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.KAFKA_STORAGE_ERROR,
    ],
)
def test_what_may_pass_is_tried_again(failure: int) -> None:
    with bulk_broker(batch(0), batch(2), batch(4)) as broker:
        broker.batches_per_fetch = 1
        broker.fetch_script = [failure, SERVE, failure, failure, SERVE]
        assert read(broker, 0, 6) == [0, 1, 2, 3, 4, 5]


def test_a_broker_that_is_away_for_a_while_is_waited_for() -> None:
    with bulk_broker(batch(0), batch(2)) as broker:
        broker.batches_per_fetch = 1
        broker.fetch_script = [SERVE, HANG_UP]
        broker.metadata_script = [SERVE, HANG_UP, HANG_UP, SERVE]
        assert read(broker, 0, 4) == [0, 1, 2, 3]
        assert broker.metadata_script == []


def test_what_does_not_pass_is_reported_with_the_partition() -> None:
    with bulk_broker(batch(0)) as broker:
        broker.fetch_script = [ErrorCode.TOPIC_AUTHORIZATION_FAILED]
        with pytest.raises(ClientError, match=r"sales-0 cannot be read: Access to the topic is denied"):
            read(broker, 0, 2)


def test_a_cluster_that_never_answered_is_not_waited_for() -> None:
    with BulkReader(ClientSettings("127.0.0.1:1")) as reader, pytest.raises(ConnectionFailedError):
        list(reader.read(OffsetRange(TOPIC, 0, 0, 1)))


def test_a_reader_may_wait_for_a_cluster_that_never_answered() -> None:
    pauses: list[float] = []
    with bulk_broker(batch(0)) as broker:
        broker.metadata_script = [HANG_UP] * 5
        with BulkReader(broker.settings(), waits_for_first_answer=True, sleep=pauses.append) as reader:
            assert values(list(reader.read(OffsetRange(TOPIC, 0, 0, 2)))) == [0, 1]
    assert len(pauses) == 5


def test_a_reader_that_waits_ends_with_its_time() -> None:
    settings = ClientSettings("127.0.0.1:1", default_api_timeout_ms=120)
    pauses: list[float] = []
    reader = BulkReader(settings, waits_for_first_answer=True, sleep=pauses.append)
    with pytest.raises(ConnectionFailedError):
        list(reader.read(OffsetRange(TOPIC, 0, 0, 1)))
    assert pauses


def test_records_that_were_deleted_are_lost() -> None:
    with bulk_broker(batch(10)) as broker:
        broker.log_start = 10
        with pytest.raises(OffsetsLostError) as raised:
            read(broker, 4, 12)
    error = pickle.loads(pickle.dumps(raised.value))
    assert (error.topic, error.partition, error.wanted) == (TOPIC, 0, 4)
    assert (error.log_start_offset, error.log_end_offset) == (10, 12)
    assert "sales-0 has no offset 4: older records were deleted" in str(error)


def test_a_log_that_ends_before_the_range_gives_what_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk_reader, "END_PATIENCE_MS", 0)
    with bulk_broker(batch(0, 5)) as broker, BulkReader(broker.settings()) as reader:
        found: list[pa.RecordBatch] = []
        with pytest.raises(OffsetsLostError, match="sales-0 has no offset 5: the log ends before it"):
            found.extend(reader.read(OffsetRange(TOPIC, 0, 2, 9)))
        assert values(found) == [2, 3, 4]


def test_a_topic_that_was_created_anew_is_another_one() -> None:
    with bulk_broker(batch(0)) as broker, BulkReader(broker.settings()) as reader:
        assert values(list(reader.read(OffsetRange(TOPIC, 0, 0, 2, TOPIC_ID)))) == [0, 1]
        broker.topic_id = bytes(reversed(TOPIC_ID))
        with pytest.raises(TopicRecreatedError, match="sales was deleted and created again"):
            list(reader.read(OffsetRange(TOPIC, 0, 0, 2, TOPIC_ID)))
        # A reader without a topic id reads the new topic.
        assert values(list(reader.read(OffsetRange(TOPIC, 0, 0, 2)))) == [0, 1]


def test_a_topic_that_was_deleted_is_told_as_such(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetching, "DELETED_TOPIC_PATIENCE_MS", 20)
    monkeypatch.setattr(cluster, "UNKNOWN_TOPIC_PATIENCE_MS", 20)
    with bulk_broker(batch(0)) as broker, BulkReader(broker.settings()) as reader:
        broker.topic_error = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        for topic_id in (TOPIC_ID, None):
            with pytest.raises(
                TopicDeletedError, match="has no partition sales-0: the topic was deleted"
            ) as e:
                list(reader.read(OffsetRange(TOPIC, 0, 0, 2, topic_id)))
            copy = pickle.loads(pickle.dumps(e.value))
            assert (str(copy), copy.topic, copy.partition) == (str(e.value), TOPIC, 0)


def test_a_topic_that_some_brokers_do_not_know_yet_is_not_deleted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "UNKNOWN_TOPIC_PATIENCE_MS", 0)
    with bulk_broker(batch(0)) as broker:
        broker.topic_error = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION

        def sleep(seconds: float) -> None:
            broker.topic_error = 0

        with BulkReader(broker.settings(), sleep=sleep) as reader:
            assert values(list(reader.read(OffsetRange(TOPIC, 0, 0, 2, TOPIC_ID)))) == [0, 1]


def test_a_damaged_batch_is_named_and_what_came_before_it_handed_out() -> None:
    damaged = bytearray(batch(2))
    damaged[-3] ^= 1
    with bulk_broker(batch(0), bytes(damaged)) as broker, BulkReader(broker.settings()) as reader:
        found: list[pa.RecordBatch] = []
        with pytest.raises(ClientError, match="of sales-0 at offsets 2 to 3 is damaged: its CRC"):
            found.extend(reader.read(OffsetRange(TOPIC, 0, 0, 4)))
        assert values(found) == [0, 1]
