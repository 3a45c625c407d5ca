"""`gralha pipeline init NAME` writes a project that runs at once."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from gralha.cli.pipeline import main
from gralha.pipelines.loading import load
from gralha.pipelines.testing import run_rows
from tests.cli.commands import written
from tests.pipelines import topics
from tests.pipelines.runner import Runner

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def project(
    tmp_path: Path,
    new_name: Callable[[str], str],
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> Iterator[Path]:
    """A new project in the current folder."""
    monkeypatch.chdir(tmp_path)
    name = new_name("shop")
    assert main(["init", name]) == 0
    said = written(capfd).out
    assert said.startswith(
        f"Wrote {name}/: pipelines.py, sales.jsonl, test_pipelines.py\n\nNext:\n  cd {name}\n"
    )
    monkeypatch.syspath_prepend(tmp_path / name)
    yield tmp_path / name
    sys.modules.pop("pipelines", None)


def test_a_project_passes_its_own_tests(project: Path, spark: SparkSession) -> None:
    (pipeline,) = load(project / "pipelines.py")
    assert pipeline.name == project.name
    for test in pipeline.tests:
        test(partial(run_rows, pipeline, session=spark))
    # The file for pytest, which uses the running session.
    spec = importlib.util.spec_from_file_location("test_pipelines_of_shop", project / "test_pipelines.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.test_the_sample_rows()


def test_a_project_runs_at_once(project: Path, runner: Runner) -> None:
    name, bootstrap = project.name, runner.options.bootstrap_servers
    topics.create(bootstrap, f"{name}.sales")
    topics.write(bootstrap, f"{name}.sales", (project / "sales.jsonl").read_bytes().splitlines())
    assert [outcome.error for outcome in runner(*load(project / "pipelines.py"))] == [None]
    totals = {row["product"]: row["total"] for row in topics.read_values(bootstrap, f"{name}.totals")}
    assert totals == {"tea": 6.0, "cake": 4.0, "coffee": 1.5}
    assert len(topics.read(bootstrap, f"{name}.dead-letters")) == 1


def test_nothing_is_overwritten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    os.mkdir("shop")
    assert main(["init", "shop"]) == 1
    assert written(capfd).err == "shop exists already: choose another name, or remove it first.\n"
    assert main(["init", "my shop"]) == 1
    assert "'my shop' cannot be the name of a pipeline" in written(capfd).err
    assert os.listdir("shop") == []
