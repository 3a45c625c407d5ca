"""The offsets that groups have committed.

Commits, deletions and the expiry of offsets decide on records; only a replay changes the offsets. So an
offset is what the last record in the log says, and it never goes back unless its group commits an older one.

A request is checked for topics that do not exist before its group is checked. Offsets are stored by topic
name, together with the topic id, which tells a topic from a deleted topic of the same name. All offsets are
stable: there are no commits in transactions yet.
"""

from collections.abc import Callable, Iterable, Mapping
from sys import intern
from typing import Final, NamedTuple

from gralha.coordination.decision import Decision
from gralha.groups.caller import Caller
from gralha.groups.config import GroupsConfig
from gralha.groups.group import Group, GroupType
from gralha.groups.records import GroupDecision, GroupRecord
from gralha.groups.topics import Topic, Topics
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
from gralha.protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestTopic,
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)
from gralha.protocol.messages.offset_fetch import (
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopics,
)
from gralha.protocol.primitives import ZERO_UUID

NO_TIMESTAMP: Final = -1
_COMMIT_BY_TOPIC_ID: Final = 10
_FETCH_BY_TOPIC_ID: Final = 10
_COMMIT_BY_MEMBER_EPOCH: Final = 9
_LATEST_MS: Final = (1 << 63) - 1


class CommittedOffset(NamedTuple):
    """The offset of a group in a partition. There may be millions of these."""

    offset: int
    leader_epoch: int
    metadata: str
    commit_timestamp_ms: int
    expire_timestamp_ms: int  # old clients set it; NO_TIMESTAMP: the setting counts
    topic_id: bytes  # ZERO_UUID if it is not known


class _Commit(NamedTuple):
    """One partition of a request, in a topic that exists, and the response for it."""

    topic: Topic
    partition: OffsetCommitRequestPartition
    answer: OffsetCommitResponsePartition


class Offsets:
    def __init__(
        self,
        groups: dict[str, Group],
        config: GroupsConfig,
        topics: Topics,
        new_simple_group: Callable[[str], Group],
        touch: Callable[[Group, str, int], None],
    ) -> None:
        """`groups` is shared with the protocols.

        `new_simple_group` creates the group of a consumer that commits without joining a group.
        `touch` is called for each member of a classic group that commits: a commit counts as a heartbeat.
        """
        self._groups = groups
        self._config = config
        self._topics = topics
        self._new_simple_group = new_simple_group
        self._touch = touch
        self._offsets: dict[str, dict[str, dict[int, CommittedOffset]]] = {}  # group, topic, partition
        self._topic_ids: dict[bytes, bytes] = {}  # one object for each id saves memory

    def committed(self, group_id: str, topic: str, partition: int) -> CommittedOffset | None:
        """The offset of a group in a partition."""
        return self._offsets.get(group_id, {}).get(topic, {}).get(partition)

    def all_of(self, group_id: str) -> Mapping[str, Mapping[int, CommittedOffset]]:
        """All offsets of a group, by topic and partition."""
        return self._offsets.get(group_id, {})

    # OffsetCommit

    def commit(self, caller: Caller, request: OffsetCommitRequest, now_ms: int) -> GroupDecision:
        """Commit offsets. An error of the group is the answer for all partitions that exist."""
        response = OffsetCommitResponse()
        commits: list[_Commit] = []
        for requested in request.topics:
            response.topics.append(self._look_up(requested, caller.api_version, commits))
        if not commits:
            return Decision(response)
        try:
            records = self._commit_records(caller, request, commits, now_ms)
        except KafkaError as error:
            for commit in commits:
                commit.answer.error_code = error.code
            return Decision(response)
        return Decision(response, records)

    def _look_up(
        self, requested: OffsetCommitRequestTopic, api_version: int, commits: list[_Commit]
    ) -> OffsetCommitResponseTopic:
        """Answer for partitions that do not exist, and add the others to `commits`."""
        response = OffsetCommitResponseTopic(name=requested.name, topic_id=requested.topic_id)
        if api_version >= _COMMIT_BY_TOPIC_ID:
            topic, unknown = self._topics.by_id(requested.topic_id), ErrorCode.UNKNOWN_TOPIC_ID
        else:
            topic, unknown = self._topics.by_name(requested.name), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        for partition in requested.partitions:
            answer = OffsetCommitResponsePartition(partition.partition_index)
            response.partitions.append(answer)
            if topic is None:
                answer.error_code = unknown
            elif not 0 <= partition.partition_index < topic.partition_count:
                answer.error_code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            else:
                commits.append(_Commit(topic, partition, answer))
        return response

    def _commit_records(
        self, caller: Caller, request: OffsetCommitRequest, commits: list[_Commit], now_ms: int
    ) -> list[GroupRecord]:
        check = self._check_commit(caller, request, now_ms)
        expire_timestamp_ms = _expire_timestamp_ms(request.retention_time_ms, now_ms)
        records = []
        for topic, partition, answer in commits:
            metadata = partition.committed_metadata or ""
            if self._is_too_large(metadata):
                answer.error_code = ErrorCode.OFFSET_METADATA_TOO_LARGE
                continue
            if check is not None:
                check(topic.name, topic.id, partition.partition_index)
            key = OffsetCommitKey(request.group_id, topic.name, partition.partition_index)
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

    def _check_commit(
        self, caller: Caller, request: OffsetCommitRequest, now_ms: int
    ) -> Callable[[str, bytes, int], None] | None:
        group = self._groups.get(request.group_id)
        if group is None:
            if request.generation_id_or_member_epoch < 0:
                # A consumer that assigns partitions to itself. The replay of its first offset creates the
                # group. In Kafka a commit without offsets creates it as well, until the next reload.
                return None
            if caller.api_version >= _COMMIT_BY_MEMBER_EPOCH:
                raise _not_found(request.group_id)
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

    def _is_too_large(self, metadata: str) -> bool:
        # Kafka counts Java's characters, which have two bytes each.
        return len(metadata.encode("utf-16-le")) > 2 * self._config.offset_metadata_max_bytes

    # OffsetFetch

    def fetch(self, caller: Caller, request: OffsetFetchRequestGroup) -> OffsetFetchResponseGroup:
        """The offsets of one group. An unknown group has none; that is no error."""
        group = self._groups.get(request.group_id)
        if group is not None:
            group.check_offset_fetch(request.member_id, request.member_epoch)
        by_id = caller.api_version >= _FETCH_BY_TOPIC_ID
        topics = self._offsets.get(request.group_id, {})
        response = OffsetFetchResponseGroup(group_id=request.group_id)
        if request.topics is None:
            response.topics = self._all_of(topics, by_id)
        else:
            response.topics = [self._requested(topics, requested, by_id) for requested in request.topics]
        return response

    def _all_of(
        self, topics: dict[str, dict[int, CommittedOffset]], by_id: bool
    ) -> list[OffsetFetchResponseTopics]:
        answers = []
        for name, partitions in topics.items():
            answer = OffsetFetchResponseTopics(name=name)
            if by_id:
                topic = self._topics.by_name(name)
                if topic is None:
                    continue  # a deleted topic has no id
                answer.topic_id = topic.id
            answer.partitions = [_fetched(partition, found) for partition, found in partitions.items()]
            answers.append(answer)
        return answers

    def _requested(
        self,
        topics: dict[str, dict[int, CommittedOffset]],
        requested: OffsetFetchRequestTopics,
        by_id: bool,
    ) -> OffsetFetchResponseTopics:
        answer = OffsetFetchResponseTopics(name=requested.name, topic_id=requested.topic_id)
        name, error_code = requested.name, 0
        if by_id:
            topic = self._topics.by_id(requested.topic_id)
            name, error_code = ("", int(ErrorCode.UNKNOWN_TOPIC_ID)) if topic is None else (topic.name, 0)
        partitions = topics.get(name, {})
        for partition in requested.partition_indexes:
            found = partitions.get(partition)
            if found is not None and by_id and found.topic_id not in (ZERO_UUID, requested.topic_id):
                found = None  # the offset is of a deleted topic with the same name
            answer.partitions.append(_fetched(partition, found, error_code))
        return answer

    # OffsetDelete

    def delete(self, request: OffsetDeleteRequest) -> GroupDecision:
        """Delete offsets of topics that no member subscribes to (KIP-496)."""
        if not request.group_id:
            raise InvalidGroupIdError
        group = self._groups.get(request.group_id)
        if group is None:
            raise _not_found(request.group_id)
        group.check_offset_delete()
        records: list[GroupRecord] = []
        response = OffsetDeleteResponse()
        for requested in request.topics:
            response.topics.append(self._delete_in_topic(group, requested, records))
        return Decision(response, records)

    def _delete_in_topic(
        self, group: Group, requested: OffsetDeleteRequestTopic, records: list[GroupRecord]
    ) -> OffsetDeleteResponseTopic:
        response = OffsetDeleteResponseTopic(name=requested.name)
        topic = self._topics.by_name(requested.name)
        partition_count = 0 if topic is None else topic.partition_count
        subscribed = group.is_subscribed_to(requested.name)
        for partition in requested.partitions:
            index = partition.partition_index
            answer = OffsetDeleteResponsePartition(index)
            response.partitions.append(answer)
            if not 0 <= index < partition_count:
                answer.error_code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            elif subscribed:
                answer.error_code = ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC
            elif self.committed(group.group_id, requested.name, index) is not None:
                records.append(_tombstone(group.group_id, requested.name, index))
        return response

    # Other deletions. Each record stands for itself, so they need not be one batch.

    def tombstones_of_group(self, group_id: str) -> list[GroupRecord]:
        """The records that delete all offsets of a group."""
        return [
            _tombstone(group_id, topic, partition)
            for topic, partitions in self._offsets.get(group_id, {}).items()
            for partition in partitions
        ]

    def topics_deleted(self, deleted: Iterable[tuple[str, bytes]]) -> list[GroupRecord]:
        """The records that delete the offsets of topics, which are given by name and id."""
        records = []
        for name, topic_id in deleted:
            for group_id, topics in self._offsets.items():
                for partition, found in topics.get(name, {}).items():
                    if found.topic_id in (ZERO_UUID, topic_id):
                        records.append(_tombstone(group_id, name, partition))
        return records

    def expire(self, now_ms: int) -> list[GroupRecord]:
        """The records that delete expired offsets, and groups that have neither offsets nor members."""
        records = []
        for group in self._groups.values():
            all_gone = True
            for topic, partitions in self._offsets.get(group.group_id, {}).items():
                subscribed = group.is_subscribed_to(topic)
                for partition, found in partitions.items():
                    if not subscribed and self._is_expired(group, found, now_ms):
                        records.append(_tombstone(group.group_id, topic, partition))
                    else:
                        all_gone = False
            if all_gone and group.is_empty:
                records.extend(group.tombstones())
        return records

    def _is_expired(self, group: Group, found: CommittedOffset, now_ms: int) -> bool:
        from_ms = group.offsets_expire_from_ms(found.commit_timestamp_ms)
        if from_ms is None:
            return False
        if found.expire_timestamp_ms != NO_TIMESTAMP:
            return now_ms >= found.expire_timestamp_ms
        return now_ms - from_ms >= self._config.offsets_retention_ms

    # Replay

    def replay_offset_commit(self, key: OffsetCommitKey, value: OffsetCommitValue | None) -> None:
        """Take over what a record says."""
        if value is None:
            self._forget(key.group, key.topic, key.partition)
            return
        if key.group not in self._groups:
            self._groups[key.group] = self._new_simple_group(key.group)
        partitions = self._offsets.setdefault(key.group, {}).setdefault(intern(key.topic), {})
        partitions[key.partition] = CommittedOffset(
            value.offset,
            value.leader_epoch,
            value.metadata,
            value.commit_timestamp,
            value.expire_timestamp,
            self._topic_ids.setdefault(value.topic_id, value.topic_id),
        )

    def _forget(self, group_id: str, topic: str, partition: int) -> None:
        topics = self._offsets.get(group_id, {})
        partitions = topics.get(topic, {})
        if partitions.pop(partition, None) is None:
            return
        if not partitions:
            del topics[topic]
        if not topics:
            del self._offsets[group_id]


def _expire_timestamp_ms(retention_time_ms: int, now_ms: int) -> int:
    """Versions 2 to 4 of OffsetCommit may have a retention time. KIP-211 removed it."""
    if retention_time_ms == NO_TIMESTAMP:
        return NO_TIMESTAMP
    return min(now_ms + retention_time_ms, _LATEST_MS)


def _fetched(
    partition: int, found: CommittedOffset | None, error_code: int = 0
) -> OffsetFetchResponsePartitions:
    if found is None:
        return OffsetFetchResponsePartitions(partition, -1, -1, "", error_code)
    return OffsetFetchResponsePartitions(
        partition, found.offset, found.leader_epoch, found.metadata, error_code
    )


def _tombstone(group_id: str, topic: str, partition: int) -> GroupRecord:
    return GroupRecord(OffsetCommitKey(group_id, topic, partition), None)


def _not_found(group_id: str) -> GroupIdNotFoundError:
    return GroupIdNotFoundError(f"Group {group_id} not found.")
