"""A program in its own terminal: a test reads the screen and types keys, as a person would."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType

CTRL_C = b"\x03"
CONTROL_SEQUENCE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
ROWS, COLUMNS = 50, 140
PATIENCE_SECONDS = 180.0
STOP_SECONDS_MAX = 60.0


class Terminal:
    """`with Terminal([...]) as terminal:` starts the program. At the end of the block it ends."""

    def __init__(
        self,
        line: list[str],
        *,
        cwd: Path,
        environment: Mapping[str, str] | None = None,
        columns: int = COLUMNS,
        rows: int = ROWS,
    ) -> None:
        self._ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.program = subprocess.Popen(
            line,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            cwd=cwd,
            env={**self._environment(), **(environment or {})},
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),  # otherwise Ctrl-C is a letter
        )
        os.close(theirs)
        self._said = b""

    @property
    def screen(self) -> str:
        """The output so far, without colours and cursor movements."""
        return CONTROL_SEQUENCE.sub("", self._said.decode(errors="replace")).replace("\r\n", "\n")

    @property
    def written(self) -> str:
        """The output so far, with colours and cursor movements."""
        return self._said.decode(errors="replace")

    @property
    def moves(self) -> bool:
        """Returns True if lines were drawn again."""
        return b"\x1b[1A" in self._said

    def wait_for(self, pattern: str, patience_seconds: float = PATIENCE_SECONDS) -> re.Match[str]:
        """Reads until the screen has the pattern. Raises AssertionError with the screen otherwise."""
        deadline = time.monotonic() + patience_seconds
        while (found := re.search(pattern, self.screen)) is None:
            assert self._read(deadline), f"{pattern!r} did not come:\n{self.screen}"
        return found

    def press(self, keys: bytes) -> None:
        os.write(self._ours, keys)

    def end(self, patience_seconds: float = PATIENCE_SECONDS) -> int:
        """Waits until the program ends by itself. Returns its exit code."""
        deadline = time.monotonic() + patience_seconds
        while self._read(deadline):
            pass
        return self.program.wait(max(0.1, deadline - time.monotonic()))

    def _read(self, deadline: float) -> bool:
        """Reads available output. Returns False if the terminal is closed, or the time is over."""
        while True:
            remaining = deadline - time.monotonic()
            if remaining <= 0:
                return False
            readable, _, _ = select.select([self._ours], [], [], min(remaining, 1.0))
            if readable:
                break
            if self.program.poll() is not None:
                return False
        try:
            data = os.read(self._ours, 65536)
        except OSError:
            return False  # Linux reports the closed other side in this way
        self._said += data
        return bool(data)

    @staticmethod
    def _environment() -> dict[str, str]:
        """The environment without the size of another terminal (of xdist's workers), which programs would
        use.
        """
        return {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}

    def __enter__(self) -> Terminal:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        if self.program.poll() is None:
            # It gets a chance to stop what it started, because a failed test must leave nothing behind.
            self.program.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.program.wait(STOP_SECONDS_MAX)
            self.program.kill()
        self.program.wait()
        os.close(self._ours)


def gralha(*arguments: str) -> list[str]:
    """The command line of our program."""
    return [sys.executable, "-m", "gralha", *arguments]


def processes_of_session(session_id: int) -> list[str]:
    """The command lines of all processes that still belong to a terminal's session."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
                if int(fields[3]) == session_id and fields[0] != "Z":
                    found.append((folder / "cmdline").read_text().replace("\0", " "))
            except (OSError, IndexError):
                continue
    return found
