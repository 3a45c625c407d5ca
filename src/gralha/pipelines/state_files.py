"""The state files of pipelines: one small JSON file per pipeline beside its checkpoint.

`gralha pipeline status` and `stop` read these files. The process that runs a pipeline holds a lock beside the
file. The operating system releases the lock when the process ends in any way. So a second run of the same
pipeline is refused, and a killed process does not count as running.

    checkpoints/totals/               Spark's checkpoint and the manifest
    checkpoints/totals.state.json     the state file
    checkpoints/totals.lock
    checkpoints/spark.log
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
# Spark's output during a run, beside the state files.
LOG = "spark.log"

STARTING = "starting"
RUNNING = "running"
RESTARTING = "restarting"
STOPPED = "stopped"
FAILED = "failed"
# The condition of a pipeline whose process ended without writing how.
KILLED = "killed"
ALIVE = (STARTING, RUNNING, RESTARTING)


class AlreadyRunningError(Exception):
    """The pipeline is running already, in this process or another one."""


@dataclass(frozen=True)
class State:
    """The state of the last run of a pipeline."""

    pipeline: str
    file: str
    master: str
    bootstrap_servers: str
    pid: int = field(default_factory=os.getpid)
    host: str = field(default_factory=socket.gethostname)
    started_s: float = field(default_factory=time.time)
    changed_s: float = 0.0
    condition: str = STARTING
    # A sentence that says why it failed or restarts.
    message: str = ""
    restarts: int = 0
    # The topic for records that do not fit. None if they are dropped.
    dead_letters_topic: str | None = None
    progress: Progress | None = None

    def to_json(self) -> dict[str, Any]:
        """A JSON object, also of the progress inside."""
        return asdict(self)

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Self:
        """Parses the values of `to_json`. Unknown names of other versions are ignored."""
        known = {one.name for one in fields(cls)}
        given = {name: value for name, value in values.items() if name in known}
        if isinstance(given.get("progress"), Mapping):
            given["progress"] = Progress.from_json(given["progress"])
        return cls(**given)


class StateFile:
    """The state file of one pipeline. After `hold` this process runs the pipeline."""

    def __init__(self, folder: Path, pipeline: str) -> None:
        self.pipeline = pipeline
        self.path = folder / f"{pipeline}{SUFFIX}"
        self._lock_path = folder / f"{pipeline}.lock"
        self._lock: int | None = None

    def hold(self, state: State) -> None:
        """Takes the lock and writes the first state.

        Raises AlreadyRunningError if another process has the lock, and PipelineError if the folder cannot be
        created or written to.
        """
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            lock = os.open(self._lock_path, os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise PipelineError(
                f"The folder {self.path.parent} cannot be written to: {error.strerror or error}. "
                "Choose another one with --checkpoints."
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
        """Replaces the file in one step, so that a reader sees the old state or the new one."""
        stamped = replace(state, changed_s=time.time())
        temporary = self.path.with_suffix(".tmp")
        temporary.write_text(json.dumps(stamped.to_json(), indent=1))
        temporary.replace(self.path)

    def release(self) -> None:
        """Releases the lock. The file stays, because it has the result of the run."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def read(self) -> State | None:
        """The state in the file, or None if there is none. A running state without a process becomes
        `killed`.
        """
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
        """Returns True if a process runs the pipeline."""
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
    """The folder of the state files: the checkpoint folder, or one on this machine if that is remote."""
    if "://" not in checkpoints:
        return Path(checkpoints.removeprefix("file:"))
    if checkpoints.startswith("file://"):
        return Path(checkpoints.removeprefix("file://"))
    base = Path(os.environ.get("XDG_STATE_HOME") or "~/.local/state").expanduser()
    return base / "gralha" / "pipelines" / quote(checkpoints, safe="")


def state_files(folder: Path) -> list[StateFile]:
    """The state files of all pipelines with checkpoints in the folder, by name."""
    return [StateFile(folder, path.name.removesuffix(SUFFIX)) for path in sorted(folder.glob(f"*{SUFFIX}"))]
