"""The source of a stream as Spark calls it, on a running cluster and without Spark."""

import json
from collections.abc import Callable, Iterator

import pytest
from pyspark.sql.datasource import CaseInsensitiveDict

from gralha.client.admin import Admin
from gralha.client.cluster import Cluster
from gralha.client.values import NewTopic
from gralha.spark.offsets import OffsetJson
from gralha.spark.option_values import OptionError
from gralha.spark.options import source_options
from gralha.spark.remembering_reader import RememberingReader
from gralha.spark.splitting import RangePartition
from gralha.spark.stream_reader import StreamReader, stream_reader
from gralha.spark.topic_view import SourceError


@pytest.fixture
def topic(bootstrap: str, new_name: Callable[[str], str]) -> Iterator[str]:
    name = new_name("there")
    with Admin(Cluster(bootstrap)) as admin:
        assert admin.create_topics([NewTopic(name)]) == {name: None}
        yield name


def reader(bootstrap: str, names: str, **options: object) -> StreamReader:
    given = {"kafka.bootstrap.servers": bootstrap, "subscribe": names, "failOnDataLoss": "false"}
    texts = {name: value if isinstance(value, str) else json.dumps(value) for name, value in options.items()}
    return stream_reader(source_options(CaseInsensitiveDict({**given, **texts}), streaming=True))


def next_offset(source: StreamReader, start: OffsetJson) -> OffsetJson:
    """The end of the next batch, as this version of Spark asks for it."""
    if isinstance(source, RememberingReader):
        source.partitions(start, start)
        return source.latestOffset()
    from pyspark.sql.streaming.datasource import ReadAllAvailable

    from gralha.spark.limited_reader import LimitedReader

    assert isinstance(source, LimitedReader)
    return source.latestOffset(start, ReadAllAvailable())


def test_a_first_batch_whose_topic_is_gone_does_not_stop_a_tolerant_query(bootstrap: str, topic: str) -> None:
    """Spark asks again where the stream began, and then for the planned batch."""
    for starting in ("earliest", {topic: {"0": -2}, "deleted": {"0": 3}}):
        restarted = reader(bootstrap, f"{topic},deleted", startingOffsets=starting)
        start = restarted.initialOffset()
        assert start[topic] == {"0": 0}
        assert "deleted" not in start
        planned: OffsetJson = {
            topic: {"0": 0},
            "deleted": {"0": 9},
            "@from": {topic: {"0": 0}, "deleted": {"0": 3}},
        }
        tasks = restarted.partitions(start, planned)
        ranges = [task.range[:4] for task in tasks if isinstance(task, RangePartition)]
        assert (len(tasks), ranges) == (1, [("deleted", 0, 3, 9)])
        after = next_offset(restarted, planned)
        assert after["@dataLoss"] == {"deleted": {"events": 1, "records": 0}}
        restarted.stop()


def test_a_new_query_whose_topic_is_not_there_is_stopped(bootstrap: str, topic: str) -> None:
    tolerant = reader(bootstrap, f"{topic},mispelt")
    with pytest.raises(SourceError, match="Topic mispelt does not exist"):
        next_offset(tolerant, tolerant.initialOffset())
    tolerant.stop()
    strict = reader(bootstrap, "mispelt", failOnDataLoss="true")
    with pytest.raises(SourceError, match="Topic mispelt does not exist"):
        strict.initialOffset()
    strict.stop()


def test_offsets_of_a_topic_that_nobody_asked_for_are_refused(bootstrap: str, topic: str) -> None:
    other = reader(bootstrap, topic, startingOffsets={topic: {"0": 0}, "other": {"0": 0}})
    with pytest.raises(OptionError, match="other-0 is not among them"):
        other.initialOffset()
    other.stop()
