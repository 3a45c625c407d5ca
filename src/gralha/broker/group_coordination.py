"""The group coordinator inside a broker: its settings, its view of topics, its partitions."""

from collections.abc import Callable, Iterable
from concurrent.futures import Executor
from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING, Final

from gralha.broker.config import NodeConfig
from gralha.coordination.coordinator import Coordinator
from gralha.coordination.runtime import CoordinatorPorts
from gralha.groups.config import ConsumerGroupTimes, GroupsConfig, MigrationPolicy
from gralha.groups.topics import Topic
from gralha.metadata.image import GROUP_RESOURCE, ImageChange, MetadataImage, TopicImage
from gralha.metadata.topic_names import OFFSETS_TOPIC
from gralha.replication.manager import ReplicaManager
from gralha.replication.partition import Partition
from gralha.storage.disk import DiskError

if TYPE_CHECKING:
    from gralha.groups.shard import GroupShard

ASSIGNMENT_INTERVAL: Final = "group.consumer.assignment.interval.ms"
# The code of the shards is imported with the first group, so that a broker without groups starts faster.
GroupCoordinator = Coordinator["GroupShard"]


class ImageTopics:
    """The topics of the newest image, as groups see them."""

    def __init__(self, image: Callable[[], MetadataImage]) -> None:
        self._image = image
        # The topics by id, for the image with that offset. Every commit looks up its topics.
        self._known: dict[bytes, Topic] = {}
        self._known_offset = -1

    def by_name(self, name: str) -> Topic | None:
        """The topic with this name, or None."""
        return self._topic(self._image().topics.get(name))

    def by_id(self, topic_id: bytes) -> Topic | None:
        """The topic with this id, or None."""
        return self._topic(self._image().topics_by_id.get(topic_id))

    def names(self) -> Iterable[str]:
        """The names of all topics."""
        return self._image().topics

    def version(self) -> int:
        """A number that grows whenever a topic may have changed."""
        return self._image().offset

    def _topic(self, topic: TopicImage | None) -> Topic | None:
        if topic is None:
            return None
        if self._known_offset != self.version():
            self._known.clear()
            self._known_offset = self.version()
        known = self._known.get(topic.id)
        if known is None:
            known = Topic(topic.name, topic.id, len(topic.partitions), self._racks(topic))
            self._known[topic.id] = known
        return known

    def _racks(self, topic: TopicImage) -> tuple[frozenset[str], ...]:
        brokers = self._image().brokers
        if all(broker.rack is None for broker in brokers.values()):
            return ()
        return tuple(
            frozenset(
                rack
                for replica in partition.replicas
                if replica in brokers and (rack := brokers[replica].rack) is not None
            )
            for partition in topic.partitions.values()
        )


def groups_config(config: NodeConfig) -> GroupsConfig:
    """The settings of the group coordinator in a node's configuration."""
    return GroupsConfig(
        group_min_session_timeout_ms=config.number("group.min.session.timeout.ms"),
        group_max_session_timeout_ms=config.number("group.max.session.timeout.ms"),
        group_initial_rebalance_delay_ms=config.number("group.initial.rebalance.delay.ms"),
        group_max_size=config.number("group.max.size"),
        consumer_protocol_enabled="consumer" in config.items("group.coordinator.rebalance.protocols"),
        consumer_assignors=tuple(config.items("group.consumer.assignors")),
        consumer_max_size=config.number("group.consumer.max.size"),
        consumer_migration_policy=MigrationPolicy(
            str(config.text("group.consumer.migration.policy")).lower()
        ),
        consumer_regex_refresh_interval_ms=config.number("group.consumer.regex.refresh.interval.ms"),
        consumer_times=ConsumerGroupTimes(
            session_timeout_ms=config.number("group.consumer.session.timeout.ms"),
            heartbeat_interval_ms=config.number("group.consumer.heartbeat.interval.ms"),
            assignment_interval_ms=config.number(ASSIGNMENT_INTERVAL),
        ),
        offset_metadata_max_bytes=config.number("offset.metadata.max.bytes"),
        offsets_retention_ms=config.number("offsets.retention.minutes") * 60 * 1000,
        offsets_retention_check_interval_ms=config.number("offsets.retention.check.interval.ms"),
        offsets_commit_timeout_ms=config.number("offsets.commit.timeout.ms"),
    )


def broker_times(image: MetadataImage, node_id: int, defaults: ConsumerGroupTimes) -> ConsumerGroupTimes:
    """The times of all groups of a broker. One of them is a dynamic setting."""
    for layer in (image.broker_configs(node_id), image.default_broker_configs()):
        if (interval := layer.get(ASSIGNMENT_INTERVAL)) is not None:
            return replace(defaults, assignment_interval_ms=int(interval))
    return defaults


def consumer_times(image: MetadataImage, defaults: ConsumerGroupTimes, group_id: str) -> ConsumerGroupTimes:
    """The times of one consumer group, which may have its own settings (config resource GROUP)."""
    own = image.configs.get((GROUP_RESOURCE, group_id))
    if not own:
        return defaults
    return ConsumerGroupTimes(
        session_timeout_ms=int(own.get("consumer.session.timeout.ms", defaults.session_timeout_ms)),
        heartbeat_interval_ms=int(own.get("consumer.heartbeat.interval.ms", defaults.heartbeat_interval_ms)),
        assignment_interval_ms=int(
            own.get("consumer.assignment.interval.ms", defaults.assignment_interval_ms)
        ),
    )


def coordinate_groups(
    config: NodeConfig,
    image: Callable[[], MetadataImage],
    replicas: ReplicaManager,
    clock: Callable[[], int],
    random: Random,
    readers: Executor,
) -> GroupCoordinator:
    """A coordinator that follows the leaders of the partitions of `__consumer_offsets`."""
    settings = groups_config(config)
    topics = ImageTopics(image)

    def times_of(group_id: str) -> ConsumerGroupTimes:
        now = image()
        return consumer_times(now, broker_times(now, config.node_id, settings.consumer_times), group_id)

    def partition_count() -> int:
        topic = image().topics.get(OFFSETS_TOPIC)
        return 0 if topic is None else len(topic.partitions)

    def new_shard() -> "GroupShard":
        from gralha.groups.shard import GroupShard

        return GroupShard(settings, topics, times_of, random)

    def log_broken(error: BaseException) -> None:
        """A failed sync ends the broker. The coordinator survives all other errors."""
        if isinstance(error, DiskError) and error.is_fatal:
            replicas.on_failure(error)

    ports = CoordinatorPorts(new_shard, clock, readers, settings.offsets_commit_timeout_ms, log_broken)
    coordinator = Coordinator(ports, partition_count)

    def leader_changed(partition: Partition) -> None:
        if partition.topic == OFFSETS_TOPIC:
            coordinator.leader_changed(partition)

    for partition in replicas.by_name.get(OFFSETS_TOPIC, {}).values():
        coordinator.leader_changed(partition)
    replicas.leader_listeners.append(leader_changed)
    return coordinator


def follow_topics(coordinator: GroupCoordinator, change: ImageChange) -> None:
    """Delete the offsets of deleted topics."""
    deleted = [(topic.name, topic.id) for topic in change.deleted_topics]
    if deleted:
        coordinator.run_all(lambda shard, _now_ms: shard.topics_deleted(deleted))
