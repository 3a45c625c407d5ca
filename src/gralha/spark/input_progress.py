"""The input of a batch, for the consumer group that shows the lag of an exactly-once stream.

The group's offsets ride in the transaction of the decision about the batch. So the group is exactly where the
newest decision is. If the decision is revoked, the group goes back to the beginning of the batch.

Spark does not tell a sink the offsets of a batch. But it stores them in the checkpoint before the batch runs:
`offsets/<batch>` has a version, settings, and a line for each source (JSON). The lines of our source and of
Spark's Kafka source are offsets by topic and partition. Lines of other sources are not for a group.
"""

import json
from dataclasses import dataclass
from typing import Any, Final, Self

from gralha.spark.checkpoint_files import ReadFile
from gralha.spark.offsets import (
    FROM,
    StreamOffset,
    begin_of_batch,
    offsets_from_json,
    offsets_to_json,
)
from gralha.spark.option_values import PartitionOffsets

# The version of Spark's file, with a line for each source in their order.
_VERSION: Final = "v1"
_LINES_BEFORE_SOURCES: Final = 2


class NoProgressError(Exception):
    """The offsets of a batch cannot be read from the checkpoint."""


@dataclass(frozen=True)
class InputProgress:
    """A consumer group, and its offsets before and after a batch."""

    group: str
    begin: PartitionOffsets
    end: PartitionOffsets

    def to_json(self) -> dict[str, Any]:
        """A JSON object."""
        return {
            "group": self.group,
            "begin": offsets_to_json(self.begin),
            "end": offsets_to_json(self.end),
        }

    @classmethod
    def from_json(cls, found: dict[str, Any]) -> Self:
        """Parses the object of `to_json`."""
        return cls(found["group"], offsets_from_json(found["begin"]), offsets_from_json(found["end"]))


def progress_of(group: str, batch: int, read: ReadFile) -> InputProgress:
    """The input of a batch, from Spark's checkpoint. Raises NoProgressError if it is not there.

    If two sources read a partition, the smaller offset counts, so that the lag is not too small.
    """
    ends = _sources(f"offsets/{batch}", read)
    starts = _sources(f"offsets/{batch - 1}", read) if batch > 0 else [None] * len(ends)
    begin: PartitionOffsets = {}
    end: PartitionOffsets = {}
    for place, its_end in enumerate(ends):
        if its_end is None:
            continue
        its_start = starts[place] if place < len(starts) else None
        first = begin_of_batch(its_start or StreamOffset({}, is_initial=True), its_end)
        for found, offsets in ((begin, first), (end, its_end.offsets)):
            for partition, offset in offsets.items():
                found[partition] = min(offset, found.get(partition, offset))
    return InputProgress(group, begin, end)


def from_option(group: str, text: str) -> InputProgress:
    """The value of the option `groupOffsets`: offsets by topic and partition, with "@from" for the begin."""
    try:
        found = json.loads(text)
        end = StreamOffset.from_json({**found, FROM: found.get(FROM, {})})
    except (ValueError, AttributeError, TypeError) as error:
        raise NoProgressError(f"{text!r} is not JSON such as {{'sales': {{'0': 42}}}}: {error}") from error
    return InputProgress(group, end.batch_start or {}, end.offsets)


def to_option(progress: InputProgress) -> str:
    """The value of the option `groupOffsets`."""
    return json.dumps({**offsets_to_json(progress.end), FROM: offsets_to_json(progress.begin)})


def _sources(name: str, read: ReadFile) -> list[StreamOffset | None]:
    """The offsets of each source in a file. None for a source that is not of Kafka."""
    text = read(name)
    if text is None:
        raise NoProgressError(f"the checkpoint has no file {name}")
    lines = text.splitlines()
    if not lines or lines[0].strip() != _VERSION:
        raise NoProgressError(f"the file {name} is not of version {_VERSION}")
    try:
        return [_offset(line) for line in lines[_LINES_BEFORE_SOURCES:]]
    except (ValueError, AttributeError, TypeError) as error:
        raise NoProgressError(f"the file {name} cannot be parsed: {error}") from error


def _offset(line: str) -> StreamOffset | None:
    if not line.strip().startswith("{"):
        return None
    found = json.loads(line)
    if not found:
        return None
    topics = [value for name, value in found.items() if name[:1] != "@"]
    return StreamOffset.from_json(found) if all(map(_is_of_topic, topics)) else None


def _is_of_topic(value: object) -> bool:
    """Returns True for offsets by partition, such as {"0": 42}."""
    return isinstance(value, dict) and all(
        name.isdecimal() and type(offset) is int for name, offset in value.items()
    )
