"""The state file of a pipeline, seen from this process and from another one."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from gralha.pipelines.errors import PipelineError
from gralha.pipelines.progress import Progress
from gralha.pipelines.state_files import (
    FAILED,
    KILLED,
    RUNNING,
    AlreadyRunningError,
    State,
    StateFile,
    state_files,
)

HOLD_UNTIL_KILLED = """
import sys
from pathlib import Path
from gralha.pipelines.state_files import RUNNING, State, StateFile
file = StateFile(Path(sys.argv[1]), "totals")
file.hold(State("totals", "sales.py", "local[2]", "localhost:9092", condition=RUNNING))
print("held", flush=True)
sys.stdin.read()
"""


def state(condition: str = RUNNING, **more: object) -> State:
    return State("totals", "sales.py", "local[2]", "localhost:9092", condition=condition, **more)  # type: ignore[arg-type]


def test_what_was_written_is_read(tmp_path: Path) -> None:
    file = StateFile(tmp_path / "checkpoints", "totals")
    assert file.read() is None
    file.hold(state(progress=Progress("totals", 3, "now", lag=4)))
    read = StateFile(tmp_path / "checkpoints", "totals").read()
    assert read is not None
    assert (read.condition, read.progress) == (RUNNING, Progress("totals", 3, "now", lag=4))
    assert read.changed_s >= read.started_s


def test_how_it_ended_stays_to_be_read(tmp_path: Path) -> None:
    file = StateFile(tmp_path, "totals")
    file.hold(state())
    file.write(state(FAILED, message="The topic is gone."))
    file.release()
    read = file.read()
    assert read is not None
    assert (read.condition, read.message) == (FAILED, "The topic is gone.")
    assert not file.is_held()


def test_a_second_run_is_refused_and_a_killed_one_is_known(tmp_path: Path) -> None:
    line = [sys.executable, "-c", HOLD_UNTIL_KILLED, str(tmp_path)]
    with subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        (file,) = state_files(tmp_path)
        read = file.read()
        assert read is not None
        assert (read.condition, read.pid) == (RUNNING, other.pid)
        with pytest.raises(AlreadyRunningError, match=f"process {other.pid} .*gralha pipeline stop totals"):
            file.hold(state())
        other.kill()
    read = file.read()
    assert read is not None
    assert read.condition == KILLED
    file.hold(state())
    assert file.is_held()
    file.release()


def test_a_file_of_another_version_or_a_broken_one_does_no_harm(tmp_path: Path) -> None:
    file = StateFile(tmp_path, "totals")
    file.path.write_text(json.dumps({**state().to_json(), "of_a_later_version": 1}))
    read = file.read()
    assert read is not None
    assert read.condition == KILLED
    file.path.write_text("{")
    assert file.read() is None


def test_pipelines_are_listed_by_name(tmp_path: Path) -> None:
    for name in ("totals", "anomalies"):
        StateFile(tmp_path, name).write(state())
    assert [file.pipeline for file in state_files(tmp_path)] == ["anomalies", "totals"]
    assert state_files(tmp_path / "nowhere") == []


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    sentence = "cannot be written to: Not a directory. Choose another one with --checkpoints."
    with pytest.raises(PipelineError, match=sentence):
        StateFile(tmp_path / "file" / "checkpoints", "totals").hold(state())
