"""Admin calls about the committed offsets of groups.

Topics are identified by name. From version 10 on OffsetFetch and OffsetCommit have only topic ids, but an
administrator may ask for offsets of a deleted topic.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from gralha.client.calls import error_or_none, raise_for
from gralha.client.cluster import may_pass
from gralha.client.coordinator_calls import Answers, CoordinatorCalls
from gralha.client.group_values import CommittedOffset
from gralha.client.leader_calls import by_topic
from gralha.client.values import TopicPartition
from gralha.protocol.errors import KafkaError
from gralha.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from gralha.protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
    OffsetDeleteResponse,
)
from gralha.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchResponse,
    OffsetFetchResponseTopic,
    OffsetFetchResponseTopics,
)

Offsets = dict[TopicPartition, CommittedOffset]

_NAMES_VERSION: Final = 9
# From this version on one request reads the offsets of many groups (KIP-709).
_MANY_GROUPS_VERSION: Final = 8


class GroupOffsetCalls(CoordinatorCalls):
    """Calls that read, change and delete the offsets of groups."""

    def group_offsets(self, group_ids: Iterable[str]) -> dict[str, Offsets | KafkaError]:
        """All committed offsets of each group. A group that does not exist has none."""

        def ask(broker: int, groups: list[str]) -> Answers[Offsets]:
            connection = self.cluster.connection_to(broker)
            if connection.version_for(OffsetFetchRequest, _NAMES_VERSION) < _MANY_GROUPS_VERSION:
                return {group: self._offsets_of(broker, group) for group in groups}
            request = OffsetFetchRequest(
                groups=[OffsetFetchRequestGroup(group_id=group, topics=None) for group in groups]
            )
            response = connection.send(request, OffsetFetchResponse, max_version=_NAMES_VERSION)
            return {
                group.group_id: error_or_none(group.error_code) or _committed(group.topics)
                for group in response.groups
            }

        return self._ask_coordinators(group_ids, ask)

    def _offsets_of(self, broker: int, group_id: str) -> Offsets | KafkaError:
        request = OffsetFetchRequest(group_id=group_id, topics=None)
        response = self.cluster.send_to(broker, request, OffsetFetchResponse, max_version=_NAMES_VERSION)
        return error_or_none(response.error_code) or _committed(response.topics)

    def commit_group_offsets(
        self, group_id: str, offsets: Mapping[TopicPartition, CommittedOffset]
    ) -> dict[TopicPartition, KafkaError | None]:
        """Sets offsets of a group without members. The result is None for each stored offset.

        A second attempt is harmless, because it commits the same offsets.
        """
        request = OffsetCommitRequest(
            group_id=group_id,
            topics=[
                OffsetCommitRequestTopic(
                    name=topic,
                    partitions=[
                        _to_commit(partition.partition, offsets[partition]) for partition in partitions
                    ],
                )
                for topic, partitions in by_topic(offsets).items()
            ],
        )

        def ask(broker: int) -> dict[TopicPartition, KafkaError | None]:
            response = self.cluster.send_to(broker, request, OffsetCommitResponse, max_version=_NAMES_VERSION)
            answers = {
                TopicPartition(topic.name, partition.partition_index): error_or_none(partition.error_code)
                for topic in response.topics
                for partition in topic.partitions
            }
            # A broker that is not the coordinator says so for every partition.
            for error in answers.values():
                if error is not None and may_pass(error, is_change=True):
                    raise error
            return answers

        return self._ask_coordinator(group_id, ask)

    def delete_group_offsets(
        self, group_id: str, partitions: Iterable[TopicPartition]
    ) -> dict[TopicPartition, KafkaError | None]:
        """Deletes offsets of a group. The result is None for each deleted offset."""
        request = OffsetDeleteRequest(
            group_id=group_id,
            topics=[
                OffsetDeleteRequestTopic(
                    name=topic,
                    partitions=[
                        OffsetDeleteRequestPartition(partition_index=partition.partition)
                        for partition in group
                    ],
                )
                for topic, group in by_topic(partitions).items()
            ],
        )

        def ask(broker: int) -> dict[TopicPartition, KafkaError | None]:
            response = self.cluster.send_to(broker, request, OffsetDeleteResponse)
            raise_for(response.error_code)
            return {
                TopicPartition(topic.name, partition.partition_index): error_or_none(partition.error_code)
                for topic in response.topics
                for partition in topic.partitions
            }

        return self._ask_coordinator(group_id, ask, is_change=True)


def _committed(topics: Iterable[OffsetFetchResponseTopic | OffsetFetchResponseTopics]) -> Offsets:
    """The offsets in an answer. Partitions with an error are left out: the caller may not see them."""
    return {
        TopicPartition(topic.name, partition.partition_index): CommittedOffset(
            partition.committed_offset,
            partition.committed_leader_epoch if partition.committed_leader_epoch >= 0 else None,
            partition.metadata or "",
        )
        for topic in topics
        for partition in topic.partitions
        if partition.error_code == 0 and partition.committed_offset >= 0
    }


def _to_commit(partition: int, committed: CommittedOffset) -> OffsetCommitRequestPartition:
    return OffsetCommitRequestPartition(
        partition_index=partition,
        committed_offset=committed.offset,
        committed_leader_epoch=-1 if committed.leader_epoch is None else committed.leader_epoch,
        committed_metadata=committed.metadata,
    )
