"""Metadata has the addresses of the client's listener, and creates missing topics if asked to."""

import pytest

from gralha.metadata.controller.topics import create_topics
from gralha.protocol.errors import ErrorCode, NotControllerError, PolicyViolationError
from gralha.protocol.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreateTopicsRequest,
)
from gralha.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from tests.broker.handlers.door import Client, create_topic, make_broker

INT_MIN = -(1 << 31)


def by_name(*names, **options):
    return MetadataRequest(topics=[MetadataRequestTopic(name=name) for name in names], **options)


async def test_null_means_all_topics(broker, client):
    await create_topic(broker, "a", 2)
    await create_topic(broker, "b")
    response = await client.ask(MetadataRequest(topics=None))
    assert {topic.name: len(topic.partitions) for topic in response.topics} == {"a": 2, "b": 1}


async def test_an_empty_list_means_all_topics_in_version_0_and_none_later(broker, client):
    await create_topic(broker, "a")
    assert len((await client.ask(MetadataRequest(topics=[]), 0)).topics) == 1
    assert (await client.ask(MetadataRequest(topics=[]), 1)).topics == []


async def test_the_cluster_and_its_brokers(client):
    response = await client.ask(by_name())
    assert response.cluster_id == "a-cluster"
    assert response.controller_id == 1
    assert [(node.node_id, node.host, node.port) for node in response.brokers] == [(1, "host1", 9092)]


async def test_a_partition_names_its_leader_and_replicas(broker, client):
    topic_id = await create_topic(broker, "a")
    topic = (await client.ask(by_name("a"))).topics[0]
    assert (topic.error_code, topic.topic_id, topic.is_internal) == (0, topic_id, False)
    partition = topic.partitions[0]
    assert (partition.leader_id, partition.leader_epoch) == (1, 0)
    assert (partition.replica_nodes, partition.isr_nodes, partition.offline_replicas) == ([1], [1], [])


async def test_topics_by_id(broker, client):
    topic_id = await create_topic(broker, "a")
    unknown = b"u" * 16
    wanted = [MetadataRequestTopic(name=None, topic_id=one) for one in (topic_id, unknown)]
    response = await client.ask(MetadataRequest(topics=wanted), 12)
    assert [(topic.name, topic.error_code) for topic in response.topics] == [
        ("a", 0),
        (None, ErrorCode.UNKNOWN_TOPIC_ID),
    ]


@pytest.mark.parametrize("version", [10, 11])
async def test_topic_ids_before_version_12_are_refused(client, version):
    wanted = [MetadataRequestTopic(name=None, topic_id=b"u" * 16), MetadataRequestTopic(name="a")]
    response = await client.ask(MetadataRequest(topics=wanted), version)
    assert [topic.error_code for topic in response.topics] == [ErrorCode.INVALID_REQUEST] * 2


async def test_a_topic_without_name_and_id_is_refused(client):
    response = await client.ask(MetadataRequest(topics=[MetadataRequestTopic(name=None)]))
    assert response.error_code == ErrorCode.INVALID_REQUEST


async def test_a_missing_topic_is_created_and_shown_at_once(broker, client):
    response = await client.ask(by_name("new", "new"))
    assert [(topic.name, topic.error_code, len(topic.partitions)) for topic in response.topics] == [
        ("new", 0, 1)
    ]
    assert broker.replicas.find("new", 0).is_leader()


async def test_the_broker_decides_how_many_partitions_a_created_topic_gets(tmp_path):
    client = Client(make_broker(tmp_path, num_partitions=3))
    response = await client.ask(by_name("new"))
    assert len(response.topics[0].partitions) == 3


async def test_creation_by_asking_can_be_declined_by_either_side(tmp_path):
    willing = Client(make_broker(tmp_path / "willing"))
    response = await willing.ask(by_name("new", allow_auto_topic_creation=False))
    assert response.topics[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    unwilling = Client(make_broker(tmp_path / "unwilling", auto_create_topics_enable="false"))
    response = await unwilling.ask(by_name("new"))
    assert response.topics[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


@pytest.mark.parametrize("allowed", [True, False])
async def test_a_bad_name_is_said_to_be_bad(client, allowed):
    response = await client.ask(by_name("a b", "", allow_auto_topic_creation=allowed))
    assert [topic.error_code for topic in response.topics] == [ErrorCode.INVALID_TOPIC_EXCEPTION] * 2


async def test_a_bad_name_is_not_logged(client, caplog):
    caplog.set_level("DEBUG")
    await client.ask(by_name("a\nFATAL all is lost", "good"))
    assert "FATAL" not in caplog.text


async def test_a_topic_that_cannot_be_created_says_why(tmp_path):
    client = Client(make_broker(tmp_path, default_replication_factor=3))
    response = await client.ask(by_name("new"))
    assert response.topics[0].error_code == ErrorCode.INVALID_REPLICATION_FACTOR


async def test_a_controller_that_fails_is_an_error_of_each_topic(broker, client):
    broker.controller.failure = PolicyViolationError()
    response = await client.ask(by_name("new"))
    assert response.topics[0].error_code == ErrorCode.POLICY_VIOLATION


async def test_without_a_controller_the_topic_is_not_there_yet(broker, client):
    broker.controller.failure = NotControllerError()
    response = await client.ask(by_name("new"))
    assert response.topics[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


async def test_the_internal_topics_are_created_with_their_own_settings(broker, client):
    response = await client.ask(by_name("__consumer_offsets"))
    assert (response.topics[0].is_internal, len(response.topics[0].partitions)) == (True, 5)
    assert broker.image.topic_configs("__consumer_offsets")["cleanup.policy"] == "compact"


async def test_authorized_operations_are_told_when_asked_for(broker, client):
    await create_topic(broker, "a")
    asked = by_name("a", include_topic_authorized_operations=True, include_cluster_authorized_operations=True)
    response = await client.ask(asked, 8)
    assert response.topics[0].topic_authorized_operations == 3576  # as Apache Kafka without an authorizer
    assert response.cluster_authorized_operations == 8096
    response = await client.ask(by_name("a"), 8)
    assert response.topics[0].topic_authorized_operations == INT_MIN
    assert response.cluster_authorized_operations == INT_MIN


async def three_brokers_one_fenced(tmp_path):
    broker = make_broker(tmp_path, brokers=3, fenced=(3,))
    assignment = CreatableReplicaAssignment(partition_index=0, broker_ids=[2, 3, 1])
    topic = CreatableTopic(name="a", num_partitions=-1, replication_factor=-1, assignments=[assignment])
    request = CreateTopicsRequest(topics=[topic])
    context = broker.controller.context
    await broker.controller.execute(lambda image: create_topics(image, request, context))
    return broker


async def test_a_fenced_broker_is_not_listed_and_its_replicas_are_offline(tmp_path):
    client = Client(await three_brokers_one_fenced(tmp_path))
    response = await client.ask(by_name("a"))
    assert [node.node_id for node in response.brokers] == [1, 2]
    assert response.controller_id == 1, "the broker that was asked"
    partition = response.topics[0].partitions[0]
    assert (partition.leader_id, partition.replica_nodes) == (2, [2, 3, 1])
    assert (partition.isr_nodes, partition.offline_replicas) == ([2, 1], [3])


async def test_version_0_leaves_out_replicas_that_cannot_be_reached(tmp_path):
    client = Client(await three_brokers_one_fenced(tmp_path))
    partition = (await client.ask(by_name("a"), 0)).topics[0].partitions[0]
    assert partition.replica_nodes == [2, 1]
    assert partition.error_code == ErrorCode.REPLICA_NOT_AVAILABLE


@pytest.mark.parametrize(
    ("version", "code"), [(5, ErrorCode.LEADER_NOT_AVAILABLE), (6, ErrorCode.LISTENER_NOT_FOUND)]
)
async def test_a_leader_without_the_clients_listener(broker, version, code):
    await create_topic(broker, "a")
    response = await Client(broker, "INTERNAL").ask(by_name("a"), version)
    assert response.brokers == []
    partition = response.topics[0].partitions[0]
    assert (partition.leader_id, partition.error_code) == (-1, code)


async def test_a_damaged_partition_is_shown_as_offline(tmp_path):
    (tmp_path / "t-0").mkdir()
    (tmp_path / "t-0" / "partition.metadata").write_text("nonsense")
    broker = make_broker(tmp_path)
    await create_topic(broker, "t", 2)
    response = await Client(broker).ask(MetadataRequest(topics=[MetadataRequestTopic(name="t")]))
    damaged, sound = response.topics[0].partitions
    assert (damaged.leader_id, damaged.error_code) == (-1, ErrorCode.LEADER_NOT_AVAILABLE)
    assert damaged.offline_replicas == [1]
    assert (sound.leader_id, sound.error_code, sound.offline_replicas) == (1, 0, [])
    broker.logs.release()
