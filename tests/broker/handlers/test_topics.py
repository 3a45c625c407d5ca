"""CreateTopics, DeleteTopics and CreatePartitions: the controller decides, the handlers carry it out."""

import pytest

from gralha.protocol.errors import ErrorCode, NotControllerError
from gralha.protocol.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from gralha.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from gralha.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from tests.broker.handlers.door import NOW_MS, Client, append, create_topic, make_broker


def topic(name, partitions=1, **options):
    return CreatableTopic(name=name, num_partitions=partitions, replication_factor=1, **options)


async def test_a_created_topic_can_be_written_at_once(broker, client):
    (result,) = (await client.ask(CreateTopicsRequest(topics=[topic("a", 2)]))).topics
    assert (result.error_code, result.num_partitions, result.replication_factor) == (0, 2, 1)
    assert result.topic_id == broker.image.topics["a"].id
    assert {config.name: config.value for config in result.configs}["retention.ms"] == "604800000"
    assert append(broker, "a", NOW_MS, index=1).first_offset == 0


async def test_topics_fail_one_by_one(broker, client):
    await create_topic(broker, "old")
    response = await client.ask(CreateTopicsRequest(topics=[topic("old"), topic("a b"), topic("new")]))
    assert {one.name: one.error_code for one in response.topics} == {
        "old": ErrorCode.TOPIC_ALREADY_EXISTS,
        "a b": ErrorCode.INVALID_TOPIC_EXCEPTION,
        "new": 0,
    }


async def test_validate_only_creates_nothing(broker, client):
    response = await client.ask(CreateTopicsRequest(topics=[topic("a")], validate_only=True))
    assert response.topics[0].error_code == 0
    assert broker.image.topics == {}


async def test_a_deleted_topic_is_gone_and_its_name_is_free(broker, client):
    await create_topic(broker, "a")
    append(broker, "a", NOW_MS)
    response = await client.ask(DeleteTopicsRequest(topic_names=["a", "nope"]), 5)
    assert {one.name: one.error_code for one in response.responses} == {
        "a": 0,
        "nope": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }
    assert broker.replicas.find("a", 0) is None
    await create_topic(broker, "a")
    assert broker.replicas.find("a", 0).log.log_end_offset == 0


async def test_a_topic_is_deleted_by_its_id(broker, client):
    topic_id = await create_topic(broker, "a")
    states = [DeleteTopicState(topic_id=topic_id), DeleteTopicState(topic_id=b"u" * 16)]
    response = await client.ask(DeleteTopicsRequest(topics=states))
    assert [(one.name, one.error_code) for one in response.responses] == [
        ("a", 0),
        (None, ErrorCode.UNKNOWN_TOPIC_ID),
    ]


@pytest.mark.parametrize(
    ("version", "code"), [(1, ErrorCode.INVALID_REQUEST), (5, ErrorCode.TOPIC_DELETION_DISABLED)]
)
async def test_deletion_can_be_switched_off(tmp_path, version, code):
    broker = make_broker(tmp_path, delete_topic_enable="false")
    await create_topic(broker, "a")
    response = await Client(broker).ask(DeleteTopicsRequest(topic_names=["a"]), version)
    assert [(one.name, one.error_code) for one in response.responses] == [("a", code)]
    assert "a" in broker.image.topics


async def test_partitions_are_added(broker, client):
    await create_topic(broker, "a")
    wanted = [CreatePartitionsTopic(name=name, count=3, assignments=None) for name in ("a", "nope")]
    response = await client.ask(CreatePartitionsRequest(topics=wanted))
    assert {one.name: one.error_code for one in response.results} == {
        "a": 0,
        "nope": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }
    assert append(broker, "a", NOW_MS, index=2).first_offset == 0


async def test_validate_only_adds_no_partitions(broker, client):
    await create_topic(broker, "a")
    wanted = CreatePartitionsTopic(name="a", count=3, assignments=None)
    response = await client.ask(CreatePartitionsRequest(topics=[wanted], validate_only=True))
    assert response.results[0].error_code == 0
    assert len(broker.image.topics["a"].partitions) == 1


async def test_a_controller_that_fails_is_an_error_of_each_topic(broker, client):
    broker.controller.failure = NotControllerError("elsewhere")
    created = await client.ask(CreateTopicsRequest(topics=[topic("a"), topic("b")]))
    deleted = await client.ask(DeleteTopicsRequest(topics=[DeleteTopicState(name="a")]))
    wanted = CreatePartitionsTopic(name="a", count=3, assignments=None)
    added = await client.ask(CreatePartitionsRequest(topics=[wanted]))
    answers = [*created.topics, *deleted.responses, *added.results]
    assert [one.name for one in answers] == ["a", "b", "a", "a"]
    assert {(one.error_code, one.error_message) for one in answers} == {
        (ErrorCode.NOT_CONTROLLER, "elsewhere")
    }
