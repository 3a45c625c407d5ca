"""The shapes of messages about offsets, each through its bytes in its own version."""

import pytest
from tests.groups.offset_room import commit_request, fetch_request

from gralha.groups.offset_messages import commit_error, fetch_error, fetch_groups, fetch_response
from gralha.protocol.errors import ErrorCode
from gralha.protocol.messages.offset_commit import OffsetCommitResponse
from gralha.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopic,
    OffsetFetchResponseTopics,
)
from gralha.protocol.primitives import Reader, Writer


def sent(response: OffsetFetchResponse, version: int) -> OffsetFetchResponse:
    writer = Writer()
    response.encode(writer, version)
    return OffsetFetchResponse.decode(Reader(writer.to_bytes()), version)


def test_one_group_before_version_8() -> None:
    request = OffsetFetchRequest(group_id="g", topics=[OffsetFetchRequestTopic("a", [0, 1])])
    assert fetch_groups(request, 7) == [fetch_request("a", 0, 1)]
    everything = OffsetFetchRequest(group_id="g", topics=None)
    assert fetch_groups(everything, 7) == [OffsetFetchRequestGroup(group_id="g", topics=None)]


def test_several_groups_from_version_8_on() -> None:
    groups = [fetch_request("a", 0), fetch_request("b", 1, group_id="h")]
    assert fetch_groups(OffsetFetchRequest(groups=groups), 8) == groups


def response_group() -> OffsetFetchResponseGroup:
    partitions = [OffsetFetchResponsePartitions(0, 10, 3, "m"), OffsetFetchResponsePartitions(1, -1, -1, "")]
    return OffsetFetchResponseGroup("g", [OffsetFetchResponseTopics(name="a", partitions=partitions)])


@pytest.mark.parametrize("version", range(1, 8))
def test_answer_for_one_group(version: int) -> None:
    epoch = 3 if version >= 5 else -1
    partitions = [
        OffsetFetchResponsePartition(0, 10, epoch, "m"),
        OffsetFetchResponsePartition(1, -1, -1, ""),
    ]
    expected = OffsetFetchResponse(topics=[OffsetFetchResponseTopic("a", partitions)])
    assert sent(fetch_response([response_group()], version), version) == expected


@pytest.mark.parametrize("version", [8, 9])
def test_answer_for_several_groups(version: int) -> None:
    groups = [response_group(), OffsetFetchResponseGroup("h")]
    assert sent(fetch_response(groups, version), version) == OffsetFetchResponse(groups=groups)


def test_error_is_said_of_each_partition_in_version_1() -> None:
    answer = sent(fetch_response([fetch_error(fetch_request("a", 0, 1), 16, 1)], 1), 1)
    partitions = [OffsetFetchResponsePartition(index, -1, -1, "", 16) for index in (0, 1)]
    assert answer == OffsetFetchResponse(topics=[OffsetFetchResponseTopic("a", partitions)])


@pytest.mark.parametrize("version", range(2, 8))
def test_error_of_the_only_group(version: int) -> None:
    answer = sent(fetch_response([fetch_error(fetch_request("a", 0), 16, version)], version), version)
    assert answer == OffsetFetchResponse(error_code=16)


@pytest.mark.parametrize("version", range(8, 11))
def test_error_of_one_of_several_groups(version: int) -> None:
    groups = [fetch_error(fetch_request("a", 0), 16, version), OffsetFetchResponseGroup("h")]
    answer = sent(fetch_response(groups, version), version)
    assert [(group.group_id, group.error_code) for group in answer.groups] == [("g", 16), ("h", 0)]


@pytest.mark.parametrize("version", range(2, 11))
def test_error_of_a_commit(version: int) -> None:
    topic_id = b"i" * 16 if version >= 10 else bytes(16)
    request = commit_request("a" if version < 10 else "", {0: 1, 2: 1}, topic_id=topic_id)
    writer = Writer()
    commit_error(request, ErrorCode.NOT_COORDINATOR).encode(writer, version)
    (topic,) = OffsetCommitResponse.decode(Reader(writer.to_bytes()), version).topics
    assert (topic.name, topic.topic_id) == (request.topics[0].name, topic_id)
    assert [(part.partition_index, part.error_code) for part in topic.partitions] == [(0, 16), (2, 16)]
