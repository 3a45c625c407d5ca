"""The source's view of a cluster: topics, partitions and offsets.

There is one for each query, in the driver's process. It connects with the first request.
"""

import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Final, NamedTuple

from gralha.client.cluster import UNKNOWN_TOPIC_CODES, Cluster
from gralha.client.denials import how_to_allow
from gralha.client.errors import ClientError, KafkaError
from gralha.client.group_offset_calls import GroupOffsetCalls
from gralha.client.partition_calls import PartitionCalls
from gralha.client.settings import ClientSettings
from gralha.client.topic_calls import TopicCalls
from gralha.client.values import EARLIEST, LATEST, ListedOffset, TopicDescription, TopicPartition
from gralha.spark.offsets import topic_id_text
from gralha.spark.option_values import PartitionOffsets
from gralha.spark.progress_commits import COMMIT_TIMEOUT_MS, commit_offsets
from gralha.spark.subscription import Assignment, Pattern, Subscription

logger = logging.getLogger(__name__)

NO_TOPIC_ID: Final = bytes(16)


class SourceError(ClientError):
    """The cluster does not have the requested topics, partitions or offsets."""


class TopicPartitions(NamedTuple):
    """The partitions to read and the ids of their topics."""

    topic_ids: dict[str, str]
    partitions: frozenset[TopicPartition]


class _Calls(TopicCalls, PartitionCalls, GroupOffsetCalls):
    """The admin calls that the source needs. Every query imports them, in several processes."""


class TopicView:
    """The topics of a subscription on one cluster."""

    def __init__(self, settings: ClientSettings, subscription: Subscription) -> None:
        for name in settings.unknown:
            logger.warning("Option 'kafka.%s' is not a setting of Kafka's clients and has no effect.", name)
        self._settings = settings
        self._subscription = subscription
        self._admin = _calls(settings, settings.default_api_timeout_ms)
        # Commits of progress are less important, so a query does not wait long for them.
        self._groups = _calls(settings, min(COMMIT_TIMEOUT_MS, settings.default_api_timeout_ms))

    def close(self) -> None:
        """Closes the connections."""
        self._admin.cluster.close()
        self._groups.cluster.close()

    def partitions(self, may_be_missing: Callable[[str], bool] = lambda topic: False) -> TopicPartitions:
        """The current partitions to read. A missing topic is a SourceError, unless it may be missing."""
        names = self._names()
        described = self._admin.describe_topics(names)
        topic_ids: dict[str, str] = {}
        partitions: set[TopicPartition] = set()
        for name in names:
            topic = described.get(name)
            if isinstance(topic, TopicDescription):
                if topic.topic_id != NO_TOPIC_ID:
                    topic_ids[name] = topic_id_text(topic.topic_id)
                partitions |= {TopicPartition(name, item.partition) for item in topic.partitions}
            elif topic is None or topic.code in UNKNOWN_TOPIC_CODES:
                # A topic that matches a pattern was deleted after it was listed. The user has not named it.
                if not isinstance(self._subscription, Pattern) and not may_be_missing(name):
                    raise self._no_such_topic(name)
            else:
                raise SourceError(f"Topic {name} cannot be read: {topic.message}{self._advice(topic, name)}")
        return TopicPartitions(topic_ids, frozenset(self._chosen(partitions, may_be_missing)))

    def _names(self) -> list[str]:
        if isinstance(self._subscription, Pattern):
            listed = [topic.name for topic in self._admin.list_topics() if not topic.is_internal]
            return self._subscription.matching(listed)
        return list(self._subscription.names)

    def _chosen(
        self, existing: set[TopicPartition], may_be_missing: Callable[[str], bool]
    ) -> set[TopicPartition]:
        if not isinstance(self._subscription, Assignment):
            return existing
        absent = set(self._subscription.partitions) - existing
        missing = sorted(partition for partition in absent if not may_be_missing(partition.topic))
        if missing:
            raise SourceError(
                f"Option 'assign' names {', '.join(map(str, missing))}, which the topic does not have: "
                f"see kafka-topics --bootstrap-server {self._settings.bootstrap_servers} --describe "
                f"--topic {missing[0].topic}."
            )
        return existing & set(self._subscription.partitions)

    def _no_such_topic(self, name: str) -> SourceError:
        servers = self._settings.bootstrap_servers
        return SourceError(
            f"Topic {name} does not exist on {servers}. List the topics with: kafka-topics "
            f"--bootstrap-server {servers} --list; create it with: kafka-topics --bootstrap-server {servers} "
            f"--create --topic {name}"
        )

    # Offsets

    def earliest(self, partitions: Iterable[TopicPartition]) -> PartitionOffsets:
        """The first offset of each partition. Partitions that are gone have none."""
        return self._list(dict.fromkeys(partitions, EARLIEST))

    def latest(
        self, partitions: Iterable[TopicPartition], position: PartitionOffsets | None = None
    ) -> PartitionOffsets:
        """The offset after the last readable record of each partition. Partitions that are gone have none.

        With read_committed that may be before the position of a stream, which has read uncommitted records
        before, or was told to start there. The log has its offsets, so this is no loss: the stream waits.
        """
        found = self._list(dict.fromkeys(partitions, LATEST))
        if not self._settings.is_read_committed or not position:
            return found
        ahead = [partition for partition, end in found.items() if position.get(partition, 0) > end]
        ends = self._list(dict.fromkeys(ahead, LATEST), read_committed=False)
        waiting = {partition: min(end, position[partition]) for partition, end in ends.items()}
        return {partition: max(end, waiting.get(partition, end)) for partition, end in found.items()}

    def at_timestamps(self, timestamps_ms: Mapping[TopicPartition, int]) -> PartitionOffsets:
        """The first offset at or after a time. Partitions whose records are all older have none."""
        found = self._list(timestamps_ms)
        return {partition: offset for partition, offset in found.items() if offset >= 0}

    def _list(
        self, questions: Mapping[TopicPartition, int], *, read_committed: bool = True
    ) -> PartitionOffsets:
        if not questions:
            return {}
        committed = read_committed and self._settings.is_read_committed
        answers = self._admin.list_offsets(questions, read_committed=committed)
        offsets: PartitionOffsets = {}
        for partition, answer in answers.items():
            if isinstance(answer, ListedOffset):
                offsets[partition] = answer.offset
            elif answer.code not in UNKNOWN_TOPIC_CODES:
                advice = self._advice(answer, partition.topic)
                raise SourceError(
                    f"The offsets of partition {partition} cannot be read: {answer.message}{advice}"
                )
        return offsets

    def _advice(self, error: KafkaError, topic: str) -> str:
        return how_to_allow(error.code, topic, "READ", self._settings.security)

    # Progress

    def commit(self, group_id: str, offsets: PartitionOffsets) -> list[str]:
        """Commits progress to a consumer group. Returns sentences about failed commits."""
        return commit_offsets(self._groups, group_id, offsets)


def _calls(settings: ClientSettings, timeout_ms: int) -> _Calls:
    return _Calls(Cluster.of(settings, api_timeout_ms=timeout_ms))
