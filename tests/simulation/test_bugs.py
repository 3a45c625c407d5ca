"""The checker sees: bugs that others had, put back one by one, turn a run red within a few seeds."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import gralha
from tests.simulation.bugs import BUGS, BUGS_OF_THREE, BUGS_OF_THREE_THAT_FLUSH, NOTHINGS

ROOT = Path(__file__).parents[2]


def run_with(name: str) -> "subprocess.CompletedProcess[str]":
    source = str(Path(gralha.__file__).parents[1])
    return subprocess.run(
        [sys.executable, "-m", "tests.simulation.bugs", name],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([source, str(ROOT)])},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )


ALL = [*BUGS, *BUGS_OF_THREE, *BUGS_OF_THREE_THAT_FLUSH]


@pytest.mark.parametrize("name", [bug.__name__ for bug in ALL if bug not in NOTHINGS])
def test_a_bug_that_is_put_back_is_noticed(name: str) -> None:
    result = run_with(name)
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize(("name", "seeds"), [(bug.__name__, seeds) for bug, seeds in NOTHINGS.items()])
def test_without_a_bug_the_same_faults_do_no_harm(name: str, seeds: int) -> None:
    result = run_with(name)
    assert (result.returncode, result.stdout) == (1, f"{name} was not noticed in {seeds} runs\n"), (
        result.stderr
    )
