"""OffsetCommit and TxnOffsetCommit: who may commit which offsets, and the records that say so.

A request is checked for topics that do not exist before its group is checked. An error of the group is the
answer for all partitions that exist. Offsets are stored by topic name, together with the topic id, which
tells a topic from a deleted topic of the same name. (Kafka stores no topic id for TxnOffsetCommit.)

Offsets of a transaction are records with its producer. They wait until the transaction ends
(`transactional_offsets.py`).
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Final, NamedTuple, TypeVar

from gralha.coordination.decision import Decision
from gralha.coordination.producer import Producer
from gralha.groups.caller import Caller
from gralha.groups.config import GroupsConfig
from gralha.groups.group import Group, GroupType
from gralha.groups.records import GroupDecision, GroupRecord
from gralha.groups.topics import Topic, Topics
from gralha.protocol.batches import NO_TIMESTAMP
from gralha.protocol.errors import (
    ErrorCode,
    GroupIdNotFoundError,
    IllegalGenerationError,
    InvalidGroupIdError,
    KafkaError,
)
from gralha.protocol.messages.group_records import OffsetCommitKey, OffsetCommitValue
from gralha.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from gralha.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)

_BY_TOPIC_ID: Final = 10
_BY_MEMBER_EPOCH: Final = 9
_LATEST_MS: Final = (1 << 63) - 1

Requested = OffsetCommitRequestPartition | TxnOffsetCommitRequestPartition
Answer = TypeVar("Answer", OffsetCommitResponsePartition, TxnOffsetCommitResponsePartition)
# Raises if a member may not commit to a partition: topic name, topic id, partition.
PartitionCheck = Callable[[str, bytes, int], None]


class _Commit(NamedTuple):
    """One partition of a request, in a topic that exists, and the response for it."""

    topic: Topic
    partition: Requested
    answer: OffsetCommitResponsePartition | TxnOffsetCommitResponsePartition


class OffsetCommits:
    def __init__(
        self,
        groups: Mapping[str, Group],
        config: GroupsConfig,
        topics: Topics,
        touch: Callable[[Group, str, int], None],
    ) -> None:
        """`touch` is called when a member of a classic group commits: a commit counts as a heartbeat."""
        self._groups = groups
        self._config = config
        self._topics = topics
        self._touch = touch

    # OffsetCommit

    def commit(self, caller: Caller, request: OffsetCommitRequest, now_ms: int) -> GroupDecision:
        """Commit offsets."""
        response = OffsetCommitResponse()
        commits: list[_Commit] = []
        for requested in request.topics:
            topic, unknown = self._find_topic(requested, caller.api_version)
            answer = OffsetCommitResponseTopic(name=requested.name, topic_id=requested.topic_id)
            answer.partitions = _sorted_out(
                requested.partitions, topic, unknown, OffsetCommitResponsePartition, commits
            )
            response.topics.append(answer)
        expire_timestamp_ms = _expire_timestamp_ms(request.retention_time_ms, now_ms)

        def check() -> PartitionCheck | None:
            return self._check(caller, request, now_ms)

        return Decision(
            response, self._records(request.group_id, commits, check, now_ms, expire_timestamp_ms)
        )

    def _find_topic(
        self, requested: OffsetCommitRequestTopic, api_version: int
    ) -> tuple[Topic | None, ErrorCode]:
        """The topic if it exists, and the error if it does not."""
        if api_version >= _BY_TOPIC_ID:
            return self._topics.by_id(requested.topic_id), ErrorCode.UNKNOWN_TOPIC_ID
        return self._topics.by_name(requested.name), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION

    def _check(self, caller: Caller, request: OffsetCommitRequest, now_ms: int) -> PartitionCheck | None:
        group = self._groups.get(request.group_id)
        if group is None:
            if request.generation_id_or_member_epoch < 0:
                # A consumer that assigns partitions to itself. The replay of its first offset creates the
                # group. In Kafka a commit without offsets creates it as well, until the next reload.
                return None
            if caller.api_version >= _BY_MEMBER_EPOCH:
                raise GroupIdNotFoundError(f"Group {request.group_id} not found.")
            raise IllegalGenerationError
        check = group.check_offset_commit(
            request.member_id,
            request.group_instance_id,
            request.generation_id_or_member_epoch,
            False,
            caller.api_version,
        )
        if group.type is GroupType.CLASSIC and not group.is_empty:
            self._touch(group, request.member_id, now_ms)
        return check

    # TxnOffsetCommit

    def commit_in_transaction(
        self, caller: Caller, request: TxnOffsetCommitRequest, now_ms: int
    ) -> GroupDecision:
        """Commit offsets that count if the producer's transaction commits. This is no heartbeat."""
        response = TxnOffsetCommitResponse()
        commits: list[_Commit] = []
        for requested in request.topics:
            topic, unknown = self._topics.by_name(requested.name), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            answer = TxnOffsetCommitResponseTopic(name=requested.name)
            answer.partitions = _sorted_out(
                requested.partitions, topic, unknown, TxnOffsetCommitResponsePartition, commits
            )
            response.topics.append(answer)

        def check() -> PartitionCheck | None:
            return self._check_in_transaction(caller, request)

        records = self._records(request.group_id, commits, check, now_ms, NO_TIMESTAMP)
        for commit in commits:
            if commit.answer.error_code == ErrorCode.STALE_MEMBER_EPOCH:
                # Producers do not know the errors of consumer groups.
                commit.answer.error_code = ErrorCode.ILLEGAL_GENERATION
        producer = Producer(request.producer_id, request.producer_epoch)
        return Decision(response, records, producer=producer)

    def _check_in_transaction(self, caller: Caller, request: TxnOffsetCommitRequest) -> PartitionCheck | None:
        """KIP-447: the consumer's member id and generation fence a member that the group has given up."""
        if not request.group_id:
            raise InvalidGroupIdError
        group = self._groups.get(request.group_id)
        if group is None:
            if request.generation_id < 0:
                return None
            raise IllegalGenerationError
        return group.check_offset_commit(
            request.member_id, request.group_instance_id, request.generation_id, True, caller.api_version
        )

    # Both

    def _records(
        self,
        group_id: str,
        commits: list[_Commit],
        check: Callable[[], PartitionCheck | None],
        now_ms: int,
        expire_timestamp_ms: int,
    ) -> list[GroupRecord]:
        """The records of a request, none if the group refuses it. `check` asks the group."""
        if not commits:
            return []
        try:
            return self._checked_records(group_id, commits, check(), now_ms, expire_timestamp_ms)
        except KafkaError as error:
            for commit in commits:
                commit.answer.error_code = error.code
            return []

    def _checked_records(
        self,
        group_id: str,
        commits: list[_Commit],
        check_partition: PartitionCheck | None,
        now_ms: int,
        expire_timestamp_ms: int,
    ) -> list[GroupRecord]:
        records = []
        for topic, partition, answer in commits:
            metadata = partition.committed_metadata or ""
            if self._is_too_large(metadata):
                answer.error_code = ErrorCode.OFFSET_METADATA_TOO_LARGE
                continue
            if check_partition is not None:
                check_partition(topic.name, topic.id, partition.partition_index)
            key = OffsetCommitKey(group_id, topic.name, partition.partition_index)
            value = OffsetCommitValue(
                offset=partition.committed_offset,
                leader_epoch=partition.committed_leader_epoch,
                metadata=metadata,
                commit_timestamp=now_ms,
                expire_timestamp=expire_timestamp_ms,
                topic_id=topic.id,
            )
            records.append(GroupRecord(key, value))
        return records

    def _is_too_large(self, metadata: str) -> bool:
        # Kafka counts Java's characters, which have two bytes each.
        return len(metadata.encode("utf-16-le")) > 2 * self._config.offset_metadata_max_bytes


def _sorted_out(
    partitions: Iterable[Requested],
    topic: Topic | None,
    unknown: ErrorCode,
    new_answer: Callable[[int], Answer],
    commits: list[_Commit],
) -> list[Answer]:
    """Answer for partitions that do not exist, and add the others to `commits`."""
    answers: list[Answer] = []
    for partition in partitions:
        answer = new_answer(partition.partition_index)
        answers.append(answer)
        if topic is None:
            answer.error_code = unknown
        elif not 0 <= partition.partition_index < topic.partition_count:
            answer.error_code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        else:
            commits.append(_Commit(topic, partition, answer))
    return answers


def _expire_timestamp_ms(retention_time_ms: int, now_ms: int) -> int:
    """Versions 2 to 4 of OffsetCommit may have a retention time. KIP-211 removed it."""
    if retention_time_ms == NO_TIMESTAMP:
        return NO_TIMESTAMP
    return min(now_ms + retention_time_ms, _LATEST_MS)
