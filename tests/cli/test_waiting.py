"""The line that counts seconds, in a real terminal and on none."""

from __future__ import annotations

import io
import sys
from pathlib import Path

from gralha.cli.waiting import Waiting
from tests.pipelines.terminal import Terminal

# The clock jumps, so the line says more seconds than have passed. Enter ends the wait.
PROGRAM = """
import itertools
from gralha.cli.waiting import Waiting
times = itertools.chain([0.0], itertools.repeat(7.9))
with Waiting("Reading the offsets of group 3 of 500", after_s=0, clock=lambda: next(times)) as line:
    input()
    line.say("Warn: partition 0 is empty.")
print("done")
"""


def test_a_person_sees_the_seconds_and_then_only_the_output(tmp_path: Path) -> None:
    with Terminal([sys.executable, "-c", PROGRAM], cwd=tmp_path, columns=80) as terminal:
        terminal.wait_for("Reading the offsets of group 3 of 500 ... 7 s")
        terminal.press(b"\n")
        terminal.wait_for("done")
        assert terminal.end() == 0
        # The line is removed before other output, and at the end.
        assert "\x1b[KWarn: partition 0 is empty.\r\n" in terminal.written
        assert terminal.written.endswith("done\r\n")


def test_a_long_text_does_not_leave_the_line(tmp_path: Path) -> None:
    with Terminal([sys.executable, "-c", PROGRAM], cwd=tmp_path, columns=20) as terminal:
        terminal.wait_for(r"\rReading the off\w*\.\.\.")
        terminal.press(b"\n")
        assert terminal.end() == 0


def test_a_file_gets_no_line() -> None:
    stream = io.StringIO()
    with Waiting("Reading", stream, after_s=0) as line:
        line.say("one", stream)
    assert stream.getvalue() == "one\n"
