"""Groups for the tests of commands: topics with records, groups without members, groups with live members."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from confluent_kafka import Consumer, Producer

from gralha.client.admin import Admin
from gralha.client.cluster import Cluster
from gralha.client.group_values import CommittedOffset
from gralha.client.values import NewTopic, TopicPartition
from tests.client.live import eventually


def create_topic(bootstrap: str, name: str, *, partitions: int = 3, records: int = 10) -> None:
    """A topic with this many records in each partition."""
    with Admin(Cluster(bootstrap)) as admin:
        admin.create_topics([NewTopic(name, partitions=partitions)])
        assert eventually(lambda: name in [topic.name for topic in admin.list_topics()])
    producer = Producer({"bootstrap.servers": bootstrap})
    for partition in range(partitions):
        for number in range(records):
            producer.produce(name, str(number), partition=partition)
    assert producer.flush(30) == 0


def commit(bootstrap: str, group: str, topic: str, offsets: Sequence[int | None]) -> None:
    """Commits the offset of each partition from outside of the group. None skips a partition."""
    wanted = {
        TopicPartition(topic, partition): CommittedOffset(offset)
        for partition, offset in enumerate(offsets)
        if offset is not None
    }
    with Admin(Cluster(bootstrap)) as admin:
        assert admin.commit_group_offsets(group, wanted) == dict.fromkeys(wanted)


@contextmanager
def members(
    bootstrap: str,
    group: str,
    topics: list[str],
    configs: Sequence[dict[str, Any]],
    protocol: str = "classic",
) -> Iterator[list[Consumer]]:
    """Live members of a group, each with its own config, once they share all partitions."""
    with Admin(Cluster(bootstrap)) as admin:
        partitions = sum(len(topic.partitions) for topic in admin.cluster.metadata(topics).topics)
    common = {"bootstrap.servers": bootstrap, "group.id": group, "group.protocol": protocol}
    consumers = [Consumer({**common, "auto.offset.reset": "earliest", **config}) for config in configs]
    try:
        for consumer in consumers:
            consumer.subscribe(topics)
        assert eventually(lambda: _share(consumers, partitions), timeout_s=60)
        yield consumers
    finally:
        for consumer in consumers:
            consumer.close()


def _share(consumers: list[Consumer], partitions: int) -> bool:
    for consumer in consumers:
        consumer.poll(0.05)
    counts = [len(consumer.assignment()) for consumer in consumers]
    return sum(counts) == partitions and min(counts) > 0
