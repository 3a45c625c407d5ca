"""All error codes of a response are found, wherever they are."""

import pytest

from gralha.protocol.apis import APIS
from gralha.protocol.error_codes import error_codes
from gralha.protocol.messages.delete_groups import DeletableGroupResult, DeleteGroupsResponse
from gralha.protocol.messages.describe_quorum import (
    DescribeQuorumResponse,
    DescribeQuorumResponsePartition,
    DescribeQuorumResponseTopic,
)
from gralha.protocol.messages.find_coordinator import Coordinator, FindCoordinatorResponse
from gralha.protocol.messages.heartbeat import HeartbeatResponse
from gralha.protocol.messages.metadata import (
    MetadataResponse,
    MetadataResponsePartition,
    MetadataResponseTopic,
)


def test_the_code_of_the_response_itself():
    assert error_codes(HeartbeatResponse(error_code=25)) == [25]


def test_codes_in_lists_and_lists_in_lists():
    partitions = [MetadataResponsePartition(error_code=code) for code in (5, 0)]
    topics = [MetadataResponseTopic(error_code=3), MetadataResponseTopic(partitions=partitions)]
    assert sorted(error_codes(MetadataResponse(topics=topics))) == [0, 0, 0, 3, 5]
    partition = DescribeQuorumResponsePartition(0, 6)
    response = DescribeQuorumResponse(topics=[DescribeQuorumResponseTopic("a", [partition])], error_code=41)
    assert sorted(error_codes(response)) == [6, 41]


def test_codes_of_groups_and_coordinators():
    results = [DeletableGroupResult("a", 68), DeletableGroupResult("b", 0)]
    assert error_codes(DeleteGroupsResponse(results=results)) == [68, 0]
    assert 15 in error_codes(FindCoordinatorResponse(coordinators=[Coordinator(key="a", error_code=15)]))


@pytest.mark.parametrize("api", APIS.values(), ids=lambda api: api.name)
def test_every_response_can_be_searched(api):
    assert set(error_codes(api.response())) <= {0}
