"""The output of `kafka-topics --describe`."""

from argparse import Namespace
from collections.abc import Iterable, Iterator
from typing import NamedTuple, TypeVar

from gralha.cli.colour import red, yellow
from gralha.cli.json_output import print_json
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
    documents = []
    for topic in topics:
        chosen = _choose(topic, succeeded(configs[resources[topic.name]]), options, live_brokers)
        if options.json:
            if chosen.has_title or chosen.partitions:
                documents.append(topic_json(chosen))
            continue
        for line in lines_of(chosen, live_brokers):
            print(line)
    if options.json:
        print_json(topics=documents)


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


class Chosen(NamedTuple):
    """What the options choose of one topic: its first line, and partitions."""

    topic: TopicDescription
    overrides: list[ConfigEntry]
    has_title: bool
    partitions: list[PartitionDescription]


def _choose(
    topic: TopicDescription, configs: list[ConfigEntry], options: Namespace, live_brokers: set[int]
) -> Chosen:
    reports_partitions = (
        options.under_replicated_partitions
        or options.under_min_isr_partitions
        or options.at_min_isr_partitions
        or options.unavailable_partitions
    )
    overrides = [entry for entry in configs if not entry.is_default]
    has_title = bool(not reports_partitions and (overrides or not options.topics_with_overrides))
    if options.topics_with_overrides:
        return Chosen(topic, overrides, has_title, [])
    min_in_sync = next((int(entry.value or 1) for entry in configs if entry.name == "min.insync.replicas"), 1)
    partitions = [
        partition
        for partition in topic.partitions
        if not reports_partitions or _is_reported(partition, options, live_brokers, min_in_sync)
    ]
    return Chosen(topic, overrides, has_title, partitions)


def lines_of(chosen: Chosen, live_brokers: set[int]) -> Iterator[str]:
    """The lines of a topic. A terminal shows partitions without a leader or with lost replicas in colour."""
    if chosen.has_title:
        yield topic_line(chosen.topic, chosen.overrides)
    for partition in chosen.partitions:
        line = partition_line(chosen.topic.name, partition)
        if partition.leader not in live_brokers:
            yield red(line)
        elif len(partition.in_sync_replicas) < len(partition.replicas):
            yield yellow(line)
        else:
            yield line


def topic_json(chosen: Chosen) -> dict[str, object]:
    """A topic of --describe."""
    topic = chosen.topic
    return {
        "topic": topic.name,
        "topicId": uuid_to_string(topic.topic_id),
        "isInternal": topic.is_internal,
        "partitionCount": len(topic.partitions),
        "replicationFactor": len(topic.partitions[0].replicas) if topic.partitions else 0,
        "configs": {entry.name: entry.value for entry in chosen.overrides},
        "partitions": [
            {
                "partition": one.partition,
                "leader": one.leader,
                "replicas": one.replicas,
                "isr": one.in_sync_replicas,
                "elr": one.eligible_leader_replicas,
                "lastKnownElr": one.last_known_eligible_leader_replicas,
            }
            for one in chosen.partitions
        ],
    }


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
