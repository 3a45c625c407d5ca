"""Commits a stream's progress to a consumer group, so that `kafka-consumer-groups --describe` shows its lag.

The group is a copy: a query continues only from Spark's checkpoint. So a failed commit is only a warning.

The source learns that a batch is done when Spark asks for the next one. With a long trigger that is much
later, and after a stop never. A program that runs the query knows it at once, and may call `commit_progress`.
"""

import logging
from collections.abc import Mapping
from typing import Final, Protocol

from gralha.client.cluster import Cluster
from gralha.client.denials import how_to_allow
from gralha.client.group_offset_calls import GroupOffsetCalls
from gralha.client.group_values import CommittedOffset
from gralha.spark.offsets import OffsetJson, StreamOffset
from gralha.spark.option_values import PartitionOffsets
from gralha.spark.secrets import client_settings

logger = logging.getLogger(__name__)

# Batches of a few milliseconds are not committed one by one.
COMMIT_INTERVAL_MS: Final = 1_000
# If the coordinator does not answer, the query waits for seconds. So the next attempt comes later.
RETRY_INTERVAL_MS: Final = 10_000
COMMIT_TIMEOUT_MS: Final = 5_000


def commit_progress(kafka_settings: Mapping[str, str], group_id: str, offsets: OffsetJson) -> list[str]:
    """Commits the end of a batch, over its own connection. Returns sentences about failed commits.

    `kafka_settings` have Kafka's names (`bootstrap.servers`). `offsets` have the form of `endOffset` in a
    query's progress. Raises ClientError or KafkaError if the cluster cannot be reached or does not answer
    within some seconds. Call it in the order of a query's batches, because the last commit counts.
    """
    settings = client_settings(kafka_settings)
    timeout_ms = min(COMMIT_TIMEOUT_MS, settings.default_api_timeout_ms)
    with Cluster.of(settings.hurried(timeout_ms), api_timeout_ms=timeout_ms) as cluster:
        return commit_offsets(GroupOffsetCalls(cluster), group_id, StreamOffset.from_json(offsets).offsets)


def commit_offsets(calls: GroupOffsetCalls, group_id: str, offsets: PartitionOffsets) -> list[str]:
    """Commits offsets to a consumer group. Returns sentences about failed commits."""
    if not offsets:
        return []
    wanted = {partition: CommittedOffset(offset) for partition, offset in offsets.items()}
    answers = calls.commit_group_offsets(group_id, wanted)
    security = calls.cluster.security
    return [
        f"{partition}: {error.message}{how_to_allow(error.code, group_id, 'READ', security)}"
        for partition, error in answers.items()
        if error is not None
    ]


class CommitsOffsets(Protocol):
    """Something that can commit, such as a TopicView."""

    def commit(self, group_id: str, offsets: PartitionOffsets) -> list[str]: ...


class ProgressCommits:
    """Commits new progress about once a second."""

    def __init__(self, group_id: str, view: CommitsOffsets) -> None:
        self._group_id = group_id
        self._view = view
        self._committed: PartitionOffsets | None = None
        self._not_before_ms = 0
        self._last_warning = ""

    def processed(self, offsets: PartitionOffsets, now_ms: int, *, is_idle: bool) -> None:
        """All records before these offsets are processed. An idle stream commits at once.

        A failed commit is repeated later, with the offsets of that time.
        """
        if offsets == self._committed or not offsets:
            return
        failed_before = bool(self._last_warning)
        if now_ms < self._not_before_ms and (failed_before or not is_idle):
            return
        try:
            reason = "; ".join(self._view.commit(self._group_id, offsets))
        except Exception as error:  # the query continues without its copy after any error
            reason = str(error) or type(error).__name__
        self._warn(reason)
        self._not_before_ms = now_ms + (RETRY_INTERVAL_MS if reason else COMMIT_INTERVAL_MS)
        if not reason:
            self._committed = dict(offsets)

    def _warn(self, reason: str) -> None:
        if reason and reason != self._last_warning:
            logger.warning(
                "Progress could not be committed to the consumer group %s, so its lag is not up to date: %s",
                self._group_id,
                reason,
            )
        self._last_warning = reason
