"""The old versions of requests and responses about offsets.

Inside this room an OffsetFetch is about one group at a time. A request of version 8 or later has a list of
groups; an older one names its only group in another field. In version 1 an error can stand in a partition
only.
"""

from collections.abc import Iterable
from typing import Final

from gralha.protocol.errors import ErrorCode
from gralha.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from gralha.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopic,
    OffsetFetchResponseTopics,
)
from gralha.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)

_TRANSACTIONAL_COMMIT_KNOWS_LOADING: Final = 2
_FETCH_HAS_GROUPS: Final = 8
_FETCH_HAS_GROUP_ERROR: Final = 2


def commit_error(request: OffsetCommitRequest, code: int) -> OffsetCommitResponse:
    """The response for a request that failed. OffsetCommit has errors of partitions only."""
    return OffsetCommitResponse(
        topics=[
            OffsetCommitResponseTopic(
                name=topic.name,
                topic_id=topic.topic_id,
                partitions=[
                    OffsetCommitResponsePartition(partition.partition_index, code)
                    for partition in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


def transactional_commit_error(
    request: TxnOffsetCommitRequest, code: int, version: int
) -> TxnOffsetCommitResponse:
    """The response for a request that failed. TxnOffsetCommit has errors of partitions only."""
    if code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS and version < _TRANSACTIONAL_COMMIT_KNOWS_LOADING:
        # Old producers fail if a coordinator is loading (KAFKA-7296).
        code = ErrorCode.COORDINATOR_NOT_AVAILABLE
    return TxnOffsetCommitResponse(
        topics=[
            TxnOffsetCommitResponseTopic(
                name=topic.name,
                partitions=[
                    TxnOffsetCommitResponsePartition(partition.partition_index, code)
                    for partition in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


def fetch_groups(request: OffsetFetchRequest, version: int) -> list[OffsetFetchRequestGroup]:
    """The groups of a request."""
    if version >= _FETCH_HAS_GROUPS:
        return request.groups
    topics = None
    if request.topics is not None:
        topics = [
            OffsetFetchRequestTopics(name=topic.name, partition_indexes=topic.partition_indexes)
            for topic in request.topics
        ]
    return [OffsetFetchRequestGroup(group_id=request.group_id, topics=topics)]


def fetch_response(groups: Iterable[OffsetFetchResponseGroup], version: int) -> OffsetFetchResponse:
    """The response for all groups, in the order of the request."""
    groups = list(groups)
    if version >= _FETCH_HAS_GROUPS:
        return OffsetFetchResponse(groups=groups)
    (group,) = groups
    return OffsetFetchResponse(
        error_code=group.error_code,
        topics=[
            OffsetFetchResponseTopic(
                name=topic.name, partitions=[_flat(partition) for partition in topic.partitions]
            )
            for topic in group.topics
        ],
    )


def fetch_error(group: OffsetFetchRequestGroup, code: int, version: int) -> OffsetFetchResponseGroup:
    """The response for a group that has failed."""
    if version >= _FETCH_HAS_GROUP_ERROR:
        return OffsetFetchResponseGroup(group_id=group.group_id, error_code=code)
    return OffsetFetchResponseGroup(
        group_id=group.group_id,
        topics=[
            OffsetFetchResponseTopics(
                name=topic.name,
                partitions=[
                    OffsetFetchResponsePartitions(partition, -1, -1, "", code)
                    for partition in topic.partition_indexes
                ],
            )
            for topic in group.topics or []
        ],
    )


def _flat(partition: OffsetFetchResponsePartitions) -> OffsetFetchResponsePartition:
    return OffsetFetchResponsePartition(
        partition.partition_index,
        partition.committed_offset,
        partition.committed_leader_epoch,
        partition.metadata,
        partition.error_code,
    )
