"""Tells a pipeline's consumer group how far the pipeline is.

The source itself commits when Spark asks it for the next batch: with a long trigger that is much later than
the end of the last one, and after a stop it is never. Until then the group's lag would be wrong. Whoever
watches the query hears at once that a batch is done, and commits that here.
"""

import logging
from collections.abc import Mapping
from typing import Final

from gralha.client.errors import ClientError, KafkaError
from gralha.spark.progress_commits import commit_progress

logger = logging.getLogger(__name__)

INTERVAL_SECONDS: Final = 1.0
# A cluster that is away would hold up whoever watches for seconds each time.
RETRY_SECONDS: Final = 30.0

Offsets = Mapping[str, Mapping[str, int]]


class GroupProgress:
    """How far one pipeline is, and what of that its group has been told."""

    def __init__(self, group: str, kafka: Mapping[str, str]) -> None:
        self._group = group
        self._kafka = kafka
        self._reached: Offsets = {}
        self._committed: Offsets = {}
        self._due = 0.0

    def reached(self, offsets: Offsets) -> None:
        """A batch is done, and the next one begins at these offsets."""
        self._reached = offsets

    def step(self, now: float) -> None:
        """Commit what is new, unless that was done a moment ago."""
        if self._reached != self._committed and now >= self._due:
            self._due = now + (INTERVAL_SECONDS if self._commit() else RETRY_SECONDS)

    def finish(self) -> None:
        """The query has ended: commit what is left."""
        if self._reached != self._committed:
            self._commit()

    def _commit(self) -> bool:
        try:
            problems = commit_progress(self._kafka, self._group, dict(self._reached))
        except (ClientError, KafkaError) as error:
            problems = [str(error)]
        for problem in problems:
            logger.warning("The consumer group %s does not show its progress: %s", self._group, problem)
        if not problems:
            self._committed = self._reached
        return not problems
