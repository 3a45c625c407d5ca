"""The partitions of this broker: created, changed and removed as the metadata says.

`apply` follows the metadata log. Every partition that is placed here gets its log and learns its leader; if
that is another broker, the partition is fetched from it. Threads work on files, so changes wait for them in a
queue. A handler that answers a client waits until the changes have `settled`. Nobody becomes leader while a
thread truncates its log. Requests find partitions by topic name (`by_name`) or topic id (`by_id`).

When a topic is deleted, or a partition is placed elsewhere, this broker removes the log if it has served the
partition since it started. The node sets other logs aside when it starts. The first change must be as new as
this broker's registration: older metadata may not know of partitions that came here since.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Final, NamedTuple

from gralha.metadata.image import NO_LEADER, BrokerRegistration, ImageChange, TopicImage
from gralha.protocol.message import Message
from gralha.protocol.peers import Peers
from gralha.protocol.primitives import ZERO_UUID
from gralha.replication.checking import Checks
from gralha.replication.cluster_view import ALONE, DEFAULT_LAG_TIME_MAX_MS, ClusterView
from gralha.replication.counters import Counters
from gralha.replication.fetch_state import FetchSettings
from gralha.replication.fetchers import Fetchers
from gralha.replication.isr_changes import IsrChanges
from gralha.replication.leading import Leading
from gralha.replication.partition import Partition
from gralha.replication.quota import ReplicationQuota, is_throttled
from gralha.replication.refusals import Refusals
from gralha.storage.config import LogConfig
from gralha.storage.log import Log
from gralha.storage.manager import LogManager

log = logging.getLogger("gralha.replication")

# How many logs are created at a time.
AT_ONCE: Final = 16


class ReplicationPorts(NamedTuple):
    """The parts of the node that replication needs. A broker that is alone has none of them."""

    # The other brokers, on the listener between brokers.
    peers: Peers
    # Returns the active controller's answer.
    ask_controller: Callable[[Message], Awaitable[Message]]
    # The epoch of this broker's registration.
    broker_epoch: Callable[[], int]
    # A broker in the newest metadata.
    broker: Callable[[int], BrokerRegistration | None]
    lag_time_max_ms: int = DEFAULT_LAG_TIME_MAX_MS
    fetch: FetchSettings = FetchSettings()


class ReplicaManager:
    def __init__(
        self,
        broker_id: int,
        logs: LogManager,
        config_for: Callable[[str], LogConfig],
        clock: Callable[[], int],
        on_failure: Callable[[BaseException], None],
        ports: ReplicationPorts | None = None,
    ) -> None:
        self._broker_id = broker_id
        self._logs = logs
        self._config_for = config_for
        self._clock = clock
        # Ends the node. Coordinators call it, too, when the log of a partition cannot be trusted any more.
        self.on_failure = on_failure
        self._changes: deque[tuple[ImageChange, asyncio.Future[None]]] = deque()
        self._following: asyncio.Task[None] | None = None
        # Called with every partition that has a new leader epoch. Coordinators follow their topics that way.
        self.leader_listeners: list[Callable[[Partition], None]] = []
        self.by_name: dict[str, dict[int, Partition]] = {}
        self.by_id: dict[bytes, dict[int, Partition]] = {}
        self.counters = Counters()
        self.refusals = Refusals()
        self.checks = Checks(clock)
        self._lag_time_max_ms = DEFAULT_LAG_TIME_MAX_MS
        self._cluster = ALONE
        self._fetchers: Fetchers | None = None
        self.leader_quota = ReplicationQuota()
        self.follower_quota = ReplicationQuota()
        self._isr_changes: IsrChanges | None = None
        if ports is not None:
            self._join(ports)

    def _join(self, ports: ReplicationPorts) -> None:
        """Replicate with other brokers."""
        self._lag_time_max_ms = ports.lag_time_max_ms
        self._isr_changes = IsrChanges(
            self._broker_id, ports.broker_epoch, ports.ask_controller, self.find_by_id, self.on_failure
        )
        self._cluster = ClusterView(
            LoopClock(), ports.broker, ports.broker_epoch, self._isr_changes.propose, ports.lag_time_max_ms
        )
        self._fetchers = Fetchers(
            self._broker_id,
            ports.broker_epoch,
            ports.peers,
            self._logs,
            self._clock,
            ports.fetch,
            self.on_failure,
            self.follower_quota,
        )

    async def run(self) -> None:
        """The owner's task: now and then the leaders look for followers that lag behind."""
        while True:
            await asyncio.sleep(self._lag_time_max_ms / 2000)
            self.refusals.forget_old()
            for leading in self._led():
                leading.shrink_in_sync_replicas()

    async def close(self) -> None:
        """Append, fetch and propose no more. Changes that have begun are followed to their end."""
        self.checks.close()
        if self._fetchers is not None:
            await self._fetchers.close()
        if self._isr_changes is not None:
            await self._isr_changes.close()
        await self.settled()

    def _led(self) -> list[Leading]:
        return [
            partition.leading
            for partitions in self.by_id.values()
            for partition in partitions.values()
            if partition.leading is not None
        ]

    def time_ms(self) -> int:
        """The clock for the fetches of followers; it only ever rises."""
        return self._cluster.time_ms()

    def find_by_id(self, topic_id: bytes, index: int) -> Partition | None:
        partitions = self.by_id.get(topic_id)
        return None if partitions is None else partitions.get(index)

    def find(self, topic: str, index: int) -> Partition | None:
        partitions = self.by_name.get(topic)
        return None if partitions is None else partitions.get(index)

    def is_offline(self, topic: str, index: int) -> bool:
        """Whether the partition is placed here, but its records are damaged."""
        return (topic, index) in self._logs.offline

    @property
    def offline_count(self) -> int:
        """How many partitions are placed here whose records are damaged."""
        return len(self._logs.offline)

    @property
    def failed_isr_updates(self) -> int:
        """How many changes of in-sync replicas the controller has refused."""
        return 0 if self._isr_changes is None else self._isr_changes.failed

    # Following the metadata

    def apply(self, change: ImageChange) -> None:
        """Follow a change: at once if that needs no work on files and none is under way, otherwise later."""
        for topic in change.deleted_topics:
            self._unlist(topic)
        if self._following is None and not self._takes_files(change):
            self._install(change)
            return
        self._changes.append((change, asyncio.get_running_loop().create_future()))
        if self._following is None:
            self._following = asyncio.ensure_future(self._follow())

    @property
    def is_settled(self) -> bool:
        """Has every change so far been followed?"""
        return not self._changes

    def _takes_files(self, change: ImageChange) -> bool:
        return bool(self._leaving(change) or self._missing(change) or self._being_truncated(change))

    async def settled(self) -> None:
        """Wait until every change so far has been followed."""
        if self._changes:
            await asyncio.shield(self._changes[-1][1])

    async def _follow(self) -> None:
        """The task that owns the work on files: one change after the other."""
        try:
            while self._changes:
                change, done = self._changes[0]
                await self._work_on_files(change)
                # Last, and until there is none: another truncation may have begun during the other work. A
                # leader would know neither the end of such a log nor its producers.
                while truncated := self._being_truncated(change):
                    await self._finish(truncated)
                self._install(change)
                self._changes.popleft()
                done.set_result(None)
        except BaseException as error:
            self._give_up(error)
        finally:
            self._following = None

    def _give_up(self, error: BaseException) -> None:
        """The disk failed: the node ends, and whoever waits gets the error."""
        self.on_failure(error)
        for _, done in self._changes:
            done.set_exception(error)
            done.exception()  # nobody need be waiting
        self._changes.clear()

    async def _work_on_files(self, change: ImageChange) -> None:
        for topic in change.deleted_topics:
            self._unlist(topic)
        leaving = self._leaving(change)
        # All of them before the first is deleted: nobody may begin to truncate a log that will be deleted.
        for topic, index in leaving:
            self._retire(topic, index)
        await self._finish(self._being_truncated(change))
        for topic, index in leaving:
            await self._logs.delete_in_thread(topic.name, index, self._clock())
        missing = self._missing(change)
        # The logs of a topic share one config. If it changes meanwhile, a later change tells.
        configs = {name: self._config_for(name) for name in dict.fromkeys(topic.name for topic, _ in missing)}
        for start in range(0, len(missing), AT_ONCE):
            await asyncio.gather(
                *(
                    self._make(topic, index, configs[topic.name])
                    for topic, index in missing[start : start + AT_ONCE]
                )
            )

    async def _finish(self, truncated: list[tuple[TopicImage, int]]) -> None:
        for topic, index in truncated:
            assert self._fetchers is not None
            await self._fetchers.truncated(topic.id, index)

    def _leaving(self, change: ImageChange) -> list[tuple[TopicImage, int]]:
        """The partitions of deleted topics, and those placed elsewhere, that still have files here."""
        deleted = [
            (topic, index)
            for topic in change.deleted_topics
            for index in topic.partitions
            if self._log(topic, index) is not None or self.is_offline(topic.name, index)
        ]
        # Only those that this broker has served since it started: of these the metadata has told everything.
        moved = [
            (topic, index)
            for topic in change.changed_topics
            for index in self.by_id.get(topic.id, {})
            if index in topic.partitions and self._broker_id not in topic.partitions[index].replicas
        ]
        return deleted + moved

    def _being_truncated(self, change: ImageChange) -> list[tuple[TopicImage, int]]:
        if self._fetchers is None or not self._fetchers.truncations:
            return []
        return [
            (topic, index)
            for topic in (*change.changed_topics, *change.deleted_topics)
            for index in topic.partitions
            if (topic.id, index) in self._fetchers.truncations
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
        """The log of this topic, not of an older one with the same name."""
        found = self._logs.logs.get((topic.name, index))
        return found if found is not None and found.topic_id in (ZERO_UUID, topic.id) else None

    async def _make(self, topic: TopicImage, index: int, config: LogConfig) -> None:
        if (topic.name, index) in self._logs.logs:
            # An older topic had the same name. The metadata does not say that it was deleted: the log stays.
            path = await self._logs.set_aside_in_thread(topic.name, index)
            log.warning("A folder of another topic named %s was set aside as %s", topic.name, path)
        await self._logs.get_or_create_in_thread(topic.name, index, topic.id, config, self._clock())

    def _install(self, change: ImageChange) -> None:
        # First of all: a leader that learns of a new partition epoch must know its min.insync.replicas, too.
        for name in change.changed_topic_configs:
            self._configure(name)
        if change.broker_configs_changed:
            for name in list(self.by_name):
                self._configure(name)
        for topic in change.changed_topics:
            self._place(topic)
        if change.changed_brokers:
            # A broker that was unfenced may join at once, without waiting for its next fetch.
            for leading in self._led():
                leading.brokers_changed()

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
                assigned.leader,
                assigned.leader_epoch,
                list(assigned.replicas),
                list(assigned.isr),
                assigned.partition_epoch,
            )
            if partition.leader_epoch != epoch_before:
                if self._fetchers is not None:
                    self._fetchers.follow(partition)
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
        partition = Partition(
            topic.name,
            topic.id,
            index,
            opened,
            self._broker_id,
            self._cluster,
            self.counters.of(topic.name),
        )
        self._throttle(partition)
        return partition

    def _throttle(self, partition: Partition) -> None:
        texts = partition.log.config.texts
        leader_replicas = texts.get("leader.replication.throttled.replicas", "")
        follower_replicas = texts.get("follower.replication.throttled.replicas", "")
        partition.is_leader_throttled = is_throttled(leader_replicas, partition.index, self._broker_id)
        partition.is_follower_throttled = is_throttled(follower_replicas, partition.index, self._broker_id)

    def _unlist(self, topic: TopicImage) -> None:
        """No request finds the topic any more. Requests that wait for it are told."""
        partitions = self.by_id.pop(topic.id, None)
        if partitions is None:
            return
        if self.by_name.get(topic.name) is partitions:
            del self.by_name[topic.name]
            self.counters.retire(topic.name)
        for partition in partitions.values():
            self._end(partition)

    def _end(self, partition: Partition) -> None:
        """The partition is not here any more. Requests that wait for it are told."""
        if self._fetchers is not None:
            self._fetchers.forget(partition)
        partition.change_leader(NO_LEADER, partition.leader_epoch + 1, [], [])

    def _retire(self, topic: TopicImage, index: int) -> None:
        """The partition is placed elsewhere now, and so is its coordinator if it has one."""
        partition = self.by_id.get(topic.id, {}).pop(index, None)
        if partition is not None:
            self._end(partition)
            for tell in self.leader_listeners:
                tell(partition)
            if not self.by_id[topic.id]:
                self._unlist(topic)

    def _configure(self, name: str) -> None:
        partitions = self.by_name.get(name)
        if partitions:
            config = self._config_for(name)
            for partition in partitions.values():
                partition.configure(config)
                self._throttle(partition)


class LoopClock:
    """The event loop's time, also for threads. The event loop has to ask first."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None

    def __call__(self) -> int:
        if self._loop is None:
            self._loop = asyncio.get_running_loop()
        return int(self._loop.time() * 1000)
