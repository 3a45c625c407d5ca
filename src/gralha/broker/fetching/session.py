"""One fetch session (KIP-227): what its client wants of each partition.

A follower's session may hold thousands of partitions, of which a few change from one request to the next. It
subscribes to all of them, notes which have changed, and the next request reads those only. So a request costs
as much as there is to say. From time to time the session reads all partitions, because nobody is told when
retention moves the start of a log.
"""

from gralha.broker.fetching.wanted import CONSUMER, PartitionKey, Wanted
from gralha.replication.followers import FetchTimes
from gralha.replication.partition import Partition
from gralha.replication.subscriptions import END_MOVED, HIGH_WATERMARK_MOVED, Subscriber


class Session:
    """A session of a consumer. Each request reads all its partitions."""

    def __init__(
        self, identifier: int, uses_topic_ids: bool, now_ms: int, replica_id: int = CONSUMER
    ) -> None:
        self.id = identifier
        self.uses_topic_ids = uses_topic_ids
        self.replica_id = replica_id
        self.epoch = 1
        self.created_ms = now_ms
        self.used_ms = now_ms
        self.partitions: dict[PartitionKey, Wanted] = {}

    def want(self, key: PartitionKey, wanted: Wanted) -> Wanted:
        """The request names a partition, perhaps anew. Returns what the session remembers of it."""
        known = self.partitions.get(key)
        if known is None:
            self.partitions[key] = wanted
            return wanted
        known.take_over(wanted)
        return known

    def forget(self, key: PartitionKey) -> None:
        self.partitions.pop(key, None)

    def answered(self, served: list[Wanted]) -> None:
        """Partitions that were just answered with records go last, so that each gets its turn."""
        for wanted in served:
            key: PartitionKey = (
                wanted.topic_id if self.uses_topic_ids else wanted.topic,
                wanted.index,
            )
            if self.partitions.pop(key, None) is not None:
                self.partitions[key] = wanted

    def close(self) -> None:
        """Nobody uses the session any more."""


class Watch(Subscriber):
    """Tells a follower's session when one of its partitions changes."""

    def __init__(self, session: "FollowerSession", wanted: Wanted, partition: Partition) -> None:
        self.session = session
        self.wanted = wanted
        self.partition = partition
        partition.subscribe(self, END_MOVED)
        partition.subscribe(self, HIGH_WATERMARK_MOVED)

    def partition_changed(self, partition: Partition, event: int, new_bytes: int) -> bool:
        session = self.session
        session.changed[self.wanted] = None
        # The high watermark travels with the records, or with the next request: it wakes nobody.
        if event != HIGH_WATERMARK_MOVED and session.waiting is not None:
            session.waiting.partition_changed(partition, event, new_bytes)
        return False

    def end(self) -> None:
        partition = self.partition
        partition.unsubscribe(self, END_MOVED)
        partition.unsubscribe(self, HIGH_WATERMARK_MOVED)
        leading = partition.leading
        if leading is not None:
            leading.left_session(self.session.replica_id, self.session.times)


class FollowerSession(Session):
    """A session of a follower. Each request reads the partitions that have changed."""

    def __init__(self, identifier: int, uses_topic_ids: bool, now_ms: int, replica_id: int) -> None:
        super().__init__(identifier, uses_topic_ids, now_ms, replica_id)
        self.broker_epoch: int = -1
        self.times = FetchTimes()
        self.changed: dict[Wanted, None] = {}
        # The request that waits for something to change.
        self.waiting: Subscriber | None = None
        self.read_all_ms = now_ms
        self._watches: dict[Wanted, Watch] = {}

    def want(self, key: PartitionKey, wanted: Wanted) -> Wanted:
        known = super().want(key, wanted)
        self.changed[known] = None
        return known

    def forget(self, key: PartitionKey) -> None:
        wanted = self.partitions.pop(key, None)
        if wanted is not None:
            self.changed.pop(wanted, None)
            self._end_watch(wanted)

    def close(self) -> None:
        for watch in self._watches.values():
            watch.end()
        self._watches = {}
        self.changed = {}
        self.waiting = None

    def found(self, wanted: Wanted, partition: Partition | None) -> None:
        """The partition as it was found for this request. A topic that was made anew has other partitions."""
        watch = self._watches.get(wanted)
        if watch is not None and watch.partition is partition:
            return
        self._end_watch(wanted)
        if partition is not None:
            self._watches[wanted] = Watch(self, wanted, partition)

    def _end_watch(self, wanted: Wanted) -> None:
        watch = self._watches.pop(wanted, None)
        if watch is not None:
            watch.end()

    def take_changed(self) -> list[Wanted]:
        """The partitions that have changed. From here on the session notes them again."""
        changed = list(self.changed)
        self.changed = {}
        return changed

    def read_again(self, wanted: list[Wanted]) -> None:
        """The client was not told of these: the next request reads them again."""
        for one in wanted:
            self.changed[one] = None
