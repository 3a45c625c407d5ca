"""A producer with transactional.id gives up at once, with a reason: not after a time-out.

These tests go when transactions are there. Each client gets far more time than it needs, and fails with the
broker's error instead of its own time-out.
"""

from __future__ import annotations

import pytest
from aiokafka import AIOKafkaProducer
from aiokafka.errors import TransactionalIdAuthorizationFailed
from confluent_kafka import KafkaError, KafkaException, Producer
from kafka import KafkaProducer
from kafka.errors import KafkaError as KafkaPythonError

from gralha.testing import GralhaCluster
from tests.apache.kafka import run_tool

REASON = "This broker has no transactions yet: remove transactional.id from the producer's settings."
PATIENCE_MS = 60_000


def test_librdkafka(gralha_cluster: GralhaCluster) -> None:
    settings = {"bootstrap.servers": gralha_cluster.bootstrap, "transactional.id": "t", "log_level": 0}
    with pytest.raises(KafkaException, match=REASON) as refused:
        Producer(settings).init_transactions(PATIENCE_MS / 1000)
    error = refused.value.args[0]
    assert error.code() == KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    assert error.fatal()


def test_kafka_python(gralha_cluster: GralhaCluster) -> None:
    producer = KafkaProducer(
        bootstrap_servers=gralha_cluster.bootstrap, transactional_id="t", max_block_ms=PATIENCE_MS
    )
    with pytest.raises(KafkaPythonError, match="UnsupportedVersionError"):
        producer.init_transactions()


async def test_aiokafka(gralha_cluster: GralhaCluster) -> None:
    producer = AIOKafkaProducer(
        bootstrap_servers=gralha_cluster.bootstrap, transactional_id="t", request_timeout_ms=PATIENCE_MS
    )
    with pytest.raises(TransactionalIdAuthorizationFailed):
        await producer.start()
    await producer.stop()


def test_java(gralha_cluster: GralhaCluster) -> None:
    arguments = ["--topic", "t", "--num-records", "1", "--record-size", "1", "--throughput", "-1"]
    with pytest.raises(RuntimeError, match=REASON):
        run_tool(
            "kafka-producer-perf-test",
            *arguments,
            *("--transactional-id", "t", "--bootstrap-server", gralha_cluster.bootstrap),
        )
