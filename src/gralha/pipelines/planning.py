"""What a pipeline would do, found out without running it: `gralha pipeline plan` prints it.

The plan is made of the same pieces that run: the topics are looked up, the function is called with streaming
DataFrames, Spark analyses the result. A problem is a sentence; a plan with problems cannot start.
"""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from gralha.pipelines.declaration import Pipeline

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from gralha.pipelines.running import RunOptions

Verdict = Literal["new", "resume", "cannot resume"]


@dataclass(frozen=True)
class TopicPlan:
    """A topic that a pipeline reads or writes; `partitions` is None when it does not exist yet."""

    topic: str
    partitions: int | None


@dataclass(frozen=True)
class InputPlan:
    """An input as it will be read: `schema` is the DDL of the columns that the function gets."""

    name: str
    topics: tuple[TopicPlan, ...]
    schema: str
    watermark: tuple[str, str] | None


@dataclass(frozen=True)
class OutputPlan:
    """An output; `topic` is None when it is a table."""

    description: str
    topic: TopicPlan | None


@dataclass(frozen=True)
class StatefulOperator:
    """Something that remembers rows between batches: an aggregate, a join, a de-duplication."""

    kind: str
    details: str

    def __str__(self) -> str:
        return f"{self.kind} {self.details}".strip()


@dataclass(frozen=True)
class Change:
    """Something that changed since the last run, in a sentence, and whether the checkpoint still fits."""

    sentence: str
    can_resume: bool


@dataclass(frozen=True)
class Plan:
    """All that is known of a pipeline before it runs."""

    pipeline: Pipeline
    inputs: tuple[InputPlan, ...] = ()
    outputs: tuple[OutputPlan, ...] = ()
    dead_letters: TopicPlan | None = None
    output_schema: str | None = None
    stateful: tuple[StatefulOperator, ...] = ()
    checkpoint: str = ""
    verdict: Verdict = "new"
    # The batch that a resumed query begins with.
    next_batch: int = 0
    changes: tuple[Change, ...] = ()
    problems: tuple[str, ...] = ()
    warnings: tuple[str, ...] = field(default=())

    @property
    def can_start(self) -> bool:
        return not self.problems


def plan(pipeline: Pipeline, session: "SparkSession", options: "RunOptions") -> Plan:
    """Find out what a pipeline would do. Never raises for what a person can mend: see `problems`."""
    raise NotImplementedError
