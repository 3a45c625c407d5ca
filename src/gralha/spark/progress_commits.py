"""Commits a stream's progress to a consumer group, so that `kafka-consumer-groups --describe` shows its lag.

The group is a mirror: Spark's checkpoint alone says where a query goes on. So a commit that fails is a
warning.

The source learns that a batch is done when Spark asks it for the next one, which with a long trigger is much
later, and after a stop never. Whoever runs the query knows at once, and may call `commit_progress`.
"""

import logging
from collections.abc import Mapping
from typing import Final, Protocol

from gralha.client.cluster import Cluster
from gralha.client.group_offset_calls import GroupOffsetCalls
from gralha.client.group_values import CommittedOffset
from gralha.spark.offsets import OffsetJson, StreamOffset
from gralha.spark.option_values import PartitionOffsets
from gralha.spark.secrets import client_settings

logger = logging.getLogger(__name__)

# Batches of milliseconds need no commit each.
COMMIT_INTERVAL_MS: Final = 1_000
# A coordinator that does not answer holds the query up for some seconds: it is not asked again at once.
RETRY_INTERVAL_MS: Final = 10_000
COMMIT_TIMEOUT_MS: Final = 5_000


def commit_progress(kafka_settings: Mapping[str, str], group_id: str, offsets: OffsetJson) -> list[str]:
    """Commit where a batch ended, over a connection of its own; sentences about what could not be committed.

    `kafka_settings` have Kafka's names (`bootstrap.servers`), `offsets` the form of `endOffset` in a query's
    progress. A cluster that cannot be reached, or does not answer within some seconds, is a ClientError or a
    KafkaError. Of one query the calls are to come in the order of its batches: the last one counts.
    """
    settings = client_settings(kafka_settings)
    timeout_ms = min(COMMIT_TIMEOUT_MS, settings.default_api_timeout_ms)
    with Cluster.of(settings.hurried(timeout_ms), api_timeout_ms=timeout_ms) as cluster:
        return commit_offsets(GroupOffsetCalls(cluster), group_id, StreamOffset.from_json(offsets).offsets)


def commit_offsets(calls: GroupOffsetCalls, group_id: str, offsets: PartitionOffsets) -> list[str]:
    """Commit offsets to a consumer group; sentences about what could not be committed."""
    if not offsets:
        return []
    wanted = {partition: CommittedOffset(offset) for partition, offset in offsets.items()}
    answers = calls.commit_group_offsets(group_id, wanted)
    return [f"{partition}: {error.message}" for partition, error in answers.items() if error is not None]


class CommitsOffsets(Protocol):
    """Whoever can commit: a TopicView."""

    def commit(self, group_id: str, offsets: PartitionOffsets) -> list[str]: ...


class ProgressCommits:
    """Commits what was processed when it has changed, about once a second."""

    def __init__(self, group_id: str, view: CommitsOffsets) -> None:
        self._group_id = group_id
        self._view = view
        self._committed: PartitionOffsets | None = None
        self._not_before_ms = 0
        self._last_warning = ""

    def processed(self, offsets: PartitionOffsets, now_ms: int, *, is_idle: bool) -> None:
        """All before these offsets is processed. A stream that has nothing to do commits at once.

        What could not be committed is tried again a while later, with what is processed by then.
        """
        if offsets == self._committed or not offsets:
            return
        failed_before = bool(self._last_warning)
        if now_ms < self._not_before_ms and (failed_before or not is_idle):
            return
        try:
            reason = "; ".join(self._view.commit(self._group_id, offsets))
        except Exception as error:  # Whatever it is, the query goes on without its mirror.
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
