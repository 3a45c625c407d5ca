"""Commits a stream's progress to a consumer group, so that `kafka-consumer-groups --describe` shows its lag.

The group is a mirror: Spark's checkpoint alone says where a query goes on. So a commit that fails is a
warning.
"""

import logging
from typing import Final, Protocol

from gralha.spark.option_values import PartitionOffsets

logger = logging.getLogger(__name__)

# Batches of milliseconds need no commit each.
COMMIT_INTERVAL_MS: Final = 1_000
# A coordinator that does not answer holds the query up for some seconds: it is not asked again at once.
RETRY_INTERVAL_MS: Final = 10_000


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
