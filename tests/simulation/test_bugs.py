"""The checker works: known bugs of other systems, put back, cause their complaints within a few seeds."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import gralha
from tests.simulation.bugs import BUGS, NOTHINGS, Bug, NoticedError, UnexplainedError, judge, nothing

ROOT = Path(__file__).parents[2]

# A run takes seconds of CPU, and more if the seed that shows the bug has moved, and other work may have the
# cores.
pytestmark = pytest.mark.timeout(900)


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


@pytest.mark.parametrize("name", BUGS)
def test_a_bug_that_is_put_back_causes_what_it_must(name: str) -> None:
    result = run_with(name)
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize(("preset", "seeds"), NOTHINGS.items())
def test_without_a_bug_the_same_faults_do_no_harm(preset: str, seeds: int) -> None:
    result = run_with(preset)
    assert (result.returncode, result.stdout) == (1, f"nothing was not noticed in {seeds} runs\n"), (
        result.stderr
    )


def test_a_complaint_that_the_bug_does_not_explain_does_not_count() -> None:
    bug = Bug(nothing, (), "two-votes", "unseen")
    judge(bug, ["unseen in load-0: x"])
    with pytest.raises(NoticedError, match="two-votes: a"):
        judge(bug, ["unseen in load-0: x", "two-votes: a", "two-votes: b"])
    with pytest.raises(UnexplainedError, match="TypeError"):
        judge(bug, ["two-votes: a", "node 1 ended: TypeError('takes three arguments')"])
