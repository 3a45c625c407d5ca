"""Throttles of reassignments: the throttled replicas of topics, and the bytes per second of brokers.

These are ordinary configs of topics and brokers. `--execute` sets them, `--verify` and `--cancel` delete
them.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from gralha.client.values import ConfigResource, ResourceType, TopicPartition

if TYPE_CHECKING:
    from gralha.client.admin import Admin
    from gralha.client.reassignment_calls import Reassignment

_LEADER_REPLICAS = "leader.replication.throttled.replicas"
_FOLLOWER_REPLICAS = "follower.replication.throttled.replicas"
_LEADER_RATE = "leader.replication.throttled.rate"
_FOLLOWER_RATE = "follower.replication.throttled.rate"
_FOLDER_RATE = "replica.alter.log.dirs.io.max.bytes.per.second"


class Move(NamedTuple):
    """The brokers that a partition is copied from, and those that it is copied to."""

    sources: set[int]
    destinations: set[int]


def moves_of(
    current: "Mapping[TopicPartition, Reassignment]",
    targets: Mapping[TopicPartition, Sequence[int]],
    replicas: Mapping[TopicPartition, Sequence[int]],
) -> dict[TopicPartition, Move]:
    """All moves after the targets are set: those under way, and the new ones."""
    moves = {
        partition: Move(set(one.replicas) - set(one.adding), set(one.adding))
        for partition, one in current.items()
    }
    for partition, target in targets.items():
        sources = moves[partition].sources if partition in moves else set(replicas[partition])
        moves[partition] = Move(sources, set(target) - sources)
    return moves


def topic_throttles(moves: Mapping[TopicPartition, Move]) -> dict[str, dict[str, str]]:
    """The configs of each topic: the throttled replicas of leaders and of followers."""
    throttles: dict[str, dict[str, str]] = {}
    for topic in sorted({partition.topic for partition in moves}):
        of_topic = {
            partition.partition: move for partition, move in moves.items() if partition.topic == topic
        }
        throttles[topic] = {
            _LEADER_REPLICAS: _listed((number, move.sources) for number, move in of_topic.items()),
            _FOLLOWER_REPLICAS: _listed((number, move.destinations) for number, move in of_topic.items()),
        }
    return throttles


def _listed(replicas: Iterable[tuple[int, set[int]]]) -> str:
    """The replicas ordered as text, as Kafka does."""
    return ",".join(sorted(f"{number}:{broker}" for number, brokers in replicas for broker in brokers))


def throttle_moves(admin: "Admin", moves: Mapping[TopicPartition, Move], bytes_per_second: int) -> None:
    """Throttles the moves on all brokers that take part."""
    for topic, values in topic_throttles(moves).items():
        admin.alter_configs(ConfigResource(ResourceType.TOPIC, topic), set_values=values)
    brokers = {broker for move in moves.values() for broker in move.sources | move.destinations}
    rates = dict.fromkeys((_LEADER_RATE, _FOLLOWER_RATE), str(bytes_per_second))
    _set_on_brokers(admin, brokers, rates)
    print(f"The inter-broker throttle limit was set to {bytes_per_second} B/s", flush=True)


def throttle_folders(admin: "Admin", brokers: Iterable[int], bytes_per_second: int) -> None:
    """Throttles the moves between folders of these brokers."""
    _set_on_brokers(admin, brokers, {_FOLDER_RATE: str(bytes_per_second)})
    print(f"The replica-alter-dir throttle limit was set to {bytes_per_second} B/s", flush=True)


def _set_on_brokers(admin: "Admin", brokers: Iterable[int], values: Mapping[str, str]) -> None:
    for broker in sorted(set(brokers)):
        admin.alter_configs(ConfigResource(ResourceType.BROKER, str(broker)), set_values=values)


def clear_throttles(
    admin: "Admin", targets: Mapping[TopicPartition, Sequence[int]], *, silent: bool = False
) -> None:
    """Deletes the throttles of all brokers, and of the topics of a plan.

    The original brokers of the partitions are not known any more, so all brokers are cleared.
    """
    brokers = {
        *admin.describe_cluster().broker_ids,
        *(broker for target in targets.values() for broker in target),
    }
    if not silent:
        print(f"Clearing broker-level throttles on broker{_s(brokers)} {_comma(brokers)}", flush=True)
    for broker in sorted(brokers):
        resource = ConfigResource(ResourceType.BROKER, str(broker))
        admin.alter_configs(resource, delete=(_LEADER_RATE, _FOLLOWER_RATE, _FOLDER_RATE))
    topics = {partition.topic for partition in targets}
    if not silent:
        print(f"Clearing topic-level throttles on topic{_s(topics)} {_comma(topics)}", flush=True)
    for topic in sorted(topics):
        resource = ConfigResource(ResourceType.TOPIC, topic)
        admin.alter_configs(resource, delete=(_LEADER_REPLICAS, _FOLLOWER_REPLICAS))


def _s(items: Sequence[object] | set[int] | set[str]) -> str:
    return "" if len(items) == 1 else "s"


def _comma(items: set[int] | set[str]) -> str:
    return ",".join(map(str, sorted(items)))
