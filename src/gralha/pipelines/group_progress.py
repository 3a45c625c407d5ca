"""Commits the progress of a pipeline to its consumer group.

With the guarantee "exactly once" the group's offsets ride in the transactions in which the sink decides about
its batches (`spark/input_progress.py`), and nothing here is used. The rest is for all other pipelines.

The source itself commits when Spark asks it for the next batch. With a long trigger that is much later than
the end of the previous batch, and after a stop it never happens. Until then the lag of the group would be
wrong. The run sees at once that a batch is done, and commits its offsets here.
"""

import logging
from collections.abc import Mapping
from typing import Final

from gralha.client.errors import ClientError, KafkaError
from gralha.pipelines.declaration import EXACTLY_ONCE, Pipeline, TopicOutput
from gralha.spark.progress_commits import commit_progress

logger = logging.getLogger(__name__)

INTERVAL_SECONDS: Final = 1.0
# If the cluster is away, each attempt takes seconds and blocks the run.
RETRY_SECONDS: Final = 30.0

SERVERS: Final = "kafka.bootstrap.servers"

Offsets = Mapping[str, Mapping[str, int]]


def rides_with_decisions(pipeline: Pipeline) -> bool:
    """Returns True if the sink commits the group's offsets. Topics and group must be in one cluster."""
    topics = [one for one in pipeline.outputs if isinstance(one, TopicOutput)]
    if pipeline.guarantee != EXACTLY_ONCE or not topics:
        return False
    options = [one.options for one in pipeline.inputs.values()] + [one.options for one in topics]
    return not any(name.lower() == SERVERS for one in options for name in one)


class GroupProgress:
    """The offsets that one pipeline has reached, and those that are committed."""

    def __init__(self, group: str, kafka: Mapping[str, str]) -> None:
        self._group = group
        self._kafka = kafka
        self._reached: Offsets = {}
        self._committed: Offsets = {}
        self._due = 0.0

    def reached(self, offsets: Offsets) -> None:
        """A batch is done. The next one begins at these offsets."""
        self._reached = offsets

    def step(self, now: float) -> None:
        """Commits new offsets, unless the last commit is too recent."""
        if self._reached != self._committed and now >= self._due:
            self._due = now + (INTERVAL_SECONDS if self._commit() else RETRY_SECONDS)

    def finish(self) -> None:
        """The query has ended. Commits the remaining offsets."""
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
