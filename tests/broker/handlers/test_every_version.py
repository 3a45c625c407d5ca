"""Every version of every served API can be asked and answered, also where a field is new or gone."""

from collections.abc import Callable

import pytest

from gralha.broker.handlers import APIS, QUORUM
from gralha.protocol import apis
from gralha.protocol.apis import ApiKey
from gralha.protocol.message import Message
from gralha.protocol.messages import alter_configs as legacy
from gralha.protocol.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    EntityData,
    EntryData,
    OpData,
)
from gralha.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from gralha.protocol.messages.api_versions import ApiVersionsRequest
from gralha.protocol.messages.create_acls import AclCreation, CreateAclsRequest
from gralha.protocol.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from gralha.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from gralha.protocol.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest
from gralha.protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from gralha.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from gralha.protocol.messages.describe_acls import DescribeAclsRequest
from gralha.protocol.messages.describe_client_quotas import ComponentData, DescribeClientQuotasRequest
from gralha.protocol.messages.describe_cluster import DescribeClusterRequest
from gralha.protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from gralha.protocol.messages.describe_log_dirs import DescribeLogDirsRequest
from gralha.protocol.messages.describe_producers import DescribeProducersRequest, TopicRequest
from gralha.protocol.messages.describe_topic_partitions import Cursor, DescribeTopicPartitionsRequest
from gralha.protocol.messages.elect_leaders import ElectLeadersRequest, TopicPartitions
from gralha.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from gralha.protocol.messages.find_coordinator import FindCoordinatorRequest
from gralha.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from gralha.protocol.messages.init_producer_id import InitProducerIdRequest
from gralha.protocol.messages.list_config_resources import ListConfigResourcesRequest
from gralha.protocol.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from gralha.protocol.messages.list_partition_reassignments import ListPartitionReassignmentsRequest
from gralha.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from gralha.protocol.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from gralha.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from gralha.protocol.messages.unregister_broker import UnregisterBrokerRequest
from gralha.protocol.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest
from tests.broker.handlers import group_messages, security_messages, transaction_messages
from tests.broker.handlers.door import NOW_MS, append, create_topic


def produce(version, topic_id):
    # Null records are refused, which fills the fields for errors.
    topic = TopicProduceData(name="a") if version < 13 else TopicProduceData(topic_id=topic_id)
    topic.partition_data = [PartitionProduceData(index=0, records=None)]
    return ProduceRequest(acks=-1, timeout_ms=1000, topic_data=[topic])


def fetch(version, topic_id):
    topic = FetchTopic(topic="a") if version < 13 else FetchTopic(topic_id=topic_id)
    topic.partitions = [FetchPartition(partition=index, partition_max_bytes=1000) for index in (0, 9)]
    return FetchRequest(max_wait_ms=0, min_bytes=0, max_bytes=1000, topics=[topic])


def metadata(version, topic_id):
    topics = [MetadataRequestTopic(name=name) for name in ("a", "nope", "a b")]
    if version >= 12:
        topics = [MetadataRequestTopic(name=None, topic_id=one) for one in (topic_id, b"u" * 16)]
    return MetadataRequest(
        topics=topics,
        allow_auto_topic_creation=version < 4,
        include_cluster_authorized_operations=8 <= version <= 10,
        include_topic_authorized_operations=version >= 8,
    )


def find_coordinator(version, topic_id):
    if version >= 4:
        return FindCoordinatorRequest(coordinator_keys=["g", "h"])
    return FindCoordinatorRequest(key="g", key_type=1 if version >= 1 else 0)


def delete_topics(version, topic_id):
    if version >= 6:
        return DeleteTopicsRequest(
            topics=[DeleteTopicState(name="nope"), DeleteTopicState(topic_id=topic_id)]
        )
    return DeleteTopicsRequest(topic_names=["a", "nope"])


REQUESTS: dict[ApiKey, Callable[..., Message]] = {
    ApiKey.PRODUCE: produce,
    ApiKey.FETCH: fetch,
    ApiKey.LIST_OFFSETS: lambda version, _: ListOffsetsRequest(
        replica_id=-1,
        topics=[
            ListOffsetsTopic(
                name="a",
                partitions=[
                    ListOffsetsPartition(partition_index=0, timestamp=NOW_MS),
                    ListOffsetsPartition(partition_index=9, timestamp=-1),
                ],
            )
        ],
    ),
    ApiKey.METADATA: metadata,
    ApiKey.FIND_COORDINATOR: find_coordinator,
    ApiKey.API_VERSIONS: lambda version, _: (
        ApiVersionsRequest("test", "1") if version >= 3 else ApiVersionsRequest()
    ),
    ApiKey.CREATE_TOPICS: lambda version, _: CreateTopicsRequest(
        topics=[CreatableTopic(name=name, num_partitions=-1, replication_factor=-1) for name in ("a", "b")]
    ),
    ApiKey.DELETE_TOPICS: delete_topics,
    ApiKey.DELETE_RECORDS: lambda version, _: DeleteRecordsRequest(
        topics=[
            DeleteRecordsTopic(name=name, partitions=[DeleteRecordsPartition(partition_index=0, offset=-1)])
            for name in ("a", "nope")
        ]
    ),
    ApiKey.INIT_PRODUCER_ID: lambda version, _: InitProducerIdRequest(transactional_id=None),
    ApiKey.OFFSET_FOR_LEADER_EPOCH: lambda version, _: OffsetForLeaderEpochRequest(
        topics=[
            OffsetForLeaderTopic(topic=name, partitions=[OffsetForLeaderPartition(partition=0)])
            for name in ("a", "nope")
        ]
    ),
    ApiKey.DESCRIBE_CONFIGS: lambda version, _: DescribeConfigsRequest(
        resources=[
            DescribeConfigsResource(resource_type=kind, resource_name=name, configuration_keys=None)
            for kind, name in ((2, "a"), (2, "nope"), (4, "1"), (4, ""), (8, "1"), (16, "m"), (32, "g"))
        ],
        include_synonyms=True,
        include_documentation=version >= 3,
    ),
    ApiKey.ALTER_CONFIGS: lambda version, _: legacy.AlterConfigsRequest(
        resources=[
            legacy.AlterConfigsResource(
                resource_type=2,
                resource_name=name,
                configs=[legacy.AlterableConfig(name="retention.ms", value="5000")],
            )
            for name in ("a", "nope")
        ]
    ),
    ApiKey.DESCRIBE_LOG_DIRS: lambda version, _: DescribeLogDirsRequest(topics=None),
    ApiKey.DESCRIBE_ACLS: lambda version, _: DescribeAclsRequest(2, "a", 3, None, None, 1, 1),
    ApiKey.CREATE_ACLS: lambda version, _: CreateAclsRequest([AclCreation(2, "a", 3, "User:a", "*", 3, 3)]),
    ApiKey.DELETE_ACLS: lambda version, _: DeleteAclsRequest([DeleteAclsFilter(2, None, 3, None, "*", 1, 1)]),
    ApiKey.CREATE_PARTITIONS: lambda version, _: CreatePartitionsRequest(
        topics=[CreatePartitionsTopic(name=name, count=2, assignments=None) for name in ("a", "nope")]
    ),
    ApiKey.INCREMENTAL_ALTER_CONFIGS: lambda version, _: IncrementalAlterConfigsRequest(
        resources=[
            AlterConfigsResource(
                resource_type=2,
                resource_name=name,
                configs=[AlterableConfig(name="retention.ms", config_operation=0, value="5000")],
            )
            for name in ("a", "nope")
        ]
    ),
    ApiKey.DESCRIBE_CLUSTER: lambda version, _: DescribeClusterRequest(
        include_cluster_authorized_operations=True, include_fenced_brokers=version >= 2
    ),
    ApiKey.DESCRIBE_PRODUCERS: lambda version, _: DescribeProducersRequest(
        topics=[TopicRequest(name=name, partition_indexes=[0]) for name in ("a", "nope")]
    ),
    ApiKey.LIST_CONFIG_RESOURCES: lambda version, _: ListConfigResourcesRequest(),
    ApiKey.DESCRIBE_TOPIC_PARTITIONS: lambda version, _: DescribeTopicPartitionsRequest(
        response_partition_limit=1, cursor=Cursor(topic_name="a", partition_index=0)
    ),
    ApiKey.ELECT_LEADERS: lambda version, _: ElectLeadersRequest(
        election_type=0,
        topic_partitions=[TopicPartitions(topic=name, partitions=[0]) for name in ("a", "nope")],
    ),
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: lambda version, _: AlterPartitionReassignmentsRequest(
        topics=[
            ReassignableTopic(name, [ReassignablePartition(partition_index=0, replicas=[1])])
            for name in ("a", "nope")
        ]
    ),
    ApiKey.LIST_PARTITION_REASSIGNMENTS: lambda version, _: ListPartitionReassignmentsRequest(topics=None),
    ApiKey.UPDATE_FEATURES: lambda version, _: UpdateFeaturesRequest(
        feature_updates=[FeatureUpdateKey(feature="group.version", max_version_level=1)]
    ),
    ApiKey.UNREGISTER_BROKER: lambda version, _: UnregisterBrokerRequest(broker_id=9),
    ApiKey.DESCRIBE_CLIENT_QUOTAS: lambda version, _: DescribeClientQuotasRequest(
        components=[ComponentData(entity_type="user", match_type=2, match=None)]
    ),
    ApiKey.ALTER_CLIENT_QUOTAS: lambda version, _: AlterClientQuotasRequest(
        entries=[
            EntryData(
                entity=[EntityData(entity_type="user", entity_name=name)],
                ops=[OpData(key="producer_byte_rate", value=1000.0)],
            )
            for name in ("alice", None, "")
        ]
    ),
    **group_messages.REQUESTS,
    **security_messages.REQUESTS,
    **transaction_messages.REQUESTS,
}

# The requests of the quorum are for its driver, and tested with it (tests/raft).
VERSIONS = [
    (key, version)
    for key, api in APIS.items()
    if key not in QUORUM
    for version in range(api.min_version, api.max_version + 1)
]


@pytest.mark.parametrize(
    ("key", "version"), VERSIONS, ids=[f"{APIS[key].name}-{version}" for key, version in VERSIONS]
)
async def test_a_request_and_its_answer(broker, client, key, version):
    topic_id = await create_topic(broker, "a")
    append(broker, "a", NOW_MS, producer_id=7, producer_epoch=0, base_sequence=0)
    response = await client.ask(REQUESTS[ApiKey(key)](version, topic_id), version)
    assert type(response) is apis.APIS[key].response
