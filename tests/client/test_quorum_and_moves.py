"""Admin calls about the quorum, features and moves: their receivers and their answers."""

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from gralha.client.admin import Admin
from gralha.client.cluster import Cluster
from gralha.client.quorum_values import FeatureRange, FeaturesDescription, QuorumReplica, UpgradeType
from gralha.client.reassignment_calls import ElectionType, Reassignment
from gralha.client.values import ClusterNode, TopicPartition
from gralha.protocol.apis import ApiKey
from gralha.protocol.errors import ErrorCode, KafkaError
from gralha.protocol.message import Message
from gralha.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartitionResponse,
    ReassignableTopicResponse,
)
from gralha.protocol.messages.api_versions import (
    ApiVersionsResponse,
    FinalizedFeatureKey,
    SupportedFeatureKey,
)
from gralha.protocol.messages.describe_cluster import (
    DescribeClusterBroker,
    DescribeClusterRequest,
    DescribeClusterResponse,
)
from gralha.protocol.messages.describe_quorum import (
    DescribeQuorumResponse,
    DescribeQuorumResponsePartition,
    DescribeQuorumResponseTopic,
    ReplicaState,
)
from gralha.protocol.messages.elect_leaders import (
    ElectLeadersRequest,
    ElectLeadersResponse,
    PartitionResult,
    ReplicaElectionResult,
)
from gralha.protocol.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
    OngoingPartitionReassignment,
    OngoingTopicReassignment,
)
from gralha.protocol.messages.unregister_broker import UnregisterBrokerResponse
from gralha.protocol.messages.update_features import (
    UpdatableFeatureResult,
    UpdateFeaturesRequest,
    UpdateFeaturesResponse,
)
from tests.client.fake_broker import FakeBroker, Handler, api_keys, one_broker

FIRST, SECOND = TopicPartition("t", 0), TopicPartition("t", 1)


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def test_through_controllers_requests_go_to_the_active_one(stack: ExitStack) -> None:
    first = stack.enter_context(FakeBroker())
    second = stack.enter_context(FakeBroker())

    def describe(request: Message, version: int) -> Message:
        assert isinstance(request, DescribeClusterRequest)
        if request.endpoint_type != 2:
            return DescribeClusterResponse(error_code=ErrorCode.MISMATCHED_ENDPOINT_TYPE)
        nodes = [
            DescribeClusterBroker(broker_id=node_id, host="127.0.0.1", port=node.port)
            for node_id, node in ((2, second), (1, first))
        ]
        return DescribeClusterResponse(
            cluster_id="c", controller_id=active[0], endpoint_type=2, brokers=nodes
        )

    active = [2]
    for controller in (first, second):
        controller.handlers[ApiKey.DESCRIBE_CLUSTER] = describe
    first.handlers[ApiKey.UNREGISTER_BROKER] = lambda request, version: UnregisterBrokerResponse()

    def no_longer(request: Message, version: int) -> Message:
        active[0] = 1
        return UnregisterBrokerResponse(error_code=ErrorCode.NOT_CONTROLLER)

    second.handlers[ApiKey.UNREGISTER_BROKER] = no_longer
    cluster = Cluster(first.address, through_controllers=True, sleep=lambda seconds: None)
    admin = stack.enter_context(Admin(cluster))
    assert admin.describe_cluster().nodes == [
        ClusterNode(1, "127.0.0.1", first.port),
        ClusterNode(2, "127.0.0.1", second.port),
    ]
    assert not any(key == ApiKey.METADATA for key, _ in first.requests + second.requests)
    admin.unregister_broker(7)
    assert [key for key, _ in second.requests].count(ApiKey.UNREGISTER_BROKER) == 1
    assert [key for key, _ in first.requests].count(ApiKey.UNREGISTER_BROKER) == 1


def test_a_broker_is_no_controller(stack: ExitStack) -> None:
    refusal = DescribeClusterResponse(
        error_code=ErrorCode.MISMATCHED_ENDPOINT_TYPE, error_message="This is a broker."
    )
    broker = stack.enter_context(FakeBroker({ApiKey.DESCRIBE_CLUSTER: lambda request, version: refusal}))
    admin = stack.enter_context(Admin(Cluster(broker.address, through_controllers=True)))
    with pytest.raises(KafkaError, match="This is a broker"):
        admin.describe_quorum()


def test_fenced_brokers_are_listed_where_the_cluster_can(stack: ExitStack) -> None:
    nodes = [DescribeClusterBroker(broker_id=3, host="h", port=1, is_fenced=True)]
    handlers: dict[int, Handler] = {
        ApiKey.DESCRIBE_CLUSTER: lambda request, version: DescribeClusterResponse(
            cluster_id="c", brokers=nodes
        )
    }
    _, admin = one_broker(stack, handlers)
    assert admin.describe_cluster(include_fenced=True).nodes == [ClusterNode(3, "h", 1, is_fenced=True)]
    _, older = one_broker(stack, handlers, {ApiKey.DESCRIBE_CLUSTER: (0, 1), ApiKey.METADATA: (0, 12)})
    with pytest.raises(KafkaError, match="does not list fenced brokers"):
        older.describe_cluster(include_fenced=True)


def test_the_quorum(stack: ExitStack) -> None:
    partition = DescribeQuorumResponsePartition(
        leader_id=1, leader_epoch=4, high_watermark=9, current_voters=[ReplicaState(1, bytes(16), 10, 5, 6)]
    )
    _, admin = one_broker(
        stack,
        {
            ApiKey.DESCRIBE_QUORUM: lambda request, version: DescribeQuorumResponse(
                topics=[DescribeQuorumResponseTopic("__cluster_metadata", [partition])]
            )
        },
    )
    quorum = admin.describe_quorum()
    assert (quorum.leader_id, quorum.leader_epoch, quorum.high_watermark) == (1, 4, 9)
    assert quorum.voters == [QuorumReplica(1, bytes(16), 10, 5, 6)]
    partition.current_voters[0].last_fetch_timestamp = -1
    assert admin.describe_quorum().voters[0].last_fetch_ms is None
    partition.error_code = ErrorCode.INVALID_REQUEST
    with pytest.raises(KafkaError):
        admin.describe_quorum()


def test_features_are_read_from_the_versions(stack: ExitStack) -> None:
    broker, admin = one_broker(stack, {})
    broker.handlers[ApiKey.API_VERSIONS] = lambda request, version: ApiVersionsResponse(
        api_keys=api_keys(broker.versions),
        supported_features=[SupportedFeatureKey("f", 0, 2)],
        finalized_features_epoch=8,
        finalized_features=[FinalizedFeatureKey("f", 1, 1)],
    )
    expected = FeaturesDescription({"f": FeatureRange(0, 2)}, {"f": 1}, 8)
    assert admin.describe_features() == admin.describe_features(1) == expected


def test_features_are_set_all_or_one_by_one(stack: ExitStack) -> None:
    requests: list[UpdateFeaturesRequest] = []

    def answer(request: Message, version: int) -> Message:
        assert isinstance(request, UpdateFeaturesRequest)
        requests.append(request)
        # Only older brokers answer for each feature.
        return UpdateFeaturesResponse(
            results=[
                UpdatableFeatureResult("a", ErrorCode.NONE, None),
                UpdatableFeatureResult("b", ErrorCode.INVALID_UPDATE_VERSION, "no"),
            ]
        )

    _, admin = one_broker(stack, {ApiKey.UPDATE_FEATURES: answer})
    levels = {"a": 1, "b": 0}
    assert admin.update_features(levels, UpgradeType.SAFE_DOWNGRADE) == {"a": None, "b": None}
    assert [update.upgrade_type for update in requests[0].feature_updates] == [2, 2]
    versions: dict[int, tuple[int, int]] = {ApiKey.METADATA: (0, 12), ApiKey.UPDATE_FEATURES: (0, 1)}
    _, older = one_broker(stack, {ApiKey.UPDATE_FEATURES: answer}, versions)
    results = older.update_features(levels, UpgradeType.UNSAFE_DOWNGRADE, validate_only=True)
    assert results["a"] is None
    assert isinstance(results["b"], KafkaError)
    assert (results["b"].code, str(results["b"])) == (ErrorCode.INVALID_UPDATE_VERSION, "no")
    assert requests[1].validate_only


def test_moves_between_brokers(stack: ExitStack) -> None:
    def listing(request: Message, version: int) -> Message:
        assert isinstance(request, ListPartitionReassignmentsRequest)
        asked.append(None if request.topics is None else [topic.name for topic in request.topics])
        moving = OngoingPartitionReassignment(1, [1, 2, 3], [3], [1])
        return ListPartitionReassignmentsResponse(topics=[OngoingTopicReassignment("t", [moving])])

    def altering(request: Message, version: int) -> Message:
        assert isinstance(request, AlterPartitionReassignmentsRequest)
        orders.extend(
            (partition.partition_index, partition.replicas)
            for topic in request.topics
            for partition in topic.partitions
        )
        answers = [
            ReassignablePartitionResponse(0, ErrorCode.NONE, None),
            ReassignablePartitionResponse(1, ErrorCode.NO_REASSIGNMENT_IN_PROGRESS, "not moving"),
        ]
        return AlterPartitionReassignmentsResponse(responses=[ReassignableTopicResponse("t", answers)])

    asked: list[list[str] | None] = []
    orders: list[tuple[int, list[int] | None]] = []
    _, admin = one_broker(
        stack,
        {
            ApiKey.LIST_PARTITION_REASSIGNMENTS: listing,
            ApiKey.ALTER_PARTITION_REASSIGNMENTS: altering,
        },
    )
    expected = {SECOND: Reassignment([1, 2, 3], [3], [1])}
    assert admin.list_reassignments() == admin.list_reassignments([FIRST, SECOND]) == expected
    assert asked == [None, ["t"]]
    results = admin.alter_reassignments({FIRST: [2, 3], SECOND: None})
    assert orders == [(0, [2, 3]), (1, None)]
    assert results[FIRST] is None
    assert str(results[SECOND]) == "not moving"


def test_elections(stack: ExitStack) -> None:
    def elect(request: Message, version: int) -> Message:
        assert isinstance(request, ElectLeadersRequest)
        assert request.election_type == ElectionType.UNCLEAN
        if request.topic_partitions is None:
            return ElectLeadersResponse(error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
        (topic,) = request.topic_partitions
        results = [PartitionResult(number, ErrorCode.NONE, None) for number in topic.partitions]
        return ElectLeadersResponse(replica_election_results=[ReplicaElectionResult(topic.topic, results)])

    _, admin = one_broker(stack, {ApiKey.ELECT_LEADERS: elect})
    assert admin.elect_leaders(ElectionType.UNCLEAN, [FIRST, SECOND]) == {FIRST: None, SECOND: None}
    with pytest.raises(KafkaError) as raised:
        admin.elect_leaders(ElectionType.UNCLEAN, None)
    assert raised.value.code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
