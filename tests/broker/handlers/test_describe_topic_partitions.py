"""DescribeTopicPartitions goes through topics by name, page by page, without a gap or a repetition."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gralha.protocol.errors import ErrorCode
from gralha.protocol.messages.describe_topic_partitions import (
    Cursor,
    DescribeTopicPartitionsRequest,
    TopicRequest,
)
from tests.broker.handlers.door import Client, create_topic, make_broker


def about(*names, **options):
    return DescribeTopicPartitionsRequest(topics=[TopicRequest(name=name) for name in names], **options)


def shown(response):
    return [(topic.name, one.partition_index) for topic in response.topics for one in topic.partitions]


async def test_a_topic_and_its_partitions(broker, client):
    topic_id = await create_topic(broker, "a", 2)
    (topic,) = (await client.ask(about("a"))).topics
    assert (topic.error_code, topic.name, topic.topic_id, topic.is_internal) == (0, "a", topic_id, False)
    assert topic.topic_authorized_operations == 3576  # as Apache Kafka without an authorizer
    assert [one.partition_index for one in topic.partitions] == [0, 1]
    one = topic.partitions[0]
    assert (one.leader_id, one.leader_epoch, one.replica_nodes, one.isr_nodes) == (1, 0, [1], [1])
    assert (one.eligible_leader_replicas, one.last_known_elr, one.offline_replicas) == ([], [], [])


async def test_topics_that_do_not_exist(broker, client):
    await create_topic(broker, "b")
    response = await client.ask(about("nope", "b", "a b"))
    assert [(topic.name, topic.error_code) for topic in response.topics] == [
        ("a b", ErrorCode.INVALID_TOPIC_EXCEPTION),
        ("b", 0),
        ("nope", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    ]


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(limit=st.integers(-1, 8), named=st.booleans())
async def test_pages_show_everything_once(tmp_path_factory, limit, named):
    broker = make_broker(tmp_path_factory.mktemp("pages"), max_request_partition_size_limit=4)
    for name, partitions in (("c", 1), ("a", 3), ("b", 2)):
        await create_topic(broker, name, partitions)
    names = ("c", "b", "a") if named else ()
    cursor = None
    pages: list[list[tuple[str, int]]] = []
    while not pages or cursor is not None:
        response = await Client(broker).ask(about(*names, response_partition_limit=limit, cursor=cursor))
        pages.append(shown(response))
        cursor = response.next_cursor
    assert [one for page in pages for one in page] == [
        ("a", 0),
        ("a", 1),
        ("a", 2),
        ("b", 0),
        ("b", 1),
        ("c", 0),
    ]
    assert {len(page) for page in pages[:-1]} <= {max(min(limit, 4), 1)}
    broker.logs.release()


async def test_a_cursor_behind_the_last_partition(broker, client):
    await create_topic(broker, "a", 3)
    response = await client.ask(about("a", cursor=Cursor(topic_name="a", partition_index=9)))
    assert [(topic.error_code, topic.partitions) for topic in response.topics] == [(0, [])]
    assert response.next_cursor is None


@pytest.mark.parametrize(
    "cursor", [Cursor(topic_name="b", partition_index=0), Cursor(topic_name="a", partition_index=-1)]
)
async def test_a_cursor_that_contradicts_the_request(broker, client, cursor):
    await create_topic(broker, "a")
    response = await client.ask(about("a", cursor=cursor))
    assert [topic.error_code for topic in response.topics] == [ErrorCode.INVALID_REQUEST]
