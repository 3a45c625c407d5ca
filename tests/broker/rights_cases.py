"""A request of each API for the matrix of rights, and the error codes of its response.

All of them leave the cluster as it is, so that they can be repeated with other rules: they validate only, or
name something that does not exist.
"""

from collections.abc import Callable, Iterable
from typing import Any, Final, NamedTuple

from gralha.protocol.message import Message
from gralha.protocol.messages import alter_configs as legacy
from gralha.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from gralha.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from gralha.protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from gralha.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from gralha.protocol.messages.create_acls import AclCreation, CreateAclsRequest
from gralha.protocol.messages.create_delegation_token import CreateDelegationTokenRequest
from gralha.protocol.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from gralha.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from gralha.protocol.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest
from gralha.protocol.messages.delete_groups import DeleteGroupsRequest
from gralha.protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from gralha.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from gralha.protocol.messages.describe_acls import DescribeAclsRequest
from gralha.protocol.messages.describe_cluster import DescribeClusterRequest
from gralha.protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from gralha.protocol.messages.describe_delegation_token import DescribeDelegationTokenRequest
from gralha.protocol.messages.describe_groups import DescribeGroupsRequest
from gralha.protocol.messages.describe_log_dirs import DescribeLogDirsRequest
from gralha.protocol.messages.describe_producers import DescribeProducersRequest, TopicRequest
from gralha.protocol.messages.describe_quorum import (
    DescribeQuorumRequest,
    DescribeQuorumRequestPartition,
    DescribeQuorumRequestTopic,
)
from gralha.protocol.messages.describe_topic_partitions import (
    DescribeTopicPartitionsRequest,
)
from gralha.protocol.messages.describe_topic_partitions import TopicRequest as DescribedTopic
from gralha.protocol.messages.describe_transactions import DescribeTransactionsRequest
from gralha.protocol.messages.elect_leaders import ElectLeadersRequest, TopicPartitions
from gralha.protocol.messages.end_txn import EndTxnRequest
from gralha.protocol.messages.expire_delegation_token import ExpireDelegationTokenRequest
from gralha.protocol.messages.find_coordinator import FindCoordinatorRequest
from gralha.protocol.messages.heartbeat import HeartbeatRequest
from gralha.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from gralha.protocol.messages.init_producer_id import InitProducerIdRequest
from gralha.protocol.messages.list_config_resources import ListConfigResourcesRequest
from gralha.protocol.messages.list_groups import ListGroupsRequest
from gralha.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from gralha.protocol.messages.list_partition_reassignments import ListPartitionReassignmentsRequest
from gralha.protocol.messages.list_transactions import ListTransactionsRequest
from gralha.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from gralha.protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from gralha.protocol.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from gralha.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from gralha.protocol.messages.renew_delegation_token import RenewDelegationTokenRequest
from gralha.protocol.messages.sync_group import SyncGroupRequest
from gralha.protocol.messages.unregister_broker import UnregisterBrokerRequest
from gralha.protocol.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest
from gralha.protocol.primitives import RecordBytes
from gralha.protocol.records import Record, encode_batch
from tests.broker.handlers import group_messages
from tests.broker.handlers.fetching import fetch_request
from tests.broker.handlers.transaction_messages import add_partitions

TOPIC, GROUP, CLUSTER, TRANSACTIONAL_ID = 2, 3, 4, 5
TOPICS, BROKERS, LOGGERS, GROUPS = 2, 4, 8, 32
NAMES: Final = {TOPIC: "a", GROUP: "g", CLUSTER: "kafka-cluster", TRANSACTIONAL_ID: "t"}
MISSING: Final = "absent"
NEWEST: Final = -1


class Ids(NamedTuple):
    """The id of topic `a`, which each cluster has chosen."""

    topic: bytes


class Case(NamedTuple):
    name: str
    make: Callable[[Ids], Message]
    version: int
    kinds: tuple[int, ...]
    # More of the response than its error codes that depends on rights.
    seen: Callable[[Any], object] = lambda response: None


def _records(transactional: bool = False) -> RecordBytes:
    options: dict[str, Any] = {}
    if transactional:
        options = {"producer_id": 77, "producer_epoch": 0, "base_sequence": 0, "transactional": True}
    data = encode_batch([Record(b"k", b"v", 1_700_000_000_000)], **options)
    return RecordBytes(data, 0, len(data))


def _produce(topic: str = "a", topic_id: bytes = bytes(16), **options: Any) -> ProduceRequest:
    transactional = bool(options.get("transactional_id"))
    data = [PartitionProduceData(index=0, records=_records(transactional))]
    return ProduceRequest(
        acks=1, timeout_ms=5000, topic_data=[TopicProduceData(topic, topic_id, data)], **options
    )


def _configs(kind: int, name: str, key: str, value: str) -> IncrementalAlterConfigsRequest:
    return IncrementalAlterConfigsRequest(
        [AlterConfigsResource(kind, name, [AlterableConfig(key, 0, value)])], validate_only=True
    )


def _described(kind: int, name: str) -> DescribeConfigsRequest:
    return DescribeConfigsRequest([DescribeConfigsResource(kind, name, ["retention.ms"])])


def _metadata(*names: str, create: bool = False) -> MetadataRequest:
    topics = [MetadataRequestTopic(name=name) for name in names]
    return MetadataRequest(topics=topics, allow_auto_topic_creation=create)


def _names(key: str, name: str) -> Callable[[Any], object]:
    """The names in a list of the response, in order."""
    return lambda response: sorted(str(getattr(one, name)) for one in getattr(response, key))


def _bits(response: Any) -> object:
    return (
        getattr(response, "cluster_authorized_operations", None),
        [getattr(one, "topic_authorized_operations", None) for one in getattr(response, "topics", [])],
        sorted(one.authorized_operations for one in getattr(response, "groups", [])),
    )


def _topic_state(name: str | None, topic_id: bytes = bytes(16)) -> DeleteTopicsRequest:
    return DeleteTopicsRequest(topics=[DeleteTopicState(name, topic_id)], timeout_ms=5000)


def _of_records() -> Iterable[Case]:
    both = (TOPIC, CLUSTER)
    yield Case("Produce", lambda ids: _produce(), 12, (TOPIC,))
    yield Case("Produce by id", lambda ids: _produce("", ids.topic), 13, (TOPIC,))
    yield Case("Produce to a missing topic", lambda ids: _produce(MISSING), 12, (TOPIC,))
    yield Case(
        "Produce in a transaction", lambda ids: _produce(transactional_id="t"), 11, (TRANSACTIONAL_ID, TOPIC)
    )
    yield Case("Fetch", lambda ids: fetch_request({0: 0}, max_wait_ms=0), 12, both)
    yield Case("Fetch by id", lambda ids: fetch_request({0: 0}, "", ids.topic, max_wait_ms=0), 17, both)
    follower = {"replica_id": 1, "max_wait_ms": 0}
    yield Case("Fetch of a follower", lambda ids: fetch_request({0: 0}, MISSING, **follower), 12, both)
    for timestamp, name in ((-1, "ListOffsets"), (0, "ListOffsets by time")):
        offsets = [ListOffsetsPartition(0, -1, timestamp)]
        request = ListOffsetsRequest(-1, 0, [ListOffsetsTopic("a", offsets)])
        yield Case(name, lambda ids, request=request: request, 7, (TOPIC,))  # type: ignore[misc]


def _of_topics() -> Iterable[Case]:
    both = (TOPIC, CLUSTER)
    yield Case("Metadata", lambda ids: _metadata("a"), NEWEST, both)
    yield Case("Metadata of a missing topic", lambda ids: _metadata(MISSING), NEWEST, both)
    by_id = MetadataRequestTopic
    yield Case(
        "Metadata by id",
        lambda ids: MetadataRequest([by_id(ids.topic, None)], allow_auto_topic_creation=False),
        NEWEST,
        both,
        _names("topics", "name"),
    )
    yield Case(
        "Metadata of all topics",
        lambda ids: MetadataRequest(topics=None),
        NEWEST,
        both,
        lambda response: [one.name for one in response.topics if one.name == "a"],
    )
    yield Case("Metadata that would create", lambda ids: _metadata("__x y", create=True), NEWEST, both)
    yield Case(
        "Metadata with operations",
        lambda ids: MetadataRequest([by_id(name="a")], False, True, True),
        8,
        both,
        _bits,
    )
    creatable = CreatableTopic(name="a-new", num_partitions=1, replication_factor=1)
    yield Case(
        "CreateTopics",
        lambda ids: CreateTopicsRequest([creatable], 5000, True),
        NEWEST,
        (CLUSTER,),
        lambda response: [(one.topic_config_error_code, one.num_partitions) for one in response.topics],
    )
    yield Case(
        "CreateTopics again", lambda ids: CreateTopicsRequest([CreatableTopic("a", 1, 1)], 5000), 7, both
    )
    yield Case("DeleteTopics", lambda ids: _topic_state(MISSING), NEWEST, both)
    yield Case("DeleteTopics by unknown id", lambda ids: _topic_state(None, b"u" * 16), NEWEST, both)
    records = [DeleteRecordsTopic("a", [DeleteRecordsPartition(0, 0)])]
    yield Case("DeleteRecords", lambda ids: DeleteRecordsRequest(records, 5000), NEWEST, (TOPIC,))
    epochs = [OffsetForLeaderTopic("a", [OffsetForLeaderPartition(0, -1, 0)])]
    yield Case("OffsetForLeaderEpoch", lambda ids: OffsetForLeaderEpochRequest(-2, epochs), NEWEST, both)
    grown = [CreatePartitionsTopic("a", 5, None)]
    yield Case("CreatePartitions", lambda ids: CreatePartitionsRequest(grown, 5000, True), NEWEST, both)
    yield Case(
        "DescribeProducers", lambda ids: DescribeProducersRequest([TopicRequest("a", [0])]), NEWEST, (TOPIC,)
    )
    yield Case(
        "DescribeTopicPartitions",
        lambda ids: DescribeTopicPartitionsRequest([DescribedTopic("a"), DescribedTopic(MISSING)], 100, None),
        NEWEST,
        (TOPIC,),
        _bits,
    )


def _of_groups() -> Iterable[Case]:
    for make, version, kinds in (
        (group_messages.join_group, 5, (GROUP,)),
        (group_messages.leave_group, 3, (GROUP,)),
        (group_messages.offset_commit, 9, (GROUP, TOPIC)),
        (group_messages.offset_commit, 10, (GROUP, TOPIC)),
        (group_messages.offset_fetch, 7, (GROUP, TOPIC)),
        (group_messages.offset_fetch, 9, (GROUP, TOPIC)),
        (group_messages.txn_offset_commit, 3, (TRANSACTIONAL_ID, GROUP, TOPIC)),
    ):
        name = f"{make.__name__} {version}"

        def request(ids: Ids, make: Any = make, version: int = version) -> Message:
            made: Message = make(version, ids.topic)
            return made

        yield Case(name, request, version, kinds)
    kept = [OffsetDeleteRequestTopic("a", [OffsetDeleteRequestPartition(7)])]
    yield Case("OffsetDelete", lambda ids: OffsetDeleteRequest("g", kept), 0, (GROUP, TOPIC))
    sync = SyncGroupRequest("g", 1, "nobody", None, "consumer", "range")
    yield Case("SyncGroup", lambda ids: sync, NEWEST, (GROUP,))
    yield Case("Heartbeat", lambda ids: HeartbeatRequest("g", 1, "nobody"), NEWEST, (GROUP,))
    heartbeat = ConsumerGroupHeartbeatRequest
    yield Case("ConsumerGroupHeartbeat", lambda ids: heartbeat("g", "nobody", 5), 0, (GROUP,))
    yield Case(
        "ConsumerGroupHeartbeat with topics",
        lambda ids: heartbeat("g", "nobody", 5, subscribed_topic_names=["a"]),
        0,
        (GROUP, TOPIC),
    )
    yield Case("DescribeGroups", lambda ids: DescribeGroupsRequest(["g", "h"], True), NEWEST, (GROUP,), _bits)
    yield Case("ConsumerGroupDescribe", lambda ids: ConsumerGroupDescribeRequest(["g"], True), 0, (GROUP,))
    yield Case("DeleteGroups", lambda ids: DeleteGroupsRequest(["h"]), NEWEST, (GROUP,))
    yield Case(
        "ListGroups",
        lambda ids: ListGroupsRequest(),
        NEWEST,
        (GROUP, CLUSTER),
        _names("groups", "group_id"),
    )
    for key_type, key, kind in ((0, "g", GROUP), (1, "t", TRANSACTIONAL_ID)):
        yield Case(
            f"FindCoordinator of type {key_type}",
            lambda ids, key=key, key_type=key_type: FindCoordinatorRequest(  # type: ignore[misc]
                key_type=key_type, coordinator_keys=[key]
            ),
            4,
            (kind,),
        )


def _of_transactions() -> Iterable[Case]:
    kinds = (TRANSACTIONAL_ID, CLUSTER, TOPIC)
    yield Case("InitProducerId", lambda ids: InitProducerIdRequest(None, 1000), 4, kinds)
    yield Case("InitProducerId with id", lambda ids: InitProducerIdRequest("t", 0), 4, kinds)
    yield Case("AddPartitionsToTxn", lambda ids: add_partitions(3, producer=(77, 0)), 3, kinds)
    yield Case("AddPartitionsToTxn of a broker", lambda ids: add_partitions(4, producer=(77, 0)), 4, kinds)
    yield Case(
        "AddOffsetsToTxn", lambda ids: AddOffsetsToTxnRequest("t", 77, 0, "g"), 3, (TRANSACTIONAL_ID, GROUP)
    )
    yield Case("EndTxn", lambda ids: EndTxnRequest("t", 77, 0, True), 3, (TRANSACTIONAL_ID,))
    yield Case(
        "DescribeTransactions", lambda ids: DescribeTransactionsRequest(["t"]), 0, (TRANSACTIONAL_ID, TOPIC)
    )
    yield Case("ListTransactions", lambda ids: ListTransactionsRequest(), 0, (TRANSACTIONAL_ID,))


def _of_cluster() -> Iterable[Case]:
    everything = (CLUSTER, TOPIC, GROUP)
    acl = AclCreation(TOPIC, "", 3, "User:x", "*", 3, 3)
    yield Case("CreateAcls", lambda ids: CreateAclsRequest([acl]), NEWEST, (CLUSTER,))
    yield Case(
        "DescribeAcls", lambda ids: DescribeAclsRequest(2, "no", 3, "User:x", "*", 3, 3), 3, (CLUSTER,)
    )
    gone = DeleteAclsFilter(2, "no", 3, "User:x", "*", 3, 3)
    yield Case("DeleteAcls", lambda ids: DeleteAclsRequest([gone]), NEWEST, (CLUSTER,))
    for kind, name, key, value in (
        (TOPICS, "a", "retention.ms", "5"),
        (GROUPS, "g", "consumer.session.timeout.ms", "50000"),
        (BROKERS, "", "log.cleaner.threads", "1"),
        (BROKERS, "1", "log.cleaner.threads", "1"),
    ):
        yield Case(
            f"IncrementalAlterConfigs of {kind} {name}",
            lambda ids, args=(kind, name, key, value): _configs(*args),  # type: ignore[misc]
            NEWEST,
            everything,
        )
        yield Case(
            f"DescribeConfigs of {kind} {name}",
            lambda ids, args=(kind, name): _described(*args),  # type: ignore[misc]
            NEWEST,
            everything,
        )
    old = legacy.AlterConfigsResource(TOPICS, "a", [legacy.AlterableConfig("retention.ms", "5")])
    yield Case("AlterConfigs", lambda ids: legacy.AlterConfigsRequest([old], True), NEWEST, everything)
    yield Case("Loggers", lambda ids: _described(LOGGERS, "1"), NEWEST, everything)
    yield Case("DescribeLogDirs", lambda ids: DescribeLogDirsRequest([]), NEWEST, (CLUSTER,))
    elected = [TopicPartitions(MISSING, [0])]
    yield Case("ElectLeaders", lambda ids: ElectLeadersRequest(0, elected, 5000), NEWEST, (CLUSTER, TOPIC))
    moved = [ReassignableTopic(MISSING, [ReassignablePartition(0, [1])])]
    yield Case(
        "AlterPartitionReassignments",
        lambda ids: AlterPartitionReassignmentsRequest(timeout_ms=5000, topics=moved),
        0,
        (CLUSTER,),
    )
    yield Case(
        "ListPartitionReassignments", lambda ids: ListPartitionReassignmentsRequest(5000, None), 0, (CLUSTER,)
    )
    log = DescribeQuorumRequestTopic("__cluster_metadata", [DescribeQuorumRequestPartition(0)])
    yield Case("DescribeQuorum", lambda ids: DescribeQuorumRequest([log]), 1, (CLUSTER,))
    feature = FeatureUpdateKey("group.version", 1, upgrade_type=1)
    yield Case("UpdateFeatures", lambda ids: UpdateFeaturesRequest(5000, [feature], True), 1, (CLUSTER,))
    yield Case("UnregisterBroker", lambda ids: UnregisterBrokerRequest(99), NEWEST, (CLUSTER,))
    yield Case("DescribeCluster", lambda ids: DescribeClusterRequest(True), 1, (CLUSTER,), _bits)
    yield Case("ListConfigResources", lambda ids: ListConfigResourcesRequest([]), 1, (CLUSTER,))


def _of_tokens() -> Iterable[Case]:
    """Without a login no right helps. `test_tokens_like_apache.py` has the rights of users who have one."""
    for name, request in (
        ("CreateDelegationToken", CreateDelegationTokenRequest("User", "bob", [], -1)),
        ("RenewDelegationToken", RenewDelegationTokenRequest(b"secret", -1)),
        ("ExpireDelegationToken", ExpireDelegationTokenRequest(b"secret", -1)),
        ("DescribeDelegationToken", DescribeDelegationTokenRequest(None)),
    ):
        yield Case(name, lambda ids, request=request: request, NEWEST, (CLUSTER,))  # type: ignore[misc]


CASES: Final = [
    *_of_records(),
    *_of_topics(),
    *_of_groups(),
    *_of_transactions(),
    *_of_cluster(),
    *_of_tokens(),
]


def error_codes(response: object) -> list[int]:
    """All error codes in a response, in order of their values: brokers order their results differently."""
    found: list[int] = []

    def collect(value: object) -> None:
        if isinstance(value, list):
            for one in value:
                collect(one)
        for field in getattr(type(value), "FIELDS", ()):
            inner = getattr(value, field)
            if field == "error_code":
                found.append(int(inner))
            elif isinstance(inner, list) or hasattr(type(inner), "FIELDS"):
                collect(inner)

    collect(response)
    return sorted(found)
