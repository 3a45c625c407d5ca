"""The bulk client against confluent-kafka on a running cluster: one reads what the other writes.

With GRALHA_TEST_KAFKA=apache the same tests run on Apache Kafka.
"""

import os
from collections.abc import Callable, Iterable, Iterator

import confluent_kafka
import pyarrow as pa
import pytest

from gralha.client.admin import Admin
from gralha.client.bulk_reader import BulkReader
from gralha.client.bulk_writer import BulkWriter, WrittenOffsets
from gralha.client.cluster import Cluster
from gralha.client.errors import OffsetsLostError
from gralha.client.settings import ClientSettings
from gralha.client.values import LATEST, ListedOffset, NewTopic, OffsetRange, TopicPartition
from gralha.protocol.compression import NAMES
from gralha.testing import GralhaCluster
from tests.client.live import eventually
from tests.received import headers_of

Row = tuple[bytes | None, bytes | None, list[tuple[str, bytes | None]]]
HEADERS_TYPE = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))


def varied(count: int) -> list[Row]:
    """Records of all shapes: null and empty fields, headers, a few large ones."""
    return [
        (
            None if number % 3 == 0 else b"" if number % 7 == 0 else b"key-%d" % (number % 50),
            None if number % 5 == 0 else b"" if number % 11 == 0 else b"value-%d " % number * (number % 20),
            [("a", b"1"), ("b", None), ("ü", b"\x00\xff")][: number % 4],
        )
        for number in range(count)
    ] + [(b"large", os.urandom(400_000), []), (None, b"x" * 700_000, [])]


@pytest.fixture
def admin(bootstrap: str) -> Iterator[Admin]:
    with Admin(Cluster(bootstrap)) as admin:
        yield admin


@pytest.fixture
def topic(admin: Admin, new_name: Callable[[str], str]) -> str:
    """A topic of three partitions."""
    return create(admin, new_name("bulk"), partitions=3)


def create(admin: Admin, name: str, partitions: int = 1, **configs: str) -> str:
    result = admin.create_topics(
        [NewTopic(name, partitions, configs={key.replace("_", "."): value for key, value in configs.items()})]
    )
    assert result == {name: None}
    return name


def log_end(admin: Admin, topic: str, partition: int = 0) -> int:
    place = TopicPartition(topic, partition)
    answer = admin.list_offsets({place: LATEST})[place]
    assert isinstance(answer, ListedOffset)
    return answer.offset


def produce(bootstrap: str, topic: str, rows: Iterable[Row], partition: int = 0, **config: object) -> None:
    """Write with confluent-kafka."""
    settings = {"bootstrap.servers": bootstrap, "linger.ms": 20, "batch.num.messages": 300}
    producer = confluent_kafka.Producer(settings | {k.replace("_", "."): v for k, v in config.items()})
    for key, value, headers in rows:
        producer.produce(topic, value, key, partition, headers=list(headers))
    assert producer.flush(30) == 0


def consume(bootstrap: str, topic: str, partition: int, count: int) -> list[confluent_kafka.Message]:
    """Read with confluent-kafka."""
    consumer = confluent_kafka.Consumer({"bootstrap.servers": bootstrap, "group.id": "bulk"})
    consumer.assign([confluent_kafka.TopicPartition(topic, partition, 0)])
    found: list[confluent_kafka.Message] = []
    while len(found) < count:
        batch = consumer.consume(count - len(found), 20)
        assert batch, f"{len(found)} of {count} messages"
        found += batch
    consumer.close()
    return found


def read(bootstrap: str, wanted: OffsetRange, rows: int = 500, **settings: str) -> pa.Table:
    options = {"bootstrap.servers": bootstrap} | {k.replace("_", "."): v for k, v in settings.items()}
    with BulkReader(ClientSettings.from_kafka(options), include_headers=True) as reader:
        table = pa.Table.from_batches(reader.read(wanted, rows), reader.schema)
    table.validate(full=True)
    return table


def arrow(rows: list[Row], **columns: list[object]) -> pa.RecordBatch:
    header_lists = [[{"key": k, "value": v} for k, v in headers] or None for _, _, headers in rows]
    return pa.record_batch(
        {
            "key": pa.array([key for key, _, _ in rows], pa.binary()),
            "value": pa.array([value for _, value, _ in rows], pa.binary()),
            "headers": pa.array(header_lists, HEADERS_TYPE),
            **{name: pa.array(values) for name, values in columns.items()},
        }
    )


def rows_of(table: pa.Table) -> list[Row]:
    return [
        (row["key"], row["value"], [(pair["key"], pair["value"]) for pair in row["headers"] or []])
        for row in table.select(["key", "value", "headers"]).to_pylist()
    ]


def row_of(message: confluent_kafka.Message) -> Row:
    return message.key(), message.value(), headers_of(message)


@pytest.mark.parametrize("codec", NAMES)
def test_what_another_client_wrote_is_read(bootstrap: str, topic: str, codec: str) -> None:
    rows = varied(3000)
    produce(bootstrap, topic, rows, partition=1, compression_type=codec)
    table = read(bootstrap, OffsetRange(topic, 1, 0, len(rows)), max_partition_fetch_bytes="200000")
    messages = consume(bootstrap, topic, 1, len(rows))
    assert rows_of(table) == rows
    assert table["offset"].to_pylist() == list(range(len(rows)))
    assert set(table["topic"].to_pylist()) == {topic}
    assert set(table["partition"].to_pylist()) == {1}
    assert table["timestampType"].to_pylist() == [message.timestamp()[0] - 1 for message in messages]
    assert table["timestamp"].cast(pa.int64()).to_pylist() == [
        message.timestamp()[1] * 1000 for message in messages
    ]


@pytest.mark.parametrize("codec", NAMES)
def test_what_is_written_another_client_reads(bootstrap: str, topic: str, codec: str) -> None:
    rows = varied(3000)
    options = {"bootstrap.servers": bootstrap, "compression.type": codec, "batch.size": "30000"}
    batch = arrow(rows, partition=[2] * len(rows))
    with BulkWriter(ClientSettings.from_kafka(options), topic=topic) as writer:
        for start in range(0, len(rows), 700):
            writer.write(batch.slice(start, 700))
        writer.flush()
        report = writer.report
    assert report.records == len(rows)
    assert report.offsets == {TopicPartition(topic, 2): WrittenOffsets(0, len(rows) - 1)}
    assert [row_of(message) for message in consume(bootstrap, topic, 2, len(rows))] == rows
    assert rows_of(read(bootstrap, OffsetRange(topic, 2, 0, len(rows)))) == rows


@pytest.mark.parametrize("acks", ["0", "1"])
def test_less_safety_may_be_asked_for(bootstrap: str, admin: Admin, topic: str, acks: str) -> None:
    rows = varied(500)
    options = {"bootstrap.servers": bootstrap, "acks": acks, "batch.size": "5000"}
    with BulkWriter(ClientSettings.from_kafka(options), topic=topic) as writer:
        writer.write(arrow(rows, partition=[1] * len(rows)))
        writer.flush()
        assert writer.report.records == len(rows)
        assert eventually(lambda: log_end(admin, topic, 1) == len(rows))
    assert rows_of(read(bootstrap, OffsetRange(topic, 1, 0, len(rows)))) == rows


def test_keys_meet_those_of_another_client(bootstrap: str, admin: Admin, topic: str) -> None:
    keys = [b"key-%d" % number for number in range(200)]
    produce(bootstrap, topic, [(key, b"theirs", []) for key in keys], partition=-1, partitioner="murmur2")
    with BulkWriter(ClientSettings(bootstrap), topic=topic) as writer:
        writer.write(arrow([(key, b"ours", []) for key in keys]))
    for partition in range(3):
        found = rows_of(read(bootstrap, OffsetRange(topic, partition, 0, log_end(admin, topic, partition))))
        theirs = {key for key, value, _ in found if value == b"theirs"}
        assert theirs == {key for key, value, _ in found if value == b"ours"}
        assert theirs


def test_rows_name_their_topics_and_those_without_a_key_are_spread(
    bootstrap: str, admin: Admin, new_name: Callable[[str], str]
) -> None:
    names = [create(admin, new_name("bulk"), partitions=3) for _ in range(2)]
    rows = pa.record_batch(
        {
            "value": [f"{number:0100}" for number in range(600)],
            "topic": [names[number % 2] for number in range(600)],
            "partition": pa.array([None] * 600, pa.int32()),
        }
    )
    with BulkWriter(ClientSettings(bootstrap, batch_size=1000)) as writer:
        writer.write(rows)
        writer.flush()
        report = writer.report
    for place, name in enumerate(names):
        found = [
            int(value)
            for partition in range(3)
            for value in read(bootstrap, OffsetRange(name, partition, 0, log_end(admin, name, partition)))[
                "value"
            ].to_pylist()
        ]
        assert sorted(found) == list(range(place, 600, 2))
        assert sum(where.topic == name for where in report.offsets) > 1


def test_a_topic_s_limit_for_batches_is_kept(
    bootstrap: str, admin: Admin, new_name: Callable[[str], str]
) -> None:
    small = create(admin, new_name("bulk"), max_message_bytes="2000")
    rows: list[Row] = [(None, os.urandom(100), []) for _ in range(500)]
    with BulkWriter(ClientSettings(bootstrap, batch_size=50_000), topic=small) as writer:
        writer.write(arrow(rows))
    assert rows_of(read(bootstrap, OffsetRange(small, 0, 0, 500))) == rows


def test_times_that_the_broker_sets_are_told_apart(
    bootstrap: str, admin: Admin, new_name: Callable[[str], str]
) -> None:
    name = create(admin, new_name("bulk"), message_timestamp_type="LogAppendTime")
    produce(bootstrap, name, [(None, b"x", [])])
    assert read(bootstrap, OffsetRange(name, 0, 0, 1))["timestampType"].to_pylist() == [1]


def test_records_deleted_in_the_meantime_are_reported(bootstrap: str, admin: Admin, topic: str) -> None:
    produce(bootstrap, topic, [(None, b"%d" % number, []) for number in range(100)])
    admin.delete_records({TopicPartition(topic, 0): 40})
    with pytest.raises(OffsetsLostError) as raised:
        read(bootstrap, OffsetRange(topic, 0, 10, 100))
    assert (raised.value.log_start_offset, raised.value.log_end_offset) == (40, 100)
    assert rows_of(read(bootstrap, OffsetRange(topic, 0, 40, 100)))[0][1] == b"40"


def test_gaps_of_a_compacted_topic_are_passed_over(new_name: Callable[[str], str]) -> None:
    """A broker with a log cleaner that runs every tenth of a second."""
    with GralhaCluster(config={"log.cleaner.backoff.ms": "100"}) as cluster:
        bootstrap = cluster.bootstrap
        with Admin(Cluster(bootstrap)) as admin:
            name = create(
                admin,
                new_name("bulk"),
                cleanup_policy="compact",
                segment_bytes="1048576",
                min_cleanable_dirty_ratio="0.01",
            )
        rows: list[Row] = [
            (b"%d" % (number % 10), b"%d" % number + b"-" * 1000, []) for number in range(4000)
        ]
        produce(bootstrap, name, rows, compression_type="lz4", batch_num_messages=50)
        produce(bootstrap, name, [(b"last", os.urandom(600_000), [])] * 3)
        end = len(rows) + 3

        def compacted() -> bool:
            return len(read(bootstrap, OffsetRange(name, 0, 0, end))) < end

        assert eventually(compacted, 30)
        table = read(bootstrap, OffsetRange(name, 0, 0, end))
        messages = consume(bootstrap, name, 0, len(table))
        offsets = table["offset"].to_pylist()
        assert offsets == [message.offset() for message in messages]
        assert offsets[-1] == end - 1
        assert rows_of(table) == [row_of(message) for message in messages]
        # Ranges begin and end in gaps, too.
        assert read(bootstrap, OffsetRange(name, 0, 1, offsets[0])).num_rows == 0


def test_a_broker_that_is_killed_loses_and_doubles_nothing(new_name: Callable[[str], str]) -> None:
    with GralhaCluster(brokers=3) as cluster, Admin(Cluster(cluster.bootstrap)) as admin:
        name = new_name("bulk")
        assert admin.create_topics([NewTopic(name, 3, 3, configs={"min.insync.replicas": "2"})]) == {
            name: None
        }
        rows: list[Row] = [(b"%d" % number, b"%d" % number, []) for number in range(30_000)]
        options = {"bootstrap.servers": cluster.bootstrap, "batch.size": "2000", "retry.backoff.ms": "20"}
        with BulkWriter(ClientSettings.from_kafka(options), topic=name) as writer:
            for start in range(0, len(rows), 1000):
                if start == 10_000:
                    cluster.kill(2)
                writer.write(arrow(rows[start : start + 1000]))
            writer.flush()
            assert writer.report.records == len(rows)
        found = [
            int(value)
            for partition in range(3)
            for value in read(
                cluster.bootstrap, OffsetRange(name, partition, 0, log_end(admin, name, partition))
            )["value"].to_pylist()
        ]
        assert sorted(found) == list(range(len(rows)))
