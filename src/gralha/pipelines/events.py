"""The events of running pipelines, for terminals, metrics and state files.

`run(..., on_event=...)` calls back on the thread that called `run`, never from two threads at once.
"""

from dataclasses import dataclass

from gralha.pipelines.progress import Progress


@dataclass(frozen=True)
class Warned:
    """The plan has a warning. The pipeline runs all the same."""

    pipeline: str
    text: str


@dataclass(frozen=True)
class Started:
    """The query of a pipeline runs. `attempt` begins with 1 and grows with every restart."""

    pipeline: str
    attempt: int
    # True if the query continues from a checkpoint.
    resumes: bool


@dataclass(frozen=True)
class Progressed:
    """A batch is done."""

    pipeline: str
    progress: Progress


@dataclass(frozen=True)
class Restarting:
    """The query failed and will be restarted after a pause."""

    pipeline: str
    reason: str
    attempt: int
    pause_seconds: float


@dataclass(frozen=True)
class Failed:
    """The query failed for good. `reason` is a sentence for a person."""

    pipeline: str
    reason: str


@dataclass(frozen=True)
class Stopped:
    """The query ended on request, or because all records are processed (available now)."""

    pipeline: str


Event = Warned | Started | Progressed | Restarting | Failed | Stopped
