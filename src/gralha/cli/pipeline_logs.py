"""`gralha pipeline logs`: prints the log of Spark and of the pipelines of a checkpoint folder.

With --follow it goes on with new lines until Ctrl-C, also if the file is removed and created again.
"""

import os
import re
import sys
import time
from argparse import Namespace
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Final, TextIO

from gralha.cli.pipeline_status import unknown_name
from gralha.cli.program import CommandError
from gralha.pipelines.state_files import LOG, state_files, state_folder

# An entry begins with a time, in Spark's format or in Python's.
TIME: Final = re.compile(r"\d\d(\d\d)?[/-]\d\d[/-]\d\d \d\d:\d\d:\d\d")
FOLLOW_INTERVAL_S: Final = 0.2


def command(options: Namespace) -> int:
    """Prints the last lines of the log, or of its entries about one pipeline."""
    folder = state_folder(options.checkpoints)
    known = [file.pipeline for file in state_files(folder)]
    if options.name is not None and options.name not in known:
        raise CommandError(unknown_name(options.name, known, options.checkpoints))
    path = folder / LOG
    with ExitStack() as stack:
        try:
            log = stack.enter_context(path.open(errors="replace"))
        except OSError:
            raise CommandError(
                f"There is no log {path}: no pipeline has run with these checkpoints. "
                "Is it the right --checkpoints?"
            ) from None
        text = log.read()
        lines = _about(text.splitlines(), options.name)
        if not lines and not options.follow:
            print(f"The log {path} has no entries{f' about {options.name}' if options.name else ''}.")
        for line in lines[-options.lines :]:
            print(line)
        if options.follow:
            _follow(path, log, options.name, stack)
    return 0


def _follow(path: Path, log: TextIO, pipeline: str | None, stack: ExitStack) -> None:
    """Prints new lines until Ctrl-C. Lines that come together are taken as whole entries."""
    rest = ""
    while True:
        # Looked up before the last read, so that no line of the old file is missed.
        is_replaced = _is_replaced(path, log)
        whole, newline, rest = (rest + log.read()).rpartition("\n")
        for line in _about((whole + newline).splitlines(), pipeline):
            print(line)
        if is_replaced:
            log, rest = stack.enter_context(path.open(errors="replace")), ""
        elif not whole:
            sys.stdout.flush()
            time.sleep(FOLLOW_INTERVAL_S)


def _is_replaced(path: Path, log: TextIO) -> bool:
    """Returns True if the path has another file by now."""
    try:
        now = path.stat()
    except OSError:
        return False
    before = os.fstat(log.fileno())
    return (now.st_dev, now.st_ino) != (before.st_dev, before.st_ino)


def _about(lines: Iterable[str], pipeline: str | None) -> list[str]:
    """The lines of entries about a pipeline, or all lines."""
    if pipeline is None:
        return list(lines)
    return [line for entry in entries(lines) if _mentions(entry, pipeline) for line in entry]


def entries(lines: Iterable[str]) -> Iterator[list[str]]:
    """The entries of a log. A stack trace belongs to the entry before it."""
    entry: list[str] = []
    for line in lines:
        if TIME.match(line) and entry:
            yield entry
            entry = []
        entry.append(line)
    if entry:
        yield entry


def _mentions(entry: list[str], pipeline: str) -> bool:
    name = re.compile(rf"(?<![\w.-]){re.escape(pipeline)}(?![\w-])")
    return any(name.search(line) for line in entry)
