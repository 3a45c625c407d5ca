"""The checker sees: bugs that others had, put back one by one, turn a run red within a few seeds."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import gralha
from tests.simulation.bugs import BUGS, BUGS_OF_THREE, SEEDS, nothing

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


@pytest.mark.parametrize("name", [bug.__name__ for bug in [*BUGS, *BUGS_OF_THREE] if bug is not nothing])
def test_a_bug_that_is_put_back_is_noticed(name: str) -> None:
    result = run_with(name)
    assert result.returncode == 0, result.stdout + result.stderr


def test_without_a_bug_the_same_faults_do_no_harm() -> None:
    result = run_with("nothing")
    assert (result.returncode, result.stdout) == (1, f"nothing was not noticed in {SEEDS} runs\n"), (
        result.stderr
    )
