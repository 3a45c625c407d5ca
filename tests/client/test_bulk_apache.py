"""The bulk client on Apache Kafka: writing, reading, and transactions, which only Apache Kafka has so far."""

from collections.abc import Iterator

import confluent_kafka
import pytest

from gralha.client.admin import Admin
from gralha.client.bulk_writer import BulkWriter, WrittenOffsets
from gralha.client.cluster import Cluster
from gralha.client.settings import ClientSettings
from gralha.client.values import OffsetRange, TopicPartition
from gralha.protocol.compression import NAMES
from tests.apache.kafka import ApacheKafka
from tests.client.test_bulk_live import arrow, consume, create, log_end, read, row_of, rows_of, varied


@pytest.fixture(scope="module")
def apache() -> Iterator[str]:
    with ApacheKafka() as cluster:
        yield cluster.bootstrap


def test_rows_of_all_codecs_come_back(apache: str) -> None:
    with Admin(Cluster(apache)) as admin:
        topic = create(admin, "round-trip", partitions=len(NAMES))
    rows = varied(1000)
    for partition, codec in enumerate(NAMES):
        settings = ClientSettings(apache, compression_type=codec, batch_size=20_000)
        with BulkWriter(settings, topic=topic) as writer:
            writer.write(arrow(rows, partition=[partition] * len(rows)))
            writer.flush()
            assert writer.report.offsets == {
                TopicPartition(topic, partition): WrittenOffsets(0, len(rows) - 1)
            }
        assert [row_of(message) for message in consume(apache, topic, partition, len(rows))] == rows
        assert rows_of(read(apache, OffsetRange(topic, partition, 0, len(rows)))) == rows


def test_transactions_are_read_as_another_client_reads_them(apache: str) -> None:
    with Admin(Cluster(apache)) as admin:
        topic = create(admin, "transactions")
        settings = {"bootstrap.servers": apache, "transactional.id": topic, "linger.ms": 1}
        producer = confluent_kafka.Producer(settings)
        producer.init_transactions(30)
        for number in range(12):
            producer.begin_transaction()
            for value in range(20):
                producer.produce(topic, b"%d-%d" % (number, value), partition=0)
            producer.flush()
            if number % 3:
                producer.commit_transaction(30)
            else:
                producer.abort_transaction(30)
        end = log_end(admin, topic)
    committed = read(apache, OffsetRange(topic, 0, 0, end), isolation_level="read_committed")
    messages = consume(apache, topic, 0, 8 * 20)
    assert committed["offset"].to_pylist() == [message.offset() for message in messages]
    assert read(apache, OffsetRange(topic, 0, 0, end)).num_rows == 12 * 20
