"""Writes the state files of a run: what `gralha pipeline status` shows (see `state_files.py`)."""

from argparse import Namespace
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Self

from gralha.cli.pipeline_letters import letters_text
from gralha.pipelines.declaration import Pipeline
from gralha.pipelines.errors import CannotStartError
from gralha.pipelines.events import Event, Failed, Progressed, Restarting, Started, Warned
from gralha.pipelines.state_files import FAILED, RESTARTING, RUNNING, STOPPED, State, StateFile

OTHERS_CANNOT_START = "It was not started, because another pipeline of the run cannot start."


class RunFiles:
    """The state files of the pipelines of this process. At the end of its `with` block it releases them."""

    def __init__(self) -> None:
        self._files: dict[str, tuple[StateFile, State]] = {}

    def hold(self, pipelines: Iterable[Pipeline], folder: Path, options: Namespace, master: str) -> None:
        """Holds all pipelines of a run, so that no other process runs them."""
        file = str(Path(options.file).resolve())
        for pipeline in pipelines:
            state = State(pipeline.name, file, master, options.bootstrap_server)
            state = replace(state, dead_letters_topic=pipeline.dead_letters)
            self.add(StateFile(folder, pipeline.name), state)

    def add(self, file: StateFile, state: State) -> None:
        """Holds a pipeline."""
        file.hold(state)
        self._files[state.pipeline] = (file, state)

    def note(self, event: Event) -> None:
        """Writes an event to the state file of its pipeline."""
        if isinstance(event, Warned):
            return
        file, state = self._files[event.pipeline]
        if isinstance(event, Started):
            state = replace(state, condition=RUNNING, restarts=event.attempt - 1)
        elif isinstance(event, Progressed):
            state = replace(state, condition=RUNNING, message="", progress=event.progress)
        elif isinstance(event, Restarting):
            state = replace(state, condition=RESTARTING, message=event.reason)
        elif isinstance(event, Failed):
            state = replace(state, condition=FAILED, message=event.reason)
        else:
            state = replace(state, condition=STOPPED, message="")
        self._files[event.pipeline] = (file, state)
        file.write(state)

    def end(self, pipeline: str, error: str | None) -> None:
        """Writes how a pipeline ended."""
        file, state = self._files[pipeline]
        state = replace(state, condition=STOPPED if error is None else FAILED, message=error or "")
        self._files[pipeline] = (file, state)
        file.write(state)

    def letters(self, checkpoints: str) -> list[str]:
        """The lines about the dead letters of the run."""
        return [line for _, state in self._files.values() for line in letters_text(state, checkpoints)]

    def close(self, error: BaseException | None) -> None:
        """Releases all pipelines. A pipeline that has not ended was stopped, or ended by the error."""
        for pipeline, (file, state) in self._files.items():
            if state.condition not in (STOPPED, FAILED):
                self.end(pipeline, _reason(pipeline, error))
            file.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self.close(error)


def _reason(pipeline: str, error: BaseException | None) -> str | None:
    if isinstance(error, CannotStartError):
        return "\n".join(error.problems.get(pipeline) or [OTHERS_CANNOT_START])
    return str(error) if isinstance(error, Exception) else None
