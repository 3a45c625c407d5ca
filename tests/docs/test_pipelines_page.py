"""The tables of docs/PIPELINES.md: files, metrics and options are those of the code."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from gralha.cli.pipeline_options import parser
from gralha.pipelines import metrics

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "PIPELINES.md").read_text()


def names_in(head: str) -> list[str]:
    """The names in the first column of the table with this head."""
    return list(_names(PAGE.partition(f"{head}\n")[2]))


def _names(text: str) -> Iterator[str]:
    for line in text.splitlines():
        if not line.startswith("|"):
            return
        yield from re.findall(r"`([^`]+)`", line.split(" | ")[0])


def test_the_files_are_those_of_the_folder() -> None:
    files = {path.name for path in (ROOT / "src" / "gralha" / "pipelines").glob("*.py")} - {"__init__.py"}
    listed = names_in("| file | does |")
    assert sorted(listed) == sorted(files)


def test_the_metrics_are_those_of_a_run() -> None:
    known = {metric.name for metric in (*metrics.GAUGES, *metrics.COUNTERS)}
    known |= {name for name, _ in (metrics.UP, metrics.LAG, metrics.RESTARTS)}
    assert set(names_in("| metric (after `gralha_pipeline_`) | what it counts |")) == known


def test_the_options_are_those_of_run() -> None:
    known = {option for action in parser().commands()["run"].options() for option in action.option_strings}
    listed = {name.split()[0].partition("=")[0] for name in names_in("| option | meaning | default |")}
    assert listed - {"run"} <= known
    assert "--bootstrap-server" in listed
