"""The source's requests to a running cluster, and their results."""

from collections.abc import Callable, Iterator

import pytest

from gralha.client.admin import Admin
from gralha.client.cluster import Cluster
from gralha.client.settings import ClientSettings
from gralha.client.values import NewTopic, TopicListing, TopicPartition
from gralha.spark.subscription import Pattern
from gralha.spark.topic_view import TopicView


@pytest.fixture
def topic(bootstrap: str, new_name: Callable[[str], str]) -> Iterator[str]:
    name = new_name("view")
    with Admin(Cluster(bootstrap)) as admin:
        assert admin.create_topics([NewTopic(name)]) == {name: None}
        yield name


def test_a_topic_that_vanishes_after_it_was_listed_is_left_out_of_a_pattern(
    bootstrap: str, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    view = TopicView(ClientSettings(bootstrap), Pattern(f"{topic}.*"))
    listed = [*view._admin.list_topics(), TopicListing(f"{topic}-vanished", bytes(16), False)]
    monkeypatch.setattr(view._admin, "list_topics", lambda: listed)
    assert view.partitions().partitions == {TopicPartition(topic, 0)}
    view.close()
