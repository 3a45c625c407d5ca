"""The table of APIs: versions as Kafka 4.3 has them, headers, and modules that load when needed."""

import subprocess
import sys

import pytest

from gralha.protocol.apis import APIS, ApiKey, request_header_version, response_header_version
from gralha.protocol.primitives import ProtocolError

# What Apache Kafka 4.3.0 calls its stable versions: key, first, last, first flexible.
KAFKA_4_3 = {
    "Produce": (0, 3, 13, 9),
    "Fetch": (1, 4, 18, 12),
    "ListOffsets": (2, 1, 11, 6),
    "Metadata": (3, 0, 13, 9),
    "OffsetCommit": (8, 2, 10, 8),
    "OffsetFetch": (9, 1, 10, 6),
    "FindCoordinator": (10, 0, 6, 3),
    "JoinGroup": (11, 0, 9, 6),
    "Heartbeat": (12, 0, 4, 4),
    "LeaveGroup": (13, 0, 5, 4),
    "SyncGroup": (14, 0, 5, 4),
    "DescribeGroups": (15, 0, 6, 5),
    "ListGroups": (16, 0, 5, 3),
    "SaslHandshake": (17, 0, 1, 2),
    "ApiVersions": (18, 0, 4, 3),
    "CreateTopics": (19, 2, 7, 5),
    "DeleteTopics": (20, 1, 6, 4),
    "DeleteRecords": (21, 0, 2, 2),
    "InitProducerId": (22, 0, 5, 2),
    "OffsetForLeaderEpoch": (23, 2, 4, 4),
    "AddPartitionsToTxn": (24, 0, 5, 3),
    "AddOffsetsToTxn": (25, 0, 4, 3),
    "EndTxn": (26, 0, 5, 3),
    "WriteTxnMarkers": (27, 1, 2, 1),
    "TxnOffsetCommit": (28, 0, 5, 3),
    "DescribeAcls": (29, 1, 3, 2),
    "CreateAcls": (30, 1, 3, 2),
    "DeleteAcls": (31, 1, 3, 2),
    "DescribeConfigs": (32, 1, 4, 4),
    "AlterConfigs": (33, 0, 2, 2),
    "AlterReplicaLogDirs": (34, 1, 2, 2),
    "DescribeLogDirs": (35, 1, 5, 2),
    "SaslAuthenticate": (36, 0, 2, 2),
    "CreatePartitions": (37, 0, 3, 2),
    "CreateDelegationToken": (38, 1, 3, 2),
    "RenewDelegationToken": (39, 1, 2, 2),
    "ExpireDelegationToken": (40, 1, 2, 2),
    "DescribeDelegationToken": (41, 1, 3, 2),
    "DeleteGroups": (42, 0, 2, 2),
    "ElectLeaders": (43, 0, 2, 2),
    "IncrementalAlterConfigs": (44, 0, 1, 1),
    "AlterPartitionReassignments": (45, 0, 1, 0),
    "ListPartitionReassignments": (46, 0, 0, 0),
    "OffsetDelete": (47, 0, 0, 1),
    "DescribeClientQuotas": (48, 0, 1, 1),
    "AlterClientQuotas": (49, 0, 1, 1),
    "DescribeUserScramCredentials": (50, 0, 0, 0),
    "AlterUserScramCredentials": (51, 0, 0, 0),
    "Vote": (52, 0, 2, 0),
    "BeginQuorumEpoch": (53, 0, 1, 1),
    "EndQuorumEpoch": (54, 0, 1, 1),
    "DescribeQuorum": (55, 0, 2, 0),
    "AlterPartition": (56, 2, 3, 2),
    "UpdateFeatures": (57, 0, 2, 0),
    "Envelope": (58, 0, 0, 0),
    "FetchSnapshot": (59, 0, 1, 0),
    "DescribeCluster": (60, 0, 2, 0),
    "DescribeProducers": (61, 0, 0, 0),
    "BrokerRegistration": (62, 0, 4, 0),
    "BrokerHeartbeat": (63, 0, 2, 0),
    "UnregisterBroker": (64, 0, 0, 0),
    "DescribeTransactions": (65, 0, 0, 0),
    "ListTransactions": (66, 0, 2, 0),
    "AllocateProducerIds": (67, 0, 0, 0),
    "ConsumerGroupHeartbeat": (68, 0, 1, 0),
    "ConsumerGroupDescribe": (69, 0, 1, 0),
    "ControllerRegistration": (70, 0, 0, 0),
    "AssignReplicasToDirs": (73, 0, 0, 0),
    "ListConfigResources": (74, 0, 1, 0),
    "DescribeTopicPartitions": (75, 0, 0, 0),
    "AddRaftVoter": (80, 0, 1, 0),
    "RemoveRaftVoter": (81, 0, 0, 0),
    "UpdateRaftVoter": (82, 0, 0, 0),
}
# Those that listeners of controllers serve, alone or besides brokers.
CONTROLLER_ONLY = {
    "Vote",
    "BeginQuorumEpoch",
    "EndQuorumEpoch",
    "AlterPartition",
    "Envelope",
    "FetchSnapshot",
    "BrokerRegistration",
    "BrokerHeartbeat",
    "AllocateProducerIds",
    "ControllerRegistration",
    "AssignReplicasToDirs",
    "UpdateRaftVoter",
}
BROKER_AND_CONTROLLER = {
    "Fetch",
    "SaslHandshake",
    "ApiVersions",
    "SaslAuthenticate",
    "CreateTopics",
    "DeleteTopics",
    "DescribeAcls",
    "CreateAcls",
    "DeleteAcls",
    "DescribeConfigs",
    "AlterConfigs",
    "CreatePartitions",
    "CreateDelegationToken",
    "RenewDelegationToken",
    "ExpireDelegationToken",
    "DescribeDelegationToken",
    "AlterClientQuotas",
    "DescribeUserScramCredentials",
    "AlterUserScramCredentials",
    "ElectLeaders",
    "IncrementalAlterConfigs",
    "AlterPartitionReassignments",
    "ListPartitionReassignments",
    "DescribeQuorum",
    "UpdateFeatures",
    "DescribeCluster",
    "UnregisterBroker",
    "AddRaftVoter",
    "RemoveRaftVoter",
}


def test_the_versions_are_those_of_kafka_4_3() -> None:
    found = {
        api.name: (int(api.key), api.min_version, api.max_version, api.flexible_from) for api in APIS.values()
    }
    # Version 6 is not final in Kafka 4.3 (KIP-939).
    assert found.pop("InitProducerId") == (22, 0, 6, 2)
    assert found == {name: row for name, row in KAFKA_4_3.items() if name != "InitProducerId"}


def test_the_listeners_are_those_of_kafka_4_3() -> None:
    for api in APIS.values():
        expected: tuple[str, ...] = ("broker",)
        if api.name in CONTROLLER_ONLY:
            expected = ("controller",)
        elif api.name in BROKER_AND_CONTROLLER:
            expected = ("broker", "controller")
        assert api.listeners == expected, api
    assert set(KAFKA_4_3) > CONTROLLER_ONLY | BROKER_AND_CONTROLLER


def test_requests_and_responses_have_the_versions_of_their_api() -> None:
    for key, api in APIS.items():
        assert api.request.__name__ == f"{api.name}Request"
        assert api.response.__name__ == f"{api.name}Response"
        for cls in (api.request, api.response):
            assert key == cls.API_KEY
            assert (api.min_version, api.max_version) == (cls.MIN_VERSION, cls.MAX_VERSION)
            assert api.flexible_from == cls.FLEXIBLE_FROM


def test_every_api_has_a_name() -> None:
    assert [int(key) for key in ApiKey] == list(range(93))
    assert ApiKey(75).name == "DESCRIBE_TOPIC_PARTITIONS"
    assert {ApiKey(key).name.replace("_", "") for key in APIS} == {api.name.upper() for api in APIS.values()}


@pytest.mark.parametrize(
    ("key", "version", "request_header", "response_header"),
    [
        (ApiKey.PRODUCE, 8, 1, 0),
        (ApiKey.PRODUCE, 9, 2, 1),
        (ApiKey.DESCRIBE_CLUSTER, 0, 2, 1),
        (ApiKey.API_VERSIONS, 2, 1, 0),
        (ApiKey.API_VERSIONS, 3, 2, 0),
        (ApiKey.API_VERSIONS, 99, 2, 0),
    ],
)
def test_headers_follow_from_api_and_version(
    key: int, version: int, request_header: int, response_header: int
) -> None:
    assert request_header_version(key, version) == request_header
    assert response_header_version(key, version) == response_header


def test_an_unknown_api_has_no_header() -> None:
    for key in (-1, 4, 999):
        with pytest.raises(ProtocolError):
            request_header_version(key, 0)
        with pytest.raises(ProtocolError):
            response_header_version(key, 0)


def test_modules_of_messages_load_when_needed() -> None:
    program = (
        "import sys\n"
        "from gralha.protocol.apis import APIS\n"
        "APIS[3].request\n"
        "print(*sorted(name.rsplit('.')[-1] for name in sys.modules if '.messages.' in name))"
    )
    command = [sys.executable, "-c", program]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    assert result.stdout.split() == ["metadata"]
