"""The JSON files of kafka-reassign-partitions: target replicas of partitions, and topics to move."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from gralha.cli.program import CommandError
from gralha.client.values import TopicPartition

ANY_FOLDER = "any"
_VERSION = 1

Item = TypeVar("Item")


class Replica(NamedTuple):
    """A replica: a partition on a broker, ordered and printed as Kafka does."""

    broker: int
    partition: TopicPartition

    def __str__(self) -> str:
        return f"{self.partition}-{self.broker}"


class Target(NamedTuple):
    """The target replicas of one partition."""

    partition: TopicPartition
    replicas: list[int]


class ReassignmentPlan(NamedTuple):
    """The content of a file: target replicas of partitions, and folders for some replicas."""

    targets: list[Target]
    folders: dict[Replica, str]

    def replicas(self) -> dict[TopicPartition, list[int]]:
        return dict(self.targets)


def parse_plan(text: str) -> ReassignmentPlan:
    """Parses a file. A partition may appear twice."""
    plan = ReassignmentPlan([], {})
    for entry in _entries(text, "partitions"):
        partition = TopicPartition(_field(entry, "topic", str), _field(entry, "partition", int))
        replicas = _list(entry, "replicas", int)
        folders = _list(entry, "log_dirs", str) if "log_dirs" in entry else [ANY_FOLDER] * len(replicas)
        if len(folders) != len(replicas):
            raise CommandError(
                f"Size of replicas list {_text(replicas)} is different from size of log dirs list "
                f"{_text(folders)} for partition {partition}"
            )
        plan.targets.append(Target(partition, replicas))
        for broker, folder in zip(replicas, folders, strict=True):
            if folder != ANY_FOLDER:
                plan.folders[Replica(broker, partition)] = folder
    return plan


def parse_plan_to_execute(text: str) -> ReassignmentPlan:
    """Parses a file for --execute. It must not be empty, and nothing may appear twice."""
    plan = parse_plan(text)
    if not plan.targets:
        raise CommandError("Partition reassignment list cannot be empty")
    if any(not target.replicas for target in plan.targets):
        raise CommandError("Partition replica list cannot be empty")
    twice = duplicates(target.partition for target in plan.targets)
    if twice:
        listed = ",".join(map(str, twice))
        raise CommandError(f"Partition reassignment contains duplicate topic partitions: {listed}")
    wrong = [
        f"{target.partition} contains multiple entries for {','.join(map(str, again))}"
        for target in plan.targets
        if (again := duplicates(target.replicas))
    ]
    if wrong:
        raise CommandError(f"Partition replica lists may not contain duplicate entries: {'. '.join(wrong)}")
    return plan


def parse_topics(text: str) -> list[str]:
    """The topics to move. A topic may appear only once."""
    topics: list[str] = [_field(entry, "topic", str) for entry in _entries(text, "topics")]
    twice = duplicates(topics)
    if twice:
        raise CommandError(f"List of topics to reassign contains duplicate entries: {_text(twice)}")
    return topics


def parse_brokers(text: str) -> list[int]:
    """The ids in --broker-list. An id may appear only once."""
    try:
        brokers = [int(part) for part in text.split(",")]
    except ValueError:
        raise CommandError(f"--broker-list expects broker ids like 0,1,2, but received: {text}") from None
    twice = duplicates(brokers)
    if twice:
        raise CommandError(f"Broker list contains duplicate entries: {_text(twice)}")
    return brokers


def plan_text(
    replicas: Mapping[TopicPartition, Sequence[int]], folders: Mapping[Replica, str] | None = None
) -> str:
    """Kafka's JSON of an assignment. Replicas without a known folder get "any"."""
    known = folders or {}
    document = {
        "version": _VERSION,
        "partitions": [
            {
                "topic": partition.topic,
                "partition": partition.partition,
                "replicas": list(replicas[partition]),
                "log_dirs": [
                    known.get(Replica(broker, partition), ANY_FOLDER) for broker in replicas[partition]
                ],
            }
            for partition in sorted(replicas)
        ],
    }
    return json.dumps(document, separators=(",", ":"), ensure_ascii=False)


def duplicates(items: Iterable[Item]) -> list[Item]:
    """The items that appear more than once."""
    return [item for item, count in Counter(items).items() if count > 1]


def _entries(text: str, name: str) -> list[dict[str, Any]]:
    try:
        document = json.loads(text)
    except ValueError as error:
        raise CommandError(f"The input string is not a valid JSON: {error}") from None
    if not isinstance(document, dict):
        raise CommandError("The input string is not a valid JSON: an object is expected")
    version = document.get("version", _VERSION)
    if version != _VERSION:
        raise CommandError(f"Not supported version field value {version}")
    entries = document.get(name, [])
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise CommandError(f'"{name}" is not a list of objects')
    return entries


def _field(entry: dict[str, Any], name: str, kind: type) -> Any:
    value = entry.get(name)
    if not isinstance(value, kind) or isinstance(value, bool):
        raise CommandError(f'"{name}" is missing or wrong in {json.dumps(entry)}')
    return value


def _list(entry: dict[str, Any], name: str, kind: type) -> list[Any]:
    values = _field(entry, name, list)
    if not all(isinstance(value, kind) and not isinstance(value, bool) for value in values):
        raise CommandError(f'"{name}" is wrong in {json.dumps(entry)}')
    return list(values)


def _text(items: Iterable[object]) -> str:
    return f"[{', '.join(map(str, items))}]"
