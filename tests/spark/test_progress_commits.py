"""Commits of a query's progress to its consumer group, on a running cluster and without Spark."""

from collections.abc import Callable

import pytest

from gralha.client.admin import Admin
from gralha.client.cluster import Cluster
from gralha.client.errors import ConnectionFailedError
from gralha.client.values import NewTopic, TopicPartition
from gralha.spark.offsets import LossCount, StreamOffset
from gralha.spark.progress_commits import commit_progress


def test_the_end_of_a_batch_is_committed_as_spark_reports_it(
    bootstrap: str, new_name: Callable[[str], str]
) -> None:
    topic, group = new_name("done"), new_name("group")
    one, two = TopicPartition(topic, 0), TopicPartition(topic, 1)
    with Admin(Cluster(bootstrap)) as admin:
        assert admin.create_topics([NewTopic(topic, 2)]) == {topic: None}
        for last in (7, 9):
            end = StreamOffset({one: last, two: 0}, {topic: "id"}, data_loss={topic: LossCount(1, 2)})
            assert commit_progress({"bootstrap.servers": bootstrap}, group, end.to_json()) == []
            found = admin.group_offsets([group])[group]
            assert isinstance(found, dict)
            assert {partition: committed.offset for partition, committed in found.items()} == {
                one: last,
                two: 0,
            }


def test_what_cannot_be_committed_is_told(bootstrap: str, new_name: Callable[[str], str]) -> None:
    kafka, group, topic = {"bootstrap.servers": bootstrap}, new_name("group"), new_name("never-was")
    (sentence,) = commit_progress(kafka, group, {topic: {"0": 5}})
    assert sentence.startswith(f"{topic}-0: ")
    assert commit_progress(kafka, group, {}) == []
    with pytest.raises(ConnectionFailedError):
        commit_progress({"bootstrap.servers": "127.0.0.1:1"}, group, {topic: {"0": 5}})
