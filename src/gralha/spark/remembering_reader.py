"""The source of a streaming query with Spark 4.1.

Spark 4.1 asks a source in Python only for "the latest offset". It says neither where the last batch ended nor
how much the next one may read. So this reader remembers the position of its query:

- A new query begins at its initial offset.
- Before a query continues from its checkpoint, Spark asks for the tasks from the last offset to the same
  offset. (It does that for sources that read ahead.)
- Spark takes every offset that it is given as the position, also if it has no batch to run.

So the options that limit a batch count. Two things are missing. With a source in Python, Spark 4.1 runs the
trigger AvailableNow as it runs Once: one batch, so a limit ends the query too early. And the progress of a
query does not have the ends of the topics.
"""

import logging
from collections.abc import Sequence
from typing import Final

from pyspark.sql.datasource import InputPartition

from gralha.spark.offsets import INITIAL, OffsetJson, StreamOffset
from gralha.spark.option_values import OptionError
from gralha.spark.options import SourceOptions
from gralha.spark.stream_reader import StreamReader
from gralha.spark.versions import ends_early

logger = logging.getLogger(__name__)

# With this setting Spark asks for the next offset before it tells the position.
ASKED_TOO_EARLY: Final = (
    "The setting spark.sql.streaming.triggerAvailableNowWrapper.enabled hides the position of the query from "
    "the source, so records could be read twice. Set it to false, or use Spark 4.2 or later."
)


class RememberingReader(StreamReader):
    """A reader that knows the position of its query."""

    def __init__(self, options: SourceOptions) -> None:
        super().__init__(options)
        self._has_warned = False
        self._position: OffsetJson | None = None
        self._initial: OffsetJson | None = None

    def initialOffset(self) -> OffsetJson:  # noqa: N802
        """The start of a new query. Spark asks for it after the end of the first batch."""
        return super().initialOffset() if self._initial is None else self._initial

    def latestOffset(self) -> OffsetJson:  # type: ignore[override]  # noqa: N802
        """The end of the next batch, or the position if there is nothing to read."""
        if self._position is None:
            self._initial = self._position = super().initialOffset()
        self._warn_once()
        begin = StreamOffset.from_json(self._position)
        end = self._plan().next_offset(begin, self._max_records())
        if end is not begin:
            self._position = end.to_json()
        return self._position

    def partitions(self, start: OffsetJson, end: OffsetJson) -> Sequence[InputPartition]:
        """The tasks of a batch. The first call of a query that continues has its position."""
        if start == end and self._initial is not None and INITIAL not in end:
            raise OptionError(ASKED_TOO_EARLY)
        if self._position is None:
            self._position = end
        return super().partitions(start, end)

    def _warn_once(self) -> None:
        limit = self._options.batch_limit
        if limit is not None and not self._has_warned:
            logger.warning(ends_early(limit))
        self._has_warned = True
