"""The offsets that groups have committed, and those that wait for the end of a transaction.

Commits (`offset_commits.py`), deletions and the expiry of offsets decide on records; only a replay changes
the offsets. So an offset is what the last record in the log says, and it never goes back unless its group
commits an older one. Records of a transaction count when it commits (`transactional_offsets.py`).
"""

from collections.abc import Callable, Iterable, Mapping
from sys import intern
from typing import Final

from gralha.coordination.decision import Decision
from gralha.coordination.producer import Producer
from gralha.groups.caller import Caller
from gralha.groups.committed_offset import CommittedOffset
from gralha.groups.config import GroupsConfig
from gralha.groups.group import Group
from gralha.groups.records import GroupDecision, GroupRecord
from gralha.groups.topics import Topics
from gralha.groups.transactional_offsets import GroupPartition, TransactionalOffsets
from gralha.protocol.batches import NO_TIMESTAMP
from gralha.protocol.errors import ErrorCode, GroupIdNotFoundError, InvalidGroupIdError
from gralha.protocol.messages.group_records import OffsetCommitKey, OffsetCommitValue
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

_FETCH_BY_TOPIC_ID: Final = 10


class Offsets:
    def __init__(
        self,
        groups: dict[str, Group],
        config: GroupsConfig,
        topics: Topics,
        new_simple_group: Callable[[str], Group],
    ) -> None:
        """`groups` is shared with the protocols.

        `new_simple_group` creates the group of a consumer that commits without joining a group.
        """
        self._groups = groups
        self._config = config
        self._topics = topics
        self._new_simple_group = new_simple_group
        self._offsets: dict[str, dict[str, dict[int, CommittedOffset]]] = {}  # group, topic, partition
        self._waiting = TransactionalOffsets()
        self._topic_ids: dict[bytes, bytes] = {}  # one object for each id saves memory

    def committed(self, group_id: str, topic: str, partition: int) -> CommittedOffset | None:
        """The offset of a group in a partition."""
        return self._offsets.get(group_id, {}).get(topic, {}).get(partition)

    def all_of(self, group_id: str) -> Mapping[str, Mapping[int, CommittedOffset]]:
        """All offsets of a group, by topic and partition."""
        return self._offsets.get(group_id, {})

    def is_unstable(self, group_id: str, topic: str, partition: int) -> bool:
        """Whether an open transaction has an offset of the group in the partition."""
        return self._waiting.has(group_id, topic, partition)

    # OffsetFetch

    def fetch(
        self, caller: Caller, request: OffsetFetchRequestGroup, require_stable: bool = False
    ) -> OffsetFetchResponseGroup:
        """The offsets of one group. An unknown group has none; that is no error.

        If `require_stable`, a partition in which an open transaction has an offset is
        UNSTABLE_OFFSET_COMMIT, and the consumer asks again (KIP-447).
        """
        group = self._groups.get(request.group_id)
        if group is not None:
            group.check_offset_fetch(request.member_id, request.member_epoch)
        by_id = caller.api_version >= _FETCH_BY_TOPIC_ID
        response = OffsetFetchResponseGroup(group_id=request.group_id)
        if request.topics is None:
            response.topics = self._all_of(request.group_id, by_id, require_stable)
        else:
            response.topics = [
                self._requested(request.group_id, requested, by_id, require_stable)
                for requested in request.topics
            ]
        return response

    def _all_of(self, group_id: str, by_id: bool, require_stable: bool) -> list[OffsetFetchResponseTopics]:
        """Partitions with a committed offset. As in Kafka, one that is only waiting is left out."""
        answers = []
        for name, partitions in self._offsets.get(group_id, {}).items():
            answer = OffsetFetchResponseTopics(name=name)
            if by_id:
                topic = self._topics.by_name(name)
                if topic is None:
                    continue  # a deleted topic has no id
                answer.topic_id = topic.id
            for partition, found in partitions.items():
                is_unstable = require_stable and self.is_unstable(group_id, name, partition)
                answer.partitions.append(_unstable(partition) if is_unstable else _fetched(partition, found))
            answers.append(answer)
        return answers

    def _requested(
        self, group_id: str, requested: OffsetFetchRequestTopics, by_id: bool, require_stable: bool
    ) -> OffsetFetchResponseTopics:
        answer = OffsetFetchResponseTopics(name=requested.name, topic_id=requested.topic_id)
        name, error_code = requested.name, 0
        if by_id:
            topic = self._topics.by_id(requested.topic_id)
            name, error_code = ("", int(ErrorCode.UNKNOWN_TOPIC_ID)) if topic is None else (topic.name, 0)
        partitions = self._offsets.get(group_id, {}).get(name, {})
        for partition in requested.partition_indexes:
            if require_stable and self.is_unstable(group_id, name, partition):
                answer.partitions.append(_unstable(partition))
                continue
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
            raise GroupIdNotFoundError(f"Group {request.group_id} not found.")
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
            elif self._has_any(group.group_id, requested.name, index):
                records.append(_tombstone(group.group_id, requested.name, index))
        return response

    def _has_any(self, group_id: str, topic: str, partition: int) -> bool:
        """Whether there is an offset that a tombstone would delete, committed or waiting."""
        return self.committed(group_id, topic, partition) is not None or self.is_unstable(
            group_id, topic, partition
        )

    # Other deletions. Each record stands for itself, so they need not be one batch.

    def tombstones_of_group(self, group_id: str) -> list[GroupRecord]:
        """The records that delete all offsets of a group, also those that wait."""
        topics = self._offsets.get(group_id, {})
        deleted = dict.fromkeys((topic, partition) for topic in topics for partition in topics[topic])
        deleted.update(dict.fromkeys(self._waiting.of_group(group_id)))
        return [_tombstone(group_id, topic, partition) for topic, partition in deleted]

    def topics_deleted(self, deleted: Iterable[tuple[str, bytes]]) -> list[GroupRecord]:
        """The records that delete the offsets of topics, which are given by name and id."""
        found: dict[GroupPartition, None] = {}
        for name, topic_id in deleted:
            for group_id, topics in self._offsets.items():
                for partition, offset in topics.get(name, {}).items():
                    if offset.topic_id in (ZERO_UUID, topic_id):
                        found[GroupPartition(group_id, name, partition)] = None
            for where, topic_ids in self._waiting.of_topic(name):
                if topic_ids & {ZERO_UUID, topic_id}:
                    found[where] = None
        return [_tombstone(*where) for where in found]

    def expire(self, now_ms: int) -> list[GroupRecord]:
        """The records that delete expired offsets, and groups that have neither offsets nor members.

        An offset does not expire while a transaction is open that has another one for its partition, and a
        group with an open transaction stays.
        """
        records = []
        for group in self._groups.values():
            expired = self._expired(group, now_ms)
            records.extend(expired)
            left = sum(map(len, self._offsets.get(group.group_id, {}).values())) - len(expired)
            if not left and group.is_empty and not self._waiting.has_group(group.group_id):
                records.extend(group.tombstones())
        return records

    def _expired(self, group: Group, now_ms: int) -> list[GroupRecord]:
        return [
            _tombstone(group.group_id, topic, partition)
            for topic, partitions in self._offsets.get(group.group_id, {}).items()
            if not group.is_subscribed_to(topic)
            for partition, found in partitions.items()
            if self._is_expired(group, found, now_ms)
            and not self.is_unstable(group.group_id, topic, partition)
        ]

    def _is_expired(self, group: Group, found: CommittedOffset, now_ms: int) -> bool:
        from_ms = group.offsets_expire_from_ms(found.commit_timestamp_ms)
        if from_ms is None:
            return False
        if found.expire_timestamp_ms != NO_TIMESTAMP:
            return now_ms >= found.expire_timestamp_ms
        return now_ms - from_ms >= self._config.offsets_retention_ms

    # Replay

    def replay_offset_commit(
        self, key: OffsetCommitKey, value: OffsetCommitValue | None, producer: Producer | None = None
    ) -> None:
        """Take over what a record says. With a producer the offset waits for the end of its transaction.

        A tombstone deletes offsets that wait as well.
        """
        if value is None:
            self._forget(key.group, key.topic, key.partition)
            self._waiting.drop(GroupPartition(key.group, key.topic, key.partition))
            return
        if key.group not in self._groups:
            self._groups[key.group] = self._new_simple_group(key.group)
        topic = intern(key.topic)
        offset = CommittedOffset(
            value.offset,
            value.leader_epoch,
            value.metadata,
            value.commit_timestamp,
            value.expire_timestamp,
            self._topic_ids.setdefault(value.topic_id, value.topic_id),
        )
        if producer is not None:
            self._waiting.add(producer.id, GroupPartition(key.group, topic, key.partition), offset)
            return
        self._offsets.setdefault(key.group, {}).setdefault(topic, {})[key.partition] = offset
        if self._waiting.has_group(key.group):  # seldom, and millions of offsets are loaded
            self._waiting.overtaken(GroupPartition(key.group, topic, key.partition))

    def replay_end_of_transaction(self, producer: Producer, is_commit: bool) -> None:
        """Have the offsets of a transaction count, or forget them."""
        for (group_id, topic, partition), offset in self._waiting.end(producer.id, is_commit):
            self._offsets.setdefault(group_id, {}).setdefault(topic, {})[partition] = offset

    def _forget(self, group_id: str, topic: str, partition: int) -> None:
        topics = self._offsets.get(group_id, {})
        partitions = topics.get(topic, {})
        if partitions.pop(partition, None) is None:
            return
        if not partitions:
            del topics[topic]
        if not topics:
            del self._offsets[group_id]


def _fetched(
    partition: int, found: CommittedOffset | None, error_code: int = 0
) -> OffsetFetchResponsePartitions:
    if found is None:
        return OffsetFetchResponsePartitions(partition, -1, -1, "", error_code)
    return OffsetFetchResponsePartitions(
        partition, found.offset, found.leader_epoch, found.metadata, error_code
    )


def _unstable(partition: int) -> OffsetFetchResponsePartitions:
    return OffsetFetchResponsePartitions(partition, -1, -1, "", ErrorCode.UNSTABLE_OFFSET_COMMIT)


def _tombstone(group_id: str, topic: str, partition: int) -> GroupRecord:
    return GroupRecord(OffsetCommitKey(group_id, topic, partition), None)
