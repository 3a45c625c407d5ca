"""`make demo SECONDS=n` in a terminal: brokers, a generator, pipelines, a live table, and a clean end."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.client.live import eventually
from tests.pipelines.terminal import CTRL_C, Terminal

REPOSITORY = Path(__file__).resolve().parents[2]
DEMO = [sys.executable, str(REPOSITORY / "examples" / "sales" / "demo.py")]

# The demo itself allows this long for Spark and two queries to start on a busy machine.
START_SECONDS_MAX = 300

pytestmark = pytest.mark.timeout(600)


def processes_about(folder: Path) -> list[str]:
    """The command lines of all processes that mention a folder, such as the demo's brokers and pipelines."""
    found = subprocess.run(["pgrep", "-af", str(folder)], capture_output=True, text=True).stdout
    return [line for line in found.splitlines() if "pgrep" not in line]


def test_the_demo_shows_results_and_ends_by_itself(tmp_path: Path) -> None:
    folder = tmp_path / "demo"
    line = [*DEMO, "--seconds", "5", "--folder", str(folder)]
    with Terminal(line, cwd=REPOSITORY) as terminal:
        terminal.wait_for(r"Starting three brokers: localhost:\d+,localhost:\d+,localhost:\d+")
        terminal.wait_for("The demo is running. Try in another terminal:", START_SECONDS_MAX)
        terminal.wait_for(r"totals +batch \d+ .* lag \d+")
        assert terminal.end() == 0, terminal.screen
        screen = terminal.screen
        assert terminal.moves
    table = screen.rpartition("The Parquet table in ")[2]
    assert re.search(r"^product +windows +sold +total$", table, re.MULTILINE), screen
    assert re.search(r"^tea +\d+ +\d+ +[\d,.]+$", table, re.MULTILINE), screen
    assert re.search(r"^tea +\d+ +[\d,.]+ +\d\d:\d\d:\d\d", screen, re.MULTILINE), screen
    assert "Traceback" not in screen
    assert eventually(lambda: not processes_about(folder), 30)


def test_ctrl_c_in_the_middle_of_the_start_leaves_nothing_behind(tmp_path: Path) -> None:
    folder = tmp_path / "demo"
    with Terminal([*DEMO, "--folder", str(folder)], cwd=REPOSITORY) as terminal:
        terminal.wait_for("Creating topic sales")
        terminal.press(CTRL_C)
        assert terminal.end() == 0, terminal.screen
        assert "Stopping the brokers" in terminal.screen
        assert "Traceback" not in terminal.screen
    assert eventually(lambda: not processes_about(folder), 30)
