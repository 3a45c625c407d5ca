"""The partitions on a command line, and their offsets, for the group commands."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from gralha.cli.program import CommandError
from gralha.client.values import EARLIEST, LATEST, TopicPartition
from gralha.protocol.errors import KafkaError

if TYPE_CHECKING:
    from gralha.cli.consumer_groups_options import NamedTopic
    from gralha.client.admin import Admin
    from gralha.client.group_values import CommittedOffset
    from gralha.client.values import TopicDescription


def named_partitions(
    admin: "Admin", topics: "Iterable[NamedTopic]"
) -> tuple[list[TopicPartition], dict[str, KafkaError]]:
    """The partitions that --topic names, and the errors of topics whose partitions are not known."""
    named: list[TopicPartition] = []
    whole_topics = []
    for topic, numbers in topics:
        if numbers is None:
            whole_topics.append(topic)
        else:
            named += [TopicPartition(topic, number) for number in numbers]
    unknown: dict[str, KafkaError] = {}
    for topic, description in _described(admin, whole_topics).items():
        if isinstance(description, KafkaError):
            unknown[topic] = description
        else:
            named += [TopicPartition(topic, partition.partition) for partition in description.partitions]
    return sorted(set(named)), unknown


def _described(admin: "Admin", topics: Iterable[str]) -> "dict[str, TopicDescription | KafkaError]":
    wanted = sorted(set(topics))
    return admin.describe_topics(wanted) if wanted else {}


def check_partitions(admin: "Admin", partitions: Iterable[TopicPartition]) -> None:
    """Raises CommandError unless every partition exists and has a leader."""
    wanted = sorted(set(partitions))
    leaders: dict[TopicPartition, int | None] = {}
    for topic, description in _described(admin, {partition.topic for partition in wanted}).items():
        if isinstance(description, KafkaError):
            raise CommandError(f"Cannot use topic '{topic}': {description}")
        for partition in description.partitions:
            leaders[TopicPartition(topic, partition.partition)] = partition.leader
    missing = ",".join(str(partition) for partition in wanted if partition not in leaders)
    if missing:
        raise CommandError(f'The partitions "{missing}" do not exist')
    leaderless = ",".join(str(partition) for partition in wanted if leaders[partition] is None)
    if leaderless:
        raise CommandError(f'The partitions "{leaderless}" have no leader')


def committed_offsets(
    admin: "Admin", group_ids: Iterable[str]
) -> "dict[str, dict[TopicPartition, CommittedOffset]]":
    """All committed offsets of each group. Raises the error if a group cannot be read."""
    committed = {}
    for group_id, offsets in admin.group_offsets(group_ids).items():
        if isinstance(offsets, KafkaError):
            raise offsets
        committed[group_id] = offsets
    return committed


def known_end_offsets(admin: "Admin", partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
    """The end offsets of partitions. Partitions without a leader are left out: a request would wait."""
    wanted = sorted(set(partitions))
    leaders = admin.cluster.once(lambda: admin.cluster.leaders(wanted))
    led = [partition for partition in wanted if not isinstance(leaders[partition], KafkaError)]
    found = admin.list_offsets(dict.fromkeys(led, LATEST))
    return {
        partition: answer.offset for partition, answer in found.items() if not isinstance(answer, KafkaError)
    }


def start_offsets(admin: "Admin", partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
    """The start offsets of partitions. Raises CommandError if one is unknown."""
    return offsets_at(admin, partitions, EARLIEST)


def end_offsets(admin: "Admin", partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
    """The end offsets of partitions. Raises CommandError if one is unknown."""
    return offsets_at(admin, partitions, LATEST)


def offsets_at(
    admin: "Admin", partitions: Iterable[TopicPartition], time_ms: int
) -> dict[TopicPartition, int]:
    """The first offset of each partition at or after a time, or -1. Raises CommandError if one fails."""
    offsets = {}
    for partition, answer in admin.list_offsets(dict.fromkeys(sorted(set(partitions)), time_ms)).items():
        if isinstance(answer, KafkaError):
            raise CommandError(f"Error getting offset of topic partition {partition}: {answer}")
        offsets[partition] = answer.offset
    return offsets
