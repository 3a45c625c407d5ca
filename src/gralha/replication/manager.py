"""The partitions that live on this broker: made, changed and removed as the metadata says.

`apply` follows the metadata log: every partition placed here gets its log and learns its leader. Making the
files of new logs is work for threads, so changes queue up behind it, in their order; who answers a client
waits until they have `settled`. Requests find partitions by topic name (`by_name`) or topic id (`by_id`).

Logs that the metadata does not mention are left alone: they may be all that remains of somebody's data.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from typing import Final

from gralha.metadata.image import ImageChange, TopicImage
from gralha.protocol.primitives import ZERO_UUID
from gralha.replication.partition import NO_LEADER, Partition
from gralha.storage.config import LogConfig
from gralha.storage.log import Log
from gralha.storage.manager import LogManager

log = logging.getLogger("gralha.replication")

# So many logs are made at a time.
AT_ONCE: Final = 16


class ReplicaManager:
    def __init__(
        self,
        broker_id: int,
        logs: LogManager,
        config_for: Callable[[str], LogConfig],
        clock: Callable[[], int],
        on_failure: Callable[[BaseException], None],
    ) -> None:
        self._broker_id = broker_id
        self._logs = logs
        self._config_for = config_for
        self._clock = clock
        self._on_failure = on_failure
        self._changes: deque[tuple[ImageChange, asyncio.Future[None]]] = deque()
        self._following: asyncio.Task[None] | None = None
        # Told of every partition that has a new leader epoch. Coordinators follow their topics that way.
        self.leader_listeners: list[Callable[[Partition], None]] = []
        self.by_name: dict[str, dict[int, Partition]] = {}
        self.by_id: dict[bytes, dict[int, Partition]] = {}

    def find(self, topic: str, index: int) -> Partition | None:
        partitions = self.by_name.get(topic)
        return None if partitions is None else partitions.get(index)

    def is_offline(self, topic: str, index: int) -> bool:
        """Whether the partition is placed here, but its records are damaged."""
        return (topic, index) in self._logs.offline

    # Following the metadata

    def apply(self, change: ImageChange) -> None:
        """Follow a change: at once if it takes no work on files and none is under way, else in a moment."""
        for topic in change.deleted_topics:
            self._unlist(topic)
        if self._following is None and not self._leaving(change) and not self._missing(change):
            self._install(change)
            return
        self._changes.append((change, asyncio.get_running_loop().create_future()))
        if self._following is None:
            self._following = asyncio.ensure_future(self._follow())

    @property
    def is_settled(self) -> bool:
        """Has every change so far been followed?"""
        return not self._changes

    async def settled(self) -> None:
        """Wait until every change so far has been followed."""
        if self._changes:
            await asyncio.shield(self._changes[-1][1])

    async def _follow(self) -> None:
        """The owner of the work on files: one change after the other."""
        try:
            while self._changes:
                change, done = self._changes[0]
                await self._work_on_files(change)
                self._install(change)
                self._changes.popleft()
                done.set_result(None)
        except BaseException as error:
            self._give_up(error)
        finally:
            self._following = None

    def _give_up(self, error: BaseException) -> None:
        """The disk failed: the node ends, and nobody waits for what will not come."""
        self._on_failure(error)
        for _, done in self._changes:
            done.set_exception(error)
            done.exception()  # who waits gets it; if nobody does, that is no news
        self._changes.clear()

    async def _work_on_files(self, change: ImageChange) -> None:
        for topic in change.deleted_topics:
            self._unlist(topic)
        for topic, index in self._leaving(change):
            await self._logs.delete_in_thread(topic.name, index, self._clock())
        missing = self._missing(change)
        for start in range(0, len(missing), AT_ONCE):
            await asyncio.gather(
                *(self._make(topic, index) for topic, index in missing[start : start + AT_ONCE])
            )

    def _leaving(self, change: ImageChange) -> list[tuple[TopicImage, int]]:
        """The partitions of deleted topics that still have files here."""
        return [
            (topic, index)
            for topic in change.deleted_topics
            for index in topic.partitions
            if self._log(topic, index) is not None or self.is_offline(topic.name, index)
        ]

    def _missing(self, change: ImageChange) -> list[tuple[TopicImage, int]]:
        """The partitions placed here that have no log yet."""
        return [
            (topic, index)
            for topic in change.changed_topics
            for index, assigned in topic.partitions.items()
            if self._broker_id in assigned.replicas
            and self._log(topic, index) is None
            and not self.is_offline(topic.name, index)
        ]

    def _log(self, topic: TopicImage, index: int) -> Log | None:
        """The log of this very topic, not of an older one of the same name."""
        found = self._logs.logs.get((topic.name, index))
        return found if found is not None and found.topic_id in (ZERO_UUID, topic.id) else None

    async def _make(self, topic: TopicImage, index: int) -> None:
        if (topic.name, index) in self._logs.logs:
            # Of an older topic of that name. The metadata does not say that it was deleted, so it stays.
            path = await self._logs.set_aside_in_thread(topic.name, index)
            log.warning("A folder of another topic named %s was set aside as %s", topic.name, path)
        config = self._config_for(topic.name)
        await self._logs.get_or_create_in_thread(topic.name, index, topic.id, config, self._clock())

    def _install(self, change: ImageChange) -> None:
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
                partition = self._new_partition(topic, index)
                if partition is None:
                    continue
                partitions[index] = partition
            epoch_before = partition.leader_epoch
            partition.change_leader(
                assigned.leader, assigned.leader_epoch, list(assigned.replicas), list(assigned.isr)
            )
            if assigned.leader_epoch != epoch_before:
                for tell in self.leader_listeners:
                    tell(partition)

    def _new_partition(self, topic: TopicImage, index: int) -> Partition | None:
        opened = self._log(topic, index)
        if opened is None:
            # Its records are damaged: it is not served.
            log.error("%s-%d is offline: %s", topic.name, index, self._logs.offline[topic.name, index])
            return None
        if opened.topic_id == ZERO_UUID:
            opened.set_topic_id(topic.id)
        return Partition(topic.name, topic.id, index, opened, self._broker_id)

    def _unlist(self, topic: TopicImage) -> None:
        """No request finds the topic any more; those that wait for it are told."""
        partitions = self.by_id.pop(topic.id, None)
        if partitions is None:
            return
        if self.by_name.get(topic.name) is partitions:
            del self.by_name[topic.name]
        for partition in partitions.values():
            partition.change_leader(NO_LEADER, partition.leader_epoch + 1, [], [])

    def _configure(self, name: str) -> None:
        partitions = self.by_name.get(name)
        if partitions:
            config = self._config_for(name)
            for partition in partitions.values():
                partition.log.config = config
