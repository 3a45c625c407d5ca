"""The partitions that live on this broker: made, changed and removed as the metadata says.

`apply` follows the metadata log: it opens or creates the log of every partition placed here and tells the
partition its leader. Requests find partitions by topic name (`by_name`) or topic id (`by_id`). Logs that the
metadata does not mention are left alone: they may be all that remains of somebody's data.
"""

import logging
from collections.abc import Callable

from gralha.metadata.image import ImageChange, TopicImage
from gralha.protocol.errors import KafkaStorageError
from gralha.protocol.primitives import ZERO_UUID
from gralha.replication.partition import NO_LEADER, Partition
from gralha.storage.config import LogConfig
from gralha.storage.log import Log
from gralha.storage.manager import LogManager

log = logging.getLogger("gralha.replication")


class ReplicaManager:
    def __init__(
        self,
        broker_id: int,
        logs: LogManager,
        config_for: Callable[[str], LogConfig],
        clock: Callable[[], int],
    ) -> None:
        self._broker_id = broker_id
        self._logs = logs
        self._config_for = config_for
        self._clock = clock
        self.by_name: dict[str, dict[int, Partition]] = {}
        self.by_id: dict[bytes, dict[int, Partition]] = {}

    def find(self, topic: str, index: int) -> Partition | None:
        partitions = self.by_name.get(topic)
        return None if partitions is None else partitions.get(index)

    def apply(self, change: ImageChange) -> None:
        for topic in change.deleted_topics:
            self._remove(topic)
        for topic in change.changed_topics:
            self._place(topic)
        for name in change.changed_topic_configs:
            self._configure(name)
        if change.broker_configs_changed:
            for name in list(self.by_name):
                self._configure(name)

    def _place(self, topic: TopicImage) -> None:
        for index, assigned in topic.partitions.items():
            if self._broker_id not in assigned.replicas:
                continue
            partitions = self.by_name.setdefault(topic.name, {})
            self.by_id[topic.id] = partitions
            partition = partitions.get(index)
            if partition is None:
                opened = self._open(topic, index)
                if opened is None:
                    continue
                partition = Partition(topic.name, topic.id, index, opened, self._broker_id)
                partitions[index] = partition
            partition.change_leader(
                assigned.leader, assigned.leader_epoch, list(assigned.replicas), list(assigned.isr)
            )

    def _open(self, topic: TopicImage, index: int) -> Log | None:
        """The partition's log, loaded at the start or new; None when its records are damaged."""
        known = self._logs.logs.get((topic.name, index))
        if known is not None and known.topic_id not in (ZERO_UUID, topic.id):
            # An older topic of that name, deleted while this broker could not see it.
            self._logs.delete(topic.name, index, self._clock())
            known = None
        config = known.config if known is not None else self._config_for(topic.name)
        try:
            return self._logs.get_or_create(topic.name, index, topic.id, config, self._clock())
        except KafkaStorageError as error:
            log.error("%s", error)
            return None

    def _remove(self, topic: TopicImage) -> None:
        self.by_id.pop(topic.id, None)
        for partition in self.by_name.pop(topic.name, {}).values():
            partition.change_leader(NO_LEADER, partition.leader_epoch + 1, [], [])
            self._logs.delete(partition.topic, partition.index, self._clock())

    def _configure(self, name: str) -> None:
        partitions = self.by_name.get(name)
        if partitions:
            config = self._config_for(name)
            for partition in partitions.values():
                partition.log.config = config
