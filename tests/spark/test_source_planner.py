"""The planner of a stream with a fake cluster: batches, losses, and messages."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql.datasource import CaseInsensitiveDict

from gralha.client.values import TopicPartition
from gralha.spark.data_loss import DataLossError
from gralha.spark.offsets import LossCount, StreamOffset, batch_ranges, topic_id_text
from gralha.spark.option_values import OFFSET_MAX, PartitionOffsets
from gralha.spark.options import source_options
from gralha.spark.progress_commits import RETRY_INTERVAL_MS
from gralha.spark.stream_planner import TOPICS_MAX_AGE_MS, StreamPlanner
from gralha.spark.topic_view import SourceError, TopicPartitions

ONE, TWO = TopicPartition("sales", 0), TopicPartition("sales", 1)
OLD = TopicPartition("old", 0)


@dataclass
class PretendedCluster:
    """Topics with their ids and the offsets of their partitions, counted requests, and a clock."""

    ids: dict[str, int] = field(default_factory=lambda: {"sales": 1})
    earliest_offsets: PartitionOffsets = field(default_factory=lambda: {ONE: 0})
    latest_offsets: PartitionOffsets = field(default_factory=lambda: {ONE: 0})
    named: tuple[str, ...] = ("sales",)
    now_ms: int = 1_000_000
    committed: list[PartitionOffsets] = field(default_factory=list)
    described: int = 0
    slept_s: float = 0
    # Called after a request for offsets: what happens in the next moment.
    afterwards: list[Callable[[], None]] = field(default_factory=list)
    commits: int = 0
    commit_error: str = ""

    def partitions(self, may_be_missing: Callable[[str], bool] = lambda topic: False) -> TopicPartitions:
        self.described += 1
        for topic in self.named:
            if topic not in self.ids and not may_be_missing(topic):
                raise SourceError(f"Topic {topic} does not exist")
        ids = {topic: topic_id_text(number.to_bytes(16, "big")) for topic, number in self.ids.items()}
        return TopicPartitions(ids, frozenset(self.latest_offsets))

    def earliest(self, partitions: frozenset[TopicPartition]) -> PartitionOffsets:
        return {key: self.earliest_offsets.get(key, 0) for key in partitions if key in self.latest_offsets}

    def latest(
        self, partitions: frozenset[TopicPartition], position: PartitionOffsets | None = None
    ) -> PartitionOffsets:
        answer = {key: self.latest_offsets[key] for key in partitions if key in self.latest_offsets}
        if self.afterwards:
            self.afterwards.pop(0)()
        return answer

    def commit(self, group_id: str, offsets: PartitionOffsets) -> list[str]:
        self.commits += 1
        if self.commit_error:
            raise ConnectionError(self.commit_error)
        self.committed.append(offsets)
        return []

    def planner(self, **options: str) -> StreamPlanner:
        given = {"kafka.bootstrap.servers": "localhost:9092", "subscribe": ",".join(self.named), **options}
        return StreamPlanner(
            source_options(CaseInsensitiveDict(given), streaming=True),
            self,
            clock_ms=lambda: self.now_ms,
            sleep=self._sleep,
        )

    def _sleep(self, seconds: float) -> None:
        self.slept_s += seconds
        self.now_ms += int(seconds * 1000)

    def offset(self, **values: int) -> StreamOffset:
        """The position of a stream of this cluster: `offset(sales_0=5)`."""
        offsets = {TopicPartition(*_split(name)): value for name, value in values.items()}
        ids = {topic: topic_id_text(number.to_bytes(16, "big")) for topic, number in self.ids.items()}
        return StreamOffset(offsets, ids)

    def recreate(self, topic: str, **latest: int) -> None:
        self.ids[topic] += 100
        self.delete_partitions(topic)
        self.latest_offsets |= {TopicPartition(*_split(name)): value for name, value in latest.items()}

    def delete_partitions(self, topic: str) -> None:
        self.latest_offsets = {key: last for key, last in self.latest_offsets.items() if key.topic != topic}
        self.earliest_offsets = {
            key: first for key, first in self.earliest_offsets.items() if key.topic != topic
        }


def _split(name: str) -> tuple[str, int]:
    topic, _, partition = name.rpartition("_")
    return topic, int(partition)


@pytest.fixture
def cluster() -> PretendedCluster:
    return PretendedCluster()


# What is read


def test_nothing_new_is_the_same_offset_and_one_question(cluster: PretendedCluster) -> None:
    planner, start = cluster.planner(), cluster.offset(sales_0=0)
    for _ in range(50):
        assert planner.next_offset(start, None) is start
    assert cluster.described == 1


def test_what_is_new_is_read_to_its_end(cluster: PretendedCluster) -> None:
    cluster.latest_offsets = {ONE: 30}
    assert cluster.planner().next_offset(cluster.offset(sales_0=10), None) == cluster.offset(sales_0=30)


def test_a_limit_is_kept(cluster: PretendedCluster) -> None:
    cluster.latest_offsets = {ONE: 30}
    planner = cluster.planner(maxOffsetsPerTrigger="5")
    assert planner.next_offset(cluster.offset(sales_0=10), 5) == cluster.offset(sales_0=15)
    assert planner.latest == {ONE: 30}
    # Trigger.Once reads everything, no matter what the options say.
    assert planner.next_offset(cluster.offset(sales_0=10), None) == cluster.offset(sales_0=30)


def test_small_batches_wait(cluster: PretendedCluster) -> None:
    planner = cluster.planner(minOffsetsPerTrigger="20", maxTriggerDelay="1m")
    cluster.latest_offsets = {ONE: 10}
    start = planner.next_offset(cluster.offset(sales_0=0), OFFSET_MAX)
    assert start == cluster.offset(sales_0=10)
    cluster.latest_offsets = {ONE: 29}
    assert planner.next_offset(start, OFFSET_MAX) is start
    cluster.now_ms += 60_000
    assert planner.next_offset(start, OFFSET_MAX) == cluster.offset(sales_0=29)


def test_batches_follow_the_duration_of_the_last_one(cluster: PretendedCluster) -> None:
    planner = cluster.planner(targetBatchDuration="1s")
    cluster.latest_offsets = {ONE: 10**9}
    start = planner.next_offset(cluster.offset(sales_0=0), OFFSET_MAX)
    assert start.offsets == {ONE: 10_000}
    cluster.now_ms += 4_000
    end = planner.next_offset(start, OFFSET_MAX)
    assert end.offsets == {ONE: 12_500}


def test_a_new_partition_is_found_within_a_second_and_read_from_its_beginning(
    cluster: PretendedCluster,
) -> None:
    planner, start = cluster.planner(), cluster.offset(sales_0=0)
    assert planner.next_offset(start, None) is start
    cluster.latest_offsets[TWO] = 7
    cluster.now_ms += TOPICS_MAX_AGE_MS
    end = planner.next_offset(start, None)
    assert end == cluster.offset(sales_0=0, sales_1=7)
    assert [(item.partition, item.start, item.end) for item in batch_ranges(start, end)] == [(1, 0, 7)]


def test_a_new_partition_without_records_makes_no_batch(cluster: PretendedCluster) -> None:
    cluster.latest_offsets[TWO] = 0
    start = cluster.offset(sales_0=0)
    assert cluster.planner().next_offset(start, None) is start


def test_the_first_batch_keeps_where_it_began(cluster: PretendedCluster) -> None:
    cluster.latest_offsets = {ONE: 30}
    start = StreamOffset({ONE: 20}, cluster.offset().topic_ids, is_initial=True)
    end = cluster.planner().next_offset(start, None)
    assert (end.offsets, end.batch_start, end.is_initial) == ({ONE: 30}, {ONE: 20}, False)
    assert cluster.planner().next_offset(end, None) is end


def test_a_topic_without_an_id_is_read_too(cluster: PretendedCluster) -> None:
    cluster.ids = {}
    cluster.named = ()
    cluster.latest_offsets = {ONE: 3}
    planner = planner_by_pattern(cluster)
    assert planner.next_offset(StreamOffset({ONE: 1}), None) == StreamOffset({ONE: 3})


def planner_by_pattern(cluster: PretendedCluster) -> StreamPlanner:
    given = {"kafka.bootstrap.servers": "localhost:9092", "subscribePattern": "s.*"}
    options = source_options(CaseInsensitiveDict(given), streaming=True)
    return StreamPlanner(options, cluster, clock_ms=lambda: cluster.now_ms, sleep=cluster._sleep)


# Available now


def test_available_now_stops_where_the_topics_ended_when_it_started(cluster: PretendedCluster) -> None:
    planner = cluster.planner(maxOffsetsPerTrigger="4", minOffsetsPerTrigger="3")
    cluster.latest_offsets = {ONE: 10}
    planner.stop_at_what_is_there_now()
    cluster.latest_offsets = {ONE: 999, TWO: 5}
    start, ends = cluster.offset(sales_0=0), []
    while True:
        end = planner.next_offset(start, 4)
        if end is start:
            break
        ends.append(end.offsets)
        start = end
    assert ends == [{ONE: 4}, {ONE: 8}, {ONE: 10}]


def test_available_now_leaves_a_topic_alone_that_was_created_again_meanwhile(
    cluster: PretendedCluster,
) -> None:
    planner = cluster.planner(failOnDataLoss="false")
    cluster.latest_offsets = {ONE: 10}
    planner.stop_at_what_is_there_now()
    start = cluster.offset(sales_0=0)
    cluster.recreate("sales", sales_0=5)
    end = planner.next_offset(start, None)
    assert batch_ranges(start, end) == []
    assert planner.next_offset(end, None) is end


def test_available_now_ends_when_the_stream_stands_beyond_the_target(cluster: PretendedCluster) -> None:
    planner = cluster.planner()
    planner.stop_at_what_is_there_now()
    cluster.latest_offsets = {ONE: 8}
    start = cluster.offset(sales_0=8)
    assert planner.next_offset(start, None) is start


# What is lost


def lost(cluster: PretendedCluster, start: StreamOffset) -> str:
    with pytest.raises(DataLossError) as caught:
        cluster.planner().next_offset(start, None)
    assert "failOnDataLoss" in str(caught.value)
    return str(caught.value)


def tolerated(
    cluster: PretendedCluster, start: StreamOffset, caplog: pytest.LogCaptureFixture
) -> StreamOffset:
    with caplog.at_level(logging.WARNING):
        end = cluster.planner(failOnDataLoss="false").next_offset(start, None)
    assert "failOnDataLoss=false" in caplog.text
    return end


def test_records_deleted_by_retention(cluster: PretendedCluster, caplog: pytest.LogCaptureFixture) -> None:
    start = cluster.offset(sales_0=10)
    cluster.earliest_offsets, cluster.latest_offsets = {ONE: 25}, {ONE: 30}
    assert "Records 10 to 24 of partition sales-0 were deleted" in lost(cluster, start)
    end = tolerated(cluster, start, caplog)
    assert (end.offsets, end.data_loss) == ({ONE: 30}, {"sales": LossCount(1, 15)})


def test_a_log_that_lost_its_end_is_asked_again_first(cluster: PretendedCluster) -> None:
    start = cluster.offset(sales_0=10)
    cluster.latest_offsets = {ONE: 4}
    assert "ends at offset 4, but the query is at 10" in lost(cluster, start)
    assert cluster.slept_s == 3.0


def test_a_new_leader_that_did_not_know_its_end_yet_is_no_loss(cluster: PretendedCluster) -> None:
    start = cluster.offset(sales_0=10)
    cluster.latest_offsets = {ONE: 4}
    cluster.afterwards = [lambda: cluster.latest_offsets.update({ONE: 12})]
    assert cluster.planner().next_offset(start, None).offsets == {ONE: 12}


def test_a_log_that_lost_its_end_is_read_on_from_there(
    cluster: PretendedCluster, caplog: pytest.LogCaptureFixture
) -> None:
    start = cluster.offset(sales_0=10)
    cluster.latest_offsets = {ONE: 4}
    end = tolerated(cluster, start, caplog)
    assert (end.offsets, end.data_loss) == ({ONE: 4}, {"sales": LossCount(1, 6)})
    assert batch_ranges(start, end) == []


def test_a_topic_that_was_created_again(cluster: PretendedCluster, caplog: pytest.LogCaptureFixture) -> None:
    start = cluster.offset(sales_0=10)
    cluster.recreate("sales", sales_0=3)
    assert "Topic sales was deleted and created again" in lost(cluster, start)
    end = tolerated(cluster, start, caplog)
    assert end.data_loss == {"sales": LossCount(1, 0)}
    assert [(item.start, item.end) for item in batch_ranges(start, end)] == [(0, 3)]


def test_a_topic_that_was_created_again_and_has_as_many_records(cluster: PretendedCluster) -> None:
    """Its offsets alone would not show the loss."""
    start = cluster.offset(sales_0=10)
    cluster.recreate("sales", sales_0=50)
    assert "created again" in lost(cluster, start)


def test_a_topic_that_is_created_again_between_two_questions(cluster: PretendedCluster) -> None:
    start = cluster.offset(sales_0=10)
    cluster.latest_offsets = {ONE: 20}
    cluster.afterwards = [lambda: cluster.recreate("sales", sales_0=50)]
    assert "created again" in lost(cluster, start)


def test_a_deleted_topic(cluster: PretendedCluster, caplog: pytest.LogCaptureFixture) -> None:
    start = cluster.offset(sales_0=10, sales_1=10)
    del cluster.ids["sales"]
    cluster.delete_partitions("sales")
    assert lost(cluster, start).startswith("Topic sales was deleted")
    end = tolerated(cluster, start, caplog)
    assert (end.offsets, end.data_loss) == ({}, {"sales": LossCount(1, 0)})
    # The loss is reported once, and the stream waits for the topic to come back.
    assert cluster.planner(failOnDataLoss="false").next_offset(end, None) is end
    cluster.ids["sales"] = 7
    cluster.latest_offsets = {ONE: 2}
    back = cluster.planner(failOnDataLoss="false").next_offset(end, None)
    assert [(item.start, item.end) for item in batch_ranges(end, back)] == [(0, 2)]


def test_a_partition_whose_first_records_were_deleted_before_it_was_seen(cluster: PretendedCluster) -> None:
    start = cluster.offset(sales_0=0)
    cluster.latest_offsets[TWO], cluster.earliest_offsets[TWO] = 9, 4
    assert "Partition sales-1 is new to the query, but its first record is at offset 4" in lost(
        cluster, start
    )


def test_a_topic_that_joins_later_begins_with_what_is_left_of_it(cluster: PretendedCluster) -> None:
    """Also if its batch is repeated after retention has deleted more records."""
    start = cluster.offset(sales_0=0)
    cluster.ids["old"] = 2
    cluster.latest_offsets[OLD], cluster.earliest_offsets[OLD] = 900, 500
    end = cluster.planner().next_offset(start, 100)
    assert (end.offsets[OLD], end.data_loss) == (600, {})
    planned = StreamOffset.from_json(json.loads(json.dumps(end.to_json())))
    assert [item[:4] for item in batch_ranges(start, planned)] == [("old", 0, 500, 600)]
    # The start of the batch does not matter for the next one.
    after = cluster.planner().next_offset(planned, 100)
    assert [item[:4] for item in batch_ranges(planned, after)] == [("old", 0, 600, 700)]
    assert after.batch_start is None
    assert batch_ranges(planned, planned) == []


def test_a_topic_that_joins_later_and_is_empty_by_then_is_noted_once(cluster: PretendedCluster) -> None:
    planner, start = cluster.planner(), cluster.offset(sales_0=0)
    cluster.ids["old"] = 2
    cluster.latest_offsets[OLD] = cluster.earliest_offsets[OLD] = 900
    end = planner.next_offset(start, None)
    assert batch_ranges(start, end) == []
    described = cluster.described
    for _ in range(20):
        assert planner.next_offset(end, None) is end
    assert cluster.described == described
    # From now on the stream knows that it has not read the partition.
    cluster.latest_offsets[OLD], cluster.earliest_offsets[OLD] = 960, 950
    assert "Records 900 to 949 of partition old-0" in lost(cluster, end)


def test_available_now_does_not_go_on_for_ever_with_a_topic_that_joins_meanwhile(
    cluster: PretendedCluster,
) -> None:
    planner, start = cluster.planner(), cluster.offset(sales_0=0)
    planner.stop_at_what_is_there_now()
    cluster.ids["old"] = 2
    cluster.latest_offsets[OLD], cluster.earliest_offsets[OLD] = 900, 500
    assert planner.next_offset(start, None) is start


def test_a_late_partition_is_read_from_where_the_plan_says(
    cluster: PretendedCluster, caplog: pytest.LogCaptureFixture
) -> None:
    start = cluster.offset(sales_0=0)
    cluster.latest_offsets[TWO], cluster.earliest_offsets[TWO] = 9, 4
    end = tolerated(cluster, start, caplog)
    assert end.data_loss == {"sales": LossCount(1, 4)}
    assert [item[:4] for item in batch_ranges(start, end)] == [("sales", 1, 4, 9)]


def test_a_topic_that_never_was_is_told_as_such(cluster: PretendedCluster) -> None:
    cluster.named = ("sales", "sails")
    with pytest.raises(SourceError, match="Topic sails does not exist"):
        cluster.planner().next_offset(cluster.offset(sales_0=0), None)


def test_losses_are_counted_on(cluster: PretendedCluster, caplog: pytest.LogCaptureFixture) -> None:
    start = cluster.offset(sales_0=10)
    start.data_loss["sales"] = LossCount(2, 100)
    cluster.earliest_offsets, cluster.latest_offsets = {ONE: 25}, {ONE: 30}
    assert tolerated(cluster, start, caplog).data_loss == {"sales": LossCount(3, 115)}


# Progress in a consumer group


def test_progress_is_committed_when_spark_asks_for_what_follows(cluster: PretendedCluster) -> None:
    planner, start = cluster.planner(groupId="g"), cluster.offset(sales_0=0)
    cluster.latest_offsets = {ONE: 5}
    end = planner.next_offset(start, None)
    assert cluster.committed == [{ONE: 0}]
    # The batch is done, and there is nothing else to do.
    planner.next_offset(end, None)
    planner.next_offset(end, None)
    assert cluster.committed == [{ONE: 0}, {ONE: 5}]


def test_quick_batches_are_committed_once_a_second(cluster: PretendedCluster) -> None:
    planner, start = cluster.planner(groupId="g"), cluster.offset(sales_0=0)
    for number in range(1, 31):
        cluster.latest_offsets = {ONE: number}
        start = planner.next_offset(start, None)
        cluster.now_ms += 100
    assert [offsets[ONE] for offsets in cluster.committed] == [0, 10, 20]


def test_a_commit_that_fails_is_a_warning_told_once(
    cluster: PretendedCluster, caplog: pytest.LogCaptureFixture
) -> None:
    cluster.commit_error = "no coordinator"
    planner, start = cluster.planner(groupId="g"), cluster.offset(sales_0=0)
    for number in range(1, 4):
        cluster.latest_offsets = {ONE: number}
        cluster.now_ms += 5_000
        start = planner.next_offset(start, None)
    assert caplog.text.count("no coordinator") == 1


def test_a_commit_that_failed_is_repeated_also_while_nothing_happens(cluster: PretendedCluster) -> None:
    planner, start = cluster.planner(groupId="g"), cluster.offset(sales_0=0)
    cluster.commit_error = "no coordinator"
    for _ in range(100):
        assert planner.next_offset(start, None) is start
    assert cluster.commits == 1
    cluster.commit_error = ""
    cluster.now_ms += RETRY_INTERVAL_MS
    for _ in range(100):
        assert planner.next_offset(start, None) is start
    assert (cluster.commits, cluster.committed) == (2, [{ONE: 0}])


# All of it at once


class Query:
    """A query as Spark runs it: a log of planned batches, a log of done ones, and the read records."""

    def __init__(self, cluster: PretendedCluster, from_latest: bool) -> None:
        self._cluster = cluster
        self._from_latest = from_latest
        self._done: StreamOffset | None = None
        self._planned: StreamOffset | None = None
        self.began: PartitionOffsets = {}
        self.read: dict[TopicPartition, list[int]] = {}
        self.restart()

    def restart(self) -> None:
        """A new process. Until a batch is done, Spark asks it where to begin, which may have changed."""
        self._planner = self._cluster.planner(maxOffsetsPerTrigger="100")
        latest = self._cluster.latest_offsets
        offsets = dict(latest) if self._from_latest else dict.fromkeys(latest, 0)
        self._initial = StreamOffset(offsets, self._cluster.offset().topic_ids, is_initial=True)

    def _start(self) -> StreamOffset:
        return self._initial if self._done is None else self._done

    def plan(self, max_records: int) -> None:
        self.began = self.began or dict(self._start().offsets)
        end = self._planner.next_offset(self._start(), max_records)
        self._planned = StreamOffset.from_json(json.loads(json.dumps(end.to_json())))

    def run(self) -> None:
        if self._planned is not None:
            for item in batch_ranges(self._start(), self._planned):
                offsets = self.read.setdefault(TopicPartition(item.topic, item.partition), [])
                offsets.extend(range(item.start, item.end))
            self._done, self._planned = self._planned, None


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("append"), st.integers(0, 4), st.integers(1, 50)),
        st.tuples(st.just("grow"), st.just(0), st.just(1)),
        st.tuples(st.just("batch"), st.just(0), st.integers(1, 60)),
        st.tuples(st.just("crash in a batch"), st.just(0), st.integers(1, 60)),
        st.tuples(st.just("crash"), st.just(0), st.just(0)),
    ),
    max_size=30,
)


@given(STEPS, st.integers(0, 30), st.booleans())
def test_every_record_is_read_exactly_once_whatever_happens(
    steps: list[tuple[str, int, int]], written_before: int, from_latest: bool
) -> None:
    cluster = PretendedCluster()
    cluster.latest_offsets = {ONE: written_before}
    query = Query(cluster, from_latest)
    for step, where, amount in [*steps, *[("batch", 0, 500)] * 10]:
        cluster.now_ms += 400
        if step == "append":
            partitions = sorted(cluster.latest_offsets)
            cluster.latest_offsets[partitions[where % len(partitions)]] += amount
        elif step == "grow":
            cluster.latest_offsets[TopicPartition("sales", len(cluster.latest_offsets))] = 0
        else:
            query.run()  # A batch that was planned before a crash.
            if "batch" in step:
                query.plan(amount)
            if "crash" in step:
                query.restart()
            else:
                query.run()
    for partition, latest in cluster.latest_offsets.items():
        assert query.read.get(partition, []) == list(range(query.began.get(partition, 0), latest))
