"""Topics for tests of pipelines: written and read by another client than ours."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import confluent_kafka
from confluent_kafka.admin import AdminClient, NewTopic

from tests.received import value_of

PATIENCE_S = 60.0


def create(bootstrap: str, topic: str, partitions: int = 1, **config: str) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    new = NewTopic(topic, partitions, 1, config={name.replace("_", "."): one for name, one in config.items()})
    admin.create_topics([new])[topic].result(PATIENCE_S)


def write(
    bootstrap: str, topic: str, values: Iterable[Any], key: str | None = None, headers: Any = None
) -> None:
    """Writes values to partition 0, so that they keep their order: bytes unchanged, all else as JSON."""
    producer = confluent_kafka.Producer({"bootstrap.servers": bootstrap, "message.max.bytes": 10_000_000})
    for value in values:
        data = value if isinstance(value, bytes | None) else json.dumps(value).encode()
        producer.produce(topic, data, key=key, partition=0, headers=headers)
    assert producer.flush(PATIENCE_S) == 0


def read(bootstrap: str, topic: str, isolation: str = "read_committed") -> list[confluent_kafka.Message]:
    """All current records of a topic, ordered by partition and offset."""
    consumer = confluent_kafka.Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "none",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "isolation.level": isolation,
        }
    )
    try:
        partitions = consumer.list_topics(topic, timeout=PATIENCE_S).topics[topic].partitions
        consumer.assign([confluent_kafka.TopicPartition(topic, number, 0) for number in partitions])
        found: list[confluent_kafka.Message] = []
        # The markers of transactions have offsets, so the ends do not tell how many records there are.
        ended: set[int | None] = set()
        while len(ended) < len(partitions):
            got = consumer.poll(PATIENCE_S)
            assert got is not None, f"{len(found)} records came, and the ends of partitions {ended}"
            error = got.error()
            if error is None:
                found.append(got)
            else:
                assert error.code() == confluent_kafka.KafkaError._PARTITION_EOF, error
                ended.add(got.partition())
        return sorted(found, key=lambda message: (message.partition(), message.offset()))
    finally:
        consumer.close()


def read_values(bootstrap: str, topic: str) -> list[Any]:
    """The JSON values of a topic."""
    return [json.loads(value_of(message)) for message in read(bootstrap, topic)]
