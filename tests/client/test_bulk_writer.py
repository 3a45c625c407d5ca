"""The writer with a broker that fails in every way. test_bulk_live has real brokers."""

import pickle
import subprocess
import sys

import pyarrow as pa
import pytest

from gralha.client import cluster, producing
from gralha.client.bulk_writer import BulkWriter, WrittenOffsets
from gralha.client.errors import ClientError, DeliveryError, DeliveryRefusedError, RowsError, UnansweredError
from gralha.client.values import TopicPartition
from gralha.protocol.apis import ApiKey
from gralha.protocol.errors import ErrorCode
from gralha.protocol.messages.init_producer_id import InitProducerIdResponse
from tests.client.bulk_broker import APPEND_AND_HANG_UP, HANG_UP, SERVE, TOPIC, BulkBroker, bulk_broker

ROWS = pa.record_batch({"value": [b"%03d" % number for number in range(100)]})
ALL = ROWS["value"].to_pylist()


def write(broker: BulkBroker, rows: pa.RecordBatch = ROWS, **settings: object) -> BulkWriter:
    """Writes rows in batches of a few records, so that several are under way."""
    few = {"batch_size": 200, "max_request_size": 1000, **settings}
    with BulkWriter(broker.settings(**few), topic=TOPIC) as writer:
        writer.write(rows)
    return writer


def test_batches_follow_each_other_with_their_sequence_numbers() -> None:
    with bulk_broker() as broker:
        report = write(broker).report
        assert [record.value for record in broker.records()] == ALL
        assert [sequence for sequence, _ in broker.produced] == [
            sum(count for _, count in broker.produced[:index]) for index in range(len(broker.produced))
        ]
        assert (report.records, report.producer_id, report.producer_epoch) == (100, 77, 5)
        assert report.offsets == {TopicPartition(TOPIC, 0): WrittenOffsets(0, 99)}
        assert report.size_bytes == sum(len(data) for data in broker.log)


@pytest.mark.parametrize(
    "script",
    [
        [HANG_UP],
        [APPEND_AND_HANG_UP],
        [SERVE, HANG_UP, SERVE, APPEND_AND_HANG_UP, HANG_UP, HANG_UP],
        [ErrorCode.NOT_LEADER_OR_FOLLOWER],
        [SERVE, ErrorCode.NOT_ENOUGH_REPLICAS, SERVE, SERVE],
        [SERVE, SERVE, ErrorCode.REQUEST_TIMED_OUT, ErrorCode.LEADER_NOT_AVAILABLE, HANG_UP],
        [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION] * 6,
        [ErrorCode.CORRUPT_MESSAGE, APPEND_AND_HANG_UP, ErrorCode.NOT_LEADER_OR_FOLLOWER],
    ],
)
def test_every_record_is_written_once_and_in_order_whatever_fails(script: list[int]) -> None:
    with bulk_broker() as broker:
        broker.produce_script = script
        report = write(broker).report
        assert [record.value for record in broker.records()] == ALL
        assert report.records == 100
        assert broker.produce_script == []


def test_a_broker_that_is_away_for_a_while_is_waited_for() -> None:
    with bulk_broker() as broker:
        broker.produce_script = [SERVE, HANG_UP]
        broker.metadata_script = [SERVE, HANG_UP, HANG_UP]
        write(broker)
        assert [record.value for record in broker.records()] == ALL
        assert broker.metadata_script == []


def test_a_writer_may_wait_for_a_cluster_that_never_answered() -> None:
    pauses: list[float] = []
    with bulk_broker() as broker:
        broker.init_script = [HANG_UP] * 3
        broker.metadata_script = [HANG_UP] * 2
        with BulkWriter(
            broker.settings(), topic=TOPIC, waits_for_first_answer=True, sleep=pauses.append
        ) as writer:
            writer.write(ROWS)
        assert [record.value for record in broker.records()] == ALL
        assert len(pauses) == 5
        # A wrong address is reported at once.
        broker.init_script = [HANG_UP]
        with pytest.raises(UnansweredError):
            write(broker)


def test_rows_wait_for_room_while_the_leader_is_away() -> None:
    """All kinds of failures, also of batches that were sent before: they need memory again."""
    waiting: list[int] = []
    with bulk_broker() as broker:
        broker.max_batch_bytes = 150
        broker.produce_script = [SERVE, *[HANG_UP, ErrorCode.NOT_LEADER_OR_FOLLOWER] * 20]
        settings = broker.settings(batch_size=200, max_request_size=1000, buffer_memory=2000)
        writer = BulkWriter(settings, topic=TOPIC, sleep=lambda _: look())

        def look() -> None:
            waiting.append(writer._sender.waiting_bytes)

        with writer:
            for _ in range(50):
                writer.write(ROWS)
                look()
        assert [record.value for record in broker.records()] == ALL * 50
        # A batch is made before there is room for it, and five requests may fail.
        assert 2000 < max(waiting) < 2000 + 6 * 200
        assert writer._sender.waiting_bytes == 0


def test_rows_that_wait_for_room_end_with_the_time_of_their_delivery() -> None:
    with bulk_broker() as broker:
        broker.produce_script = [ErrorCode.NOT_LEADER_OR_FOLLOWER] * 10_000
        settings = broker.settings(batch_size=200, buffer_memory=500, delivery_timeout_ms=300)
        writer = BulkWriter(settings, topic=TOPIC)
        with pytest.raises(DeliveryError, match=r"not within delivery\.timeout\.ms=300"):
            writer.write(ROWS)
        writer.close()


def test_a_batch_that_the_topic_finds_too_large_is_halved_until_it_fits() -> None:
    with bulk_broker() as broker:
        broker.max_batch_bytes = 150
        write(broker, batch_size=600)
        assert [record.value for record in broker.records()] == ALL
        assert max(len(data) for data in broker.log) <= 150


def test_a_record_that_the_topic_finds_too_large_is_refused_with_its_partition() -> None:
    with bulk_broker() as broker:
        broker.max_batch_bytes = 100
        with pytest.raises(
            DeliveryRefusedError, match=r"written to sales-0: .*max\.message\.bytes"
        ) as raised:
            write(broker, pa.record_batch({"value": [b"x" * 200]}))
        copy = pickle.loads(pickle.dumps(raised.value))
        assert (str(copy), copy.topic, copy.partition) == (str(raised.value), TOPIC, 0)
        assert type(copy) is DeliveryRefusedError


def test_after_a_failure_nothing_more_is_written() -> None:
    with bulk_broker() as broker:
        broker.produce_script = [ErrorCode.TOPIC_AUTHORIZATION_FAILED]
        writer = BulkWriter(broker.settings(), topic=TOPIC)
        writer.write(ROWS)
        with pytest.raises(DeliveryRefusedError, match="Access to the topic is denied"):
            writer.flush()
        with pytest.raises(ClientError, match="has failed earlier: Records could not be written to sales-0"):
            writer.write(ROWS)
        assert broker.log == []


def test_sequence_numbers_that_the_broker_misses_are_an_error() -> None:
    with bulk_broker() as broker:
        broker.produce_script = [ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER]
        with pytest.raises(DeliveryError):
            write(broker)


def test_delivery_ends_with_its_time() -> None:
    with bulk_broker() as broker:
        broker.produce_script = [ErrorCode.NOT_LEADER_OR_FOLLOWER] * 10_000
        with pytest.raises(DeliveryError, match=r"not within delivery\.timeout\.ms=50\. .*not the leader"):
            write(broker, delivery_timeout_ms=50)


def test_a_topic_that_stays_unknown_was_deleted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(producing, "_UNKNOWN_TOPIC_PATIENCE_MS", 20)
    with bulk_broker() as broker:
        broker.produce_script = [ErrorCode.UNKNOWN_TOPIC_ID] * 10_000
        with pytest.raises(DeliveryRefusedError, match="the topic does not exist any more"):
            write(broker)


@pytest.mark.parametrize(
    "code",
    [
        # A new producer may succeed.
        ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
        ErrorCode.UNKNOWN_PRODUCER_ID,
        ErrorCode.UNKNOWN_SERVER_ERROR,
        # The cluster may recover.
        ErrorCode.NOT_ENOUGH_REPLICAS,
    ],
)
def test_what_may_be_taken_later_is_not_refused_for_good(code: int) -> None:
    with bulk_broker() as broker:
        broker.produce_script = [code] * 10_000
        with pytest.raises(DeliveryError) as raised:
            write(broker, delivery_timeout_ms=50)
    assert type(raised.value) is DeliveryError


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (ErrorCode.INVALID_TOPIC_EXCEPTION, DeliveryRefusedError),
        (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, DeliveryRefusedError),
        (ErrorCode.TOPIC_AUTHORIZATION_FAILED, DeliveryRefusedError),
        (ErrorCode.LEADER_NOT_AVAILABLE, DeliveryError),
    ],
)
def test_a_topic_that_cannot_be_written_at_all(
    code: int, kind: type[DeliveryError], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster, "UNKNOWN_TOPIC_PATIENCE_MS", 20)
    with bulk_broker() as broker:
        broker.topic_error = code
        with pytest.raises(DeliveryError, match="could not be written to sales: ") as raised:
            write(broker, delivery_timeout_ms=100)
    assert type(raised.value) is kind
    assert pickle.loads(pickle.dumps(raised.value)).partition is None


def test_a_producer_that_is_not_let_in_is_refused_for_good() -> None:
    with bulk_broker() as broker:
        denied = InitProducerIdResponse(error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
        broker.handlers[ApiKey.INIT_PRODUCER_ID] = lambda request, version: denied
        with pytest.raises(DeliveryRefusedError, match=r"^Records could not be written: .*denied"):
            write(broker)


def test_without_idempotence_batches_carry_no_sequence_numbers() -> None:
    with bulk_broker() as broker:
        write(broker, acks=1, enable_idempotence=False)
        assert {sequence for sequence, _ in broker.produced} == {-1}
        assert [record.value for record in broker.records()] == ALL


@pytest.mark.parametrize(
    ("columns", "problem"),
    [
        ({"key": [b"k"]}, "have no column 'value'"),
        ({"value": [1]}, "column 'value' must be a string or binary, not int64"),
        ({"value": [b"v"], "key": [1.5]}, "column 'key' must be a string or binary, not double"),
        ({"value": [b"v"], "partition": ["0"]}, "'partition' must be an integer, not string"),
        ({"value": [b"v"], "headers": ["h"]}, "'headers' must be array<struct<key: string, value: binary>>"),
        ({"value": [b"v"], "partition": [1]}, r"partition 1, but the topic sales has 1 \(0 to 0\)"),
        ({"value": [b"v"], "partition": [-1]}, "partition -1: partitions are numbered from 0"),
        ({"value": [b"v"], "partition": [2**40]}, "cannot be written as records"),
        ({"value": [b"v" * 1001]}, r"max\.request\.size allows 1000"),
        ({"value": [b"v"], "headers": [[{"key": None, "value": b""}]]}, "A header of a row has no key"),
    ],
)
def test_rows_that_cannot_be_records_are_explained(columns: dict[str, list[object]], problem: str) -> None:
    if columns.get("headers") == [[{"key": None, "value": b""}]]:
        kind = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
        rows = pa.record_batch({**columns, "headers": pa.array(columns["headers"], kind)})
    else:
        rows = pa.record_batch(columns)
    with bulk_broker() as broker, pytest.raises(RowsError, match=problem):
        write(broker, rows)


def test_a_topic_is_needed() -> None:
    with bulk_broker() as broker:
        with pytest.raises(RowsError, match="set the option topic"), BulkWriter(broker.settings()) as writer:
            writer.write(ROWS)
        rows = pa.record_batch({"value": [b"v"], "topic": pa.array([None], pa.string())})
        with pytest.raises(RowsError, match="A row has no topic"), BulkWriter(broker.settings()) as writer:
            writer.write(rows)


def test_rows_without_any_row_connect_to_nobody() -> None:
    with bulk_broker() as broker:
        write(broker, ROWS.slice(0, 0))
        assert broker.requests == []


WITHOUT_PANDAS = """
import sys
import pyarrow as pa
from gralha.client.arrow_rows import binary_column, header_columns, partition_numbers, picked, topic_numbers
from gralha.client.bulk_writer import BulkWriter

rows = pa.ipc.open_stream(sys.stdin.buffer).read_next_batch()
binary_column(rows["value"])
header_columns(rows["headers"])
partition_numbers(rows["partition"])
names, numbers = topic_numbers(rows["topic"])
picked(bytes(4 * len(names)), numbers)
print("pandas" in sys.modules)
"""


def test_pandas_is_not_imported() -> None:
    """The import takes a second, in every process that Spark starts."""
    headers = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
    rows = pa.record_batch(
        {
            "value": ["v", None],
            "topic": ["t", "u"],
            "partition": [0, None],
            "headers": pa.array([[{"key": "k", "value": b"v"}], None], headers),
        }
    )
    stream = pa.BufferOutputStream()
    with pa.ipc.new_stream(stream, rows.schema) as sender:
        sender.write_batch(rows)
    answer = subprocess.run(
        [sys.executable, "-c", WITHOUT_PANDAS],
        input=stream.getvalue().to_pybytes(),
        stdout=subprocess.PIPE,
        check=True,
    )
    assert answer.stdout.strip() == b"False"
