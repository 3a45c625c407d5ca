"""Plans the batches of one stream: its start, the end of the next batch, and losses.

There is one planner for each query, in Spark's driver-side process of the source. Spark asks it for the end
of the next batch every few milliseconds, even if nothing happens. One request to the leaders answers that. If
there are new records, the topics are described again. If their ids are the same before and after the request,
the offsets belong to these topics and not to new ones with the same names.
"""

import time
from collections.abc import Callable
from typing import Final, Protocol

from gralha.client.values import TopicPartition
from gralha.spark.admission import BackPressure, SmallBatches, limited, new_records
from gralha.spark.data_loss import (
    ClusterOffsets,
    DataLossPolicy,
    Loss,
    begin_offsets,
    counted,
    losses,
)
from gralha.spark.offsets import StreamOffset
from gralha.spark.option_values import OFFSET_MAX, PartitionOffsets
from gralha.spark.options import SourceOptions
from gralha.spark.progress_commits import CommitsOffsets, ProgressCommits
from gralha.spark.topic_view import TopicPartitions

# How long a new partition or topic may stay unknown if there are no new records elsewhere.
TOPICS_MAX_AGE_MS: Final = 1_000


class View(CommitsOffsets, Protocol):
    """The part of a TopicView that the planner needs. Tests have a fake."""

    def partitions(self, may_be_missing: Callable[[str], bool] = ...) -> TopicPartitions: ...

    def earliest(self, partitions: frozenset[TopicPartition]) -> PartitionOffsets: ...

    def latest(
        self, partitions: frozenset[TopicPartition], position: PartitionOffsets | None = None
    ) -> PartitionOffsets: ...


def _monotonic_ms() -> int:
    return int(time.monotonic() * 1000)


def _joined_late(
    start: StreamOffset, begin: PartitionOffsets, wanted: PartitionOffsets
) -> set[TopicPartition]:
    """Partitions that are new to the stream and do not begin at offset 0. The batch must store where."""
    return {partition for partition in wanted if partition not in start.offsets and begin[partition] > 0}


class StreamPlanner:
    """The state of one stream on the driver. It may be lost at any time, because the offsets have all that
    matters.
    """

    def __init__(
        self,
        options: SourceOptions,
        view: View,
        *,
        clock_ms: Callable[[], int] = _monotonic_ms,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._options = options
        self._view = view
        self._clock_ms = clock_ms
        self._sleep = sleep
        self._policy = DataLossPolicy(options.fail_on_data_loss, streaming=options.streaming)
        self._commits = None if options.group_id is None else ProgressCommits(options.group_id, view)
        minimum, target_ms = options.min_offsets_per_trigger, options.target_batch_duration_ms
        self._small = None if minimum is None else SmallBatches(minimum, options.max_trigger_delay_ms)
        self._pressure = None if target_ms is None else BackPressure(target_ms)
        self._topics: TopicPartitions | None = None
        self._topics_ms = 0
        # With Trigger.AvailableNow: the ends of the topics when the query started.
        self._target: ClusterOffsets | None = None
        self.latest: PartitionOffsets | None = None

    def stop_at_what_is_there_now(self) -> None:
        """For Trigger.AvailableNow: later records are not read."""
        topics = self._view.partitions(lambda topic: True)
        self._target = ClusterOffsets(topics.topic_ids, self._view.latest(topics.partitions))

    def processed(self, offset: StreamOffset, *, is_idle: bool = False) -> None:
        """All records before this offset are processed."""
        if self._commits is not None:
            self._commits.processed(offset.offsets, self._clock_ms(), is_idle=is_idle)

    def next_offset(self, start: StreamOffset, max_records: int | None) -> StreamOffset:
        """The end of the next batch, or `start` if there is nothing to read. Without a limit it reads all."""
        # Spark asks for the offset after `start` only when the batch that ended there is done.
        if self._pressure is not None:
            self._pressure.batch_finished(self._clock_ms())
        now = self._cluster_offsets(start)
        self.latest = now.latest
        found = losses(start, now)
        begin = begin_offsets(start, now)
        goal = self._goal(start, now, begin)
        has_work = bool(found) or bool(_joined_late(start, begin, goal))
        if not has_work and not self._is_due(new_records(begin, goal), max_records):
            self.processed(start, is_idle=True)
            return start
        self.processed(start)
        self._policy.report(loss.sentence for loss in found)
        end = self._admitted(begin, goal, max_records)
        return self._end_offset(start, now, begin, end, found)

    def _end_offset(
        self,
        start: StreamOffset,
        now: ClusterOffsets,
        begin: PartitionOffsets,
        end: PartitionOffsets,
        found: list[Loss],
    ) -> StreamOffset:
        topics = {partition.topic for partition in end}
        noted = set(end) if start.is_initial else _joined_late(start, begin, end)
        return StreamOffset(
            offsets=end,
            topic_ids={topic: name for topic, name in now.topic_ids.items() if topic in topics},
            batch_start={partition: begin[partition] for partition in noted} or None,
            data_loss=counted(start.data_loss, found),
        )

    # The size of a batch

    def _is_due(self, records: int, max_records: int | None) -> bool:
        """Returns True if a batch of this many records is made. A query that will end does not wait."""
        if self._small is None or self._target is not None or max_records is None:
            return records > 0
        return self._small.lets_pass(records, self._clock_ms())

    def _admitted(
        self, begin: PartitionOffsets, goal: PartitionOffsets, max_records: int | None
    ) -> PartitionOffsets:
        end = goal
        if max_records is not None:
            pressure = OFFSET_MAX if self._pressure is None else self._pressure.max_records
            end = limited(begin, goal, min(max_records, pressure))
        if self._pressure is not None:
            self._pressure.batch_started(new_records(begin, end), self._clock_ms())
        return end

    def _goal(self, start: StreamOffset, now: ClusterOffsets, begin: PartitionOffsets) -> PartitionOffsets:
        """The last offsets that the stream may read."""
        if self._target is None:
            return now.latest
        goal = {}
        for partition, latest in now.latest.items():
            same = now.topic_ids.get(partition.topic) == self._target.topic_ids.get(partition.topic)
            last = self._target.latest.get(partition) if same else None
            if last is not None:
                goal[partition] = max(begin[partition], min(latest, last))
            elif partition in start.offsets:
                goal[partition] = begin[partition]
        return goal

    # The offsets of the cluster

    def _cluster_offsets(self, start: StreamOffset) -> ClusterOffsets:
        """The current offsets of topics that are the same before and after the request."""
        retries = self._options.fetch_offset_retries
        while True:
            topics = self._known_topics(start)
            latest = self._view.latest(topics.partitions, start.offsets)
            now = ClusterOffsets(topics.topic_ids, latest)
            begin = begin_offsets(start, now)
            if not losses(start, now) and new_records(begin, self._goal(start, now, begin)) == 0:
                return now
            now = ClusterOffsets(topics.topic_ids, now.latest, self._view.earliest(frozenset(now.latest)))
            if self._described(start) != topics:
                continue
            if retries == 0 or not any(loss.may_pass for loss in losses(start, now)):
                return now
            retries -= 1
            self._sleep(self._options.fetch_offset_retry_interval_ms / 1000)

    def _known_topics(self, start: StreamOffset) -> TopicPartitions:
        is_old = self._clock_ms() - self._topics_ms >= TOPICS_MAX_AGE_MS
        return self._described(start) if self._topics is None or is_old else self._topics

    def _described(self, start: StreamOffset) -> TopicPartitions:
        """Describes the topics again. A topic that the stream has read and that is gone is a loss.

        A topic that a new query does not find is misspelt. This is an error even with failOnDataLoss=false.
        """
        known = {partition.topic for partition in start.offsets}
        tolerant = not self._options.fail_on_data_loss and not start.is_initial
        self._topics = self._view.partitions(lambda topic: tolerant or topic in known)
        self._topics_ms = self._clock_ms()
        return self._topics
