"""Transactions for the tests of commands: open, ended, and hanging ones."""

from __future__ import annotations

from collections.abc import Iterable

from confluent_kafka import Producer

from gralha.client.admin import Admin
from gralha.client.values import TopicPartition
from gralha.protocol.errors import ErrorCode
from gralha.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from gralha.protocol.primitives import RecordBytes
from gralha.protocol.records import Record, encode_batch

# From version 12 on the leader itself adds the partition to the transaction (KIP-890).
_WITHOUT_THE_COORDINATOR = 11


def begin(bootstrap: str, transactional_id: str, partitions: Iterable[TopicPartition]) -> Producer:
    """A producer whose transaction has a record in each of the partitions."""
    producer = Producer(
        {"bootstrap.servers": bootstrap, "transactional.id": transactional_id, "linger.ms": 0, "log_level": 0}
    )
    producer.init_transactions(30)
    producer.begin_transaction()
    for topic, partition in partitions:
        producer.produce(topic, b"of a transaction", partition=partition)
    assert producer.flush(30) == 0
    return producer


def hang(
    admin: Admin, partition: TopicPartition, *, producer_id: int, transactional_id: str, timestamp_ms: int
) -> int:
    """Writes a record of a transaction that no coordinator knows. Returns its offset.

    The broker must not verify transactions (transaction.partition.verification.enable=false).
    """
    batch = encode_batch(
        [Record(None, b"hangs", timestamp_ms)],
        producer_id=producer_id,
        producer_epoch=0,
        base_sequence=0,
        transactional=True,
    )
    records = PartitionProduceData(index=partition.partition, records=RecordBytes(batch, 0, len(batch)))
    request = ProduceRequest(
        transactional_id=transactional_id,
        acks=-1,
        timeout_ms=10_000,
        topic_data=[TopicProduceData(name=partition.topic, partition_data=[records])],
    )
    leader = admin.cluster.leaders([partition])[partition]
    assert isinstance(leader, int)
    response = admin.cluster.send_to(leader, request, ProduceResponse, max_version=_WITHOUT_THE_COORDINATOR)
    answer = response.responses[0].partition_responses[0]
    assert answer.error_code == ErrorCode.NONE
    return answer.base_offset
