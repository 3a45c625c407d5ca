"""Who runs a pipeline, and how it goes: one small JSON file per pipeline beside its checkpoint.

`gralha pipeline status` and `stop` read these files. The process that runs a pipeline holds a lock beside the
file for as long as it lives: the system frees it when the process ends, however it ends, so a second run of
the same pipeline is refused, and a process that was killed is never taken for one that runs.

    checkpoints/totals/               Spark's checkpoint and the manifest
    checkpoints/totals.state.json     this file
    checkpoints/totals.lock
"""

import fcntl
import json
import os
import socket
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Self
from urllib.parse import quote

from gralha.pipelines.errors import PipelineError
from gralha.pipelines.progress import Progress

SUFFIX = ".state.json"

STARTING = "starting"
RUNNING = "running"
RESTARTING = "restarting"
STOPPED = "stopped"
FAILED = "failed"
# What a file says whose process is gone without having written how it ended.
KILLED = "killed"
ALIVE = (STARTING, RUNNING, RESTARTING)


class AlreadyRunningError(Exception):
    """The pipeline runs already, in this process or in another one."""


@dataclass(frozen=True)
class State:
    """What is known of the last run of a pipeline."""

    pipeline: str
    file: str
    master: str
    bootstrap_servers: str
    pid: int = field(default_factory=os.getpid)
    host: str = field(default_factory=socket.gethostname)
    started_s: float = field(default_factory=time.time)
    changed_s: float = 0.0
    condition: str = STARTING
    # Why it failed or restarts, in a sentence.
    message: str = ""
    restarts: int = 0
    progress: Progress | None = None

    def to_json(self) -> dict[str, Any]:
        """A JSON object; the progress inside is one, too."""
        return asdict(self)

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Self:
        """The state that `to_json` wrote; names of other versions are left out."""
        known = {one.name for one in fields(cls)}
        given = {name: value for name, value in values.items() if name in known}
        if isinstance(given.get("progress"), Mapping):
            given["progress"] = Progress.from_json(given["progress"])
        return cls(**given)


class StateFile:
    """The file of one pipeline; `hold` makes this process the one that runs it."""

    def __init__(self, folder: Path, pipeline: str) -> None:
        self.pipeline = pipeline
        self.path = folder / f"{pipeline}{SUFFIX}"
        self._lock_path = folder / f"{pipeline}.lock"
        self._lock: int | None = None

    def hold(self, state: State) -> None:
        """Take the lock and write the first state; AlreadyRunningError when another process has it.

        PipelineError when the folder cannot be made or written to.
        """
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            lock = os.open(self._lock_path, os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise PipelineError(
                f"The folder {self.path.parent} cannot be written to: {error.strerror or error}. "
                "Name another one with --checkpoints."
            ) from error
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(lock)
            raise AlreadyRunningError(self._who_runs_it()) from None
        self._lock = lock
        self.write(state)

    def _who_runs_it(self) -> str:
        state = self.read()
        where = f"process {state.pid} on {state.host}" if state else "another process"
        return (
            f"{self.pipeline} is running already ({where}, checkpoints in {self.path.parent}). "
            f"Stop it with: gralha pipeline stop {self.pipeline} --checkpoints {self.path.parent}"
        )

    def write(self, state: State) -> None:
        """Replace the file in one step: a reader sees the old state or the new one."""
        stamped = replace(state, changed_s=time.time())
        temporary = self.path.with_suffix(".tmp")
        temporary.write_text(json.dumps(stamped.to_json(), indent=1))
        temporary.replace(self.path)

    def release(self) -> None:
        """Let others run the pipeline. The file stays: it says how the run ended."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def read(self) -> State | None:
        """What the file says, or None when there is none; a running state without a process is `killed`."""
        try:
            state = State.from_json(json.loads(self.path.read_text()))
        except FileNotFoundError:
            return None
        except (ValueError, TypeError):
            return None
        if state.condition in ALIVE and not self.is_held():
            return replace(state, condition=KILLED)
        return state

    def is_held(self) -> bool:
        """Whether some process runs the pipeline."""
        if self._lock is not None:
            return True
        try:
            lock = os.open(self._lock_path, os.O_RDONLY)
        except FileNotFoundError:
            return False
        try:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            return True
        finally:
            os.close(lock)
        return False


def state_folder(checkpoints: str) -> Path:
    """Where the files of a checkpoint folder are: in it, or on this machine when it is somewhere else."""
    if "://" not in checkpoints:
        return Path(checkpoints.removeprefix("file:"))
    if checkpoints.startswith("file://"):
        return Path(checkpoints.removeprefix("file://"))
    base = Path(os.environ.get("XDG_STATE_HOME") or "~/.local/state").expanduser()
    return base / "gralha" / "pipelines" / quote(checkpoints, safe="")


def state_files(folder: Path) -> list[StateFile]:
    """The files of all pipelines with checkpoints in the folder, by name."""
    return [StateFile(folder, path.name.removesuffix(SUFFIX)) for path in sorted(folder.glob(f"*{SUFFIX}"))]
