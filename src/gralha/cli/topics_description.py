"""The output of `kafka-topics --describe`."""

from argparse import Namespace
from collections.abc import Iterable, Iterator
from typing import TypeVar

from gralha.cli.program import CommandError
from gralha.client.admin import Admin
from gralha.client.topic_calls import DEFAULT_PAGE_PARTITIONS
from gralha.client.values import (
    ConfigEntry,
    ConfigResource,
    PartitionDescription,
    ResourceType,
    TopicDescription,
)
from gralha.protocol.errors import KafkaError
from gralha.protocol.primitives import ZERO_UUID, uuid_from_string, uuid_to_string

Result = TypeVar("Result")


def topic_id_of(text: str | None) -> bytes | None:
    """--topic-id as bytes. The zero id counts as no id."""
    if text is None:
        return None
    try:
        topic_id = uuid_from_string(text)
    except ValueError as error:
        raise CommandError(str(error)) from None
    return None if topic_id == ZERO_UUID else topic_id


def describe(
    admin: Admin, options: Namespace, *, names: Iterable[str] = (), topic_id: bytes | None = None
) -> None:
    """Print topics and partitions as the options ask for them."""
    topics = _described(admin, options, names, topic_id)
    resources = {topic.name: ConfigResource(ResourceType.TOPIC, topic.name) for topic in topics}
    configs = admin.describe_configs(resources.values())
    live_brokers = set(admin.cluster.brokers())
    for topic in topics:
        for line in lines_of(topic, succeeded(configs[resources[topic.name]]), options, live_brokers):
            print(line)


def _described(
    admin: Admin, options: Namespace, names: Iterable[str], topic_id: bytes | None
) -> list[TopicDescription]:
    if topic_id is not None:
        return [succeeded(topic) for topic in admin.describe_topics_by_id([topic_id]).values()]
    limit = options.partition_size_limit_per_response or DEFAULT_PAGE_PARTITIONS
    return [succeeded(topic) for topic in admin.describe_topics(names, page_partitions=limit).values()]


def succeeded(result: Result | KafkaError) -> Result:
    """Returns the result, or raises it if it is an error."""
    if isinstance(result, KafkaError):
        raise result
    return result


def lines_of(
    topic: TopicDescription, configs: list[ConfigEntry], options: Namespace, live_brokers: set[int]
) -> Iterator[str]:
    """The lines of one topic."""
    reports_partitions = (
        options.under_replicated_partitions
        or options.under_min_isr_partitions
        or options.at_min_isr_partitions
        or options.unavailable_partitions
    )
    overrides = [entry for entry in configs if not entry.is_default]
    if not reports_partitions and (overrides or not options.topics_with_overrides):
        yield topic_line(topic, overrides)
    if options.topics_with_overrides:
        return
    min_in_sync = next((int(entry.value or 1) for entry in configs if entry.name == "min.insync.replicas"), 1)
    for partition in topic.partitions:
        if not reports_partitions or _is_reported(partition, options, live_brokers, min_in_sync):
            yield partition_line(topic.name, partition)


def _is_reported(
    partition: PartitionDescription, options: Namespace, live_brokers: set[int], min_in_sync: int
) -> bool:
    in_sync = len(partition.in_sync_replicas)
    return bool(
        (options.under_replicated_partitions and in_sync < len(partition.replicas))
        or (options.under_min_isr_partitions and (partition.leader is None or in_sync < min_in_sync))
        or (options.at_min_isr_partitions and in_sync == min_in_sync)
        or (options.unavailable_partitions and partition.leader not in live_brokers)
    )


def topic_line(topic: TopicDescription, overrides: list[ConfigEntry]) -> str:
    """The first line of a topic."""
    columns = [f"Topic: {topic.name}"]
    if topic.topic_id != ZERO_UUID:
        columns.append(f"TopicId: {uuid_to_string(topic.topic_id)}")
    replication_factor = len(topic.partitions[0].replicas) if topic.partitions else 0
    columns.append(f"PartitionCount: {len(topic.partitions)}")
    columns.append(f"ReplicationFactor: {replication_factor}")
    columns.append("Configs: " + ",".join(f"{entry.name}={entry.value}" for entry in overrides))
    return "\t".join(columns)


def partition_line(topic: str, partition: PartitionDescription) -> str:
    """The line of a partition."""
    return "\t".join(
        [
            "",
            f"Topic: {topic}",
            f"Partition: {partition.partition}",
            f"Leader: {'none' if partition.leader is None else partition.leader}",
            f"Replicas: {_ids(partition.replicas)}",
            f"Isr: {_ids(partition.in_sync_replicas)}",
            f"Elr: {_ids(partition.eligible_leader_replicas)}",
            f"LastKnownElr: {_ids(partition.last_known_eligible_leader_replicas)}",
        ]
    )


def _ids(brokers: list[int] | None) -> str:
    return "N/A" if brokers is None else ",".join(map(str, brokers))
